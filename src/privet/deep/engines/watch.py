"""Watching a model at work: every call in which a trained parameter meets an input, found at the call itself.

Layers are recognised by the function they call (`F.linear` with this weight), not by their class: a weight that is used
again, tied, or handed to the function by hand is seen like any other.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from privet.deep.rules.use import Use


@dataclass(frozen=True)
class _Call:
    kind: str
    arguments: tuple[str, ...]


_CONV = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")
_CALLS: dict[Any, _Call] = {
    F.linear: _Call("linear", ("input", "weight", "bias")),
    F.conv1d: _Call("conv1d", _CONV),
    F.conv2d: _Call("conv2d", _CONV),
    F.conv3d: _Call("conv3d", _CONV),
    F.embedding: _Call(
        "embedding", ("input", "weight", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse")
    ),
    F.layer_norm: _Call("layer_norm", ("input", "normalized_shape", "weight", "bias", "eps")),
    F.rms_norm: _Call("rms_norm", ("input", "normalized_shape", "weight", "eps")),
    F.group_norm: _Call("group_norm", ("input", "num_groups", "weight", "bias", "eps")),
}

Tap = Callable[[Use, Tensor], Tensor]


class Watch(TorchFunctionMode):
    """A region in which the uses of `parameters` are handed to `tap`, which returns the output that the model goes on with.

    Inside such a call the parameters are constants: what is differentiated otherwise has not been seen here.
    """

    def __init__(self, parameters: dict[str, Tensor], tap: Tap) -> None:
        super().__init__()
        self._names = {id(each): name for name, each in parameters.items()}
        self._tap = tap

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        call = _CALLS.get(func)
        if call is None:
            return func(*args, **kwargs)
        given = dict(zip(call.arguments, args, strict=False)) | kwargs
        weight, bias = (self._names.get(id(given.get(part))) for part in ("weight", "bias"))
        if weight is bias is None or given.get("scale_grad_by_freq") or given.get("max_norm") is not None:
            return func(*args, **kwargs)
        given["input"] = _as_computed(call.kind, given["input"])
        given |= {part: given[part].detach() for part, name in (("weight", weight), ("bias", bias)) if name is not None}
        output = func(**given)
        rest = {name: value for name, value in given.items() if name not in ("input", "weight", "bias")}
        return self._tap(Use(call.kind, given["input"], weight, bias, rest), output)


def _as_computed(kind: str, given: Tensor) -> Tensor:
    """The input as the layer meets it: an autocast that the model has opened narrows it in front of the product."""
    place = given.device.type
    products = kind == "linear" or kind in ("conv1d", "conv2d", "conv3d")
    if products and given.dtype == torch.float32 and torch.is_autocast_enabled(place):
        return given.to(torch.get_autocast_dtype(place))
    return given


class _Noticed(torch.autograd.Function):
    """The identity, in place: an output that nothing trained has touched yet becomes part of the graph."""

    @staticmethod
    def forward(context: Any, output: Tensor, switch: Tensor) -> Tensor:
        context.mark_dirty(output)
        return output

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        return gradients[0], None


def noticed(output: Tensor) -> Tensor:
    """An output whose gradient can be asked for: the same numbers, and no copy."""
    if output.requires_grad:
        return output
    switch = torch.zeros((), device=output.device, requires_grad=True)
    noted: Tensor = _Noticed.apply(output, switch)  # type: ignore[no-untyped-call]
    return noted
