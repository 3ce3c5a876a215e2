"""ChaCha20 and the noise of a step as Triton kernels: the same bits as `noise.KeyedStream`, without a number in between.

Noise takes two kernels. The first makes a word for every number and adds the noise of those that one word decides, 99 in
100; the others are listed, and the second gives each of them words of its own, and compares whole numbers. What comes out
lies apart from the sums, and is no number before its noise is there: what 64 bits cannot decide, one in 10^18, is left so
for the host.
"""

import torch

from privet.errors import MissingExtra
from privet.noise.keyed import REST, TURN
from privet.noise.strip_tables import CLOSE, TERMS

try:
    import triton
    import triton.language as tl
except ImportError:
    raise MissingExtra("the kernel needs triton, which comes with torch for CUDA; run: pip install triton") from None

_SIZE, _WARPS = 256, 8  # blocks of the cipher to a program, and its warps: the quickest of a dozen on an H200
_FEW = 32  # places that need words of their own to a program
_STEPS = 12  # of the search for a strip: there are fewer than 2^12
_REST, _TURN = tl.constexpr(REST), tl.constexpr(TURN)
_CLOSE, _TERMS = tl.constexpr(CLOSE), tl.constexpr(TERMS)
_WHOLE, _FARTHEST = tl.constexpr(2.0**52), tl.constexpr(2.0**61)


def signed(values: tuple[int, ...]) -> list[int]:
    """Words of 32 bits as int32 has them."""
    return [value - 2**32 if value >= 2**31 else value for value in values]


def kernel_words(given: tuple[int, ...], blocks: int, device: torch.device) -> torch.Tensor:
    """A row of 8 words for each block of the cipher. `given` is the key, the nonce and the number of the first block."""
    known = torch.tensor(signed(given), dtype=torch.int32, device=device)
    out = torch.empty((blocks, 8), dtype=torch.int64, device=device)
    _chacha[(triton.cdiv(max(blocks, 1), _SIZE),)](out, known, 8 * blocks, SIZE=_SIZE, num_warps=_WARPS)
    return out


def kernel_noise(
    sums: torch.Tensor,
    out: torch.Tensor,
    known: torch.Tensor,
    whole: torch.Tensor,
    floats: torch.Tensor,
    tables: dict[str, torch.Tensor],
    counts: torch.Tensor,
    rest: torch.Tensor,
) -> None:
    """Sums on the grid with their noise, in `out`. `counts` (zeros before) are the numbers that one word did not decide,
    whose places are in `rest`, and of those that stay undecided.
    """
    many, most = sums.numel(), rest.numel()
    _noise[(triton.cdiv(many, 8 * _SIZE),)](
        sums, out, known, whole, floats, tables["strips"], counts, rest, many, most, SIZE=_SIZE, num_warps=_WARPS
    )
    _others[(triton.cdiv(most, _FEW),)](
        sums, out, known, whole, floats, tables["low"], tables["high"], tables["share"], tables["fall"], tables["half"],
        tables["series"], counts, rest, most, SIZE=_FEW, STEPS=_STEPS, num_warps=1,
    )  # fmt: skip


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
def _pair(low: tl.tensor, high: tl.tensor) -> tl.tensor:
    return low.to(tl.uint64) | (high.to(tl.uint64) << 32)


@triton.jit  # type: ignore[misc, untyped-decorator, unused-ignore]
def _given(known: tl.tensor, place: tl.constexpr, zero: tl.tensor) -> tl.tensor:
    return zero + tl.load(known + place).to(tl.uint32, bitcast=True)


@triton.jit  # type: ignore[misc, untyped-decorator, unused-ignore]
def _block(known: tl.tensor, domain: tl.tensor, count: tl.tensor) -> tl.tensor:
    """The eight words of each of these blocks of the cipher, with the key and the step that are known."""
    zero = count ^ count
    k0, k1, k2, k3 = _given(known, 0, zero), _given(known, 1, zero), _given(known, 2, zero), _given(known, 3, zero)
    k4, k5, k6, k7 = _given(known, 4, zero), _given(known, 5, zero), _given(known, 6, zero), _given(known, 7, zero)
    n0, n1, n2 = zero + domain.to(tl.uint32), _given(known, 9, zero), _given(known, 10, zero)
    c0, c1, c2, c3 = zero + 0x61707865, zero + 0x3320646E, zero + 0x79622D32, zero + 0x6B206574
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
    return (
        _pair(x0 + c0, x1 + c1),
        _pair(x2 + c2, x3 + c3),
        _pair(x4 + k0, x5 + k1),
        _pair(x6 + k2, x7 + k3),
        _pair(x8 + k4, x9 + k5),
        _pair(xa + k6, xb + k7),
        _pair(xc + count, xd + n0),
        _pair(xe + n1, xf + n2),
    )


