"""What a price means in numbers: pure functions from losses to certified bounds. Keeps no state."""

from privet.accounting import filters, lectures
from privet.accounting.advanced import Advanced, advanced_epsilon, per_step_epsilon, per_step_epsilon_corollary
from privet.accounting.base import Accountant, Bound
from privet.accounting.basic import Basic
from privet.accounting.calibrate import calibrate
from privet.accounting.filters import (
    AdvancedFilter,
    AnyOf,
    BasicFilter,
    Filter,
    FilterState,
    GdpFilter,
    Odometer,
    RdpFilter,
    ZcdpFilter,
    basic_or_zcdp,
    plan_point,
)
from privet.accounting.gdp import Gdp
from privet.accounting.optimal import Optimal, optimal_delta, optimal_epsilon
from privet.accounting.pld import PLD, clear_caches
from privet.accounting.rdp import Rdp
from privet.accounting.tightest import Tightest, delta, epsilon
from privet.accounting.tradeoff import advantage, tpr_at, tradeoff
from privet.accounting.zcdp import Zcdp, zcdp_epsilon

__all__ = [
    "PLD",
    "Accountant",
    "Advanced",
    "AdvancedFilter",
    "AnyOf",
    "Basic",
    "BasicFilter",
    "Bound",
    "Filter",
    "FilterState",
    "Gdp",
    "GdpFilter",
    "Odometer",
    "Optimal",
    "Rdp",
    "RdpFilter",
    "Tightest",
    "Zcdp",
    "ZcdpFilter",
    "advanced_epsilon",
    "advantage",
    "basic_or_zcdp",
    "calibrate",
    "clear_caches",
    "delta",
    "epsilon",
    "filters",
    "lectures",
    "optimal_delta",
    "optimal_epsilon",
    "per_step_epsilon",
    "per_step_epsilon_corollary",
    "plan_point",
    "tpr_at",
    "tradeoff",
    "zcdp_epsilon",
]
