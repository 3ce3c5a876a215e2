"""Samplers: what they draw is what they are priced as."""

import numpy as np
import pytest

pytest.importorskip("torch")

from privet import noise
from privet.accounting import epsilon
from privet.deep import sampling as deep_sampling
from privet.deep.sampling import (
    BallsInBins,
    FixedOrder,
    FixedSize,
    Poisson,
    Sampling,
    TruncatedPoisson,
    register,
    sampling_from_dict,
)
from privet.errors import InvalidParameter, MixedUnits
from privet.privacy import (
    Composed,
    FixedSampled,
    GaussianLoss,
    PoissonSampled,
    RandomAllocation,
    Repeated,
    TruncatedPoissonSampled,
    Unit,
)

ALL = [each for kind in register.members().values() for each in kind.examples()]
MNIST = 256 / 60_000
NULLED = GaussianLoss(2.0, unit=Unit("zero_out"))


def named(sampling: object) -> str:
    return type(sampling).__name__


def by_source(sampling: Sampling, size: int, times: int) -> list:
    """Rounds drawn from a source, as anybody draws."""
    source = noise.Seeded(1)
    return [sampling.draw(size, source=source) for _ in range(times)]


def by_key(sampling: Sampling, size: int, times: int) -> list:
    """Rounds drawn under one key, step after step, as a training draws."""
    stream = noise.KeyedStream(bytes(range(32)))
    return [sampling.drawn(size, stream, step) for step in range(times)]


both = pytest.mark.parametrize("rounds", [by_source, by_key])


def priced(sampling: Sampling, noise_multiplier: float, steps: int, unit: Unit) -> float:
    rounds = steps // sampling.round_steps
    return epsilon(Repeated(sampling.round_price(noise_multiplier, unit), rounds), delta=1e-5).upper


@pytest.mark.parametrize(
    ("sampling", "noise_multiplier", "steps", "relation", "golden"),
    [
        (Poisson(q=MNIST), 1.1, 14_062, "add_remove", 2.3817),
        (Poisson(q=MNIST), 1.1, 14_062, "replace", 4.2214),
        (TruncatedPoisson(q=MNIST, batch=320, n=60_000), 1.1, 14_062, "zero_out", 2.409),
        (TruncatedPoisson(q=MNIST, batch=384, n=60_000), 1.1, 14_062, "zero_out", 2.382),
        (FixedSize(m=256, n=60_000), 2.2, 14_062, "replace", 3.0686),
        (FixedSize(m=256, n=60_000), 4.4, 14_062, "replace", 1.0558),
        (FixedOrder(batch=512, n=60_000), 0.8, 10 * 118, "zero_out", 23.9954),
        (FixedOrder(batch=60_000, n=60_000), 0.6, 1, "zero_out", 8.0037),
        (FixedOrder(batch=60_000, n=60_000), 2.0, 1, "replace", 4.37718),
    ],
)
def test_prices_are_those_of_the_handbook(sampling, noise_multiplier, steps, relation, golden):
    found = priced(sampling, noise_multiplier, steps, Unit(relation))
    assert found == pytest.approx(golden, rel=3e-4)


def test_a_loader_is_not_priced_as_a_poisson_sample():
    pretended = priced(Poisson(q=512 / 60_000), 0.8, 1180, Unit())
    assert pretended == pytest.approx(2.87, rel=0.02)
    assert priced(FixedOrder(batch=512, n=60_000), 0.8, 1180, Unit("zero_out")) > 8 * pretended


def test_balls_in_bins_cost_less_than_poisson_and_more_than_nothing():
    balls = priced(BallsInBins(steps=10), 1.0, 10, Unit())
    assert 0.5 < balls < priced(FixedOrder(batch=1, n=10), 1.0, 10, Unit("zero_out"))


@pytest.mark.parametrize("sampling", ALL, ids=named)
def test_every_relation_is_served_or_refused_in_a_sentence(sampling):
    for relation in ("add_remove", "zero_out", "replace"):
        if relation in sampling.relations:
            assert sampling.round_price(1.0, Unit(relation)).unit == Unit(relation)
            group = Unit(relation, group_size=3)
            if sampling.groups:
                assert sampling.round_price(1.0, group).unit == group
            else:
                with pytest.raises(MixedUnits, match="for one record"):
                    sampling.round_price(1.0, group)
        else:
            with pytest.raises(MixedUnits, match=f"{named(sampling)} has no proved price under {relation}"):
                sampling.round_price(1.0, Unit(relation))


@pytest.mark.parametrize(
    ("sampling", "price"),
    [
        (Poisson(q=0.25), PoissonSampled(NULLED, 0.25)),
        (TruncatedPoisson(q=0.25, batch=2, n=40), TruncatedPoissonSampled(NULLED, 0.25, 2, 40)),  # cut in most steps
        (FixedSize(m=2, n=9), FixedSampled(GaussianLoss(1.0, unit=Unit("replace")), 2, 9)),
        (BallsInBins(steps=3), RandomAllocation(NULLED, 3)),
    ],
    ids=named,
)
def test_a_price_is_that_of_the_very_sample(sampling, price):
    assert sampling.round_price(2.0, price.unit) == price


@pytest.mark.parametrize("sampling", ALL, ids=named)
def test_persons_are_refused(sampling):
    with pytest.raises(MixedUnits, match="one record of each person"):
        sampling.serves(Unit(sampling.relations[0], person="name"))


