"""The kernels of a CUDA device, run line by line by Triton's interpreter: bit for bit the host, and what they cannot
decide is no number.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("torch")

from privet._face import installed
from privet.noise import KeyedStream
from privet.noise.keyed import strips_of

pytestmark = pytest.mark.skipif(not installed("triton"), reason="needs triton")

KEY, STEP, COUNT, SIGMA = bytes(range(7, 39)), 2**33 + 5, 2100, 2**30 + 1  # more numbers than one program has

# The interpreter is chosen when triton is imported, so it has a process of its own.
SCRIPT = f"""
import sys
import numpy as np
import torch
from privet.deep import stream_kernel as kernel
from privet.noise import KeyedStream
from privet.noise.keyed import NOISE, strips_of
from privet.noise.strip_tables import strip_tables

keyed, strips = KeyedStream({KEY!r}), strips_of({SIGMA})
made = {{name: torch.from_numpy(each.copy()) for name, each in strip_tables(strips).items()}}
made["strips"] = made["strips"].to(torch.int16)
given = (*keyed.secret_words(), NOISE, {STEP} % 2**32, {STEP} >> 32, 0)
whole = torch.tensor([strips.shift, int(strips.bounded) >> 48, len(made["high"])])

def noise(sums, room=200, **other):
    rest, counts = torch.zeros(room, dtype=torch.int64), torch.zeros(2, dtype=torch.int32)
    floats = torch.tensor([4.0, 0.125], dtype=torch.float64)
    known = torch.tensor(kernel.signed(given), dtype=torch.int32)
    out = torch.zeros_like(sums)
    kernel.kernel_noise(sums, out, known, whole, floats, made | other, counts, rest)
    return [out.numpy(), counts.numpy()]

numbers = torch.linspace(-9.0, 9.0, {COUNT}, dtype=torch.float64)
numbers[:9] = torch.tensor(
    [torch.inf, -torch.inf, torch.nan, 1e30, -1e30, 2.0**49 + 0.375, 2.0**50 - 0.125, -(2.0**49) - 0.625, -0.125],
    dtype=torch.float64,
)
never = torch.zeros_like(made["low"])
words = kernel.kernel_words(given[:8] + (9, 7, 1, 2**32 - 2), 1, torch.device("cpu"))
found = [
    *noise(numbers), *noise(numbers[:300].float()), *noise(torch.zeros(300), low=never),
    *noise(torch.zeros(300), room=1),
    words.numpy(),
]
np.savez(sys.argv[1], *found)
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    path = tmp_path_factory.mktemp("kernel") / "found.npz"
    given = {**os.environ, "TRITON_INTERPRET": "1"}
    subprocess.run([sys.executable, "-c", SCRIPT, path], check=True, env=given, timeout=240, capture_output=True)
    held = np.load(path)
    return [held[f"arr_{place}"] for place in range(len(held.files))]


def wanted():
    return KeyedStream(KEY).rounded_gaussian(STEP, COUNT, sigma=SIGMA)


def listed(count):
    """The places whose noise takes words of their own."""
    return KeyedStream(KEY).words(2, STEP, count) >= strips_of(SIGMA).bounded


def test_noise_is_that_of_the_host(found):
    numbers = np.linspace(-9.0, 9.0, COUNT)
    numbers[:5] = [0.0, 0.0, 0.0, 2.0**59, -(2.0**59)]  # none counts as 0; large ones are cut at 2^61 steps
    numbers[5:9] = [2.0**49 + 0.375, 2.0**50 - 0.125, -(2.0**49) - 0.625, -0.125]  # halves go to even
    assert (found[0] == (np.rint(4.0 * numbers).astype(np.int64) + wanted()) * 0.125).all()
    assert found[1].tolist() == [listed(COUNT).sum(), 0]
    assert listed(COUNT).sum() > 10
    assert found[2].dtype == np.float32
    assert (found[2] == found[0][:300].astype(np.float32)).all()  # no number here rounds otherwise in float32


def test_what_is_left_undecided_is_no_number_and_is_counted(found):
    assert (np.isnan(found[4]) == listed(300)).all()
    assert found[5].tolist() == [listed(300).sum()] * 2
    assert listed(300).sum() > 0


def test_what_finds_no_room_is_no_number(found):
    assert np.isnan(found[6]).sum() == listed(300).sum() - 1 > 0
    assert found[7].tolist() == [listed(300).sum(), 0]
    assert listed(300)[np.isnan(found[6])].all()


def test_words_are_those_of_the_cipher(found):
    assert (found[8].reshape(-1).view(np.uint64) == KeyedStream(KEY).words(9, 2**32 + 7, 8, 2**35 - 16)).all()
