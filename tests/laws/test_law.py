"""Authors see their own bugs: in laws, in simulations and with seeded noise; nobody else does."""

from dataclasses import fields, replace

import pytest

import privet as pv
from privet import mechanisms, noise, testing
from privet.errors import InvalidData, ReleaseFailed

PLACES = ("_admit", "_prepare", "_draw")


def _broken(*_):
    return undefined_name  # noqa: F821 - the planted bug


def _copy(original, **planted):
    """A copy of a mechanism with other methods."""
    kind = type(type(original).__name__, (type(original),), planted)
    return kind(**{each.name: getattr(original, each.name) for each in fields(original)})


def _example(kind, place):
    example = next(iter(kind.examples()))
    return replace(example, mechanism=_copy(example.mechanism, **{place: _broken}))


def _raised(law, example):
    try:
        law(example)
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", [mechanisms.Laplace, mechanisms.BoundedSum], ids=lambda kind: kind.name)
def test_every_law_that_fails_shows_the_authors_own_error(kind, place):
    example = _example(kind, place)
    found = {law.__name__: _raised(law, example) for law in testing.MECHANISM_LAWS}
    failed = {name: error for name, error in found.items() if error is not None}
    assert len(failed) > 5
    assert {name: type(error) for name, error in failed.items() if not isinstance(error, NameError)} == {}
    assert all("undefined_name" in str(error) for error in failed.values())


def test_a_law_that_fails_for_another_reason_says_that_reason():
    """The broken twin of the rule: a mechanism that runs, and is wrong."""
    sound = next(iter(mechanisms.Laplace.examples()))
    wrong = replace(sound, mechanism=_copy(sound.mechanism, _draw=lambda self, prepared, runs, source: [0.0] * runs))
    with pytest.raises(AssertionError, match="no noise at all"):
        testing.check_runs_are_independent(wrong)
    refused = replace(sound, left="no number")
    with pytest.raises(InvalidData):
        testing.check_release_round_trip(refused)


@pytest.mark.parametrize("place", PLACES)
def test_simulated_and_seeded_runs_show_the_authors_own_error(place):
    example = _example(mechanisms.BoundedSum, place)
    with pytest.raises(NameError, match="undefined_name"):
        example.mechanism.simulate(example.left, 2)
    with pytest.raises(NameError, match="undefined_name"):
        example.mechanism.release(example.left, source=noise.Seeded(1))


def _in_a_block(ledger, mechanism, data):
    with ledger:
        mechanism.release(data, source=noise.Seeded(1))


@pytest.mark.parametrize("way", [pv.Ledger.release, _in_a_block])
@pytest.mark.parametrize("place", PLACES)
def test_a_ledger_shows_nothing_of_it(place, way):
    """Paid for or refused in our words, whatever the source."""
    example = _example(mechanisms.BoundedSum, place)
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=9.0))
    with pytest.raises((InvalidData, ReleaseFailed)) as caught:
        way(ledger, example.mechanism, example.left)
    error = caught.value
    assert "undefined_name" not in f"{error} {error.__cause__} {error.__context__}"


@pytest.mark.parametrize("place", ["_admit", "_prepare"])
def test_a_release_with_secure_noise_shows_nothing_of_it(place):
    example = _example(mechanisms.BoundedSum, place)
    for source in (None, noise.Secure()):
        with pytest.raises(InvalidData, match="could not be read") as caught:
            example.mechanism.release(example.left, source=source)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None
