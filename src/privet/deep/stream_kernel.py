"""ChaCha20 as a Triton kernel: the same words as `stream`, at the speed of the device's memory."""

import torch

from privet.errors import MissingExtra

try:
    import triton
    import triton.language as tl
except ImportError:
    raise MissingExtra("the kernel needs triton, which comes with torch for CUDA; run: pip install triton") from None

_SIZE = 128  # blocks of the cipher to a program


def kernel_words(given: tuple[int, ...], blocks: int, device: torch.device) -> torch.Tensor:
    """A row of 8 words for each block of the cipher. `given` is the key, the nonce and the number of the first block."""
    signed = [value - 2**32 if value >= 2**31 else value for value in given]
    known = torch.tensor(signed, dtype=torch.int32, device=device)
    out = torch.empty((blocks, 8), dtype=torch.int64, device=device)
    _chacha[(triton.cdiv(max(blocks, 1), _SIZE),)](out, known, blocks, SIZE=_SIZE)
    return out


@triton.jit  # type: ignore[misc, untyped-decorator, unused-ignore]
def _turned(x: tl.tensor, bits: tl.constexpr) -> tl.tensor:
    return (x << bits) | (x >> (32 - bits))


@triton.jit  # type: ignore[misc, untyped-decorator, unused-ignore]
def _quarter(a: tl.tensor, b: tl.tensor, c: tl.tensor, d: tl.tensor) -> tl.tensor:
    a = a + b
    d = _turned(d ^ a, 16)
    c = c + d
    b = _turned(b ^ c, 12)
    a = a + b
    d = _turned(d ^ a, 8)
    c = c + d
    b = _turned(b ^ c, 7)
    return a, b, c, d


@triton.jit  # type: ignore[misc, untyped-decorator, unused-ignore]
def _pair(out: tl.tensor, at: tl.tensor, low: tl.tensor, high: tl.tensor, inside: tl.tensor) -> tl.tensor:
    word = low.to(tl.uint64) | (high.to(tl.uint64) << 32)
    tl.store(out + at, word.to(tl.int64, bitcast=True), mask=inside)


@triton.jit  # type: ignore[misc, untyped-decorator, unused-ignore]
def _chacha(out: tl.tensor, known: tl.tensor, blocks: tl.tensor, SIZE: tl.constexpr) -> tl.tensor:
    place = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    inside = place < blocks
    zero = tl.zeros([SIZE], dtype=tl.uint32)
    k0 = zero + tl.load(known).to(tl.uint32, bitcast=True)
    k1 = zero + tl.load(known + 1).to(tl.uint32, bitcast=True)
    k2 = zero + tl.load(known + 2).to(tl.uint32, bitcast=True)
    k3 = zero + tl.load(known + 3).to(tl.uint32, bitcast=True)
    k4 = zero + tl.load(known + 4).to(tl.uint32, bitcast=True)
    k5 = zero + tl.load(known + 5).to(tl.uint32, bitcast=True)
    k6 = zero + tl.load(known + 6).to(tl.uint32, bitcast=True)
    k7 = zero + tl.load(known + 7).to(tl.uint32, bitcast=True)
    n0 = zero + tl.load(known + 8).to(tl.uint32, bitcast=True)
    n1 = zero + tl.load(known + 9).to(tl.uint32, bitcast=True)
    n2 = zero + tl.load(known + 10).to(tl.uint32, bitcast=True)
    count = place.to(tl.uint32) + tl.load(known + 11).to(tl.uint32, bitcast=True)
    c0 = zero + 0x61707865
    c1 = zero + 0x3320646E
    c2 = zero + 0x79622D32
    c3 = zero + 0x6B206574
    x0, x1, x2, x3, x4, x5, x6, x7 = c0, c1, c2, c3, k0, k1, k2, k3
    x8, x9, xa, xb, xc, xd, xe, xf = k4, k5, k6, k7, count, n0, n1, n2
    for _ in range(10):
        x0, x4, x8, xc = _quarter(x0, x4, x8, xc)
        x1, x5, x9, xd = _quarter(x1, x5, x9, xd)
        x2, x6, xa, xe = _quarter(x2, x6, xa, xe)
        x3, x7, xb, xf = _quarter(x3, x7, xb, xf)
        x0, x5, xa, xf = _quarter(x0, x5, xa, xf)
        x1, x6, xb, xc = _quarter(x1, x6, xb, xc)
        x2, x7, x8, xd = _quarter(x2, x7, x8, xd)
        x3, x4, x9, xe = _quarter(x3, x4, x9, xe)
    at = place.to(tl.int64) * 8
    _pair(out, at, x0 + c0, x1 + c1, inside)
    _pair(out, at + 1, x2 + c2, x3 + c3, inside)
    _pair(out, at + 2, x4 + k0, x5 + k1, inside)
    _pair(out, at + 3, x6 + k2, x7 + k3, inside)
    _pair(out, at + 4, x8 + k4, x9 + k5, inside)
    _pair(out, at + 5, xa + k6, xb + k7, inside)
    _pair(out, at + 6, xc + count, xd + n0, inside)
    _pair(out, at + 7, xe + n1, xf + n2, inside)
