"""Steps that are recorded: the sums, the noise and the weights of steps that are not, on whatever device there is."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import privet as pv  # noqa: E402
from privet import audit, deep, noise  # noqa: E402
from privet.deep import stepping, stream  # noqa: E402
from privet.deep.captured_step import CapturedStep  # noqa: E402
from privet.deep.records import Records  # noqa: E402
from privet.deep.rules.use import compounded  # noqa: E402
from privet.deep.start import Start  # noqa: E402
from privet.deep.step_noise import StepNoise  # noqa: E402
from privet.deep.stream import NoiseOnDevice  # noqa: E402
from privet.deep.sum_on_device import ComputedSum  # noqa: E402
from privet.errors import InvalidData, InvalidParameter, NotPrivate  # noqa: E402
from privet.noise import Grid, KeyedStream  # noqa: E402
from tests.deep.models import data, linear, plan_of, squared  # noqa: E402
from tests.firsts import slow  # noqa: E402

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA"))]


@pytest.fixture(autouse=True)
def without_a_compiler(monkeypatch):
    """What is recorded runs as it is on the host: a compiler takes seconds for each model, and is torch's. Programs that
    went through it are those of `test_compiled.py`.
    """
    if not torch.cuda.is_available():
        monkeypatch.setattr(torch, "compile", lambda recorded, **given: recorded)


def summed(outputs, targets):
    return (outputs.sum(1) - targets) ** 2


def step_of(*, kind=torch.float32, dimension=8, more=(), strict=False, optimizer=None, clip=1.0, device="cpu"):
    model = nn.Sequential(nn.Linear(3, 2), *more).to(kind).to(device)
    with torch.no_grad():
        for place, each in enumerate(model.parameters()):
            each.copy_(torch.linspace(-1.0, 1.0, each.numel()).reshape(each.shape) + 0.1 * place)
    plan = plan_of(steps=20, sampling=deep.Poisson(q=0.5), expected_batch=4.0)
    made = (optimizer or (lambda each: torch.optim.SGD(each, lr=0.5, momentum=0.9)))(model.parameters())
    start = Start(model, made, summed)
    engine = plan.engine(start.model, summed, way="compiled")
    added = StepNoise(clip=clip, noise_multiplier=1.0, dimension=dimension, strict=strict)
    batch = torch.zeros(4, 3, dtype=kind, device=device), torch.zeros(4, dtype=kind, device=device)
    return CapturedStep(engine, start.live(start.first()), added, *batch), start, added


def without_noise(monkeypatch):
    """Sums on the grid, and nothing added to them."""
    plain = NoiseOnDevice._add
    monkeypatch.setattr(NoiseOnDevice, "_add", lambda self, *given: plain(self, *given[:3], 0 * given[3]))


def put(piece, batch):
    for mine, theirs in zip(batch, piece, strict=True):
        mine.copy_(theirs)


def piece(seed, size=4, device="cpu"):
    rows = torch.randn(size, 3, generator=torch.Generator().manual_seed(seed))
    return [each.to(device) for each in (rows, rows.sum(1), torch.arange(size) != size - 1)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("pieces", [1, 3])
def test_its_sums_are_those_of_the_plain_engine(device, pieces):
    step, start, added = step_of(device=device)
    batches = [piece(seed, device=device) for seed in range(pieces)]
    value = step.sum_of(partial(put, each) for each in batches)
    plain = plan_of().engine(start.model, summed)
    point = start.live(start.first()).exact_point()
    found = [plain(point, rows, targets, mask) for rows, targets, mask in batches]
    wanted = torch.cat([sum(each[name] for each in found).reshape(-1) for name in sorted(point)])
    assert torch.allclose(value.exact_sum(), wanted, atol=1e-6)
    key = bytes(range(32))
    noisy = value.protected(added.steps, added.grid, KeyedStream(key))
    drawn = KeyedStream(key).rounded_gaussian(0, 8, sigma=added.steps) * added.grid.width
    assert np.abs(noisy.cpu().double().numpy() - drawn - wanted.cpu().double().numpy()).max() < 1e-6
    again = value.protected(added.steps, added.grid, KeyedStream(key))
    assert torch.equal(again, noisy)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("optimizer", "recorded"),
    [
        (lambda each: torch.optim.SGD(each, lr=0.5, momentum=0.9, nesterov=True, weight_decay=0.1), True),
        (lambda each: torch.optim.SGD(each, lr=0.5, momentum=0.9, dampening=0.5), False),  # its first step is another
        (lambda each: torch.optim.RMSprop(each, lr=0.1, momentum=0.5), False),
        (lambda each: torch.optim.AdamW(each, lr=0.1), False),
        (lambda each: torch.optim.Adam(each, lr=0.1, capturable=True), True),
    ],
    ids=["nesterov", "dampening", "rmsprop", "adamw", "adam"],
)
@pytest.mark.filterwarnings("ignore:This instance was constructed with capturable=True")  # of the one that steps alone
def test_optimizers_move_as_they_do_alone(optimizer, recorded, device, request):
    if device == "cpu" and "adam-" in request.node.name:
        pytest.skip("torch takes capturable=True on a CUDA device only")
    step, start, _ = step_of(optimizer=optimizer, device=device)
    alone = start.live(start.first())
    step.begin(alone, 4.0)
    for seed in range(3):
        gradient = torch.randn(8, generator=torch.Generator().manual_seed(seed)).to(device)
        step.descend(gradient)
        alone.step(gradient / 4.0)
        again = start.live(start.state_after(alone, start.first()))
        step.begin(again, 4.0)  # as the next block does
        alone = again
    assert (step._update is not None) == recorded
    for name, each in alone.parameters.items():
        assert torch.allclose(step.live.parameters[name], each, atol=1e-6), name


class Listed:
    """A data set that is read by number, whose third record is unlike the others."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, number):
        row = self.rows[number]
        return (row[:1] if number == 2 else row), row.sum()


