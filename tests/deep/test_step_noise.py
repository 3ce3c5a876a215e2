"""Noise of a training step: the law that is priced, on the grid that is charged."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from scipy import stats  # noqa: E402

from privet import audit, noise, testing  # noqa: E402
from privet._compiled import Compiled  # noqa: E402
from privet.deep import StepNoise, step_noise as file  # noqa: E402
from privet.errors import InvalidData, InvalidParameter  # noqa: E402
from privet.privacy import GaussianLoss, Unit  # noqa: E402

BOTH = file._added, file._added_by_one
EDGES = stats.norm.ppf(np.linspace(0.0, 1.0, 65))


def cells(values: np.ndarray, sigma: float) -> np.ndarray:
    """How many of the values fall between the 64-quantiles of a normal law."""
    return np.bincount(np.searchsorted(EDGES[1:-1], values / sigma), minlength=64)


@pytest.mark.parametrize("strict", [False, True])
def test_the_noise_is_normal_and_neither_half_nor_twice_of_it(strict):
    step = StepNoise(clip=0.7, noise_multiplier=1.3, dimension=200_000, strict=strict)
    zero = np.zeros(step.dimension, dtype=np.int64 if strict else np.float32)
    drawn = step.release(zero, source=noise.Seeded(3)).value
    assert 0.7 * 1.3 <= step.sigma <= 0.91 * (1 + 1e-6)
    assert stats.chisquare(cells(drawn, step.sigma)).pvalue > 1e-4
    for wrong in (0.5, 2.0):
        assert stats.chisquare(cells(drawn, wrong * step.sigma)).pvalue < 1e-6


@pytest.mark.parametrize(("unit", "records"), [
    (Unit(), 1), (Unit("zero_out"), 1), (Unit("replace"), 2), (Unit("replace", group_size=3), 6),
])  # fmt: skip
def test_the_price_is_the_multiplier_over_what_a_unit_moves(unit, records):
    step = StepNoise(clip=2.0, noise_multiplier=1.5, dimension=10, unit=unit)
    assert step.loss == GaussianLoss(1.5 / records, unit=unit)


@pytest.mark.parametrize("dimension", [1, 2, 17, 407_050, 85_600_000])
def test_the_grid_costs_less_than_a_millionth_and_is_charged(dimension):
    step = StepNoise(clip=0.3, noise_multiplier=1.0, dimension=dimension)
    reach = step._reach * step.grid.step  # in the units of the sum
    rounding = reach - Fraction(0.3)
    assert rounding**2 >= dimension * step.grid.step**2
    assert 0 < rounding / Fraction(0.3) < Fraction(1, 10**6)
    assert step._sigma == Fraction(1.0) * step._reach


def on_grid(step: StepNoise, numbers: np.ndarray) -> np.ndarray:
    return step._on_grid(step._prepare(numbers)).astype(object)


def test_neighbours_on_the_grid_are_within_reach():
    rng = np.random.default_rng(5)
    step = StepNoise(clip=1.0, noise_multiplier=1.0, dimension=40)
    far = 0.0
    for _ in range(200):
        left = rng.normal(size=40) * 10.0 ** rng.integers(-9, 4)
        if rng.random() < 0.5:  # beside half a step, where the rounding of each coordinate is worst
            left = (np.round(left / step.grid.width) + 0.5) * step.grid.width
        move = rng.normal(size=40)
        right = left + move / np.linalg.norm(move) * (1.0 - 1e-9)
        moved = sum((a - b) ** 2 for a, b in zip(on_grid(step, left), on_grid(step, right), strict=True))
        assert moved <= step._reach**2
        far = max(far, math.sqrt(moved) / float(step._reach))
    assert far > 0.999  # the bound is nearly met


def test_rounding_alone_moves_a_sum_by_root_d_steps():
    step = StepNoise(clip=1.0, noise_multiplier=1.0, dimension=16)
    left = np.full(16, 0.5 * step.grid.width * (1.0 - 1e-12))
    right = np.full(16, 0.5 * step.grid.width * (1.0 + 1e-12))
    moved = on_grid(step, right) - on_grid(step, left)
    assert moved.tolist() == [1] * 16
    assert step._reach >= step.grid.length(1.0) + 4  # the root of 16: all of it is charged


def test_strict_sums_are_exact_in_any_pieces_and_never_beyond_the_clip():
    rng = np.random.default_rng(7)
    step = StepNoise(clip=0.5, noise_multiplier=1.0, dimension=9, strict=True)
    records = rng.normal(size=(50, 9)) * 10.0 ** rng.integers(-6, 6, size=(50, 1))
    records[3], records[4, 2], records[5] = np.inf, np.nan, 0.0
    whole = step.exact_steps(records)
    for pieces in ([1] * 50, [7] * 7 + [1], [50]):
        parts = np.split(records, np.cumsum(pieces)[:-1])
        assert (sum(step.exact_steps(part) for part in parts) == whole).all()
    for record in records:
        own = step.exact_steps(record[None, :]).astype(object)
        assert sum(own * own) <= step._reach**2
        if np.isfinite(record).all() and np.linalg.norm(record) > 0.5:
            assert float(sum(own * own)) > float(step._reach) ** 2 * (1.0 - 1e-6)
    assert (step.exact_steps(records[3:4]) == 0).all()


def test_a_record_that_is_rounded_half_up_would_be_too_long():
    """The twin of `exact_steps`: a record of many small coordinates grows when they are rounded to the nearest step."""
    step = StepNoise(clip=1.0, noise_multiplier=1.0, dimension=4, strict=True)
    width = step.grid.width
    record = np.array([1.0 - 2.0**-40, 0.6 * width, 0.6 * width, 0.6 * width])
    half_up = np.floor(record / width + 0.5).astype(np.int64).astype(object)
    assert sum(half_up * half_up) > step._reach**2
    own = step.exact_steps(record[None, :]).astype(object)
    assert sum(own * own) <= step._reach**2


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_tensors_are_taken_as_their_numbers(dtype):
    step = StepNoise(clip=1.0, noise_multiplier=1.0, dimension=3)
    tensor = torch.tensor([0.5, -1.0, 8.0], dtype=dtype, requires_grad=True)
    same = step.release(np.array([0.5, -1.0, 8.0]), source=noise.Seeded(1)).value
    assert (step.release(tensor, source=noise.Seeded(1)).value == same).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_records_in_sixteen_bits_are_added_in_whole_steps(dtype):
    """Their sum would be none that knows its sensitivity; the records, clipped one by one, are numbers as others."""
    step = StepNoise(clip=1.0, noise_multiplier=1.0, dimension=3, strict=True)
    records = torch.tensor([[0.5, -0.25, 8.0], [0.125, 0.0, 0.0]], dtype=dtype)
    assert (step.exact_steps(records) == step.exact_steps(records.double().numpy())).all()


def test_what_is_not_finite_counts_as_nothing_and_what_is_huge_saturates():
    step = StepNoise(clip=1.0, noise_multiplier=1.0, dimension=5)
    steps = step._on_grid(np.array([np.nan, np.inf, -np.inf, 1e300, -1e300]))
    assert steps.tolist() == [0, 0, 0, 2**61, -(2**61)]
    assert np.isfinite(step.release(np.array([np.nan, np.inf, -np.inf, 1e300, -1e300])).value).all()


@pytest.mark.parametrize("value", [
    np.zeros(2), np.zeros((3, 1)), [0.0, 0.0, 0.0], np.zeros(3, dtype=np.int64), np.array(["a", "b", "c"]), None,
    np.zeros(3, dtype=np.float16), torch.zeros(3, dtype=torch.float16), torch.zeros(3, dtype=torch.bfloat16),
])  # fmt: skip
def test_other_inputs_are_refused_before_anything_is_paid(value):
    step = StepNoise(clip=1.0, noise_multiplier=1.0, dimension=3)
    with pytest.raises(InvalidData, match="the sum must be"):
        step.check(value)


def test_strict_and_plain_steps_do_not_mix():
    plain = StepNoise(clip=1.0, noise_multiplier=1.0, dimension=3)
    strict = StepNoise(clip=1.0, noise_multiplier=1.0, dimension=3, strict=True)
    with pytest.raises(InvalidData, match="whole steps in int64"):
        strict.check(np.zeros(3))
    with pytest.raises(InvalidParameter, match="strict=True"):
        plain.exact_steps(np.zeros((1, 3)))
    with pytest.raises(InvalidData, match="two dimensions and 3 columns"):
        strict.exact_steps(np.zeros((1, 4)))


@pytest.mark.parametrize("wrong", [
    {"clip": 0.0}, {"clip": math.inf}, {"clip": 1e200}, {"clip": 1e21}, {"clip": 1e-21},
    {"noise_multiplier": 0.0}, {"noise_multiplier": 1e30}, {"noise_multiplier": math.inf},
    {"dimension": 0}, {"dimension": 2.5}, {"strict": 1}, {"unit": "replace"},
])  # fmt: skip
def test_parameters_are_checked(wrong):
    with pytest.raises(InvalidParameter):
        StepNoise(**({"clip": 1.0, "noise_multiplier": 1.0, "dimension": 3} | wrong))


def test_what_is_drawn_is_on_the_grid():
    step = StepNoise(clip=1.0, noise_multiplier=1.0, dimension=1000)
    drawn = step.release(np.linspace(-1.0, 1.0, 1000)).value / step.grid.width
    assert (drawn == np.rint(drawn)).all()


@pytest.mark.slow  # the first one meets the referee in every run, with those of all mechanisms
@pytest.mark.parametrize("example", list(StepNoise.examples()), ids=str)
def test_examples_are_neighbours(example):
    testing.check_survives_audit(example)


def hostile(step: StepNoise, dtype: type) -> np.ndarray:
    """Three pieces and a short one: ties, numbers of all sizes, and in the second piece one that is none."""
    rng = np.random.default_rng(11)
    numbers = (rng.normal(size=step.dimension) * 10.0 ** rng.integers(-12, 5, size=step.dimension)).astype(dtype)
    numbers[:4] = [0.5 * step.grid.width, 1.5 * step.grid.width, -0.5 * step.grid.width, 0.0]
    numbers[2**14 + 1] = 2**52 if step.strict else np.nan
    return numbers


def watched(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Which pieces went the quick way, as steps go on."""
    ways, add = [], file._add.of
    monkeypatch.setattr(file._add, "of", lambda count: lambda *given: ways.append(add(count)(*given)) or ways[-1])
    return ways


