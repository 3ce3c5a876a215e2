"""`audit.mechanism`: verdicts, witnesses, honest choice of the event, and everything that an observer may see."""

import warnings
from unittest.mock import patch

import numpy as np
import pytest
from scipy import stats

from privet import audit, mechanisms, noise, privacy, testing
from privet.audit import black_box, scouting, witness
from privet.audit.search import KINDS, Encoder, Event, World, observe, observe_both
from privet.errors import InvalidParameter, MixedUnits
from privet.testing.zoo.entry import Simulated

ONE = privacy.PureLoss(1.0)
STRICT = testing.alarm_level("audit", of=1000)


def shifted(scale: float) -> Simulated:
    return Simulated("shifted", lambda value, runs: value + noise.discrete_laplace(scale=scale, size=runs))


def audited(law, claim=ONE, pair=(0, 10), runs=20_000, alpha=STRICT, **options) -> audit.MechanismAudit:
    return audit.mechanism(law, claim=claim, neighbours=[pair], runs=runs, alpha=alpha, **options)


# --- verdicts -------------------------------------------------------------------------------------------------------


def test_the_right_scale_is_not_refuted_and_half_of_it_is():
    assert audited(shifted(10)).verdict == "not refuted"
    broken = audited(shifted(5))
    assert broken.verdict == "violated"
    assert 1.0 < broken.lower.lower < 2.0  # the true epsilon is 2
    assert "violated" in str(broken)
    assert "out of reach" in str(broken)
    assert "private" not in str(audited(shifted(10)))


def test_the_claim_decides_not_the_mechanism():
    laplace = mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0)
    assert audit.mechanism(laplace, runs=20_000, alpha=STRICT).verdict == "not refuted"
    assert audit.mechanism(laplace, claim=privacy.PureLoss(0.5), runs=20_000, alpha=STRICT).verdict == "violated"


def test_the_whole_curve_is_tested_not_one_epsilon():
    """Gaussian noise with sigma 20% too small keeps to any pure claim that it could be given, yet not to its curve."""
    law = Simulated("gaussian", lambda value, runs: value + noise.rounded_gaussian(sigma=80.0, size=runs))
    claim = privacy.GaussianLoss(1.0)
    assert audited(law, claim=claim, pair=(0, 100), runs=40_000).verdict == "violated"
    assert audited(law, claim=privacy.GaussianLoss(0.8), pair=(0, 100), runs=40_000).verdict == "not refuted"


def test_a_foreign_callable_and_an_object_with_release_are_audited_alike():
    def count(rows):
        return len(rows) + int(noise.discrete_laplace(scale=0.5))

    class Releasing:
        def release(self, rows):
            return count(rows)

    for subject in (count, Releasing()):
        found = audit.mechanism(subject, claim=ONE, neighbours=[((), (1,))], runs=4_000, alpha=STRICT)
        assert found.verdict == "violated"


def test_the_pair_that_tells_most_is_chosen():
    def law(value, runs):
        return value + noise.discrete_laplace(scale=2 if value > 90 else 10, size=runs)

    pairs = [(0, 10), (10, 20), (91, 101), (20, 30)]
    found = audit.mechanism(Simulated("x", law), claim=ONE, neighbours=pairs, runs=20_000, alpha=STRICT)
    assert (found.witness.left, found.witness.right) == (91, 101)
    assert (found.verdict, found.pairs_tried) == ("violated", 4)


# --- witnesses ------------------------------------------------------------------------------------------------------


def test_a_witness_is_replayed_and_reproduces():
    broken = shifted(5)
    witness = audited(broken).witness
    counts = witness.replay(broken, 20_000)
    assert audit.curve_test(counts, claim=ONE, alpha=STRICT).verdict == "violated"
    sound = witness.replay(shifted(10), 20_000)
    assert audit.curve_test(sound, claim=ONE, alpha=STRICT).verdict == "not refuted"


