"""Reading one output: whatever a mechanism returns, as numbers by their place, keyed hashes of texts, rows, and a form.

An audit compares outputs by what is noted here, so that a part which is overlooked could hide a leak. A *place* is the
path to a part, such as `['b'][0].real`; a *form* is the types and shape of an output, without its values.
"""

import dataclasses
import enum
import itertools
import json
import math
import re
import struct
import threading
import weakref
from collections import ChainMap, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence as SequenceABC, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from privet._numerics import Array
from privet.audit.search.rows import Marks, rows_of
from privet.audit.search.unwrap import MOST_LEAVES, OUTSIDE, WAYS, about, attributes, frame, is_function, is_table

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_DEEPEST = 64  # levels of nesting: an end for what holds itself
CUT = ", not read to its end"  # of the form of an output that is too long or too deep
SPELLING = " spelling"  # the characters of a text that is a code
_LONG_NUMBER = 15  # characters of a number in a text: a double keeps no more digits
_CODE = 16  # characters of a text without spaces that counts as a code
_MOST_CHARACTERS = 1_024  # of a code that are read one by one
_USUAL_NAN = 0x7FF8000000000000  # the bits of the NaN that computations give
# They say nothing but their address: no reason to call an output unreadable.
_INERT = (type(threading.Lock()), type(threading.RLock()), weakref.ReferenceType)
_LONG_FORM = 160  # characters
_EXACT = 2**53  # doubles hold every whole number up to here
_EPOCH = datetime(1970, 1, 1)


@dataclasses.dataclass(eq=False)
class Reading:
    """The content of one output: arrays of numbers and single numbers by their place, marks of texts, and its form.

    `skeletons` are marks of texts whose numbers were left out: where even these differ in nearly every run, the texts
    cannot be compared. `opaque` names the places of what cannot be taken apart.
    """

    form: str = ""
    numbers: dict[str, Array] = dataclasses.field(default_factory=dict)
    single: dict[str, float] = dataclasses.field(default_factory=dict)
    marks: dict[str, float] = dataclasses.field(default_factory=dict)
    skeletons: dict[str, float] = dataclasses.field(default_factory=dict)
    rows: Array | None = None
    opaque: set[str] = dataclasses.field(default_factory=set)


def read(output: object, marks: Marks, *, wants_rows: bool = True) -> Reading:
    """Take an output apart.

    >>> found = read({"a": 1, "b": [2.0, 3.0]}, Marks(b"key"))
    >>> found.form, found.single, found.numbers["['b']"].tolist()
    ("['a', 'b']dict[int, list[2 float]]", {"['a']": 1.0, ' keys': 2.0}, [2.0, 3.0])
    """
    reader = _Reader(marks)
    form = reader.look(output, "", 0)
    found = reader.found
    found.form = form if len(form) <= _LONG_FORM else f"{form[:_LONG_FORM]}... #{int(marks.of(form)):x}"
    found.form += CUT if reader.cut else ""
    if "" in found.single:  # a single number is an array of one
        found.numbers[""] = np.array([found.single.pop("")])
    if wants_rows:
        found.rows = rows_of(output, marks, reader.table)
    return found


