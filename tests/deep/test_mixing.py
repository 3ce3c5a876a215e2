"""Noise that hangs together: who takes part, how far one record moves all sums of a block, and what is kept of the past."""

import itertools
import math

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from privet import deep, noise
from privet.deep import BandedPoisson, Plan, Poisson, Training, TreeOrder
from privet.deep.banded import column
from privet.deep.checkpoint import Checkpoint
from privet.deep.records import Records
from privet.deep.sampling import Sampling
from privet.deep.start import Start
from privet.deep.step_noise import StepNoise
from privet.deep.training import training_of
from privet.errors import InvalidParameter, MixedUnits
from privet.privacy import Composed, GaussianLoss, PoissonSampled, Repeated, TreeAggregationLoss, Unit
from tests.deep.models import data, linear, plan_of, squared

ZERO = Unit("zero_out")


def matrix_of(sampling: Sampling, steps: int) -> np.ndarray:
    """The matrix that a training multiplies its sums by, read off from what it makes of unit vectors."""
    mixing = sampling.mixing()
    return np.stack([mixing.exact_mixed(row) for row in np.eye(steps)])


def patterns(sampling: Sampling, steps: int):
    """All sets of steps in which one record can take part, by the words of the sampler and nothing of its code."""
    if isinstance(sampling, BandedPoisson):
        for place in range(sampling.bands):
            turns = range(place, steps, sampling.bands)
            yield from (each for many in range(len(turns) + 1) for each in itertools.combinations(turns, many))
    else:
        epochs = [
            range(start, min(start + sampling.round_steps, steps)) for start in range(0, steps, sampling.round_steps)
        ]
        yield from itertools.product(*epochs)


def farthest(matrix: np.ndarray, patterns) -> float:
    """The square of the most that gradients of length 1, of either sign, move all rows together."""
    return max(
        float(np.square(matrix[:, list(each)] @ np.array(signs)).sum())
        for each in patterns
        for signs in itertools.product((-1.0, 1.0), repeat=len(each))
    )


