"""`privet ranges plan`: the table, as JSON, as a picture; wrong input in one sentence."""

import json

import pytest

PLAN = ("ranges", "plan", "--domain", 16)


def test_the_table_names_every_strategy_and_the_bound(privet):
    told = privet(*PLAN, "--epsilon", 1)
    assert told.code == 0
    assert "all 136 ranges of 16 cells" in told.out
    assert "every cell" in told.out
    assert "no strategy has an RMSE below" in told.out


@pytest.mark.parametrize("workload", ["ranges", "prefix", "cells"])
@pytest.mark.parametrize("promise", [("--epsilon", 1, "--delta", 1e-6), ("--rho", 0.5), ("--mu", 1)], ids=str)
def test_json_is_sorted_by_error(privet, workload, promise):
    told = privet(*PLAN, "--workload", workload, *promise, "--json")
    assert told.code == 0
    found = json.loads(told.out)
    errors = [each["rmse"] for each in found["candidates"]]
    assert errors == sorted(errors)
    assert found["cells"] == 16


def test_replace_costs_more(privet):
    def least(*more):
        return json.loads(privet(*PLAN, "--epsilon", 1, "--json", *more).out)["candidates"][0]["rmse"]

    assert least("--relation", "replace") > 1.5 * least()


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_a_picture_is_written(privet, tmp_path, suffix):
    path = tmp_path / f"errors{suffix}"
    assert privet(*PLAN, "--epsilon", 1, "--plot", path).code == 0
    assert path.stat().st_size > 5_000


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--domain", 0, "--epsilon", 1), "domain"),
        (("--domain", 2.5, "--epsilon", 1), "domain"),
        (("--domain", 16), "exactly one of"),
        (("--domain", 16, "--epsilon", 1, "--rho", 1), "exactly one of"),
        (("--domain", 16, "--epsilon", -1), "epsilon"),
        (("--domain", 16, "--epsilon", 1e-17), "budget is too small"),
        (("--domain", 16, "--epsilon", 1, "--plot", "errors.bmp"), "written as .png"),
    ],
)
def test_wrong_input(privet, options, told):
    outcome = privet("ranges", "plan", *options)
    assert outcome.code != 0
    assert told in outcome.err
    assert "Traceback" not in outcome.err
