"""PATE-GAN: one person changes one teacher, real rows stay with teachers, every label is paid for."""

import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import privet as pv  # noqa: E402
from privet import accounting, audit, mechanisms, noise, pate  # noqa: E402
from privet.errors import BudgetExceeded, InvalidData, InvalidParameter, NoGuarantee, SerialisationError  # noqa: E402
from privet.pate.gans import adversary, generator, pate_gan  # noqa: E402
from privet.pate.gans.adversary import Adversary  # noqa: E402
from privet.pate.gans.bought import most_bought  # noqa: E402
from privet.pate.gans.discriminators import Discriminators  # noqa: E402
from privet.pate.gans.generator import Generator  # noqa: E402
from privet.pate.gans.parts import exact_parts  # noqa: E402
from privet.pate.gans.task import Head, units_of  # noqa: E402
from privet.privacy import BinaryVoteLoss, GaussianLoss, Guarantee, Repeated, Unit  # noqa: E402
from tests.firsts import slow  # noqa: E402

COLUMNS = {"dose": pv.Float(-1.0, 1.0), "ward": pv.Category(["A", "B", "C"]), "ill": pv.Bool()}
PROMISE = {"epsilon": 1.0, "delta": 1e-5}
KEY = b"a public key"


def table(rows=60, unit=None, **columns):
    rng = np.random.default_rng(3)
    data = {
        "dose": rng.uniform(0.5, 1.0, rows),
        "ward": rng.choice(["A", "B", "C"], rows),
        "ill": rng.random(rows) < 0.25,
    }
    return (
        pv.Table({**data, **columns}, columns=COLUMNS) if unit is None else pv.Table(data, columns=COLUMNS, unit=unit)
    )


def small(**more):
    asked = {"teachers": 5, "label": "ill", "labels": 8, "batch": 4, "latent": 3, "hidden": (8,), "teacher_steps": 2}
    asked |= {"teacher_hidden": (8,)}  # networks, unless a test asks for linear rules
    return pate.PATEGAN(**{**asked, "student_steps": 2, "generator_steps": 2, **more})


def units(rows, owners=None):
    points = np.asarray(rows, dtype=np.float32).reshape(len(rows), 1)
    return units_of(points, np.zeros(len(rows), dtype=np.int64), np.arange(len(rows)) if owners is None else owners)


def trained(parts, rounds=3, rate=0.05):
    """Teachers after some rounds against the same generated points."""
    made = Discriminators(parts, 1, (6,), noise.KeyedStream(bytes(32)), rate=rate)
    shown = torch.linspace(-1, 1, 8).reshape(8, 1), torch.zeros(8, dtype=torch.int64)
    for number in range(1, rounds + 1):
        made.train(number, [shown] * 4, 5)
    return made


# --- price --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sigma", "teachers", "normal", "exact"), [(40.0, 250, 57, 76), (100.0, 500, 359, 479)])
def test_labels_that_a_budget_buys(sigma, teachers, normal, exact):
    promise = Guarantee(1.0, 1e-5)
    assert most_bought(lambda n: Repeated(GaussianLoss(sigma / 2**0.5), n), promise, "label") == normal
    assert most_bought(lambda n: Repeated(BinaryVoteLoss(teachers, sigma), n), promise, "label") == exact
    plan = pate.PATEGAN(teachers=teachers, sigma=sigma, label_share=0.0).plan(COLUMNS, **PROMISE)
    assert plan.labels == exact
    assert plan.loss == Repeated(BinaryVoteLoss(teachers, plan.sigma), exact)
    assert 0.99 < accounting.epsilon(plan.loss, delta=1e-5).upper <= 1.0
    assert f"{exact} labels by {teachers} teachers" in plan.describe()


def test_the_plan_says_how_many_teachers_its_noise_wants():
    plan = pate.PATEGAN(teachers=100, sigma=40.0).plan(COLUMNS, **PROMISE)
    assert f"wants {plan.teachers_wanted} teachers" in plan.describe()
    # three in four of so many teachers win 19 times in 20, by the exact law of the vote
    share = 0.75 * plan.teachers_wanted
    assert noise_wins(share, plan.teachers_wanted - share, plan.sigma) == pytest.approx(0.95, abs=0.002)


