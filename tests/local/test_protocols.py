"""The contract over every protocol: prices, reports, states, estimates; and what is refused."""

import json
import math

import numpy as np
import pytest

from privet import local, noise
from privet.errors import InvalidData, InvalidParameter, SerialisationError
from privet.privacy import Unit
from tests.local.members import HASHED, KINDS, PLAIN, made

EVERY = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@EVERY
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, math.log(3.0), 2.0, 5.0, 50.0, 800.0])
def test_the_price_is_computed_back_and_never_above_what_was_typed(kind, epsilon):
    protocol = made(kind, epsilon=epsilon)
    assert 0.999 * epsilon <= protocol.loss.pure() <= epsilon
    assert protocol.loss.unit == Unit("replace")
    assert 0 < protocol.other < protocol.own < 1


@EVERY
@pytest.mark.parametrize("k", [2, 3, 7, 8, 31, 32, 64, 65])
def test_reports_are_encoded_and_decoded_whatever_k(kind, k):
    protocol = made(kind, k=k)
    values = np.arange(3 * protocol.size) % protocol.size
    reports = protocol.privatize(values)
    assert len(reports) == len(values)
    payload = protocol.encode(reports)
    assert payload.dtype == np.uint8
    assert payload.shape == (len(values), protocol.report_bytes)
    assert np.array_equal(protocol.rows(protocol.decode(payload)), protocol.rows(reports))
    assert np.array_equal(protocol.rows(protocol.decode(payload.tobytes())), protocol.rows(reports))
    assert protocol.valid(protocol.rows(reports)).all()
    one = protocol.privatize(protocol.size - 1)
    assert protocol.rows(one).shape == (1, *protocol.report_shape)
    if protocol.report_bytes > 1:
        with pytest.raises(InvalidData, match="whole reports"):
            protocol.decode(payload.tobytes()[:-1])


@EVERY
def test_json_keeps_protocols_and_states(kind):
    protocol = made(kind)
    assert local.from_json(protocol.to_json()) == protocol
    state = protocol.new_state().add(protocol.privatize([0, 1, 1]))
    again = local.State.from_json(state.to_json())
    assert again == state
    assert again.protocol == protocol
    for text in ("{}", "[]", '{"privet": 2}', state.to_json().replace('"n":3', '"n":"x"')):
        with pytest.raises(SerialisationError):
            local.State.from_json(text)
    for text in ("{}", '{"mechanism": "laplace"}', '{"mechanism": "no such"}', "[1]"):
        with pytest.raises(SerialisationError):
            local.from_json(text)


@EVERY
def test_states_merge_in_any_order_and_only_with_their_like(kind):
    protocol = made(kind)
    reports = protocol.privatize(np.arange(60) % protocol.size)
    whole = protocol.new_state().add(reports)
    a, b, c = (protocol.new_state().add(part) for part in np.split(reports, [7, 31]))
    assert a.merge(b).merge(c) == c.merge(b.merge(a)) == whole
    assert a.n == 7
    empty = protocol.new_state()
    assert empty.merge(whole) == whole
    other = made(kind, epsilon=1.5)
    with pytest.raises(InvalidParameter, match="only states of one protocol"):
        whole.merge(other.new_state())
    with pytest.raises(InvalidParameter, match="another protocol"):
        other.estimate(whole)
    with pytest.raises(InvalidData, match="at least one report"):
        protocol.estimate(empty)
    whole.reset()
    assert whole == empty
    assert whole.table.sum() == whole.n == whole.dropped == 0


@EVERY
def test_a_state_is_the_same_for_any_order_of_reports(kind):
    protocol = made(kind)
    reports = protocol.rows(protocol.privatize(np.arange(40) % protocol.size))
    assert protocol.new_state().add(reports[::-1]) == protocol.new_state().add(reports)
    twice = protocol.new_state().add(reports[:1]).add(reports[:1])  # nothing tells one user's second report apart
    assert twice.n == 2
    assert np.array_equal(twice.table, 2 * protocol.new_state().add(reports[:1]).table)


@EVERY
def test_what_is_no_report_is_dropped_and_counted(kind):
    protocol = made(kind)
    good = protocol.rows(protocol.privatize(np.zeros(5, dtype=int))).astype(np.uint64)
    bad = np.full_like(good, 2**64 - 1)
    state = protocol.new_state().add(np.concatenate([good, bad]))
    assert (state.n, state.dropped) == (5, 5)
    clean = protocol.new_state().add(good)
    assert np.array_equal(clean.table, state.table)
    state.reset()
    assert (state.n, state.dropped, state.table.sum()) == (0, 0, 0)
    for wrong in (["a"], [0.5], [None]):
        with pytest.raises(InvalidData):
            protocol.new_state().add(wrong)


@EVERY
def test_every_value_is_taken_and_read_by_itself(kind):
    protocol = made(kind)
    last = protocol.size - 1
    given = [-5, 0.4, math.nan, None, "text", math.inf, last, last + 7, 2**70, True]
    prepared = protocol._prepare(given)
    assert prepared.tolist() == [0, 0, 0, 0, 0, prepared[5], last, last, last, 1]
    assert [protocol._prepare([each])[0] for each in given] == prepared.tolist()
    assert len(protocol.privatize(given)) == len(given)


@EVERY
def test_labels_are_texts_and_unknown_ones_count_as_the_first(kind):
    names = ("no", "yes") if kind is local.Warner else ("red", "green", "blue")
    protocol = kind(epsilon=1.0, labels=names)
    assert protocol.k == len(names)
    assert protocol._prepare([names[1], "unknown", None, names[0]]).tolist() == [1, 0, 0, 0]
    told = protocol.estimate(protocol.privatize([names[1]] * 50))
    assert told.labels == names
    assert told.columns()["label"].tolist() == list(names)
    with pytest.raises(InvalidData, match="labels"):
        made(kind).release(np.array(["red"]))
    with pytest.raises(InvalidParameter, match="number of labels"):
        kind(epsilon=1.0, labels=names, k=len(names) + 1)


