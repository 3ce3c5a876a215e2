"""Noise that a device leaves to the host: it comes late, and before anybody sees a number that lacks it."""

from fractions import Fraction
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from privet.deep import captured_step, stepping  # noqa: E402
from privet.deep.step_noise import StepNoise  # noqa: E402
from privet.deep.stream import NoiseOnDevice  # noqa: E402
from privet.deep.sum_on_device import SumOnDevice  # noqa: E402
from privet.errors import InvalidData  # noqa: E402
from privet.noise import Grid, KeyedStream, Seeded  # noqa: E402
from privet.noise.keyed import strips_of  # noqa: E402
from tests.deep.fake_cuda import FakeCuda  # noqa: E402
from tests.deep.test_captured_step import piece, put, step_of, without_a_compiler  # noqa: E402, F401
from tests.deep.test_recorded_fits import fitted, recorded  # noqa: E402, F401

COUNT, KEY = 400, bytes(range(32))


def by_a_kernel(*, lost=(), room=9):
    """Noise of 400 numbers as a device would add it, and what it waited for. Some of it is left to the host."""
    there, seen = NoiseOnDevice(2**20, Grid(-20), COUNT), []

    class Kernel:
        signed = staticmethod(list)

        @staticmethod
        def kernel_noise(sums, out, *given):
            plain = KeyedStream(KEY).rounded_gaussian(3, COUNT, sigma=2**20)
            out.copy_(sums + torch.from_numpy(plain) * 2.0**-20)
            out[list(lost)] = torch.nan
            there.counts.copy_(torch.tensor([9, len(lost) if room >= 9 else 0]))

    class Event:
        def record(self, stream):
            seen.append("recorded")

        def synchronize(self):
            seen.append("waited")

    there._kernel, there._done, there._under_way = Kernel, Event(), None
    there.counts, there._seen = torch.zeros(2, dtype=torch.int32), torch.zeros(2, dtype=torch.int32)
    there._told, there._known = torch.zeros(12, dtype=torch.int64), torch.zeros(12, dtype=torch.int64)
    there._whole = there._floats = there._tables = None
    there._rest = torch.zeros(room)
    return there, seen


def without_streams(monkeypatch):
    fake = FakeCuda()
    fake.current_stream = lambda device: None
    monkeypatch.setattr("privet.deep.stream.torch.cuda", fake)


@pytest.fixture
def streams(monkeypatch):
    without_streams(monkeypatch)


def undecided():
    """Places whose words belong to no rectangle: of others a device leaves none open."""
    return np.flatnonzero(KeyedStream(KEY).words(2, 3, COUNT) >= strips_of(2**20).bounded).tolist()


@pytest.mark.parametrize("room", [9, 8], ids=["open", "no room"])
def test_noise_that_a_device_leaves_open_is_added_before_anybody_sees_it(room, streams):
    places = undecided()
    assert len(places) == 2
    sums = torch.linspace(-3.0, 3.0, COUNT, dtype=torch.float64)
    wanted = (np.rint(sums.numpy() * 2**20) + KeyedStream(KEY).rounded_gaussian(3, COUNT, sigma=2**20)) * 2.0**-20
    there, _ = by_a_kernel(lost=places[:2], room=room)
    sums = torch.from_numpy(np.rint(sums.numpy() * 2**20) * 2.0**-20)  # on the grid, as the kernel puts them there
    out = there.added(sums, torch.empty_like(sums), KeyedStream(KEY), 3)
    assert np.array_equal(out.numpy(), wanted)
    there, _ = by_a_kernel(lost=places[:2], room=room)
    there.begin(KeyedStream(KEY), 3)
    there.launch(sums, out)
    there.complete(sums, out, KeyedStream(KEY), 3)
    assert out.isnan().nonzero()[:, 0].tolist() == places[:2]  # never a sum
    there.begin(KeyedStream(KEY), 3)  # the next step
    assert np.array_equal(out.numpy(), wanted)
    assert not there.settle()
    there, _ = by_a_kernel()
    there.begin(KeyedStream(KEY), 3)
    there.launch(sums, out)
    there.complete(sums, out, KeyedStream(KEY), 3)
    assert not there.settle()


