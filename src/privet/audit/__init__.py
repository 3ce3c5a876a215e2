"""Audits: lower bounds on epsilon and attacks that try to break a claim.

An audit can only refute. It returns a bound with its confidence, `violated` or `not refuted`, and never a promise.

>>> from privet import audit, privacy
>>> counts = audit.Counts(tp=700, fp=300, n=1000)
>>> audit.curve_test(counts, claim=privacy.PureLoss(0.5)).verdict
'violated'
"""

from privet.audit.base import (
    AtLeast,
    Coins,
    Counts,
    CredibleBound,
    CurveTest,
    Guesses,
    LowerBound,
    Sample,
    Statistic,
    Verdict,
)
from privet.audit.black_box import MechanismAudit, Witness, mechanism
from privet.audit.certificate import Certificate, certify, new_key, public_key
from privet.audit.exact import ExactCheck, exact_pair
from privet.audit.neighbours import Frames, Neighbours, Numbers, Pairs, Persons, Tables, Vectors
from privet.audit.record import Finding, Replay, replay
from privet.audit.statistics import (
    BettingTest,
    Bonferroni,
    Choice,
    Curve,
    Fixed,
    Gaussian,
    Point,
    Selected,
    Selection,
    Split,
    credible_lower,
    curve_test,
    family_lower,
    gaussian_lower,
    guess,
    largest_refutable,
    one_run,
    one_run_curve,
    one_run_fdp,
    one_run_fdp_lower,
    one_run_lower,
    one_run_p_value,
    point_lower,
    pooled,
)
from privet.audit.training import TrainingAudit, training
from privet.mechanisms import Counterexample, find_counterexample

__all__ = [
    "AtLeast",
    "BettingTest",
    "Bonferroni",
    "Certificate",
    "Choice",
    "Coins",
    "Counterexample",
    "Counts",
    "CredibleBound",
    "Curve",
    "CurveTest",
    "ExactCheck",
    "Finding",
    "Fixed",
    "Frames",
    "Gaussian",
    "Guesses",
    "LowerBound",
    "MechanismAudit",
    "Neighbours",
    "Numbers",
    "Pairs",
    "Persons",
    "Point",
    "Replay",
    "Sample",
    "Selected",
    "Selection",
    "Split",
    "Statistic",
    "Tables",
    "TrainingAudit",
    "Vectors",
    "Verdict",
    "Witness",
    "certify",
    "credible_lower",
    "curve_test",
    "exact_pair",
    "family_lower",
    "find_counterexample",
    "gaussian_lower",
    "guess",
    "largest_refutable",
    "mechanism",
    "new_key",
    "one_run",
    "one_run_curve",
    "one_run_fdp",
    "one_run_fdp_lower",
    "one_run_lower",
    "one_run_p_value",
    "point_lower",
    "pooled",
    "public_key",
    "replay",
    "training",
]
