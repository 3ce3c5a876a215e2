"""One record is never longer than the clip, also where rounding would have it so: families that cancel, narrow floats."""

from fractions import Fraction

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from privet import deep  # noqa: E402
from privet.deep.engines import written_out  # noqa: E402
from privet.deep.engines.bookkeeping import norms  # noqa: E402
from privet.deep.rules import embedding, linear, term, tied  # noqa: E402
from privet.deep.rules.use import Written  # noqa: E402
from tests.deep import by_hand  # noqa: E402
from tests.deep.zoo import coins, words  # noqa: E402

ONE = torch.tensor([True])


def chosen(outputs, targets):
    """A loss whose gradient at the output is the target."""
    return (outputs * targets).flatten(1).sum(1)


def length(a, g, clip_norm=1.0, kind=torch.float32):
    """How long the clipped gradient of one record is, whose layer has read `a` and got back `g`."""
    model = nn.Linear(a.shape[-1], g.shape[-1], bias=False).to(kind)
    engine = deep.make_engine(model, chosen, deep.Flat(clip_norm), engine="bookkeeping")
    engine._check_once = lambda *args: 1  # ten thousand times the same
    return by_hand.norm(engine(dict(model.named_parameters()), a[None].to(kind), g[None].to(kind), ONE))


def cancelling(positions, apart, seed, width=64):
    """Rows of two values that are nearly the same, with gradients that add up to zero."""
    base, step, back = (coins(width, seed=3 * seed + each) for each in range(3))
    signs = torch.ones(positions, 1, dtype=torch.float64)
    signs[1::2] = -1.0
    return base + apart * signs * step, back * signs


@pytest.fixture
def by_grams(monkeypatch):
    monkeypatch.setattr(term, "writes_out", lambda *shape: False)


FAMILY = [
    (positions, apart, seed) for positions in (2, 16, 64, 256) for apart in (1e-3, 1e-4, 1e-5) for seed in range(3)
]


def longest(kind=torch.float32, family=FAMILY):
    return max(length(*cancelling(*each), kind=kind) for each in family)


def test_gradients_that_cancel_are_no_longer_than_the_clip(by_grams):
    assert longest() <= 1.0


def test_without_the_margin_they_would_be(by_grams, monkeypatch):
    monkeypatch.setattr(linear, "compounded", lambda count, unit: 0.0)
    assert longest() > 1.01


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16], ids=str)
def test_narrow_floats_are_no_longer_than_the_clip(by_grams, kind):
    family = [each for each in FAMILY if each[0] <= 64]
    assert longest(kind, family) <= 1.0
    plain = [length(coins(8, 64, seed=seed), coins(8, 64, seed=50 + seed), kind=kind) for seed in range(6)]
    assert 0.99 < min(plain) <= max(plain) <= 1.0


@pytest.mark.parametrize("positions", [1, 4])
def test_numbers_whose_squares_vanish_are_measured(by_grams, positions):
    a, g = torch.full((positions, 8), 1e-24), torch.full((positions, 8), 1e17)
    assert 0.0 < length(a, g, clip_norm=1e-9) <= 1e-9


@pytest.mark.parametrize("positions", [1, 4])
def test_a_twin_without_a_floor_lets_them_pass(by_grams, monkeypatch, positions):
    monkeypatch.setattr(linear, "floor", lambda tensor: 0.0)
    a, g = torch.full((positions, 8), 1e-24), torch.full((positions, 8), 1e17)
    assert length(a, g, clip_norm=1e-9) > 1e-7


def test_written_out_gradients_are_no_longer_than_the_clip():
    made = [length(*cancelling(64, 1e-4, seed)) for seed in range(5)]
    assert max(made) <= 1.0


def words_length(ids, back, clip_norm=1.0):
    model = nn.Embedding(7, back.shape[-1])
    engine = deep.make_engine(model, chosen, deep.Flat(clip_norm), engine="bookkeeping")
    engine._check_once = lambda *args: 1
    return by_hand.norm(engine(dict(model.named_parameters()), ids[None], back[None].float(), ONE))


def word_family():
    for seed in range(20):
        back = coins(1, 32, seed=seed) + 1e-6 * coins(48, 32, seed=seed + 40)
        yield words(48, most=2, seed=seed), back * torch.tensor([1.0, -1.0]).repeat(24)[:, None]


def test_words_that_cancel_are_no_longer_than_the_clip():
    assert max(words_length(ids, back, 1e-5) for ids, back in word_family()) <= 1e-5


def test_without_the_margin_words_would_be(monkeypatch):
    monkeypatch.setattr(embedding, "compounded", lambda count, unit: 0.0)
    still = torch.zeros(48, dtype=torch.int64)
    lengths = [words_length(still, back, 1e-5) for _, back in word_family()]
    assert max(lengths) > 1.001e-5


A, G, IDS = coins(1, 64, 16, seed=1).float(), coins(1, 64, 7, seed=2).float(), words(64, most=7, seed=3)[None]
BACK = coins(1, 64, 16, seed=4).float()


@pytest.mark.parametrize("kind", ["linear", "embedding", "tied", "a silent head"])
def test_what_adding_up_adds_to_a_gradient_is_paid_for_in_its_norm(kind):
    top = linear.LinearGhost(A, G), G[0].double().T @ A[0].double()
    bottom = embedding.EmbeddingGhost(IDS, BACK, torch.Size((7, 16))), torch.zeros(7, 16, dtype=torch.float64)
    bottom[1].index_add_(0, IDS[0], BACK[0].double())
    both = tied.TiedGhost(bottom[0], top[0]), bottom[1] + top[1]
    silent = tied.TiedGhost(bottom[0], linear.LinearGhost(A, torch.zeros_like(G))), bottom[1]
    ghost, exact = {"linear": top, "embedding": bottom, "tied": both, "a silent head": silent}[kind]
    apart = float((ghost.total(torch.ones(1), ONE).double() - exact).norm())
    assert 0.0 < apart <= float(ghost.slack.sqrt())
    assert float(ghost.square.sqrt()) >= float(exact.norm())
    assert float(norms({"weight": ghost}, ONE)) >= float(ghost.square.sqrt() + ghost.slack.sqrt())


def test_norms_of_written_out_gradients_are_rounded_up():
    rows = coins(50, 40, seed=5).float()
    exact = [sum(Fraction(each) ** 2 for each in row) for row in rows.tolist()]
    product = linear.LinearGhost(rows[:, None, :20], rows[:, None, 20:]).square.sqrt()
    halves = [sum(Fraction(x) ** 2 * Fraction(y) ** 2 for x in row[:20] for y in row[20:]) for row in rows.tolist()]
    listed = (Written(rows).square.sqrt(), exact), (written_out.norms({"weight": rows}), exact), (product, halves)
    for found, wanted in listed:
        assert all(Fraction(one) ** 2 >= other for one, other in zip(found.tolist(), wanted, strict=True))


def test_low_precision_products_are_switched_off_and_on_again():
    seen = []

    def loss(outputs, targets):
        seen.append(torch.get_float32_matmul_precision())
        return chosen(outputs, targets)

    model = nn.Linear(3, 2)
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        engine = deep.make_engine(model, loss, deep.Flat(1.0))
        engine(dict(model.named_parameters()), torch.ones(2, 3), torch.ones(2, 2), torch.tensor([True, True]))
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)
    assert set(seen) == {"highest"}
