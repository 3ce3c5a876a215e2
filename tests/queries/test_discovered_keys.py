"""Keys that are found in the data: known thresholds, and the exact delta by enumeration of all outcomes."""

import itertools
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import privet as pv
from privet import audit, noise, testing
from privet.errors import InvalidData, InvalidParameter, NoGuarantee
from privet.mechanisms import Example
from privet.privacy import Unit
from privet.queries import DiscoveredKeys
from privet.queries.discovered_keys import chance_shown

GOLDEN = [
    (1.0, 1e-5, 1, 13, 4.491779e-06),
    (1.0, 1e-5, 5, 64, 9.270209e-06),
    (0.5, 1e-6, 1, 28, 8.533663e-07),
    (1.0, 1e-6, 3, 45, 7.461343e-07),
    (0.1, 1e-8, 1, 179, 9.765631e-09),
]


@pytest.mark.parametrize(("epsilon", "delta", "keys", "threshold", "exact"), GOLDEN)
def test_thresholds(epsilon, delta, keys, threshold, exact):
    made = DiscoveredKeys.for_budget(epsilon=epsilon, delta=delta, keys=keys)
    assert made.threshold == threshold
    assert made.chance == pytest.approx(exact, rel=1e-6)
    assert chance_shown(made.scale, threshold - 1, keys, 1) > delta  # no smaller one would do


def test_the_tail_is_that_of_at_least_and_not_of_more_than():
    assert chance_shown(1.0, 5, 1, 1) == pytest.approx(0.01338980, abs=5e-9)
    assert chance_shown(1.0, 6, 1, 1) == pytest.approx(0.00492583, abs=5e-9)  # what an off-by-one would state


def law_of_key(scale: float, threshold: int, count: int, top: int) -> np.ndarray:
    """The chances of all that is seen of one key: first that it is hidden, then each noisy count from the threshold on."""
    if count == 0:
        return np.concatenate([[1.0], np.zeros(top - threshold + 1)])
    a = math.exp(-1.0 / scale)
    shown = (1 - a) / (1 + a) * a ** np.abs(np.arange(threshold, top + 1) - count)
    return np.concatenate([[1.0 - shown.sum()], shown])


def exact_delta(epsilon: float, scale: float, threshold: int, one: list[int], two: list[int]) -> float:
    """The largest of both directions of P(S) - e^epsilon Q(S), over everything that can be seen of all keys."""
    top = threshold + 60
    laws = []
    for counts in (one, two):
        joint = np.ones(1)
        for count in counts:
            joint = np.outer(joint, law_of_key(scale, threshold, count, top)).reshape(-1)
        laws.append(joint)
    p, q = laws
    growth = math.exp(epsilon)
    return float(max(np.maximum(p - growth * q, 0).sum(), np.maximum(q - growth * p, 0).sum()))


NEIGHBOURS = [
    # (keys, rows, counts without the person, with the person)
    (1, 1, [0], [1]),
    (1, 1, [3], [4]),
    (2, 1, [0, 0], [1, 1]),
    (2, 1, [0, 4], [1, 5]),
    (2, 1, [3, 4], [4, 5]),
    (1, 2, [0], [2]),
    (1, 2, [2], [4]),
    (2, 2, [0, 1], [2, 3]),
]


@pytest.mark.parametrize(("keys", "rows", "without", "with_"), NEIGHBOURS)
def test_exact_delta_is_at_most_what_is_stated(keys, rows, without, with_):
    for epsilon, delta in ((1.0, 0.05), (0.4, 0.01)):
        made = DiscoveredKeys.for_budget(epsilon=epsilon, delta=delta, keys=keys, rows=rows)
        price = made.loss.approximate()
        found = exact_delta(price.epsilon, made.scale, made.threshold, without, with_)
        assert found <= made.chance * (1 + 1e-9) <= delta
        if not any(without):  # keys that the person alone has attain it
            assert found == pytest.approx(made.chance, rel=1e-4)


def test_the_enumeration_sees_one_key_charged_for_two_and_an_off_by_one():
    made = DiscoveredKeys.for_budget(epsilon=1.0, delta=0.05, keys=2)
    found = exact_delta(1.0, made.scale, made.threshold, [0, 0], [1, 1])
    assert found > chance_shown(made.scale, made.threshold, 1, 1)  # L0 forgotten
    assert found > chance_shown(made.scale, made.threshold + 1, 2, 1)  # > in the sum, >= in the code


