"""PATE on MNIST and Adult: prices, 250 teachers, and three figures side by side: private, sanitised, publishable.

Run with `python benchmarks/pate.py [--quick]`; data under PRIVET_DATA. G-PATE on images is `pate_images.py`, generated
tables are `pate_tables.py`. Features are public functions of each image by itself: it is centred and made upright.
"""

import argparse
import json
import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.ndimage import map_coordinates
from sklearn.linear_model import LogisticRegression

from privet import accounting, pate
from privet.pate.gans.bought import most_bought
from privet.privacy import GaussianLoss, Guarantee, Repeated

ROOT = Path(os.environ.get("PRIVET_DATA", "../shared/data"))
RESULTS = Path(__file__).parent / "results"
DELTA = 1e-5


class KernelRidge:
    """Kernel ridge on the classes 0 to 9, with a Gaussian kernel: one solve."""

    def fit(self, X, y):
        self.X = X
        kernel = np.exp(-2.0 * _squares(X, X))
        self.weights = np.linalg.solve(kernel + 0.05 * np.eye(len(X)), np.eye(10)[y] - 0.1)
        return self

    def predict(self, X):
        return (np.exp(-2.0 * _squares(X, self.X)) @ self.weights).argmax(axis=1)


def _squares(A, B):
    return (A**2).sum(1)[:, None] + (B**2).sum(1)[None, :] - 2.0 * A @ B.T


def upright(images):
    """Images moved to their centre of mass and sheared until they lean to no side, each by itself."""
    x, line = images.astype(np.float32) / 255.0, np.arange(28) - 13.5
    mass = x.sum(axis=(1, 2)) + 1e-9
    down, across = (x.sum(axis=2) @ line) / mass, (x.sum(axis=1) @ line) / mass
    rows, columns = line[None] - down[:, None], line[None] - across[:, None]
    lean = np.einsum("nij,ni,nj->n", x, rows, columns) / (np.einsum("nij,ni->n", x, rows**2) + 1e-9)
    grid = np.meshgrid(line, line, indexing="ij")
    return np.stack(
        [
            map_coordinates(each, [grid[0] + a + 13.5, grid[1] + s * grid[0] + b + 13.5], order=1)
            for each, a, b, s in zip(x, down, across, lean, strict=True)
        ]
    )


def features(images):
    """Public features of each image by itself: directions of its gradient in a grid of 7 x 7, roots, unit length."""
    made, images = [], upright(images)
    for start in range(0, len(images), 5000):
        x = images[start : start + 5000]
        across, down = np.gradient(x, axis=2), np.gradient(x, axis=1)
        size, turn = np.hypot(across, down), np.arctan2(down, across) / (2 * np.pi) * 8.0
        low = np.floor(turn).astype(int)
        share = turn - low
        held = np.zeros((*x.shape, 8), dtype=np.float32)
        for place, weight in ((low % 8, 1 - share), ((low + 1) % 8, share)):
            np.put_along_axis(
                held,
                place[..., None],
                np.take_along_axis(held, place[..., None], -1) + (size * weight)[..., None],
                -1,
            )
        cells = held.reshape(len(x), 7, 4, 7, 4, 8).sum(axis=(2, 4)).reshape(len(x), -1)
        cells = np.sqrt(cells)
        made.append(cells / (np.linalg.norm(cells, axis=1, keepdims=True) + 1e-9))
    return np.concatenate(made)


def prices() -> dict[str, float]:
    """The data-independent rows of the page."""
    normal = accounting.epsilon(pate.GNMax(sigma=40.0, queries=286, classes=10).loss, delta=DELTA).upper
    sure = pate.ConfidentGNMax(threshold=200, sigma1=150.0, sigma2=40.0, queries=640, answers=286, classes=10)
    promise = Guarantee(1.0, DELTA)
    figures = {"GNMax 286 at 40": float(normal), "Confident": float(accounting.epsilon(sure.loss, delta=DELTA).upper)}
    for sigma in (40.0, 100.0):
        many = 1
        while promise.covers(Repeated(GaussianLoss(sigma / 2**0.5), many + 1)):
            many += 1
        figures[f"labels at sigma {sigma:g} for epsilon 1"] = many
    return figures


def accuracies(rows, labels, truth, told) -> dict[str, float]:
    """Of a student that has spread the released labels over the pool, on the held-out thousand, and of the labels."""
    known = told >= 0
    student = pate.Student(KernelRidge(), classes=list(range(10)), neighbours=7).fit(rows[:9000], told)
    return {
        "answers": int(known.sum()),
        "labels right": round(float((told[known] == truth[known]).mean()), 4),
        "held-out 1000": round(float((student.predict(rows[9000:]) == labels[9000:]).mean()), 4),
        "whole pool": round(float((student.predict(rows[:9000]) == labels[:9000]).mean()), 4),
    }


def mnist(seeds: int) -> list[dict[str, object]]:
    with np.load(ROOT / "mnist" / "mnist.npz") as held:
        x, y, test, labels = (held[name] for name in ("x_train", "y_train", "x_test", "y_test"))
    X, pool, labels = features(x), features(test), labels.astype(int)
    found: list[dict[str, object]] = []
    for seed in range(seeds):
        begin = time.process_time()
        partition = pate.KeyedPartition(250, f"seed {seed}".encode())
        teachers = pate.Teachers(KernelRidge, partition, classes=range(10)).fit(X, y.astype(int), ids=np.arange(len(X)))
        votes = teachers.vote(pool[:2000], public=True)
        seconds = time.process_time() - begin
        for name, labelled, epsilon in _released(votes):
            told = np.full(9000, -1)
            told[: len(labelled)] = labelled
            row = {"seed": seed, "figure": name, **epsilon, **accuracies(pool, labels, labels[:9000], told)}
            found.append({**row, "teachers' CPU seconds": round(seconds, 1)})
            print(json.dumps(found[-1]), flush=True)
    return found


