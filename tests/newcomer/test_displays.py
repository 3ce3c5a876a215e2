"""Displays in a notebook: tables with intervals and prices in epsilon, and nothing that was not released."""

import re

import numpy as np
import pytest

import privet as pv
from privet import privacy, workloads
from privet.mechanisms import ErrorBar, Release, price_in_words, registered_mechanisms
from privet.report import ledger_log
from tests.newcomer.test_shown import Balanced
from tests.tables.test_notebook import messages_of

CELLS = """
import privet as pv
from IPython.display import display
visits = pv.Table(
    {"age": [31, 47, 64] * 200, "ward": ["A", "B", "B"] * 200, "cost": [100.0, 250.0, 75.5] * 200},
    columns={"age": pv.Int(0, 110), "ward": pv.Category(["A", "B"]), "cost": pv.Float(0, 10_000)},
)
ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=3.0, delta=1e-6), unit=visits.unit, dataset="visits")
query = visits.group_by("ward").agg(n=pv.count(), mean_cost=pv.mean("cost"))
release = ledger.release(query, epsilon=0.5, key="by ward", purpose="how many, and what they cost")
histogram = ledger.release(visits.histogram("age", bins=[0, 30, 50, 110]), epsilon=0.5, key="ages")
ranges = ledger.release(visits.ranges("age", bins=11), epsilon=0.5, key="ranges")
plan = pv.workloads.RangeQueries(domain=64).plan(epsilon=1.0)
model = pv.learn.LogisticRegression(epsilon=1.0, bounds=([0.0], [110.0]), classes=[0, 1])
shown = [visits, query, query.preview(epsilon=0.5), release, histogram, ranges, ledger, ledger.history()]
shown += [ledger.spent, ledger.remaining, ledger.preview(query, epsilon=0.5), query.for_budget(epsilon=0.5), plan, model]
"""


def ledger() -> pv.Ledger:
    made = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=3.0), dataset="visits")
    made.reserve(privacy.PureLoss(0.25), purpose="<b>how many</b>")
    return made


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_kernel_shows_tables_and_no_hashes() -> None:
    pytest.importorskip("ipykernel")
    pytest.importorskip("jupyter_client")
    told = messages_of(CELLS + "for each in shown: display(each)\n")
    assert [each["evalue"] for each in told if "evalue" in each] == []
    pages = [each["data"].get("text/html", "") for each in told if "data" in each]
    assert len(pages) == 14
    assert all("<table" in page or "<pre" in page or "sk-" in page for page in pages)
    assert "epsilon 0.5" in pages[3]
    assert len(re.findall(r"\[[\d,.]+, [\d,.]+\]", pages[3])) == 4  # two groups, two numbers each
    assert "[0, 30)" in pages[4]
    assert not any("\\x" in page or "prev=" in page for page in pages)


def test_a_release_is_a_table_with_intervals_and_an_epsilon() -> None:
    table = pv.Table({"ward": ["A", "B"] * 50}, columns={"ward": pv.Category(["A", "B"])})
    book = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=3.0), unit=table.unit)
    page = book.release(table.group_by("ward").agg(n=pv.count()), epsilon=0.5)._repr_html_()
    seen = Balanced(page)
    assert seen.open == []
    assert page.count("<tr>") >= 3
    assert "<th>ward</th><th>n</th>" in page
    assert "epsilon 0.5" in page
    assert "discrete laplace" not in page
    assert "entry 2" in page


