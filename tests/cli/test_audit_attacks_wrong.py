"""Wrong files and numbers through `privet audit model | exposure | table | synthetic`: one sentence each, before anything
private is shown, with code 2, and no word of the data in it."""

import numpy as np
import pytest

from privet import learn
from tests.firsts import slow

SCHEMA = (
    '[columns.age]\nkind = "int"\nlower = 0\nupper = 110\n[columns.sex]\nkind = "category"\nvalues = ["f", "m"]\n'
    '[columns.zip]\nkind = "int"\nlower = 0\nupper = 999\n[columns.ill]\nkind = "int"\nlower = 0\nupper = 1\n'
)


def people(many, seed):
    rng = np.random.default_rng(seed)
    rows = [
        f"{rng.integers(20, 80)},{'fm'[rng.integers(2)]},{rng.integers(100, 999)},{rng.integers(2)}"
        for _ in range(many)
    ]
    return "\n".join(["age,sex,zip,ill", *rows]) + "\n"


def scores(*more):
    rng = np.random.default_rng(1)
    plain = [*(f"{x},0" for x in rng.normal(50, 4, 60)), *(f"{x},1" for x in rng.normal(20, 1, 5))]
    return "\n".join(["score,inserted", *plain, *more]) + "\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    where = tmp_path_factory.mktemp("wrong")
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, (80, 2)) / 2
    y = (x[:, 0] > 0).astype(int)
    learn.save(
        learn.LogisticRegression(epsilon=1.0, row_norm=1.0, classes=[0, 1]).fit(x[:40], y[:40]), where / "model.json"
    )
    rows = [f"{a},{b},{c}" for (a, b), c in zip(x, y, strict=True)]
    texts = {
        "t.toml": SCHEMA,
        "other.toml": '[columns.height]\nkind = "float"\nlower = 0\nupper = 2\n',
        "broken.toml": "[columns.age\n",
        "real.csv": people(60, 0),
        "made.csv": people(60, 1),
        "held.csv": people(60, 2),
        "head.csv": "age,sex,zip,ill\n",
        "twice.csv": "age,age,sex,zip,ill\n1,2,f,200,1\n",
        "cols.csv": "a,b\n1,2\n",
        "ragged.csv": "age,sex,zip,ill\n30,f,200,1,9\n40,m,300\n",
        "comma.csv": "age;sex;zip;ill\n30,5;f;200;1\n40,5;m;300;0\n",
        "s_semicolon.csv": scores().replace(",", ";"),
        "empty.csv": "",
        "broken.json": '{"SECRET": 1}',
        "in.csv": "\n".join(["a,b,y", *rows[:40]]),
        "out.csv": "\n".join(["a,b,y", *rows[40:]]),
        "none.csv": "a,b,y\n",
        "nan.csv": "a,b,y\nnan,.1,1\n.1,,0\n",
        "inf.csv": "a,b,y\ninf,.1,1\n.1,-inf,0\n",
        "label.csv": "a,b,y\n.1,.2,SECRET\n",
        "s.csv": scores(),
        "s_two.csv": scores("3,2"),
        "s_nan.csv": scores("nan,1"),
        "s_text.csv": scores("SECRET,1"),
        "s_short.csv": scores("5"),
        "s_in.csv": "score,inserted\n1,1\n",
        "s_out.csv": "score,inserted\n1,0\n",
        "s_none.csv": "score,inserted\n",
    }
    for name, text in texts.items():
        (where / name).write_text(text)
    (where / "bytes.csv").write_bytes(b"\xff\xfe\x80SECRET" * 9)
    return where


TABLE = ("table", "real.csv", "--schema", "t.toml", "--quasi", "age,sex")
SYNTHETIC = ("synthetic", "real.csv", "made.csv", "--schema", "t.toml", "--holdout", "held.csv", "--secret", "ill")
EXPOSURE = ("exposure", "s.csv", "--space", "1e9")
MODEL = ("model", "model.json", "--members", "in.csv", "--others", "out.csv", "--label", "y")
TESTED = (*EXPOSURE, "--bits", "3", "--epsilon", "1")


def instead(given, old, new):
    return tuple(new if each == old else each for each in given)


