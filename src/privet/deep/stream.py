"""A keyed stream on the device: the words, coins and noise of `noise.KeyedStream`, bit for bit, as tensors.

The host's cipher serves tensors on the host. On other devices torch's integer operations compute the same, and on CUDA a
kernel does, where Triton is there.
"""

import math
from fractions import Fraction
from importlib import import_module
from typing import Any, final

import numpy as np
import torch

from privet._face import installed
from privet._numerics import Array
from privet.errors import InvalidData, InvalidParameter
from privet.noise import Grid, KeyedStream
from privet.noise.keyed import COINS, NOISE, strips_of, threshold
from privet.noise.strip_tables import strip_tables

Device = torch.device | str

_CONSTANTS = (0x61707865, 0x3320646E, 0x79622D32, 0x6B206574)
_MASK = 0xFFFFFFFF
_LOWEST = -(2**63)
_FARTHEST = 2.0**61  # steps of a sum saturate here, as in StepNoise
_TAKEN = (torch.float32, torch.float64)


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
    if kernel is None:
        found = _blocks(given, blocks, where)
    else:
        with torch.cuda.device(where):
            found = kernel.kernel_words(given, blocks, where)
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
    device: Device = "cpu",
) -> torch.Tensor:
    """Whole numbers of normal noise in doubles, as `KeyedStream.rounded_gaussian` has them: exact below 2^53.

    >>> rounded_gaussian(KeyedStream(bytes(32)), 0, 4, sigma=10**6).dtype
    torch.float64
    """
    zeros = torch.zeros(count, dtype=torch.float64, device=device)
    return NoiseOnDevice(sigma, Grid(0), count, device).added(zeros, torch.empty_like(zeros), stream, step)


