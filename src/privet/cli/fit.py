"""`privet fit`: a private model of a file, by its schema, paid from a ledger."""

from pathlib import Path
from typing import Annotated, Any

import typer

from privet.cli import options as o
from privet.cli.app import app
from privet.cli.ledgers import open_ledger
from privet.cli.output import print_json, progress, refuse_unwritable, stoppable
from privet.errors import InvalidParameter

_EXAMPLES = """\
Examples (begin with: privet table draft visits.csv --out visits.toml, and fill in the bounds):

  privet fit visits.csv --schema visits.toml --target ill --epsilon 1 --delta 1e-6 --ledger visits.ledger --out model.json

  privet fit visits.parquet --schema visits.toml --target cost --model linear --epsilon 0.5 --delta 1e-6 --ledger
  visits.ledger --json
"""


@app.command(epilog=_EXAMPLES)
def fit(
    file: Annotated[str, typer.Argument(help="A Parquet or CSV file, or several by a pattern such as 'visits-*.csv'.")],
    schema: Annotated[Path, typer.Option(help="What the columns may contain, such as visits.toml.", metavar="FILE")],
    target: Annotated[str, typer.Option(help="The column that is predicted, such as cost.")],
    feature: Annotated[
        list[str] | None,
        typer.Option(help="A column to predict from, such as age; repeat it. All others, if none is named."),
    ] = None,
    model: Annotated[
        str, typer.Option(help="A kind of model, such as logistic or ridge; with any other word all are listed.")
    ] = "logistic",
    epsilon: o.PaidEpsilonOption = None,
    delta: Annotated[
        float, typer.Option(help="... at this delta, such as 1e-6 (0: pure).", rich_help_panel=o.PAYING)
    ] = 0.0,
    ledger: o.PayerOption = None,
    key: o.FitKeyOption = None,
    about: o.AboutOption = None,
    out: Annotated[Path | None, typer.Option(help="Where the model goes, such as model.json.", metavar="FILE")] = None,
    json: o.JsonOption = False,
    separator: o.SeparatorOption = None,
    decimal: o.DecimalOption = None,
) -> None:
    """A model of a table, trained privately and paid from a ledger. Columns are encoded by the schema alone."""
    from privet import learn
    from privet.learn.estimators import registered_estimators
    from privet.queries import Table

    models = {kind.called: kind for kind in registered_estimators().values() if kind.called is not None}
    if model not in models:
        raise InvalidParameter(f"--model must be one of {', '.join(sorted(models))}")
    if ledger is None:
        raise InvalidParameter("who pays? Give --ledger FILE; begin one with: privet ledger init FILE --epsilon 3")
    refuse_unwritable(out, "fitted")
    table = Table(file, schema=schema, separator=o.mark(separator), decimal=o.mark(decimal))
    made = models[model](epsilon=epsilon, delta=delta, ledger=open_ledger(ledger))
    with stoppable(), progress():
        made.fit(table, target=target, features=feature or None, key=key, about=about)
    if out is not None:
        learn.save(made, out)
    _show(made, out, json)


def _show(made: Any, out: Path | None, json: bool) -> None:
    names = made.encoding_.names
    if json:
        print_json({"model": type(made).__name__, "features": list(names), "privacy": made.privacy_.to_dict()})
        return
    typer.echo(f"{type(made).__name__} of {len(names)} features")
    typer.echo(str(made.privacy_))
    if out is not None:
        typer.echo(f"The model is in {out}: privet.learn.load reads it.")