@pytest.mark.parametrize("bands", [2, 3, 4])
@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5, 6, 7, 8, 9, 12])
def test_one_record_of_a_band_moves_all_rows_by_one_for_each_round(bands, steps):
    """Every pattern of participation, whole last rounds or not. Gradients of one record share no row, so signs are idle."""
    sampling = BandedPoisson(q=0.1, bands=bands)
    matrix, rounds = matrix_of(sampling, steps), -(-steps // bands)
    most = farthest(matrix, patterns(sampling, steps))
    assert most <= rounds  # ceil(T / b) Gaussians of sensitivity 1
    assert most > 0.99 * (rounds - 1)
    gram = matrix.T @ matrix
    assert all(gram[s, t] == 0.0 for s in range(steps) for t in range(steps) if abs(s - t) >= bands)
    too_often = [tuple(range(0, steps, bands - 1)), tuple(range(steps))]
    if steps > 2 * bands:  # a twin that takes part one step too early moves farther than the price says
        assert farthest(matrix, [each[:rounds] for each in too_often]) > 1.1 * rounds


@pytest.mark.parametrize("steps", [*range(1, 18), 31, 32, 33])
def test_one_record_of_a_tree_moves_as_many_nodes_as_are_priced(steps):
    sampling = TreeOrder(batch=1, n=steps)
    matrix = matrix_of(sampling, steps)
    assert set(np.unique(matrix)) <= {0.0, 1.0}
    columns = np.square(matrix).sum(axis=0)
    priced = sampling.round_price(1.0, ZERO)
    assert columns.max() == priced.levels == math.floor(math.log2(steps)) + 1
    assert priced.gaussian() == pytest.approx(math.sqrt(columns.max()))


@pytest.mark.parametrize("steps", [1, 3, 4])
def test_epochs_of_trees_share_no_row(steps):
    sampling = TreeOrder(batch=1, n=steps)
    matrix = matrix_of(sampling, 3 * steps)
    most = farthest(matrix, patterns(sampling, 3 * steps))
    assert most == 3 * sampling.round_price(1.0, ZERO).levels
    assert np.array_equal(matrix[steps : 2 * steps, steps : 2 * steps], matrix[:steps, :steps])
    assert not matrix[steps:, :steps].any()


@pytest.mark.parametrize("sampling", [BandedPoisson(q=0.1, bands=5), TreeOrder(batch=1, n=11)])
def test_what_is_mixed_is_told_apart_again(sampling):
    rows = np.random.RandomState(3).normal(size=(33, 4))
    mixing = sampling.mixing()
    told = np.stack([mixing.read(mixing.exact_mixed(row)) for row in rows])
    assert np.allclose(told, rows, atol=1e-12)


def errors_of(matrix: np.ndarray) -> float:
    """The error of a prefix sum in units of the noise, root mean square over steps."""
    prefix = np.tril(np.ones(matrix.shape)) @ np.linalg.inv(matrix)
    return math.sqrt(np.square(prefix).sum(axis=1).mean())


def test_errors_of_prefix_sums_are_those_of_the_handbook():
    steps = 1024
    tree = errors_of(matrix_of(TreeOrder(batch=1, n=steps), steps)) * math.sqrt(steps.bit_length())
    assert tree == pytest.approx(7.4169, abs=1e-4)
    assert errors_of(np.eye(steps)) == pytest.approx(22.6385, abs=1e-4)
    root = np.tril(np.array(column(steps))[np.abs(np.subtract.outer(range(steps), range(steps)))])
    assert errors_of(root) == pytest.approx(3.1098, rel=2e-4)  # all bands; rounding is paid for
    banded = errors_of(matrix_of(BandedPoisson(q=0.01, bands=16), steps))
    assert banded == pytest.approx(7.2, abs=0.1)


def test_columns_are_short_enough_for_the_rounding_of_all_their_rows():
    for bands in (2, 3, 16, 257):
        length = math.sqrt(math.fsum(each * each for each in column(bands)))
        assert length <= 1.0 - 2.0**-19 * math.sqrt(bands) + 2.0**-50
        assert length > 1.0 - 2.0**-18 * math.sqrt(bands)
        assert all(one > other > 0.0 for one, other in itertools.pairwise(column(bands)))


@pytest.mark.parametrize("bands", [2, 7])
def test_rows_on_the_grid_are_within_what_one_noise_is_for(bands):
    """Rounding moves each row by up to sqrt(d) steps: all rows of a column together are charged for it."""
    d, steps = 40, 2 * bands
    added = StepNoise(clip=1.0, noise_multiplier=1.0, dimension=d)
    rng = np.random.RandomState(0)
    sums = (rng.normal(size=(steps, d)) * 9.0).astype(np.float32)
    for place in range(bands):
        moved = sums.astype(np.float64)
        gradient = rng.normal(size=d)
        moved[place] += gradient / np.linalg.norm(gradient)
        one, other = (BandedPoisson(q=0.1, bands=bands).mixing() for _ in range(2))
        rows = [
            (added._measured_of(one.exact_mixed(a)), added._measured_of(other.exact_mixed(b)))
            for a, b in zip(sums, moved, strict=True)
        ]
        distance = math.sqrt(sum(float(np.square(a - b).sum()) for a, b in rows))
        assert distance <= float(added.sensitivity.value)
        if place == 0:
            assert distance > 0.999


@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_a_record_keeps_its_place_through_a_block(rounds):
    sampling, size = BandedPoisson(q=0.2, bands=4), 300
    stream = noise.KeyedStream(bytes(range(32)))
    part = [
        (step, ids) for r in range(rounds) for step, ids in enumerate(sampling.drawn(size, stream, 40 + 4 * r), 4 * r)
    ]
    taken = np.zeros((4 * rounds, size), dtype=bool)
    for step, ids in part:
        taken[step, ids] = True
    for record in range(size):
        assert len({step % 4 for step in np.flatnonzero(taken[:, record])}) <= 1
    assert abs(taken.sum() / rounds / size - 0.8) < 0.12
    if rounds > 1:
        assert (taken[:4] != taken[4:8]).any()  # coins are fresh, places are not


def test_places_are_drawn_record_by_record_and_anew_for_every_block():
    sampling, size = BandedPoisson(q=0.25, bands=4), 4000
    first, second = (sampling.drawn(size, noise.KeyedStream(bytes([each] * 32)), 0) for each in (1, 2))
    sizes = [len(each) for each in first]
    assert sum(sizes) == size  # rate 1: everybody, once
    assert len(set(sizes)) > 1  # no equal split, which one record less would move
    assert max(abs(each - 1000) for each in sizes) < 150
    fewer = sampling.drawn(900, noise.KeyedStream(bytes([1] * 32)), 0)
    assert [each.tolist() for each in fewer] == [[i for i in each.tolist() if i < 900] for each in first]
    stayed = sum(len(np.intersect1d(a, b)) for a, b in zip(first, second, strict=True))
    assert abs(stayed - 1000) < 150


def test_prices_are_those_of_sampled_rounds_and_of_trees():
    banded = plan_of(sampling=BandedPoisson(q=0.0625, bands=8), steps=160, noise_multiplier=2.0)
    assert banded.loss == Repeated(PoissonSampled(GaussianLoss(2.0), 0.5), 20)
    assert Composed(banded.blocks).parts() == banded.loss.parts()
    tree = plan_of(sampling=TreeOrder(batch=3, n=20), steps=21, noise_multiplier=2.0, unit=ZERO)
    assert tree.loss == Repeated(TreeAggregationLoss(2.0, 7, unit=ZERO), 3)
    swapped = plan_of(sampling=TreeOrder(batch=3, n=20), steps=21, noise_multiplier=2.0, unit=Unit("replace"))
    assert swapped.loss == Repeated(TreeAggregationLoss(1.0, 7, unit=Unit("replace")), 3)
    third = BandedPoisson(q=1 / 3, bands=3).round_price(1.0, Unit())
    assert third == PoissonSampled(GaussianLoss(1.0), 1.0)
    tenth = BandedPoisson(q=0.1, bands=7).round_price(1.0, Unit())
    assert tenth.q >= 0.7  # a rate that is rounded, is rounded up


def test_blocks_are_where_noise_begins_anew():
    plan = plan_of(sampling=BandedPoisson(q=0.1, bands=8, restart=30), steps=80)
    assert plan.rounds == (3, 3, 3, 1)  # 24 steps each: whole rounds
    assert plan_of(sampling=BandedPoisson(q=0.1, bands=8), steps=1600).rounds == (62, 62, 62, 14)
    assert Plan.from_json(plan.to_json()) == plan
    assert "takes back" in plan.explain()
    assert "takes back" not in plan_of().explain()
    assert (plan.correlated, plan_of().correlated) == (True, False)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda: BandedPoisson(q=0.2, bands=6), "at most 1"),
        (lambda: BandedPoisson(q=0.2, bands=1), "bands"),
        (lambda: BandedPoisson(q=0.0, bands=2), "above 0"),
        (lambda: BandedPoisson(q=0.1, bands=4, restart=3), "restart"),
        (lambda: plan_of(sampling=BandedPoisson(q=0.1, bands=7)), "multiple of 7"),
        (lambda: plan_of(sampling=BandedPoisson(q=0.1, bands=4), strict=True), "strict=False"),
        (lambda: plan_of(sampling=BandedPoisson(q=0.1, bands=4), clip=deep.AdaptiveQuantile(1.0)), "strict=False"),
        (lambda: plan_of(sampling=TreeOrder(batch=2, n=8)), "TreeOrder has no proved price under add_remove"),
        (lambda: plan_of(sampling=BandedPoisson(q=0.1, bands=4), unit=Unit(group_size=2)), "for one record"),
        (lambda: plan_of(sampling=BandedPoisson(q=0.1, bands=4)).steps(data()), "whole rounds"),
        (lambda: plan_of(sampling=TreeOrder(batch=8, n=8), unit=ZERO).steps(data()), "whole rounds"),
    ],
)
def test_what_has_no_proof_is_refused(wrong, error):
    with pytest.raises((InvalidParameter, MixedUnits), match=error):
        wrong()


