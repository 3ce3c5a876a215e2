"""Attacks: membership on public data, reconstruction, re-identification and synthetic tables, beside peers where asked for.

    python benchmarks/attacks.py [--quick] [--only PART ...] [--tables NAME ...] [--peers PYTHON ...]

Data under PRIVET_DATA; figures as JSON in results/. Parts: membership (location30, a softmax model, with and without
privacy), network (digits of MNIST, a torch network, with and without), reconstruction, tables (adult, taxi, national2019),
synthetic (NAME is a beginning of a synthesizer's). PYTHON is an interpreter with privacy-meter, jax-privacy or anonymeter,
none of which is needed: they attack the same models and tables through `rivals/attacks.py`. Audits over rooms are in
`audits.py`, null calibration is in `attacks_null.py`.
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

Many = dict[str, Any]
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
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MLPClassifier((64,), max_iter=60, random_state=0).fit(x, y)
    model.seconds_ = time.process_time() - start
    return model


class Price:
    """What the attacks read off a model: its price."""

    def __init__(self, loss: pv.privacy.PrivacyLoss) -> None:
        self.loss = loss


class Noisy:
    """A softmax model by noisy sums of the rows of each class: a row that comes or goes moves one sum by 1 at most."""

    def __init__(self, x: np.ndarray, y: np.ndarray, epsilon: float, classes: np.ndarray) -> None:
        self.classes_, start = classes, time.process_time()
        unit = np.trunc(2**20 * x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-9)) / 2**20
        loss = pv.privacy.GaussianLoss(noise_multiplier=pv.accounting.calibrate(
            lambda s: pv.privacy.GaussianLoss(noise_multiplier=s), epsilon=epsilon, delta=1e-5))  # fmt: skip
        self.privacy_ = Price(loss)
        sums = np.stack([unit[y == each].sum(axis=0) for each in classes])
        wide = float(loss.noise_multiplier) * 2**20
        self.sums = sums + np.asarray(noise.rounded_gaussian(sigma=wide, size=sums.shape)) / 2**20
        self.seconds_ = time.process_time() - start

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        scores = 4.0 * (x @ self.sums.T) / np.maximum(np.linalg.norm(self.sums, axis=1), 1e-9)
        scores -= scores.max(axis=1, keepdims=True)
        return np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)


def probabilities(model: Any, x: np.ndarray) -> np.ndarray:
    """Of a model that says them, or of a torch network that gives logits."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(x))
    import torch

    with torch.no_grad():
        return torch.softmax(model(torch.as_tensor(x, dtype=torch.float32)).double(), dim=1).numpy()


