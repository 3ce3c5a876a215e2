"""A price given by any finite pair of output distributions."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet._cache import kept_property
from privet._numerics import Array, round_up
from privet._validate import fraction, set_frozen
from privet.errors import InvalidParameter
from privet.privacy.curve import variable_of_envelope
from privet.privacy.loss import PrivacyLoss, RdpCurve, orders_of
from privet.privacy.renyi import renyi_of_variable
from privet.privacy.serial import register
from privet.privacy.unit import Unit
from privet.privacy.variable import AtomicVariable, Direction, LossVariable

_LEAST = 1e-290  # a smaller mass would vanish among floats, and its loss with it
_DIGITS = 14  # of losses that are told apart


@register
@dataclass(frozen=True, eq=False)
class FinitePairLoss(PrivacyLoss):
    """A mechanism whose worst pair of neighbouring data sets has the output distributions `p` and `q`.

    Direction "remove" compares p with q, "add" compares q with p. Probabilities may be exact (`Fraction`, or text such
    as "1/3"); they are kept exact in the JSON form.

    **Guarantee:** everything that the pair implies, and nothing more: only right if no other pair of neighbours is worse.
    **Reference:** Zhu, Dong & Wang 2022 (dominating pairs).
    **Proof:** docs/proofs/privacy/finite_pair.md.

    >>> loss = FinitePairLoss(("1/2", "1/2"), ("1/3", "2/3"))
    >>> round(float(loss.profile(0.0)), 6), loss.variable("remove").probability_above(0.0)
    (0.166667, 0.5)
    """

    kind = "finite_pair"
    p: tuple[float | Fraction | str, ...]
    q: tuple[float | Fraction | str, ...]

    def _words(self) -> str:
        return f"finite pair ({len(self.p)} outcomes)"

    def __post_init__(self) -> None:
        super().__post_init__()
        p, q = _distribution("p", self.p), _distribution("q", self.q)
        if len(p) != len(q):
            raise InvalidParameter(f"p and q must list the same outcomes, got {len(p)} and {len(q)} probabilities")
        set_frozen(self, p=p, q=q)

    def pure(self) -> float:
        if self._forward.p_only > 0.0 or self._forward.q_only > 0.0:
            return float("inf")
        return self._largest_loss

    @kept_property
    def _largest_loss(self) -> float:
        """From the exact ratio of two outcomes: ln r = ln(1 + (r - 1)) keeps its digits near r = 1, and is rounded up."""
        p, q = ([Fraction(x) for x in side] for side in (self.p, self.q))
        totals = sum(p), sum(q)
        pairs = [(a * totals[1], b * totals[0]) for a, b in zip(p, q, strict=True) if a > 0]
        excess = max(max(a, b) / min(a, b) for a, b in pairs) - 1
        return round_up(math.log1p(float(excess)), 4.0)

    @kept_property
    def _forward(self) -> AtomicVariable:
        p = np.array([float(x) for x in self.p])
        q = np.array([float(x) for x in self.q])
        p, q = p / math.fsum(p), q / math.fsum(q)  # floats that sum to 1 only nearly
        both = (p > 0.0) & (q > 0.0)
        ratio = np.log(p[both]) - np.log(q[both])
        losses, where = np.unique(np.round(ratio, _DIGITS), return_inverse=True)
        # outcomes with the same loss are one outcome (merging loses nothing), and nearly the same ones are charged as such
        p_mass = np.bincount(where, weights=p[both], minlength=len(losses))
        q_mass = np.bincount(where, weights=q[both], minlength=len(losses))
        losses = np.log(p_mass) - np.log(q_mass)
        only = float(p[q == 0.0].sum()), float(q[p == 0.0].sum())
        return AtomicVariable(losses, p_mass, q_mass, *only, blur=10.0**-_DIGITS)

    @kept_property
    def _either_way(self) -> LossVariable:
        return variable_of_envelope([self._forward, self._forward.reversed()])

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """Under replace only a pair that is its own mirror image stays attained in compositions."""
        return self.unit.relation != "replace" or self._forward.symmetric

    def rdp(self, alphas: Array) -> RdpCurve:
        orders = orders_of(alphas)
        both = [renyi_of_variable(pair, orders) for pair in (self._forward, self._forward.reversed())]
        return RdpCurve(np.maximum(*both), 0.0)

    def variable(self, direction: Direction) -> LossVariable:
        if self.unit.relation == "replace" and not self._forward.symmetric:
            return self._either_way  # two releases about the same pair of neighbours may point opposite ways
        return self._forward if direction == "remove" else self._forward.reversed()

    @classmethod
    def examples(cls) -> Iterable[PrivacyLoss]:
        yield cls(("1/2", "1/2"), ("1/3", "2/3"))
        yield cls((0.6, 0.3, 0.1), (0.2, 0.3, 0.5), unit=Unit("replace"))
        yield cls((0.999999, 1e-6, 0.0), (0.75, 0.2499, 1e-4))
        yield cls((Fraction(1, 5),) * 5, (Fraction(1, 10), *(Fraction(9, 40),) * 4))
        yield cls((1.0,), (1.0,))


def _distribution(name: str, values: object) -> tuple[float | Fraction, ...]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InvalidParameter(f"{name} must be a sequence of probabilities")
    items = tuple(_probability(name, value) for value in values)
    total = sum(items)
    exact = all(isinstance(item, Fraction) for item in items)
    if not items or (total != 1 if exact else abs(float(total) - 1.0) > 1e-9):
        raise InvalidParameter(f"{name} must sum to 1, got {float(total)}")
    return items


def _probability(name: str, value: object) -> float | Fraction:
    if isinstance(value, str):
        try:
            value = Fraction(value)
        except (ValueError, ZeroDivisionError):
            raise InvalidParameter(f"{name} holds {value!r}, which is not a probability") from None
    if isinstance(value, Fraction):
        if not 0 <= value <= 1 or 0 < value < _LEAST:
            raise InvalidParameter(f"{name} must hold probabilities in [0, 1], zero or at least {_LEAST:g}")
        return value
    number = fraction(name, value)
    if 0.0 < number < _LEAST:
        raise InvalidParameter(f"{name} must hold probabilities in [0, 1], zero or at least {_LEAST:g}")
    return number
