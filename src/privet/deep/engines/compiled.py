"""Clipped sums by a program that is recorded once: book-keeping without Python between its operations.

A small step on an accelerator waits for Python and for launches, not for numbers. Here the whole way from a batch to its
clipped sums is recorded on made-up records, compiled, and on CUDA captured as one graph, which one launch replays.
"""

import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Protocol, cast, final

import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from privet.deep.clipping import Clip
from privet.deep.engines.bookkeeping import Bookkeeping
from privet.deep.engines.engine import Batch, Engine, ExampleLosses, batch_size, leaves, mapped, rows, slices
from privet.deep.engines.public import public_like
from privet.deep.rules.use import Use
from privet.errors import InvalidParameter, PrivetError
from privet.noise import own_stream, shared_state, uniform_int

_WARM = 3  # runs before a capture: libraries set up what they need

Program = Callable[[list[Tensor]], Tensor]


class Compiled(Engine):
    """Book-keeping as a compiled program, one for each form of a batch. Nothing but shapes and types of the first batch
    is looked at in making it: who is in it decides nothing.

    The program has two halves. The first passes a batch through the model and back, and hands over inputs and gradients of
    layers in memory; the second measures and adds up these numbers. A compiler that computes a number anew, or leaves a
    rounding out, does so within a half: what is measured is what is added up.
    """

    def __init__(self, losses: ExampleLosses, clip: Clip, chunk: int | None, backend: str = "inductor") -> None:
        super().__init__(losses, clip, chunk)
        self._plain = Bookkeeping(losses, clip, None)
        self._backend = backend
        self.draws = False  # whether a recorded program draws: coins of torch's generators, or numbers that were fixed
        self._programs: dict[tuple[object, ...], Program] = {}

    def _sums(self, parameters: dict[str, Tensor], inputs: Batch, targets: Batch, mask: Tensor) -> dict[str, Tensor]:
        total: Tensor | None = None
        for part in slices(batch_size(inputs), self.chunk or batch_size(inputs)):
            given = [*parameters.values(), *leaves(rows(inputs, part)), *leaves(rows(targets, part)), mask[part]]
            # a captured program reads parameters where they lie: others are another program
            where = tuple(each.data_ptr() for each in parameters.values()) if mask.device.type == "cuda" else ()
            form = (tuple((each.shape, each.dtype, each.device) for each in given), where)
            if form not in self._programs:
                program, example = self.program(parameters, rows(inputs, part), rows(targets, part), mask[part])
                cuda = mask.device.type == "cuda"
                self._programs = {kept: each for kept, each in self._programs.items() if kept[1] == where}
                self._programs[form] = _captured(program, example, len(parameters)) if cuda else program
            found = self._programs[form](given)
            total = found if total is None else total + found
        assert total is not None
        return cut(total, parameters)

    def _record_by_record(
        self, parameters: dict[str, Tensor], inputs: Batch, targets: Batch, mask: Tensor
    ) -> dict[str, Tensor]:
        return self._plain._record_by_record(parameters, inputs, targets, mask)

    def program(
        self, parameters: dict[str, Tensor], inputs: Batch, targets: Batch, mask: Tensor
    ) -> tuple[Program, list[Tensor]]:
        """A function from parameters, inputs, targets and mask, in a row, to all sums in one vector, and such a row of
        made-up numbers. Threads take turns.
        """
        with own_turn():
            return self._program_of(parameters, inputs, targets, mask)

    def _program_of(
        self, parameters: dict[str, Tensor], inputs: Batch, targets: Batch, mask: Tensor
    ) -> tuple[Program, list[Tensor]]:
        size, names = batch_size(inputs), list(parameters)
        made_up, everyone = (public_like(inputs, size), public_like(targets, size)), torch.ones_like(mask)
        few = slice(0, 2)  # checks the rules, and finds out which pass the model needs
        self._plain._sums(parameters, rows(made_up[0], few), rows(made_up[1], few), everyone[few])
        form: list[list[Use] | list[str]] = []

        def passed(given: list[Tensor]) -> list[Tensor]:
            rest = iter(given[len(names) :])
            first, second = (mapped(lambda _: next(rest), part) for part in (inputs, targets))
            uses, written = self._plain.met(dict(zip(names, given, strict=False)), first, second)
            nothing = everyone.new_empty(())
            form[:] = [[replace(use, given=nothing, gradient=None) for use in uses], list(written)]
            return [*(use.given for use in uses), *(use.back_as_is for use in uses), *written.values()]

        def summed(found: list[Tensor]) -> Tensor:
            uses, written = cast(list[Use], form[0]), cast(list[str], form[1])
            many = len(uses)
            given, backs, rest = found[:many], found[many : 2 * many], found[2 * many : -1]
            known = [replace(use, given=a, gradient=g) for use, a, g in zip(uses, given, backs, strict=True)]
            sums = self._plain.summed(parameters, (known, dict(zip(written, rest, strict=True))), found[-1])
            return torch.cat([sums[name].reshape(-1) for name in names])

        example = [*parameters.values(), *leaves(made_up[0]), *leaves(made_up[1]), everyone]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the compiler: rough products are off on purpose, say
                halves = self._compiled(passed, example[:-1])
                met = halves(example[:-1])
                other = self._compiled(summed, [*met, everyone])
                other([*met, everyone])
        except PrivetError:
            raise
        except Exception as problem:  # on made-up records: its words hold nothing private
            raise InvalidParameter(
                f"this model cannot be compiled ({type(problem).__name__}): its way depends on values, or a compiler is "
                "missing; choose engine='bookkeeping'"
            ) from problem
        return lambda given: other([*halves(given[:-1]), given[-1]]), example

    def _compiled(self, half: Callable[[list[Tensor]], Any], example: list[Tensor]) -> Callable[[list[Tensor]], Any]:
        before = shared_state()  # what a model draws while it is recorded would be a constant
        recorded = make_fx(half, tracing_mode="fake", _allow_non_fake_inputs=True)(example)
        self.draws |= shared_state() != before or any(
            _draws(node)
            for part in recorded.modules()
            if isinstance(part, torch.fx.GraphModule)
            for node in part.graph.nodes
        )
        made: Callable[[list[Tensor]], Any] = torch.compile(
            recorded, fullgraph=True, dynamic=False, backend=self._backend
        )
        return made