@EVERY
@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"k": 1}, "one possible value"), ({"epsilon": 0.0}, "greater than 0"), ({"epsilon": -1.0}, "greater than 0"),
     ({"epsilon": math.nan}, "epsilon"), ({"epsilon": 5000.0}, "4000"), ({"k": 2.5}, "k")],
)  # fmt: skip
def test_what_says_nothing_or_everything_is_refused_in_words(kind, wrong, words):
    with pytest.raises(InvalidParameter, match=words):
        kind(**{"epsilon": 1.0, "k": 2, **wrong})


def estimates_of(protocols, people, runs: int):
    """Raw estimates of one population from reports of single people, one protocol after the other."""
    values = np.repeat(np.arange(len(people)), people)
    found = []
    for protocol in protocols:
        reports = protocol.rows(protocol.simulate(np.tile(values, runs), 1)[0])
        found += [protocol.estimate(part).raw for part in np.split(reports, runs)]
    return np.array(found)


@pytest.mark.parametrize("kind", PLAIN.values(), ids=PLAIN)
def test_the_raw_estimate_is_unbiased_and_has_the_variance_that_is_said(kind):
    """From 200 populations of 400 people: mean, variance and covariance of the shares."""
    protocol = made(kind, k=4, epsilon=1.5)
    people = np.array([400, 0] if kind is local.Warner else [240, 120, 40, 0])
    raw = estimates_of([protocol], people, 200)
    truth, variance = people / 400, protocol.variance(people / 400, n=400)
    assert np.all(np.abs(raw.mean(axis=0) - truth) < 5.0 * np.sqrt(variance / 200))
    assert np.all(np.abs(raw.var(axis=0) / variance - 1.0) < 0.6)
    covariance = protocol.covariance(truth, n=400)
    assert np.allclose(np.diag(covariance), variance)
    assert np.all(np.abs(np.cov(raw.T) - covariance) < 0.6 * variance.max())
    assert raw.min() < 0.0  # never clipped


@pytest.mark.parametrize(
    "kind", [kind for kind in HASHED.values() if kind is not local.RAPPOR]
)  # regression: see there
def test_hashed_estimates_are_unbiased_on_average_over_the_hashes(kind):
    more = {local.OLH: [{}] * 200}.get(kind, [{"seed": seed} for seed in range(200)])
    people = np.array([240, 120, 40, 0])
    raw = estimates_of([made(kind, k=4, epsilon=1.5, **each) for each in more], people, 1)
    off = raw.mean(axis=0) - people / 400
    assert np.all(np.abs(off) < 5.0 * np.sqrt(raw.var(axis=0) / 200))
    assert np.all(raw.var(axis=0) > 0.5 * made(kind, k=4, epsilon=1.5).variance(people / 400, n=400))


@EVERY
def test_a_population_without_people_has_the_law_of_people(kind):
    """Means and variances of simulated supports against those of reports."""
    protocol = made(kind, k=4, epsilon=1.5)
    people = np.array([400, 0] if kind is local.Warner else [240, 120, 40, 0])
    states = [protocol.simulate_counts(people) for _ in range(150)]
    assert {state.n for state in states} == {400}
    raw = np.array([protocol.estimate(state).raw for state in states])
    other = estimates_of([protocol], people, 150)
    spread = np.sqrt((raw.var(axis=0) + other.var(axis=0)) / 150)
    assert np.all(np.abs(raw.mean(axis=0) - other.mean(axis=0)) < 5.0 * spread)
    assert np.all(np.abs(np.log(raw.var(axis=0) / other.var(axis=0))) < 0.8)
    if protocol.simulation == "joint":
        assert np.all(np.abs(np.cov(raw.T) - np.cov(other.T)) < 0.7 * other.var(axis=0).max())
    for wrong in ([1, 2, 3], [0.5] * 4, [-1, 1, 1, 1]):
        with pytest.raises(InvalidParameter, match="whole numbers"):
            protocol.simulate_counts(wrong)


@EVERY
def test_one_report_is_enough_for_an_estimate(kind):
    protocol = made(kind, **({"cohorts": 1, "width": 12} if kind is local.RAPPOR else {}))
    told = protocol.estimate(protocol.privatize([0]))
    assert np.isfinite(told.raw).all()
    low, high = told.interval
    assert np.all((low >= 0.0) & (low <= high) & (high <= 1.0))


def test_seeded_reports_repeat_themselves():
    protocol = local.KRR(k=5, epsilon=1.0)
    one, two = (protocol.privatize(np.zeros(50, dtype=int), source=noise.Seeded(3)) for _ in range(2))
    assert np.array_equal(one, two)


def test_the_draw_is_that_of_the_mechanism():
    protocol = local.KRR(k=9, epsilon=1.3)
    values = np.arange(900) % 9
    drawn = protocol.privatize(values, source=noise.Seeded(5))
    assert np.array_equal(drawn, protocol.response.release(values, source=noise.Seeded(5)).value)
    assert protocol.response.loss == protocol.loss


def test_counts_that_are_no_counts_are_refused():
    state = local.KRR(k=3, epsilon=1.0).new_state()
    for table in ([1, 2], [1, 2, -1], [0.5, 1, 1]):
        with pytest.raises(InvalidData):
            state.add_counts(np.array(table), 3)
    with pytest.raises(InvalidParameter, match="2\\^62"):
        state.add_counts(np.array([2**61, 0, 0]), 2**62 + 1)
    told = json.loads(state.to_json())
    assert told["n"] == 0