def test_rows_that_repeat_in_one_key_are_bounded_in_all():
    """Three rows anywhere: up to three keys, up to three in one, and never more than three."""
    for epsilon in (1.0, 6.0):
        made = DiscoveredKeys.for_budget(epsilon=epsilon, delta=0.05, keys=3, rows=3, total=3)
        assert made.loss.approximate().epsilon == pytest.approx(epsilon)
        found = [exact_delta(epsilon, made.scale, made.threshold, [0] * len(each), each) for each in ([3], [2, 1])]
        single = chance_shown(made.scale, made.threshold, 3, 1)  # three keys of one row each
        assert max(*found, single) == pytest.approx(made.chance, rel=1e-4)
        assert max(*found, single) <= made.chance <= 0.05
    # as if the three rows were three persons: enough at a small epsilon, not at this one
    counted_once = DiscoveredKeys.for_budget(epsilon=6.0, delta=0.05, keys=3)
    assert exact_delta(6.0, counted_once.scale, counted_once.threshold, [0], [3]) > 2 * counted_once.chance
    with pytest.raises(InvalidParameter, match="at most keys times rows"):
        replace(made, total=10)


def test_replace_is_a_group_of_two():
    made = DiscoveredKeys.for_budget(epsilon=1.0, delta=0.05, unit=Unit("replace"))
    price = made.loss.approximate()
    assert price.epsilon <= 1.0
    found = exact_delta(1.0, made.scale, made.threshold, [1, 0], [0, 1])  # the only key of one becomes that of another
    assert 0.2 * price.delta < found <= price.delta <= 0.05


def test_noise_alone_has_no_guarantee():
    for promise in ({"epsilon": 1.0}, {"rho": 0.5}, {"mu": 1.0}):
        with pytest.raises(NoGuarantee, match="delta"):
            DiscoveredKeys.for_budget(**promise)


def test_what_is_shown_is_at_least_the_threshold_and_sorted():
    data = {"city": np.array(["Rome"] * 60 + ["Bonn"] * 50 + ["Oslo"] * 2 + ["Aachen"] * 70)}
    cities = pv.Table(data, columns={"city": pv.Text()})
    query = cities.group_by("city", discover=True).agg(p=pv.count_persons())
    made = query.for_budget(epsilon=1.0, delta=1e-5)
    for seed in range(5):
        answer = made.release(cities.data, source=noise.Seeded(seed)).value
        assert answer["city"].tolist() == ["Aachen", "Bonn", "Rome"]
        assert all(answer["p"] >= made.selection.threshold)


def test_a_key_at_the_threshold_is_shown_and_one_below_is_not():
    made = DiscoveredKeys(scale=1e-2, threshold=5)  # no noise to speak of
    shown = made.release({"keys": ["a", "b", "c"], "counts": np.array([5, 4, 6])}).value
    assert shown["keys"] == ["a", "c"]
    assert shown["counts"].tolist() == [5, 6]


EXAMPLE = Example(
    DiscoveredKeys(scale=1.0, threshold=3),
    {"keys": ["a", "b"], "counts": np.array([4, 1])},
    {"keys": ["a"], "counts": np.array([4])},
    lengths="protected",
)


def test_audit_sees_a_delta_that_is_forgotten(monkeypatch):
    """The chance of the lone key is .09 at this threshold; a price without it is refuted."""
    pair = [(EXAMPLE.left, EXAMPLE.right)]
    found = audit.mechanism(EXAMPLE.mechanism, neighbours=pair, runs=2_000, alpha=1e-6)
    assert found.verdict == "not refuted"
    claim = pv.privacy.PureLoss(1.0)
    assert audit.mechanism(EXAMPLE.mechanism, claim=claim, neighbours=pair, runs=2_000).verdict == "violated"


