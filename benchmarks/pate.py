"""PATE on MNIST: prices of the page, 250 teachers, and three figures side by side: private, sanitised, publishable.

Run with `python benchmarks/pate.py [--quick]`; data under PRIVET_DATA. G-PATE on images is `pate_images.py`.
"""

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np

from privet import accounting, pate
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


class StudentRidge(KernelRidge):
    """The same on the first 4,000 rows, whose labels were spread over all of them."""

    def fit(self, X, y):
        return super().fit(X[:4000], y[:4000])


def _squares(A, B):
    return (A**2).sum(1)[:, None] + (B**2).sum(1)[None, :] - 2.0 * A @ B.T


def features(images):
    """Public features of each image by itself: directions of its gradient in a grid of 7 x 7, roots, unit length."""
    made = []
    for start in range(0, len(images), 5000):
        x = images[start : start + 5000].astype(np.float32) / 255.0
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
    student = pate.Student(StudentRidge(), classes=list(range(10)), neighbours=10).fit(rows[:9000], told)
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
    for sigma, many in ((40.0, 178), (60.0, 423)):
        plain = pate.GNMax(sigma=sigma, queries=many, classes=10, teachers=250)
        paid = round(float(accounting.epsilon(plain.loss, delta=DELTA).upper), 4)
        labels = plain.release(votes.exact_part(np.arange(many))).value
        yield f"(c) publishable, {many} at {sigma:g}", labels, {"data-independent": paid}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one seed")
    asked = parser.parse_args()
    figures = {"prices": prices()}
    print(json.dumps(figures["prices"]), flush=True)
    figures["mnist"] = mnist(1 if asked.quick else 5)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "pate.json").write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
