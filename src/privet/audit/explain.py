"""An audit in words: what was found, what was looked at, and what so many runs cannot show."""

import math
from typing import Any

from privet.privacy import PrivacyLoss


def delta_of(claim: PrivacyLoss) -> float:
    """The delta at which a bound is told: 0 where the claim is pure, the one that it names, else 1e-5.

    >>> from privet.privacy import ApproxLoss, PureLoss
    >>> delta_of(PureLoss(1.0)), delta_of(ApproxLoss(1.0, 1e-3))
    (0.0, 0.001)
    """
    if math.isfinite(claim.pure()):
        return 0.0
    named = getattr(claim, "delta", None)
    return float(named) if isinstance(named, float) and 0.0 < named < 1.0 else 1e-5


def explained(audit: Any) -> str:
    """Every finding of an audit of a mechanism, by kind and pair, and the limits of what it could see."""
    tests = audit.tests or ((audit.test, audit.witness),)
    lines = [f"{audit.name}: {audit.verdict} at level {audit.alpha:g}."]
    if audit.depends is not None:
        lines.append(
            f"The output depends on more than its input: {audit.depends}. No test of these runs means anything."
        )
    for test, witness in tests:
        where = f"{witness.left!r} and {witness.right!r}"[:160]
        counts = f"{test.counts.tp:,} of {test.counts.n:,} runs against {test.counts.fp:,} of {test.counts.n_out:,}"
        lines.append(f"Tested ({witness.event.kind}): {witness}; inputs {where}; {counts}; p-value {test.p_value:.3g}.")
    n = tests[0][0].counts.n
    rare = 1.0 - (audit.alpha / 4.0) ** (1.0 / n)
    lines += [
        f"Looked at: {audit.pairs_tried} pairs of neighbours and {audit.events_tried:,} events in {audit.calls:,} runs; "
        f"{audit.released:,} of the tested runs came from release, {audit.simulated:,} were simulated.",
        f"Bound: epsilon >= {audit.lower.lower:.4g} at delta {audit.lower.delta:g}.",
        f"Cannot be seen by so many runs: claims above epsilon {audit.lower.ceiling:.3g}, events rarer than {rare:.2g}, "
        "other inputs, and joint behaviour of several releases. Not refuted is not private.",
        *audit.notes,
    ]
    return "\n".join(lines)
