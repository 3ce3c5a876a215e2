"""`privet audit model`, `exposure` and `table` as a custodian meets them."""

import json

import numpy as np
import pytest

from privet import audit, learn
from privet.cli.audit.shared import columns_of


@pytest.fixture
def people(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["age,sex,zip,ill"]
    lines += [
        f"{rng.integers(20, 80)},{'fm'[rng.integers(2)]},{rng.integers(100, 104)},{rng.integers(2)}" for _ in range(200)
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "t.toml").write_text(
        '[columns.age]\nkind = "int"\nlower = 0\nupper = 110\n[columns.sex]\nkind = "category"\nvalues = ["f", "m"]\n'
        '[columns.zip]\nkind = "int"\nlower = 0\nupper = 999\n[columns.ill]\nkind = "int"\nlower = 0\nupper = 1\n'
    )
    return tmp_path


def test_the_risk_of_a_table(privet, people):
    where = (people / "t.csv", "--schema", people / "t.toml", "--quasi", "age,sex,zip")
    done = privet(
        "audit", "table", *where, "--sensitive", "ill", "--html", people / "r.html", "--plot", people / "r.svg"
    )
    assert done.code == 0
    for words in ("Alone with theirs", "not releasable", "not a guarantee", "private release"):
        assert words in " ".join(done.out.split())
    assert "not refuted" not in done.out  # no claim was tested
    assert done.out.count("not a guarantee") == 1
    page = (people / "r.html").read_text()
    assert "not releasable" in page
    assert "No verdict" in page
    assert "Not refuted." not in page
    assert (people / "r.svg").stat().st_size > 1000
    document = json.loads(privet("audit", "table", *where, "--json").out)
    assert document["kind"] == "table"
    assert document["evidence"]["figures"]["rows"] == [200]
    assert audit.Certificate.from_json(json.dumps(document)).follows()
    assert "were looked at" in privet("audit", "table", *where, "--sets").out


def test_a_column_that_is_not_there(privet, people):
    done = privet("audit", "table", people / "t.csv", "--schema", people / "t.toml", "--quasi", "height")
    assert (done.code, done.out) == (2, "")
    assert "no column 'height'" in done.err


@pytest.fixture
def scores(tmp_path):
    rng = np.random.default_rng(1)
    lines = ["score,inserted", *(f"{x},0" for x in rng.normal(50, 4, 2000)), *(f"{x},1" for x in rng.normal(20, 1, 20))]
    (tmp_path / "scores.csv").write_text("\n".join(lines))
    return tmp_path / "scores.csv"


def test_the_exposure_of_secrets(privet, scores, tmp_path):
    done = privet("audit", "exposure", scores, "--space", "1e9", "--plot", tmp_path / "e.png")
    assert done.code == 0
    assert "mean exposure" in done.out
    document = json.loads(privet("audit", "exposure", scores, "--space", "1e9", "--json").out)
    assert document["mean"] == pytest.approx(np.log2(2001))
    assert json.loads(privet("audit", "exposure", scores, "--space", "1e9", "--extrapolate", "--json").out)["mean"] > 15


def test_a_claim_is_violated_or_not(privet, scores, tmp_path):
    asked = ("audit", "exposure", scores, "--space", "1e9", "--bits", 8)
    violated = privet(*asked, "--epsilon", "0.5", "--certificate", tmp_path / "c.json")
    assert violated.code == 1
    assert "violated" in violated.out
    assert privet("audit", "verify", tmp_path / "c.json").code == 1
    assert privet(*asked, "--epsilon", "9").code == 0
    bound = privet(*asked)
    assert bound.code == 0
    assert "epsilon is at least" in bound.out
    assert privet("audit", "exposure", scores, "--space", "1e9", "--epsilon", 1).code == 2


def test_an_attack_on_a_model(privet, tmp_path):
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, (400, 2)) / 2
    y = (x[:, 0] > 0).astype(int)
    model = learn.LogisticRegression(epsilon=1.0, row_norm=1.0, classes=[0, 1]).fit(x[:200], y[:200])
    learn.save(model, tmp_path / "model.json")
    for name, rows in (("in", slice(0, 200)), ("out", slice(200, 400))):
        lines = ["a,b,y", *(f"{a},{b},{c}" for (a, b), c in zip(x[rows], y[rows], strict=True))]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines))
    files = ("--members", tmp_path / "in.csv", "--others", tmp_path / "out.csv", "--label", "y")
    done = privet("audit", "model", tmp_path / "model.json", *files, "--plot", tmp_path / "roc.png")
    assert done.code == 0
    for words in ("Area under the curve", "the price allows", "real people"):
        assert words in done.out
    document = json.loads(privet("audit", "model", tmp_path / "model.json", *files, "--made-up", "--json").out)
    assert document["kind"] == "membership"
    assert document["claim"] is not None
    assert not any("real people" in note for note in document["notes"])
    assert privet("audit", "model", tmp_path / "model.json", *files[:4]).code == 2


