"""The common ground of the commands of `privet audit`: options, claims, code named by module:name, and output."""

import json as json_text
import sys
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


def columns_of(path: Path) -> dict[str, Any]:
    """The columns of a Parquet or CSV file by name, in memory."""
    import duckdb

    if not path.is_file():
        raise InvalidParameter(f"there is no file {path.name!r}")
    with duckdb.connect() as connection:
        reader = connection.read_parquet if path.suffix == ".parquet" else connection.read_csv
        try:
            return dict(reader(str(path)).fetchnumpy())
        except duckdb.Error:
            raise InvalidParameter(f"{path.name!r} cannot be read as Parquet or CSV") from None
