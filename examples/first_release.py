"""The first release of the README: 10,000 made-up visits, three answers from one budget, the truth beside them.

`python examples/first_release.py --picture FILE.svg` draws what the README shows; `--dark` for dark pages.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import privet as pv
from privet.report.figure import label, new_figure, save_figure, title

ROWS = 10_000
WIDTH = 10


def visits() -> dict[str, Any]:
    """Made up, so that the truth may be looked at: ages and costs of 10,000 visits to a clinic."""
    rng = np.random.default_rng(2026)
    age = np.clip(rng.normal(52.0, 19.0, ROWS), 0, 109).astype(int)
    return {"age": age, "cost": rng.gamma(2.0, 150.0, ROWS).round(2)}


def table(data: dict[str, Any]) -> pv.Table:
    return pv.Table(data, columns={"age": pv.Int(0, 109), "cost": pv.Float(0, 2_000)}, name="visits")


def ages(epsilon: float) -> tuple[Any, Any, Any, Any]:
    """Visits by age: released, both ends of the intervals, and the truth."""
    data = visits()
    people = table(data)
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0), unit=people.unit)
    answer = ledger.release(people.histogram("age", width=WIDTH), epsilon=epsilon).value
    low, high = answer.interval("n")
    return np.asarray(answer["n"]), low, high, np.histogram(data["age"], bins=range(0, 111, WIDTH))[0]


@dataclass(frozen=True)
class Colours:
    """Of a page: what is drawn on it and what stands out."""

    page: str
    ink: str
    grid: str
    bar: str
    truth: str = "#e8743b"


LIGHT = Colours("#ffffff", "#222222", "#e9ebed", "#57a483")
DARK = Colours("#0d1117", "#e6edf3", "#30363d", "#2f8f67", "#ff9d5c")


def picture(path: Path, colours: Colours = LIGHT, *, epsilon: float = 0.05) -> None:
    """Released bars with their 95% intervals, and the truth as dots; large enough for a phone."""
    released, low, high, truth = ages(epsilon)
    figure, axes = new_figure(6.4, 4.2)
    places = np.arange(len(released))
    axes.bar(places, released, width=0.84, color=colours.bar, label="released")
    bars = np.vstack((released - low, high - released))
    axes.errorbar(
        places,
        released,
        yerr=bars,
        fmt="none",
        ecolor=colours.ink,
        elinewidth=2,
        capsize=6,
        capthick=2,
        label="95% interval",
    )
    axes.plot(places, truth, "o", color=colours.truth, markersize=7, label="truth")
    axes.set_xticks(places, [str(WIDTH * place) for place in places])
    axes.grid(False, axis="x")
    axes.grid(True, axis="y", color=colours.grid)
    axes.legend(frameon=False, fontsize=13, labelcolor=colours.ink)
    label(axes, "age, from ... on", "visits")
    title(axes, "Right for the crowd, vague for you", f"10,000 visits by age, released at epsilon {epsilon:g}")
    _paint(figure, axes, colours)
    save_figure(figure, path)


def _paint(figure: Any, axes: Any, colours: Colours) -> None:
    """Page, ink and sizes: what is small on a desk cannot be read on a phone."""
    figure.set_facecolor(colours.page)
    axes.set_facecolor(colours.page)
    axes.tick_params(colors=colours.ink, labelsize=13)
    for text, size in (
        (axes.xaxis.label, 14),
        (axes.yaxis.label, 14),
        (axes._left_title, 16),
        *((t, 13) for t in axes.texts),
    ):
        text.set_color(colours.ink)
        text.set_fontsize(size)


def main(arguments: list[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--picture", type=Path)
    options.add_argument("--dark", action="store_true")
    wanted, _ = options.parse_known_args(arguments)
    if wanted.picture is not None:
        picture(wanted.picture, DARK if wanted.dark else LIGHT)
        return
    for decade, one, low, high, true in zip(range(0, 110, WIDTH), *ages(0.1), strict=True):
        print(f"{decade:>3}-{decade + WIDTH - 1:<3} released {one:>6,} [{low:,.0f}, {high:,.0f}]   truth {true:>6,}")


if __name__ == "__main__":
    main()
