"""Synthetic rows as files: what was written is what a table reads."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet as pv
from privet.errors import InvalidParameter, SerialisationError
from privet.synth import check_table_file, write_table
from privet.tables import Coded, Coding, Tally

COLUMNS = {
    "i": pv.Int(-3, 9, null=True),
    "f": pv.Float(-2.0, 8.0),
    "it's": pv.Category(["A", 'B"', "ä,;"], null=True),
    "d": pv.Date("1969-12-01", "1970-03-31", null=True),
    "b": pv.Bool(null=True),
}


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv"])
@pytest.mark.parametrize("n", [0, 300])
def test_files_hold_the_same_codes(tmp_path: Path, name: str, n: int) -> None:
    coding, rng = Coding.of(COLUMNS), np.random.default_rng(1)
    codes = rng.integers(0, coding.sizes, (n, 5))
    write_table(coding.decode(codes), tmp_path / name)
    table = pv.Table(str(tmp_path / name), columns=COLUMNS)
    cliques: list[Any] = [(0, 1), (2,), (3, 4)]
    found = table.data.exact_marginals(Coded(table.rows, coding), cliques, (1, 2, 3, 4, 5))
    due = Tally(coding.sizes, cliques)
    if n:
        due.add(list(codes.T))
    assert all(np.array_equal(one, two) for one, two in zip(found, due.tables(), strict=True))


def test_names_that_say_nothing_and_places_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match=r"\.parquet or \.csv"):
        check_table_file("rows.xlsx")
    with pytest.raises(SerialisationError, match="cannot be written"):
        write_table({"a": np.array([1])}, tmp_path / "nowhere" / "rows.csv")
