"""The keyed stream as tensors: bit for bit that of `noise`."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from privet.deep import stream  # noqa: E402
from privet.errors import InvalidParameter  # noqa: E402
from privet.noise import KeyedStream  # noqa: E402

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


@pytest.mark.parametrize(
    ("sigma", "count", "first"), [(1024, 70_000, 0), (2**30 + 1, 3, 65536), (2**52, 1000, 0), (1e6, 0, 0)]
)
def test_noise_is_that_of_the_host(sigma, count, first):
    keyed = KeyedStream(KEY)
    drawn = stream.rounded_gaussian(keyed, 5, count, sigma=sigma, first=first)
    assert drawn.dtype == torch.int64
    assert (drawn.numpy() == keyed.rounded_gaussian(5, count, sigma=sigma, first=first)).all()


def test_noise_begins_at_a_block():
    with pytest.raises(InvalidParameter, match="multiple of 65536"):
        stream.rounded_gaussian(KeyedStream(KEY), 0, 1, sigma=2**20, first=1)


def test_what_the_stream_refuses_is_refused_here():
    with pytest.raises(InvalidParameter):
        stream.stream_words(KeyedStream(KEY), 2**32, 0, 1)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_words_of_the_kernel_are_those_of_the_cipher():
    keyed = KeyedStream(KEY)
    for first in (0, 5, 8 * 2**31 - 8):
        found = stream.stream_words(keyed, 2, 2**40 + 1, 5000, first=first, device="cuda").cpu().numpy().view(np.uint64)
        assert (found == keyed.words(2, 2**40 + 1, 5000, first)).all()
