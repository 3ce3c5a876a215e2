"""Filters and odometers: what may still run when every loss is chosen after seeing earlier outputs.

A composition theorem is about losses fixed in advance. A *filter* is a stopping rule with a theorem of its own: it
holds although the next loss depends on what was released before. Rules are frozen values; what was spent is an
immutable `FilterState`, of which the ledger keeps the latest. For losses fixed in advance ask `accounting.epsilon`.
"""

from privet.accounting.filters.any_of import AnyOf, basic_or_zcdp, basic_zcdp_or_gdp
from privet.accounting.filters.base import Balance, Filter, FilterState, Offers, Rule, Sums, settle, sums_after
from privet.accounting.filters.odometer import Odometer, OdometerState
from privet.accounting.filters.plans import best_order_for, plan_point, pld_filter
from privet.accounting.filters.points import point_at
from privet.accounting.filters.rules import (
    AdvancedFilter,
    ApproxGdpFilter,
    BasicFilter,
    GdpFilter,
    RdpFilter,
    ZcdpFilter,
)
from privet.accounting.filters.slots import SlotsFilter, dominated
from privet.accounting.filters.statements import MuFilter, RhoFilter

__all__ = [
    "AdvancedFilter",
    "AnyOf",
    "ApproxGdpFilter",
    "Balance",
    "BasicFilter",
    "Filter",
    "FilterState",
    "GdpFilter",
    "MuFilter",
    "Odometer",
    "OdometerState",
    "Offers",
    "RdpFilter",
    "RhoFilter",
    "Rule",
    "SlotsFilter",
    "Sums",
    "ZcdpFilter",
    "basic_or_zcdp",
    "basic_zcdp_or_gdp",
    "best_order_for",
    "dominated",
    "pld_filter",
    "plan_point",
    "point_at",
    "settle",
    "sums_after",
]
