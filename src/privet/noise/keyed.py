"""Words that are a function of a key, a domain, a step and a place: whoever has the key computes any of them, in any order.

A run that samples and adds noise on several machines draws one key, once, and hands it to all of them; then each machine
computes the coins and the noise of its own part, and no two parts share a word.
"""

import struct
from fractions import Fraction
from typing import Any, NoReturn, final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from numpy.typing import NDArray

from privet._validate import flag, whole
from privet.errors import InternalError, InvalidParameter
from privet.noise.entropy import Source, Stream, Words, current
from privet.noise.parameters import positive, probability
from privet.noise.strips import OwnWords, Strips, kept_strips
from privet.noise.table import TableCache

COINS, NOISE, REST, SOURCE = 1, 2, 3, 4  # the last four bits of the domains that are taken here
TURN = 16  # from one turn of a place to the next, among the domains of REST

_KEY = 32  # bytes of a key of ChaCha20
_WORDS = 8  # in a block of the cipher
_MOST = _WORDS << 32  # words of a domain and a step: the cipher counts its blocks with 32 bits
_RUN = 1 << 14  # words at a time: an eighth of a mebibyte stays in the cache; changes speed only
_ZEROS = bytes(8 * _RUN)
_CONSTANTS = np.frombuffer(b"expand 32-byte k", dtype="<u4").astype(np.uint32)
_FINER = 1 << 31  # domains of REST from here on hold the bits that follow a word
_PURPOSES = 1 << 16  # from one purpose to the next there
# Grid steps for which the law of strips is proved (proof note noise/strips).
_LEAST_SIGMA, _MOST_SIGMA = 1024, 2**52


