"""Attacks of peers on what `benchmarks/attacks.py` has written down; run by an interpreter that has them, without privet.

    PYTHON attacks.py anonymeter FOLDER     (members.csv, made.csv, others.csv, facts.json)
    PYTHON attacks.py privacy_meter FILE    (npz: losses of the model and of shadow models on members and others)
    PYTHON attacks.py jax_privacy FILE      (npz: scores of members and of others, by attack)

The last line is JSON. privacy-meter imports TensorFlow, PyTorch and opacus at its start, of which its attacks on given
losses use nothing: where they are missing, empty modules stand in for them.
"""

import importlib.util
import json
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np


def anonymeter(folder: str) -> dict[str, Any]:
    """Singling out, linkability and inference with their control groups, by Anonymeter's own settings."""
    import pandas as pd
    from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

    home = Path(folder)
    facts = json.loads((home / "facts.json").read_text())
    members, made, others = (pd.read_csv(home / f"{name}.csv", dtype=str) for name in ("members", "made", "others"))
    many, rest = facts["guesses"], [name for name in members if name != facts["secret"]]
    second = [name for name in members if name not in facts["known"]]
    asked: dict[str, tuple[Any, dict[str, Any]]] = {
        "singling out": (
            SinglingOutEvaluator(ori=members, syn=made, control=others, n_attacks=many, n_cols=3, max_attempts=2_000),
            {"mode": "multivariate"},
        ),
        "linkability": (
            LinkabilityEvaluator(
                ori=members, syn=made, control=others, n_attacks=many, aux_cols=(facts["known"], second), n_neighbors=1
            ),
            {"n_jobs": 1},
        ),
        "inference": (
            InferenceEvaluator(
                ori=members, syn=made, control=others, aux_cols=rest, secret=facts["secret"], n_attacks=many
            ),
            {"n_jobs": 1},
        ),
    }
    found: dict[str, Any] = {}
    for name, (evaluator, settings) in asked.items():
        try:
            told = evaluator.evaluate(**settings).results()
            risk = told.risk()
            found[name] = [told.attack_rate.value, told.control_rate.value, risk.value, *risk.ci]
        except Exception as problem:
            found[name] = f"{type(problem).__name__}: {problem}"[:120]
    return found


def privacy_meter(path: str) -> dict[str, Any]:
    """Members found at 0.1%, 1% and 10% of false positives by its population and reference attacks; the best of all."""
    for name in ("tensorflow", "torch", "opacus"):
        if importlib.util.find_spec(name) is None:
            sys.modules[name] = types.ModuleType(name)
            if name != "tensorflow":  # what is asked for at the start, here and by scipy
                setattr(sys.modules[name], {"torch": "Tensor", "opacus": "GradSampleModule"}[name], type(name, (), {}))
    from privacy_meter import hypothesis_test
    from privacy_meter.dataset import Dataset
    from privacy_meter.information_source import InformationSource
    from privacy_meter.information_source_signal import ModelLoss
    from privacy_meter.metric import PopulationMetric, ReferenceMetric
    from privacy_meter.model import Model

    held = np.load(path)

    class Told(Model):  # type: ignore[misc]
        """A model whose losses are known: records are given as their places."""

        def __init__(self, losses: np.ndarray) -> None:
            self.losses = losses

        def get_loss(self, batch_samples: Any, batch_labels: Any, per_point: bool = True) -> Any:
            return self.losses[np.asarray(batch_samples, dtype=int)]

        get_logits = get_grad = get_intermediate_outputs = get_loss

    member = held["included"]
    places = {"train": np.flatnonzero(member), "test": np.flatnonzero(~member)}
    data = Dataset({k: {"x": v, "y": v} for k, v in places.items()}, default_input="x", default_output="y")
    many = len(member)
    crowd = Dataset(
        {k: {"x": np.arange(many, many + len(held["model_population"])), "y": np.zeros(1)} for k in ("train", "test")},
        default_input="x", default_output="y",
    )  # fmt: skip
    rates = np.concatenate(([0.0], np.logspace(-15, 0, 600)))
    found: dict[str, Any] = {}
    for signal in ("loss", "odds"):
        target = np.concatenate((held[f"model_{signal}"], held[f"model_population{'_odds' * (signal == 'odds')}"]))
        own = InformationSource(models=[Told(target)], datasets=[data])
        seen = held[f"shadows_{signal}"]
        without = without_it(seen, held["inside"])
        against = {
            "reference": (ReferenceMetric, InformationSource(models=[Told(row) for row in seen], datasets=[data])),
            "reference, untrained": (
                ReferenceMetric, InformationSource(models=[Told(row) for row in without], datasets=[data]),
            ),
            "population": (PopulationMetric, InformationSource(models=[Told(target)], datasets=[crowd])),
        }  # fmt: skip
        for name in ("linear_itp", "logit_rescale", "gaussian", "min_linear_logit"):
            if "logit" in name and signal == "odds":
                continue
            for kind, (metric, reference) in against.items():
                try:
                    asked = metric(own, reference, [ModelLoss()], getattr(hypothesis_test, f"{name}_threshold_func"))
                    asked.prepare_metric()
                    (told,) = asked.run_metric(rates)
                    found[f"{kind}, {signal}, {name}"] = at_few(told)
                except Exception as problem:
                    found[f"{kind}, {signal}, {name}"] = f"{type(problem).__name__}: {problem}"[:160]
        found[f"shadow, {signal}"] = at_few_scores(-held[f"model_{signal}"], member)
    numbers = [each for each in found.values() if isinstance(each, list)]
    found["best"] = np.max(numbers, axis=0).tolist() if numbers else None
    return found


