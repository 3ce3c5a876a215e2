"""The noise of one step of training: a clipped sum on a public grid, with whole numbers of normal noise."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Unpack, final

import numpy as np
import torch
from numpy.typing import NDArray

from privet import noise
from privet._cache import kept_property
from privet._compiled import Compiled
from privet._numerics import Array, ndtri, ratio_down, root_up
from privet._validate import above, count, flag, open_fraction, set_frozen
from privet.deep.stream import NoiseOnDevice
from privet.deep.sum_on_device import SumOnDevice
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms import ErrorBar, Example, Gaussian, Mechanism, Sensitivity, Source, clipped_steps, register
from privet.noise import Grid, KeyedStream
from privet.privacy import GaussianLoss, Guarantee, Promise, Unit, as_unit

_FINER = 20  # rounding enlarges the sensitivity by at most 2^-20 of it, which is less than a millionth
_FARTHEST_CLIP = 1e20  # a sum of 10^18 records stays in float32: an infinite one counts as 0, more than a clip away
_STRICT = 29  # the clip has 2^29 steps or more, and at most 2^30: squares of a clipped record fit 64-bit integers
_FARTHEST = 2**61  # steps of a sum saturate here, which brings no two of them farther apart
_LEAST_ON_DEVICE = 1024  # steps of the noise for which the law of a keyed stream is proved (proof note noise/keyed)
_SIXTEEN_BITS = (torch.bfloat16, torch.float16, np.dtype(np.float16))
_MOST_ON_DEVICE = 2**32  # numbers: their places in a keyed stream have 32 bits
_LARGEST = 2**52  # of the noise in steps: then sum and noise stay in 64 bits
_QUICK = 2.0**50
_ROUNDS = 1.5 * 2.0**52  # doubles near it are the whole numbers


@final
@register
@dataclass(frozen=True, kw_only=True)
class StepNoise(Mechanism[Any, Any]):
    """A step's sum of clipped gradients with normal noise of `noise_multiplier` times `clip` in every coordinate.

    The sum is `dimension` numbers, to which one record adds a vector of l2 norm at most `clip`. It is rounded to a public
    grid, a power of two chosen from clip and dimension, and noise is added in whole steps of that grid, exactly. Numbers
    that are not finite count as 0. With `strict` the value is made of whole steps: `exact_steps` of the records' clipped
    gradients, added up in any order and in any number of pieces. With `single` what comes out is rounded to float32, which
    takes half the memory. A `SumOnDevice` gets its noise where it lies, from a key that is drawn for it alone and kept
    nowhere, and comes out there in its own type.

    **Guarantee:** that of the continuous Gaussian mechanism with `noise_multiplier`, exactly and in every dimension.
    **Sensitivity:** l2: clip under add/remove and zero-out, twice that under replace, times the group; rounding to the grid
    adds sqrt(dimension) steps, less than a millionth, for which the noise is enlarged. The promise is about real numbers:
    a sum that was accumulated in float32 may move by 1e-5 of the clip more, of thousands of equal records by 1e-4
    (measured, not proved). A strict sum moves by no more than `clip`, whatever the records are.
    **Error:** all coordinates within the exact normal quantile, and a step of the grid.
    **Reference:** Abadi et al. 2016; proof note deep/step_noise.

    >>> step = StepNoise(clip=1.0, noise_multiplier=2.0, dimension=3)
    >>> step.loss == GaussianLoss(2.0), step.release(np.array([0.5, 0.0, -7.0])).value.shape
    (True, (3,))
    """

    name = "step_noise"

    clip: float
    noise_multiplier: float
    dimension: int
    strict: bool = False
    single: bool = False
    unit: Unit = field(default=Unit())
    at: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, clip=above("clip", self.clip, 0.0))
        set_frozen(self, noise_multiplier=above("noise_multiplier", self.noise_multiplier, 0.0))
        set_frozen(self, dimension=count("dimension", self.dimension, 1))
        flag("strict", self.strict)
        flag("single", self.single)
        if not 1 / _FARTHEST_CLIP <= self.clip <= _FARTHEST_CLIP:
            told = f"clip must lie between {1 / _FARTHEST_CLIP:g} and {_FARTHEST_CLIP:g}, got {self.clip:g}"
            raise InvalidParameter(f"{told}: scale the loss instead")
        if not 1 <= self._sigma <= _LARGEST:
            raise InvalidParameter(
                f"noise_multiplier must lie between {float(1 / self._reach):.2g} and {float(_LARGEST / self._reach):.2g} "
                f"for so many coordinates, got {self.noise_multiplier:g}"
            )

    @classmethod
    def for_budget(
        cls,
        *,
        clip: float,
        dimension: int,
        strict: bool = False,
        unit: Unit | None = None,
        **promise: Unpack[Promise],
    ) -> "StepNoise":
        """The least noise with which a single step stays within the budget."""
        neighbours = as_unit(unit)
        plain = Gaussian.for_budget(**promise, sensitivity=_records(neighbours), unit=neighbours)
        return cls(
            clip=clip, noise_multiplier=plain.scale, dimension=dimension, strict=strict, unit=neighbours, at=plain.at
        )

    @property
    def loss(self) -> GaussianLoss:
        return GaussianLoss(ratio_down(self.noise_multiplier, _records(self.unit)), unit=self.unit)

    @kept_property
    def grid(self) -> Grid:
        """The public grid on which sums, noise and releases lie."""
        if self.strict:
            return Grid.finer_than(self.clip, _STRICT)
        return Grid.finer_than(Fraction(self.clip) / Fraction(root_up(self.dimension)), _FINER)

    @kept_property
    def _reach(self) -> Fraction:
        """The distance by which one record moves the sum on the grid, in steps: rounding, half a step a coordinate in each
        of two neighbours, included. Records of a strict sum were rounded towards zero, which adds nothing.
        """
        clip = self.grid.length(self.clip)
        return clip if self.strict else clip + Fraction(root_up(self.dimension))

    @kept_property
    def _sigma(self) -> Fraction:
        """Standard deviation of the noise in steps, exactly: the price is `noise_multiplier`, with nothing rounded."""
        return Fraction(self.noise_multiplier) * self._reach

    @property
    def steps(self) -> Fraction:
        """Standard deviation of the noise in steps of the grid, exactly."""
        return self._sigma

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise, in the units of the sum."""
        return float(self._sigma * self.grid.step)

    @property
    def sensitivity(self) -> Sensitivity:
        """The distance of neighbouring sums on the grid, rounding included: what replays hold inputs against."""
        return Sensitivity(_records(self.unit) * self._reach * self.grid.step, norm="l2", unit=self.unit)

    def on_device(self, device: torch.device) -> NoiseOnDevice | None:
        """The same noise made ready on a device, for a `SumOnDevice` there; None where only the host draws it: for strict
        sums, for more than 2^32 numbers, and of less than 1024 or more than 2^52 steps.
        """
        if self.strict or self.dimension > _MOST_ON_DEVICE or not _LEAST_ON_DEVICE <= self._sigma <= _LARGEST:
            return None
        return NoiseOnDevice(self._sigma, self.grid, self.dimension, device)

    def _measured_of(self, value: Any) -> Array:
        value = value.exact_array() if isinstance(value, SumOnDevice) else value
        return self._on_grid(self._prepare(value)) * self.grid.width

    def exact_steps(self, records: Array) -> Array:
        """The exact sum of records in whole steps, for `strict`: one row a record, each clipped and rounded towards zero
        by itself, so that its exact norm is at most `clip`. Sums of such sums are strict sums. Not releasable.

        >>> strict = StepNoise(clip=1.0, noise_multiplier=1.0, dimension=2, strict=True)
        >>> (strict.exact_steps(np.array([[3.0, 4.0], [0.25, 0.0]])) * strict.grid.width).round(6).tolist()
        [0.85, 0.8]
        """
        rows = _as_array(records)
        if rows.ndim != 2 or rows.shape[1] != self.dimension:
            raise InvalidData(f"records must have two dimensions and {self.dimension} columns, one for a parameter")
        if not self.strict:
            raise InvalidParameter("only a strict step adds up whole steps: make it with strict=True")
        return clipped_steps(rows, self.clip, self.grid).sum(axis=0, dtype=np.int64)

    def _admit(self, value: Any) -> None:
        if isinstance(value, SumOnDevice):
            if self.strict or value.noise.count != self.dimension:
                raise InvalidData(f"the sum must be one row of {self.dimension} numbers, and its noise not strict")
            return
        array = _as_array(value)
        if value.dtype in _SIXTEEN_BITS:
            raise InvalidData(
                "the sum must be in float32 or better: in 16 bits a record moves it by more than the clip"
            )
        if array.shape != (self.dimension,):
            raise InvalidData(f"the sum must be one row of {self.dimension} numbers")
        if self.strict and array.dtype != np.int64:
            raise InvalidData("a strict step takes whole steps in int64: the sum of exact_steps(records)")
        if not self.strict and array.dtype.kind != "f":
            raise InvalidData(
                "the sum must be made of floats of 32 or 64 bits: convert with np.asarray(..., dtype=float)"
            )

    def _prepare(self, value: Any) -> Any:
        return value if isinstance(value, SumOnDevice) else np.ascontiguousarray(_as_array(value))

    def _draw(self, prepared: Any, runs: int, source: Source) -> Any:
        if isinstance(prepared, SumOnDevice):
            return [self._drawn_on_device(prepared, runs, source) for _ in range(runs)]
        out = np.empty((runs, self.dimension), dtype=np.float32 if self.single else np.float64)
        for row in out:
            with np.errstate(over="ignore"):  # beyond float32 is infinity
                self._add_noise(prepared, source, row)
        return out

    def _drawn_on_device(self, total: SumOnDevice, runs: int, source: Source) -> Any:
        """One draw, with a key of its own: no two share a word. A single one is read before the next is drawn."""
        drawn = total.protected(self._sigma, self.grid, KeyedStream.fresh(source))
        if runs == 1:
            return drawn
        total.noise.settle()
        return drawn.clone()

    def _add_noise(self, vector: Array, source: Source, out: Array) -> None:
        """The protected sum, as doubles on the grid, each of them one rounding of the exact sum: a function of it, as are
        these rounded to float32. Noise lies in a piece of memory that stays in the cache, and is gone with it.
        """
        if self._sigma >= noise.PIECES_SIGMA:
            for start, steps, _ in noise.rounded_gaussian_pieces(
                sigma=self._sigma, count=self.dimension, source=source
            ):
                self._add_slowly(vector, steps, out, start)
            return
        add = _add.of(self.dimension) if vector.dtype in _COMPILED else _added
        width, (middle, near) = self.grid.width, self._middle
        unit = width if self.strict else 1.0
        for start, drawn, spare in noise.gaussian_pieces(
            sigma=self._sigma, count=self.dimension, grid=self.grid, source=source
        ):
            part = slice(start, start + len(drawn))
            if not add(vector[part], unit, drawn, middle, near, out[part], spare):
                self._add_slowly(vector, np.rint(drawn / width).astype(np.int64), out, start)

    def _add_slowly(self, vector: Array, steps: NDArray[np.int64], out: Array, start: int) -> None:
        """The long way, which takes every number: sums in whole steps."""
        part = slice(start, start + len(steps))
        np.multiply(self._on_grid(vector[part]) + steps, self.grid.width, out=out[part], casting="same_kind")

    @kept_property
    def _middle(self) -> tuple[float, float]:
        """The number that rounds doubles to the grid, and the size of numbers from which on it does not."""
        return _ROUNDS * self.grid.width, _QUICK * self.grid.width

    @kept_property
    def _per_step(self) -> float:
        return math.ldexp(1.0, -self.grid.exponent)

    def _on_grid(self, numbers: Array) -> Array:
        """Whole steps, within half a step of the number; any such rounding will do."""
        if self.strict:
            return np.clip(numbers, -_FARTHEST, _FARTHEST)
        with np.errstate(over="ignore", invalid="ignore"):
            steps = np.rint(numbers.astype(np.float64) * self._per_step)
        steps = np.where(np.isfinite(steps), steps, 0.0)
        return np.clip(steps, -float(_FARTHEST), float(_FARTHEST)).astype(np.int64)

    def _error_of(self, prepared: Any) -> ErrorBar:
        return self._bar

    @kept_property
    def _bar(self) -> ErrorBar:
        return self.error()  # the same for every step

    def error(self, confidence: float = 0.95) -> ErrorBar:
        """The exact normal quantile, jointly over the coordinates."""
        tail = -math.expm1(math.log(open_fraction("confidence", confidence)) / self.dimension)
        radius = -self.sigma * ndtri(tail / 2.0) + self.grid.width
        of = "the value" if self.dimension == 1 else f"each of {self.dimension} coordinates at once"
        return ErrorBar(radius, confidence, of, self.dimension * self.sigma * math.sqrt(2.0 / math.pi))

    @classmethod
    def examples(cls) -> Iterable[Example]:
        plain = cls.for_budget(epsilon=1.0, delta=1e-5, clip=1.0, dimension=4)
        yield Example(plain, np.zeros(4), np.full(4, 0.5), Guarantee(1.0, 1e-5))
        moved = cls.for_budget(mu=0.5, clip=0.25, dimension=1, unit=Unit("replace"))
        yield Example(moved, np.array([0.25], dtype=np.float32), np.array([-0.25], dtype=np.float32), Guarantee(mu=0.5))
        yield Example(replace(plain, single=True), np.zeros(4), np.full(4, 0.5), Guarantee(1.0, 1e-5))
        strict = cls.for_budget(mu=0.5, clip=2.0, dimension=3, strict=True)
        left = strict.exact_steps(np.array([[0.5, 0.0, 3.0]]))
        right = left + strict.exact_steps(np.array([[0.0, 0.0, 9.0]]))
        yield Example(strict, left, right, Guarantee(mu=0.5))


