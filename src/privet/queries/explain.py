"""A query in words: its steps, whom it protects, how far one of them can move the counts, and the SQL for an engine."""

import re
from collections.abc import Iterable
from dataclasses import fields
from numbers import Real
from typing import Any

from privet.tables import (
    Bool,
    Bounded,
    Category,
    Clip,
    Date,
    Derive,
    Feature,
    Float,
    Int,
    Linked,
    Node,
    Part,
    PerPerson,
    Person,
    PersonJoin,
    PublicJoin,
    Source,
    Time,
    Times,
    Union,
    Where,
    expressions as tree,
)
from privet.tables.dialect import DuckDB, Raw
from privet.tables.emit import Emitter
from privet.tables.reading import Reading


def explained(query: Any) -> str:
    """The whole explanation of a query: its plan, whom it protects, what is made noisy, and the SQL."""
    plan, families = query._compiled  # a family is one vector of sums that is released with noise
    reach, unit = plan.reach, query.unit
    lines = ["plan", *("  " + line for line in steps(query.rows))]
    if query.names:
        keys = "keys that are discovered" if query.keys is None else f"{len(query.keys):,} public keys"
        lines += [f"  group by {', '.join(query.names)} ({keys})"]
    else:
        lines += ["  all rows together"]
    lines += ["", f"protects {query.rows.unit.describe()}, {unit.describe()}"]
    lines += [f"  moves counts by at most {reach.l1(unit)} in l1, {reach.l2_squared(unit) ** 0.5:.4g} in l2"]
    lines += [
        f"  {family.kind}{'' if family.column is None else ' of ' + family.column}: one noisy vector"
        for family in families
    ]
    lines += ["", "SQL (without its salt)", "  " + sql_of(plan)]
    return "\n".join(lines)


def explained_plan(plan: Bounded) -> str:
    """The explanation of a plan whose cells are a histogram."""
    unit = plan.rows.unit.unit
    lines = ["plan", *("  " + line for line in steps(plan.rows))]
    lines += ["", f"protects {plan.rows.unit.describe()}, {unit.describe()}"]
    lines += [f"  moves the cells by at most {plan.reach.l1(unit)} in l1"]
    return "\n".join([*lines, "", "SQL (without its salt)", "  " + sql_of(plan)])


def rows_in_words(node: Node) -> str:
    """The rows that are asked about, as the end of a line, from a comma on: tables, conditions, and derived columns except
    those that a question made for itself, whose names begin with a bracket.
    """
    tables = dict.fromkeys(source.name for source in node.sources)
    lines = steps(node)
    shown = [line for line in lines if line.startswith("where ") or (" := " in line and not line.startswith("("))]
    return f", of {' and '.join(tables)}" + "".join(f", {line}" for line in shown)


def columns_in_words(names: Iterable[str], node: Node) -> str:
    """The columns that are asked for, in one line. In the place of one that a question made for itself, such as "(bin)",
    stands the expression that it bins, or its whole expression where it has no inner one.
    """
    made = {each.name: each.expression for each in _derived(node)}

    def in_words(name: str) -> str:
        if not name.startswith("(") or name not in made:
            return name
        return told(getattr(made[name], "of", made[name]))

    return ", ".join(map(in_words, names)) or "all rows"


def _derived(node: Node) -> list[Derive]:
    """Every derived column of the rows, the latest first."""
    before = [each for each in (getattr(node, "input", None), *getattr(node, "inputs", ())) if isinstance(each, Node)]
    return ([node] if isinstance(node, Derive) else []) + [each for step in before for each in _derived(step)]


def asked_in_words(request: Any) -> str:
    """One aggregate in a few words: its name, its column, its other parameters that are numbers, and its condition.

    >>> from privet.queries.aggregates import Mean
    >>> asked_in_words(Mean("cost"))
    'mean of cost'
    """
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(request).__name__).lower()
    column = getattr(request, "column", None)
    more = {each.name: getattr(request, each.name) for each in fields(request) if each.name not in ("column", "where")}
    told_more = ", ".join(f"{key} {float(value):g}" for key, value in more.items() if isinstance(value, Real))
    where = getattr(request, "where", None)
    words = f"{name} of {column}" if isinstance(column, str) else name
    words += f" ({told_more})" if told_more else ""
    return words if where is None else f"{words} where {told(where)}"


