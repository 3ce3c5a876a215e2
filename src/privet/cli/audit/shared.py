"""The common ground of the commands of `privet audit`: options, claims, code named by module:name, and output."""

import csv
import json as json_text
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privet.cli.app import Commands, app
from privet.cli.output import print_json
from privet.errors import InvalidParameter

if TYPE_CHECKING:
    from privet.audit import Certificate
    from privet.privacy import PrivacyLoss
    from privet.tables import Column


audit_app = Commands(
    no_args_is_help=True,
    help="A referee: try to refute the price of a mechanism, check a certificate, or run the zoo of broken ones.",
)
app.add_typer(audit_app, name="audit")

RunsOption = Annotated[int, typer.Option(help="Runs in each of the two worlds.")]
AlphaOption = Annotated[float, typer.Option(help="Largest probability of refuting a true claim, over the whole run.")]
SecondsOption = Annotated[float | None, typer.Option(help="What the whole audit may take; makes at most --runs runs.")]
JobsOption = Annotated[int, typer.Option(help="Processes that make the runs side by side.")]
StopOption = Annotated[bool, typer.Option("--stop", help="End as soon as bets have refuted the claim.")]
PageOption = Annotated[Path | None, typer.Option("--html", help="Write the result as a web page that loads nothing.")]
CertificateOption = Annotated[
    Path | None, typer.Option("--certificate", help="Write a certificate that others can recompute.")
]
LevelOption = Annotated[
    float, typer.Option(help="Largest probability that an interval or a verdict is wrong, such as 0.05.")
]
KeyOption = Annotated[Path | None, typer.Option(metavar="FILE", help="Sign the certificate with this private key.")]


def claimed(epsilon: float | None, delta: float, claim: str | None, relation: str) -> "PrivacyLoss":
    """The claim: a price as JSON, or its file, or an epsilon with a delta."""
    from privet import privacy

    if (epsilon is None) == (claim is None):
        raise InvalidParameter(
            "say what is claimed: --epsilon (and --delta), or --claim with a price as JSON or its file"
        )
    if claim is not None:
        text = claim if claim.lstrip().startswith("{") else read(Path(claim))
        return privacy.from_json(text)
    unit = privacy.Unit(relation)  # type: ignore[arg-type]
    return (
        privacy.ApproxLoss(epsilon or 0.0, delta, unit=unit) if delta else privacy.PureLoss(epsilon or 0.0, unit=unit)
    )


def loaded(place: str) -> Any:
    """The object that `module:name` names; modules of the current folder are found."""
    module, colon, name = place.partition(":")
    if not colon or not module or not name:
        raise InvalidParameter(f"expected module:name, got {place!r}")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found: Any = import_module(module)
    except ImportError as problem:
        raise InvalidParameter(f"cannot import {module!r}: {type(problem).__name__}") from None
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise InvalidParameter(f"{module!r} has no {name!r}") from None
    return found


def value(text: str) -> Any:
    """A JSON text of an input, such as 3, [1, 2] or {"age": 40}."""
    try:
        return json_text.loads(text)
    except ValueError:
        raise InvalidParameter('inputs are written as JSON: 3, [1, 2], {"age": 40}') from None