@final
class NoiseOnDevice:
    """Normal noise of `sigma` whole steps of a grid for `count` numbers: step after step the same memory.

    On CUDA two kernels add it, and `launch` alone may stand in a captured graph: `begin` comes before it, `complete` after
    it. The host need not wait: what comes out lies apart from the sums, and a number whose noise 64 bits do not decide (one
    in 10^18) is no number there until `settle`, which the next `begin` asks too, has waited and added it. Elsewhere the
    host's cipher serves.

    **Guarantee:** the exact law, bit for bit that of `KeyedStream.rounded_gaussian`. **Reference:** proof note noise/keyed.

    >>> zeros = torch.zeros(3, dtype=torch.float64)
    >>> made = NoiseOnDevice(2**20, Grid(0), 3).added(zeros, torch.empty_like(zeros), KeyedStream(bytes(32)), 0)
    >>> bool((made.numpy() == KeyedStream(bytes(32)).rounded_gaussian(0, 3, sigma=2**20)).all())
    True
    """

    def __init__(
        self, sigma: int | float | Fraction, grid: Grid, count: int, device: Device = "cpu", divisor: float = 1.0
    ) -> None:
        """`divisor` is a public number that what comes out is divided by."""
        if count > 2**32:
            raise InvalidParameter("places of a stream are counted in 32 bits: at most 2^32 numbers get noise at once")
        self._strips, self.count, where = strips_of(sigma), count, torch.device(device)
        self._where = torch.device("cuda", torch.cuda.current_device()) if str(where) == "cuda" else where
        self.sigma, self.grid = self._strips.sigma, grid
        self._per_step, self._scale = math.ldexp(1.0, -grid.exponent), grid.width / divisor
        self._kernel = _kernel() if self._where.type == "cuda" and count else None
        if self._kernel is not None:
            self._prepare()

    def _prepare(self) -> None:
        strips, made = self._strips, strip_tables(self._strips)
        share = self.count * strips.law.left / 2**16
        room = int(1.1 * share + 20.0 * math.sqrt(share)) + 64  # more is listed once in e^150 steps
        self._known = torch.zeros(12, dtype=torch.int32, device=self._where)
        self._told = torch.zeros(12, dtype=torch.int32, device="cpu").pin_memory()
        self._whole = torch.tensor(
            [strips.shift, int(strips.bounded) >> 48, len(made["high"])], dtype=torch.int64, device=self._where
        )
        self._floats = torch.tensor([self._per_step, self._scale], dtype=torch.float64, device=self._where)
        kinds = {name: np.int16 if name == "strips" else each.dtype for name, each in made.items()}
        self._tables = {name: torch.from_numpy(each.astype(kinds[name])).to(self._where) for name, each in made.items()}
        self.counts = torch.zeros(2, dtype=torch.int32, device=self._where)
        self._rest = torch.zeros(room, dtype=torch.int64, device=self._where)
        self._seen = torch.zeros(2, dtype=torch.int32, device="cpu").pin_memory()
        self._done = torch.cuda.Event()  # type: ignore[no-untyped-call]
        self._under_way: tuple[torch.Tensor, torch.Tensor, KeyedStream, int] | None = None

    def added(self, sums: torch.Tensor, out: torch.Tensor, stream: KeyedStream, step: int) -> torch.Tensor:
        """The sums on the grid with the noise of a step, in `out`."""
        self.begin(stream, step)
        self.launch(sums, out)
        self.complete(sums, out, stream, step)
        self.settle()
        return out

    def begin(self, stream: KeyedStream, step: int) -> None:
        """Hand the key and the step to the device, once it has done with those before."""
        if not 0 <= step < 2**64:
            raise InvalidParameter("steps of a stream are counted in 64 bits")
        self.settle()
        if self._kernel is not None:
            given = (*stream.secret_words(), NOISE, step & _MASK, step >> 32, 0)
            self._told.numpy()[:] = self._kernel.signed(given)
            self._known.copy_(self._told, non_blocking=True)
            self._done.record(torch.cuda.current_stream(self._where))  # whoever begins again waits for this copy

    def launch(self, sums: torch.Tensor, out: torch.Tensor) -> None:
        """The noise of the step that was begun, on the device."""
        for each in (sums, out):
            if each.shape != (self.count,) or not each.is_contiguous() or each.dtype not in _TAKEN:
                raise InvalidData(f"the numbers must be one row of {self.count} floats of 32 or 64 bits")
            if self._kernel is not None and each.device != self._where:
                raise InvalidData(f"the numbers must lie on {self._where}, where their noise is made")
        if self.count and sums.data_ptr() == out.data_ptr():
            raise InvalidData("what comes out must lie apart from the sums, which are still read")
        if self._kernel is not None:
            self.counts.zero_()
            with torch.cuda.device(self._where):  # a kernel goes to the current device, wherever its numbers lie
                self._kernel.kernel_noise(
                    sums, out, self._known, self._whole, self._floats, self._tables, self.counts, self._rest
                )
            self._seen.copy_(self.counts, non_blocking=True)

    def complete(self, sums: torch.Tensor, out: torch.Tensor, stream: KeyedStream, step: int) -> None:
        """It follows `launch`, or the graph that has it: all noise where no kernel adds it."""
        if self._kernel is None:
            drawn = stream.rounded_gaussian(step, self.count, sigma=self._strips.sigma)
            self._add(sums, out, torch.arange(self.count), drawn)
            return
        self._under_way = sums, out, stream, step
        self._done.record(torch.cuda.current_stream(self._where))

    def settle(self) -> bool:
        """Wait for the device, and add the noise that it could not decide: True where there was any, which then came out
        late.
        """
        if self._kernel is None:
            return False
        self._done.synchronize()
        given, late = self._under_way, False
        if given is not None:
            listed, lost = self._seen.tolist()
            late = bool(lost) or listed > len(self._rest)
            if late:
                sums, out, stream, step = given
                places = out.isnan().nonzero()[:, 0]
                self._add(sums, out, places, stream.rest_of(step, places.cpu().numpy(), self._strips))
        self._under_way = None
        return late

    def drop(self) -> None:
        """Add nothing to what is under way: what came out was wiped."""
        self._under_way = None

    def _add(self, sums: torch.Tensor, out: torch.Tensor, places: torch.Tensor, drawn: Array) -> None:
        """Some numbers by the host."""
        places = places.to(sums.device)
        value = sums[places].cpu().double().mul(self._per_step).round_()
        whole = torch.where(value.isfinite(), value, 0.0).clamp_(-_FARTHEST, _FARTHEST).to(torch.int64)
        out[places] = ((whole + torch.from_numpy(drawn)).double() * self._scale).to(out)


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
