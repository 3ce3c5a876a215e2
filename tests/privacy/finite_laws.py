"""Exact finite distributions for hypothesis."""

from fractions import Fraction

from hypothesis import strategies as st

HALF = (Fraction(1, 2), Fraction(1, 2))
THIRD = (Fraction(1, 3), Fraction(2, 3))


def exact(weights):
    return tuple(Fraction(weight, sum(weights)) for weight in weights)


def laws(outcomes, zeros=True):
    """Exact laws with small weights, each read off one draw of bytes (many small draws would be slow)."""
    weights = st.binary(min_size=outcomes, max_size=outcomes).map(
        lambda data: [byte % 10 + (not zeros) for byte in data]
    )
    return weights.filter(any).map(exact)


def tuples_of_laws(count, zeros=True, most=4):
    return st.integers(2, most).flatmap(lambda n: st.tuples(*[laws(n, zeros)] * count))
