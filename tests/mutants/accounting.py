"""Bugs in the accountants: too small an epsilon or delta, one direction, a dropped tail, a filter that grants too much."""

from tests.mutants.mutant import Table

ACCOUNTING = Table("tests/accounting -m 'not slow'", "tests/laws/test_accountants.py", "tests/laws/test_tightness.py")

# Parts of the room's tests, the quick ones: asked before the room as a whole.
ASIDE = "tests/accounting/test_set_aside.py"
PROMISES = "tests/accounting/test_promises.py"
STOPPING = "tests/accounting/test_stopping.py"
TRUTH = "tests/accounting/test_random_settings.py -k 'truth or said'"
FILTERS = (
    "tests/accounting/test_set_aside.py tests/accounting/test_promises.py tests/accounting/test_filters.py "
    "-k 'aside or agree or add_up or known_ones or how_much or units or refused or recovers or twins or safe_side or rungs"
    " or singles or promises or odometer_is'"
)
CHARGES = (
    "tests/accounting/test_charging.py "
    "-k 'pair_is or proved or tight_epsilon or named_delta or share_belongs or promises or slots_are'"
)
CURVES = (
    "tests/accounting/test_golden.py "
    "-k 'optimal or advanced or zcdp or tradeoff or printed or basic or laplace or interval or randomized or disjoint'"
)
FOUND = (
    "tests/accounting/test_found_defects.py tests/accounting/test_odd_prices.py "
    "-m 'not slow' -k 'not fuzz and not heavy'"
)
FAR = "tests/accounting/test_far.py -m 'not slow' -k 'integral or written or counted or all_there'"


def plant(name: str, place: str, old: str, new: str, *first: str) -> None:
    """The tests that should notice first, then those of the room."""
    ACCOUNTING.plant(name, f"accounting:{place}", old, new, *first, *ACCOUNTING.tests)


# --- filters ------------------------------------------------------------------------------------------------------

plant("delta0 counted twice", "AdvancedFilter.limits", "math.log(self._rest())", "math.log(self.delta)", FILTERS)
plant("delta0 counted twice", "RdpFilter.limits", "self._rest()", "self.delta", FILTERS)
plant("delta0 counted twice", "ApproxGdpFilter.limits", "self._rest()", "self.delta", FILTERS)
plant("delta0 counted twice", "ZcdpFilter.limits", "self._rest()", "self.delta", FILTERS)
plant("what is set aside is not taken off", "Rule._rest", "if rest <= 0.0", "if rest < 0.0", FILTERS)
plant("a square that is not one", "AdvancedFilter.price", "square_up(epsilon), delta", "epsilon * 0.5, delta", FILTERS)
plant("failures of parts are free", "RdpFilter.price", "float(values[0]), delta0", "float(values[0]), 0.0", FILTERS)
plant(
    "failures of parts are free",
    "AdvancedFilter.price",
    "square_up(epsilon), delta",
    "square_up(epsilon), 0.0",
    FILTERS,
)
plant("no overhead of the order", "RdpFilter.limits", "self.epsilon - overhead", "self.epsilon", FILTERS)
plant("mu where its square is asked", "GdpFilter.price", "square_up(loss.gdp())", "loss.gdp()", FILTERS)
plant("mu rounded up", "_largest_square", "return mu * mu * COMPUTED", "return mu * mu * 1.001", FILTERS, CHARGES)
plant(
    "a pair without its delta",
    "ApproxGdpFilter.price",
    "else math.inf), delta",
    "else math.inf), 0.0",
    FILTERS,
    CHARGES,
)
plant("the largest delta promised, not the sum", "AnyOf.delta", "math.fsum(", "max(", FILTERS)
plant("the smallest epsilon promised", "AnyOf.epsilon", "max(", "min(", FILTERS)
plant("one release charged for many", "FilterState.offers", "each * times", "each", FILTERS, CHARGES)
plant("a count of parts dropped", "filter._total", "n * amount", "amount", FILTERS, CHARGES)
plant(
    "a limit may be passed once",
    "sums_after",
    "if all(map(le, amounts, limits))",
    "if any(map(le, amounts, limits))",
    FILTERS,
)
plant(
    "infinity is within every limit",
    "sums_after",
    "if amount is None or amount > limit",
    "if amount is not None and amount > limit",
    FILTERS,
    CHARGES,
)
plant(
    "a crossed rule comes back",
    "_holds",
    "if amount is None or amount > cap",
    "if amount is not None and amount > cap",
    FILTERS,
    CHARGES,
)
plant(
    "prices rounded down",
    "to_amount",
    "-(-numerator // denominator) if up",
    "numerator // denominator if up",
    FILTERS,
    CHARGES,
)
plant("several points at one share", "_with_share", "[(point, 1)]", "[]", FILTERS, CHARGES)
plant(
    "any unit is charged", "FilterState._check", "return same_unit([self.unit, loss.unit])", "return self.unit", FILTERS
)
plant("every loss fits a slot", "SlotsFilter.price", "else math.inf", "else 1.0", FILTERS, CHARGES)
plant("less noise is dominated", "dominated", "loss.scale >= by.scale", "loss.scale <= by.scale", FILTERS, CHARGES)
plant("a larger rate is dominated", "dominated", "loss.q <= by.q", "loss.q >= by.q", FILTERS, CHARGES)
plant("other neighbours are dominated", "dominated", "if loss.unit != by.unit", "if False", FILTERS, CHARGES)
plant("each rung has all of delta", "Odometer.share", "* 6.0 / (math.pi * rung) ** 2", "* 1.0", FILTERS)
plant("a rung of twice the rho", "OdometerState._line", "(slope + 1.0) * rho", "slope * rho", FILTERS)
plant(
    "points of another delta",
    "point_at",
    'open_fraction("at", at)',
    'min(0.5, 10.0 * open_fraction("at", at))',
    FILTERS,
    CHARGES,
)

