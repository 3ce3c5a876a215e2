"""`privet price` answers every kind, in words, as JSON and as a picture."""

import json
import math
import re

import pytest

from privet import accounting, privacy

SLIDES = ("gaussian", "--noise-multiplier", 4, "--q", 0.01, "--steps", 10_000)
REPLACE = privacy.Unit("replace")

KINDS = {
    "gaussian --noise-multiplier 2": privacy.GaussianLoss(2.0),
    "laplace --scale 2": privacy.LaplaceLoss(2.0),
    "pure --epsilon0 0.5": privacy.PureLoss(0.5),
    "approx --epsilon0 0.5 --delta0 1e-7": privacy.ApproxLoss(0.5, 1e-7),
    "discrete-gaussian --sigma 3 --sensitivity 2": privacy.DiscreteGaussianLoss(3.0, 2),
    "discrete-laplace --scale 2": privacy.DiscreteLaplaceLoss(2.0),
    "randomized-response --epsilon0 1": privacy.RandomizedResponseLoss(1.0),
    "k-rr --k 5 --epsilon0 1": privacy.KRRLoss(5, 1.0),
    "exponential --epsilon0 1 --monotonic": privacy.ExponentialLoss(1.0, monotonic=True),
    "zcdp --rho 0.1": privacy.ZcdpLoss(0.1),
    "gdp --mu 0.5": privacy.GdpLoss(0.5),
    "laplace --scale 2 --steps 1e1": privacy.Repeated(privacy.LaplaceLoss(2.0), 10),
    "laplace --scale 2 --relation replace": privacy.LaplaceLoss(2.0, unit=REPLACE),
    "laplace --scale 2 --q 0.25": privacy.PoissonSampled(privacy.LaplaceLoss(2.0), q=0.25),
    "k-rr --epsilon0 2 --k 10 --shuffled 1e4": privacy.Shuffled(privacy.KRRLoss(10, 2.0), 10_000),
    "pure --epsilon0 1 --shuffled 100 --steps 3": privacy.Repeated(
        privacy.Shuffled(privacy.PureLoss(1.0, unit=privacy.Unit("replace")), 100), 3
    ),
    "laplace --scale 2 --sample-size 3 --population 10": privacy.FixedSampled(
        privacy.LaplaceLoss(2.0, unit=REPLACE), m=3, n=10
    ),
}


def words(text):
    return " ".join(text.split())


@pytest.mark.parametrize("options", KINDS)
def test_every_kind_is_priced_as_the_library_prices_it(privet, options):
    outcome = privet("price", *options.split(), "--delta", 1e-5, "--json")
    assert outcome.code == 0, outcome.err
    document = json.loads(outcome.out)
    expected = accounting.epsilon(KINDS[options], delta=1e-5)
    assert privacy.from_json(json.dumps(document["loss"])) == KINDS[options]
    assert document["bound"]["upper"] == pytest.approx(expected.upper, rel=1e-12)
    assert document["bound"]["lower"] == pytest.approx(expected.lower, rel=1e-12)


def test_the_slides_run_shows_the_ladder_the_interval_and_the_meaning(privet):
    outcome = privet("price", *SLIDES, "--delta", 1e-5)
    assert outcome.code == 0, outcome.err
    text = words(outcome.out)
    assert "naive" in text
    assert "slides" not in text
    upper, lower = (float(re.search(f"{end} (0\\.[0-9]+)", text)[1]) for end in ("epsilon is at most", "and at least"))
    assert lower <= 0.9468668 <= upper  # by contour integration
    assert upper - lower <= 1e-4
    assert "certified on both sides" in text
    assert "Method PLD" in text
    assert "adding or removing one record" in text
    assert "(50%) ends at 72.1% at most" in text


def test_a_given_epsilon_is_answered_with_delta(privet):
    outcome = privet("price", "gaussian", "--noise-multiplier", 1, "--epsilon", 1)
    assert outcome.code == 0, outcome.err
    assert "delta is at most 0.126937 at epsilon 1" in words(outcome.out)


