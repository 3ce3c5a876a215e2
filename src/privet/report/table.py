"""Tables for the terminal. rich is loaded when a table is made."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from privet.report.base import Step, plain, round_up

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["facts_table", "ladder_table"]


def ladder_table(steps: Sequence[Step], *, delta: float) -> "Table":
    """The ladder from naive to tight; the columns of claims and formulas appear only where there are any.

    >>> from privet.report.base import Step
    >>> table = ladder_table([Step("tight", None, None, 0.947, 1e-5, "composes the worst pair")], delta=1e-5)
    >>> [column.header for column in table.columns]
    ['method', 'epsilon proved', 'how']
    """
    from rich.table import Table
    from rich.text import Text

    claims = any(step.claimed is not None for step in steps)
    formulas = any(step.formula is not None for step in steps)
    elsewhere = any(step.delta != delta for step in steps)
    table = Table(box=_lines(), title=f"epsilon at delta {plain(delta)}, from naive to tight", title_justify="left")
    table.add_column("method", no_wrap=True)
    if claims:
        table.add_column("slides say", justify="right")
    if formulas:
        table.add_column("their formula", justify="right")
    table.add_column("epsilon proved", justify="right")
    if elsewhere:
        table.add_column("at delta", justify="right")
    table.add_column("how", ratio=1)
    best = min((step.sound for step in steps if step.sound is not None), default=None)
    for step in steps:
        cells = [step.name]
        cells += [_number(step.claimed)] if claims else []
        cells += [_number(step.formula)] if formulas else []
        cells += [_number(step.sound, up=True)]
        cells += [plain(step.delta)] if elsewhere else []
        table.add_row(*map(Text, cells), Text(step.note), style="bold green" if step.sound == best else None)
    return table


def facts_table(facts: Sequence[tuple[str, str]], *, width: int = 0) -> "Table":
    """Name and value, a line each; `width` lines up the values of several tables.

    >>> facts_table([("epsilon", "0.947")]).row_count
    1
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True, min_width=width)
    table.add_column(ratio=1)
    for name, value in facts:
        table.add_row(Text(name, style="bold"), Text(value))  # Text: brackets in a value are no markup
    return table


def _lines() -> "object":
    from rich import box

    return box.SIMPLE_HEAD


def _number(value: float | None, *, up: bool = False) -> str:
    if value is None:
        return "—"
    return plain(round_up(value, 5) if up else value)
