"""From the uses of one parameter to its term: the rule that fits them all."""

from dataclasses import replace

import torch
from torch import Tensor

from privet.deep.rules import conv, embedding, linear, norm
from privet.deep.rules.tied import TiedGhost
from privet.deep.rules.use import Term, Use, Written
from privet.errors import InternalError

_ROWS_AT_ONCE = 2**25  # numbers of one parameter's written-out gradients: 128 MiB in float32

_NORMALISATIONS = ("layer_norm", "rms_norm", "group_norm")
_CONVOLUTIONS = ("conv1d", "conv2d", "conv3d")


def weight_term(uses: list[Use], shape: torch.Size) -> Term:
    """The share of a weight, over all of its uses: two uses of one weight are never measured apart."""
    kinds = {use.kind for use in uses}
    if kinds == {"linear"}:
        a, g = linear.joined(uses)
        if writes_out(len(a), a.shape[1], a.shape[2], g.shape[2]):
            return Written(linear.written(uses))
        return linear.LinearGhost(a, g)
    if kinds == {"embedding"}:
        return embedding.EmbeddingGhost(*embedding.words(uses, shape[0]), shape)
    if kinds == {"embedding", "linear"}:
        tables = [use for use in uses if use.kind == "embedding"]
        bottom = embedding.EmbeddingGhost(*embedding.words(tables, shape[0]), shape)
        return TiedGhost(bottom, linear.LinearGhost(*linear.joined([use for use in uses if use.kind == "linear"])))
    if kinds <= {"conv1d", "conv2d"} and len(kinds) == 1 and _patches_pay(uses, shape):
        return conv.ConvGhost(uses, shape)
    return Written(_added([_written(use, shape) for use in uses]))


def shares(uses: list[Use], rest: dict[str, Tensor]) -> tuple[list[Use], dict[str, Tensor]]:
    """Uses without their biases and normalisations, whose shares, a few numbers a record, are written out beside `rest`:
    the gradients at their outputs need not be kept.
    """
    products = {use.weight for use in uses if use.kind not in _NORMALISATIONS}
    found: dict[str, list[Tensor]] = {name: [each] for name, each in rest.items()}
    kept = []
    for use in uses:
        if use.bias is not None:
            if any(other.weight == use.bias for other in uses):
                raise InternalError(f"{use.bias!r} is a weight and a bias: choose engine='vmapped'")
            found.setdefault(use.bias, []).append(_shift(use))
        if use.weight in products:
            kept.append(replace(use, bias=None))
        elif use.weight is not None:
            found.setdefault(use.weight, []).append(norm.written(use))
    return [use for use in kept if use.weight is not None], {name: _added(each) for name, each in found.items()}


def _patches_pay(uses: list[Use], shape: torch.Size) -> bool:
    grouped = any(use.options.get("groups", 1) != 1 for use in uses)
    positions = sum(use.back[0, 0].numel() for use in uses)
    return not grouped and not writes_out(len(uses[0].back), positions, shape[1:].numel(), shape[0])


def _written(use: Use, shape: torch.Size) -> Tensor:
    if use.kind in _CONVOLUTIONS:
        return conv.written(use, shape)
    if use.kind == "linear":
        return linear.written([use])
    if use.kind == "embedding":
        return embedding.written([use], shape)
    return norm.written(use)


def _shift(use: Use) -> Tensor:
    if use.kind in _CONVOLUTIONS:
        return use.back.flatten(2).sum(2)
    if use.kind == "linear":
        return norm.summed(use.back, (use.back.shape[-1],))
    return norm.shift(use)


def _added(rows: list[Tensor]) -> Tensor:
    return rows[0] if len(rows) == 1 else torch.stack(rows).sum(0)


def writes_out(records: int, positions: int, inputs: int, outputs: int) -> bool:
    """True where gradients of a layer are better written out, record by record, than measured by Gram matrices.

    Written-out gradients are also their own weighted sum, which saves the product that follows a Gram; but they are
    inputs x outputs numbers a record, and a Gram only positions^2.

    >>> writes_out(64, 64, 128, 128), writes_out(64, 1, 784, 512), writes_out(512, 169, 64, 16)
    (True, False, True)
    """
    size = inputs * outputs
    return positions > 1 and 4 * positions**2 >= size and records * size <= _ROWS_AT_ONCE
