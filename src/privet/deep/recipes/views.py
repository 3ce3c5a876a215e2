"""Augmentation multiplicity: several views of a record inside its own loss, averaged before its gradient is clipped."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from privet._validate import count, flag, instance
from privet.deep.engines.engine import ExampleLosses
from privet.errors import InvalidParameter

Augment = Callable[[Tensor, int], Tensor]


def views(
    per_example_loss: Callable[[Any, Any], Tensor], augment: Augment, *, number: int = 8
) -> Callable[..., Tensor]:
    """The loss of a record as the mean over `number` views of it. `augment(inputs, view)` returns the batch as view 0, 1,
    ... sees it: record by record, and the same whenever it is asked.

    The views of a record are averaged before its gradient is clipped, so that the record moves a sum by no more than
    before: the price is the same. **Reference:** De, Berrada, Hayes, Smith & Balle 2022.

    >>> model = nn.Linear(2, 1)
    >>> plain = lambda outputs, targets: (outputs[:, 0] - targets) ** 2
    >>> loss = views(plain, lambda inputs, view: inputs * (1 - view), number=2)
    >>> loss(model, (torch.ones(3, 2), torch.zeros(3))).shape
    torch.Size([3])
    """
    many = count("number", number, 1)
    if not callable(per_example_loss) or not callable(augment):
        raise InvalidParameter("views takes a loss and a function augment(inputs, view)")

    def over_views(model: nn.Module, batch: Any) -> Tensor:
        if not isinstance(batch, tuple) or not isinstance(batch[0], Tensor):
            raise InvalidParameter(
                "views are made of one tensor of inputs: write the loss over (model, batch) yourself"
            )
        inputs, targets = batch
        losses = ExampleLosses(model, per_example_loss)
        found = [losses(_same(augment(inputs, view), inputs), targets) for view in range(many)]
        return torch.stack(found).mean(0)

    over_views.__qualname__ = f"{getattr(per_example_loss, '__qualname__', 'loss')} over {many} views"
    return over_views


def _same(seen: Tensor, inputs: Tensor) -> Tensor:
    if not isinstance(seen, Tensor) or len(seen) != len(inputs):
        raise InvalidParameter("augment must return one view a record, in the same order")
    return seen


def shifted(images: Tensor, view: int, *, reach: int = 2, mirror: bool = False) -> Tensor:
    """A view of images, moved by up to `reach` pixels, every other one mirrored if asked; view 0 is the images as they are.
    Where nothing comes in, the border is repeated.

    >>> shifted(torch.arange(4.0).view(1, 1, 1, 4), 1, reach=1).flatten().tolist()
    [1.0, 2.0, 3.0, 3.0]
    """
    if instance("images", images, Tensor).ndim < 2:
        raise InvalidParameter("images must be a tensor whose last two axes are rows and columns")
    reach, view = count("reach", reach, 1), count("view", view)
    flag("mirror", mirror)
    if view == 0:
        return images
    side = 2 * reach + 1
    # a walk over all places of the square that begins far from its middle and comes back after all of them
    place = (view * (side + 1) + (side * side) // 2) % (side * side)
    down, across = place // side - reach, place % side - reach
    moved = _rolled(_rolled(images, down, -2), across, -1)
    return moved.flip(-1) if mirror and view % 2 else moved


def _rolled(images: Tensor, by: int, axis: int) -> Tensor:
    size = images.shape[axis]
    return images.index_select(axis, (torch.arange(size, device=images.device) + by).clamp(0, size - 1))
