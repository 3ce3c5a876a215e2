"""Weight standardisation: convolutions whose filters have mean 0 and variance 1, with the parameters behind them."""

from typing import final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from privet._validate import count


@final
class StandardisedConv2d(nn.Module):
    """A convolution with standardised filters: with group normalisation, what batch normalisation is for others. It looks
    at no batch.

    Gradients are those of the parameters behind the filters, record by record, so clipping bounds them as any others.

    **Reference:** Qiao, Wang, Liu, Shen & Yuille 2019; De, Berrada, Hayes, Smith & Balle 2022.

    >>> layer = StandardisedConv2d(3, 8, 3, padding=1)
    >>> layer(torch.zeros(2, 3, 5, 5)).shape, bool(layer.standardised().flatten(1).mean(1).abs().max() < 1e-6)
    (torch.Size([2, 8, 5, 5]), True)
    """

    def __init__(self, inputs: int, outputs: int, kernel: int, *, stride: int = 1, padding: int = 0) -> None:
        super().__init__()
        inputs, outputs, kernel = count("inputs", inputs, 1), count("outputs", outputs, 1), count("kernel", kernel, 1)
        count("inputs x kernel x kernel", inputs * kernel * kernel, 2)
        start = nn.Conv2d(inputs, outputs, kernel)
        self.weight, self.bias = start.weight, start.bias
        self.gain = nn.Parameter(torch.ones(outputs))
        self.stride, self.padding = count("stride", stride, 1), count("padding", padding)

    def standardised(self) -> Tensor:
        """The filters that are used: each with mean 0 and variance 1 over its inputs, over the root of their number."""
        flat = self.weight.flatten(1)
        spread, mean = torch.var_mean(flat, dim=1, correction=0, keepdim=True)
        scale = self.gain[:, None] / torch.sqrt(spread * flat.shape[1] + 1e-4)
        return ((flat - mean) * scale).view_as(self.weight)

    def forward(self, inputs: Tensor) -> Tensor:
        """The convolution."""
        return F.conv2d(inputs, self.standardised(), self.bias, self.stride, self.padding)
