"""Prices in numbers: pure functions from losses to certified bounds. Keeps no state."""

from privet._face import face
from privet.accounting import filters as filters
from privet.accounting.accountant import Accountant as Accountant
from privet.accounting.advanced import (
    Advanced as Advanced,
    advanced_epsilon as advanced_epsilon,
    per_step_epsilon as per_step_epsilon,
    per_step_epsilon_corollary as per_step_epsilon_corollary,
)
from privet.accounting.basic import Basic as Basic
from privet.accounting.bound import Bound as Bound
from privet.accounting.calibrate import calibrate as calibrate
from privet.accounting.dp_sgd import dp_sgd as dp_sgd, noise_for as noise_for
from privet.accounting.dp_sgd_ladder import Rung as Rung, amplify as amplify, dp_sgd_ladder as dp_sgd_ladder
from privet.accounting.filters import (
    AdvancedFilter as AdvancedFilter,
    AnyOf as AnyOf,
    BasicFilter as BasicFilter,
    Filter as Filter,
    FilterState as FilterState,
    GdpFilter as GdpFilter,
    Odometer as Odometer,
    RdpFilter as RdpFilter,
    ZcdpFilter as ZcdpFilter,
    basic_or_zcdp as basic_or_zcdp,
    plan_point as plan_point,
)
from privet.accounting.gdp import Gdp as Gdp
from privet.accounting.optimal import (
    Optimal as Optimal,
    optimal_delta as optimal_delta,
    optimal_epsilon as optimal_epsilon,
)
from privet.accounting.pld import PLD as PLD, clear_caches as clear_caches
from privet.accounting.rdp import Rdp as Rdp
from privet.accounting.tightest import Tightest as Tightest, delta as delta, epsilon as epsilon
from privet.accounting.tradeoff import advantage as advantage, tpr_at as tpr_at, tradeoff as tradeoff
from privet.accounting.zcdp import Zcdp as Zcdp, zcdp_epsilon as zcdp_epsilon

__all__, __dir__ = face(globals(), "filters")
