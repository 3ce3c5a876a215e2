"""The zoo: every bug is caught, by its own feature; no sound twin is accused; without its feature a bug gets away."""

import numpy as np
import pytest

from privet import audit, noise, privacy, testing
from privet.audit.search import KINDS, World
from privet.testing.zoo import Entry, run_entry, run_zoo, zoo
from privet.testing.zoo.card import WAITING
from privet.testing.zoo.entry import ANY, STEP, Simulated
from tests.firsts import slow

ENTRIES = zoo()
LEVEL = testing.alarm_level("zoo", of=2 * len(ENTRIES))  # the slow run takes the other half
RUNS = 40_000
NUMBERED = {entry.number: entry for entry in ENTRIES}
# Runs that suffice, from about twice the fewest at which both of two audits saw the bug; the default is 100,000.
USUAL = 1_000
PATIENCE = {
    2: 2_000, 9: 8_000, 12: 12_000, 15: 4_000, 16: 8_000, 17: 8_000, 18: 8_000, 19: 4_000, 20: 2_000, 21: 8_000,
    23: 16_000, 24: 12_000, 26: 2_000, 34: 4_000, 37: 8_000, 45: 4_000, 50: 12_000, 51: 20_000, 53: 8_000, 54: 4_000,
    55: 2_000, 58: 4_000, 63: 2_000, 68: 100_000, 73: 2_000, 94: 2_000, 96: 40_000, 110: 100_000, 111: 100_000,
    99: 8_000, 112: 24_000,
}  # fmt: skip
# A bug that needs more runs than usual waits for `make test-slow`, unless its feature has no other to find.
FIRST = {(entry.by, entry.feature): entry.number for entry in sorted(ENTRIES, key=lambda e: -PATIENCE.get(e.number, 0))}
PATIENT = set(PATIENCE) - set(FIRST.values())
# Bugs that name no feature are many, several from each corner of the list: every sixth of them in every run.
OPEN = [entry.number for entry in ENTRIES if entry.feature == ANY and entry.number not in PATIENT]
WAITS = PATIENT | (set(OPEN) - set(OPEN[::6]) - set(FIRST.values()))


