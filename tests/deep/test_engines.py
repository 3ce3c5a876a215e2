"""Engines give the clipped sum that the definition gives: every engine, every kind of batch, and what must not count."""

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from privet import deep  # noqa: E402
from privet.errors import InvalidData, InvalidParameter  # noqa: E402
from tests.deep import by_hand  # noqa: E402

ENGINES = ("vmapped", "microbatch", "auto")


def coins(*shape: int, seed: int = 0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def cross_entropy(outputs, targets):
    return F.cross_entropy(outputs, targets, reduction="none")


def small(dtype=torch.float64) -> nn.Module:
    model = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3)).to(dtype)
    with torch.no_grad():
        for index, each in enumerate(model.parameters()):
            each.copy_(coins(*each.shape, seed=index, dtype=torch.float64).to(dtype) * 0.7)
    return model


def records(size: int = 7, dtype=torch.float64):
    return coins(size, 6, seed=9).to(dtype), torch.arange(size) % 3


def sums(model, clip_norm=0.5, engine="vmapped", loss=cross_entropy, mask=None, batch=None, chunk=None, **more):
    inputs, targets = batch or records()
    made = deep.make_engine(model, loss, deep.Flat(clip_norm), engine=engine, chunk=chunk, **more)
    mask = torch.ones(len(inputs), dtype=torch.bool) if mask is None else mask
    return made(dict(model.named_parameters()), inputs, targets, mask)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("clip_norm", [0.05, 0.5, 50.0])
def test_the_sum_is_that_of_the_definition(engine, clip_norm):
    model, (inputs, targets) = small(), records()
    mask = torch.arange(7) != 2
    expected = by_hand.clipped_sum(model, cross_entropy, inputs, targets, mask, clip_norm)
    assert by_hand.furthest(sums(model, clip_norm, engine, mask=mask), expected) < 1e-12


@pytest.mark.parametrize("engine", ENGINES)
def test_single_precision_is_close(engine):
    model, (inputs, targets) = small(torch.float32), records(dtype=torch.float32)
    expected = by_hand.clipped_sum(model, cross_entropy, inputs, targets, torch.ones(7, dtype=torch.bool), 0.5)
    found = sums(model, 0.5, engine, batch=(inputs, targets))
    assert by_hand.furthest(found, expected) < 1e-5
    assert {each.dtype for each in found.values()} == {torch.float32}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", [0, 1])
def test_small_batches_have_sums_too(engine, size):
    found = sums(small(), engine=engine, batch=records(size))
    assert (by_hand.norm(found) > 0) == (size > 0)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_empty_mask_gives_exact_zeros(engine):
    assert by_hand.norm(sums(small(), engine=engine, mask=torch.zeros(7, dtype=torch.bool))) == 0.0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("chunk", [1, 3, 7, 64])
def test_the_chunk_changes_nothing(chunk, engine):
    mask = torch.tensor([True, False, True, True, True, False, False])  # of every piece another part counts
    found, whole = (sums(small(), engine=engine, mask=mask, chunk=each) for each in (chunk, None))
    assert by_hand.furthest(found, whole) < 1e-13


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
def test_what_is_not_finite_contributes_exactly_nothing(engine, poison):
    inputs, targets = records()
    inputs[3] = poison
    without = torch.arange(7) != 3
    found = sums(small(), engine=engine, batch=(inputs, targets))
    assert by_hand.furthest(found, sums(small(), engine=engine, mask=without)) < 1e-12


@pytest.mark.parametrize("engine", ENGINES)
def test_one_record_moves_the_sum_by_at_most_the_bound(engine):
    model, (inputs, targets) = small(torch.float32), records(64, torch.float32)
    one = [slice(row, row + 1) for row in range(64)]
    lengths = [by_hand.norm(sums(model, 0.3, engine, batch=(10 * inputs[row], targets[row]))) for row in one]
    assert 0.2999 < max(lengths) <= 0.3


@pytest.mark.parametrize("engine", ENGINES)
def test_automatic_clipping_stays_below_its_norm(engine):
    model = small()
    for row in range(4):
        inputs, targets = (each[row : row + 1] for each in records())
        made = deep.make_engine(model, cross_entropy, deep.Automatic(2.0), engine=engine)
        one = by_hand.norm(made(dict(model.named_parameters()), inputs, targets, torch.tensor([True])))
        exact = by_hand.norm(by_hand.gradient(model, cross_entropy, inputs, targets))
        assert one <= 2.0
        assert one == pytest.approx(2.0 * exact / (exact + 0.01), rel=1e-6)