def test_a_learned_witness_is_replayed_as_it_was_learned():
    def law(value, runs):
        return np.asarray(value) + noise.discrete_laplace(scale=20, size=(runs, 6))

    broken, pair = Simulated("six", law), ((0,) * 6, (10, -10) * 3)
    found = audited(broken, pair=pair, runs=40_000, look_at=["projection"])
    assert found.verdict == "violated"
    assert found.witness.event.feature.startswith(("classifier", "tree"))
    assert audit.curve_test(found.witness.replay(broken, 20_000), claim=ONE, alpha=STRICT).verdict == "violated"


def test_a_violation_in_either_world_is_found():
    swapped = [audited(shifted(5), pair=pair).witness for pair in ((0, 10), (10, 0))]
    assert {witness.event.relation for witness in swapped} <= {"at most", "at least", "equal to", "between"}
    rare = Simulated("rare", lambda value, runs: noise.bernoulli(p=0.02 if value else 0.0, size=runs).astype(int))
    for pair in ((0, 1), (1, 0)):
        assert audited(rare, pair=pair).verdict == "violated"


def test_an_event_of_the_right_world_counts_the_right_world_first():
    columns = [{"form": np.zeros(4), "value[0]": np.array(values)} for values in ([0.0] * 4, [0.0, 1.0, 1.0, 1.0])]
    event = Event("value[0]", "at least", 1.0)
    for swapped, (tp, fp) in ((False, (0, 3)), (True, (3, 0))):
        counts = audit.Witness("left", "right", event, swapped, Encoder(())).count(*columns)
        assert (counts.tp, counts.fp) == (tp, fp)


# --- search and test on separate runs ---------------------------------------------------------------------------------


NULL_AUDITS, NULL_LEVEL = 40, 0.3


def false_alarms() -> int:
    """Audits of a mechanism that tells nothing, under a claim that allows next to nothing: many events to be lucky with."""
    law = Simulated("nothing", lambda value, runs: noise.uniform_int(bound=1000, size=(runs, 4)))
    options = {"claim": privacy.PureLoss(1e-3), "pair": (0, 1), "runs": 1_000, "look_at": ["threshold"]}
    return sum(audited(law, alpha=NULL_LEVEL, **options).verdict == "violated" for _ in range(NULL_AUDITS))


def most_alarms() -> int:
    """More than this many of the audits would raise an alarm with probability below 1e-6, at this level."""
    return int(stats.binom.isf(1e-6, NULL_AUDITS, NULL_LEVEL))


def test_false_alarms_stay_within_the_level():
    assert false_alarms() <= most_alarms()


def test_testing_on_the_runs_that_chose_the_event_is_noticed():
    """The planted bug: the runs that chose the events come back to be tested, so the luck that chose them confirms it."""
    scouted, seen = scouting.Scout._scouted, {}

    def remembering(scout, *arguments):
        found = scouted(scout, *arguments)
        seen[id(found[0])] = found[2]
        return found

    def again(pairs, encoder, learned):
        return witness.Encoded(seen[id(encoder)], [None, None])

    with patch.object(scouting.Scout, "_scouted", remembering), patch.object(black_box, "encoded", again):
        assert false_alarms() > most_alarms()


def test_the_tested_runs_are_never_searched():
    """Every run has a number of its own: those that are counted in the test were not there when events were chosen."""
    made, searched, tested = [0], set(), set()

    def law(value, runs):
        made[0] += runs
        return np.arange(made[0] - runs, made[0])

    tallies, count = scouting.Tallies, witness.Witness.count

    def spying(left, right, *how):
        searched.update(np.concatenate((left["value[0]"], right["value[0]"])).tolist())
        return tallies(left, right, *how)

    def counting(witness, left, right):
        tested.update(np.concatenate((left["value[0]"], right["value[0]"])).tolist())
        return count(witness, left, right)

    with patch.object(scouting, "Tallies", spying), patch.object(witness.Witness, "count", counting):
        audited(Simulated("numbered", law), pair=(0, 1), runs=1_000)
    assert len(searched) == 500
    assert len(tested) == 1_500
    assert not searched & tested