# --- closed forms -------------------------------------------------------------------------------------------------

plant(
    "the larger of two deltas",
    "Rdp._delta",
    "round_up(_set_aside(loss) + delta)",
    "max(_set_aside(loss), delta)",
    ASIDE,
)
plant(
    "failures not taken out of delta",
    "Rdp._epsilon",
    "round_down(delta - _set_aside(loss))",
    "delta",
    ASIDE,
)
plant(
    "failures not taken out of delta",
    "Zcdp._epsilon",
    "round_down(delta - delta0)",
    "delta",
    ASIDE,
)
plant(
    "an order too many in the conversion",
    "epsilon_of_renyi",
    "-math.log(delta) / (alpha - 1.0)",
    "-0.9 * math.log(delta) / (alpha - 1.0)",
    CURVES,
)
plant(
    "the conversion of the textbook turned round",
    "log_delta_of_renyi",
    "above * value",
    "(above - 1.0) * value",
    ASIDE,
)
plant("deltas of parts forgotten", "Advanced._epsilon", "round_down(delta - total.delta)", "delta", ASIDE)
plant("drift forgotten", "Advanced._epsilon", "* squares) + drift", "* squares)", CURVES)
plant("a delta above the target passes", "Basic._epsilon", "if spent > delta", "if False", ASIDE)
plant(
    "the failures once, not each time",
    "optimal_delta",
    "steps * math.log1p(-delta)",
    "math.log1p(-delta)",
    CURVES,
    FOUND,
)
plant(
    "parts that fail too often pass",
    "Optimal._epsilon",
    "if lost > delta",
    "if False",
    PROMISES,
    CURVES,
)
plant("a bound that is no pair counts as exact", "_mu", "return mu, exact is not None", "return mu, True", ASIDE)
plant(
    "blocks: one direction",
    "blocks._directions",
    'else ("remove", "add")',
    'else ("remove",)',
    "tests/accounting/test_blocks.py",
)
plant(
    "blocks: mass beyond the window is lost",
    "blocks._cut",
    "law.infinite + lost",
    "law.infinite",
    "tests/accounting/test_blocks.py",
)
plant("blocks: the average block", "_Steps.repeated", "np.max([", "np.mean([", "tests/accounting/test_blocks.py")
plant(
    "the cheapest alternative decides",
    "Tightest._best",
    "bound.upper > worst.upper",
    "bound.upper < worst.upper",
    PROMISES,
    CURVES,
)
plant("another accountant in silence", "_instead", "coarse=True", "coarse=False", TRUTH)
plant(
    "attacks: only one direction",
    "tradeoff._one",
    "np.min([_dual",
    "np.max([_dual",
    "tests/accounting/test_hunt.py -k tradeoff",
)
plant(
    "attacks: mu rounded down",
    "tpr_at",
    "mu * (1.0 + 1e-12)",
    "mu * 0.99",
    PROMISES,
    CURVES,
)

plant(
    "attacks: a slope that stops growing",
    "tradeoff._one",
    "np.where(rates > 0.0, np.maximum(rates, _LEAST_RATE), 0.0)",
    "rates",
    "tests/accounting/test_small_rates.py -k slope",
)
plant(
    "attacks: long ends as if there were none",
    "profile_curves",
    "replace(plan, low=low, high=high)",
    "plan",
    "tests/accounting/test_found_defects.py -k trivial",
    "tests/accounting/test_small_rates.py -k ends",
)

# --- calibration --------------------------------------------------------------------------------------------------

