"""PATE-GAN by linear rules: one person changes one vote, rows stay with teachers, and labels tell points apart."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import privet as pv  # noqa: E402
from privet import noise, pate  # noqa: E402
from privet.pate.gans import adversary, generator  # noqa: E402
from privet.pate.gans.centroids import Centroids  # noqa: E402
from privet.pate.gans.generator import Generator  # noqa: E402
from privet.pate.gans.parts import Parts  # noqa: E402
from privet.pate.gans.task import Head  # noqa: E402

COLUMNS = {"dose": pv.Float(-1.0, 1.0), "weight": pv.Float(-1.0, 1.0), "fever": pv.Bool(), "ill": pv.Bool()}


def table(rows=3000):
    """Doses are larger and weights smaller where people are ill, and more of them have a fever."""
    rng = np.random.default_rng(3)
    ill = rng.random(rows) < 0.5
    dose, weight = (rng.normal(np.where(ill, one, other), 0.3) for one, other in ((0.4, -0.4), (-0.2, 0.5)))
    fever = rng.random(rows) < np.where(ill, 0.8, 0.2)
    return pv.Table({"dose": dose, "weight": weight, "fever": fever, "ill": ill}, columns=COLUMNS)


def parts_of(points, classes, owners, teachers):
    order = np.argsort(owners, kind="stable")
    starts = np.searchsorted(owners[order], np.arange(teachers + 1))
    return Parts(points[order].astype(np.float32), classes[order], starts)


def private(seed=0, many=40, teachers=6):
    rng = np.random.default_rng(seed)
    points, classes = rng.normal(size=(many, 3)), rng.integers(0, 2, many)
    return points, classes, rng.integers(0, teachers, many)


def asked(many=50):
    rng = np.random.default_rng(9)
    points = torch.tensor(rng.normal(size=(many, 3)), dtype=torch.float32)
    return points, torch.tensor(rng.integers(0, 2, many)), torch.tensor([[0.1, 0.0, 0.2], [0.0, -0.3, 0.1]])


def test_votes_are_those_of_the_rule_written_down():
    points, classes, owners = private()
    owners[owners == 4] = 3  # part 4 is empty
    shown, told, centres = asked()
    found = Centroids(parts_of(points, classes, owners, 6), 2).exact_votes(shown, told, centres).exact_counts
    for place, (point, each) in enumerate(zip(shown.numpy(), told.numpy(), strict=True)):
        real = 0
        for part in range(6):
            own = points[(owners == part) & (classes == each)]
            if len(own):
                way = own.mean(axis=0) - centres.numpy()[each]
                real += bool(way @ (point - centres.numpy()[each]) > 0.0)
        assert found[place].tolist() == [6 - real, real]
    assert 0.3 < found[:, 1].sum() / found.sum() < 0.7  # labels tell points apart


def test_a_row_of_part_3_moves_no_vote_of_another_teacher():
    points, classes, owners = private()
    shown, told, centres = asked()
    before = Centroids(parts_of(points, classes, owners, 6), 2)
    more = np.append(points, [[9.0, -9.0, 9.0]], axis=0), np.append(classes, 1), np.append(owners, 3)
    after = Centroids(parts_of(*more, 6), 2)
    same = [bool(torch.equal(before.exact_means()[i], after.exact_means()[i])) for i in range(6)]
    assert same == [True, True, True, False, True, True]
    one, two = (each.exact_votes(shown, told, centres).exact_counts for each in (before, after))
    assert 0 < np.abs(one - two).max() <= 1
    assert before.exact_votes(shown, told, centres).adaptive


def test_a_part_without_a_class_says_generated():
    rule = Centroids(parts_of(np.ones((2, 3)), np.zeros(2, dtype=int), np.zeros(2, dtype=int), 2), 2)
    shown, _, centres = asked(4)
    counts = rule.exact_votes(shown + 9.0, torch.tensor([0, 0, 1, 1]), centres).exact_counts
    assert counts.tolist() == [[1, 1], [1, 1], [2, 0], [2, 0]]


class Real(torch.Tensor):
    """The mean of private rows, and whatever is computed from it."""


@pytest.mark.parametrize("flaw", [False, True])
def test_no_mean_of_rows_reaches_student_or_generator(monkeypatch, flaw):
    made, seen, held = Centroids.__init__, [], []

    def marked(self, *given, **more):
        made(self, *given, **more)
        self._means = self._means.as_subclass(Real)
        held.append(self._means)

    def guarded(plain):
        def outputs(layers, points):
            assert not isinstance(points, Real), "a real row reached a public network"
            assert not any(isinstance(each, Real) for each in layers), "a public network was made of real rows"
            return plain(layers, points)

        return outputs

    votes, learn = Centroids.exact_votes, adversary.Adversary.learn
    monkeypatch.setattr(Centroids, "__init__", marked)
    monkeypatch.setattr(
        Centroids, "exact_votes", lambda self, *given: (seen.append(type(self._means)), votes(self, *given))[1]
    )
    for module in (adversary, generator):
        monkeypatch.setattr(module, "outputs", guarded(module.outputs))
    if flaw:
        monkeypatch.setattr(
            adversary.Adversary,
            "learn",
            lambda self, points, *more: learn(self, held[0][0, :1].expand_as(points), *more),
        )
    small = pate.PATEGAN(teachers=5, label="ill", labels=8, batch=4, latent=3, hidden=(8,), student_steps=2)
    if flaw:
        with pytest.raises(AssertionError, match="real row"):
            small.fit(table(60), epsilon=1.0, delta=1e-5, source=noise.Seeded(1))
    else:
        small.fit(table(60), epsilon=1.0, delta=1e-5, source=noise.Seeded(1))
        assert set(seen) == {Real}


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_without_much_noise_columns_come_out_in_the_right_order(seed):
    """By an epsilon of 1,000; networks as teachers label everything as generated, and learn no order."""
    made = pate.PATEGAN(teachers=50, label="ill", labels=480, label_share=0.0)
    model = made.fit(table(), epsilon=1000.0, delta=1e-5, source=noise.Seeded(seed))
    rows = model.sample(1000, source=noise.Seeded(7))
    ill = rows["ill"]
    above = [float(rows[name][ill].mean() - rows[name][~ill].mean()) for name in ("dose", "fever", "weight")]
    assert sum(each * sign > 0.0 for each, sign in zip(above, (1, 1, -1), strict=True)) >= 2
    assert sum(each * sign for each, sign in zip(above, (1, 1, -1), strict=True)) > 0.5


def test_points_begin_apart_where_they_are_asked_to():
    stream = noise.KeyedStream(bytes(32))
    spread = []
    for gains in ((1.0, 1.0), (4.0, 3.0)):
        begun = Generator.begun((Head("numbers", 4),), np.ones(1), 8, (16,), stream, gains=gains)
        spread.append(float(begun.drawn(stream, 0, 500)[0].detach().std(dim=0).mean()))
    assert spread[0] < 0.3 < spread[1]
