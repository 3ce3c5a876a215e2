"""Trainings against an attack on their worst case: the price holds, and a twin with too little noise is refuted by it."""

import pytest

pytest.importorskip("torch")

from privet import deep, testing
from privet.deep.sampling import register as samplers
from tests.audit import worst_cases

CASES = worst_cases.cases()
LEVEL = testing.alarm_level("attacks", of=len(CASES))


def test_every_sampler_has_a_worst_case():
    known = {type(sampling) for sampling, _, _ in worst_cases.samplers()}
    assert known == set(samplers.members().values())
    assert deep.Poisson in known


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_price_is_not_refuted(name):
    case = CASES[name]()
    assert case.name == name
    found = case.audited(LEVEL)
    assert found.verdict == "not refuted"
    assert found.trainings == case.runs


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_twin_with_too_little_noise_is_refuted(name):
    assert CASES[name]().audited(1e-3, broken=True).verdict == "violated"
