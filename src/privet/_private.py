"""A value that must not leave: what a custodian may look at, and nothing may print, store or compare by accident."""

from typing import Generic, NoReturn, TypeVar, final

from privet.errors import InvalidData, SerialisationError

T = TypeVar("T")

_SHOWN = "Private(...)"


@final
class Private(Generic[T]):
    """A holder of one unprotected value, which comes out as `.exact_value` and in no other way.

    It shows nothing in `repr`, `str`, `format` or a traceback; it has no JSON form and no pickle; a copy is the holder
    itself. It equals nothing but itself and hashes by identity: a comparison would answer questions about the value. It
    is neither true nor false, and has no length.

    **Guarantee:** none: the value is exact. Whoever writes `exact_value` has taken it out.

    >>> total = Private(1234.5)
    >>> total, f"{total}", total == Private(1234.5)
    (Private(...), 'Private(...)', False)
    >>> total.exact_value
    1234.5
    """

    __slots__ = ("__held", "__weakref__")

    def __init__(self, value: T) -> None:
        object.__setattr__(self, "_Private__held", value)

    @property
    def exact_value(self) -> T:
        """The value, unprotected: for the custodian's eyes, not releasable."""
        held: T = object.__getattribute__(self, "_Private__held")
        return held

    def __repr__(self) -> str:
        return _SHOWN

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return _SHOWN

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a private value cannot be changed; make another one")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a private value cannot be changed; make another one")

    def __bool__(self) -> NoReturn:
        raise InvalidData("a private value is neither true nor false; take it out with .exact_value if you may")

    def __copy__(self) -> "Private[T]":
        return self

    def __deepcopy__(self, memo: object) -> "Private[T]":
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise SerialisationError("a private value is not pickled, stored or sent; release it through a mechanism")

    __reduce__ = __reduce_ex__  # type: ignore[assignment]

    def __getstate__(self) -> NoReturn:
        raise SerialisationError("a private value is not pickled, stored or sent; release it through a mechanism")

    def __sizeof__(self) -> int:
        return 64  # whatever it holds
