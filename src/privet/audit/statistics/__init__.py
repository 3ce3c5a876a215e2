"""Statistics: from counts to lower bounds and verdicts, each with a proof of its error rate."""

from privet.audit.statistics.bayes import credible_lower
from privet.audit.statistics.canaries import guess, pooled
from privet.audit.statistics.clopper_pearson import (
    Point,
    largest_refutable,
    point_epsilon,
    point_lower,
    rate_above,
    rate_below,
)
from privet.audit.statistics.curve import Curve, curve_refutes, curve_test, family_lower
from privet.audit.statistics.gaussian import Gaussian, gaussian_lower, gaussian_mu
from privet.audit.statistics.one_run import one_run, one_run_lower, one_run_p_value
from privet.audit.statistics.one_run_fdp import one_run_curve, one_run_fdp, one_run_fdp_lower, one_run_mu
from privet.audit.statistics.selection import Bonferroni, Choice, Fixed, Selected, Selection, Split
from privet.audit.statistics.sequential import BettingTest

__all__ = [
    "BettingTest",
    "Bonferroni",
    "Choice",
    "Curve",
    "Fixed",
    "Gaussian",
    "Point",
    "Selected",
    "Selection",
    "Split",
    "credible_lower",
    "curve_refutes",
    "curve_test",
    "family_lower",
    "gaussian_lower",
    "gaussian_mu",
    "guess",
    "largest_refutable",
    "one_run",
    "one_run_curve",
    "one_run_fdp",
    "one_run_fdp_lower",
    "one_run_lower",
    "one_run_mu",
    "one_run_p_value",
    "point_epsilon",
    "point_lower",
    "pooled",
    "rate_above",
    "rate_below",
]
