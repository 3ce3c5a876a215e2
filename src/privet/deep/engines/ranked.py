"""Clipped sums by several processes: rank 0 trains, and the others compute their share of every batch.

Sampling, noise, ledger and optimizers live on rank 0 alone. So there is one mask and one noise, whatever the number of
ranks: no two of them can draw the same coins, and none is left out when its share is empty.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from privet.deep.clipping import Clip
from privet.deep.engines.bookkeeping import Bookkeeping
from privet.deep.engines.engine import Batch, Engine, ExampleLosses, batch_size, leaves, mapped
from privet.errors import InvalidParameter
from privet.noise import own_stream, uniform_int

_LEADER = 0


class Ranked(Engine):
    """Book-keeping on all ranks of the process group that is in force: each has as many rows of a batch, of which some may
    be empty, and rank 0 adds up what they find. The ranks see records and parameters, and neither coins nor noise.
    """

    def __init__(self, losses: ExampleLosses, clip: Clip, chunk: int | None) -> None:
        super().__init__(losses, clip, chunk)
        if _rank() != _LEADER:
            raise InvalidParameter("rank 0 trains; the other ranks call deep.help_out(model, per_example_loss, clip)")
        self._mine = Bookkeeping(losses, clip, chunk)

    def _sums(self, parameters: dict[str, Tensor], inputs: Batch, targets: Batch, mask: Tensor) -> dict[str, Tensor]:
        world, device = dist.get_world_size(), mask.device
        share = -(-batch_size(inputs) // world)
        forms = [_form(part, share) for part in (inputs, targets)]
        dist.broadcast_object_list([(forms, str(device))], src=_LEADER)
        for name in sorted(parameters):
            dist.broadcast(parameters[name].contiguous(), src=_LEADER)
        mine: list[Tensor] = []
        for each in (*leaves(inputs), *leaves(targets), mask.to(torch.uint8)):
            parts = _shared_out(each, share, world)
            mine.append(torch.empty_like(parts[_LEADER]))
            dist.scatter(mine[-1], parts, src=_LEADER)
        rest = iter(mine)
        first, second = (mapped(lambda _: next(rest), part) for part in (inputs, targets))
        return _added(self._mine(parameters, first, second, next(rest).bool()))


def help_out(model: nn.Module, per_example_loss: Callable[[Any, Any], Tensor], clip: Clip) -> None:
    """Compute shares of batches for rank 0 until it calls `dismiss`. To be called on every other rank, with a model of the
    same structure; its weights come from rank 0. **Guarantee:** none: what it computes stays inside the process group.
    """
    if _rank() == _LEADER:
        raise InvalidParameter("rank 0 trains, with engine='ranks'; help_out is for the other ranks")
    engine = Bookkeeping(ExampleLosses(model, per_example_loss), clip, None)
    held = {name: each.detach().clone() for name, each in model.named_parameters() if each.requires_grad}
    # What the model draws (dropout) is not to follow from the seed of a script, nor to be alike on two ranks.
    with own_stream(int(uniform_int(bound=2**63))):
        while _helped(engine, held):
            pass


def _helped(engine: Engine, held: dict[str, Tensor]) -> bool:
    """True after a share of a batch, with parameters that are kept for the next one; False where rank 0 needs no more."""
    told: list[Any] = [None]
    dist.broadcast_object_list(told, src=_LEADER)
    if told[0] is None:
        return False
    forms, device = told[0]
    for name in sorted(held):
        held[name] = held[name].to(device)
        dist.broadcast(held[name], src=_LEADER)
    first, second = (mapped(_received, part) for part in _moved(forms, device))
    some = next(iter(leaves(first)))
    mask = _received(torch.empty(len(some), dtype=torch.uint8, device=device)).bool()
    _added(engine(held, first, second, mask))
    return True


def dismiss() -> None:
    """Let the other ranks go: their `help_out` returns. To be called on rank 0 after the training."""
    if _rank() != _LEADER:
        raise InvalidParameter("rank 0 dismisses the others")
    dist.broadcast_object_list([None], src=_LEADER)


def _rank() -> int:
    if not (dist.is_available() and dist.is_initialized()):
        raise InvalidParameter("several ranks need a process group: call torch.distributed.init_process_group first")
    return dist.get_rank()


def _form(batch: Batch, share: int) -> Batch:
    """Empty tensors of the shapes of a share: all that is told about a batch before its rows are sent."""
    return mapped(lambda each: torch.empty((share, *each.shape[1:]), dtype=each.dtype), batch)


def _shared_out(each: Tensor, share: int, world: int) -> list[Tensor]:
    """The rows of every rank, filled up with zeros, which the mask leaves out."""
    filled = torch.cat([each, each.new_zeros((share * world - len(each), *each.shape[1:]))])
    parts: list[Tensor] = []
    for rank in range(world):
        parts.append(filled[rank * share : (rank + 1) * share].contiguous())
    return parts


def _moved(forms: Batch, device: str) -> Batch:
    return mapped(lambda each: each.to(device), forms)


def _received(place: Tensor) -> Tensor:
    dist.scatter(place, None, src=_LEADER)
    return place


def _added(sums: dict[str, Tensor]) -> dict[str, Tensor]:
    """The sums of all ranks, on rank 0; on the others, something that is not used."""
    for name in sorted(sums):
        sums[name] = sums[name].contiguous()
        dist.reduce(sums[name], dst=_LEADER)
    return sums
