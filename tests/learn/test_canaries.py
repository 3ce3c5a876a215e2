"""A canary for every fit of this room: a pair on which an audit refutes half of the price, and so half of the noise.

Pairs are chosen by the exact law: few records, the longest row and the steepest loss, one release that decides. Where no
pair shows half of a price (choices between opposite scores, a search), the claim is cut to a quarter of it.
"""

from dataclasses import fields, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from privet import audit
from privet.audit import Pairs
from privet.learn import LinearSVC
from privet.learn.losses import Huber, HuberHinge, Softmax, Squared
from privet.learn.problem import ArrayRecords, Classes, Interval, Task
from privet.learn.search import SearchFit
from privet.learn.solvers import (
    BoostedSSP,
    BoughtNorm,
    ColumnMoments,
    ColumnRanges,
    CoordinateDescent,
    CurvatureFit,
    FrankWolfe,
    GreedyCoordinateDescent,
    GridExponential,
    NoisyGD,
    NoisyGram,
    NoisyLloyd,
    NoisySGD,
    ObjectivePerturbation,
    OutputPerturbation,
    Preconditioned,
    ProjectedSGD,
    SufficientStatistics,
    TukeyEM,
)
from privet.mechanisms import Mechanism, registered_mechanisms
from privet.privacy import Guarantee, Unit
from privet.testing.rooms import load_rooms
from tests.firsts import slow

REPLACE = Unit("replace")
TWO, NUMBERS = Classes((0, 1)), Interval(-1.0, 1.0)
MU, PURE = Guarantee(mu=3.5), Guarantee(4.0)
LIKE_MU = Guarantee(19.0, 1e-5)  # about the same
HINGE = HuberHinge()  # at 0 its slope is 1, the largest


def task(target: Any = TWO, unit: Unit = REPLACE, **facts: Any) -> Task:
    return Task(features=1, row_norm=1.0, intercept=False, target=target, unit=unit, **facts)


def records(rows: list[float], targets: list[float] | None) -> ArrayRecords:
    return ArrayRecords(np.array(rows, dtype=float).reshape(-1, 1), None if targets is None else np.array(targets))


ONE, OPPOSITE, NOBODY = records([1.0], [1]), records([-1.0], [1]), records([], np.zeros(0, dtype=int))
LIFTED = records([1.0] * 60, [1.0] + [0.0] * 59), records([1.0] * 60, [-1.0] + [0.0] * 59)  # a Gram above its noise


WITHIN = {
    "person_fit"
}  # runs another fit: its noise is that one's, and its price for a group of rows has tests of its own


class Canary(NamedTuple):
    """A plan, a pair of neighbours, and by how much its noise is said to be larger in the claim that must be refuted."""

    plan: Any
    left: Any
    right: Any
    times: float = 2.0
    runs: int = 120


def louder(made: Any, times: float, *names: str) -> Any:
    """The same mechanism with `times` the noise, in all of its parts or in the named ones: its price is a weaker claim."""
    changed: dict[str, Any] = {}
    for field in fields(made):
        value = getattr(made, field.name)
        if names and field.name not in names:
            continue
        if field.name in ("scale", "sigma"):
            changed[field.name] = value * times
        elif isinstance(value, Mechanism):
            changed[field.name] = louder(value, times)
        elif isinstance(value, tuple) and value and all(isinstance(each, Mechanism) for each in value):
            changed[field.name] = tuple(louder(each, times) for each in value)
    return replace(made, **changed)


def one_step(solver: Any, unit: Unit = REPLACE, loss: Any = HINGE, target: Any = TWO, promise: Guarantee = MU) -> Any:
    return solver.plan(task(target, unit), loss, promise)


def search() -> Any:
    """One try as a rule, with next to no score: what is left is a fit, at half of what it is priced for."""
    model = LinearSVC(classes=[0, 1], row_norm=1.0, fit_intercept=False, solver=OutputPerturbation(strength=10.0))
    made = SearchFit.planned([model], 1, REPLACE, 5.0, Guarantee(20.0), 1.01, "logarithmic", None)
    return louder(made, 50.0, "judge")


