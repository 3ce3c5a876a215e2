"""Every registered mechanism faces the referee on every one of its examples; one without examples fails the suite."""

from dataclasses import dataclass
from unittest.mock import patch

import pytest

from privet import mechanisms, testing
from privet.mechanisms import mechanism as registry
from tests.firsts import first_of_each, mechanism_examples

EXAMPLES = list(mechanism_examples())
LEVEL = testing.alarm_level("mechanisms", of=2 * len(EXAMPLES))  # the slow run takes the other half
IDS = [f"{example.mechanism.name}-{place}" for place, example in enumerate(EXAMPLES)]


# The first example of each mechanism always; the slow run audits all of them at length.
FIRST = {example.mechanism.name: place for place, example in reversed(list(enumerate(EXAMPLES)))}
QUICK = sorted(FIRST.values())
FITTED = ("pure_objective_fit", "objective_fit", "tukey_fit")  # each run fits: 4,000 take half a minute
RUNS = 2_000  # half the noise is seen in so many, below; the slow run makes ten times as many


@pytest.mark.parametrize("place", QUICK, ids=lambda place: IDS[place])
def test_the_price_survives_an_audit(place):
    runs = RUNS if EXAMPLES[place].mechanism.name not in FITTED else RUNS // 2
    testing.check_survives_audit(EXAMPLES[place], runs=runs, alpha=LEVEL)


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=IDS)
def test_the_price_survives_a_longer_audit(example):
    """With as many runs as below refute the share of the price that the example says is seen."""
    testing.check_survives_audit(example, runs=20_000, alpha=LEVEL)


PLAIN = [
    e for e, name in zip(EXAMPLES, IDS, strict=True) if name.split("-")[0] in ("laplace", "krr", "geometric", "count")
]


@pytest.mark.parametrize(
    "example",
    first_of_each(PLAIN, lambda example: example.mechanism.name, lambda example, _: example.mechanism.name),
)
def test_half_of_the_price_is_refuted(example):
    testing.check_audit_can_fail(example, runs=12_000, alpha=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=IDS)
def test_the_share_of_the_price_that_an_example_detects_is_refuted(example):
    testing.check_audit_can_fail(example)


def test_every_example_detects_a_share_of_its_price():
    assert all(0.25 <= example.detects <= 0.5 for example in EXAMPLES)


def test_an_example_that_detects_nothing_fails_the_suite():
    blind = mechanisms.Example(mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0), 0.0, 0.01)
    with pytest.raises(AssertionError, match="is not refuted"):
        testing.check_audit_can_fail(blind, runs=4_000)
    lenient = mechanisms.Example(blind.mechanism, 0.0, 1.0, detects=0.9)
    with pytest.raises(AssertionError, match="half of its price"):
        testing.check_audit_can_fail(lenient)


def test_one_example_of_every_mechanism_is_always_audited():
    quick = {EXAMPLES[place].mechanism.name for place in QUICK}
    assert quick == set(mechanisms.registered_mechanisms())


def test_every_mechanism_has_examples():
    testing.assert_every_mechanism_has_examples()


def planted(name: str, examples: list) -> type:
    @dataclass(frozen=True)
    class Planted(mechanisms.Mechanism):
        loss = mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0).loss

        def _prepare(self, value):
            return value

        def _draw(self, prepared, runs, source):
            return mechanisms.Laplace.for_budget(epsilon=2.0, sensitivity=1.0).simulate(prepared, runs, source=source)

        def error(self, confidence=0.95):
            return None

        @classmethod
        def examples(cls):
            return examples

    Planted.name = name
    return Planted


def test_a_mechanism_without_examples_fails_the_suite():
    with patch.dict(registry._REGISTRY):
        mechanisms.register(planted("planted", []))
        with pytest.raises(AssertionError, match="planted has no examples"):
            testing.assert_every_mechanism_has_examples()


def test_an_example_of_equal_inputs_fails_the_suite():
    kind = planted("planted", [])
    with patch.dict(registry._REGISTRY):
        mechanisms.register(planted("planted", [mechanisms.Example(kind(), 1.0, 1.0)]))
        with pytest.raises(AssertionError, match="two equal inputs"):
            testing.assert_every_mechanism_has_examples()


def test_a_mechanism_with_half_the_noise_fails_the_suite():
    example = mechanisms.Example(planted("planted", [])(), 0.0, 1.0)
    with pytest.raises(AssertionError, match="planted: violated"):
        testing.check_survives_audit(example, runs=RUNS, alpha=LEVEL)
