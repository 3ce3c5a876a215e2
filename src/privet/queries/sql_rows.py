"""Expressions over one row in the small part of SQL: conditions, constants, columns, and values inside an aggregate."""

import operator
from collections.abc import Callable
from datetime import date
from typing import Any

from privet.errors import InvalidParameter
from privet.queries.selection import ColumnOf
from privet.queries.sql_words import Token, Words
from privet.tables import Bool, Both, Category, Column, Compare, Condition, Expression, Holds, If, Part, Person, Ref
from privet.tables.expressions import CompareColumns, Either, IsIn, IsMissing, Negated

_DEEPEST, _MOST_CONDITIONS, _MOST_VALUES = 40, 200, 1_000  # more than people write, far below what recursion can do
_COMPARED: dict[str, Any] = {"=": "=", "<>": "!=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
# Parts of days and times that all dialects count alike; weekdays begin at 0 or 1, on Sunday or Monday.
_PARTS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE")
PART_CALLS = ("EXTRACT", "DATE", *_PARTS)


class RowReader:
    """A reader of the words of one row, of the columns of `table`; `names` are what the text calls tables, with their
    columns, None for all."""

    def __init__(self, text: str, table: Any) -> None:
        self.words, self.table = Words(text), table
        self.depth = self.conditions = 0
        self.names: dict[str, set[str] | None] = {}

    # conditions

    def either(self) -> Condition:
        made = self.both()
        while self.words.took("OR"):
            made = Either(made, self.both())
        return made

    def both(self) -> Condition:
        made = self.opposite()
        while self.words.took("AND"):
            made = Both(made, self.opposite())
        return made

    def opposite(self) -> Condition:
        self.depth += 1
        self.conditions += 1
        if self.depth > _DEEPEST or self.conditions > _MOST_CONDITIONS:
            self.words.refuse(self.words.next.at, "too many conditions: ask for less at once")
        if self.words.took("NOT"):
            made: Condition = Negated(self.opposite())
        elif self.words.took("("):
            made = self.either()
            self.words.expect(")")
        else:
            made = self.compared()
        self.depth -= 1
        return made

    def compared(self) -> Condition:
        at = self.words.next.at
        if not self.is_column():  # 65 <= age
            value = self.constant()
            sign = self.words.expect(*_COMPARED).text
            return self.checked(at, Compare(self.operand()[0], _COMPARED[_TURNED.get(sign, sign)], value))
        of, kind = self.operand()
        if self.words.took("IS"):
            opposite = self.words.took("NOT")
            self.words.expect("NULL")
            missing = IsMissing(of)
            return Negated(missing) if opposite else missing
        if self.words.next.is_(*_COMPARED):
            operator = _COMPARED[self.words.take().text]
            if self.is_column():
                return self.checked(at, CompareColumns(of, operator, self.operand()[0]))
            return self.checked(at, Compare(of, operator, self.constant()))
        opposite = self.words.took("NOT")
        made: Condition | None = None
        if self.words.took("IN"):
            made = self.listed(of)
        elif self.words.took("BETWEEN"):
            made = self.between(of)
        elif self.words.took("LIKE"):
            made = self.beginning(of, kind)
        if made is None:
            if isinstance(kind, Bool) and not opposite:
                return Compare(of, "=", True)
            self.words.unexpected("expected a comparison, IN, BETWEEN or IS NULL")
        made = self.checked(at, made)
        return Negated(made) if opposite else made

    def listed(self, of: Expression) -> Condition:
        self.words.expect("(")
        values = [self.constant()]
        while self.words.took(","):
            if len(values) >= _MOST_VALUES:
                self.words.refuse(self.words.next.at, f"a list holds at most {_MOST_VALUES:,} values")
            values.append(self.constant())
        self.words.expect(")")
        return IsIn(of, tuple(values))

    def beginning(self, of: Expression, kind: Column) -> Condition:
        """The values of a category that begin so."""
        at = self.words.next.at
        pattern = self.constant()
        begin = pattern[:-1] if isinstance(pattern, str) else "%"
        if not isinstance(kind, Category) or not kind.texts or pattern[-1:] != "%" or {"%", "_"} & set(begin):
            self.words.refuse(at, "LIKE 'begin%' is asked of a category of texts; other patterns are not understood")
        found = tuple(each for each in kind.values if str(each).startswith(begin))
        if not found:
            self.words.refuse(at, "no value of the category begins so")
        return IsIn(of, found)

    def between(self, of: Expression) -> Condition:
        low = self.constant()
        self.words.expect("AND")
        return Both(Compare(of, ">=", low), Compare(of, "<=", self.constant()))

    def checked(self, at: int, condition: Condition) -> Condition:
        try:
            condition.check(self.table.columns)
        except InvalidParameter as problem:
            self.words.refuse(at, problem)
        return condition

    def is_column(self) -> bool:
        token, following = self.words.next, self.words.tokens[min(self.words.place + 1, len(self.words.tokens) - 1)]
        if token.is_("DATE") and following.kind == "text":
            return False
        return token.kind == "quoted" or (token.kind == "name" and not token.is_("TRUE", "FALSE", "NULL"))

    def constant(self) -> Any:
        token = self.words.next
        if token.is_("DATE"):
            self.words.take()
        if self.words.next.kind == "text":
            text = self.words.take().text[1:-1].replace("''", "'")
            if not token.is_("DATE"):
                return text
            try:
                return date.fromisoformat(text)
            except ValueError:
                self.words.refuse(token.at, "a day is written DATE '2024-05-01'")
        if token.is_("TRUE", "FALSE"):
            return self.words.take().text.upper() == "TRUE"
        if token.is_("NULL"):
            self.words.refuse(token.at, "nothing is equal to NULL: ask IS NULL")
        return self.number()

    def number(self) -> int | float:
        sign = -1 if self.words.took("-") else 1
        if sign == 1:
            self.words.took("+")
        if self.words.next.kind != "number":
            self.words.unexpected("expected a number, a text in '...', DATE '...', TRUE or FALSE")
        token = self.words.take()
        if token.text.isdigit() and len(token.text) <= 18:
            return sign * int(token.text)
        value = float(token.text)
        if value in (float("inf"), float("-inf")):
            self.words.refuse(token.at, "this number is too large")
        return sign * value

    # names

    def column(self, name: tuple[Token, ...]) -> tuple[str, Column]:
        columns: dict[str, Column] = self.table.columns
        found = self.within(name, columns)
        if found is None:
            why = f"there is no column {name[-1].text!r:.60}; the columns are {', '.join(columns)}"
            unit = self.table.rows.unit
            if isinstance(unit, Person) and name[-1].text == unit.column:
                why = f"{unit.column!r} names persons: it can be counted only, with COUNT(DISTINCT {unit.column})"
            self.words.refuse(name[-1].at, why)
        return found, columns[found]

    def within(self, name: tuple[Token, ...], columns: Any) -> str | None:
        """The column with this name: as it is written, or the only one that differs by upper and lower case."""
        if len(name) == 2:
            if name[0].text.lower() not in self.names:
                self.words.refuse(name[0].at, f"there is no table {name[0].text!r:.60} in this query")
            only = self.names[name[0].text.lower()]
            columns = columns if only is None else [each for each in columns if each in only]
        text = name[-1].text
        if text in columns:
            return text
        alike = [each for each in columns if each.lower() == text.lower()]
        return alike[0] if len(alike) == 1 and name[-1].kind != "quoted" else None

    # columns, and parts of days and times

    def operand(self) -> tuple[Expression, Column]:
        """A column or a part of one, with what it holds."""
        if self.is_part():
            of = self.part()
            return of, of.column(self.table.columns)
        name, kind = self.column(self.words.dotted("a column"))
        return Ref(name), kind

    def is_part(self) -> bool:
        following = self.words.tokens[min(self.words.place + 1, len(self.words.tokens) - 1)]
        return self.words.next.is_(*PART_CALLS) and following.is_("(")

    def part(self) -> Part:
        """EXTRACT(YEAR FROM day), YEAR(day), or DATE(time)."""
        call = self.words.take()
        self.words.expect("(")
        word = call.text.upper()
        if word == "EXTRACT":
            named = self.words.identifier("a part of a day or a time")
            word = named.text.upper()
            if word not in (*_PARTS, "DATE"):
                remedy = 'weekdays are numbered differently everywhere: table.derive(weekday=table["day"].weekday)'
                listed = f"the parts of a day or a time are {', '.join(_PARTS)}"
                self.words.refuse(named.at, remedy if "DOW" in word or "WEEKDAY" in word else listed)
            self.words.expect("FROM")
        at = self.words.next.at
        name, _ = self.column(self.words.dotted("a column"))
        self.words.expect(")")
        made = Part(Ref(name), word.lower())
        self.computed(at, lambda: made)
        return made

    # values inside an aggregate

    def sum(self) -> ColumnOf | int | float:
        made = self.product()
        while sign := self.words.took("+", "-"):
            made = self.computed(sign.at, operator.add if sign.text == "+" else operator.sub, made, self.product())
        return made

    def product(self) -> ColumnOf | int | float:
        made = self.factor()
        while sign := self.words.took("*", "/"):
            made = self.computed(sign.at, operator.mul if sign.text == "*" else operator.truediv, made, self.factor())
        return made

    def factor(self) -> ColumnOf | int | float:
        self.depth += 1
        if self.depth > _DEEPEST:
            self.words.refuse(self.words.next.at, "too many brackets: ask for less at once")
        if self.words.took("("):
            made = self.sum()
            self.words.expect(")")
        elif self.words.took("CASE"):
            made = self.case()
        elif sign := self.words.took("-", "+"):
            inner = self.factor()
            made = inner if sign.text == "+" else self.computed(sign.at, operator.neg, inner)
        elif self.words.next.kind == "number":
            made = self.number()
        else:
            what = "a column, a number or CASE"
            made = ColumnOf(self.part() if self.is_part() else self.column(self.words.dotted(what))[0])
        self.depth -= 1
        return made

    def case(self) -> ColumnOf:
        at = self.words.expect("WHEN").at
        holds = self.either()
        self.words.expect("THEN")
        then = self.sum()
        other = self.sum() if self.words.took("ELSE") else None
        self.words.expect("END")
        if isinstance(other, ColumnOf):
            self.words.refuse(at, "ELSE takes a number: with two columns ask for each of them with FILTER (WHERE ...)")
        if not isinstance(then, ColumnOf):
            if (then, other) == (1, 0):
                return ColumnOf(Holds(holds))
            then = ColumnOf(Holds(holds)) * 0 + then  # a number for every row
        return ColumnOf(self.computed(at, If, then.expression, holds, other))

    def computed(self, at: int, make: Callable[..., Any], *parts: Any) -> Any:
        """The value that is computed, if public facts allow it; of numbers alone a number."""
        try:
            made = make(*parts)
            expression = getattr(made, "expression", made)
            if isinstance(expression, Expression):
                expression.column(self.table.columns)
        except (InvalidParameter, ArithmeticError) as problem:
            self.words.refuse(at, problem if isinstance(problem, InvalidParameter) else "this is no number")
        return made
