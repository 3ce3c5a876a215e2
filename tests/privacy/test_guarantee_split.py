"""Splitting a promise: parts compose within the whole, and hardly anything is given away."""

import math

import pytest
from hypothesis import given, strategies as st

from privet import privacy
from privet.errors import InvalidParameter, NoGuarantee
from privet.privacy import Composed, Grouped, Guarantee, Unit, guarantee as module

EPSILONS = st.floats(1e-6, 50.0) | st.floats(50.0, 2e3)
DELTAS = st.floats(1e-300, 0.5)
WEIGHTS = st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=40)
PROMISES = st.one_of(
    st.builds(Guarantee, EPSILONS),
    st.builds(Guarantee, EPSILONS, DELTAS),
    st.builds(lambda rho: Guarantee(rho=rho), EPSILONS),
    st.builds(lambda mu: Guarantee(mu=mu), EPSILONS),
)


def shares(weights: list[float]) -> list[float]:
    return [each / math.fsum(weights) for each in weights]


def price(part: Guarantee) -> privacy.PrivacyLoss:
    """The worst price that a promise covers, as a release would state it."""
    if part.rho is not None:
        return privacy.ZcdpLoss(part.rho)
    if part.mu is not None:
        return privacy.GdpLoss(part.mu)
    return privacy.ApproxLoss(part.epsilon, part.delta) if part.delta else privacy.PureLoss(part.epsilon)


def composed(parts) -> privacy.PrivacyLoss:
    return Composed(tuple(price(part) for part in parts))


def basic_covers(whole: Guarantee, loss: privacy.PrivacyLoss) -> bool:
    """By the theorem that `split` names: for (epsilon, delta) sums of both, which is the cheapest to compute."""
    if whole.epsilon is None or whole.delta == 0.0:
        return whole.covers(loss)
    epsilon, delta = loss.approximate()
    return epsilon <= whole.epsilon and delta <= whole.delta


@given(PROMISES, WEIGHTS)
def test_parts_compose_within_the_whole(whole, weights):
    assert basic_covers(whole, composed(whole.split(shares(weights))))


@given(PROMISES, WEIGHTS)
def test_hardly_anything_is_given_away(whole, weights):
    parts = whole.split(shares(weights))
    for name in ("epsilon", "delta", "rho", "mu"):
        limit, held = getattr(whole, name), [getattr(each, name) for each in parts]
        if limit and not (name == "delta" and limit < 1e-280):  # below, shares of delta are dropped
            total = math.hypot(*held) if name == "mu" else math.fsum(held)
            assert total >= limit * (1.0 - 1e-10)


@given(PROMISES, st.integers(1, 50))
def test_a_group_keeps_the_promise(whole, size):
    one = price(whole.for_each_of(size))
    assert basic_covers(whole, Grouped(one, size) if size > 1 else one)


@given(PROMISES)
def test_normal_noise_keeps_the_promise(whole):
    if whole.epsilon is not None and whole.delta == 0.0:
        with pytest.raises(NoGuarantee):
            whole.as_mu()
        return
    mu = whole.as_mu().mu
    assert whole.covers(privacy.GdpLoss(mu))
    if whole.delta == 0.0 or whole.delta > 1e-12:  # beyond, a curve is certified less closely
        assert not whole.covers(privacy.GdpLoss(mu * (1.0 + 1e-6)))


@pytest.mark.parametrize("whole", [Guarantee(1.0), Guarantee(rho=0.3), Guarantee(mu=0.7)], ids=str)
def test_the_rest_and_the_parts_are_the_whole(whole):
    parts = [price(each) for each in whole.split((0.2, 0.3), deltas=None)]
    rest = price(whole.rest(*parts))
    assert whole.covers(Composed((*parts, rest)))
    more = {"epsilon": 1.000001, "rho": 1.000001, "mu": 1.000001}
    name = next(iter(whole.keywords()))
    left = getattr(whole.rest(*parts), name)
    assert not whole.covers(Composed((*parts, price(Guarantee(**{name: left * more[name]})))))


@pytest.mark.parametrize(
    "beside", [privacy.PureLoss(0.4), privacy.LaplaceLoss(scale=2.0), privacy.ApproxLoss(0.3, 1e-7)]
)
def test_the_rest_beside_other_prices_is_exact(beside):
    whole = Guarantee(1.0, 1e-6)
    mu = whole.rest(beside).mu
    assert whole.covers(Composed((beside, privacy.GaussianLoss(1.0 / mu))))
    assert not whole.covers(Composed((beside, privacy.GaussianLoss(1.0 / (mu * 1.0001)))))


def test_the_rest_knows_the_unit():
    unit = Unit("replace")
    assert Guarantee(1.0, 1e-6).rest(privacy.PureLoss(0.4, unit=unit)).mu > 0.0


@pytest.mark.parametrize(
    "whole", [Guarantee(0.4), Guarantee(0.4, 1e-9), Guarantee(rho=0.05), Guarantee(mu=0.1)], ids=str
)
def test_nothing_left_is_refused(whole):
    with pytest.raises(NoGuarantee):
        whole.rest(privacy.PureLoss(1.0))


def test_a_whole_promise_is_one_part():
    assert Guarantee(1.0, 1e-6).split((1.0,)) == (Guarantee(1.0, 1e-6),)
    assert Guarantee(1.0, 1e-6).split((1.0,), deltas=(0.0,)) == (Guarantee(1.0),)


@pytest.mark.parametrize("parts", [(0.5, 0.6), (1.0, 1e-9), (2.0,)])
def test_more_than_the_whole_is_refused(parts):
    with pytest.raises(InvalidParameter, match="at most 1"):
        Guarantee(1.0).split(parts)


@pytest.mark.parametrize("parts", [(0.5, -0.1), (0.0,), (math.nan, 0.5)])
def test_parts_that_are_no_shares_are_refused(parts):
    with pytest.raises(InvalidParameter):
        Guarantee(1.0).split(parts)


def test_deltas_of_another_length_are_refused():
    with pytest.raises(InvalidParameter, match="one share for each"):
        Guarantee(1.0, 1e-6).split((0.5, 0.5), deltas=(1.0,))


def test_without_the_margin_parts_exceed_the_whole(monkeypatch):
    """The broken twin: shares in plain floats."""
    monkeypatch.setattr(module, "_SHARED", 1.0)
    wholes = [Guarantee(0.1 * k) for k in range(1, 40)] + [Guarantee(mu=0.1 * k) for k in range(1, 40)]
    assert any(not basic_covers(w, composed(w.split(shares([1.0] * n)))) for w in wholes for n in (3, 6, 7, 10))
