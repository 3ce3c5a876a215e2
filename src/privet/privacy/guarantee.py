"""A guarantee: the one spelling of what is promised, as epsilon with delta, rho or mu."""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar, Unpack, get_args, get_origin, get_type_hints

from privet._calls import door
from privet._markup import Shown
from privet._numerics import bisect
from privet._validate import above, count, fraction, set_frozen
from privet.errors import InvalidParameter, NoGuarantee
from privet.privacy.composed import Composed
from privet.privacy.families.analytic_gaussian import analytic_noise_multiplier
from privet.privacy.gaussian import GaussianLoss
from privet.privacy.loss import PrivacyLoss

_F = TypeVar("_F", bound=Callable[..., Any])
_SHARED = 1.0 - 2.0**-36  # of each part: prices are rounded up where they are made and added, 2^-50 of them at a time
_CERTIFIED = 1.0 - 2.0**-28  # of what is found on a curve, which `accounting` certifies up to 1e-9
_LEAST = 1e-290  # of a delta: well above 2^-1022, below which doubles lose digits
_ONE_OF = "give exactly one of epsilon (with or without delta), rho or mu"


class Promise(TypedDict, total=False):
    """The keywords of a guarantee, for signatures: `def for_budget(cls, *, ..., **promise: Unpack[Promise])`.

    >>> keywords: Promise = {"epsilon": 1.0, "delta": 1e-6}
    >>> Guarantee(**keywords).describe()
    '(1, 1e-06)-DP'
    """

    epsilon: float | None
    delta: float
    rho: float | None
    mu: float | None


