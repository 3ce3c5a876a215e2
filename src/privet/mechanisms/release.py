"""What leaves a mechanism: a protected value, its price, its error bar and where it came from."""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Generic, TypeVar

import numpy as np

from privet.errors import InvalidParameter, SerialisationError
from privet.mechanisms.error_bar import ErrorBar
from privet.privacy import PrivacyLoss, from_json, to_json

Out = TypeVar("Out")
_VERSION = 1
_DTYPES = ("float64", "int64", "bool", "uint8")


@dataclass(frozen=True, eq=False)
class Release(Generic[Out]):
    """A value that may be shown, with the price that was paid for it. Nothing unprotected is inside.

    `paid` names the ledger and the entry that paid for it; None where no ledger was in force.
    `insecure` is True when the noise came from a seeded stream: such a release protects nobody and says so.

    **Guarantee:** `loss`, for the value and everything computed from it alone (`map`).
    **Error:** `error`, the bar around the value; None after `map`, since the bar of a transformed value is its own.

    >>> from privet.privacy import PureLoss
    >>> release = Release(41.5, loss=PureLoss(1.0), error=ErrorBar(3.0, 0.95), mechanism="laplace")
    >>> print(release)
    41.5 +-3 (95%)
    >>> release.map(round).value
    42
    """

    value: Out
    loss: PrivacyLoss
    error: ErrorBar | None = None
    mechanism: str = ""
    insecure: bool = False
    provenance: tuple[str, ...] = ()
    paid: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.value, np.ndarray):
            self.value.setflags(write=False)

    @property
    def interval(self) -> tuple[Any, Any]:
        """The ends of the error bar around the value."""
        if self.error is None:
            raise InvalidParameter("this release carries no error bar; ask the mechanism that made it for one")
        return self.error.interval(self.value)

    def map(self, function: Callable[[Out], Any], *, name: str | None = None) -> "Release[Any]":
        """Post-processing: the function sees the value alone, the price stays."""
        step = name or str(getattr(function, "__name__", type(function).__name__))
        return replace(self, value=function(self.value), error=None, provenance=(*self.provenance, step))

    def to_json(self) -> str:
        """The release as text; the value comes back bit for bit."""
        document = {
            "privet_release": _VERSION,
            "value": _encode(self.value),
            "loss": _form_of(self.loss),
            "error": None if self.error is None else self.error.to_dict(),
            "mechanism": self.mechanism,
            "insecure": self.insecure,
            "provenance": list(self.provenance),
        }
        if self.paid is not None:
            document["paid"] = self.paid
        return json.dumps(document, sort_keys=True, allow_nan=False)

    @staticmethod
    def from_json(text: str) -> "Release[Any]":
        """Back from `to_json`; anything else is a `SerialisationError`."""
        try:
            document = json.loads(text)
            if document["privet_release"] != _VERSION:
                raise SerialisationError("this release was written by a newer privet; upgrade to read it")
            return Release(
                _decode(document["value"]),
                loss=from_json(json.dumps(document["loss"])),
                error=None if document["error"] is None else ErrorBar.from_dict(document["error"]),
                mechanism=document["mechanism"],
                insecure=document["insecure"],
                provenance=tuple(document["provenance"]),
                paid=document.get("paid"),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            if isinstance(problem, SerialisationError):
                raise
            raise SerialisationError("this text is not a release written by privet") from None

    def __str__(self) -> str:
        bar = "" if self.error is None else f" {self.error}"
        stamp = " [INSECURE: seeded noise, protects nobody]" if self.insecure else ""
        return f"{self.value}{bar}{stamp}"


@lru_cache(maxsize=64)
def _form_of(loss: PrivacyLoss) -> Any:
    """The JSON form of a price, which many releases share; nobody changes it."""
    return json.loads(to_json(loss))


def _encode(value: Any) -> Any:
    """JSON for a value: plain scalars as they are (Python writes floats so that they come back), arrays as bytes."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.ndarray) and value.dtype.name in _DTYPES:
        body = base64.b64encode(np.ascontiguousarray(value).astype(value.dtype.newbyteorder("<")).tobytes()).decode()
        return {"array": body, "dtype": value.dtype.name, "shape": list(value.shape)}
    if isinstance(value, tuple | list):
        return {type(value).__name__: [_encode(item) for item in value]}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value) and list(value) == sorted(value):
        return {"dict": {key: _encode(item) for key, item in value.items()}}
    if isinstance(value, dict) and all(isinstance(key, str | int) for key in value):  # in their order, which is public
        return {"items": [[key, _encode(item)] for key, item in value.items()]}
    raise SerialisationError(f"a release of type {type(value).__name__} has no JSON form; map it to numbers or arrays")


def _decode(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        dtype = np.dtype(_DTYPES[_DTYPES.index(value["dtype"])]).newbyteorder("<")
        array = np.frombuffer(base64.b64decode(value["array"]), dtype=dtype).reshape(value["shape"])
        return array.astype(dtype.newbyteorder("="))
    if "float" in value:
        return float(value["float"])
    if "dict" in value:
        return {key: _decode(item) for key, item in value["dict"].items()}
    if "items" in value:
        return {key: _decode(item) for key, item in value["items"]}
    kind = tuple if "tuple" in value else list
    return kind(_decode(item) for item in value[kind.__name__])
