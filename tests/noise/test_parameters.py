"""What samplers accept, refuse and return."""

import inspect
import math
from fractions import Fraction

import numpy as np
import pytest

from privet import noise, testing
from privet.errors import InvalidData, InvalidParameter, PrivetError
from privet.noise.parameters import LARGEST_SCALE, split
from tests.noise.helpers import module

SCALED = {
    "discrete_laplace": "scale",
    "discrete_gaussian": "sigma",
    "geometric": "scale",
    "rounded_gaussian": "sigma",
    "rounded_laplace": "scale",
    "rounded_cauchy": "scale",
}
OTHERS = {
    "rounded_staircase": {"scale": 4.0, "gamma": 0.25, "width": 8.0},
    "bernoulli": {"p": 0.5},
    "uniform_int": {"bound": 3},
    "permutation": {"n": 3},
    "choice_exp": {"scores": (1.0, 2.0), "scale": 1.0},
    "argmax_gumbel": {"scores": (1.0, 2.0), "scale": 1.0},
    "argmax_exponential": {"scores": (1.0, 2.0), "scale": 1.0},
    "argmax_laplace": {"scores": (1.0, 2.0), "scale": 1.0},
    "argmax_gaussian": {"scores": (1.0, 2.0), "scale": 1.0},
}


def integers(drawn):
    """Every draw is a whole number that 64 bits hold."""
    if not np.issubdtype(np.asarray(drawn).dtype, np.integer) and not isinstance(drawn, int | bool | np.ndarray):
        yield f"the draw is of type {type(drawn).__name__}"


@pytest.mark.parametrize("name", [*SCALED, *OTHERS])
def test_samplers_refuse_nonsense(name):
    healthy = OTHERS.get(name) or {SCALED[name]: 2.5}
    public = [parameter for parameter in healthy if parameter != "scores"]
    testing.check_call_refuses_nonsense(getattr(noise, name), integers, public, **healthy)
    if "size" in inspect.signature(getattr(noise, name)).parameters:
        testing.check_call_refuses_nonsense(getattr(noise, name), integers, ["size"], **healthy, size=3)


@pytest.mark.parametrize("name", SCALED)
def test_scales_that_cannot_be_drawn_are_refused(name):
    for bad in (0, -0.0, -1, -1e-300, math.inf, 2**60, 2.0**60, 1e308, 10**400):
        with pytest.raises(InvalidParameter, match=SCALED[name]):
            getattr(noise, name)(**{SCALED[name]: bad})


@pytest.mark.parametrize("size", [-1, 1.5, True, "3", (2, -1), (2, 0.5), [3], 2**50])
def test_bad_sizes_are_refused(size):
    with pytest.raises(InvalidParameter, match="size"):
        noise.discrete_laplace(scale=1, size=size)


@pytest.mark.parametrize("name", SCALED)
def test_shapes_and_types(name):
    draw = getattr(noise, name)
    for size, shape in ((0, (0,)), (3, (3,)), ((), ()), ((2, 3), (2, 3)), ((2, 0), (2, 0)), (np.int64(2), (2,))):
        out = draw(**{SCALED[name]: 2.5}, size=size)
        assert (out.shape, out.dtype) == (shape, np.int64)
        assert out.flags.writeable
    assert type(draw(**{SCALED[name]: 2.5})) is int


@pytest.mark.parametrize("name", [*SCALED, "bernoulli", "bernoulli_exp", "uniform_int"])
def test_parameters_are_keyword_only(name):
    kinds = {p.kind for p in inspect.signature(getattr(noise, name)).parameters.values()}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}
    with pytest.raises(TypeError):
        getattr(noise, name)(1.0)


@pytest.mark.parametrize(
    "name", ["choice_log", "choice_exp", "permutation", "argmax_gumbel", "argmax_laplace", "argmax_gaussian"]
)
def test_only_the_first_argument_may_be_positional(name):
    _, *others = inspect.signature(getattr(noise, name)).parameters.values()
    assert {p.kind for p in others} == {inspect.Parameter.KEYWORD_ONLY}


def test_a_float_is_the_rational_that_it_is(monkeypatch):
    """0.1 is 3602879701896397/2^55, not 1/10; every kind of number arrives as an exact Fraction."""
    seen = []
    monkeypatch.setattr(module("geometric"), "one_geometric", lambda stream, t: seen.append(t) or 0)
    for value in (0.1, Fraction(1, 10), np.float32(0.1), np.float64(0.1), np.uint8(3), np.int64(3), 3):
        noise.geometric(scale=value)
    tenth = Fraction(3602879701896397, 2**55)
    assert seen == [tenth, Fraction(1, 10), Fraction(float(np.float32(0.1))), tenth, 3, 3, 3]
    assert all(type(t.numerator) is int for t in seen)