def told_to_peers(pythons: list[str], model: Any, shadows: audit.Shadows, who: audit.Suspects, crowd: Any) -> Many:
    """The attacks of privacy-meter on the same model, shadow models and records, from their losses and log-odds."""

    def signals(each: Any, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        shares = probabilities(each, x)
        places = np.searchsorted(getattr(each, "classes_", np.arange(shares.shape[1])), y)
        own = shares[np.arange(len(y)), places]
        shares[np.arange(len(y)), places] = 0.0
        own, rest = (np.maximum(part, 1e-15) for part in (own, shares.sum(axis=1)))
        return -np.log(own), np.log(rest) - np.log(own)

    found = [signals(each, who.x, who.y) for each in shadows.models()]
    loss, odds = signals(model, who.x, who.y)
    crowd_loss, crowd_odds = signals(model, *crowd)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "signals.npz"
        np.savez(
            path, included=who.included, inside=shadows.inside(who.x, who.y), model_loss=loss, model_odds=odds,
            model_population=crowd_loss, model_population_odds=crowd_odds,
            shadows_loss=np.stack([each[0] for each in found]), shadows_odds=np.stack([each[1] for each in found]),
        )  # fmt: skip
        return from_peer(pythons, "privacy_meter", str(path))


def scored_by_peers(pythons: list[str], attacks: dict[str, audit.MembershipAttack]) -> Many:
    """What jax-privacy reads off the scores of our attacks: area, and members found at few false positives."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.npz"
        held = {which: each.scores.exact_value for which, each in attacks.items()}
        np.savez(path, **{f"{which}/{k}": part for which, pair in held.items() for k, part in enumerate(pair)})
        return from_peer(pythons, "jax_privacy", str(path))


def from_peer(pythons: list[str], which: str, where: str) -> Many:
    """What a peer said, by the first interpreter that has it, or why it said nothing."""
    script, why = str(Path(__file__).parent / "rivals" / "attacks.py"), []
    for python in pythons:
        done = subprocess.run([python, script, which, where], capture_output=True, text=True, check=False)
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if lines:
            found: Many = json.loads(lines[-1])
            return found
        why += done.stderr.strip().splitlines()[-1:]
    return {"failed": why}


def membership(quick: bool, peers: list[str] | None) -> Many:
    """LiRA, RMIA and the loss on location30."""
    held = np.load(ROOT / "location30" / "location30.npz")
    x, y = held["X"].astype(float), held["y"]
    order = np.random.default_rng(0).permutation(len(y))
    size, many = (600, 8) if quick else (2_000, 64)
    pool, rest = order[: 2 * size], order[2 * size : 3 * size]
    who = audit.Suspects.of(
        members=(x[pool[:size]], y[pool[:size]]), others=(x[pool[size:]], y[pool[size:]]), real=False,
        leave_out_shared=True,
    )  # fmt: skip
    apart = [place for place in rest if not (x[pool] == x[place]).all(axis=1).any()]
    crowd, classes = (x[apart], y[apart]), np.unique(y)
    trainers = {"none": plain, "1": lambda a, b: Noisy(a, b, 1.0, classes), "8": lambda a, b: Noisy(a, b, 8.0, classes)}
    found: Many = {"suspects": repr(who)}
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
                "rmia": audit.rmia(model, who, shadows, population=crowd),
            }
            name, spent = f"location30, epsilon {epsilon}", sum(each.seconds_ for each in shadows.models())
            found[name] = {"shadow seconds": seconds, "of CPU": spent, **shown(name, attacks)}
            print(f"  {many} shadow models in {seconds:.0f} s waited, {spent:.0f} s of CPU; {who}", flush=True)
            if peers is not None:
                found[name]["privacy-meter"] = told_to_peers(peers, model, shadows, who, crowd)
                found[name]["jax-privacy"] = scored_by_peers(peers, attacks)
                print(f"  privacy-meter: {found[name]['privacy-meter']}", flush=True)
                print(f"  jax-privacy: {found[name]['jax-privacy']}", flush=True)
    return found


def shown(name: str, attacks: dict[str, audit.MembershipAttack]) -> Many:
    """Every attack in a line, with what the price allows where there is one."""
    for which, each in attacks.items():
        tops = [each.ceiling(rate.fpr) for rate in each.exact_rates]
        few = ", ".join(
            f"{rate.fpr:g}: {rate.tpr}{'' if top is None else f' (allowed {top:.3g})'}"
            for rate, top in zip(each.exact_rates, tops, strict=True)
        )
        over = f"; ABOVE {[rate.fpr for rate in each.above_ceiling]}" if each.above_ceiling else ""
        print(f"{name}, {which}: area {each.exact_area.auc}; {few}{over}", flush=True)
    return {which: told(each) for which, each in attacks.items()}


def network(quick: bool, peers: list[str] | None) -> Many:
    """LiRA and RMIA on a torch network of few digits, without privacy and at epsilon 8."""
    import torch

    from privet import deep

    x, y = _digits()
    size, many, epochs = (150, 4, 10) if quick else (1_000, 16, 15)
    order = np.random.default_rng(1).permutation(len(y))
    pool, rest = order[: 2 * size], order[2 * size : 3 * size]
    batch = 50
    plan = deep.Plan(
        epsilon=8.0, delta=1e-5, steps=epochs * size // batch, sampling=deep.Poisson(q=batch / size), clip_norm=1.0
    )
    cross = torch.nn.functional.cross_entropy

    def net() -> Any:
        with noise.own_stream(int(noise.uniform_int(bound=2**31))):
            return torch.nn.Sequential(torch.nn.Linear(x.shape[1], 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))

    def plainly(a: np.ndarray, b: np.ndarray) -> Any:
        made = net()
        rows, labels = torch.as_tensor(a, dtype=torch.float32), torch.as_tensor(b, dtype=torch.long)
        optimizer = torch.optim.Adam(made.parameters(), lr=1e-3)
        for epoch in range(epochs):
            for part in torch.as_tensor(np.random.default_rng(epoch).permutation(len(rows))).split(batch):
                optimizer.zero_grad()
                cross(made(rows[part]), labels[part]).backward()
                optimizer.step()
        return made

    def privately(a: np.ndarray, b: np.ndarray) -> Any:
        made = net()
        rows, labels = torch.as_tensor(a, dtype=torch.float32), torch.as_tensor(b, dtype=torch.long)
        each = lambda out, target: cross(out, target, reduction="none")  # noqa: E731
        trainer = deep.Trainer(made, torch.optim.SGD(made.parameters(), lr=0.5), each, plan)
        trainer.fit(list(zip(rows, labels, strict=True)))
        return made

    who = audit.Suspects.of(
        members=(x[pool[:size]], y[pool[:size]]), others=(x[pool[size:]], y[pool[size:]]), real=False
    )
    found: Many = {}
    for name, train, claim in (("none", plainly, None), ("8", privately, plan.loss)):
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            shadows = audit.shadow_models(train, (x[pool], y[pool]), many=many, folder=folder)
            seconds, model = time.perf_counter() - start, train(x[pool[:size]], y[pool[:size]])
            attacks = {
                "loss": audit.loss_attack(model, who, claim=claim),
                "lira": audit.lira(model, who, shadows, claim=claim),
                "rmia": audit.rmia(model, who, shadows, population=(x[rest], y[rest]), claim=claim),
            }
            told = None if peers is None else told_to_peers(peers, model, shadows, who, (x[rest], y[rest]))
        right = float((model(torch.as_tensor(x[rest], dtype=torch.float32)).argmax(1).numpy() == y[rest]).mean())
        found[f"epsilon {name}"] = {
            "right": right,
            "shadow seconds": seconds,
            **shown(f"digits, epsilon {name}", attacks),
        }
        print(f"  {many} shadow networks in {seconds:.0f} s, right on others {right:.3f}", flush=True)
        if told is not None:
            found[f"epsilon {name}"]["privacy-meter"] = told
            found[f"epsilon {name}"]["jax-privacy"] = scored_by_peers(peers or [], attacks)
            print(f"  privacy-meter: {told}", flush=True)
            print(f"  jax-privacy: {found[f'epsilon {name}']['jax-privacy']}", flush=True)
    return found


def _digits() -> tuple[np.ndarray, np.ndarray]:
    for path in sorted((ROOT / "mnist").glob("*.npz")):
        held = np.load(path)
        names = list(held)
        images = next(held[name] for name in names if held[name].ndim >= 2)
        labels = next(held[name] for name in names if held[name].ndim == 1)
        return images.reshape(len(images), -1) / 255.0, labels.astype(int)
    raise SystemExit("no digits under PRIVET_DATA/mnist")


def reconstruction(quick: bool, peers: list[str] | None) -> Many:
    """Shares of right bits of 128 from 512 counts, by least squares and by a linear programme."""
    del peers
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


def tables(quick: bool, peers: list[str] | None) -> Many:
    """Shares of rows that are alone, and in cells below 5."""
    del peers
    found: Many = {}
    for path, sets in QUASI.items():
        if quick and "acs" not in path:  # the others are slow tests of the suite
            continue
        table = table_of(path)
        for quasi in sets:
            risk = audit.exact_reidentification(table, quasi=quasi or list(table.columns))
            name = f"{Path(path).stem.removesuffix('.csv')}: {', '.join(quasi) or 'all columns'}"
            found[name] = [round(risk.exact_unique, 4), round(risk.exact_small, 4), risk.rows]
            print(f"{name}: alone {found[name][0]}, below 5 {found[name][1]} of {risk.rows:,}", flush=True)
    return found


NAMES = ["sex", "race", "education", "marital-status", "income"]
GUESSES = 300


def synthesizers(kinds: dict[str, Any], size: int) -> dict[str, tuple[Any, float, int]]:
    """Makers of tables, what they claim, and how many tables judge them; those that keep a row claim 1 all the same.

    The second copies the last hundredth of the rows as they are, and makes the others up column by column. A fitted model
    draws a public number of rows: as many as it was fitted to would give away whether the odd record was one of them.
    """

    def fitted(model: Any, epsilon: float) -> Any:
        def make(part: Many) -> Many:
            held = model.fit(pv.Table(dict(part), columns=kinds), epsilon=epsilon, delta=1e-9)
            drawn = held.sample(size)
            return {name: np.asarray(drawn[name]) for name in NAMES}

        return make

    def columns(part: Many) -> Many:
        rng = np.random.default_rng()
        return {name: np.asarray(v)[rng.integers(0, len(v), len(v))] for name, v in part.items()}

    def hundredth(part: Many) -> Many:
        made, copied = columns(part), max(1, len(part["sex"]) // 100)
        last = {name: np.asarray(values)[-copied:] for name, values in part.items()}
        return {name: np.concatenate((values[:-copied], last[name])) for name, values in made.items()}

    runs = 100  # fewer cannot refute a claim of 1 at this level
    makers: dict[str, tuple[Any, float, int]] = {
        "copy": (dict, 1.0, runs),
        "1% copied": (hundredth, 1.0, runs),
        "Independent without noise (epsilon 1e6)": (fitted(synth.Independent(), 1e6), 1.0, runs),
    }
    for model in (synth.MST, synth.AIM):
        for epsilon in (1.0, 10.0):
            makers[f"{model.__name__}, epsilon {epsilon:g}"] = (fitted(model(), epsilon), epsilon, runs)
    return makers


def synthetic(quick: bool, peers: list[str] | None, which: tuple[str, ...] = ("",)) -> Many:
    """Copies and columns by themselves, without noise, beside private synthesizers: who is accused."""
    n = 300 if quick else 1_500
    with gzip.open(ROOT / "adult/adult_train.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))[: 2 * n]
    held = {name: np.array([row[name] for row in rows]) for name in NAMES}
    kinds = {name: pv.Category(sorted(set(values.tolist()) | {"?"})) for name, values in held.items()}
    members, others = ({name: values[part] for name, values in held.items()} for part in (slice(0, n), slice(n, 2 * n)))
    target = {**{name: str(values[0]) for name, values in members.items()}, "race": "?", "education": "?"}
    small = {name: values[:100].tolist() for name, values in members.items()}
    found: Many = {}
    makers = synthesizers(kinds, n)
    for name, (make, claim, runs) in makers.items():
        if name not in which and not name.startswith(tuple(each for each in which if each not in makers)):
            continue
        start, made = time.process_time(), make(members)
        rates = audit.exact_synthetic_rates(members, made, others, secret="income", known=NAMES[:2], guesses=GUESSES)
        seen = audit.synthetic(
            make, small, target, claim=pv.privacy.ApproxLoss(claim, 1e-9), shadows=6, runs=runs, alpha=1e-3
        )
        ours = {kind: [each.members.rate.value, each.others.rate.value] for kind, each in rates.named.items()}
        found[name] = {
            "verdict": seen.verdict, "rates accused": rates.accused, "tables": seen.trainings, "rates": ours,
            "bound": seen.lower.lower, "ceiling": seen.lower.ceiling, "seconds": time.process_time() - start,
        }  # fmt: skip
        effort = f"{seen.trainings} tables, {found[name]['seconds']:.0f} CPU s"
        print(f"{name}: {seen.verdict} (claim {claim:g}, {effort}, nothing above {seen.lower.ceiling:.2g} is refuted); "
              f"rates that accuse: {', '.join(rates.accused) or 'none'}; {ours}", flush=True)  # fmt: skip
        if peers is not None:
            found[name]["anonymeter"] = anonymeter(peers, members, made, others)
            print(f"  anonymeter: {found[name]['anonymeter']}", flush=True)
    return found


def anonymeter(pythons: list[str], members: Many, made: Many, others: Many) -> Many:
    """Anonymeter's rates on the same rows: in the data, not in it, and its risk with its interval."""
    with tempfile.TemporaryDirectory() as folder:
        for name, table in (("members", members), ("made", made), ("others", others)):
            with (Path(folder) / f"{name}.csv").open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(NAMES)
                writer.writerows(zip(*(table[column] for column in NAMES), strict=True))
        facts = {"secret": "income", "known": NAMES[:2], "guesses": GUESSES}
        (Path(folder) / "facts.json").write_text(json.dumps(facts))
        return from_peer(pythons, "anonymeter", folder)


PARTS = {
    "reconstruction": reconstruction, "tables": tables, "membership": membership, "network": network,
    "synthetic": synthetic,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="*", choices=tuple(PARTS), default=tuple(PARTS))
    parser.add_argument("--tables", nargs="+", metavar="NAME", help="of the part synthetic: these alone")
    parser.add_argument("--peers", nargs="+", metavar="PYTHON")
    asked = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "attacks.json"
    for part in asked.only:
        if part == "synthetic" and asked.tables:
            found = synthetic(asked.quick, asked.peers, tuple(asked.tables))
        else:
            found = PARTS[part](asked.quick, asked.peers)
        known = json.loads(path.read_text()) if path.exists() else {}  # of other runs, which may have ended meanwhile
        known[part] = {**known.get(part, {}), **found}
        path.write_text(json.dumps(known, indent=1, default=str))


if __name__ == "__main__":
    main()