def slow_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file._add, "of", lambda count: lambda *given: False)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_quick_way_has_the_sums_of_the_long_one(dtype, monkeypatch):
    """Roundings of doubles against whole numbers: equal digit by digit, on both sides of what the quick way takes."""
    step = StepNoise(clip=1.0, noise_multiplier=1.0, dimension=3 * 2**14 + 5)
    numbers, ways = hostile(step, dtype), watched(monkeypatch)
    quick = step.release(numbers, source=noise.Seeded(5)).value
    assert ways == [True, False, True, True]
    slow_only(monkeypatch)
    assert (quick == step.release(numbers, source=noise.Seeded(5)).value).all()


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.dtype(">f4"), np.int64])
def test_compiled_code_adds_the_same_noise(dtype, single, monkeypatch):
    """The whole release, noise and sums, bit for bit; numbers that a compiler does not know stay with numpy."""
    pytest.importorskip("numba")
    strict = dtype is np.int64
    step = StepNoise(clip=1.0, noise_multiplier=1.0, dimension=3 * 2**14 + 5, single=single, strict=strict)
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = hostile(step, dtype)
    in_numpy = step.release(numbers, source=noise.Seeded(5)).value
    monkeypatch.setattr(Compiled, "WORTH", 0)
    compiled = file._add.of(1)
    assert compiled is not file._added
    assert (in_numpy == step.release(numbers, source=noise.Seeded(5)).value).all()
    assert file._add.of(1) is compiled  # it could be compiled, else numpy had done it


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("unit", [1.0, 2.0**-20])
def test_what_is_compiled_is_right_as_python_too(unit, dtype):
    """The loop that numba compiles, run as it stands, on both sides of what it takes. As Python it has Python's rules, by
    which a number in float32 stays one when a float is added.
    """
    width, near = 2.0**-20, 2.0**30
    drawn = np.array([0.25, -3.75, 2.0**28 - 0.25]) * width
    for last, fits in ((near / unit / 2, True), (near / unit, False), (-near / unit, False)):
        numbers, found = np.array([1.0, 2.5, last]).astype(dtype), np.empty((2, 3))
        given = drawn, file._ROUNDS * width, near
        said = [add(numbers, unit, *given, out, np.empty(3)) for add, out in zip(BOTH, found, strict=True)]
        assert said == [fits, fits]
        assert not fits or (found[0] == found[1]).all()
    for add in BOTH:
        assert not add(np.array([np.nan, 1.0, 2.0]), unit, *given, np.empty(3), np.empty(3))