@pytest.mark.parametrize("sampling", ALL, ids=named)
def test_more_or_other_releases_than_the_steps_of_a_round_are_not_amplified(sampling):
    unit = Unit(sampling.relations[0])
    clips = 2 if unit.relation == "replace" else 1
    one = GaussianLoss(1.0 / clips)
    right = [one] * sampling.round_steps
    assert sampling.folded(right, unit) == sampling.round_price(1.0, unit)
    assert sampling.folded([*right, one], unit) == Composed([*right, one])
    assert sampling.folded([*right[1:], GaussianLoss(9.0), one], unit).parts() != right


@pytest.mark.parametrize("sampling", ALL, ids=named)
def test_json_gives_the_sampler_back(sampling):
    assert sampling_from_dict(sampling.to_dict()) == sampling


def test_what_is_no_sampler_is_refused():
    with pytest.raises(InvalidParameter, match="kind of a sampler"):
        sampling_from_dict({"kind": "shuffled"})
    with pytest.raises(InvalidParameter, match="above 0"):
        Poisson(q=0.0)
    with pytest.raises(InvalidParameter, match="without replacement"):
        FixedSize(m=4, n=3)


@both
def test_poisson_draws_each_record_by_a_coin_of_its_own(rounds):
    drawn = [each for (each,) in rounds(Poisson(q=0.3), 8, 4000)]
    taken = np.zeros((4000, 8))
    for row, ids in zip(taken, drawn, strict=True):
        row[ids] = 1.0
    assert np.abs(taken.mean(axis=0) - 0.3).max() < 0.04
    assert np.abs(np.corrcoef(taken.T) - np.eye(8)).max() < 0.08
    assert min(map(len, drawn)) == 0  # an empty step is a step


@both
def test_no_truncated_batch_is_larger_than_its_cap(rounds):
    drawn = [each for (each,) in rounds(TruncatedPoisson(q=0.5, batch=3, n=8), 8, 300)]
    sizes = {len(each) for each in drawn}
    assert max(sizes) == 3
    assert all(len(set(each.tolist())) == len(each) for each in drawn)
    kept = np.bincount(np.concatenate([each for each in drawn if len(each) == 3]), minlength=8)
    assert kept.min() > 0.6 * kept.mean()  # the subset that is kept prefers nobody


@both
@pytest.mark.parametrize("sampling", [FixedSize(m=3, n=6), TruncatedPoisson(q=1.0, batch=3, n=6)], ids=named)
def test_a_fixed_size_is_fixed_and_fresh(rounds, sampling):
    drawn = [each.tolist() for (each,) in rounds(sampling, 6, 50)]
    assert {len(set(each)) for each in drawn} == {3}
    assert len({tuple(each) for each in drawn}) > 10


@both
def test_balls_fall_into_one_step_of_every_epoch_each_by_itself(rounds):
    epoch, other = rounds(BallsInBins(steps=4), 1000, 2)
    assert sorted(np.concatenate(epoch).tolist()) == list(range(1000))
    assert len({len(each) for each in epoch}) > 1  # no equal split, which would not be independent
    assert epoch[0].tolist() != other[0].tolist()


@pytest.mark.parametrize("sampling", ALL, ids=named)
def test_whoever_has_the_key_draws_the_same_records(sampling):
    one, two = (noise.KeyedStream(bytes(32)) for _ in range(2))
    for step in (0, 7, 2**40):
        first, second = sampling.drawn(3, one, step), sampling.drawn(3, two, step)
        assert [each.tolist() for each in first] == [each.tolist() for each in second]


def test_what_a_model_draws_follows_from_no_coin_of_a_record():
    stream = noise.KeyedStream(bytes(32))
    seeds = [deep_sampling.coins_of_model(stream, step) for step in range(3)]
    assert len(set(seeds)) == 3
    for domain in (*range(1, 5), 32):  # coins, noise, sources; places of records that take turns
        assert not {int(each) for step in range(3) for each in stream.words(domain, step, 9)} & set(seeds)


def test_a_part_of_the_records_is_drawn_without_the_others():
    """What a rank needs: the coins of its own records, whatever the others are."""
    stream = noise.KeyedStream(bytes(32))
    (drawn,) = Poisson(q=0.4).drawn(100, stream, 5)
    (fewer,) = Poisson(q=0.4).drawn(60, stream, 5)
    assert fewer.tolist() == [each for each in drawn.tolist() if each < 60]
    part = 30 + np.flatnonzero(stream.coins(5, 20, q=0.4, first=30))
    assert part.tolist() == [each for each in drawn.tolist() if 30 <= each < 50]


def test_a_fixed_order_keeps_the_place_of_every_record():
    first, again = (FixedOrder(batch=2, n=5).draw(5, source=None) for _ in range(2))
    assert [each.tolist() for each in first] == [each.tolist() for each in again] == [[0, 1], [2, 3], [4]]


def test_the_replace_price_of_poisson_is_no_doubled_sensitivity():
    """2C in the add/remove formula is another, dearer law: the exchange is priced as what it is."""
    exchanged = Repeated(Poisson(q=0.01).round_price(1.0, Unit("replace")), 100)
    doubled = Repeated(PoissonSampled(GaussianLoss(0.5), 0.01), 100)
    assert epsilon(exchanged, delta=1e-5).upper < epsilon(doubled, delta=1e-5).upper
