"""The choice of an engine."""

from collections.abc import Callable
from typing import Any, Literal, get_args

from torch import Tensor, nn

from privet._calls import door
from privet._validate import count, instance
from privet.deep.clipping import Clip
from privet.deep.engines.bookkeeping import Bookkeeping
from privet.deep.engines.compiled import Compiled
from privet.deep.engines.engine import Engine, ExampleLosses
from privet.deep.engines.microbatch import Microbatch
from privet.deep.engines.ranked import Ranked
from privet.deep.engines.vmapped import Vmapped
from privet.errors import InvalidParameter

Way = Literal["auto", "bookkeeping", "compiled", "vmapped", "microbatch", "ranks"]


@door
def make_engine(
    model: nn.Module,
    per_example_loss: Callable[[Any, Any], Tensor],
    clip: Clip,
    *,
    engine: Way = "auto",
    chunk: int | None = None,
    grid: float | None = None,
) -> Engine:
    """An engine: a function of parameters, inputs, targets and a mask that returns the sums of clipped gradients by name.

    All engines return the same sums. `compiled` is book-keeping as one program, for accelerators: it takes a minute to
    make, and serves batches of one size. `ranks` shares every batch out to the processes of `torch.distributed`. `grid`
    makes the sum exact (see `Microbatch`), at one pass a record.

    >>> import torch
    >>> from privet import deep
    >>> model = nn.Linear(2, 1, bias=False)
    >>> engine = make_engine(model, lambda outputs, targets: outputs[:, 0] - targets, deep.Flat(5.0))
    >>> records, mask = torch.tensor([[3.0, 4.0], [30.0, 40.0]]), torch.tensor([True, True])
    >>> sums = engine(dict(model.named_parameters()), records, torch.zeros(2), mask)
    >>> [round(each, 4) for each in sums["weight"][0].tolist()]
    [6.0, 8.0]
    """
    instance("model", model, nn.Module)
    instance("clip", clip, Clip)
    if engine not in get_args(Way):
        raise InvalidParameter(f"engine must be one of {', '.join(get_args(Way))}, got {engine!r}")
    at_once = None if chunk is None else count("chunk", chunk, 1)
    losses = ExampleLosses(model, per_example_loss)
    if grid is not None or engine == "microbatch":
        if engine not in ("auto", "microbatch"):
            raise InvalidParameter(f"only the engine 'microbatch' sums on a grid, got {engine!r}")
        return Microbatch(losses, clip, at_once, grid)
    kinds: dict[str, type[Engine]] = {"vmapped": Vmapped, "compiled": Compiled, "ranks": Ranked}
    return kinds.get(engine, Bookkeeping)(losses, clip, at_once)
