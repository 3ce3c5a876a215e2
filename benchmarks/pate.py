"""PATE on MNIST and Adult: prices, speed, 250 teachers, and three figures side by side: private, sanitised, publishable.

Run with `python benchmarks/pate.py [--quick] [--seeds 5] [--parts speed,adult,mnist,numbers,budgets,scaling]`; data under
PRIVET_DATA. `numbers` trains 10 to 250 teachers, `budgets` a student for each of several epsilons, and both draw what they
found (`--pictures FOLDER`). `scaling` trains teachers that take milliseconds and some that take a tenth of a second,
with one process and with two, and wants two idle cores (OMP_NUM_THREADS=1). G-PATE on images is `pate_images.py`,
generated tables are `pate_tables.py`. Features are public functions of each image by itself: it is centred and made
upright.
"""

import argparse
import json
import os
import time
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from scipy.ndimage import map_coordinates
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from privet import accounting, pate
from privet.pate.gans.bought import most_bought
from privet.pate.vote_theorems import gn_theorem, log_losing_normal
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


def speed() -> dict[str, float]:
    """CPU seconds of figures that depend on votes, no two of which are alike."""
    rng = np.random.default_rng(0)
    rows = np.stack([rng.multinomial(250, rng.dirichlet([3.0] + [0.3] * 9)) for _ in range(10_000)])
    few = np.unique(np.sort(rows, axis=1), axis=0)
    votes = pate.Votes(rng.permutation(few)[:640], teachers=250)
    public = {"threshold": 200, "sigma1": 150.0, "sigma2": 40.0, "queries": 640, "answers": 640, "classes": 10}
    orders = np.linspace(2.0, 100.0, 50)
    kinds = {
        "640 exact queries, GNMax": lambda: pate.GNMax(sigma=40.0, queries=640, classes=10).data_dependent_epsilon(
            votes, delta=DELTA
        ),
        "640 exact queries, Confident": lambda: pate.ConfidentGNMax(**public).data_dependent_epsilon(
            votes, delta=DELTA
        ),
        "10,000 queries x 50 orders, theorem": lambda: gn_theorem(log_losing_normal(rows, 40.0), 40.0, orders),
        "640 labels drawn": lambda: pate.GNMax(sigma=40.0, queries=640, classes=10).release(votes),
    }
    found = {}
    for name, asked in kinds.items():
        begin = time.process_time()
        asked()
        found[name] = round(time.process_time() - begin, 3)
    print(json.dumps({"CPU seconds": found}), flush=True)
    return found


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


@cache
def mnist_rows():
    """Features and classes of the private rows, and of the pool with the held-out thousand at its end."""
    with np.load(ROOT / "mnist" / "mnist.npz") as held:
        x, y, test, labels = (held[name] for name in ("x_train", "y_train", "x_test", "y_test"))
    return features(x), y.astype(int), features(test), labels.astype(int)


def taught(parts, seed, jobs=1, model=KernelRidge, rows=60_000):
    """So many teachers of MNIST."""
    X, y, _, _ = mnist_rows()
    partition = pate.KeyedPartition(parts, f"seed {seed}".encode())
    return pate.Teachers(model, partition, classes=range(10)).fit(X[:rows], y[:rows], ids=np.arange(rows), jobs=jobs)


def mnist(seeds: int) -> list[dict[str, object]]:
    _, _, pool, labels = mnist_rows()
    found: list[dict[str, object]] = []
    for seed in range(seeds):
        begin, wall = time.process_time(), time.perf_counter()
        votes = taught(250, seed).vote(pool[:2000], public=True)
        spent = {"teachers' CPU seconds": time.process_time() - begin, "teachers' seconds": time.perf_counter() - wall}
        known: dict[bytes, dict[str, float]] = {}
        for name, labelled, epsilon in _released(votes):
            told = np.full(9000, -1)
            told[: len(labelled)] = labelled
            if told.tobytes() not in known:  # (b) has the labels of (a)
                known[told.tobytes()] = accuracies(pool, labels, labels[:9000], told)
            row = {"seed": seed, "figure": name, **epsilon, **known[told.tobytes()]}
            found.append({**row, **{each: round(seconds, 1) for each, seconds in spent.items()}})
            print(json.dumps(found[-1]), flush=True)
    return found


def forest():
    """A teacher that takes a tenth of a second or so."""
    return RandomForestClassifier(n_estimators=25, n_jobs=1)


