"""`privet query`: one question in SQL about a file, paid from a ledger. `privet table draft`: the schema to begin with;
`privet table check`: what it makes of the file."""

import csv as comma
import io
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from privet.cli import options as o
from privet.cli.app import Commands, app
from privet.cli.ledgers import AnalystOption, open_ledger
from privet.cli.output import print_json, progress, stoppable
from privet.errors import InvalidParameter

if TYPE_CHECKING:
    from privet.queries import Answer

table_app = Commands(name="table", no_args_is_help=True, help="Describe a table, once, before it is asked.")
app.add_typer(table_app)

_EXAMPLES = """\
Examples (begin with: privet table draft visits.csv --out visits.toml, and fill in the bounds):

  privet query visits.csv --schema visits.toml --sql "SELECT COUNT(*) AS n FROM visits" --epsilon 0.5 --preview

  privet query visits.csv --schema visits.toml --sql "SELECT ward, AVG(cost) AS cost FROM visits WHERE age >= 65 GROUP BY
  ward" --epsilon 0.5 --ledger visits.ledger

  privet query visits.csv --schema visits.toml --sql "SELECT COUNT(*) AS n FROM visits" --epsilon 0.1 --ledger
  visits.ledger --key "visits in May" --json
"""
_OUTPUT = "Output"


class Promised(NamedTuple):
    """The price that an answer may have."""

    epsilon: float | None
    delta: float
    rho: float | None
    mu: float | None

    def given(self) -> dict[str, Any]:
        """The options that were given, as arguments."""
        return {name: value for name, value in self._asdict().items() if value}


@app.command(epilog=_EXAMPLES)
def query(
    file: Annotated[str, typer.Argument(help="A Parquet or CSV file, or several by a pattern such as 'visits-*.csv'.")],
    schema: Annotated[Path, typer.Option(help="What the columns may contain, and what a person is.", metavar="FILE")],
    sql: Annotated[
        str, typer.Option(help="SELECT keys, AGG(column) FROM table [JOIN public USING (column)] [WHERE] [GROUP BY].")
    ],
    epsilon: Annotated[
        float | None, typer.Option(help="Pay at most this epsilon ...", rich_help_panel=o.PAYING)
    ] = None,
    delta: Annotated[float, typer.Option(help="... at this delta (0: pure).", rich_help_panel=o.PAYING)] = 0.0,
    rho: Annotated[float | None, typer.Option(help="Instead: rho of zCDP.", rich_help_panel=o.PAYING)] = None,
    mu: Annotated[float | None, typer.Option(help="Instead: mu of Gaussian DP.", rich_help_panel=o.PAYING)] = None,
    ledger: Annotated[
        str | None,
        typer.Option(help="The ledger that pays; begin one with: privet ledger init.", rich_help_panel=o.PAYING),
    ] = None,
    analyst: AnalystOption = None,
    purpose: Annotated[str | None, typer.Option(help="What for; kept in the entry.", rich_help_panel=o.PAYING)] = None,
    key: Annotated[
        str | None,
        typer.Option(
            help="A name for the answer: asked again, it is shown again and costs nothing.", rich_help_panel=o.PAYING
        ),
    ] = None,
    about: o.AboutOption = None,
    public: Annotated[
        list[Path] | None, typer.Option(help="A public table to join, as CSV; may be given again.", metavar="FILE")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What FROM calls the table.", show_default="the file's name")] = None,
    discover: Annotated[
        bool, typer.Option("--discover", help="Find the keys of GROUP BY in the data; needs --delta.")
    ] = False,
    preview: Annotated[
        bool,
        typer.Option(
            "--preview", help="How far off would it be? Reads no data and pays nothing.", rich_help_panel=_OUTPUT
        ),
    ] = False,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Print the plan and the engine's SQL; pays nothing.", rich_help_panel=_OUTPUT),
    ] = False,
    json: o.JsonOption = False,
    csv: Annotated[bool, typer.Option("--csv", help="Comma-separated values.", rich_help_panel=_OUTPUT)] = False,
    separator: o.SeparatorOption = None,
    decimal: o.DecimalOption = None,
) -> None:
    """One question about a table, answered with noise and an interval for every number, and paid from a ledger."""
    if json and csv:
        raise InvalidParameter("give either --json or --csv")
    promise = Promised(epsilon, delta, rho, mu).given()
    from privet.queries import Table

    table = Table(file, schema=schema, name=name, separator=o.mark(separator), decimal=o.mark(decimal))
    joined = {path.stem: _public(path) for path in public or []}
    try:
        asked = table.sql(sql, public=joined, discover=discover)
    except InvalidParameter as refused:  # the mark below the text is a line of its own
        typer.echo(f"privet: {refused}", err=True)
        raise typer.Exit(2) from None
    if explain:
        typer.echo(asked.explain())
    if preview:
        _preview(asked, promise, ledger, analyst, json)
    if preview or explain:
        return
    if ledger is None:
        raise InvalidParameter(
            f"who pays? Give --ledger FILE; begin one with: privet ledger init FILE --epsilon 3{_unit(table)}"
        )
    with stoppable(), progress():
        payer = open_ledger(ledger)
        release = payer.release(asked, analyst=analyst, purpose=purpose, key=key, about=about, **promise)
    _show(release, ledger, json, csv)