@pytest.mark.parametrize(
    ("sampling", "unit"),
    [(BandedPoisson(q=0.25, bands=4, restart=4), Unit()), (TreeOrder(batch=2, n=8), ZERO)],
)
def test_without_noise_a_training_is_the_sum_of_its_gradients(monkeypatch, sampling, unit):
    seen = []

    def bare(self, vector, source, out):
        seen.append(np.array(vector))
        out[:] = vector

    monkeypatch.setattr(StepNoise, "_add_noise", bare)
    rows = torch.eye(8) * torch.linspace(0.2, 0.9, 8)
    plan = plan_of(sampling=sampling, steps=8, unit=unit)
    made = training_of(plan, 8).release(Records((rows,)), source=noise.Seeded(1)).value
    assert np.allclose(made["weight"], 2.0 * rows.diagonal().numpy(), atol=1e-6)  # twice each: two rounds
    assert len(seen) == 8
    mixed = -np.stack(seen)
    assert not np.allclose(mixed.sum(axis=0), 2.0 * rows.diagonal().numpy(), atol=0.1)  # what was released is mixed


def training_in_blocks() -> Training:
    model = linear()
    start = Start(model, torch.optim.SGD(model.parameters(), lr=0.1), squared)
    plan = plan_of(sampling=BandedPoisson(q=0.25, bands=4, restart=8), steps=24)
    return Training(plan=plan, start=start, divisor=4.0)


