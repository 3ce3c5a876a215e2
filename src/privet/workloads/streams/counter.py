"""Running counts over a stream: what the trees and the square root share."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, Protocol, Self, final

import numpy as np

from privet._cache import kept_property, remember
from privet._calls import door
from privet._numerics import Array, root_up, up
from privet._validate import above, count, instance, open_fraction, set_frozen
from privet.errors import InvalidData, InvalidParameter, NoGuarantee
from privet.mechanisms import (
    STREAM,
    ErrorBar,
    Gaussian,
    Mechanism,
    Sensitivity,
    Source,
    pure_scale,
    row_sensitivity,
    scale_for,
)
from privet.mechanisms.target import ratio_down
from privet.noise import LARGEST_SCALE
from privet.privacy import GaussianLoss, Guarantee, PrivacyLoss, Promise, PureLoss, Unit
from privet.workloads.design import NoiseNorm
from privet.workloads.families.counts import admit_counts, whole_counts
from privet.workloads.streams.count_stream import CountStream

LARGEST_HORIZON = 2**40  # a thousand steps a second for 34 years: nobody counts longer
_LISTED = 2**22  # steps whose errors are listed


class Counting(Protocol):
    """The state of one or several runs: exact sums that are still open, and noisy ones."""

    def step(self, counted: int) -> Array:
        """Take the count of the next step; the noisy sum so far, of every run."""


@dataclass(frozen=True, kw_only=True)
class Counter(Mechanism[Any, Any]):
    """Base of the mechanisms that say after every step of a stream how many rows there were so far.

    `start()` opens a stream for counts that come in one by one, paid as a whole when it is opened; `release(counts)` runs
    over a whole list. Both take the same steps. A count that is missing or no number is 0, a fraction is rounded half
    up, and what lies beyond `most` is cut there. Time is public: how many steps there are, and that one has passed.
    """

    horizon: int
    scale: float
    norm: NoiseNorm
    unit: Unit = field(default=Unit())
    max_rows: int = 1
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, horizon=count("horizon", self.horizon, 1), max_rows=count("max_rows", self.max_rows, 1))
        if self.horizon > LARGEST_HORIZON:
            raise InvalidParameter(f"horizon must be at most 2^40 steps, got {self.horizon:,}")
        set_frozen(self, scale=above("scale", self.scale, 0.0))
        instance("unit", self.unit, Unit)
        if self.norm not in self._norms():
            raise InvalidParameter(f"norm must be {' or '.join(self._norms())} here, got {self.norm!r:.40}")
        if Fraction(self.scale) * self._finer > LARGEST_SCALE:
            raise InvalidParameter("the budget is too small for this stream: its noise would not fit whole numbers")

    @classmethod
    def _norms(cls) -> tuple[NoiseNorm, ...]:
        """The kinds of noise it has: "l1" (discrete Laplace) and "l2" (Gaussian)."""
        return ("l1", "l2")

    @property
    def _finer(self) -> int:
        """Whole steps of the noise in one row."""
        return 1

    @property
    def most(self) -> int:
        """Counts are cut at this size, so that no sum overflows."""
        return 2**61 // self.horizon

    @abstractmethod
    def _longest(self) -> Fraction:
        """The distance by which one row in one step moves what is measured: the l1 norm, or the square of the
        l2 norm."""

    @abstractmethod
    def _farthest(self) -> Fraction:
        """The same for a row that moves from one step to another; 0 where there is one step."""

    @abstractmethod
    def _counting(self, runs: int, source: Source) -> Counting:
        """The state before the first step."""

    @abstractmethod
    def deviations(self, steps: int | None = None) -> Array:
        """The standard deviation of the sum after each of the first `steps` steps."""

    @abstractmethod
    def _radii(self, steps: Sequence[int], confidence: float) -> Array:
        """The radius of the exact law of the noise after each of these steps."""

    @abstractmethod
    def describe(self) -> str:
        """The mechanism in words."""

    @kept_property
    def sensitivity(self) -> Sensitivity:
        """Of everything that is measured, for a person with `max_rows` rows in whatever steps."""
        reach = self._longest()
        if self.unit.relation == "replace":
            reach = max(reach, self._farthest())
        length = reach if self.norm == "l1" else Fraction(root_up(reach))
        return row_sensitivity(length, norm=self.norm, unit=self.unit, max_rows=self.max_rows)

    @property
    def loss(self) -> PrivacyLoss:
        """The price of the whole stream, however many of its steps are taken."""
        reach = self.sensitivity.value
        if self.norm == "l1":
            return PureLoss(up(reach / Fraction(self.scale)), unit=self.unit)
        return GaussianLoss(ratio_down(self.scale, reach), unit=self.unit)

    @classmethod
    @final
    def _calibrated(cls, promise: Promise, facts: dict[str, Any]) -> Self:
        """The least noise within the budget; of both norms, where there are two, the better."""
        target = Guarantee(**promise)  # which says what is wrong
        found: list[Self] = []
        for norm in cls._norms():
            blank = cls(scale=1.0, norm=norm, **facts)
            if norm == "l2" and not (target.epsilon is not None and target.delta == 0.0):
                made = Gaussian.for_budget(**promise, sensitivity=blank.sensitivity)
                found.append(cls(scale=made.scale, at=made.at, norm=norm, **facts))
            elif norm == "l1" and target.mu is None:
                rate = target.epsilon or (2.0 * float(target.rho or 0.0)) ** 0.5 * (1.0 - 1e-15)
                reach = blank.sensitivity.value
                scale = pure_scale(scale_for(1.0 / rate, reach), reach, Guarantee(rate))
                found.append(cls(scale=scale, norm=norm, **facts))
        if not found:
            raise NoGuarantee(
                "the square root needs Gaussian noise, which has no pure guarantee: give a delta, or take TreeCount"
            )
        return min(found, key=lambda each: each.rmse)

    @kept_property
    def rmse(self) -> float:
        """The root of the mean squared error over the steps (the first four million of them)."""
        return float(np.sqrt(np.mean(self.deviations(min(self.horizon, _LISTED)) ** 2)))

    @final
    def _steps(self, steps: int | None) -> int:
        """The number of steps that are listed, checked."""
        listed = self.horizon if steps is None else count("steps", steps, 1)
        if listed > min(self.horizon, _LISTED):
            raise InvalidParameter(
                f"steps must be at most {min(self.horizon, _LISTED):,}: errors are listed one by one"
            )
        return listed

    @final
    @door
    def start(self, *, source: Source = None) -> CountStream:
        """A stream for counts that come in one by one; the price of the whole stream is due now.

        In a run (`ledger.start`) it is one slice: `with run.begin(): stream = counter.start()`.
        """
        stream: CountStream = self._pass(
            STREAM, lambda: self._made(CountStream(self, source), None, source), source
        ).value
        return stream

    def _admit(self, value: object) -> None:
        shape = admit_counts(value)
        if len(shape) != 1 or not 1 <= shape[0] <= self.horizon:
            raise InvalidData(f"the counts must be one for each step, at least 1 and at most {self.horizon:,} of them")

    def _prepare(self, value: object) -> Array:
        return whole_counts(value, self.most)

    @final
    def _draw(self, prepared: Array, runs: int, source: Source) -> Array:
        """The steps of a stream, one after the other, for all runs at once."""
        state = self._counting(runs, source)
        return np.stack([state.step(counted) for counted in prepared.tolist()], axis=1)

    def _notes(self, drawn: object) -> tuple[str, ...]:
        return (f"counts beyond {self.most:,} are cut there",)

    def error(self, confidence: float = 0.95, *, step: int | None = None) -> ErrorBar:
        """The distance by which the sum may be off after a step, the last one unless another is named, by the exact law
        of the noise."""
        at = self.horizon if step is None else count("step", step, 1)
        if at > self.horizon:
            raise InvalidParameter(f"step must be at most the horizon, {self.horizon:,}: got {at:,}")
        return ErrorBar(
            self._radii([at], open_fraction("confidence", confidence))[0], confidence, f"the sum after step {at}"
        )

    def _error_of(self, prepared: Array) -> ErrorBar:
        return ErrorBar(_bars(self, len(prepared)), 0.95, joint=False)

    @final
    @door
    def explain(self, confidence: float = 0.95) -> str:
        """A table of how far off the sums are, step by step, known before anything is paid."""
        open_fraction("confidence", confidence)
        steps = sorted({1, self.horizon, *(2**j for j in range(1, self.horizon.bit_length())), self._worst})
        noise = "Laplace" if self.norm == "l1" else "Gaussian"
        lines = [f"{self.describe()}; {noise} noise; {self.unit.describe()}; RMSE {self.rmse:.5g}"]
        lines.append(f"{'after step':>12}{f'{100.0 * confidence:.4g}% within':>16}")
        lines += [f"{s:>12,}{r:>16.5g}" for s, r in zip(steps, self._radii(steps, confidence), strict=True)]
        return "\n".join(lines)

    @property
    @abstractmethod
    def _worst(self) -> int:
        """The step with the largest error."""

    @property
    def _kind(self) -> Literal["laplace", "gaussian"]:
        return "laplace" if self.norm == "l1" else "gaussian"


@remember(2**20)
def _bars(counter: Counter, steps: int) -> Array:
    """The bars of the first sums, which are public: a stream that is released again has the same."""
    return counter._radii(range(1, steps + 1), 0.95)
