"""From options to a loss: a kind with its parameters, and what is wrapped around it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from privet.cli.kinds import Kind, kinds
from privet.errors import InvalidParameter, SerialisationError

if TYPE_CHECKING:  # numpy comes with these rooms; `privet --help` does without
    from privet.accounting import Accountant
    from privet.privacy import PrivacyLoss, Unit

_LARGEST_CROWD = 10**9  # as `privacy.Shuffled` has it; options are checked before numpy is loaded

RelationName = Literal["add_remove", "replace", "zero_out"]
AccountantName = Literal["auto", "pld", "rdp", "zcdp", "gdp", "basic", "advanced", "optimal"]


def accountant_named(name: str, tol: float | None) -> "Accountant":
    """The accountant behind a name; `tol` (relative width of the interval) belongs to auto and pld only.

    >>> accountant_named("pld", 1e-3).tol
    0.001
    """
    from privet import accounting
    from privet._validate import open_fraction

    numerical: dict[str, Callable[[float], Accountant]] = {"auto": accounting.Tightest, "pld": accounting.PLD}
    if name in numerical:
        return numerical[name](open_fraction("--tol", 1e-4 if tol is None else tol))
    if tol is not None:
        raise InvalidParameter(f"--tol sets the width of a numerical interval; the accountant {name!r} has none")
    closed = (
        accounting.Rdp,
        accounting.Zcdp,
        accounting.Gdp,
        accounting.Basic,
        accounting.Advanced,
        accounting.Optimal,
    )
    return {cls.__name__.lower(): cls for cls in closed}[name]()


@dataclass(frozen=True)
class Release:
    """A release, on whom and how often, as typed: None where an option was not given.

    `parameters` are the options of the kind (`privet.cli.kinds`) that were given.

    >>> Release(kind="gaussian", parameters={"noise_multiplier": 4.0}, q=0.01, steps=10_000).loss().times
    10000
    """

    kind: str | None = None
    json_loss: Path | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    q: float | None = None
    sample_size: int | None = None
    population: int | None = None
    shuffled: int | None = None
    steps: int | None = None
    relation: str | None = None

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """The release that options describe: those that are no field belong to the kind."""
        own = {name for name in (f.name for f in fields(cls)) if name in options}
        parameters = {name: value for name, value in options.items() if name not in own and value is not None}
        return cls(**{name: options[name] for name in own}, parameters=parameters)

    def given(self, option: str) -> Any:
        """The text that was typed for an option, None if nothing was."""
        return self.parameters.get(option) if option not in vars(self) else getattr(self, option)

    def with_value(self, option: str, value: float) -> Self:
        """The same release with one option set."""
        if option in vars(self):
            changes: dict[str, Any] = {option: value}
            return replace(self, **changes)
        return replace(self, parameters={**self.parameters, option: value})

    def loss(self) -> "PrivacyLoss":
        """The loss: the kind, then sampling or shuffling, then repetition."""
        from privet import privacy

        self._check_sampling()
        loss = self._base()
        if self.q is not None:
            loss = privacy.PoissonSampled(loss, q=self.q)
        if self.sample_size is not None:
            loss = privacy.FixedSampled(loss, m=self.sample_size, n=self.population or 0)
        if self.shuffled is not None:
            loss = privacy.Shuffled(loss, n=self.shuffled)
        return loss if self.steps is None else privacy.Repeated(loss, self.steps)

    def _base(self) -> "PrivacyLoss":
        """The single release before sampling, either of a kind or read from a file."""
        given = set(self.parameters)
        if self.json_loss is not None:
            extra = given | {name for name in ("kind", "relation") if getattr(self, name) is not None}
            if extra:
                raise InvalidParameter(f"--json-loss brings its own kind and unit; drop {_listed(extra)}")
            return read_loss(self.json_loss)
        if self.kind is None:
            raise InvalidParameter(f"name a kind ({', '.join(kinds())}) or give --json-loss FILE")
        kind = kinds()[self.kind]
        if given - set(kind.options):
            wrong = _listed(given - set(kind.options))
            raise InvalidParameter(f"{self.kind} takes {_explained(kind, list(kind.options))}, not {wrong}")
        missing = [name for name in kind.required if name not in given]
        if missing:
            raise InvalidParameter(f"{self.kind} needs {_explained(kind, missing)}")
        arguments = {kind.options[name].name: value for name, value in self.parameters.items()}
        unit = self._unit()
        loss = kind.loss(**arguments, **({"unit": unit} if unit else {}))
        if self.q is not None and loss.unit.relation == "replace":
            raise InvalidParameter(
                "--q is priced for adding or removing a record, not for replacing one; use --relation add_remove, or "
                "--sample-size and --population if that is your sampler"
            )
        return loss

    def _unit(self) -> "Unit | None":
        """The relation asked for, replace for fixed samples and shuffled reports, else what is usual for the kind."""
        from privet.privacy import Unit

        if self.relation is not None:
            return Unit(self.relation)  # type: ignore[arg-type]  # Unit checks it
        return None if self.sample_size is None and self.shuffled is None else Unit("replace")

    def _check_sampling(self) -> None:
        if self.steps is not None and self.steps < 0:
            raise InvalidParameter(f"--steps must be at least 0, got {self.steps}")
        if self.q is not None and (self.sample_size is not None or self.population is not None):
            raise InvalidParameter(
                "--q (a coin for each record) and --sample-size of --population (a fixed number without replacement) "
                "are different samplers; give the one that you run"
            )
        if (self.sample_size is None) != (self.population is None):
            raise InvalidParameter("--sample-size and --population go together: so many records drawn out of so many")
        if self.shuffled is not None:
            self._check_shuffled()
        if self.sample_size is not None and self.relation not in (None, "replace"):
            raise InvalidParameter("a fixed sample size is priced for replacing a record; use --relation replace")

    def _check_shuffled(self) -> None:
        if self.shuffled is not None and not 1 <= self.shuffled <= _LARGEST_CROWD:
            raise InvalidParameter(f"--shuffled must be from 1 to {_LARGEST_CROWD:,}, the number of people who report")
        if self.q is not None or self.sample_size is not None:
            raise InvalidParameter("--shuffled is about one report of everybody; a sample of people is another price")
        if self.relation not in (None, "replace"):
            raise InvalidParameter("shuffled reports are priced for replacing one of them; use --relation replace")


def read_loss(path: Path) -> "PrivacyLoss":
    """A loss from a file: its JSON form, or a whole document that `privet price --json` wrote."""
    from privet import privacy

    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SerialisationError(f"cannot read {path.name!r}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SerialisationError(f"{path.name!r} is not a text file; expected a loss as JSON") from None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise SerialisationError(f"{path.name!r} is not JSON; expected what privacy.to_json wrote") from None
    if isinstance(document, dict) and "format" in document and "loss" in document:
        text = json.dumps(document["loss"])
    return privacy.from_json(text)


def _explained(kind: Kind, names: list[str]) -> str:
    """Options as they are typed, each with what it is."""
    about = {name: kind.options[name].metadata.get("help", "") for name in names}
    return " and ".join(_listed([name]) + (f" ({what})" if what else "") for name, what in about.items())


def _listed(names: set[str] | list[str]) -> str:
    """Options as they are typed."""
    return " and ".join(
        "a kind" if name == "kind" else "--" + name.replace("_", "-")
        for name in (sorted(names) if isinstance(names, set) else names)
    )