def noise_wins(more, less, sigma):
    from scipy.stats import norm

    return norm.cdf((more - less) / (2**0.5 * sigma))


def test_a_replaced_person_is_two_teachers_and_counts_are_paid_for():
    replaced = small().plan(table(unit=pv.tables.Rows(relation="replace")), **PROMISE)
    assert replaced.aggregator(1).loss == Repeated(
        BinaryVoteLoss(5, replaced.sigma, "gaussian", 2, unit=Unit("replace")), 1
    )
    paid = small().plan(COLUMNS, **PROMISE)
    assert paid.counts is not None
    assert paid.loss.parts() != small(label_share=0.0).plan(COLUMNS, **PROMISE).loss.parts()
    assert accounting.epsilon(paid.loss, delta=1e-5).upper <= 1.0
    assert small(label=None).plan(COLUMNS, **PROMISE).counts is None  # nothing to count


def counts_moved(one, other):
    """The distance in l2 by which the counts of classes of two neighbours differ, and the one that is paid for."""
    asked = pate.PATEGAN(teachers=2, label=None if isinstance(one, pate.Images) else "ill").task(one)
    held = [each if isinstance(each, pate.Images) else each.data for each in (one, other)]
    counts = [asked.exact_counts(each, asked.salts(noise.Seeded(1))) for each in held]
    return float(np.linalg.norm(counts[0].astype(float) - counts[1])), float(asked.counts_reach.value)


@pytest.mark.parametrize(
    ("unit", "ill", "other"),
    [
        (pv.Rows(), [True, False, True], [True, False]),
        (pv.Rows(relation="replace"), [True, False, True], [True, False, False]),
        (pv.Person("who", max_rows=4), [False] + 9 * [True], [False]),  # nine rows of one person, of which four count
        (pv.Person("who", max_rows=4, relation="replace"), [False] + 9 * [True], 10 * [False]),
    ],
    ids=["row", "row replaced", "person", "person replaced"],
)
def test_a_person_moves_counts_of_classes_by_what_is_paid_for(unit, ill, other):
    columns = {"dose": pv.Float(-1.0, 1.0), "ill": pv.Bool()}
    if isinstance(unit, pv.Person):
        columns["who"] = pv.Int(0, 9)

    def rows(told):
        held = {"who": [1, *[2] * (len(told) - 1)], "dose": [0.5] * len(told), "ill": told}
        return pv.Table({name: held[name] for name in columns}, columns=columns, unit=unit)

    moved, paid = counts_moved(rows(ill), rows(other))
    assert moved == pytest.approx(paid)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_an_image_moves_counts_of_classes_by_what_is_paid_for(relation):
    unit, blank = Unit(relation), np.zeros((3, 2, 2), np.uint8)
    one = pate.Images(blank, [0, 0, 1], classes=2, unit=unit)
    many = 2 if relation == "add_remove" else 3
    moved, paid = counts_moved(one, pate.Images(blank[:many], [0, 0, 0][:many], classes=2, unit=unit))
    assert moved == pytest.approx(paid)


@pytest.mark.parametrize("kind", ["PATEGAN", "GPATE"])
def test_counts_of_classes_with_noise_for_less_are_refused(kind):
    more = {"labels": 8, "batch": 4} if kind == "PATEGAN" else {"sigma2": 50.0, "rounds": 1, "batch": 2}
    made = getattr(pate, kind)(teachers=5, label="ill", **more).plan(table(unit=pv.Rows(relation="replace")), **PROMISE)
    reach = made.counts.sensitivity
    half = replace(made.counts, sensitivity=reach.times(0.5))
    other = replace(made.counts, sensitivity=mechanisms.Sensitivity(reach.value, norm="l2"))
    for less in (half, other):
        with pytest.raises(InvalidParameter, match="a smaller reach, or another unit"):
            replace(made, counts=less)
    alone = getattr(pate, kind)(teachers=5, **more).plan(COLUMNS, **PROMISE)
    with pytest.raises(InvalidParameter, match="a single class"):
        replace(alone, counts=made.counts)


