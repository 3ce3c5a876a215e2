"""Any optimizer of PyTorch, made private: its steps see protected gradients and nothing else."""

from typing import Any

from torch import nn
from torch.optim import Optimizer

from privet.deep.own_loop import Step
from privet.deep.plan import Plan
from privet.deep.protected import ProtectedGradients
from privet.deep.start import Loss, descend, refuse_closures
from privet.errors import InvalidParameter


def private(kind: type[Optimizer]) -> Any:
    """The private form of a class of optimizers: `private(torch.optim.RMSprop)(model, per_example_loss, plan, lr=0.001)`.

    Its `step` takes a step of the plan (`for step in plan.steps(dataset)`), draws, clips, adds noise and moves the model.
    It is an optimizer of that class: schedules of learning rates work on it. Optimizers that call a closure are refused.

    >>> import torch
    >>> from privet import deep
    >>> model = nn.Linear(4, 1)
    >>> plan = deep.Plan(epsilon=2.0, delta=1e-5, steps=20, sampling=deep.Poisson(q=0.5), expected_batch=8)
    >>> RMSprop = private(torch.optim.RMSprop)
    >>> optimizer = RMSprop(model, lambda outputs, targets: (outputs[:, 0] - targets) ** 2, plan, lr=0.01)
    >>> for step in plan.steps((torch.ones(16, 4), torch.zeros(16))):
    ...     optimizer.step(step)
    """
    refuse_closures(kind)

    class Private(kind):  # type: ignore[valid-type, misc]
        """An optimizer whose steps are those of a plan."""

        def __init__(self, model: nn.Module, per_example_loss: Loss, plan: Plan, **settings: Any) -> None:
            if not isinstance(model, nn.Module):
                raise InvalidParameter("a private optimizer takes the model itself, not model.parameters()")
            trained = [each for each in model.parameters() if each.requires_grad]
            if not trained:
                raise InvalidParameter("no parameter of the model requires a gradient: nothing would be trained")
            super().__init__(trained, **settings)
            self._gradients = ProtectedGradients(model, per_example_loss, plan)

        def step(self, step: Any = None) -> None:
            """One step of the plan."""
            if not isinstance(step, Step):
                raise InvalidParameter(
                    "step takes a step of the plan: for step in plan.steps(dataset): optimizer.step(step)"
                )
            noisy = self._gradients.noisy(step)
            descend(self._gradients.trained(), [super().step], noisy)

    Private.__name__ = Private.__qualname__ = f"Private{kind.__name__}"
    return Private