@pytest.mark.parametrize("ids", [[], [0], [3, 1], [4, 0, 1, 2], [1, 99]])
@pytest.mark.parametrize("listed", [False, True])
def test_a_batch_is_filled_into_memory_that_held_another(ids, listed):
    rows = torch.arange(15.0).reshape(5, 3) + 1.0
    records = Records(Listed(rows) if listed else (rows, rows.sum(1)))
    memory, mask = [torch.full((4, 3), torch.nan), torch.full((4,), torch.nan)], torch.ones(4, dtype=torch.bool)
    numbers = np.array(ids, dtype=np.int64)
    records.exact_fill(numbers, memory, mask)
    wanted, counts = records.exact_batch(numbers, 4)
    assert torch.equal(mask, counts)
    assert all(torch.equal(mine, each) for mine, each in zip(memory, wanted, strict=True))


def test_an_autocast_around_it_is_refused():
    with torch.autocast("cpu", torch.bfloat16), pytest.raises(InvalidParameter, match="autocast around a private step"):
        step_of()


class Dropping(nn.Module):
    """Dropout that no layer shows."""

    def forward(self, rows):
        return torch.nn.functional.dropout(rows, 0.5)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"strict": True}, "without strict sums"),
        ({"clip": 0.5}, "for the clip of its engine"),
        ({"dimension": 7}, "the noise is for 7 numbers, and the model has 8"),
        ({"kind": torch.bfloat16}, "in float32"),
        ({"more": (nn.Dropout(0.5),)}, "no dropout"),
        ({"more": (Dropping(),)}, "no dropout"),
    ],
)
def test_what_would_spoil_it_is_refused(given, words):
    with pytest.raises(InvalidParameter, match=words):
        step_of(**given)


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickle.dumps])
def test_it_is_not_copied(way):
    with pytest.raises(InvalidParameter, match="the same memory"):
        way(object.__new__(CapturedStep))


def test_a_sum_that_is_copied_is_an_array_and_one_that_is_pickled_is_refused():
    held = ComputedSum(torch.ones(2), NoiseOnDevice(2**20, Grid(-20), 2))
    assert copy.deepcopy(held).tolist() == copy.copy(held).tolist() == [1.0, 1.0]
    assert isinstance(copy.deepcopy(held), np.ndarray)
    with pytest.raises(InvalidData, match="not pickled"):
        pickle.dumps(held)


