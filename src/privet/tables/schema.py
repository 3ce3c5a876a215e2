"""The schema of a table as a TOML file: what a custodian writes once and everybody reads."""

import tomllib
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from privet.errors import InvalidParameter
from privet.tables.columns import Column, as_columns, column_of
from privet.tables.person import Person, Rows

FILL_IN = "FILL IN"


def write_schema(columns: Mapping[str, Column], unit: Rows | Person) -> str:
    """The TOML text of a schema.

    >>> from privet.tables.columns import Int
    >>> print(write_schema({"age": Int(0, 110)}, Rows()))
    [unit]
    kind = "rows"
    <BLANKLINE>
    [columns.age]
    kind = "int"
    lower = 0
    upper = 110
    <BLANKLINE>
    """
    lines = ["[unit]", *_lines(_unit_dict(unit)), ""]
    for name, column in columns.items():
        lines += [f"[columns.{_key(name)}]", *_lines(column.to_dict()), ""]
    return "\n".join(lines)


def read_schema(text: str) -> tuple[dict[str, Column], Rows | Person]:
    """The columns and the unit of a schema.

    >>> columns, unit = read_schema('[unit]\\nkind = "rows"\\n[columns.age]\\nkind = "int"\\nlower = 0\\nupper = 110\\n')
    >>> columns["age"].upper, unit
    (110, Rows(relation='add_remove'))
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise InvalidParameter(f"the schema is no TOML: {problem}") from None
    unknown = [name for name in document if name not in ("unit", "columns")]
    if unknown or not isinstance(document.get("columns"), dict):
        raise InvalidParameter("a schema has the tables [unit] and [columns.<name>], and nothing else")
    columns = {}
    for name, facts in document["columns"].items():
        open_ = [key for key, value in facts.items() if value == FILL_IN]
        if open_:
            raise InvalidParameter(f"column {name!r}: fill in {' and '.join(open_)}; data are never asked for bounds")
        try:
            columns[name] = column_of(facts)
        except InvalidParameter as problem:
            raise InvalidParameter(f"column {name!r}: {problem}") from None
    return dict(as_columns(columns)), _unit_of(document.get("unit", {"kind": "rows"}))


def read_schema_file(path: str | Path) -> tuple[dict[str, Column], Rows | Person]:
    """The columns and the unit of a schema file."""
    try:
        return read_schema(Path(path).read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError):
        raise InvalidParameter(f"the schema file {str(path)!r} cannot be read") from None


def draft(kinds: Mapping[str, str]) -> str:
    """A schema with names and kinds only: bounds and lists are marked to be filled in, never read from data.

    >>> print(draft({"age": "int", "ward": "text"}).split("[columns.age]")[1].strip())
    kind = "int"
    lower = "FILL IN"
    upper = "FILL IN"
    <BLANKLINE>
    [columns.ward]
    kind = "text"
    """
    lines = ["# Kinds: int, float, category (values = [...]), text, date, time, bool. In a CSV file all is text."]
    lines += ["[unit]", 'kind = "rows"', '# or kind = "person", column = "...", max_rows = ...', ""]
    for name, kind in kinds.items():
        lines += [f"[columns.{_key(name)}]", f'kind = "{kind}"']
        if kind in ("int", "float", "date"):
            lines += [f'lower = "{FILL_IN}"', f'upper = "{FILL_IN}"']
        lines.append("")
    return "\n".join(lines)


def _unit_dict(unit: Rows | Person) -> dict[str, Any]:
    held = {"kind": "person" if isinstance(unit, Person) else "rows"} | vars(unit)
    return {name: value for name, value in held.items() if value is not None and value != "add_remove"}


def _unit_of(facts: object) -> Rows | Person:
    given = dict(facts) if isinstance(facts, dict) else {}
    kind = given.pop("kind", None)
    try:
        if kind == "rows":
            return Rows(**given)
        if kind == "person":
            return Person(given.pop("column", ""), **given)
    except TypeError:
        raise InvalidParameter("[unit] has a field that it does not know") from None
    raise InvalidParameter('[unit] needs kind = "rows" or kind = "person"')


def _lines(facts: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {_value(value)}" for name, value in facts.items()]


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return repr(value)


def _text(value: str) -> str:
    safe = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c >= " " and c != "\x7f" else f"\\u{ord(c):04x}" for c in safe) + '"'


def _key(name: str) -> str:
    plain = name.replace("_", "a").replace("-", "a")
    return name if plain.isascii() and plain.isalnum() else _text(name)
