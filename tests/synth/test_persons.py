"""A person with several rows moves what every part of a synthesis is handed by no more than the part is priced for."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import privet as pv
from privet import synth
from privet.mechanisms import DiscreteLaplace, Exponential, Gaussian, Release
from privet.synth.mwem import MWEMPlan

NAMES, MOST = ("a", "b"), 3
COLUMNS = {"id": pv.Int(0, 99), "a": pv.Int(0, 1), "b": pv.Int(0, 2)}
OTHERS = [(i, i % 2, i % 3) for i in range(12)]
QUERIES = [synth.LinearQuery(np.array(each)) for each in ([[1, 0, 0], [0, 0, -2]], [[0, 3, 0], [0, 0, 1]])]
SYNTHESIZERS = [
    synth.Independent(columns=NAMES),
    synth.MST(columns=NAMES, steps=5),
    synth.AIM(columns=NAMES, workload={("a",): 1.0, NAMES: 2.5}, rounds=2, steps=5),
    synth.MWEMGraph(columns=NAMES, workload=2, steps=5),
    synth.MWEM(columns=NAMES, queries=QUERIES, rounds=2, passes=2),
    synth.SmallDB(columns=NAMES, queries=QUERIES, m=2),
]
Part = tuple[Any, list[int], Any]


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> tuple[list[Part], list[Any]]:
    """What parts are handed, as they are run; and outputs that they show instead of their own, in order."""
    seen: list[Part] = []
    shown: list[Any] = []

    def watched(kind: Any) -> None:
        release = kind.release

        def run(self: Any, value: Any, **how: Any) -> Any:
            made = release(self, value, **how)
            out = shown[len(seen)] if shown else made.value
            seen.append((self, [int(each) for each in np.ravel(np.asarray(value, dtype=object))], out))
            return Release(out, made.loss, made.error)

        monkeypatch.setattr(kind, "release", run)

    for kind in (Exponential, DiscreteLaplace, Gaussian):
        watched(kind)
    return seen, shown


def table_of(rows: list[tuple[int, int, int]], relation: Any) -> pv.Table:
    columns = {name: np.array(column) for name, column in zip(COLUMNS, zip(*rows, strict=True), strict=True)}
    return pv.Table(columns, columns=COLUMNS, unit=pv.Person("id", max_rows=MOST, relation=relation))


def farthest(handed: Any, made: Any, relation: str, promise: dict[str, float]) -> float:
    """How far a person with more rows than count moves a part, in what it is priced for, where outputs are the same."""
    seen, shown = handed
    one, two = [(50, 0, 1)] * (MOST + 2), [(50, 1, 2)] * (MOST + 2)
    made.fit(table_of(OTHERS if relation == "add_remove" else [*OTHERS, *two], relation), **promise)
    first = list(seen)
    shown[:] = [out for _, _, out in first]
    seen.clear()
    made.fit(table_of([*OTHERS, *one], relation), **promise)
    assert [(type(part), part.loss) for part, _, _ in seen] == [(type(part), part.loss) for part, _, _ in first]
    moved = []
    for (part, before, _), (_, after, _) in zip(first, seen, strict=True):
        steps = [abs(x - y) for x, y in zip(before, after, strict=True)]
        far = max(steps) if isinstance(part, Exponential) else sum(steps)
        squares = Fraction(sum(each * each for each in steps)) / part.sensitivity.value**2
        moved.append(math.sqrt(squares) if isinstance(part, Gaussian) else far / part.sensitivity.value)
    return float(max(moved))


@pytest.mark.parametrize("promise", [{"epsilon": 1.0}, {"rho": 0.5}], ids=str)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("made", SYNTHESIZERS, ids=lambda each: type(each).__name__)
def test_all_rows_of_a_person_are_priced(handed: Any, made: Any, relation: str, promise: dict[str, float]) -> None:
    assert 0.5 < farthest(handed, made, relation, promise) <= 1.0 + 1e-12


def test_a_plan_that_prices_one_row_of_a_person_is_seen(handed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MWEMPlan, "_reach", lambda self: Fraction(3))
    assert farthest(handed, SYNTHESIZERS[4], "add_remove", {"epsilon": 1.0}) > 1.5
