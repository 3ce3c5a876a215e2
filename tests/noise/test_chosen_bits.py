"""The samplers on bits chosen by an adversary, against quantiles at 80 digits; streams under forks and threads."""

import importlib
import math
import os
import threading
from fractions import Fraction
from itertools import pairwise, permutations
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.special
from mpmath import mp, mpf
from scipy import stats

from privet import noise
from privet.errors import InvalidParameter
from privet.noise import entropy
from privet.noise.entropy import Source
from privet.noise.table import TableCache
from tests.firsts import ends
from tests.mechanisms.goodness import fits
from tests.noise.helpers import Scripted

ONES = 2**64 - 1
ALTERNATING = 0xAAAAAAAAAAAAAAAA


class Script(Source):
    """A source whose stream begins with the listed words."""

    insecure = True

    def __init__(self, *words):
        self._words = words

    def stream(self):
        return Scripted(self._words)


def module(name):
    return importlib.import_module(f"privet.noise.{name}")


def number(x):
    return mpf(Fraction(x).numerator) / Fraction(x).denominator


def geometric_at(u, scale):
    return int(mp.floor(-number(scale) * mp.log(u)))


def gaussian_at(u, sigma, center):
    """floor(center + N + 1/2); the tail that is small is inverted, so that no digit is lost."""
    low = min(u, 1 - u)
    x = mp.findroot(lambda z: mp.log(mp.erfc(z / mp.sqrt(2)) / 2) - mp.log(low), _guess(low))
    return int(mp.floor(number(center) + number(sigma) * (-x if u < mpf(1) / 2 else x) + mpf(1) / 2))


def _guess(low):
    return mp.sqrt(max(mpf("0.01"), -2 * mp.log(4 * low))) if low < mpf("0.2") else mpf("0.5")


def cauchy_at(u, scale, center):
    value = number(center) - number(scale) * mp.cot(mp.pi * u) + mpf(1) / 2
    return int(min(max(mp.floor(value), -(2**62)), 2**62))


LAWS = {
    "geometric": (lambda u, s, c: geometric_at(u, s), "scale"),
    "rounded_gaussian": (gaussian_at, "sigma"),
    "rounded_cauchy": (cauchy_at, "scale"),
}
PREFIXES = [
    (0, 0, 12345), (0, ONES, 7), (ONES, ONES, 5), (ONES, 0, 9), (ALTERNATING, 1, 1), (ALTERNATING >> 1, 2, 2), (1, 0, 0),
    (2**63, 0, 3), (2**63 - 1, ONES, 3), (2**44, 0, 1), (2**44 - 1, ONES, 1), (3, 14, 15),
]  # fmt: skip


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("scale", [0.05, 2.0**-60, 3.0, 2.0**19 + 0.5])
@pytest.mark.parametrize("center", ends([0, 0.5, -0.49999999999999994, 5e-324, 2.0**51 - 0.25], also=[0.5]))
def test_extreme_words_give_the_exact_quantile(name, scale, center):
    """The words are the digits of U: whatever they are, the answer is the quantile at U, in both forms of a draw."""
    if name == "geometric" and center != 0:
        return
    quantile, parameter = LAWS[name]
    asked = {parameter: scale} if name == "geometric" else {parameter: scale, "center": center}
    with mp.workdps(80):
        for words in PREFIXES:
            value = words[0] << 128 | words[1] << 64 | words[2]
            ends = [mpf(value + more) / 2**192 for more in (0, 1)]
            if value == 0 or ends[1] == 1:
                continue
            expected = {quantile(end, scale, center) for end in ends}
            if len(expected) > 1:
                continue  # the cell is cut: further words decide
            one = getattr(noise, name)(**asked, source=Script(*words))
            many = getattr(noise, name)(**asked, size=1, source=Script(*words))
            assert {int(one)} == {int(many[0])} == expected, words


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("scale", [0.3, 4.0, 77.7, 5e4])
def test_floats_and_exact_arithmetic_answer_alike_for_the_same_bits(name, scale, monkeypatch):
    """First as it is, then with a margin so wide that every draw is left to integers."""
    monkeypatch.setattr(TableCache, "get", lambda *_: None)
    _, parameter = LAWS[name]
    for center in [0] if name == "geometric" else [0, 0.3, np.linspace(-2.0, 2.0, 300)]:
        asked = {parameter: scale, "size": 300} | ({} if name == "geometric" else {"center": center})
        with monkeypatch.context() as patch:
            plain = getattr(noise, name)(**asked, source=noise.Seeded(5))
            patch.setattr(module(name), "MARGIN", 1e9)
            exact = getattr(noise, name)(**asked, source=noise.Seeded(5))
        assert np.array_equal(plain, exact)


