"""A guarantee: the one spelling of what is promised, as epsilon with delta, rho or mu."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar, Unpack, get_args, get_origin, get_type_hints

from privet._calls import made_by_name
from privet._validate import above, fraction, set_frozen
from privet.errors import InvalidParameter
from privet.privacy.loss import PrivacyLoss

_F = TypeVar("_F", bound=Callable[..., Any])
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


@made_by_name
@dataclass(frozen=True)
class Guarantee:
    """What must be kept: epsilon (with or without delta), rho (zCDP) or mu (GDP); exactly one of the three.

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
        """Whether a single release at this price stays within the guarantee."""
        if self.rho is not None:
            return loss.zcdp().rho <= self.rho and loss.zcdp()[1] == 0.0
        if self.mu is not None:
            return loss.gdp() <= self.mu
        assert self.epsilon is not None
        return loss.pure() <= self.epsilon if self.delta == 0.0 else bool(loss.profile(self.epsilon) <= self.delta)

    def describe(self) -> str:
        """The guarantee as it is written in papers."""
        if self.rho is not None:
            return f"{self.rho:g}-zCDP"
        if self.mu is not None:
            return f"{self.mu:g}-GDP"
        return f"({self.epsilon:g}, {self.delta:g})-DP" if self.delta else f"{self.epsilon:g}-DP"

    def __str__(self) -> str:
        return self.describe()


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
