"""Accounting beside dp-accounting: tightness and time, in one process, one thread, one run.

Every row is asked of both libraries with cold caches; the figure is the best of a few repetitions in CPU time. "gap" is
the relative distance of an upper bound to the truth. Where the peer's default grid is loose, it gets the coarsest grid on
which it is as tight as asked. `--beside SRC` asks the old rows also of the `src` folder of another checkout, in turn with
this one (see accounting_beside.py).
"""

import itertools
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import dp_accounting  # noqa: E402
from accounting_beside import CASES, MULTIPLIERS, TINY_CASE, compare, odometer, sampled, without_replacement  # noqa: E402
from beside import Beside  # noqa: E402
from dp_accounting.pld import PLDAccountant, common, privacy_loss_distribution  # noqa: E402
from dp_accounting.rdp import RdpAccountant  # noqa: E402

from privet import accounting, privacy  # noqa: E402

# Points from two engines that share no code with privet (see tests/oracles); good to about the last digit shown.
TRUTH = {"A": 0.946868, "B": 1.8282367, "C": 2.91447, "D": 2.38160, "E": 0.800657, "F": 3.3076007}
TINY = 0.05910  # the same for q=1e-5, T=1e6
RATES, NOISE = (1e-5, 3e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 3e-3), (0.6, 0.8, 1.0, 1.3, 2.0)
EPOCHS, DELTAS = (0.3, 1.0, 3.0, 10.0), (1e-6, 1e-8, 1e-10)
HARD = (
    ([(1e-6, 0.6, 100_000)], 1e-9),
    ([(1e-6, 0.4, 10)], 1e-6),
    ([(1e-5, 0.8, 99_999)], 1e-10),
    ([(1e-5, 1.0, 300_000)], 1e-10),
    ([(2.03e-6, 0.511, 4780)], 7e-32),
    ([(7.7e-6, 0.565, 27)], 1.1e-3),
    ([(6.2e-6, 0.539, 13_504)], 5e-4),
    ([(3.3e-4, 2.99, 139)], 3e-44),
    ([(0.0568, 5.5, 1996), (5e-5, 16.7, 14_000_000), (0.0063, 17.7, 2197)], 6e-11),
)
STEPS = (1e-3, 5e-4, 2.5e-4, 1e-4, 5e-5, 2.5e-5, 1e-5, 5e-6, 2.5e-6, 1e-6)  # grids offered to the peer, coarse to fine
PATIENCE_MS = 60_000.0  # finer grids are not tried once one has cost the peer this much


@dataclass
class Row:
    """One line of the table: what was asked, both answers, both times in milliseconds."""

    task: str
    ours: str
    peer: str
    ours_ms: float
    peer_ms: float | None
    target_ms: float | None = None
    other: Beside | None = None  # the same question to another checkout, in turn with this one

    @property
    def ratio(self) -> float | None:
        return None if self.peer_ms is None else self.peer_ms / self.ours_ms


def timed(function: Callable[[], object], repeats: int) -> tuple[object, float]:
    """Best CPU time in milliseconds over cold runs, and the last result."""
    best = float("inf")
    result: object = None
    for _ in range(repeats):
        accounting.clear_caches()
        start = time.process_time()
        result = function()
        best = min(best, time.process_time() - start)
    return result, 1e3 * best


def event(q: float, z: float, steps: int) -> dp_accounting.DpEvent:
    return dp_accounting.SelfComposedDpEvent(
        dp_accounting.PoissonSampledDpEvent(q, dp_accounting.GaussianDpEvent(z)), steps
    )


def peer_rdp(q: float, z: float, steps: int, delta: float) -> float:
    return float(RdpAccountant().compose(event(q, z, steps)).get_epsilon(delta))


def peer_pld(q: float, z: float, steps: int, delta: float, grid: float) -> float:
    single = privacy_loss_distribution.from_gaussian_mechanism(
        z, sampling_prob=q, value_discretization_interval=grid, use_connect_dots=True
    )
    return float(single.self_compose(steps).get_epsilon_for_delta(delta))


