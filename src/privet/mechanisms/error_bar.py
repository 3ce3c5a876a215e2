"""The error bar of a release: how far it may be from the truth, in the units of the data."""

from dataclasses import asdict, dataclass
from typing import Any

from privet._validate import at_least, open_fraction
from privet.errors import InvalidParameter, SerialisationError


@dataclass(frozen=True)
class ErrorBar:
    """With probability at least `confidence`, what `of` names is at most `radius` away from the exact answer.

    `expected` is the expected error where a closed form is known. `around` is False when the radius is not in the units
    of the value: the shortfall of a score, a rank, a share. Everything here follows from public parameters.

    **Error:** the statement is about the noise alone, not about sampling error of the data.

    >>> bar = ErrorBar(2.0, confidence=0.95, of="the value")
    >>> str(bar), bar.interval(10.0)
    ('+-2 (95%)', (8.0, 12.0))
    """

    radius: float
    confidence: float
    of: str = "the value"
    expected: float | None = None
    around: bool = True

    def __post_init__(self) -> None:
        at_least("radius", self.radius, 0.0)
        open_fraction("confidence", self.confidence)

    def interval(self, value: Any) -> tuple[Any, Any]:
        """The interval around a released value (number or array; of several named values, around the one in `of`)."""
        if not self.around:
            raise InvalidParameter(f"this error bar is about {self.of}; there is no interval around the value itself")
        if isinstance(value, dict):
            value = value[self.of]
        return value - self.radius, value + self.radius

    def to_dict(self) -> dict[str, Any]:
        """Plain fields, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> "ErrorBar":
        """Back from `to_dict`."""
        try:
            return cls(**fields)
        except (TypeError, InvalidParameter) as problem:
            raise SerialisationError(f"this is not an error bar: {problem}") from None

    def __str__(self) -> str:
        bar = f"+-{self.radius:.4g} ({100.0 * self.confidence:.4g}%)"
        return bar if self.around else f"[{self.of}: {bar}]"