@cache
def canaries() -> dict[str, Canary]:
    zeros = [0.0] * 19
    unit_box = {"centers": (0.0,), "scales": (1.0,)}
    clusters = NoisyLloyd.planned(Task(features=1, row_norm=1.0, intercept=False, unit=REPLACE), 1, 1, MU)
    gram = NoisyGram.planned(Task(features=1, row_norm=1.0, intercept=False), MU)
    moments = ColumnMoments.planned(Task(features=1, row_norm=1.0, intercept=False, unit=REPLACE, **unit_box), MU)
    ranges = ColumnRanges.planned(moments.task, 0.45, Guarantee(8.0))
    descent = NoisyGD(rows=1, steps=1, clip_norm=1.0)
    bought = BoughtNorm.planned(lambda share: one_step(descent, promise=share), REPLACE, MU)
    strong = ObjectivePerturbation(strength=1e3)
    curved = CurvatureFit.planned(lambda share: one_step(strong, promise=share), LIKE_MU)
    known = {"moments": (1.0,), "records": 1.0}
    coordinate = CoordinateDescent(rounds=1, steps=1, last=1, clipping="lipschitz", clip=1.0, **known)
    greedy = GreedyCoordinateDescent(steps=1, clip=1.0, **known)
    alone = records([1.0], [1.0]), records([1.0], [-1.0])
    return {
        "objective_fit": Canary(one_step(ObjectivePerturbation(strength=1e3), promise=LIKE_MU), ONE, OPPOSITE),
        "curvature_fit": Canary(curved, ONE, OPPOSITE),
        "pure_objective_fit": Canary(
            one_step(ObjectivePerturbation(strength=1e3), promise=PURE), ONE, OPPOSITE, runs=400
        ),
        "output_fit": Canary(one_step(OutputPerturbation(strength=10.0)), ONE, OPPOSITE),
        "noisy_gd_fit": Canary(one_step(NoisyGD(rows=1, steps=1, clip_norm=1.0)), ONE, OPPOSITE),
        "noisy_sgd_fit": Canary(
            one_step(NoisySGD(rows=1, q=1.0, steps=1, clip_norm=1.0), Unit(), promise=LIKE_MU), ONE, NOBODY
        ),
        "projected_sgd_fit": Canary(one_step(ProjectedSGD(rows=1, steps=1), promise=LIKE_MU), ONE, OPPOSITE),
        "preconditioned_fit": Canary(one_step(Preconditioned(steps=1, share=0.05, clip_norm=1.0)), ONE, OPPOSITE),
        # within half of the hinge's corner both ends of the grid move by all that is paid for, in opposite directions
        "grid_exponential_fit": Canary(
            one_step(GridExponential(radius=0.5, points=2), promise=PURE), ONE, OPPOSITE, runs=240
        ),
        "noisy_lloyd": Canary(clusters, records([1.0, *zeros], None), records([-1.0, *zeros], None)),
        "noisy_gram": Canary(gram, records([1.0], None), records([], None)),
        "symmetric_gaussian": Canary(gram.noise, np.zeros((1, 1), dtype=np.int64), np.full((1, 1), 2**42)),
        "column_moments": Canary(moments, records([1.0], None), records([-1.0], None)),
        # longer than any norm that can be bought
        "bought_norm": Canary(bought, records([1e12], [1]), records([-1e12], [1])),
        "column_ranges": Canary(ranges, records([-1.0, 0.0, 0.0, 0.0], None), records([1.0, 0.0, 0.0, 0.0], None), 4.0),
        "sufficient_statistics_fit": Canary(one_step(SufficientStatistics(), loss=Squared(), target=NUMBERS), *LIFTED),
        "boosted_ssp_fit": Canary(
            louder(one_step(BoostedSSP(), loss=Squared(), target=NUMBERS), 20.0, "gram", "spread", "second"), *LIFTED
        ),
        # nearly all of it is the test: one model that is apart comes between the noisy distance and its threshold
        "tukey_fit": Canary(
            one_step(
                TukeyEM(models=32, least=2, test_share=0.9),
                loss=Squared(),
                target=NUMBERS,
                promise=Guarantee(8.0, 0.01),
            ),
            alone[0],
            records([0.0], [0.0]),
            4.0,
            600,
        ),
        "coordinate_fit": Canary(one_step(coordinate, loss=Huber(1.0), target=NUMBERS), *alone),
        "greedy_coordinate_fit": Canary(
            louder(one_step(greedy, loss=Huber(1.0), target=NUMBERS, promise=Guarantee(rho=7.0)), 20.0, "best"), *alone
        ),
        "frank_wolfe_fit": Canary(
            one_step(FrankWolfe(steps=1), loss=Huber(1.0), target=NUMBERS, promise=Guarantee(16.0)), *alone, 4.0
        ),
        "search_fit": Canary(search(), ONE, OPPOSITE, 4.0, 200),
    }


