"""Questions about a table: a plan, what is asked of its groups, and what that costs and how far off it may be."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Unpack, final

from privet import accounting
from privet._cache import kept_property
from privet._calls import door
from privet._markup import Shown, grid, note
from privet._numerics import bisect
from privet._validate import above, count as whole_count, open_fraction
from privet.errors import InvalidParameter, NoGuarantee, PrivetError
from privet.mechanisms import DiscreteLaplace, Exponential, Gaussian, Mechanism, Sensitivity, price_in_words
from privet.privacy import Guarantee, PrivacyLoss, Promise, Unit
from privet.queries.aggregate import Aggregate
from privet.queries.aggregates import Quantile
from privet.queries.discovered_keys import DiscoveredKeys
from privet.queries.explain import asked_in_words, explained, rows_in_words
from privet.queries.family import Family, Noisy
from privet.queries.intervals import radius
from privet.queries.measured import Compiled, compiled, family_of
from privet.queries.quantile_part import QuantilePart, is_date, moved_by, with_bins
from privet.queries.question import TableQuestion
from privet.queries.table_answers import TableAnswers
from privet.tables import Bounded, Data, Float, KeySet, Node, PersonJoin
from privet.tables.columns import is_unicode
from privet.workloads import NoiseNorm
from privet.workloads.families.noise_law import Kind

_KEYS_SHARE = 0.5  # of delta, where noise needs some too


@final
@dataclass(frozen=True, eq=False, repr=False)
class Query(TableQuestion):
    """Aggregates of groups of rows. A ledger makes it a mechanism and pays: `ledger.release(query, epsilon=0.5)`.

    >>> import privet as pv
    >>> visits = pv.Table({"ward": ["A", "B"] * 500}, columns={"ward": pv.Category(["A", "B"])})
    >>> query = visits.group_by("ward").agg(n=pv.count())
    >>> print(query.preview(epsilon=0.5))
    n: +-6 (95%, each of 2 groups)
    >>> query.for_error(within=3)
    0.832
    """

    rows: Node
    names: tuple[str, ...]
    keys: KeySet | None
    outputs: tuple[tuple[str, Aggregate], ...]
    data: Data = field(repr=False)

    def __post_init__(self) -> None:
        if not self.outputs:
            raise InvalidParameter("what is asked? Give at least one aggregate, such as n=pv.count()")
        for name, request in self.outputs:
            if not isinstance(request, Aggregate):
                raise InvalidParameter(
                    f"{name} must be an aggregate such as pv.count() or pv.mean(...), got {type(request).__name__}"
                )
            request.check(self.rows.columns)
            if not is_unicode(name):
                raise InvalidParameter(
                    "the name of an aggregate must be Unicode: half of a surrogate pair cannot be shown"
                )
            if name in self.names:
                raise InvalidParameter(f"{name!r} is the name of a key already: name the aggregate differently")
            taken = {f"{name}_low", f"{name}_high"} & {*self.names, *dict(self.outputs)}
            if taken:
                raise InvalidParameter(
                    f"{min(taken)!r} is the name of an end of the interval of {name!r}: name one of them differently"
                )
        if self.keys is None and any(request.wants() is None or request.of_keys for _, request in self.outputs):
            raise InvalidParameter("quantiles and counts of values need public keys: give keys=")

    def bounded(self) -> Bounded:
        return self._compiled.plan

    @kept_property
    def _compiled(self) -> Compiled:
        asked = tuple(request for _, request in self.outputs)
        if self.keys is None:  # the noisy count that a key was selected by answers for persons
            asked = tuple(request for request in asked if not request.by_selection)
        return compiled(self.rows, self.names, self.keys, asked)

    @door
    def for_budget(self, **promise: Unpack[Promise]) -> TableAnswers:
        """The mechanism that answers within the promise; no data are looked at."""
        target = Guarantee(**promise)
        plan, families = self._compiled
        quantiles = [(name, request) for name, request in self.outputs if isinstance(request, Quantile)]
        discovering = self.keys is None
        parts = len(families) + len(quantiles) + discovering
        if parts == 0:
            raise InvalidParameter("these aggregates are known without data: every column in them has one value")
        ways = []
        for way in ("laplace", "gaussian"):
            try:
                ways.append(self._made(way, target, parts, plan, families, quantiles))
            except (NoGuarantee, _NoWay):
                continue
        if not ways:
            raise NoGuarantee(
                "no noise keeps this promise for these aggregates: give an epsilon, with a delta for discovered keys"
            )
        return min(ways, key=lambda made: _spread(made))

    def _made(
        self,
        way: str,
        target: Guarantee,
        parts: int,
        plan: Any,
        families: tuple[Family, ...],
        quantiles: list[tuple[str, Quantile]],
    ) -> TableAnswers:
        unit, reach = self.unit, plan.reach
        share, selection = _shares(way, target, parts, self.keys is None)
        made: list[Mechanism[Any, Any]] = []
        for family in families:
            norm: NoiseNorm = "l1" if way == "laplace" else "l2"
            noise: Any = DiscreteLaplace if way == "laplace" else Gaussian
            made.append(noise.for_budget(sensitivity=family.sensitivity(reach, unit, norm), **share.keywords()))
        chosen = tuple(self._quantile(name, request, share) for name, request in quantiles)
        if quantiles and way == "gaussian" and target.mu is None:
            raise _NoWay
        found = None
        if self.keys is None:
            # a row that is a unit by itself may be counted several times, even in one group
            often = reach.most_rows_per_key if reach.repeated else 1
            most = {"keys": reach.most_keys, "rows": often, "total": reach.most_rows if reach.repeated else None}
            found = DiscoveredKeys.for_budget(**most, unit=unit, **selection.keywords())
        at = target.delta if target.delta > 0.0 and (way == "gaussian" or found is not None) else None
        return TableAnswers(
            plan=plan,
            families=families,
            outputs=self.outputs,
            parts=tuple(made),
            quantiles=chosen,
            selection=found,
            about=unit,
            at=at,
        )

    def _quantile(self, name: str, request: Quantile, share: Guarantee) -> QuantilePart:
        assert self.keys is not None
        plan, bins, start, width = with_bins(self.rows, self.names, self.keys, request.column)
        one = Unit(person=self.unit.person)
        moved = Sensitivity(Fraction(moved_by(request, plan)), norm="score", unit=one)
        one_row = share.for_each_of(2) if self.unit.relation == "replace" else share  # a replacement is a group of two
        choice = Exponential.for_budget(sensitivity=moved, **one_row.keywords())
        column = self.rows.columns[request.column]
        whole, stop = not isinstance(column, Float), float(column.span[1])
        date = is_date(self.rows, request.column)
        return QuantilePart(name, request, plan, len(self.keys), bins, start, width, stop, choice, date, whole)

    @door
    def preview(
        self, *, expected_rows: int | None = None, confidence: float = 0.95, **promise: Unpack[Promise]
    ) -> "Preview":
        """Its price and how far each number may be off; no data are looked at, and nothing is paid.

        Of means and variances that depends on how many rows a group has: `expected_rows` (1,000 unless you say so).
        """
        made = self.for_budget(**promise)
        rows = 1_000 if expected_rows is None else whole_count("expected_rows", expected_rows, 1)
        level = open_fraction("confidence", confidence)
        widths = {name: _half_width(made, request, rows, level) for name, request in self.outputs}
        groups = None if self.keys is None else len(self.keys)
        return Preview(made.loss, widths, level, rows, groups, made.selection, made)

    def for_error(
        self,
        *,
        within: float,
        confidence: float = 0.95,
        of: str | None = None,
        expected_rows: int | None = None,
        delta: float = 0.0,
    ) -> float:
        """The smallest epsilon, to three digits, at which the interval of every number (or of the one in `of`) is at most
        `within` to each side.
        """
        goal, level = above("within", within, 0.0), open_fraction("confidence", confidence)
        if of is not None and of not in dict(self.outputs):
            raise InvalidParameter(f"there is no aggregate {of!r:.60}; there are {', '.join(dict(self.outputs))}")

        def meets(log_epsilon: float) -> bool:
            shown = self.preview(
                epsilon=math.exp(log_epsilon), delta=delta, confidence=level, expected_rows=expected_rows
            ).half_width
            wanted = shown if of is None else {of: shown[of]}
            return all(width is not None and width <= goal for width in wanted.values())

        low, high = math.log(1e-6), math.log(1e4)
        if not meets(high):
            raise InvalidParameter(
                "no epsilon gives such a small error: choices and steps of the column are coarser than that"
            )
        if meets(low):
            return 1e-6
        found = math.exp(bisect(meets, low, high, within=1e-4))
        digits = 2 - math.floor(math.log10(found))
        for rounded in (round(found, digits), math.ceil(found * 10**digits) / 10**digits):
            if meets(math.log(rounded)):
                return rounded
        return math.ceil(found * 10**digits + 1) / 10**digits

    @door
    def explain(self) -> str:
        """The plan, whom it protects, how far one of them reaches, and the SQL; no data are looked at."""
        return explained(self)

    def in_words(self) -> str:
        asked = ", ".join(f"{name}: {asked_in_words(request)}" for name, request in self.outputs)
        grouped = f" by {', '.join(self.names)}" if self.names else ""
        return f"{asked}{grouped}{rows_in_words(self.rows)}"


@final
@dataclass(frozen=True, eq=False)
class Preview(Shown):
    """The price of a query, and the half-width of the interval of each number; None where it depends on the data."""

    loss: PrivacyLoss
    half_width: dict[str, float | None]
    confidence: float
    expected_rows: int
    groups: int | None
    selection: DiscoveredKeys | None
    mechanism: TableAnswers = field(repr=False)

    def epsilon(self, delta: float = 0.0) -> float:
        """The epsilon of the whole, at this delta."""
        return float(accounting.epsilon(self.loss, delta=delta).upper) if delta else self.loss.pure()

    def _repr_html_(self) -> str:
        level = f"{100 * self.confidence:.4g}%" + ("" if self.groups == 1 else ", each group")
        by_rows = {name for name, request in self.mechanism.outputs if request.by_rows}
        rows = f"with {self.expected_rows:,} rows in the group"
        told = [
            (name, "depends on the data" if width is None else f"±{width:.4g}", rows if name in by_rows else "")
            for name, width in self.half_width.items()
        ]
        below = [f"{price_in_words(self.loss, self.mechanism.at)}; protected: {self.loss.unit.describe()}"]
        below += [] if self.groups is None or self.groups == 1 else [f"{self.groups:,} groups"]
        if self.selection is not None:
            below.append(f"keys are shown from a noisy count of {self.selection.threshold} persons on")
        below.append("Nothing was paid, no data were looked at.")
        return grid(["asked", f"how far off ({level})", ""], told) + "".join(map(note, below))

    def __str__(self) -> str:
        many = "each discovered group" if self.groups is None else f"each of {self.groups:,} groups"
        level = f"{100 * self.confidence:.4g}%" + ("" if self.groups == 1 else f", {many}")
        lines = []
        by_rows = {name for name, request in self.mechanism.outputs if request.by_rows}
        for name, width in self.half_width.items():
            told = "depends on the data" if width is None else f"+-{width:.4g} ({level})"
            lines.append(
                f"{name}: {told}" + (f", with {self.expected_rows:,} rows in the group" if name in by_rows else "")
            )
        kept = self.mechanism.plan.reach.most_rows
        if _joins_persons(self.mechanism.plan.rows):
            lines.append(f"of the joined rows of a person at most {kept:,} count: the limits of the left table hold")
        if self.selection is not None:
            lines.append(f"keys are shown from a noisy count of {self.selection.threshold} persons on")
        return "\n".join(lines)


def _joins_persons(rows: Node) -> bool:
    """True if tables are joined on the person somewhere in a plan."""
    if isinstance(rows, PersonJoin):
        return True
    inner = [getattr(rows, "input", None), *getattr(rows, "inputs", ())]
    return any(_joins_persons(each) for each in inner if isinstance(each, Node))


class _NoWay(PrivetError):
    """This noise does not fit these aggregates."""


def _shares(way: str, target: Guarantee, parts: int, discovering: bool) -> tuple[Guarantee, Guarantee]:
    """The prices that each part and the selection of keys may have."""
    if discovering and (target.epsilon is None or target.delta == 0.0):
        raise NoGuarantee("discovering keys needs an epsilon and a delta > 0")
    equal = (1.0 / parts,) * parts
    if way == "laplace":
        if target.mu is not None:
            raise _NoWay
        one = target.split(equal, deltas=(0.0,) * parts if target.delta else None)[
            0
        ]  # Laplace noise has no use for delta
        return one, Guarantee(one.epsilon, target.delta) if discovering else one
    if target.epsilon is not None and target.delta == 0.0:
        raise _NoWay
    if not discovering:
        one = (target if target.rho is not None else target.as_mu()).split(equal)[0]
        return one, one
    if parts == 1:
        raise _NoWay
    # keys take their share of epsilon by basic composition, the other parts one Gaussian together
    keys, rest = target.split((1.0 / parts, 1.0 - 1.0 / parts), deltas=(_KEYS_SHARE, 1.0 - _KEYS_SHARE))
    return rest.as_mu().split((1.0 / (parts - 1),) * (parts - 1))[0], keys


def _law(made: TableAnswers, place: int) -> tuple[Kind, float]:
    part = made.parts[place]
    return "laplace" if isinstance(part, DiscreteLaplace) else "gaussian", part.scale  # type: ignore[attr-defined]


def _spread(made: TableAnswers) -> float:
    """The worst noise of a part in units of what one row adds at most: what two ways are compared by."""
    worst = 0.0
    for place, family in enumerate(made.families):
        kind, scale = _law(made, place)
        worst = max(worst, scale * (math.sqrt(2.0) if kind == "laplace" else 1.0) / family.size)
    return worst


def _half_width(made: TableAnswers, request: Aggregate, rows: int, confidence: float) -> float | None:
    """The distance by which the interval reaches to its farther side, by what answers a group of so many rows without
    noise."""
    if request.wants() is None:
        return None
    if request.by_selection and made.selection is not None:
        return radius("laplace", made.selection.scale, (1.0,), confidence)
    place, columns = family_of(request, made.families), made.plan.rows.columns
    if place is None:
        return request.constant(columns).farther()
    family = made.families[place]
    return request.half_width(Noisy(family, family.evenly(rows), *_law(made, place)), columns, confidence)