@triton.jit  # type: ignore[misc, untyped-decorator, unused-ignore]
def _row_of_words(known: tl.tensor, domain: tl.tensor, count: tl.tensor, SIZE: tl.constexpr) -> tl.tensor:
    """The words of blocks one after the other."""
    w0, w1, w2, w3, w4, w5, w6, w7 = _block(known, domain, count)
    even = tl.join(tl.join(w0, w4), tl.join(w2, w6))
    odd = tl.join(tl.join(w1, w5), tl.join(w3, w7))
    return tl.reshape(tl.join(even, odd), [8 * SIZE])


@triton.jit  # type: ignore[misc, untyped-decorator, unused-ignore]
def _chacha(out: tl.tensor, known: tl.tensor, many: tl.tensor, SIZE: tl.constexpr) -> tl.tensor:
    first = tl.program_id(0) * SIZE
    count = (first + tl.arange(0, SIZE)).to(tl.uint32) + tl.load(known + 11).to(tl.uint32, bitcast=True)
    words = _row_of_words(known, tl.load(known + 8).to(tl.uint32, bitcast=True), count, SIZE)
    at = first.to(tl.int64) * 8 + tl.arange(0, 8 * SIZE)
    tl.store(out + at, words.to(tl.int64, bitcast=True), mask=at < many)


@triton.jit  # type: ignore[misc, untyped-decorator, unused-ignore]
def _sum(sums: tl.tensor, at: tl.tensor, drawn: tl.tensor, here: tl.tensor, floats: tl.tensor) -> tl.tensor:
    """Sums in whole steps, as `StepNoise` rounds them, and noise, times a public number; elsewhere no numbers."""
    value = tl.load(sums + at, mask=here, other=0.0).to(tl.float64) * tl.load(floats)
    size = tl.abs(value)
    whole = tl.where(size < _WHOLE, (size + _WHOLE) - _WHOLE, size)  # half goes to even; large ones are whole
    whole = tl.where(size < float("inf"), tl.minimum(whole, _FARTHEST), 0.0)  # neither is what is no number
    steps = tl.where(value < 0.0, -whole, whole)
    total = steps.to(tl.int64) + drawn
    return tl.where(here, total.to(tl.float64) * tl.load(floats + 1), float("nan"))


@triton.jit  # type: ignore[misc, untyped-decorator, unused-ignore]
def _noise(
    sums: tl.tensor,
    out: tl.tensor,
    known: tl.tensor,
    whole: tl.tensor,
    floats: tl.tensor,
    strips: tl.tensor,
    counts: tl.tensor,
    rest: tl.tensor,
    many: tl.tensor,
    most: tl.tensor,
    SIZE: tl.constexpr,
) -> tl.tensor:
    first = tl.program_id(0) * SIZE
    count = (first + tl.arange(0, SIZE)).to(tl.uint32)
    words = _row_of_words(known, tl.load(known + 8).to(tl.uint32, bitcast=True), count, SIZE)
    at = first.to(tl.int64) * 8 + tl.arange(0, 8 * SIZE)
    inside = at < many
    shift = tl.load(whole)
    prefix = (words >> 48).to(tl.int32)
    strip = tl.load(strips + prefix).to(tl.int64)
    place = ((words & 0xFFFFFFFFFFFF) >> (47 - shift).to(tl.uint64)).to(tl.int64)
    far = inside & (prefix >= tl.load(whole + 1).to(tl.int32))
    near = inside & (far == 0)
    value = _sum(sums, at, (strip << shift) + ((place + 1) >> 1), near, floats)
    tl.store(out + at, value.to(out.dtype.element_ty), mask=inside)
    listed = far.to(tl.int32)
    to = tl.atomic_add(counts, tl.sum(listed, 0)) + tl.cumsum(listed, 0) - 1
    tl.store(rest + to, at, mask=far & (to < most))


