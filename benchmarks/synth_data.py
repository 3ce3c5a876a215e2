"""Tables for `benchmarks/synth.py`, described by public means: domains and dictionaries that come with them."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd

import privet as pv

ROOT = Path(os.environ.get("PRIVET_DATA", "../shared/data"))
EIGHT = (
    "workclass", "education-num", "marital-status", "occupation", "relationship", "race", "sex", "income>50K",
)  # fmt: skip


def coded(folder: str, name: str, names: tuple[str, ...] | None = None) -> pv.Table:
    """A table of codes, with the sizes of its columns in a file beside it."""
    sizes = json.loads((ROOT / folder / f"{name}-domain.json").read_text())
    frame = pd.read_csv(ROOT / folder / f"{name}.csv.gz")
    kept = list(frame.columns) if names is None else list(names)
    columns = {each: pv.Int(0, sizes[each] - 1) for each in kept}
    return pv.Table({each: frame[each].to_numpy() for each in kept}, columns=columns)


def acs() -> pv.Table:
    """All 24 columns: listed values as the dictionary has them, numbers for 16 even bins between its bounds. Of
    numbers 'N', for 'does not apply', is missing."""
    schema = json.loads((ROOT / "nist_acs" / "national2019.json").read_text())["schema"]
    frame = pd.read_csv(ROOT / "nist_acs" / "national2019.csv.gz", dtype=str, keep_default_na=False)
    rows, columns = {}, {}
    for name, facts in schema.items():
        values = frame[name]
        if "values" in facts:
            rows[name] = values.to_numpy(dtype=object)
            columns[name] = pv.Category([str(each) for each in facts["values"]])
        else:
            numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=float)
            rows[name] = numbers
            columns[name] = pv.Float(float(facts["min"]), float(facts["max"]), null=bool(facts.get("has_null")))
    return pv.Table(rows, columns=columns)


def chain(rows: int, columns: int, size: int, seed: int = 0) -> pv.Table:
    """Generated rows in which each column follows the one before it, nine times of ten."""
    rng = np.random.default_rng(seed)
    made = [rng.integers(0, size, rows)]
    for _ in range(columns - 1):
        made.append(np.where(rng.random(rows) < 0.9, made[-1], rng.integers(0, size, rows)))
    names = [f"c{i}" for i in range(columns)]
    return pv.Table(dict(zip(names, made, strict=True)), columns={name: pv.Int(0, size - 1) for name in names})


FIVE = ("workclass", "marital-status", "relationship", "race", "sex")
TABLES = {
    "adult-5": lambda: coded("adult", "adult_discrete", FIVE),
    "adult": lambda: coded("adult", "adult_discrete"),
    "adult-8": lambda: coded("adult", "adult_discrete", EIGHT),
    "nltcs": lambda: coded("nltcs", "nltcs"),
    "titanic": lambda: coded("titanic", "titanic"),
    "nist_taxi": lambda: coded("nist_taxi", "nist_taxi"),
    "nist_acs": acs,
}
