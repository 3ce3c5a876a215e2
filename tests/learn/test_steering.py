"""Examples in which a released number steers what comes after it: with the exact one in its place, a replay sees it.

Each twin lets one number through that ought to be noisy, and its price stays the same. On two or three records the number
would stand at an end of its range in both worlds, and nothing would show.
"""

import pytest

from privet import testing
from privet.learn.solvers import boosted_ssp, coordinate
from privet.mechanisms import Example

FITS = {
    "boosted": boosted_ssp.BoostedFit,
    "coordinate": coordinate.CoordinateFit,
}


def records_of(example: Example) -> int:
    return sum(len(chunk.rows) for chunk in example.left.chunks())


def steered(name: str) -> Example:
    """The first example of hundreds of records."""
    return next(each for each in FITS[name].examples() if records_of(each) >= 200)


def exact_spread(patch: pytest.MonkeyPatch) -> None:
    """The clip of boosted sufficient statistics follows the exact spread of residuals."""
    seen, cross, clip_of = [], boosted_ssp.WholeRows.exact_cross, boosted_ssp.clip_of

    def keeping(data, factors, clips):
        made = cross(data, factors, clips)
        seen.append([each / boosted_ssp.STEPS**2 for each in made[1]])
        return made

    patch.setattr(boosted_ssp.WholeRows, "exact_cross", keeping)
    patch.setattr(boosted_ssp, "clip_of", lambda squares, many, sigma: clip_of(*seen[-1], sigma))


def exact_sizes(patch: pytest.MonkeyPatch) -> None:
    """The adaptive clip of coordinate descent follows the exact sizes of contributions."""
    seen, sizes, quantile = [], coordinate.Columns.sizes, coordinate.quantile_of_sizes

    def keeping(columns, lengths, unit):
        seen.append(sizes(columns, lengths, unit))
        return seen[-1]

    patch.setattr(coordinate.Columns, "sizes", keeping)
    patch.setattr(coordinate, "quantile_of_sizes", lambda noisy, sigma, unit: quantile(seen[-1], sigma, unit))


TWINS = {"boosted": exact_spread, "coordinate": exact_sizes}


@pytest.mark.parametrize("name", FITS)
def test_an_exact_number_that_steers_is_seen(name, monkeypatch):
    TWINS[name](monkeypatch)
    for _ in range(5):  # by whatever noise
        with pytest.raises(AssertionError, match=steered(name).mechanism.name):
            testing.check_replay_sees_nothing(steered(name))


@pytest.mark.parametrize("name", FITS)
def test_a_released_number_that_steers_is_not(name):
    for _ in range(5):
        testing.check_replay_sees_nothing(steered(name))


@pytest.mark.parametrize("name", FITS)
def test_on_a_few_records_nothing_shows(name, monkeypatch):
    """Why the larger examples are there."""
    few = [each for each in FITS[name].examples() if records_of(each) < 10]
    assert few
    TWINS[name](monkeypatch)
    for example in few:
        testing.check_replay_sees_nothing(example)


@pytest.mark.parametrize("name", FITS)
def test_they_have_hundreds_of_records(name):
    assert records_of(steered(name)) >= 200
