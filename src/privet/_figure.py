"""Figures without a window: matplotlib is loaded when a picture is drawn, and only through its Figure class."""

from __future__ import annotations

import importlib
import importlib.util
import io
from functools import cache
from pathlib import Path
from typing import Any

from privet.errors import InvalidParameter, MissingExtra, PrivetError

# matplotlib ships no types that a strict checker accepts, and may be absent
Figure = Any
Axes = Any

# One colour speaks, the rest is grey; the two further hues stay apart for colour-blind readers and in print.
accent, strong, muted = "#1b6e4b", "#222222", "#8a8f94"
PALETTE = (accent, "#b3541e", "#3b5b92", "#7a4f8a", "#8a7a1f")

_SUFFIXES = (".png", ".svg", ".pdf")


def require_plotting(path: Path | None = None) -> None:
    """Fail before anything is computed when a picture cannot be drawn or its file name says nothing.

    >>> require_plotting(Path("ladder.xyz"))
    Traceback (most recent call last):
        ...
    privet.errors.InvalidParameter: a picture is written as .png, .svg or .pdf, got 'ladder.xyz'
    """
    if path is not None and path.suffix.lower() not in _SUFFIXES:
        raise InvalidParameter(f"a picture is written as .png, .svg or .pdf, got {path.name!r}")
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtra("pictures need matplotlib, which is not installed; run: pip install 'privet[plot]'")


@cache
def _pictures() -> Any:
    """The class of figures: those of matplotlib, which a notebook shows without being told to load a way to do so."""
    plain = importlib.import_module("matplotlib.figure").Figure

    def as_png(figure: Figure) -> bytes:
        held = io.BytesIO()
        figure.savefig(held, format="png")
        return held.getvalue()

    return type("Figure", (plain,), {"__module__": __name__, "_repr_png_": as_png})


def new_figure(width: float = 7.2, height: float = 4.5) -> tuple[Figure, Any]:
    """An empty figure with one set of axes in the house style: no frame, light grid, quiet ticks.

    >>> figure, axes = new_figure()
    >>> len(figure.axes)
    1
    """
    require_plotting()
    figure = _pictures()(figsize=(width, height), dpi=160, layout="constrained")
    figure.set_facecolor("white")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
    axes = figure.add_subplot()
    _dress(axes)
    return figure, axes


def new_panels(
    many: int, *, width: float = 2.9, height: float = 3.1, together: bool = True
) -> tuple[Figure, list[Any]]:
    """An empty figure with axes side by side, on one vertical scale unless `together` is False.

    >>> figure, panels = new_panels(3)
    >>> len(figure.axes), len(panels)
    (3, 3)
    """
    require_plotting()
    size = (width * many, height)
    figure = _pictures()(figsize=size, dpi=160, layout="constrained")
    figure.set_facecolor("white")
    panels = figure.subplots(1, many, sharey=together, squeeze=False)[0].tolist()
    for axes in panels:
        _dress(axes)
    return figure, panels


def _dress(axes: Axes) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color("#c9cdd1")
    axes.tick_params(colors="#555b61", labelsize=9, length=3, color="#c9cdd1", which="both")
    axes.tick_params(which="minor", length=0)
    axes.grid(True, which="major", color="#e9ebed", linewidth=0.8)
    axes.set_axisbelow(True)


def title(axes: Axes, headline: str, detail: str) -> None:
    """A headline that says the finding, and a smaller line that says what is drawn."""
    axes.set_title(f"{headline}\n", loc="left", fontsize=12.5, fontweight="bold", color=strong, pad=10)
    axes.annotate(
        detail, (0.0, 1.0), (0, 9), xycoords="axes fraction", textcoords="offset points", fontsize=9.5, color="#555b61"
    )


def label(axes: Axes, horizontal: str, vertical: str = "") -> None:
    """Axis labels in the quiet colour."""
    axes.set_xlabel(horizontal, fontsize=10, color="#3c4147", labelpad=6)
    axes.set_ylabel(vertical, fontsize=10, color="#3c4147", labelpad=6)


def save_figure(figure: Figure, path: str | Path) -> Path:
    """Write the picture; the suffix (.png, .svg, .pdf) chooses the format.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_figure(new_figure()[0], Path(folder) / "empty.png").stat().st_size > 1000
    True
    """
    target = Path(path)
    require_plotting(target)
    try:
        figure.savefig(target)
    except OSError as error:
        raise PrivetError(f"cannot write the picture to {target.name!r}: {error.strerror or error}") from None
    return target