@pytest.mark.parametrize("error", [2.0**-47, -(2.0**-47)])
def test_a_mathematical_library_wrong_by_64_ulp_changes_no_draw(error, monkeypatch):
    """Every public sampler on the same bits, with all elementary functions bent one way; nothing may move."""
    monkeypatch.setattr(TableCache, "get", lambda *_: None)
    samplers = {
        "geometric": {"scale": 3e5},
        "discrete_laplace": {"scale": 1e3},
        "discrete_gaussian": {"sigma": 1e5},
        "rounded_gaussian": {"sigma": 9e5, "center": 0.25},
        "rounded_laplace": {"scale": 1e4, "center": 0.25},
        "rounded_cauchy": {"scale": 1e5},
        "bernoulli_exp": {"x": 0.7},
    }

    def draws():
        out = {
            name: getattr(noise, name)(**asked, size=40_000, source=noise.Seeded(3)) for name, asked in samplers.items()
        }
        out["choice"] = noise.choice_exp(np.linspace(-9.0, 0.0, 50), scale=1.7, size=20_000, source=noise.Seeded(3))
        out["coins"] = noise.bernoulli_exp(x=np.linspace(0.0, 9.0, 20_000), source=noise.Seeded(3))
        scores = np.linspace(0.0, 2.0, 40)
        for name in ("argmax_gumbel", "argmax_laplace", "argmax_exponential", "argmax_gaussian"):
            out[name] = np.array([getattr(noise, name)(scores, scale=1.0, source=noise.Seeded(i)) for i in range(60)])
        return out

    def bend(patch, by):
        for name in ("log", "exp", "expm1", "tan"):
            straight = getattr(np, name)
            patch.setattr(np, name, lambda x, straight=straight: straight(x) * (1.0 + by))
        quantile, ndtr = scipy.special.ndtri, scipy.special.ndtr
        bent = SimpleNamespace(ndtr=ndtr, ndtri=lambda p: quantile(p) * (1.0 + by))
        for room in ("rounded_gaussian", "argmax"):
            patch.setattr(module(room), "special", lambda: bent)

    before = draws()
    for by in (error, 2.0**17 * error):  # the second one is far beyond what the margins promise
        with monkeypatch.context() as patch:
            bend(patch, by)
            after = draws()
        same = {name: np.array_equal(before[name], after[name]) for name in before}
        assert all(same.values()) if by == error else not all(same.values()), same


def test_without_the_rule_for_the_first_words_a_tail_is_cut(monkeypatch):
    """The twin that trusts floats on word 0: it stops where the word ends, U is smaller still."""
    words = (0, 0, 12345)
    honest = noise.geometric(scale=0.7, source=Script(*words))
    monkeypatch.setattr(module("geometric"), "FIRST", 0)
    assert noise.geometric(scale=0.7, source=Script(*words)) < honest


