"""Small budgets: the usual solver of two classes beside objective perturbation, and naive Bayes beside diffprivlib.

`python benchmarks/learn_small.py [--sets rare,protein | --apart] [--seeds 8] [--solvers] [--bayes] [--diffprivlib PYTHON]`
prints areas under the curve (means over draws of the noise) on `learn_sets.py`, ours and the peer's in one run.
`--diffprivlib` names an interpreter that has it; both have a pure epsilon under replace there, and the same bounds. delta
is 1/n^2.
"""

import argparse
import json
import subprocess
import tempfile
import warnings
from pathlib import Path

import learn_sets
import numpy as np
from sklearn.metrics import roc_auc_score

from privet import learn, noise, privacy

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
REPLACE = privacy.Unit("replace")
TEST = 1_500  # records that models are tried on, at most
RIVAL = """
import json, sys, warnings
import numpy as np
from diffprivlib.models import GaussianNB
from sklearn.metrics import roc_auc_score
warnings.simplefilter("ignore")
held, seeds = np.load(sys.argv[1]), int(sys.argv[2])
for epsilon in map(float, sys.argv[3].split(",")):
    made = []
    for seed in range(seeds):
        model = GaussianNB(epsilon=epsilon, bounds=(-1, 1), random_state=seed).fit(held["rows"], held["labels"])
        made.append(roc_auc_score(held["truth"], np.nan_to_num(model.predict_proba(held["test"])[:, 1])))
    print(json.dumps([float(np.mean(made)), float(np.std(made) / seeds**0.5)]))
"""


def areas(make, data, seeds):
    """Area and accuracy, means over seeds, and the standard error of the first."""
    rows, labels, test, truth = data
    test, truth = test[:TEST], truth[:TEST]
    made = []
    for seed in range(seeds):
        likely = make(noise.Seeded(seed)).fit(rows, labels).predict_proba(test)[:, 1]
        made.append((roc_auc_score(truth, likely), np.mean((likely > 0.5) == truth)))
    found = np.array(made)
    return float(found[:, 0].mean()), float(found[:, 1].mean()), float(found[:, 0].std() / seeds**0.5)


def solvers(name, data, epsilons, seeds):
    """The default, and what it was."""
    rows, truth = data[0], data[3][:TEST]
    print(f"{name}: {rows.shape[0]} x {rows.shape[1]}, majority {max(truth.mean(), 1 - truth.mean()):.3f}", flush=True)
    for epsilon in epsilons:
        facts = {"epsilon": epsilon, "delta": 1.0 / len(rows) ** 2, "bounds": (-1.0, 1.0), "classes": [0, 1]}
        told = []
        for solver in (None, learn.solvers.ObjectivePerturbation()):
            area, right, error = areas(
                lambda source: learn.LogisticRegression(**facts, solver=solver, source=source),  # noqa: B023
                data,
                seeds,
            )
            told.append(f"area {area:.3f} (+- {error:.3f}) right {right:.3f}")
        print(f"  epsilon {epsilon:<4g} default {told[0]}   objective perturbation {told[1]}", flush=True)


def bayes(name, data, epsilons, seeds, rival):
    """Naive Bayes: with a delta, and pure under replace beside the peer."""
    rows, labels, test, truth = data
    theirs = [None] * len(epsilons)
    if rival:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "held.npz"
            np.savez(place, rows=rows, labels=labels, test=test[:TEST], truth=truth[:TEST])
            call = [rival, "-c", RIVAL, str(place), str(seeds), ",".join(map(str, epsilons))]
            told = subprocess.run(call, capture_output=True, text=True, check=True)
        theirs = [json.loads(line) for line in told.stdout.strip().splitlines()]
    print(f"{name}: {rows.shape[0]} x {rows.shape[1]}, {labels.mean():.3f} positives", flush=True)
    for epsilon, peer in zip(epsilons, theirs, strict=True):
        facts = {"epsilon": epsilon, "bounds": (-1.0, 1.0), "classes": [0, 1]}
        pure = areas(lambda source: learn.GaussianNB(**facts, unit=REPLACE, source=source), data, seeds)  # noqa: B023
        loose = areas(
            lambda source: learn.GaussianNB(**facts, delta=1.0 / len(rows) ** 2, source=source),  # noqa: B023
            data,
            seeds,
        )
        beside = "" if peer is None else f"   diffprivlib {peer[0]:.3f} (+- {peer[1]:.3f}), {pure[0] - peer[0]:+.3f}"
        print(
            f"  epsilon {epsilon:<4g} pure, replace {pure[0]:.3f} (+- {pure[2]:.3f})   with delta {loose[0]:.3f}{beside}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default="")
    parser.add_argument("--apart", action="store_true")
    parser.add_argument("--epsilons", default=",".join(map(str, EPSILONS)))
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--most", type=int, default=10_000)
    parser.add_argument("--solvers", action="store_true")
    parser.add_argument("--bayes", action="store_true")
    parser.add_argument("--diffprivlib", metavar="PYTHON")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    names = learn_sets.KEPT_APART if asked.apart else learn_sets.CHOSEN_ON
    epsilons = [float(each) for each in asked.epsilons.split(",")]
    for name in filter(None, asked.sets.split(",")) if asked.sets else names:
        data = learn_sets.load(name, asked.most)
        if asked.solvers:
            solvers(name, data, [each for each in epsilons if each <= 4.0], asked.seeds)
        if asked.bayes:
            bayes(name, data, epsilons, asked.seeds, asked.diffprivlib)


if __name__ == "__main__":
    main()
