"""The output of a mechanism: a protected value, its price, its error bar and where it came from."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from privet._amount import Amount, is_number
from privet._figure import require_plotting, save_figure
from privet._numerics import is_masked
from privet.errors import (
    InvalidCall,
    InvalidParameter,
    MixedUnits,
    NoGuarantee,
    PrivetError,
    SerialisationError,
    UnknownName,
)
from privet.mechanisms.display import confidence_in_words, price_in_words, release_html
from privet.mechanisms.error_bar import ErrorBar
from privet.mechanisms.frames import to_arrow, to_pandas, to_polars
from privet.mechanisms.picture import picture
from privet.mechanisms.stored import LARGEST_INLINE, Outside, packed, read, size_of, unpack, written
from privet.privacy import Composed, PrivacyLoss, from_json, to_json

Out = TypeVar("Out")
_VERSION = 1  # of the JSON of a release: a reader refuses any other
_HAS = "it has .value, .interval, .epsilon, .plot() and .to_pandas()"
_INSTEAD = {
    **dict.fromkeys(
        ("data", "result", "answer", "values", "output", "df", "frame"), "take release.value, or release.to_pandas()"
    ),
    **dict.fromkeys(
        ("to_csv", "to_excel", "to_parquet", "head", "iloc"), "make a data frame first: release.to_pandas()"
    ),
    **dict.fromkeys(
        ("eps", "price", "cost", "spent"), "see release.epsilon, or accounting.epsilon(release, delta=1e-6)"
    ),
    **dict.fromkeys(("show", "display"), "print(release), or release.plot()"),
    **dict.fromkeys(
        ("bounds", "ci", "confidence_interval", "std", "accuracy"), "see release.interval and release.error"
    ),
}


@dataclass(frozen=True, eq=False)
class Release(Amount, Generic[Out]):
    """A value that may be shown, with the price that was paid for it. Nothing unprotected is inside.

    `paid` names the ledger and the entry that paid for it; None where no ledger was in force, and for what was computed
    from several releases. `stored` is the entry that
    it was read back from; None for what was drawn just now. It says where this object comes from and is not part of it:
    a release that was read back equals the one that was recorded.
    `insecure` is True when the noise came from a seeded stream: such a release protects nobody and says so.

    **Guarantee:** `loss`, for the value and everything computed from it alone (`map`).
    **Error:** `error`, the bar around the value; None after `map`, since the bar of a transformed value is its own.

    A release computes as its value does: `float(release)`, comparisons, arithmetic, which gives a release again. A public
    number that is added, taken away, multiplied or divided by moves its bar; every other result has none. What two
    releases are computed into costs at most both of them. Two releases are equal if all that they say is; one that was
    stored and read back equals the original.

    >>> from privet.privacy import PureLoss
    >>> release = Release(41.5, loss=PureLoss(1.0), error=ErrorBar(3.0, 0.95), mechanism="laplace")
    >>> print(release)
    41.5 +-3 (95%)
    >>> release.map(round).value
    42
    >>> print(2 * release - 3)
    80 +-6 (95%)
    >>> other = Release(1.25, loss=PureLoss(0.5), error=ErrorBar(6.0, 0.95), mechanism="laplace")
    >>> print(release + other, (release + other).epsilon)
    42.75 1.5
    >>> f"{release:.2f}", release > 40, release.epsilon
    ('41.50', True, 1.0)
    """

    value: Out
    loss: PrivacyLoss
    error: ErrorBar | None = None
    mechanism: str = ""
    insecure: bool = False
    provenance: tuple[str, ...] = ()
    paid: dict[str, Any] | None = None
    stored: int | None = None

    def __post_init__(self) -> None:
        if is_masked(self.value):  # what lies under a mask was not released
            object.__setattr__(self, "value", uncovered(self.value))
        if isinstance(self.value, np.ndarray):
            self.value.setflags(write=False)

    @property
    def epsilon(self) -> float:
        """The price of the release as an epsilon. A loss without one has an epsilon at a delta only:
        `accounting.epsilon(release, delta=1e-6)`.
        """
        pure = self.loss.pure()
        if math.isfinite(pure):
            return pure
        raise NoGuarantee(
            "this release has an epsilon at a delta only: ask accounting.epsilon(release, delta=1e-6), say"
        )

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
        return self._text(written(self.value))

    def kept(self) -> tuple[str, bytes | None]:
        """As a ledger keeps it: the text and, for a value above 64 KiB, its bytes, which the text names by their hash.

        >>> from privet.privacy import PureLoss
        >>> text, raw = Release(np.zeros(10_000), loss=PureLoss(1.0)).kept()
        >>> len(text) < 500, len(raw) > 80_000, Release.from_json(text, lambda outside: raw).value.shape
        (True, True, (10000,))
        """
        if size_of(self.value) <= LARGEST_INLINE:
            return self.to_json(), None
        raw = packed(self.value)
        return self._text({"outside": Outside.of(self.value, raw)._asdict()}), raw

    def _text(self, value: object) -> str:
        document = {
            "privet_release": _VERSION,
            "value": value,
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
    def from_json(text: str, load: Callable[[Outside], bytes] | None = None) -> "Release[Any]":
        """Back from `to_json`; anything else is a `SerialisationError`. `load` brings the bytes of a value that is kept
        outside of the text; without it such a value stays an `Outside`, which says what and how large it is.
        """
        try:
            document = json.loads(text)
            if document["privet_release"] != _VERSION:
                raise SerialisationError("this release was written by a newer privet; upgrade to read it")
            return Release(
                _value(document["value"], load),
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

    def to_pandas(self) -> Any:
        """The value as a pandas data frame: a column per name, or the column `value`. Missing values stay missing."""
        return to_pandas(self.value)

    def to_polars(self) -> Any:
        """The value as a Polars data frame, as `to_pandas`."""
        return to_polars(self.value)

    def to_arrow(self) -> Any:
        """The value as an Arrow table, as `to_pandas`."""
        return to_arrow(self.value)

    def plot(self, path: str | Path | None = None, *, of: str | None = None) -> Any:
        """A picture of what was released: every number with its interval, by group, bin or value. A figure of matplotlib,
        which a notebook shows; with a `path` it is also written there (.png, .svg, .pdf).

        `of` names one of several columns or parts. Needs the extra `plot`: pip install 'privet[plot]'.

        >>> from privet.privacy import PureLoss
        >>> figure = Release({"mean": 3.0}, loss=PureLoss(1.0), error=ErrorBar(1.0, 0.95, of="mean")).plot()
        >>> figure.axes[0].get_xlabel()
        'value'
        """
        target = None if path is None else Path(path)
        require_plotting(target)
        stamp = "; INSECURE: seeded noise, protects nobody" if self.insecure else ""
        figure = picture(self.value, self.error, price_in_words(self.loss) + stamp, of)
        if target is not None:
            save_figure(figure, target)
        return figure

    def __getitem__(self, name: object) -> Any:
        """An entry or a column of the value, as `release.value[name]`."""
        if is_number(self.value) or isinstance(self.value, str | bytes) or not hasattr(self.value, "__getitem__"):
            raise InvalidCall(f"this release is one {type(self.value).__name__}: take release.value")
        return self.value[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # libraries ask for these
            raise AttributeError(name)
        raise UnknownName(f"Release has no {name!r:.60}: {_INSTEAD.get(name, _HAS)}")

    __iter__ = None  # with entries by number Python would count through them, also those of a table

    # --- as the number that it is ----------------------------------------------------------------------------------

    def _number(self) -> Any:
        if is_number(self.value) or (isinstance(self.value, np.ndarray) and self.value.dtype.kind in "biuf"):
            return self.value
        named = f"['{next(iter(self.value))}']" if isinstance(self.value, Mapping) and self.value else ""
        raise InvalidCall(
            f"this release is of type {type(self.value).__name__} and no number: take release.value{named}"
        )

    def _with(self, other: object, result: object) -> Any:
        found = super()._with(other, result)
        return found.item() if isinstance(found, np.generic) else found

    def __abs__(self) -> Any:
        return self._joined(None, super().__abs__())

    def __round__(self, digits: int | None = None) -> Any:
        return self._joined(None, round(self._single(), digits))

    def __add__(self, other: object) -> Any:
        return self._moved(other, 1, super().__add__(other))

    __radd__ = __add__

    def __sub__(self, other: object) -> Any:
        return self._moved(other, 1, super().__sub__(other))

    def __rsub__(self, other: object) -> Any:
        return self._moved(other, -1, super().__rsub__(other))

    def __mul__(self, other: object) -> Any:
        return self._moved(other, other, super().__mul__(other))

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Any:
        if is_number(other) and not other:
            raise InvalidParameter("a release cannot be divided by 0")
        return self._moved(other, 1 / other if is_number(other) else None, super().__truediv__(other))  # type: ignore[operator]

    def __rtruediv__(self, other: object) -> Any:
        return self._joined(other, super().__rtruediv__(other))

    def __pow__(self, other: object) -> Any:
        return self._joined(other, self._with(other, lambda a, b: a**b))

    def __rpow__(self, other: object) -> Any:
        return self._joined(other, self._with(other, lambda a, b: b**a))

    def __floordiv__(self, other: object) -> Any:
        return self._joined(other, self._with(other, lambda a, b: a // b))

    def __mod__(self, other: object) -> Any:
        return self._joined(other, self._with(other, lambda a, b: a % b))

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> Any:
        return self

    def _moved(self, by: object, factor: Any, value: Any) -> Any:
        """The result of a shift or a change of scale by one public number, with its bar; other results have none."""
        if not is_number(by) or value is NotImplemented:
            return self._joined(by, value)
        bar = self.error
        if bar is not None and bar.around and not isinstance(bar.radius, Mapping):
            whole = isinstance(value, int) and isinstance(factor, int)
            rounded = (
                0.0 if whole else np.abs(value) * 2.0**-51 + np.abs(self._number()) * abs(float(factor)) * 2.0**-51
            )
            bar = bar if whole and factor == 1 else bar.scaled(float(factor), more=rounded)
        else:
            bar = None
        return replace(self, value=value, error=bar, provenance=(*self.provenance, "arithmetic"))

    def _joined(self, other: object, value: Any) -> Any:
        """The result of other arithmetic: without a bar, since that of several releases needs their joint law, and at the
        price of all that went into it.
        """
        if value is NotImplemented:
            return value
        if not isinstance(other, Release) or other is self:
            return replace(self, value=value, error=None, provenance=(*self.provenance, "arithmetic"))
        if self.loss.unit != other.loss.unit:
            raise MixedUnits(
                f"one release is about {self.loss.unit.describe()}, the other about {other.loss.unit.describe()}: what is "
                "computed from both has no price; take their .value"
            )
        return Release(
            value,
            loss=Composed([self.loss, other.loss]),
            mechanism=self.mechanism if self.mechanism == other.mechanism else "",
            insecure=self.insecure or other.insecure,
            provenance=(*dict.fromkeys((*self.provenance, *other.provenance)), "arithmetic"),
        )

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Release):
            return self is other or self._said() == other._said()
        return bool(self.value == other) if is_number(other) and is_number(self.value) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.value) if is_number(self.value) else hash((self.mechanism, self.loss))

    def _said(self) -> object:
        try:
            return self.to_json()
        except PrivetError:  # what has no stored form equals itself alone
            return id(self)

    def __format__(self, spec: str) -> str:
        """As its number where the specification asks for digits, else the text of `str`."""
        try:
            if spec and spec[-1] in "bcdeEfFgGnoxX%":
                return format(self._single(), spec)
            return format(str(self), spec)
        except ValueError:
            raise InvalidParameter(f"{spec!r:.40} is no format for this release; for two digits write .2f") from None

    def __str__(self) -> str:
        bar = "" if self.error is None else f" {self.error}"
        if self.error is not None and getattr(type(self.value), "shows_intervals", False):
            bar = f"\n({confidence_in_words(self.error)})"  # a table, which shows them beside its numbers
        stamp = " [INSECURE: seeded noise, protects nobody]" if self.insecure else ""
        kept = "" if self.stored is None else f" [stored answer: entry {self.stored}]"
        return f"{_shown(self.value, self.error)}{bar}{stamp}{kept}"

    def _repr_html_(self) -> str:
        more: list[tuple[str, object]] = [("mechanism", self.mechanism)] if self.mechanism else []
        more += [] if self.paid is None else [("paid", f"entry {self.paid.get('entry')} of its ledger")]
        more += [] if self.stored is None else [("stored answer", f"read back from entry {self.stored}")]
        more += [("INSECURE", "seeded noise, protects nobody")] if self.insecure else []
        return release_html(self.value, self.error, self.loss, more)


def _shown(value: object, bar: ErrorBar | None) -> str:
    """A value as people read it: the digits of a float that lie far below its bar are noise."""
    if (
        isinstance(value, float)
        and bar is not None
        and isinstance(bar.radius, float)
        and bar.around
        and bar.radius > 0.0
    ):
        digits = max(0, 2 - math.floor(math.log10(bar.radius)))
        return f"{round(value, digits):.15g}" if digits < 12 and abs(value) < 1e15 else str(value)
    return str(value)


def uncovered(value: Any) -> Any:
    """A masked array without what lies under its mask.

    >>> uncovered(np.ma.MaskedArray([1, 2], mask=[False, True])).data.tolist()
    [1, 0]
    """
    mask = np.ma.getmaskarray(value)
    plain = np.array(value.data)
    plain[mask] = None if plain.dtype.kind == "O" else np.zeros((), plain.dtype)[()]
    return np.ma.MaskedArray(plain, mask=mask)


@lru_cache(maxsize=64)
def _form_of(loss: PrivacyLoss) -> Any:
    """The JSON form of a price, which many releases share; nobody changes it."""
    return json.loads(to_json(loss))


def _value(document: object, load: Callable[[Outside], bytes] | None) -> Any:
    if not isinstance(document, dict) or "outside" not in document:
        return read(document)
    named = document["outside"]
    outside = Outside(str(named["kind"]), int(named["size"]), str(named["sha256"]))
    return outside if load is None else unpack(load(outside))
