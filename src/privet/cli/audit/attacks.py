"""`privet audit model`, `exposure` and `table`: how much a model, a training or a table gives away."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from privet.cli import options as o
from privet.cli.audit.own import ClaimOption, DeltaOption, EpsilonOption, WhichOption
from privet.cli.audit.shared import (
    CertificateOption,
    KeyOption,
    LevelOption,
    PageOption,
    audit_app,
    check_written,
    claimed,
    columns_of,
    numbers_of,
    scored,
    show,
)
from privet.cli.output import check_plot, print_json, progress
from privet.errors import InvalidParameter

if TYPE_CHECKING:
    from privet.audit import Exposure

_MODEL = """\
Examples:

  privet audit model model.json --members in.parquet --others out.parquet --plot roc.svg

  privet audit model model.json --members in.csv --others out.csv --label ill --epsilon 1 --html attack.html

  privet audit model model.json --members in.csv --others out.csv --attack quantile --strangers more.csv

The stronger attacks, LiRA and RMIA, train the same model again on other records: files do not say how it was trained, so
they are called from Python (audit.shadow_models, audit.lira, audit.rmia).
"""
_EXPOSURE = """\
Examples (the file has the columns score and inserted, 1 for secrets and 0 for candidates that were not put in):

  privet audit exposure scores.csv --space 1e9

  privet audit exposure scores.csv --space 1e9 --bits 10 --epsilon 1
"""
_TABLE = """\
Examples (begin with: privet table draft visits.csv --out visits.toml, and fill in the bounds):

  privet audit table visits.parquet --schema visits.toml --quasi age,sex,zip

  privet audit table visits.csv --schema visits.toml --quasi age,sex,zip --sensitive ill --html risk.html
