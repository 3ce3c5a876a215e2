"""A gallery of catches: the referee on mechanisms of other libraries, as they are installed here.

Each exhibit is one mechanism: how it is called, the price it claims (a privet loss with its relation), and neighbouring
inputs. A peer that is not installed is listed as such; with no peer at all, numpy's Laplace noise is audited alone.
"violated" is a statement about the claim *as we read it*; where the law of the output is finite, the exhibit carries the
two exact distributions as well, and `exact_pair` repeats the verdict without sampling. What it all means is told in
`docs/explanation/gallery.md`.

    python benchmarks/gallery.py [--only diffprivlib] [--runs 20000]
"""

import argparse
import json
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
from exhibits import PEERS, Exhibit  # noqa: E402

from privet import audit, privacy  # noqa: E402

ALPHA = 1e-6  # of each audit; under a hundred of them, a false accusation anywhere has probability below 1e-4
RUNS = 20_000  # a world
GRID = 1024.0  # where low bits gave a mechanism away, a second audit sees its outputs as multiples of 1/1024
LOW = frozenset({"lowest bit", "exponent"})


@dataclass
class Shown:
    """What the referee said about an exhibit, as a line of the table and of the JSON file."""

    peer: str
    version: str
    mechanism: str
    call: str
    claim: str
    verdict: str
    lower: float | None = None
    event: str = ""
    kind: str = ""
    on_grid: str = ""
    exact: str = ""
    note: str = ""
    certificate: dict[str, Any] = field(default_factory=dict)


class OnGrid:
    """The same mechanism seen through a coarse grid: what is left when the low bits are gone."""

    def __init__(self, run: Any) -> None:
        self.run = run
        if hasattr(run, "simulate"):
            self.simulate = lambda value, runs: self.rounded(run.simulate(value, runs))

    def __call__(self, value: Any) -> Any:
        return self.rounded(self.run(value))

    @staticmethod
    def rounded(output: Any) -> Any:
        return np.round(np.asarray(output, dtype=float) * GRID) / GRID


def show(exhibit: Exhibit, peer: str, installed: str, runs: int) -> Shown:
    """Audit one exhibit; once more on a grid when its low bits betrayed it; exactly where its law is known."""
    runs = max(int(runs * exhibit.share), 400)
    how: dict[str, Any] = {"claim": exhibit.claim, "neighbours": exhibit.pairs, "runs": runs, "alpha": ALPHA}
    how["delta"] = getattr(exhibit.claim, "delta", None)  # the bound on epsilon is at the claim's own delta
    found = audit.mechanism(exhibit.run, **how)
    shown = Shown(peer, installed, exhibit.name, exhibit.call, describe(exhibit.claim), found.verdict)
    shown.lower, shown.event, shown.note = found.lower.lower, str(found.witness), exhibit.note
    shown.kind = found.witness.event.kind if found.verdict == "violated" else ""
    shown.certificate = json.loads(audit.certify(found).to_json())
    if shown.kind in LOW:
        shown.on_grid = audit.mechanism(OnGrid(exhibit.run), **how).verdict
    if exhibit.laws is not None:
        left, right = exhibit.laws()
        check = audit.exact_pair(left, right, claim=exhibit.claim)
        shown.exact = f"{check.verdict}: epsilon {check.epsilon:.4g}"
    return shown


def describe(claim: privacy.PrivacyLoss) -> str:
    """A claim in few words."""
    numbers = ", ".join(f"{value:.4g}" for value in vars(claim).values() if isinstance(value, float))
    return f"{claim.kind} {numbers}, {claim.unit.relation.replace('_', '/')}"


def visit(name: str, runs: int) -> Iterator[Shown]:
    """All exhibits of a peer, or one line that says why there are none."""
    try:
        installed = version(name)
        yield from (show(exhibit, name, installed, runs) for exhibit in PEERS[name]())
    except PackageNotFoundError:
        yield Shown(name, "", "", "", "", "not installed")
    except ImportError as problem:
        yield Shown(name, installed, "", "", "", "cannot be imported", note=str(problem))


def table(lines: list[Shown]) -> None:
    from rich.console import Console
    from rich.table import Table

    grid = Table(title=f"The referee on other libraries (level {ALPHA:g} each; 'violated' is about the claim as read)")
    for heading in ("peer", "mechanism", "claim", "verdict", "epsilon >=", "event", "on a grid", "exactly"):
        grid.add_column(heading, overflow="fold")
    for line in lines:
        colour = "red" if line.verdict == "violated" else "dim" if not line.mechanism else "green"
        lower = "" if line.lower is None else f"{line.lower:.3f}"
        verdict = f"[{colour}]{line.verdict}[/]"
        event = line.event if line.verdict == "violated" else ""
        peer = f"{line.peer} {line.version}"
        grid.add_row(peer, line.mechanism, line.claim, verdict, lower, event, line.on_grid, line.exact)
    Console(width=200).print(grid)


def main(arguments: list[str] | None = None, results: Path = Path(__file__).parent / "results") -> list[Shown]:
    parser = argparse.ArgumentParser(description="Audit mechanisms of other libraries.")
    parser.add_argument("--only", choices=list(PEERS), action="append", help="this peer (may be repeated)")
    parser.add_argument("--runs", type=int, default=RUNS, help="releases a world")
    options = parser.parse_args(arguments)
    lines = [line for name in options.only or PEERS for line in visit(name, options.runs)]
    table(lines)
    results.mkdir(exist_ok=True)
    (results / "gallery.json").write_text(json.dumps([vars(line) for line in lines], indent=1) + "\n")
    return lines


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # peers warn about deprecations of their own
    main(sys.argv[1:])