@door
@dataclass(frozen=True)
class Guarantee(Shown):
    """A promise that must be kept: epsilon (with or without delta), rho (zCDP) or mu (GDP); exactly one of the three.

    >>> from privet.privacy import GaussianLoss
    >>> Guarantee(rho=0.5).covers(GaussianLoss(1.0)), Guarantee(rho=0.5).covers(GaussianLoss(0.9))
    (True, False)
    >>> print(Guarantee(3.0, 1e-6).describe(), Guarantee(mu=0.5).describe())
    (3, 1e-06)-DP 0.5-GDP
    """

    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None
    mu: float | None = None

    def __post_init__(self) -> None:
        name, value = self.named(epsilon=self.epsilon, rho=self.rho, mu=self.mu)
        set_frozen(self, **{name: above(name, value, 0.0), "delta": fraction("delta", self.delta)})
        if self.delta >= 1.0:
            raise InvalidParameter("delta must be below 1: delta = 1 promises nothing")
        if self.delta > 0.0 and self.epsilon is None:
            raise InvalidParameter("delta goes with epsilon; rho and mu are complete by themselves")

    @staticmethod
    def named(**targets: float | None) -> tuple[str, float]:
        """The one target that is given, with its name: none and several are refused alike, everywhere.

        >>> Guarantee.named(epsilon=None, rho=0.5)
        ('rho', 0.5)
        """
        given = [(name, value) for name, value in targets.items() if value is not None]
        if len(given) != 1:
            more = [name for name in targets if name not in ("epsilon", "rho", "mu")]
            found = " and ".join(name for name, _ in given) or "none"
            wanted = _ONE_OF if not more else f"give exactly one of {', '.join(targets)}"
            raise InvalidParameter(f"{wanted}; {found} {'were' if given else 'was'} given")
        return given[0]

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> "Guarantee":
        """The guarantee among `options`, whose keywords are removed there.

        >>> options = {"epsilon": 1.0, "k": 3}
        >>> Guarantee.taken_from(options), options
        (Guarantee(epsilon=1.0, delta=0.0, rho=None, mu=None), {'k': 3})
        """
        return cls(**{name: options.pop(name) for name in Promise.__annotations__ if name in options})

    def covers(self, loss: PrivacyLoss) -> bool:
        """True if a single release at this price stays within the guarantee."""
        if self.rho is not None:
            return loss.zcdp().rho <= self.rho and loss.zcdp()[1] == 0.0
        if self.mu is not None:
            return loss.gdp() <= self.mu
        assert self.epsilon is not None
        return loss.pure() <= self.epsilon if self.delta == 0.0 else bool(loss.profile(self.epsilon) <= self.delta)

    def keywords(self) -> Promise:
        """The keywords that spell this guarantee, as `for_budget` takes them.

        >>> Guarantee(1.0, 1e-6).keywords(), Guarantee(rho=0.5).keywords()
        ({'epsilon': 1.0, 'delta': 1e-06}, {'rho': 0.5})
        """
        if self.rho is not None:
            return {"rho": self.rho}
        if self.mu is not None:
            return {"mu": self.mu}
        return {"epsilon": self.epsilon, "delta": self.delta} if self.delta else {"epsilon": self.epsilon}

    def share(self, part: float, *, delta: float | None = None) -> "Guarantee":
        """The guarantee of one part: so much of epsilon, of rho or of the square of mu, and so much of delta (the same
        unless `delta` says otherwise; 0 makes the part pure). A little less, so that parts in floats stay within the whole.

        >>> round(Guarantee(mu=1.0).share(0.25).mu, 9), Guarantee(1.0, 1e-6).share(0.5, delta=0.0).delta
        (0.5, 0.0)
        """
        part = above("part", part, 0.0) * _SHARED
        if self.rho is not None:
            return Guarantee(rho=self.rho * part)
        if self.mu is not None:
            return Guarantee(mu=self.mu * math.sqrt(part))
        assert self.epsilon is not None
        share = part if delta is None else fraction("delta", delta) * _SHARED
        return Guarantee(self.epsilon * part, _held(self.delta * share))

    def split(self, parts: Sequence[float], *, deltas: Sequence[float] | None = None) -> "tuple[Guarantee, ...]":
        """Guarantees of parts that together keep this one, for shares that sum to at most 1: of epsilon and delta (basic
        composition), of rho, or of the square of mu. `deltas` shares delta otherwise than epsilon.

        **Guarantee:** releases that keep the parts, each chosen with the earlier ones in sight, compose within the whole.

        >>> [round(each.epsilon, 9) for each in Guarantee(1.0).split((0.25, 0.75))]
        [0.25, 0.75]
        >>> Guarantee(1.0, 1e-6).split((1.0,)) == (Guarantee(1.0, 1e-6),)
        True
        """
        listed = list(parts) if deltas is None else list(deltas)
        if len(listed) != len(parts):
            raise InvalidParameter("deltas must have one share for each of the parts")
        for shares in (parts, listed):
            if math.fsum(shares) > 1.0 + 2.0**-50:
                raise InvalidParameter("shares of a promise must sum to at most 1")
        if len(parts) == 1 and parts[0] == 1.0:
            return (self if self.delta == 0.0 else Guarantee(self.epsilon, self.delta * listed[0]),)
        return tuple(self.share(part, delta=delta) for part, delta in zip(parts, listed, strict=True))

    def as_mu(self) -> "Guarantee":
        """The mu-GDP that keeps this guarantee: normal noise composes exactly in mu, whose squares add up.

        >>> round(Guarantee(1.0, 1e-6).as_mu().mu, 6), Guarantee(rho=0.5).as_mu().mu <= 1.0
        (0.236704, True)
        """
        if self.mu is not None:
            return self
        if self.rho is not None:
            return Guarantee(mu=math.sqrt(2.0 * self.rho) * _SHARED)
        assert self.epsilon is not None
        if self.delta == 0.0:
            raise NoGuarantee("normal noise has no pure guarantee: give a delta")
        return Guarantee(mu=_SHARED / analytic_noise_multiplier(self.epsilon, self.delta))

    def for_each_of(self, size: int) -> "Guarantee":
        """The guarantee that one record may cost so that a group of `size` of them keeps this guarantee.

        **Reference:** Dwork & Roth 2014, theorem 2.2; Bun & Steinke 2016, proposition 1.9; Dong, Roth & Su 2022,
        theorem 2.14.

        >>> Guarantee(mu=1.0).for_each_of(1).mu, round(Guarantee(rho=1.0).for_each_of(2).rho, 9)
        (1.0, 0.25)
        """
        if count("size", size, 1) == 1:
            return self
        if self.rho is not None:
            return Guarantee(rho=self.rho / size**2 * _SHARED)
        if self.mu is not None:
            return Guarantee(mu=self.mu / size * _SHARED)
        assert self.epsilon is not None
        epsilon = self.epsilon / size * _SHARED
        # (exp(epsilon) - 1)/(exp(size epsilon) - 1), written so that nothing overflows
        share = math.exp(-(size - 1) * epsilon) * math.expm1(-epsilon) / math.expm1(-size * epsilon)
        return Guarantee(epsilon, _held(self.delta * share * _SHARED))

    def rest(self, *spent: PrivacyLoss) -> "Guarantee":
        """The rest beside parts of these prices: of epsilon, of rho, or of mu; with a delta as mu, the largest whose
        normal noise beside them keeps this guarantee (exactly, not by adding up epsilons).

        >>> from privet.privacy import PureLoss
        >>> round(Guarantee(1.0).rest(PureLoss(0.25)).epsilon, 9), round(Guarantee(1.0, 1e-6).rest(PureLoss(0.5)).mu, 4)
        (0.75, 0.1273)
        """
        if self.delta == 0.0:
            return self._left(spent)
        most = self.as_mu().mu
        assert most is not None
        if not spent:
            return Guarantee(mu=most)
        unit = spent[0].unit

        def fits(mu: float) -> bool:
            return self.covers(Composed((*spent, GaussianLoss(1.0 / mu, unit=unit))))

        least = next((most * 2.0**-k for k in range(1, 60) if fits(most * 2.0**-k)), None)
        if least is None:
            raise NoGuarantee("the other parts leave nothing of this promise")
        return Guarantee(mu=bisect(fits, most, least) * _CERTIFIED)

    def _left(self, spent: Sequence[PrivacyLoss]) -> "Guarantee":
        """The difference in epsilon, rho or the square of mu."""
        if self.rho is not None:
            name, left = (
                "rho",
                self.rho - math.fsum(each.zcdp().rho if each.zcdp()[1] == 0.0 else math.inf for each in spent),
            )
        elif self.mu is not None:
            name, left = "mu", self.mu**2 - math.fsum(each.gdp() ** 2 for each in spent)
        else:
            assert self.epsilon is not None
            name, left = "epsilon", self.epsilon - math.fsum(each.pure() for each in spent)
        if not left > 0.0:
            raise NoGuarantee("the other parts leave nothing of this promise")
        left *= _SHARED if spent else 1.0
        return Guarantee(**{name: math.sqrt(left) if name == "mu" else left})

    def describe(self) -> str:
        """The guarantee as it is written in papers."""
        if self.rho is not None:
            return f"{self.rho:g}-zCDP"
        if self.mu is not None:
            return f"{self.mu:g}-GDP"
        return f"({self.epsilon:g}, {self.delta:g})-DP" if self.delta else f"{self.epsilon:g}-DP"

    def __str__(self) -> str:
        return self.describe()


def _held(delta: float) -> float:
    """A share of delta, or 0 where it is so small that doubles have lost its digits, and might have rounded it up."""
    return delta if delta >= _LEAST else 0.0


def spelt_out(function: _F) -> _F:
    """The function itself, its `**promise: Unpack[Promise]` shown as four keywords to whoever asks for its signature at
    run time (notebooks, `help`, the documentation); type checkers read them off the annotation.

    >>> @spelt_out
    ... def budget(*, size: int, **promise: Unpack[Promise]) -> None: ...
    >>> list(inspect.signature(budget).parameters)
    ['size', 'epsilon', 'delta', 'rho', 'mu']
    """
    signature = inspect.signature(function)
    *kept, last = signature.parameters.values()
    if last.kind is not inspect.Parameter.VAR_KEYWORD or get_origin(last.annotation) is not Unpack:
        return function
    (keywords,) = get_args(last.annotation)
    shown = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=0.0 if name == "delta" else None, annotation=hint
        )
        for name, hint in get_type_hints(keywords).items()
    ]
    function.__signature__ = signature.replace(parameters=[*kept, *shown])  # type: ignore[attr-defined]
    return function
