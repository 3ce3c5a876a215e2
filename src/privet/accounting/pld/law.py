"""The law of a composition, and how epsilon and delta are read off it on the safe side.

plan (`plan.py`) -> round each part (`rounding.py`) -> compose (`compose.py`) -> answer: `law.profile(UPPER).epsilon(1e-6)`.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from privet._numerics import Array, bisect


@final
class Upper:
    """Answers from above: errors are added, and what is not known counts as lost."""

    no_epsilon = math.inf  # said where the law cannot tell
    sign = 1.0  # losses may be off by a shift: an answer moves away from the truth by as much

    def factor(self, mass_error: float) -> float:
        """The factor for masses with this relative error."""
        return 1.0 + mass_error

    def constant(self, law: "ComposedLaw") -> float:
        """The part of delta that no epsilon takes away."""
        return (law.infinite + law.above) * self.factor(law.mass_error)

    def masses(self, weight: Array) -> Array:
        """Tilted masses that rounding may have made slightly negative."""
        return np.maximum(weight, 0.0)

    def charged(self, value: float, error: float) -> float:
        """A part of delta with this error."""
        return max(value, 0.0) + error

    def unknown(self, constant: float) -> float:
        """delta where nothing is known but its constant part."""
        return 1.0

    def proves(self, value: float, delta: float) -> bool:
        """Does this bound on delta(e), at one e, prove the claim about the e that belongs to delta?"""
        return value <= delta

    def end(self, low: float, high: float) -> float:
        """The end of a bracket that is safe to return: delta is above the target at `low`, not above it at `high`."""
        return high


@final
class Lower:
    """Answers from below, in the same words: errors are taken off, and what is not known counts as nothing."""

    no_epsilon, sign = -math.inf, -1.0

    def factor(self, mass_error: float) -> float:
        return 1.0 - min(1.0, mass_error)

    def constant(self, law: "ComposedLaw") -> float:
        return law.infinite * self.factor(law.mass_error)

    def masses(self, weight: Array) -> Array:
        return weight

    def charged(self, value: float, error: float) -> float:
        return max(value - error, 0.0)

    def unknown(self, constant: float) -> float:
        return constant

    def proves(self, value: float, delta: float) -> bool:
        return value >= delta

    def end(self, low: float, high: float) -> float:
        return low


Side = Upper | Lower
UPPER, LOWER = Upper(), Lower()


class Profile(ABC):
    """delta as a function of epsilon, bounded on one side."""

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """delta at one epsilon."""

    @abstractmethod
    def epsilon(self, delta: float) -> float:
        """Smallest epsilon with delta(epsilon) <= delta (upper), or the largest with delta(epsilon) >= delta (lower)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ComposedLaw(ABC):
    """The tilted law of a sum of losses as far as it is known, and what the computation may have got wrong.

    Its masses are w = p exp(t e - K). It is kept node by node (`NodeLaw`) or as a few frequencies (`BandLaw`).
    """

    tilt: float
    log_scale: float  # K
    infinite: float  # mass at +infinity
    above: float  # bound on the mass above the window
    bin_error: float  # bound on the error of each tilted mass
    wrapped: float  # bound on the tilted mass that wrapped around into the window
    mass_error: float  # relative error of the masses of the sum
    shift: float  # losses may be off by this much
    complete_below: bool  # does no mass lie below the window?
    step: float

    @property
    @abstractmethod
    def length(self) -> int:
        """Number of nodes of the window."""

    @property
    @abstractmethod
    def bottom(self) -> float:
        """The first node of the window."""

    @property
    @abstractmethod
    def top(self) -> float:
        """The last node of the window."""

    @abstractmethod
    def profile(self, side: Side, floor: float = -math.inf) -> Profile:
        """The curve delta(epsilon) from one side; nothing below `floor` will be asked."""

    @property
    def error_weight(self) -> float:
        """Bound on the error of delta(e), in units of exp(K - t e): rounding of the transform, and wrapping."""
        t, h = self.tilt, self.step
        # sum over nodes above e of e^{-t x}(1 - e^{-x}), and the largest of these weights
        bins = min(1.0 / (h * t * (1.0 + t)) + 1.0, float(self.length)) if t > 0.0 else float(self.length)
        peak = math.exp(-t * math.log1p(1.0 / t)) / (1.0 + t) if t > 0.0 else 1.0
        return self.bin_error * bins + self.wrapped * peak

    def __str__(self) -> str:
        """A line for readers.

        >>> from privet import privacy
        >>> from privet.accounting.pld.compose import compose
        >>> from privet.accounting.pld.plan import make_plan
        >>> from privet.accounting.pld.rounding import upper_law
        >>> parts = [(privacy.LaplaceLoss(20.0), 100)]
        >>> plan = make_plan(parts, "remove", delta=1e-6)
        >>> law = compose([(upper_law(loss, "remove", 1e-3, 1e-16, plan.order), n) for loss, n in parts], 1e-3, plan)
        >>> print(str(law).partition(";")[0])
        NodeLaw: 8,192 nodes from -2.053 to 6.138 (step 0.001), tilted by 4.866
        """
        return (
            f"{type(self).__name__}: {self.length:,} nodes from {self.bottom:.4g} to {self.top:.4g} "
            f"(step {self.step:.3g}), tilted by {self.tilt:.4g}; "
            f"at infinity {self.infinite:.3g}, above the window at most {self.above:.3g};\n"
            f"masses right to {self.mass_error:.2g}, losses to {self.shift:.2g}, delta(e) to {self.error_weight:.2g} "
            f"exp({self.log_scale:.4g} - {self.tilt:.4g} e)"
        )


# of the guess of epsilon: where a search begins, hence speed alone
_SHARES = (1.0, 0.98, 0.95, 0.9, 0.8, 0.7, 0.6, 0.4, 0.2, 0.0)


@final
class Layers(Profile):
    """The profile of a sum of measures, each with a profile of its own; bounds add up."""

    def __init__(self, laws: list[ComposedLaw], side: Side, floor: float, guess: float) -> None:
        self.layers = [law.profile(side, floor) for law in laws]
        self.side, self.guess = side, guess
        self.top = max(law.top for law in laws)

    def delta(self, epsilon: float) -> float:
        return min(1.0, math.fsum(layer.delta(epsilon) for layer in self.layers))

    def epsilon(self, delta: float) -> float:
        """Each point is a claim of its own, so the bracket is halved, from about the loss that is expected on."""
        low, high = 0.0, self.top  # above the target at `low`, not above it at `high`
        if self.side is UPPER and self.delta(low) <= delta:
            return low
        if self.side is LOWER:  # below its window a lower bound knows nothing: start from a point that it sees
            seen = [share * self.guess for share in _SHARES if self.delta(share * self.guess) >= delta]
            if not seen:
                return -math.inf
            low = seen[0]
        if self.delta(high) > delta:
            return self.side.end(high, math.inf)
        if low < self.guess < high:
            low, high = (self.guess, high) if self.delta(self.guess) > delta else (low, self.guess)
        bad, good = self.side.end(high, low), self.side.end(low, high)
        return bisect(lambda e: (self.delta(e) > delta) == (good < bad), bad, good, within=1e-9, steps=100)
