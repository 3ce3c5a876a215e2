"""The isolation check passes models that treat records apart, and names the place where they meet."""

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from privet.deep import check_isolation  # noqa: E402
from privet.errors import InvalidParameter  # noqa: E402

IMAGES, CLASSES = torch.zeros(2, 1, 6, 6), torch.zeros(2, dtype=torch.int64)


def loss(outputs, targets):
    return F.cross_entropy(outputs, targets, reduction="none")


class Around(nn.Module):
    """A small model with something in its middle."""

    def __init__(self, middle: nn.Module) -> None:
        super().__init__()
        self.first, self.middle, self.last = nn.Conv2d(1, 4, 3), middle, nn.Linear(64, 3)

    def forward(self, x):
        return self.last(self.middle(self.first(x)).flatten(1))


class Centred(nn.Module):
    def forward(self, x):
        return x - x.mean(0)


class Counting(nn.Module):
    def __init__(self, *, as_parameter: bool = False) -> None:
        super().__init__()
        if as_parameter:
            self.seen = nn.Parameter(torch.zeros(()), requires_grad=False)
        else:
            self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        self.seen += 1
        return x


class Neighbour(nn.Module):
    def forward(self, x):
        return x + 1e-4 * x.roll(1, 0)


class Noisy(nn.Module):
    def forward(self, x):
        return x + torch.randn_like(x)


@pytest.mark.parametrize(
    "middle",
    [nn.Identity(), nn.GroupNorm(2, 4), nn.Dropout(0.5), nn.Dropout2d(0.5), nn.InstanceNorm2d(4, affine=True),
     nn.BatchNorm2d(4).eval(), nn.LayerNorm([4, 4, 4])],
    ids=lambda each: type(each).__name__,
)  # fmt: skip
def test_models_that_treat_records_apart_pass(middle):
    assert check_isolation(Around(middle), loss, IMAGES, CLASSES) is None


@pytest.mark.parametrize(
    ("middle", "said"),
    [
        (nn.BatchNorm2d(4), r"middle \(BatchNorm2d\).*GroupNorm"),
        (nn.BatchNorm2d(4, track_running_stats=False).eval(), "normalises over the batch"),
        (nn.InstanceNorm2d(4, track_running_stats=True), "track_running_stats=False"),
        (Centred(), r"records meet in middle \(Centred\)"),
        (Neighbour(), r"records meet in middle \(Neighbour\)"),
        (Counting(), r"changes 'middle.seen'"),
        (Counting(as_parameter=True), r"changes 'middle.seen'"),
        (Noisy(), "two passes"),
    ],
    ids=[
        "batch norm",
        "its statistics of the batch",
        "running statistics",
        "centring",
        "neighbours",
        "buffer",
        "parameter",
        "coins",
    ],
)
def test_the_place_where_records_meet_is_named(middle, said):
    with pytest.raises(InvalidParameter, match=said):
        check_isolation(Around(middle), loss, IMAGES, CLASSES)


def test_what_the_check_changed_is_put_back():
    model = Around(Counting())
    with pytest.raises(InvalidParameter):
        check_isolation(model, loss, IMAGES, CLASSES)
    assert model.middle.seen == 0
    assert model.training


@pytest.mark.parametrize(
    ("meeting", "said"),
    [
        (lambda outputs, targets: loss(outputs, targets) / len(targets), "how many others"),
        (lambda outputs, targets: loss(outputs - outputs.mean(0), targets), "records meet in the loss"),
        (lambda outputs, targets: loss(outputs, targets.flip(0)), "records meet in the loss"),
        (F.cross_entropy, "reduction='none'"),
        (lambda outputs, targets: loss(outputs, targets)[:, None], "one number a record"),
    ],
    ids=["divided by the batch", "centred", "another's target", "scalar", "column"],
)
def test_a_loss_that_mixes_is_refused(meeting, said):
    with pytest.raises(InvalidParameter, match=said):
        check_isolation(Around(nn.Identity()), meeting, IMAGES, CLASSES)


@pytest.mark.parametrize("bad", [{"max_norm": 1.0}, {"scale_grad_by_freq": True}, {"sparse": True}])
def test_embeddings_that_rewrite_or_mix_are_refused(bad):
    words = torch.zeros(3, 4, dtype=torch.int64)
    bags = nn.Sequential(nn.EmbeddingBag(5, 3, **bad), nn.Linear(3, 2))
    with pytest.raises(InvalidParameter, match=f"0 .*{next(iter(bad))}"):
        check_isolation(bags, loss, words, torch.zeros(3, dtype=torch.int64))
    model = nn.Sequential(nn.Embedding(5, 3, **bad), nn.Flatten(), nn.Linear(12, 2))
    with pytest.raises(InvalidParameter, match=next(iter(bad))):
        check_isolation(model, loss, words, torch.zeros(3, dtype=torch.int64))
    assert check_isolation(nn.Sequential(nn.Embedding(5, 3), *model[1:]), loss, words, CLASSES[:1].expand(3)) is None