def steps(node: Node) -> list[str]:
    """The steps that rows go through, from the source on: a line for each, and one for each column of a source."""
    if isinstance(node, Source):
        return [f"table {node.name}", *(f"  {name}: {column.describe()}" for name, column in node.listed)]
    if isinstance(node, Where):
        return [*steps(node.input), f"where {told(node.condition)}"]
    if isinstance(node, Derive):
        return [*steps(node.input), f"{node.name} := {told(node.expression)}"]
    if isinstance(node, PublicJoin):
        return [
            *steps(node.input),
            f"join a public table of {len(node.rows)} rows on {', '.join(node.on)} (fan-out {node.fan_out})",
        ]
    if isinstance(node, PerPerson):
        made = ", ".join(f"{name} := {_feature(each)}" for name, each in node.features)
        return [*steps(node.input), f"one row for each person: {made}"]
    if isinstance(node, Linked):
        return [*steps(node.input), f"persons from table {node.link.name} by {node.on}"]
    if isinstance(node, PersonJoin):
        return [*steps(node.left), "join on the person", *steps(node.right)]
    assert isinstance(node, Union)
    return [line for each in node.inputs for line in [*steps(each), "and"]][:-1]  # no "and" after the last


def _feature(feature: Feature) -> str:
    """One number of a person, in words."""
    if feature.kind == "last":
        return f"last {feature.column} by {feature.by}"
    of = "rows" if feature.column is None else feature.column
    assert feature.bounds is not None
    return f"{feature.kind} of {of} within {feature.bounds[0]!r} and {feature.bounds[1]!r}"


def told(what: tree.Condition | tree.Expression) -> str:
    """A condition or an expression as one would write it.

    >>> told(tree.Both(tree.Compare(tree.Ref("age"), ">=", 65), tree.Negated(tree.IsMissing(tree.Ref("ward")))))
    '(age >= 65 and not ward is missing)'
    """
    if isinstance(what, tree.Ref):
        return what.name
    if isinstance(what, tree.Compare):
        return f"{told(what.of)} {what.operator} {what.value!r}"
    if isinstance(what, tree.CompareColumns):
        return f"{told(what.left)} {what.operator} {told(what.right)}"
    if isinstance(what, tree.IsIn):
        return f"{told(what.of)} in ({', '.join(map(repr, what.values))})"
    if isinstance(what, tree.IsMissing):
        return f"{told(what.of)} is missing"
    if isinstance(what, tree.Negated):
        return f"not {told(what.of)}"
    if isinstance(what, tree.Both | tree.Either):
        return f"({told(what.left)} {'and' if isinstance(what, tree.Both) else 'or'} {told(what.right)})"
    if isinstance(what, tree.Linear):
        return f"{what.factor!r} {told(what.of)} + {what.shift!r}"
    if isinstance(what, tree.Plus):
        return f"{told(what.left)} {'+' if what.sign > 0 else '-'} {told(what.right)}"
    if isinstance(what, Times):
        return f"({told(what.left)}) * ({told(what.right)})"
    if isinstance(what, Clip):
        return f"{told(what.of)} within {what.lower!r} and {what.upper!r}"
    if isinstance(what, tree.Bin):
        return f"bin of {told(what.of)} ({what.count} of width {what.width!r} from {what.start!r})"
    if isinstance(what, tree.Cut):
        return f"{told(what.of)} cut at {', '.join(map(repr, what.edges)) or 'no edge'}"
    if isinstance(what, tree.Place):
        return f"place of {told(what.of)} in its list"
    if isinstance(what, tree.If):
        other = "missing" if what.otherwise is None else repr(what.otherwise)
        return f"{told(what.of)} if {told(what.condition)}, else {other}"
    if isinstance(what, tree.Holds):
        return f"whether {told(what.condition)}"
    if isinstance(what, Part):
        return f"{what.part} of {told(what.of)}"
    assert isinstance(what, tree.Pattern)
    return "which hold: " + ", ".join(map(told, what.conditions))


# The kinds in which an engine is taken to hold columns; texts, all others.
_RAW: dict[type, Raw] = {Int: "int", Float: "float", Category: "text", Date: "date", Time: "time", Bool: "bool"}


def sql_of(plan: Bounded) -> str:
    """The SQL for DuckDB, as if the columns were held as they are declared. Five zeros stand for the numbers of the salt,
    which are drawn when the query is run.
    """
    readings = {}
    for source in plan.rows.sources:
        raw: dict[str, Raw] = {}
        for name, column in source.columns.items():
            raw[name] = "int" if isinstance(column, Category) and not column.texts else _RAW.get(type(column), "text")
        if isinstance(source.about, Person):
            raw.setdefault(source.about.column, "int")
        readings[source.name] = Reading(DuckDB().quote(source.name), raw)
    return Emitter(DuckDB(), readings).query(plan, (0, 0, 0, 0, 0))
