"""Null calibration of attacks: how often a 95% interval holds chance where the model or the table never saw anybody.

    python benchmarks/attacks_null.py [--runs 1000] [--only NAME ...]

Each attack runs on losses that are noise, and the rates of synthetic tables on rows of one population of which the table
holds none: what `tests/audit` does in its slow tests, printed as figures. They must be .94 or more; of claims that are
true (a synthesizer that never sees its target, secrets that were never put in) at most .05 may be refuted.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from privet import audit

HERE = Path(__file__).resolve()
RESULTS = HERE.parent / "results"
sys.path.insert(0, str(HERE.parents[1]))

from tests.audit import test_synthetic  # noqa: E402
from tests.audit.disclosure import test_inversion  # noqa: E402
from tests.audit.membership import planted, test_attacks  # noqa: E402

RATES = ("area", "found at .1%", "found at 1%", "found at 10%")


def membership(name: str, runs: int) -> dict[str, float]:
    """The area under the curve, and members found at few false positives, of one attack."""
    with tempfile.TemporaryDirectory() as folder:
        shadows = audit.shadow_models(planted.Learned, planted.records(200), many=8, folder=folder)
        held = test_attacks.null_coverage(name, shadows, runs)
    return dict(zip(RATES, held.tolist(), strict=True))


def tables(runs: int) -> dict[str, float]:
    """Members minus others: singling out, linkability, inference, and a secret rebuilt from counts."""
    held = test_synthetic.rates_covered(runs) / runs
    return dict(zip(("singling out", "linkability", "inference", "reconstruction"), held.tolist(), strict=True))


PARTS: dict[str, Callable[[int], dict[str, float]]] = {
    **{name: lambda runs, name=name: membership(name, runs) for name in test_attacks.ATTACKS},
    "inversion": lambda runs: {"members minus others": test_inversion.gaps_covered(runs) / runs},
    "synthetic tables": tables,
    "audit.synthetic": lambda runs: {"not refuted": 1.0 - test_synthetic.alarms_about_nobody(runs) / runs},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--only", nargs="*", choices=tuple(PARTS), default=tuple(PARTS))
    asked = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "attacks_null.json"
    for name in asked.only:
        start, held = time.process_time(), PARTS[name](asked.runs)
        known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        known[name] = {"runs": asked.runs, "covered": held}
        path.write_text(json.dumps(known, indent=1))
        told = ", ".join(f"{which} {share:.3f}" for which, share in held.items())
        least = "met" if min(held.values()) >= 0.94 else "MISSED"
        spent = time.process_time() - start
        print(f"{name}: {told} ({asked.runs:,} runs, {spent:.0f} s of CPU): {least}", flush=True)


if __name__ == "__main__":
    main()
