"""`python -m tests.mutants`: plant every bug in a copy of the source and say which ones no test noticed."""

import argparse
import json
import time
from pathlib import Path

from tests.mutants import MUTANTS
from tests.mutants.runner import healthy_failures, outcomes

HINTS = Path(__file__).with_name("killers.json")  # which test noticed last time: it is asked first, nothing else


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--only", default="", help="plant only bugs whose file or name holds this text")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once (default: 2)")
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds for one bug (default: 900)")
    parser.add_argument("--no-hints", action="store_true", help="do not begin with the test that noticed last time")
    parser.add_argument("--remember", action="store_true", help="keep the names of the tests that noticed")
    options = parser.parse_args()
    known: dict[str, str] = json.loads(HINTS.read_text(encoding="utf-8")) if HINTS.exists() else {}
    chosen = [m for m in MUTANTS if options.only in m.key]
    survivors, killers, begin = [], set(), time.monotonic()
    decided = outcomes(chosen, {} if options.no_hints else known, options.jobs, options.timeout)
    for i, outcome in enumerate(decided, 1):
        if outcome.trouble:
            raise RuntimeError(f"{outcome.mutant.key}: {outcome.trouble}")
        late = outcome.killer is not None and outcome.killer.endswith("(hangs)")  # slow tests, or a bug that loops
        verdict = "SURVIVES" if outcome.killer is None else f"killed by {outcome.killer}"
        verdict = "UNDECIDED within the time limit" if late else verdict
        print(f"{i:3d}/{len(chosen)} {outcome.seconds:4.0f} s  {outcome.mutant.key}: {verdict}", flush=True)
        if outcome.killer is None or late:
            survivors.append(outcome.mutant)
        elif not outcome.killer.endswith(")"):  # neither hung nor failed to import
            killers.add(outcome.killer)
            known[outcome.mutant.key] = outcome.killer
        if options.remember:
            current = {m.key for m in MUTANTS}
            kept = {key: test for key, test in sorted(known.items()) if key in current}
            HINTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} killed in {time.monotonic() - begin:.0f} s")
    for mutant in survivors:
        print(f"survivor, or undecided: {mutant.key}")
    red = healthy_failures(sorted(killers), options.timeout)
    for test in red:
        print(f"proves nothing, red without a bug: {test}")
    return 1 if survivors or red else 0


if __name__ == "__main__":
    raise SystemExit(main())