def audited(canary: Canary, times: float, runs: int) -> Any:
    claim = louder(canary.plan, times).loss if times > 1.0 else canary.plan.loss
    pair = Pairs([(canary.left, canary.right)], checked=False)
    return audit.mechanism(canary.plan, claim=claim, neighbours=pair, runs=runs, alpha=1e-4)


def test_every_fit_of_the_room_has_a_canary():
    load_rooms()
    here = {name for name, kind in registered_mechanisms().items() if kind.__module__.startswith("privet.learn.")}
    assert here - WITHIN == set(canaries())


# A sibling of each is quicker: a fit from sums, a step down a gradient, an objective with noise.
DEARER = {"boosted_ssp_fit", "curvature_fit", "preconditioned_fit", "pure_objective_fit", "search_fit"}


@pytest.mark.parametrize(
    "name",
    # the runs of Tukey's fit are slow: see below
    [slow(name) if name in DEARER else name for name in canaries() if name != "tukey_fit"],
)
def test_a_canary_refutes_a_cut_price(name):
    """A plan whose noise is cut in half (or as the table says) and whose price is not is exactly this claim."""
    canary = canaries()[name]
    found = audited(canary, canary.times, canary.runs)
    assert found.verdict == "violated", str(found)


@pytest.mark.parametrize("name", [each for each in canaries() if each != "tukey_fit"])
def test_replaying_a_canary_finds_nothing(name):
    """Exact distances, part by part: within the sensitivity that noise is made for. On a single record Tukey's fit fails
    its own test by its coins, and there is nothing to compare; the laws replay it on more."""
    canary = canaries()[name]
    seen = audit.replay(canary.plan.release, canary.left, canary.right)
    assert seen.verdict == "not refuted", str(seen)


@pytest.mark.parametrize(
    "name", ["objective_fit", "output_fit", pytest.param("pure_objective_fit", marks=pytest.mark.slow)]
)
def test_the_price_survives_where_no_replay_looks(name):
    """Fits of one step have no parts to replay. With half the noise the same audit refutes: the test above."""
    canary = canaries()[name]
    quiet = canary._replace(plan=louder(canary.plan, 2.0))
    assert audited(quiet, 1.0, canary.runs).verdict == "not refuted"


@pytest.mark.parametrize("promise", [LIKE_MU, pytest.param(PURE, marks=pytest.mark.slow)], ids=["normal", "pure"])
def test_the_canary_of_several_classes(promise):
    """One record moves the linear term by .58 of what is paid for, in three dimensions: noise must be far below a half
    before an audit sees it. What is sharp is held by densities."""
    times, three = 8.0, Classes((0, 1, 2))
    plan = one_step(ObjectivePerturbation(strength=1e3), Unit(), Softmax(3), three, promise)
    canary = Canary(plan, ONE, NOBODY, times, 200 if promise.delta else 800)
    assert audited(canary, times, canary.runs).verdict == "violated"
    assert audited(canary, 1.0, canary.runs).verdict == "not refuted"


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in canaries() if name != "tukey_fit"])
def test_the_price_itself_survives_its_canary(name):
    """Tukey's fit refuses so few records by now; its registered example, of 161, is audited with those of all mechanisms
    and refutes a quarter of the price."""
    canary = canaries()[name]
    assert audited(canary, 1.0, 10 * canary.runs).verdict == "not refuted"
    assert audited(canary, canary.times, 10 * canary.runs).verdict == "violated"
