"""Low-rank additions: linear layers stay as they are, and only a thin product beside each of them is trained."""

import copy
from typing import Any, final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from privet._calls import door
from privet._validate import above, count, instance
from privet.errors import InvalidParameter


@final
class LowRank(nn.Module):
    """A linear layer that is frozen, with a product of two thin matrices beside it. It begins as the layer itself.

    >>> layer = LowRank(nn.Linear(8, 6), rank=2)
    >>> [(name, list(each.shape)) for name, each in layer.named_parameters() if each.requires_grad]
    [('down', [2, 8]), ('up', [6, 2])]
    """

    def __init__(self, layer: nn.Linear, rank: int, scale: float = 1.0) -> None:
        super().__init__()
        self.layer = instance("layer", layer, nn.Linear).requires_grad_(False)
        wide = layer.weight
        rank = count("rank", rank, 1)
        first = nn.Linear(layer.in_features, rank, bias=False)  # for its usual first values
        self.down = nn.Parameter(first.weight.detach().to(wide.device, wide.dtype))
        self.up = nn.Parameter(torch.zeros(layer.out_features, rank, device=wide.device, dtype=wide.dtype))
        self.scale = above("scale", scale, 0.0)

    def forward(self, inputs: Tensor) -> Tensor:
        """The layer's outputs, and those of the product."""
        beside: Tensor = self.layer(inputs) + self.scale * F.linear(F.linear(inputs, self.down), self.up)
        return beside

    def merged(self) -> nn.Linear:
        """One plain layer that does the same: post-processing, for use after training.

        >>> layer, x = LowRank(nn.Linear(4, 3), rank=1), torch.eye(4)
        >>> bool(torch.allclose(layer.merged()(x), layer(x)))
        True
        """
        plain = copy.deepcopy(self.layer)
        with torch.no_grad():
            plain.weight += self.scale * (self.up @ self.down)
        return plain


def with_low_rank(model: nn.Module, *names: str, rank: int = 4, scale: float = 1.0) -> Any:
    """A copy of the model, frozen, in which every `nn.Linear` (or those whose names begin as `names` say) has a low-rank
    product beside it, which is all that is trained. **Reference:** Hu et al. 2021 (LoRA).

    The state dict of a training then holds the frozen layers too; `merge_low_rank` makes a model of the old structure.

    >>> thin = with_low_rank(nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2)), rank=1)
    >>> sum(each.numel() for each in thin.parameters() if each.requires_grad)
    26
    """
    for each in names:
        instance("names", each, str)
    made = copy.deepcopy(instance("model", model, nn.Module)).requires_grad_(False)
    if isinstance(made, nn.Linear):
        return LowRank(made, rank, scale)
    found = [name for name, each in made.named_modules() if isinstance(each, nn.Linear)]
    chosen = [name for name in found if not names or any(name.startswith(each) for each in names)]
    if not chosen:
        raise InvalidParameter(f"no linear layer of the model is called so; it has {', '.join(found) or 'none'}")
    for name in chosen:
        _replace(made, name, LowRank(made.get_submodule(name), rank, scale))  # type: ignore[arg-type]
    return made


@door
def merge_low_rank(model: nn.Module) -> Any:
    """A copy of the model with plain layers again, which compute the same.

    >>> plain = nn.Sequential(nn.Linear(4, 3), nn.Tanh())
    >>> merge_low_rank(with_low_rank(plain))
    Sequential(
      (0): Linear(in_features=4, out_features=3, bias=True)
      (1): Tanh()
    )
    """
    made = copy.deepcopy(model)
    if isinstance(made, LowRank):
        return made.merged()
    for name in [name for name, each in made.named_modules() if isinstance(each, LowRank)]:
        _replace(made, name, made.get_submodule(name).merged())  # type: ignore[operator]
    return made


def _replace(model: nn.Module, name: str, layer: nn.Module) -> None:
    parent, _, last = name.rpartition(".")
    setattr(model.get_submodule(parent), last, layer)
