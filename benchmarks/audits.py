"""Audits over rooms: a solver of each kind, each sampler, each aggregator and each synthesizer, and their broken twins.

    python benchmarks/audits.py [--quick] [--rooms ROOM ...] [--seconds 3] [--plain | --twins | --table]

Every registered mechanism of a room is audited on its own examples: one run with canaries where they have some (or few
runs with one), else many runs of the pair, or a replay of it where a run is too dear. Samplers of `deep` and PATE-GAN are
audited on the worst cases of `tests/audit` besides, fits of `learn` on the canaries of `tests/learn`. So are their twins
with too little noise, which must be refuted: else so many runs would say nothing about the others. Printed are the claim
and the bound at one delta, runs and seconds. Then planted bugs of `tests/mutants` are put into copies of the source, one at
a time, and a replay, the sum of the prices of all parts, or the same audits must refute the price. Figures as JSON in
results/, a room at a time: `--table` prints what is there as one table.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve()
ROOT, RESULTS = HERE.parents[1], HERE.parent / "results"
ROOMS = ("learn", "deep", "pate", "synth")
LEVEL = 1e-4  # of one audit
FEWEST, MOST = 80, 20_000  # runs of each world; where fewer can be afforded the pair is replayed

# A planted bug by its room and name, and the mechanisms whose audits should see it.
TWINS = {
    "learn": {
        "objective: half the noise": ("objective_fit",),
        "pure objective: half the noise": ("pure_objective_fit",),
        "output: one record moves where two do": ("output_fit",),
        "gradients: no clip": ("noisy_gd_fit", "noisy_sgd_fit"),
        "noisy steps: one of them is paid": ("noisy_gd_fit",),
        "exponential: one record moves where two do": ("grid_exponential_fit",),
        "Frank-Wolfe: one choice is paid": ("frank_wolfe_fit",),
        "clusters: one round is paid": ("noisy_lloyd",),
        "symmetric noise: half of it on the diagonal": ("symmetric_gaussian",),
    },
    "deep": {
        "step: half of the noise": ("step_noise",),
        "the noise is that of half the multiplier": ("deep_training",),
        "everybody takes part in a sampled step": ("deep_training",),
    },
    "pate": {
        "a query is priced as if one count moved": ("pate_gn_max",),
        "gamma for two gamma": ("pate_ln_max",),
        "Gumbel noise priced as for counts that only grow": ("pate_gumbel_max",),
        "unanimous labels are free": ("pate_gan",),
        "gradients without noise": ("g_pate",),
    },
    "synth": {
        "the exact number of rows": ("synth_independent",),
        "a replaced row costs what an added one does": ("synth_independent",),
        "the first tables are not charged": ("synth_aim",),
        "values are merged by exact counts": ("synth_mst",),
        "SmallDB: the score moves by half of what it does": ("synth_small_db",),
        "MWEM: an answer with the share of a whole round": ("synth_mwem",),
        "the number of synthetic rows is that of the data": ("synth_mwem_graph",),
    },
}


class Row(NamedTuple):
    """What one audit said."""

    name: str
    how: str
    runs: int
    delta: float
    claim: float
    bound: float
    verdict: str
    seconds: float

    def __str__(self) -> str:
        told = f"claim {self.claim:.3g}, at least {self.bound:.3g} (delta {self.delta:g})"
        return f"{self.name}: {self.verdict}; {told}; {self.how}, {self.runs:,} runs, {self.seconds:.1f} s"


def audited(example: Any, name: str, seconds: float) -> Row:
    """One example: through its canaries, or as many runs of its pair as the seconds allow."""
    from privet import accounting, audit

    loss, start = example.mechanism.loss, time.perf_counter()
    pure, promised = loss.pure(), 0.0 if example.target is None else example.target.delta
    delta = promised or (0.0 if pure < 1e3 else 1e-5)
    claim = pure if delta == 0.0 else float(accounting.epsilon(loss, delta=delta))
    if example.score is not None:
        many = len(example.canaries)
        found: Any = audit.training(
            lambda data: example.mechanism.release(data).value, example.canaries, example.score, claim=loss,
            data=example.left, otherwise=example.otherwise, runs=1 if many > 1 else 60, alpha=LEVEL, delta=delta,
        )  # fmt: skip
        how, runs = f"{many:,} canar{'ies' if many > 1 else 'y'}", found.trainings
    elif (runs := affordable(example, seconds)) < FEWEST:
        seen = audit.replay(example.mechanism.release, example.left, example.right)
        return Row(name, "replay", 2, delta, claim, 0.0, seen.verdict, time.perf_counter() - start)
    else:
        pair = audit.Pairs([(example.left, example.right)], checked=False)
        found = audit.mechanism(example.mechanism, neighbours=pair, runs=runs, alpha=LEVEL, delta=delta)
        how, runs = "a pair", found.calls
    spent = time.perf_counter() - start
    return Row(name, how, runs, delta, claim, found.lower.lower, found.verdict, spent)


def worst(room: str, names: list[str] | None = None) -> list[Any]:
    """The worst cases of a room, or of some of its mechanisms."""
    sys.path.insert(0, str(ROOT))
    from tests.audit import worst_cases

    own = {"deep": "deep_training", "pate": "pate_gan", "synth": "synth_independent"}.get(room)
    made = {name: make for name, make in worst_cases.cases().items() if name.partition(",")[0] == own}
    return [make() for name, make in made.items() if names is None or name.partition(",")[0] in names]


def fits(names: list[str] | None = None) -> dict[str, Any]:
    """The canaries of the fits of `learn`; that of Tukey's fit takes minutes."""
    sys.path.insert(0, str(ROOT))
    from tests.learn.test_canaries import canaries

    return {name: each for name, each in canaries().items() if name in (names or [*canaries()]) and name != "tukey_fit"}