def test_what_comes_out_never_holds_a_sum_without_noise(monkeypatch):
    step, _, added = step_of()
    value = step.sum_of([partial(put, piece(1))])

    def broken(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(NoiseOnDevice, "complete", broken)
    with pytest.raises(KeyboardInterrupt):
        value.protected(added.steps, added.grid, KeyedStream.fresh())
    assert float(value.exact_sum().abs().sum()) > 0.0
    assert step._noisy.isnan().all()


def test_every_step_hands_its_own_key_to_the_device(monkeypatch):
    """On the host noise is drawn as a step is completed; a device draws it from the key that was handed to it before."""
    step, _, added = step_of()
    value, heard = step.sum_of([partial(put, piece(1))]), []

    def noted(name, plain):
        def run(self, *given):
            heard.append((name, [each.secret_words() for each in given if isinstance(each, KeyedStream)]))
            return plain(self, *given)

        return run

    for name in ("begin", "launch", "complete"):
        monkeypatch.setattr(NoiseOnDevice, name, noted(name, getattr(NoiseOnDevice, name)))
    for key in (bytes(32), bytes(range(32))):
        heard.clear()
        value.protected(added.steps, added.grid, KeyedStream(key))
        words = [KeyedStream(key).secret_words()]
        assert heard == [("begin", words), ("launch", []), ("complete", words)]


# --- the noise of a sum that lies on a device -------------------------------------------------------------------------


def on_device(total, added):
    return ComputedSum(total, added.on_device(torch.device("cpu")))


def test_every_release_draws_a_key_of_its_own():
    added = StepNoise(clip=1.0, noise_multiplier=2.0, dimension=3)
    total = torch.zeros(3, dtype=torch.float64)
    one, two = (added.release(on_device(total, added)).value for _ in range(2))
    assert not torch.equal(one, two)
    assert not total.any()  # what was handed in is left alone
    first, again = (added.release(on_device(total, added), source=noise.Seeded(3)) for _ in range(2))
    assert torch.equal(first.value, again.value)
    assert first.insecure
    runs = added.simulate(on_device(total, added), 2)
    assert not torch.equal(runs[0], runs[1])


def test_its_noise_has_the_size_that_is_charged():
    added = StepNoise(clip=0.5, noise_multiplier=3.0, dimension=200_000)
    value = added.release(on_device(torch.zeros(200_000, dtype=torch.float64), added)).value.numpy()
    assert abs(value.std() / added.sigma - 1.0) < 0.008  # five standard errors: 2/3 and 3/2 are far away
    assert np.array_equal(np.rint(value / added.grid.width) * added.grid.width, value)


def test_noise_of_another_size_or_for_other_sums_is_refused():
    added = StepNoise(clip=1.0, noise_multiplier=2.0, dimension=3)
    half = StepNoise(clip=1.0, noise_multiplier=1.0, dimension=3)
    with pytest.raises(InvalidData, match="noise of another size"):
        added.release(on_device(torch.zeros(3), half), source=noise.Seeded(1))
    four = StepNoise(clip=1.0, noise_multiplier=2.0, dimension=4)
    with pytest.raises(InvalidData, match="one row of 3 numbers"):
        added.release(on_device(torch.zeros(4), four))
    strict = StepNoise(clip=1.0, noise_multiplier=2.0, dimension=3, strict=True)
    with pytest.raises(InvalidData, match="not strict"):
        strict.release(on_device(torch.zeros(3), added))
    assert strict.on_device(torch.device("cpu")) is None
    small = StepNoise(clip=1.0, noise_multiplier=1e-5, dimension=3)
    assert small.on_device(torch.device("cpu")) is None  # too few steps of the grid for the keyed stream
    large = StepNoise(clip=1.0, noise_multiplier=1.0, dimension=3)
    assert large.on_device(torch.device("cpu")) is not None


# --- whole trainings ---------------------------------------------------------------------------------------------------


@pytest.fixture
def as_on_cuda(monkeypatch):
    """Training records its steps on the host too, whose graphs are the work itself."""

    def chosen(plan, start, way):
        return way == "compiled"

    monkeypatch.setattr("privet.deep.training.can_be_captured", chosen)


def trained(engine, source=None, *, steps=60, loss=squared, **given):
    model = linear()
    plan = plan_of(steps=steps)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
    trainer = deep.Trainer(model, optimizer, loss, plan, engine=engine, **given)
    return trainer, trainer.fit(data(), source=source)


def weights(made):
    return np.concatenate([each.reshape(-1) for _, each in sorted(made.release.value.items())])


def test_a_fit_runs_recorded_steps_over_all_of_its_blocks(as_on_cuda, monkeypatch):
    made = []
    plain = stepping._recorded
    monkeypatch.setattr(stepping, "_recorded", lambda *given: made.append(1) or plain(*given))
    trainer, one = trained("compiled", noise.Seeded(3), average=0.9)
    assert len(trainer.plan.rounds) == 3
    assert len(made) == 1  # once, for three blocks
    _, again = trained("compiled", noise.Seeded(3), average=0.9)
    assert np.array_equal(weights(one), weights(again))
    _, other = trained("compiled", noise.Seeded(4), average=0.9)
    assert not np.array_equal(weights(one), weights(other))
    _, pieces = trained("compiled", noise.Seeded(3), average=0.9, physical_batch=2)
    assert np.allclose(weights(one), weights(pieces), atol=1e-5)


def test_a_recorded_fit_is_the_plain_one_but_for_its_noise(as_on_cuda, monkeypatch):
    """With noise taken off both ways, a block ends with the weights of steps that are not recorded."""
    without_noise(monkeypatch)
    _, one = trained("compiled", noise.Seeded(3), steps=20)
    monkeypatch.setattr(StepNoise, "_add_noise", lambda self, vector, source, out: np.copyto(out, vector))
    _, plain = trained("bookkeeping", noise.Seeded(3), steps=20)
    assert np.allclose(weights(one), weights(plain), atol=1e-6)
    assert (
        np.abs(weights(one) - np.concatenate([each.detach().reshape(-1) for each in linear().parameters()])).max() > 0.1
    )


def test_a_recorded_fit_goes_on_from_its_checkpoint(as_on_cuda, tmp_path):
    ledger = pv.Ledger.create(str(tmp_path / "a.ledger"), budget=pv.Budget(epsilon=100.0, delta=1e-3), dataset="rows")
    model = linear()
    plan = plan_of(steps=60)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
    trainer = deep.Trainer(model, optimizer, squared, plan, engine="compiled")
    asked = {"ledger": ledger, "key": "run", "about": "v1", "checkpoint": tmp_path / "run.npz"}

    def told(progress):
        if progress.step == 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trainer.fit(data(), progress=told, **asked)
    spent = ledger.spent["basic epsilon"]
    made = trainer.fit(data(), **asked)
    assert spent < ledger.spent["basic epsilon"] < 2.0 * spent  # the block that was not kept is run and paid again
    assert made.release.paid is not None
    assert np.array_equal(weights(made), weights(trainer.fit(data(), **asked)))


def test_replay_looks_through_recorded_steps(as_on_cuda):
    """And sees a clip that is missing in them."""
    plan = plan_of(steps=2, noise_multiplier=2.0, sampling=deep.Poisson(q=1.0))
    rows = torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    knobs = deep.training.Knobs("compiled")

    def replayed(clip):
        other = plan_of(steps=2, noise_multiplier=2.0, sampling=deep.Poisson(q=1.0), clip=clip)
        made = deep.training.training_of(other, 2, knobs)
        pair = deep.records.Records((rows,)), deep.records.Records((rows[:2],))
        return audit.replay(made.release, *pair)

    class Unclipped(deep.Flat):
        def factors(self, norms):
            return torch.ones_like(norms)

    sound = replayed(plan.clip)
    assert sound.releases == 2
    assert not sound.refuted
    assert "inputs are 3 apart, declared 1" in str(replayed(Unclipped(1.0)))


def test_seeded_noise_in_a_secure_run_is_refused(as_on_cuda, monkeypatch):
    plain = StepNoise.release
    monkeypatch.setattr(
        StepNoise, "release", lambda self, value, source=None: plain(self, value, source=noise.Seeded(1))
    )
    with pytest.raises(NotPrivate, match="seeded noise"):
        trained("compiled")


def test_a_model_that_cannot_be_recorded_is_refused_before_it_is_paid(as_on_cuda):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=100.0, delta=1e-3))
    model = nn.Sequential(nn.Linear(3, 1), nn.Dropout(0.5))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    trainer = deep.Trainer(model, optimizer, squared, plan_of(), engine="compiled")
    with pytest.raises(InvalidParameter, match="no dropout"):
        trainer.fit(data(), ledger=ledger)
    assert ledger.spent["basic epsilon"] == 0.0


