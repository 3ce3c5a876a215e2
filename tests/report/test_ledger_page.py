"""The page of a ledger, its rows and its CSV: everything is told, nothing runs, nothing is loaded."""

import csv
import html.parser
import io
import re
from dataclasses import replace

import pytest

import privet as pv
from privet import report
from privet.privacy import GaussianLoss, LaplaceLoss, PureLoss, Unit
from privet.report import page

NASTY = '<script>alert("x")</script>'


@pytest.fixture
def ledger():
    made = pv.Ledger.create("memory:", budget=pv.Budget(3.0, 1e-6), dataset=f"visits {NASTY}")
    made.add_analyst(f"ann {NASTY}", budget=pv.Budget(1.0, 1e-6))
    ward = made.open_partition(f"ward {NASTY}", [f"a {NASTY}", "b"])
    laplace = pv.mechanisms.Laplace.for_budget(epsilon=0.25, sensitivity=1.0)
    made.release(laplace, 100, analyst=f"ann {NASTY}", purpose=f"how many {NASTY}", key=f"k {NASTY}")
    made.reserve(PureLoss(0.1), part=ward["b"], about=f"May {NASTY}", purpose="=1+2")
    made.reserve(GaussianLoss(100.0), at=1e-9)
    made.raise_budget(pv.Budget(4.0, 1e-6), reason=f"board {NASTY}")
    return made