@pytest.mark.parametrize(
    "entry",
    [slow(entry) if entry.number in WAITS else entry for entry in ENTRIES],
    ids=lambda entry: f"{entry.number}-{entry.name}",
)
def test_every_bug_is_caught_by_its_feature_and_its_twin_is_not(entry):
    runs = PATIENCE.get(entry.number, USUAL)
    found = run_entry(entry, runs=runs, alpha=LEVEL / 2)
    assert not found.accused, f"accused: {found.sound}"
    if not (found.caught and found.own):  # few runs may miss a bug by chance, which more of them must not
        found = run_entry(entry, runs=max(RUNS // 2, 4 * runs), alpha=LEVEL / 2)
    assert found.caught, f"missed: {found.broken}"
    assert found.own, f"caught by {found.broken.kind}, not by {entry.feature}"
    assert not found.accused, f"accused: {found.sound}"


def test_the_list_is_complete_and_tells_stories():
    everything = zoo(waiting=True)
    assert [entry.number for entry in everything] == list(range(1, len(everything) + 1))
    assert {entry.number for entry in everything} - {entry.number for entry in ENTRIES} == WAITING == frozenset()
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)
    assert all(entry.story.endswith(".") and len(entry.story) > 30 for entry in ENTRIES)
    assert {entry.by for entry in ENTRIES} == {"black box", "calls", "timing", "exact", "replay"}
    black_box = {entry.feature for entry in ENTRIES if entry.by in ("black box", "timing")} - {ANY}
    assert black_box == set(KINDS) - {"exponent"}  # no bug of the list needs it alone: see below


@pytest.mark.slow
def test_the_whole_zoo_at_the_default_number_of_runs():
    card = run_zoo(runs=100_000, alpha=LEVEL * len(ENTRIES))
    assert card.caught == card.own == len(ENTRIES)
    assert card.accused == 0


# --- mutations: an entry that relies on one feature is missed without it ------------------------------------------


def verdict_without(entry: Entry, feature: str, runs: int = RUNS) -> str:
    timed = entry.by == "timing"
    return audit.mechanism(
        entry.broken if timed else Simulated(entry.name, entry.broken),
        claim=entry.claim,
        neighbours=[(entry.left, entry.right)],
        runs=runs,
        alpha=1e-12,  # another feature may see a little of it: that must not decide by chance
        timed=timed,
        look_at=[kind for kind in KINDS if kind != feature],
    ).verdict


@pytest.mark.parametrize(
    ("feature", "number", "runs"),
    [
        ("threshold", 2, 4_000),
        slow(("atom", 12, 20_000)),
        ("difference", 10, 60),  # so few runs that nothing is learned: otherwise the classifier finds differences too
        slow(("projection", 37, 8_000)),
        ("lowest bit", 5, 4_000),
        ("special", 41, 4_000),
        ("time", 36, 2_000),
    ],
)
def test_without_its_feature_the_bug_gets_away(feature, number, runs):
    entry = NUMBERED[number]
    assert entry.feature == feature
    assert run_entry(entry, runs=runs, alpha=1e-6).caught
    assert verdict_without(entry, feature, runs) == "not refuted"


def test_without_the_form_a_change_of_type_gets_away():
    """Numbers that are equal but for their type: nothing that looks at the number alone sees it. (Values are also asked
    in conjunction with the form, which sees a type as well.)"""
    law = Simulated("typed", lambda value, runs: World(np.ones((runs, 1)), np.full(runs, str(value), dtype=object)))
    options = {"claim": privacy.PureLoss(1.0), "neighbours": [("int", "float")], "runs": 2_000, "alpha": 1e-6}
    assert audit.mechanism(law, look_at=["form"], **options).verdict == "violated"
    others = ["lowest bit", "exponent", "special", "length", "time"]
    assert audit.mechanism(law, look_at=others, **options).verdict == "not refuted"


def order_of_magnitude(value: int, runs: int) -> np.ndarray:
    """Random digits and a random sign; the exponent is 3 with probability 0.6 or 0.2, by the input."""
    middle = noise.bernoulli(p=0.6 if value else 0.2, size=runs)
    exponent = np.where(middle, 3, np.where(noise.bernoulli(p=0.5, size=runs), 2, 4))
    sign = 1 - 2 * noise.bernoulli(p=0.5, size=runs).astype(int)
    return sign * np.ldexp(1.0 + noise.uniform_int(bound=2**20, size=runs) / 2**20, exponent)


def test_without_the_exponent_an_order_of_magnitude_gets_away():
    entry = Entry(
        number=0, name="order of magnitude", story="", claim=privacy.PureLoss(1.0), left=0, right=1,
        broken=order_of_magnitude, sound=None, feature="exponent",
    )  # fmt: skip
    alone = audit.mechanism(
        Simulated("", order_of_magnitude), claim=entry.claim, neighbours=[(0, 1)], runs=RUNS, look_at=["exponent"]
    )
    assert alone.verdict == "violated"
    assert verdict_without(entry, "exponent") == "not refuted"


# --- the score card can fail ----------------------------------------------------------------------------------------


def test_a_blind_referee_and_a_hasty_one_are_seen_on_the_card():
    sound, broken = NUMBERED[1].sound, NUMBERED[1].broken
    claim = privacy.PureLoss(1.0)
    fields = {"name": "x", "story": "x", "claim": claim, "left": 0, "right": STEP, "feature": "threshold"}
    missed = Entry(number=1, broken=sound, sound=sound, **fields)
    accused = Entry(number=2, broken=broken, sound=broken, **fields)
    card = run_zoo([missed, accused], runs=10_000, alpha=1e-6)
    assert (card.caught, card.own, card.accused) == (1, 1, 1)
    assert "1 of 2 bugs caught" in str(card)
    assert [each["caught"] for each in card.to_dict()["verdicts"]] == [False, True]


def test_entry_20_has_the_epsilon_that_the_arithmetic_says():
    """Zero twice: the exact pair on a finite part of the law has log-ratio 1 + ln 2."""
    tail, mass = np.exp(-1.0), 1.0 - np.exp(-1.0)
    law = {k: mass * tail ** abs(k) * (0.5 if k else 1.0) for k in range(-40, 41)}
    left = {k: law.get(k, 0.0) for k in range(-39, 40)}
    right = {k: law.get(k - 1, 0.0) for k in range(-39, 40)}
    scaled = [{k: p / sum(side.values()) for k, p in side.items()} for side in (left, right)]
    check = audit.exact_pair(*scaled, claim=privacy.PureLoss(1.0))
    assert check.verdict == "violated"
    assert abs(check.epsilon - (1.0 + np.log(2.0))) < 1e-9