def jax_privacy(path: str) -> dict[str, Any]:
    """Of scores that are given: the area, members found at 0.1%, 1% and 10%, and the latter's 95% interval by bootstrap."""
    from jax_privacy import auditing

    held = np.load(path)
    found: dict[str, Any] = {}
    for name in sorted({key.partition("/")[0] for key in held}):
        seen = auditing.CanaryScoreAuditor(held[f"{name}/0"], held[f"{name}/1"])
        often = auditing.BootstrapParams(num_samples=200, quantiles=(0.025, 0.975), seed=0)
        found[name] = {
            "area": float(seen.attack_auroc()),
            "found": np.asarray(seen.tpr_at_given_fpr(np.array([1e-3, 1e-2, 0.1]))).tolist(),
            "at .1%, bootstrap": np.asarray(seen.tpr_at_given_fpr(1e-3, bootstrap_params=often)).tolist(),
        }
    return found


def without_it(seen: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Each record on models that were not trained on it, as many for all: what the reference attack assumes."""
    few = int((~inside).sum(axis=0).min())
    order = np.argsort(inside, axis=0, kind="stable")[:few]
    return np.take_along_axis(seen, order, axis=0)


def at_few(told: Any) -> list[float]:
    """Members found at 0.1%, 1% and 10% of false positives that were really made, over all thresholds that were tried."""
    guessed, truth = (np.asarray(each).astype(bool) for each in (told.predicted_labels, told.true_labels))
    tpr, fpr = guessed[:, truth].mean(axis=1), guessed[:, ~truth].mean(axis=1)
    return [float(tpr[fpr <= most].max(initial=0.0)) for most in (1e-3, 1e-2, 0.1)]


def at_few_scores(scores: np.ndarray, member: np.ndarray) -> list[float]:
    """The same of one score for each record, over every threshold.

    The shadow attack is a logistic model of one signal: it orders records as the signal does.
    """
    others = np.sort(scores[~member])[::-1]
    return [float((scores[member] > others[int(most * len(others))]).mean()) for most in (1e-3, 1e-2, 0.1)]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    asked = {"anonymeter": anonymeter, "privacy_meter": privacy_meter, "jax_privacy": jax_privacy}
    print(json.dumps(asked[sys.argv[1]](sys.argv[2])))