def test_a_key_is_handed_over_when_the_one_before_has_served(streams):
    """Also where the step before broke off, between its key and its noise."""
    there, seen = by_a_kernel()
    zeros, out = torch.zeros(COUNT), torch.zeros(COUNT)
    for number in range(2):
        there.begin(KeyedStream(bytes([number]) * 32), 0)
        seen.append(int(there._known[0]))
        there.launch(zeros, out)
        there.complete(zeros, out, KeyedStream(KEY), 3)
    there.begin(KeyedStream(KEY), 0)
    there.begin(KeyedStream(KEY), 0)
    one = ["waited", "recorded"]
    assert seen == [*one, 0, "recorded", *one, 0x01010101, "recorded", *one, *one]


def test_numbers_on_another_device_are_refused(streams):
    there, _ = by_a_kernel()
    there._where = torch.device("cuda:1")
    with pytest.raises(InvalidData, match="must lie on cuda:1"):
        there.launch(torch.zeros(COUNT), torch.zeros(COUNT))


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_a_step_whose_noise_came_late_is_taken_again(momentum, monkeypatch):
    """Late noise was no number: parameters and states are those of a step with all of it."""

    def optimizer(each):
        return torch.optim.SGD(each, lr=0.5, momentum=momentum)

    step, start, _ = step_of(optimizer=optimizer)
    alone = start.live(start.first())
    step.begin(alone, 4.0)
    late, plain = [False], step.noise.settle

    def settled():
        if late.pop():
            step._noisy.copy_(whole)
            return True
        return plain()

    for seed in range(4):
        whole = torch.randn(8, generator=torch.Generator().manual_seed(seed))
        step._noisy.copy_(torch.where(torch.arange(8) == seed, torch.nan, whole) if seed % 2 else whole)
        step.descend(step._noisy)
        alone.step(whole / 4.0)
        late[:] = [bool(seed % 2)]
        monkeypatch.setattr(step.noise, "settle", settled)
        step.sum_of([partial(put, piece(seed))])
        monkeypatch.setattr(step.noise, "settle", plain)
        for name, each in alone.parameters.items():
            assert torch.allclose(step.live.parameters[name], each, atol=1e-6), name


def test_whoever_looks_at_parameters_waits_for_their_noise(monkeypatch):
    """The state of a block, and the running mean of each step."""
    waited, plain = [], captured_step.CapturedStep.settle
    monkeypatch.setattr(captured_step.CapturedStep, "settle", lambda self: waited.append(1) or plain(self))
    fitted("compiled")
    once = len(waited)
    waited.clear()
    fitted("compiled", average=0.9)
    assert len(waited) == once + 20  # a step
    waited.clear()
    step, _, _ = step_of()
    waited.clear()
    assert stepping.Captured(step, 4).live is step.live
    assert waited


def test_nothing_is_added_to_what_was_wiped(monkeypatch):
    """A step that fails after its kernels leaves no number: late noise would be that of a hundredth of all draws."""
    step, _, _ = step_of()
    without_streams(monkeypatch)
    there, _ = by_a_kernel(lost=undecided()[:1])
    step.noise, step._flat, step._noisy = there, torch.ones(COUNT), torch.zeros(COUNT)
    step._noised = SimpleNamespace(replay=lambda: there.launch(step._flat, step._noisy))
    plain = there.complete

    def stopped(*given):
        plain(*given)
        raise KeyboardInterrupt

    there.complete = stopped
    with pytest.raises(KeyboardInterrupt):
        step.protected(KeyedStream(KEY))
    assert not there.settle()
    assert step._noisy.isnan().all()


class Held(SumOnDevice):
    """A sum whose noise comes late, as that of a recorded step."""

    def __init__(self, there):
        super().__init__(there)
        self.out = torch.zeros(COUNT)

    def exact_sum(self):
        return torch.zeros(COUNT)

    def _protected(self, stream):
        self.noise.begin(KeyedStream(KEY), 3)
        self.noise.launch(self.exact_sum(), self.out)
        self.noise.complete(self.exact_sum(), self.out, KeyedStream(KEY), 3)
        return self.out


def test_copies_of_several_draws_have_their_noise_too(streams):
    there, _ = by_a_kernel(lost=undecided()[:1])
    step, held = SimpleNamespace(_sigma=Fraction(2**20), grid=Grid(-20)), Held(there)
    assert not StepNoise._drawn_on_device(step, held, 2, Seeded(1)).isnan().any()
    assert StepNoise._drawn_on_device(step, held, 1, Seeded(1)).isnan().sum() == 1  # whoever reads it waits first
