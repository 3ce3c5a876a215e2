"""The quick engine refuses what it cannot follow, and skips nothing: hidden uses, inputs that are written over."""

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from privet import deep  # noqa: E402
from privet.deep.engines import bookkeeping  # noqa: E402
from privet.deep.rules.term import writes_out  # noqa: E402
from privet.deep.rules.use import Written  # noqa: E402
from privet.errors import InvalidParameter  # noqa: E402
from privet.privacy import Unit  # noqa: E402
from tests.deep import by_hand  # noqa: E402
from tests.deep.zoo import coins  # noqa: E402

EVERYONE = torch.ones(5, dtype=torch.bool)
X, Y = coins(5, 4, seed=1), coins(5, seed=2)


def loss(outputs, targets):
    return (outputs.flatten(1) - targets[:, None]).square().mean(1)


class Model(nn.Module):
    """A model around a function of its one layer and the input."""

    def __init__(self, go) -> None:
        super().__init__()
        self.layer, self.go = nn.Linear(4, 4).double(), go

    def forward(self, x):
        return self.go(self.layer, x)


def sums(model, **more):
    engine = deep.make_engine(model, loss, deep.Flat(0.3), engine="bookkeeping", **more)
    return engine(dict(model.named_parameters()), X, Y, EVERYONE)


class Hidden(torch.autograd.Function):
    """A product that no mode can watch."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, weight):
        return x @ weight.T

    @staticmethod
    def setup_context(context, inputs, output):
        context.save_for_backward(*inputs)

    @staticmethod
    def backward(context, gradient):
        x, weight = context.saved_tensors
        return gradient @ weight, gradient.T @ x


def written_over(layer, x):
    hidden = x * 2
    out = layer(hidden)
    hidden += 1
    return out * hidden


def test_a_use_that_cannot_be_watched_is_found_by_its_gradient():
    model = Model(lambda layer, x: layer(x) + Hidden.apply(x, layer.weight))
    expected = by_hand.clipped_sum(model, loss, X, Y, EVERYONE, 0.3)
    assert by_hand.furthest(sums(model), expected) < 1e-12


def test_an_input_that_is_written_over_is_refused():
    with pytest.raises(InvalidParameter, match="writes over"):
        sums(Model(written_over))


def test_randomness_that_cannot_be_silenced_is_refused():
    with pytest.raises(InvalidParameter, match="draws randomness"):
        sums(Model(lambda layer, x: layer(x) * torch.rand_like(x)))


def test_dropout_is_no_obstacle():
    found = sums(Model(lambda layer, x: nn.functional.dropout(layer(x), 0.5)))
    assert by_hand.norm(found) > 0


def test_records_that_meet_are_refused():
    with pytest.raises(InvalidParameter, match="records meet"):
        sums(Model(lambda layer, x: layer(x) - layer(x).mean(0)))


@pytest.mark.parametrize("chunk", [1, 2, 5, 64])
def test_the_chunk_changes_nothing(chunk):
    model = Model(lambda layer, x: torch.tanh(layer(x)))
    assert by_hand.furthest(sums(model, chunk=chunk), sums(model)) < 1e-13


def test_large_batches_are_computed_in_pieces_of_public_sizes(monkeypatch):
    """On the CPU no more is held at once than is said, whatever the mask keeps; the sums are the same."""
    seen = []
    plain = bookkeeping.Bookkeeping.met
    monkeypatch.setattr(
        bookkeeping.Bookkeeping, "met", lambda self, p, x, y: seen.append(len(x)) or plain(self, p, x, y)
    )
    model = Model(lambda layer, x: layer(torch.tanh(layer(x))))
    whole = sums(model)
    monkeypatch.setattr(bookkeeping, "_AT_ONCE", 40)  # a record has 2 * (4 + 4) numbers and 4 of a bias
    seen.clear()
    assert by_hand.furthest(sums(model), whole) < 1e-13
    assert seen[1:] == [2, 2, 1]  # the first was the check on made-up records
    for mask in (EVERYONE, ~EVERYONE):
        seen.clear()
        deep.make_engine(model, loss, deep.Flat(0.3))(dict(model.named_parameters()), X, Y, mask)
        assert seen[1:] == [2, 2, 1]
    monkeypatch.setattr(bookkeeping, "_AT_ONCE", 1)
    assert by_hand.furthest(sums(model), whole) < 1e-13


def test_parameters_are_left_without_gradients():
    model = Model(lambda layer, x: layer(x))
    sums(model)
    assert [each.grad for each in model.parameters()] == [None, None]


def test_a_loss_that_nothing_moves_has_zero_sums():
    assert by_hand.norm(sums(Model(lambda layer, x: x))) == 0.0


def test_the_choice_of_a_rule_follows_shapes():
    assert writes_out(64, 64, 128, 128)
    assert not writes_out(64, 64, 128, 512)
    assert not writes_out(2**20, 64, 128, 128)


def test_a_clipped_sum_carries_its_sensitivity():
    model = Model(lambda layer, x: layer(x))
    made = deep.clipped_sum(model, loss, deep.Flat(0.3))(X, Y)
    assert by_hand.furthest(made.sums.exact_value, sums(model)) == 0.0
    assert float(made.sensitivity()) == 0.3
    assert float(made.sensitivity(Unit("replace", group_size=2))) == pytest.approx(1.2)
    with pytest.raises(InvalidParameter, match="records meet"):
        deep.clipped_sum(Model(lambda layer, x: layer(x - x.mean(0))), loss, deep.Flat(0.3), engine="vmapped")(X, Y)


def test_the_start_up_check_compares_norms_both_ways_and_sums():
    rows = coins(5, 3, seed=4)
    terms, exact = {"w": Written(rows)}, rows.norm(dim=1)

    def check(found, summed):
        bookkeeping.compare(terms, found, exact, {"w": summed.clone()}, narrow=False)

    check(exact, rows.sum(0))
    one = 1.0 - 0.01 * torch.tensor([0, 0, 1, 0, 0])  # of one record alone
    for found, summed in (
        (one * exact, rows.sum(0)),
        (2.0 * exact, rows.sum(0)),
        (exact, rows.sum(0) + 0.01 * exact.max()),
    ):
        with pytest.raises(InvalidParameter, match="made-up records"):
            check(found, summed)
