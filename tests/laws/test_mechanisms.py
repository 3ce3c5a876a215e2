"""Every law over every example of every mechanism, and every law against a mechanism that breaks it."""

import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from privet import mechanisms, noise, privacy, testing
from privet._validate import above, set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms import ErrorBar, Example, Mechanism, Release, registered_mechanisms
from privet.privacy import Guarantee
from tests.firsts import first_of_each, mechanism_examples, slow
from tests.laws import test_strange_records as strange
from tests.mechanisms import test_blocks as in_blocks
from tests.seams import toy

EXAMPLES = list(mechanism_examples())


PARAMS = first_of_each(
    EXAMPLES, lambda example: example.mechanism.name, lambda example, number: f"{example.mechanism.name}-{number}"
)


# Of every example, not of the first alone: the relation, the group and the rows of a person are those of further ones, and
# a price that forgets them is cheap to see.
OF_ALL = (
    testing.check_meets_its_budget,
    testing.check_parts_are_the_price,
    testing.check_blocks_are_their_prices,
    testing.check_replay_sees_nothing,
    testing.check_exact_numbers_stay_inside,
)


@pytest.mark.parametrize(
    ("check_law", "example"),
    [
        pytest.param(law, *each.values, id=f"{each.id}-{law.__name__}", marks=() if law in OF_ALL else each.marks)
        for law in testing.MECHANISM_LAWS
        for each in PARAMS
    ],
)
def test_law(check_law: Callable[[Example], None], example: Example):
    check_law(example)


def test_every_mechanism_has_an_example_made_for_a_budget():
    calibrated = {example.mechanism.name for example in EXAMPLES if example.target is not None}
    assert calibrated == set(registered_mechanisms())


@dataclass(frozen=True)
class Coin(Mechanism):
    """A sound little mechanism on {0, 1}; each twin below breaks one thing."""

    name = "coin"
    epsilon: float = 1.0

    def __post_init__(self):
        set_frozen(self, epsilon=above("epsilon", self.epsilon, 0.0))

    @property
    def loss(self):
        return privacy.RandomizedResponseLoss(self.epsilon)

    def _admit(self, value):
        if not isinstance(value, int | float | Fraction | Decimal | np.number):
            raise InvalidData("a coin takes one number")

    def _prepare(self, value):
        return int(value)

    def _draw(self, prepared, runs, source):
        lies = noise.bernoulli(p=1.0 / (1.0 + np.exp(self.epsilon)), size=runs, source=source)
        return [prepared ^ int(lie) for lie in lies]

    def error(self, confidence=0.95):
        return ErrorBar(1.0, confidence)

    @classmethod
    def examples(cls):
        yield Example(cls(), 0, 1, Guarantee(1.0))


@dataclass(frozen=True)
class Careless(Coin):
    """Takes anything for its epsilon."""

    def __post_init__(self):
        pass


@dataclass(frozen=True)
class RawError(Coin):
    def __post_init__(self):
        if self.epsilon + 0.0 <= 0.0:
            raise InvalidParameter("epsilon must be greater than 0")


class RandomPrice(Coin):
    @property
    def loss(self):
        return privacy.RandomizedResponseLoss(1.0 + noise.uniform_int(bound=10**9) / 1e12)


@dataclass
class Mutable(Mechanism):
    name = "mutable"
    epsilon: float = 1.0
    loss = Coin.loss
    _prepare, _draw, error, examples = Coin._prepare, Coin._draw, Coin.error, Coin.examples


class TellingType(Coin):
    def _draw(self, prepared, runs, source):
        drawn = super()._draw(prepared, runs, source)
        return [float(value) for value in drawn] if prepared else drawn


class OwnSource(Coin):
    def _draw(self, prepared, runs, source):
        return noise.uniform_int(bound=2**62, size=runs)


class LossyJson(Coin):
    def _draw(self, prepared, runs, source):
        class Half(int):
            def __eq__(self, other):
                return False

            __hash__ = int.__hash__

        return [Half(value) for value in super()._draw(prepared, runs, source)]


class ShrinkingBar(Coin):
    def error(self, confidence=0.95):
        return ErrorBar(2.0 - confidence, confidence)


class Silent(Coin):
    def _draw(self, prepared, runs, source):
        return [0] * runs


class ForgetsStamp(Coin):
    def release(self, value, *, source=None):
        return replace(super().release(value, source=source), insecure=False)


class OneRunTooFew(Coin):
    def simulate(self, value, runs, *, source=None):
        return super().simulate(value, runs - 1, source=source)


class ReadsTypes(Coin):
    def _prepare(self, value):
        return int(value) ^ isinstance(value, float)


