"""Estimates from many reports: the number itself, its unbiased raw form, variances and intervals."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from privet._validate import set_frozen
from privet.mechanisms.error_bar import ErrorBar
from privet.mechanisms.frames import Framed


@dataclass(frozen=True)
class Estimate(Framed):
    """The estimate from collected reports, with its error bar (noise of the reports alone).

    `raw` is the unbiased estimate, never clipped; `value` is the same unless it was made consistent (shares that are
    not negative and add up to 1). `variance` is that of `raw`, of the noise alone. `interval` holds both ends, and is None
    where none is claimed: a projection moves the value and voids it, which `notes` then say. `labels` name the entries.

    >>> told = Estimate(0.25, ErrorBar(0.01, 0.95))
    >>> told.value, told.raw, told.interval
    (0.25, 0.25, (0.24, 0.26))
    """

    value: Any
    error: ErrorBar | None
    raw: Any = None
    variance: Any = None
    interval: tuple[Any, Any] | None = None
    labels: tuple[Any, ...] | None = None
    n: int | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.raw is None:
            set_frozen(self, raw=self.value)
        if self.interval is None and self.error is not None and self.error.around:
            set_frozen(self, interval=self.error.interval(self.value))

    def columns(self) -> dict[str, Any]:
        """A row for every entry: its label, the estimate, the raw one, its variance, the ends of its interval.

        >>> sorted(Estimate(np.array([0.2, 0.8]), ErrorBar(0.1, 0.95)).columns())
        ['high', 'label', 'low', 'raw', 'value']
        """
        value = np.atleast_1d(self.value)
        told: dict[str, Any] = {
            "label": np.arange(len(value)) if self.labels is None else np.array(self.labels),
            "value": value,
            "raw": np.atleast_1d(self.raw),
        }
        if self.variance is not None:
            told["variance"] = np.atleast_1d(self.variance)
        if self.interval is not None:
            told["low"], told["high"] = (np.atleast_1d(end) for end in self.interval)
        return told
