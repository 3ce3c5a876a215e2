"""Printing and drawing of commands. Everything that computes lies in `privet.report`."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from privet._progress import listening
from privet.errors import InvalidParameter

if TYPE_CHECKING:
    from rich.progress import TaskID

    from privet.report import Calibration, Quote


_MARGIN = 11  # width of the names on the left, so that all facts line up


def print_json(document: dict[str, Any]) -> None:
    """One JSON document on stdout, and nothing else there."""
    typer.echo(json.dumps(document, indent=2, allow_nan=False))


def refuse_unwritable(out: Path | None, done: str) -> None:
    """A refusal of what cannot be written, before it is `done` (such as "fitted") and paid for: it would be lost."""
    if out is not None and (out.is_dir() or not os.access(out if out.exists() else out.parent, os.W_OK)):
        raise InvalidParameter(f"--out: {str(out)!r} cannot be written; nothing was {done}, and nothing paid")


def check_plot(path: Path | None) -> None:
    """Refuse before computing when the picture could not be drawn or written."""
    if path is None:
        return
    from privet.report.figure import require_plotting

    require_plotting(path)
    if not path.absolute().parent.is_dir():
        raise InvalidParameter(f"cannot write {path.name!r}: its folder does not exist")


def write_plot(quote: "Quote", path: Path | None, picture: str) -> None:
    """Draw the chosen picture of a quote; the note about it goes to stderr, so that --json stays clean."""
    if path is None:
        return
    from privet.report import describe, ladder_figure, profile_figure, save_figure, tradeoff_figure

    name = describe(quote.loss)
    if picture == "profile":
        figure = profile_figure({name: quote.loss}, mark=[(quote.epsilon, quote.delta)])
    elif picture == "tradeoff":
        figure = tradeoff_figure(quote.loss, name=name, fpr=quote.meaning.fpr)
    elif quote.ladder:
        figure = ladder_figure(quote.ladder, name=f"{name}, δ = {quote.delta:g}")
    else:
        raise InvalidParameter("the ladder compares epsilons at one delta; ask with --delta and --accountant auto")
    save_figure(figure, path)
    typer.echo(f"wrote {path}", err=True)


def show_quote(quote: "Quote", found: "Calibration | None" = None) -> None:
    """A quote for a reader: what is priced, the ladder, the certified answer, what it means for one person."""
    from rich.console import Console
    from rich.text import Text

    from privet.report import answer_in_words, describe, facts_table, ladder_notes, ladder_table, meaning_in_words

    out = Console(highlight=False)
    unit = quote.bound.unit
    out.print(Text(describe(quote.loss), style="bold"))
    out.print(Text(f"One person: {unit.describe()}.\n"))
    if found is not None:
        out.print(facts_table(found.facts()), "")
    if quote.ladder:
        out.print(ladder_table(quote.ladder, delta=quote.delta))
        if (notes := ladder_notes(quote.ladder)) is not None:
            out.print(Text("What each line stands for", style="bold"))
            out.print(notes, "")
    answer = "epsilon" if quote.asked == "delta" else "delta"
    words = answer_in_words(quote.bound, answer=answer, asked=quote.asked, given=quote.given)
    out.print(facts_table([("Answer", words), ("Method", quote.bound.method)], width=_MARGIN))
    out.print(Text("\nWhat this means for one person", style="bold"))
    sentences = meaning_in_words(quote.meaning, unit)
    facts = [
        (head, rest[:1].upper() + rest[1:]) for head, _, rest in (sentence.partition(": ") for sentence in sentences)
    ]
    out.print(facts_table(facts, width=_MARGIN))


@contextmanager
def progress() -> Iterator[None]:
    """While open, long work shows on stderr how far it has come; nothing where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as shown:
        tasks: dict[str, TaskID] = {}

        def tell(what: str, done: int, of: int) -> None:
            if what not in tasks:
                tasks[what] = shown.add_task(what)
            shown.update(tasks[what], completed=done, total=of)

        with listening(tell):
            yield


@contextmanager
def stoppable() -> Iterator[None]:
    """Ctrl-C while the engine works: the charge was written before it began."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("privet: stopped; what was paid stays paid", err=True)
        raise typer.Exit(130) from None
