"""Two processes that train together: one mask, one noise, the parameters of a single process."""

import multiprocessing
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402

from privet import deep  # noqa: E402
from privet.deep.engines import ranked  # noqa: E402
from privet.errors import InvalidParameter  # noqa: E402
from privet.noise import Seeded  # noqa: E402
from tests.deep import by_hand, models  # noqa: E402

pytestmark = pytest.mark.skipif(not dist.is_gloo_available(), reason="torch was built without gloo")


def network() -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double()


def second(folder: str) -> None:
    """The whole life of rank 1: it has other weights, and neither data nor a plan."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=1, world_size=2)
    model = network()
    with torch.no_grad():
        for each in model.parameters():
            each.zero_()
    deep.help_out(model, models.squared, deep.Flat(1.0))
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """A process group in which this process is rank 0."""
    folder: Path = tmp_path_factory.mktemp("ranks")
    other = multiprocessing.get_context("spawn").Process(target=second, args=(str(folder),))
    other.start()
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=0, world_size=2)
    yield other
    deep.dismiss()
    other.join(60)
    dist.destroy_process_group()
    assert other.exitcode == 0


def data(size: int):
    rows, targets = models.data(size)
    return rows.double(), targets.double()


@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_sums_are_those_of_one_process_also_where_a_share_is_empty(ranks, size):
    model, (inputs, targets) = network(), data(size)
    engine = deep.make_engine(model, models.squared, deep.Flat(1.0), engine="ranks")
    for mask in (torch.ones(size) > 0, torch.arange(size) == 0, torch.arange(size) < 0, torch.arange(size) == size - 1):
        found = engine(dict(model.named_parameters()), inputs, targets, mask)
        wanted = by_hand.clipped_sum(model, models.squared, inputs, targets, mask, 1.0)
        assert by_hand.furthest(found, wanted) < 1e-12


def test_trained_parameters_are_those_of_one_process(ranks):
    """With the same coins: noise that was added on each rank, or masks of their own, would move them apart."""
    found = []
    for way in ("bookkeeping", "ranks"):
        model = network()
        plan = models.plan_of(steps=6, sampling=deep.Poisson(q=0.2))
        sgd = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
        deep.Trainer(model, sgd, models.squared, plan, engine=way).fit(data(8), source=Seeded(5))
        found.append(model.state_dict())
    assert by_hand.furthest(found[1], found[0]) < 1e-12


def test_rank_0_trains_and_the_others_help(ranks):
    with pytest.raises(InvalidParameter, match="for the other ranks"):
        deep.help_out(network(), models.squared, deep.Flat(1.0))


def test_without_a_process_group_there_are_no_ranks(monkeypatch):
    monkeypatch.setattr(dist, "is_initialized", lambda: False)
    for ask in (
        lambda: deep.make_engine(network(), models.squared, deep.Flat(1.0), engine="ranks"),
        lambda: deep.help_out(network(), models.squared, deep.Flat(1.0)),
        deep.dismiss,
    ):
        with pytest.raises(InvalidParameter, match="init_process_group"):
            ask()


def test_what_a_helper_draws_follows_from_no_seed_of_a_script(monkeypatch):
    drawn = []
    monkeypatch.setattr(ranked, "_rank", lambda: 1)
    monkeypatch.setattr(ranked, "_helped", lambda engine, held: drawn.append(float(torch.rand(()))))
    for _ in range(2):
        torch.manual_seed(0)
        deep.help_out(network(), models.squared, deep.Flat(1.0))
    assert drawn[0] != drawn[1]
