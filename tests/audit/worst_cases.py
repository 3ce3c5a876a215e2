"""Worst cases of the rooms that train: one record, a score that reads it off, and a twin with too little noise.

An audit of a training on its own examples is a few runs, and has no power: half of the noise passes. Here a run takes
milliseconds and nothing hides the record, so that a few hundred runs refute the twin.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from privet import audit, deep, pate, synth
from privet.privacy import Guarantee, PrivacyLoss, Unit
from privet.synth.small_examples import data_of, task_of
from privet.tables import Bool, Data, Rows

DELTA = 1e-5


@dataclass(frozen=True)
class WorstCase:
    """A training, one record, and how to tell from what comes out whether it was there."""

    name: str
    loss: PrivacyLoss
    train: Callable[[Any], Any]
    twin: Callable[[Any], Any]  # the same with too little noise
    flaw: str
    data: list[Any]
    canary: Any
    score: Callable[[Any, Any], float]
    otherwise: list[Any] | None = None
    threshold: float | None = None  # fixed before anything is run, where the midst is known
    runs: int = 400

    def audited(self, alpha: float, *, broken: bool = False) -> audit.TrainingAudit:
        return audit.training(
            self.twin if broken else self.train, [self.canary], self.score, claim=self.loss, data=self.data,
            otherwise=self.otherwise, threshold=self.threshold, runs=self.runs, alpha=alpha, delta=DELTA,
        )  # fmt: skip


def samplers() -> list[tuple[Any, float, int]]:
    """Every sampler of `deep`, the noise that is claimed, and the runs that refute half of it.

    A record that takes part by a coin is hidden where the coin says no, so that the coin says yes nine times in ten; of a
    sum of two steps with noise each, and of a node of a tree, it takes more runs. (The trade-off curve of a random
    allocation is known where noise is not small.)
    """
    return [
        (deep.Poisson(q=0.9), 0.5, 400),
        (deep.TruncatedPoisson(q=0.9, batch=3, n=3), 0.5, 400),
        (deep.FixedSize(m=9, n=10), 1.0, 400),
        (deep.BallsInBins(steps=2), 1.5, 1200),
        (deep.FixedOrder(batch=3, n=3), 0.5, 400),
        (deep.BandedPoisson(q=0.5, bands=2), 0.6, 600),
        (deep.TreeOrder(batch=2, n=4), 0.5, 900),
    ]


def training(sampling: Any, claimed: float, runs: int, taken: Any = None) -> WorstCase:
    """One record in a direction of its own: the model is linear, so that its gradient is the record.

    The twin has half of the noise, or it is the sampler `taken` that chooses its records."""
    import torch

    from privet.deep.training import training_of

    along, other = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])
    unit, size = Unit(sampling.relations[0]), getattr(sampling, "n", 3)
    none = torch.full((2,), torch.nan) if unit.relation == "zero_out" else None  # a record that is none stands in

    def planned(multiplier: float, by: Any = sampling) -> deep.Plan:
        return deep.Plan(
            noise_multiplier=multiplier, delta=DELTA, steps=by.round_steps, sampling=by, unit=unit, expected_batch=1.0,
        )  # fmt: skip

    def train(rows: list[Any], made: Any) -> Any:
        there = [*rows, none] if none is not None and len(rows) < size else rows
        return made.release(deep.Records((torch.stack(there),))).value

    broken = planned(claimed / 2.0) if taken is None else planned(claimed, taken)
    whole, worse = training_of(planned(claimed), 2), training_of(broken, 2)
    return WorstCase(
        name=f"deep_training, {type(sampling).__name__}{'' if taken is None else ', seldom'}",
        loss=planned(claimed).loss,
        train=lambda rows: train(rows, whole),
        twin=lambda rows: train(rows, worse),
        flaw="half of the noise" if taken is None else "everybody takes part",
        data=[other] * (size - 1),
        canary=along,
        score=lambda output, canary: float(output["weight"] @ canary.numpy()),
        otherwise=[-along] if unit.relation == "replace" else None,
        threshold=0.0 if unit.relation == "replace" else 0.5,
        runs=runs,
    )


def pate_gan() -> WorstCase:
    """One teacher whose only row says yes or no: its vote differs on every point.

    All networks are one layer on one column. With many latent numbers half of the first points say yes; a student that
    learns all labels has the slope that they have, and a generator that follows it to the end says yes or no throughout.
    """
    asked: dict[str, Any] = {"teachers": 1, "labels": 32, "batch": 32, "hidden": (), "latent": 64, "label_share": 0.0}
    made = pate.PATEGAN(**asked, student_steps=150, generator_steps=60, rate=0.2)
    plan = made.plan(({"ill": Bool()}, Rows(relation="replace")), epsilon=1.0, delta=DELTA)

    def train(rows: list[bool], plan: Any) -> Any:
        return plan.release(Data({"table": {"ill": np.array(rows, dtype=bool)}})).value

    little = replace(plan, sigma=plan.sigma / 10.0)
    return WorstCase(
        name="pate_gan, one row",
        loss=plan.loss,
        train=lambda rows: train(rows, plan),
        twin=lambda rows: train(rows, little),
        flaw="a tenth of the noise",
        data=[],
        canary=True,
        otherwise=[False],
        score=lambda model, canary: float(np.mean(model.sample(100)["ill"] == canary)),
        threshold=0.5,
        runs=600,
    )


def columns() -> WorstCase:
    """One row that moves from one value to another, which takes 1 from one count and adds it to the other.

    Where both noisy counts lie beyond those of the two tables the ratio of the laws is as large as it can be."""
    made, added = (synth.Independent()._plan(task_of(each, (2,)), Guarantee(1.0)) for each in ("replace", "add_remove"))

    def score(model: Any, canary: list[int]) -> float:
        (told,) = model.measurements
        there, gone = np.clip(told.values, 0.0, 1.0)[canary[0]], np.clip(told.values, 0.0, 1.0)[1 - canary[0]]
        return float(there - gone)

    return WorstCase(
        name="synth_independent, replaced",
        loss=made.loss,
        train=lambda rows: made.release(data_of(rows)).value,
        twin=lambda rows: added.release(data_of(rows)).value,
        flaw="at the price of an added row",
        data=[],
        canary=[0],
        otherwise=[[1]],
        score=score,
        threshold=0.5,
        runs=1000,
    )


def cases() -> dict[str, Callable[[], WorstCase]]:
    """Makers of all of them, by the mechanism and what is special about it."""
    found: dict[str, Callable[[], WorstCase]] = {
        f"deep_training, {type(sampling).__name__}": partial(training, sampling, claimed, runs)
        for sampling, claimed, runs in samplers()
    }
    seldom = partial(training, deep.Poisson(q=0.2), 0.5, 200, deep.Poisson(q=1.0))
    found |= {"deep_training, Poisson, seldom": seldom, "pate_gan, one row": pate_gan}
    return {**found, "synth_independent, replaced": columns}
