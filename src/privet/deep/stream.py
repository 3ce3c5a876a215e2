"""A keyed stream on the device: the words, coins and noise of `noise.KeyedStream`, bit for bit, as tensors.

The host's cipher serves tensors on the host. On other devices torch's integer operations compute the same, and on CUDA a
kernel does, where Triton is there.
"""

from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import torch

from privet._face import installed
from privet.errors import InvalidParameter
from privet.noise import KeyedStream
from privet.noise.keyed import BLOCK, COINS, NOISE, strips_of, threshold

Device = torch.device | str

_CONSTANTS = (0x61707865, 0x3320646E, 0x79622D32, 0x6B206574)
_MASK = 0xFFFFFFFF
_LOWEST = -(2**63)


def stream_words(
    stream: KeyedStream, domain: int, step: int, count: int, *, first: int = 0, device: Device = "cpu"
) -> torch.Tensor:
    """The words of a keyed stream as int64, which have the same 64 bits.

    >>> found = stream_words(KeyedStream(bytes(32)), 0, 0, 1)
    >>> int(found[0]) & (2**64 - 1) == 0x903DF1A0ADE0B876
    True
    """
    where = torch.device(device)
    if where.type == "cpu":
        return torch.from_numpy(stream.words(domain, step, count, first).view(np.int64))
    stream.words(domain, step, 0, first + count)  # refuses what the stream would refuse
    begin, skip = first // 8, first % 8
    blocks = -(-(skip + count) // 8)
    given = (*stream.secret_words(), domain, step & _MASK, step >> 32, begin)
    kernel = _kernel() if where.type == "cuda" else None
    found = kernel.kernel_words(given, blocks, where) if kernel is not None else _blocks(given, blocks, where)
    return found.reshape(-1)[skip : skip + count]


def coins(
    stream: KeyedStream, step: int, count: int, *, q: int | float | Fraction, first: int = 0, device: Device = "cpu"
) -> torch.Tensor:
    """The coins of records, as `KeyedStream.coins` has them.

    >>> coins(KeyedStream(bytes(32)), 0, 3, q=1).tolist()
    [True, True, True]
    """
    limit = threshold(q)
    if limit == 2**64:
        return torch.ones(count, dtype=torch.bool, device=device)
    found = stream_words(stream, COINS, step, count, first=first, device=device)
    return (found ^ _LOWEST) < limit - 2**63  # as unsigned numbers


def rounded_gaussian(
    stream: KeyedStream,
    step: int,
    count: int,
    *,
    sigma: int | float | Fraction,
    first: int = 0,
    device: Device = "cpu",
) -> torch.Tensor:
    """Whole numbers of normal noise, as `KeyedStream.rounded_gaussian` has them; `first` is a multiple of 65,536.

    The hundredth of the draws that needs more than a word is computed on the host.

    >>> rounded_gaussian(KeyedStream(bytes(32)), 0, 4, sigma=10**6).dtype
    torch.int64
    """
    if first % BLOCK:
        raise InvalidParameter(f"first must be a multiple of {BLOCK}")
    strips = strips_of(sigma)
    found = stream_words(stream, NOISE, step, -(-count // BLOCK) * BLOCK, first=first, device=device)
    prefix = (found >> 48) & 0xFFFF
    place = (found >> (47 - strips.shift)) & ((1 << 17 + strips.shift) - 1)  # shifts of int64 keep the sign
    out = ((place + 1) >> 1) + torch.from_numpy(strips.offsets).to(found.device)[prefix]
    rest = torch.nonzero(prefix >= int(strips.bounded) >> 48).reshape(-1).cpu()
    if len(rest):
        blocks, many = torch.unique_consecutive(rest // BLOCK, return_counts=True)
        drawn = [
            torch.from_numpy(stream.rest_of(step, first // BLOCK + int(block), int(size), strips))
            for block, size in zip(blocks, many, strict=True)
        ]
        out[rest.to(out.device)] = torch.cat(drawn).to(out.device)
    return out[:count]


def _blocks(given: tuple[int, ...], blocks: int, device: torch.device) -> torch.Tensor:
    """ChaCha20 in 64-bit integers of which the lower halves count: a row of 8 words for each block of the cipher."""
    key, domain, low, high, begin = given[:8], *given[8:]
    state = torch.empty((16, blocks), dtype=torch.int64, device=device)
    for row, value in enumerate((*_CONSTANTS, *key, 0, domain, low, high)):
        state[row] = value
    state[12] = torch.arange(begin, begin + blocks, device=device)
    a, b, c, d = (state[i : i + 4].clone() for i in (0, 4, 8, 12))
    for _ in range(10):
        a, b, c, d = _quarters(a, b, c, d)
        b, c, d = b.roll(-1, 0), c.roll(-2, 0), d.roll(-3, 0)  # diagonals become columns
        a, b, c, d = _quarters(a, b, c, d)
        b, c, d = b.roll(1, 0), c.roll(2, 0), d.roll(3, 0)
    mixed = (torch.cat([a, b, c, d]) + state) & _MASK
    return (mixed[0::2] | mixed[1::2] << 32).T.contiguous()


def _quarters(
    a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, d: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Four quarter rounds at once, one in each row."""
    a = (a + b) & _MASK
    d = _turned(d ^ a, 16)
    c = (c + d) & _MASK
    b = _turned(b ^ c, 12)
    a = (a + b) & _MASK
    d = _turned(d ^ a, 8)
    c = (c + d) & _MASK
    return a, _turned(b ^ c, 7), c, d


def _turned(x: torch.Tensor, bits: int) -> torch.Tensor:
    return ((x << bits) | (x >> (32 - bits))) & _MASK


def _kernel() -> Any:
    """The module of the kernel, or None where Triton is missing."""
    return import_module("privet.deep.stream_kernel") if installed("triton") else None
