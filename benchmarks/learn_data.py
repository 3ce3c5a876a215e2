"""Data sets for `benchmarks/learn.py`, encoded by public means alone: known categories, bounds and transformations."""

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(os.environ.get("PRIVET_DATA", "../shared/data"))


def split(rows, labels, seed=0, share=0.8):
    """A public split into training and test rows."""
    order = np.random.default_rng(seed).permutation(len(rows))
    cut = int(share * len(rows))
    return rows[order[:cut]], labels[order[:cut]], rows[order[cut:]], labels[order[cut:]]


def parts(name, rows, labels):
    """Training and test rows: as published where there is such a split, else by `split`."""
    cut = {"mnist": 60_000}.get(name)
    return (rows[:cut], labels[:cut], rows[cut:], labels[cut:]) if cut else split(rows, labels)


def hot(column, categories):
    """One column for each public category; others are zero."""
    return (column.to_numpy()[:, None] == np.array(categories, dtype=object)[None, :]).astype(np.float64)


def scaled(column, low, high):
    return np.clip((column.to_numpy(dtype=float) - low) / (high - low), 0.0, 1.0)[:, None]


def binned(values, edges):
    """One column for each public bin."""
    return np.stack([(values >= a) & (values < b) for a, b in pairwise(edges)], axis=1).astype(float)


def adult():
    """Income above 50K. Categories are those of the data dictionary, bounds those of the questionnaire."""
    parts = [pd.read_csv(ROOT / "adult" / f"adult_{each}.csv.gz", keep_default_na=False) for each in ("train", "test")]
    frame = pd.concat(parts, ignore_index=True)
    texts = ("workclass", "marital-status", "occupation", "relationship", "race", "sex", "native-country")
    columns = [hot(frame[name], sorted(set(frame[name]) - {""})) for name in texts]  # the dictionary's lists
    columns += [
        scaled(frame["age"], 17, 90),
        scaled(frame["education-num"], 1, 16),
        scaled(frame["hours-per-week"], 1, 99),
    ]
    gain, loss = frame["capital-gain"].to_numpy(), frame["capital-loss"].to_numpy()
    columns += [binned(gain, (1, 3_000, 5_000, 7_000, 1e6)), binned(loss, (1, 1_500, 2_000, 1e6))]
    columns.append(np.square(scaled(frame["age"], 17, 90)))  # incomes fall again in old age
    return np.concatenate(columns, axis=1), (frame["income"] == ">50K").to_numpy().astype(int), 3.0


def electricity():
    frame = pd.read_csv(ROOT / "electricity" / "electricity.csv.gz")
    rows = frame.drop(columns="class").to_numpy(dtype=float)
    return np.clip(rows, 0.0, 1.0) * 2.0 - 1.0, frame["class"].to_numpy().astype(int), float(np.sqrt(rows.shape[1]))


def german_credit():
    frame = pd.read_csv(ROOT / "german_credit" / "german_credit.csv.gz")
    last, columns = frame.columns[-1], []
    for name in frame.columns[:-1]:
        if frame[name].dtype.kind in "if":
            top = {"1": 72, "4": 20_000, "7": 4, "10": 4, "12": 75, "15": 4, "17": 2}[str(name)]
            columns.append(scaled(frame[name], 0, top))
        else:
            columns.append(hot(frame[name], sorted(set(frame[name]))))
    return np.concatenate(columns, axis=1), (frame[last] == 1).to_numpy().astype(int), 4.0


def kddcup99():
    """Attack or not."""
    frame = pd.read_csv(ROOT / "kddcup99" / "kddcup.data_10_percent.gz", header=None)
    columns = []
    for name in frame.columns[:-1]:
        if frame[name].dtype.kind in "if":
            top = {0: 58_329, 4: 1e9, 5: 1e9, 22: 511, 23: 511, 31: 255, 32: 255}.get(name, 1.0)
            values = frame[name].clip(lower=0)
            columns.append(scaled(np.log1p(values), 0.0, np.log1p(top)) if top > 1.0 else scaled(values, 0.0, 1.0))
        elif frame[name].nunique() <= 80:
            columns.append(hot(frame[name], sorted(set(frame[name]))))
    return np.concatenate(columns, axis=1), (frame.iloc[:, -1] != "normal.").to_numpy().astype(int), 3.0


def nist_acs():
    """Income above the national median, among those with an income: categories of the data dictionary."""
    frame = pd.read_csv(ROOT / "nist_acs" / "national2019.csv.gz", dtype=str, keep_default_na=False)
    frame = frame[frame["PINCP_DECILE"] != "N"]
    labels = (frame["PINCP_DECILE"].astype(float) >= 5).to_numpy().astype(int)
    texts = ("SEX", "MSP", "HISP", "RAC1P", "OWN_RENT", "INDP_CAT", "EDU", "DVET", "DREM", "DPHY", "DEYE", "DEAR")
    columns = [hot(frame[name], sorted(set(frame[name]))) for name in texts]
    age = scaled(frame["AGEP"], 0, 99)
    return np.concatenate([*columns, age, np.square(age)], axis=1), labels, 4.0


def synthetic(rows=100_000, columns=100, seed=3):
    """A logistic model with normal rows."""
    rng = np.random.default_rng(seed)
    made = rng.normal(size=(rows, columns)) / np.sqrt(columns)
    weights = rng.normal(size=columns) * 3.0
    labels = (made @ weights + rng.logistic(size=rows) > 0).astype(int)
    return made, labels, 1.3


def breast_cancer():
    """Columns scaled by public bounds of the instrument."""
    from sklearn.datasets import load_breast_cancer

    rows, labels = load_breast_cancer(return_X_y=True)
    tops = np.array([30, 40, 200, 2500, 0.2, 0.4, 0.5, 0.25, 0.35, 0.1, 3, 5, 25, 550, 0.035, 0.15, 0.4, 0.06, 0.08, 0.03,
                     40, 50, 260, 4300, 0.25, 1.1, 1.3, 0.3, 0.7, 0.25])  # fmt: skip
    return np.clip(rows / tops, 0.0, 1.0) * 2.0 - 1.0, labels, 3.0


def mnist():
    """Handwritten digits: every image by itself is scaled to length 1, so that no bound is taken from the data."""
    held = np.load(ROOT / "mnist" / "mnist.npz")
    rows = np.concatenate([held["x_train"], held["x_test"]]).reshape(70_000, 784).astype(float)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
    return rows, np.concatenate([held["y_train"], held["y_test"]]).astype(int), 1.0
