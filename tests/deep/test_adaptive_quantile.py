"""Clipping that follows a quantile of the gradients' norms: one noise for gradients and votes."""

import numpy as np
import pytest

from tests.firsts import ends

torch = pytest.importorskip("torch")

from privet import audit, deep, noise  # noqa: E402
from privet.deep.batches import exact_sum, exact_value_and_votes  # noqa: E402
from privet.deep.engines.bookkeeping import norms, terms_of  # noqa: E402
from privet.deep.training import training_of  # noqa: E402
from privet.errors import InvalidParameter  # noqa: E402
from privet.privacy import Unit  # noqa: E402

CLIP = deep.AdaptiveQuantile(1.0, quantile=0.5, rate=0.5)


def plan_of(clip=CLIP, **settings):
    asked = {
        "noise_multiplier": 1.0,
        "delta": 1e-5,
        "steps": 30,
        "sampling": deep.Poisson(q=1.0),
        "expected_batch": 64.0,
    }
    return deep.Plan(**{**asked, "clip": clip, **settings})


def each_loss(outputs, targets):
    return (outputs[:, 0] - targets) ** 2


def net(width=3):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(width, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))


def value(model, rows, targets, clip, way="auto", piece=16):
    engine = plan_of().engine(model, each_loss, way=way)
    engine.follow(deep.Flat(clip))
    records = deep.Records((rows, targets))
    total = exact_sum(engine, dict(model.named_parameters()), records, np.arange(records.exact_count()), piece)
    return exact_value_and_votes(total, engine)


@pytest.mark.parametrize("way", ["auto", "vmapped", "microbatch"])
@pytest.mark.parametrize("piece", ends([3, 16, 40]))
def test_one_record_moves_gradients_and_votes_by_no_more_than_is_priced(way, piece):
    rng = torch.Generator().manual_seed(1)
    rows, targets = torch.randn(24, 3, generator=rng) * 3.0, torch.randn(24, generator=rng)
    rows[5], rows[11], targets[7] = torch.nan, 1e30, torch.inf
    model, most = net(), 0.0
    whole = value(model, rows, targets, 1.5, way, piece)
    for out in (0, 3, 5, 7, 8, 11, 14, 17, 20, 23):  # three of them are no numbers, or far too large
        kept = [i for i in range(24) if i != out]
        moved = np.linalg.norm(whole - value(model, rows[kept], targets[kept], 1.5, way, piece))
        assert moved <= 1.01 * (1.0 + 1e-5)
        most = max(most, moved)
    assert most > 1.0  # the vote is there: a gradient alone moves by 1 at most


def test_engines_count_the_same_votes():
    rows, targets = torch.linspace(-3.0, 3.0, 60).reshape(20, 3), torch.linspace(-1.0, 1.0, 20)
    found = [value(net(), rows, targets, 1.0, way)[-1] for way in ("bookkeeping", "vmapped", "microbatch")]
    assert found[0] == pytest.approx(found[1]) == pytest.approx(found[2])
    assert abs(found[0]) < 0.28 * 10.0  # some are short and some are long


