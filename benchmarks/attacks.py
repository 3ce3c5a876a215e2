"""Attacks: membership on public data, reconstruction, re-identification and synthetic tables, beside peers where asked for.

    python benchmarks/attacks.py [--quick] [--only PART ...] [--peers PYTHON]

Data under PRIVET_DATA; figures as JSON in results/. Parts: membership (location30, a softmax model, with and without
privacy), network (digits of MNIST, a torch network), reconstruction, tables (adult, taxi, national2019), synthetic. PYTHON
is an interpreter with privacy-meter or anonymeter, which are never needed.
"""

import argparse
import csv
import gzip
import json
import os
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.neural_network import MLPClassifier

import privet as pv
from privet import audit, noise, synth

ROOT = Path(os.environ.get("PRIVET_DATA", "../shared/data"))
RESULTS = Path(__file__).parent / "results"


def told(found: audit.MembershipAttack) -> dict[str, Any]:
    return {
        "auc": vars(found.exact_area.auc),
        "tpr": {f"{rate.fpr:g}": vars(rate.tpr) for rate in found.exact_rates},
        "ceiling": {f"{rate.fpr:g}": found.ceiling(rate.fpr) for rate in found.exact_rates},
        "above": [rate.fpr for rate in found.above_ceiling],
    }


def plain(x: np.ndarray, y: np.ndarray) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MLPClassifier((64,), max_iter=60, random_state=0).fit(x, y)


class Noisy:
    """A linear softmax model by noisy sums of the rows of each class, and its price: a replaced row moves two sums."""

    def __init__(self, x: np.ndarray, y: np.ndarray, epsilon: float, classes: np.ndarray) -> None:
        self.classes_ = classes
        unit = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-9)
        loss = pv.privacy.GaussianLoss(noise_multiplier=pv.accounting.calibrate(
            lambda s: pv.privacy.GaussianLoss(noise_multiplier=s), epsilon=epsilon, delta=1e-5))  # fmt: skip
        self.privacy_ = type("Privacy", (), {"loss": loss})
        sigma = float(loss.noise_multiplier)
        self.sums = np.stack([unit[y == each].sum(axis=0) for each in classes])
        self.sums = self.sums + np.asarray(noise.rounded_gaussian(sigma=sigma * 2**20, size=self.sums.shape)) / 2**20

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        scores = 4.0 * (x @ self.sums.T) / np.maximum(np.linalg.norm(self.sums, axis=1), 1e-9)
        scores -= scores.max(axis=1, keepdims=True)
        return np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)


def membership(quick: bool) -> dict[str, Any]:
    """LiRA, RMIA and the loss on location30."""
    held = np.load(ROOT / "location30" / "location30.npz")
    x, y = held["X"].astype(float), held["y"]
    order = np.random.default_rng(0).permutation(len(y))
    size, many = (600, 8) if quick else (2_000, 64)
    pool, rest = order[: 2 * size], order[2 * size : 3 * size]
    who = audit.Suspects.of(
        members=(x[pool[:size]], y[pool[:size]]), others=(x[pool[size:]], y[pool[size:]]), real=False
    )
    classes = np.unique(y)
    trainers = {"none": plain, "1": lambda a, b: Noisy(a, b, 1.0, classes), "8": lambda a, b: Noisy(a, b, 8.0, classes)}
    found: dict[str, Any] = {}
    for epsilon, train in trainers.items():
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            shadows = audit.shadow_models(train, (x[pool], y[pool]), many=many, folder=folder, jobs=2)
            seconds = time.perf_counter() - start
            model = train(x[pool[:size]], y[pool[:size]])
            attacks = {
                "loss": audit.loss_attack(model, who),
                "lira": audit.lira(model, who, shadows),
                "lira offline": audit.lira(model, who, shadows, online=False),
                "rmia": audit.rmia(model, who, shadows, population=(x[rest], y[rest])),
            }
        found[f"epsilon {epsilon}"] = {
            "shadow seconds": seconds,
            **{name: told(each) for name, each in attacks.items()},
        }
        for name, each in attacks.items():
            few = ", ".join(f"{rate.fpr:g}: {rate.tpr}" for rate in each.exact_rates)
            print(f"location30, epsilon {epsilon}, {name}: area {each.exact_area.auc}; {few}", flush=True)
        print(f"  {many} shadow models in {seconds:.0f} s", flush=True)
    return found