def test_a_block_is_a_function_of_a_state_without_past_noise(tmp_path):
    """Nothing of the sums and noise before a checkpoint is needed behind it, and nothing of it is in the file."""
    training, records = training_in_blocks(), Records(data())
    state = training._first()
    for index in range(2):
        state = training.block(index, state).release(records).value
    assert set(state) == set(training._first())
    file = Checkpoint(tmp_path / "run.pt", {})
    file.save(2, state)
    body = torch.load(file.path, weights_only=True)
    assert {tuple(each.shape) for each in body["arrays"].values()} == {(1, 3), (1,)}
    kept, other = file.load()[1], training_in_blocks()
    ends = [
        each.block(2, begun).release(records, source=noise.Seeded(4)).value["weights"]
        for each, begun in ((training, state), (other, kept))
    ]
    assert all(np.array_equal(ends[0][name], ends[1][name]) for name in ends[0])


def test_a_block_that_is_run_again_has_other_noise_and_other_places(monkeypatch):
    places = []
    plain = BandedPoisson.drawn

    def watched(self, size, stream, step):
        drawn = plain(self, size, stream, step)
        places.append([each.tolist() for each in drawn])
        return drawn

    monkeypatch.setattr(BandedPoisson, "drawn", watched)
    training, records = training_in_blocks(), Records(data(64))
    first = training.block(0, training._first()).release(records).value
    once, twice = (training.block(1, first).release(records).value["weights"]["weight"] for _ in range(2))
    assert not np.array_equal(once, twice)
    assert places[2] != places[4]


def test_noise_of_many_steps_is_less_than_that_of_as_many_alone():
    """On no records at all: the length of the weights is the error of a sum of gradients."""
    lengths = {}
    for sampling in (Poisson(q=0.125), BandedPoisson(q=0.125, bands=8)):
        plan = plan_of(sampling=sampling, steps=64)
        empty = Records((torch.zeros(0, 400),))
        made = training_of(plan, 400).release(empty, source=noise.Seeded(2)).value["weight"]
        lengths[type(sampling)] = float(np.linalg.norm(made)) / 20.0
    assert lengths[Poisson] == pytest.approx(8.0, rel=0.1)  # the root of 64 steps
    assert lengths[BandedPoisson] < 0.6 * lengths[Poisson]