def test_a_ledger_pays_once_and_keeps_the_model():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.5, 4.5e-5))
    model = small().fit(table(), ledger=ledger, key="people", **PROMISE)
    spent = dict(ledger.spent)
    assert small().fit(table(), ledger=ledger, key="people", **PROMISE) == model
    for _ in range(3):
        model.sample(10)
    assert dict(ledger.spent) == spent
    with pytest.raises(BudgetExceeded):
        small().fit(table(), ledger=ledger, key="again", **PROMISE)
    assert "paid" in str(model.privacy_)
    assert model.privacy_.promise == Guarantee(1.0, 1e-5)


@pytest.mark.parametrize("chosen", [slice(1), slow(slice(1, None))], ids=["the first", "all others"])
def test_a_replay_tells_no_neighbours_apart_and_every_label_is_released(chosen):
    for example in list(pate.PATEGANPlan.examples())[chosen]:
        plan = example.mechanism
        found = audit.replay(plan.release, example.left, example.right)
        assert found.verdict == "not refuted"
        assert found.releases == len(plan.rounds) + (plan.counts is not None)
        assert sum(plan.rounds) == plan.labels


# --- isolation ----------------------------------------------------------------------------------------------------------


def extra_for(part, parts, rows):
    """A row that belongs to a part."""
    for value in np.linspace(-0.9, 0.9, 200):
        before, after = (exact_parts(units(each), KEY, parts) for each in (rows, [*rows, [value]]))
        if np.flatnonzero(np.diff(after.starts) - np.diff(before.starts)).tolist() == [part]:
            return before, after
    raise AssertionError("no row was found")


def test_one_more_row_in_part_3_leaves_every_other_teacher_bit_identical():
    before, after = extra_for(3, 6, np.linspace(-1, 1, 30)[:, None].tolist())
    one, two = trained(before), trained(after)
    for left, right in zip(one.exact_layers(), two.exact_layers(), strict=True):
        same = [bool(torch.equal(left[i], right[i])) for i in range(6)]
        assert same == [True, True, True, False, True, True]


def test_teachers_have_streams_of_their_own():
    layers = trained(exact_parts(units([[0.5]]), KEY, 4), rounds=0).exact_layers()
    for one in range(4):
        for two in range(one):
            assert not torch.equal(layers[0][one], layers[0][two])


def test_parts_do_not_follow_the_order_of_the_table_and_equals_are_spread():
    rows = [[0.1]] * 40 + [[0.2]] * 3
    parts = exact_parts(units(rows), KEY, 5)
    assert np.diff(parts.starts).min() > 0  # forty equal rows are not in one part
    back = exact_parts(units(rows[::-1]), KEY, 5)
    assert np.array_equal(parts.points, back.points)
    assert np.array_equal(parts.starts, back.starts)
    more = exact_parts(units([[0.1], *rows]), KEY, 5)
    assert sorted(np.diff(more.starts) - np.diff(parts.starts)) == [0, 0, 0, 0, 1]
    assert len(exact_parts(units(np.zeros((0, 1))), KEY, 5).points) == 0


def test_all_rows_of_a_person_are_in_one_part():
    rng = np.random.default_rng(0)
    owners = np.sort(rng.integers(0, 12, 60))
    owners = np.unique(owners, return_inverse=True)[1]
    rows = rng.uniform(-1, 1, (60, 1)).astype(np.float32)
    parts = exact_parts(units(rows, owners), KEY, 4)
    of = {
        float(point): np.searchsorted(parts.starts, place, side="right")
        for place, point in enumerate(parts.points[:, 0])
    }
    for owner in range(owners.max() + 1):
        assert len({of[float(each)] for each in rows[owners == owner, 0]}) == 1


