"""The abstract estimator: a fit that checks public facts, plans, pays, and only then looks at the data."""

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, final

import numpy as np
from sklearn.base import BaseEstimator

from privet import noise
from privet._calls import door
from privet._numerics import Array
from privet._registry import Registry
from privet.errors import InvalidData, InvalidParameter
from privet.learn.estimators.example_records import Maker
from privet.learn.estimators.privacy import FitPrivacy
from privet.learn.estimators.reading import read_rows, read_targets
from privet.learn.estimators.surroundings import warn_about_copies, warn_about_unused
from privet.learn.estimators.table_fit import (
    described,
    plan_of_rows,
    table_encoding,
    table_notes,
    table_plan,
    table_records,
)
from privet.learn.problem import ArrayRecords, Records
from privet.learn.solvers.bought_norm import bought_words, fit_share, fit_within
from privet.ledger import current, pay, payer_of
from privet.mechanisms import Mechanism
from privet.privacy import Guarantee, Unit
from privet.tables import Described

if TYPE_CHECKING:
    from privet.ledger import Ledger


class _Asked(NamedTuple):
    """The name of a fit in a ledger (`key`), and the version of the data in public words (`about`)."""

    key: str | None = None
    about: str | None = None


@door
@dataclass(kw_only=True, eq=False, repr=False)
class PrivateEstimator(BaseEstimator):
    """Base of all private estimators: what a fit may cost, who is protected, who pays.

    `epsilon` (with `delta`), `rho` or `mu` say what a fit may cost; `epsilon=inf` fits without privacy, as scikit-learn
    does, and is refused while a ledger is in force. `unit` is who is protected: that of the ledger unless given. The fit
    is paid by `ledger`, else by the ledger in force, else by nobody. Fitting again is paid again. `fit(X, y, key="May")` is
    paid once: later the result under that key is read back from the ledger, whatever data are handed in. A new version of
    the data needs another key, or another `about=`.

    `fit(table, target="ill")` fits a `pv.Table`, which may be larger than memory: its schema gives the public facts that
    are not given here, its unit is the one that is protected, and each row is encoded as `Encoding` says (`encoding_`).
    Records with a missing number or label count as rows of zeros there.

    `bad_rows="error"` refuses rows with NaN or infinity and labels that are not among the classes. That tells whoever sees
    the error that there is one; `"zero"` counts such records as rows of zeros instead, in silence, and so
    does a row of a list that is no row of numbers. A transformer then shows the next step such a row as NaN: let that step
    say `"zero"` too.

    `source` is for tests: `noise.Seeded(7)` gives the same noise again, and the model is marked as insecure.
    """

    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None
    mu: float | None = None
    unit: Unit | None = None
    ledger: "Ledger | None" = None
    bad_rows: Literal["error", "zero"] = "error"
    source: noise.Source | None = None

    # --- what a subclass says -----------------------------------------------------------------------------------------

    @abstractmethod
    def _plan(self, columns: int, unit: Unit, promise: Guarantee) -> "Mechanism[Records, Any]":
        """The mechanism that fits, from public facts alone. What is missing among them is refused here."""

    @abstractmethod
    def _set(self, value: object, plan: object) -> None:
        """Set the fitted attributes, from the released value and the plan alone."""

    @abstractmethod
    def _fit_exactly(self, rows: object, targets: object) -> None:
        """Fit without privacy, as scikit-learn does (`epsilon=inf`), and set the same attributes."""

    @classmethod
    @abstractmethod
    def examples(cls) -> "Iterable[EstimatorExample]":
        """Estimators of this kind with public facts and without a promise, each with records to fit: what laws run over."""

    # the name of this model in `privet fit --model`; None: the command does not offer it, as it predicts no column
    called: ClassVar[str | None] = None
    _has_targets = True  # False where a model is fitted to rows alone, without y
    _without_privacy: ClassVar[tuple[str, ...]] = ()  # parameters that count at epsilon=inf only
    # parameters that the plan does not have, since they change only how fitted attributes follow from the released value
    _after_release: ClassVar[tuple[str, ...]] = ()
    _cloned: ClassVar[bool] = False  # of the copies that scikit-learn makes: True

    def _predicts_numbers(self) -> bool:
        """True if targets are numbers, and not labels of classes."""
        return False

    def _check_targets(self, targets: Array) -> None:
        """Refuse targets that no record may have, where `bad_rows` is "error"."""

    def _from_public_facts(self, columns: int) -> bool:
        """True, with the fitted attributes set, where public facts determine them all: then nothing is read from the data,
        and the fit is free of charge. False otherwise."""
        return False

    def _array_plan(self, columns: int, unit: Unit, promise: Guarantee) -> "Mechanism[Records, Any]":
        """The plan for data in memory; a subclass may buy facts here that it does not buy of a table (a row norm)."""
        return self._plan(columns, unit, promise)

    def _notes(self, plan: object, promise: Guarantee) -> tuple[str, ...]:
        """Remarks for `privacy_`."""
        return ()

    # --- the one way to fit --------------------------------------------------------------------------------------------

    @final
    @door
    def fit(
        self,
        X: object,
        y: object = None,
        *,
        key: str | None = None,
        about: str | None = None,
        target: str | None = None,
        features: Sequence[str] | None = None,
    ) -> Self:
        """Fit, privately: check the public facts, plan, pay, and only then run.

        `key` names the fit in the ledger: the same fit under that key is read back, free of charge, and `privacy_` says so.
        The data that are handed in are not compared: `about` names their version, in public words. Of a `pv.Table`,
        `target` names the column that is predicted, and `features` those that it is predicted from (all others, unless
        they are named).
        """
        self._check_flags()
        asked = _Asked(key, about)
        before = dict(vars(self))
        for name in before:
            if name.endswith("_"):  # nothing of an earlier fit stays beside a new one
                delattr(self, name)
        try:
            if isinstance(X, Described):
                self._fit_table(X, y, asked, target, features)
            elif target is not None or features is not None:
                raise InvalidParameter("target= and features= name columns of a pv.Table: give arrays as fit(X, y)")
            else:
                self._fit_arrays(X, y, asked)
            return self
        except BaseException:  # what failed leaves the model as it was
            self.__dict__ = before
            raise
        finally:
            del X, y  # frames outlive an error, and the data with them

    def _check_flags(self) -> None:
        """Refuse what merely looks like a truth value ("no" would count as True) in every field of type bool, also those of
        subclasses.
        """
        for each in fields(self):
            value = getattr(self, each.name)
            if each.type is bool and not isinstance(value, bool | np.bool_):
                raise InvalidParameter(f"{each.name} must be True or False, got {type(value).__name__}")

    def _fit_arrays(self, X: object, y: object, asked: _Asked) -> None:
        """Fit data in memory, and set the fitted attributes and `privacy_`."""
        try:
            rows, targets = self._read(X, y)
        finally:
            del X, y
        if self._is_exact():
            self._fit_exactly(rows, targets)
            self.privacy_ = FitPrivacy(None, None, None, None, "scikit-learn, without noise")
            return
        if self._from_public_facts(rows.shape[1]):
            self.privacy_ = FitPrivacy.of_nothing(self._unit())
            return
        promise = Guarantee(self.epsilon, self.delta, self.rho, self.mu)
        self._warn(asked)
        plan = self._array_plan(rows.shape[1], self._unit(), promise)
        release = self._paid(plan, ArrayRecords(rows, targets), asked)
        value, fit_plan = fit_within(release.value, plan)  # a row norm that was bought with the fit is left out of both
        self._set(value, fit_plan)
        notes = self._notes(fit_plan, fit_share(promise, plan)) + bought_words(plan, fit_plan)
        self.privacy_ = FitPrivacy.of(release, plan, promise, self._solver_words(fit_plan), notes)

    def _fit_table(
        self, table: Described, y: object, asked: _Asked, target: str | None, features: Sequence[str] | None
    ) -> None:
        """Fit a table, and set the fitted attributes, `encoding_` and `privacy_`."""
        if y is not None:
            raise InvalidParameter('the target is a column of the table: fit(table, target="...")')
        encoding = table_encoding(table, target, features, predicts=self._has_targets)
        if self._is_exact():
            raise InvalidParameter("epsilon=inf is for data in memory: fit(X, y) of an array")
        model = described(self, encoding)  # a copy: facts of this table must not stay among the user's own
        if model._from_public_facts(len(encoding.names)):
            self.__dict__.update({name: each for name, each in vars(model).items() if name.endswith("_")})
            self.encoding_, self.n_features_in_ = encoding, len(encoding.names)
            self.privacy_ = FitPrivacy.of_nothing(table.unit)
            return
        promise = Guarantee(self.epsilon, self.delta, self.rho, self.mu)
        self._warn(asked)
        plan = table_plan(model, len(encoding.names), table, promise)
        records = table_records(table, encoding, plan)
        try:
            release = self._paid(plan, records, asked)
        finally:
            records.close()
        self.encoding_, self.n_features_in_ = encoding, len(encoding.names)
        fit_plan = plan_of_rows(plan)  # without the one about persons, where there is one around it
        self._set(release.value, fit_plan)
        words = self._solver_words(fit_plan)
        self.privacy_ = FitPrivacy.of(release, plan, promise, words, table_notes(model, plan, promise))

    def _warn(self, asked: _Asked) -> None:
        """Warn of fits that a search by scikit-learn makes, each at its own price, and of parameters without effect."""
        may_be_of_a_search = self._cloned and asked.key is None  # searches give no key to the fits of their copies
        if may_be_of_a_search and self.source is None:
            warn_about_copies(paid=self.ledger is not None or current() is not None)
        warn_about_unused(self)

    def _solver_words(self, plan: Any) -> str:
        """The solver in words, for `privacy_`: the first sentence of its plan's docstring, in one line and without the full
        stop; the name of the plan where it has no docstring."""
        said = " ".join((type(plan).__doc__ or plan.name).partition("\n\n")[0].split())
        return said.partition(". ")[0].rstrip(".")

    def _paid(self, plan: Any, records: Records, asked: _Asked) -> Any:
        """The release of the plan, paid for; with a seeded source nobody pays."""
        if self.source is None:
            return pay(plan, records, ledger=self.ledger, key=asked.key, about=asked.about)
        if self.ledger is not None or asked != _Asked():
            raise InvalidParameter("a seeded source is for tests: leave ledger=, key= and about= out")
        return plan.release(records, source=self.source)

    def _is_exact(self) -> bool:
        """True if a fit without privacy is asked for (`epsilon=inf`); refused while a ledger is in force."""
        epsilon = self.epsilon
        if not (isinstance(epsilon, float | np.floating) and math.isinf(epsilon) and epsilon > 0):
            return False
        if self.rho is not None or self.mu is not None:
            raise InvalidParameter("give exactly one of epsilon (with or without delta), rho or mu")
        if self.ledger is not None or current() is not None:
            raise InvalidParameter("epsilon=inf has no privacy at all, and a ledger is in force: nothing runs unpaid")
        return True

    def _unit(self) -> Unit:
        """Who is protected: as given, else as the ledger that pays says, else a record that is added or removed."""
        if self.unit is not None:
            if not isinstance(self.unit, Unit):
                raise InvalidParameter('unit must be a privacy.Unit, such as privacy.Unit("replace")')
            return self.unit
        payer = current() if self.ledger is None else payer_of(self.ledger)  # inside of what it pays for too
        return Unit() if payer is None else payer.unit

    def _read(self, X: object, y: object) -> tuple[Any, Any]:
        """Rows and targets as arrays. With `bad_rows="error"` some are refused for their values."""
        if not isinstance(self.bad_rows, str) or self.bad_rows not in ("error", "zero"):
            raise InvalidParameter('bad_rows must be "error" or "zero"')
        quiet = self._is_quiet()
        # The number of records is private, so that no number is refused, not even 0; scikit-learn's own fit needs one.
        least = 1 if self._is_exact() else 0
        rows = read_rows(self, X, reset=True, finite=not quiet, least=least)
        if not self._has_targets:
            return rows, None
        if y is None:
            raise InvalidData(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        targets = read_targets(y, numbers=self._predicts_numbers(), quiet=quiet)
        if len(targets) != rows.shape[0]:
            raise InvalidData("X and y must have the same number of records")
        if not quiet:
            self._check_targets(targets)
        return rows, targets

    def _is_quiet(self) -> bool:
        """True if no record is refused for its values."""
        return self.bad_rows == "zero"

    def __sklearn_clone__(self) -> Any:
        made: Any = super().__sklearn_clone__()
        vars(made)["_cloned"] = True
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.input_tags.sparse = True
        tags.target_tags.required = self._has_targets
        return tags


@final
@dataclass(frozen=True)
class EstimatorExample:
    """An estimator with its public facts, without a promise, and a maker of records that it can be fitted to.

    >>> from privet.learn import Ridge
    >>> example = next(iter(Ridge.examples()))
    >>> example.kind, [each.shape for each in example.records(10, 3)]
    ('ridge', [(10, 3), (10,)])
    """

    title: str
    estimator: PrivateEstimator
    records: Maker

    @property
    def kind(self) -> str:
        """The name of the estimator among the registered ones."""
        return register.name_of(type(self.estimator))

    def __str__(self) -> str:
        return self.title


register: Registry[PrivateEstimator] = Registry("estimators")


def registered_estimators() -> dict[str, type[PrivateEstimator]]:
    """All estimators by name.

    >>> "logistic_regression" in registered_estimators()
    True
    """
    return register.members()