"""
AttackName = Literal["loss", "quantile"]
MadeUpOption = Annotated[bool, typer.Option("--made-up", help="Nobody is behind the records: no warning is needed.")]


@audit_app.command("model", epilog=_MODEL)
def attack_model(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A model that privet fit or learn.save wrote.")],
    members: Annotated[Path, typer.Option(metavar="FILE", help="Records that it was trained on, such as in.parquet.")],
    others: Annotated[Path, typer.Option(metavar="FILE", help="Records that it never saw, such as out.parquet.")],
    label: Annotated[
        str | None, typer.Option(help="The column that is predicted, such as ill; of a model of a table it is known.")
    ] = None,
    attack: Annotated[
        AttackName,
        typer.Option(help="A threshold for all (loss), or one for each record (quantile), such as --attack quantile."),
    ] = "loss",
    strangers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="For quantile: further records that it never saw, such as more.parquet."),
    ] = None,
    fpr: Annotated[
        float | None, typer.Option(help="For quantile: the share of strangers that may be accused (0.01 if not given).")
    ] = None,
    epsilon: EpsilonOption = None,
    delta: DeltaOption = 0.0,
    claim: ClaimOption = None,
    relation: WhichOption = "add_remove",
    alpha: LevelOption = 0.05,
    made_up: MadeUpOption = False,
    json: o.JsonOption = False,
    plot: o.PlotOption = None,
    html: PageOption = None,
    certificate: CertificateOption = None,
    sign: KeyOption = None,
) -> None:
    """Attack a model by how well it knows records that it was, and was not, trained on; the ceiling is its own price's.

    The figures are about the records, exactly: for the custodian, unless these are made up.
    """
    from privet import audit, learn, report

    check_plot(plot)
    check_written(html, certificate)
    if (attack == "quantile") != (strangers is not None) or (attack == "loss" and fpr is not None):
        raise InvalidParameter(
            "--attack quantile learns on --strangers (and has an --fpr); the loss attack has neither"
        )
    model = learn.load(file)
    inside, outside, *learned = _alike(model, label, members, others, *([] if strangers is None else [strangers]))
    who = audit.Suspects.of(members=inside, others=outside, real=not made_up, leave_out_shared=True)
    shared = len(inside[1]) + len(outside[1]) - len(who.included)
    price = None if epsilon is None and claim is None else claimed(epsilon, delta, claim, relation)
    if not learned:
        found = audit.loss_attack(model, who, claim=price, alpha=alpha)
    else:
        rate = 0.01 if fpr is None else fpr
        found = audit.quantile_attack(model, who, strangers=learned[0], fpr=rate, claim=price, alpha=alpha)
    made = audit.certify(found, name=file.name, key=sign)
    if plot is not None:
        report.save_figure(report.roc_figure(found, name=file.name), plot)
    if not json:
        if shared:
            typer.echo(f"{shared:,} records are equal to one on the other side, and were left out.")
        typer.echo(found.explain() + "\n")
    show(made, json=json, certificate=certificate, html=html)


@audit_app.command("exposure", epilog=_EXPOSURE)
def exposed(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV with the columns score and inserted (0 or 1).")],
    space: Annotated[float, typer.Option(help="How many candidates there are in all, such as 1e9.")],
    bits: Annotated[
        float | None, typer.Option(help="Count secrets of so many bits, fixed before the scores were seen, such as 10.")
    ] = None,
    copies: Annotated[int, typer.Option(help="How often each secret was put in, such as 1.")] = 1,
    extrapolate: Annotated[
        bool, typer.Option("--extrapolate", help="Fit a law to the candidates; figures that bound nothing.")
    ] = False,
    epsilon: EpsilonOption = None,
    delta: DeltaOption = 0.0,
    claim: ClaimOption = None,
    relation: WhichOption = "add_remove",
    alpha: LevelOption = 0.05,
    json: o.JsonOption = False,
    plot: o.PlotOption = None,
    html: PageOption = None,
    certificate: CertificateOption = None,
    sign: KeyOption = None,
) -> None:
    """The exposure of secrets in one training, in bits; with --bits a bound on epsilon, and with a claim a test of it.

    Exit code 1 if the claim is violated.
    """
    from privet import audit, report
    from privet.privacy import Unit

    check_plot(plot)
    check_written(html, certificate)
    price = None if epsilon is None and claim is None else claimed(epsilon, delta, claim, relation)
    if bits is None and price is not None:
        raise InvalidParameter("a claim is tested at a number of bits that was fixed in advance: give --bits")
    found = _exposure(file, space, copies, extrapolate)
    made = None
    if bits is not None and price is not None:
        made = audit.certify(found.test(bits=bits, claim=price, alpha=alpha), name=file.name, key=sign)
    elif bits is not None:
        bound = found.lower(bits=bits, delta=delta, alpha=alpha, unit=Unit(relation))
        made = audit.certify(bound, name=file.name, key=sign)
    if plot is not None:
        report.save_figure(report.exposure_figure(found), plot)
    if made is None:
        most = None if found.method == "extrapolated" else found.ceiling  # a fitted law has none
        figures = {"bits": found.bits.tolist(), "mean": found.mean, "ceiling": most, "method": found.method}
        print_json(figures) if json else typer.echo(found.explain())
        return
    if not json:
        typer.echo(found.explain() + "\n")
    show(made, json=json, certificate=certificate, html=html)


@audit_app.command("table", epilog=_TABLE)
def table_risk(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A Parquet or CSV file, or several by a pattern.")],
    schema: Annotated[Path, typer.Option(help="What the columns may contain, such as visits.toml.", metavar="FILE")],
    quasi: Annotated[str, typer.Option(help="Columns that others may know of a person, such as age,sex,zip.")],
    sensitive: Annotated[str | None, typer.Option(help="A column that should stay hidden, such as ill.")] = None,
    sets: Annotated[
        bool, typer.Option("--sets", help="Also look for the smallest sets of these columns that leave rows alone.")
    ] = False,
    json: o.JsonOption = False,
    plot: o.PlotOption = None,
    html: PageOption = None,
    certificate: CertificateOption = None,
    sign: KeyOption = None,
    separator: o.SeparatorOption = None,
    decimal: o.DecimalOption = None,
) -> None:
    """The rows that are alone with what others may know: exact figures for the custodian, none of them releasable."""
    from privet import audit, report
    from privet.queries import Table

    check_plot(plot)
    check_written(html, certificate)
    names = [name.strip() for name in quasi.split(",") if name.strip()]
    table = Table(file, schema=schema, separator=o.mark(separator), decimal=o.mark(decimal))
    with progress():
        found = audit.exact_reidentification(table, quasi=names, sensitive=sensitive)
        smallest = audit.exact_identifying_sets(table, names) if sets else None
    made = audit.certify(found, name=Path(file).name, key=sign)
    if plot is not None:
        report.save_figure(report.cells_figure(found), plot)
    if not json:
        typer.echo(found.explain())
        if smallest is not None:
            typer.echo("\n" + smallest.explain())
    show(made, json=json, certificate=certificate, html=html, facts=False)  # its words are printed already


def _alike(model: Any, label: str | None, *paths: Path) -> list[tuple[Any, Any]]:
    """The rows and labels of every file, of the same columns in the same order: else a model would read one as another."""
    import numpy as np

    read = [_records(model, path, label) for path in paths]
    classes = getattr(model, "classes_", None)
    for path, (names, _, labels) in zip(paths, read, strict=True):
        if not len(labels):
            raise InvalidParameter(f"{path.name!r} has no records")
        if names != read[0][0]:
            raise InvalidParameter(
                f"{path.name!r} has the columns {', '.join(names)[:200]}, and {paths[0].name!r} has "
                f"{', '.join(read[0][0])[:200]}: the files need the same ones in the same order"
            )
        wanted = getattr(model, "n_features_in_", len(names))
        if len(names) != wanted:
            raise InvalidParameter(f"{path.name!r} has {len(names)} columns beside the label; the model reads {wanted}")
        if classes is not None and not set(labels.tolist()) <= set(np.asarray(classes).tolist()):
            raise InvalidParameter(
                f"{path.name!r} has labels that the model does not know, or none, in the column that is predicted"
            )
    return [(rows, labels) for _, rows, labels in read]


def _records(model: Any, path: Path, label: str | None) -> tuple[list[str], Any, Any]:
    """The columns of a file, its rows as the model reads them, and their labels."""
    import numpy as np

    encoding = getattr(model, "encoding_", None)
    if encoding is not None:
        made = encoding.of(columns_of(path, numbers_of(encoding.columns)))
        return list(encoding.names), made.rows, np.asarray(made.targets)
    held = columns_of(path)
    if label is None or label not in held:
        raise InvalidParameter("--label names the column that is predicted, one of the file's")
    names = [name for name in held if name != label]
    words = [name for name in names if held[name].dtype == object]
    if words or not names:
        told = f"{path.name!r} has words in the column {words[0]!r}" if words else f"{path.name!r} has the label alone"
        raise InvalidParameter(f"{told}: a model that was not fitted to a table reads columns of numbers")
    odd = next((name for name in names if not np.isfinite(held[name]).all()), None)
    if odd is not None:
        raise InvalidParameter(f"{path.name!r} has numbers that are missing or infinite in the column {odd!r}")
    return names, np.stack([held[name] for name in names], axis=1), np.asarray(held[label])


def _exposure(file: Path, space: float, copies: int, extrapolate: bool) -> "Exposure":
    from privet import audit

    scores = list(zip(*scored(file, "inserted"), strict=True))
    inside, others = ([score for score, put in scores if put == wanted] for wanted in (1, 0))
    if not inside or not others:
        raise InvalidParameter(
            f"{file.name!r} needs secrets (inserted 1) and candidates that were not put in (inserted 0)"
        )
    by = audit.Extrapolated() if extrapolate else None
    return audit.exposure(inside, others, space=space, by=by, copies=copies)
