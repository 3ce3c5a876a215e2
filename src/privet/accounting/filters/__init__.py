"""Filters and odometers: what may still run when every loss is chosen after seeing earlier outputs.

A composition theorem is about losses fixed in advance. A *filter* is a stopping rule with a theorem of its own: it
holds although the next loss depends on what was released before. Rules are frozen values; what was spent is an
immutable `FilterState`, of which the ledger keeps the latest. For losses fixed in advance ask `accounting.epsilon`.
"""

from privet._face import face
from privet.accounting.filters.any_of import (
    AnyOf as AnyOf,
    basic_or_zcdp as basic_or_zcdp,
    basic_zcdp_or_gdp as basic_zcdp_or_gdp,
)
from privet.accounting.filters.filter import (
    Balance as Balance,
    Filter as Filter,
    FilterState as FilterState,
    Offers as Offers,
    Rule as Rule,
    Sums as Sums,
    point_at as point_at,
    settle as settle,
    sums_after as sums_after,
)
from privet.accounting.filters.odometer import Odometer as Odometer, OdometerState as OdometerState
from privet.accounting.filters.plans import (
    best_order_for as best_order_for,
    plan_point as plan_point,
    pld_filter as pld_filter,
)
from privet.accounting.filters.rules import (
    AdvancedFilter as AdvancedFilter,
    ApproxGdpFilter as ApproxGdpFilter,
    BasicFilter as BasicFilter,
    GdpFilter as GdpFilter,
    RdpFilter as RdpFilter,
    ZcdpFilter as ZcdpFilter,
)
from privet.accounting.filters.slots import SlotsFilter as SlotsFilter, dominated as dominated
from privet.accounting.filters.statements import MuFilter as MuFilter, RhoFilter as RhoFilter

__all__, __dir__ = face(globals())