def _show(release: Any, ledger: str, json: bool, csv: bool) -> None:
    if json:
        paid = {"paid": release.paid, "stored": release.stored, "mechanism": release.mechanism}
        paid |= {"remaining": _remaining(ledger)}
        print_json({"rows": rows_of(release.value), "confidence": release.value.confidence, **paid})
    elif csv:
        typer.echo(csv_of(release.value), nl=False)
    else:
        typer.echo(f"{release.value}\n")
        if release.stored is not None:
            typer.echo(f"The stored answer of entry {release.stored}: the file was not read.")
        typer.echo(f"Intervals hold {100 * release.value.confidence:g}% of the time each. {_remaining(ledger)}")


def _preview(asked: Any, promise: dict[str, Any], ledger: str | None, analyst: str | None, json: bool) -> None:
    told = asked.preview(**promise)
    after = None if ledger is None else open_ledger(ledger, read_only=True).preview(told.mechanism, analyst=analyst)
    if json:
        widths = {"half_width": told.half_width, "confidence": told.confidence, "expected_rows": told.expected_rows}
        print_json({**widths, "allowed": None if after is None else after.allowed})
    else:
        typer.echo(str(told) + ("" if after is None else f"\n{after}"))
    if after is not None and not after.allowed:
        raise typer.Exit(3)


def _unit(table: Any) -> str:
    unit = table.unit
    told = "" if unit.person is None else f" --person {unit.person}"
    return told + ("" if unit.relation == "add_remove" else f" --relation {unit.relation}")


def _remaining(ledger: str) -> str:
    from privet import report

    return report.ledger_status(open_ledger(ledger, read_only=True)).headline


def rows_of(answer: "Answer") -> list[dict[str, Any]]:
    """An answer as JSON: a mapping for each group.

    >>> import numpy as np
    >>> from privet.queries import Answer
    >>> rows_of(Answer({"ward": np.array(["A"])}, {"n": np.array([9])}, {"n": np.array([3.0])}, {"n": np.array([15.0])}))
    [{'ward': 'A', 'n': 9, 'n_low': 3.0, 'n_high': 15.0}]
    """
    arrays = answer.columns()
    return [{name: _plain(column[i]) for name, column in arrays.items()} for i in range(len(answer))]


def _plain(value: object) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return value.isoformat() if isinstance(value, date) else value


def csv_of(answer: "Answer") -> str:
    """An answer as comma-separated values, with a line of names.

    >>> import numpy as np
    >>> from privet.queries import Answer
    >>> print(csv_of(Answer({}, {"n": np.array([9])}, {"n": np.array([3.0])}, {"n": np.array([15.0])})).strip())
    n,n_low,n_high
    9,3.0,15.0
    """
    text = io.StringIO()
    writer = comma.DictWriter(text, list(answer.columns()), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows_of(answer))
    return text.getvalue()


