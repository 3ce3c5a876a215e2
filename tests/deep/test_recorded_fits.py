"""Recorded fits against the plain ones where something is odd: optimizers, models, records, threads, devices."""

import random
import threading
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import privet as pv  # noqa: E402
from privet import deep, noise  # noqa: E402
from privet.deep import captured_step, stepping  # noqa: E402
from privet.deep.engines import compiled  # noqa: E402
from privet.deep.engines.compiled import Compiled, captured  # noqa: E402
from privet.deep.records import Records  # noqa: E402
from privet.deep.start import Start  # noqa: E402
from privet.deep.step_noise import StepNoise  # noqa: E402
from privet.deep.stream import NoiseOnDevice  # noqa: E402
from privet.deep.training import Knobs, Training  # noqa: E402
from privet.errors import InvalidParameter  # noqa: E402
from privet.noise import Grid, KeyedStream, foreign  # noqa: E402
from tests.deep.fake_cuda import FakeCuda  # noqa: E402
from tests.deep.models import data, linear, plan_of, squared  # noqa: E402
from tests.deep.test_captured_step import piece, put, step_of, weights, without_a_compiler, without_noise  # noqa: E402, F401
from tests.firsts import slow  # noqa: E402


@pytest.fixture(autouse=True)
def recorded(monkeypatch):
    monkeypatch.setattr("privet.deep.training.can_be_captured", lambda plan, start, way: way == "compiled")


@pytest.fixture
def noiseless(monkeypatch):
    """Both ways without their noise, so that their steps can be compared."""
    without_noise(monkeypatch)

    def nothing(self, vector, source, out):
        KeyedStream.fresh_key(source)  # so that later blocks draw the same records
        np.copyto(out, vector)

    monkeypatch.setattr(StepNoise, "_add_noise", nothing)


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.05)


def fitted(engine, optimizer=sgd, *, model=None, loss=squared, plan=None, rows=None, **given):
    model = model or linear()
    trainer = deep.Trainer(model, optimizer(model), loss, plan or plan_of(steps=20), engine=engine, **given)
    return weights(trainer.fit(data() if rows is None else rows, source=noise.Seeded(3)))


# --- optimizers --------------------------------------------------------------------------------------------------------


class Rebinding(torch.optim.Optimizer):
    """Puts other tensors in the place of parameters."""

    def __init__(self, parameters, lr):
        super().__init__(parameters, {"lr": lr})

    def step(self, closure=None):
        for group in self.param_groups:
            for each in group["params"]:
                each.data = each.data - group["lr"] * each.grad


def test_parameters_that_an_optimizer_puts_elsewhere_are_still_those_of_the_next_sum(noiseless):
    def made(model):
        return Rebinding(model.parameters(), 0.3)

    assert np.allclose(fitted("compiled", made), fitted("bookkeeping", made), atol=1e-6)


@pytest.mark.parametrize("name", ["Adam", "AdamW", "RAdam", "Adamax", "Adadelta", "RMSprop", "NAdam", "ASGD", "Rprop"])
def test_only_optimizers_whose_states_begin_at_zero_are_recorded(name):
    """The others would go on from states that no optimizer begins with."""
    kind = getattr(torch.optim, name)

    def moved(zeroed):
        place = nn.Parameter(torch.ones(3))
        optimizer = kind([place], lr=0.1)
        if zeroed:
            place.grad = torch.tensor([1.0, -2.0, 0.5])
            optimizer.step()
            place.data.fill_(1.0)
            for each in optimizer.state[place].values():
                each.zero_()
        for turn in (-1.5, -0.5, 0.5):
            place.grad = torch.tensor([0.3, -0.2, 0.7]) * turn
            optimizer.step()
        return place.detach()

    optimizer = kind([nn.Parameter(torch.ones(3))], lr=0.1)
    assert not captured_step._can_be_recorded(optimizer)  # on the host
    optimizer.param_groups[0]["capturable"] = True
    assert captured_step._can_be_recorded(optimizer) == torch.equal(moved(True), moved(False))


