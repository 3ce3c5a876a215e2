"""A private step as graphs of a CUDA device: one for clipped sums, one for noise, one for the optimizers."""

import copy
import warnings
from collections.abc import Callable, Iterable
from typing import Any, final

import torch
from torch import Tensor
from torch.optim import Optimizer

from privet.deep.batches import spread
from privet.deep.engines.compiled import Compiled, Graph, captured, own_turn
from privet.deep.engines.engine import Batch, exact_products, leaves, refuse_autocast
from privet.deep.start import Live, descend
from privet.deep.step_noise import StepNoise
from privet.deep.sum_on_device import SumOnDevice
from privet.errors import InvalidParameter
from privet.noise import KeyedStream

Fill = Callable[[list[Tensor]], object]  # writes a piece of a batch into the tensors of inputs, targets and mask

_FROM_ZEROS = ("Adam", "AdamW", "RAdam", "Adamax", "Adadelta", "RMSprop")
# optimizers of torch whose states begin at zero; those of NAdam, ASGD and Rprop do not


@final
class CapturedStep:
    """Steps of a training on batches of one form, recorded once and replayed: what a small model waits for is Python.

    `sum_of(pieces)` is the clipped sum of a step's records as `StepNoise` takes it; the device is at work on it while its
    release is made ready. `descend(noisy)` moves the parameters. The host waits for the noise of a step when the next one
    begins: where it has to add some of it (one step in 10^12), the parameters go back, and are moved once more.

    **Guarantee:** none: a sum is protected by whoever releases it.
    **Sensitivity:** the clip of the engine, as of every engine.
    """

    def __init__(self, engine: Compiled, live: Live, noise: StepNoise, inputs: Batch, targets: Batch) -> None:
        """Of inputs and targets, only shapes and types are looked at. `live` is made use of, and belongs to the steps."""
        refuse_autocast()
        self.live = live
        held = {name: live.parameters[name].detach() for name in sorted(live.parameters)}  # as `spread` cuts a vector
        size = sum(each.numel() for each in held.values())
        if size != noise.dimension:
            raise InvalidParameter(f"the noise is for {noise.dimension:,} numbers, and the model has {size:,}")
        if any(each.dtype != torch.float32 for each in held.values()):
            raise InvalidParameter("a captured step moves parameters in float32; open an autocast inside the model")
        (place,) = {each.device for each in held.values()}
        ready = noise.on_device(place)
        if ready is None or engine.bound > noise.clip:
            raise InvalidParameter("a step is captured without strict sums, with noise for the clip of its engine")
        self.noise = ready
        mask = torch.ones(len(leaves(inputs)[0]), dtype=torch.bool, device=place)
        with own_turn(), exact_products():  # the precision of products is the whole process's, too
            self._program, example = engine.program(held, inputs, targets, mask)
            if engine.draws:
                raise InvalidParameter(
                    "a captured step takes no dropout and nothing else that is drawn: coins would come from torch's own "
                    "generator, and be those of every step where the host throws them; choose engine='bookkeeping'"
                )
            self._point, self._batch = list(held.values()), [each.clone() for each in example[len(held) :]]
            self._sums, flat = captured(lambda: self._program([*self._point, *self._batch]), place)
        assert flat is not None
        self._flat, self._noisy, self._gradient = flat, torch.zeros_like(flat), torch.zeros_like(flat)
        self._divisor = torch.ones((), device=place)
        self.noise.begin(KeyedStream.fresh(), 0)  # thrown away with the sums of made-up records
        self._noised, _ = captured(lambda: self.noise.launch(self._flat, self._noisy), place)
        self._moving: list[Tensor] = []  # what a recorded step of the optimizers changes, and what it was before
        self._before, self._moved = torch.zeros(0, device=place), False
        self._update = self._recorded_update(place)

    @property
    def batch(self) -> list[Tensor]:
        """The memory of inputs, targets and mask: who fills it by himself saves a copy."""
        return self._batch

    def begin(self, other: Live, divisor: float) -> None:
        """Go on from the parameters and optimizers of another, whose memory is left alone."""
        self.settle()
        self._divisor.fill_(divisor)
        with torch.no_grad():
            for name, each in self.live.parameters.items():
                each.copy_(other.parameters[name])
            for mine, theirs in zip(self.live.optimizers, other.optimizers, strict=True):
                if self._update is None:
                    mine.load_state_dict(copy.deepcopy(theirs.state_dict()))
                else:
                    _put_states(_states(mine), _states(theirs))

    def _recorded_update(self, place: torch.device) -> Graph | None:
        """The step of the optimizers as a graph, where it is the same then. To warm up it moves the parameters, which are
        put back, as are its states.
        """
        if not all(_can_be_recorded(each) for each in self.live.optimizers):
            return None
        before = [each.detach().clone() for each in self.live.parameters.values()]
        kept = [
            [{name: _own(value) for name, value in state.items()} for state in _states(each)]
            for each in self.live.optimizers
        ]
        for name, each in spread(self._gradient, self.live.parameters).items():
            self.live.parameters[name].grad = each
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's, that an optimizer made for a graph steps outside of one
            for optimizer in self.live.optimizers:
                optimizer.step()  # states come into being
        graph = self._graph_of_a_step(place)
        with torch.no_grad():
            for each, old in zip(self.live.parameters.values(), before, strict=True):
                each.copy_(old)
            for optimizer, old_states in zip(self.live.optimizers, kept, strict=True):
                _put_states(_states(optimizer), old_states)
        return graph

    def _graph_of_a_step(self, place: torch.device) -> Graph | None:
        states = [state for optimizer in self.live.optimizers for state in _states(optimizer)]
        notes = [note for state in states for note in state.values() if isinstance(note, Tensor)]
        self._moving = [each.detach() for each in self.live.parameters.values()] + notes
        if any(each.dtype != torch.float32 for each in self._moving):
            return None
        self._before = torch.cat([each.reshape(-1) for each in self._moving])
        return captured(self._stepped, place)[0]

    def _stepped(self) -> None:
        torch.cat([each.reshape(-1) for each in self._moving], out=self._before)
        torch.div(self._noisy, self._divisor, out=self._gradient)
        for each in self.live.optimizers:
            each.step()

    def sum_of(self, pieces: Iterable[Fill]) -> "CapturedSum":
        """The clipped sum of the records of all pieces. It holds until the next one is asked for."""
        self.settle()
        for number, fill in enumerate(pieces):
            before = self._flat.clone() if number else None
            fill(self._batch)
            self._sums.replay()
            if before is not None:
                self._flat.add_(before)
        return CapturedSum(self)

    def exact_total(self) -> Tensor:  # not releasable
        """The last sum."""
        return self._flat.clone()

    def protected(self, stream: KeyedStream) -> Tensor:
        """The last sum with the noise of step 0 of the stream, in memory that the next one uses again."""
        self.settle()
        self.noise.begin(stream, 0)
        try:
            self._noised.replay()
            self.noise.complete(self._flat, self._noisy, stream, 0)
        except BaseException:
            self.noise.drop()
            self._noisy.fill_(torch.nan)  # who holds the memory of the last step does not go on with half of this one
            raise
        return self._noisy

    def descend(self, noisy: Tensor) -> None:
        """One step of the optimizers along a protected sum over the divisor."""
        if self._update is None or noisy.data_ptr() != self._noisy.data_ptr():
            self.settle()
        if noisy.data_ptr() != self._noisy.data_ptr():
            self._noisy.copy_(noisy)
        if self._update is None:
            torch.div(self._noisy, self._divisor, out=self._gradient)
            descend(self.live.parameters, [each.step for each in self.live.optimizers], self._gradient)
            self._back_in_place()
        else:
            self._update.replay()
            self._moved = True

    def settle(self) -> None:
        """Wait for the noise of the last step. Where some came late, the step of the optimizers is taken again."""
        late, moved, self._moved = self.noise.settle(), self._moved, False
        if late and moved and self._update is not None:
            with torch.no_grad():
                pieces = torch.split(self._before, [each.numel() for each in self._moving])
                for each, old in zip(self._moving, pieces, strict=True):
                    each.copy_(old.view(each.shape))
            self._update.replay()

    def _back_in_place(self) -> None:
        """Parameters to where the graph reads them: an optimizer may have put others in their place (`p.data = ...`)."""
        for name, place in zip(sorted(self.live.parameters), self._point, strict=True):
            each = self.live.parameters[name]
            if each.data_ptr() != place.data_ptr():
                place.copy_(each.detach())
                each.data = place

    def __copy__(self) -> "CapturedStep":
        raise InvalidParameter("a captured step is not copied: both would write to the same memory")

    def __deepcopy__(self, memo: object) -> "CapturedStep":
        return self.__copy__()

    def __reduce_ex__(self, protocol: object) -> Any:
        self.__copy__()


