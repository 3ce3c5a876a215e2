"""Audit statistics: false alarms on true claims, and what is reached of the truth.

Null calibration holds every statistic against claims that are exactly true, at the edge of what they allow; the figure
is the share of runs that reject at level 5%, and must not exceed 5% by more than chance. Power is the mean of many runs
with its standard error, beside the target. jax-privacy runs beside it when it is installed.

    python benchmarks/audit.py            power, then null calibration; each figure as it is known
    python benchmarks/audit.py --zoo      every entry of the zoo at 100,000 runs, with its CPU time
    python benchmarks/audit.py --sound    false alarms of whole audits where outputs are ragged, texts or tables
    python benchmarks/audit.py --rivals [part of a name]   smallest runs beside StatDP and DP-Sniper, written anew
"""

import itertools
import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
from scipy import special  # noqa: E402

from privet import audit, privacy  # noqa: E402
from privet.audit.statistics import curve_refutes, gaussian_mu, one_run_mu, point_epsilon  # noqa: E402
from privet.testing.zoo import Entry, ScoreCard, run_entry, zoo  # noqa: E402
from privet.testing.zoo.card import mechanism_of  # noqa: E402
from privet.testing.zoo.carried import CARRIED  # noqa: E402
from privet.testing.zoo.ragged import RAGGED  # noqa: E402
from privet.testing.zoo.tables import TABLES  # noqa: E402
from privet.testing.zoo.texts import TEXTS  # noqa: E402

try:
    from jax_privacy import auditing as peer
except ImportError:
    peer = None

ALPHA, DELTA, SEED = 0.05, 1e-5, 2026
SIZES = (50, 200, 1_000, 10_000)
MU = {0.5: 0.142211, 1.0: 0.268051, 2.0: 0.501552, 4.0: 0.924931, 8.0: 1.666031}


@dataclass
class Row:
    """One figure: what was measured, the figure, its standard error, the target, and whether it is met."""

    task: str
    figure: float
    error: float
    target: str
    met: bool
    peer: float | None = None
    ms: float | None = None


def timed(function: Callable[[], object], repeats: int = 5) -> float:
    """Best CPU time in milliseconds."""
    best = math.inf
    for _ in range(repeats):
        start = time.process_time()
        function()
        best = min(best, time.process_time() - start)
    return 1e3 * best


def told(row: Row) -> Row:
    """The row itself, printed at once: a run that is stopped has shown what it did."""
    asides = {"jax-privacy": row.peer, "CPU ms": row.ms}
    extra = "".join(f"  {name} {value:.3g}" for name, value in asides.items() if value is not None)
    met = "yes" if row.met else "NO"
    print(f"{row.task:78}{row.figure:9.4f} +- {row.error:.4f}  {row.target:8} {met:4}{extra}", flush=True)
    return row


def share(name: str, rejected: np.ndarray) -> Row:
    """A null row: alpha, and three standard errors of it for chance."""
    error = math.sqrt(ALPHA * (1.0 - ALPHA) / len(rejected))
    rate = float(np.mean(rejected))
    return told(Row(name, rate, error, f"<= {ALPHA:g}", rate <= ALPHA + 3.0 * error))


def mean(name: str, values: np.ndarray, target: float, ms: float | None = None, beside: float | None = None) -> Row:
    figure = float(np.mean(values))
    error = float(np.std(values) / math.sqrt(len(values)))
    return told(Row(name, figure, error, f">= {target:g}", figure >= target, beside, ms))


# --- null calibration ---------------------------------------------------------------------------------------------


def two_world_nulls(rng: np.random.Generator) -> list[Row]:
    rows = []
    runs = 4_000
    half = 0.5 * math.exp(-0.5)  # Laplace with scale 1, threshold halfway: epsilon 1 at its edge
    sampled = privacy.PoissonSampled(privacy.GaussianLoss(0.5), q=0.2)
    for n in SIZES:
        truth = math.e / (1.0 + math.e)
        tp, fp = rng.binomial(n, truth, runs), rng.binomial(n, 1.0 - truth, runs)
        for two_sided in (False, True):
            lower = point_epsilon(tp, fp, n, n, delta=0.0, alpha=ALPHA, two_sided=two_sided)
            rows.append(share(f"Clopper-Pearson{', two-sided' if two_sided else ''}, n={n}", lower > 1.0))
        tp, fp = rng.binomial(n, 1.0 - half, runs), rng.binomial(n, half, runs)
        rows.append(share(f"curve, Laplace, n={n}", curve_refutes(privacy.LaplaceLoss(1.0), tp, fp, n, n, alpha=ALPHA)))
        with_ = 0.8 * special.ndtr(-1.4) + 0.2 * special.ndtr(2.0 - 1.4)
        tp, fp = rng.binomial(n, with_, runs), rng.binomial(n, special.ndtr(-1.4), runs)
        rows.append(share(f"curve, sampled Gaussian, n={n}", curve_refutes(sampled, tp, fp, n, n, alpha=ALPHA)))
        rows.append(share(f"curve, the other way round, n={n}", curve_refutes(sampled, fp, tp, n, n, alpha=ALPHA)))
        for mu in (0.0, 1.0):
            tp, fp = rng.binomial(n, special.ndtr(mu / 2), runs), rng.binomial(n, special.ndtr(-mu / 2), runs)
            rows.append(share(f"Gaussian, mu={mu:g}, n={n}", gaussian_mu(tp, fp, n, n, alpha=ALPHA) > mu))
    return rows


