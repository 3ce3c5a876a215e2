"""Wrong input: one clear line on stderr, exit code 2, nothing on stdout, no traceback."""

import pytest

GAUSSIAN = "price gaussian --noise-multiplier 1"

REFUSED = {
    "price gaussian --noise-multiplier -1 --delta 1e-5": "--noise-multiplier must be greater than 0",
    "price gaussian --noise-multiplier 0 --delta 1e-5": "--noise-multiplier must be greater than 0",
    "price gaussian --noise-multiplier nan --delta 1e-5": "must be finite",
    "price laplace --scale inf --delta nan": "delta must be finite",
    "price pure --epsilon0 -1 --delta 0": "epsilon must be at least 0",
    f"{GAUSSIAN} --q 2 --delta 1e-5": "q must lie in [0, 1]",
    f"{GAUSSIAN} --delta 1": "delta = 1 promises nothing",
    f"{GAUSSIAN} --delta 0": "is not known to be pure",
    f"{GAUSSIAN} --delta -0.1": "delta must lie in [0, 1]",
    f"{GAUSSIAN} --epsilon -1": "epsilon must be at least 0",
    f"{GAUSSIAN}": "ask one question",
    f"{GAUSSIAN} --delta 1e-5 --epsilon 1": "ask one question",
    "price gaussian --delta 1e-5": "gaussian needs --noise-multiplier",
    "price k-rr --delta 1e-5": "k-rr needs --epsilon0 (epsilon of one release) and --k (",
    "price --delta 1e-5": "name a kind",
    f"{GAUSSIAN} --scale 2 --delta 1e-5": "l2-sensitivity), not --scale",
    f"{GAUSSIAN} --q 0.1 --sample-size 1 --population 10 --delta 1e-5": "different samplers",
    f"{GAUSSIAN} --sample-size 1 --delta 1e-5": "go together",
    f"{GAUSSIAN} --population 10 --delta 1e-5": "go together",
    "price pure --epsilon0 1 --shuffled 10 --q 0.1 --delta 1e-5": "one report of everybody",
    "price pure --epsilon0 1 --shuffled 10 --relation add_remove --delta 1e-5": "use --relation replace",
    f"{GAUSSIAN} --shuffled 10 --delta 1e-5": "a pure epsilon",
    "price pure --epsilon0 1 --shuffled 0 --delta 1e-5": "--shuffled must be from 1 to 1,000,000,000, the number of",
    "price pure --epsilon0 1 --shuffled 1e10 --delta 1e-5": "--shuffled must be from 1 to 1,000,000,000, the number",
    f"{GAUSSIAN} --sample-size 11 --population 10 --delta 1e-5": "cannot draw m=11 of n=10",
    f"{GAUSSIAN} --sample-size 1 --population 10 --relation add_remove --delta 1e-5": "use --relation replace",
    f"{GAUSSIAN} --q 0.1 --relation replace --delta 1e-5": "not for replacing one",
    "price k-rr --k 3 --epsilon0 1 --q 0.1 --delta 1e-5": "not for replacing one",
    f"{GAUSSIAN} --steps -1 --delta 1e-5": "--steps must be at least 0",
    f"{GAUSSIAN} --delta 1e-5 --tol 0": "--tol must lie strictly between 0 and 1",
    f"{GAUSSIAN} --delta 1e-5 --tol 0.1 --accountant rdp": "the accountant 'rdp' has none",
    f"{GAUSSIAN} --delta 1e-5 --plot picture.bmp": "written as .png, .svg or .pdf",
    f"{GAUSSIAN} --delta 1e-5 --plot no/such/folder/x.png": "its folder does not exist",
    f"{GAUSSIAN} --epsilon 1 --plot x.png --picture ladder": "ask with --delta",
    "price --json-loss missing.json --delta 1e-5": "cannot read 'missing.json'",
    "price --json-loss broken.json --delta 1e-5": "'broken.json' is not JSON",
    "price --json-loss binary.json --delta 1e-5": "'binary.json' is not a text file",
    "price --json-loss other.json --delta 1e-5": 'expected an object with "privet": 1',
    "price --json-loss negative.json --delta 1e-5": "cannot be read: epsilon must be at least 0",
    "price --json-loss future.json --delta 1e-5": "unknown to this version",
    "price gaussian --json-loss negative.json --delta 1e-5": "brings its own kind",
    "calibrate gaussian --epsilon 1": "calibrate needs --delta",
    "calibrate gaussian --delta 1e-5": "give exactly one of",
    "calibrate gaussian --delta 1e-5 --epsilon 1 --advantage 0.1": "give exactly one of",
    "calibrate gaussian --delta 1e-5 --tpr 0.1": "tpr and fpr together",
    "calibrate gaussian --epsilon -1 --delta 1e-5": "epsilon must be greater than 0",
    "calibrate gaussian --noise-multiplier 1 --epsilon 1 --delta 1e-5": "is what calibrate looks for",
    "calibrate --json-loss negative.json --epsilon 1 --delta 1e-5": "name the kind",
}

FILES = {
    "broken.json": b"{",
    "binary.json": b"\x89PNG\xff\xfe",
    "other.json": b'{"kind": "pure"}',
    "negative.json": b'{"privet": 1, "kind": "pure", "unit": {}, "epsilon": -1}',
    "future.json": b'{"privet": 1, "kind": "from the future", "unit": {}, "x": 1}',
}


@pytest.mark.parametrize("command", REFUSED)
def test_what_privet_refuses_is_one_clear_line(privet, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    outcome = privet(*command.split())
    assert outcome.code == 2
    assert REFUSED[command] in outcome.err
    assert outcome.err.startswith("privet: ")
    assert outcome.err.count("\n") == 1
    assert "ladder" in command or outcome.out == ""


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("price quantum --delta 1e-5", "quantum"),
        (f"{GAUSSIAN} --delta small", "--delta"),
        (f"{GAUSSIAN} --delta 1e-5 --steps 1.5", "not a whole number"),
        (f"{GAUSSIAN} --delta 1e-5 --steps many", "not a whole number"),
        (f"{GAUSSIAN} --delta 1e-5 --accountant crystal-ball", "crystal-ball"),
        (f"{GAUSSIAN} --delta 1e-5 --relation cousin", "cousin"),
        (f"{GAUSSIAN} --deltas 1e-5", "--deltas"),
        ("prices", "prices"),
    ],
)
def test_what_cannot_be_parsed_is_a_usage_error(privet, command, hint):
    outcome = privet(*command.split())
    assert outcome.code == 2
    assert "Usage: privet" in outcome.err
    assert hint in outcome.err
    assert "Traceback" not in outcome.err
