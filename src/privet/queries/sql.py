"""A small part of SQL, read into the same query that the methods of a table make:

    SELECT keys, AGG(column) [FILTER (WHERE condition)] [AS name], ...
    FROM table [JOIN public USING (column, ...)] [WHERE condition] [GROUP BY keys]

An aggregate is also of sums, multiples by constants and CASE WHEN condition THEN ... ELSE ... END; EXTRACT(part FROM
column) and YEAR(column) stand wherever a column does. Everything else is refused, with the place where it stands. Nothing
of the text ever reaches an engine.
"""

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, NamedTuple

from privet._validate import instance
from privet.errors import InvalidParameter
from privet.queries import aggregates as ask
from privet.queries.aggregate import Aggregate, AggregateOf, asked_of, spellings
from privet.queries.public_rows import public_column, public_rows
from privet.queries.selection import ColumnOf
from privet.queries.sql_rows import PART_CALLS, RowReader
from privet.queries.sql_words import KEYWORDS, REMEDIES, Token
from privet.tables import Both, Condition, Part, Person, Ref
from privet.tables.expressions import IsMissing, Negated


class Item(NamedTuple):
    """An item between two commas of SELECT: a key (a column, or a part of a day or a time), or an aggregate with what it
    is about."""

    first: tuple[Token, ...]  # the name of the function, or of a key, with the table before it where that was said
    inside: int | None  # where what a function is of begins, among the pieces of the text
    filter: int | None  # where the condition of its FILTER begins
    name: Token | None

    @property
    def at(self) -> int:
        return self.first[0].at

    @property
    def is_part(self) -> bool:
        """True for a part of a day or a time."""
        return self.inside is not None and self.first[0].is_(*PART_CALLS)

    @property
    def is_key(self) -> bool:
        return self.inside is None or self.is_part


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