class HalfNoiseAlone(Coin):
    """A lie of a single run is a lie with half the probability only."""

    def _draw(self, prepared, runs, source):
        keep = noise.bernoulli(p=0.5, size=runs, source=source) if runs == 1 else np.ones(runs, dtype=bool)
        drawn = super()._draw(prepared, runs, source)
        return [value if kept else prepared for value, kept in zip(drawn, keep, strict=True)]


class OtherCoins(Coin):
    def _draw(self, prepared, runs, source):
        return [prepared ^ (random.random() < 1.0 / (1.0 + np.exp(self.epsilon))) for _ in range(runs)]


class OtherCoinsAlone(Coin):
    """Only a single run has coins of its own."""

    def _draw(self, prepared, runs, source):
        if runs > 1:
            return super()._draw(prepared, runs, source)
        return [prepared ^ (random.random() < 1.0 / (1.0 + np.exp(self.epsilon)))]


class TrustsEverySource(Coin):
    def release(self, value, *, source=None):
        return replace(super().release(value, source=source), insecure=isinstance(source, noise.Seeded))


@dataclass(frozen=True)
class HalfBar(Coin):
    """Laplace noise of scale 10 with a bar of half the width."""

    share: float = 0.5

    def _draw(self, prepared, runs, source):
        return noise.rounded_laplace(scale=10, center=prepared, size=runs, source=source)

    def error(self, confidence=0.95):
        return ErrorBar(-10.0 * np.log(1.0 - confidence) * self.share + 0.5, confidence)


class SaysText(Coin):
    form = mechanisms.Texts()


class HoldsAnything(Coin):
    form = mechanisms.Unstorable("an open file")


class Repeats(Coin):
    def _admit(self, value):
        if not isinstance(value, int):
            raise InvalidData(f"a coin takes an int, got {value}")


class RepeatsRoughly(Coin):
    def _admit(self, value):
        if isinstance(value, float):
            raise InvalidData(f"a coin takes an int, got {value:g}")
        super()._admit(value)


class Warns(Coin):
    def _admit(self, value):
        super()._admit(value)
        warnings.warn(f"reading {value}", stacklevel=2)


class Prints(Coin):
    def _prepare(self, value):
        print("reading", value)
        return super()._prepare(value)


class Bare(Coin):
    def _read(self, reading, value, shown=False):  # the door, left open: it ends exceptions of others otherwise
        return reading(value)

    def _admit(self, value):
        pass


class KeepsTheCause(Coin):
    def _read(self, reading, value, shown=False):
        return reading(value)

    def _admit(self, value):
        try:
            float(value)
        except (TypeError, ValueError) as problem:
            raise InvalidData("a coin takes one number") from problem


def pair(twin, target=None):
    return Example(twin, 0, 1, target)


@pytest.mark.parametrize(
    ("law", "example"),
    [
        (testing.check_price_is_a_value, pair(RandomPrice())),
        (testing.check_parameters_are_frozen, pair(Mutable())),
        (testing.check_meets_its_budget, pair(Coin(1.0), Guarantee(0.9))),
        (testing.check_meets_its_budget, pair(Coin(0.5), Guarantee(1.0))),
        (testing.check_behaviour_is_public, pair(TellingType())),
        (testing.check_seed_is_stamped, pair(OwnSource())),
        (testing.check_seed_is_stamped, pair(ForgetsStamp())),
        (testing.check_release_round_trip, pair(LossyJson())),
        (testing.check_outputs_have_their_form, pair(SaysText())),
        (testing.check_outputs_have_their_form, pair(HoldsAnything())),
        (testing.check_error_bar_is_public, pair(ShrinkingBar())),
        (testing.check_runs_are_independent, pair(Silent())),
        (testing.check_simulation_is_the_release, pair(OneRunTooFew())),
        (testing.check_simulation_is_the_release, pair(HalfNoiseAlone(0.3))),
        (testing.check_equal_numbers_are_one_input, pair(ReadsTypes())),
        (testing.check_every_coin_is_from_noise, pair(OtherCoins())),
        (testing.check_every_coin_is_from_noise, pair(OtherCoinsAlone())),
        (testing.check_every_coin_is_from_noise, pair(TrustsEverySource())),
        (testing.check_error_bars_cover, pair(HalfBar())),
        (testing.check_nothing_private_is_said, pair(Repeats())),
        (testing.check_nothing_private_is_said, pair(RepeatsRoughly())),
        (testing.check_nothing_private_is_said, pair(Warns())),
        (testing.check_nothing_private_is_said, pair(Prints())),
        (testing.check_nothing_private_is_said, pair(Bare())),
        (testing.check_nothing_private_is_said, pair(KeepsTheCause())),
        (testing.check_refuses_nonsense, pair(Careless())),
        (testing.check_refuses_nonsense, pair(RawError())),
        (testing.check_parts_are_the_price, Example(toy.NotCharged(), toy.LEFT, toy.RIGHT)),
        (testing.check_no_coin_of_its_own, Example(toy.OwnCoin(), toy.LEFT, toy.RIGHT)),
        (testing.check_paid_once, Example(toy.Strays(), toy.LEFT, toy.RIGHT)),
        (testing.check_replay_sees_nothing, Example(toy.Leaking(), toy.LEFT, toy.RIGHT)),
        (testing.check_exact_numbers_are_seen, Example(toy.Steered(), toy.LEFT, toy.RIGHT)),
        (testing.check_exact_numbers_stay_inside, Example(toy.Leaking(), toy.LEFT, toy.RIGHT)),
        (testing.check_blocks_are_their_prices, in_blocks.example_of(in_blocks.Borrowed)),
        (testing.check_states_are_left_alone, in_blocks.example_of(in_blocks.InPlace)),
        (testing.check_strange_records_are_covered, strange.pair(strange.ClipsTheSum())),
    ],
    ids=lambda value: getattr(value, "__name__", None) or type(value.mechanism).__name__,
)
def test_law_catches_its_broken_twin(law, example):
    with pytest.raises(AssertionError):
        law(example)