def test_laws_hold_at_an_awkward_setting():
    made = DiscoveredKeys.for_budget(epsilon=0.3, delta=1e-3, keys=2, rows=3, total=4, unit=Unit("replace"))
    example = Example(made, EXAMPLE.left, EXAMPLE.right, lengths="protected")
    for law in (testing.check_price_is_a_value, testing.check_behaviour_is_public, testing.check_seed_is_stamped):
        law(example)
    assert made.loss.approximate().epsilon <= 0.3


def test_the_order_in_which_keys_are_listed_is_not_told():
    """One row in front of others turned the order of two keys in every run."""
    made = DiscoveredKeys.for_budget(epsilon=1.0, delta=1e-5, keys=1)
    for rows in (["b"] + ["a", "b"] * 100, ["a", "b"] * 100):
        counted = Counter(rows)
        listed = {"keys": list(counted), "counts": np.array(list(counted.values()))}
        assert made.release(listed).value["keys"] == ["a", "b"]
    keys = [("b", 2), ("a", 10), ("a", 9), ("é", 1), ("Z", 1), (None, 3)]
    for order in itertools.permutations(range(6), 6):
        listed = {"keys": [keys[i] for i in order], "counts": np.array([1000 + i for i in order])}
        prepared, counts = made._prepare(listed)
        assert prepared == (("Z", 1), ("a", 9), ("a", 10), ("b", 2), ("é", 1), (None, 3))
        assert counts.tolist() == [1004, 1002, 1001, 1000, 1003, 1005]


@pytest.mark.parametrize("keys", [["a", "b", "a"], [1, 1.0], [True, 1], [("a", 1), ("a", np.int64(1))], [None, None]])
def test_a_key_that_is_listed_twice_is_refused(keys):
    made = DiscoveredKeys.for_budget(epsilon=1.0, delta=1e-5, keys=1)
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=2.0, delta=1e-4))
    with pytest.raises(InvalidData, match="listed twice"):
        ledger.release(made, {"keys": keys, "counts": np.full(len(keys), 100)})
    assert [entry.kind for entry in ledger.entries()] == ["open"]
    with pytest.raises(InvalidData, match="texts, numbers, days"):
        made.release({"keys": [object()], "counts": np.array([100])})


def test_a_key_that_nobody_has_never_comes_out():
    made = DiscoveredKeys(scale=50.0, threshold=1)
    runs = made.simulate({"keys": ["nobody", "some"], "counts": np.array([0, 1])}, 2000)
    assert {key for each in runs for key in each["keys"]} == {"some"}


def test_persons_and_not_their_rows_pass_the_threshold():
    """One person has fifty rows of a key of their own; a threshold for persons is far below fifty."""
    held = {"who": [*range(200), *[999] * 50], "t": ["all"] * 200 + ["own"] * 50}
    unit = pv.Person("who", max_groups=1, max_rows_per_group=50)
    table = pv.Table(held, columns={"t": pv.Text()}, unit=unit)
    query = table.group_by("t", discover=True).agg(n=pv.count())
    made = query.for_budget(epsilon=1.0, delta=1e-6)
    assert made.selection.threshold < 40
    for _ in range(20):
        assert made.release(table.data).value["t"].tolist() == ["all"]


def test_a_selection_that_is_priced_for_less_than_the_plan_is_refused():
    rows = pv.Table({"t": ["x"]}, columns={"t": pv.Text()})
    persons = pv.Table({"who": ["a"], "t": ["x"]}, columns={"t": pv.Text()}, unit=pv.Person("who", max_rows=3))
    for table, less in ((rows.union(rows), ("rows", "total")), (persons, ("keys", "total"))):
        made = table.group_by("t", discover=True).agg(n=pv.count()).for_budget(epsilon=1.0, delta=1e-6)
        found = made.selection
        for name in less:
            given = {"total": found.total - 1} if name == "total" else {name: getattr(found, name) - 1, "total": None}
            if name != "total":  # as many in all, in fewer keys of more rows or the other way round
                other = "rows" if name == "keys" else "keys"
                given |= {other: getattr(found, other) * 9, "total": found.total}
            with pytest.raises(InvalidParameter, match="must be priced for all groups"):
                replace(made, selection=replace(found, **given))
        with pytest.raises(InvalidParameter, match="and about them"):
            replace(made, selection=replace(found, unit=Unit("replace", person=found.unit.person)))
