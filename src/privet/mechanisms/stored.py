"""The stored form of a released value: JSON for what is small, JSON with raw bytes beside it for what is large. No pickle.

What is read back is equal to what was written, bit for bit: a key that comes again gets the same answer.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import numpy as np

from privet._numerics import is_masked
from privet.errors import InvalidParameter, SerialisationError

LARGEST_INLINE = 64 * 1024  # bytes of content that an entry of a ledger holds itself
_MAGIC = b"privet-value/1\n"
_ALIGN = 64  # bytes at whose multiples arrays begin, so that they can be read in place
_NUMBERS = {"bool", "float16", "float32", "float64"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_TEXTS: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "date": (date, date.isoformat, date.fromisoformat),
    "time": (time, time.isoformat, time.fromisoformat),
    "decimal": (Decimal, str, Decimal),
    "fraction": (Fraction, str, Fraction),
}

Put = Callable[[Any], Any]  # keeps bytes, and returns what stands for them in the document
Get = Callable[[Any], Any]
T = TypeVar("T")


class Kind(NamedTuple):
    """A kind of value that is stored as a mapping of arrays.

    >>> Kind("pair", tuple, lambda pair: {}, lambda arrays: ()).name
    'pair'
    """

    name: str
    type: type
    to_arrays: Callable[[Any], Mapping[str, Any]]
    from_arrays: Callable[[dict[str, Any]], Any]


_KINDS: dict[str, Kind] = {}
_KIND_OF: dict[type, Kind] = {}


def storable(name: str) -> Callable[[type[T]], type[T]]:
    """Class decorator: values of this class are stored under `name`, through `to_arrays()`, a mapping of names to arrays
    (or other storable values), and read back with the class method `from_arrays(mapping)`.

    >>> import numpy as np
    >>> @storable("example.line")
    ... class Line:
    ...     def __init__(self, slope):
    ...         self.slope = slope
    ...     def to_arrays(self):
    ...         return {"slope": np.array(self.slope)}
    ...     @classmethod
    ...     def from_arrays(cls, arrays):
    ...         return cls(float(arrays["slope"]))
    >>> unpack(packed(Line(2.5))).slope
    2.5
    """

    def enrol(cls: type[T]) -> type[T]:
        to_arrays, from_arrays = getattr(cls, "to_arrays", None), getattr(cls, "from_arrays", None)
        if not isinstance(name, str) or not name or not callable(to_arrays) or not callable(from_arrays):
            raise InvalidParameter("a storable class has a name, to_arrays() and a class method from_arrays(mapping)")
        known = _KINDS.get(name)
        if known is not None and known.type.__qualname__ != cls.__qualname__:
            raise InvalidParameter(f"the name {name!r} belongs to {known.type.__name__} already")
        _KINDS[name] = _KIND_OF[cls] = Kind(name, cls, to_arrays, from_arrays)
        return cls

    return enrol


def storable_kinds() -> dict[str, type]:
    """The classes that are registered with `storable`, by name.

    >>> isinstance(storable_kinds(), dict)
    True
    """
    return {name: kind.type for name, kind in sorted(_KINDS.items())}


def written(value: object, put: Put | None = None) -> Any:
    """The JSON document of a value; `put` keeps the bytes of arrays, inline as base64 by default.

    >>> written({"day": date(2024, 5, 1), "n": 3})
    {'dict': {'day': {'date': '2024-05-01'}, 'n': 3}}
    """
    put = put or _inline
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64 | np.timedelta64):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.ndarray | np.datetime64 | np.timedelta64):
        return _array(value, put)
    if type(value) in _KIND_OF:
        kind = _KIND_OF[type(value)]
        return {"kind": kind.name, "arrays": written(dict(kind.to_arrays(value)), put)}
    if isinstance(value, tuple | list):
        return {"tuple" if isinstance(value, tuple) else "list": [written(item, put) for item in value]}
    if isinstance(value, dict):
        return _mapping(value, put)
    if type(value) is bytes:
        return {"bytes": base64.b64encode(value).decode()}
    if type(value) is timedelta:
        return {"timedelta": [value.days, value.seconds, value.microseconds]}
    for name, (kind_of, write, _) in _TEXTS.items():
        if type(value) is kind_of:  # a subclass may hold more than its text says
            return {name: write(value)}
    raise SerialisationError(f"a release of type {type(value).__name__} has no JSON form; map it to numbers or arrays")


def _mapping(value: dict[Any, Any], put: Put) -> Any:
    if all(isinstance(key, str) for key in value) and list(value) == sorted(value):
        return {"dict": {key: written(item, put) for key, item in value.items()}}
    return {
        "items": [[written(key), written(item, put)] for key, item in value.items()]
    }  # in their order, which is public


def _array(value: Any, put: Put) -> Any:
    if is_masked(value):
        null = np.ma.getmaskarray(value)
        return {"masked": _array(value.filled(_zero(value.dtype)), put), "null": _array(null, put)}
    array = np.asarray(value)
    shape = list(array.shape)
    if array.dtype.name in _NUMBERS or array.dtype.kind in "mM":
        return {"array": put(_raw(array)), "dtype": _name(array.dtype), "shape": shape}
    if array.dtype.kind == "U" or (array.dtype.kind == "O" and all(type(x) is str or x is None for x in array.flat)):
        texts = [("" if x is None else str(x)).encode("utf-8", "surrogatepass") for x in array.flat]
        ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
        absent = [x is None for x in array.flat]
        kept = {"texts": put(b"".join(texts)), "ends": put(_raw(ends)), "dtype": array.dtype.str, "shape": shape}
        return kept | ({"null": put(_raw(np.array(absent)))} if any(absent) else {})
    if array.dtype.kind == "O":
        return {"objects": [written(item, put) for item in array.flat], "shape": shape}
    raise SerialisationError(f"an array of {array.dtype} has no stored form; use numbers, texts or dates")


def _zero(dtype: Any) -> Any:
    return None if dtype.kind == "O" else np.zeros((), dtype)[()]


def _name(dtype: Any) -> str:
    return str(dtype.name if dtype.kind not in "mM" else np.dtype(dtype).newbyteorder("=").name)


def _raw(array: object) -> Any:
    """The bytes of an array, least significant first."""
    plain = np.ascontiguousarray(array)
    return plain.astype(plain.dtype.newbyteorder("<"), copy=False).reshape(-1).view(np.uint8).data


def _inline(raw: Any) -> str:
    return base64.b64encode(raw).decode()


def _outline(ref: Any) -> Any:
    return base64.b64decode(ref, validate=True)


def read(document: object, get: Get | None = None) -> Any:
    """The value of a document that `written` made; anything else is a `SerialisationError`.

    >>> read(written({"day": date(2024, 5, 1), "n": 3}))
    {'day': datetime.date(2024, 5, 1), 'n': 3}
    """
    try:
        return _read(document, get or _outline)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, binascii.Error) as problem:
        if isinstance(problem, SerialisationError):
            raise
        raise SerialisationError("this is not a value that privet has stored") from None


def _read(value: object, get: Get) -> Any:
    if not isinstance(value, dict):
        return value
    for names, reader in _READERS:
        if names <= value.keys():
            return reader(value, get)
    kind = tuple if "tuple" in value else list
    return kind(_read(item, get) for item in value[kind.__name__])


def _read_array(value: dict[str, Any], get: Get) -> Any:
    name = value["dtype"]
    if name not in _NUMBERS and not name.startswith(("datetime64[", "timedelta64[")):
        raise SerialisationError(f"arrays of {name!r:.40} are not stored by this version of privet")
    dtype = np.dtype(name).newbyteorder("<")
    array = np.frombuffer(get(value["array"]), dtype=dtype).reshape(value["shape"])
    return array.astype(dtype.newbyteorder("="), copy=False)


def _read_texts(value: dict[str, Any], get: Get) -> Any:
    joined, ends = bytes(get(value["texts"])), np.frombuffer(get(value["ends"]), dtype="<i8").tolist()
    texts: list[Any] = [joined[a:b].decode("utf-8", "surrogatepass") for a, b in zip([0, *ends], ends, strict=False)]
    if "null" in value:
        null = np.frombuffer(get(value["null"]), dtype=np.bool_)
        texts = [None if absent else text for text, absent in zip(texts, null, strict=True)]
    dtype = np.dtype(value["dtype"])
    if dtype.kind not in "UO":
        raise SerialisationError("these are not texts")
    return np.array(texts, dtype=dtype).reshape(value["shape"])


def _read_objects(value: dict[str, Any], get: Get) -> Any:
    items = [_read(item, get) for item in value["objects"]]
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array.reshape(value["shape"])


def _read_masked(value: dict[str, Any], get: Get) -> Any:
    return np.ma.MaskedArray(_read(value["masked"], get), mask=_read(value["null"], get))


def _read_kind(value: dict[str, Any], get: Get) -> Any:
    kind = _KINDS.get(value["kind"])
    if kind is None:
        raise SerialisationError(
            f"a value of the kind {value['kind']!r:.60} was stored by a room that is not loaded here; import it first"
        )
    return kind.from_arrays(_read(value["arrays"], get))


_READERS: list[tuple[set[str], Callable[[dict[str, Any], Get], Any]]] = [
    ({"array", "dtype"}, _read_array),
    ({"texts", "ends"}, _read_texts),
    ({"objects", "shape"}, _read_objects),
    ({"masked", "null"}, _read_masked),
    ({"kind", "arrays"}, _read_kind),
    ({"float"}, lambda value, get: float(value["float"])),
    ({"bytes"}, lambda value, get: base64.b64decode(value["bytes"], validate=True)),
    ({"timedelta"}, lambda value, get: timedelta(*value["timedelta"])),
    ({"dict"}, lambda value, get: {key: _read(item, get) for key, item in value["dict"].items()}),
    ({"items"}, lambda value, get: {_read(key, get): _read(item, get) for key, item in value["items"]}),
    *(({name}, lambda value, get, name=name, back=back: back(value[name])) for name, (_, _, back) in _TEXTS.items()),
]


def arrays_of(value: object) -> dict[str, Any] | None:
    """A mapping, or what a registered kind is stored as; None for anything else.

    >>> arrays_of({"n": 3}), arrays_of(3)
    ({'n': 3}, None)
    """
    if type(value) in _KIND_OF:
        return dict(_KIND_OF[type(value)].to_arrays(value))
    return dict(value) if isinstance(value, dict) else None


def size_of(value: object) -> int:
    """About how many bytes a value has, without writing it.

    >>> size_of(np.zeros(1000))
    8000
    """
    if isinstance(value, np.ndarray):
        return int(value.nbytes) if value.dtype.kind != "O" else sum(map(size_of, value.flat))
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, dict):
        return sum(size_of(key) + size_of(item) for key, item in value.items())
    if isinstance(value, tuple | list):
        return sum(map(size_of, value))
    if type(value) in _KIND_OF:
        return size_of(dict(_KIND_OF[type(value)].to_arrays(value)))
    return 8


def kind_of(value: object) -> str:
    """The kind of a value, in a few public words.

    >>> kind_of(np.zeros((2, 3), dtype=np.float32)), kind_of({"a": 1})
    ('float32 array (2, 3)', 'mapping of 1')
    """
    if type(value) in _KIND_OF:
        return _KIND_OF[type(value)].name
    if isinstance(value, np.ndarray):
        return f"{'text' if value.dtype.kind == 'U' else value.dtype.name} array {value.shape}"
    return f"mapping of {len(value)}" if isinstance(value, dict) else type(value).__name__


def packed(value: object) -> bytes:
    """A value as bytes: a JSON document, then the bytes of its arrays where the document says.

    >>> unpack(packed(np.arange(3))).tolist()
    [0, 1, 2]
    """
    blocks: list[Any] = []
    place = 0

    def put(raw: Any) -> list[int]:
        nonlocal place
        start, size = place, len(raw)
        blocks.append(raw)
        place = -(-(start + size) // _ALIGN) * _ALIGN
        blocks.append(bytes(place - start - size))
        return [start, size]

    document = json.dumps(written(value, put), allow_nan=False, separators=(",", ":")).encode()
    head = _MAGIC + b"%d\n" % len(document) + document
    return b"".join([head, bytes(-len(head) % _ALIGN), *blocks])


def unpack(raw: Any) -> Any:
    """The value of bytes that `packed` made. Arrays share their memory.

    >>> unpack(packed(["a", 1.5]))
    ['a', 1.5]
    """
    view = memoryview(raw)
    start = bytes(view[: len(_MAGIC) + 20])
    length, _, _ = start[len(_MAGIC) :].partition(b"\n")
    if not start.startswith(_MAGIC) or not length.isdigit():
        raise SerialisationError("these bytes are not a value that privet has stored")
    head = len(_MAGIC) + len(length) + 1
    body = view[-(-(head + int(length)) // _ALIGN) * _ALIGN :]
    try:
        document = json.loads(bytes(view[head : head + int(length)]))
    except ValueError:
        raise SerialisationError("these bytes are not a value that privet has stored") from None
    return read(document, lambda ref: body[ref[0] : ref[0] + ref[1]])


class Outside(NamedTuple):
    """A value that lies outside of the entry that names it: what it is, its size in bytes and its SHA-256.

    >>> Outside("float64 array (1000000,)", 8000064, "ab" * 32)
    <float64 array (1000000,), 8,000,064 bytes, kept outside: abababababab...>
    """

    kind: str
    size: int
    sha256: str

    @staticmethod
    def of(value: object, raw: bytes) -> "Outside":
        """The mark that stands for these bytes."""
        return Outside(kind_of(value), len(raw), hashlib.sha256(raw).hexdigest())

    def holds(self, raw: Any) -> bool:
        """Are these the bytes?"""
        return len(raw) == self.size and hashlib.sha256(raw).hexdigest() == self.sha256

    def __repr__(self) -> str:
        return f"<{self.kind}, {self.size:,} bytes, kept outside: {self.sha256[:12]}...>"