@pytest.fixture
def attacked(tmp_path):
    """A model of 150 records, and files of those, of as many others, and of 300 strangers."""
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, (600, 2)) / 2
    y = (x[:, 0] + rng.normal(0, 0.2, 600) > 0).astype(int)
    model = learn.LogisticRegression(epsilon=1.0, row_norm=1.0, classes=[0, 1]).fit(x[:150], y[:150])
    learn.save(model, tmp_path / "model.json")
    for name, rows in (("in", slice(0, 150)), ("out", slice(150, 300)), ("more", slice(300, 600))):
        lines = ["a,b,y", *(f"{a},{b},{c}" for (a, b), c in zip(x[rows], y[rows], strict=True))]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines))
    return tmp_path


def test_thresholds_that_are_learned_on_strangers(privet, attacked):
    files = ("--members", attacked / "in.csv", "--others", attacked / "out.csv", "--label", "y", "--made-up")
    learned = ("--attack", "quantile", "--strangers", attacked / "more.csv", "--fpr", 0.05)
    out = ("--certificate", attacked / "c.json", "--html", attacked / "p.html", "--plot", attacked / "roc.png")
    done = privet("audit", "model", attacked / "model.json", *files, *learned, *out)
    assert done.code == 0, done.err
    assert "conformal quantile" in done.out
    assert "for 5% of false positives" in " ".join(done.out.split())
    assert "the price allows" in done.out
    assert "Attack: conformal quantile" in (attacked / "p.html").read_text()
    held = audit.Certificate.from_json((attacked / "c.json").read_text())
    assert held.kind == "membership"
    assert held.follows()
    plain = privet("audit", "model", attacked / "model.json", *files, "--json")
    assert "Attack: loss threshold" in json.loads(plain.out)["notes"][0]


@pytest.mark.parametrize(
    "more", [("--attack", "quantile"), ("--strangers", "more.csv"), ("--fpr", "0.1"), ("--attack", "lira")]
)
def test_an_attack_that_lacks_or_has_what_it_does_not_use(privet, attacked, more):
    given = [attacked / each if each.endswith(".csv") else each for each in more]
    files = ("--members", attacked / "in.csv", "--others", attacked / "out.csv", "--label", "y")
    done = privet("audit", "model", attacked / "model.json", *files, *given)
    assert (done.code, done.out) == (2, "")


def test_the_help_says_where_the_stronger_attacks_are(privet):
    told = " ".join(privet("audit", "model", "--help").out.split())
    assert "audit.lira" in told
    assert "from Python" in told


@pytest.mark.parametrize(
    ("text", "wanted"), [("a,b,y\nsecret,1,0\n", "words in the column 'a'"), ("y\n1\n", "label alone")]
)
def test_columns_that_no_model_reads_are_refused_without_their_words(privet, attacked, text, wanted):
    (attacked / "odd.csv").write_text(text)
    files = ("--members", attacked / "odd.csv", "--others", attacked / "out.csv", "--label", "y")
    done = privet("audit", "model", attacked / "model.json", *files)
    assert (done.code, done.out) == (2, "")
    assert wanted in done.err
    assert "secret" not in done.err


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("b,a,y\n.1,.2,1\n", "the same ones in the same order"),
        ("a,y\n.1,1\n", "the same ones in the same order"),
        ("a,b,y\n.1,.2,7\n", "labels that the model does not know"),
        ("a,b,y\n.1,.2,\n", "labels that the model does not know"),
    ],
)
def test_files_that_are_not_alike_are_refused(privet, attacked, text, wanted):
    (attacked / "odd.csv").write_text(text)
    files = ("--members", attacked / "in.csv", "--others", attacked / "odd.csv", "--label", "y")
    done = privet("audit", "model", attacked / "model.json", *files)
    assert (done.code, done.out) == (2, "")
    assert wanted in " ".join(done.err.split())


def test_a_model_reads_as_many_columns_as_it_was_fitted_to(privet, attacked):
    (attacked / "wide.csv").write_text("a,b,c,y\n.1,.2,.3,1\n.1,.3,.3,0\n")
    files = ("--members", attacked / "wide.csv", "--others", attacked / "wide.csv", "--label", "y")
    done = privet("audit", "model", attacked / "model.json", *files)
    assert (done.code, done.out) == (2, "")


