"""The statistics of a certificate once more, from what it says was counted."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privet.audit.certificate.figures import check_figures
from privet.audit.counts import Counts, Guesses, Hits
from privet.audit.exact import ExactCheck, exact_pair
from privet.audit.result import CurveTest, LowerBound
from privet.audit.statistics import (
    BettingTest,
    curve_test,
    gaussian_lower,
    known_rate_lower,
    known_rate_test,
    one_run_curve,
    one_run_fdp_lower,
    one_run_lower,
    point_lower,
)
from privet.audit.statistics.curve import box_test
from privet.errors import SerialisationError
from privet.privacy import PrivacyLoss, Unit

_TESTS: dict[str, Callable[..., CurveTest]] = {
    "curve": curve_test, "box": box_test, "one run": one_run_curve, "known rate": known_rate_test,
}  # fmt: skip
_BOUNDS: dict[str, Callable[..., LowerBound]] = {
    "point": point_lower, "gaussian": gaussian_lower, "one run": one_run_lower, "one run f-DP": one_run_fdp_lower,
    "known rate": known_rate_lower,
}  # fmt: skip


@dataclass(frozen=True)
class Recomputed:
    """Figures that follow from the evidence."""

    verdict: str
    p_value: float
    lower: float
    ceiling: float


def test_of(finding: dict[str, Any], claim: PrivacyLoss, alpha: float) -> CurveTest:
    """The test of one finding, at its share of the level."""
    share, method, seen = float(finding["share"]), finding["test"], finding["counts"]
    if not 0.0 < share <= 1.0:
        raise SerialisationError("a finding has a share of the level that is none")
    if method == "betting":
        test = _betting(finding, claim, alpha * share)
    else:
        test = _TESTS[method](counts_of(seen), claim=claim, alpha=alpha * share)
    return test.selected(alpha, str(finding.get("selection", "")))


def _betting(finding: dict[str, Any], claim: PrivacyLoss, alpha: float) -> CurveTest:
    """Bets replayed pair by pair; the epsilon and delta that were bet on must be promised by the claim."""
    from privet import accounting

    bets = finding["bets"]
    epsilon, delta = float(bets["epsilon"]), float(bets["delta"])
    if float(accounting.delta(claim, epsilon=epsilon)) > delta * (1.0 + 1e-9):
        raise SerialisationError("the bets are about more than the claim promises")
    pairs = np.array([int(digit) for digit in bets["pairs"]])
    test = BettingTest(epsilon=epsilon, delta=delta, alpha=alpha, unit=claim.unit)
    test.feed(pairs // 2, pairs % 2)
    return CurveTest(
        claim=claim, p_value=test.p_value, alpha=alpha, method="betting", counts=counts_of(finding["counts"])
    )


def counts_of(seen: dict[str, Any]) -> Any:
    """Counts of two worlds, guesses of coins, or hits of secrets.

    >>> counts_of({"tp": 1, "fp": 0, "n": 2, "n_out": 2}).fn
    1
    """
    if "secrets" in seen:
        return Hits(**seen)
    return Guesses(**seen) if "canaries" in seen else Counts(**seen)


def bound_of(bound: dict[str, Any], *, delta: float, alpha: float, unit: Unit) -> LowerBound:
    """The bound on epsilon, at its share of the level."""
    level = alpha * float(bound["share"])
    return _BOUNDS[bound["statistic"]](counts_of(bound["counts"]), delta=delta, alpha=level, unit=unit)


def recomputed(document: dict[str, Any], claim: PrivacyLoss | None) -> Recomputed:
    """Verdict, p-value and bound that follow from a certificate's evidence."""
    kind, evidence = document["kind"], document["evidence"]
    if kind == "exact":
        check = _exact(evidence, claim)
        p = 0.0 if check.verdict == "violated" else 1.0
        return Recomputed(check.verdict, p, check.epsilon if math.isfinite(check.epsilon) else -1.0, -1.0)
    if kind == "replay":
        broken = bool(evidence["findings"])
        other = "depends on more than its input" if evidence["unstable"] else "not refuted"
        return Recomputed("violated" if broken else other, 0.0 if broken else 1.0, 0.0, 0.0)
    check_figures(kind, evidence)
    alpha, findings = float(document["alpha"]), document["findings"]
    if sum(float(finding["share"]) for finding in findings) > 1.0 + 1e-9:
        raise SerialisationError("the findings share more than the whole level")
    p_value = 1.0
    for finding in findings:
        if claim is None:
            raise SerialisationError("a test without a claim")
        p = test_of(finding, claim, alpha).p_value
        if not _close(p, float(finding["p_value"])):
            raise SerialisationError("the certificate's p-value does not follow from its own counts")
        p_value = min(p_value, p)
    lower, ceiling = 0.0, 0.0
    if evidence.get("bound") is not None:
        unit = Unit(**evidence["unit"])
        bound = bound_of(evidence["bound"], delta=float(document["delta"]), alpha=alpha, unit=unit)
        lower, ceiling = bound.lower, bound.ceiling
    verdict = "violated" if findings and p_value <= alpha else "not refuted"
    return Recomputed(
        (evidence.get("depends") and "depends on more than its input") or verdict, p_value, lower, ceiling
    )


def _exact(evidence: dict[str, Any], claim: PrivacyLoss | None) -> ExactCheck:
    if claim is None:
        raise SerialisationError("an exact check needs a claim")
    laws = [{name: Fraction(mass) for name, mass in evidence[side]} for side in ("left", "right")]
    exactly = [{n: m if evidence["exact"] else float(m) for n, m in law.items()} for law in laws]
    return exact_pair(*exactly, claim=claim)


def _close(a: float, b: float) -> bool:
    return bool(np.isclose(a, b, rtol=1e-9, atol=0.0))
