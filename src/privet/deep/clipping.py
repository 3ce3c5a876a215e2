"""Clipping: how far one record's gradient is scaled down, and what it can then move a sum by."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import torch

from privet._calls import door
from privet._numerics import Array, down, root_up
from privet._validate import above, open_fraction, set_frozen
from privet.errors import InvalidParameter, SerialisationError

_SMALLEST, _LARGEST = 2.0**-40, 2.0**40  # squares and products of a clipped gradient stay inside float32


class Clip(ABC):
    """The contract of clipping: a factor for each record, found from an upper bound on its gradient's norm."""

    clip_norm: float

    @property
    def bound(self) -> float:
        """The largest norm of one record's clipped gradient, all parameters together.

        >>> Flat(0.5).bound
        0.5
        """
        return self.clip_norm

    def groups(self, names: Sequence[str]) -> list[list[str]]:
        """The parameters that are clipped together: all of them, unless a subclass says otherwise.

        >>> Flat(1.0).groups(["a.weight", "a.bias", "b.weight"])
        [['a.weight', 'a.bias', 'b.weight']]
        """
        return [list(names)]

    def share(self, groups: int) -> "Clip":
        """The clipping of one group of so many: together, records of all of them are at most `bound` long."""
        return self

    @abstractmethod
    def factors(self, norms: torch.Tensor) -> torch.Tensor:
        """One factor a record: times anything of at most that norm, the product is at most `bound` long."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""


@door
@dataclass(frozen=True)
class Flat(Clip):
    """Clipping of the whole gradient at one norm: longer ones are scaled down to it, shorter ones are left as they are.

    **Sensitivity:** one record moves the sum by at most `clip_norm` (l2); exchanging one, by twice that.
    **Reference:** Abadi et al. 2016.

    >>> Flat(1.0).factors(torch.tensor([0.5, 4.0])).tolist()
    [1.0, 0.25]
    """

    clip_norm: float

    def __post_init__(self) -> None:
        set_frozen(self, clip_norm=_norm("clip_norm", self.clip_norm))

    def factors(self, norms: torch.Tensor) -> torch.Tensor:
        return self.clip_norm / norms.clamp(min=self.clip_norm)

    def to_dict(self) -> dict[str, Any]:
        return {"clip": "flat", "clip_norm": self.clip_norm}


@door
@dataclass(frozen=True)
class Automatic(Clip):
    """Clipping without a norm to tune: every gradient is scaled to just under `clip_norm`, short ones a little less.

    The factor is `clip_norm / (norm + gamma)`: gradients much shorter than `gamma` keep their order.

    **Sensitivity:** one record moves the sum by less than `clip_norm` (l2); exchanging one, by twice that.
    **Reference:** Bu, Wang, Zha & Karypis 2022, "Automatic clipping".

    >>> Automatic(gamma=1.0).factors(torch.tensor([0.0, 1.0, 3.0])).tolist()
    [1.0, 0.5, 0.25]
    """

    clip_norm: float = 1.0
    gamma: float = 0.01

    def __post_init__(self) -> None:
        set_frozen(self, clip_norm=_norm("clip_norm", self.clip_norm), gamma=_norm("gamma", self.gamma))

    def factors(self, norms: torch.Tensor) -> torch.Tensor:
        return self.clip_norm / (norms + self.gamma)

    def to_dict(self) -> dict[str, Any]:
        return {"clip": "automatic", "clip_norm": self.clip_norm, "gamma": self.gamma}


@door
@dataclass(frozen=True)
class PerLayer(Clip):
    """Clipping of each layer's gradient by itself, all at the same norm: long gradients of one layer do not shorten others.

    With k layers each is clipped to `clip_norm / sqrt(k)`, so that a record is at most `clip_norm` long in all of them
    together: price and noise are those of `Flat`. A layer is what holds the parameters: weight and bias belong together.

    **Sensitivity:** one record moves the sum by at most `clip_norm` (l2); exchanging one, by twice that.
    **Reference:** McMahan, Ramage, Talwar & Zhang 2018; proof note deep/clipped_sums.

    >>> PerLayer(1.0).groups(["a.weight", "a.bias", "b.weight"]), PerLayer(1.0).share(4)
    ([['a.weight', 'a.bias'], ['b.weight']], Flat(clip_norm=0.5))
    """

    clip_norm: float

    def __post_init__(self) -> None:
        set_frozen(self, clip_norm=_norm("clip_norm", self.clip_norm))

    def groups(self, names: Sequence[str]) -> list[list[str]]:
        layers: dict[str, list[str]] = {}
        for name in names:
            layers.setdefault(name.rpartition(".")[0], []).append(name)
        return list(layers.values())

    def share(self, groups: int) -> Clip:
        # rounded down: k squares of it are at most the square of the whole
        return Flat(self.clip_norm if groups == 1 else down(Fraction(self.clip_norm) / Fraction(root_up(groups))))

    def factors(self, norms: torch.Tensor) -> torch.Tensor:
        return Flat(self.clip_norm).factors(norms)

    def to_dict(self) -> dict[str, Any]:
        return {"clip": "per_layer", "clip_norm": self.clip_norm}


@door
@dataclass(frozen=True)
class AdaptiveQuantile(Clip):
    """Clipping at a norm that follows a quantile of the gradients' norms, from `clip_norm` on.

    In every step each record votes, +1/2 if its gradient is shorter than the clip and -1/2 if it is longer; from 7/8 to 9/8
    of the clip the vote passes from one to the other, so that no rounding turns it. The votes are one more coordinate of
    the sum, with a weight such that a record's gradient (over the clip) and its vote together are 1% longer than the
    gradient alone: one noise protects both, and the price is that of `Flat` with 1% more noise. After the step the clip is
    multiplied by exp(-`rate` * (share of short gradients - `quantile`)), both public then. Only
    `Trainer.fit` follows it; elsewhere it clips at `clip_norm`.

    **Sensitivity:** one record moves gradient sum over clip, and votes, by at most 1.01 together (l2); exchanging one, by
    twice that.
    **Reference:** Andrew, Thakkar, McMahan & Ramaswamy 2021; proof note deep/adaptive_quantile.

    >>> AdaptiveQuantile(2.0, quantile=0.5).factors(torch.tensor([1.0, 8.0])).tolist()
    [1.0, 0.25]
    """

    VOTE: ClassVar[float] = 0.28  # the weight of a vote: 1 + (0.28 / 2)^2 is below 1.01^2, by 2.5e-4 of the length
    LENGTH: ClassVar[float] = 1.01  # of a record's gradient over the clip and its vote together, at most

    clip_norm: float
    quantile: float = 0.5
    rate: float = 0.2

    def __post_init__(self) -> None:
        set_frozen(self, clip_norm=_norm("clip_norm", self.clip_norm))
        set_frozen(self, quantile=open_fraction("quantile", self.quantile), rate=above("rate", self.rate, 0.0))
        if self.rate > 10.0:
            raise InvalidParameter(f"rate must be at most 10, got {self.rate:g}: 0.2 is usual")

    def factors(self, norms: torch.Tensor) -> torch.Tensor:
        return Flat(self.clip_norm).factors(norms)

    def read(self, noisy: Array, clip: float, divisor: float) -> tuple[Array, float]:
        """The protected gradient and the clip of the next step, from the protected sum of a step at this clip.

        >>> import numpy as np
        >>> gradient, after = AdaptiveQuantile(1.0, rate=0.2).read(np.array([3.0, 0.28 * 5.0]), clip=2.0, divisor=10.0)
        >>> gradient.tolist(), round(after, 4)  # all ten were short: the clip falls
        ([6.0], 1.8097)
        """
        short = 0.5 + float(noisy[-1]) / (self.VOTE * divisor)
        moved = math.exp(-self.rate * (min(max(short, 0.0), 1.0) - self.quantile))
        return noisy[:-1] * clip, min(max(clip * moved, _SMALLEST), _LARGEST)

    def to_dict(self) -> dict[str, Any]:
        return {"clip": "adaptive_quantile", "clip_norm": self.clip_norm, "quantile": self.quantile, "rate": self.rate}


@door
def clip_from_dict(form: dict[str, Any]) -> Clip:
    """The clipping that `to_dict` has written.

    >>> clip_from_dict(Flat(2.0).to_dict())
    Flat(clip_norm=2.0)
    """
    kinds: dict[str, type[Any]] = {"flat": Flat, "automatic": Automatic, "per_layer": PerLayer}
    kinds["adaptive_quantile"] = AdaptiveQuantile
    kind = kinds.get(str(form.get("clip")))
    if kind is None:
        raise SerialisationError(f"clip must be one of {', '.join(kinds)}, got {form.get('clip')!r}")
    made: Clip = kind(**{name: value for name, value in form.items() if name != "clip"})
    return made


def _norm(name: str, value: object) -> float:
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else float("nan")
    if not _SMALLEST <= number <= _LARGEST:
        raise InvalidParameter(f"{name} must be a number between 2^-40 and 2^40, got {value!r}")
    return number