@pytest.mark.parametrize(
    ("value", "bar", "shown"),
    [
        (41.5, ErrorBar(3.0, 0.95), "[38.5, 44.5]"),
        (41.5, None, "41.5"),
        (np.array([1.0, 2.0]), ErrorBar([0.5, 1.0], 0.9), "[1, 3]"),
        (np.arange(25), None, "5 more rows"),
        ({"mean": 3.0, "n": 7}, ErrorBar({"mean": 1.0}, 0.95), "[2, 4]"),
        ({"mean": 3.0, "n": 7}, ErrorBar(1.0, 0.95, of="mean"), "[2, 4]"),
        (["A", "B"], None, "[&#x27;A&#x27;, &#x27;B&#x27;]"),
        (41.5, ErrorBar(3.0, 0.95, of="the rank", around=False), "the rank"),
    ],
)
def test_every_kind_of_value_is_shown(value: object, bar: ErrorBar | None, shown: str) -> None:
    page = Release(value, loss=privacy.PureLoss(0.5), error=bar)._repr_html_()
    assert Balanced(page).open == []
    assert shown in re.sub(r"</?span[^>]*>", "", page)
    assert "epsilon 0.5" in page


def test_prices_are_epsilons_and_never_rounded_down() -> None:
    assert price_in_words(privacy.PureLoss(0.12345)) == "epsilon 0.1235"
    told = price_in_words(privacy.GaussianLoss(10.0), at=1e-5)
    assert told.endswith("at delta 1e-05")
    assert float(told.split()[1]) >= pv.accounting.epsilon(privacy.GaussianLoss(10.0), delta=1e-5).lower


def test_history_is_a_list_and_prints_the_log() -> None:
    book = ledger()
    lines = str(book.history()).splitlines()
    assert len(lines) == len(book.history()) == len(book.entries())
    assert isinstance(book.history(), list)
    assert "epsilon 0.25" in lines[1]
    assert "<b>how many</b>  (nothing recorded)" in lines[1]
    assert repr(book.history()) == str(book.history())
    assert "prev=" not in repr(book.history()[1])
    assert "<b>" not in book.history()._repr_html_()
    assert [row.price for row in ledger_log(book)] == ["", "epsilon 0.25"]


def test_a_long_history_is_cut_in_a_notebook_only() -> None:
    book = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=300.0))
    book.reserve_many([privacy.PureLoss(0.25)] * 100)
    assert "1 older entries" in book.history()._repr_html_()
    assert len(str(book.history()).splitlines()) == 101


def test_a_table_shows_its_schema_alone() -> None:
    secret = "a very secret ward"
    table = pv.Table(
        {"ward": ["A", secret], "age": [31, 98_765]},
        columns={"ward": pv.Category(["A", "<B>"], null=True), "age": pv.Int(0, 110)},
        unit=pv.Rows(),
    )
    page = table._repr_html_()
    assert Balanced(page).open == []
    assert "A, &lt;B&gt;, or missing" in page
    assert "from 0 to 110" in page
    assert not any(each in page + repr(table) for each in (secret, "98", "98,765", "31"))
    assert "protected: one row" in repr(table)
    many = pv.Table({"w": [1]}, columns={"w": pv.Category([f"ward {i}" for i in range(500)])})
    assert len(many._repr_html_()) < 800


def test_plans_and_previews_have_displays() -> None:
    table = pv.Table({"ward": ["A", "B"] * 50}, columns={"ward": pv.Category(["A", "B"])})
    query = table.group_by("ward").agg(n=pv.count())
    for thing in (
        query.preview(epsilon=0.5),
        query.for_budget(epsilon=0.5),
        workloads.RangeQueries(domain=8).plan(epsilon=0.5),
    ):
        page = thing._repr_html_()
        assert Balanced(page).open == []
        assert "epsilon 0.5" in page


@pytest.mark.parametrize("name", sorted(registered_mechanisms()))
def test_every_mechanism_has_a_display(name: str) -> None:
    made = next(iter(registered_mechanisms()[name].examples())).mechanism
    page = made._repr_html_()
    assert Balanced(page).open == []
    assert made.name.replace("_", " ") in page
    assert len(page) < 5000


def test_colours_are_left_to_the_page() -> None:
    """A fixed colour is unreadable on a dark page or on a light one."""
    book = ledger()
    pages = [book._repr_html_(), book.history()._repr_html_(), book.spent._repr_html_()]
    pages.append(Release(3.0, loss=privacy.PureLoss(0.5), error=ErrorBar(1.0, 0.95))._repr_html_())
    assert not any("color" in page or "background" in page for page in pages)