def _added(numbers: Array, unit: float, drawn: Array, middle: float, near: float, out: Array, spare: Array) -> bool:
    """Sums of numbers and noise in `out`, both rounded to the grid; or False where a number is not `near` 0 or none at all.
    They are the same, digit for digit, as those of the long way. `spare` is memory that may be used.

    Near the middle, 1.5 * 2^52 steps, doubles are whole steps: adding a number to it rounds the number to the grid, and
    adding noise to that rounds the noise.
    """
    most = near / unit
    if not (float(numbers.min()) > -most and float(numbers.max()) < most):  # neither, where one is no number
        return False
    if unit == 1.0:
        np.copyto(spare, numbers)
    else:
        np.multiply(numbers, unit, out=spare)
    spare += middle
    spare += drawn
    np.subtract(spare, middle, out=out, casting="same_kind")
    return True


def _added_by_one(
    numbers: Array, unit: float, drawn: Array, middle: float, near: float, out: Array, spare: Array
) -> bool:
    """The same, in a loop that a compiler understands."""
    fits = True
    for i in range(len(out)):
        number = float(numbers[i]) * unit  # in doubles, as Python too
        fits &= -near < number < near
        out[i] = number + middle + drawn[i] - middle
    return fits


_add = Compiled(_added, _added_by_one)
_COMPILED = (np.float32, np.float64, np.int64)  # a compiler knows no others, nor foreign orders of bytes


def _records(unit: Unit) -> int:
    """The distance of neighbours in clips, at most."""
    return unit.group_size * (2 if unit.relation == "replace" else 1)


def _as_array(value: Any) -> Array:
    """An array of numbers, or a tensor as one; whichever device it is on."""
    if isinstance(value, torch.Tensor):
        held = value.detach().cpu()
        return (held.float() if held.dtype in _SIXTEEN_BITS else held).numpy()
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iuf" or value.dtype.itemsize > 8:
        raise InvalidData("the sum must be a numpy array or a tensor of numbers")
    return value