def _public(path: Path) -> dict[str, list[Any]]:
    """A public table: numbers where a whole column holds numbers, days where it holds days, else texts."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            names, *rows = list(comma.reader(file)) or [[]]
    except (OSError, UnicodeDecodeError):
        raise InvalidParameter(f"the public table {path.name!r} cannot be read") from None
    if not names or any(len(row) != len(names) for row in rows) or len(set(names)) != len(names):
        raise InvalidParameter(f"{path.name!r}: the first line names the columns, and every line has as many values")
    return {name: _typed([row[i] for row in rows]) for i, name in enumerate(names)}


def _typed(texts: list[str]) -> list[Any]:
    for read in (int, float, date.fromisoformat):
        try:
            return [None if text == "" else read(text) for text in texts]
        except ValueError:
            continue
    return [text or None for text in texts]


_ALL_TEXTS = (
    "; all columns are texts, as in every CSV file: --look finds their kinds in the values (for the custodian alone)"
)


@table_app.command(epilog="Example: privet table draft visits.csv --out visits.toml")
def draft(
    file: Annotated[str, typer.Argument(help="A Parquet or CSV file, or postgresql://... with --table.")],
    out: Annotated[Path | None, typer.Option(help="Write to a file, which must not exist yet.", metavar="FILE")] = None,
    look: Annotated[
        bool, typer.Option("--look", help="Look at the values of a CSV file for their kinds: for its custodian alone.")
    ] = False,
    separator: o.SeparatorOption = None,
    decimal: o.DecimalOption = None,
    table: Annotated[str | None, typer.Option(help="A table on that server.")] = None,
) -> None:
    """A schema with the names and kinds of the columns. Bounds are marked to be filled in, never read from the data."""
    from privet.queries import Table
    from privet.tables import PostgresTable

    server = file.startswith(("postgres://", "postgresql://"))
    if server != (table is not None):
        raise InvalidParameter("a table on a server is named by both: postgresql://host/db --table public.visits")
    source = file if table is None else PostgresTable(file, table)
    text = Table.draft(source, look=look, separator=o.mark(separator), decimal=o.mark(decimal))
    texts = text.count('kind = "text"') == text.count("[columns.")
    hint = "" if look or server or not texts else _ALL_TEXTS
    if out is None:
        typer.echo(text)
        if hint:
            typer.echo(f"note: {hint.removeprefix('; ')}", err=True)
        return
    try:
        with out.open("x", encoding="utf-8") as written:
            written.write(text)
    except OSError as error:
        raise InvalidParameter(f"cannot write {out.name!r}: {error.strerror}") from None
    typer.echo(f"wrote {out}: " + ("set the kinds and bounds" if hint else "fill in the bounds") + hint, err=True)


@table_app.command(epilog="Example: privet table check visits.csv --schema visits.toml")
def check(
    file: Annotated[str, typer.Argument(help="A Parquet or CSV file, or several by a pattern such as 'visits-*.csv'.")],
    schema: Annotated[Path, typer.Option(help="What the columns may contain, and what a person is.", metavar="FILE")],
    json: o.JsonOption = False,
    separator: o.SeparatorOption = None,
    decimal: o.DecimalOption = None,
) -> None:
    """Show what a schema makes of a table: lines left out, values missing, not read or moved. Exact: for its custodian
    alone."""
    from dataclasses import asdict

    from privet.tables import CsvFile, exact_check
    from privet.tables.schema import read_schema_file

    columns, unit = read_schema_file(schema)
    with stoppable():
        named = CsvFile(file, separator=o.mark(separator), decimal=o.mark(decimal))
        found = exact_check(named, columns=columns, unit=unit)
    if json:
        print_json({**asdict(found), "releasable": False})
    else:
        typer.echo(str(found))
