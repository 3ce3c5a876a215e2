"""What an audit is asked, and how it answers strangers: claims, pairs, functions that never work, words."""

import itertools
import logging
import random
from functools import partial

import numpy as np
import pytest

import privet as pv
from privet import audit, mechanisms, noise, privacy
from privet.audit.claim import as_claim
from privet.audit.neighbours import Tables, stratum_of
from privet.audit.question import drawn_by_strata, same_input
from privet.audit.search.overheard import Ears
from privet.audit.search.reading import read
from privet.audit.search.rows import Marks
from privet.errors import InvalidParameter, LedgerError, PrivetError
from tests.firsts import slow

PAIR = [([1], [1, 1])]


def noisy(rows):
    """A count with whole noise of the right scale."""
    return noise.discrete_laplace(scale=1) + len(rows)


# --- functions that never work ------------------------------------------------------------------------------------------


def _two_arguments(rows, eps):
    return len(rows) / eps


def _typo(rows):
    return rows.foo


def _exits(rows):
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (_two_arguments, "TypeError: .*missing 1 required positional argument"),
        (_typo, "AttributeError: 'list' object has no attribute 'foo'"),
        (lambda rows: {"a": 1}["b"], "KeyError: 'b'"),
        (_exits, "SystemExit"),
    ],
)
@pytest.mark.parametrize("runs", [20, 1_200])
def test_a_function_that_raises_in_every_run_is_refused_with_what_it_raised(function, said, runs):
    with pytest.raises(InvalidParameter, match=f"raised in every run of both worlds .{said}") as caught:
        audit.mechanism(function, epsilon=1.0, neighbours=PAIR, runs=runs)
    assert caught.value.__cause__ is not None


def test_several_pairs_and_processes_say_so_too():
    for more in ({"neighbours": Tables([0, 1])}, {"neighbours": PAIR, "jobs": 2}, {"neighbours": PAIR, "stop": True}):
        with pytest.raises(InvalidParameter, match="AttributeError"):
            audit.mechanism(_typo, epsilon=1.0, runs=200, **more)


def test_a_mechanism_of_ours_with_a_typo_says_what_it_is():
    class Broken(mechanisms.BoundedSum):
        def _prepare(self, value):
            return undefined_name  # noqa: F821 - the planted bug

    made = Broken.for_budget(epsilon=1.0, bounds=(0, 1))
    with pytest.raises(InvalidParameter, match="NameError: name 'undefined_name'"):
        audit.mechanism(made, neighbours=PAIR, runs=100)


def test_what_is_raised_is_still_an_output():
    """A world that raises alone, another type, another text, and one raise in a hundred: all of them are audited."""

    def tells(rows):
        raise ValueError(f"{len(rows)} rows")

    def one_world(rows):
        return 1 / (len(rows) - 1)

    for function in (tells, one_world):
        assert audit.mechanism(function, epsilon=1.0, neighbours=PAIR, runs=400).verdict == "violated"

    def seldom(rows):
        if noise.bernoulli(p=0.99):
            raise ValueError("no answer")
        return noisy(rows)

    assert audit.mechanism(seldom, epsilon=1.0, neighbours=PAIR, runs=400).verdict == "not refuted"

    def tells_noise(rows):
        raise ValueError(f"{noisy(rows)} rows, about")

    found = audit.mechanism(tells_noise, epsilon=1.0, neighbours=PAIR, runs=400)
    assert found.verdict == "not refuted"
    assert "every scouting run raised something (ValueError)" in found.notes


def test_outputs_that_are_all_equal_are_said_to_be():
    for silent in (lambda rows: None, lambda rows: 7, lambda rows: [0.0, np.nan]):
        found = audit.mechanism(silent, epsilon=1.0, neighbours=PAIR, runs=200)
        assert found.verdict == "not refuted"
        assert any("outputs are equal" in note for note in found.notes)
        assert "nothing was compared" in str(found)
        assert found.explain().count("Tested") == 1
    assert not audit.mechanism(noisy, epsilon=1.0, neighbours=PAIR, runs=200).notes


# --- pairs --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("same", [1, 1.5, [1], [[1, 2], "a"], {"a": [1]}, np.arange(3), (1, "b"), {1, 2}, object()])
def test_pairs_of_equal_inputs_are_refused_or_left_out(same):
    copied = type(same)(same) if isinstance(same, list | dict | set) else same
    with pytest.raises(InvalidParameter, match="are equal"):
        audit.mechanism(noisy, epsilon=1.0, neighbours=[(same, copied)], runs=20)


def test_one_pair_of_equal_inputs_is_left_out():
    found = audit.mechanism(noisy, epsilon=1.0, neighbours=[([1], [1]), *PAIR], runs=200)
    assert found.pairs_tried == 1
    assert any("two equal inputs" in note for note in found.notes)


@pytest.mark.parametrize(
    ("left", "right"),
    [(0.0, -0.0), (1, 1.0), (1, True), ([1, 2], [2, 1]), ("a", "b"), (np.zeros(2), np.zeros(3)), ([1], (1,))],
)
def test_inputs_that_differ_in_anything_are_kept(left, right):
    assert not same_input(left, right)