def peer_as_tight(
    case: tuple[float, float, int, float], truth: float, gap: float, repeats: int, coarsest: float = STEPS[0]
) -> tuple[float, float, float]:
    """The peer on the coarsest grid with which it is within `gap` of the truth: its answer, that grid, its time.

    Its last attempt, where it does not get there within a minute.
    """
    for grid in (step for step in STEPS if step <= coarsest):
        answer, ms = timed(lambda g=grid: peer_pld(*case, g), repeats)
        if answer / truth - 1.0 <= gap or ms > PATIENCE_MS:
            break
    return float(answer), grid, ms


def ours_as_tight(
    loss: privacy.PrivacyLoss, delta: float, peer: float, tolerances: tuple[float, ...], *, two_sided: bool
):
    """Our answer with the coarsest tolerance that is not above the peer's (or the last one), and its time."""
    for tol in tolerances:
        accountant = accounting.Tightest(tol=tol, two_sided=two_sided)
        bound, ms = timed(lambda a=accountant: a.epsilon(loss, delta), 15)
        if bound.upper <= peer:
            break
    return bound, ms


def rdp_rows() -> list[Row]:
    rows = []
    for name, (q, z, steps, delta) in CASES.items():
        if q == 1.0:
            continue
        loss = sampled(q, z, steps)
        ours, ours_ms = timed(lambda loss=loss, d=delta: accounting.Rdp().epsilon(loss, d).upper, 15)
        peer, peer_ms = timed(lambda c=(q, z, steps, delta): peer_rdp(*c), 5)
        rows.append(Row(f"RDP epsilon {name}", f"{ours:.6f}", f"{peer:.6f}", ours_ms, peer_ms, 2.0))
    return rows


def upper_rows() -> list[Row]:
    """The peer gets the coarsest grid with a gap of at most 1e-3, we get the coarsest tolerance that is as tight."""
    rows = []
    for name, (q, z, steps, delta) in CASES.items():
        loss, truth = sampled(q, z, steps), TRUTH[name]
        peer, grid, peer_ms = peer_as_tight((q, z, steps, delta), truth, 1e-3, 3)
        bound, ours_ms = ours_as_tight(loss, delta, peer, (1e-3, 5e-4, 2e-4, 1e-4), two_sided=False)
        ours = bound.upper
        ours_text, peer_text = f"gap {ours / truth - 1:.1e}", f"gap {peer / truth - 1:.1e} (grid {grid:g})"
        rows.append(Row(f"PLD upper {name}", ours_text, peer_text, ours_ms, peer_ms, 10.0))
    return rows


def interval_rows() -> list[Row]:
    """Two-sided certified interval; no peer has one, so the peer's one-sided default grid stands beside it.

    The tolerance is the coarsest one, from the default on, whose upper end is not above the peer's.
    """
    rows = []
    for name, (q, z, steps, delta) in CASES.items():
        loss, truth = sampled(q, z, steps), TRUTH[name]
        peer, peer_ms = timed(lambda c=(q, z, steps, delta, 1e-4): peer_pld(*c), 3)
        bound, ours_ms = ours_as_tight(loss, delta, peer, (1e-4, 5e-5, 2e-5, 1e-5), two_sided=True)
        text = f"[{bound.lower:.6f}, {bound.upper:.6f}] {'ok' if bound.lower <= truth * 1.00001 else 'WRONG'}"
        rows.append(Row(f"two-sided {name}", text, f"<= {peer:.6f}", ours_ms, peer_ms, 100.0))
    return rows


