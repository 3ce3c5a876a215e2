"""What cannot be trained is refused in one sentence, before anything is paid."""

import pytest

pytest.importorskip("torch")

import pandas
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

import privet as pv
from privet import deep, noise
from privet.deep import FixedOrder, FixedSize, Poisson, Trainer, TruncatedPoisson
from privet.deep.records import Records
from privet.errors import InvalidData, InvalidParameter, PrivetError
from privet.privacy import Unit
from tests.deep.models import data, linear, plan_of, squared, trainer_of


class Endless(IterableDataset):
    def __iter__(self):
        yield from zip(*data(), strict=True)


class Shorter(list):
    def __len__(self):
        return -1


def refused(fit, error=InvalidData, unit=None) -> str:
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=50.0, delta=1e-3), unit=unit or Unit())
    with pytest.raises(error) as caught:
        fit(ledger)
    assert isinstance(caught.value, PrivetError)
    assert len(ledger.entries()) == 1  # the policy, and no charge
    return str(caught.value)


@pytest.mark.parametrize(
    ("dataset", "told"),
    [
        (DataLoader(TensorDataset(*data()), batch_size=2), "got a DataLoader"),
        (Endless(), "got Endless"),
        (iter([1, 2]), "has a length|takes a data set"),
        (42, "takes a data set"),
        ((torch.ones(3, 3), torch.ones(2)), "same length"),
        ([], "empty.*give form="),
        ({"a": "text"}, "takes a data set"),
        (({"a"},), "tensors or arrays of numbers"),
        (Shorter([1]), "got Shorter"),
        (pandas.DataFrame({0: [1.0, 2.0], 1: [0.0, 1.0]}), "got DataFrame"),
        ((torch.eye(3).to_sparse(), torch.ones(3)), "dense"),
        ((torch.ones(3, 3, device="meta"), torch.ones(3)), "dense"),
    ],
)
def test_what_is_no_data_set_is_refused(dataset, told):
    import re

    assert re.search(told, refused(lambda ledger: trainer_of().fit(dataset, ledger=ledger, key="x")))


def test_arrays_that_cannot_be_written_to_are_read_without_a_word():
    rows, targets = (each.numpy() for each in data())
    rows.flags.writeable = False  # as memory-mapped files are
    assert trainer_of().fit((rows, targets), source=noise.Seeded(1))


def trainer(model, loss, **given) -> Trainer:
    return Trainer(model, torch.optim.SGD(model.parameters(), lr=0.1), loss, plan_of(), **given)


@pytest.mark.parametrize(
    ("model", "loss", "told"),
    [
        (linear(), lambda outputs, targets: squared(outputs, targets).mean(), "one number a record"),
        (linear(), lambda outputs, targets: squared(outputs, targets).mean().expand(len(targets)), "meet"),
        (linear(), lambda outputs, targets: squared(outputs, targets) / len(targets), "how many others"),
        (linear(), lambda outputs, targets: 3.0, "one number a record"),
        (nn.Linear(7, 1), squared, "shapes and types"),
        (nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 1)), squared, "GroupNorm"),
        (linear().double(), squared, "shapes and types"),
    ],
)
def test_models_and_losses_that_do_not_fit_are_refused(model, loss, told):
    message = refused(
        lambda ledger: trainer(model, loss).fit(data(), ledger=ledger, key="x"), (InvalidParameter, InvalidData)
    )
    assert told in message


def test_a_model_on_no_device_is_refused():
    model = nn.Linear(3, 1, device="meta")
    with pytest.raises(InvalidParameter, match="one device"):
        trainer(model, squared)


