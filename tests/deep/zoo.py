"""Small models, one for each rule and each way in which a parameter can be used, with made-up records."""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def coins(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def words(*shape: int, most: int = 7, seed: int = 0) -> Tensor:
    return torch.randint(0, most, shape, generator=torch.Generator().manual_seed(seed))


@dataclass
class Beast:
    """A model in float64, its inputs and what it is to be near to."""

    model: nn.Module
    inputs: Any
    apart: bool = False  # whether the batched pass cannot do it

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return (outputs.flatten(1) - targets[:, None]).square().mean(1)


class Reused(nn.Module):
    """One layer three times, with something between."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(torch.tanh(self.layer(torch.tanh(self.layer(x)))))


class Tied(nn.Module):
    """A table that is embedding and head; with `by_hand`, the head is a call of the function."""

    def __init__(self, padding: int | None = None, *, by_hand: bool = False) -> None:
        super().__init__()
        self.table = nn.Embedding(7, 4, padding_idx=padding)
        self.middle = nn.Linear(4, 4)
        self.head = None if by_hand else nn.Linear(4, 7, bias=False)
        if self.head is not None:
            self.head.weight = self.table.weight

    def forward(self, ids: Tensor) -> Tensor:
        hidden = torch.tanh(self.middle(self.table(ids)))
        return F.linear(hidden, self.table.weight) if self.head is None else self.head(hidden)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(self.norm(x)).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4)
        return x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class Bare(nn.Module):
    """A class token, positions, a layer scale: parameters that no layer owns."""

    def __init__(self) -> None:
        super().__init__()
        self.token, self.positions = nn.Parameter(torch.zeros(1, 1, 4)), nn.Parameter(torch.zeros(6, 4))
        self.scale, self.single, self.layer = nn.Parameter(torch.ones(4)), nn.Parameter(torch.ones(())), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.positions
        return self.scale * self.layer(x) * self.single


class Places(nn.Module):
    """Positions by an embedding that no record is an input of."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places, self.last = nn.Embedding(7, 4), nn.Embedding(5, 4), nn.Linear(4, 2)

    def forward(self, ids: Tensor) -> Tensor:
        return self.last(torch.tanh(self.words(ids) + self.places(torch.arange(ids.shape[1]))))


class FromBehind(nn.Module):
    """A table whose padding is counted from its end where it is looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(7, 3))

    def forward(self, ids: Tensor) -> Tensor:
        return F.embedding(ids, self.weight, -3)


class TimeFirst(nn.Module):
    """Records second, as older sequence models have them."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.layer(x.transpose(0, 1))).transpose(0, 1)


class Tiles(nn.Module):
    """A record that is cut into four small images."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(2, 4, 3, padding=1), nn.GroupNorm(2, 4)

    def forward(self, x: Tensor) -> Tensor:
        tiles = x.unfold(2, 3, 3).unfold(3, 3, 3).permute(0, 2, 3, 1, 4, 5)
        return self.norm(self.conv(tiles.flatten(0, 2))).unflatten(0, tiles.shape[:3])


class HalfOutside(nn.Module):
    """A weight that is used by its layer and beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) + x @ self.layer.weight.square()


