"""Words by key, domain, step and place: those of the cipher, and no word for two purposes."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from privet import noise
from privet.errors import InvalidParameter
from privet.noise import KeyedStream
from tests.noise.helpers import module

keyed = module("keyed")

KEY = bytes(range(32))
# RFC 8439: sections 2.3.2 and A.1 (1, 2, 4, 5): key, counter, nonce, the first bytes of the block
VECTORS = [
    (KEY, 1, "000000090000004a00000000", "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"),
    (bytes(32), 0, "00" * 12, "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"),
    (bytes(32), 1, "00" * 12, "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"),
    (bytes([0, 0xFF]) + bytes(30), 2, "00" * 12, "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"),
    (bytes(32), 0, "00" * 11 + "02", "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c7"),
]


@pytest.mark.parametrize(("key", "counter", "nonce", "wanted"), VECTORS)
def test_the_words_are_those_of_rfc_8439(key, counter, nonce, wanted):
    raw = bytes.fromhex(nonce)
    domain, step = int.from_bytes(raw[:4], "little"), int.from_bytes(raw[4:], "little")
    words = KeyedStream(key).words(domain, step, 8, 8 * counter)
    assert words.tobytes()[:32].hex() == wanted


@pytest.mark.parametrize(
    ("first", "count"), [(0, 0), (0, 1), (7, 1), (8, 1), (5, 30), (16383, 2), (2**14, 2**14 + 3), (2**35 - 9, 9)]
)
def test_every_place_can_be_reached_by_itself(first, count):
    stream = KeyedStream(KEY)
    words = stream.words(5, 9, count, first)
    assert len(words) == count
    for place in {0, count // 2, count - 1} & set(range(count)):
        assert words[place] == stream.words(5, 9, 1, first + place)[0]


def test_domains_steps_and_keys_have_words_of_their_own():
    one, two = KeyedStream(KEY), KeyedStream(bytes(32))
    found = [
        stream.words(domain, step, 64)
        for stream in (one, two)
        for domain in (1, 2, 2**31)
        for step in (0, 1, 2**32, 2**63)
    ]
    every = np.concatenate(found)
    assert len(np.unique(every)) == len(every)


@pytest.mark.parametrize(
    "wrong", [(-1, 0, 1, 0), (2**32, 0, 1, 0), (0, 2**64, 1, 0), (0, -1, 1, 0), (0, 0, 2, 2**35 - 1), (0, 0, -1, 0)]
)
def test_what_the_cipher_cannot_count_is_refused(wrong):
    with pytest.raises(InvalidParameter):
        KeyedStream(KEY).words(*wrong)


def test_the_key_is_a_secret():
    stream = KeyedStream.fresh()
    shown = repr(stream) + str(stream) + f"{stream}"
    assert "secret" in shown
    assert stream._key.hex() not in shown
    assert repr(stream._key) not in shown
    for copies in (copy.copy, copy.deepcopy, pickle.dumps, lambda each: copy.deepcopy({"state": [each]})):
        with pytest.raises(InvalidParameter, match="cannot be pickled or copied"):
            copies(stream)
    assert not hasattr(stream, "__dict__")


@pytest.mark.parametrize("key", [b"", bytes(31), bytes(33), "0" * 32, bytearray(32), None])
def test_other_keys_are_refused_without_being_shown(key):
    with pytest.raises(InvalidParameter, match="32 bytes") as refused:
        KeyedStream(key)
    assert "0000" not in str(refused.value)


def test_a_seeded_run_repeats_and_says_so():
    one, two = KeyedStream.fresh(noise.Seeded(3)), KeyedStream.fresh(noise.Seeded(3))
    assert one.insecure
    assert two.insecure
    assert (one.words(1, 1, 9) == two.words(1, 1, 9)).all()
    assert not KeyedStream.fresh().insecure
    assert KeyedStream.fresh_key() != KeyedStream.fresh_key()
    assert one.source(20, 0).insecure
    assert not KeyedStream.fresh().source(20, 0).insecure


def test_coins_are_heads_for_words_below_the_threshold():
    stream = KeyedStream(KEY)
    words = stream.words(1, 4, 1000)
    for q in (0.25, Fraction(1, 3), 1e-3, 2.0**-64, 0):
        wanted = [int(word) * Fraction(q).denominator < 0 or int(word) < int(Fraction(q) * 2**64) for word in words]
        assert stream.coins(4, 1000, q=q).tolist() == wanted
    assert stream.coins(4, 1000, q=1).all()
    assert not stream.coins(4, 1000, q=0).any()
    assert (stream.coins(4, 10, q=0.5, first=700) == stream.coins(4, 1000, q=0.5)[700:710]).all()


def test_a_threshold_is_never_rounded_up():
    assert keyed.threshold(Fraction(1, 3)) == 2**64 // 3
    assert keyed.threshold(0.1) <= Fraction(0.1) * 2**64
    assert keyed.threshold(Fraction(2**70 - 1, 2**70)) == 2**64 - 1
    word = int(KeyedStream(KEY).words(1, 0, 1)[0])
    assert not KeyedStream(KEY).coins(0, 1, q=Fraction(word, 2**64))[0]  # its own word is not below it
    assert KeyedStream(KEY).coins(0, 1, q=Fraction(word + 1, 2**64))[0]


def test_coins_of_steps_are_independent():
    heads = np.array([KeyedStream(KEY).coins(step, 2000, q=0.3) for step in range(20)])
    assert abs(heads.mean() - 0.3) < 0.01
    across = np.corrcoef(heads.astype(float))
    assert np.abs(across - np.eye(20)).max() < 0.12


@pytest.mark.parametrize(("first", "count"), [(0, 1), (65535, 2), (65536, 5), (3, 140_000), (0, 0)])
def test_noise_can_be_reached_place_by_place(first, count):
    stream = KeyedStream(KEY)
    whole = stream.rounded_gaussian(7, 150_000, sigma=10**7)
    assert (stream.rounded_gaussian(7, count, sigma=10**7, first=first) == whole[first : first + count]).all()


def test_noise_has_its_law_and_neither_half_nor_twice_of_it():
    stream, sigma = KeyedStream(KEY), 3.3e7
    drawn = np.concatenate([stream.rounded_gaussian(step, 100_000, sigma=sigma) for step in range(2)])
    edges = stats.norm.ppf(np.linspace(0.0, 1.0, 129))[1:-1]
    for factor, fits in ((1.0, True), (0.5, False), (2.0, False)):
        p = stats.chisquare(np.bincount(np.searchsorted(edges, drawn / (factor * sigma)), minlength=128)).pvalue
        assert p > 1e-4 if fits else p < 1e-9


def test_no_two_purposes_share_words():
    """Coins, noise, what it needs besides, and sources: recorded, they never ask for the same domain and step twice."""
    stream, asked = KeyedStream(KEY), []
    whole, scattered = KeyedStream.words, KeyedStream.scattered

    def recorded(self, domain, step, count, first=0):
        asked.extend((domain, step, place) for place in range(first // 8, -(-(first + count) // 8)))
        return whole(self, domain, step, count, first)

    def recorded_places(self, domain, step, places):
        asked.extend((domain, step, int(place)) for place in places)
        return scattered(self, domain, step, places)

    patch = pytest.MonkeyPatch()
    with patch.context() as during:
        during.setattr(KeyedStream, "words", recorded)
        during.setattr(KeyedStream, "scattered", recorded_places)
        for step in (0, 1):
            stream.coins(step, 10, q=0.5)
            stream.rounded_gaussian(step, 2**15, sigma=2**20)
            for domain in (0, 1, 2, 3, 17, 2**16 - 1):
                source = stream.source(domain, step)
                for _ in range(2):
                    noise.uniform_int(bound=10, source=source)
    assert len(set(asked)) == len(asked)
    kinds = {(domain, step) for domain, step, _ in asked}
    assert {domain for domain, _ in kinds if domain < 3} == {1, 2}
    turns = {domain for domain, _ in kinds if domain % 16 == 3}
    assert {3, 19} <= turns  # what noise needs besides a word: other domains in every turn
    assert len([each for each in kinds if each[0] % 16 == 4]) == 24


def test_scattered_words_are_those_of_the_cipher():
    stream, places = KeyedStream(KEY), np.array([0, 7, 2**32 - 1, 5, 5])
    found = stream.scattered(2**32 - 1, 2**64 - 2, places)
    for row, place in zip(found, places.tolist(), strict=True):
        assert (row == stream.words(2**32 - 1, 2**64 - 2, 8, 8 * place)).all()
    assert stream.scattered(3, 0, places[:0]).shape == (0, 8)


def test_what_rectangles_leave_has_its_law_place_by_place():
    """Far more places than rectangles leave, all drawn as if they were left: the law of what is left, and two others."""
    stream, sigma, many = KeyedStream(KEY), Fraction(2**30), 60_000
    strips = keyed.strips_of(sigma)
    drawn = stream.rest_of(3, np.arange(many), strips) / float(sigma)
    edges = np.linspace(-4.0, 4.0, 81)
    chances = np.diff(stats.norm.cdf(edges))
    width = float(strips.law.leading)  # the part of each cell that rectangles have: heights over lengths
    heights = np.concatenate([strips.law.buckets[::-1], strips.law.buckets]) / 2**16
    ends = np.arange(-len(strips.law.buckets), len(strips.law.buckets) + 1) / width
    inside = np.diff(np.interp(edges, ends, np.concatenate([[0.0], np.cumsum(heights)])))
    left = (chances - inside) / (strips.law.left / 2**16)
    wanted, seen = np.append(left, 1.0 - left.sum()) * many, np.histogram(drawn, edges)[0]
    counted = np.append(seen, many - seen.sum())
    kept = wanted > 5.0
    assert stats.chisquare(counted[kept], wanted[kept] * counted[kept].sum() / wanted[kept].sum()).pvalue > 1e-4
    plain = np.append(chances, 1.0 - chances.sum()) * many  # a twin: all of the normal law
    assert stats.chisquare(counted[kept], plain[kept] * counted[kept].sum() / plain[kept].sum()).pvalue < 1e-9


def test_close_comparisons_are_decided_by_words_of_the_same_place(monkeypatch):
    """With a margin of a half every coin is refined: what comes out is the same, since floats decide only what is sure."""
    stream, sigma, places = KeyedStream(KEY), Fraction(2**30), np.arange(40)
    wanted = stream.rest_of(3, places, keyed.strips_of(sigma))
    strips_module = module("strips")
    monkeypatch.setattr(strips_module, "MARGIN", 0.5)
    assert (stream.rest_of(3, places, strips_module.Strips(sigma)) == wanted).all()
    alone = [int(stream.rest_of(3, places[i : i + 1], strips_module.Strips(sigma))[0]) for i in (0, 17)]
    assert alone == [int(wanted[0]), int(wanted[17])]


def test_a_step_has_so_many_numbers_of_noise():
    with pytest.raises(InvalidParameter, match="2\\^32 numbers"):
        KeyedStream(KEY).rounded_gaussian(0, 2, sigma=2**20, first=2**32 - 1)


@pytest.mark.parametrize("sigma", [0, -1.0, 1023, 2**52 + 1, 2**60])
def test_scales_out_of_reach_are_refused(sigma):
    with pytest.raises(InvalidParameter, match="sigma"):
        KeyedStream(KEY).rounded_gaussian(0, 1, sigma=sigma)


@pytest.mark.parametrize("sigma", [1024, 2**52])
def test_scales_within_reach_are_drawn(sigma):
    assert len(KeyedStream(KEY).rounded_gaussian(0, 3, sigma=sigma)) == 3


def test_a_source_refuses_domains_and_draws_that_would_meet_others():
    stream = KeyedStream(KEY)
    with pytest.raises(InvalidParameter, match="below 2"):
        stream.source(2**16, 0)
    source = stream.source(0, 0)
    source._calls = 2**12
    with pytest.raises(InvalidParameter, match="4096 draws"):
        source.stream()