@triton.jit  # type: ignore[misc, untyped-decorator, unused-ignore]
def _tried(
    done: tl.tensor,
    open_: tl.tensor,
    kept: tl.tensor,
    place: tl.tensor,
    coin: tl.tensor,
    share: tl.tensor,
    fall: tl.tensor,
    half: tl.tensor,
    series: tl.tensor,
) -> tl.tensor:
    """One more place and its coin: kept, passed over, or too close for 64 bits. Half of what the chance lacks to 1 is held
    against half of what the coin does, in units of 2^-64 (`noise.strip_tables`).
    """
    room = ~coin >> 1
    far = tl.umulhi(place, ~tl.umulhi(~place, share))  # v (2c + v) / (2c + 1)
    fallen = tl.umulhi(far, fall)
    # (1 - exp(-t)) / t lies between 1 - t/2 and t^2/6 more, which decides nearly all
    least = tl.umulhi(tl.umulhi(far, ~(fallen >> 1)), half)
    most = least + (tl.umulhi(fallen, fallen) >> 3)
    heads = (done == 0) & (most + _CLOSE <= room)
    close = (done == 0) & (heads == 0) & (least <= room + _CLOSE)
    if tl.max(close.to(tl.int32), 0) > 0:
        rest = fallen ^ fallen
        for k in range(_TERMS):  # 1/2! - t (1/3! - t (1/4! - ...
            rest = tl.load(series + k).to(tl.uint64, bitcast=True) - tl.umulhi(fallen, rest)
        lack = tl.umulhi(tl.umulhi(far, ~tl.umulhi(fallen, rest)), half)
        heads = (done == 0) & (lack + _CLOSE <= room)
        close = (done == 0) & (heads == 0) & (lack <= room + _CLOSE)
    return done | heads | close, open_ | close, tl.where(heads, place, kept)


@triton.jit  # type: ignore[misc, untyped-decorator, unused-ignore]
def _others(
    sums: tl.tensor,
    out: tl.tensor,
    known: tl.tensor,
    whole: tl.tensor,
    floats: tl.tensor,
    low: tl.tensor,
    high: tl.tensor,
    shares: tl.tensor,
    falls: tl.tensor,
    halves: tl.tensor,
    series: tl.tensor,
    counts: tl.tensor,
    rest: tl.tensor,
    most: tl.tensor,
    SIZE: tl.constexpr,
    STEPS: tl.constexpr,
) -> tl.tensor:
    first = tl.program_id(0) * SIZE
    listed = tl.minimum(tl.load(counts), most)
    if first < listed:
        at = first + tl.arange(0, SIZE)
        here = at < listed
        place = tl.load(rest + at, mask=here, other=0)
        count = place.to(tl.uint32)
        turn = tl.full([], _REST, tl.uint32)
        w0, w1, w2, w3, w4, w5, w6, w7 = _block(known, turn, count)
        index = tl.zeros([SIZE], dtype=tl.int32)
        end = index + (tl.load(whole + 2).to(tl.int32) - 1)
        for _ in range(STEPS):  # the first threshold that is not below the word
            middle = (index + end) // 2
            below = tl.load(high + middle).to(tl.uint64, bitcast=True) < w0
            index = tl.where(below & (index < end), middle + 1, index)
            end = tl.where(below, end, middle)
        share = tl.load(shares + index).to(tl.uint64, bitcast=True)
        fall = tl.load(falls + index).to(tl.uint64, bitcast=True)
        half = tl.load(halves + index).to(tl.uint64, bitcast=True)
        open_ = w0 >= tl.load(low + index).to(tl.uint64, bitcast=True)
        done = (here == 0) | open_
        kept = w0 ^ w0
        done, open_, kept = _tried(done, open_, kept, w2, w3, share, fall, half, series)
        done, open_, kept = _tried(done, open_, kept, w4, w5, share, fall, half, series)
        done, open_, kept = _tried(done, open_, kept, w6, w7, share, fall, half, series)
        side = (w1 & 1).to(tl.int64)
        while tl.min(done.to(tl.int32), 0) == 0:
            turn += _TURN
            w0, w1, w2, w3, w4, w5, w6, w7 = _block(known, turn, count)
            done, open_, kept = _tried(done, open_, kept, w0, w1, share, fall, half, series)
            done, open_, kept = _tried(done, open_, kept, w2, w3, share, fall, half, series)
            done, open_, kept = _tried(done, open_, kept, w4, w5, share, fall, half, series)
            done, open_, kept = _tried(done, open_, kept, w6, w7, share, fall, half, series)
        shift = tl.load(whole)
        steps = ((kept >> (63 - shift).to(tl.uint64)).to(tl.int64) + 1) >> 1
        drawn = (index.to(tl.int64) << shift) + steps
        value = _sum(sums, place, (drawn ^ -side) + side, here & (open_ == 0), floats)
        tl.store(out + place, value.to(out.dtype.element_ty), mask=here)
        lost = tl.sum((here & open_).to(tl.int32), 0)
        tl.atomic_add(counts + 1, lost, mask=lost > 0)