class InPlace(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 5), nn.Linear(5, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(F.relu_(self.first(x)))


def frozen(model: nn.Module, *names: str) -> nn.Module:
    for name in names:
        model.get_parameter(name).requires_grad_(False)
    return model


def _made() -> dict[str, Beast]:
    x2, x3, x4 = coins(5, 4, seed=1), coins(5, 6, 4, seed=2), coins(5, 3, 2, 4, seed=3)
    signals, images = coins(5, 2, 9, seed=4), coins(5, 2, 6, 6, seed=5)
    ids = words(5, 5, seed=6)
    conv = nn.Conv2d
    return {
        "linear on 2 axes": Beast(nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2)), x2),
        "linear on 3 axes": Beast(nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2)), x3),
        "linear on 4 axes": Beast(nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2, bias=False)), x4),
        "wide linear, few positions": Beast(nn.Linear(40, 30), coins(5, 3, 40, seed=7)),
        "bias alone": Beast(frozen(nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2)), "0.weight", "2.weight"), x3),
        "weight alone": Beast(frozen(nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2)), "0.bias", "2.bias"), x3),
        "a frozen layer between": Beast(
            frozen(nn.Sequential(nn.Linear(4, 5), nn.Linear(5, 5), nn.Linear(5, 2)), "1.weight", "1.bias"), x2),
        "conv1d": Beast(nn.Conv1d(2, 3, 3, stride=2, padding=1), signals),
        "conv1d, same": Beast(nn.Conv1d(2, 3, 4, padding="same", dilation=2), signals),
        "conv2d": Beast(nn.Sequential(conv(2, 3, 3), nn.Tanh(), conv(3, 2, 2, stride=2)), images),
        "conv2d by patches": Beast(conv(2, 60, 3, stride=3), images),
        "conv2d by patches, same": Beast(conv(2, 300, (2, 4), padding="same"), coins(5, 2, 3, 4, seed=8)),
        "conv2d, all numbers": Beast(conv(2, 4, (3, 2), stride=(2, 1), padding=(2, 1), dilation=(1, 2)), images),
        "conv2d in groups": Beast(conv(2, 4, 3, groups=2), images),
        "conv2d, depthwise": Beast(conv(2, 2, 3, groups=2, bias=False), images),
        "conv2d, circular": Beast(conv(2, 4, 3, padding=1, padding_mode="circular"), images),
        "conv2d, reflected": Beast(conv(2, 4, 3, padding=2, padding_mode="reflect"), images),
        "conv3d": Beast(nn.Conv3d(2, 3, 2, padding=1), coins(5, 2, 3, 3, 3, seed=9)),
        "embedding": Beast(nn.Embedding(7, 3), ids),
        "embedding with padding": Beast(nn.Embedding(7, 3, padding_idx=2), ids),
        "embedding with padding from behind": Beast(nn.Embedding(7, 3, padding_idx=-1), ids),
        "embedding called with padding from behind": Beast(FromBehind(), ids),
        "embedding of single words": Beast(nn.Embedding(7, 3), words(5, seed=10)),
        "layer norm": Beast(nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 2)), x3),
        "layer norm over two axes": Beast(nn.LayerNorm([6, 4]), x3),
        "layer norm without shift": Beast(nn.LayerNorm(4, bias=False), x2),
        "rms norm": Beast(nn.Sequential(nn.RMSNorm(4), nn.Linear(4, 2)), x3),
        "group norm": Beast(nn.Sequential(conv(2, 4, 3), nn.GroupNorm(2, 4)), images),
        "instance norm": Beast(nn.Sequential(conv(2, 4, 3), nn.InstanceNorm2d(4, affine=True)), images, apart=True),
        "reused linear": Beast(Reused(nn.Linear(4, 4)), x3),
        "reused linear, one position": Beast(Reused(nn.Linear(4, 4)), x2),
        "reused convolution": Beast(Reused(conv(2, 2, 3, padding=1)), images),
        "reused convolution by patches": Beast(Reused(conv(20, 20, 1)), coins(5, 20, 2, 2, seed=11)),
        "reused norm": Beast(Reused(nn.LayerNorm(4)), x3),
        "tied": Beast(Tied(), ids),
        "tied, with padding": Beast(Tied(2), ids),
        "tied by hand": Beast(Tied(by_hand=True), ids),
        "attention": Beast(nn.Sequential(Attention(), Attention()), coins(5, 3, 8, seed=12)),
        "torch's attention": Beast(
            nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), coins(5, 3, 8, seed=12), apart=True),
        "bare parameters": Beast(Bare(), coins(5, 5, 4, seed=13), apart=True),
        "places": Beast(Places(), ids, apart=True),
        "time first": Beast(TimeFirst(), x3, apart=True),
        "tiles": Beast(Tiles(), images, apart=True),
        "half outside": Beast(HalfOutside(), x2, apart=True),
        "weight norm": Beast(nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), x3, apart=True),
        "in place": Beast(InPlace(), x2),
        "unused parameter": Beast(nn.Sequential(nn.ParameterDict({"none": torch.ones(2)}), nn.Linear(4, 2))[1:], x2),
    }  # fmt: skip


def beasts() -> dict[str, Beast]:
    """All of them, with parameters that are neither zero nor one."""
    made = _made()
    for beast in made.values():
        beast.model.double()
        with torch.no_grad():
            for index, each in enumerate(beast.model.parameters()):
                each.add_(0.3 * coins(*each.shape, seed=100 + index))
    return made
