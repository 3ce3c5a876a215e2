"""Outputs of two worlds, and events: yes-or-no questions about one output."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from privet._cache import kept_property
from privet._numerics import Array
from privet._validate import finite, set_frozen
from privet.audit.counts import Counts
from privet.errors import InvalidData, InvalidParameter

Event = Callable[[Array], Array]  # one bool per output (the first axis)


@dataclass(frozen=True)
class AtLeast:
    """The event that an output is at least `threshold`. NaN is not; -0.0 is 0.0.

    >>> AtLeast(1.0)(np.array([0.5, 1.0])).tolist()
    [False, True]
    """

    threshold: float

    def __post_init__(self) -> None:
        set_frozen(self, threshold=finite("threshold", self.threshold))

    def __call__(self, outputs: Array) -> Array:
        return np.asarray(outputs) >= self.threshold


@dataclass(frozen=True, eq=False)
class Sample:
    """Independent outputs (or scores of outputs) of a mechanism: `first` on D, `second` on its neighbour D'.

    Runs are exchangeable, so a sample can be cut into parts by position. A part remembers what it is a part of:
    `overlaps` is how a test notices that an event was chosen on the very runs it is to be tested on.

    >>> sample = Sample(np.array([3.0, 1.0, 2.0, 5.0]), np.zeros(4))
    >>> sample.count(AtLeast(2.0))
    Counts(tp=3, fp=0, n=4, n_out=4)
    >>> sample.part(0.0, 0.5).overlaps(sample), sample.part(0.0, 0.5).overlaps(sample.part(0.5, 1.0))
    (True, False)
    """

    first: Array
    second: Array
    _whole: "Sample | None" = field(default=None, repr=False)
    _span: tuple[float, float] = field(default=(0.0, 1.0), repr=False)

    def __post_init__(self) -> None:
        for name in ("first", "second"):
            outputs = np.asarray(getattr(self, name))
            if outputs.ndim == 0 or len(outputs) == 0:
                raise InvalidData(f"{name} must be an array with one output a run, and at least one run")
            set_frozen(self, **{name: outputs})

    def part(self, start: float, stop: float) -> "Sample":
        """The runs between two shares of the whole, the same shares in both worlds."""
        if self._whole is not None or not 0.0 <= start < stop <= 1.0:
            raise InvalidParameter("a part lies between two shares of a whole sample, 0 <= start < stop <= 1")
        cuts = [[round(share * len(outputs)) for share in (start, stop)] for outputs in (self.first, self.second)]
        if any(low == high for low, high in cuts):
            raise InvalidData("the sample has too few runs to be cut into these parts")
        (a, b), (c, d) = cuts
        return Sample(self.first[a:b], self.second[c:d], self, (start, stop))

    def count(self, event: Event) -> Counts:
        """The number of times that an event happened in each world."""
        happened = [np.asarray(event(outputs), dtype=bool) for outputs in (self.first, self.second)]
        if any(len(found) != len(mine) for found, mine in zip(happened, (self.first, self.second), strict=True)):
            raise InvalidParameter("an event must answer yes or no once for every output")
        tp, fp = (int(found.sum()) for found in happened)
        return Counts(tp=tp, fp=fp, n=len(self.first), n_out=len(self.second))

    def overlaps(self, other: "Sample") -> bool:
        """True if some run may be in both: parts of equal wholes that meet, or arrays that share memory."""
        mine, theirs = self._whole or self, other._whole or other
        if mine._digest == theirs._digest:
            return self._span[0] < other._span[1] and other._span[0] < self._span[1]
        worlds = [(a, b) for a in (self.first, self.second) for b in (other.first, other.second)]
        return any(np.shares_memory(a, b) for a, b in worlds)

    @kept_property
    def _digest(self) -> bytes:
        text = hashlib.sha256()
        for outputs in (self.first, self.second):
            text.update(f"{outputs.dtype.str}{outputs.shape}".encode())
            text.update(outputs.tobytes() if outputs.dtype != object else repr(outputs.tolist()).encode())
        return text.digest()