@pytest.mark.parametrize("far", [2.0**49, 2.0**50, 2.0**51, 2.0**60])
def test_large_sums_and_large_noise_are_added_exactly(far):
    step = StepNoise(clip=1.0, noise_multiplier=1.0, dimension=4)
    zero = step.release(np.zeros(4), source=noise.Seeded(2)).value / step.grid.width
    moved = step.release(np.full(4, far * step.grid.width), source=noise.Seeded(2)).value / step.grid.width
    assert [int(a) for a in moved] == [int(float(int(far) + int(b))) for b in zero]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("large", [2**38 - 2**10, 2**38 + 2**10, 2**51])
def test_large_noise_is_added_exactly(strict, large, monkeypatch):
    """On both sides of the noise that comes as doubles, and near the end of what a double holds."""
    small = StepNoise(clip=1.0, noise_multiplier=1.0, dimension=20_000, strict=strict)
    step = replace(small, noise_multiplier=float(large / small._reach))
    numbers = np.zeros(step.dimension, dtype=np.int64) if strict else np.linspace(-9.0, 9.0, step.dimension)
    found = step.release(numbers, source=noise.Seeded(5)).value
    assert stats.chisquare(cells(found, step.sigma)).pvalue > 1e-4
    slow_only(monkeypatch)
    assert (found == step.release(numbers, source=noise.Seeded(5)).value).all()


