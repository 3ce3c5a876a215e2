"""The abstract mechanism: a price that needs no data, and a release whose noise is the noise that was priced."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import partial, wraps
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar, final

import numpy as np

from privet._cache import kept_property
from privet._calls import door
from privet._markup import facts
from privet._validate import count, open_fraction, set_frozen
from privet.errors import InvalidData, InvalidParameter, PrivetError
from privet.mechanisms.display import price_in_words
from privet.mechanisms.error_bar import ErrorBar
from privet.mechanisms.form import Form, Numbers
from privet.mechanisms.payment import pay, reading, refuse_unpaid_runs
from privet.mechanisms.release import Release
from privet.mechanisms.sensitivity import Sensitivity
from privet.mechanisms.whole import note_insecure
from privet.noise import Source as _Source
from privet.privacy import Guarantee, PrivacyLoss, Unit, a_unit, spelt_out

In = TypeVar("In")
Out = TypeVar("Out")
T = TypeVar("T")
Source = _Source | None
STREAM = object()  # what a hook sees as the value of a release that is a stream: its questions are still to come

_UNREADABLE = (
    "the input could not be read to its end; whether that depends on the data is not said. Look at it as its custodian: "
    "list(values), say"
)
_REGISTRY: dict[str, "type[Mechanism[Any, Any]]"] = {}


@dataclass(frozen=True, eq=False)
class Example:
    """A mechanism with two neighbouring inputs that strain it: what laws, audits and the documentation run on.

    `target` is the budget that `for_budget` was given, where the mechanism came from there. `detects` is the share of the
    price that an audit on this pair refutes when it is claimed instead; less than half needs an argument, and 0 says that
    none is refuted within the suite's runs.

    `cost="costly"` says that a run takes seconds or minutes: the laws share at most 20 releases, and the audit is a replay,
    besides one run with `canaries` (`otherwise`: what stands in for them under replace) that `score(output, canary)` looks
    for, where they are given. `exact` is the exact answer on `left`, where error bars should be held against it.
    `lengths="protected"` says that how long an output is, and which keys it has, is protected and not public.

    >>> from privet.mechanisms import Laplace
    >>> example = next(iter(Laplace.examples()))
    >>> example.left, example.right, example.target.epsilon
    (0.0, 1.0, 1.0)
    """

    mechanism: "Mechanism[Any, Any]"
    left: Any
    right: Any
    target: Guarantee | None = None
    detects: float = 0.5
    cost: Literal["cheap", "costly", "dear"] = "cheap"
    exact: Any = None
    lengths: Literal["public", "protected"] = "public"
    canaries: Any = None
    otherwise: Any = None
    score: Callable[[Any, Any], float] | None = None

    def __post_init__(self) -> None:
        if self.cost == "dear":  # its name before
            object.__setattr__(self, "cost", "costly")
        if self.cost not in ("cheap", "costly") or self.lengths not in ("public", "protected"):
            raise InvalidParameter('cost must be "cheap" or "costly", lengths "public" or "protected"')
        if (self.canaries is None) != (self.score is None):
            raise InvalidParameter("canaries need a score, and a score needs canaries")


def _price_of(price: Callable[[Any], PrivacyLoss]) -> Callable[[Any], PrivacyLoss]:
    """The same price, held to be one: whatever an author returns by mistake would be stamped on releases."""

    @wraps(price)
    def checked(mechanism: object) -> PrivacyLoss:
        loss = price(mechanism)
        if not isinstance(loss, PrivacyLoss):
            raise InvalidParameter(
                f"the loss of {type(mechanism).__name__} must be a PrivacyLoss, got {type(loss).__name__}"
            )
        return loss

    return checked


class Mechanism(ABC, Generic[In, Out]):
    """A loss and a release. Subclasses are frozen dataclasses of public parameters, final, one file each.

    A subclass answers five questions: `loss`; `_admit` (refuse an input by its type, dtype, shape or length, without
    looking at a value); `_prepare` (the input in the form that is drawn from); `_draw` (exact noise from
    `privet.noise`); `error`. `release` and `simulate` are the same for all and not overridden: one is a single run of
    `_draw`, the other many, so that what an audit runs is what a user gets.

    `at` is the delta at which an (epsilon, delta) rule charges the mechanism: the one that `for_budget` was given, where
    it was made use of, else None. `form` is what outputs look like, from public parameters alone: numbers, unless a
    mechanism says otherwise.

    **Guarantee:** `release` satisfies `loss`, for every input that `check` accepts.

    >>> from privet.mechanisms import Gaussian, Laplace
    >>> mechanism = Laplace.for_budget(epsilon=1.0, sensitivity=1.0)
    >>> mechanism.loss.pure(), mechanism.release(42).mechanism
    (1.0, 'laplace')
    >>> mechanism.at, Gaussian.for_budget(epsilon=1.0, delta=1e-6, sensitivity=1.0).at
    (None, 1e-06)
    """

    name: ClassVar[str]
    at: float | None = None  # a field of the mechanisms that can be made for a delta
    _made_by: ClassVar[str] = "Count.for_budget(epsilon=1.0)"  # for words about a method that is asked of a class

    def __post_init__(self) -> None:
        """Refuses what is no delta in `at` and no unit in `unit`. One that cleans fields of its own calls it first."""
        given = vars(self)  # the fields: `at` and `unit` are computed by mechanisms that have no such field
        if given.get("at") is not None:
            set_frozen(self, at=open_fraction("at", given["at"]))
        if "unit" in given:
            a_unit(given["unit"])

    def __init_subclass__(cls, **keywords: object) -> None:
        super().__init_subclass__(**keywords)
        if "for_budget" in vars(cls):
            made = door(spelt_out(vars(cls)["for_budget"].__func__))
            cls.for_budget = classmethod(made)  # type: ignore[attr-defined]
        price = inspect.getattr_static(cls, "loss")  # its own, or that of a mixin
        if isinstance(price, property) and price.fget is not None and not price.__isabstractmethod__:
            # computed once: a mechanism is frozen
            kept = kept_property(_price_of(price.fget))
            kept.__set_name__(cls, "loss")
            cls.loss = kept  # type: ignore[method-assign, assignment]

    @property
    @abstractmethod
    def loss(self) -> PrivacyLoss:
        """The price of one release, of the law that really runs."""

    def _repr_html_(self) -> str:
        """The display of plans in a notebook: price and error, which need no data."""
        bar = self.error()
        pairs: list[tuple[str, object]] = [
            ("price", price_in_words(self.loss, self.at)),
            ("loss", self.loss.describe()),
        ]
        pairs += [] if bar is None else [("error", bar)]
        return facts(self.name.replace("_", " "), [*pairs, ("protected", self.loss.unit.describe())])

    @property
    def form(self) -> Form:
        """The form of outputs: a ledger refuses what it could not store before anything is paid."""
        return Numbers()

    @abstractmethod
    def _prepare(self, value: In) -> Any:
        """The input in the form that `_draw` takes. Equal numbers of different types give equal forms."""

    @abstractmethod
    def _draw(self, prepared: Any, runs: int, source: Source) -> Sequence[Out] | np.ndarray[Any, Any]:
        """`runs` protected values, independent of each other, the run first. One run is a release: no branch of its own."""

    @abstractmethod
    def error(self, confidence: float = 0.95) -> ErrorBar | None:
        """The distance that a release may have from the exact answer, from public parameters alone."""

    @classmethod
    @abstractmethod
    def examples(cls) -> Iterable[Example]:
        """Small instances, each with a pair of neighbouring inputs: every law and audit runs on them."""

    def _admit(self, value: In) -> None:
        """Raise `InvalidData` for an input of the wrong type, dtype, shape or length. Values must not matter."""

    @final
    @door
    def check(self, value: In) -> None:
        """Refuse what this mechanism cannot take, before anything is paid or drawn: the reason is public.

        The answer depends on type, dtype, shape and length alone (lengths where the contract makes them public), never on
        a value, so that it may be shown. What passes will be released.

        >>> from privet.mechanisms import Laplace
        >>> Laplace.for_budget(epsilon=1.0, sensitivity=1.0).check(42)
        """
        self._read(self._admit, value)

    @final
    @door
    def release(self, value: In, *, source: Source = None) -> Release[Out]:
        """Protect one value. Calling it twice is two releases, each at the full price.

        `source` is for tests: a `noise.Seeded` stream stamps the release as insecure, and what goes wrong while it reads
        its input is shown as it is.
        """
        try:
            return self._pass(value, partial(self._release, value, source), source)
        finally:
            del value  # frames outlive an error, and the data with them

    @final
    @door
    def simulate(self, value: In, runs: int, *, source: Source = None) -> Sequence[Out] | np.ndarray[Any, Any]:
        """`runs` independent outputs for one input, the run first: for tests and audits on made-up data. Shown to
        anybody else, every single one of them would have to be paid for. What goes wrong while it reads its input is
        shown as it is.
        """
        refuse_unpaid_runs()
        self._read(self._admit, value, shown=True)
        return self._draw(self._read(self._prepare, value, shown=True), count("runs", runs, 1), source)

    @final
    def _pass(self, value: object, run: Callable[[], Release[Any]], source: Source = None) -> Release[Any]:
        """The one door: every public release, and every stream that is opened, goes through here."""
        try:
            return pay(self, value, run, source)
        finally:
            del value, run

    @final
    def _release(self, value: In, source: Source) -> Release[Out]:
        shown = _is_insecure(source)  # it protects nobody: an author may see what went wrong
        self._read(self._admit, value, shown=shown)
        prepared = self._read(self._prepare, value, shown=shown)
        if isinstance(prepared, Iterator):  # read while it is drawn from: its errors and its releases would be ours
            raise InvalidData(f"{self.name} has to read its input in _prepare, and returns an iterator")
        drawn: Any = self._draw(prepared, 1, source)[0]
        if isinstance(drawn, np.generic) and not isinstance(drawn, np.datetime64 | np.timedelta64):
            drawn = drawn.item()
        return self._made(drawn, self._error_given(drawn, prepared), source, self._notes(drawn))

    @final
    def _read(self, read: Callable[[In], T], value: In, *, shown: bool = False) -> T:
        """The result of `read` on the input. Code of a container runs then (a generator's, another library's), and
        its exceptions may quote what it holds: they end here, with nothing left of them. `shown` lets them through: for
        made-up data, whose author looks for a mistake.
        """
        if shown:
            with reading():
                return read(value)
        try:
            with reading():
                return read(value)
        except PrivetError as error:
            error.__cause__ = error.__context__ = None
            raise
        except Exception:
            pass
        finally:
            del value
        raise InvalidData(_UNREADABLE)  # after the handler: an error that is raised in it would keep the other one

    @final
    def _made(self, value: object, error: ErrorBar | None, source: Source, notes: tuple[str, ...] = ()) -> Release[Any]:
        insecure = _is_insecure(source)
        if insecure:
            note_insecure()
        return Release(
            value,
            loss=self.loss,
            error=error,
            mechanism=self.name,
            insecure=insecure,
            provenance=(self.name, *notes),
        )

    @kept_property
    def _unstorable(self) -> str | None:
        return self.form.refusal()  # asked once: a mechanism is frozen

    def _measured_of(self, value: In) -> Any:
        """The numbers whose distance between neighbours `sensitivity` bounds, for audits: the input itself, unless what is
        measured is something else.
        """
        return value

    def _notes(self, drawn: Out) -> tuple[str, ...]:
        """Remarks for the provenance, from public parameters and the protected value alone."""
        return ()

    def _error_of(self, prepared: Any) -> ErrorBar | None:
        """The error bar of this release; only the shape of the input may enter."""
        return self.error()

    def _error_given(self, drawn: Out, prepared: Any) -> ErrorBar | None:
        """The error bar once the protected value is known: a bar computed from it alone is post-processing."""
        return self._error_of(prepared)

    def _charged_at(self, target: Guarantee) -> Self:
        """This mechanism with the delta of its target, where the price needs it: without, it costs more epsilon."""
        if target.epsilon is None or target.delta == 0.0 or self.loss.pure() <= target.epsilon:
            return self
        return replace(self, at=target.delta)  # type: ignore[type-var]

    @property
    def unit(self) -> Unit:
        """The privacy unit of the price."""
        return self.loss.unit

    def to_dict(self) -> dict[str, Any]:
        """The public parameters, exactly: what a ledger compares when a release key is used again."""
        public = [f.name for f in fields(self) if f.name != "at" or self.at is not None]  # type: ignore[arg-type]
        return {"mechanism": self.name} | {name: _plain(getattr(self, name)) for name in public}


def _is_insecure(source: Source) -> bool:
    """A source that does not say that it is secure is not."""
    return source is not None and bool(getattr(source, "insecure", True))


def register(mechanism: "type[Mechanism[Any, Any]]") -> "type[Mechanism[Any, Any]]":
    """Class decorator: the laws, the audit and the documentation find the mechanism by its name.

    >>> from privet.mechanisms import Laplace, registered_mechanisms
    >>> registered_mechanisms()["laplace"] is Laplace
    True
    """
    name = getattr(mechanism, "name", None)
    if not isinstance(name, str) or not name:
        raise InvalidParameter(f"{mechanism.__name__} needs a class attribute `name`")
    known = _REGISTRY.setdefault(name, mechanism)
    if known is not mechanism and known.__qualname__ != mechanism.__qualname__:
        raise InvalidParameter(f"the name {name!r} belongs to {known.__name__} already")
    _REGISTRY[name] = mechanism
    return door(mechanism)


def registered_mechanisms() -> "dict[str, type[Mechanism[Any, Any]]]":
    """All registered mechanisms by name.

    >>> "gaussian" in registered_mechanisms()
    True
    """
    return dict(sorted(_REGISTRY.items()))


def _plain(value: object) -> Any:
    """JSON for a parameter, with nothing lost: fractions and floats as text."""
    if isinstance(value, Mechanism | Unit):
        return value.to_dict()
    if isinstance(value, Sensitivity):
        return {"value": str(value.value), "norm": value.norm, "unit": value.unit.to_dict()}
    if isinstance(value, PrivacyLoss):
        return value.to_dict()
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, float | np.floating):
        return repr(float(value))
    if isinstance(value, tuple | list | np.ndarray):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    return repr(value)
