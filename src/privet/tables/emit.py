"""The SQL of a bounded plan, for any dialect: read, filter, add up by person and group, bound, add up by group."""

from collections.abc import Mapping
from itertools import count as counter
from typing import Any, NamedTuple

from privet.errors import InvalidData
from privet.tables.bounded import Bounded, Salts, join_ticks
from privet.tables.coded import Coded
from privet.tables.columns import Category, Column, Float, Text
from privet.tables.dialect import Dialect
from privet.tables.feature_values import FeatureValues, last_mark
from privet.tables.key_numbers import is_everything, is_small, numbers_itself
from privet.tables.late import never_missing, only_added_up, only_grouped_by, summed
from privet.tables.mix import FOLD, LIMIT, MISSING, P, turn_of
from privet.tables.person import Person
from privet.tables.plan import Derive, Linked, Node, PerPerson, PersonJoin, PublicJoin, Source, Union, Where
from privet.tables.reading import Reader, Reading, no_column
from privet.tables.scan import Scan
from privet.tables.sums import Sums, Total
from privet.tables.values import Values, is_text


class _Relation(NamedTuple):
    sql: str
    aliases: dict[str, str]
    person: str | None
    person_is_text: bool


class Emitter:
    """Texts of SQL for one query.

    >>> from privet.tables.dialect import DuckDB
    >>> from privet.tables.keys import KeySet
    >>> from privet.tables.person import Rows
    >>> plan = Bounded(Source("t", (), Rows()), (), KeySet((), ((),)))
    >>> "count(*)" in Emitter(DuckDB(), {"t": Reading("t", {})}).query(plan, (1, 2, 3, 4, 5))
    True
    """

    def __init__(self, dialect: Dialect, readings: Mapping[str, Reading]) -> None:
        self.dialect, self.readings = dialect, readings
        self.reader, self.values = Reader(dialect), Values(dialect)
        self.features = FeatureValues(self.values)
        self._numbers = counter()
        self.used: dict[str, set[str]] = {}  # the columns that are read, by table
        self._turn = 1  # of the order in which rows of a person go into a join
        self._late: frozenset[str] = frozenset()  # keys that are read once a group and not on every row
        self._read_late: dict[str, str] = {}  # how, by the alias of what the table holds
        self._unmoved: frozenset[str] = frozenset()  # values that are moved into their bounds as steps, and not before
        self._open: set[str] = set()  # their aliases

    def _alias(self) -> str:
        return f"c{next(self._numbers)}"

    # --- rows ------------------------------------------------------------------------------------------------------

    def relation(self, node: Node, needed: frozenset[str]) -> _Relation:
        """The rows of a node with the columns that are needed, and the person where there is one."""
        if isinstance(node, Source):
            return self._source(node, needed)
        if isinstance(node, Where):
            return self._where(node, needed)
        if isinstance(node, Derive):
            return self._derive(node, needed)
        if isinstance(node, PublicJoin):
            return self._public_join(node, needed)
        if isinstance(node, PersonJoin):
            return self._person_join(node, needed)
        if isinstance(node, PerPerson):
            return self._per_person(node, needed)
        if isinstance(node, Linked):
            return self._linked(node, needed)
        assert isinstance(node, Union)
        return self._union(node, needed)

    def _source(self, node: Source, needed: frozenset[str], linking: str | None = None) -> _Relation:
        reading, columns = self.readings[node.name], node.columns
        aliases = {name: self._alias() for name in columns if name in needed}
        self.used.setdefault(node.name, set()).update(aliases)
        picked = []
        for name, alias in aliases.items():
            if name not in reading.raw:
                raise no_column(node, name)
            raw, at = reading.raw[name], reading.called(name)
            made = self.reader.canonical(name, columns[name], raw, name == linking, at)
            if name in self._late and raw in _AS_IT_IS and not isinstance(columns[name], Text):
                self._read_late[alias] = self.reader.canonical(name, columns[name], raw, at=alias)
                held = self.dialect.quote(at)
                made = self.dialect.plain_text(held) if raw == "text" else held
            if name in self._unmoved and raw == columns[name].kind:  # whole numbers, or doubles, and held as such
                self._open.add(alias)
                made = self.dialect.as_double(self.dialect.quote(at))
            picked.append(f"{made} AS {alias}")
        person, is_text = None, False
        if isinstance(node.about, Person):
            person = self._alias()
            sql, is_text = self.reader.person(node, reading)
            picked.append(f"{sql} AS {person}")
        return _Relation(f"SELECT {', '.join(picked) or '1 AS one'} FROM {reading.sql}", aliases, person, is_text)

    def _where(self, node: Where, needed: frozenset[str]) -> _Relation:
        inner = self.relation(node.input, needed | node.condition.names())
        condition = self.values.condition(node.condition, node.input.columns, inner.aliases)
        return inner._replace(sql=f"SELECT * FROM ({inner.sql}) AS {self._alias()} WHERE {condition}")

    def _derive(self, node: Derive, needed: frozenset[str]) -> _Relation:
        if node.name not in needed:
            return self.relation(node.input, needed)
        inner = self.relation(node.input, (needed - {node.name}) | node.expression.names())
        alias = self._alias()
        made = self.values.expression(node.expression, node.input.columns, inner.aliases)
        sql = f"SELECT *, {made} AS {alias} FROM ({inner.sql}) AS {self._alias()}"
        return inner._replace(sql=sql, aliases={**inner.aliases, node.name: alias})

    def _public_join(self, node: PublicJoin, needed: frozenset[str]) -> _Relation:
        inner = self.relation(node.input, needed | set(node.on))
        theirs = {name: self._alias() for name, _ in node.listed}
        public = dict(node.listed)
        rows = [
            [self.values.constant(public[name], value) for name, value in zip(theirs, row, strict=True)]
            for row in node.rows
        ]
        values = self._values(rows, list(theirs.values()))
        left, right = self._alias(), self._alias()
        on = " AND ".join(f"{left}.{inner.aliases[name]} = {right}.{theirs[name]}" for name in node.on)
        more = {name: alias for name, alias in theirs.items() if name not in node.on}
        picked = ", ".join([f"{left}.*", *(f"{right}.{alias}" for alias in more.values())])
        sql = f"SELECT {picked} FROM ({inner.sql}) AS {left} JOIN ({values}) AS {right} ON {on}"
        return inner._replace(sql=sql, aliases={**inner.aliases, **more})

    def _values(self, rows: list[list[str]], names: list[str]) -> str:
        listed = ", ".join(f"({', '.join(row)})" for row in rows)
        return f"SELECT * FROM (VALUES {listed}) AS {self._alias()}({', '.join(names)})"

    def _person_join(self, node: PersonJoin, needed: frozenset[str]) -> _Relation:
        one, two = (self._joined(node, side, needed & set(side.columns)) for side in (node.left, node.right))
        if one.person_is_text != two.person_is_text:
            raise InvalidData("one table names persons by texts, the other by numbers: cast one of them")
        left, right = self._alias(), self._alias()
        picked = ", ".join([f"{left}.*", *(f"{right}.{alias}" for alias in two.aliases.values())])
        on = f"{left}.{one.person} = {right}.{two.person}"
        sql = f"SELECT {picked} FROM ({one.sql}) AS {left} JOIN ({two.sql}) AS {right} ON {on}"
        return one._replace(sql=sql, aliases={**one.aliases, **two.aliases})

    def _joined(self, node: PersonJoin, side: Node, needed: frozenset[str]) -> _Relation:
        """The rows of a side of a join, of each person the first ones in a salted order of what is asked of them: rows that
        are equal in it stand for each other."""
        rows, columns, d = self.relation(side, needed), side.columns, self.dialect
        person, names, numbers = str(rows.person), sorted(needed), []
        for name in names:
            column, alias = columns[name], rows.aliases[name]
            if isinstance(column, Float):
                ticks = self.values.ticks(join_ticks(name, column), columns, rows.aliases)
                numbers.append(f"coalesce({ticks}, {d.number(MISSING)})")
            else:
                numbers.append(self._number(alias, is_text(column)))
        turned = f"({self._folded(numbers)}) % {P} * {d.number(self._turn)} % {P}"
        order = ", ".join([turned, *(f"{rows.aliases[name]} NULLS LAST" for name in names)] if names else [person])
        place = self._alias()
        window = f"row_number() OVER (PARTITION BY {person} ORDER BY {order}) AS {place}"
        known = f"SELECT *, {window} FROM ({rows.sql}) AS {self._alias()} WHERE {person} IS NOT NULL"
        picked = ", ".join([*rows.aliases.values(), person])
        return rows._replace(sql=f"SELECT {picked} FROM ({known}) AS {self._alias()} WHERE {place} <= {node.most_rows}")

    def _per_person(self, node: PerPerson, needed: frozenset[str]) -> _Relation:
        """A row for every person: what is last is marked beside each row first, then rows are added up."""
        asked = [(name, feature) for name, feature in node.features if name in needed]
        rows = self.relation(node.input, frozenset().union(*(feature.names() for _, feature in asked)))
        person, marks, picked, aliases = str(rows.person), [], [], {}
        for name, feature in asked:
            aliases[name], mark = self._alias(), self._alias()
            if feature.kind == "last":
                marks.append(f"{last_mark(feature, rows.aliases)} OVER (PARTITION BY {person}) AS {mark}")
            made = self.features.value(feature, node.input.columns, rows.aliases, mark)
            picked.append(f"{made} AS {aliases[name]}")
        marked = ", ".join(["*", *marks])
        known = f"SELECT {marked} FROM ({rows.sql}) AS {self._alias()} WHERE {person} IS NOT NULL"
        picked.append(person)
        sql = f"SELECT {', '.join(picked)} FROM ({known}) AS {self._alias()} GROUP BY {person}"
        return rows._replace(sql=sql, aliases=aliases)

    def _linked(self, node: Linked, needed: frozenset[str]) -> _Relation:
        rows = self._source(node.input, needed | {node.on}, node.on)
        link = self._source(node.link, frozenset({node.on}), node.on)
        left, right = self._alias(), self._alias()
        on = f"{left}.{rows.aliases[node.on]} = {right}.{link.aliases[node.on]}"
        sql = f"SELECT {left}.*, {right}.{link.person} FROM ({rows.sql}) AS {left} JOIN ({link.sql}) AS {right} ON {on}"
        return rows._replace(sql=sql, person=link.person, person_is_text=link.person_is_text)

    def _union(self, node: Union, needed: frozenset[str]) -> _Relation:
        inner = [self.relation(each, needed) for each in node.inputs]
        if len({each.person_is_text for each in inner}) > 1:
            raise InvalidData("one table names persons by texts, the other by numbers: cast one of them")
        first = inner[0]
        names = [name for name in node.columns if name in needed]
        parts = []
        for each in inner:
            picked = [f"{each.aliases[name]} AS {first.aliases[name]}" for name in names]
            if each.person is not None:
                picked.append(f"{each.person} AS {first.person}")
            parts.append(f"SELECT {', '.join(picked) or '1 AS one'} FROM ({each.sql}) AS {self._alias()}")
        return first._replace(sql=" UNION ALL ".join(parts), aliases={name: first.aliases[name] for name in names})

    def text_of(self, plan: Bounded | Scan | Coded, salts: Salts) -> str:
        """The query for a plan, whatever is asked of it."""
        if isinstance(plan, Coded):
            return self.codes(plan, salts)
        return self.scan(plan) if isinstance(plan, Scan) else self.query(plan, salts)

    def scan(self, scan: Scan, *, ranked: bool = True) -> str:
        """The rows of a scan: v0, v1, ... and `person`, which numbers persons in the order that they stand in; not
        `ranked` it is the person as such, in no order."""
        inner = self.relation(scan.rows, frozenset(scan.names))
        picked = [
            f"{self._as_number(column, inner.aliases[name])} AS v{place}"
            for place, (name, column) in enumerate(scan.columns.items())
        ]
        rows = f"({inner.sql}) AS {self._alias()}"
        if inner.person is None:
            return f"SELECT {', '.join(picked)} FROM {rows}"
        known = f"{rows} WHERE {inner.person} IS NOT NULL"
        if not ranked:
            return f"SELECT {', '.join(picked)}, {inner.person} AS person FROM {known}"
        rank = self.dialect.as_double(f"dense_rank() OVER (ORDER BY {inner.person})")
        return f"SELECT {', '.join(picked)}, {rank} AS person FROM {known} ORDER BY person"

    def codes(self, coded: Coded, salts: Salts) -> str:
        """The rows of a coded plan: v0, v1, ... and `many`, how many rows of a person have these codes; 0 where one is
        missing. Such rows are not filtered out: engines would compute every code once more for that, deep in the plan."""
        plan, d = coded.bounded, self.dialect
        self._turn = turn_of(salts)
        rows = self.relation(plan.rows, frozenset(plan.names))
        keys, person = [rows.aliases[name] for name in plan.names], rows.person
        gone = " OR ".join(f"{key} IS NULL" for key in keys)
        codes = ", ".join(f"coalesce({d.whole(key)}, {d.number(0)}) AS v{place}" for place, key in enumerate(keys))
        if person is None:
            many = f"CASE WHEN {gone} THEN {d.number(0)} ELSE {d.number(1)} END"
            return f"SELECT {codes}, {many} AS many FROM ({rows.sql}{d.fence}) AS {self._alias()}{d.fence}"
        known = f"SELECT * FROM ({rows.sql}{d.fence}) AS {self._alias()} WHERE {person} IS NOT NULL"
        many = f"CASE WHEN {gone} THEN {d.number(0)} ELSE {d.whole('count(*)')} END"
        pairs = ", ".join([person, *keys, f"{many} AS k", *self._limbs(plan, person, rows.person_is_text, keys)])
        steps = [
            ("the_rows", known + d.together(person)),
            ("pairs", f"SELECT {pairs} FROM the_rows GROUP BY {', '.join([person, *keys])}"),
        ]
        self._rank_and_cut(steps, plan, person, keys, salts)
        whole = ", ".join(f"{name} AS ({sql}{d.fence})" for name, sql in steps)
        return f"WITH {whole} SELECT {codes}, k AS many FROM cut WHERE k > 0{d.fence}"

    def _as_number(self, column: Column, alias: str) -> str:
        """A value as a double, NaN where it is missing; of a category its place in the list."""
        d = self.dialect
        if isinstance(column, Category):
            cases = (f"WHEN {self.values.constant(column, v)} THEN {place}" for place, v in enumerate(column.values))
            alias = f"CASE {alias} {' '.join(cases)} END"
        return f"coalesce({d.as_double(alias)}, CAST('NaN' AS {d.double}))"

    # --- aggregates ------------------------------------------------------------------------------------------------

    def query(self, plan: Bounded, salts: Salts, *, doubles: bool = True) -> str:
        """Keys, rows, persons, cells and signed sums of every group that the data have; `doubles` are those sums of which
        the dialect says that they take less."""
        by_person, self._turn = isinstance(plan.rows.unit, Person), turn_of(salts)
        self._late = frozenset() if by_person or not self.dialect.late_keys else only_grouped_by(plan)
        self._unmoved = only_added_up(plan) if doubles and self.dialect.double_sums else frozenset()
        rows, keys, terms, signed = self._prepared(plan)
        if by_person:
            sql = self._by_person(plan, rows, keys, terms, signed, salts)
        else:
            sql = self._by_row(plan, rows, keys, terms, signed)
        return self._counted(sql, keys) if plan.distinct else sql

    def _counted(self, pairs: str, keys: list[str]) -> str:
        """The numbers of values of groups, of whose pairs with these a query is given."""
        *groups, value = keys
        many = self.dialect.whole("count(*)")
        picked = ", ".join([*groups, *(f"{many} AS {self._alias()}" for _ in range(2))])
        group = f" GROUP BY {', '.join(groups)}" if groups else ""
        return f"SELECT {picked} FROM ({pairs}) AS {self._alias()} WHERE {value} IS NOT NULL{group}"

    def _prepared(self, plan: Bounded) -> tuple[_Relation, list[str], list[str], list[Total]]:
        """The rows that count: with a key and a person, and with every term and signed sum as a column."""
        inner = self.relation(plan.rows, frozenset(plan.names) | summed(plan))
        keys = [inner.aliases[name] for name in plan.names]
        sums = Sums(plan, self.values, inner.aliases, self._open, self._alias)
        terms = [sums.term(each) for each in plan.terms]
        signed = [sums.total(each.ticks) for each in plan.signed]
        picked = [*dict.fromkeys(keys), *(f"{made} AS {alias}" for made, alias in sums.second.items())]
        kept = []
        if inner.person is not None:
            # without persons a missing key is a group, which is dropped in the end: to look at every row would take longer
            kept = [f"{inner.aliases[name]} IS NOT NULL" for name in never_missing(plan)]
            picked.append(inner.person)
            kept.append(f"{inner.person} IS NOT NULL")
        first = "".join(f", {made} AS {alias}" for made, alias in sums.first.items())
        source = f"SELECT *{first} FROM ({inner.sql}) AS {self._alias()}" if first else inner.sql
        sql = f"SELECT {', '.join(picked) or '1 AS one'} FROM ({source}) AS {self._alias()}"
        if kept:
            sql += f" WHERE {' AND '.join(kept)}"
        return inner._replace(sql=sql), keys, terms, signed

    def _only_listed(self, plan: Bounded, sql: str, keys: list[str]) -> str:
        """Rows, or groups, with other keys than the listed ones are left out: of persons before anything is bounded."""
        keys, names = keys[: len(plan.key_names)], plan.key_names
        if plan.keys is None or not keys or is_everything(plan):
            return sql
        columns = plan.rows.columns
        values = [
            [self.values.constant(columns[n], v) for n, v in zip(names, row, strict=True)] for row in plan.keys.rows
        ]
        listed = [self._alias() for _ in keys]
        left, right = self._alias(), self._alias()
        pairs = [(f"{left}.{a}", f"{right}.{b}", columns[n]) for a, b, n in zip(keys, listed, names, strict=True)]
        on = " AND ".join(f"{a} = {b}" if not column.null else self._same(a, b, column) for a, b, column in pairs)
        return f"SELECT {left}.* FROM ({sql}) AS {left} JOIN ({self._values(values, listed)}) AS {right} ON {on}"

    def _same(self, a: str, b: str, column: Column) -> str:
        """Equal, or both missing, in equalities that every engine can join by."""
        filler = self.dialect.text("") if is_text(column) else self.dialect.number(0)
        return f"coalesce({a}, {filler}) = coalesce({b}, {filler}) AND ({a} IS NULL) = ({b} IS NULL)"

    def _by_row(self, plan: Bounded, rows: _Relation, keys: list[str], terms: list[str], signed: list[Total]) -> str:
        d = self.dialect
        sums = [d.whole("count(*)"), *terms, *(each.added for each in signed)]
        named = {each: f"t{i}" for i, each in enumerate(dict.fromkeys(sums))}  # each sum once
        names = list(named.values())
        picked = [*dict.fromkeys(keys), *(f"{each} AS {name}" for each, name in named.items())]
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        groups = f"SELECT {', '.join(picked)} FROM ({rows.sql}) AS {self._alias()}{group}"
        groups = self._read_groups(groups, keys, names)
        numbers = [names[0], names[0]]
        numbers += [" + ".join(f"{f} * {named[terms[i]]}" for i, f in cell.parts) or "0" for cell in plan.cells]
        numbers += [named[each.added] for each in signed]
        last = [*keys, *(f"{d.whole(each)} AS {self._alias()}" for each in numbers)]
        # groups without a key are left to `arranged`: a condition on them would be asked of every row
        return f"SELECT {', '.join(last)} FROM ({self._only_listed(plan, groups, keys)}) AS {self._alias()}"

    def _read_groups(self, groups: str, keys: list[str], names: list[str]) -> str:
        """The groups by their keys in the meaning of the columns, where they were found by what the table holds: those
        that mean the same are one."""
        if not self._read_late:
            return groups
        read = [f"{self._read_late.get(key, key)} AS {key}" for key in dict.fromkeys(keys)]
        groups = f"SELECT {', '.join([*read, *names])} FROM ({groups}) AS {self._alias()}"
        picked = [*dict.fromkeys(keys), *(f"{self.dialect.total(name)} AS {name}" for name in names)]
        return f"SELECT {', '.join(picked)} FROM ({groups}) AS {self._alias()} GROUP BY {', '.join(keys)}"

    def _by_person(
        self,
        plan: Bounded,
        rows: _Relation,
        keys: list[str],
        terms: list[str],
        totals: list[Total],
        salts: Salts,
    ) -> str:
        d, person, unit = self.dialect, rows.person, plan.rows.unit
        assert isinstance(unit, Person)
        assert person is not None
        listed = self._only_listed(plan, rows.sql, keys) + d.together(person)
        steps: list[tuple[str, str]] = [("the_rows", listed)]
        added, terms = terms, [f"t{i}" for i in range(len(terms))]
        sums = [f"{each} AS {name}" for each, name in zip(added, terms, strict=True)]
        # of a signed sum also how many rows had a value: what is missing adds nothing, and not a bound
        signed = [f"s{i}" for i in range(len(totals))]
        for total, name in zip(totals, signed, strict=True):
            sums.append(f"{total.added} AS {name}, {total.present} AS n_{name}")
        capped = (
            "count(*)" if unit.max_rows_per_group is None else f"least(count(*), {d.number(unit.max_rows_per_group)})"
        )
        limbs = self._limbs(plan, person, rows.person_is_text, keys)
        counts = [f"{d.whole('count(*)')} AS c", f"{d.whole(capped)} AS k"]
        pairs = ", ".join([person, *keys, *counts, *sums, *limbs])
        steps.append(("pairs", f"SELECT {pairs} FROM the_rows GROUP BY {', '.join([person, *keys])}"))
        numbers = [self._scaled(plan, terms, i) for i in range(len(plan.cells))]
        numbers += [self._cut(each, alias) for each, alias in zip(plan.signed, signed, strict=True)]
        where = "WHERE k > 0" if unit.max_groups is None else f"WHERE place <= {unit.max_groups} AND k > 0"
        if unit.max_rows is None:
            numbers, kept = self._rank_fitted(steps, plan, person, keys, numbers, where, salts)
        else:
            self._rank_and_cut(steps, plan, person, [*keys, "c", *terms, *signed, *(f"n_{s}" for s in signed)], salts)
            kept = f"cut {where}"
        sums = ["sum(k)", "count(*)", *(f"sum({each})" for each in numbers)]
        picked = [*keys, *(f"{d.whole(f'coalesce({each}, 0)')} AS {self._alias()}" for each in sums)]
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        whole = ", ".join(f"{name} AS ({sql}{d.fence})" for name, sql in steps)
        return f"WITH {whole} SELECT {', '.join(picked)} FROM {kept}{group}"

    def _rank_fitted(
        self,
        steps: list[tuple[str, str]],
        plan: Bounded,
        person: str,
        keys: list[str],
        numbers: list[str],
        where: str,
        salts: Salts,
    ) -> tuple[list[str], str]:
        """The steps that number the pairs of a person by their priority. How much of a pair would be kept is known before
        that, so little has to be mixed, sorted and moved: of a small key and the priority one number."""
        packed = is_small(plan)
        made = [f"v{i}" for i in range(len(numbers))]
        held = [] if packed else list(dict.fromkeys(keys))
        fitted = [person, *held, "k", *(f"{each} AS {name}" for each, name in zip(numbers, made, strict=True))]
        order = self._mix(steps, plan, fitted, [person, *held, "k", *made], salts)
        ranked = [*(order if packed else held), "k", *made]
        window = f"(PARTITION BY {person} ORDER BY {', '.join([*order, *(f'{key} NULLS LAST' for key in held)])})"
        steps.append(("ranked", f"SELECT {', '.join(ranked)}, row_number() OVER {window} AS place FROM mixed"))
        if not packed:
            return made, f"ranked {where}"
        key = self.dialect.whole(f"packed % {2**32}")
        picked = ", ".join([f"{key} AS {keys[0]}", "k", *made])
        return made, f"(SELECT {picked} FROM ranked {where}) AS {self._alias()}"

    def _rank_and_cut(
        self, steps: list[tuple[str, str]], plan: Bounded, person: str, carried: list[str], salts: Salts
    ) -> None:
        """The steps that number the pairs of a person by their priority, and cut them to as many rows as he may have."""
        d, unit = self.dialect, plan.rows.unit
        assert isinstance(unit, Person)
        held = [person, *carried, "k"]
        order = self._mix(steps, plan, held, held, salts)
        if not is_small(plan):
            order += [f"{key} NULLS LAST" for key in carried[: len(plan.names)]]
        window = f"(PARTITION BY {person} ORDER BY {', '.join(order)}"
        before = f"coalesce(sum(k) OVER {window} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)"
        ranked = [*carried, "k", f"row_number() OVER {window}) AS place", f"{d.whole(before)} AS before_it"]
        steps.append(("ranked", f"SELECT {', '.join(ranked)} FROM mixed"))
        left = f"CASE WHEN before_it >= {unit.max_rows} THEN 0 ELSE least(k, {unit.max_rows} - before_it) END"
        steps.append(("cut", f"SELECT {', '.join([*carried, 'place'])}, {d.whole(left)} AS k FROM ranked"))

    def _limbs(self, plan: Bounded, person: str, person_is_text: bool, keys: list[str]) -> list[str]:
        """The person and the key of a pair as numbers, of which its priority is made."""
        numbers = []
        for key, name in zip(keys, plan.names, strict=True):
            column = plan.rows.columns[name]
            numbers.append(key if numbers_itself(column) else self._number(key, is_text(column)))
        number, folded = self._present_number(person, person_is_text), self._folded(numbers)
        return [f"{self.dialect.natural(number)} AS id", f"{self.dialect.natural(folded)} AS key_number"]

    def _folded(self, numbers: list[str]) -> str:
        """Several numbers below 2^60 as one."""
        folded = numbers[0] if numbers else self.dialect.number(0)
        for each in numbers[1:]:
            folded = f"((({folded}) % {P} * {FOLD} + ({each}) % {P}) % {P})"
        return folded

    def _mix(
        self, steps: list[tuple[str, str]], plan: Bounded, made: list[str], names: list[str], salts: Salts
    ) -> list[str]:
        """The steps that add the priority of each pair to what is `made` of it, and what pairs are then ordered by; a step
        each, so that no engine copies an expression into itself."""
        d, base = self.dialect, ", ".join([*names, "key_number"])
        square = f"(z * z % {P})"
        fifth = (
            f"({square} * {square} % {P} * z)"  # below 2^62, and both numbers below 2^60: one remainder does for all
        )
        first = f"{d.divided('id', str(P))} AS id_rest, (id + {salts[0] % P + salts[1]}) % {P} AS z"
        steps.append(("z0", f"SELECT {', '.join([*made, 'key_number'])}, {first} FROM pairs"))
        for i, limb in enumerate((f"id_rest + {salts[2]}", f"key_number + {salts[3]}", str(salts[4])), 1):
            steps.append((f"z{i}", f"SELECT {base}, ({fifth} + {limb}) % {P} AS z FROM z{i - 1}"))
        if is_small(plan):  # the same order in one number, which sorts faster
            packed = f"{fifth} % {P} * {2**32} + key_number AS packed"
            steps.append(("mixed", f"SELECT {', '.join(names)}, {packed} FROM z3"))
            return ["packed"]
        steps.append(("mixed", f"SELECT {base}, {fifth} % {P} AS h FROM z3"))
        return ["h", "key_number"]

    def _number(self, sql: str, is_text: bool) -> str:
        made = self._present_number(sql, is_text)
        return f"CASE WHEN {sql} IS NULL THEN {self.dialect.number(MISSING)} ELSE {made} END"

    def _present_number(self, sql: str, is_text: bool) -> str:
        """A value that is not missing as a number below 2^60."""
        d = self.dialect
        if is_text:
            return d.digest(sql)
        # as 64 bits: PostgreSQL holds longer numbers as decimals, whose quotients have fractions
        return d.whole(f"CASE WHEN {sql} >= 0 AND {sql} < {LIMIT} THEN {sql} ELSE {d.digest(d.as_text(sql))} END")

    def _scaled(self, plan: Bounded, terms: list[str], which: int) -> str:
        """floor(cell * k / c), without leaving 64 bits."""
        d = self.dialect
        cell = " + ".join(f"{factor} * {terms[i]}" for i, factor in plan.cells[which].parts)
        return f"(k * {d.divided(f'({cell})', 'c')} + {d.divided(f'(k * (({cell}) % c))', 'c')})"

    def _cut(self, each: Any, alias: str) -> str:
        d = self.dialect
        n = f"least(n_{alias}, k)"
        return f"least(greatest({alias}, {n} * {d.number(each.lower)}), {n} * {d.number(each.upper)})"


_AS_IT_IS = ("int", "text", "bool", "date", "days")  # what has about as many values as a column with bounds