def test_unasked_it_trains_as_it_can(monkeypatch):
    monkeypatch.setattr("privet.deep.training.can_be_captured", lambda plan, start, way: True)
    model = nn.Sequential(nn.Linear(3, 1), nn.Dropout(0.5))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    made = deep.Trainer(model, optimizer, squared, plan_of()).fit(data())
    assert np.isfinite(weights(made)).all()


@pytest.mark.parametrize(
    ("given", "way", "wanted"),
    [
        ({}, "compiled", True),
        ({}, "auto", False),
        ({"steps": 1999}, "auto", False),
        ({"steps": 2000}, "auto", True),
        ({"steps": 2000}, "bookkeeping", False),
        ({"strict": True}, "compiled", False),
        ({"clip": deep.AdaptiveQuantile(1.0)}, "compiled", False),
        ({"sampling": deep.BandedPoisson(q=0.1, bands=2)}, "compiled", False),
    ],
)
def test_what_is_recorded_is_chosen_from_public_facts(given, way, wanted):
    class OnCuda:
        device, single = torch.device("cuda"), True

    plan = plan_of(**given)
    assert stepping.can_be_captured(plan, OnCuda(), way) == wanted
    OnCuda.single = False
    assert not stepping.can_be_captured(plan, OnCuda(), way)