@pytest.mark.parametrize(
    ("accountant", "method"),
    [
        ("pld", "PLD"),
        ("rdp", "RDP"),
        ("zcdp", "zCDP"),
        ("gdp", "GDP"),
        ("basic", "basic composition"),
        ("advanced", "advanced composition"),
        ("optimal", "optimal composition"),
    ],
)
def test_the_accountant_can_be_chosen(privet, accountant, method):
    outcome = privet(
        "price", "laplace", "--scale", 10, "--steps", 20, "--delta", 1e-6, "--accountant", accountant, "--json"
    )
    assert outcome.code == 0, outcome.err
    document = json.loads(outcome.out)
    assert document["bound"]["method"].startswith(method)
    assert document["ladder"] == []


def test_a_wider_tolerance_is_used(privet):
    def width(tol):
        outcome = privet("price", *SLIDES, "--delta", 1e-5, "--tol", tol, "--json")
        return json.loads(outcome.out)["bound"]["slack"]

    assert width(1e-2) > 2.0 * width(1e-4)


# --- the JSON document ------------------------------------------------------------------------------------------------


def test_the_document_has_the_documented_fields(privet):
    document = json.loads(privet("price", *SLIDES, "--delta", 1e-5, "--json").out)
    assert set(document) == {
        "format",
        "privet",
        "question",
        "answer",
        "bound",
        "guarantee",
        "meaning",
        "ladder",
        "loss",
    }
    assert document["format"] == 1
    assert document["question"] == {"delta": 1e-5}
    assert document["answer"] == "epsilon"
    assert set(document["bound"]) == {"lower", "upper", "slack", "method", "unit"}
    assert document["bound"]["unit"] == {"relation": "add_remove", "group_size": 1}
    assert document["bound"]["slack"] == pytest.approx(document["bound"]["upper"] - document["bound"]["lower"])
    assert set(document["ladder"][0]) == {"name", "claimed", "formula", "sound", "delta", "note", "whole"}
    assert set(document["meaning"]) == {
        "odds_factor",
        "posterior_from_even_odds",
        "advantage",
        "accuracy_at_even_odds",
        "fpr",
        "tpr_at_fpr",
    }
    assert document["meaning"]["odds_factor"] == pytest.approx(math.exp(document["guarantee"]["epsilon"]))


def test_a_document_and_a_bare_loss_can_be_priced_again(privet, tmp_path):
    first = privet("price", "laplace", "--scale", 3, "--steps", 4, "--delta", 1e-6, "--json").out
    whole, bare = tmp_path / "price.json", tmp_path / "loss.json"
    whole.write_text(first, encoding="utf-8")
    bare.write_text(privacy.to_json(privacy.Repeated(privacy.LaplaceLoss(3.0), 4)), encoding="utf-8")
    for path in (whole, bare):
        again = privet("price", "--json-loss", path, "--delta", 1e-6, "--json")
        assert again.code == 0, again.err
        assert json.loads(again.out) == json.loads(first)


def test_a_loss_from_a_file_can_be_repeated(privet, tmp_path):
    path = tmp_path / "loss.json"
    path.write_text(privacy.to_json(privacy.PureLoss(0.5)), encoding="utf-8")
    document = json.loads(privet("price", "--json-loss", path, "--steps", 3, "--delta", 0, "--json").out)
    assert document["bound"]["upper"] == pytest.approx(1.5)


def test_a_number_that_json_lacks_is_null(privet):
    outcome = privet("price", "gaussian", "--noise-multiplier", 1, "--steps", 1_000_000, "--delta", 1e-5, "--json")
    assert outcome.code == 0, outcome.err
    document = json.loads(outcome.out)
    assert document["meaning"]["odds_factor"] is None
    assert document["bound"]["upper"] > 1e5


# --- pictures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("picture", ["profile", "tradeoff", "ladder"])
def test_pictures_are_written(privet, tmp_path, picture):
    path = tmp_path / "picture.png"
    command = ("laplace", "--scale", 5, "--steps", 4, "--delta", 1e-6, "--plot", path, "--picture", picture, "--json")
    outcome = privet("price", *command)
    assert outcome.code == 0, outcome.err
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert path.stat().st_size > 10_000
    assert json.loads(outcome.out)["answer"] == "epsilon"  # the note about the file went to stderr
    assert "picture.png" in outcome.err


def test_without_matplotlib_the_extra_is_named(privet, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    outcome = privet("price", "pure", "--epsilon0", 1, "--delta", 0, "--plot", tmp_path / "x.png")
    assert outcome.code == 2
    assert outcome.out == ""
    assert "pip install 'privet[plot]'" in outcome.err