def test_no_two_networks_share_numbers(monkeypatch):
    held = []
    plain = Discriminators.__init__

    def noted(self, *given, **more):
        plain(self, *given, **more)
        held.append(self)

    monkeypatch.setattr(Discriminators, "__init__", noted)
    made = Adversary.__init__

    def also(self, *given, **more):
        made(self, *given, **more)
        held.append(self)

    monkeypatch.setattr(Adversary, "__init__", also)
    small().fit(table(), source=noise.Seeded(1), **PROMISE)
    teachers = next(each for each in held if isinstance(each, Discriminators))
    public = next(each for each in held if isinstance(each, Adversary))
    networks = [[layer[i] for layer in teachers.exact_layers()] for i in range(5)]
    networks += [public.student, public.generator.layers]
    spans = sorted(
        (each.data_ptr(), each.data_ptr() + each.numel() * each.element_size())
        for layers in networks
        for each in layers
    )
    assert all(first[1] <= second[0] for first, second in pairwise(spans))


class Real(torch.Tensor):
    """A private row, and whatever is computed from it."""


def guarded(plain):
    def outputs(layers, points):
        assert not isinstance(points, Real), "a real row reached a public network"
        assert not any(isinstance(each, Real) for each in layers), "a public network was made of real rows"
        return plain(layers, points)

    return outputs


def tripwires(monkeypatch):
    plain = Discriminators.__init__

    def marked(self, *given, **more):
        plain(self, *given, **more)
        self._points = self._points.as_subclass(Real)

    monkeypatch.setattr(Discriminators, "__init__", marked)
    for module in (adversary, generator):
        monkeypatch.setattr(module, "outputs", guarded(module.outputs))


def test_no_real_row_reaches_student_or_generator(monkeypatch):
    seen = []
    plain = Discriminators._step
    monkeypatch.setattr(
        Discriminators, "_step", lambda self, *given: (seen.append(type(self._points)), plain(self, *given))
    )
    tripwires(monkeypatch)
    small().fit(table(), source=noise.Seeded(1), **PROMISE)
    assert set(seen) == {Real}  # teachers have been at the rows


def test_the_tripwire_catches_a_real_row_that_is_shown_to_the_student(monkeypatch):
    tripwires(monkeypatch)
    plain, rows = Adversary.learn, []
    step = Discriminators._step
    monkeypatch.setattr(Discriminators, "_step", lambda self, *given: (rows.append(self._points), step(self, *given)))
    monkeypatch.setattr(
        Adversary,
        "learn",
        lambda self, points, classes, labels, steps: plain(self, rows[0][:4], classes, labels, steps),
    )
    with pytest.raises(AssertionError, match="real row"):
        small(labels=4).fit(table(), source=noise.Seeded(1), **PROMISE)


def test_no_generator_of_torch_or_numpy_is_asked():
    made = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        np.random.seed(seed)
        before = torch.get_rng_state()
        made.append(small().fit(table(), source=noise.Seeded(9), **PROMISE))
        assert torch.equal(before, torch.get_rng_state())
    assert made[0] == made[1]
    assert made[0] != small().fit(table(), source=noise.Seeded(8), **PROMISE)


# --- the game -----------------------------------------------------------------------------------------------------------


def test_latent_points_have_one_law_in_training_and_in_sampling(monkeypatch):
    given = []
    plain = Generator.points
    monkeypatch.setattr(
        Generator,
        "points",
        lambda self, latent, classes: (given.append(latent.numpy().copy()), plain(self, latent, classes))[1],
    )
    model = small(labels=40, teacher_steps=10).fit(table(), source=noise.Seeded(4), **PROMISE)
    training = np.concatenate(given).ravel()
    given.clear()
    model.sample(len(training), source=noise.Seeded(5))
    sampling = np.concatenate(given).ravel()[: len(training)]
    from scipy.stats import ks_2samp

    assert len(training) > 1000
    assert ks_2samp(training, sampling).pvalue > 1e-4
    assert ks_2samp(training, np.random.default_rng(0).normal(size=len(training))).pvalue < 1e-4


def test_classes_have_the_shares_that_were_paid_for_or_are_uniform():
    many = table(4000)
    paid = small(label_share=0.2).fit(many, source=noise.Seeded(2), **PROMISE).sample(2000, source=noise.Seeded(3))
    assert paid["ill"].mean() == pytest.approx(0.25, abs=0.06)
    even = small(label_share=0.0).fit(many, source=noise.Seeded(2), **PROMISE).sample(2000, source=noise.Seeded(3))
    assert even["ill"].mean() == pytest.approx(0.5, abs=0.06)


