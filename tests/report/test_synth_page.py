"""The page about synthetic rows: one file, every column, nothing that a browser would run or fetch."""

from types import SimpleNamespace
from typing import Any

import numpy as np

import privet as pv
from privet.report import synth_page
from privet.tables import Coding

COLUMNS = {
    "<b>": pv.Category(["<i>x", "y"], null=True),
    "day": pv.Date("2024-01-01", "2024-12-31"),
    "ill": pv.Bool(),
    "cost": pv.Float(0.0, 10.0),
}


def rows(n: int) -> Any:
    coding, rng = Coding.of(COLUMNS), np.random.default_rng(1)
    return SimpleNamespace(coding=coding, codes=rng.integers(0, coding.sizes, (n, 4)))


def test_every_column_is_drawn_and_nothing_of_it_is_markup() -> None:
    page = synth_page(rows(50), title="<script>", facts=[("Price", "<u>1</u>")])
    assert page.count("<svg") == 4
    assert "<script>" not in page and "<i>x" not in page and "<u>" not in page  # noqa: PT018
    assert "http" not in page.replace("http-equiv", "")
    assert "2024-12-31" in page


def test_another_table_stands_beside_as_lines() -> None:
    made = rows(200)
    beside = pv.Table(made.coding.decode(made.codes), columns=COLUMNS)
    both, alone = synth_page(made, beside=beside), synth_page(made)
    assert both.count('height="2.5"') == sum(min(32, size) for size in made.coding.sizes)
    assert 'height="2.5"' not in alone
    assert "Lines:" in both


def test_no_rows_make_a_page_too() -> None:
    empty = SimpleNamespace(coding=Coding.of(COLUMNS), codes=np.zeros((0, 4), dtype=np.int64))
    assert synth_page(empty).count("<svg") == 4


def test_bars_say_what_they_stand_for() -> None:
    page = synth_page(rows(50))
    assert "<title>&lt;i&gt;x: " in page and "<title>yes: " in page and "<title>(missing): " in page  # noqa: PT018
    assert "<title>[0, 0.3125): " in page
    assert "<title>2024-01-01 to 2024-01-12: " in page  # 366 days in 32 groups
    for told in ("no", "yes"):
        assert f'text-anchor="middle">{told}</text>' in page
    many = Coding.of({"a": pv.Category(["a long name of a ward in a clinic", "another long name of a ward in it"])})
    long = synth_page(SimpleNamespace(coding=many, codes=np.zeros((3, 1), dtype=np.int64)))
    assert 'text-anchor="start">a long name of ...</text>' in long
