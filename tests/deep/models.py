"""Small models and data for the tests of training."""

from typing import Any

import torch
from torch import Tensor, nn

from privet.deep import Plan, Poisson, Trainer


class Rows(nn.Module):
    """A model whose gradient at a record is that record, under the loss `against`."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(dimension))

    def forward(self, rows: Tensor) -> Tensor:
        return rows @ self.weight


def against(outputs: Tensor, targets: Any) -> Tensor:
    return -outputs


def squared(outputs: Tensor, targets: Tensor) -> Tensor:
    return (outputs[:, 0] - targets) ** 2


def plan_of(**given: Any) -> Plan:
    usual = {"noise_multiplier": 1.0, "delta": 1e-5, "steps": 60, "sampling": Poisson(q=0.5), "expected_batch": 4}
    return Plan(**{**usual, **given})


def linear(seed: int = 0) -> nn.Linear:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Linear(3, 1)


def data(size: int = 8) -> tuple[Tensor, Tensor]:
    rows = torch.linspace(-1.0, 1.0, 3 * size).reshape(size, 3)
    return rows, rows.sum(dim=1)


def trainer_of(plan: Plan | None = None, optimizer: Any = torch.optim.SGD, **given: Any) -> Trainer:
    model = linear()
    return Trainer(model, optimizer(model.parameters(), lr=0.05), squared, plan or plan_of(), **given)
