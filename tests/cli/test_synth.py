"""`privet synth`: previews cost nothing, mistakes are seen before paying, rows and figures come out."""

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet as pv
from privet import synth
from privet.tables import Int, Rows, write_schema

COLUMNS = {"age": Int(0, 9), "ward": pv.Category(["A", "B"], null=True), "ill": pv.Bool()}


@pytest.fixture
def ask(tmp_path: Path, privet: Callable[..., Any]) -> Callable[..., Any]:
    rng = np.random.default_rng(1)
    for name, n in (("visits.parquet", 2000), ("holdout.csv", 500)):
        age = rng.integers(0, 10, n)
        held = {"age": age, "ward": np.array(["A", "B"])[rng.integers(0, 2, n)], "ill": age > 4}
        synth.write_table(held, tmp_path / name)
    (tmp_path / "s.toml").write_text(write_schema(COLUMNS, Rows()))
    privet("ledger", "init", tmp_path / "l.ledger", "--epsilon", 100, "--delta", 1e-5)

    def run(*more: object) -> Any:
        return privet("synth", tmp_path / "visits.parquet", "--schema", tmp_path / "s.toml", *more)

    return run


def spent(folder: Path) -> Any:
    return dict(pv.Ledger.open(str(folder / "l.ledger")).spent)


def test_rows_figures_and_a_page_come_out(ask: Any, tmp_path: Path) -> None:
    paying = ("--epsilon", 50, "--delta", 1e-9, "--ledger", tmp_path / "l.ledger")
    files = ("--out", tmp_path / "o.parquet", "--page", tmp_path / "p.html", "--evaluate", tmp_path / "holdout.csv")
    made = ask(*paying, *files, "--key", "May", "--json")
    told = json.loads(made.out)
    assert made.code == 0
    assert told["distance"]["2"] < 0.1
    rows = pv.Table(str(tmp_path / "o.parquet"), columns=COLUMNS)
    counted = rows.data.exact_marginals(pv.tables.Coded(rows.rows, pv.tables.Coding.of(COLUMNS)), [()], (1, 2, 3, 4, 5))
    assert int(counted[0]) == told["rows"]
    assert (tmp_path / "p.html").read_text(encoding="utf-8").count("<svg") == 3
    before = spent(tmp_path)
    again = ask(*paying, "--key", "May", "--n", 7)
    assert "7 synthetic rows of age, ward, ill" in again.out
    assert spent(tmp_path) == before


def test_a_total_that_is_noise_draws_no_more_rows_than_anybody_wants(
    ask: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("privet.cli.synth"), "_UNASKED", 11)
    paying = ("--epsilon", 50, "--ledger", tmp_path / "l.ledger", "--key", "May")
    few = ask(*paying)
    assert "11 synthetic rows" in few.out
    assert "--n asks for more" in few.err
    assert "12 synthetic rows" in ask(*paying, "--n", 12).out  # who says so, has them


def test_previews_read_and_pay_nothing(ask: Any, tmp_path: Path) -> None:
    before = spent(tmp_path)
    made = ask("--epsilon", 1, "--delta", 1e-9, "--preview", "--model", "AIM", "--workload", 2)
    assert made.code == 0
    assert "protects: one row" in made.out
    assert spent(tmp_path) == before


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--model", "GAN"), "--model must be one of"),
        (("--workload", 2), "--workload is for"),
        (("--out", "rows.xlsx"), "written as .parquet or .csv"),
        (("--out", "/nowhere/at/all/rows.csv"), "nothing paid"),
        (("--page", "/nowhere/at/all/page.html"), "nothing paid"),
    ],
)
def test_mistakes_are_seen_before_paying(ask: Any, tmp_path: Path, more: tuple[Any, ...], told: str) -> None:
    before = spent(tmp_path)
    made = ask("--epsilon", 1, "--delta", 1e-9, "--ledger", tmp_path / "l.ledger", *more)
    assert made.code != 0
    assert told in made.err
    assert spent(tmp_path) == before


def test_somebody_must_pay(ask: Any) -> None:
    assert "who pays?" in ask("--epsilon", 1, "--delta", 1e-9).err


@pytest.mark.parametrize(
    "mistake", ["nothere", "other", "n", "many", "input", "schema", "itself", "link", "pattern", "both"]
)
def test_public_mistakes_cost_nothing_and_no_file_that_was_handed_in_is_overwritten(
    ask: Any, tmp_path: Path, mistake: str
) -> None:
    synth.write_table({"height": np.arange(9)}, tmp_path / "other.csv")
    (tmp_path / "link.parquet").symlink_to(tmp_path / "visits.parquet")
    kept, before = (tmp_path / "visits.parquet").read_bytes(), spent(tmp_path)
    more: tuple[object, ...] = {
        "nothere": ("--evaluate", tmp_path / "nothere.parquet"),
        "other": ("--evaluate", tmp_path / "other.csv"),
        "n": ("--n", -3),
        "many": ("--n", 10**13),
        "itself": ("--evaluate", tmp_path / "visits.parquet"),
        "link": ("--evaluate", tmp_path / "link.parquet"),
        "pattern": ("--evaluate", tmp_path / "v*.parquet"),
        "both": ("--out", tmp_path / "rows.csv", "--page", tmp_path / "rows.csv"),
        "input": ("--out", tmp_path / "visits.parquet"),
        "schema": ("--page", tmp_path / "s.toml"),
    }[mistake]
    made = ask("--epsilon", 1, "--delta", 1e-9, "--ledger", tmp_path / "l.ledger", *more)
    assert made.code != 0
    assert spent(tmp_path) == before
    assert (tmp_path / "visits.parquet").read_bytes() == kept