@final
class CapturedSum(SumOnDevice):
    """The sum of the step that is under way."""

    def __init__(self, step: CapturedStep) -> None:
        super().__init__(step.noise)
        self._step = step

    def exact_sum(self) -> Tensor:
        return self._step.exact_total()

    def _protected(self, stream: KeyedStream) -> Tensor:
        return self._step.protected(stream)


def _can_be_recorded(optimizer: Optimizer) -> bool:
    """A check that a step on zeroed states is the first step, and that nothing in it happens on the host.

    >>> given = [torch.nn.Parameter(torch.ones(1))]
    >>> [_can_be_recorded(kind(given, lr=0.1, momentum=0.9)) for kind in (torch.optim.SGD, torch.optim.RMSprop)]
    [True, False]
    """
    groups = optimizer.param_groups
    if type(optimizer) is torch.optim.SGD:
        return all(not group["momentum"] or not group["dampening"] for group in groups)
    known = type(optimizer) in [getattr(torch.optim, name) for name in _FROM_ZEROS]
    return known and all(group.get("capturable", False) for group in groups)


def _states(optimizer: Optimizer) -> list[dict[str, Any]]:
    """The notes of an optimizer on each parameter, in their order."""
    listed = [each for group in optimizer.param_groups for each in group["params"]]
    return [dict(optimizer.state.get(each, {})) for each in listed]


def _put_states(into: list[dict[str, Any]], states: list[dict[str, Any]]) -> None:
    """The same numbers in the memory that a graph reads; where there are none yet, zeros, as every optimizer begins."""
    for mine, theirs in zip(into, states, strict=True):
        for name, each in mine.items():
            if not isinstance(each, Tensor):
                continue
            if isinstance(theirs.get(name), Tensor):
                each.copy_(theirs[name])
            else:
                each.zero_()


def _own(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value