def sung(name: str, canary: Any, *, broken: bool = False, runs: int = 1) -> Row:
    """One fit on its canary, or a twin with a part of the noise that its price says: so many times the runs it needs."""
    from privet import accounting
    from tests.learn.test_canaries import audited as of, louder

    start, quiet = (
        time.perf_counter(),
        louder(canary.plan, canary.times),
    )  # the claim: a small one, which few runs can refute
    found = (
        of(canary, canary.times, runs * canary.runs)
        if broken
        else of(canary._replace(plan=quiet), 1.0, runs * canary.runs)
    )
    loss = quiet.loss
    delta = 0.0 if loss.pure() < 1e3 else 1e-5
    claim = loss.pure() if delta == 0.0 else float(accounting.epsilon(loss, delta=delta))
    told = f"{name}, 1/{canary.times:g} of the noise" if broken else name
    return Row(
        told, "a canary", found.calls, delta, claim, found.lower.lower, found.verdict, time.perf_counter() - start
    )


def strained(case: Any, *, broken: bool = False) -> Row:
    """One worst case, or its twin."""
    from privet import accounting

    start, delta = time.perf_counter(), 1e-5
    found = case.audited(LEVEL, broken=broken)
    name = f"{case.name}, {case.flaw}" if broken else case.name
    claim, spent = float(accounting.epsilon(case.loss, delta=delta)), time.perf_counter() - start
    return Row(name, "a worst case", found.trainings, delta, claim, found.lower.lower, found.verdict, spent)


def affordable(example: Any, seconds: float) -> int:
    """How many runs of each world so many CPU seconds buy; a run of a cheap example is one of many at once."""
    many = 200 if example.cost == "cheap" else 2
    start = time.process_time()
    example.mechanism.simulate(example.left, many)
    return int(min(MOST, seconds * many / max(time.process_time() - start, 1e-6) / 2.0))


def chosen(kind: Any, *, every: bool) -> list[tuple[str, Any]]:
    """The examples of a mechanism that are audited: all of them, or the one whose audit says most."""
    examples = list(kind.examples())
    if not every:
        with_canaries = [each for each in examples if each.score is not None]
        most = max(with_canaries, key=lambda each: len(each.canaries), default=None)
        examples = [next((each for each in examples if each.cost == "cheap"), examples[0]) if most is None else most]
    found = []
    for place, each in enumerate(examples):
        plan = getattr(each.mechanism, "plan", None)
        sampling = getattr(plan, "sampling", None)
        told = f", {type(sampling).__name__}" if sampling is not None else f", {place}" if every else ""
        found.append((f"{kind.name}{told}", each))
    return found


