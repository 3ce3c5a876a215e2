"""Where random bits come from: the operating system's generator, expanded by ChaCha20 within one call.

A source keeps nothing between two calls. Each public draw opens a stream with a fresh key and drops it at the end, so
there is no buffer that a fork, a thread, a pickle or a snapshot of a virtual machine could duplicate.
"""

import hashlib
import itertools
import os
import struct
from abc import ABC, abstractmethod
from typing import ClassVar, NoReturn, final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from numpy.typing import NDArray

from privet.errors import InternalError, InvalidParameter, NoEntropy

Words = NDArray[np.uint64]

_KEY = 32  # bytes of a key of ChaCha20
_NONCE = bytes(16)  # every key encrypts one text only, so the nonce may be constant
_RUN = 1 << 14  # words from one run of the cipher: an eighth of a mebibyte stays in the cache
_SIXTEEN = struct.Struct("<16Q")
_FEW = 32  # up to here the operating system's generator is quicker than setting up a cipher
_EMPTY: Words = np.empty(0, dtype=np.uint64)
_ZEROS = memoryview(bytes(_KEY + 8 * _RUN))

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


def process() -> tuple[int, int]:
    """A mark of this process, for draws that are kept: in the child of a fork it differs, and they belong to the parent."""
    return _forks, os.getpid()


def _keystream(key: bytes, count: int) -> memoryview:
    """The first `count` bytes of ChaCha20 under this key."""
    return memoryview(Cipher(algorithms.ChaCha20(key, _NONCE), mode=None).encryptor().update(_ZEROS[:count]))