class _Reader(RowReader):
    """One pass over the text. Columns are known from FROM on; what SELECT names is looked up at the end."""

    def __init__(self, text: str, table: Any, public: dict[str, Any], groups: dict[str, Any]) -> None:
        super().__init__(text, table)
        self.public, self.groups = public, groups
        self.parts: dict[str, Part] = {}  # columns that were derived for GROUP BY

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
        keys = self.keys(asked) if self.words.took("GROUP") else []
        self.words.took(";")
        if self.words.next.kind != "end":
            self.words.unexpected("expected the end of the query")
        return self.made(asked, keys)

    def item(self) -> Item:
        first = self.words.identifier("a column or an aggregate")
        if not self.words.took("("):
            column = (first, self.words.identifier("a column")) if self.words.took(".") else (first,)
            return Item(column, None, None, self.alias())
        inside, chosen = self.words.skip(), None
        if self.words.took("FILTER"):
            self.words.expect("(")
            self.words.expect("WHERE")
            chosen = self.words.skip()
        return Item((first,), inside, chosen, self.alias())

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
        on = self.matched(called or token.text) if self.words.took("ON") else self.used()
        try:
            rows = public_rows(self.public[found])
            columns = {name: public_column(values, self.table.columns.get(name)) for name, values in rows.items()}
            self.table = self.table.join_public(rows, on=on, columns=columns)
        except InvalidParameter as problem:
            self.words.refuse(token.at, problem)
        self.names |= {name: set(rows) for name in (token.text.lower(), called) if name}

    def used(self) -> list[str]:
        self.words.expect("USING")
        self.words.expect("(")
        on = [self.column(self.words.dotted("a column"))[0]]
        while self.words.took(","):
            on.append(self.column(self.words.dotted("a column"))[0])
        self.words.expect(")")
        return on

    def matched(self, other: str) -> list[str]:
        """The columns of ON a.ward = b.ward AND ...: the same name on both sides."""
        on = []
        while True:
            sides = [self.words.dotted("a column")]
            self.words.expect("=")
            sides.append(self.words.dotted("a column"))
            mine = [each for each in sides if len(each) == 1 or each[0].text.lower() != other.lower()]
            if len({each[-1].text.lower() for each in sides}) != 1 or not mine:
                self.words.refuse(sides[0][0].at, "both tables must call the column alike: ON visits.ward = wards.ward")
            on.append(self.column(mine[0])[0])
            if not self.words.took("AND"):
                return on

    def keys(self, asked: list[Item]) -> list[str]:
        self.words.expect("BY")
        found = [self.grouped(asked)]
        while self.words.took(","):
            found.append(self.grouped(asked))
        return found

    def grouped(self, asked: list[Item]) -> str:
        """A column, a part of one, or the number or the name of what stands in SELECT."""
        token = self.words.next
        if token.kind == "number":
            self.words.take()
            place = int(token.text) - 1 if token.text.isdigit() and len(token.text) < 9 else -1
            if not 0 <= place < len(asked) or not asked[place].is_key:
                self.words.refuse(token.at, "a number in GROUP BY is the place of a column in SELECT, from 1 on")
            item = asked[place]
            return self.part_key(item)[0] if item.is_part else self.column(item.first)[0]
        parts = [item for item in asked if item.is_part]
        if self.is_part():
            part = self.part()
            said = next((item for item in parts if self.part_key(item)[1] == part), None)
            return self.part_key(said)[0] if said else self.derived(token.at, part.part, part)
        words = self.words.dotted("a column")
        named = [item for item in parts if len(words) == 1 and item.name and item.name.text == words[0].text]
        return self.part_key(named[0])[0] if named else self.column(words)[0]

    def part_key(self, item: Item) -> tuple[str, Part]:
        """The column that a part in SELECT stands for, which is derived where it is not yet there."""
        place, self.words.place = self.words.place, (item.inside or 0) - 2  # before the name of the function and (
        part = self.part()
        self.words.place = place
        return self.derived(item.at, part.part if item.name is None else item.name.text, part), part

    def derived(self, at: int, name: str, part: Part) -> str:
        if self.parts.get(name) != part:
            if name in self.table.columns:
                self.words.refuse(at, f"there is a column {name!r:.60}: give this one another name with AS")
            self.parts[name] = part
            self.table = self.table.derive(**{name: ColumnOf(part)})
        return name

    # the query

    def made(self, asked: list[Item], keys: list[str]) -> Any:
        outputs: dict[str, Aggregate | AggregateOf] = {}
        for item in asked:
            if item.inside is None or item.is_part:
                self.key(item, keys)
                continue
            request, name = self.aggregate(item, item.inside)
            at = item.at if item.name is None else item.name.at
            if name in outputs or name in keys:
                self.words.refuse(at, f"there are two columns {name!r:.60}: name one of them with AS")
            try:
                request.check(self.table.columns)
            except InvalidParameter as problem:
                self.words.refuse(self.words.tokens[item.inside].at, problem)
            outputs[name] = request
        if not outputs:
            self.words.refuse(asked[0].at, "what is asked of these groups? Add an aggregate, such as COUNT(*)")
        try:
            groups = self.table.group_by(*keys, **self.groups) if keys else self.table
            return groups.agg(**outputs)
        except InvalidParameter as problem:
            self.words.refuse(asked[0].at, problem)

    def key(self, item: Item, keys: list[str]) -> None:
        name = self.part_key(item)[0] if item.is_part else self.column(item.first)[0]
        if name not in keys:
            self.words.refuse(
                item.at, f"rows are not shown: add {name!r:.60} to GROUP BY, or ask for an aggregate of it"
            )
        if not item.is_part and item.name is not None and item.name.text != name:
            self.words.refuse(item.name.at, "keys keep their names")

    def aggregate(self, item: Item, inside: int) -> tuple[Aggregate | AggregateOf, str]:
        """The request, and what it is called where AS does not say."""
        function, where = item.first[0], self.chosen(item)
        word, self.words.place = function.text.upper(), inside
        if word == "COUNT":
            return self.counted(item, where)
        known = {each: spelling.make for spelling in spellings().values() for each in spelling.sql}
        make = known.get(word)
        if make is None:
            listed = ", ".join(["COUNT", *known])
            ways = " (the variance of the rows themselves: VAR_POP)" if word.endswith("_SAMP") else ""
            self.words.refuse(function.at, f"there is no aggregate {word[:40]}{ways}; there are {listed}")
        at = self.words.next.at
        if self.words.next.is_("DISTINCT", "*"):
            self.words.refuse(at, f"{word} is about the values of one column")
        of = self.sum()
        share = (float(self.number()),) if self.words.took(",") else ()
        self.words.expect(")")
        if not isinstance(of, ColumnOf):
            self.words.refuse(at, f"{word} is about the values of one column")
        with_share = _takes_a_number(make)
        if with_share != bool(share):
            self.words.refuse(
                function.at, f"{word} takes " + ("a column and a share" if with_share else "a column alone")
            )
        plain = f"{word.lower()}_{of.name}" if isinstance(of.expression, Ref) else word.lower()
        try:
            made = asked_of(of, lambda name: make(name, *share), where)
            return made, plain if item.name is None else item.name.text
        except InvalidParameter as problem:
            self.words.refuse(function.at, problem)

    def chosen(self, item: Item) -> Condition | None:
        """The condition of FILTER (WHERE ...)."""
        if item.filter is None:
            return None
        self.words.place = item.filter
        made = self.either()
        self.words.expect(")")
        return made

    def counted(self, item: Item, where: Condition | None) -> tuple[Aggregate | AggregateOf, str]:
        called = None if item.name is None else item.name.text
        distinct = self.words.took("DISTINCT") is not None
        if self.words.took("*"):
            self.words.expect(")")
            if distinct:
                self.words.refuse(item.at, "ask COUNT(*), or COUNT(DISTINCT column)")
            return ask.count(where), called or "count"
        if not distinct:
            of = self.sum()
            self.words.expect(")")
            if not isinstance(of, ColumnOf):
                return ask.count(where), called or "count"  # a number is there for every row
            there = Negated(IsMissing(of.expression))
            plain = f"count_{of.name}" if isinstance(of.expression, Ref) else "count"
            return ask.count(there if where is None else Both(there, where)), called or plain
        unit, place = self.table.rows.unit, self.words.place
        if isinstance(unit, Person) and self.words.next.kind in ("name", "quoted"):
            about = self.words.dotted("a column")
            if self.within(about, [unit.column]) is not None and self.words.took(")"):
                if where is not None:
                    self.words.refuse(item.at, "persons are counted with WHERE, not with FILTER: ask for them alone")
                return ask.count_persons(), called or f"count_{unit.column}"
        self.words.place = place
        at, of = self.words.next.at, self.sum()
        self.words.expect(")")
        if not isinstance(of, ColumnOf):
            self.words.refuse(at, "COUNT(DISTINCT ...) is about the values of one column")
        plain = f"count_{of.name}" if isinstance(of.expression, Ref) else "count"
        return ask.count_distinct(of, where=where), called or plain


def _takes_a_number(make: Callable[..., Aggregate]) -> bool:
    """True if an aggregate is of a column and a number, as a quantile is."""
    _, *more = signature(make).parameters.values()
    return any(each.default is each.empty for each in more)
