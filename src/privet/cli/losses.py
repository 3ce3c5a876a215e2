"""From options to a loss: which kinds there are, which options each takes, and what is wrapped around it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from privet.errors import InvalidParameter, SerialisationError

if TYPE_CHECKING:  # numpy comes with these rooms; `privet --help` does without
    from privet.accounting import Accountant
    from privet.privacy import PrivacyLoss, Unit


KindName = Literal[
    "gaussian",
    "laplace",
    "pure",
    "approx",
    "discrete-gaussian",
    "discrete-laplace",
    "randomized-response",
    "k-rr",
    "exponential",
    "zcdp",
    "gdp",
]
RelationName = Literal["add_remove", "replace", "zero_out"]
AccountantName = Literal["auto", "pld", "rdp", "zcdp", "gdp", "basic", "advanced", "optimal"]


@dataclass(frozen=True)
class Kind:
    """A kind of release as the command line sees it.

    `options` maps an option of the command line to the argument of the loss; the first is what `calibrate` looks for.
    """

    loss: str
    options: Mapping[str, str]
    optional: tuple[str, ...] = ()
    more_is_cheaper: bool = False  # does a larger value of the first option cost less?

    @property
    def main_option(self) -> str:
        """The option that sets how much is paid."""
        return next(iter(self.options))


_KINDS: dict[str, Kind] = {
    "gaussian": Kind("GaussianLoss", {"noise_multiplier": "noise_multiplier"}, more_is_cheaper=True),
    "laplace": Kind("LaplaceLoss", {"scale": "scale"}, more_is_cheaper=True),
    "pure": Kind("PureLoss", {"epsilon0": "epsilon"}),
    "approx": Kind("ApproxLoss", {"epsilon0": "epsilon", "delta0": "delta"}),
    "discrete-gaussian": Kind(
        "DiscreteGaussianLoss",
        {"sigma": "sigma", "sensitivity": "sensitivity", "dimension": "dimension"},
        ("sensitivity", "dimension"),
        more_is_cheaper=True,
    ),
    "discrete-laplace": Kind(
        "DiscreteLaplaceLoss",
        {"scale": "scale", "sensitivity": "sensitivity"},
        ("sensitivity",),
        more_is_cheaper=True,
    ),
    "randomized-response": Kind("RandomizedResponseLoss", {"epsilon0": "epsilon"}),
    "k-rr": Kind("KRRLoss", {"epsilon0": "epsilon", "k": "k"}),
    "exponential": Kind("ExponentialLoss", {"epsilon0": "epsilon", "monotonic": "monotonic"}, ("monotonic",)),
    "zcdp": Kind("ZcdpLoss", {"rho": "rho"}),
    "gdp": Kind("GdpLoss", {"mu": "mu"}),
}


def kind_named(name: str) -> Kind:
    """The entry of the table of kinds.

    >>> kind_named("laplace").main_option
    'scale'
    """
    return _KINDS[name]


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
    """What is released, on whom and how often, as typed: every field is an option, None where it was not given.

    >>> Release(kind="gaussian", noise_multiplier=4.0, q=0.01, steps=10_000).loss().times
    10000
    """

    kind: str | None = None
    json_loss: Path | None = None
    noise_multiplier: float | None = None
    scale: float | None = None
    sigma: float | None = None
    epsilon0: float | None = None
    delta0: float | None = None
    k: int | None = None
    rho: float | None = None
    mu: float | None = None
    sensitivity: int | None = None
    dimension: int | None = None
    monotonic: bool | None = None
    q: float | None = None
    sample_size: int | None = None
    population: int | None = None
    steps: int | None = None
    relation: str | None = None

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Pick the fields out of all options of a command."""
        return cls(**{field.name: options[field.name] for field in fields(cls)})

    def with_value(self, option: str, value: float) -> Self:
        """The same release with one option set."""
        changes: dict[str, Any] = {option: value}
        return replace(self, **changes)

    def loss(self) -> "PrivacyLoss":
        """The loss: the kind, then sampling, then repetition."""
        from privet import privacy

        self._check_sampling()
        loss = self._base()
        if self.q is not None:
            loss = privacy.PoissonSampled(loss, q=self.q)
        if self.sample_size is not None:
            loss = privacy.FixedSampled(loss, m=self.sample_size, n=self.population or 0)
        return loss if self.steps is None else privacy.Repeated(loss, self.steps)

    def _base(self) -> "PrivacyLoss":
        """The single release before sampling, either of a kind or read from a file."""
        from privet import privacy

        given = {name for name in _KIND_OPTIONS if getattr(self, name) is not None}
        if self.json_loss is not None:
            extra = given | {name for name in ("kind", "relation") if getattr(self, name) is not None}
            if extra:
                raise InvalidParameter(f"--json-loss brings its own kind and unit; drop {_listed(extra)}")
            return read_loss(self.json_loss)
        if self.kind is None:
            raise InvalidParameter(f"name a kind ({', '.join(_KINDS)}) or give --json-loss FILE")
        kind = _KINDS[self.kind]
        missing = [name for name in kind.options if name not in kind.optional and name not in given]
        if missing:
            raise InvalidParameter(f"{self.kind} needs {_listed(missing)}")
        if given - set(kind.options):
            wrong = _listed(given - set(kind.options))
            raise InvalidParameter(f"{self.kind} takes {_listed(kind.options)}, not {wrong}")
        arguments = {argument: getattr(self, name) for name, argument in kind.options.items() if name in given}
        unit = self._unit()
        loss: PrivacyLoss = getattr(privacy, kind.loss)(**arguments, **({"unit": unit} if unit else {}))
        return loss

    def _unit(self) -> "Unit | None":
        """The relation asked for, replace where a fixed number is drawn, else whatever is usual for the kind."""
        from privet.privacy import Unit

        if self.relation is not None:
            return Unit(self.relation)  # type: ignore[arg-type]  # Unit checks it
        return None if self.sample_size is None else Unit("replace")

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
        if self.sample_size is not None and self.relation not in (None, "replace"):
            raise InvalidParameter("a fixed sample size is priced for replacing a record; use --relation replace")
        if self.q is not None and (self.relation == "replace" or self.kind in ("randomized-response", "k-rr")):
            raise InvalidParameter(
                "--q is priced for adding or removing a record, not for replacing one; use --relation add_remove, or "
                "--sample-size and --population if that is your sampler"
            )


_KIND_OPTIONS = tuple(dict.fromkeys(name for kind in _KINDS.values() for name in kind.options))


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


def _listed(names: "Mapping[str, str] | set[str] | list[str]") -> str:
    """Options as they are typed."""
    return " and ".join(
        "a kind" if name == "kind" else "--" + name.replace("_", "-")
        for name in (sorted(names) if isinstance(names, set) else names)
    )