def _released(votes):
    first = votes.exact_part(np.arange(640))
    sure = pate.ConfidentGNMax(
        threshold=200, sigma1=150.0, sigma2=40.0, queries=640, answers=640, classes=10, teachers=250
    )
    labels = sure.release(first).value
    private = {
        "exact": sure.data_dependent_epsilon(first, delta=DELTA).exact_value,
        "tight": sure.published_epsilon(first, labels, delta=DELTA).exact_value,
        "classic": sure.published_epsilon(first, labels, delta=DELTA, classic=True).exact_value,
        "data-independent": float(accounting.epsilon(sure.loss, delta=DELTA).upper),
    }
    yield "(a) private", labels, {name: round(value, 4) for name, value in private.items()}
    figure = pate.SmoothRelease(aggregator=sure, order=15.0, delta=DELTA, beta=0.01, scale=20.0)
    own = round(float(accounting.epsilon(figure.loss, delta=DELTA).upper), 4)
    yield "(b) sanitised", labels, {"with the figure": round(figure.release(first).value, 4), "the figure alone": own}
    for sigma, many in ((40.0, 178), (60.0, 423)):
        plain = pate.GNMax(sigma=sigma, queries=many, classes=10, teachers=250)
        paid = round(float(accounting.epsilon(plain.loss, delta=DELTA).upper), 4)
        labels = plain.release(votes.exact_part(np.arange(many))).value
        yield f"(c) publishable, {many} at {sigma:g}", labels, {"data-independent": paid}


def adult_rows(part):
    """Rows of Adult, coded by the dictionary of the table alone."""
    frame = pd.read_csv(ROOT / "adult" / f"adult_{part}.csv.gz", skipinitialspace=True)
    made = [(frame["age"] - 40) / 15, (frame["education-num"] - 10) / 3, (frame["hours-per-week"] - 40) / 12]
    made += [np.log1p(frame["capital-gain"]) / 5, np.log1p(frame["capital-loss"]) / 5]
    for name, values in CODED.items():
        made += [(frame[name] == value).astype(float) for value in values]
    return np.stack([np.asarray(each, dtype=float) for each in made], axis=1), frame["income"].astype(str).str.contains(
        ">50K"
    ).to_numpy(dtype=int)


CODED = {
    "marital-status": ("Married-civ-spouse", "Never-married", "Divorced"),
    "relationship": ("Husband", "Wife", "Own-child", "Not-in-family"),
    "occupation": (
        "Exec-managerial",
        "Prof-specialty",
        "Other-service",
        "Sales",
        "Craft-repair",
        "Adm-clerical",
        "Farming-fishing",
    ),
    "workclass": ("Private", "Self-emp-inc", "Self-emp-not-inc", "Federal-gov"),
    "sex": ("Male",),
}


def adult(seeds: int) -> list[dict[str, object]]:
    """Two classes, so that the exact price of a binary vote is what is paid."""
    (X, y), (pool, truth) = adult_rows("train"), adult_rows("test")
    found: list[dict[str, object]] = []
    private = pate.GNMax(sigma=40.0, queries=1000, classes=2, teachers=250)
    plan = pate.GNMax(sigma=60.0, queries=1, classes=2, teachers=250)
    bought = most_bought(lambda n: Repeated(plan.loss, n), Guarantee(1.9, DELTA), "label")
    for seed in range(seeds):
        partition = pate.KeyedPartition(250, f"seed {seed}".encode())
        made = pate.Teachers(lambda: LogisticRegression(max_iter=200), partition, classes=range(2))
        votes = made.fit(X, y, ids=np.arange(len(X))).vote(pool[:4000], public=True)
        for name, asked in (("(a) private", private), ("(c) publishable", replace(plan, queries=bought))):
            part = votes.exact_part(np.arange(asked.queries))
            labels = asked.release(part).value
            student = pate.Student(LogisticRegression(max_iter=500), classes=[0, 1]).fit(pool[: asked.queries], labels)
            row = {
                "seed": seed,
                "figure": f"adult {name}",
                "data-independent": round(_price(asked), 4),
                "answers": asked.queries,
            }
            if name == "(a) private":
                row["exact"] = round(asked.data_dependent_epsilon(part, delta=DELTA).exact_value, 4)
            row["labels right"] = round(float((labels == truth[: asked.queries]).mean()), 4)
            row["held-out"] = round(float((student.predict(pool[8000:]) == truth[8000:]).mean()), 4)
            row["whole pool"] = round(float((student.predict(pool[:8000]) == truth[:8000]).mean()), 4)
            found.append(row)
            print(json.dumps(row), flush=True)
    return found


def _price(asked) -> float:
    return float(accounting.epsilon(asked.loss, delta=DELTA).upper)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one seed")
    parser.add_argument("--tables", default="adult,mnist")
    asked = parser.parse_args()
    figures = {"prices": prices()}
    print(json.dumps(figures["prices"]), flush=True)
    for name, run in (("adult", adult), ("mnist", mnist)):
        if name in asked.tables.split(","):
            figures[name] = run(1 if asked.quick else 5)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "pate.json").write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