def extreme_rows() -> list[Row]:
    rows = []
    for delta, target in ((1e-12, 100.0), (1e-20, 100.0), (1e-50, 300.0)):
        loss = sampled(0.01, 1.0, 1000)
        bound, ours_ms = timed(lambda loss=loss, d=delta: accounting.epsilon(loss, delta=d), 7)
        peer, peer_ms = timed(lambda d=delta: peer_pld(0.01, 1.0, 1000, d, 1e-4), 2)
        rows.append(Row(f"B at delta {delta:g}", _interval(bound), f"{peer:.4f}", ours_ms, peer_ms, target))
    for name, (q, z, steps, delta), target in (
        ("z=0.3", (0.01, 0.3, 1000, 1e-5), 300.0),
        ("T=1e7", (0.001, 0.8, 10_000_000, 1e-6), 500.0),
    ):
        loss = sampled(q, z, steps)
        bound, ours_ms = timed(lambda loss=loss, d=delta: accounting.epsilon(loss, delta=d), 3)
        peer, peer_ms = timed(lambda c=(q, z, steps, delta, 1e-4): peer_pld(*c), 1)
        rows.append(Row(name, _interval(bound), f"{peer:.5f}", ours_ms, peer_ms, target))
    rows.append(tiny_row())
    loss = without_replacement()
    bound, ours_ms = timed(lambda: accounting.epsilon(loss, delta=1e-5), 5)
    without = dp_accounting.SampledWithoutReplacementDpEvent(60_000, 256, dp_accounting.GaussianDpEvent(1.1))
    relation = dp_accounting.NeighboringRelation.REPLACE_ONE
    peer, peer_ms = timed(
        lambda: RdpAccountant(neighboring_relation=relation).compose(without, 14_062).get_epsilon(1e-5), 2
    )
    rows.append(Row("WOR 256 of 60,000", _interval(bound), f"{peer:.4f} (RDP)", ours_ms, peer_ms, 150.0))
    return rows


def tiny_row() -> Row:
    """A tiny sampling rate: on its default grid the peer is quick and 2.2 times too high, so it is also asked for 1%."""
    case = TINY_CASE
    loss, accountant = sampled(*case[:3]), accounting.Tightest(tol=1e-3)
    bound, ours_ms = timed(lambda: accountant.epsilon(loss, case[3]), 3)
    default, default_ms = timed(lambda: peer_pld(*case, 1e-4), 1)
    peer, grid, peer_ms = peer_as_tight(case, TINY, 1e-2, 1, coarsest=5e-5)
    reached = "" if peer / TINY - 1.0 <= 1e-2 else ", not within 1%"
    text = f"{peer:.5f} (grid {grid:g}{reached}; {default:.5f} on 1e-4 in {default_ms:.0f} ms)"
    return Row("q=1e-5, T=1e6, within 1%", _interval(bound), text, ours_ms, peer_ms, 300.0)


def _interval(bound: accounting.Bound) -> str:
    return f"[{bound.lower:.6g}, {bound.upper:.6g}]"


def calibrate_rows() -> list[Row]:
    rows = []
    q, _, steps, delta = CASES["D"]
    for epsilon in (1.0, 3.0, 8.0):
        ours, ours_ms = timed(
            lambda e=epsilon: accounting.calibrate(lambda z: sampled(q, z, steps), epsilon=e, delta=delta), 3
        )
        landed = accounting.epsilon(sampled(q, ours, steps), delta=delta).upper / epsilon
        peer, peer_ms = timed(
            lambda e=epsilon: dp_accounting.calibrate_dp_mechanism(
                PLDAccountant, lambda z: event(q, z, steps), e, delta, tol=1e-4
            ),
            1,
        )
        text = f"{ours:.5f} (lands at {landed:.5f})"
        rows.append(Row(f"calibrate epsilon={epsilon:g}", text, f"{peer:.5f}", ours_ms, peer_ms, 300.0))
    return rows


def odometer_rows() -> list[Row]:
    """Fifteen distinct noise multipliers, 100 steps each; epsilon is asked after every one."""

    def peer() -> float:
        accountant = PLDAccountant()
        for z in MULTIPLIERS:
            accountant.compose(event(0.01, z, 100))
            total = accountant.get_epsilon(1e-5)
        return float(total)

    mine, ours_ms = timed(odometer, 3)
    theirs, peer_ms = timed(peer, 1)
    return [Row("odometer, 15 distinct z", f"{mine:.6f}", f"{theirs:.6f}", ours_ms, peer_ms, 500.0)]


