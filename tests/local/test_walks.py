"""Supports of hashed reports: numpy and compiled code (the extra `fast`) count the same, on both sides of every size."""

import sys
from pathlib import Path

import numpy as np
import pytest

from privet import local
from privet.local.families import walks
from privet.local.families.hashes import hashed

ROOT = Path(__file__).resolve().parents[2]


def by_definition(protocol: local.OLH, reports: np.ndarray, values: np.ndarray) -> list[int]:
    """Each report is asked for each value: does the value fall into its cell?"""
    cells = protocol.response.k
    return [int(np.sum(hashed(np.uint64(x), reports[:, 0], reports[:, 1], cells) == reports[:, 2])) for x in values]


def some_reports(protocol: local.OLH, n: int) -> np.ndarray:
    """Reports of people, and the ends of what words can be."""
    reports = np.array(protocol.privatize(np.arange(n) % protocol.k))
    top = 2**64 - 1
    reports[0] = (top, top, protocol.response.k - 1)
    reports[n // 2] = (0, 0, 0)
    reports[-1] = (1, top, 0)
    return reports


def words_of(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """a, at and width of reports: words of all sizes."""
    rng = np.random.default_rng(n)
    a, at = (rng.integers(0, 2**64, n, dtype=np.uint64) for _ in range(2))
    return a, at, rng.integers(1, 2**63, n, dtype=np.uint64)


@pytest.mark.parametrize(("cells", "n"), [(2, 300), (3, walks._CHUNK + 1), (8, 300), (1000, 300), (2**16, 300)])
def test_numpy_counts_what_the_hash_says(cells: int, n: int):
    protocol = local.OLH(k=37, epsilon=2.0, cells=cells)
    reports = some_reports(protocol, n)
    assert protocol.tally(reports, None).tolist() == by_definition(protocol, reports, np.arange(37))
    named = np.array([36, 0, 7], dtype=np.uint64)
    assert protocol.tally(reports, named).tolist() == by_definition(protocol, reports, named)


@pytest.mark.parametrize("n", [1, 2, 301])
def test_what_is_compiled_is_right_as_python_too(n: int):
    """The functions that numba compiles, run as they stand: it is not needed for this."""
    (a, at, width), named = words_of(n), np.array([2**32 - 1, 0, 5], dtype=np.uint64)
    every, some = np.zeros(4, dtype=np.int64), np.zeros(3, dtype=np.int64)
    with np.errstate(over="ignore"):  # single words wrap with a warning, arrays without one
        walks.some_by_one(some, a, at, width, named)
        walks.every_by_one(every, a, at.copy(), width)
    assert every.tolist() == walks.supported(4, a, at, width, None).tolist()
    assert some.tolist() == walks.supported(4, a, at, width, named).tolist()


SIZES = [1, walks._COMPILED_CHUNK - 1, walks._COMPILED_CHUNK, walks._COMPILED_CHUNK + 1, 3 * walks._CHUNK + 17]


@pytest.mark.parametrize("n", SIZES)
def test_compiled_code_counts_the_same(n: int, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("numba")
    words, named = words_of(n), np.array([2**32 - 1, 0, 5, 5, 2**31], dtype=np.uint64)
    asked = [(k, None) for k in (1, 2, 63, 64, 65)] + [(9, named)]
    in_numpy = [walks.supported(k, *words, some).tolist() for k, some in asked]
    monkeypatch.setattr(walks, "WORTH_COMPILING", 0)
    monkeypatch.setattr(walks, "_every", None)  # numpy would fail now
    monkeypatch.setattr(walks, "_some", None)
    assert [walks.supported(k, *words, some).tolist() for k, some in asked] == in_numpy


@pytest.mark.parametrize("candidates", [False, True])
def test_both_sides_of_the_size_where_compiling_is_worth_it(candidates: bool, monkeypatch: pytest.MonkeyPatch):
    """One report less is counted by numpy; the same state comes from both ways, and from either without numba."""
    k, n, asked = 100, 50, []
    monkeypatch.setattr(walks, "WORTH_COMPILING", k * n)
    protocol = local.OLH(k=k, epsilon=2.0)
    reports = some_reports(protocol, n)
    named = np.arange(k, dtype=np.uint64) if candidates else None
    kernels = walks.compiled()
    monkeypatch.setattr(walks, "compiled", lambda: asked.append(1) or kernels)
    below = protocol.tally(reports[:-1], named)
    assert not asked
    above = protocol.tally(reports, named)
    assert asked == [1]
    assert np.array_equal(above, below + protocol.tally(reports[-1:], named))
    monkeypatch.setattr(walks, "compiled", lambda: None)
    assert np.array_equal(above, protocol.tally(reports, named))


def test_without_numba_numpy_counts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "numba", None)  # as if it were not installed
    assert walks.compiled.__wrapped__() is None


def test_the_extra_is_asked_for_by_name_only():
    """The default install has no compiler; `fast` has it, and the versions that fit together name it."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert not any(each.startswith("numba") for each in project["dependencies"])
    assert any(each.startswith("numba") for each in project["optional-dependencies"]["fast"])
    assert "\nnumba==" in (ROOT / "constraints.txt").read_text(encoding="utf-8")
