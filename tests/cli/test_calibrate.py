"""`privet calibrate` finds the least noise, and what it prints is what it checked."""

import json
import re

import pytest

from privet import accounting, privacy


def training(noise_multiplier, steps=14_062):
    return privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(noise_multiplier), q=0.00427), steps)


def test_the_noise_of_a_training_run(privet):
    command = "calibrate gaussian --epsilon 3 --delta 1e-5 --q 0.00427 --steps 14062"
    outcome = privet(*command.split())
    assert outcome.code == 0, outcome.err
    printed = float(re.search(r"noise multiplier +([\d.]+)", outcome.out)[1])
    assert printed == pytest.approx(0.9688, abs=5e-4)
    assert accounting.epsilon(training(printed), delta=1e-5).upper <= 3.0
    assert accounting.epsilon(training(printed * 0.999), delta=1e-5).upper > 3.0
    assert re.search(r"99\.\d+% of the target", outcome.out)


@pytest.mark.parametrize(
    ("command", "parameter", "make"),
    [
        ("laplace --epsilon 1 --delta 0 --steps 10", "scale", lambda s: privacy.Repeated(privacy.LaplaceLoss(s), 10)),
        ("pure --epsilon 1 --delta 1e-6 --steps 50", "epsilon0", lambda e: privacy.Repeated(privacy.PureLoss(e), 50)),
        ("zcdp --epsilon 1 --delta 1e-6", "rho", privacy.ZcdpLoss),
        ("gdp --epsilon 1 --delta 1e-6", "mu", privacy.GdpLoss),
        ("k-rr --k 5 --epsilon 1 --delta 0", "epsilon0", lambda e: privacy.KRRLoss(5, e)),
        ("discrete-gaussian --epsilon 1 --delta 1e-6", "sigma", privacy.DiscreteGaussianLoss),
    ],
)
def test_every_kind_lands_just_below_its_target(privet, command, parameter, make):
    outcome = privet("calibrate", *command.split(), "--json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)["calibration"]
    assert found["parameter"] == parameter
    delta = float(command.split("--delta ")[1].split()[0])
    price = accounting.epsilon(make(found["value"]), delta=delta).upper
    assert 0.99 < price <= 1.0
    assert found["achieved"] == pytest.approx(price)
    assert len(f"{found['value']:.12g}".replace(".", "").lstrip("0")) <= 6  # short enough to be typed


def test_the_most_steps(privet):
    command = "calibrate gaussian --find steps --noise-multiplier 1 --q 0.01 --epsilon 2 --delta 1e-5 --json"
    steps = json.loads(privet(*command.split()).out)["calibration"]["value"]
    step = privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=0.01)
    assert isinstance(steps, int)
    assert accounting.epsilon(privacy.Repeated(step, steps), delta=1e-5).upper <= 2.0
    assert accounting.epsilon(privacy.Repeated(step, steps + 3), delta=1e-5).upper > 2.0


def test_the_largest_sampling_rate(privet):
    command = "calibrate laplace --find q --scale 1 --epsilon 0.1 --delta 0 --json"
    q = json.loads(privet(*command.split()).out)["calibration"]["value"]
    assert accounting.epsilon(privacy.PoissonSampled(privacy.LaplaceLoss(1.0), q=q), delta=0.0).upper <= 0.1
    assert q > 0.06  # (e^0.1 - 1)/(e - 1) = 0.0612


@pytest.mark.parametrize("target", ["--advantage 0.1", "--tpr 0.02 --fpr 0.01"])
def test_targets_in_terms_of_attacks(privet, target):
    outcome = privet("calibrate", "gaussian", *target.split(), "--delta", 1e-5, "--steps", 100, "--json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)["calibration"]
    loss = privacy.Repeated(privacy.GaussianLoss(found["value"]), 100)
    reached = accounting.advantage(loss).upper if "advantage" in target else 1.0 - accounting.tradeoff(loss, 0.01)
    assert 0.99 * found["limit"] < reached <= found["limit"]