def scaling(slow: int) -> list[dict[str, float]]:
    """Seconds of teachers of MNIST by one process and by two, in turns, and the share of a core that each adds.

    Of 250 teachers that take milliseconds, and of so many that take a tenth of a second, on 240 rows each.
    """
    mnist_rows()
    kinds = {"kernel ridge": (250, KernelRidge, 60_000), "forests": (slow, forest, 240 * slow)}
    found = []
    for name, (parts, model, rows) in kinds.items():
        taught(parts, 0, 2, model, rows)  # workers are begun
        seconds: dict[int, list[float]] = {1: [], 2: []}
        for turn in range(3):
            for jobs, held in seconds.items():
                begin = time.perf_counter()
                taught(parts, turn, jobs, model, rows)
                held.append(time.perf_counter() - begin)
        one, two = (float(np.median(each)) for each in seconds.values())
        told = {"a teacher": one / parts, "one process": one, "two": two, "a core": one / two / 2.0}
        told |= {"load": os.getloadavg()[0]}
        found.append({"teachers": f"{parts} {name}"} | {each: round(value, 4) for each, value in told.items()})
        print(json.dumps({"scaling": found[-1]}), flush=True)
    return found


def numbers(pictures: str) -> list[dict[str, float]]:
    """What the number of teachers changes: the gap between the first two classes, and who is right."""
    _, _, pool, labels = mnist_rows()
    asked, truth, found = pool[:2000], labels[:2000], []
    for parts in (10, 50, 100, 250):
        teachers = taught(parts, 0)
        counts = teachers.vote(asked, public=True).exact_counts  # MNIST stands in for private rows
        ordered = np.sort(counts, axis=1)
        right = [np.mean(each.predict(asked) == truth) for each in teachers._models[:10]]
        row = {"gap": np.mean(ordered[:, -1] - ordered[:, -2]) / parts, "a teacher": np.mean(right)}
        row["the vote"] = np.mean(counts.argmax(axis=1) == truth)
        found.append({"teachers": parts, **{name: round(float(each), 4) for name, each in row.items()}})
        print(json.dumps(found[-1]), flush=True)
    if pictures:
        from privet import report

        told = ([row[name] for row in found] for name in ("teachers", "gap", "a teacher"))
        report.save_figure(report.teachers_figure(*told), Path(pictures) / "teachers.svg")
    return found


def budgets(pictures: str) -> list[dict[str, float]]:
    """The accuracy of a student for several epsilons, by noise of 40 and of 60 votes: as many labels as they buy."""
    _, _, pool, labels = mnist_rows()
    votes, found = taught(250, 0).vote(pool[:2000], public=True), []
    asked: dict[str, list[float]] = {}
    epsilons = (0.5, 1.0, 2.0, 4.0)
    for sigma in (40.0, 60.0):
        for epsilon in epsilons:
            many = min(
                pate.VotePlan(teachers=250, queries=1, answers=1, sigma=sigma).labels(epsilon=epsilon, delta=DELTA),
                2000,
            )
            plain = pate.GNMax(sigma=sigma, queries=many, classes=10, teachers=250)
            told = np.full(9000, -1)
            told[:many] = plain.release(votes.exact_part(np.arange(many))).value
            row = {"sigma": sigma, "epsilon": epsilon, **accuracies(pool, labels, labels[:9000], told)}
            asked.setdefault(f"noise of {sigma:g} votes", []).append(row["held-out 1000"])
            found.append(row)
            print(json.dumps(row), flush=True)
    if pictures:
        from privet import report

        report.save_figure(report.student_figure(epsilons, asked), Path(pictures) / "student.svg")
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
    import pandas as pd

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


def medians(rows) -> None:
    """The median over seeds of every number of a figure, and the worst of what an aim is about."""
    for figure in dict.fromkeys(row["figure"] for row in rows):
        held = [row for row in rows if row["figure"] == figure]
        names = [name for name in held[0] if name not in ("seed", "figure")]
        told = {name: round(float(np.median([row[name] for row in held])), 4) for name in names}
        ends = {name: [min(row[name] for row in held), max(row[name] for row in held)] for name in names}
        print(json.dumps({"figure": figure, "median of": len(held), **told}), flush=True)
        print(json.dumps({"figure": figure, "from, to": ends}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one seed")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--parts", default="speed,adult,mnist,numbers,budgets")
    parser.add_argument("--slow", type=int, default=100, help="slow teachers for scaling")
    parser.add_argument("--pictures", default="")
    asked = parser.parse_args()
    seeds, figures = 1 if asked.quick else asked.seeds, {"prices": prices()}
    print(json.dumps(figures["prices"]), flush=True)
    parts = {
        "speed": speed,
        "adult": lambda: adult(seeds),
        "mnist": lambda: mnist(seeds),
        "numbers": lambda: numbers(asked.pictures),
        "budgets": lambda: budgets(asked.pictures),
        "scaling": lambda: scaling(asked.slow),
    }
    for name in asked.parts.split(","):
        figures[name] = parts[name]()
        if name in ("adult", "mnist"):
            medians(figures[name])
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "pate.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(known | figures, indent=1))


if __name__ == "__main__":
    main()