WRONG = [
    (instead(TABLE, "real.csv", "missing.csv"), "there is no file"),
    (instead(TABLE, "real.csv", "head.csv"), "no rows"),
    (instead(TABLE, "real.csv", "cols.csv"), "no column 'age'"),
    (instead(TABLE, "real.csv", "twice.csv"), "each once"),
    (instead(TABLE, "t.toml", "other.toml"), "no column 'age'"),
    (instead(TABLE, "t.toml", "broken.toml"), "no TOML"),
    (instead(TABLE, "age,sex", "age,height"), "no column 'height'"),
    (instead(TABLE, "age,sex", ","), "one column or more"),
    ((*TABLE, "--sensitive", "age"), "no quasi-identifier"),
    ((*TABLE, "--html", "no/r.html"), "cannot write 'r.html'"),
    ((*TABLE, "--certificate", "no/c.json"), "cannot write 'c.json'"),
    ((*TABLE, "--sign", "no.key"), "a private key is"),
    *(
        (instead(SYNTHETIC, which, wrong), told)
        for which in ("real.csv", "made.csv", "held.csv")
        for wrong, told in [
            ("missing.csv", "there is no file"),
            ("head.csv", "need a row each at least"),
            ("cols.csv", "no column 'age'"),
            ("ragged.csv", "all lines have one length"),
            ("comma.csv", "column 'age' of 'comma.csv' has words alone"),
            ("twice.csv", "each once"),
            ("empty.csv", "no column 'age'"),
            ("bytes.csv", "cannot be read"),
        ]
    ),
    (instead(SYNTHETIC, "t.toml", "other.toml"), "no column 'height'"),
    (instead(SYNTHETIC, "t.toml", "bytes.csv"), "no text (UTF-8)"),
    (instead(SYNTHETIC, "held.csv", "real.csv"), "the very members"),
    (instead(SYNTHETIC, "held.csv", "made.csv"), "the very synthetic rows"),
    (instead(SYNTHETIC, "ill", "height"), "--secret must be"),
    ((*SYNTHETIC, "--known", "height"), "--known must be"),
    ((*SYNTHETIC, "--guesses", "0"), "--guesses must be"),
    ((*SYNTHETIC, "--alpha", "1"), "--alpha must"),
    *(
        (instead(EXPOSURE, "s.csv", wrong), told)
        for wrong, told in [
            ("missing.csv", "cannot read"),
            ("bytes.csv", "no text (UTF-8)"),
            ("cols.csv", "the columns score and inserted"),
            ("s_semicolon.csv", "split at commas"),
            ("s_two.csv", "inserted (0 or 1)"),
            ("s_text.csv", "inserted (0 or 1)"),
            ("s_short.csv", "inserted (0 or 1)"),
            ("s_nan.csv", "not NaN"),
            ("s_in.csv", "needs secrets (inserted 1) and candidates"),
            ("s_out.csv", "needs secrets (inserted 1) and candidates"),
            ("s_none.csv", "needs secrets (inserted 1) and candidates"),
        ]
    ),
    *((instead(EXPOSURE, "1e9", space), "--space must be") for space in ("0", "-1", "1", "nan", "inf", "1e308")),
    (instead(EXPOSURE, "1e9", "10"), "more references than candidates"),
    ((*EXPOSURE, "--epsilon", "1"), "give --bits"),
    *((instead(TESTED, "3", bits), "--bits must") for bits in ("0", "-1", "nan", "1000")),
    ((*TESTED, "--delta", "2"), "--delta must"),
    ((*TESTED, "--alpha", "0"), "--alpha must"),
    ((*TESTED, "--copies", "0"), "--copies must"),
    ((*TESTED, "--claim", "{}"), "say what is claimed"),
    ((*TESTED, "--html", "no/r.html"), "cannot write 'r.html'"),
    ((*TESTED, "--sign", "no.key"), "a private key is"),
    (instead(MODEL, "model.json", "missing.json"), "cannot be read"),
    (instead(MODEL, "model.json", "broken.json"), "does not hold a model"),
    *(
        (instead(MODEL, which, wrong), told)
        for which in ("in.csv", "out.csv")
        for wrong, told in [
            ("missing.csv", "there is no file"),
            ("none.csv", "'none.csv' has no records"),
            ("nan.csv", "missing or infinite in the column 'a'"),
            ("inf.csv", "missing or infinite in the column 'a'"),
            ("label.csv", "labels that the model does not know"),
            ("bytes.csv", "cannot be read"),
        ]
    ),
    (instead(MODEL, "out.csv", "in.csv"), "are on both sides"),
    (instead(MODEL, "y", "z"), "--label names the column"),
    ((*MODEL, "--epsilon", "-1"), "--epsilon must"),
    ((*MODEL, "--sign", "no.key"), "a private key is"),
    ((*MODEL, "--certificate", "no/c.json"), "cannot write 'c.json'"),
]


# Each is read by one reader of arguments and files: every other one in every run.
@pytest.mark.parametrize(
    ("given", "wanted"),
    [slow(each) if i % 2 else each for i, each in enumerate(WRONG)],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_what_is_wrong_is_said_in_one_sentence_and_nothing_else_is(privet, home, monkeypatch, given, wanted):
    monkeypatch.chdir(home)
    done = privet("audit", *given)
    assert (done.code, done.out) == (2, "")
    lines = done.err.strip().splitlines()
    assert wanted in " ".join(done.err.split())
    assert sum(line.startswith("privet: ") for line in lines) == 1
    assert "SECRET" not in done.err
    assert "Warning" not in done.err


ODD = [
    (instead(TABLE, "real.csv", "one.csv"), 0, "Alone with theirs"),
    (instead(SYNTHETIC, "real.csv", "one.csv"), 0, "Leaks about people in the data"),
    (instead(SYNTHETIC, "made.csv", "one.csv"), 0, "Leaks about people in the data"),
    (instead(SYNTHETIC, "held.csv", "one.csv"), 0, "Leaks about people in the data"),
    (instead(EXPOSURE, "s.csv", "s_equal.csv"), 0, "mean exposure 0 bits, largest 0 "),
    (instead(MODEL, "in.csv", "same.csv"), 0, "Area under the curve"),
    (instead(MODEL, "in.csv", "huge.csv"), 0, "Area under the curve"),
]


@pytest.mark.parametrize(
    ("given", "code", "wanted"), ODD, ids=lambda each: " ".join(each) if isinstance(each, tuple) else ""
)
def test_what_is_odd_but_right_is_answered(privet, home, monkeypatch, given, code, wanted):
    """One row, equal scores, numbers that no model was made for."""
    (home / "one.csv").write_text(people(1, 3))
    (home / "s_equal.csv").write_text("\n".join(["score,inserted", *["5,0"] * 50, *["5,1"] * 5]))
    (home / "same.csv").write_text("\n".join(["a,b,y", *[".1,.2,1"] * 9]))
    (home / "huge.csv").write_text("a,b,y\n1e308,1e308,1\n-1e308,1e300,0\n")
    monkeypatch.chdir(home)
    done = privet("audit", *given)
    assert (done.code, done.err) == (code, "")
    assert wanted in " ".join(done.out.split())
