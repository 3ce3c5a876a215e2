"""`privet train`: a network trained by a plan in a file, paid from a ledger."""

import importlib.util
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from privet.cli import options as o
from privet.cli.app import app
from privet.cli.ledgers import open_ledger
from privet.cli.output import print_json, progress, refuse_unwritable, stoppable
from privet.errors import InvalidData, InvalidParameter

_EXAMPLES = """\
Examples (a plan: epsilon = 3.0, delta = 1e-5, steps = 2000, expected_batch = 600, sampling = {kind = "poisson", q = 0.01}):

  privet train plan.toml --preview

  privet train plan.toml --model net.py:make --data digits.npz --ledger digits.ledger --key May --checkpoint May.run --out
  weights.pt
"""
_PAYING = "Who pays, and for what"


@app.command(epilog=_EXAMPLES)
def train(
    plan: Annotated[Path, typer.Argument(help="The plan: promise, steps, sampler and clip, such as plan.toml.")],
    model: Annotated[
        str | None,
        typer.Option(
            help="A function of a Python file, such as net.py:make; it returns a model, its optimizer and a loss."
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="A file of arrays called inputs and targets, such as digits.npz (numpy.savez).", metavar="FILE"
        ),
    ] = None,
    preview: Annotated[
        bool, typer.Option("--preview", help="Show what the plan costs, by several analyses; nothing is read or paid.")
    ] = False,
    ledger: Annotated[
        str | None,
        typer.Option(
            help="The ledger that pays, such as digits.ledger; begin one with: privet ledger init.",
            rich_help_panel=_PAYING,
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            help="A name for the run, such as 'May': it goes on where it was stopped, and is read back once it is done.",
            rich_help_panel=_PAYING,
        ),
    ] = None,
    about: Annotated[
        str | None,
        typer.Option(
            help="The version of the data in public words, such as 2026-05: another one under a used key is refused.",
            rich_help_panel=_PAYING,
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Where the run is kept after every block, such as May.run; needs --key.", metavar="FILE"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where the weights go, such as weights.pt (torch.load).", metavar="FILE")
    ] = None,
    json: o.JsonOption = False,
) -> None:
    """A network trained privately by a plan. The whole plan is paid before a record is looked at."""
    from privet import deep

    planned = _plan(plan, deep.Plan)
    if preview:
        if json:
            print_json({"plan": planned.to_dict(), "epsilon": planned.price().upper})
        else:
            typer.echo(planned.explain())
        return
    if model is None or data is None or ledger is None:
        missing = next(name for name, each in (("model", model), ("data", data), ("ledger", ledger)) if each is None)
        raise InvalidParameter(f"--{missing} is missing: a training needs --model, --data and --ledger, or --preview")
    refuse_unwritable(out, "trained")
    trainer = deep.Trainer(*_made(model), planned)
    records = _arrays(data)
    payer = open_ledger(ledger)
    with stoppable(), progress():
        trained = trainer.fit(records, ledger=payer, key=key, about=about, checkpoint=checkpoint)
    _keep(trained, out)
    _show(trained, out, json)


def _plan(file: Path, kind: Any) -> Any:
    try:
        body = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise InvalidParameter(f"the plan {str(file)!r} cannot be read: {problem}") from None
    return kind.from_dict(body)


def _made(named: str) -> tuple[Any, Any, Any]:
    """The model, the optimizer and the loss that a function of a file returns: public code, run before anything is paid."""
    name, _, function = named.rpartition(":")
    file = Path(name)
    if not name or not file.is_file():
        raise InvalidParameter("--model names a function of a Python file, such as net.py:make")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise InvalidParameter(f"--model: {name!r} is no Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        make: Callable[[], Any] | None = getattr(module, function, None)
        made = make() if callable(make) else None
    except Exception as problem:
        raise InvalidParameter(f"--model: {named} failed ({type(problem).__name__}: {problem})") from None
    if make is None:
        raise InvalidParameter(f"--model: {name!r} has no function {function!r}")
    if not isinstance(made, tuple) or len(made) != 3:
        raise InvalidParameter(f"--model: {named} must return three things: a model, an optimizer and a loss")
    return made


def _arrays(file: Path) -> tuple[Any, Any]:
    import numpy as np

    try:
        with np.load(file, allow_pickle=False) as held:
            return held["inputs"], held["targets"]
    except Exception:  # what it says may quote the file
        pass
    raise InvalidData("--data must be a file of two arrays, inputs and targets, as numpy.savez writes it")


def _keep(trained: Any, out: Path | None) -> None:
    if out is not None:
        import torch

        torch.save(trained.state_dict(), out)


def _show(trained: Any, out: Path | None, json: bool) -> None:
    names = sorted(trained.release.value)
    if json:
        paid = None if trained.release.paid is None else str(trained.release.paid)
        print_json({"weights": names, "plan": trained.plan.to_dict(), "paid": paid})
        return
    typer.echo(str(trained))
    if out is not None:
        typer.echo(f"The weights are in {out}: torch.load reads them, and load_state_dict takes them.")