def test_the_generator_learns_where_votes_are_many():
    """Doses lie between .5 and 1; a generator at the beginning makes them around 0."""
    asked = pate.PATEGAN(teachers=20, label=None, columns=["dose"], labels=320, batch=32, hidden=(16,), latent=4)
    model = asked.fit(table(2000), epsilon=200.0, delta=1e-5, source=noise.Seeded(6))
    assert 0.4 < model.sample(500, source=noise.Seeded(7))["dose"].mean() < 1.0


def test_rows_come_in_the_types_of_the_schema():
    columns = {"age": pv.Int(18, 90, null=True), **COLUMNS, "site": pv.Category([10, 20])}
    rows = {"age": [None, 200, 30], "dose": [np.nan, 0.5, 9.0], "ward": ["A", "?", "C"], "ill": [True, False, None]}
    held = pv.Table({**rows, "site": [10, 20, 10]}, columns=columns)
    made = small(label="site").fit(held, source=noise.Seeded(1), **PROMISE).sample(50)
    assert list(made) == ["age", "dose", "ward", "ill", "site"]
    assert made["age"].dtype == np.int64
    assert made["age"].min() >= 18
    assert made["age"].max() <= 90
    assert set(made["ward"]) <= {"A", "B", "C"}
    assert set(made["site"]) <= {10, 20}
    assert made["ill"].dtype == bool
    assert len(small().fit(held, source=noise.Seeded(1), **PROMISE).sample(0)["dose"]) == 0


def test_a_teacher_without_numbers_votes_generated_and_changes_no_other():
    parts = exact_parts(units(np.linspace(-1, 1, 30)[:, None].tolist()), KEY, 4)
    sound, broken = trained(parts), trained(parts, rounds=0)
    with torch.no_grad():
        for layer in broken.exact_layers():
            layer[2] = torch.nan
    shown = torch.linspace(-1, 1, 8).reshape(8, 1), torch.zeros(8, dtype=torch.int64)
    for number in range(1, 4):
        broken.train(number, [shown] * 4, 5)
    for left, right in zip(sound.exact_layers(), broken.exact_layers(), strict=True):
        assert all(torch.equal(left[i], right[i]) for i in (0, 1, 3))
    alone = trained(parts)
    with torch.no_grad():
        alone.exact_layers()[-1][2] = -1e9
    told, wanted = (each.exact_votes(*shown).exact_counts for each in (broken, alone))
    assert np.array_equal(told, wanted)
    assert broken.exact_votes(*shown).adaptive


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_fewer_rows_than_teachers(rows):
    assert len(small().fit(table(rows), source=noise.Seeded(1), **PROMISE).sample(5)["dose"]) == 5


def test_persons_and_images_go_through_the_same_door():
    owned = pv.Table(
        {"who": [1, 1, 2, None], "dose": [0.5, 0.6, 0.7, 0.1], "ward": ["A"] * 4, "ill": [True] * 4},
        columns={"who": pv.Int(0, 9), **COLUMNS},
        unit=pv.Person("who", max_rows=2),
    )
    assert pate.PATEGAN(teachers=2).task(owned).exact_units(owned.data).owners.tolist() == [0, 0, 1]
    model = small().fit(owned, source=noise.Seeded(1), **PROMISE)
    assert list(model.sample(2)) == ["dose", "ward", "ill"]
    images = pate.Images(np.zeros((6, 3, 3), np.uint8), np.arange(6) % 2, classes=2)
    made = small(label=None).fit(images, source=noise.Seeded(1), **PROMISE).sample(4)
    assert made.images.shape == (4, 3, 3)
    assert made.images.dtype == np.uint8
    assert set(made.classes) <= {0, 1}
    nobody = pate.Images(np.zeros((0, 3, 3), np.uint8), np.zeros(0, dtype=int), classes=2)
    assert small(label=None).fit(nobody, source=noise.Seeded(1), **PROMISE).sample(4).images.shape == (4, 3, 3)


# --- files and refusals -------------------------------------------------------------------------------------------------


