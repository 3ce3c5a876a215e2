"""A small part of SQL, read into the same query that the methods of a table make:

    SELECT keys, AGG(column) [AS name], ... FROM table [JOIN public USING (column, ...)] [WHERE condition] [GROUP BY keys]

Everything else is refused, with the place where it stands. Nothing of the text ever reaches an engine.
"""

from collections.abc import Callable, Mapping
from datetime import date
from inspect import signature
from typing import Any, NamedTuple

from privet._validate import instance
from privet.errors import InvalidParameter
from privet.queries import aggregates as ask
from privet.queries.aggregate import Aggregate, spellings
from privet.queries.public_rows import public_column, public_rows
from privet.queries.sql_words import KEYWORDS, REMEDIES, Token, Words
from privet.tables import Bool, Both, Column, Compare, Condition, Person, Ref
from privet.tables.expressions import CompareColumns, Either, IsIn, IsMissing, Negated

_DEEPEST, _MOST_CONDITIONS, _MOST_VALUES = 40, 200, 1_000
_COMPARED: dict[str, Any] = {"=": "=", "<>": "!=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Item(NamedTuple):
    """What stands between two commas of SELECT: a key (no function), or an aggregate with what it is about."""

    function: Token | None
    about: tuple[Token, ...]  # a column, with the table before it where that was said; * alone for all rows
    distinct: bool
    share: float | None
    name: Token | None

    @property
    def at(self) -> int:
        return self.about[0].at if self.function is None else self.function.at


def query_of(text: str, table: Any, *, public: Mapping[str, Any] | None = None, **groups: Any) -> Any:
    """The query of `table` that a text asks for. `public` holds the public tables that it may join, by name; `groups` is
    handed on to `table.group_by`.

    >>> import privet as pv
    >>> visits = pv.Table({"age": [30, 40]}, columns={"age": pv.Int(0, 110)}, name="visits")
    >>> query_of("SELECT COUNT(*) AS n FROM visits WHERE age >= 65", visits).outputs
    (('n', Count(where=None)),)
    >>> query_of("SELECT COUNT(*) FROM visits LIMIT 3", visits)
    Traceback (most recent call last):
    privet.errors.InvalidParameter: line 1, column 29: LIMIT is not understood here: which rows come first is private: ...
      SELECT COUNT(*) FROM visits LIMIT 3
                                  ^
    """
    return _Reader(instance("sql", text, str), table, dict(public or {}), groups).query()


class _Reader:
    """One pass over the text. Columns are known from FROM on; what SELECT names is looked up at the end."""

    def __init__(self, text: str, table: Any, public: dict[str, Any], groups: dict[str, Any]) -> None:
        self.words, self.table, self.public, self.groups = Words(text), table, public, groups
        self.depth = self.conditions = 0
        self.names: dict[
            str, set[str] | None
        ] = {}  # of tables, as FROM and JOIN call them: their columns, None for all

    # clauses

    def query(self) -> Any:
        self.words.expect("SELECT")
        asked = [self.item()]
        while self.words.took(","):
            asked.append(self.item())
        self.words.expect("FROM")
        self.source()
        while self.words.next.is_("JOIN", "INNER"):
            self.join()
        if self.words.took("WHERE"):
            self.table = self.table.where(self.either())
        keys = self.keys() if self.words.took("GROUP") else []
        self.words.took(";")
        if self.words.next.kind != "end":
            self.words.unexpected("expected the end of the query")
        return self.made(asked, keys)

    def item(self) -> Item:
        first = self.words.identifier("a column or an aggregate")
        if not self.words.took("("):
            column = (first, self.words.identifier("a column")) if self.words.took(".") else (first,)
            return Item(None, column, False, None, self.alias())
        distinct = self.words.took("DISTINCT") is not None
        star = self.words.took("*")
        about = (star,) if star else self.words.dotted("a column or *")
        share = float(self.number()) if self.words.took(",") else None
        self.words.expect(")")
        return Item(first, about, distinct, share, self.alias())

    def alias(self) -> Token | None:
        if self.words.took("AS"):
            return self.words.identifier("a name")
        return None

    def source(self) -> None:
        token = self.words.identifier("a table")
        known = [source.name for source in self.table.rows.sources]
        if token.text.lower() not in [name.lower() for name in known]:
            self.words.refuse(
                token.at, f"there is no table {token.text!r:.60} here; this one is called {known[0]!r:.60}"
            )
        self.names = dict.fromkeys(name for name in (token.text.lower(), self.called()) if name)

    def called(self) -> str | None:
        """Another name for the table that was just named."""
        bare = self.words.next.kind == "quoted" or (
            self.words.next.kind == "name" and self.words.next.text.upper() not in {*KEYWORDS, *REMEDIES, "INNER"}
        )
        return self.words.identifier("a name").text.lower() if self.words.took("AS") or bare else None

    def join(self) -> None:
        self.words.took("INNER")
        self.words.expect("JOIN")
        token = self.words.identifier("a public table")
        found = next((name for name in self.public if name.lower() == token.text.lower()), None)
        if found is None:
            listed = ", ".join(map(repr, self.public)) or "none is given"
            self.words.refuse(token.at, f"{token.text!r:.60} is no public table (public=): {listed}")
        called = self.called()
        self.words.expect("USING")
        self.words.expect("(")
        on = [self.column(self.words.dotted("a column"))[0]]
        while self.words.took(","):
            on.append(self.column(self.words.dotted("a column"))[0])
        self.words.expect(")")
        try:
            rows = public_rows(self.public[found])
            columns = {name: public_column(values, self.table.columns.get(name)) for name, values in rows.items()}
            self.table = self.table.join_public(rows, on=on, columns=columns)
        except InvalidParameter as problem:
            self.words.refuse(token.at, problem)
        self.names |= {name: set(rows) for name in (token.text.lower(), called) if name}

    def keys(self) -> list[str]:
        self.words.expect("BY")
        found = [self.column(self.words.dotted("a column"))]
        while self.words.took(","):
            found.append(self.column(self.words.dotted("a column")))
        return [name for name, _ in found]

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
            name, _ = self.column(self.words.dotted("a column"))
            return self.checked(at, Compare(Ref(name), _COMPARED[_TURNED.get(sign, sign)], value))
        name, kind = self.column(self.words.dotted("a column"))
        if self.words.took("IS"):
            opposite = self.words.took("NOT")
            self.words.expect("NULL")
            missing = IsMissing(Ref(name))
            return Negated(missing) if opposite else missing
        if self.words.next.is_(*_COMPARED):
            operator = _COMPARED[self.words.take().text]
            if self.is_column():
                other, _ = self.column(self.words.dotted("a column"))
                return self.checked(at, CompareColumns(Ref(name), operator, Ref(other)))
            return self.checked(at, Compare(Ref(name), operator, self.constant()))
        opposite = self.words.took("NOT")
        made = (
            self.listed(name) if self.words.took("IN") else self.between(name) if self.words.took("BETWEEN") else None
        )
        if made is None:
            if isinstance(kind, Bool) and not opposite:
                return Compare(Ref(name), "=", True)
            self.words.unexpected("expected a comparison, IN, BETWEEN or IS NULL")
        made = self.checked(at, made)
        return Negated(made) if opposite else made

    def listed(self, name: str) -> Condition:
        self.words.expect("(")
        values = [self.constant()]
        while self.words.took(","):
            if len(values) >= _MOST_VALUES:
                self.words.refuse(self.words.next.at, f"a list holds at most {_MOST_VALUES:,} values")
            values.append(self.constant())
        self.words.expect(")")
        return IsIn(Ref(name), tuple(values))

    def between(self, name: str) -> Condition:
        low = self.constant()
        self.words.expect("AND")
        return Both(Compare(Ref(name), ">=", low), Compare(Ref(name), "<=", self.constant()))

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

    def made(self, asked: list[Item], keys: list[str]) -> Any:
        outputs: dict[str, Aggregate] = {}
        for item in asked:
            if item.function is None:
                self.key(item, keys)
                continue
            request, name = self.aggregate(item, item.function)
            at = item.at if item.name is None else item.name.at
            if name in outputs or name in keys:
                self.words.refuse(at, f"there are two columns {name!r:.60}: name one of them with AS")
            try:
                request.check(self.table.columns)
            except InvalidParameter as problem:
                self.words.refuse(item.about[0].at, problem)
            outputs[name] = request
        if not outputs:
            self.words.refuse(asked[0].at, "what is asked of these groups? Add an aggregate, such as COUNT(*)")
        try:
            groups = self.table.group_by(*keys, **self.groups) if keys else self.table
            return groups.agg(**outputs)
        except InvalidParameter as problem:
            self.words.refuse(asked[0].at, problem)

    def key(self, item: Item, keys: list[str]) -> None:
        name, _ = self.column(item.about)
        if name not in keys:
            self.words.refuse(
                item.at, f"rows are not shown: add {name!r:.60} to GROUP BY, or ask for an aggregate of it"
            )
        if item.name is not None and item.name.text != name:
            self.words.refuse(item.name.at, "keys keep their names")

    def aggregate(self, item: Item, function: Token) -> tuple[Aggregate, str]:
        """The request, and what it is called where AS does not say."""
        word, about = function.text.upper(), item.about
        star = about[0].is_("*")
        if word == "COUNT":
            return self.counted(item, star)
        known = {each: spelling.make for spelling in spellings().values() for each in spelling.sql}
        make = known.get(word)
        if make is None:
            listed = ", ".join(["COUNT", *known])
            ways = " (the variance of the rows themselves: VAR_POP)" if word.endswith("_SAMP") else ""
            self.words.refuse(function.at, f"there is no aggregate {word[:40]}{ways}; there are {listed}")
        if item.distinct or star:
            self.words.refuse(about[0].at, f"{word} is about the values of one column")
        name, _ = self.column(about)
        with_share = _takes_a_number(make)
        if with_share != (item.share is not None):
            self.words.refuse(
                function.at, f"{word} takes " + ("a column and a share" if with_share else "a column alone")
            )
        called = f"{word.lower()}_{name}" if item.name is None else item.name.text
        try:
            return make(name, item.share) if with_share else make(name), called
        except InvalidParameter as problem:
            self.words.refuse(function.at, problem)

    def counted(self, item: Item, star: bool) -> tuple[Aggregate, str]:
        called = None if item.name is None else item.name.text
        if item.share is not None or (item.distinct and star):
            self.words.refuse(item.at, "ask COUNT(*), or COUNT(DISTINCT person)")
        if star:
            return ask.count(), called or "count"
        unit = self.table.rows.unit
        if not item.distinct:
            name, _ = self.column(item.about)
            self.words.refuse(item.at, f"ask COUNT(*) ... WHERE {name} IS NOT NULL")
        if not isinstance(unit, Person):
            self.words.refuse(item.at, "every row is somebody else in this table: ask COUNT(*)")
        if self.within(item.about, [unit.column]) is None:
            self.words.refuse(item.about[-1].at, f"only persons are counted once: COUNT(DISTINCT {unit.column})")
        return ask.count_persons(), called or f"count_{unit.column}"


def _takes_a_number(make: Callable[..., Aggregate]) -> bool:
    """Whether an aggregate is of a column and a number, as a quantile is."""
    _, *more = signature(make).parameters.values()
    return any(each.default is each.empty for each in more)
