"""The warfarin study of the lectures: genotype disclosure and dosing error against epsilon, on the table of the IWPC.

    python benchmarks/warfarin.py [--quick] [--seeds 10] [--plot FILE]

Data under PRIVET_DATA. 3,450 complete rows with a stable dose; a linear model of the square root of the weekly dose,
fitted on three quarters. The attack guesses VKORC1 -1639 from the other attributes and the dose, on people who were in the
data and on people who were not; beside it what race alone says, and the commonest value. Epsilon moves the model's error;
whether members are told apart from others is the last column, and that alone is what differential privacy bounds.
"""

import argparse
import csv
import gzip
import json
import os
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from privet import audit, learn, noise

ROOT = Path(os.environ.get("PRIVET_DATA", "../shared/data"))
RESULTS = Path(__file__).parent / "results"
GENES = ("A/A", "A/G", "G/G")
KINDS = ("sufficient statistics", "ridge", "histogram")
EPSILONS = (0.25, 1.0, 5.0, 20.0, 100.0)
_DOSE, _VKORC, _CYP = "Therapeutic Dose of Warfarin", "VKORC1 -1639 consensus", "CYP2C9 consensus"
_STABLE, _AMIODARONE = "Subject Reached Stable Dose of Warfarin", "Amiodarone (Cordarone)"
_INDUCERS = ("Carbamazepine (Tegretol)", "Phenytoin (Dilantin)", "Rifampin or Rifampicin")
Rest = dict[str, np.ndarray]


