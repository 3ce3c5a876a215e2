"""Statistics: from counts to lower bounds and verdicts, each with a proof of its error rate."""

from privet.audit.statistics.bayes import credible_lower as credible_lower
from privet.audit.statistics.canaries import guess as guess, pooled as pooled
from privet.audit.statistics.clopper_pearson import (
    Point as Point,
    largest_refutable as largest_refutable,
    point_epsilon as point_epsilon,
    point_lower as point_lower,
    rate_above as rate_above,
    rate_below as rate_below,
)
from privet.audit.statistics.curve import (
    Curve as Curve,
    curve_refutes as curve_refutes,
    curve_test as curve_test,
    family_lower as family_lower,
)
from privet.audit.statistics.gaussian import (
    Gaussian as Gaussian,
    gaussian_lower as gaussian_lower,
    gaussian_mu as gaussian_mu,
)
from privet.audit.statistics.known_rate import (
    known_rate_lower as known_rate_lower,
    known_rate_test as known_rate_test,
)
from privet.audit.statistics.one_run import (
    one_run as one_run,
    one_run_lower as one_run_lower,
    one_run_p_value as one_run_p_value,
)
from privet.audit.statistics.one_run_fdp import (
    one_run_curve as one_run_curve,
    one_run_fdp as one_run_fdp,
    one_run_fdp_lower as one_run_fdp_lower,
    one_run_mu as one_run_mu,
)
from privet.audit.statistics.roc import (
    Area as Area,
    Interval as Interval,
    RateAt as RateAt,
    area as area,
    rate_at as rate_at,
)
from privet.audit.statistics.selection import (
    Bonferroni as Bonferroni,
    Choice as Choice,
    Fixed as Fixed,
    Selected as Selected,
    Selection as Selection,
    Split as Split,
)
from privet.audit.statistics.sequential import BettingTest as BettingTest