def test_a_model_is_saved_without_pickle(tmp_path):
    model = small().fit(table(), ledger=None, **PROMISE)
    model.save(tmp_path / "model.npz")
    again = pate.load_generator(tmp_path / "model.npz")
    assert again == model
    assert again.privacy_ == model.privacy_
    one, two = (each.sample(20, source=noise.Seeded(3)) for each in (model, again))
    assert all(np.array_equal(one[name], two[name]) for name in one)
    (tmp_path / "other.npz").write_bytes(pickle.dumps(model.shares))
    with pytest.raises(SerialisationError, match="does not hold a generator"):
        pate.load_generator(tmp_path / "other.npz")
    with pytest.raises(SerialisationError, match="cannot be read"):
        pate.load_generator(tmp_path / "nothing.npz")
    with pytest.raises(SerialisationError, match="cannot be written"):
        model.save(tmp_path / "no" / "folder.npz")


@pytest.mark.parametrize(
    ("asked", "promise", "error", "said"),
    [
        ({}, {"epsilon": 1.0}, InvalidParameter, "give a delta"),
        ({"labels": None, "sigma": 0.01}, PROMISE, NoGuarantee, "a single label"),
        ({"label": "nothing"}, PROMISE, InvalidParameter, "nothing"),
        ({"label": "dose"}, PROMISE, InvalidParameter, "small range of Int"),
        ({"columns": ["dose", "ill"]}, PROMISE, InvalidParameter, "no feature"),
        ({"columns": []}, PROMISE, InvalidParameter, "names of the table's columns"),
    ],
)
def test_public_mistakes_are_found_before_the_charge(asked, promise, error, said):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0, 1e-5))
    with pytest.raises(error, match=said):
        small(**asked).fit(table(), ledger=ledger, **promise)
    assert not [entry for entry in ledger.entries() if entry.kind == "reserve"]


@pytest.mark.parametrize(
    "asked", [{"teachers": 0}, {"sigma": 0.0, "labels": None}, {"sigma": 1.0}, {"device": "tpu"}, {"hidden": (0,)},
              {"label_share": 1.0}, {"labels": 0}, {"latent": 0}],
)  # fmt: skip
def test_nonsense_is_refused(asked):
    with pytest.raises(InvalidParameter):
        small(**asked)


def test_teachers_and_images_are_not_pickled_and_other_data_are_refused():
    teachers = trained(exact_parts(units([[0.5]]), KEY, 2), rounds=0)
    images = pate.Images(np.zeros((1, 2, 2), np.uint8), [0], classes=1)
    for each in (teachers, images):
        with pytest.raises(SerialisationError):
            pickle.dumps(each)
        assert "private" in repr(each)
    with pytest.raises(InvalidParameter, match="fit takes a"):
        small().fit({"dose": [0.5]}, **PROMISE)
    with pytest.raises(InvalidParameter, match="leave label="):
        small().fit(images, **PROMISE)
    plan = small(label=None).plan(images, **PROMISE)
    with pytest.raises(InvalidData, match="another shape"):
        plan.release(pate.Images(np.zeros((1, 3, 2), np.uint8), [0], classes=1))
    for other in ({"unit": Unit("replace")}, {"classes": 2}):
        with pytest.raises(InvalidData, match="number of classes or unit"):
            plan.release(pate.Images(np.zeros((1, 2, 2), np.uint8), [0], **({"classes": 1} | other)))
    with pytest.raises(InvalidData, match="bytes of shape"):
        pate.Images(np.zeros((1, 2, 2)), [0], classes=1)
    assert Head("numbers", 4) in plan.task.heads
    assert pate_gan.PATEGANPlan is pate.PATEGANPlan


@pytest.mark.parametrize(("teachers", "epsilon", "few"), [(20, 1.0, True), (20, 0.1, True), (2000, 1.0, False)])
def test_any_budget_buys_at_least_a_batch_of_labels(teachers, epsilon, few):
    made = pate.PATEGAN(teachers=teachers, label_share=0.0)
    plan = made.plan({"age": pv.Int(0, 99), "ill": pv.Bool()}, epsilon=epsilon, delta=1e-5)
    assert (plan.labels == made.batch) is few
    assert plan.labels >= made.batch
    assert 0.99 * epsilon <= accounting.epsilon(plan.loss, delta=1e-5).upper <= epsilon