def test_states_of_another_optimizer_are_left_alone():
    step, start, _ = step_of(optimizer=lambda each: torch.optim.AdamW(each, lr=0.1))
    other = start.live(start.first())
    other.step(torch.ones(8))
    theirs = other.optimizers[0].state[other.parameters["0.weight"]]
    before = {name: each.clone() for name, each in theirs.items()}
    step.begin(other, 4.0)
    step.descend(torch.ones(8))
    assert all(torch.equal(before[name], each) for name, each in theirs.items())


def test_what_torch_says_of_a_first_step_is_not_said_to_the_user(monkeypatch):
    plain = torch.optim.SGD.step

    def warns(self):
        warnings.warn("step() is running without capture", stacklevel=2)
        return plain(self)

    monkeypatch.setattr(torch.optim.SGD, "step", warns)
    monkeypatch.setattr(captured_step, "captured", lambda work, place: (None, torch.zeros(8)))
    step, _, _ = step_of()  # no error
    with pytest.warns(UserWarning, match="without capture"):
        step._stepped()


# --- models and data ---------------------------------------------------------------------------------------------------


class Tied(nn.Module):
    """A tied weight, a frozen one, a buffer and names out of order."""

    def __init__(self):
        super().__init__()
        self.z, self.a = nn.Linear(3, 3, bias=False), nn.Linear(3, 3)
        self.m = nn.Linear(3, 1)
        with torch.no_grad():
            for each in self.parameters():
                each.copy_(torch.linspace(-0.5, 0.7, each.numel()).view_as(each))
        self.a.weight = self.z.weight
        self.m.bias.requires_grad_(False)
        self.register_buffer("shift", torch.tensor([0.5, -0.5, 0.25]))

    def forward(self, left, right=None):
        return self.m(torch.tanh(self.a(self.z(left + self.shift))) + (0.0 if right is None else right.float()))


def two(model):
    by = {True: [], False: []}
    for name, each in model.named_parameters():
        by[name.startswith("m")].append(each)
    return [
        torch.optim.SGD([{"params": by[True][:1], "lr": 0.3}, {"params": by[True][1:]}], lr=0.1, momentum=0.5),
        torch.optim.AdamW(by[False], lr=0.01, amsgrad=True),
    ]


def outputs_alone(outputs, targets):
    return (outputs[:, 0] - 1.0) ** 2


ROWS = torch.linspace(-1.0, 1.0, 24).reshape(8, 3)


@pytest.mark.parametrize(
    ("rows", "loss"),
    [
        ((ROWS, ROWS.sum(1)), squared),
        slow((ROWS, outputs_alone)),
        slow(((ROWS, (ROWS > 0), ROWS.sum(1)), squared)),
        ({"right": (3 * ROWS).to(torch.int64), "left": ROWS.T.contiguous().T}, outputs_alone),
        slow(((ROWS.clone().requires_grad_(), ROWS.sum(1)), squared)),
        slow(((np.asfortranarray(ROWS.numpy()), ROWS.sum(1).numpy()), squared)),
        ((ROWS.where(torch.arange(8)[:, None] != 3, torch.nan), ROWS.sum(1)), squared),
        (list(zip(ROWS, ROWS.sum(1), strict=True)), squared),
    ],
    ids=["plain", "no targets", "bool", "mapping", "gradients", "numpy", "nan", "by number"],
)
def test_states_after_blocks_are_those_of_plain_steps(rows, loss, noiseless):
    plan = plan_of(steps=40, sampling=deep.Poisson(q=0.2))  # of eight records: empty batches, too, and two blocks
    given = {"optimizer": two, "loss": loss, "rows": rows, "plan": plan, "physical_batch": 3, "average": 0.9}
    one, other = (fitted(way, model=Tied(), **given) for way in ("compiled", "bookkeeping"))
    start = Tied().state_dict()
    assert np.allclose(one, other, atol=1e-5)
    assert np.abs(one - np.concatenate([start[name].reshape(-1) for name in sorted(start)])).max() > 0.05