@pytest.mark.parametrize("bad", [math.nan, True, "1", None])
@pytest.mark.parametrize("name", ["rounded_gaussian", "rounded_laplace", "rounded_cauchy"])
def test_bad_centres_are_refused_with_one_message(name, bad):
    messages = set()
    for value in (bad, np.array([0.0, math.nan]), np.array([None, 1], dtype=object), np.array(["1"])):
        with pytest.raises(InvalidData) as caught:
            getattr(noise, name)(**{SCALED[name]: 1}, center=value)
        messages.add(str(caught.value))
    assert len(messages) == 1


@pytest.mark.parametrize("far", [math.inf, 2.0**60, 2**60, 10**400, 1e300, Fraction(10**400, 3)])
@pytest.mark.parametrize("name", ["rounded_gaussian", "rounded_laplace", "rounded_cauchy"])
def test_a_private_centre_is_never_too_large(name, far):
    """It saturates, in an array as by itself; a refusal would tell its size."""
    for sign in (1, -1):
        for center in (sign * far, np.array([sign * far], dtype=object)):
            whole, _, _ = split(center)
            assert np.all(whole == sign * 2**60)
        assert abs(int(getattr(noise, name)(**{SCALED[name]: 1}, center=sign * far)) - sign * 2**60) < 2**40
    assert noise.rounded_gaussian(sigma=1, center=np.array([2**63 - 1, -(2**63)])).tolist()[0] > 2**59


def test_fractions_in_an_array_keep_their_exact_rest():
    centers = np.array([Fraction(1, 3), 7, 0.25], dtype=object)
    whole, rest, shape = split(centers)
    assert (whole.tolist(), rest.exact, shape) == ([0, 7, 0], [Fraction(1, 3), 0, Fraction(1, 4)], (3,))
    one, other = (
        noise.rounded_laplace(scale=3, center=centers[2:].astype(kind).repeat(500), source=noise.Seeded(3))
        for kind in (object, float)
    )
    assert np.array_equal(one, other)


def test_the_shape_of_centres_is_the_shape_of_draws():
    center = np.zeros((2, 3))
    assert noise.rounded_laplace(scale=1, center=center).shape == (2, 3)
    assert noise.rounded_laplace(scale=1, center=center, size=(2, 3)).shape == (2, 3)
    with pytest.raises(InvalidParameter, match="shape of center"):
        noise.rounded_laplace(scale=1, center=center, size=6)


@pytest.mark.parametrize(
    "center",
    [0.5, -0.5, 1.5, 2.5, -1e-300, 0.49999999999999994, 2.0**52 - 0.5, 1e15 + 0.3, Fraction(1, 3), 7, -(2**51)],
)
def test_centres_are_split_exactly(center):
    whole, rest, _ = split(center)
    assert whole + rest == Fraction(center)
    assert abs(rest) <= Fraction(1, 2)
    if isinstance(center, float):
        wholes, rests, _ = split(np.array([center]))
        assert int(wholes[0]) + Fraction(float(rests[0])) == Fraction(center)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64, np.float32, np.float64])
def test_centres_of_every_dtype(dtype):
    center = np.array([0, 3, 100], dtype=dtype)
    assert np.abs(noise.rounded_gaussian(sigma=0.01, center=center) - center).max() == 0


@pytest.mark.parametrize(
    "x", [-1, math.nan, math.inf, True, "1", None, 1j, np.array([-1.0]), np.array([math.nan]), np.array([True])]
)
def test_bad_exponents(x):
    with pytest.raises(PrivetError, match="x must"):
        noise.bernoulli_exp(x=x)


@pytest.mark.parametrize("p", [-0.1, 1.1])
def test_bad_probabilities(p):
    with pytest.raises(InvalidParameter, match="p must"):
        noise.bernoulli(p=p)


def test_a_bound_beyond_64_bits_is_for_single_numbers():
    assert 0 <= noise.uniform_int(bound=10**30) < 10**30
    with pytest.raises(InvalidParameter, match="2\\^63"):
        noise.uniform_int(bound=2**63, size=1)


@pytest.mark.parametrize("scores", [[], [math.nan], [math.inf], [[1.0]], "ab", None, [-math.inf]])
@pytest.mark.parametrize(
    "select",
    [
        noise.choice_log,
        lambda s: noise.choice_exp(s, scale=1),
        lambda s: noise.argmax_gumbel(s, scale=1),
        lambda s: noise.argmax_exponential(s, scale=1),
        lambda s: noise.argmax_laplace(s, scale=1),
        lambda s: noise.argmax_gaussian(s, scale=1),
    ],
)
def test_bad_scores_are_refused_without_showing_them(select, scores):
    with pytest.raises(InvalidData) as caught:
        select(scores)
    assert "nan" not in str(caught.value)


def test_the_largest_scale_is_served():
    for name in ("discrete_laplace", "discrete_gaussian", "geometric", "rounded_gaussian", "rounded_laplace"):
        out = getattr(noise, name)(**{SCALED[name]: LARGEST_SCALE}, size=1000)
        assert 2**50 < np.abs(out).max() < 2**60