plant(
    "the judge is not asked",
    "_Search._polish",
    "value = self._log(self.goal.judge, s)",
    "pass",
    "tests/accounting/test_calibrate.py -k judge",
    CURVES,
)
plant(
    "the far side of the bracket",
    "_Search._polish",
    "return good",
    "return bad if not math.isnan(bad) else good",
    "tests/accounting/test_calibrate.py",
    CURVES,
)
plant("content too early", "calibrate._CLOSE", "5e-5", "1e-2", "tests/accounting/test_calibrate.py")
plant(
    "a shorter number that does not meet the target",
    "_Search._shorter",
    "return found if met else good",
    "return found",
    "tests/accounting/test_calibrate.py",
    CURVES,
)

# --- numerical accountant -----------------------------------------------------------------------------------------

plant(
    "an infinite width is narrow",
    "Interval.is_within",
    "math.isfinite(self.upper) and ",
    "",
    STOPPING,
)
plant(
    "a search that ends without a lower end",
    "Interval.settled",
    "self.lower >= _SETTLED * self.upper",
    "True",
    STOPPING,
)
plant(
    "the smaller of two directions",
    "larger_of",
    "max(one.upper, two.upper)",
    "min(one.upper, two.upper)",
    STOPPING,
)
plant("one direction for all", "engine._directions", 'else ("remove", "add")', 'else ("remove",)', STOPPING)
plant("a direction skipped too soon", "EpsilonAt.is_settled_by", "most <= upper", "True", STOPPING)
plant(
    "delta of a direction skipped too soon",
    "DeltaAt.is_settled_by",
    "most <= self.epsilon or",
    "most > 0.0 or",
    STOPPING,
)
plant(
    "failures may exceed delta",
    "_all_delta_is_lost",
    "if lost < delta",
    "if True",
    "tests/accounting/test_calibrate.py",
    STOPPING,
)
plant(
    "the largest finite loss of one part",
    "_largest_finite_loss",
    "return max(tops)",
    "return max(tops) / 2.0",
    "tests/accounting/test_calibrate.py",
)
plant(
    "infinity counted once",
    "compose._infinite",
    "n * math.log1p(-law.infinite)",
    "math.log1p(-law.infinite)",
    STOPPING,
)
plant(
    "groups are off by nothing",
    "transform_of_group",
    "length, nodes * each)",
    "length, -1.0)",
    "tests/accounting/test_groups.py",
)
plant(
    "a part of a group is left out",
    "grouped",
    "return [*found, current]",
    "return [*found, current[:1]]",
    "tests/accounting/test_groups.py",
)
plant(
    "nothing wraps around",
    "_tails",
    "wrapped += tail(plan.tilt, total, -plan.low_order, -low)",
    "wrapped += 0.0",
    STOPPING,
)
plant(
    "masses with the wrong sign of their error",
    "Upper.factor",
    "1.0 + mass_error",
    "1.0 - mass_error",
    STOPPING,
)
plant(
    "errors taken off the upper end",
    "Upper.charged",
    "max(value, 0.0) + error",
    "max(value - error, 0.0)",
    STOPPING,
)
plant(
    "errors added to the lower end",
    "Lower.charged",
    "max(value - error, 0.0)",
    "value + error",
    STOPPING,
)
plant(
    "the upper law loses what lies above the grid",
    "upper_law",
    "float(all_p[n] + mesh.infinite_upper)",
    "0.0",
    STOPPING,
)
plant("the upper law rounds down", "upper_law", "mass[1:] += up", "mass[:-1] += up", STOPPING)
plant(
    "the lower law keeps what it should drop",
    "lower_law",
    "mesh.infinite * (1.0 - mesh.error)",
    "mesh.infinite_upper + 1e-3",
    STOPPING,
)
plant("a moment of the wrong order", "_log_moment", "peak + math.log", "0.5 * peak + math.log", STOPPING)
plant("jumps forgotten", "compose_levels", "_with_jumps(laws, low, jumps, step, plan.jump)]", "]", TRUTH)
plant(
    "a cache that forgets the direction",
    "upper_law",
    "mesh = _mesh(loss, direction, step",
    'mesh = _mesh(loss, "add", step',
    STOPPING,
)
plant("a normal law without its error", "_Curve.ends", "float(upper[0])", "float(lower[0])", FAR)
plant("jumps of many steps forgotten", "_Curve.ends", "+ float((self.weights * after).sum()) * (1.0 + 1e-9)", "", FAR)
plant(
    "one release from above alone",
    "_enclosure",
    "max((high for _, high in ends)",
    "max((low for low, _ in ends)",
    STOPPING,
)
plant(
    "the lower crossing as upper end",
    "pair_epsilon",
    "(min(lower, upper), upper)",
    "(min(lower, upper), lower)",
    STOPPING,
)