@pytest.mark.parametrize("scale", ends([2.0**40, 2.0**50 + 0.5, 2.0**52]))
@pytest.mark.parametrize(
    "name", ["discrete_laplace", "rounded_laplace", "discrete_gaussian", "rounded_gaussian", "rounded_cauchy"]
)
def test_huge_scales_follow_the_continuous_law(name, scale):
    """There the grid is far finer than the noise: a Kolmogorov-Smirnov test against the density (level 1e-6)."""
    law = {"l": stats.laplace, "g": stats.norm, "c": stats.cauchy}[name.split("_")[1][0]]
    parameter = "sigma" if "gaussian" in name else "scale"
    drawn = getattr(noise, name)(**{parameter: scale}, size=5_000)
    assert drawn.dtype == np.int64
    assert stats.kstest(drawn / scale, law.cdf).pvalue > 1e-6
    assert stats.kstest(drawn / scale / 1.5, law.cdf).pvalue < 1e-6
    with pytest.raises(InvalidParameter):
        getattr(noise, name)(**{parameter: 2.0**60})


def test_the_bits_of_huge_noise_are_even():
    """Low bits of noise of scale 2^40 are fair and independent of the high ones, up to 2^-20."""
    drawn = noise.discrete_laplace(scale=2**40, size=60_000)
    for bit in (0, 1, 13, 30):
        assert stats.binomtest(int(np.sum(drawn >> bit & 1)), len(drawn)).pvalue > 1e-6
    assert fits((drawn & 15) % 16, np.full(16, 1 / 16))


@pytest.mark.parametrize("bound", [3 * 2**61, 3 * 2**62, 2**64 - 1, 5, 2**32 + 1])
def test_no_remainder_is_favoured(bound):
    """A remainder modulo 3 * 2^62 would fall below 2^62 half of the time instead of a third."""
    if bound < 2**63:
        drawn = noise.uniform_int(bound=bound, size=9_000).tolist()
    else:
        drawn = [noise.uniform_int(bound=bound) for _ in range(9_000)]
    assert all(0 <= x < bound for x in drawn)
    cells = min(bound, 12)
    edges = [-(-bound * i // cells) for i in range(cells + 1)]
    place = np.searchsorted(np.array(edges[1:], dtype=object), np.array(drawn, dtype=object), side="right")
    assert fits(place.astype(int), [(b - a) / bound for a, b in pairwise(edges)])


def test_all_orders_are_equally_likely_even_when_keys_collide():
    codes = {order: code for code, order in enumerate(permutations(range(4)))}
    drawn = [codes[tuple(noise.permutation(4).tolist())] for _ in range(3_000)]
    assert fits(drawn, np.full(24, 1 / 24))
    collided = [codes[tuple(noise.permutation(4, source=Colliding()).tolist())] for _ in range(3_000)]
    assert fits(collided, np.full(24, 1 / 24))


class Colliding(Source):
    """The first four keys are equal in pairs, or all four: further bits must order them."""

    insecure = True

    def stream(self):
        stream = Scripted([])
        high = noise.uniform_int(bound=2, size=4)
        stream._script, stream._rest = [int(h) << 63 for h in high], noise.Secure().stream()
        return stream


NEXT = [(5, 6), (6, 5), (2**63, 1)]
FIRST = [0, 1, 2**63, ALTERNATING, ONES]
EACH_ONCE = [(word, *NEXT[i % len(NEXT)]) for i, word in enumerate(FIRST)]
EVERY_PAIR = [(word, *following) for word in FIRST for following in NEXT]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("argmax_exponential", EVERY_PAIR),
        ("argmax_gumbel", EVERY_PAIR),
        ("argmax_laplace", EVERY_PAIR),
        ("argmax_gaussian", EACH_ONCE[::4]),  # each is a quantile in 128 bits and more, which takes a second
        pytest.param("argmax_gaussian", EVERY_PAIR, marks=pytest.mark.slow),
    ],
    ids=["argmax_exponential", "argmax_gumbel", "argmax_laplace", "argmax_gaussian", "argmax_gaussian, every pair"],
)
def test_equal_first_words_are_told_apart_by_the_next(name, words):
    """Both candidates get the same 64 bits; the smaller U has the larger exponential noise, the larger U the larger
    Gumbel or normal noise."""
    signs = [0] if name == "argmax_laplace" else []
    for word, first, second in words:
        wins = noise.__dict__[name]([1.0, 1.0], scale=1.0, source=Script(word, word, *signs, first, second))
        smaller = int(second < first)
        assert wins == (1 - smaller if name in ("argmax_gumbel", "argmax_gaussian") else smaller)


