"""Audits with power: trainings whose gradient is the record, with and without a canary, some hundred times.

A sound training stays below its claim, for every sampler and engine; one with half the noise, or without a clip, does not.
The claim is the whole curve of the plan, not a single epsilon: at epsilon 0 half the noise shows after some hundred runs.
"""

import pytest

torch = pytest.importorskip("torch")

from privet import audit  # noqa: E402
from privet.deep import BallsInBins, FixedOrder, FixedSize, Flat, Plan, Poisson, TruncatedPoisson  # noqa: E402
from privet.deep.records import Records  # noqa: E402
from privet.deep.training import Knobs, training_of  # noqa: E402
from privet.privacy import Unit  # noqa: E402

OTHERS = torch.tensor([[0.0, 1.0]] * 3)
CANARY = torch.tensor([3.0, 0.0])  # clipped to 1, at right angles to the others
NULL = torch.full((1, 2), torch.nan)
SAMPLERS = {
    "poisson": (Poisson(q=0.9), "add_remove"),
    "truncated": (TruncatedPoisson(q=0.9, batch=4, n=4), "zero_out"),
    "fixed size": (FixedSize(m=3, n=4), "replace"),
    "bins": (BallsInBins(steps=2), "add_remove"),
    "fixed order": (FixedOrder(batch=4, n=4), "zero_out"),
}


def plan_of(name: str, clip: Flat | None = None) -> Plan:
    sampling, relation = SAMPLERS[name]
    noise = 2.0 if relation == "replace" else 1.0  # a replaced record moves a sum by twice the clip
    return Plan(
        noise_multiplier=noise,
        delta=1e-5,
        steps=sampling.round_steps,
        sampling=sampling,
        unit=Unit(relation),
        expected_batch=2.0,
        clip=clip,
    )


def audited(plan: Plan, *, of: float = 1.0, engine: str = "auto", runs: int = 800) -> audit.TrainingAudit:
    """The audit of a training with so much of the noise that its plan says, against the price of the plan."""
    made = Plan.from_dict({**plan.to_dict(), "noise_multiplier": of * plan.noise_multiplier}) if of != 1.0 else plan
    trained, relation = training_of(made, 2, Knobs(engine=engine)), plan.unit.relation

    def train(rows: Records) -> float:
        missing = rows.exact_count() < 4 and relation == "zero_out"
        world = rows.extended([(NULL[0],)]) if missing else rows
        return float(trained.release(world).value["weight"][0])

    return audit.training(
        train,
        [(CANARY,)],
        lambda moved, canary: moved,
        claim=plan.loss,
        data=Records((OTHERS,)),
        otherwise=[(-CANARY,)] if relation == "replace" else None,
        runs=runs,
        alpha=0.05 if of != 1.0 else 1e-6,
    )


def test_half_of_the_noise_is_refuted():
    assert audited(plan_of("poisson"), of=0.5, runs=600).verdict == "violated"


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLERS)
def test_a_sound_training_is_not_refuted_and_one_with_half_the_noise_is(name):
    assert audited(plan_of(name)).verdict == "not refuted"
    assert audited(plan_of(name), of=0.5).verdict == "violated"


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["bookkeeping", "vmapped", "microbatch"])
def test_every_engine_stays_below_its_claim_and_shows_half_the_noise(engine):
    assert audited(plan_of("poisson"), engine=engine).verdict == "not refuted"
    assert audited(plan_of("poisson"), of=0.5, engine=engine).verdict == "violated"


class Unclipped(Flat):
    """Clipping that says its norm and does nothing."""

    def factors(self, norms):
        return torch.ones_like(norms)


@pytest.mark.slow
def test_a_missing_clip_is_refuted():
    assert audited(plan_of("poisson", clip=Unclipped(1.0))).verdict == "violated"
