"""Private linear models: accuracy with defaults alone, and times beside scikit-learn and diffprivlib in one run.

`python benchmarks/learn.py [--sets adult,electricity] [--seeds 20] [--epsilons 0.1,1] [--times] [--diffprivlib PYTHON]`.
delta is 1/n^2. Data sets lie under the directory in the variable PRIVET_DATA (see `learn_data.py`); nothing is tuned on
them without privacy. `--diffprivlib` names an interpreter that has diffprivlib, which needs an older scikit-learn.
"""

import argparse
import json
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import learn_data
import numpy as np
from sklearn import linear_model

from privet import learn, noise

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
TARGETS = {
    "adult": (0.818, 0.835, 0.842, 0.849, 0.853, 0.855),
    "synthetic": (0.858, 0.867, 0.868),
    "kddcup99": (0.987,),
    "breast_cancer": (None, None, 0.94),
    "mnist": (None, None, 0.886),
}
CLASSES = {"mnist": range(10)}
RIVAL = """
import json, sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
from diffprivlib.models import LogisticRegression
held = np.load(sys.argv[1])
start = time.process_time()
scores = []
for seed in range(3):
    model = LogisticRegression(epsilon=float(sys.argv[2]), data_norm=float(held["norm"]), max_iter=1000)
    scores.append(model.fit(held["rows"], held["labels"]).score(held["test_rows"], held["test_labels"]))
print(json.dumps([float(np.median(scores)), (time.process_time() - start) / 3]))
"""


def fitted(rows, labels, norm, epsilon, seed, name=None):
    model = learn.LogisticRegression(
        epsilon=epsilon,
        delta=1.0 / len(rows) ** 2,
        row_norm=norm,
        classes=CLASSES.get(name, (0, 1)),
        n_rows=len(rows),
        source=noise.Seeded(seed),
    )
    return model.fit(rows, labels)


def accuracy(name, epsilons, seeds):
    rows, labels, norm = getattr(learn_data, name)()
    rows, labels, test_rows, test_labels = learn_data.parts(name, rows, labels)
    plain = linear_model.LogisticRegression(max_iter=50 if name == "mnist" else 2_000).fit(rows, labels)
    plain = plain.score(test_rows, test_labels)
    print(f"{name}: {rows.shape[0]} x {rows.shape[1]}, without privacy {plain:.4f}", flush=True)
    for place, epsilon in enumerate(EPSILONS):
        if epsilon not in epsilons:
            continue
        scores = [
            fitted(rows, labels, norm, epsilon, seed, name).score(test_rows, test_labels) for seed in range(seeds)
        ]
        wished = TARGETS.get(name, ())
        wish = f"  wish {wished[place]}" if place < len(wished) and wished[place] else ""
        low, middle, high = np.quantile(scores, [0.1, 0.5, 0.9])
        print(f"  epsilon {epsilon:<4g} {middle:.4f}  ({low:.4f} .. {high:.4f}){wish}", flush=True)


def seconds(work, repeats=3):
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def times(name, rival):
    rows, labels, norm = getattr(learn_data, name)()
    rows, labels, test_rows, test_labels = learn_data.parts(name, rows, labels)
    fitted(rows, labels, norm, 1.0, 0)  # the plan is made once and kept
    ours = seconds(lambda: fitted(rows, labels, norm, 1.0, 1))
    theirs = seconds(lambda: linear_model.LogisticRegression(max_iter=2_000).fit(rows, labels))
    print(f"{name} {rows.shape}: privet {ours:.3f} s, scikit-learn {theirs:.3f} s ({ours / theirs:.2f}x)", flush=True)
    if rival is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "held.npz"
        np.savez(place, rows=rows, labels=labels, test_rows=test_rows, test_labels=test_labels, norm=norm)
        told = subprocess.run([rival, "-c", RIVAL, str(place), "1.0"], capture_output=True, text=True, check=True)
    score, spent = json.loads(told.stdout.strip().splitlines()[-1])
    print(f"  diffprivlib at epsilon 1: {spent:.3f} s ({spent / ours:.1f}x ours), accuracy {score:.4f}", flush=True)


def growth():
    """Seconds of a fit against rows and columns, for a kept plan."""
    for rows, columns in ((10_000, 20), (100_000, 20), (1_000_000, 20), (100_000, 50), (100_000, 100), (100_000, 200)):
        made, labels, norm = learn_data.synthetic(rows, columns)
        fitted(made[:1_000], labels[:1_000], norm, 1.0, 0)
        print(f"  {rows:>9} x {columns:<4} {seconds(lambda: fitted(made, labels, norm, 1.0, 1), 1):.3f} s", flush=True)  # noqa: B023


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default="adult,electricity,german_credit,kddcup99,nist_acs,synthetic,breast_cancer")
    parser.add_argument("--epsilons", default=",".join(map(str, EPSILONS)))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--diffprivlib", metavar="PYTHON")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in filter(None, asked.sets.split(",")):
        if asked.times:
            times(name, asked.diffprivlib)
        else:
            accuracy(name, [float(each) for each in asked.epsilons.split(",")], asked.seeds)
    if asked.growth:
        growth()


if __name__ == "__main__":
    main()
