"""The keyed stream as tensors: bit for bit that of `noise`."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from privet.deep import stream  # noqa: E402
from privet.deep.step_noise import StepNoise  # noqa: E402
from privet.errors import InvalidData, InvalidParameter  # noqa: E402
from privet.noise import Grid, KeyedStream  # noqa: E402

KEY = bytes(range(7, 39))


def reference(keyed: KeyedStream, domain: int, step: int, count: int, first: int) -> np.ndarray:
    """Torch's integer operations, which the host does not take for itself."""
    given = (*keyed.secret_words(), domain, step & 0xFFFFFFFF, step >> 32, first // 8)
    blocks = stream._blocks(given, -(-(first % 8 + count) // 8), torch.device("cpu"))
    return blocks.reshape(-1)[first % 8 : first % 8 + count].numpy().view(np.uint64)


@pytest.mark.parametrize(("domain", "step", "count", "first"), [
    (0, 0, 1, 0), (1, 0, 64, 0), (2**32 - 1, 2**64 - 1, 100, 3), (7, 2**32, 17, 2**35 - 24), (9, 2**31, 33, 2**34 - 8),
])  # fmt: skip
def test_words_of_torch_are_those_of_the_cipher(domain, step, count, first):
    keyed = KeyedStream(KEY)
    wanted = keyed.words(domain, step, count, first)
    assert (reference(keyed, domain, step, count, first) == wanted).all()
    assert (stream.stream_words(keyed, domain, step, count, first=first).numpy().view(np.uint64) == wanted).all()


@pytest.mark.parametrize("q", [0, 1e-9, 0.01, 0.5, 0.75, 1])
def test_coins_are_those_of_the_host(q):
    keyed = KeyedStream(KEY)
    assert (stream.coins(keyed, 3, 5000, q=q, first=11).numpy() == keyed.coins(3, 5000, q=q, first=11)).all()


@pytest.mark.parametrize(("sigma", "count"), [(1024, 70_000), (2**30 + 1, 3), (2**49, 1000), (1e6, 0)])
def test_noise_is_that_of_the_host(sigma, count):
    keyed = KeyedStream(KEY)
    drawn = stream.rounded_gaussian(keyed, 5, count, sigma=sigma)
    assert (drawn.numpy() == keyed.rounded_gaussian(5, count, sigma=sigma)).all()


def test_numbers_are_put_on_the_grid_as_a_step_puts_them_there():
    """The device's way and `StepNoise` agree about every number, and about those that are none."""
    made = StepNoise(clip=1.0, noise_multiplier=1.5, dimension=6)
    numbers = torch.tensor([0.3, -(2.0**-30), torch.inf, torch.nan, 1e30, -3e38])
    keyed = KeyedStream(KEY)
    wanted = made._on_grid(numbers.numpy()) + keyed.rounded_gaussian(9, 6, sigma=made.steps)
    for kind in (torch.float32, torch.float64):
        given = numbers.to(kind)
        added = stream.NoiseOnDevice(made.steps, made.grid, 6, divisor=4.0)
        found = added.added(given, torch.empty_like(given), keyed, 9)
        assert torch.equal(given.nan_to_num(7.0), numbers.to(kind).nan_to_num(7.0))  # left as it was
        assert (found == torch.from_numpy(wanted * (made.grid.width / 4.0)).to(kind)).all()


@pytest.mark.parametrize("wrong", [
    torch.zeros(5), torch.zeros(2, 2), torch.zeros(8)[::2], torch.zeros(4, dtype=torch.int64),
    torch.zeros(4, dtype=torch.float16), torch.zeros(4, dtype=torch.bfloat16),
])  # fmt: skip
def test_noise_is_for_one_row_of_so_many_floats(wrong):
    added = stream.NoiseOnDevice(2**20, Grid(0), 4)
    for given in ((wrong, torch.zeros(4)), (torch.zeros(4), wrong)):
        with pytest.raises(InvalidData, match="one row of 4 floats of 32 or 64 bits"):
            added.added(*given, KeyedStream(KEY), 0)


def test_noise_is_not_added_where_the_sums_lie():
    """There a number that is left without noise would be a sum."""
    same = torch.zeros(4)
    with pytest.raises(InvalidData, match="apart from the sums"):
        stream.NoiseOnDevice(2**20, Grid(0), 4).added(same, same, KeyedStream(KEY), 0)


def test_what_the_stream_refuses_is_refused_here():
    with pytest.raises(InvalidParameter):
        stream.stream_words(KeyedStream(KEY), 2**32, 0, 1)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_words_of_the_kernel_are_those_of_the_cipher():
    keyed = KeyedStream(KEY)
    for first in (0, 5, 8 * 2**31 - 8):
        found = stream.stream_words(keyed, 2, 2**40 + 1, 5000, first=first, device="cuda").cpu().numpy().view(np.uint64)
        assert (found == keyed.words(2, 2**40 + 1, 5000, first)).all()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("sigma", [1024, 2**30 + 1, 2**49])
def test_noise_of_the_kernel_is_that_of_the_host(sigma):
    keyed = KeyedStream(KEY)
    drawn = stream.rounded_gaussian(keyed, 5, 500_003, sigma=sigma, device="cuda").cpu().numpy()
    assert (drawn == keyed.rounded_gaussian(5, 500_003, sigma=sigma)).all()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_what_a_kernel_leaves_open_is_no_number_until_the_host_has_added_it():
    keyed, numbers = KeyedStream(KEY), torch.randn(100_003, dtype=torch.float64).cuda()
    made, out = stream.NoiseOnDevice(2**30 + 1, Grid(-20), len(numbers), "cuda"), torch.empty_like(numbers)
    wanted = made.added(numbers, torch.empty_like(numbers), keyed, 5)
    made._tables["low"].zero_()  # all that one word did not decide
    made.begin(keyed, 5)
    made.launch(numbers, out)
    made.complete(numbers, out, keyed, 5)
    torch.cuda.synchronize()
    assert int(out.isnan().sum()) > 500
    assert made.settle()
    assert torch.equal(out, wanted)
    assert not made.settle()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_large_sums_are_rounded_as_the_host_rounds_them():
    keyed = KeyedStream(KEY)
    sums = torch.tensor([2.0**51 + 1.5, 2.0**52 - 0.5, -(2.0**51) - 2.5, -0.5, 2.0**60, 1.5], dtype=torch.float64)
    made = stream.NoiseOnDevice(2**30 + 1, Grid(0), 6, "cuda")
    drawn = torch.from_numpy(keyed.rounded_gaussian(5, 6, sigma=2**30 + 1))
    found = made.added(sums.cuda(), torch.empty(6, dtype=torch.float64).cuda(), keyed, 5).cpu()
    assert torch.equal(found, (sums.round().to(torch.int64) + drawn).double())