class _Fails(torch.nn.Module):
    """A model that cannot take a record whose first number is 9: not even after it has been differentiated."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)

    def forward(self, rows):
        if (rows[:, 0] == 9.0).any():
            raise RuntimeError("a secret")
        return self.layer(rows)


def test_a_record_that_fails_neither_votes_nor_doubles_the_votes_of_others():
    torch.manual_seed(1)
    model = _Fails()
    rows, targets = torch.randn(12, 3), torch.randn(12)
    without = value(model, rows, targets, 1.0, "microbatch")
    with_it = value(
        model,
        torch.cat((rows, torch.tensor([[9.0, 0.0, 0.0]]))),
        torch.cat((targets, torch.zeros(1))),
        1.0,
        "microbatch",
    )
    assert np.allclose(without, with_it, atol=1e-6)


def class_loss(outputs, targets):
    return torch.nn.functional.cross_entropy(outputs, targets, reduction="none")


@pytest.mark.parametrize("way", ["bookkeeping", "vmapped"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_record_that_fails_turns_no_vote_of_another(way, seed):
    """Sixty-four gradients whose norm is one rounding above or below the clip, by the batch they are computed in, and a
    record of a class that is not there: without it all of them are computed at once, with it they were one by one.
    """
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(37, 19), torch.nn.Tanh(), torch.nn.Linear(19, 3))
    point = {name: each.detach() for name, each in model.named_parameters()}
    rows, targets = torch.randn(1, 37).repeat(64, 1), torch.zeros(64, dtype=torch.long)
    others = torch.cat([rows, rows[:1]]), torch.cat([targets, torch.tensor([99])])
    for clip in norms_of_one(model, point, rows, targets, way):
        found = []
        for held in ((rows, targets), others):
            engine = plan_of().engine(model, class_loss, way=way)
            engine.follow(deep.Flat(clip))
            records = deep.Records(held)
            total = exact_sum(engine, point, records, np.arange(records.exact_count()), 65)
            found.append(exact_value_and_votes(total, engine))
        assert np.array_equal(found[0], found[1])  # the record itself adds nothing, and moves nobody by a digit


def norms_of_one(model, point, rows, targets, way):
    """The norms that are found for the first record alone, and in its batch."""
    engine = plan_of().engine(model, class_loss, way=way)
    for size in (1, 64):
        batch = point, rows[:size], targets[:size]
        everyone = torch.ones(size, dtype=torch.bool)
        sizes = (
            norms(terms_of(point, engine.met(*batch)), everyone)
            if way == "bookkeeping"
            else engine._sizes(engine.gradients(*batch))[0]
        )
        yield float(sizes.max())


def test_a_vote_is_no_farther_from_another_than_their_norms_are():
    """Alone and in a batch a norm may have other last digits: votes follow it, and never jump."""
    sizes = [*np.linspace(0.0, 6.0, 601), np.inf]
    votes = []
    for size in sizes:
        engine = plan_of().engine(net(), each_loss)
        engine.follow(deep.Flat(2.0))
        engine._factors([torch.tensor([size], dtype=torch.float64)], torch.ones(1, dtype=torch.bool))
        votes.append(engine.exact_votes())
    assert votes[0] == votes[int(100 * 1.75)] == 0.5
    assert votes[int(100 * 2.25)] == votes[-2] == -0.5
    assert votes[200] == votes[-1] == 0.0  # as long as the clip, and not finite
    assert np.abs(np.diff(votes[:-1])).max() <= 4.0 * 0.01 / 2.0 + 1e-12


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_price_is_that_of_flat_clipping_with_one_per_cent_more_noise(relation):
    sampling = deep.Poisson(q=0.1)
    unit = Unit(relation)
    follows, flat = (plan_of(each, sampling=sampling, unit=unit) for each in (CLIP, deep.Flat(1.0)))
    assert follows.loss == flat.loss
    ratio = follows.step_noise(100).sigma / flat.step_noise(100).sigma
    assert ratio == pytest.approx(1.01, rel=1e-5)
    assert follows.step_noise(100).dimension == 101


def test_the_clip_finds_the_quantile_from_far_away():
    """Gradients of norm 8 and 32 in equal parts, with a clip that begins at 1/4: it ends between them."""
    rows = torch.zeros(64, 2)
    rows[:32, 0], rows[32:, 1] = 8.0, 32.0
    for start in (0.25, 500.0):
        training = training_of(plan_of(deep.AdaptiveQuantile(start, rate=0.5), steps=40), 2, divisor=64.0)
        state = training._first()
        for index in range(len(training.blocks)):
            state = training._block(index, state, deep.Records((rows,)), noise.Seeded(3))
        assert 7.0 < state["clip"] < 34.0


def test_a_run_that_goes_on_from_a_checkpoint_keeps_its_clip(tmp_path):
    from privet.deep.checkpoint import Checkpoint

    training = training_of(plan_of(steps=40), 2, divisor=64.0)
    state = training._block(0, training._first(), deep.Records((torch.full((64, 2), 9.0),)), noise.Seeded(3))
    kept = Checkpoint(tmp_path / "run", {"key": "k"})
    kept.save(1, state)
    assert kept.load()[1]["clip"] == state["clip"] != 1.0


def test_a_user_trains_with_it():
    rows = torch.randn(200, 3, generator=torch.Generator().manual_seed(0))
    model = net()
    plan = plan_of(steps=25, sampling=deep.Poisson(q=0.3), epsilon=4.0, noise_multiplier=None, expected_batch=60)
    trained = deep.Trainer(model, torch.optim.SGD(model.parameters(), lr=0.1), each_loss, plan).fit((rows, rows[:, 0]))
    assert trained.release.loss == plan.loss
    assert all(np.isfinite(each).all() for each in trained.release.value.values())
    assert "0.5-quantile of the norms" in plan.explain()
    assert deep.Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (lambda: plan_of(strict=True), "strict"),
        (lambda: plan_of().steps((torch.ones(4, 2), torch.ones(4))), "Trainer.fit"),
        (lambda: plan_of().engine(net(), each_loss, way="compiled"), "compiled"),
        (lambda: deep.AdaptiveQuantile(1.0, quantile=1.0), "quantile"),
        (lambda: deep.AdaptiveQuantile(1.0, rate=-0.1), "rate"),
        (lambda: deep.AdaptiveQuantile(1.0, rate=11.0), "rate"),
        (lambda: deep.AdaptiveQuantile(0.0), "clip_norm"),
    ],
)
def test_what_cannot_follow_is_refused(broken, words):
    with pytest.raises(InvalidParameter, match=words):
        broken()


def test_replay_sees_a_clip_that_follows_exact_votes(monkeypatch):
    pair = next(each for each in deep.Training.examples() if each.mechanism.plan.clip != deep.Flat(1.0))
    assert isinstance(pair.mechanism.plan.clip, deep.AdaptiveQuantile)
    assert not audit.replay(pair.mechanism.release, pair.left, pair.right).refuted
    held = []

    def kept(total, engine):
        held.append(exact_value_and_votes(total, engine))
        return held[-1]

    sound = deep.AdaptiveQuantile.read

    def by_exact_votes(self, noisy, clip, divisor):
        return noisy[:-1] * clip, sound(self, held[-1], clip, divisor)[1]

    monkeypatch.setattr("privet.deep.stepping.exact_value_and_votes", kept)
    monkeypatch.setattr(deep.AdaptiveQuantile, "read", by_exact_votes)
    assert audit.replay(pair.mechanism.release, pair.left, pair.right).refuted
