"""From one step of a training to the next, one by one or as graphs of a device: speed, and nothing else, differs."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from privet._numerics import Array
from privet.deep.batches import exact_sum, exact_value, exact_value_and_votes, protected_mean
from privet.deep.captured_step import CapturedStep
from privet.deep.clipping import AdaptiveQuantile, Flat
from privet.deep.engines.compiled import Compiled
from privet.deep.engines.engine import Batch, Engine, mapped
from privet.deep.engines.public import public_like
from privet.deep.mixing import Mixing
from privet.deep.plan import Plan
from privet.deep.records import Records, split
from privet.deep.start import Live, Start, State
from privet.deep.step_noise import StepNoise
from privet.deep.stream import NoiseOnDevice
from privet.deep.sum_on_device import ComputedSum
from privet.errors import InvalidParameter, PrivetError
from privet.noise import KeyedStream, own_stream

_WORTH = (
    2_000  # steps from which on a program is made unasked: it takes as long as that many eager steps of a small model
)


class Stepping(ABC):
    """A way to take the steps of a block: what noise is added to, and the step along what came out of it.

    **Guarantee:** none: `exact_value` has no noise. **Sensitivity:** the clip of the engine.
    """

    clip: float | None  # the norm that is followed, where the plan follows one

    @property
    @abstractmethod
    def live(self) -> Live:
        """The parameters and optimizers, with all noise of the last step."""

    @abstractmethod
    def exact_value(self, records: Records, ids: Array, coins: int) -> Any:
        """The clipped sum of these records, as `StepNoise` takes it. `coins` are for what model and data set draw."""

    @abstractmethod
    def descend(self, noisy: Tensor | Array) -> None:
        """One step along what a release returned."""


@final
class OneByOne(Stepping):
    """Steps of any engine. Noise is drawn on the host, or where the sums lie if nothing else has to be done to them."""

    def __init__(
        self, plan: Plan, engine: Engine, live: Live, noise: StepNoise, state: State, piece: int, divisor: float
    ) -> None:
        self._live, self.clip = live, state.get("clip")
        self._plan, self._engine, self._noise = plan, engine, noise
        self._piece, self._divisor = piece, divisor
        # Past sums are secret: they end with this block, and no state holds them.
        self._mixing: Mixing | None = plan.sampling.mixing()
        (place,) = {each.device for each in live.parameters.values()}
        self._ready = _noise_there(plan, noise, place)

    @property
    def live(self) -> Live:
        return self._live

    def exact_value(self, records: Records, ids: Array, coins: int) -> Any:
        if self.clip is not None:
            self._engine.follow(Flat(self.clip))
        with own_stream(coins):
            total = exact_sum(self._engine, self.live.exact_point(), records, ids, self._piece)
        if self._ready is not None:
            return ComputedSum(total, self._ready)
        value = exact_value(total, self._noise) if self.clip is None else exact_value_and_votes(total, self._engine)
        return value if self._mixing is None else self._mixing.exact_mixed(value)

    def descend(self, noisy: Tensor | Array) -> None:
        if isinstance(noisy, Tensor):
            self.live.step(noisy / self._divisor)
            return
        noisy = np.asarray(noisy)
        if self._mixing is not None:
            noisy = self._mixing.read(noisy)
        if self.clip is not None and isinstance(self._plan.clip, AdaptiveQuantile):
            noisy, self.clip = self._plan.clip.read(noisy, self.clip, self._divisor)
        self.live.step(protected_mean(noisy, self._divisor))


@final
class Captured(Stepping):
    """Steps that were recorded once, for as long as their training runs."""

    def __init__(self, step: CapturedStep, piece: int) -> None:
        self.clip = None
        self._step, self._piece = step, piece

    @property
    def live(self) -> Live:
        self._step.settle()
        return self._step.live

    def exact_value(self, records: Records, ids: Array, coins: int) -> Any:
        with nullcontext() if records.in_columns else own_stream(coins):  # what is recorded draws nothing
            return self._step.sum_of(
                partial(_filled, records, ids[first : first + self._piece])
                for first in range(0, max(1, len(ids)), self._piece)
            )

    def descend(self, noisy: Tensor | Array) -> None:
        self._step.descend(torch.as_tensor(noisy))


def _filled(records: Records, ids: Array, batch: list[Tensor]) -> None:
    records.exact_fill(ids, batch[:-1], batch[-1])


@final
class Workshop:
    """The recorded steps of a training: made once, used block after block, by one run at a time. Nothing in it is part of
    the training's state: it could be thrown away between any two blocks.
    """

    def __init__(self) -> None:
        self._idle: dict[Any, list[CapturedStep]] = {}
        self._barred = False

    def __deepcopy__(self, memo: object) -> "Workshop":
        return Workshop()

    def __reduce__(self) -> Any:
        return Workshop, ()

    @contextmanager
    def opened(self, start: Start, plan: Plan, noise: StepNoise, form: Batch, piece: int) -> Iterator[CapturedStep]:
        """A recorded step on batches of this form, which nobody else uses; refused where the model cannot be recorded."""
        name = (piece, _form(form), noise)
        idle = self._idle.setdefault(name, [])
        try:
            step = idle.pop()  # whoever has it has it alone
        except IndexError:
            for kept in list(self._idle.values()):
                kept.clear()  # each holds memory of the device for a whole batch
            step = _recorded(start, plan, noise, form, piece)
        try:
            yield step
        finally:
            idle.append(step)

    def bar(self) -> None:
        """Record nothing more: this model cannot be recorded."""
        self._barred = True

    @property
    def barred(self) -> bool:
        """A mark that it was found out that the model cannot be recorded."""
        return self._barred


def _noise_there(plan: Plan, noise: StepNoise, place: torch.device) -> NoiseOnDevice | None:
    """The noise of sums that stay on their device: on CUDA, where nothing else has to be done to them."""
    stays = not (plan.correlated or isinstance(plan.clip, AdaptiveQuantile))
    return noise.on_device(place) if stays and place.type == "cuda" else None


def try_noise(plan: Plan, noise: StepNoise, place: torch.device) -> None:
    """Noise on made-up sums, where it is drawn on a device: what is missing there is found before anything is paid."""
    there = _noise_there(plan, noise, place)
    if there is not None:
        zeros = torch.zeros(noise.dimension, device=place)
        there.added(zeros, torch.empty_like(zeros), KeyedStream.fresh(), 0)


def can_be_captured(plan: Plan, start: Start, way: str) -> bool:
    """A check that the steps of this training are recorded, from public facts alone: on a CUDA device, where the host has
    nothing to compute in a step, and where it is asked for or worth its while.

    >>> from privet.deep import Poisson
    >>> plan = Plan(noise_multiplier=1.0, delta=1e-5, steps=9, sampling=Poisson(q=0.5), expected_batch=4)
    >>> model = torch.nn.Linear(1, 1)
    >>> start = Start(model, torch.optim.SGD(model.parameters(), lr=0.1), lambda outputs, targets: outputs[:, 0])
    >>> can_be_captured(plan, start, "compiled")  # no device
    False
    """
    wanted = way == "compiled" or (way == "auto" and plan.total_steps >= _WORTH)
    plain = not (plan.strict or plan.correlated or isinstance(plan.clip, AdaptiveQuantile))
    return wanted and plain and start.device.type == "cuda" and start.single


def _form(batch: Batch) -> Any:
    """Shapes and types, and which entry of the batch has them: mappings of other names or orders are other forms."""
    if isinstance(batch, Mapping):
        return tuple((name, _form(each)) for name, each in batch.items())
    return tuple(map(_form, batch)) if isinstance(batch, tuple) else (batch.dtype, tuple(batch.shape[1:]))


def _recorded(start: Start, plan: Plan, noise: StepNoise, form: Batch, piece: int) -> CapturedStep:
    engine = plan.engine(start.model, start.per_example_loss, way="compiled")
    if not isinstance(engine, Compiled):
        raise InvalidParameter("only a compiled engine is recorded")
    try:
        made_up = public_like(mapped(lambda each: each.to(start.device), form), piece)
        return CapturedStep(engine, start.live(start.first()), noise, *split(made_up))
    except PrivetError:
        raise
    except Exception as problem:  # from made-up records and first weights: its words hold nothing private
        raise InvalidParameter(
            f"the steps of this model cannot be recorded ({type(problem).__name__}): the device cannot replay an operation "
            "of the model, or lacks the memory; choose engine='bookkeeping', or a smaller physical_batch"
        ) from problem