# --- what an observer may see -------------------------------------------------------------------------------------------


def half_of_the_time(odd):
    """A callable that does something odd in one world, in half of the runs."""

    def run(value):
        if value and noise.bernoulli(p=0.5):
            return odd()
        return 1

    return run


def raising():
    raise KeyError("a name that must not be looked at")


def warning():
    warnings.warn("careful", UserWarning, stacklevel=1)
    return 1


@pytest.mark.parametrize(
    ("odd", "question"),
    [
        (raising, "form is raises KeyError"),
        (warning, "form is int warns UserWarning"),
        (lambda: 1.0, "form is float"),
        (lambda: np.float32(1.0), "form is float32"),
        (lambda: np.ones(1), "form is float64(1,)"),
        (lambda: [1], "form is list[1 int]"),
        (lambda: {"a": 1}, "form is ['a']dict[int]"),
        (lambda: None, "form is NoneType None"),
        (lambda: "1", "form is str"),
    ],
)
def test_the_form_of_an_output_is_an_event(odd, question):
    found = audited(half_of_the_time(odd), pair=(0, 1), runs=600, look_at=["form"])
    assert found.verdict == "violated"
    assert found.witness.question in (question, "form is int")


@pytest.mark.parametrize("odd", [np.nan, np.inf, -0.0])
def test_special_numbers_are_events(odd):
    found = audited(half_of_the_time(lambda: odd), pair=(0, 1), runs=600, look_at=["special"])
    assert found.verdict == "violated"


def test_the_text_of_an_exception_is_an_output_and_is_not_shown():
    def raises(value):
        raise ValueError(f"the value was {value}")

    assert set(observe(raises, 41, 2).forms) == {"raises ValueError"}
    found = audited(raises, pair=(4711, 4712), runs=300)
    assert found.verdict == "violated"
    assert "471" not in found.witness.question

    def raises_noise(value):
        raise ValueError(f"the value was about {value + noise.discrete_laplace(scale=1)}")

    assert audited(raises_noise, pair=(4711, 4712), runs=300).verdict == "not refuted"


def test_a_bulk_run_that_fails_is_looked_at_one_by_one():
    class Fragile:
        def simulate(self, value, runs):
            raise MemoryError

        def release(self, value):
            return value

    assert observe(Fragile(), 5, 3).values.tolist() == [[5.0]] * 3


def test_outputs_of_different_lengths_are_padded_and_told_apart():
    found = audited(half_of_the_time(lambda: (1, 1)), pair=(0, 1), runs=600, look_at=["length"])
    assert found.verdict == "violated"
    ragged = observe(Simulated("x", lambda value, runs: [[1.0], [1.0, 2.0]][:runs]), 0, 2)
    assert np.isnan(ragged.values[0, 1])


def test_a_simulated_world_is_taken_as_it_is():
    world = World(np.ones((3, 1)), np.array(["a", "b", "c"], dtype=object))
    assert observe(Simulated("x", lambda value, runs: world), 0, 3) is world


def test_timed_worlds_are_interleaved_in_random_order():
    order = []
    left, right = observe_both(order.append, "left", "right", 200, timed=True)
    pairs = [tuple(order[i : i + 2]) for i in range(0, 400, 2)]
    assert {frozenset(pair) for pair in pairs} == {frozenset(("left", "right"))}
    assert {pair[0] for pair in pairs} == {"left", "right"}
    assert left.seconds is not None
    assert len(right.seconds) == 200
    assert observe_both(order.append, 0, 1, 2)[0].seconds is None