def read(path: Path) -> str:
    """The text of a file."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidParameter(f"cannot read {path.name!r}: {error.strerror}") from None
    except UnicodeDecodeError:  # its text quotes bytes of the file
        raise InvalidParameter(f"cannot read {path.name!r}: it is no text (UTF-8)") from None


def check_written(*paths: Path | None) -> None:
    """Refuse before computing, and before private figures are shown, what could not be written."""
    for path in paths:
        if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
            raise InvalidParameter(f"cannot write {path.name!r}: its folder does not exist, or it is one")


def show(
    certificate_of: "Certificate",
    *,
    json: bool,
    certificate: Path | None = None,
    html: Path | None = None,
    facts: bool = True,
) -> None:
    """Print a certificate (without `facts` only its JSON), write what was asked for, and leave with 1 where the claim is
    violated, 3 where in doubt."""
    from rich.console import Console

    from privet.report import audit_facts, audit_page, facts_table

    if json:
        print_json(json_text.loads(certificate_of.to_json()))
    elif facts:
        out = Console(highlight=False)
        out.print(facts_table(audit_facts(certificate_of), width=11))
        out.print("\nAn audit can refute a claim, never prove one: not refuted is not private.")
    write(certificate, certificate_of.to_json() + "\n")
    write(html, "" if html is None else audit_page(certificate_of))
    code = {"violated": 1, "not refuted": 0}.get(certificate_of.verdict, 3)
    if code:
        raise typer.Exit(code)


def write(path: Path | None, text: str) -> None:
    """A file, and a line about it on stderr."""
    if path is None:
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidParameter(f"cannot write {path.name!r}: {error.strerror}") from None
    typer.echo(f"wrote {path}", err=True)


def numbers_of(columns: "Mapping[str, Column]") -> dict[str, bool]:
    """The columns of a schema by name, True where they are numbers: bounds, yes and no, categories that are numbers."""
    from privet.tables import Bool, Category, Float, Int

    return {
        name: isinstance(each, Int | Float | Bool)
        or (isinstance(each, Category) and not isinstance(each.values[0], str))
        for name, each in columns.items()
    }


def columns_of(path: Path, numbers: Mapping[str, bool] | None = None) -> dict[str, Any]:
    """The columns of a Parquet or CSV file by name, in memory: numbers with NaN, or texts with None for what is missing.

    `numbers` names the columns that are wanted, and which of them are numbers; without it columns of which every value
    is a number are. A reader's own guess is not taken: one file's yes and no would be texts, another's 1 and 0.
    """
    import duckdb

    if not path.is_file():
        raise InvalidParameter(f"there is no file {path.name!r}")
    with duckdb.connect() as connection:
        try:
            parquet = path.suffix == ".parquet"
            held = connection.read_parquet(str(path)) if parquet else _csv(connection, path)
            if not parquet:
                _check_header(path, len(held.columns))
            missing = [name for name in numbers or () if name not in held.columns]
            if missing:
                told = (
                    "" if parquet else "; a CSV file names its columns in its first line, and all lines have one length"
                )
                raise InvalidParameter(f"{path.name!r} has no column {missing[0]!r}{told}")
            return {
                name: _column(held, name, None if numbers is None else numbers[name], path.name)
                for name in numbers or held.columns
            }
        except duckdb.Error:
            raise InvalidParameter(f"{path.name!r} cannot be read as Parquet or CSV") from None


def scored(file: Path, flag: str) -> tuple[list[float], list[int]]:
    """The scores of a CSV file, and the column of 0 and 1 beside them, as people's programs write it."""
    rows = csv.DictReader(read(file).removeprefix("\ufeff").splitlines())
    wanted = f"expected a CSV file with the columns score and {flag} (0 or 1)"
    told = f"in {file.name!r} a score is no number, or {flag} is neither 0 nor 1"
    try:
        rows.fieldnames = names = [name.strip() for name in rows.fieldnames or ()]
        if not {"score", flag} <= set(names):
            told = f"the first line of {file.name!r}, split at commas, names others"
        read_off = [(float(row["score"]), _FLAGS[row[flag].strip().lower()]) for row in rows]
    except (AttributeError, KeyError, ValueError, TypeError, csv.Error):
        raise InvalidParameter(f"{wanted}: {told}") from None
    return [score for score, _ in read_off], [put for _, put in read_off]


_FLAGS = {"0": 0, "0.0": 0, "false": 0, "1": 1, "1.0": 1, "true": 1}


def _csv(connection: Any, path: Path) -> Any:
    """A CSV file as texts; its first line names the columns, whatever stands in it."""
    named = {"header": True} if path.stat().st_size else {}  # an empty file has no first line
    return connection.read_csv(str(path), all_varchar=True, **named)


def _check_header(path: Path, columns: int) -> None:
    """A refusal of a column that is named twice: a reader would give the second one a name of its own."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        first = file.readline()
    for mark in ",;\t|":
        try:
            names = next(csv.reader([first], delimiter=mark), [])
        except csv.Error:  # longer than a reader takes
            continue
        if len(names) == columns > 1 and len(set(names)) < columns:
            raise InvalidParameter(f"the first line of {path.name!r} must name the columns, each once")


def _column(held: Any, name: str, number: bool | None, file: str) -> Any:
    import numpy as np

    quoted = '"' + name.replace('"', '""') + '"'
    number_of, yes = f"TRY_CAST({quoted} AS DOUBLE)", f"TRY_CAST(TRY_CAST({quoted} AS BOOLEAN) AS DOUBLE)"
    strange = f"{number_of} IS NULL AND {quoted} IS NOT NULL"
    wanted = (f"CAST({quoted} AS VARCHAR) AS words", f"COALESCE({number_of}, {yes}) AS number", f"{strange} AS strange")
    read = held.project(", ".join(wanted)).fetchnumpy()
    if number and np.asarray(read["strange"]).any() and not np.isfinite(np.ma.filled(read["number"], np.nan)).any():
        raise InvalidParameter(f"the column {name!r} of {file!r} has words alone and no number (a decimal comma?)")
    if number or (number is None and not np.asarray(read["strange"]).any()):
        return np.ma.filled(np.ma.asarray(read["number"], dtype=float), np.nan)
    words = np.ma.asarray(read["words"])
    texts = np.ma.getdata(words).astype(object)
    texts[np.ma.getmaskarray(words)] = None
    return texts
