"""Tempered sigmoids: bounded activations, under which gradients stay short and clipping loses less."""

from typing import final

import torch
from torch import Tensor, nn

from privet._validate import above, count, finite
from privet.errors import InvalidParameter

_LARGEST = 1024  # pixels of a side: the first linear layer has 32 times half a million inputs then


@final
class TemperedSigmoid(nn.Module):
    """The activation scale / (1 + exp(-temperature x)) - offset; the numbers that are given by default make it tanh.

    **Reference:** Papernot, Thakurta, Song, Chien & Erlingsson 2021.

    >>> x = torch.linspace(-2.0, 2.0, 5)
    >>> bool(torch.allclose(TemperedSigmoid()(x), torch.tanh(x), atol=1e-6))
    True
    """

    def __init__(self, scale: float = 2.0, temperature: float = 2.0, offset: float = 1.0) -> None:
        super().__init__()
        self.scale, self.temperature = above("scale", scale, 0.0), above("temperature", temperature, 0.0)
        self.offset = finite("offset", offset)

    def forward(self, inputs: Tensor) -> Tensor:
        """The activations, number by number."""
        return self.scale * torch.sigmoid(self.temperature * inputs) - self.offset

    def extra_repr(self) -> str:
        """The three numbers, for the printed form."""
        return f"{self.scale:g}, {self.temperature:g}, {self.offset:g}"


def tempered_convnet(classes: int = 10, *, channels: int = 1, side: int = 28) -> nn.Sequential:
    """A small convolutional network with tempered sigmoids, for images of `side` x `side` pixels: 26 thousand
    parameters for digits.

    >>> tempered_convnet()(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 10])
    """
    classes, channels, side = count("classes", classes, 2), count("channels", channels, 1), count("side", side, 14)
    if side > _LARGEST:
        raise InvalidParameter(f"side must be at most {_LARGEST} pixels, got {side}")
    width = 32 * ((side // 2 - 5) // 2) ** 2
    return nn.Sequential(
        nn.Conv2d(channels, 16, 8, stride=2, padding=3), TemperedSigmoid(), nn.MaxPool2d(2, 1),
        nn.Conv2d(16, 32, 4, stride=2), TemperedSigmoid(), nn.MaxPool2d(2, 1), nn.Flatten(),
        nn.Linear(width, 32), TemperedSigmoid(), nn.Linear(32, classes),
    )  # fmt: skip
