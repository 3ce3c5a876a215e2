"""Generated tables: area under the curve of a model that is trained on generated rows and tested on real ones.

`PATEGAN` and `GPATE` beside `synth.MST` and `synth.AIM` at the same epsilon. Run with `python benchmarks/pate_tables.py
[--epsilon 1] [--seeds 3] [--tables adult,...]`; data under PRIVET_DATA. Domains of columns come from the dictionaries of
the tables; kddcup99 is a tenth of the tenth, and has thirteen of its columns.
"""

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import privet as pv
from privet import pate, synth

ROOT = Path(os.environ.get("PRIVET_DATA", "../shared/data"))
RESULTS = Path(__file__).parent / "results"
DELTA = 1e-5


def adult():
    read = [pd.read_csv(ROOT / "adult" / f"adult_{part}.csv.gz", skipinitialspace=True) for part in ("train", "test")]
    frame = pd.concat(read, ignore_index=True)
    columns = {"age": (17, 90), "education-num": (1, 16), "hours-per-week": (1, 99), "capital-gain": (0, 20_000)}
    named = ("workclass", "marital-status", "occupation", "relationship", "race", "sex")
    return frame, columns, named, frame["income"].astype(str).str.contains(">50K")


def german_credit():
    frame = pd.read_csv(ROOT / "german_credit" / "german_credit.csv.gz")
    frame.columns = [f"c{each}" for each in frame.columns]
    columns = {"c1": (4, 72), "c4": (0, 20_000), "c7": (1, 4), "c12": (18, 75)}
    named = ("c0", "c2", "c3", "c5", "c6", "c8", "c11", "c13", "c14")
    return frame, columns, named, frame["c20"] == 2


def electricity():
    frame = pd.read_csv(ROOT / "electricity" / "electricity.csv.gz")
    columns = dict.fromkeys(("period", "nswdemand", "vicdemand", "transfer"), (0.0, 1.0))
    columns |= {"nswprice": (0.0, 0.2), "vicprice": (0.0, 0.02)}
    return frame, columns, (), frame["class"].astype(str).isin(["1", "UP"])


def kddcup99():
    frame = pd.read_csv(ROOT / "kddcup99" / "kddcup.data_10_percent.gz", header=None)
    frame = frame.sample(len(frame) // 10, random_state=0).reset_index(drop=True)
    frame.columns = [f"c{each}" for each in frame.columns]
    columns = {"c22": (0, 511), "c23": (0, 511), "c31": (0, 255), "c32": (0, 255)}
    columns |= dict.fromkeys(("c24", "c25", "c28", "c33", "c35"), (0.0, 1.0))
    return frame, columns, ("c1", "c3", "c11", "c6"), frame["c41"] != "normal."


TABLES = {"adult": adult, "german_credit": german_credit, "electricity": electricity, "kddcup99": kddcup99}
TEACHERS = {"adult": 500, "german_credit": 20, "electricity": 500, "kddcup99": 500}
# German credit has 769 rows: linear rules make do with four each, and with so few votes a round must be small
VOTES = {"german_credit": {"teachers": 200, "sigma2": 60.0, "batch": 4, "dimensions": 4}}


def halves(name):
    """A table to learn from and real rows for the test, three to one."""
    frame, numbers, named, label = TABLES[name]()
    schema = {each: pv.Float(*ends) for each, ends in numbers.items()}
    rows = {each: frame[each].to_numpy(dtype=float) for each in numbers}
    for each in named:
        texts = frame[each].fillna("?").astype(str)
        schema[each], rows[each] = pv.Category(sorted(texts.unique())), texts.to_numpy(dtype=object)
    rows["label"], schema["label"] = label.to_numpy(dtype=bool), pv.Bool()
    test = np.random.default_rng(0).random(len(frame)) < 0.25
    return schema, *({each: held[chosen] for each, held in rows.items()} for chosen in (~test, test))


def codes(schema, rows):
    made = []
    for name, domain in schema.items():
        if name == "label":
            continue
        if isinstance(domain, pv.Category):
            told = np.asarray(rows[name], dtype=object).astype(str)
            made += [(told == str(each)).astype(float) for each in domain.values]
        else:
            made.append(
                (np.clip(np.asarray(rows[name], dtype=float), domain.lower, domain.upper) - domain.lower)
                / (domain.upper - domain.lower)
            )
    return np.stack(made, axis=1)


def area(schema, made, test):
    """The better known of two models, a line and trees: both are told."""
    target = np.asarray(made["label"], dtype=bool)
    if target.all() or not target.any():
        return {"line": 0.5, "trees": 0.5}
    X, Z = codes(schema, made), codes(schema, test)
    found = {}
    for name, model in (
        ("line", LogisticRegression(max_iter=300)),
        ("trees", HistGradientBoostingClassifier(max_iter=60)),
    ):
        found[name] = round(float(roc_auc_score(test["label"], model.fit(X, target).predict_proba(Z)[:, 1])), 4)
    return found


def models(name, only):
    many = TEACHERS[name]
    votes = VOTES.get(name, {"teachers": many, "sigma2": many / 4.0, "batch": 8, "dimensions": 8})
    made = {
        "MST": lambda: synth.MST(bins=16),
        "PATEGAN": lambda: pate.PATEGAN(teachers=many, label="label"),
        "GPATE": lambda: pate.GPATE(label="label", move=0.5, hidden=(64,), **votes),
        "AIM": lambda: synth.AIM(workload=2, bins=16, rounds=16, steps=200),
    }
    return {each: make for each, make in made.items() if not only or each in only}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--models", default="")
    asked = parser.parse_args()
    found = []
    for name in asked.tables.split(","):
        schema, train, test = halves(name)
        print(json.dumps({"table": name, "rows": len(train["label"]), "real": area(schema, train, test)}), flush=True)
        private = pv.Table(train, columns=schema)
        for label, make in models(name, asked.models.split(",") if asked.models else ()).items():
            for seed in range(asked.seeds):
                begin = time.time()
                model = make().fit(private, epsilon=asked.epsilon, delta=DELTA)
                rows = model.sample(len(train["label"]) // 2)
                row = {
                    "table": name,
                    "model": label,
                    "seed": seed,
                    "epsilon": asked.epsilon,
                    **area(schema, rows, test),
                }
                found.append({**row, "seconds": round(time.time() - begin, 1)})
                print(json.dumps(found[-1]), flush=True)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "pate_tables.json"
    kept = json.loads(path.read_text()) if path.exists() else []  # tables may be run one by one
    kept = [row for row in kept if row["table"] not in asked.tables.split(",")]
    path.write_text(json.dumps(kept + found, indent=1))


if __name__ == "__main__":
    main()