def test_a_grid_makes_the_sum_exact_and_no_longer():
    model, grid = small(torch.float32), 2.0**-20
    batch = records(dtype=torch.float32)
    found = sums(model, engine="microbatch", batch=batch, grid=grid)
    assert all(torch.equal(each / grid, (each / grid).round()) for each in found.values())
    assert by_hand.furthest(found, sums(model, engine="microbatch", batch=batch)) < 1e-4
    whole = {name: each.clone() for name, each in found.items()}
    for row in range(7):  # in another order and one by one: exactly the same sum
        alone = sums(model, engine="microbatch", batch=tuple(each[row : row + 1] for each in batch), grid=grid)
        assert by_hand.norm(alone) <= 0.5
        whole = {name: whole[name] - each for name, each in alone.items()}
    assert by_hand.norm(whole) == 0.0


class Named(nn.Module):
    """Keyword inputs, and an output that is no tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.body = small()

    def forward(self, left, right):
        return {"logits": self.body(left + right)}


@pytest.mark.parametrize("engine", ENGINES)
def test_inputs_may_be_keywords_or_a_tuple(engine):
    model, (inputs, targets) = Named(), records()

    def loss(outputs, targets):
        return cross_entropy(outputs["logits"], targets)

    made = deep.make_engine(model, loss, deep.Flat(0.5), engine=engine)
    mask = torch.ones(7, dtype=torch.bool)
    parameters = dict(model.named_parameters())
    named = made(parameters, {"left": inputs, "right": inputs}, targets, mask)
    placed = made(parameters, (inputs, inputs), targets, mask)
    whole = {f"body.{name}": each for name, each in sums(small(), engine=engine, batch=(2 * inputs, targets)).items()}
    assert by_hand.furthest(named, whole) < 1e-12
    assert by_hand.furthest(placed, whole) < 1e-12


@pytest.mark.parametrize("engine", ENGINES)
def test_a_loss_may_call_the_model_itself(engine):
    def loss(model, batch):
        inputs, targets = batch
        return cross_entropy(model(inputs), targets) + model(inputs).square().sum(1)

    def plain(outputs, targets):
        return cross_entropy(outputs, targets) + outputs.square().sum(1)

    assert by_hand.furthest(sums(small(), engine=engine, loss=loss), sums(small(), engine=engine, loss=plain)) < 1e-12


@pytest.mark.parametrize("engine", ENGINES)
def test_frozen_parameters_have_no_sum(engine):
    model = small()
    model[0].weight.requires_grad_(False)
    found = sums(model, engine=engine)
    assert set(found) == {"0.bias", "2.weight", "2.bias"}
    expected = by_hand.clipped_sum(model, cross_entropy, *records(), torch.ones(7, dtype=torch.bool), 0.5)
    assert by_hand.furthest(found, expected) < 1e-12


@pytest.mark.parametrize("engine", ENGINES)
def test_a_scalar_loss_is_refused(engine):
    with pytest.raises(InvalidParameter, match="reduction='none'"):
        sums(small(), engine=engine, loss=F.cross_entropy)


def test_public_mistakes_are_named():
    model = small()
    with pytest.raises(InvalidParameter, match="no parameter"):
        deep.make_engine(small().requires_grad_(False), cross_entropy, deep.Flat(1.0))
    with pytest.raises(InvalidParameter, match="engine must be one of"):
        deep.make_engine(model, cross_entropy, deep.Flat(1.0), engine="fast")
    with pytest.raises(InvalidParameter, match="grid"):
        deep.make_engine(model, cross_entropy, deep.Flat(1.0), engine="vmapped", grid=1e-6)
    with pytest.raises(InvalidParameter, match="parameters of its own"):
        deep.make_engine(model, nn.Linear(2, 2), deep.Flat(1.0))
    with pytest.raises(InvalidData, match="boolean"):
        sums(model, mask=torch.ones(7))
    with pytest.raises(InvalidData, match="disagree"):
        sums(model, batch=((records()[0], records(6)[0]), records()[1]), mask=torch.ones(2, dtype=torch.bool))
    made = deep.make_engine(model, cross_entropy, deep.Flat(1.0))
    with pytest.raises(InvalidData, match=r"0\.weight"):
        made({}, *records(), torch.ones(7, dtype=torch.bool))


@pytest.mark.parametrize("norm", [0.0, -1.0, float("nan"), float("inf"), 1e-20, "one", True])
def test_clips_need_a_norm_that_floats_can_hold(norm):
    with pytest.raises(InvalidParameter, match="2\\^-40"):
        deep.Flat(norm)


@pytest.mark.parametrize("clip", [deep.Flat(0.25), deep.Automatic(2.0, 0.5)])
def test_clips_survive_their_json_form(clip):
    assert deep.clip_from_dict(clip.to_dict()) == clip


@pytest.mark.parametrize("way", ["bookkeeping", "vmapped", "microbatch"])
def test_a_record_that_cannot_be_computed_adds_nothing_and_says_nothing(way):
    """A class and a word that nobody knows: torch raises for the whole batch, and quotes the value."""
    model = nn.Sequential(nn.Embedding(5, 3), nn.Flatten(), nn.Linear(6, 3))

    def loss(outputs, targets):
        return nn.functional.cross_entropy(outputs, targets, reduction="none")

    engine = deep.make_engine(model, loss, deep.Flat(0.5), engine=way)
    words = torch.tensor([[0, 1], [2, 3], [4, 99], [1, 1], [3, 2]])
    classes = torch.tensor([0, 2, 1, 77, 1])
    parameters, everybody = dict(model.named_parameters()), torch.ones(5, dtype=torch.bool)
    found = engine(parameters, words, classes, everybody)
    sound = torch.tensor([0, 1, 4])
    wanted = engine(parameters, words[sound], classes[sound], everybody[:3])
    for name, each in wanted.items():
        assert torch.allclose(found[name], each, rtol=1e-5, atol=1e-7), name
    masked = engine(parameters, words, classes, torch.tensor([True, False, True, True, False]))
    alone = engine(parameters, words[:1], classes[:1], everybody[:1])
    assert all(torch.allclose(masked[name], alone[name], rtol=1e-5, atol=1e-7) for name in alone)


def test_where_records_can_be_computed_singly_alone_the_mask_holds_too(monkeypatch):
    engine, (inputs, targets), mask = (
        deep.make_engine(small(), cross_entropy, deep.Flat(0.5)),
        records(),
        torch.arange(7) != 2,
    )
    plain, parameters = engine._sums, dict(small().named_parameters())

    def singly(parameters, inputs, targets, mask):
        if len(mask) > 1:
            raise MemoryError
        return plain(parameters, inputs, targets, mask)

    wanted = engine(parameters, inputs, targets, mask)
    monkeypatch.setattr(engine, "_sums", singly)
    assert by_hand.furthest(engine(parameters, inputs, targets, mask), wanted) < 1e-12


def test_a_model_that_an_engine_cannot_follow_is_named():
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.gru = nn.GRU(2, 3, batch_first=True)

        def forward(self, x):
            return self.gru(x)[0][:, -1, 0]

    def loss(outputs, targets):
        return outputs - targets

    model = Recurrent()
    records, everybody = (torch.ones(4, 5, 2), torch.zeros(4)), torch.ones(4, dtype=torch.bool)
    engine = deep.make_engine(model, loss, deep.Flat(1.0), engine="vmapped")
    with pytest.raises(InvalidParameter, match="microbatch"):
        engine(dict(model.named_parameters()), *records, everybody)
    slow = deep.make_engine(model, loss, deep.Flat(1.0), engine="microbatch")
    assert set(slow(dict(model.named_parameters()), *records, everybody)) == dict(model.named_parameters()).keys()


def test_a_mask_is_a_tensor():
    model = nn.Linear(2, 1)
    engine = deep.make_engine(model, lambda outputs, targets: outputs[:, 0], deep.Flat(1.0))
    with pytest.raises(InvalidData, match="mask"):
        engine(dict(model.named_parameters()), torch.ones(2, 2), torch.zeros(2), [True, True])
