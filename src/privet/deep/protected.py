"""Protected gradients of a live model, one a step: what loops of one's own and private optimizers are made of."""

from typing import Any, final

import torch
from torch import Tensor, nn

from privet._validate import count, instance
from privet.deep.batches import exact_sum, exact_value, piece_size
from privet.deep.engines.compiled import own_turn
from privet.deep.engines.engine import Engine, mapped
from privet.deep.engines.public import public_like
from privet.deep.isolation import check_isolation
from privet.deep.own_loop import Step
from privet.deep.plan import Plan
from privet.deep.records import Records, split
from privet.deep.start import Loss
from privet.deep.step_noise import StepNoise
from privet.errors import InvalidParameter, PrivetError
from privet.mechanisms import Source, sealed

_FEW = 4  # made-up records of the first look at a model: more than one, so that a batch is a batch


@final
class ProtectedGradients:
    """A model, its loss and a plan: `noisy(step)` is the protected gradient at the parameters as they stand.

    **Guarantee:** one step of the plan for each call; each step is used once.
    """

    def __init__(
        self,
        model: nn.Module,
        per_example_loss: Loss,
        plan: Plan,
        *,
        engine: str = "auto",
        physical_batch: int | None = None,
    ) -> None:
        self.model, self.per_example_loss = instance("model", model, nn.Module), per_example_loss
        self.plan = instance("plan", plan, Plan)
        self._size = None if physical_batch is None else count("physical_batch", physical_batch, 1)
        self._way = engine
        self._engine: Engine | None = None

    def trained(self) -> dict[str, nn.Parameter]:
        """The parameters that are trained, by name."""
        return {name: each for name, each in self.model.named_parameters() if each.requires_grad}

    def check(self, dataset: Any, form: Any = None) -> Records:
        """Refuse a model or a loss in which records meet, and records that the model cannot take. Everything is tried on
        made-up records of the same shapes: nothing is paid, and no value is looked at.
        """
        records = Records(dataset, form)
        if not self.trained():
            raise InvalidParameter("no parameter of the model requires a gradient: nothing would be trained")
        places = {each.device for each in self.model.parameters()}
        if len(places) != 1 or any(each.type == "meta" for each in places):
            raise InvalidParameter("all parameters must lie on one device, and not on 'meta': model.to(device)")
        (device,) = places
        inputs, targets = split(mapped(lambda each: each.to(device), public_like(records.form, _FEW)))
        try:
            with own_turn(), sealed():  # threads take turns: a model holds one set of parameters
                check_isolation(self.model, self.per_example_loss, inputs, targets)
                self._step_noise()  # a noise that is too small or too large for so many parameters is refused here
                self._engine = self.plan.engine(self.model, self.per_example_loss, way=self._way)
                self._engine(self._point(), inputs, targets, torch.ones(_FEW, dtype=torch.bool, device=device))
        except PrivetError:
            raise
        except Exception as problem:  # on made-up records: its words hold nothing private
            raise InvalidParameter(
                f"the model or its loss cannot take records of these shapes and types: {problem}"
            ) from problem
        return records

    def noisy(self, step: Step, source: Source = None) -> Tensor:
        """The protected gradient of a step, in one vector."""
        if instance("step", step, Step).steps.plan != self.plan:
            raise InvalidParameter("the step belongs to another plan")
        point = self._point()
        if self._engine is None or self._engine.shapes != {name: each.shape for name, each in point.items()}:
            self.check(step.steps.records)  # parts of a model may be frozen between two steps
        engine = self._engine
        assert engine is not None
        piece = self._size or piece_size(self.plan.expected_batch, self.plan.sampling.largest)

        # Else an optimizer would follow what lies on a part that was frozen since.
        self.model.zero_grad(set_to_none=True)
        noise = self._step_noise()

        def total(records: Records, ids: Any) -> Any:
            return exact_value(exact_sum(engine, point, records, ids, piece), noise)

        return step.noisy_gradient(noise, total, source)

    def _step_noise(self) -> StepNoise:
        return self.plan.step_noise(sum(each.numel() for each in self.trained().values()))

    def _point(self) -> dict[str, Tensor]:
        return {name: each.detach() for name, each in self.trained().items()}
