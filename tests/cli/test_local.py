"""`privet local`: plans and estimates on the command line; wrong input in one sentence."""

import json

import numpy as np
import pytest

from privet import local, noise

PLAN = ("local", "plan", "--k", 1024, "--epsilon", 2, "--n", "1e6")


@pytest.fixture
def survey(tmp_path):
    protocol = local.KRR(labels=("no", "yes", "rather not"), epsilon=2.0)
    values = np.array(["no"] * 600 + ["yes"] * 400)
    reports = protocol.privatize(values, source=noise.Seeded(1))
    local.write_parquet(protocol, reports, tmp_path / "reports.parquet")
    (tmp_path / "protocol.json").write_text(protocol.to_json())
    return tmp_path


def test_a_plan_names_the_best_first(privet):
    told = privet(*PLAN)
    assert told.code == 0
    assert "shares of 1,024 values from 1,000,000 reports" in told.out
    lines = [line for line in told.out.splitlines() if any(char.isdigit() for char in line)][1:]
    deviations = [float(line.split()[-2]) for line in lines]
    assert deviations == sorted(deviations)


def test_a_plan_as_json_and_small_reports(privet):
    found = json.loads(privet(*PLAN, "--json").out)
    assert found["offers"][0]["deviation"] <= 0.00086
    small = json.loads(privet(*PLAN, "--max-bytes", 2, "--json").out)
    assert all(each["report_bytes"] <= 2 for each in small["offers"])
    assert local.from_json(json.dumps(small["offers"][0]["protocol"])).k == 1024


def test_too_many_values_are_said_without_a_limit_that_nobody_gave(privet):
    told = privet("local", "plan", "--k", 10**12, "--epsilon", 1, "--n", 10)
    assert told.code != 0
    assert "k must be at most 2^32" in told.err
    assert "None" not in told.err
    assert "max_bytes" not in told.err


def test_a_picture_is_written(privet, tmp_path):
    assert privet(*PLAN, "--plot", tmp_path / "errors.png").code == 0
    assert (tmp_path / "errors.png").stat().st_size > 5_000


def test_an_estimate_of_reports(privet, survey):
    told = privet("local", "estimate", survey / "reports.parquet", "--protocol", survey / "protocol.json")
    assert told.code == 0
    assert "1,000 reports, 0 dropped; each cost its sender epsilon 2" in told.out
    assert "rather not" in told.out
    found = json.loads(
        privet("local", "estimate", survey / "reports.parquet", "--protocol", survey / "protocol.json", "--json").out
    )
    assert found["estimate"]["label"] == ["no", "yes", "rather not"]
    assert found["estimate"]["low"][1] < 0.4 < found["estimate"]["high"][1]
    wider = json.loads(
        privet(
            "local", "estimate", survey / "reports.parquet", "--protocol", survey / "protocol.json", "--json",
            "--simultaneous",
        ).out
    )  # fmt: skip
    assert wider["estimate"]["low"][1] < found["estimate"]["low"][1]


def test_a_mean_on_the_command_line(privet, tmp_path):
    protocol = local.Hybrid(epsilon=2.0, bounds=(0.0, 10.0))
    local.write_parquet(protocol, protocol.privatize([4.0] * 500), tmp_path / "r.parquet")
    (tmp_path / "p.json").write_text(protocol.to_json())
    told = privet("local", "estimate", tmp_path / "r.parquet", "--protocol", tmp_path / "p.json")
    assert told.code == 0
    assert "mean" in told.out
    wrong = privet("local", "estimate", tmp_path / "r.parquet", "--protocol", tmp_path / "p.json", "--simultaneous")
    assert wrong.code != 0
    assert "estimates a mean" in wrong.err


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (("missing.parquet", "protocol.json"), "no file"),
        (("protocol.json", "protocol.json"), "no Parquet file"),
        (("reports.parquet", "missing.json"), "cannot read"),
        (("reports.parquet", "reports.parquet"), "not a text file"),
    ],
)
def test_what_cannot_be_read_is_said(privet, survey, files, words):
    told = privet("local", "estimate", survey / files[0], "--protocol", survey / files[1])
    assert told.code != 0
    assert words in told.err


def test_reports_of_another_protocol_are_said_to_be_that(privet, survey):
    (survey / "other.json").write_text(local.KRR(labels=("no", "yes", "rather not"), epsilon=2.5).to_json())
    told = privet("local", "estimate", survey / "reports.parquet", "--protocol", survey / "other.json")
    assert told.code == 2
    assert "none of 1,000 reports belongs to this protocol" in told.err


def test_candidates_are_named_where_there_are_too_many_values(privet, tmp_path):
    protocol = local.OLH(k=2**32, epsilon=4.0)
    reports = protocol.privatize(np.full(400, 2**31), source=noise.Seeded(1))
    local.write_parquet(protocol, reports, tmp_path / "r.parquet")
    (tmp_path / "p.json").write_text(protocol.to_json())
    ask = ("local", "estimate", tmp_path / "r.parquet", "--protocol", tmp_path / "p.json")
    bare = privet(*ask)
    assert bare.code == 2
    assert "--candidates" in bare.err
    found = json.loads(privet(*ask, "--candidates", f"7, {2**31}", "--json").out)
    assert found["estimate"]["label"] == [7, 2**31]
    assert found["estimate"]["value"][0] < 0.3 < 0.8 < found["estimate"]["value"][1]
    assert privet(*ask, "--candidates", 7).code == 0
    for wrong in ("", "a", "1,,2", "-1", "1.5", str(2**32)):
        told = privet(*ask, "--candidates", wrong)
        assert told.code == 2
        assert "andidates" in told.err


def test_a_report_that_is_too_small_for_all_is_said_with_the_least(privet):
    told = privet("local", "plan", "--k", 1000, "--epsilon", 1, "--n", 10, "--max-bytes", 1)
    assert told.code == 2
    assert "--max-bytes must be at least 2" in told.err