def test_parameters_and_optimizers_must_agree():
    model, other = linear(), linear()
    both = nn.ModuleList([model, other])
    for made, told in (
        (lambda: Trainer(model, torch.optim.SGD(other.parameters(), lr=0.1), squared, plan_of()), "does not have"),
        (lambda: Trainer(both, torch.optim.SGD(model.parameters(), lr=0.1), squared, plan_of()), "no optimizer"),
        (
            lambda: Trainer(model, [torch.optim.SGD(model.parameters(), lr=0.1)] * 2, squared, plan_of()),
            "two optimizers",
        ),
        (lambda: Trainer(model, "sgd", squared, plan_of()), "torch.optim.Optimizer"),
        (lambda: Trainer(model, torch.optim.SGD(model.parameters(), lr=0.1), None, plan_of()), "per_example_loss"),
        (lambda: Trainer(linear, torch.optim.SGD(model.parameters(), lr=0.1), squared, plan_of()), "model"),
    ):
        with pytest.raises(InvalidParameter, match=told):
            made()
    frozen = linear().requires_grad_(False)
    with pytest.raises(InvalidParameter, match="nothing would be trained"):
        trainer(frozen, squared)


@pytest.mark.parametrize(
    ("sampling", "relation"),
    [
        (FixedSize(m=2, n=9), "replace"),
        (FixedOrder(batch=2, n=9), "zero_out"),
        (TruncatedPoisson(q=0.5, batch=2, n=7), "zero_out"),
    ],
)
def test_another_number_of_records_than_the_price_speaks_of_is_refused(sampling, relation):
    plan = plan_of(sampling=sampling, unit=Unit(relation), steps=10)
    message = refused(lambda ledger: trainer_of(plan).fit(data(), ledger=ledger, key="x"), unit=plan.unit)
    assert "the price holds for" in message


def test_a_ledger_of_another_unit_is_refused_before_it_pays():
    plan = plan_of(unit=Unit("replace"))
    assert refused(lambda ledger: trainer_of(plan).fit(data(), ledger=ledger, key="x"), PrivetError)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"key": "x"}, "give ledger="),
        ({"about": "x"}, "give ledger="),
        ({"checkpoint": "x.pt"}, "give key="),
        ({"progress": 3}, "progress must be a function"),
    ],
)
def test_keys_and_checkpoints_belong_to_ledgers(given, told):
    with pytest.raises(InvalidParameter, match=told):
        trainer_of().fit(data(), **given)


def test_seeds_are_for_tests():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=50.0, delta=1e-3))
    with pytest.raises(InvalidParameter, match="for tests"):
        trainer_of().fit(data(), ledger=ledger, source=pv.noise.Seeded(1))


def test_knobs_are_checked():
    with pytest.raises(PrivetError):
        trainer_of(physical_batch=0)
    with pytest.raises(PrivetError):
        trainer_of(average=1.5).fit(data())
    with pytest.raises(PrivetError):
        trainer_of(engine="hooks").fit(data())
    with pytest.raises(PrivetError):
        trainer_of("a plan")
    assert Poisson(q=0.5).expected(8) == 4.0


def test_a_first_record_that_cannot_be_read_is_not_quoted():
    class Broken:
        def __len__(self):
            return 16

        def __getitem__(self, number):
            raise ValueError("SECRET 12345")

    with pytest.raises(InvalidData, match="first record") as refused:
        Records(Broken())
    assert refused.value.__context__ is None


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: deep.train_only(3), "model"),
        (lambda: deep.train_biases(3), "model"),
        (lambda: deep.merge_low_rank(3), "model"),
        (lambda: deep.clip_from_dict(3), "form"),
        (lambda: deep.check_isolation(3, squared, *data()), "model"),
        (lambda: deep.check_isolation(linear(), squared, "rows", None), "tensor"),
        (lambda: deep.check_isolation(linear(), squared, *data(), records=3), "records"),
        (lambda: deep.clipped_sum(linear(), squared, deep.Flat(1.0))(None, None), "tensor"),
        (lambda: deep.clipped_sum(linear(), squared, deep.Flat(1.0))(data()[0], data()[1][:3]), "as many records"),
        (
            lambda: deep.clipped_sum(linear(), squared, deep.Flat(1.0))(*data(), mask=torch.ones(3, dtype=torch.bool)),
            "as many records",
        ),
    ],
)
def test_what_is_no_model_and_no_batch_is_answered_with_a_sentence(call, told):
    with pytest.raises(PrivetError, match=told):
        call()
