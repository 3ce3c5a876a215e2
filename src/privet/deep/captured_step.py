"""A private step as graphs of a CUDA device: one launch for clipped sums and noise, one for the optimizer."""

from typing import Any, final

import torch
from torch import Tensor
from torch.optim import Optimizer

from privet._validate import above, instance
from privet.deep.engines.compiled import Compiled, captured, cut
from privet.deep.engines.engine import Batch, exact_products, leaves, refuse_autocast
from privet.deep.step_noise import StepNoise
from privet.deep.stream import NoiseOnDevice
from privet.errors import InvalidParameter
from privet.noise import KeyedStream


@final
class CapturedStep:
    """One step of training on batches of one form, recorded once and replayed: what a small model waits for is Python.

    `__call__(inputs, targets, mask)` moves the parameters by one step of the optimizer along the protected mean gradient.
    Between the two graphs the host looks at one number, whether the device has left noise open, and adds what is missing.
    The noise is that of `noise`, on the same grid and of the same law, from a key of its own that nothing holds.

    **Guarantee:** that of `noise` for each call; it neither asks nor pays: who calls it does.
    **Sensitivity:** the clip of the engine, as of every engine.
    """

    def __init__(
        self,
        engine: Compiled,
        parameters: dict[str, Tensor],
        optimizer: Optimizer,
        noise: StepNoise,
        divisor: float,
        inputs: Batch,
        targets: Batch,
    ) -> None:
        """Of inputs and targets, only shapes and types are looked at."""
        refuse_autocast()
        self._held = {name: each for name, each in parameters.items() if name in engine.shapes}
        size = sum(each.numel() for each in self._held.values())
        if size != noise.dimension:
            raise InvalidParameter(f"the noise is for {noise.dimension:,} numbers, and the model has {size:,}")
        if any(each.dtype != torch.float32 for each in self._held.values()):
            raise InvalidParameter("a captured step moves parameters in float32; open an autocast inside the model")
        if any("dropout" in type(each).__name__.lower() for each in engine.losses.modules()):
            raise InvalidParameter("a captured step takes no dropout: its coins would come from torch's own generator")
        (place,) = {each.device for each in self._held.values()}
        if place.type != "cuda" or noise.strict or instance("engine", engine, Compiled).bound > noise.clip:
            raise InvalidParameter(
                "a step is captured on a CUDA device, without strict sums, with noise for the clip of its engine"
            )
        self._optimizer, self._step, self._stream = optimizer, 0, KeyedStream.fresh()
        self._noise = NoiseOnDevice(noise.steps, noise.grid, size, place, above("divisor", divisor, 0.0))
        mask = torch.ones(len(leaves(inputs)[0]), dtype=torch.bool, device=place)
        with exact_products():
            given = {name: each.detach() for name, each in self._held.items()}
            self._program, example = engine.program(given, inputs, targets, mask)
            self._batch = [each.clone() for each in example[len(given) :]]
            self._noise.begin(KeyedStream.fresh(), 0)  # thrown away with the steps that warm up
            self._sums, self._flat = captured(lambda: self._protected(list(given.values())))
        self._update = self._recorded_update()
        self._noise.begin(self._stream, 0)

    def _protected(self, parameters: list[Tensor]) -> Tensor:
        flat = self._program([*parameters, *self._batch])
        self._noise.advance()
        self._noise.launch(flat)
        return flat

    @property
    def batch(self) -> list[Tensor]:
        """The memory of inputs, targets and mask: who fills it by himself saves a copy."""
        return self._batch

    def _recorded_update(self) -> Any:
        """The optimizer's step as a graph. To warm up it moves the parameters, which are put back, as is its state."""
        before = [each.detach().clone() for each in self._held.values()]
        for name, each in cut(self._flat, self._held).items():
            self._held[name].grad = each
        self._flat.zero_()
        graph, _ = captured(self._optimizer.step)
        for each, old in zip(self._held.values(), before, strict=True):
            each.detach().copy_(old)
        for state in self._optimizer.state.values():
            for kept in state.values():
                if isinstance(kept, Tensor):
                    kept.zero_()  # as every optimizer begins
        return graph

    def __call__(self, inputs: Batch, targets: Batch, mask: Tensor) -> None:
        """One step."""
        for mine, theirs in zip(self._batch, [*leaves(inputs), *leaves(targets), mask], strict=True):
            if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
                raise InvalidParameter("a captured step takes batches of one form: fill them up with masked records")
            if mine.data_ptr() != theirs.data_ptr():
                mine.copy_(theirs, non_blocking=True)
        if self._step + 1 == 2**32:
            raise InvalidParameter("a captured step is taken 2^32 - 1 times at most: the device counts in 32 bits")
        self._step += 1
        try:
            self._sums.replay()
            self._noise.settle(self._flat, self._stream, self._step)
        except BaseException:
            self._flat.zero_()  # which the gradients show: without all of its noise it is seen by nobody
            raise
        self._update.replay()

    def __copy__(self) -> "CapturedStep":
        raise InvalidParameter("a captured step is not copied: both would draw the same noise")

    def __deepcopy__(self, memo: object) -> "CapturedStep":
        return self.__copy__()

    def __reduce_ex__(self, protocol: object) -> Any:
        self.__copy__()
