"""The isolation check: whether the loss of one record depends on that record alone, as far as made-up records show.

Clipping bounds what one record does to its *own* gradient. A model that lets records see each other (batch normalisation,
centring, losses over pairs) carries a record into the gradients of others, where no clipping sees it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from privet._calls import door
from privet.deep.engines.engine import Batch, ExampleLosses, batch_size, mapped
from privet.deep.engines.public import NoCoins, public_like
from privet.errors import InvalidParameter

_SIZE = 5  # records of a made-up batch: one is changed, and four tell whether it reaches them; more cost time only
_SCALES = (1e-3, 1e3)  # of made-up numbers, beside 1
_BATCH_NORMS = (nn.modules.batchnorm._BatchNorm,)
_INSTANCE_NORMS = (nn.modules.instancenorm._InstanceNorm,)


@door
def check_isolation(
    model: nn.Module,
    per_example_loss: Callable[[Any, Any], Tensor],
    inputs: Batch,
    targets: Batch,
    *,
    records: tuple[Batch, Batch] | None = None,
) -> None:
    """Nothing, or an `InvalidParameter` that names the module through which records meet, and what to do.

    Of `inputs` and `targets` only shapes and types are used: the check runs on made-up records, with numbers of several
    sizes and words of the whole vocabulary. So nothing is found **as far as made-up records show**: a model in which
    records meet only for other values passes. Hand in public `records` (inputs and targets, two or more) that look like the
    private ones, and they are tried too; the engines 'vmapped' and 'microbatch' keep records apart by construction.
    """
    batch_size(inputs)
    for name, module in model.named_modules():
        _check_kind(name or type(model).__name__, module)
    losses = ExampleLosses(model, per_example_loss)
    with torch.no_grad(), _unchanged(model), NoCoins():
        plain = public_like(inputs, _SIZE), public_like(targets, _SIZE)
        _check_batch(losses, *plain)
        _check_alone(losses, *plain)
        for scale in _SCALES:
            _check_where_it_runs(losses, public_like(inputs, _SIZE, scale=scale), plain[1])
        for words in _vocabularies(model):
            _check_where_it_runs(losses, public_like(inputs, _SIZE, words=words), plain[1])
        if records is not None:
            _check_batch(losses, *_first_records(records))


def _check_batch(losses: ExampleLosses, inputs: Batch, targets: Batch) -> None:
    """One record becomes another: the losses of all others must stay as they are, to the last bit."""
    before, seen = _watched(losses, inputs, targets)
    again, _ = _watched(losses, inputs, targets)
    if not _same(before, again):
        raise InvalidParameter(
            "two passes over the same records give different losses, so it cannot be seen whether records meet: draw "
            "randomness with nn.Dropout only, or choose engine='vmapped' and leave this check out"
        )
    for other in (_with_another_record, _with_a_double):
        after, seen_after = _watched(losses, mapped(other, inputs), mapped(other, targets))
        if not _same(before[1:], after[1:]):
            raise InvalidParameter(_meeting(losses.model, seen, seen_after))


def _check_where_it_runs(losses: ExampleLosses, inputs: Batch, targets: Batch) -> None:
    """The same for numbers that the model may not know: words of another vocabulary, say."""
    try:
        losses(inputs, targets)
    except Exception:
        return
    _check_batch(losses, inputs, targets)


def _check_alone(losses: ExampleLosses, inputs: Batch, targets: Batch) -> None:
    whole = losses(inputs, targets)
    alone = losses(*(mapped(lambda each: each[2:3], part) for part in (inputs, targets)))
    if not torch.allclose(alone, whole[2:3], rtol=1e-3, atol=1e-6):
        raise InvalidParameter(
            "the loss of a record depends on how many others are in its batch: divide by the length of the record or "
            "by a constant, never by the size of the batch"
        )


def _vocabularies(model: nn.Module) -> list[int]:
    """The sizes of the vocabularies that the model says."""
    found = {each.num_embeddings for each in model.modules() if isinstance(each, nn.Embedding | nn.EmbeddingBag)}
    return sorted(each for each in found if each > 2)


def _first_records(records: tuple[Batch, Batch]) -> list[Batch]:
    """So many public records as are tried at once; where there are fewer, they come again."""
    size = batch_size(records[0])
    if size < 2:
        raise InvalidParameter("records must be two or more public records: inputs and targets, as the loss takes them")
    return [mapped(lambda each: each[torch.arange(_SIZE, device=each.device) % size], part) for part in records]


def _same(left: Tensor, right: Tensor) -> bool:
    """Equality to the last bit; what is no number equals itself."""
    return torch.allclose(left, right, rtol=0.0, atol=0.0, equal_nan=True)


def _check_kind(name: str, module: nn.Module) -> None:
    if isinstance(module, _BATCH_NORMS) and (module.training or module.running_mean is None):
        raise InvalidParameter(
            f"{name} ({type(module).__name__}) normalises over the batch, so that every record moves the gradients of all "
            "others: use nn.GroupNorm or nn.LayerNorm, or call its eval() with statistics of public data"
        )
    if isinstance(module, _INSTANCE_NORMS) and module.training and module.track_running_stats:
        raise InvalidParameter(f"{name} keeps running statistics of private records: set track_running_stats=False")
    if isinstance(module, nn.Embedding | nn.EmbeddingBag):
        if module.max_norm is not None:
            raise InvalidParameter(
                f"{name} has max_norm, which rewrites the weights that a batch touches: leave it out"
            )
        if module.scale_grad_by_freq or module.sparse:
            raise InvalidParameter(f"{name} has scale_grad_by_freq or sparse, which mix records: leave them out")


def _with_another_record(batch: Tensor) -> Tensor:
    changed = batch.clone()
    if batch.dtype.is_floating_point or batch.dtype.is_complex:
        changed[0] = 3.0 - 2.0 * batch[0]
    else:
        changed[0] = (batch[0] == 0).to(batch.dtype)
    return changed


def _with_a_double(batch: Tensor) -> Tensor:
    """The first record is the same as the second: models that look for equal words or rows find them."""
    changed = batch.clone()
    changed[0] = batch[1]
    return changed


def _watched(losses: ExampleLosses, inputs: Batch, targets: Batch) -> tuple[Tensor, dict[str, Tensor]]:
    """The losses, and what each module put out, in the order in which they finished."""
    seen: dict[str, Tensor] = {}

    def keep(name: str) -> Callable[[nn.Module, Any, Any], None]:
        def hook(module: nn.Module, given: Any, output: Any) -> None:
            if isinstance(output, Tensor) and output.ndim > 0 and output.shape[0] == _SIZE:
                seen.setdefault(name, output.detach().clone())

        return hook

    handles = [module.register_forward_hook(keep(name)) for name, module in losses.model.named_modules()]
    try:
        return losses(inputs, targets).detach(), seen
    finally:
        for handle in handles:
            handle.remove()


def _meeting(model: nn.Module, before: dict[str, Tensor], after: dict[str, Tensor]) -> str:
    where = next((n for n, each in before.items() if n in after and not _same(each[1:], after[n][1:])), None)
    kind = "" if not where else f" ({type(model.get_submodule(where)).__name__})"
    place = "the loss" if where is None else f"{where}{kind}" if where else f"forward of {type(model).__name__}"
    return (
        f"records meet in {place}: another record in the batch changed the losses of those that stayed. Compute every "
        "output and every loss from its own record alone (no statistics over the batch, no pairs of records)"
    )


@contextmanager
def _unchanged(model: nn.Module) -> Iterator[None]:
    """A region that must leave buffers and parameters as they were; what it changed is put back, and named."""
    kept = {name: each.detach().clone() for name, each in _state(model)}
    changed = None
    try:
        yield
    finally:
        for name, each in _state(model):
            if not torch.allclose(each, kept[name], rtol=0.0, atol=0.0, equal_nan=True):
                changed = changed or name
                each.data.copy_(kept[name])
    if changed:
        raise InvalidParameter(
            f"a forward pass changes {changed!r}, which noise does not protect: keep no statistics of private records in "
            "the model (for normalisation layers, track_running_stats=False)"
        )


def _state(model: nn.Module) -> list[tuple[str, Tensor]]:
    return [*model.named_buffers(), *model.named_parameters()]
