"""The abstract solver: from public facts and a promise to a plan, which is a mechanism on records."""

from abc import ABC, abstractmethod
from typing import Any

from privet._numerics import Array
from privet.learn.losses import Loss
from privet.learn.problem import Records, Task
from privet.mechanisms import Mechanism
from privet.privacy import Guarantee


class Solver(ABC):
    """How a linear model is fitted privately. Subclasses are frozen dataclasses of public knobs, one file each.

    `plan` looks at no data. What it returns is a frozen `Mechanism` (or `Algorithm`) with price, error and JSON form that
    turns `Records` into coefficients for unit rows (`Task.unit_chunks`; `Task.raw` leads back to the units of the data).
    """

    @abstractmethod
    def plan(self, task: Task, loss: Loss, target: Guarantee) -> "Mechanism[Records, Array]":
        """The mechanism that keeps the promise, or `InvalidParameter` naming a solver that can."""

    def describe(self) -> str:
        """One sentence on what it does, for `privacy_`."""
        return (type(self).__doc__ or type(self).__name__).splitlines()[0].rstrip(".")


Plan = Mechanism[Any, Any]