def test_noise_is_not_rounded_twice():
    """The sum goes to the grid before the noise does: else neighbours would be farther apart than what is charged."""
    step, source = StepNoise(clip=1.0, noise_multiplier=1.0, dimension=4096), noise.Seeded
    zero, third = np.zeros(step.dimension), np.full(step.dimension, step.grid.width / 3)
    assert (step.release(zero, source=source(3)).value == step.release(third, source=source(3)).value).all()


def test_a_single_release_is_the_double_one_in_float32():
    step = StepNoise(clip=1.0, noise_multiplier=1.0, dimension=2**15 + 7)
    numbers = np.linspace(-3.0, 3.0, step.dimension)
    numbers[2**14 + 1] = np.inf  # the second piece goes the long way
    double = step.release(numbers, source=noise.Seeded(8)).value
    single = replace(step, single=True).release(numbers, source=noise.Seeded(8)).value
    assert (double.dtype, single.dtype) == (np.float64, np.float32)
    assert (single == double.astype(np.float32)).all()
    assert replace(step, single=True).loss == step.loss


def test_replays_hold_sums_against_the_reach():
    """A sum that moves by the clip is sound; one that moves by a hundredth more is found, rounding or not."""
    step = StepNoise(clip=0.5, noise_multiplier=1.0, dimension=6)
    assert step.sensitivity.norm == "l2"
    assert Fraction(0.5) < step.sensitivity.value < Fraction(0.5) * (1 + Fraction(1, 10**6))
    for moved, refuted in ((0.5, False), (0.505, True)):
        found = audit.replay(step.release, np.zeros(6), np.array([moved, 0, 0, 0, 0, 0.0]))
        assert found.refuted == refuted
    both = StepNoise(clip=0.5, noise_multiplier=1.0, dimension=6, unit=Unit("replace"))
    assert both.sensitivity.value == 2 * step.sensitivity.value