def test_equal_inputs_are_seen_whatever_objects_they_are_made_of():
    word = "".join(["wo", "rd"])
    assert same_input([word, word], ["".join(["wo", "rd"]), word])
    assert same_input(partial(abs), partial(abs)) in (True, False)  # no error, whatever it is


def test_a_pair_of_the_other_relation_is_noted():
    found = audit.mechanism(
        lambda rows: noisy([r for r in rows if r > 50]), epsilon=1.0, neighbours=[([30, 41], [30, 99])], runs=200
    )
    assert any("neighbours by replacing one" in note for note in found.notes)
    pandas = pytest.importorskip("pandas")
    frames = [(pandas.DataFrame({"a": [1]}), pandas.DataFrame({"a": [1, 2]}))]
    claim = privacy.PureLoss(1.0, unit=privacy.Unit("replace"))
    found = audit.mechanism(noisy, claim=claim, neighbours=frames, runs=200)
    assert any("1 and 2 records" in note for note in found.notes)
    ours = mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0)  # it takes answers, and knows it
    assert not audit.mechanism(ours, neighbours=[([1.0, 2.0], [1.0, 3.0])], runs=200).notes


def test_tables_are_drawn_from_every_stratum():
    pairs = list(Tables(range(6), rows=4).pairs("add_remove"))
    for _ in range(20):
        drawn = drawn_by_strata(pairs, 64)
        strata = [stratum_of(*pair) for pair in drawn]
        assert len({repr(pair) for pair in drawn}) == 64
        fewest = min(strata.count(each) for each in ("equal rows", "one odd row", "all different"))
        assert fewest >= 12
        assert strata.count("empty") == 6  # all that there are


def test_a_fault_in_an_empty_table_is_met_by_the_pairs_that_are_drawn():
    """Uniform draws miss it in most audits: such tables are few among all."""

    def silent_when_empty(rows):
        return len(rows) + (noise.discrete_laplace(scale=1) if rows else 0)

    family = Tables(range(12), rows=4)
    share = np.mean([stratum_of(*pair) == "empty" for pair in itertools.islice(family.pairs("add_remove"), 4_096)])
    assert share < 0.005
    assert audit.mechanism(silent_when_empty, epsilon=1.0, neighbours=family, runs=1_000).verdict == "violated"


# --- claims -------------------------------------------------------------------------------------------------------------


def test_claims_are_taken_as_on_the_command_line():
    for more in ({"epsilon": 1.0}, {"claim": 1.0}, {"claim": privacy.Guarantee(1.0)}, {"claim": privacy.PureLoss(1.0)}):
        assert audit.mechanism(noisy, neighbours=PAIR, runs=200, **more).claim == privacy.PureLoss(1.0)
    for more in (
        {"epsilon": 1.0, "delta": 1e-3},
        {"claim": 1.0, "delta": 1e-3},
        {"claim": privacy.Guarantee(1.0, 1e-3)},
    ):
        found = audit.mechanism(noisy, neighbours=PAIR, runs=200, **more)
        assert (found.claim, found.lower.delta) == (privacy.ApproxLoss(1.0, 1e-3), 1e-3)
    assert as_claim(privacy.Guarantee(rho=0.5)) == privacy.ZcdpLoss(0.5)
    assert as_claim(privacy.Guarantee(mu=0.5)).gdp() == 0.5


@pytest.mark.parametrize(
    "wrong", [{}, {"claim": "1"}, {"claim": True}, {"claim": -1.0}, {"claim": 1.0, "epsilon": 1.0}, {"epsilon": np.nan}]
)
def test_what_is_no_claim_is_refused(wrong):
    with pytest.raises(PrivetError):
        audit.mechanism(noisy, neighbours=PAIR, runs=200, **wrong)


def test_training_and_exact_checks_take_numbers_too():
    assert audit.exact_pair({0: 0.75, 1: 0.25}, {0: 0.25, 1: 0.75}, claim=1.0).verdict == "violated"
    found = audit.training(sum, [1.0], lambda model, canary: model, claim=1.0, data=[0.0], runs=20, alpha=1e-2)
    assert found.claim == privacy.PureLoss(1.0)


# --- words --------------------------------------------------------------------------------------------------------------


def _laplace(scale):
    draws = random.Random(7)
    return lambda rows: len(rows) + draws.choice((-1, 1)) * draws.expovariate(1.0 / scale)


@pytest.mark.parametrize(
    ("asked", "scale", "floats"),
    [
        (_laplace(1.0), False, True),
        slow((_laplace(0.4), True, True)),
        (lambda rows: noise.discrete_laplace(scale=0.4) + len(rows), True, False),
    ],
    ids=["floats", "both", "scale"],
)
def test_a_wrong_scale_and_a_leak_of_floats_are_told_apart(asked, scale, floats):
    found = audit.mechanism(asked, epsilon=1.0, neighbours=PAIR, runs=4_000)
    assert found.verdict == "violated"
    for text in (str(found), found.explain()):
        assert ("too little noise" in text) == scale
        assert ("exact-noise" in text) == floats