def grid_row() -> Row:
    """420 settings of training with small sampling rates: how many are within 1%, the median and the worst time.

    The peer is asked for a tenth of them on its default grid; its time is scaled up, its gaps are to our upper ends.
    """
    grid = list(itertools.product(RATES, NOISE, EPOCHS, DELTAS))
    times, within, gaps, peer_ms = [], 0, [], 0.0
    for index, (q, z, epochs, delta) in enumerate(grid):
        steps = max(1, round(epochs / q))
        bound, ms = timed(lambda c=(q, z, steps), d=delta: accounting.epsilon(sampled(*c), delta=d), 1)
        times.append(ms)
        within += bound.slack <= 0.01 * bound.upper
        if index % 10 == 0:
            peer, one_ms = timed(lambda c=(q, z, steps, delta, 1e-4): peer_pld(*c), 1)
            peer_ms += 10.0 * one_ms
            gaps.append(peer / bound.upper - 1.0)
    text = f"{within} of {len(grid)} within 1%, median {statistics.median(times):.0f} ms, worst {max(times):.0f} ms"
    loose = sum(gap > 0.01 for gap in gaps)
    return Row("grid of 420, small q", text, f"{loose} of {len(gaps)} more than 1% above", sum(times), peer_ms, None)


def hard_rows() -> list[Row]:
    """Heavy tails: tiny rates with little noise, tiny deltas, unlike parts. Peak memory is that of the process so far."""
    rows = []
    for case, delta in HARD:
        loss = privacy.Composed([sampled(*part) for part in case])
        bound, ours_ms = timed(lambda loss=loss, d=delta: accounting.epsilon(loss, delta=d), 1)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
        width = bound.slack / bound.upper if bound.upper > 0.0 else 0.0
        peer_text, peer_ms = "delta out of its range", None
        if len(case) == 1 and delta > 1e-12:
            peer, peer_ms = timed(lambda c=(*case[0], delta, 1e-4): peer_pld(*c), 1)
            peer_text = f"{peer:.5g} (grid 1e-4)"
        text = f"{_interval(bound)} width {width:.2%}, {peak:.0f} MB"
        name = (
            f"hard {case[0][0]:g}, {case[0][1]:g}, {case[0][2]}, {delta:g}" if len(case) == 1 else "hard, three parts"
        )
        rows.append(Row(name, text, peer_text, ours_ms, peer_ms, 1000.0))
    return rows


def ledger_rows() -> list[Row]:
    """Many different prices in one ledger, each composed by the peer one after another on its default grid."""
    rows = []
    for name, parts, target in (
        ("100 distinct pure", [("pure", 0.01 + 0.0001 * i, 1) for i in range(100)], 100.0),
        ("500 distinct pure", [("pure", 0.01 + 0.0001 * i, 1) for i in range(500)], 1000.0),
        ("100 discrete Laplace", [("discrete", 20.0 + 0.37 * i, 1) for i in range(100)], 100.0),
        ("500 discrete Laplace", [("discrete", 20.0 + 0.37 * i, 1) for i in range(500)], 1000.0),
        ("40 Laplace scales x5", [("laplace", 10.0 + 0.7 * i, 5) for i in range(40)], None),
        ("100 noise levels x10", [("noise", 1.0 + 0.01 * i, 10) for i in range(100)], None),
    ):
        loss = privacy.Composed([privacy.Repeated(_price(kind, value), times) for kind, value, times in parts])
        bound, ours_ms = timed(lambda loss=loss: accounting.epsilon(loss, delta=1e-6), 2)
        peer, peer_ms = timed(lambda parts=parts: _peer_ledger(parts, 1e-6), 1)
        rows.append(Row(name, _interval(bound), f"{peer:.5f}", ours_ms, peer_ms, target))
    return rows


def _price(kind: str, value: float) -> privacy.PrivacyLoss:
    if kind == "pure":
        return privacy.PureLoss(value)
    if kind == "discrete":
        return privacy.DiscreteLaplaceLoss(value)
    return privacy.LaplaceLoss(value) if kind == "laplace" else sampled(0.01, value, 1)