def plain(rooms: list[str], seconds: float) -> list[Row]:
    """The table of mechanisms as they are."""
    from privet import mechanisms, testing

    testing.load_rooms()
    rows = []
    for room in rooms:
        for name, kind in mechanisms.registered_mechanisms().items():
            if not kind.__module__.startswith(f"privet.{room}."):
                continue
            for told, example in chosen(kind, every=name == "deep_training"):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    rows.append(audited(example, told, seconds))
                print(rows[-1], flush=True)
        hard = [lambda case=case: strained(case) for case in worst(room)]
        if room == "learn":
            hard += [lambda name=name, each=each: sung(name, each, runs=4) for name, each in fits().items()]
        for ask in hard:
            rows.append(ask())
            print(rows[-1], flush=True)
    return rows


def hunted(names: list[str], seconds: float) -> dict[str, Any]:
    """In a copy with a bug: the first replay, sum of parts and audit by runs that refute the price of these mechanisms."""
    from privet import audit, mechanisms, testing

    testing.load_rooms()
    kinds = [mechanisms.registered_mechanisms()[name] for name in names]
    examples = [each for kind in kinds for each in chosen(kind, every=True)]
    room = kinds[0].__module__.split(".")[1]
    canaries = fits(names) if room == "learn" else {}
    found: dict[str, Any] = {"verdict": "not refuted", "replay": None, "parts": None, "runs": None}
    pairs = [(told, each.mechanism, each.left, each.right) for told, each in examples]
    pairs += [(f"{name}, its canary", each.plan, each.left, each.right) for name, each in canaries.items()]
    for told, mechanism, left, right in pairs:
        seen = audit.replay(mechanism.release, left, right)
        if seen.verdict != "not refuted":
            found |= {"verdict": seen.verdict, "replay": told}
            break
    for told, example in examples:
        try:
            testing.check_parts_are_the_price(example)
        except AssertionError:
            found |= {"verdict": "violated", "parts": told}
            break
    asked = [lambda case=case: strained(case) for case in worst(room, names)]
    asked += [lambda name=name, each=each: sung(name, each) for name, each in canaries.items()]
    asked += [lambda told=told, example=example: audited(example, told, seconds) for told, example in examples]
    for ask in asked:
        row = ask()
        if row.verdict != "not refuted" and row.how != "replay":
            found |= {
                "verdict": row.verdict,
                "runs": f"{row.runs:,} of {row.name}",
                "claim": row.claim,
                "bound": row.bound,
            }
            break
    return found


def weakened(rooms: list[str]) -> list[dict[str, Any]]:
    """The twins of worst cases, which have too little noise."""
    rows = []
    hard = [lambda case=case: strained(case, broken=True) for room in rooms for case in worst(room)]
    if "learn" in rooms:
        hard += [lambda name=name, each=each: sung(name, each, broken=True, runs=2) for name, each in fits().items()]
    for ask in hard:
        row = ask()
        name, _, flaw = row.name.rpartition(", ")
        rows.append({"bug": flaw, "of": [name], "verdict": row.verdict, "replay": None,
                     "runs": f"{row.runs:,} runs", "claim": row.claim, "bound": row.bound,
                     "seconds": row.seconds})  # fmt: skip
        print(f"twin: {row}", flush=True)
    return rows