def test_integer_weights_dominate_the_true_ones():
    """The proposal of `choice_exp`, checked in 60 digits: G[i] >= w[i] 2^shift, and hardly more."""
    room = module("choice_exp")
    source = np.random.default_rng(3)
    with mp.workdps(60):
        for scale in (0.01, 1.0, 1e3):
            values = np.concatenate([source.normal(size=40) * scale * 50, [1e300, 1e300, -1e300, -np.inf]])
            for scores in (values[:40], values, np.zeros(7), np.array([0.0, -744.0 * scale, -746.0 * scale])):
                counts = source.integers(0, 2**40, len(scores))
                counts[0] = 2**62
                proposal = room._Proposal(scores, Fraction(scale), counts)
                units = np.diff(proposal.ends, prepend=0)
                best = max(score for score, count in zip(scores, counts, strict=True) if count)
                for g, score, count in zip(units.tolist(), scores, counts.tolist(), strict=True):
                    if score == -np.inf or count == 0:
                        assert g == 0
                        continue
                    weight = count * mp.exp((number(float(score)) - number(float(best))) / number(scale))
                    weight *= mpf(2) ** proposal.shift
                    assert weight <= g <= weight * (1 + mpf(2) ** -38) + 1


def test_long_requests_are_not_recursive(monkeypatch):
    """A request of thousands of runs of the cipher; and the same words as many short requests of whole runs."""
    monkeypatch.setattr(entropy, "_RUN", 32)
    long = noise.Seeded(1).stream().words(32 * 3_000)
    stream = noise.Seeded(1).stream()
    assert np.array_equal(long, np.concatenate([stream.words(32) for _ in range(3_000)]))


def in_children(work, count):
    """What `work()` returns in that many forked processes: lists of whole numbers."""
    found = []
    for _ in range(count):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.write(write, " ".join(map(str, work())).encode())
            os._exit(0)
        os.close(write)
        os.waitpid(pid, 0)
        with os.fdopen(read) as pipe:
            found.append([int(word) for word in pipe.read().split()])
    return found


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("used", [0, 1, 33, 20_000])
def test_no_two_processes_share_a_word(used):
    """Streams half used before the fork, buffers and single words; and fresh draws after it."""
    stream = noise.Secure().stream()
    stream.words(used)
    if used:
        stream.word()
    work = lambda: [*stream.words(5).tolist(), stream.word(), stream.bits(200) & ONES, noise.uniform_int(bound=2**63)]  # noqa: E731
    seen = [word for child in [*in_children(work, 4), work()] for word in child]
    assert len(seen) == 40
    assert len(set(seen)) == 40


def test_no_two_threads_share_a_word():
    found, source = [], noise.Secure()

    def work():
        found.extend(noise.uniform_int(bound=2**63 - 1, size=50, source=source).tolist() for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    words = [word for row in found for word in row]
    assert len(words) == len(set(words)) == 8_000


def test_seeded_threads_share_no_stream():
    """Even a seeded source never hands out one stream twice."""
    found, source = [], noise.Seeded(4)
    threads = [
        threading.Thread(target=lambda: found.extend(source.stream().word() for _ in range(200))) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1_200


def test_a_stream_of_answers_ends_in_the_child_of_a_fork():
    from privet.mechanisms import AboveThreshold

    stream = AboveThreshold.for_budget(epsilon=1.0, sensitivity=1, threshold=0).start()

    def work():
        try:
            stream.ask(1e6)
        except InvalidParameter:
            return [1]
        return [0]

    assert in_children(work, 2) == [[1], [1]]
    assert stream.ask(1e9)
    assert math.isclose(stream.remaining, 0)