class Stream(ABC):
    """Random words of one call. Not shared, not kept: it lives as long as the draw it serves."""

    __slots__ = ("_buffer", "_next", "_single")

    repeats = False  # whether the same words may be asked for again

    def __init__(self) -> None:
        self._buffer, self._next = _EMPTY, 0
        self._single: list[int] = []  # plain integers for draws of one number

    @abstractmethod
    def _fill(self, count: int) -> memoryview:
        """`count` fresh bytes, at most eight times `_RUN`."""

    def _fresh(self) -> bool:
        """True if what is buffered may still be used (it may not in the child of a fork). Asked before every word."""
        return True

    def words(self, count: int) -> Words:
        """`count` words of 64 independent fair bits, read-only."""
        if not self._fresh():
            self._forget()
        start, stop = self._next, self._next + count
        if stop <= len(self._buffer):
            self._next = stop
            return self._buffer[start:stop]
        parts = [self._buffer[start:]] if start < len(self._buffer) else []
        missing = stop - len(self._buffer)
        while missing:
            # Twice what was needed so far: a single draw asks for little, a long one settles at whole runs.
            size = min(max(missing, 2 * len(self._buffer), _FEW), _RUN)
            self._buffer, self._next = np.frombuffer(self._fill(8 * size), dtype="<u8"), min(missing, size)
            parts.append(self._buffer[: self._next])
            missing -= self._next
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def run(self, count: int) -> Words:
        """`count` words, at most 2^14, in a run of their own: nothing of it is buffered, and nothing copied."""
        if count > _RUN:
            raise InternalError("a run of the cipher has 2^14 words at most")
        if not self._fresh():
            self._forget()
        return np.frombuffer(self._fill(8 * count), dtype="<u8")

    def word(self) -> int:
        """One word of 64 bits."""
        if not self._fresh():
            self._forget()
        if not self._single:
            self._single.extend(_SIXTEEN.unpack(self._fill(_SIXTEEN.size)))
        return self._single.pop()

    def bits(self, count: int) -> int:
        """An integer of `count` independent fair bits."""
        value = 0
        for _ in range(-(-count // 64)):
            value = value << 64 | self.word()
        return value >> (-count % 64)

    def drop(self) -> None:
        """Give up what is buffered: long draws that follow take whole runs of the cipher, which need not be joined."""
        self._forget()

    def _forget(self) -> None:
        self._buffer, self._next, self._single = _EMPTY, 0, []

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise _no_copy()


def _system(count: int) -> bytes:
    """Bytes of the system's generator. One byte over and over is what a stuck generator gives: fair ones do so with
    probability 2^-248 or less, and samplers would wait for another bit for ever."""
    fresh = os.urandom(count)
    if count >= _KEY and fresh == fresh[:1] * count:
        raise NoEntropy(
            "the system's random generator returned one byte over and over: it is stuck, and no noise can be drawn"
        )
    return fresh


@final
class _SecureStream(Stream):
    """Fast key erasure: the first bytes of every run of the cipher become the next key, the old key is forgotten."""

    __slots__ = ("_forks", "_key", "_pid")

    def __init__(self) -> None:
        super().__init__()
        self._key: bytes | None = None
        self._pid, self._forks = os.getpid(), _forks

    def _fresh(self) -> bool:
        # Two signs of a fork: a counter, and the process id for forks that bypass Python.
        if self._forks == _forks and self._pid == os.getpid():
            return True
        self._key, self._pid, self._forks = None, os.getpid(), _forks
        return False

    def _fill(self, count: int) -> memoryview:
        if count <= 8 * _FEW:
            return memoryview(_system(count))
        text = _keystream(self._key or _system(_KEY), _KEY + count)
        self._key = bytes(text[:_KEY])
        return text[_KEY:]


@final
class _SeededStream(Stream):
    """The same construction from a known key; the words are a function of the seed and of the calls made so far."""

    __slots__ = ("_key",)

    repeats = True

    def __init__(self, key: bytes) -> None:
        super().__init__()
        self._key = key

    def _fill(self, count: int) -> memoryview:
        text = _keystream(self._key, _KEY + count)
        self._key = bytes(text[:_KEY])
        return text[_KEY:]


def _no_copy() -> InvalidParameter:
    return InvalidParameter(
        "a source of noise cannot be pickled or copied, since two copies would draw the same noise; "
        "make a new one where it is needed"
    )


class Source(ABC):
    """The source of a sampler's bits: `Secure` or `Seeded`."""

    insecure: ClassVar[bool] = True  # a source that does not say that it is secure is not

    @abstractmethod
    def stream(self) -> Stream:
        """A stream for one public draw."""

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise _no_copy()


@final
class Secure(Source):
    """Bits that nobody can predict: ChaCha20 under a key taken from the operating system for every call.

    **Guarantee:** computational indistinguishability from fair coins (ChaCha20; the system's generator). Threads,
    forked processes and copies of a machine share no bits: no key and no unused word outlives a call.
    **Reference:** Bernstein 2017 (fast-key-erasure random-number generators).

    >>> Secure().insecure
    False
    """

    insecure = False

    def stream(self) -> Stream:
        return _SecureStream()

    def __repr__(self) -> str:
        return "Secure()"


@final
class Seeded(Source):
    """A reproducible stream for tests. **Insecure by design**: whoever knows the seed can subtract the noise.

    Every release made with it must say so; `insecure` is True.

    >>> from privet import noise
    >>> one, two = Seeded(7), Seeded(7)
    >>> noise.discrete_laplace(scale=10, size=5, source=one) == noise.discrete_laplace(scale=10, size=5, source=two)
    array([ True,  True,  True,  True,  True])
    """

    insecure = True

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
            raise InvalidParameter(f"seed must be an integer, got {type(seed).__name__}")
        self._seed = int(seed)
        self._calls = itertools.count()

    def stream(self) -> Stream:
        text = f"privet insecure stream {self._seed} {next(self._calls)}"
        return _SeededStream(hashlib.sha256(text.encode()).digest())

    def __repr__(self) -> str:
        return f"Seeded({self._seed})"


_SECURE = Secure()


def current(source: object = None) -> Source:
    """The source that a draw uses: the one that is given, else the secure one.

    >>> current().insecure
    False
    """
    if source is None:
        return _SECURE
    if not isinstance(source, Source):
        raise InvalidParameter(f"source must be noise.Secure() or noise.Seeded(seed), got {type(source).__name__}")
    return source
