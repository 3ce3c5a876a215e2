"""Expressions and conditions of a row in SQL, for any dialect."""

from collections.abc import Mapping

from privet.tables import expressions as tree
from privet.tables.bounded import Ticks
from privet.tables.columns import Bool, Category, Column, Date, Float, Int, Text, Time
from privet.tables.computed import SETTLE, Clip, Times
from privet.tables.dialect import Dialect
from privet.tables.parts import Part
from privet.tables.reading import rounded

_FIRST_DAY = (
    719_162  # days from the first of January of the year 1 to 1970: from there on quotients are of what is >= 0
)


class Values:
    """Values and conditions over columns that stand under aliases.

    >>> from privet.tables.dialect import DuckDB
    >>> Values(DuckDB()).expression(tree.Ref("age"), {}, {"age": "c0"})
    'c0'
    """

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect

    def expression(self, what: tree.Expression, columns: Mapping[str, Column], aliases: Mapping[str, str]) -> str:
        """A value for every row."""
        d = self.dialect
        if isinstance(what, tree.Ref):
            return aliases[what.name]
        if isinstance(what, tree.Linear):
            inner = self.expression(what.of, columns, aliases)
            if isinstance(what.column(columns), Float):
                factor, shift = d.number(float(what.factor)), d.number(float(what.shift))
                return d.settled(f"({d.settled(d.as_double(inner))} * {factor} + {shift})")
            return f"({inner} * {d.number(what.factor)} + {d.number(what.shift)})"
        if isinstance(what, tree.Plus):
            parts = [self.expression(each, columns, aliases) for each in (what.left, what.right)]
            if isinstance(what.column(columns), Float):
                parts = [d.as_double(each) for each in parts]
            return f"({parts[0]} {'+' if what.sign > 0 else '-'} {parts[1]})"
        if isinstance(what, Times):
            return self._times(what, columns, aliases)
        if isinstance(what, Clip):
            return self._clip(what, columns, aliases)
        if isinstance(what, tree.Bin):
            return self._bin(what, columns, aliases)
        if isinstance(what, tree.Cut):
            return self._cut(what, columns, aliases)
        if isinstance(what, tree.Place):
            return self._place(what, columns, aliases)
        if isinstance(what, tree.Holds):
            return f"CASE WHEN {self.condition(what.condition, columns, aliases)} THEN {d.number(1)} ELSE {d.number(0)} END"
        if isinstance(what, tree.If):
            return self._if(what, columns, aliases)
        if isinstance(what, tree.Pattern):
            told = [self.condition(each, columns, aliases) for each in what.conditions]
            bits = [f"CASE WHEN {each} THEN {d.number(2**i)} ELSE {d.number(0)} END" for i, each in enumerate(told)]
            return f"({' + '.join(bits)})"
        assert isinstance(what, Part)
        return self._part(what, columns, aliases)

    def _part(self, what: Part, columns: Mapping[str, Column], aliases: Mapping[str, str]) -> str:
        d, inner = self.dialect, self.expression(what.of, columns, aliases)
        if isinstance(what.of.column(columns), Time):
            since = f"({inner} + {d.number(_FIRST_DAY * 86_400)})"
            if what.part in ("hour", "minute"):
                size, many = (3600, 24) if what.part == "hour" else (60, 60)
                return f"({d.divided(since, d.number(size))} % {d.number(many)})"
            inner = f"({d.divided(since, d.number(86_400))} - {d.number(_FIRST_DAY)})"
            if what.part == "date":
                return inner
        if what.part == "weekday":
            return f"(({inner} + {d.number(7 * 2**20 + 3)}) % 7)"
        return d.day_part(what.part, inner)

    def _times(self, what: Times, columns: Mapping[str, Column], aliases: Mapping[str, str]) -> str:
        d = self.dialect
        parts = [self.expression(each, columns, aliases) for each in (what.left, what.right)]
        if isinstance(what.column(columns), Float):
            tiny = d.number(SETTLE)
            parts = [f"({d.as_double(each)} + {tiny} - {tiny})" for each in parts]
        return f"({parts[0]} * {parts[1]})"

    def _clip(self, what: Clip, columns: Mapping[str, Column], aliases: Mapping[str, str]) -> str:
        d, inner = self.dialect, self.expression(what.of, columns, aliases)
        if isinstance(what.column(columns), Float):
            inner, low, high = d.as_double(inner), d.number(float(what.lower)), d.number(float(what.upper))
        else:
            low, high = d.number(what.lower), d.number(what.upper)
        return f"CASE WHEN {inner} < {low} THEN {low} WHEN {inner} > {high} THEN {high} ELSE {inner} END"

    def _bin(self, what: tree.Bin, columns: Mapping[str, Column], aliases: Mapping[str, str]) -> str:
        d, inner = self.dialect, self.expression(what.of, columns, aliases)
        end = what.start + what.width * what.count
        whole = isinstance(what.start, int) and isinstance(what.width, int)
        if whole and not isinstance(what.of.column(columns), Float):
            start, stop, width = d.number(what.start), d.number(int(end)), d.number(what.width)
            number = d.divided(f"({inner} - {start})", width)
            inside = f"{inner} >= {start} AND {inner} < {stop}"
            return f"CASE WHEN {inside} THEN {number} WHEN {inner} = {stop} THEN {d.number(what.count - 1)} END"
        x = d.as_double(inner)
        start, stop, width = d.number(float(what.start)), d.number(float(end)), d.number(float(what.width))
        place = d.whole(f"floor(({d.divisible(x)} - {start}) / {width})")
        last = d.number(what.count - 1)
        inside = f"{x} >= {start} AND {x} <= {stop}"
        return f"CASE WHEN {inside} THEN CASE WHEN {place} > {last} THEN {last} ELSE {place} END END"

    def _cut(self, what: tree.Cut, columns: Mapping[str, Column], aliases: Mapping[str, str]) -> str:
        """By halves, so that a row meets few of the edges."""
        d, inner = self.dialect, self.expression(what.of, columns, aliases)
        edges = what.exact_edges(columns)
        x = d.as_double(inner) if isinstance(what.of.column(columns), Float) else inner

        def among(low: int, high: int) -> str:
            if low == high:
                return d.number(low)
            middle = (low + high + 1) // 2
            above, below = among(middle, high), among(low, middle - 1)
            return f"CASE WHEN {x} >= {d.number(edges[middle - 1])} THEN {above} ELSE {below} END"

        return f"CASE WHEN {x} IS NOT NULL THEN {among(0, len(edges))} END"

    def _if(self, what: tree.If, columns: Mapping[str, Column], aliases: Mapping[str, str]) -> str:
        d, inner = self.dialect, self.expression(what.of, columns, aliases)
        holds = self.condition(what.condition, columns, aliases)
        if what.otherwise is None:
            return f"CASE WHEN {holds} THEN {inner} END"
        if isinstance(what.column(columns), Float):
            return f"CASE WHEN {holds} THEN {d.as_double(inner)} ELSE {d.number(float(what.otherwise))} END"
        return f"CASE WHEN {holds} THEN {inner} ELSE {d.number(what.otherwise)} END"

    def _place(self, what: tree.Place, columns: Mapping[str, Column], aliases: Mapping[str, str]) -> str:
        d, inner = self.dialect, self.expression(what.of, columns, aliases)
        column = what.of.column(columns)
        if isinstance(column, Category):
            listed = enumerate(column.values)
            cases = " ".join(f"WHEN {self.constant(column, each)} THEN {d.number(place)}" for place, each in listed)
            made = f"CASE {inner} {cases} END"
        else:
            made = f"({inner} - {d.number(int(column.span[0]))})"
        return f"coalesce({made}, {d.number(tree.listed_values(column))})" if column.null else made

    def constant(self, column: Column, value: object) -> str:
        """A public value of a column; missing ones have the type of the column too."""
        d = self.dialect
        if value is None:
            whole = isinstance(column, Int | Date | Time | Bool) or (column.kind == "category" and not is_text(column))
            return f"CAST(NULL AS {'BIGINT' if whole else d.double if isinstance(column, Float) else d.varchar})"
        read = column.read(value)
        return d.text(read) if isinstance(read, str) else d.number(read)

    def condition(self, what: tree.Condition, columns: Mapping[str, Column], aliases: Mapping[str, str]) -> str:
        """A condition in the three-valued logic of SQL."""
        if isinstance(what, tree.Compare):
            operator = "<>" if what.operator == "!=" else what.operator
            constant = self.constant(what.of.column(columns), what.value)
            return f"({self.expression(what.of, columns, aliases)} {operator} {constant})"
        if isinstance(what, tree.CompareColumns):
            operator = "<>" if what.operator == "!=" else what.operator
            sides = [self.expression(each, columns, aliases) for each in (what.left, what.right)]
            return f"({sides[0]} {operator} {sides[1]})"
        if isinstance(what, tree.IsIn):
            column = what.of.column(columns)
            listed = ", ".join(self.constant(column, value) for value in what.values)
            return f"({self.expression(what.of, columns, aliases)} IN ({listed}))"
        if isinstance(what, tree.IsMissing):
            return f"({self.expression(what.of, columns, aliases)} IS NULL)"
        if isinstance(what, tree.Negated):
            return f"(NOT {self.condition(what.of, columns, aliases)})"
        assert isinstance(what, tree.Both | tree.Either)
        word = "AND" if isinstance(what, tree.Both) else "OR"
        sides = [self.condition(each, columns, aliases) for each in (what.left, what.right)]
        return f"({sides[0]} {word} {sides[1]})"

    def ticks(self, what: Ticks, columns: Mapping[str, Column], aliases: Mapping[str, str]) -> str:
        """A column as whole steps."""
        d, inner = self.dialect, self.expression(what.of, columns, aliases)
        if what.tick == 1.0 and what.start.is_integer() and not isinstance(what.of.column(columns), Float):
            return f"({inner} - {d.number(int(what.start))})"
        double = d.divisible(d.as_double(inner))
        shifted = double if what.start == 0.0 else f"({double} - {d.number(what.start)})"
        return rounded(d, f"{shifted} * {d.number(1.0 / what.tick)}")  # a power of two: the same as to divide

    def unmoved_steps(self, what: Ticks, columns: Mapping[str, Column], aliases: Mapping[str, str]) -> str:
        """A column of doubles as steps that are doubles too, whether they are in the bounds or not."""
        d, inner = self.dialect, self.expression(what.of, columns, aliases)
        shifted = inner if what.start == 0.0 else f"({inner} - {d.number(what.start)})"
        if not isinstance(what.of.column(columns), Float):
            return shifted
        return f"floor({shifted} * {d.number(1.0 / what.tick)} + {d.number(0.5)})"


def is_text(column: Column) -> bool:
    """True if engines hold it as a text.

    >>> is_text(Int(0, 1))
    False
    """
    return isinstance(column, Text) or (isinstance(column, Category) and column.texts)