def test_attention_with_dropout_can_be_checked():
    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last = nn.Linear(4, 3)

        def forward(self, x):
            return self.last(F.scaled_dot_product_attention(x, x, x, None, 0.3).mean(1))

    assert check_isolation(Attention(), loss, torch.zeros(2, 5, 4), CLASSES) is None


def test_only_shapes_and_types_of_the_data_are_used():
    poisoned = torch.full_like(IMAGES, float("nan"))
    assert check_isolation(Around(nn.Identity()), loss, poisoned, CLASSES - 100) is None


class FarAway(nn.Module):
    """A model in which records meet only where a number is large."""

    def __init__(self, least: float) -> None:
        super().__init__()
        self.last, self.least = nn.Linear(4, 3), least

    def forward(self, x):
        return self.last(x - torch.where(x.abs().max() > self.least, 1.0, 0.0) * x.mean(0))


class NearBy(FarAway):
    """A model in which records meet only where no number is large."""

    def forward(self, x):
        return self.last(x - torch.where(x.abs().max() < self.least, 1.0, 0.0) * x.mean(0))


class SameWords(nn.Module):
    """A model in which records with the same rare word meet; it knows a smaller vocabulary too."""

    def __init__(self, most: int = 1) -> None:
        super().__init__()
        self.words, self.last, self.most = nn.Embedding(50, 4), nn.Linear(4, 3), most
        self.short = nn.Embedding(10, 4)

    def forward(self, ids):
        rare = (ids[:, 0] > self.most) & (ids[:, 0].unsqueeze(1) == ids[:, 0].unsqueeze(0))
        return self.last((self.words(ids) + self.short(ids % 10)).mean(1) + 0.1 * rare.float().sum(1, keepdim=True))


@pytest.mark.parametrize("model", [FarAway(20.0), NearBy(0.05)], ids=["large", "small"])
def test_records_that_meet_where_numbers_are_large_or_small_are_found(model):
    with pytest.raises(InvalidParameter, match="records meet"):
        check_isolation(model, loss, torch.zeros(2, 4), CLASSES)


@pytest.mark.parametrize("most", [1, 9])
def test_records_that_meet_in_rare_words_are_found(most):
    with pytest.raises(InvalidParameter, match="records meet"):
        check_isolation(SameWords(most), loss, torch.zeros(2, 3, dtype=torch.int64), CLASSES)


def test_public_records_are_tried_where_made_up_ones_do_not_show_it():
    """Beyond every size that is made up, only records of that size tell; twice, both sides of what is tried."""
    model = FarAway(1e6)
    check_isolation(model, loss, torch.zeros(2, 4), CLASSES)  # as far as made-up records show
    check_isolation(model, loss, torch.zeros(2, 4), CLASSES, records=(torch.rand(3, 4), CLASSES[[0, 1, 0]]))
    with pytest.raises(InvalidParameter, match="records meet"):
        check_isolation(model, loss, torch.zeros(2, 4), CLASSES, records=(1e7 * torch.rand(3, 4), CLASSES[[0, 1, 0]]))
    with pytest.raises(InvalidParameter, match="two or more"):
        check_isolation(model, loss, torch.zeros(2, 4), CLASSES, records=(torch.rand(1, 4), CLASSES[:1]))


@pytest.mark.parametrize("model", [
    nn.Sequential(nn.Embedding(50, 4), nn.Flatten(), nn.Linear(12, 3)),
    nn.Sequential(nn.Embedding(2, 4), nn.Flatten(), nn.Linear(12, 3)),
], ids=["fifty words", "two words"])  # fmt: skip
def test_words_of_a_vocabulary_alone_are_tried(model):
    check_isolation(model, loss, torch.zeros(2, 3, dtype=torch.int64), CLASSES)


def test_losses_that_overflow_are_no_meeting():
    model = nn.Linear(4, 3)

    def steep(outputs, targets):
        return torch.exp(outputs.pow(2).sum(1)) - torch.exp(outputs.pow(2).sum(1))  # inf - inf for large records

    check_isolation(model, steep, torch.zeros(2, 4), CLASSES)