class Tags(html.parser.HTMLParser):
    """Every tag and attribute of a page, and whether what is opened is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "br", "rect"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_tells_everything(ledger):
    page = report.ledger_page(ledger)
    plain = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())
    for words in (
        "Epsilon 4 in all, for one person (one record of the data), with delta 1e-06.",
        ledger.remaining.headline.partition(" (")[0],
        "adding or removing one record",
        "What it means for one person",
        "at most 98.3%",
        "how many",
        "epsilon 0.25",
        "at delta 1e-09",
        "(data: May",
        "board",
        "2 paid without a recorded release: entries 6, 7",
        "any of 3 with delta split",
        "docs/proofs/ledger/any-of.md",
        "Trust model",
        "word of the caller",
        "What is not covered",
        "1 of 1 recorded releases drew from the secure source",
        "privet ",
        "none was given to compare with",
        "chain and sums agree",
        "privet ledger verify ledger.json",
        ledger.entries()[-1].hash.hex(),
    ):
        assert words in plain, words


def test_the_page_runs_nothing_and_loads_nothing(ledger):
    page = report.ledger_page(ledger)
    assert NASTY not in page
    tags = Tags(page)
    assert tags.open == []
    assert {tag for tag, _ in tags.seen} <= {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "strong", "table", "tr", "td", "th", "ul", "li",
        "svg", "rect", "polyline", "text", "figure", "figcaption", "pre", "code",
    }  # fmt: skip
    names = {name for _, attributes in tags.seen for name in attributes}
    assert not names & {"src", "href", "onload", "onclick", "onerror"}
    assert "http" not in re.sub(r"http-equiv", "", page)
    assert "default-src 'none'" in page


def test_twin_without_escaping_is_caught(ledger, monkeypatch):
    templates = page._templates()
    monkeypatch.setattr(page, "_templates", lambda: templates.overlay(autoescape=False))
    assert NASTY in report.ledger_page(ledger)


@pytest.mark.parametrize(
    "budget", [pv.Budget(1.0), pv.Budget(rho=0.1), pv.Budget(mu=0.5, delta=1e-6), pv.Budget(3.0, 1e-6)], ids=str
)
def test_every_budget_has_a_page_from_its_first_day(budget):
    ledger = pv.Ledger.create("memory:", budget=budget)
    assert "Nothing has been asked yet" in report.ledger_page(ledger)
    ledger.reserve(LaplaceLoss(50.0))
    assert "<polyline" in report.ledger_page(ledger)
    assert "inf" not in re.sub(r"<style>.*?</style>", "", report.ledger_page(ledger), flags=re.S).replace("info", "")


def test_an_odometer_has_a_page_too():
    ledger = pv.Ledger.create("memory:", odometer=pv.accounting.Odometer(0.01, delta=1e-6))
    ledger.reserve(GaussianLoss(10.0))
    assert "refuses nothing" in report.ledger_page(ledger)


def test_a_ledger_that_does_not_verify_says_so_at_the_top(ledger, monkeypatch):
    def tampered(self):
        raise pv.errors.LedgerTampered(f"entry 3 was changed {NASTY}")

    monkeypatch.setattr(type(ledger), "verify", tampered)
    page = report.ledger_page(ledger)
    assert "FAILED: entry 3 was changed" in page
    assert 'class="verdict alarm"' in page
    assert NASTY not in page


def test_rows_and_csv(ledger):
    rows = report.ledger_log(ledger)
    assert [row.kind for row in rows] == ["open", "analyst", "partition", "reserve", "reserve", "reserve", "budget"]
    assert [row.price for row in report.ledger_log(ledger, acts=False)] == [
        "epsilon 0.25",
        "epsilon 0.1",
        "epsilon 0.04887",
    ]
    assert rows[3].recorded == 5
    assert "raised: board" in rows[-1].what
    read = list(csv.DictReader(io.StringIO(report.ledger_csv(rows))))
    assert len(read) == len(rows)
    assert read[4]["purpose"] == "'=1+2"  # no spreadsheet runs it
    assert read[3]["purpose"] == f"how many {NASTY}"
    assert float(read[3]["cost: basic epsilon"]) == 0.25
    assert read[5]["at"] == "1e-09"


def test_a_person_is_named_as_the_unit():
    unit = Unit(person="patient_id")
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0), unit=unit)
    assert "patient_id" in report.ledger_page(ledger)


def test_every_text_of_a_certificate_is_escaped():
    counted = pv.audit.mechanism(pv.mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0), runs=2000)
    sound = pv.audit.certify(counted)
    texts = [name for name in ("name", "left", "right", "event", "selection", "created") if hasattr(sound, name)]
    broken = replace(sound, **dict.fromkeys(texts, NASTY), notes=(NASTY,), versions={NASTY: NASTY})
    made = Tags(report.audit_page(broken))
    assert len(texts) >= 5
    assert made.open == []
    assert not {"script", "img", "b"} & {tag for tag, _ in made.seen}
    assert NASTY not in report.audit_page(broken)


def test_markup_and_quotes_do_not_leave_their_place():
    """Attacks on tags, attributes, the style sheet, the template language and the end of the page."""
    attacks = (
        "</td><td>",
        '" onload="alert(1)',
        "{{ 7 * 7 }}",
        "{% for x in y %}",
        "</style><style>*{}",
        "</body>",
        "&lt;",
    )
    made = pv.Ledger.create("memory:", budget=pv.Budget(3.0, 1e-6), dataset="".join(attacks))
    for attack in attacks:
        made.reserve(PureLoss(0.1), purpose=attack, about=attack)
    text = report.ledger_page(made)
    tags = Tags(text)
    assert tags.open == []
    assert not [name for _, attributes in tags.seen for name in attributes if name.startswith("on")]
    assert "49" not in re.findall(r"<td>(\d+)</td>", text)
    assert "{{ 7 * 7 }}" in text
    assert text.count("</body>") == text.count("</style>") == 1


def asked() -> tuple[pv.Table, pv.Ledger]:
    table = pv.Table(
        {"age": [31, 70, 987_654] * 20, "ward": ["A", "B", "<b>"] * 20, "who": range(60)},
        columns={"age": pv.Int(0, 110), "ward": pv.Category(["A", "B"])},
        unit=pv.Person("who", max_rows=2),
        name="visits",
    )
    return table, pv.Ledger.create("memory:", epsilon=3.0, unit=table.unit, dataset="visits")


def test_the_page_begins_with_the_promise_in_words():
    _, ledger = asked()
    text = re.sub(r"<[^>]*>", " ", report.ledger_page(ledger))
    assert "Epsilon 3 in all, for one person (all rows with the same who)." in " ".join(text.split())
    for budget, said in (
        (pv.Budget(rho=0.1), "Rho 0.1 in all, for one person"),
        (pv.Budget(mu=0.5), "Mu 0.5 in all, for one person"),
        (pv.Budget(rule=pv.accounting.GdpFilter(1.0, delta=1e-5)), "Epsilon 1 in all, for one person"),
    ):
        assert said in report.ledger_page(pv.Ledger.create("memory:", budget=budget))


def test_the_page_lists_the_questions_in_public_words():
    table, ledger = asked()
    ledger.release(table.where(table["age"] >= 65).group_by("ward").agg(n=pv.count(), m=pv.mean("age")), epsilon=0.25)
    ledger.release(table.quantiles("age", [0.5]), epsilon=0.25, purpose="how old")
    ledger.release(pv.batch(a=table.marginals("ward", "age"), b=table.agg(q=pv.quantile("age", 0.9))), epsilon=0.25)
    ledger.release(table.top_k("ward", 1), epsilon=0.25)
    shown = html.unescape(report.ledger_page(ledger))
    for words in (
        "n: count, m: mean of age by ward, of visits, where age >= 65",
        "how old. histogram of age, of visits",
        "a: (marginal of ward, age, of visits); b: (q: quantile of age (q 0.9), of visits)",
        "top of ward, of visits",
    ):
        assert words in shown, words
    assert "987" not in shown.partition("Anchor and verification")[0]
    assert [event.question is None for event in ledger.history()] == [True, False, False, False, False]
    assert "m: mean of age" in str(ledger.history()[1])
    assert "m: mean of age" in str(ledger.explain(2))
    assert "how old" in str(ledger.history()[2])
    assert ledger.verify().entries == 9


def test_the_question_is_no_part_of_the_request_that_a_key_stands_for(monkeypatch):
    """A key that an older version wrote without these words is answered all the same."""
    table, ledger = asked()
    query = table.agg(n=pv.count())
    with monkeypatch.context() as patch:
        patch.setattr("privet.ledger.spending.words_of", lambda what: None)
        first = ledger.release(query, epsilon=0.25, key="how many")
    again = ledger.release(query, epsilon=0.25, key="how many")
    assert again.stored is not None
    assert again.value["n"] == first.value["n"]


def test_a_long_question_is_cut():
    table, ledger = asked()
    many = {f"count_{i:04}": pv.count() for i in range(100)}
    ledger.release(table.group_by("ward").agg(**many), epsilon=0.25)
    assert len(ledger.history()[-1].question) == 304


@pytest.mark.parametrize("charges", [1, 2, 5])
def test_the_curve_is_right_at_charge_one(charges):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    for _ in range(charges):
        ledger.reserve(PureLoss(0.125))
    drawn = re.search(r'<polyline points="([^"]*)"', report.ledger_page(ledger))[1]
    points = [tuple(map(float, each.split(","))) for each in drawn.split()]
    left, top, wide, high = 44, 10, 700, 150
    heights = [((x - left) / wide, 1.0 - (y - top) / high) for x, y in points]
    for charge in range(1, charges + 1):
        middle = (charge - 0.5) / charges  # between its place and that of the next
        before = [share for x, share in heights if x <= middle + 1e-9]
        assert before[-1] == pytest.approx(0.125 * charge, abs=1e-3)
    assert heights[-1] == pytest.approx((1.0, 0.125 * charges), abs=1e-3)


@pytest.mark.parametrize("name", ["ledger", "audit", "synth"])
def test_every_page_has_a_dark_mode_and_no_fixed_colour(name):
    source = page._templates().loader.get_source(page._templates(), f"{name}.html")[0]
    assert '{% include "look.css" %}' in source
    assert re.findall(r"#[0-9a-fA-F]{6}", source) == []
    assert "prefers-color-scheme: dark" in page._templates().loader.get_source(page._templates(), "look.css")[0]


def test_a_telephone_shows_the_whole_page(tmp_path):
    from tools.site.browser import browser, laid_out

    program = browser()
    if program is None:
        pytest.skip("no browser is installed")
    table, ledger = asked()
    ledger.release(table.group_by("ward").agg(n=pv.count()), epsilon=0.25, purpose="a" * 200)
    made = tmp_path / "ledger.html"
    made.write_text(report.ledger_page(ledger), encoding="utf-8")
    for _, width, cut, beyond in laid_out(program, tmp_path, [made], widths=(1280, 360, 320)):
        assert cut == 0, width
        assert int(beyond) <= 0, width
    twin = tmp_path / "twin.html"
    twin.write_text(report.ledger_page(ledger).replace("overflow-wrap: anywhere", ""), encoding="utf-8")
    assert max(int(beyond) for _, _, _, beyond in laid_out(program, tmp_path, [twin], widths=(360,))) > 0
