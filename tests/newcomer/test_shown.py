"""What a prompt and a notebook show: short, escaped, and never a value that was not released."""

import math
import pickle
import re
from decimal import Decimal
from fractions import Fraction
from html.parser import HTMLParser

import numpy as np
import pytest

import privet as pv
from privet import _markup, accounting, mechanisms, privacy
from privet._calls import door
from privet._markup import Shown
from privet.accounting import Bound
from privet.errors import InvalidCall, InvalidParameter, MixedUnits, NoGuarantee
from privet.mechanisms import ErrorBar, Release
from tests.newcomer.callables import objects

SECRET = 987654.321
NASTY = "<img src=x onerror=alert(1)>"


class Balanced(HTMLParser):
    """Tags that open and close each other, and what stands between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.names.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def held():
    """What people hold, made once: to show it changes nothing."""
    return objects()


@pytest.mark.parametrize("name", [name for name in objects() if not name.startswith("mechanism")])
def test_every_object_shows_itself(held, name):
    thing = held[name]
    assert len(repr(thing)) < 3000
    assert f"{thing}".strip()
    if isinstance(thing, Shown):
        assert f"{thing:>3}".strip()
        assert hasattr(thing, "_repr_html_")
    if hasattr(thing, "_repr_html_"):
        seen = Balanced(thing._repr_html_())
        assert seen.open == []
        assert seen.names <= {"table", "thead", "tbody", "tr", "th", "td", "pre", "p", "span"}


def test_what_people_hold_has_a_picture_in_a_notebook(held):
    named = ("bound", "release", "loss", "ledger", "spent", "preview", "verified", "quote", "status", "query preview")
    assert [name for name in named if not hasattr(held[name], "_repr_html_")] == []


def test_markup_is_escaped():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0), dataset=NASTY)
    release = Release(NASTY, loss=privacy.PureLoss(1.0), mechanism=NASTY)
    for thing in (ledger, release, Bound(0.0, 1.0, NASTY, privacy.Unit())):
        assert "<img" not in thing._repr_html_()
        assert "&lt;img" in thing._repr_html_()
    for text in (_markup.facts(NASTY, [(NASTY, NASTY)]), _markup.grid([NASTY], [[NASTY]]), _markup.lines(NASTY)):
        assert "<img" not in text


def test_nothing_unprotected_is_shown():
    data = {"age": np.full(50, SECRET), "ward": ["A"] * 50}
    table = pv.Table(data, columns={"age": pv.Float(0, 1e6), "ward": pv.Category(["A", "B"])})
    query = table.where(table["age"] >= 3).group_by("ward").agg(total=pv.sum("age"))
    made = [table, table["age"], query, query.preview(epsilon=1.0), query.explain(), pv.batch(a=query)]
    made += [pv.Private(SECRET), table.histogram("age", width=100_000)]
    for thing in made:
        shown = [repr(thing), str(thing), f"{thing}", getattr(thing, "_repr_html_", str)()]
        assert not any("987654" in text or "987,654" in text for text in shown), type(thing)


def test_a_bound_rounds_up_and_compares_as_its_upper_end():
    bound = Bound(0.1, 0.1, "by hand", privacy.Unit())  # the double lies above one tenth
    assert round(bound, 1) == 0.2 or Fraction(round(bound, 1)) >= Fraction(0.1)
    for upper in (1 / 3, 0.1, 2.5, 1e-9, 123456.789, 1.0):
        bound = Bound(0.0, upper, "by hand", privacy.Unit())
        for digits in range(6):
            assert round(bound, digits) >= upper
            assert Decimal(f"{bound:.{digits}f}") >= Decimal(upper)
            assert Decimal(f"{bound:.{digits + 1}e}") >= Decimal(upper)
        assert round(bound) == math.ceil(upper)
        assert Decimal(str(bound).split()[0]) >= Decimal(upper)
        assert (bound < upper, bound <= upper, bound > upper / 2, bound == upper) == (False, True, True, True)
        assert float(bound) == upper
        assert hash(bound) == hash(upper)
    assert sorted([Bound(0.0, 2.0, "a", privacy.Unit()), 1.0])[0] == 1.0
    assert bound + 1.0 == 1.0 + bound == 2.0
    with pytest.raises(InvalidParameter, match=r"\.2f"):
        format(bound, "z9.e")


def test_the_lower_end_is_printed_below():
    bound = Bound(2 / 3, 0.7, "by hand", privacy.Unit())
    assert Decimal(re.search(r"at least ([\d.]+)", str(bound))[1]) <= Decimal(2 / 3)


def released(value, bar):
    return Release(value, loss=privacy.PureLoss(1.0), error=bar, mechanism="test")


@pytest.mark.parametrize("factor", [2, -3, 0.1, 1 / 3, -1e-7, 7.5])
def test_a_scaled_bar_covers_what_the_bar_covers(factor):
    bar = ErrorBar(3.0, 0.95, below=1.0, bias=0.5, bias_below=0.25)
    release = released(41.7, bar)
    for made in (release * factor, factor * release):
        low, high = made.interval
        ends = [Fraction(float(end)) * Fraction(factor) for end in release.interval]
        assert Fraction(float(low)) <= min(ends)
        assert Fraction(float(high)) >= max(ends)
        assert high - low <= (1.0 + 1e-9) * float(max(ends) - min(ends))
    narrower = bar.scaled(factor * 0.999)  # a twin that forgets a part of the factor is seen
    assert narrower.radius < (release * factor).error.radius or factor < 0


def test_a_shift_keeps_the_bar_and_other_results_have_none():
    release = released(41.7, ErrorBar(3.0, 0.95))
    for made in (release + 10, 10 + release, release - 10, 10 - release, -release, release / 4):
        assert isinstance(made, Release)
        low, high = (Fraction(float(end)) for end in made.interval)
        assert low < Fraction(float(made)) < high
        assert made.loss == release.loss
        assert made.provenance[-1] == "arithmetic"
    assert (released(5, ErrorBar(2.0, 0.9)) + 3).error.radius == 2.0  # whole numbers are shifted exactly
    for bare in (release + release, release * release, 1 / release, abs(release), release / release, round(release, 1)):
        assert isinstance(bare.value, float)
        assert bare.error is None
        assert bare.loss == release.loss  # one release went into it, however often
    assert released(41.7, None) * 2 == 83.4
    assert (released(41.7, None) * 2).error is None
    with pytest.raises(InvalidParameter, match="divided by 0"):
        release / 0


def test_a_sum_of_several_releases_has_the_bar_of_none_of_them():
    """What was computed from releases is no public number: with it the bar of the last release would remain."""
    a, b, c = (released(value, ErrorBar(3.0, 0.95)) for value in (41.7, 5, 7))
    sums = (a + b + c, sum([a, b, c]), np.mean([a, b, c]), c - (a - b), (a + b) * 2 + c, -(a + b) + c, +(a + b) + c)
    scaled = (np.float64(2.0) * (a + b) + c, np.int64(2) - (b + c) + a, (a + b) * np.float64(2.0) + c)
    powers = ((a + b) ** 2 + c, 2 ** (a + b) + c, (a + b) // 2 + c, (a + b) % 5 + c, round(a + b, 1) + c)
    for made in (*sums, *scaled, *powers, np.ones(2) * (a + b) + c):
        assert isinstance(made, Release)
        assert made.error is None
        assert made.loss == privacy.Repeated(privacy.PureLoss(1.0), 3)
        assert made.provenance[-1] == "arithmetic"
    for made in (abs(a) + c, c + a * b, 1 / a + c, round(a) + c, c * a, a - c):
        assert made.error is None
    assert type((b + c + b).value) is int
    assert b + c + b == 17
    assert sum([a, b, c]).value == pytest.approx(53.7)
    assert (np.ones(2) * (a + b)).value.tolist() == [46.7, 46.7]
    for number in (float, np.float64, math.sqrt):  # whoever asks for the number itself has it: docs/sharp-edges.md
        assert (number(a + b) + c).error.radius == pytest.approx(c.error.radius)
    assert pickle.loads(pickle.dumps(a + b)) == Release.from_json((a + b).to_json()) == a + b


def test_what_is_computed_from_releases_has_the_price_of_all_of_them():
    a = Release(1.0, loss=privacy.PureLoss(1.0), mechanism="laplace", provenance=("laplace",), paid={"entry": 1})
    b = Release(2.0, loss=privacy.GaussianLoss(2.0), mechanism="gaussian", insecure=True, provenance=("gaussian",))
    for made in (a - b, b - a):
        assert made.loss == privacy.Composed([a.loss, b.loss])
        assert made.insecure
        assert (made.mechanism, made.paid, made.stored) == ("", None, None)
        assert set(made.provenance) == {"laplace", "gaussian", "arithmetic"}
    assert (a - a).paid == a.paid
    other = Release(2.0, loss=privacy.PureLoss(1.0, unit=privacy.Unit("replace")))
    for clash in (lambda: a + other, lambda: other / a):
        with pytest.raises(MixedUnits, match=r"has no price; take their \.value"):
            clash()


def test_arrays_keep_their_cells():
    release = released(np.array([1.0, 2.0]), ErrorBar([0.5, 1.0], 0.9))
    twice = release * 2
    assert twice.value.tolist() == [2.0, 4.0]
    assert np.allclose(twice.error.radius, [1.0, 2.0])
    assert np.all(twice.error.radius >= [1.0, 2.0])
    assert (release > 1.5).tolist() == [False, True]
    with pytest.raises(InvalidCall, match="array of 2 numbers"):
        float(release)


def test_what_is_no_number_says_so():
    release = released({"mean": 3.0}, None)
    with pytest.raises(InvalidCall, match=r"release\.value\['mean'\]"):
        float(release)
    with pytest.raises(TypeError):
        release + "x"
    with pytest.raises(NoGuarantee, match="at a delta only"):
        Release(1.0, loss=privacy.GaussianLoss(1.0)).epsilon  # noqa: B018


EXAMPLES = {name: next(iter(kind.examples())) for name, kind in mechanisms.registered_mechanisms().items()}
STORED = [name for name, each in EXAMPLES.items() if each.cost == "cheap" and each.mechanism.form.refusal() is None]


@pytest.mark.parametrize("name", STORED)
def test_a_release_read_back_equals_the_original(name):
    example = EXAMPLES[name]
    release = example.mechanism.release(example.left)
    again = Release.from_json(release.to_json())
    assert again == release
    assert hash(again) == hash(release)
    assert again != released(0, None)


def test_a_price_is_taken_from_whatever_has_one():
    mechanism = mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0)
    assert accounting.epsilon(mechanism, delta=0.0) == accounting.epsilon(mechanism.loss, delta=0.0)
    assert accounting.epsilon(mechanism.release(3), delta=0.0) == 1.0
    assert privacy.Repeated(mechanism, 3) == privacy.Repeated(mechanism.loss, 3)
    assert privacy.Composed([mechanism, mechanism.loss]) == privacy.Repeated(mechanism.loss, 2)
    assert accounting.BasicFilter(2.0).start().accepts(mechanism)
    assert accounting.PLD().epsilon(loss=mechanism, delta=0.0).upper == 1.0


def test_a_function_without_words_of_its_own_gets_some_and_bugs_stay_bugs():
    def halve(number: float, *, parts: list[int] | None = None) -> float:
        return number / 2 + len(parts or []) + {}["missing"]

    asked = door(halve)
    with pytest.raises(InvalidCall, match="halve takes number as a number, got str"):
        asked("7")
    with pytest.raises(InvalidCall, match="halve takes number by place"):
        asked(1.0, [2])
    with pytest.raises(KeyError) as caught:  # a bug of the library: the call was right
        asked(1.0)
    assert not isinstance(caught.value, InvalidCall)


def test_frames_of_a_failed_call_do_not_hold_its_data():
    def broken(value: float) -> float:
        try:
            return value + {}["missing"]
        finally:
            del value

    with pytest.raises(KeyError) as caught:
        door(broken)(SECRET)
    frames = []
    step = caught.value.__traceback__.tb_next
    while step is not None:
        frames.append(step.tb_frame.f_locals)
        step = step.tb_next
    assert not any(SECRET in (*locals_.values(), *locals_.get("args", ())) for locals_ in frames)
