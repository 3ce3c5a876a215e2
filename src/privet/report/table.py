"""Tables for the terminal. rich is loaded when a table is made."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from privet.report.numbers import plain, round_up
from privet.report.rungs import Step

if TYPE_CHECKING:
    from rich.box import Box
    from rich.table import Table


def ladder_table(steps: Sequence[Step], *, delta: float) -> "Table":
    """The ladder from naive to tight; the columns of claims, formulas and other deltas appear only where there are any.

    With several deltas in it the table is wide, and what each method assumes goes into `ladder_notes`.

    >>> from privet.report.rungs import Step
    >>> table = ladder_table([Step("tight", None, None, 0.947, 1e-5, "composes the worst pair")], delta=1e-5)
    >>> [column.header for column in table.columns]
    ['method', 'proved', 'how']
    """
    from rich.table import Table
    from rich.text import Text

    wide = _is_wide(steps)
    table = Table(box=_lines(), title=f"epsilon at delta {plain(delta)}, from naive to tight", title_justify="left")
    table.add_column("method", no_wrap=True)
    lectured = any(step.claimed is not None or step.formula is not None for step in steps)
    headers = [*(["slides say", "formula"] if lectured else []), "proved", *(["at delta"] if wide else [])]
    for header in headers:
        table.add_column(header, justify="right", no_wrap=True)
    if not wide:
        table.add_column("how")
    best = min((step.sound for step in steps if step.whole and step.sound is not None), default=None)
    for step in steps:
        proved = _number(step.sound, up=True)
        claims = [_number(step.claimed), _number(step.formula)] if lectured else []
        cells = [step.name, *claims, proved, plain(step.delta) if wide else step.note]
        table.add_row(*map(Text, cells), style="bold green" if step.whole and step.sound == best else None)
    return table


def ladder_notes(steps: Sequence[Step]) -> "Table | None":
    """Notes on what each line of a wide ladder stands for and assumes; None where the table says it itself.

    >>> from privet.report.rungs import Step
    >>> naive = Step("naive", None, None, 11996.3, 0.1, "T epsilon, T delta")
    >>> ladder_notes([naive, Step("tight", None, None, 0.947, 1e-5, "composes the worst pair")]).row_count
    2
    """
    return facts_table([(step.name, step.note) for step in steps]) if _is_wide(steps) else None


def _is_wide(steps: Sequence[Step]) -> bool:
    return len({step.delta for step in steps}) > 1


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


def _lines() -> "Box":
    from rich import box

    return box.SIMPLE_HEAD


def _number(value: float | None, *, up: bool = False) -> str:
    if value is None:
        return "—"
    return plain(round_up(value, 5) if up else value)
