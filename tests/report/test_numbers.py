"""Rounding keeps the direction of a bound."""

from hypothesis import given, strategies as st

from privet.report.numbers import percent_down, percent_up, plain, round_down, round_up

POSITIVE = st.floats(min_value=1e-300, max_value=1e300)


@given(POSITIVE, st.integers(1, 12))
def test_rounding_goes_the_safe_way(value, digits):
    assert round_down(value, digits) <= value <= round_up(value, digits)
    assert round_up(value, digits) - round_down(value, digits) <= 1.01 * value * 10.0 ** (1 - digits)


@given(st.floats(min_value=0.0, max_value=1.0))
def test_percentages_enclose_the_share(share):
    assert float(percent_down(share)[:-1]) <= 100.0 * share * (1.0 + 1e-12)
    assert float(percent_up(share)[:-1]) >= 100.0 * share * (1.0 - 1e-12)


@given(st.floats(min_value=-1e12, max_value=1e12))
def test_plain_numbers_can_be_read_back(value):
    shown = float(plain(value).replace(",", ""))
    assert abs(shown - value) <= 1e-4 * abs(value)