def test_a_leak_of_floats_leaves_a_test_to_the_scale():
    """Of several numbers with float noise each has low bits: the second event that is tested is about something else."""

    def several(rows):
        draws = np.random.default_rng().laplace(scale=3.0, size=3)
        return (len(rows) + draws).tolist()

    found = audit.mechanism(several, epsilon=1.0, neighbours=PAIR, runs=4_000)
    kinds = [witness.event.kind for _, witness in found.tests[:2]]
    assert kinds[0] != "lowest bit" or kinds[1] != "lowest bit"


def test_the_line_keeps_event_and_bound_apart_and_names_explain():
    found = audit.mechanism(noisy, epsilon=1.0, neighbours=PAIR, runs=2_000)
    line = str(found)
    assert line.index("event: ") < line.index("bound: epsilon >=")
    assert f"measured by: {found.tests[-1][1].question}" in line
    assert line.endswith("explain() says more")
    assert len(repr(found)) < 200
    assert len(repr(found.witness)) < 400


def test_lambdas_and_partial_functions_have_a_name():
    for function, name in (
        (lambda rows: noisy(rows), "lambda in test_question.py, line "),
        (partial(lambda k, rows: noisy(rows), 1), "lambda in test_question.py, line "),
        (partial(noisy), "noisy"),
        (noisy, "noisy"),
    ):
        assert audit.mechanism(function, epsilon=1.0, neighbours=PAIR, runs=20).name.startswith(name)


def test_what_a_classifier_looks_at_is_said():
    def vector(rows):
        return [noise.discrete_laplace(scale=20) + (5 * len(rows) if i == 3 else 0) for i in range(6)]

    found = audit.mechanism(vector, epsilon=0.05, neighbours=PAIR, runs=3_000, look_at=["projection"])
    assert any("it looks most at" in str(witness) for _, witness in found.tests)


# --- what is seen of a run ----------------------------------------------------------------------------------------------


def test_what_lies_under_a_mask_is_read():
    """Whoever gets the array gets its data: small counts that are masked and left in place are told."""

    def suppressed(rows):
        counts = np.array([len(rows), 50 + noise.discrete_laplace(scale=1)])
        return np.ma.MaskedArray(counts, mask=[True, False])

    def cleared(rows):
        return np.ma.MaskedArray(np.array([0, 50 + noise.discrete_laplace(scale=1)]), mask=[True, False])

    assert audit.mechanism(suppressed, epsilon=1.0, neighbours=PAIR, runs=400).verdict == "violated"
    assert audit.mechanism(cleared, epsilon=1.0, neighbours=PAIR, runs=400).verdict == "not refuted"

    class Bulk:
        def simulate(self, rows, runs):
            return np.ma.stack([suppressed(rows) for _ in range(runs)])

    assert audit.mechanism(Bulk(), epsilon=1.0, neighbours=PAIR, runs=400).verdict == "violated"
    hidden, shown = (read(np.ma.MaskedArray([1.0, 2.0], mask=[True, False], fill_value=f), Marks(b"k")) for f in (7, 9))
    assert hidden.numbers[""].tolist() == [1.0, 2.0]
    assert hidden.numbers[".fill"].tolist() != shown.numbers[".fill"].tolist()


@pytest.mark.parametrize("when", ["before", "within"])
def test_loggers_that_tell_nobody_above_are_heard(when):
    logger = logging.getLogger(f"tests.audit.silent.{when}")
    logger.propagate = when == "within"
    logger.handlers = [kept := logging.NullHandler()]  # a file of its own, say: else it would print

    def logs(rows):
        own = logging.getLogger(f"tests.audit.silent.{when}")
        own.propagate = False
        own.warning("%d rows", len(rows))
        return noisy(rows)

    assert audit.mechanism(logs, epsilon=1.0, neighbours=PAIR, runs=400).verdict == "violated"
    assert logger.handlers == [kept]


def test_every_record_is_heard_once_and_nobody_listens_afterwards():
    made = logging.getLogger("tests.audit.twice")
    with Ears() as ears:
        made.propagate = False
        ears.look_round(again=True)
        made.propagate = True  # both tell us now
        made.warning("once")
        logging.getLogger("tests.audit.made.within").warning("and this")
        assert ears.heard == ["WARNING tests.audit.twice once", "WARNING tests.audit.made.within and this"]
    assert not made.handlers
    made.warning("to nobody")
    assert len(ears.heard) == 2


def test_an_audit_inside_a_block_costs_nothing():
    """Its runs were charged one by one until the budget was gone."""
    laplace = pv.mechanisms.Laplace.for_budget(epsilon=0.05, sensitivity=1.0)
    with pv.Ledger.create("memory:", budget=pv.Budget(epsilon=50.0)) as ledger:
        before = len(list(ledger.entries()))
        with pytest.raises(LedgerError, match="nobody pays for"):
            pv.audit.mechanism(laplace, runs=50)
        with pytest.raises(LedgerError, match="nobody pays for"):
            pv.audit.training(
                lambda data: laplace.release(len(data)).value, [1], lambda model, canary: model, claim=1.0, runs=8
            )
        assert len(list(ledger.entries())) == before