class _Reader:
    def __init__(self, marks: Marks) -> None:
        self.found = Reading()
        self._marks = marks
        self._left = MOST_LEAVES  # parts that may still be looked at
        self._open: set[int] = set()  # containers that are being looked at: a cycle is not followed
        self.cut = False
        self._besides = 0  # how deep in attributes of something that was read already; see `_beside`
        self.table: Any = None  # the output itself as columns, where it is a table

    def look(self, value: Any, place: str, depth: int) -> str:
        """Note the numbers and marks of a part; its form is the answer."""
        self._left -= 1
        if self._left < 0 or depth > _DEEPEST:
            self.cut = True
            self._note_text(place, "beyond what is taken apart")
            return "..."
        kind: type = type(value)
        # a proxy answers for what it stands for by its `__class__`
        handler = _handler(kind) if value.__class__ is kind else _handler(value.__class__)
        if handler in _LEAVES and not _carries(kind):  # nothing inside: no cycle to watch for
            return handler(self, value, place, depth)
        if id(value) in self._open:
            return "itself again"
        self._open.add(id(value))
        if handler is None:
            form = self._other(value, place, depth)
        else:
            form = handler(self, value, place, depth)
            form += self._beside(attributes(value), place, depth) if _carries(kind) else ""
        self._open.discard(id(value))
        return form

    def _beside(self, held: Mapping[str, Any], place: str, depth: int) -> str:
        """Note the attributes of an object whose value is read elsewhere.

        What of them cannot be read is no reason to refuse the rest: no skeletons and no opaque places are noted meanwhile.
        """
        if not held:
            return ""
        self._besides += 1
        form = self.look(dict(held), place + " beside", depth + 1)
        self._besides -= 1
        return " beside " + form

    # --- numbers ----------------------------------------------------------------------------------------------------

    def number(self, value: Any, place: str, depth: int) -> str:
        kind = type(value).__name__
        if isinstance(value, int) and abs(value) > _EXACT:
            self.whole(int(value), place)
        else:
            self.found.single[place] = float(value)
            self._nan_bits(self.found.single[place], place)
        return kind

    def _nan_bits(self, value: float, place: str) -> None:
        """Note the bits of an unusual NaN: they can carry a message."""
        if value != value and (bits := struct.unpack("<Q", struct.pack("<d", value))[0]) != _USUAL_NAN:
            self.found.single[place + " bits of nan"] = float(bits % _EXACT)

    def whole(self, value: int, place: str) -> None:
        """Note an integer too large for a double to hold: its low bits, and the size of one beyond all doubles, are noted
        as numbers of their own.
        """
        try:
            self.found.single[place] = float(value)
        except OverflowError:
            self.found.single[place] = 1e308 if value > 0 else -1e308
            self.found.single[place + " bits"] = float(value.bit_length())
        self.found.single[place + " low"] = float(value % _EXACT)
        self.found.marks[place] = self._marks.of(str(value) if value.bit_length() < 10_000 else hex(value))

    def scalar(self, value: np.generic, place: str, depth: int) -> str:
        kind = value.dtype.kind
        if kind in "USO":
            return self.look(value.item(), place, depth + 1)
        if kind in "iub" and abs(int(value)) > _EXACT:
            self.whole(int(value), place)
            return type(value).__name__
        if kind in "biuf":
            self.found.single[place] = float(value)
            self._nan_bits(float(value), place)
            return type(value).__name__
        return self.array(np.asarray([value]), place, depth) + " of one"

    def complex(self, value: complex, place: str, depth: int) -> str:
        self.found.single[place + ".real"], self.found.single[place + ".imag"] = value.real, value.imag
        return "complex"

    def decimal(self, value: Decimal, place: str, depth: int) -> str:
        self.found.single[place] = float(value) if not value.is_snan() else math.nan
        exponent = value.as_tuple().exponent
        if isinstance(exponent, int):
            self.found.single[place + " exponent"] = float(exponent)
        self.found.marks[place] = self._marks.of(str(value))
        return "Decimal"

    def fraction(self, value: Fraction, place: str, depth: int) -> str:
        self.number(value.numerator, place + " numerator", depth)
        self.number(value.denominator, place + " denominator", depth)
        try:
            self.found.single[place] = float(value)
        except OverflowError:
            self.found.single[place] = 1e308 if value > 0 else -1e308
        return "Fraction"

    def moment(self, value: date | datetime | time | timedelta, place: str, depth: int) -> str:
        zone = getattr(value, "tzinfo", None)
        if isinstance(value, datetime):
            plain = value.replace(tzinfo=None) - _EPOCH
        elif isinstance(value, date):
            plain = timedelta(days=value.toordinal())
        elif isinstance(value, time):
            plain = timedelta(
                hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond
            )
        else:
            plain = value
        self.found.single[place] = float(plain / timedelta(microseconds=1))
        for finer in ("fold", "nanosecond"):
            if getattr(value, finer, 0):
                self.found.single[f"{place} {finer}"] = float(getattr(value, finer))
        return type(value).__name__ + ("" if zone is None else f" in {zone}")

    def array(self, value: np.ndarray[Any, Any], place: str, depth: int) -> str:
        form = f"{_dtype_name(value.dtype)}{value.shape}"
        if isinstance(value, np.ma.MaskedArray):
            # who gets the array gets what lies under its mask as well
            self.look(np.ma.getmaskarray(value), place + ".mask", depth + 1)
            self.look(np.asarray(value.data), place, depth + 1)
            self.look(np.asarray(value.fill_value).reshape(-1), place + ".fill", depth + 1)
            return "masked " + form
        if value.dtype.names:
            parts = [self.look(value[name], f"{place}.{name}", depth + 1) for name in value.dtype.names]
            return f"structured{value.shape}{parts}"
        if value.dtype.kind in "biuf":
            flat = value.reshape(-1)
            self.found.numbers[place] = flat.astype(np.float64)
            if value.dtype.kind in "iu" and value.dtype.itemsize == 8 and beyond_doubles(flat):
                self.found.numbers[place + " low"] = (flat & (_EXACT - 1)).astype(np.float64)
            elif value.dtype.itemsize > 8 and value.dtype.kind == "f":
                with np.errstate(all="ignore"):
                    self.found.numbers[place + " low"] = (flat - flat.astype(np.float64)).astype(np.float64)
            if value.dtype.kind == "f" and (odd := odd_nans(self.found.numbers[place])) is not None:
                self.found.numbers[place + " bits of nan"] = odd
            return form
        if value.dtype.kind == "c":
            self.array(value.real, place + ".real", depth)
            self.array(value.imag, place + ".imag", depth)
            return form
        if value.dtype.kind in "mM":
            flat = value.reshape(-1)
            known, whole = ~np.isnat(flat), flat.astype(np.int64)
            self.found.numbers[place] = np.where(known, whole.astype(np.float64), np.nan)
            if beyond_doubles(whole[known]):
                self.found.numbers[place + " low"] = np.where(known, (whole & (_EXACT - 1)).astype(np.float64), np.nan)
            return form
        return f"{value.dtype.kind}{value.shape}" + self.look(value.reshape(-1).tolist(), place, depth + 1)

    # --- texts ------------------------------------------------------------------------------------------------------

    def text(self, value: str, place: str, depth: int) -> str:
        value = str(value)
        if value[:1] in "{[" and value[-1:] in "}]":
            try:
                inner = json.loads(value)
            except (ValueError, RecursionError):
                pass
            else:
                return "json " + self.look(inner, place, depth + 1)
        numbers = _NUMBER.findall(value)
        if (len(value) >= _CODE and not any(map(str.isspace, value))) or any(len(n) > _LONG_NUMBER for n in numbers):
            # perhaps a string of bits or of labels: each character is a number of its own
            letters = np.frombuffer(value[:_MOST_CHARACTERS].encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
            self.found.numbers[place + SPELLING] = letters.astype(np.float64)
        self.found.single[place + " letters"] = float(len(value))
        if numbers:
            whole = np.array([float(number) for number in numbers])
            self.found.numbers[place + " numbers"] = whole
            self.found.single[place + " decimals"] = float(max(len(number.partition(".")[2]) for number in numbers))
        self.found.marks[place] = self._marks.of(value)
        if not self._besides:  # see `_beside`
            self.found.skeletons[place] = self._marks.of(_NUMBER.sub("#", value))
        return "str"

    def raw(self, value: bytes | bytearray | memoryview, place: str, depth: int) -> str:
        data = bytes(value)
        self.found.numbers[place] = np.frombuffer(data, dtype=np.uint8).astype(np.float64)
        self.found.marks[place] = self._marks.of(data)
        return type(value).__name__

    # --- containers -------------------------------------------------------------------------------------------------

    def mapping(self, value: Mapping[Any, Any], place: str, depth: int) -> str:
        keys = list(value)
        named = [(f"{place}[{_short(key)}]", value[key]) for key in keys]
        forms = [self.look(part, at, depth + 1) for at, part in named]
        self.found.single[place + " keys"] = float(len(keys))
        # A few names are fields. Many keys, or others than texts, may be data: in the form they would make every output one
        # of its own kind.
        if len(keys) > 4 or any(not isinstance(key, str) for key in keys):
            self.found.marks[place + " order"] = self._marks.of(repr([_short(key) for key in keys]))
            return f"{type(value).__name__}[{', '.join(sorted(set(forms)))}]"
        return f"{[_short_text(key) for key in keys]}{type(value).__name__}[{', '.join(forms)}]"

    def members(self, value: Set[Any], place: str, depth: int) -> str:
        """A set has no order: each member is a name that is there or not."""
        kinds = set()
        for member in itertools.islice(value, max(self._left, 0)):
            kinds.add(type(member).__name__)
            self.found.single[f"{place}{{{_short(member)}}}"] = 1.0
            self._left -= 1
        self.found.single[place + " members"] = float(len(value))
        numbers = [float(m) for m in value if isinstance(m, int | float) and not isinstance(m, bool) and abs(m) < 1e300]
        if numbers and len(numbers) == len(value):
            self.found.numbers[place] = np.sort(np.array(numbers))
        return f"{type(value).__name__}[{', '.join(sorted(kinds))}]"

    def items(self, value: SequenceABC[Any], place: str, depth: int) -> str:
        kind = type(value).__name__
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            parts = [
                self.look(part, f"{place}.{name}", depth + 1) for name, part in zip(value._fields, value, strict=True)
            ]
            return f"{kind}{list(value._fields)}[{', '.join(parts)}]"
        kinds = {type(item) for item in value}
        if kinds and kinds <= _PLAIN and not any(isinstance(v, int) and abs(v) > _EXACT for v in value):
            self.found.numbers[place] = np.array(value, dtype=np.float64)
            if len(kinds) > 1:
                self.found.marks[place + " types"] = self._marks.of(str([type(item).__name__ for item in value]))
                return f"{kind}[{len(value)} {'|'.join(sorted(each.__name__ for each in kinds))}]"
            return f"{kind}[{len(value)} {next(iter(kinds)).__name__}]"
        self.found.single[place + " items"] = float(len(value))
        if kinds == {str} and len(value) > 1:
            self.words(list(value), place)
        # pairs of a name and a value are places by name, as in a mapping
        pairs = len(value) > 0 and all(isinstance(item, tuple | list) and len(item) == 2 for item in value)
        if pairs and all(isinstance(item[0], str) for item in value):
            forms = [self.look(item[1], f"{place}[{_short(item[0])}]", depth + 1) for item in value]
            self.found.marks[place + " order"] = self._marks.of(repr([item[0] for item in value]))
        else:
            forms = [self.look(item, f"{place}[{j}]", depth + 1) for j, item in enumerate(value)]
        if len(set(forms)) == 1 and len(forms) > 1:
            return f"{kind}[{len(forms)} {forms[0]}]"
        return f"{kind}[{', '.join(forms)}]"

    def words(self, value: list[str], place: str) -> None:
        """Texts in a list as a bag: how often each one is there."""
        for word in value:
            name = f"{place}{{{_short(word)}}}"
            self.found.single[name] = self.found.single.get(name, 0.0) + 1.0

    def nothing(self, value: None, place: str, depth: int) -> str:
        self.found.marks[place + " none"] = 1.0
        return "NoneType None"

    def name(self, value: enum.Enum, place: str, depth: int) -> str:
        self.found.marks[place] = self._marks.of(value.name)
        return f"{type(value).__name__}"

    # --- everything else, by what it can do -------------------------------------------------------------------------

    def _other(self, value: Any, place: str, depth: int) -> str:
        kind = type(value).__name__
        if is_table(value):
            try:
                inner = frame(value)
            except Exception:  # a table that is not for reading
                inner = None
            if inner is not None:
                self.table = inner if depth == 0 else self.table
                form = f"{kind}[{self.look(inner, place, depth + 1)}]"
                return form + self._beside(about(value), place, depth)
        if hasattr(value, "value") and hasattr(value, "loss") and hasattr(value, "provenance"):
            # a protected value: its price and name are public, its error bar may have been computed from it
            bar = value.error
            if isinstance(getattr(bar, "radius", None), float) and bar.below is bar.bias is None:
                self.found.single[place + ".error"] = bar.radius
            elif hasattr(bar, "radius"):  # by cell, by column or by side
                form = self.look(bar.to_dict(), place + ".error", depth + 1)
                return f"{self.look(value.value, place, depth + 1)}{form}"
            return self.look(value.value, place, depth + 1)
        for way in WAYS:
            try:
                inner = way(value)
            except Exception:  # an object that cannot be looked at this way
                inner = None
            if inner is not None:
                form = f"{kind}[{self.look(inner, place, depth + 1)}]"
                if way in OUTSIDE:
                    shown = inner if isinstance(inner, dict) else {}
                    held = {name: part for name, part in attributes(value).items() if name not in shown}
                    form += self._beside(held, place, depth)
                return form
        if isinstance(value, type) or is_function(value):
            self._note_text(place, getattr(value, "__qualname__", kind))
            return kind
        try:
            text = repr(value)
        except Exception:
            text = kind
        self._note_text(place, without_addresses(text) if isinstance(value, _INERT) else text)
        bare = _ADDRESS.search(text) or text == kind  # a repr that shows nothing of what is inside
        if bare and not self._besides and not isinstance(value, _INERT):
            self.found.opaque.add(place)
        return kind

    def _note_text(self, place: str, text: str) -> None:
        """Note by one text, its numbers included, a part that is not taken apart."""
        self.found.marks[place] = self.found.skeletons[place] = self._marks.of(text)


_PLAIN = {bool, int, float, np.float64, np.int64, np.bool_, np.float32, np.int32}
_HANDLERS: tuple[tuple[Any, Callable[..., str]], ...] = (
    (enum.Enum, _Reader.name),
    (np.generic, _Reader.scalar),
    ((bool, int, float), _Reader.number),
    (str, _Reader.text),
    (type(None), _Reader.nothing),
    (np.ndarray, _Reader.array),
    ((bytes, bytearray, memoryview), _Reader.raw),
    (complex, _Reader.complex),
    (Decimal, _Reader.decimal),
    (Fraction, _Reader.fraction),
    ((date, time, timedelta), _Reader.moment),
    (Mapping, _Reader.mapping),
    (Set, _Reader.members),
    ((tuple, list, range), _Reader.items),
)


_LEAVES = frozenset(
    {_Reader.name, _Reader.scalar, _Reader.number, _Reader.text, _Reader.nothing, _Reader.raw, _Reader.complex}
    | {_Reader.decimal, _Reader.fraction, _Reader.moment}
)


@lru_cache(maxsize=4_096)
def _carries(kind: type) -> bool:
    """True if a type of number, text or container has room for attributes: a class that was derived may hide some
    there, and a few of Python's own answer to more than they hold."""
    if issubclass(kind, ChainMap | defaultdict | deque):
        return True
    if kind.__module__ in ("builtins", "numpy", "numpy.ma", "collections") or issubclass(
        kind, enum.Enum | np.ma.MaskedArray
    ):
        return False
    slots = any(cls.__dict__.get("__slots__") for cls in kind.__mro__ if cls.__module__ not in _LIBRARY)
    return kind.__module__ not in _LIBRARY and bool(kind.__dictoffset__ or slots)


_LIBRARY = ("builtins", "fractions", "decimal", "_decimal", "datetime", "numbers", "abc", "typing", "collections.abc")


@lru_cache(maxsize=4_096)
def _handler(kind: type) -> Callable[..., str] | None:
    """The reader of values of a type, where there is one."""
    return next((handler for kinds, handler in _HANDLERS if issubclass(kind, kinds)), None)


_dtype_name = lru_cache(maxsize=256)(str)  # numpy spells a name out anew every time


def beyond_doubles(whole: Array) -> bool:
    """True if 64-bit integers are too large for doubles to tell apart.

    >>> beyond_doubles(np.array([1, 2**60]))
    True
    """
    return whole.size > 0 and (int(whole.max()) > _EXACT or int(whole.min()) < -_EXACT)


def odd_nans(numbers: Array) -> Array | None:
    """The bits of those NaN that are not the usual one, as numbers; None where there are none.

    >>> odd_nans(np.array([1.0, np.nan])) is None
    True
    """
    missing = np.isnan(numbers)
    if not missing.any():
        return None
    bits = np.ascontiguousarray(numbers).view(np.uint64)
    odd = missing & (bits != _USUAL_NAN)
    return np.where(odd, (bits % _EXACT).astype(np.float64), 0.0) if odd.any() else None


def without_addresses(text: str) -> str:
    """A text without the addresses of objects in memory, which differ from run to run and mean nothing.

    >>> without_addresses("<object object at 0x7f00>")
    '<object object>'
    """
    return _ADDRESS.sub("", text)


def _short(key: object) -> str:
    return _short_repr(key) if type(key) is str else _cut(key)


def _cut(key: object) -> str:
    text = repr(key)
    return text if len(text) <= 60 else text[:60] + "..."


_short_repr = lru_cache(maxsize=4_096)(_cut)  # names come again in every run


def _short_text(key: str) -> str:
    return key if len(key) <= 60 else key[:60] + "..."
