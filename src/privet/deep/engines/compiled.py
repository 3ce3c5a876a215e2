"""Clipped sums by a program that is recorded once: book-keeping without Python between its operations.

A small step on an accelerator waits for Python and for launches, not for numbers. Here the whole way from a batch to its
clipped sums is recorded on made-up records, compiled, and on CUDA captured as one graph, which one launch replays.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from privet.deep.clipping import Clip
from privet.deep.engines.bookkeeping import Bookkeeping
from privet.deep.engines.engine import Batch, Engine, ExampleLosses, batch_size, leaves, mapped
from privet.deep.engines.public import public_like
from privet.errors import InvalidParameter, PrivetError

_WARM = 3  # runs before a capture: libraries set up what they need

Program = Callable[[list[Tensor]], list[Tensor]]


class Compiled(Engine):
    """Book-keeping as a compiled program, one for each form of a batch. Nothing but shapes and types of the first batch
    is looked at in making it: who is in it decides nothing.
    """

    def __init__(self, losses: ExampleLosses, clip: Clip, chunk: int | None, backend: str = "inductor") -> None:
        super().__init__(losses, clip, chunk)
        self._plain = Bookkeeping(losses, clip, chunk)
        self._backend = backend
        self._programs: dict[tuple[object, ...], Program] = {}

    def _sums(self, parameters: dict[str, Tensor], inputs: Batch, targets: Batch, mask: Tensor) -> dict[str, Tensor]:
        given = [*parameters.values(), *leaves(inputs), *leaves(targets), mask]
        form = tuple((each.shape, each.dtype, each.device) for each in given)
        if form not in self._programs:
            self._programs[form] = self._made(parameters, inputs, targets, mask)
        return dict(zip(parameters, self._programs[form](given), strict=True))

    def _record_by_record(
        self, parameters: dict[str, Tensor], inputs: Batch, targets: Batch, mask: Tensor
    ) -> dict[str, Tensor]:
        return self._plain._record_by_record(parameters, inputs, targets, mask)

    def _made(self, parameters: dict[str, Tensor], inputs: Batch, targets: Batch, mask: Tensor) -> Program:
        size = batch_size(inputs)
        made_up = public_like(inputs, size), public_like(targets, size)
        names, everyone = list(parameters), torch.ones_like(mask)
        self._plain._sums(parameters, *made_up, everyone)  # checks the rules, and finds out which pass the model needs

        def flat(given: list[Tensor]) -> list[Tensor]:
            rest = iter(given[len(names) :])
            first, second = (mapped(lambda _: next(rest), part) for part in (inputs, targets))
            sums = self._plain._sums(dict(zip(names, given, strict=False)), first, second, given[-1])
            return [sums[name] for name in names]

        # A compiler leaves roundings out where it likes: norms and sums would be of other numbers.
        if self._plain.narrow:
            raise InvalidParameter(
                "a model that computes in less than float32 is not compiled: what is measured would not be what is added "
                "up, to the last bits of bfloat16; choose engine='bookkeeping'"
            )
        example = [*parameters.values(), *leaves(made_up[0]), *leaves(made_up[1]), everyone]
        try:
            recorded = make_fx(flat, tracing_mode="fake", _allow_non_fake_inputs=True)(example)
            program: Program = torch.compile(recorded, fullgraph=True, dynamic=False, backend=self._backend)
            program(example)
        except PrivetError:
            raise
        except Exception as problem:  # on made-up records: its words hold nothing private
            raise InvalidParameter(
                f"this model cannot be compiled ({type(problem).__name__}): its way depends on values, or a compiler is "
                "missing; choose engine='bookkeeping'"
            ) from problem
        return _captured(program, example) if mask.device.type == "cuda" else program


def _captured(program: Program, example: list[Tensor]) -> Program:
    """The same program as one graph over memory of its own, into which each batch is copied."""
    held = [each.detach().clone() for each in example]
    aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(_WARM):
            program(held)
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = program(held)

    def replay(given: list[Tensor]) -> list[Tensor]:
        for mine, theirs in zip(held, given, strict=True):
            mine.copy_(theirs)
        graph.replay()
        return [each.clone() for each in out]

    replay.program = program  # type: ignore[attr-defined]  # it owns constants that the graph reads

    return replay