def test_before_a_timed_run_both_inputs_are_copied():
    """A clock sees what a copy leaves behind: a mechanism that looks at nothing was accused where copies differ."""
    log = []

    class Input:
        def __init__(self, name):
            self.name = name

        def __deepcopy__(self, memory):
            log.append(self.name)
            return Input(self.name)

    def run(given):
        log.append("run")

    for timed in (True, False):
        log.clear()
        observe_both(run, Input("left"), Input("right"), 50, timed=timed)
        before = [tuple(part.split()) for part in " ".join(log).split("run")[:-1]]
        expected = {("left", "right"), ("right", "left")} if timed else {("left",), ("right",)}
        assert set(before) == expected


# --- refusals -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"claim": None}, "needs a claim"),
        ({"claim": "1"}, "needs a claim"),
        ({"neighbours": None}, "which inputs are neighbours"),
        ({"neighbours": []}, "empty"),
        ({"look_at": []}, "look_at"),
        ({"look_at": "threshold"}, "look_at"),
        ({"look_at": ["colour"]}, "threshold"),
        ({"runs": 3}, "runs"),
        ({"runs": True}, "runs"),
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": float("nan")}, "alpha"),
        ({"delta": -0.1}, "delta"),
    ],
)
def test_bad_input_is_refused(options, words):
    with pytest.raises(InvalidParameter, match=words):
        audit.mechanism(shifted(10), **{"claim": ONE, "neighbours": [(0, 10)], "runs": 100} | options)


def test_what_cannot_be_run_is_refused():
    with pytest.raises(InvalidParameter, match="release"):
        audited(object(), runs=10)


def test_pairs_of_another_relation_than_the_claims_are_refused():
    """A replaced record moves a sum twice as far as an added one: a sound mechanism would be accused."""
    swapped = audit.Pairs([(-10, 10)], relation="replace")
    with pytest.raises(MixedUnits, match=r"replace.*add_remove"):
        audit.mechanism(shifted(10), claim=ONE, neighbours=swapped, runs=100)
    replace = privacy.PureLoss(2.0, unit=privacy.Unit("replace"))
    assert audit.mechanism(shifted(10), claim=replace, neighbours=swapped, runs=1_000).claim == replace


def test_a_replace_pair_is_not_made_for_an_add_remove_claim():
    """Tables give pairs of the claim's own relation: exchanging a record would double the distance."""
    table = audit.Tables([0, 1], rows=2)
    added = list(table.pairs("add_remove"))
    swapped = list(table.pairs("replace"))
    assert all(len(right) == len(left) + 1 for left, right in added)
    assert all(len(right) == len(left) for left, right in swapped)
    with pytest.raises(InvalidParameter, match="zero_out"):
        next(table.pairs("zero_out"))


def test_a_sum_under_replace_needs_twice_the_noise():
    def total(rows, runs):
        return 10 * sum(rows) + noise.discrete_laplace(scale=10, size=runs)

    records = audit.Tables([-1, 1], rows=1)
    law = Simulated("sum", total)
    replace = privacy.PureLoss(1.0, unit=privacy.Unit("replace"))
    assert audit.mechanism(law, claim=ONE, neighbours=records, runs=20_000, alpha=STRICT).verdict == "not refuted"
    assert audit.mechanism(law, claim=replace, neighbours=records, runs=20_000, alpha=STRICT).verdict == "violated"


def test_every_kind_can_be_looked_at_alone():
    for kind in KINDS:
        assert audited(shifted(10), runs=400, look_at=[kind]).verdict == "not refuted"


def test_a_bound_above_the_claim_is_a_violation():
    for seed in range(40):  # claims just below what two different events can show
        counts = audit.Counts(tp=5000 + 40 * seed, fp=3000, n=10_000)
        lower = black_box.measure(counts, claim=privacy.PureLoss(1.0), delta=0.0, alpha=1e-3).lower
        claim = privacy.PureLoss(0.999 * lower)
        share = black_box.SHARES[-1]  # of the event that measures
        assert black_box.decide(counts, claim=claim, alpha=1e-3, share=share).verdict == "violated"
        more = privacy.PureLoss(1.001 * lower)
        assert black_box.decide(counts, claim=more, alpha=1e-3, share=share).verdict == "not refuted"
