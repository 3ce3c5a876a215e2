"""Attacks of peers on what `benchmarks/attacks.py` has written down; run by an interpreter that has them, without privet.

    PYTHON attacks.py anonymeter FOLDER     (members.csv, made.csv, others.csv, facts.json)
    PYTHON attacks.py privacy_meter FILE    (npz: losses of the model and of shadow models on members and others)

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
            SinglingOutEvaluator(ori=members, syn=made, control=others, n_attacks=many, n_cols=3),
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

    inside = held["included"]
    places = {"train": np.flatnonzero(inside), "test": np.flatnonzero(~inside)}
    data = Dataset({k: {"x": v, "y": v} for k, v in places.items()}, default_input="x", default_output="y")
    many = len(inside)
    crowd = Dataset(
        {k: {"x": np.arange(many, many + len(held["model_population"])), "y": np.zeros(1)} for k in ("train", "test")},
        default_input="x", default_output="y",
    )  # fmt: skip
    rates = np.concatenate(([0.0], np.logspace(-5, 0, 200)))
    found: dict[str, Any] = {}
    for signal in ("loss", "odds"):
        target = np.concatenate((held[f"model_{signal}"], held[f"model_population{'_odds' * (signal == 'odds')}"]))
        shadows = [Told(row) for row in held[f"shadows_{signal}"]]
        own = InformationSource(models=[Told(target)], datasets=[data])
        for name in ("linear_itp_threshold_func", "logit_rescale_threshold_func", "gaussian_threshold_func"):
            test = getattr(hypothesis_test, name, None)
            if test is None or (name.startswith("logit") and signal == "odds"):
                continue
            for kind, reference in (
                (ReferenceMetric, InformationSource(models=shadows, datasets=[data])),
                (PopulationMetric, InformationSource(models=[Told(target)], datasets=[crowd])),
            ):
                key = f"{kind.__name__}, {signal}, {name.removesuffix('_threshold_func')}"
                try:
                    metric = kind(own, reference, [ModelLoss()], test)
                    metric.prepare_metric()
                    (told,) = metric.run_metric(rates)
                    guessed = np.asarray(told.predicted_labels).astype(bool)
                    truth = np.asarray(told.true_labels).astype(bool)
                    tpr, fpr = guessed[:, truth].mean(axis=1), guessed[:, ~truth].mean(axis=1)
                    found[key] = [float(tpr[fpr <= most].max(initial=0.0)) for most in (1e-3, 1e-2, 0.1)]
                except Exception as problem:
                    found[key] = f"{type(problem).__name__}: {problem}"[:160]
    numbers = [each for each in found.values() if isinstance(each, list)]
    found["best"] = np.max(numbers, axis=0).tolist() if numbers else None
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps({"anonymeter": anonymeter, "privacy_meter": privacy_meter}[sys.argv[1]](sys.argv[2])))