@final
class KeyedStream:
    """ChaCha20 (RFC 8439) under one key as an array of 64-bit words, by domain (32 bits), step (64 bits) and place.
    Domains whose last four bits are 1, 2, 3 or 4 belong to coins, noise and sources; all others are free.

    The key is a secret as long as the noise is: it is not shown, and a stream can be neither copied nor pickled. A run
    that is resumed draws a new key, since the same noise on other numbers would give both away.

    **Guarantee:** computational indistinguishability from independent fair bits, as long as every word is used for one
    purpose. **Reference:** Nir & Langley 2018 (RFC 8439); proof note noise/keyed.

    >>> stream = KeyedStream(bytes(32))
    >>> int(stream.words(0, 0, 1)[0]) == 0x903DF1A0ADE0B876  # as it stands in RFC 8439, A.1
    True
    >>> stream
    KeyedStream(<secret>)
    """

    __slots__ = ("_key", "insecure")

    def __init__(self, key: bytes, *, insecure: bool = False) -> None:
        if not isinstance(key, bytes) or len(key) != _KEY:
            raise InvalidParameter("key must be 32 bytes: take KeyedStream.fresh_key()")
        self._key, self.insecure = key, flag("insecure", insecure)

    @staticmethod
    def fresh_key(source: Source | None = None) -> bytes:
        """A key from the source: to be made once a run, handed to its other processes, and kept nowhere.

        >>> len(KeyedStream.fresh_key())
        32
        """
        return current(source).stream().words(_KEY // 8).tobytes()

    @classmethod
    def fresh(cls, source: Source | None = None) -> "KeyedStream":
        """A stream under a key of its own; one from a seeded source repeats, and says that it is insecure.

        >>> KeyedStream.fresh().insecure
        False
        """
        return cls(cls.fresh_key(source), insecure=current(source).insecure)

    def words(self, domain: int, step: int, count: int, first: int = 0) -> Words:
        """`count` words from place `first` on, of one domain and one step."""
        nonce = _nonce(domain, step)
        many, start = whole("count", count, 0), whole("first", first, 0)
        if start + many > _MOST:
            raise InvalidParameter("a domain has 2^35 words in a step: take another domain for more")
        skip = start % _WORDS
        cipher = Cipher(algorithms.ChaCha20(self._key, struct.pack("<L", start // _WORDS % 2**32) + nonce), mode=None)
        encryptor, out = cipher.encryptor(), np.empty(skip + many, dtype="<u8")
        for begin in range(0, len(out), _RUN):
            part = out[begin : begin + _RUN]
            part[:] = np.frombuffer(encryptor.update(_ZEROS[: part.nbytes]), dtype="<u8")
        return out[skip:]

    def coins(self, step: int, count: int, *, q: int | float | Fraction, first: int = 0) -> NDArray[np.bool_]:
        """The coins of records first, first + 1, ... in a step: heads with probability floor(2^64 q)/2^64, at most q.

        >>> KeyedStream(bytes(32)).coins(0, 3, q=1).tolist()
        [True, True, True]
        """
        limit = threshold(q)
        if limit == 2**64:  # no word is as large
            return np.ones(whole("count", count, 0), dtype=np.bool_)
        return self.words(COINS, step, count, first) < np.uint64(limit)

    def rounded_gaussian(
        self, step: int, count: int, *, sigma: int | float | Fraction, first: int = 0
    ) -> NDArray[np.int64]:
        """floor(N + 1/2) for N from N(0, sigma^2) at places first, first + 1, ... of a step; sigma from 1024 to 2^52.

        **Guarantee:** the exact law, as of `noise.rounded_gaussian`. **Reference:** proof note noise/keyed.

        >>> stream = KeyedStream(bytes(32))
        >>> whole = stream.rounded_gaussian(0, 20, sigma=10**6)
        >>> bool((stream.rounded_gaussian(0, 5, sigma=10**6, first=15) == whole[15:]).all())
        True
        """
        strips, many = strips_of(sigma), whole("count", count, 0)
        if first + many > _MOST // _WORDS:
            raise InvalidParameter("a step has 2^32 numbers of noise: take another step for more")
        out, rest = np.empty(many, dtype=np.int64), [np.empty(0, dtype=np.int64)]
        scratch = np.empty((2, min(many, _RUN)), dtype=np.int64)
        for start in range(0, many, _RUN):
            part = out[start : start + _RUN]
            words = self.words(NOISE, step, len(part), first + start)
            rest.append(start + strips.inside(words, part, scratch))
        places = np.concatenate(rest)
        out[places] = self.rest_of(step, first + places, strips)
        return out

    def rest_of(self, step: int, places: NDArray[np.int64], strips: Strips) -> NDArray[np.int64]:
        """The noise of places whose words belong to no rectangle."""
        return strips.outside_each(_OfPlaces(self, step, places), len(places))

    def scattered(self, domain: int, step: int, places: NDArray[np.int64]) -> Words:
        """Words 8 p to 8 p + 7 for each of these places p, [places, 8].

        >>> stream = KeyedStream(bytes(32))
        >>> bool((stream.scattered(5, 0, np.array([3, 1])).reshape(-1)[8:] == stream.words(5, 0, 8, 8)).all())
        True
        """
        key = np.frombuffer(self._key + _nonce(domain, step), dtype="<u4").astype(np.uint32)
        state = np.empty((16, len(places)), dtype=np.uint32)
        state[:4], state[4:12], state[13:] = _CONSTANTS[:, None], key[:8, None], key[8:, None]
        state[12] = places
        a, b, c, d = (state[row : row + 4].copy() for row in (0, 4, 8, 12))
        for _ in range(10):
            _quarters(a, b, c, d)
            b, c, d = np.roll(b, -1, 0), np.roll(c, -2, 0), np.roll(d, -3, 0)  # diagonals become columns
            _quarters(a, b, c, d)
            b, c, d = np.roll(b, 1, 0), np.roll(c, 2, 0), np.roll(d, 3, 0)
        mixed = np.ascontiguousarray((np.concatenate([a, b, c, d]) + state).T)
        return mixed.astype("<u4", copy=False).view("<u8")

    def source(self, domain: int, step: int) -> Source:
        """A source for one step, of which each draw has words of its own: for samplers that take a source. Its domains
        (below 2^16) are apart from those of `words`, `coins` and noise.

        >>> from privet import noise
        >>> keyed = KeyedStream(bytes(32))
        >>> one, two = (noise.permutation(9, source=keyed.source(20, 3)) for _ in range(2))
        >>> bool((one == two).all())
        True
        """
        return _StepSource(self, domain, step)

    def secret_words(self) -> tuple[int, ...]:
        """The key as eight words of 32 bits, for a twin that computes the same words on a device: never shown or kept."""
        return struct.unpack("<8L", self._key)

    def __repr__(self) -> str:
        return "KeyedStream(<secret>)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise InvalidParameter(
            "a keyed stream cannot be pickled or copied, since its key is the noise: hand fresh_key() to the other process"
        )


@final
class _Words(Stream):
    """The words of a domain and a step, one after the other."""

    __slots__ = ("_domain", "_keyed", "_place", "_step")

    repeats = True

    def __init__(self, keyed: KeyedStream, domain: int, step: int) -> None:
        super().__init__()
        self._keyed, self._domain, self._step, self._place = keyed, domain, step, 0

    def _fill(self, count: int) -> memoryview:
        many = count // 8
        if self._place + many > _MOST:
            raise InternalError("a keyed stream has come to its end")
        words = self._keyed.words(self._domain, self._step, many, self._place)
        self._place += many
        return memoryview(words.tobytes())


@final
class _OfPlaces(OwnWords):
    """The words of places whose noise needs more than one."""

    def __init__(self, keyed: KeyedStream, step: int, places: NDArray[np.int64]) -> None:
        self._keyed, self._step, self._places = keyed, step, places

    def block(self, turn: int, draws: NDArray[np.int64]) -> Words:
        if REST + TURN * turn >= _FINER:
            raise InternalError("no place was kept in a hundred million turns")
        return self._keyed.scattered(REST + TURN * turn, self._step, self._places[draws])

    def finer(self, draw: int, purpose: int) -> Stream:
        if _FINER + REST + _PURPOSES * (purpose + 1) > 2**32:
            raise InternalError("no place was kept in thirty thousand tries")
        return _FinerWords(self._keyed, _FINER + REST + _PURPOSES * purpose, self._step, int(self._places[draw]))


@final
class _FinerWords(Stream):
    """The words of one place, eight from each of a row of domains."""

    __slots__ = ("_domain", "_keyed", "_place", "_step")

    repeats = True

    def __init__(self, keyed: KeyedStream, domain: int, step: int, place: int) -> None:
        super().__init__()
        self._keyed, self._domain, self._step, self._place = keyed, domain, step, place

    def _fill(self, count: int) -> memoryview:
        blocks = []
        for _ in range(-(-count // 64)):
            blocks.append(self._keyed.words(self._domain, self._step, _WORDS, _WORDS * self._place).tobytes())
            self._domain += TURN
        return memoryview(b"".join(blocks)[:count])


@final
class _StepSource(Source):
    """Streams of one domain and one step: call after call another block of domains."""

    def __init__(self, keyed: KeyedStream, domain: int, step: int) -> None:
        _nonce(domain, step)
        if domain >= 2**16:
            raise InvalidParameter("the domain of a source must be below 2^16: the bits above count its draws")
        self._keyed, self._domain, self._step, self._calls = keyed, SOURCE + (domain << 4), step, 0
        self.insecure = keyed.insecure  # type: ignore[misc]

    def stream(self) -> Stream:
        calls, self._calls = self._calls, self._calls + 1
        if calls >= 2**12:
            raise InvalidParameter("a source of one step has 4096 draws; take another step or domain")
        return _Words(self._keyed, self._domain + (calls << 20), self._step)


def threshold(q: int | float | Fraction) -> int:
    """floor(2^64 q): a word below it is heads.

    >>> threshold(1), threshold(0.5) == 2**63, threshold(Fraction(1, 3)) == (2**64 - 1) // 3
    (18446744073709551616, True, True)
    """
    rate = probability("q", q)
    return (rate.numerator << 64) // rate.denominator


def strips_of(sigma: int | float | Fraction) -> Strips:
    """The strips of a scale, kept for the next step."""
    scale = positive("sigma", sigma)
    if not _LEAST_SIGMA <= scale <= _MOST_SIGMA:
        raise InvalidParameter(f"sigma must lie between 1024 and 2^52 here, got {float(scale):g}")
    strips = kept_strips.get(scale, TableCache.WORTH)
    assert strips is not None
    return strips


def _quarters(a: Any, b: Any, c: Any, d: Any) -> None:
    """Four quarter rounds at once, one in each row, in place."""
    for x, y, z, turned in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        x += y
        z ^= x
        z[:] = (z << np.uint32(turned)) | (z >> np.uint32(32 - turned))


def _nonce(domain: int, step: int) -> bytes:
    if whole("domain", domain, 0) >= 2**32 or whole("step", step, 0) >= 2**64:
        raise InvalidParameter("domain must be below 2^32 and step below 2^64")
    return struct.pack("<LQ", domain, step)
