"""Synthetic rows as a Parquet or CSV file."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from privet._calls import door
from privet._numerics import Array
from privet.errors import InvalidParameter, SerialisationError
from privet.tables.dialect import DuckDB

_FORMS = {".parquet": "(FORMAT parquet)", ".csv": "(FORMAT csv, HEADER)"}


def check_table_file(path: str | Path) -> None:
    """Refuse a file name that does not say how rows are written.

    >>> check_table_file("rows.xyz")
    Traceback (most recent call last):
    privet.errors.InvalidParameter: rows are written as .parquet or .csv, got 'rows.xyz'
    """
    name = Path(path).name
    if Path(path).suffix.lower() not in _FORMS:
        raise InvalidParameter(f"rows are written as .parquet or .csv, got {name!r:.60}")


@door
def write_table(columns: Mapping[str, Array], path: str | Path) -> None:
    """Write columns, missing values masked, as a Parquet or CSV file: the suffix says which.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table({"a": np.array([1, 2])}, Path(folder) / "rows.csv")
    ...     (Path(folder) / "rows.csv").read_text().split()
    ['a', '1', '2']
    """
    import duckdb

    check_table_file(path)
    d, held, picked = DuckDB(), dict[str, Array](), []
    for place, (name, column) in enumerate(columns.items()):
        plain = np.ma.getdata(column)
        text, days = plain.dtype.kind in "UT", plain.dtype.kind == "M"
        held[f"c{place}"] = plain.astype(object) if text else plain.astype(np.int64) if days else plain
        held[f"m{place}"] = (
            np.ma.getmaskarray(column) if isinstance(column, np.ma.MaskedArray) else np.zeros(len(plain), bool)
        )
        made = f"DATE '1970-01-01' + CAST(c{place} AS INTEGER)" if days else f"c{place}"
        if text:
            made = f"CAST(c{place} AS VARCHAR)"
        picked.append(f"CASE WHEN NOT m{place} THEN {made} END AS {d.quote(name)}")
    with duckdb.connect() as connection:
        connection.register("rows", held)
        target = d.text(str(path))
        try:
            connection.execute(
                f"COPY (SELECT {', '.join(picked)} FROM rows) TO {target} {_FORMS[Path(path).suffix.lower()]}"
            )
        except duckdb.Error:
            raise SerialisationError("the file of synthetic rows cannot be written: give another path") from None
