"""Combinations of values that cannot occur, as their custodian knows without looking at the data."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet._validate import items, set_frozen
from privet.errors import InvalidParameter
from privet.synth.graph import Clique
from privet.tables import Category, Coding

_MOST = 2**24  # cells of the table of one constraint, which is written out: 16 MB; memory and time only


class Constraint(ABC):
    """A public rule about some columns: no row of a model breaks it.

    >>> issubclass(Forbidden, Constraint)
    True
    """

    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns that it is about."""

    @abstractmethod
    def _mask(self, coding: Coding, places: tuple[int, ...]) -> Array:
        """Which combinations may occur, with an axis for each of `columns`."""

    def mask(self, coding: Coding) -> tuple[Clique, Array]:
        """The clique, in increasing order, and the cells of it that may have rows."""
        names = self.columns()
        unknown = [each for each in names if each not in coding.names]
        if unknown or len(set(names)) != len(names):
            wrong = f"{', '.join(map(repr, unknown))} is none" if unknown else "one is named twice"
            raise InvalidParameter(f"a constraint names columns of the table, each once; {wrong}")
        places = tuple(coding.names.index(each) for each in names)
        if np.prod([float(coding.sizes[i]) for i in places]) > _MOST:
            raise InvalidParameter(f"a constraint looks at every combination of its columns: at most {_MOST:,}")
        order = sorted(range(len(places)), key=lambda i: places[i])
        mask = self._mask(coding, places).transpose(order)
        if not mask.any():
            raise InvalidParameter(f"this constraint on {', '.join(names)} leaves nothing that may occur")
        return tuple(sorted(places)), mask


@final
@dataclass(frozen=True)
class Forbidden(Constraint):
    """Values of some columns that never come together, by their codes.

    >>> from privet.tables import Bool
    >>> coding = Coding.of({"male": Bool(), "pregnant": Bool()})
    >>> Forbidden(("male", "pregnant"), [(1, 1)]).mask(coding)[1].tolist()
    [[True, True], [True, False]]
    """

    names: tuple[str, ...]
    codes: Any

    def __post_init__(self) -> None:
        set_frozen(self, names=tuple(items("names", self.names)))
        set_frozen(self, codes=tuple(tuple(int(each) for each in row) for row in items("codes", self.codes)))
        if any(len(row) != len(self.names) for row in self.codes):
            raise InvalidParameter("what is forbidden has one code for each of its columns")

    def columns(self) -> tuple[str, ...]:
        return self.names

    def _mask(self, coding: Coding, places: tuple[int, ...]) -> Array:
        mask = np.ones([coding.sizes[i] for i in places], dtype=bool)
        for row in self.codes:
            if any(not 0 <= code < coding.sizes[i] for code, i in zip(row, places, strict=True)):
                raise InvalidParameter("what is forbidden must be codes of its columns")
            mask[row] = False
        return mask


@final
@dataclass(frozen=True)
class AtMost(Constraint):
    """One column of numbers or days that is never above another: bins that can hold such a pair may occur, and so may
    missing values.

    >>> from privet.tables import Int
    >>> AtMost("first", "last").mask(Coding.of({"first": Int(0, 1), "last": Int(0, 1)}))[1].tolist()
    [[True, True], [False, True]]
    """

    low: str
    high: str

    def columns(self) -> tuple[str, ...]:
        return self.low, self.high

    def _mask(self, coding: Coding, places: tuple[int, ...]) -> Array:
        least, most = coding.bin_ends(places[0])[0], coding.bin_ends(places[1])[1]
        mask = np.ones([coding.sizes[i] for i in places], dtype=bool)
        mask[: len(least), : len(most)] = least[:, None] <= most[None, :]
        return mask


@final
@dataclass(frozen=True)
class Derived(Constraint):
    """A column whose value follows from others: `rule` maps codes of `given` to the code of `column`.

    >>> from privet.tables import Int
    >>> adult = Derived("adult", ("age",), {(0,): 0, (1,): 1})
    >>> adult.mask(Coding.of({"age": Int(0, 1), "adult": Int(0, 1)}))[1].tolist()
    [[True, False], [False, True]]
    """

    column: str
    given: tuple[str, ...]
    rule: Any

    def __post_init__(self) -> None:
        set_frozen(self, given=tuple(items("given", self.given)))
        listed: Iterable[Any] = self.rule.items() if isinstance(self.rule, dict) else self.rule
        set_frozen(self, rule=tuple(sorted((tuple(map(int, key)), int(code)) for key, code in listed)))

    def columns(self) -> tuple[str, ...]:
        return (*self.given, self.column)

    def _mask(self, coding: Coding, places: tuple[int, ...]) -> Array:
        shape = [coding.sizes[i] for i in places]
        mask = np.zeros(shape, dtype=bool)
        for key, code in self.rule:
            if len(key) != len(self.given) or any(not 0 <= c < n for c, n in zip((*key, code), shape, strict=True)):
                raise InvalidParameter("a rule maps codes of the given columns to a code of the derived one")
            mask[(*key, code)] = True
        if not np.all(mask.any(axis=-1)):
            raise InvalidParameter("a rule must say what follows from every combination of the given columns")
        return mask


def code_of(coding: Coding, name: str, value: Any) -> int:
    """The code of a category's value, for constraints.

    >>> code_of(Coding.of({"ward": Category(["A", "B"])}), "ward", "B")
    1
    """
    column = coding.columns[name]
    if not isinstance(column, Category):
        raise InvalidParameter(f"column {name!r} has no list of values")
    return column.values.index(column.read(value))
