"""Synthetic rows on one page: every column, beside a table that may be looked at."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from privet._numerics import Array
from privet.report.page import render
from privet.tables import Coded, Tally, drawn_salts

if TYPE_CHECKING:
    from privet.queries import Table
    from privet.tables import Coding

_BARS = 32  # of a picture: more cannot be told apart
_LEFT, _WIDE, _TOP, _HIGH = 10.0, 240.0, 24.0, 120.0  # of a drawing, in pixels
_LETTERS = 36  # that have room side by side below a drawing


def synth_page(
    synthetic: Any,
    *,
    beside: "Table | None" = None,
    title: str = "Synthetic rows",
    facts: Sequence[tuple[str, str]] = (),
) -> str:
    """A self-contained page about synthetic rows (`SyntheticTable`): shares of every column, and those of a holdout or
    public table where one is given. Whoever hands one in sees its exact shares: it is not for private data.

    >>> from types import SimpleNamespace
    >>> from privet.tables import Bool, Coding
    >>> rows = SimpleNamespace(coding=Coding.of({"ill": Bool()}), codes=np.array([[0], [1], [1]]))
    >>> synth_page(rows).count("<svg")
    1
    """
    coding = synthetic.coding
    cliques = [(place,) for place in range(len(coding.names))]
    tally = Tally(coding.sizes, cliques)
    if len(synthetic.codes):
        tally.add(list(np.asarray(synthetic.codes).T))
    mine, theirs = tally.tables(), [None] * len(cliques)
    if beside is not None:
        theirs = beside.data.exact_marginals(Coded(beside.rows, coding), cliques, drawn_salts())  # type: ignore[assignment]
    drawings = [_drawing(coding, i, one, two) for i, (one, two) in enumerate(zip(mine, theirs, strict=True))]
    return render(
        "synth.html",
        title=title,
        rows=len(synthetic.codes),
        beside=beside is not None,
        facts=list(facts),
        drawings=drawings,
    )


def _drawing(coding: "Coding", place: int, one: Array, two: Array | None) -> dict[str, Any]:
    shares = [_shares(each) for each in (one, two) if each is not None]
    top = max(max(float(each.max()) for each in shares), 1e-9)
    wide = _WIDE / len(shares[0])
    at = [(round(_LEFT + i * wide, 2), round(0.85 * wide, 2)) for i in range(len(shares[0]))]
    heights = [_HIGH * each / top for each in shares]
    labels = _labels(coding.labels(place))
    bars = [
        (x, round(_TOP + _HIGH - float(h), 2), w, round(float(h), 2), _told(label, i, shares))
        for i, ((x, w), h, label) in enumerate(zip(at, heights[0], labels, strict=True))
    ]
    lines = []
    if len(shares) > 1:
        lines = [(x, round(_TOP + _HIGH - float(h) - 1.25, 2), w) for (x, w), h in zip(at, heights[1], strict=True)]
    return {"name": coding.names[place], "bars": bars, "lines": lines, "names": _names(at, labels), "top": f"{top:.1%}"}


def _shares(counts: Array) -> Array:
    """Shares of at most so many groups of neighbouring codes."""
    groups = np.array_split(counts, min(_BARS, len(counts)))
    added = np.array([each.sum() for each in groups], dtype=np.float64)
    return np.asarray(added / max(added.sum(), 1.0))


def _labels(codes: Sequence[str]) -> list[str]:
    """The label of every bar; of a group of neighbouring codes the first and the last one."""
    groups = np.array_split(np.arange(len(codes)), min(_BARS, len(codes)))
    ends = [(codes[int(each[0])], codes[int(each[-1])]) for each in groups]
    return [one if one == two else f"{one} to {two}" for one, two in ends]


def _told(label: str, place: int, shares: Sequence[Array]) -> str:
    """The text of a bar that is pointed at."""
    told = [f"{float(each[place]):.1%}" for each in shares]
    return f"{label}: {told[0]}" + (f" (the other table {told[1]})" if len(told) > 1 else "")


def _names(at: Sequence[tuple[float, float]], labels: Sequence[str]) -> list[tuple[float, str, str]]:
    """The texts below a drawing, each with its place and the end that stands there: every label where all of them have
    room, else the first and the last one."""
    if len(labels) * max(map(len, labels)) <= _LETTERS:
        return [(round(x + w / 2.0, 2), "middle", label) for (x, w), label in zip(at, labels, strict=True)]
    first, last = (
        label if len(label) <= _LETTERS // 2 else label[: _LETTERS // 2 - 3] + "..."
        for label in (labels[0], labels[-1])
    )
    return [(_LEFT, "start", first), (_LEFT + _WIDE, "end", last)]
