"""Every law of strategies over every registered one, and twins that break each of them."""

from dataclasses import dataclass
from fractions import Fraction

import pytest

from privet import testing
from privet.workloads import Prefix, registered_strategies
from privet.workloads.families.tree import Tree
from privet.workloads.strategy import Strategy
from tests.firsts import first_of_each

EXAMPLES = list(testing.example_strategies())


@pytest.mark.parametrize("check_law", testing.laws_of("strategy"), ids=lambda law: law.__name__)
@pytest.mark.parametrize("example", first_of_each(EXAMPLES, lambda example: example.kind))
def test_law(check_law, example):
    check_law(example)


def test_every_strategy_is_met():
    assert {example.kind for example in EXAMPLES} == set(registered_strategies())


def planted(**changes):
    """A strategy whose design has these attributes changed."""
    kind = type("Twin", (Tree,), changes)

    @dataclass(frozen=True)
    class Twin(Strategy):
        name = "twin"

        def _design(self, workload, norm):
            return kind(workload.cells, (1, 2), (Fraction(1), Fraction(1)))

        def describe(self):
            return "twin"

    return Twin()


BROKEN = {
    "less sensitivity": ({"_longest": lambda self, norm: Fraction(1)}, "check_sensitivity_is_brute_force"),
    "less under replace": ({"_farthest": lambda self, norm: Fraction(1)}, "check_sensitivity_is_brute_force"),
    "more than is needed": ({"_longest": lambda self, norm: Fraction(3)}, "check_sensitivity_is_brute_force"),
    "other cells": ({"reconstruct": lambda self, m: Tree.reconstruct(self, m) * 1.01}, "check_answers_come_back"),
    "less error": ({"trace": lambda self, w: 0.9 * Tree.trace(self, w)}, "check_error_is_that_of_the_noise"),
    "less error of one": (
        {"variance": lambda self, q: 0.9 * Tree.variance(self, q)},
        "check_error_is_that_of_the_noise",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_strategy_is_seen(what):
    changes, law = BROKEN[what]
    with pytest.raises(AssertionError):
        getattr(testing, law)(testing.StrategyExample(planted(**changes), Prefix(6), "l1"))


def test_a_sound_one_passes():
    testing.check_strategy(planted(), Prefix(6))
