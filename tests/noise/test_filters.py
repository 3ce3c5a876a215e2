"""The float filters beside their boundaries, with mathematical libraries that are wrong by 64 units in the last place."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privet import noise
from privet.noise.families import coins
from privet.noise.families.enclosure import exp_neg
from privet.noise.families.refined import Refined
from tests.firsts import ends
from tests.noise.helpers import ALPHA, Scripted, Sealed, Undecided, module

geometric, gaussian, cauchy = module("geometric"), module("rounded_gaussian"), module("rounded_cauchy")
NEAR = [d * s for d in (1, 3, 100, 10**4, 10**5, 10**6) for s in (-1, 1)]


def words_near(edges):
    """Words on both sides of each edge, and the edge cells themselves."""
    return sorted({e + d for e in edges for d in (0, *NEAR) if 0 <= e + d < 2**64} | {0, 1, 2**64 - 1, 2**63})


def mistakes(filtered, exact, words):
    """How many words the filter decides otherwise than exact arithmetic does (those left open cannot be wrong)."""
    wrong = 0
    for word in words:
        try:
            truth = exact(Refined(Sealed([]), word, 64))
        except Undecided:
            truth = None
        try:
            found = int(filtered(Sealed([word]))[0])
        except Undecided:
            continue
        wrong += found != truth
    return wrong


ERRORS = (2.0**-47, -(2.0**-47))  # 64 ulp


@pytest.mark.parametrize("t", ends([0.07, 0.1, 1.0, 10.0, 1000.0, 2.0**20 - 1], also=[0.1, 1.0]))
def test_geometric(t, monkeypatch):
    t = Fraction(t)
    edges = [
        exp_neg(k * t.denominator, t.numerator, 64)[0] for k in (1, 2, 3, 7, 20, int(t), int(3 * t), int(20 * t)) if k
    ]
    words = words_near(edges)

    def wrong():
        return mistakes(lambda s: geometric._filtered(s, 1, t), lambda u: geometric._exact(u, t, 0), words)

    def one_wrong():
        return mistakes(lambda s: [geometric.one_geometric(s, t)], lambda u: geometric._exact(u, t, 0), words)

    plain = geometric._position
    assert wrong() == one_wrong() == 0
    for error in ERRORS:
        monkeypatch.setattr(geometric, "_position", lambda w, s, log, e=error: plain(w, s, log) * (1 + e))
        assert wrong() == one_wrong() == 0
        monkeypatch.setattr(geometric, "MARGIN", 0.0)
        if t >= 0.1:  # below, the edges lie among the words that are left to the exact path anyway
            assert min(wrong(), one_wrong()) > 0
        monkeypatch.undo()


@pytest.mark.parametrize("sigma", ends([0.25, 1.0, 10.0, 1000.0, 2.0**20 - 1], also=[10.0]))
@pytest.mark.parametrize("rest", [Fraction(0), Fraction(1, 3), Fraction(-1, 2)])
def test_rounded_gaussian(sigma, rest, monkeypatch):
    check_rounded(
        gaussian, "_quantile", Fraction(sigma), rest, monkeypatch, lambda f: lambda w, s, e: f(w, s) * (1 + e)
    )


@pytest.mark.parametrize("scale", ends([0.25, 1.0, 10.0, 1000.0]))
@pytest.mark.parametrize("rest", [Fraction(0), Fraction(1, 3), Fraction(-1, 2)])
def test_rounded_cauchy(scale, rest, monkeypatch):
    def twist(f):
        def twisted(w, s, tan, e):
            distance, margin = f(w, s, tan)
            return distance * (1 + e), margin

        return twisted

    check_rounded(cauchy, "_distance", Fraction(scale), rest, monkeypatch, twist)


def check_rounded(file, name, scale, rest, monkeypatch, twist):
    filtered = file._filtered if name == "_quantile" else file._sample
    half = Fraction(1, 2)
    tail = file.normal_above if name == "_quantile" else file.cauchy_above
    edges = []
    outcomes = (-1, 0, 2, int(scale), -int(2 * scale))
    for k in outcomes:
        x = (k + half - rest) / scale
        ends = tail(abs(x.numerator), x.denominator, 64)
        edges.append(ends[0] if x < 0 else 2**64 - ends[1])
    words = words_near(edges)

    def nearest(word):
        return outcomes[min(range(len(edges)), key=lambda i: abs(edges[i] - word))]

    def wrong():
        exact = lambda u: file._exact(u, scale, rest, nearest(u.value))  # noqa: E731
        return mistakes(lambda s: filtered(s, 1, scale, rest), exact, words) + mistakes(
            lambda s: [file._one(s, scale, rest)], exact, words
        )

    assert wrong() == 0
    plain = twist(getattr(file, name))
    for error in ERRORS:
        monkeypatch.setattr(file, name, lambda *a, e=error: plain(*a, e))
        assert wrong() == 0
        monkeypatch.setattr(file, "MARGIN", 0.0)
        if scale >= 10:  # the margin of the sum, 2^-50, covers the rest
            assert wrong() > 0
        monkeypatch.undo()


@pytest.mark.parametrize("x", [0.0, 1e-9, 0.01, 0.3, 1.0, 5.0, 40.0, 800.0])
def test_coins(x, monkeypatch):
    value = Fraction(x)
    enclosure = lambda bits: exp_neg(value.numerator, value.denominator, bits)  # noqa: E731
    words = words_near([min(enclosure(64)[0], 2**64 - 1)])

    def wrong(exp=np.exp, one_exp=math.exp):
        monkeypatch.setattr(coins.np, "exp", exp)
        monkeypatch.setattr(coins.math, "exp", one_exp)
        many = mistakes(
            lambda s: coins.accept(Halves(s._script), np.array([x]), lambda i: enclosure),
            lambda u: u.below(enclosure),
            words,
        )
        one = mistakes(lambda s: [coins.accept_one(s, x, enclosure)], lambda u: u.below(enclosure), words)
        monkeypatch.undo()
        return many + one

    exp, one_exp = np.exp, math.exp
    assert wrong() == 0
    for e in ERRORS:
        assert wrong(lambda v, e=e: exp(v) * (1 + e), lambda v, e=e: one_exp(v) * (1 + e)) == 0
    if 0.3 <= x <= 5:
        assert wrong(lambda v: exp(v) * (1 + 2.0**-35), lambda v: one_exp(v) * (1 + 2.0**-35)) > 0


class Halves(Sealed):
    """A word served as two halves, as the vectorised coin asks for it."""

    def __init__(self, script):
        (word,) = script
        super().__init__([word >> 32, word % 2**32])


@pytest.mark.parametrize(("name", "scale"), [("geometric", 2.5), ("rounded_gaussian", 3.0), ("rounded_cauchy", 0.3)])
def test_a_margin_so_wide_that_most_draws_are_exact_changes_nothing(name, scale, monkeypatch):
    """The exact path on its own, at ordinary words: 40% and more of all draws take it."""
    from privet import testing

    monkeypatch.setattr(module(name), "MARGIN", 0.2 / scale)
    monkeypatch.setattr("privet.noise.table.TableCache.get", lambda *_: None)
    parameter = "sigma" if name == "rounded_gaussian" else "scale"
    samples = getattr(noise, name)(**{parameter: scale}, size=8_000)
    pmf = getattr(testing, f"pmf_{name}")
    if name == "rounded_cauchy":
        samples = np.clip(samples, -3, 3)
        plain = lambda k: pmf(k, scale=scale)  # noqa: E731
        end = 0.5 - math.atan(2.5 / scale) / math.pi
        testing.check_samples(
            samples, lambda k: np.where(abs(k) < 3, plain(k), np.where(abs(k) == 3, end, 0)), alpha=ALPHA
        )
    else:
        testing.check_samples(samples, lambda k: pmf(k, **{parameter: scale}), alpha=ALPHA)


@pytest.mark.parametrize("word", [0, 2**64 - 1])
@pytest.mark.parametrize("scale", [0.1, 0.25])
def test_the_end_words_are_never_decided_by_floats(word, scale):
    """At small scales the margin alone would decide them, and cut the tail."""
    for sampler in (
        lambda s: geometric._filtered(s, 1, Fraction(scale)),
        lambda s: gaussian._filtered(s, 1, Fraction(scale), Fraction(0)),
        lambda s: cauchy._sample(s, 1, Fraction(scale), Fraction(0)),
    ):
        if word and sampler(Scripted([word])).tolist() == [0]:
            continue  # the upper end of the geometric cell is U = 1, where the answer is 0
        with pytest.raises(Undecided):
            sampler(Sealed([word]))


@pytest.mark.parametrize("chance", [0.3, 0.5, 2.0**-20])
@pytest.mark.parametrize("margin", [2.0**-52, 2.0**-44, 2.0**-30])
def test_coins_of_given_chances_beside_their_margin(chance, margin):
    """A float chance that is off by less than its margin decides nothing wrongly, on either side of the true one."""
    for error in (-0.9, 0.9):
        true = Fraction(chance) + Fraction(error) * Fraction(margin)
        enclosure = _enclosed(true)
        words = words_near([math.floor((true + Fraction(s) * Fraction(margin)) * 2**64) for s in (-2, -1, 0, 1, 2)])

        def exact(u, enclosure=enclosure):
            return int(u.below(enclosure))

        def many(stream, enclosure=enclosure):
            return coins.compare(stream, np.array([chance]), np.array([margin]), lambda _: enclosure)

        def one(stream, enclosure=enclosure):
            return [coins.compare_one(stream, chance, margin, enclosure)]

        assert mistakes(many, exact, words) == mistakes(one, exact, words) == 0


def _enclosed(value):
    return lambda bits: (math.floor(value * 2**bits), math.ceil(value * 2**bits))