def cut(flat: Tensor, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A vector of all sums, cut into those of parameters, in their order."""
    pieces = torch.split(flat, [each.numel() for each in parameters.values()])
    return {name: piece.view(each.shape) for (name, each), piece in zip(parameters.items(), pieces, strict=True)}


def _draws(node: torch.fx.Node) -> bool:
    """A check that an operation draws from torch's generators; attention without dropout only could."""
    operation: Any = node.target
    if torch.Tag.nondeterministic_seeded not in getattr(operation, "tags", ()):
        return False
    names = [each.name for each in operation._schema.arguments]
    given = dict(zip(names, node.args, strict=False)) | node.kwargs
    return given.get("dropout_p", None if "dropout_p" not in names else 0.0) != 0.0


def own_turn() -> AbstractContextManager[None]:
    """A region that one thread is in at a time, with coins of its own: a model holds one set of parameters at a time, and
    torch records one function, and CUDA one graph, at a time; whatever else is compiled must not run meanwhile.
    """
    return own_stream(int(uniform_int(bound=2**63)))


def _captured(program: Program, example: list[Tensor], parameters: int) -> Program:
    """The same program as one graph: parameters where they lie, and memory of its own into which each batch is copied."""
    held = [each.detach() if place < parameters else each.detach().clone() for place, each in enumerate(example)]
    graph, out = captured(lambda: program(held), held[-1].device)

    def replay(given: list[Tensor]) -> Tensor:
        for mine, theirs in zip(held[parameters:], given[parameters:], strict=True):
            mine.copy_(theirs)
        graph.replay()
        return cast(Tensor, out).clone()

    replay.program = program  # type: ignore[attr-defined]  # it owns constants that the graph reads

    return replay


class Graph(Protocol):
    """Work that was recorded once."""

    def replay(self) -> None:
        """Do it again: what it returned lies where it lay."""


@final
class _Again:
    """The graph of a device that has none: the same work, its result in the same memory."""

    def __init__(self, work: Callable[[], Tensor | None]) -> None:
        self._work, self.out = work, work()

    def replay(self) -> None:
        """Do it again."""
        with own_turn():
            made = self._work()
        if self.out is not None and made is not None:
            self.out.copy_(made)


def captured(work: Callable[[], Tensor | None], device: torch.device) -> tuple[Graph, Tensor | None]:
    """A graph of what `work` does on CUDA, and what it returned; `work` is done a few times before, to warm up.

    It is recorded on a stream of this device, whichever device is the current one, and what other threads do on others
    meanwhile neither enters it nor breaks it.
    """
    if device.type != "cuda":
        with own_turn():
            again = _Again(work)
        return again, again.out
    with own_turn(), torch.cuda.device(device):
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(_WARM):
                work()
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=aside, capture_error_mode="thread_local"):
            out = work()
        return graph, out
