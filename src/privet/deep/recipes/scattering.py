"""Scattering features: two layers of fixed wavelets, from which a linear model learns much with few parameters.

Nothing in them is learned, so they cost nothing: the features of a record are a function of that record. Statistics of
features over a data set would be a release; `nn.GroupNorm` in front of the linear layer needs none.
"""

import math
from typing import final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from privet._validate import count
from privet.errors import InvalidData

_SIGMA, _CENTRE, _SLANT = 0.8, 3.0 * math.pi / 4.0, 0.5  # of the finest wavelet, in pixels and radians
_ALIASES = (-2, -1, 0, 1, 2)  # turns of the spectrum that are added up; a bell is below e^-50 of its top beyond


@final
class Scattering(nn.Module):
    """The scattering transform of images: averages of absolute values of wavelets, of orders 0, 1 and 2.

    Images [B, C, H, W] become [B, C x K, H / 2^scales, W / 2^scales] with K = 1 + J L + L^2 J (J - 1) / 2 for J scales and
    L angles. Sides must be multiples of 2^scales. It has no parameters.

    **Reference:** Bruna & Mallat 2013; as features for private models, Tramer & Boneh 2021.

    >>> Scattering()(torch.zeros(1, 1, 28, 28)).shape
    torch.Size([1, 81, 7, 7])
    """

    def __init__(self, scales: int = 2, angles: int = 8) -> None:
        super().__init__()
        self.scales, self.angles = count("scales", scales, 1), count("angles", angles, 1)
        self._filters: dict[tuple[object, ...], tuple[Tensor, Tensor]] = {}

    @property
    def features(self) -> int:
        """The number of features of a pixel of the result, for one channel."""
        scales, angles = self.scales, self.angles
        return 1 + scales * angles + angles**2 * scales * (scales - 1) // 2

    def forward(self, images: Tensor) -> Tensor:
        """The features of a batch, record by record."""
        step = 2**self.scales
        if images.ndim != 4 or any(side % step or side < step + 1 for side in images.shape[2:]):
            raise InvalidData(f"images must have the shape [B, C, H, W] with sides that are multiples of {step}")
        framed = F.pad(images, (step,) * 4, mode="reflect")
        wavelets, low = self._made(framed.shape[2], framed.shape[3], images.device)
        spectrum = torch.fft.fft2(framed)
        found = [self._averaged(spectrum, low)]
        firsts = []
        for scale in range(self.scales):
            moduli = torch.fft.fft2(torch.fft.ifft2(spectrum[:, :, None] * wavelets[scale]).abs())
            firsts.append(moduli)
            found += [self._averaged(moduli[:, :, angle], low) for angle in range(self.angles)]
        for scale, moduli in enumerate(firsts):
            for finer in moduli.unbind(2):
                for coarser in range(scale + 1, self.scales):
                    second = torch.fft.fft2(torch.fft.ifft2(finer[:, :, None] * wavelets[coarser]).abs())
                    found += [self._averaged(each, low) for each in second.unbind(2)]
        return torch.stack(found, dim=2).flatten(1, 2).to(images.dtype)

    def _averaged(self, spectrum: Tensor, low: Tensor) -> Tensor:
        """The average around every 2^scales-th pixel: taking a pixel of each is folding its spectrum."""
        step = 2**self.scales
        kept = spectrum * low
        height, width = kept.shape[-2] // step, kept.shape[-1] // step
        folded = kept.view(*kept.shape[:-2], step, height, step, width).mean(dim=(-4, -2))
        return torch.fft.ifft2(folded).real[..., 1:-1, 1:-1]

    def _made(self, height: int, width: int, device: torch.device) -> tuple[Tensor, Tensor]:
        """Wavelets [scales, angles, H, W] and the average [H, W], as spectra; made once for each size."""
        key = (height, width, device)
        if key not in self._filters:
            rows = [
                [_wavelet(scale, math.pi * angle / self.angles, height, width) for angle in range(self.angles)]
                for scale in range(self.scales)
            ]
            wavelets = torch.stack([torch.stack(row) for row in rows])
            spread = _SIGMA * 2 ** (self.scales - 1)
            low = _bump(height, width, 0.0, 0.0, 0.0, spread, 1.0)
            self._filters[key] = wavelets.float().to(device), low.float().to(device)
        return self._filters[key]


def _wavelet(scale: int, angle: float, height: int, width: int) -> Tensor:
    """The spectrum of a wave under a bell, without its mean: real."""
    spread, centre = _SIGMA * 2**scale, _CENTRE / 2**scale
    across, down = centre * math.cos(angle), centre * math.sin(angle)
    wave = _bump(height, width, down, across, angle, spread, _SLANT)
    bell = _bump(height, width, 0.0, 0.0, angle, spread, _SLANT)
    return wave - bell * (wave[0, 0] / bell[0, 0])


def _bump(height: int, width: int, down: float, across: float, angle: float, spread: float, slant: float) -> Tensor:
    """A bell of the spectrum around (down, across), narrower along the wave's crests by `slant`; frequencies that cannot be
    told apart on the grid are added up."""
    rows = 2.0 * math.pi * torch.fft.fftfreq(height, dtype=torch.float64)
    columns = 2.0 * math.pi * torch.fft.fftfreq(width, dtype=torch.float64)
    total = torch.zeros(height, width, dtype=torch.float64)
    for up in _ALIASES:
        for right in _ALIASES:
            y = (rows + 2.0 * math.pi * up - down)[:, None]
            x = (columns + 2.0 * math.pi * right - across)[None, :]
            along, beside = x * math.cos(angle) + y * math.sin(angle), y * math.cos(angle) - x * math.sin(angle)
            total += torch.exp(-0.5 * spread**2 * (along**2 + (beside / slant) ** 2))
    return total