def betting_nulls(rng: np.random.Generator) -> list[Row]:
    rows = []
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        truth = math.exp(epsilon) / (1.0 + math.exp(epsilon))
        rejected = np.zeros(1_000, dtype=bool)
        for run in range(1_000):
            test = audit.BettingTest(epsilon=epsilon, alpha=ALPHA)
            rejected[run] = test.feed(rng.random(10_000) < truth, rng.random(10_000) < 1.0 - truth) == "violated"
        rows.append(share(f"betting, epsilon={epsilon:g}, 10,000 pairs", rejected))
    return rows


def canaries(rng: np.random.Generator, m: int, k: int, mu: float) -> tuple[np.ndarray, np.ndarray, audit.Guesses]:
    """Scores, coins and guesses of one run in which every canary shifts its own normal score by mu."""
    included = rng.random(m) < 0.5
    scores = rng.normal(size=m) + mu * included
    return scores, included, audit.guess(scores, included, top=k, bottom=k)


def one_run_nulls(rng: np.random.Generator) -> list[Row]:
    rows = []
    for m in SIZES:
        truth = math.e / (1.0 + math.e)
        correct, times = np.unique(rng.binomial(m, truth, 4_000), return_counts=True)
        guesses = [audit.Guesses(correct=int(v), made=m, canaries=m) for v in correct]
        p = np.array([audit.one_run_p_value(g, epsilon=1.0, delta=0.0) for g in guesses])
        rows.append(share(f"one run, m={m}", np.repeat(p <= ALPHA, times)))
        mu = MU[1.0]
        seen = [canaries(rng, m, m // 10, mu)[2] for _ in range(1_000)]
        known = {g.correct: one_run_mu(g, alpha=ALPHA) > mu for g in seen}
        rows.append(share(f"one run f-DP, m={m}", np.array([known[g.correct] for g in seen])))
    return rows


def split_nulls(rng: np.random.Generator) -> list[Row]:
    rows = []
    for n in SIZES:
        found = []
        for _ in range(1_000):
            sample = audit.Sample(rng.normal(size=n), rng.normal(size=n))
            thresholds = None if n <= 1_000 else [audit.AtLeast(cut) for cut in (-1.0, 0.0, 1.0)]
            found.append(audit.Split(events=thresholds).run(sample, audit.Point(delta=0.0)).result.lower > 0.0)
        rows.append(share(f"split, Clopper-Pearson, n={n}", np.array(found)))
    return rows


# --- power --------------------------------------------------------------------------------------------------------


def gaussian_power(rng: np.random.Generator) -> list[Row]:
    rows, n = [], 10**5
    for epsilon, mu in MU.items():
        seen = [
            audit.Counts(tp=int(tp), fp=int(fp), n=n)
            for tp, fp in zip(
                rng.binomial(n, special.ndtr(mu / 2), 200), rng.binomial(n, special.ndtr(-mu / 2), 200), strict=True
            )
        ]
        reached = np.array([audit.gaussian_lower(counts, delta=DELTA).lower / epsilon for counts in seen])
        rows.append(mean(f"Gaussian method, epsilon={epsilon:g}, n=1e5", reached, 0.85 if epsilon == 0.5 else 0.9))
    return rows


def curve_power(rng: np.random.Generator) -> list[Row]:
    rows, mu = [], MU[1.0]
    claim = privacy.GaussianLoss(1.0 / mu)
    for n, short in ((10**5, 0.9), (10**6, 0.95)):
        tp = rng.binomial(n, special.ndtr(mu / short - mu / 2), 2_000)
        fp = rng.binomial(n, special.ndtr(-mu / 2), 2_000)
        refuted = curve_refutes(claim, tp, fp, n, n, alpha=ALPHA)
        rows.append(mean(f"curve refutes sigma {1 - short:.0%} too small, epsilon=1, n={n:.0e}", refuted, 0.95))
    return rows


def split_power(rng: np.random.Generator) -> list[Row]:
    """Shares of the best threshold's bound on the tested half."""
    rows, half = [], 50_000
    cuts = np.linspace(-5.0, 7.0, 3_001)
    for epsilon, mu in MU.items():
        tp, fp = (half * special.ndtr(shift - cuts) for shift in (mu, 0.0))
        oracle = float(point_epsilon(tp, fp, half, half, delta=DELTA, alpha=ALPHA).max())
        reached = []
        for _ in range(40):
            sample = audit.Sample(rng.normal(size=2 * half) + mu, rng.normal(size=2 * half))
            reached.append(audit.Split().run(sample, audit.Point(delta=DELTA)).result.lower / oracle)
        name = f"split, share of its oracle ({oracle / epsilon:.2f} of epsilon={epsilon:g}), n=1e5"
        rows.append(mean(name, np.array(reached), 0.9))
    return rows


# Per epsilon: for the point and for the whole curve, how many canaries to guess at each end (fixed in advance: few and
# sure ones for a point, more for a curve) and the target.
ONE_RUN = {1.0: ((120, 0.38), (300, 0.55)), 4.0: ((200, 0.44), (200, 0.60)), 8.0: ((200, 0.42), (200, 0.60))}


def one_run_power(rng: np.random.Generator) -> list[Row]:
    rows = []
    for epsilon, plans in ONE_RUN.items():
        for name, bound, (k, target) in zip(
            ("one run", "f-DP"), (audit.one_run_lower, audit.one_run_fdp_lower), plans, strict=True
        ):
            seen = [canaries(rng, 4_000, k, MU[epsilon]) for _ in range(600)]
            known = {g.correct: bound(g, delta=DELTA).lower / epsilon for _, _, g in seen}
            ms = timed(lambda bound=bound, g=seen[0][2]: bound(g, delta=DELTA))
            reached = np.array([known[g.correct] for *_, g in seen])
            beside = peer_one_run(name, seen[:4], epsilon)
            rows.append(mean(f"{name}, m=4,000, {k} at each end, epsilon={epsilon:g}", reached, target, ms, beside))
    return rows


def peer_one_run(name: str, seen: list[tuple[np.ndarray, np.ndarray, audit.Guesses]], epsilon: float) -> float | None:
    """jax-privacy on the same runs, splitting them for its threshold; None when it is not installed."""
    if peer is None:
        return None
    found = []
    for scores, included, _ in seen:
        auditor = peer.CanaryScoreAuditor(scores[included], scores[~included])
        method = auditor.epsilon_one_run if name == "one run" else auditor.epsilon_one_run_fdp
        found.append(float(method(ALPHA, DELTA, threshold_strategy=peer.Split(seed=SEED))) / epsilon)
    return float(np.mean(found))


TWIN_AUDITS = 1_000


def alarms(twins: Sequence[Entry], sizes: tuple[int, ...], audits: int) -> dict[str, list[bool]]:
    """By name, whether each audit of a sound twin accused it: round after round, until there were so many audits."""
    found: dict[str, list[bool]] = {entry.name: [] for entry in twins}
    for runs in itertools.islice(itertools.cycle(sizes), -(-audits // len(twins))):
        for entry in twins:
            verdict = audit.mechanism(
                mechanism_of(entry, entry.sound),
                claim=entry.claim,
                neighbours=[(entry.left, entry.right)] if entry.neighbours is None else entry.neighbours,
                runs=runs,
                alpha=ALPHA,
            ).verdict
            found[entry.name].append(verdict == "violated")
    return found


def twin_nulls(_: np.random.Generator) -> list[Row]:
    """The whole audit, search included, on the sound twins of the zoo; runs per world from 100 to 400."""
    twins = [entry for entry in zoo() if entry.by == "black box"]
    rejected = np.concatenate(list(alarms(twins, (100, 200, 100, 400), TWIN_AUDITS).values()))
    return [share(f"audit.mechanism on {len(twins)} sound twins, {len(rejected):,} audits", rejected)]


def show_sound() -> list[Row]:
    """The same where outputs have no fixed shape, with up to 2,000 runs: what is learned and looked at needs some."""
    rows, every = [], []
    for name, twins in (("ragged", RAGGED), ("texts", TEXTS), ("tables", (*TABLES, *CARRIED))):
        found = alarms(twins, (100, 400, 2_000, 200), -(-TWIN_AUDITS // 3))
        rejected = np.concatenate(list(found.values()))
        every.append(rejected)
        rows.append(share(f"audit.mechanism, {name}: {len(twins)} sound twins, {len(rejected):,} audits", rejected))
        most = max(found, key=lambda each: sum(found[each]))
        print(f"    most alarms: {sum(found[most])} of {len(found[most])}, {most}", flush=True)
    whole = np.concatenate(every)
    return [*rows, share(f"audit.mechanism without fixed shapes, {len(whole):,} audits", whole)]


def zoo_rows(card: ScoreCard) -> list[Row]:
    """The score card: every bug caught, at least 95% by its own feature, no twin accused, and the CPU time."""
    entries = len(card.verdicts)
    rows = [("caught", card.caught), ("caught by their own feature alone", card.own)]
    return [
        *(Row(f"zoo: bugs {name}", n / entries, 0.0, ">= 0.95", n >= 0.95 * entries) for name, n in rows),
        Row("zoo: sound twins accused", card.accused / entries, 0.0, "0", card.accused == 0),
        Row("zoo: CPU seconds", card.seconds, 0.0, "told", True),
    ]


def show_zoo() -> tuple[list[Row], dict[str, object]]:
    """Every entry as it is done, at the default number of runs."""
    alpha, entries = 1e-3, zoo()
    verdicts = []
    for entry in entries:
        each = run_entry(entry, runs=100_000, alpha=alpha / len(entries))
        verdicts.append(each)
        words = f"{'caught' if each.caught else 'MISSED'}{'' if each.own else ', not by its own feature'}"
        words += ", twin ACCUSED" if each.accused else ""
        print(f"{entry.number:4} {entry.name:60} {words:40}{each.seconds:7.1f} s", flush=True)
    card = ScoreCard(tuple(verdicts), 100_000, alpha)
    print(card, flush=True)
    return [told(row) for row in zoo_rows(card)], card.to_dict()


def show_rivals() -> None:
    """Smallest runs of each input at which four of five audits refute, all runs counted, beside two published searches."""
    from rivals import OF, smallest_runs

    only = " ".join(word for word in sys.argv[1:] if not word.startswith("--"))
    print(f"Smallest runs of each input at which {4 * OF // 5} of {OF} audits refute at level 5%", flush=True)
    print(
        f"{'broken mechanism':46}{'privet':>10}{'StatDP':>10}{'DP-Sniper':>10}{'never more':>12}{'CPU s':>8}",
        flush=True,
    )
    rows = []
    for row in smallest_runs(only=only):
        told = [
            "> " + str(row["asked up to"]) if row[n] is None else str(row[n]) for n in ("privet", "StatDP", "DP-Sniper")
        ]
        never = "yes" if row["never more"] else "NO"
        print(
            f"{row['subject']:46}" + "".join(f"{n:>10}" for n in told) + f"{never:>12}{row['seconds']:>8}", flush=True
        )
        rows.append(row)
        save("audit_rivals.json", rows)


def save(name: str, results: object) -> None:
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(results, indent=1) + "\n")


def main() -> None:
    if "--rivals" in sys.argv[1:]:
        show_rivals()
        return
    if "--sound" in sys.argv[1:]:
        save("audit_sound.json", [asdict(row) for row in show_sound()])
        print(f"{time.process_time():.0f} s of CPU time")
        return
    if "--zoo" in sys.argv[1:]:
        rows, card = show_zoo()
        save("audit_zoo.json", {"The zoo": [asdict(row) for row in rows], "score card": card})
        return
    rng = np.random.default_rng(SEED)
    power = (gaussian_power, curve_power, split_power, one_run_power)
    nulls = (two_world_nulls, betting_nulls, one_run_nulls, split_nulls, twin_nulls)
    results: dict[str, object] = {}
    for title, groups in (
        ("Power: share of the true epsilon, or of tests that refute", power),
        (f"False alarms on true claims at level {ALPHA:g}", nulls),
    ):
        print(f"\n{title}", flush=True)
        rows = [row for group in groups for row in group(rng)]
        results[title] = [asdict(row) for row in rows]
        missed = [row.task for row in rows if not row.met]
        print("every target met" if not missed else f"missed: {'; '.join(missed)}", flush=True)
        save("audit.json", results)
    print(f"{time.process_time():.0f} s of CPU time")


if __name__ == "__main__":
    main()