def test_mappings_in_another_order_are_recorded_anew(noiseless):
    class Apart(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(3, 1)

        def forward(self, a, b):
            return self.inner(a - 2.0 * b)

    model = Apart()
    start, plan = Start(model, sgd(model), outputs_alone), plan_of(steps=5, sampling=deep.Poisson(q=1.0))
    training = Training(plan=plan, start=start, divisor=4.0, knobs=Knobs("compiled"))
    a, b = torch.ones(6, 3), torch.zeros(6, 3)
    one, other = (training.release(Records(each)).value for each in ({"a": a, "b": b}, {"b": b, "a": a}))
    assert all(np.allclose(one[name], other[name]) for name in one)


class Strange(torch.Tensor):
    """A kind of tensor whose errors quote it."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function is torch.cat:
            raise RuntimeError("secret 7")
        return super().__torch_function__(function, types, args, kwargs or {})


class WithOne:
    """Five records that are read by number, one of them odd."""

    def __init__(self, odd):
        self.odd = odd

    def __len__(self):
        return 5

    def __getitem__(self, number):
        return self.odd if number == 2 else torch.ones(3), torch.tensor(1.0)


@pytest.mark.parametrize(
    "odd",
    [torch.ones(3, device="meta"), torch.ones(3).to_sparse(), torch.ones(3).as_subclass(Strange)],
    ids=["elsewhere", "sparse", "strange"],
)
@pytest.mark.parametrize("way", ["compiled", "bookkeeping"])
def test_an_odd_record_is_a_null_record(odd, way, noiseless):
    """It ended the run, after it was paid, with an error that named it."""
    given = {"plan": plan_of(steps=5)}
    without = fitted(way, rows=WithOne(torch.ones(2)), **given)  # of another shape
    assert np.array_equal(fitted(way, rows=WithOne(odd), **given), without)
    assert not np.array_equal(fitted(way, rows=WithOne(torch.ones(3)), **given), without)


class OnTheHost(nn.Module):
    """Draws too small a number to be seen, in a way that no graph knows."""

    def __init__(self, draw):
        super().__init__()
        self.draw = draw

    def forward(self, rows):
        return rows * (1.0 + 1e-6 * self.draw())


@pytest.mark.parametrize(
    "draw",
    [lambda: np.random.random(), lambda: random.random(), lambda: torch.empty(1).bernoulli_(0.5).numpy()[0]],
    ids=["numpy", "python", "torch"],
)
def test_what_a_model_draws_on_the_host_is_not_recorded_as_a_constant(draw):
    with pytest.raises(InvalidParameter, match=r"nothing else that is drawn|cannot be compiled"):
        step_of(more=(OnTheHost(draw),))


# --- before and after payment ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", [RuntimeError("capture"), torch.OutOfMemoryError("memory")])
def test_a_device_that_cannot_record_falls_back_or_is_named_before_payment(problem, monkeypatch):
    def broken(*given):
        raise problem

    monkeypatch.setattr("privet.deep.captured_step.captured", broken)
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=100.0, delta=1e-3))
    trainer = deep.Trainer(*((model := linear()), sgd(model)), squared, plan_of(steps=5), engine="compiled")
    with pytest.raises(InvalidParameter, match="cannot be recorded"):
        trainer.fit(data(), ledger=ledger)
    assert ledger.spent["basic epsilon"] == 0.0
    monkeypatch.setattr("privet.deep.training.can_be_captured", lambda plan, start, way: True)
    assert np.isfinite(fitted("auto")).all()


def test_a_piece_that_is_known_after_the_count_trains_without_a_program(monkeypatch):
    plain, sizes = Compiled.program, []

    def of_few(self, parameters, inputs, targets, mask):
        sizes.append(len(mask))
        if len(mask) == 42:  # what 20 expected records make
            raise InvalidParameter("this program cannot be made")
        return plain(self, parameters, inputs, targets, mask)

    monkeypatch.setattr(Compiled, "program", of_few)
    monkeypatch.setattr("privet.deep.training.piece_size", lambda expected, largest: 96 if expected is None else 42)
    plan = deep.Plan(epsilon=50.0, delta=1e-5, steps=4, sampling=deep.Poisson(q=0.5))
    assert np.isfinite(fitted("compiled", plan=plan, rows=data(40))).all()
    assert 42 in sizes


def test_noise_that_a_device_cannot_draw_is_found_before_payment(monkeypatch):
    there = NoiseOnDevice(2**20, Grid(-20), 4)

    def broken(*given):
        raise RuntimeError("no compiler")

    monkeypatch.setattr(there, "launch", broken)
    monkeypatch.setattr(stepping, "_noise_there", lambda plan, noise, place: there)
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=100.0, delta=1e-3))
    model = linear()
    with pytest.raises(RuntimeError, match="no compiler"):
        deep.Trainer(model, sgd(model), squared, plan_of()).fit(data(), ledger=ledger)
    assert ledger.spent["basic epsilon"] == 0.0


# --- threads and devices -----------------------------------------------------------------------------------------------


def test_fits_of_one_trainer_in_threads_do_not_disturb_each_other():
    model, made, wrong = linear(), [], []
    trainer = deep.Trainer(model, sgd(model), squared, plan_of(steps=20), engine="compiled")
    alone = weights(trainer.fit(data(), source=noise.Seeded(3)))

    def work():
        try:
            made.append(weights(trainer.fit(data(), source=noise.Seeded(3))))
        except BaseException as problem:
            wrong.append(problem)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong
    assert len(made) == 3
    assert all(np.array_equal(each, alone) for each in made)


def others_may_record():
    """Whether another thread has its turn while this one waits."""
    found = []

    def asked():
        if got := foreign._TURN.acquire(blocking=False):
            foreign._TURN.release()
        found.append(got)

    thread = threading.Thread(target=asked)
    thread.start()
    thread.join()
    return found[0]


def test_while_a_program_is_made_no_other_thread_makes_one():
    free = []

    def watched(outputs, targets):
        free.append(others_may_record())
        return squared(outputs, targets)

    model = linear()
    engine = plan_of().engine(model, watched, way="compiled")
    point = {name: each.detach() for name, each in model.named_parameters()}
    engine.program(point, *data(4), torch.ones(4, dtype=torch.bool))
    assert free
    assert not any(free)


def test_while_sums_are_recorded_no_other_thread_sets_the_precision_of_products(monkeypatch):
    free = []

    def watched(work, device):
        free.append((others_may_record(), torch.get_float32_matmul_precision()))
        return captured(work, device)

    monkeypatch.setattr(captured_step, "captured", watched)
    step_of()
    assert free[0] == (False, "highest")


def test_graphs_are_recorded_on_the_device_of_the_model(monkeypatch):
    """On another one nothing would be recorded, and every replay would leave what lies there."""
    fake, seen = FakeCuda(), []
    monkeypatch.setattr(compiled.torch, "cuda", fake)
    monkeypatch.setattr(compiled, "own_turn", lambda: fake.device("cuda:0"))
    captured(lambda: seen.append((fake.current, fake.on.device)), torch.device("cuda:1"))
    assert set(seen) == {(1, 1)}
    assert fake.modes == ["thread_local"]  # what other threads do is no part of it
    assert fake.current == 0


def test_kernels_go_to_the_device_of_their_numbers(monkeypatch):
    fake, seen = FakeCuda(), []
    there = NoiseOnDevice(2**20, Grid(-20), 4)

    class Kernel:
        @staticmethod
        def kernel_noise(*given):
            seen.append(fake.current)

    there._kernel, there._where = Kernel, torch.device("cuda:1")
    monkeypatch.setattr(torch.Tensor, "device", torch.device("cuda:1"))
    there.counts, there._seen = torch.zeros(2, dtype=torch.int32), torch.zeros(2, dtype=torch.int32)
    there._known = there._whole = there._floats = there._tables = there._rest = None
    monkeypatch.setattr("privet.deep.stream.torch.cuda", fake)
    there.launch(torch.zeros(4), torch.zeros(4))
    assert seen == [1]