def test_a_synthetic_table(privet, people, tmp_path):
    rng = np.random.default_rng(3)

    def table(name):
        place, ill = rng.integers(100, 999, 250), rng.integers(0, 2, 250)
        lines = ["age,sex,zip,ill", *(f"{p % 60 + 20},{'fm'[p % 2]},{p},{i}" for p, i in zip(place, ill, strict=True))]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        return tmp_path / name

    real, made, others = table("real.csv"), table("made.csv"), table("others.csv")
    given = ("--schema", people / "t.toml", "--holdout", others, "--secret", "ill", "--guesses", 100)
    copied = privet("audit", "synthetic", real, real, *given, "--plot", tmp_path / "rates.png")
    assert copied.code == 1
    assert "Leaks about people in the data: " in copied.out
    assert "inference" in copied.out.splitlines()[-1]
    fresh = privet("audit", "synthetic", real, made, *given, "--json")
    assert fresh.code == 0
    document = json.loads(fresh.out)
    assert (document["accused"], document["releasable"]) == ([], False)
    assert privet("audit", "synthetic", real, made, *given[:4], "--secret", "height").code == 2


def test_records_on_both_sides_are_left_out_and_said(privet, tmp_path):
    rng = np.random.default_rng(3)
    x = rng.uniform(-1.0, 1.0, size=(80, 2))
    y = (x[:, 0] > 0).astype(int)
    model = learn.LogisticRegression(epsilon=1.0, delta=1e-6, row_norm=2.0, classes=[0, 1]).fit(x, y)
    learn.save(model, tmp_path / "m.json")
    for name, part in (("in", slice(0, 50)), ("out", slice(40, 80))):
        lines = [f"{a},{b},{label}" for (a, b), label in zip(x[part], y[part], strict=True)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["a,b,ill", *lines]))
    where = (tmp_path / "m.json", "--members", tmp_path / "in.csv", "--others", tmp_path / "out.csv", "--label", "ill")
    done = privet("audit", "model", *where)
    assert done.code == 0, done.err
    assert "20 records are equal to one on the other side" in done.out
    assert json.loads(privet("audit", "model", *where, "--json").out)["kind"] == "membership"


def test_yes_and_no_in_a_file_are_the_words_of_the_schema(privet, tmp_path):
    """Readers of CSV files take a column of yes and no for one of 1 and 0, which no category of the schema is."""
    rng = np.random.default_rng(4)
    for name, rows in (("in", 60), ("out", 60)):
        ages = rng.integers(18, 90, rows)
        lines = [f"{age},{'yes' if age > 50 else 'no'}" for age in ages]
        (tmp_path / f"{name}.csv").write_text("\n".join(["age,ill", *lines]))
    (tmp_path / "t.toml").write_text(
        '[columns]\nage = {kind = "int", lower = 18, upper = 90}\nill = {kind = "category", values = ["no", "yes"]}\n'
    )
    privet("ledger", "init", tmp_path / "l", "--epsilon", "9", "--delta", "1e-5")
    pay = ("--epsilon", "8", "--delta", "1e-6", "--ledger", tmp_path / "l", "--out", tmp_path / "m.json")
    fitted = privet("fit", tmp_path / "in.csv", "--schema", tmp_path / "t.toml", "--target", "ill", *pay)
    assert fitted.code == 0, fitted.err
    done = privet(
        "audit", "model", tmp_path / "m.json", "--members", tmp_path / "in.csv", "--others", tmp_path / "out.csv"
    )
    assert done.code == 0, done.err
    assert "All scores are equal" not in done.out


@pytest.mark.parametrize("marks", [("1", "0"), ("1.0", "0.0"), ("True", "False")])
def test_scores_as_excel_and_pandas_write_them(privet, scores, tmp_path, marks):
    wanted = privet("audit", "exposure", scores, "--space", "1e9").out
    yes, no = marks
    lines = [line[:-1] + (yes if line[-1] == "1" else no) for line in scores.read_text().splitlines()[1:]]
    (tmp_path / "theirs.csv").write_text("\n".join(["score,inserted", *lines]) + "\n", encoding="utf-8-sig")
    done = privet("audit", "exposure", tmp_path / "theirs.csv", "--space", "1e9")
    assert (done.code, done.out.replace("theirs.csv", "scores.csv")) == (0, wanted)


def test_columns_that_are_named_by_numbers(tmp_path):
    (tmp_path / "t.csv").write_text("1,2\n3,4\n5,6\n")
    assert columns_of(tmp_path / "t.csv", {"1": True})["1"].tolist() == [3.0, 5.0]


def test_what_is_missing_in_a_file(tmp_path):
    (tmp_path / "t.csv").write_text("age,ill,sex\n30,yes,\n,no,f\n50,,m\n")
    read = columns_of(tmp_path / "t.csv", {"age": True, "ill": False, "sex": False})
    assert np.array_equal(read["age"], [30.0, np.nan, 50.0], equal_nan=True)
    assert read["ill"].tolist() == ["yes", "no", None]
    assert read["sex"].tolist() == [None, "f", "m"]
    assert columns_of(tmp_path / "t.csv")["ill"].tolist() == ["yes", "no", None]
    assert columns_of(tmp_path / "t.csv", {"ill": True})["ill"].tolist()[:2] == [1.0, 0.0]