def network(quick: bool) -> dict[str, Any]:
    """RMIA and LiRA on a torch network of few digits."""
    import torch

    from privet import deep

    held = _digits()
    x, y = held
    size, many, epochs = (150, 4, 20) if quick else (1_000, 16, 40)
    order = np.random.default_rng(1).permutation(len(y))
    pool, rest = order[: 2 * size], order[2 * size : 3 * size]

    def net() -> Any:
        torch.manual_seed(int(noise.uniform_int(bound=2**31)))
        return torch.nn.Sequential(torch.nn.Linear(x.shape[1], 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))

    def train(a: np.ndarray, b: np.ndarray, epsilon: float | None = None) -> Any:
        made = net()
        rows, labels = torch.as_tensor(a, dtype=torch.float32), torch.as_tensor(b, dtype=torch.long)
        loss = torch.nn.functional.cross_entropy
        if epsilon is None:
            optimizer = torch.optim.Adam(made.parameters(), lr=1e-3)
            for _ in range(epochs):
                for part in torch.randperm(len(rows)).split(50):
                    optimizer.zero_grad()
                    loss(made(rows[part]), labels[part]).backward()
                    optimizer.step()
            return made
        steps = epochs * len(rows) // 50
        plan = deep.Plan(
            epsilon=epsilon, delta=1e-5, steps=steps, sampling=deep.Poisson(q=50 / len(rows)), clip_norm=1.0
        )
        each = lambda out, target: loss(out, target, reduction="none")  # noqa: E731
        deep.Trainer(made, torch.optim.SGD(made.parameters(), lr=0.5), each, plan).fit(
            list(zip(rows, labels, strict=True))
        )
        return made

    who = audit.Suspects.of(
        members=(x[pool[:size]], y[pool[:size]]), others=(x[pool[size:]], y[pool[size:]]), real=False
    )
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        shadows = audit.shadow_models(train, (x[pool], y[pool]), many=many, folder=folder)
        model = train(x[pool[:size]], y[pool[:size]])
        for name, each in (
            ("lira", audit.lira(model, who, shadows)),
            ("rmia", audit.rmia(model, who, shadows, population=(x[rest], y[rest]))),
        ):
            found[name] = told(each)
            print(f"network, {name}: {each}", flush=True)
    return found


def _digits() -> tuple[np.ndarray, np.ndarray]:
    for path in sorted((ROOT / "mnist").glob("*.npz")):
        held = np.load(path)
        names = list(held)
        images = next(held[name] for name in names if held[name].ndim >= 2)
        labels = next(held[name] for name in names if held[name].ndim == 1)
        return images.reshape(len(images), -1) / 255.0, labels.astype(int)
    raise SystemExit("no digits under PRIVET_DATA/mnist")


def reconstruction(quick: bool) -> dict[str, Any]:
    """Shares of right bits of 128 from 512 counts, by least squares and by a linear programme."""
    seeds = 2 if quick else 10
    rows: dict[str, list[list[float]]] = {}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        secret, subsets = rng.integers(0, 2, 128), rng.integers(0, 2, (512, 128))
        exact = subsets @ secret
        blurred = {
            "exact": exact,
            "rounded to 5": 5 * np.rint(exact / 5),
            "Gaussian, sd 2.8": exact + rng.normal(0, 2.8, 512),
            "Gaussian, sd 11.3": exact + rng.normal(0, 11.3, 512),
            "Laplace, epsilon 1 in all": exact + np.asarray(noise.discrete_laplace(scale=512, size=512)),
        }
        for name, answers in blurred.items():
            ways = (audit.LeastSquares(), audit.LinearProgramme())
            rows.setdefault(name, []).append([audit.reconstruct(subsets, answers, by=by).right(secret) for by in ways])
    means = {name: np.mean(each, axis=0).round(3).tolist() for name, each in rows.items()}
    for name, (square, programme) in means.items():
        print(f"reconstruction, {name}: {square:.3f} / {programme:.3f}", flush=True)
    return means


def table_of(path: str, limit: int | None = None) -> pv.Table:
    with gzip.open(ROOT / path, "rt") as file:
        rows = list(csv.DictReader(file))[:limit]
    columns = {name: [row[name] or None for row in rows] for name in rows[0]}
    return pv.Table(columns, columns={name: pv.Text() for name in columns})


QUASI = {
    "adult/adult_train.csv.gz": [
        ["age", "sex"],
        ["age", "sex", "race", "native-country"],
        ["age", "sex", "race", "native-country", "education"],
        ["age", "sex", "race", "native-country", "education", "occupation", "marital-status"],
    ],
    "nist_taxi/nist_taxi.csv.gz": [
        ["shift", "pickup_community_area"],
        ["shift", "pickup_community_area", "dropoff_community_area"],
        ["shift", "pickup_community_area", "dropoff_community_area", "company_id"],
        [],
    ],
    "nist_acs/national2019.csv.gz": [
        ["AGEP", "SEX"],
        ["PUMA", "AGEP", "SEX"],
        ["PUMA", "AGEP", "SEX", "RAC1P", "MSP"],
        ["PUMA", "AGEP", "SEX", "RAC1P", "MSP", "EDU", "INDP_CAT"],
    ],
}