def test_every_law_has_a_twin_that_it_catches():
    marks = test_law_catches_its_broken_twin.pytestmark[0]
    assert {law for law, _ in marks.args[1]} == set(testing.MECHANISM_LAWS)


def half_of_a_single_run(original):
    """The mutant that a suite of simulated runs cannot see: a release, and nothing else, with half its noise."""

    def _draw(self, prepared, runs, source):
        drawn = original(self, prepared, runs, source)
        if runs > 1 or not isinstance(drawn, np.ndarray):
            return drawn
        exact = prepared if isinstance(prepared, int) else float(prepared.fractions()[0])
        return exact + (drawn - exact) / 2

    return _draw


@pytest.mark.parametrize("kind", [mechanisms.Laplace, mechanisms.Gaussian, mechanisms.Geometric])
def test_half_the_noise_in_a_release_alone_is_caught(kind, monkeypatch):
    monkeypatch.setattr(kind, "_draw", half_of_a_single_run(kind._draw))
    with pytest.raises(AssertionError, match="different laws"):
        testing.check_simulation_is_the_release(next(iter(kind.examples())))


@pytest.mark.parametrize("bug", ["answers", slow("threshold")])
def test_a_stream_with_less_noise_than_its_list_is_caught(bug, monkeypatch):
    """Half the noise in the answers of a stream, or none on its threshold; the list over all queries stays sound."""
    kind = mechanisms.AboveThreshold
    if bug == "answers":
        sound = kind._leads

        def _leads(self, queries, threshold, source):
            narrow = replace(self, query_scale=self.query_scale / 2) if queries.shape == (1, 1) else self
            return sound(narrow, queries, threshold, source)

        monkeypatch.setattr(kind, "_leads", _leads)
    else:
        drawn = kind._noisy_threshold

        def _noisy_threshold(self, runs, source):
            noisy = drawn(self, runs, source)
            return self._rounded(np.array([[self.threshold]])) if runs == 1 else noisy

        monkeypatch.setattr(kind, "_noisy_threshold", _noisy_threshold)
    with pytest.raises(AssertionError, match="different laws"):
        testing.check_simulation_is_the_release(next(iter(kind.examples())))


def test_an_example_in_which_the_number_steers_is_enough():
    testing.check_exact_numbers_are_seen(next(iter(toy.SteeredAndShown.examples())))
    with pytest.raises(AssertionError, match=r"released at toy.py line \d+.* goes unnoticed"):
        testing.check_exact_numbers_are_seen(next(iter(toy.Steered.examples())))


@pytest.mark.parametrize("check_law", testing.MECHANISM_LAWS, ids=lambda law: law.__name__)
def test_sound_twin_passes(check_law):
    check_law(pair(Coin(), Guarantee(1.0)))


def test_a_bar_of_the_full_width_passes():
    testing.check_error_bars_cover(pair(HalfBar(share=1.0)))
    with pytest.raises(AssertionError, match="within bars"):
        testing.check_error_bars_cover(pair(HalfBar(share=0.6)))


def test_release_keeps_its_price_under_post_processing():
    release = Release(np.array([1.0, 2.0]), loss=privacy.PureLoss(1.0), mechanism="test")
    doubled = release.map(lambda value: 2.0 * value, name="double")
    assert doubled.loss == release.loss
    assert doubled.provenance == ("double",)
    assert doubled.value.tolist() == [2.0, 4.0]
    with pytest.raises(ValueError, match="read-only"):
        release.value[0] = 7.0
