"""G-PATE: teachers vote on gradients once in every query, and the price is that of the noise."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import privet as pv  # noqa: E402
from privet import accounting, audit, noise, pate  # noqa: E402
from privet.errors import InvalidParameter, SerialisationError  # noqa: E402
from privet.noise import KeyedStream  # noqa: E402
from privet.pate.gans.centroids import Centroids  # noqa: E402
from privet.pate.gans.gradients import counted, directions, exact_bins, middles  # noqa: E402
from privet.pate.gans.nets import layers_from, outputs, size_of, uniforms  # noqa: E402
from privet.pate.gans.parts import Parts  # noqa: E402
from privet.privacy import Repeated, Unit  # noqa: E402
from tests.firsts import slow  # noqa: E402

STREAM = KeyedStream(bytes(32))
PROMISE = {"epsilon": 1.0, "delta": 1e-5}


def images(rows=40, unit=None):
    rng = np.random.default_rng(1)
    classes = rng.integers(0, 2, rows)
    made = np.where(classes[:, None, None] == 1, 230, 20) + rng.integers(0, 20, (rows, 3, 3))
    return pate.Images(made.astype(np.uint8), classes, classes=2, unit=unit)


def small(**more):
    asked = {"teachers": 4, "sigma2": 60.0, "rounds": 2, "batch": 3, "dimensions": 2, "latent": 2, "hidden": (6,)}
    return pate.GPATE(**{**asked, "teacher_steps": 2, "generator_steps": 2, **more})


def stack(teachers=6, width=5):
    sizes = (width, 4, 1)
    drawn = np.stack([uniforms(STREAM, i, 0, size_of(sizes)) for i in range(teachers)])
    return layers_from(drawn, sizes)


@pytest.mark.parametrize(
    ("teachers", "sigma1", "sigma2", "epsilon", "rounds"),
    [(4000, 3000.0, 1000.0, 1.0, 53), (2000, 600.0, 100.0, 10.0, 30)],
)
def test_the_published_noise_buys_so_many_batches(teachers, sigma1, sigma2, epsilon, rounds):
    asked = {"sigma1": sigma1, "sigma2": sigma2, "threshold": 0.5, "batch": 64, "dimensions": 10, "bins": 10}
    plan = pate.GPATE(teachers=teachers, **asked).plan({"age": pv.Int(0, 9)}, epsilon=epsilon, delta=1e-5)
    assert plan.rounds == rounds
    spent = math.sqrt(rounds * 640 * (1 / sigma1**2 + 2 / sigma2**2))
    assert accounting.epsilon(pv.privacy.GdpLoss(spent), delta=1e-5).upper <= epsilon
    assert f"{rounds} rounds of 64 points and 10 directions" in plan.describe()


def test_every_direction_of_every_point_is_paid_for():
    plan = small().plan(images(), **PROMISE)
    one = pate.GNMax(sigma=60.0, queries=6, classes=2, teachers=4)
    assert plan.aggregator == one
    assert dict(plan.loss.parts())[one.loss.parts()[0][0]] == 12
    replaced = small().plan(images(unit=Unit("replace")), **PROMISE)
    assert replaced.loss.unit == Unit("replace")
    moved = dict(Repeated(replaced.aggregator.loss, 1).parts())
    assert all(vote.moved == 2 for vote in moved)


@pytest.mark.parametrize("chosen", [slice(1), slow(slice(1, None))], ids=["the first", "all others"])
def test_a_replay_tells_no_neighbours_apart(chosen):
    for example in list(pate.GPATEPlan.examples())[chosen]:
        found = audit.replay(example.mechanism.release, example.left, example.right)
        assert found.verdict == "not refuted"


def test_teachers_vote_for_the_way_to_what_they_take_for_real():
    layers, given = stack(), torch.tensor(uniforms(STREAM, 50, 0, 15).reshape(3, 5), dtype=torch.float32)
    along = torch.tensor(directions(STREAM, 1, 4, (5,), 0.0))
    votes = exact_bins(layers, given, along, 2, 0.5)
    assert (votes.queries, votes.classes, votes.teachers, votes.adaptive) == (12, 2, 6, True)
    for teacher in range(6):
        own = [layer[teacher : teacher + 1] for layer in layers]
        alone = exact_bins(own, given, along, 2, 0.5).exact_counts.argmax(axis=1).reshape(3, 4)
        for point in range(3):
            for direction in range(4):
                sign = 1.0 if alone[point, direction] == 1 else -1.0
                own_layers = [layer[teacher].detach() for layer in layers]
                ends = (given[point], given[point] + 1e-3 * sign * along[direction])
                before, after = (float(outputs(own_layers, end)[0]) for end in ends)
                assert after >= before - 1e-6


def test_one_teacher_moves_one_vote_and_no_other():
    """A teacher with huge or broken numbers votes once in every query, and the votes of the others stay."""
    given = torch.tensor(uniforms(STREAM, 50, 0, 15).reshape(3, 5), dtype=torch.float32)
    along = torch.tensor(directions(STREAM, 1, 4, (5,), 0.0))
    for number in (torch.nan, torch.inf, 1e30, 1e-30):
        layers, others = stack(), stack()
        with torch.no_grad():
            for layer in layers:
                layer[2] *= number
        rest = [torch.cat([layer[:2], layer[3:]]) for layer in others]
        all_of, without = (exact_bins(each, given, along, 5, 0.5).exact_counts for each in (layers, rest))
        more = all_of - without
        assert (more.sum(axis=1) == 1).all()
        assert (more >= 0).all()


def test_directions_are_public_new_in_each_round_and_blurred():
    one, two = (directions(STREAM, number, 20, (8, 8), 0.0) for number in (1, 2))
    assert np.allclose(np.linalg.norm(one, axis=1), 1.0)
    assert not np.allclose(one, two)
    smooth = directions(STREAM, 1, 20, (8, 8), 1.5).reshape(20, 8, 8)
    rough = one.reshape(20, 8, 8)
    assert np.abs(np.diff(smooth, axis=1)).mean() < np.abs(np.diff(rough, axis=1)).mean() / 2
    assert middles(10, 1.0)[[0, 9, -1]].tolist() == pytest.approx([-0.9, 0.9, 0.0])


def test_the_generator_learns_the_classes_of_images():
    """Images of class 1 are bright and the others dark; at the beginning all are grey."""
    asked = small(teachers=10, sigma2=0.6, rounds=60, batch=8, dimensions=6, blur=2.0, hidden=(16,), label_share=0.0)
    asked = replace(asked, teacher_steps=6, generator_steps=10, move=0.3)
    model = asked.fit(images(200), mu=1e4, source=noise.Seeded(3))
    made = model.sample(200, source=noise.Seeded(4))
    means = [made.images[made.classes == each].mean() for each in (0, 1)]
    assert means[1] - means[0] > 60


@pytest.mark.slow
def test_the_generator_learns_images_with_many_pixels():
    """A dark field with a spot whose place is the class: teachers that lag behind the generator leave it noise."""
    rng, spots = np.random.default_rng(2), np.zeros((2, 20, 20), np.uint8)
    spots[0, 3:9, 3:9], spots[1, 11:17, 11:17] = 255, 255
    classes = rng.integers(0, 2, 200)
    asked = small(teachers=20, sigma2=0.5, rounds=60, batch=4, dimensions=32, blur=1.5, hidden=(16,), label_share=0.0)
    asked = replace(asked, teacher_steps=3, generator_steps=10, move=2.0)
    model = asked.fit(pate.Images(spots[classes], classes, classes=2), mu=1e4, source=noise.Seeded(3))
    made = model.sample(100, source=noise.Seeded(4))
    for each in (0, 1):
        found = made.images[made.classes == each].astype(float)
        assert np.abs(found - spots[each]).mean() < 30.0
        assert np.abs(found - spots[1 - each]).mean() > 30.0


def some_parts(rows, classes, parts):
    order = np.argsort(parts, kind="stable")
    starts = np.searchsorted(np.asarray(parts)[order], np.arange(5))
    points = np.asarray(rows, dtype=np.float32)[order]
    return Parts(points, np.asarray(classes)[order], starts)


def test_linear_rules_are_means_of_their_own_part_and_of_no_other():
    rng = np.random.default_rng(0)
    rows, classes, parts = rng.uniform(-1, 1, (30, 6)), rng.integers(0, 2, 30), rng.integers(0, 4, 30)
    one = Centroids(some_parts(rows, classes, parts), 2)
    for part in range(4):
        for each in range(2):
            own = rows[(parts == part) & (classes == each)]
            assert np.allclose(one.exact_means()[part, each], own.mean(axis=0), atol=1e-6)
    more = [np.concatenate([old, new]) for old, new in ((rows, [[1e6] * 6]), (classes, [1]), (parts, [2]))]
    two = Centroids(some_parts(*more), 2)
    same = (one.exact_means() == two.exact_means()).all(dim=2)
    assert same.tolist() == [[True, True], [True, True], [True, False], [True, True]]
    with pytest.raises(SerialisationError):
        pickle.dumps(one)


def test_linear_rules_vote_for_the_way_from_generated_points_to_their_own():
    rules = Centroids(some_parts([[1.0, 0.0], [-1.0, 0.0], [1.0, 1.0]], [0, 0, 0], [0, 1, 2]), 2)
    along, centres = torch.eye(2), torch.tensor([[0.0, 0.5], [0.0, 0.0]])
    votes = rules.exact_bins(centres, torch.tensor([0, 1]), along, 2, 1.0).exact_counts.tolist()
    # the fourth teacher has no row, and none has one of class 1: these vote by turns
    assert votes[0] in ([1, 3], [2, 2])
    assert votes[1] in ([2, 2], [3, 1])
    assert votes[2:] == [[2, 2], [2, 2]]


def test_what_leads_nowhere_is_in_a_middle_bin():
    nowhere = torch.zeros(4, 1, 5)
    along = torch.tensor(directions(STREAM, 1, 3, (5,), 0.0))
    assert counted(nowhere, along, 3, 0.5)[0].tolist() == [[0, 4, 0]] * 3
    assert counted(nowhere, along, 4, 0.5)[0].tolist() == [[0, 2, 2, 0]] * 3
    assert counted(nowhere[:1], along, 2, 0.5, 0)[0].tolist() == counted(nowhere[:1], along, 2, 0.5, 2)[0].tolist()
    assert counted(nowhere[:1], along, 2, 0.5, 0)[0].tolist() != counted(nowhere[:1], along, 2, 0.5, 1)[0].tolist()


def test_tables_go_through_the_same_door_and_a_ledger_pays():
    table = pv.Table({"dose": [0.5, 0.25], "ill": [True, False]}, columns={"dose": pv.Float(0, 1), "ill": pv.Bool()})
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.5, 4.5e-5))
    asked = small(label="ill", sigma1=400.0, threshold=0.5, bins=3, sigma2=90.0)
    model = asked.fit(table, ledger=ledger, key="doses", **PROMISE)
    assert asked.fit(table, ledger=ledger, key="doses", **PROMISE) == model
    assert set(model.sample(5)) == {"dose", "ill"}
    assert len([entry for entry in ledger.entries() if entry.kind == "reserve"]) == 1


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"rounds": 10**6}, "so many rounds"),
        ({"threshold": 0.5}, "needs sigma1"),
        ({"sigma1": 3.0}, "needs a threshold"),
        ({"bins": 1}, "bins"),
        ({"sigma2": 0.0}, "sigma2"),
        ({"threshold": 1.5, "sigma1": 1.0}, "threshold"),
        ({"dimensions": 0}, "dimensions"),
    ],
)
def test_public_mistakes_are_found_before_the_charge(asked, said):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.5, 4.5e-5))
    with pytest.raises(InvalidParameter, match=said):
        small(**asked).fit(images(), ledger=ledger, **PROMISE)
    assert not [entry for entry in ledger.entries() if entry.kind == "reserve"]
