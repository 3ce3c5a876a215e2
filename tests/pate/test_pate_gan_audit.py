"""PATE-GAN against an attack on the worst case: one teacher whose only row is there or not."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from privet import accounting, audit, pate  # noqa: E402
from privet.pate.gans.small_rows import single_pair  # noqa: E402
from privet.privacy import Guarantee  # noqa: E402
from privet.tables import Data  # noqa: E402

RUNS = 600


def plan():
    """The plan of one teacher at an epsilon of 1, in networks so small that hundreds of runs are a minute."""
    asked = {"teachers": 1, "labels": 4, "batch": 4, "hidden": (4,), "latent": 2, "teacher_steps": 15}
    made = pate.PATEGAN(**asked, student_steps=10, generator_steps=10, label_share=0.0)
    return made._plan(single_pair(True)[0], Guarantee(1.0, 1e-5))


def attacked(trained, claim):
    def train(rows):
        return trained.release(Data({"people": {"ill": np.array(rows, dtype=bool)}})).value

    def score(model, canary):
        return float(np.mean(model.sample(100)["ill"] == canary))

    return audit.training(train, [True], score, claim=claim, data=[], runs=RUNS, delta=1e-5)


@pytest.mark.slow
def test_the_attack_does_not_refute_an_epsilon_of_1():
    claimed = plan()
    assert 0.99 < accounting.epsilon(claimed.loss, delta=1e-5).upper <= 1.0
    found = attacked(claimed, claimed.loss)
    assert found.verdict == "not refuted"
    assert found.lower.lower <= 1.0


@pytest.mark.slow
def test_the_attack_refutes_labels_with_a_tenth_of_the_noise():
    claimed = plan()
    assert attacked(replace(claimed, sigma=claimed.sigma / 10.0), claimed.loss).verdict == "violated"