@cache
def people() -> tuple[Rest, np.ndarray, np.ndarray]:
    """Other attributes (features without the gene, and race), the gene as a number, the square root of the dose."""
    with gzip.open(ROOT / "warfarin" / "iwpc_warfarin.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    needed = (_DOSE, _VKORC, _CYP, "Age", "Height (cm)", "Weight (kg)", "Race")
    rows = [row for row in rows if all(row[name] for name in needed) and float(row[_STABLE] or 0) == 1.0]
    races = sorted({row["Race"] for row in rows})
    kinds = ("*1/*1", "*1/*2", "*1/*3", "*2/*2", "*2/*3", "*3/*3")

    def flag(row: dict[str, str], *names: str) -> float:
        return float(any(float(row[name] or 0) == 1.0 for name in names))

    features = np.array(
        [
            [
                float(row["Age"][0]) / 9.0,
                float(row["Height (cm)"]) / 210.0,
                float(row["Weight (kg)"]) / 240.0,
                *(float(row["Race"] == race) for race in races[1:]),
                *(float(row[_CYP] == kind) for kind in kinds[1:]),
                flag(row, _AMIODARONE),
                flag(row, *_INDUCERS),
            ]
            for row in rows
        ]
    )
    race = np.array([races.index(row["Race"]) for row in rows])
    gene = np.array([GENES.index(row[_VKORC]) for row in rows])
    return {"features": features, "race": race}, gene, np.sqrt([float(row[_DOSE]) for row in rows])


def with_gene(rest: Rest, gene: Any) -> np.ndarray:
    """Features with the gene set, as two more columns."""
    told = np.broadcast_to(np.asarray(gene), (len(rest["race"]),))
    return np.column_stack((rest["features"], told == 1, told == 2)).astype(float)


def taken(rest: Rest, rows: np.ndarray) -> Rest:
    return {name: values[rows] for name, values in rest.items()}


def histogram(rest: Rest, gene: np.ndarray, dose: np.ndarray, epsilon: float | None) -> Any:
    """The mean dose in each cell of race and gene, by counts and sums with noise of half of epsilon each."""
    sums, counts = np.zeros((4, 3)), np.zeros((4, 3))
    np.add.at(sums, (rest["race"], gene), np.clip(dose, 0.0, 15.0))
    np.add.at(counts, (rest["race"], gene), 1.0)
    if epsilon is not None:
        counts = counts + np.asarray(noise.discrete_laplace(scale=2 / epsilon, size=(4, 3)))
        sums = sums + np.asarray(noise.discrete_laplace(scale=2 * 15 * 64 / epsilon, size=(4, 3))) / 64.0
    means = np.clip(sums / np.maximum(counts, 1.0), 0.0, 15.0)
    return lambda rest, gene: means[rest["race"], np.broadcast_to(np.asarray(gene), rest["race"].shape)]


def fitted(kind: str, rest: Rest, gene: np.ndarray, dose: np.ndarray, epsilon: float | None) -> Any:
    """A function of other attributes and a gene that predicts the square root of the dose."""
    if kind == "histogram":
        return histogram(rest, gene, dose, epsilon)
    rows = with_gene(rest, gene)
    given = {"bounds": (0.0, 1.0), "bounds_y": (0.0, 18.0)}
    if epsilon is None:
        solved = np.linalg.lstsq(np.column_stack((rows, np.ones(len(rows)))), dose, rcond=None)[0]
        return lambda rest, gene: np.column_stack((with_gene(rest, gene), np.ones(len(rest["race"])))) @ solved
    delta = 1e-6
    if kind == "ridge":
        model: Any = learn.Ridge(epsilon=epsilon, delta=delta, alpha=1.0, **given)
    else:
        model = learn.LinearRegression(epsilon=epsilon, delta=delta, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows, dose)
    return lambda rest, gene: model.predict(with_gene(rest, gene))


def one(kind: str, epsilon: float | None, seed: int) -> dict[str, float]:
    """One split: error of the dose, and the four figures with and without race."""
    rest, gene, dose = people()
    order = np.random.default_rng(seed).permutation(len(gene))
    cut = 3 * len(order) // 4
    inside, outside = order[:cut], order[cut:]
    predict = fitted(kind, taken(rest, inside), gene[inside], dose[inside], epsilon)
    told = predict(taken(rest, outside), gene[outside])
    left = dose[outside] - told
    shares = np.array([[(gene[rest["race"] == race] == value).mean() for value in range(3)] for race in range(4)])
    groups = [(taken(rest, rows), gene[rows], dose[rows]) for rows in (inside, outside)]
    found: dict[str, float] = {
        "R2": 1.0 - float((left**2).mean() / dose[outside].var()),
        "MAE": float(np.abs(told**2 - dose[outside] ** 2).mean()),
    }
    for use, name in ((False, "gene"), (True, "gene, race")):
        inverted = audit.invert(
            predict, members=groups[0], others=groups[1], values=[0, 1, 2], sigma=float(max(left.std(), 1e-3)),
            given_rest=lambda rest: shares[rest["race"]], use_rest=use,
        )  # fmt: skip
        found |= {
            f"{name}: members": inverted.exact_members.rate.value,
            f"{name}: others": inverted.exact_others.rate.value,
            "majority": inverted.exact_majority.rate.value,
            "race alone": inverted.exact_given_rest.rate.value,
        }
    return found


def summary(kind: str, epsilon: float | None, seeds: int) -> dict[str, tuple[float, float]]:
    """Mean, and two standard errors of it, over splits."""
    runs = [one(kind, epsilon, seed) for seed in range(seeds)]
    return {
        name: (float(np.mean(v)), 2.0 * float(np.std(v)) / max(len(v) - 1, 1) ** 0.5)
        for name in runs[0]
        for v in [[run[name] for run in runs]]
    }


def drawn(table: dict[str, dict[str, dict[str, tuple[float, float]]]], path: str) -> None:
    """One figure: dosing error and the guess of the gene against epsilon."""
    from privet.report.figure import PALETTE, new_panels, save_figure

    figure, panels = new_panels(2, width=4.2, height=3.4)
    for axes, column in zip(panels, ("MAE", "gene, race: others"), strict=True):
        for (kind, rows), colour in zip(table.items(), PALETTE, strict=False):
            known = [(float(e), *rows[e][column]) for e in rows if e != "none"]
            scale = 50.0 if column == "MAE" else 1.0
            at, middle, bars = (np.array(each) for each in zip(*known, strict=True))
            axes.errorbar(at, middle / scale, yerr=bars / scale, color=colour, marker="o", label=kind)
        axes.set_xscale("log")
        axes.set_xlabel("epsilon")
        axes.set_title(f"{column}{' / 50 mg' if column == 'MAE' else ''}", fontsize=10)
    panels[0].legend(frameon=False, fontsize=8)
    save_figure(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two splits, two values of epsilon")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--plot")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=KINDS)
    asked = parser.parse_args()
    seeds, epsilons = (2, (1.0, 20.0)) if asked.quick else (asked.seeds, EPSILONS)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "warfarin.json"
    table: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    for kind in asked.kinds:
        table[kind] = {}
        for epsilon in (None, *epsilons):
            found = summary(kind, epsilon, seeds)
            table[kind]["none" if epsilon is None else f"{epsilon:g}"] = found
            gap = found["gene, race: members"][0] - found["gene, race: others"][0]
            told = "  ".join(f"{name} {mean:.3f}±{bar:.3f}" for name, (mean, bar) in found.items())
            print(f"{kind}, epsilon {epsilon or 'none'}: {told}  members - others {gap:+.3f}", flush=True)
        path.write_text(json.dumps(table, indent=1))
    if asked.plot:
        drawn(table, asked.plot)


if __name__ == "__main__":
    main()