def twins(rooms: list[str], seconds: float, *, quick: bool, which: str = "") -> list[dict[str, Any]]:
    """Planted bugs, each in a process of its own that finds the copy first."""
    sys.path.insert(0, str(ROOT))
    from tests.mutants import MUTANTS
    from tests.mutants.mutant import SOURCE

    rows = []
    for room in rooms:
        for name, subjects in list(TWINS[room].items())[: 1 if quick else None]:
            if which not in name:
                continue
            (bug,) = (each for each in MUTANTS if each.name == name and each.place.startswith(f"{room}:"))
            start = time.perf_counter()
            with tempfile.TemporaryDirectory() as folder:
                shutil.copytree(SOURCE, Path(folder) / "privet", ignore=shutil.ignore_patterns("__pycache__"))
                (Path(folder) / "privet" / bug.file).write_text(bug.text(), encoding="utf-8")
                asked = [sys.executable, "-W", "ignore", str(HERE), "--hunt", *subjects, "--seconds", str(seconds)]
                done = subprocess.run(
                    asked, env={**os.environ, "PYTHONPATH": folder}, capture_output=True, text=True, check=False
                )
            told = [line for line in done.stdout.splitlines() if line.startswith("{")]
            found = json.loads(told[-1]) if told else {"verdict": "no answer", "err": done.stderr[-500:]}
            rows.append({"bug": name, "of": list(subjects), "seconds": time.perf_counter() - start, **found})
            how = f"replay: {found.get('replay')}; parts: {found.get('parts')}; runs: {found.get('runs')}"
            print(f"planted: {name}: {found['verdict']} ({how}; {rows[-1]['seconds']:.0f} s)", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a bug of each room, half a second a mechanism")
    parser.add_argument("--rooms", nargs="*", choices=ROOMS, default=list(ROOMS))
    parser.add_argument("--seconds", type=float, default=3.0, help="of CPU, for runs of a pair")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--plain", action="store_true", help="without the broken twins")
    which.add_argument("--twins", action="store_true", help="the broken twins alone")
    parser.add_argument("--bug", default="", help="only planted bugs whose name holds this text")
    which.add_argument("--table", action="store_true", help="print what earlier runs found")
    which.add_argument("--hunt", nargs="+", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    seconds = 0.5 if asked.quick else asked.seconds
    if asked.hunt:
        print(json.dumps(hunted(asked.hunt, seconds)))
        return
    if asked.table:
        print(table())
        return
    for room in asked.rooms:
        if not asked.twins:
            rows = plain([room], seconds)
            keep("plain", room, [row._asdict() for row in rows])
            print(
                f"{room}: {sum(row.verdict == 'not refuted' for row in rows)} of {len(rows)} not refuted, as it should be"
            )
        if not asked.plain:
            weak = [] if asked.bug else weakened([room])
            found = [*weak, *twins([room], seconds, quick=asked.quick, which=asked.bug)]
            keep("twins", room, found)
            seen = sum(row["verdict"] not in ("not refuted", "no answer") for row in found)
            print(f"{room}: {seen} of {len(found)} refuted", flush=True)


def keep(kind: str, room: str, rows: list[dict[str, Any]]) -> None:
    """Write a room's figures beside those of other runs."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "audits.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    told = known.setdefault(kind, {}).setdefault(room, [])
    named = [(row.get("bug"), row.get("name", row.get("of"))) for row in rows]
    kept = [row for row in told if (row.get("bug"), row.get("name", row.get("of"))) not in named]
    known[kind][room] = [*kept, *rows]
    path.write_text(json.dumps(known, indent=1))


def table() -> str:
    """All that was kept, in Markdown: a line for every mechanism, worst case, weak twin and planted bug."""
    known = json.loads((RESULTS / "audits.json").read_text())
    lines = ["| room | audited | verdict | how, runs | claim | at least | s |", "|---|---|---|---|---|---|---|"]
    for room in ROOMS:
        for row in known.get("plain", {}).get(room, []):
            told = f"{row['how']}, {row['runs']:,}"
            lines.append(f"| {room} | {row['name']} | {row['verdict']} | {told} | {row['claim']:.3g} | "
                         f"{row['bound']:.3g} | {row['seconds']:.0f} |")  # fmt: skip
        for row in known.get("twins", {}).get(room, []):
            ways = [f"{way} of {row[way]}" for way in ("replay", "parts") if row.get(way)]
            told = "; ".join([*ways, row["runs"]] if row.get("runs") else ways) or "-"
            claim, bound = (f"{row[key]:.3g}" if key in row else "-" for key in ("claim", "bound"))
            named = f"**twin** of {', '.join(row['of'])}: {row['bug']}"
            lines.append(f"| {room} | {named} | {row['verdict']} | {told} | {claim} | {bound} | {row['seconds']:.0f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
