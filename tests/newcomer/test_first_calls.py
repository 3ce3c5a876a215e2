"""Thirty natural first calls: each works at the first try, or answers with the right call."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest

import privet as pv
from privet import accounting, audit, mechanisms, privacy, report
from privet.errors import BudgetExceeded, PrivetError
from tests.newcomer.callables import ledger

PEOPLE = pd.DataFrame({"age": np.arange(1000) % 90, "city": ["A", "B"] * 500})
LAPLACE = mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0)
COUNT = mechanisms.Count.for_budget(epsilon=0.5)
GAUSSIAN = privacy.GaussianLoss(noise_multiplier=1.0)

WORKS = {
    "a count of a condition": lambda: COUNT.release(PEOPLE.age >= 65).value > 0,
    "a number": lambda: abs(float(LAPLACE.release(42)) - 42) < 60,
    "print a release": lambda: "+-" in str(LAPLACE.release(42)),
    "format a release": lambda: float(f"{LAPLACE.release(42):.2f}") > -20,
    "compare a release": lambda: LAPLACE.release(42) < 200,
    "scale a release": lambda: (2 * LAPLACE.release(42)).error.radius > LAPLACE.error().radius,
    "add two releases": lambda: (LAPLACE.release(1) + LAPLACE.release(2)).epsilon == 2.0,
    "what did it cost": lambda: LAPLACE.release(42).epsilon == 1.0,
    "a release, stored and read": lambda: (
        (one := LAPLACE.release(42)) == mechanisms.Release.from_json(one.to_json()) == pickle.loads(pickle.dumps(one))
    ),
    "report a label": lambda: (
        mechanisms.KRR.for_budget(labels=["A", "B"], epsilon=1.0).release("A").value in ("A", "B")
    ),
    "price a mechanism": lambda: accounting.epsilon(LAPLACE, delta=0.0) == 1.0,
    "price DP-SGD": lambda: accounting.dp_sgd(noise_multiplier=1.0, q=0.01, steps=100, delta=1e-5) < 1.0,
    "round a bound": lambda: round(accounting.epsilon(GAUSSIAN, delta=1e-5), 1) == 4.4,
    "format a bound": lambda: f"{accounting.epsilon(GAUSSIAN, delta=1e-5):.2f}" == "4.38",
    "compose mechanisms": lambda: math.isclose(privacy.Composed([LAPLACE, LAPLACE]).pure(), 2.0),
    "how much noise": lambda: 3.7 < accounting.calibrate(privacy.GaussianLoss, epsilon=1.0, delta=1e-5) < 3.8,
    "what is left": lambda: ledger().remaining.epsilon > 0.7,
    "preview a mechanism": lambda: bool(ledger().preview(COUNT)),
    "reserve for a mechanism": lambda: ledger().reserve(COUNT).seq > 1,
    "print a ledger": lambda: "left" in str(ledger()),
    "print a quote": lambda: "certified" in str(report.quote(GAUSSIAN, delta=1e-5)),
    "quote a mechanism": lambda: report.quote(COUNT, delta=0.0).epsilon == pytest.approx(0.5),
}

# What is typed, and what the answer must name.
ANSWERS = {
    "a mechanism by epsilon": (lambda: mechanisms.Laplace(epsilon=1, sensitivity=1), "Laplace.for_budget(epsilon="),
    "a budget by place": (lambda: mechanisms.Laplace.for_budget(1.0, 1.0), "by name: sensitivity"),
    "eps": (lambda: mechanisms.Laplace.for_budget(eps=1.0, sensitivity=1.0), "did you mean epsilon?"),
    "a unit as a word": (lambda: privacy.PureLoss(1.0, unit="replace"), 'privacy.Unit("replace")'),
    "a bare ledger": (lambda: pv.Ledger(), "Ledger.open(url)"),
    "a key of remaining": (lambda: ledger().remaining["epsilon"], "remaining.epsilon"),
    "count a number": (lambda: COUNT.release(42), "Geometric"),
    "ask the class": (lambda: mechanisms.Count.release([True]), "Count.for_budget(epsilon=1.0).release("),
    "several quantiles": (lambda: mechanisms.Quantile.for_budget(q=[0.2, 0.8], bounds=(0, 1), epsilon=1), "one number"),
    "labels as k": (lambda: mechanisms.KRR.for_budget(k=["a", "b"], epsilon=1.0), "labels="),
    "texts where numbers are reported": (
        lambda: mechanisms.KRR.for_budget(k=2, epsilon=1.0).release(PEOPLE.city),
        "KRR.for_budget(labels=",
    ),
    "a dict of scores": (
        lambda: mechanisms.Exponential.for_budget(epsilon=1.0, sensitivity=1.0).release({"a": 1.0}),
        "list(d.values())",
    ),
    "delta by place": (lambda: accounting.epsilon(GAUSSIAN, 1e-5), "epsilon(loss, delta="),
    "losses by place": (lambda: privacy.Composed(GAUSSIAN, GAUSSIAN), "one list"),
    "a misspelt room": (lambda: pv.acounting, "did you mean accounting?"),
    "a misspelt name": (lambda: mechanisms.Laplase, "did you mean Laplace?"),
    "a name of another room": (lambda: pv.Histogram, "mechanisms.Histogram"),
    "a table without columns": (lambda: pv.Table(PEOPLE), "columns={"),
    "a whole frame": (lambda: COUNT.release(PEOPLE), "one column"),
    "a column of texts": (
        lambda: mechanisms.BoundedMean.for_budget(epsilon=1.0, bounds=(0, 9)).release(PEOPLE.city),
        "==",
    ),
    "a mean without bounds": (lambda: mechanisms.BoundedMean.for_budget(epsilon=1.0), "needs bounds"),
    "an audit without inputs": (lambda: audit.mechanism(COUNT), "neighbours=["),
    "a loss where a mapping is meant": (lambda: report.profile_figure(GAUSSIAN), "a mapping"),
    "the epsilon of Gaussian noise": (
        lambda: mechanisms.Gaussian.for_budget(epsilon=1.0, delta=1e-6, sensitivity=1.0).release(1.0).epsilon,
        "accounting.epsilon(release, delta=",
    ),
    "a number from a table": (
        lambda: float(mechanisms.BoundedMean.for_budget(epsilon=1.0, bounds=(0, 90)).release(PEOPLE.age)),
        "release.value['",
    ),
    "more than is left": (lambda: ledger().release(mechanisms.Count.for_budget(epsilon=3.0), [True]), "remaining"),
}


def test_there_are_thirty():
    assert len(WORKS) + len(ANSWERS) >= 30


@pytest.mark.parametrize("call", WORKS)
def test_it_works_at_the_first_try(call):
    assert WORKS[call]()


@pytest.mark.parametrize("call", ANSWERS)
def test_it_answers_with_the_right_call(call):
    typed, named = ANSWERS[call]
    with pytest.raises(PrivetError) as caught:
        typed()
    text = str(caught.value)
    assert named in text
    assert "__init__" not in text
    if not isinstance(caught.value, BudgetExceeded):
        assert "\n" not in text
