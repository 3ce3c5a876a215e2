"""Answers as they are shown: a number without an interval says what it is, in every form."""

import json
from pathlib import Path
from typing import Any

import pytest

import privet as pv
from privet.cli.query import csv_of, rows_of
from privet.errors import InvalidParameter
from privet.mechanisms import Release

HELD = {"age": [20, 30, 40, 79] * 50, "ward": ["A", "B"] * 100}
COLUMNS = {"age": pv.Int(18, 100), "ward": pv.Category(["A", "B"])}
SAYS = {"oldest": "99% quantile", "youngest": "1% quantile", "middle": "50% quantile", "third": "30% quantile"}


def released(ledger: pv.Ledger, *names: str) -> Release[Any]:
    table = pv.Table(HELD, columns=COLUMNS)
    asked = {"oldest": pv.max("age"), "youngest": pv.min("age"), "middle": pv.median("age")}
    asked |= {"third": pv.quantile("age", 0.3), "n": pv.count()}
    return ledger.release(table.group_by(*names).agg(**asked) if names else table.agg(**asked), epsilon=2.0, key="ages")


@pytest.mark.parametrize("names", [(), ("ward",)])
def test_a_single_quantile_says_what_it_is_and_that_it_has_no_interval(names: tuple[str, ...], tmp_path: Path) -> None:
    ledger = pv.Ledger.create(tmp_path / "x.ledger", budget=pv.Budget(epsilon=9.0))
    first = released(ledger, *names)
    pandas = pytest.importorskip("pandas")
    for release in (first, released(ledger, *names)):  # as released, and as stored
        answer = release.value
        texts = (str(answer), answer._repr_html_().replace("&#x27;", "'"), csv_of(answer), json.dumps(rows_of(answer)))
        frame = release.to_pandas()
        assert isinstance(frame, pandas.DataFrame)
        for name, share in SAYS.items():
            note = answer.notes[name]
            assert note.startswith(f"{share}, no interval: table.quantiles('age', [0.")
            assert all(note in text for text in texts)
            assert set(frame[f"{name}_note"]) == {note}
            assert not {f"{name}_low", f"{name}_high"} & set(frame.columns)
            with pytest.raises(InvalidParameter, match="no interval"):
                answer.interval(name)
        assert "18, 100" not in texts[0]
        assert {"n_low", "n_high"} <= set(frame.columns)
        assert "n" not in answer.notes
    assert first.value == released(ledger, *names).value


def test_the_call_that_a_note_names_has_an_interval() -> None:
    table = pv.Table(HELD, columns=COLUMNS)
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=9.0))
    note = ledger.release(table.agg(oldest=pv.max("age")), epsilon=1.0).value.notes["oldest"]
    call = note.split(": ")[1].removesuffix(" has one")
    low, high = ledger.release(eval(call, {"table": table}), epsilon=4.0).value.interval("value")
    assert 18 < low[0] <= 79 <= high[0] <= 100