def tables(quick: bool) -> dict[str, Any]:
    """Shares of rows that are alone, and in cells below 5."""
    found: dict[str, Any] = {}
    for path, sets in QUASI.items():
        if quick and "taxi" in path:
            continue
        table = table_of(path)
        for quasi in sets:
            risk = audit.exact_reidentification(table, quasi=quasi or list(table.columns))
            name = f"{Path(path).stem.removesuffix('.csv')}: {', '.join(quasi) or 'all columns'}"
            found[name] = [round(risk.exact_unique, 4), round(risk.exact_small, 4), risk.rows]
            print(f"{name}: alone {found[name][0]}, below 5 {found[name][1]} of {risk.rows:,}", flush=True)
    return found


def synthetic(quick: bool) -> dict[str, Any]:
    """Copies and columns by themselves, without noise, beside private synthesizers: who is accused."""
    n = 300 if quick else 1_500
    table = table_of("adult/adult_train.csv.gz", 3 * n)
    names = ["sex", "race", "education", "marital-status", "income"]
    with gzip.open(ROOT / "adult/adult_train.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))[: 2 * n]
    held = {name: np.array([row[name] for row in rows]) for name in names}
    kinds = {name: pv.Category(sorted(set(values.tolist()) | {"?"})) for name, values in held.items()}
    members, others = ({name: values[part] for name, values in held.items()} for part in (slice(0, n), slice(n, 2 * n)))
    del table

    def private(model: type, epsilon: float) -> Any:
        def make(part: dict[str, Any]) -> dict[str, Any]:
            fitted = model().fit(pv.Table(dict(part), columns=kinds), epsilon=epsilon, delta=1e-9)
            drawn = fitted.sample(len(next(iter(part.values()))))
            return {name: np.asarray(drawn[name]) for name in names}

        return make

    def columns(part: dict[str, Any]) -> dict[str, Any]:
        rng = np.random.default_rng()
        return {name: np.asarray(v)[rng.integers(0, len(v), len(v))] for name, v in part.items()}

    def hundredth(part: dict[str, Any]) -> dict[str, Any]:
        made, copied = columns(part), max(1, len(part["sex"]) // 100)
        last = {name: np.asarray(values)[-copied:] for name, values in part.items()}
        return {name: np.concatenate((values[:-copied], last[name])) for name, values in made.items()}

    makers = {"copy": dict, "1% copied": hundredth, "columns by themselves, no noise": columns}
    runs = 40 if quick else 120
    for kind in (synth.MST,) if quick else (synth.MST, synth.AIM):
        for epsilon in (1.0,) if quick else (1.0, 10.0):
            makers[f"{kind.__name__}, epsilon {epsilon:g}"] = private(kind, epsilon)
    target = {**{name: str(values[0]) for name, values in members.items()}, "race": "?", "education": "?"}
    small = {name: values[:100].tolist() for name, values in members.items()}
    found: dict[str, Any] = {}
    for name, make in makers.items():
        rates = audit.exact_synthetic_rates(members, make(members), others, secret="income", guesses=300)
        claim = float(name.rsplit(" ", 1)[1]) if "epsilon" in name else 1.0
        start = time.perf_counter()
        seen = audit.synthetic(
            make, small, target, claim=pv.privacy.ApproxLoss(claim, 1e-9), shadows=6, runs=runs, alpha=1e-3
        )
        found[name] = {"verdict": seen.verdict, "rates accused": rates.accused, "tables": seen.trainings}
        print(f"{name}: {seen.verdict} (claim {claim:g}, {seen.trainings} tables, {time.perf_counter() - start:.0f} s); "
              f"rates that accuse: {', '.join(rates.accused) or 'none'}", flush=True)  # fmt: skip
    return found


PARTS = {
    "reconstruction": reconstruction, "tables": tables, "membership": membership, "network": network,
    "synthetic": synthetic,
}  # fmt: skip


def peers(python: str) -> dict[str, Any]:
    """The versions of peers that an interpreter has; figures beside them need their own scripts."""
    found = {}
    for name in ("privacy_meter", "anonymeter", "jax_privacy"):
        asked = subprocess.run([python, "-c", f"import {name}"], capture_output=True, check=False)
        found[name] = "installed" if asked.returncode == 0 else "not installed"
        print(f"{name}: {found[name]}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="*", choices=tuple(PARTS), default=tuple(PARTS))
    parser.add_argument("--peers", metavar="PYTHON")
    asked = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "attacks.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    for part in asked.only:
        known[part] = PARTS[part](asked.quick)
        path.write_text(json.dumps(known, indent=1, default=str))
    if asked.peers:
        known["peers"] = peers(asked.peers)
        path.write_text(json.dumps(known, indent=1, default=str))


if __name__ == "__main__":
    main()
