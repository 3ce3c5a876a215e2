"""Convolutions: a linear layer on patches. Norms by patches or written out; the weighted sum is a plain convolution's."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from privet.deep.rules.linear import LinearGhost
from privet.deep.rules.use import Term, Use, kept

_AXES = {"conv1d": 1, "conv2d": 2, "conv3d": 3}


class Geometry:
    """The way of a convolution over its input: stride, padding, dilation and groups, one number an axis."""

    def __init__(self, use: Use, shape: torch.Size) -> None:
        axes = _AXES[use.kind]
        self.kernel = tuple(shape[2:])
        self.stride = _each(use.options.get("stride", 1), axes)
        self.dilation = _each(use.options.get("dilation", 1), axes)
        self.groups = int(use.options.get("groups", 1))
        padding = use.options.get("padding", 0)
        self.before: tuple[int, ...] = ()  # padding that is put on first: "same" may need more on one side
        if padding == "same":
            reach = [step * (size - 1) for step, size in zip(self.dilation, self.kernel, strict=True)]
            self.before = tuple(side for each in reversed(reach) for side in (each // 2, each - each // 2))
        self.padding = (0,) * axes if isinstance(padding, str) else _each(padding, axes)

    def padded(self, given: Tensor) -> Tensor:
        """The input with what must be put around it before the convolution."""
        return F.pad(given, self.before) if any(self.before) else given

    def weight_gradient(self, given: Tensor, back: Tensor, shape: torch.Size) -> Tensor:
        """The gradient of the weight, summed over what is given as a batch."""
        weight = back.new_empty(()).expand(shape)  # only its shape is looked at
        settings: tuple[Any, ...] = (list(self.stride), list(self.padding), list(self.dilation))
        found = torch.ops.aten.convolution_backward(
            back, given, weight, None, *settings, False, [0] * len(self.kernel), self.groups, [False, True, False]
        )
        gradient: Tensor = found[1]
        return gradient


def written(use: Use, shape: torch.Size) -> Tensor:
    """The gradient of each record, written out: [B, *weight]. By patches on an accelerator, where that is several times
    as fast; on the CPU it is several times as slow."""
    geometry = Geometry(use, shape)
    if use.back.device.type != "cpu" and geometry.groups == 1 and len(geometry.kernel) < 3:
        return by_patches(use, shape)
    given, back = geometry.padded(use.input), use.back

    def one(given: Tensor, back: Tensor) -> Tensor:
        return geometry.weight_gradient(given[None], back[None], shape)

    rows: Tensor = torch.func.vmap(one)(given, back)
    return rows


def by_patches(use: Use, shape: torch.Size) -> Tensor:
    """The same as `written`, as products of patches and gradients: one group, one or two axes."""
    seen, back = patches(use, shape)
    return torch.bmm(back.transpose(1, 2), seen).view(len(back), *shape)


def patches(use: Use, shape: torch.Size) -> tuple[Tensor, Tensor]:
    """The part that each output position sees [B, T, C k], and its gradient [B, T, p]: one group, one or two axes."""
    geometry = Geometry(use, shape)
    given, back = geometry.padded(use.input), use.back
    kernel, dilation, padding, stride = geometry.kernel, geometry.dilation, geometry.padding, geometry.stride
    if len(kernel) == 1:
        given = given.unsqueeze(2)
        kernel, dilation, padding, stride = (1, *kernel), (1, *dilation), (0, *padding), (1, *stride)
    unfolded = F.unfold(given, kernel, dilation=dilation, padding=padding, stride=stride)
    return unfolded.transpose(1, 2), back.flatten(2).transpose(1, 2)


class ConvGhost(Term):
    """A convolution's share by the Gram matrices of its patches."""

    def __init__(self, uses: list[Use], shape: torch.Size) -> None:
        self.uses, self.shape = uses, shape
        pairs = [patches(use, shape) for use in uses]  # of one use nothing is copied again: patches are large
        seen, back = pairs[0] if len(pairs) == 1 else (torch.cat(each, 1) for each in zip(*pairs, strict=True))
        ghost = LinearGhost(seen, back)
        self.square, self.slack = ghost.square, ghost.slack

    def total(self, factors: Tensor, counts: Tensor) -> Tensor:
        found = []
        for use in self.uses:
            geometry = Geometry(use, self.shape)
            back = kept(use.back, counts)
            scaled = back * factors.to(back.dtype).view(-1, *[1] * (back.ndim - 1))
            found.append(geometry.weight_gradient(geometry.padded(kept(use.input, counts)), scaled, self.shape))
        return torch.stack(found).sum(0) if len(found) > 1 else found[0]


def _each(value: Any, axes: int) -> tuple[int, ...]:
    return (int(value),) * axes if isinstance(value, int) else tuple(int(each) for each in value) * (axes // len(value))
