"""Events of outputs with many values: whole answers of which none is frequent, and rare values that tell much."""

import numpy as np
import pytest

from privet import audit
from privet.audit.question import as_claim, strain_of
from privet.audit.search.atoms import odds_of
from privet.audit.search.events import tally
from tests.firsts import ends


class Bulk:
    """Outputs in bulk: `law(value, runs, rng)`."""

    def __init__(self, law):
        self._law, self._rng = law, np.random.default_rng(5)

    def simulate(self, value, runs):
        return self._law(value, runs, self._rng)

    def release(self, value):
        return self.simulate(value, 1)[0]


def answers(epsilon, cells):
    """Three numbers, of which each combination speaks for one world by e^epsilon, and no pattern says which."""
    side = round(cells ** (1 / 3))
    grid = np.stack(np.unravel_index(np.arange(side**3), (side,) * 3), axis=1).astype(float)
    label = np.random.default_rng(3).permutation(len(grid)) % 2
    groups = [np.flatnonzero(label == world) for world in (0, 1)]

    def law(value, runs, rng):
        true = rng.random(runs) < 1.0 / (1.0 + np.exp(-epsilon))
        picks = [group[rng.integers(0, len(group), size=runs)] for group in groups]
        return grid[np.where(np.where(true, value, 1 - value), picks[1], picks[0])]

    return Bulk(law)


def rare(p, ratio, common):
    """One value of probability p in one world and p / ratio in the other, amid many common ones."""

    def law(value, runs, rng):
        hit = rng.random(runs) < (p if value else p / ratio)
        return np.where(hit, 3.7 * (common // 2) + 1.0, 3.7 * rng.integers(0, common, size=runs))

    return Bulk(law)


@pytest.mark.parametrize("cells", ends([216, 1_000, 3_375]))  # below and above what a few hundred scores would hold
def test_whole_answers_have_scores_however_many_there_are(cells):
    broken, sound = (
        audit.mechanism(answers(epsilon, cells), epsilon=1.0, neighbours=[(0, 1)], runs=20_000, alpha=1e-6)
        for epsilon in (1.6, 1.0)
    )
    assert broken.verdict == "violated"
    assert broken.witness.event.feature == "score of the whole answer"
    assert sound.verdict == "not refuted"


def test_answers_that_never_come_again_have_none():
    rows = np.random.default_rng(2).random((2, 500))
    assert odds_of(*({"row": side} for side in rows)) is None
    again = np.concatenate((rows[0][:450], np.repeat(rows[0][450:455], 10)))  # a tenth of the runs
    assert odds_of({"row": again}, {"row": again}) is not None


def test_rare_values_that_lie_far_outside_the_claim_are_looked_at():
    broken, sound = (
        audit.mechanism(rare(0.0008, ratio, 400), epsilon=1.0, neighbours=[(0, 1)], runs=100_000, alpha=1e-4)
        for ratio in (300.0, np.e)
    )
    assert broken.verdict == "violated"
    assert broken.witness.event.threshold == 3.7 * 200 + 1.0
    assert sound.verdict == "not refuted"


def test_values_are_ranked_by_depth_where_a_claim_is_known():
    """Twelve sightings against none among hundreds of frequent values; without a claim it is lost, as it was before."""
    rng = np.random.default_rng(4)
    sides = [rng.integers(0, 300, size=20_000).astype(float) for _ in range(2)]
    sides[0][:12] = 1_000.5
    columns = [{"value[0]": side} for side in sides]
    depth = strain_of(as_claim(1.0)).depth
    found = [
        {float(v) for t in tally(*columns, way) if t.relation == "equal to" for v in t.thresholds}
        for way in (None, depth)
    ]
    assert [1_000.5 in atoms for atoms in found] == [False, True]
    assert found[0] <= found[1]