def test_places_beyond_32_bits_are_refused():
    with pytest.raises(InvalidParameter, match="2\\^32 numbers"):
        NoiseOnDevice(2**20, Grid(0), 2**32 + 1)


def test_roundings_that_are_too_many_to_bound_clip_to_nothing():
    assert compounded(2**24 - 1, 2.0**-24) < float("inf")
    assert compounded(2**24, 2.0**-24) == compounded(3 * 2**24, 2.0**-24) == float("inf")


# --- on a CUDA device --------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("engine", ["auto", "compiled", "bookkeeping"])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_a_fit_on_a_device(engine, kind):
    model = linear().to(kind).cuda()
    plan = plan_of(steps=200, noise_multiplier=0.6, expected_batch=40)
    trainer = deep.Trainer(model, torch.optim.SGD(model.parameters(), lr=0.5), squared, plan, engine=engine)
    rows = torch.randn(80, 3, generator=torch.Generator().manual_seed(1)).to(kind)
    made = [
        trainer.fit(part, source=noise.Seeded(5)) for part in ((rows, rows.sum(1)), (rows.cuda(), rows.sum(1).cuda()))
    ]
    assert np.allclose(weights(made[0]), weights(made[1]), atol=1e-4)
    assert next(model.parameters()).is_cuda
    assert np.abs(weights(trainer.fit((rows, rows.sum(1)))) - np.array([0.0, 1.0, 1.0, 1.0])).max() < 0.6


@slow
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_noise_on_the_device_is_bit_for_bit_that_of_the_host():
    added = StepNoise(clip=1.0, noise_multiplier=1.0, dimension=407_050)
    total = torch.randn(407_050)
    host = added.release(on_device(total, added), source=noise.Seeded(9)).value
    device = added.release(
        ComputedSum(total.cuda(), added.on_device(torch.device("cuda"))), source=noise.Seeded(9)
    ).value
    assert torch.equal(host, device.cpu())
    assert stream._kernel() is not None


@pytest.mark.parametrize(
    ("given", "place", "stays"),
    [
        ({}, "cuda", True),
        ({}, "cpu", False),
        ({"clip": deep.AdaptiveQuantile(1.0)}, "cuda", False),  # votes are released with the sum
        ({"sampling": deep.BandedPoisson(q=0.1, bands=2)}, "cuda", False),  # sums are mixed before
    ],
    ids=["plain", "host", "votes", "mixed"],
)
def test_a_sum_stays_on_its_device_where_nothing_else_is_done_to_it(given, place, stays, monkeypatch):
    monkeypatch.setattr(StepNoise, "on_device", lambda self, device: device)
    plan = plan_of(**given)
    found = stepping._noise_there(plan, plan.step_noise(8), torch.device(place))
    assert found == (torch.device(place) if stays else None)


def test_two_trainings_at_once_have_a_recorded_step_each(monkeypatch):
    monkeypatch.setattr(stepping, "_recorded", lambda *given: object())
    shop, added = stepping.Workshop(), StepNoise(clip=1.0, noise_multiplier=1.0, dimension=8)
    form = torch.zeros(0, 3), torch.zeros(0)

    def opened():
        return shop.opened(None, None, added, form, 4)

    with opened() as one, opened() as two:
        assert one is not two
    with opened() as again:
        assert again in (one, two)
    with opened() as again, opened() as other:
        assert again is not other