def _peer_ledger(parts: list[tuple[str, float, int]], delta: float) -> float:
    total = None
    for kind, value, times in parts:
        if kind == "pure":
            one = privacy_loss_distribution.from_privacy_parameters(common.DifferentialPrivacyParameters(value))
        elif kind == "discrete":
            one = privacy_loss_distribution.from_discrete_laplace_mechanism(1.0 / value)
        elif kind == "laplace":
            one = privacy_loss_distribution.from_laplace_mechanism(value)
        else:
            one = privacy_loss_distribution.from_gaussian_mechanism(value, sampling_prob=0.01)
        part = one.self_compose(times) if times > 1 else one
        total = part if total is None else total.compose(part)
    return float(total.get_epsilon_for_delta(delta))


# Rows below five times the peer's speed, and why.
REASONS = {
    "hard": "the peer answers on a fixed grid that is far coarser than the loss, and is loose by as much",
    "distinct pure": "two atoms a price: the peer rounds them up to its grid at once, we list sums exactly from both sides",
    "discrete Laplace": "as for pure prices; the peer has no lower end",
    "Laplace scales": "forty lattices that do not fit: the lower end needs a fine grid, the peer has none",
}


def reason(task: str) -> str:
    return next((why for name, why in REASONS.items() if name in task), "no reason known")


def show(rows: list[Row]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="privet beside dp-accounting (CPU milliseconds, cold caches, one thread)")
    headings = (
        "task",
        "privet",
        "dp-accounting",
        "privet ms",
        "peer ms",
        "ratio",
        "target ms",
        "in turn: privet ms, other ms",
    )
    for heading in headings:
        table.add_column(heading, justify="left" if heading in ("task", "privet", "dp-accounting") else "right")
    for row in rows:
        peer_ms = "" if row.peer_ms is None else f"{row.peer_ms:.1f}"
        ratio = "" if row.ratio is None else f"{row.ratio:.1f}x"
        target = "" if row.target_ms is None else f"{row.target_ms:g}"
        other = "" if row.other is None else f"{row.other.ours_ms:.1f}, {row.other.other_ms:.1f}"
        table.add_row(row.task, row.ours, row.peer, f"{row.ours_ms:.1f}", peer_ms, ratio, target, other)
    Console(width=200).print(table)


def main() -> None:
    groups = (rdp_rows, interval_rows, upper_rows, ledger_rows, hard_rows, calibrate_rows, odometer_rows, extreme_rows)
    timed(lambda: accounting.epsilon(sampled(0.01, 1.0, 10), delta=1e-5), 1)  # loads scipy
    rows: list[Row] = []
    for group in (*groups, lambda: [grid_row()]):
        for row in group():
            rows.append(row)
            peer = "" if row.peer_ms is None else f", peer {row.peer_ms:.1f} ms"
            print(f"{row.task}: {row.ours}, {row.ours_ms:.1f} ms{peer}", flush=True)
    if "--beside" in sys.argv:
        beside = {found.task: found for found in compare(sys.argv[sys.argv.index("--beside") + 1])}
        for row in rows:
            row.other = beside.get(row.task)
    show(rows)
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    lines = [{**asdict(row), "ratio": row.ratio} for row in rows]
    (results / "accounting.json").write_text(json.dumps(lines, indent=1) + "\n")
    slow = [row.task for row in rows if row.ratio is not None and row.ratio < 5.0]
    print("every row at least 5x faster than the peer" if not slow else "below 5x the peer:")
    for task in slow:
        print(f"  {task}: {reason(task)}")
    for row in rows:
        if row.other is not None and row.other.ours_ms > 1.1 * row.other.other_ms:
            print(
                f"  slower than the other checkout: {row.task}, {row.other.ours_ms:.1f} ms against {row.other.other_ms:.1f}"
            )
    sys.exit(0)


if __name__ == "__main__":
    main()
