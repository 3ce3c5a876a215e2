"""The form of what a mechanism gives back, from public facts: what cannot be stored is known before anything is paid."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet._validate import items, set_frozen
from privet.errors import SerialisationError
from privet.mechanisms.stored import storable_kinds, written

_PLAIN = {str, int, float, bool, type(None)}


class Form(ABC):
    """The form of outputs. A mechanism declares it as `form`; laws hold that outputs have it.

    >>> Numbers().refusal() is None, Numbers().holds(3.5), Numbers().holds("text")
    (True, True, False)
    """

    @abstractmethod
    def holds(self, value: object) -> bool:
        """Has this value the form?"""

    def refusal(self) -> str | None:
        """Why outputs of this form could not be stored, in public words; None where they can."""
        return None


@dataclass(frozen=True)
class Numbers(Form):
    """A number, or an array of numbers (or of yes and no) of any shape.

    >>> Numbers().holds(np.zeros(3, dtype=np.float32))
    True
    """

    def holds(self, value: object) -> bool:
        if isinstance(value, np.ndarray):
            return value.dtype.kind in "biuf"
        return isinstance(value, bool | int | float)


@dataclass(frozen=True)
class Texts(Form):
    """A text, or an array of texts; None marks a missing one.

    >>> Texts().holds("ward A")
    True
    """

    def holds(self, value: object) -> bool:
        if isinstance(value, np.ndarray):
            return value.dtype.kind == "U" or all(x is None or isinstance(x, str) for x in value.flat)
        return isinstance(value, str)


@dataclass(frozen=True)
class Dates(Form):
    """Dates and times: an array of `datetime64`, which numpy and every data frame knows.

    >>> Dates().holds(np.array(["2024-05-01"], dtype="datetime64[D]"))
    True
    """

    def holds(self, value: object) -> bool:
        return isinstance(value, np.ndarray) and value.dtype.kind in "mM"


@dataclass(frozen=True)
class OneOf(Form):
    """One of the public alternatives.

    >>> OneOf(("A", "B")).holds("A"), OneOf((object(),)).refusal()
    (True, 'an alternative of type object cannot be stored')
    """

    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        set_frozen(self, values=items("values", self.values))

    def holds(self, value: object) -> bool:
        return any(value is each or (type(value) is type(each) and _same(value, each)) for each in self.values)

    def refusal(self) -> str | None:
        if {type(each) for each in self.values} <= _PLAIN:
            return None
        for each in self.values:
            try:
                written(each)
            except SerialisationError:
                return f"an alternative of type {type(each).__name__} cannot be stored"
        return None


def _same(a: Any, b: Any) -> bool:
    return bool(np.array_equal(a, b)) if isinstance(a, np.ndarray) else bool(a == b)


@dataclass(frozen=True)
class ListOf(Form):
    """A list or tuple, each of whose items has the form `of`.

    >>> ListOf(Numbers()).holds([1, 2.5])
    True
    """

    of: Form

    def holds(self, value: object) -> bool:
        return isinstance(value, list | tuple) and all(map(self.of.holds, value))

    def refusal(self) -> str | None:
        return self.of.refusal()


@dataclass(frozen=True)
class Maybe(Form):
    """The form `of`, or None.

    >>> Maybe(Numbers()).holds(None)
    True
    """

    of: Form

    def holds(self, value: object) -> bool:
        return value is None or self.of.holds(value)

    def refusal(self) -> str | None:
        return self.of.refusal()


@dataclass(frozen=True, eq=False)
class Record(Form):
    """A mapping with these public names, each with a form of its own.

    >>> Record({"choice": OneOf(("A", "B")), "gap": Numbers()}).holds({"choice": "A", "gap": 0.5})
    True
    """

    of: Mapping[Any, Form]

    def holds(self, value: object) -> bool:
        return (
            isinstance(value, dict)
            and value.keys() == self.of.keys()
            and all(form.holds(value[name]) for name, form in self.of.items())
        )

    def refusal(self) -> str | None:
        found = (OneOf(tuple(self.of)).refusal(), *(form.refusal() for form in self.of.values()))
        return next((each for each in found if each is not None), None)


@dataclass(frozen=True)
class Columns(Form):
    """A table: a mapping of names to one-dimensional arrays of one length, of numbers, texts or dates. Missing values are
    masked (`numpy.ma`) or, among texts, None.

    >>> Columns().holds({"ward": np.array(["A", "B"]), "n": np.array([3, 4])})
    True
    """

    def holds(self, value: object) -> bool:
        if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
            return False
        columns = list(value.values())
        plain = all(
            isinstance(each, np.ndarray) and each.ndim == 1 and each.dtype.kind in "biufmMUO" for each in columns
        )
        return plain and len({len(each) for each in columns}) <= 1


@dataclass(frozen=True)
class Kept(Form):
    """A value of a class that is registered with `storable`, by its name.

    >>> Kept("no such kind").refusal()
    "no kind 'no such kind' is registered with storable"
    """

    name: str

    def holds(self, value: object) -> bool:
        return self.name in storable_kinds() and type(value) is storable_kinds()[self.name]

    def refusal(self) -> str | None:
        return None if self.name in storable_kinds() else f"no kind {self.name!r:.60} is registered with storable"


@dataclass(frozen=True)
class Unstorable(Form):
    """Outputs that no ledger can keep, and why: they are refused before anything is paid.

    >>> Unstorable("an open file").refusal()
    'an open file'
    """

    why: str

    def holds(self, value: object) -> bool:
        return True

    def refusal(self) -> str | None:
        return self.why


@dataclass(frozen=True)
class Anything(Form):
    """Outputs of which nothing is declared: whether they can be stored shows when they are drawn, and paid for.

    >>> Anything().refusal() is None
    True
    """

    def holds(self, value: object) -> bool:
        return True
