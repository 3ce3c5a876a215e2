"""The answer to a query: a table with a row for each group, and an interval for every number in it."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np

from privet._markup import grid, note, told, with_ends
from privet._numerics import Array
from privet.errors import InvalidParameter, UnknownName
from privet.mechanisms import storable
from privet.queries.other_names import no_such_name

_SHOWN = 20  # rows of an answer that a screen shows


@final
@storable("queries.answer")
@dataclass(frozen=True, eq=False)
class Answer:
    """Groups, values, and the ends of the interval of every value. `answer["n"]` is a column, `answer.interval("n")` its
    ends; a query without groups has one row. `notes` say what a column is that has no interval, wherever it is shown.

    >>> answer = Answer({}, {"n": np.array([99])}, {"n": np.array([84.0])}, {"n": np.array([114.0])}, 0.95)
    >>> answer["n"].tolist(), [end.tolist() for end in answer.interval("n")]
    ([99], [[84.0], [114.0]])
    """

    shows_intervals: ClassVar[bool] = True  # beside its numbers, in text

    keys: dict[str, Array]
    values: dict[str, Array]
    lower: dict[str, Array]
    upper: dict[str, Array]
    confidence: float = 0.95
    notes: dict[str, str] = field(default_factory=dict)
    labels: dict[str, Array] = field(default_factory=dict)  # of bins, whose keys are numbers: what people read

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # libraries ask for these
            raise AttributeError(name)
        if name in {**vars(self).get("values", {}), **vars(self).get("keys", {})}:
            raise UnknownName(f"Answer has no {name!r:.60}: a column is taken with answer[{name!r}]")
        raise no_such_name(self, name)

    def __getitem__(self, name: str) -> Array:
        found = self.values.get(name, self.keys.get(name))
        if found is None:
            raise InvalidParameter(
                f"the answer has no column {name!r:.60}; it has {', '.join([*self.keys, *self.values])}"
            )
        return found

    def interval(self, name: str) -> tuple[Array, Array]:
        """Both ends of the interval of every value in a column."""
        if name in self.notes:
            raise InvalidParameter(f"{name!r:.60} is a {self.notes[name]}")
        if name not in self.lower:
            raise InvalidParameter(f"there is no interval for {name!r:.60}; there are some for {', '.join(self.lower)}")
        return self.lower[name], self.upper[name]

    def __len__(self) -> int:
        return len(next(iter({**self.keys, **self.values}.values())))

    def columns(self) -> dict[str, Any]:
        """Columns of one length: keys, values, and beside each value `<name>_low` and `<name>_high`, or `<name>_note` where
        it has no interval."""
        made: dict[str, Any] = self._shown_keys()
        for name, column in self.values.items():
            made[name] = column
            if name in self.lower:
                made[f"{name}_low"], made[f"{name}_high"] = self.lower[name], self.upper[name]
            if name in self.notes:
                made[f"{name}_note"] = np.full(len(self), self.notes[name])
        return made

    def _shown_keys(self) -> dict[str, Array]:
        return {name: self.labels.get(name, column) for name, column in self.keys.items()}

    def wide(self, column: str, of: str | None = None) -> "Answer":
        """The answer with a column for each value of a key, as a crosstab is read: `answer.wide("sex")`. Where there are
        several numbers, `of` says which of them.

        >>> keys = {"ward": np.array(["A", "A", "B", "B"]), "sex": np.array(["f", "m", "f", "m"])}
        >>> print(Answer(keys, {"n": np.array([1, 2, 3, 4])}, {}, {}).wide("sex"))
        ward  f  m
           A  1  2
           B  3  4
        """
        if column not in self.keys:
            raise InvalidParameter(f"the answer has no key {column!r:.60}; it has {', '.join(self.keys) or 'none'}")
        name = next(iter(self.values)) if of is None and len(self.values) == 1 else of
        if name is None or name not in self.values:
            raise InvalidParameter(f"which number? Give of=, one of {', '.join(self.values)}")
        rest = [each for each in self.keys if each != column]
        rows = list(dict.fromkeys(zip(*(self.keys[each].tolist() for each in rest), strict=True))) if rest else [()]
        held = zip(*(self.keys[each].tolist() for each in rest), strict=True) if rest else [()] * len(self)
        places = {(row, key): i for i, (row, key) in enumerate(zip(held, self.keys[column].tolist(), strict=True))}
        titles = {key: _told_key(self._shown_keys()[column][i]) for (_, key), i in places.items()}
        if len(places) != len(rows) * len(titles) or len(places) != len(self):
            raise InvalidParameter("an answer is laid out wide where every combination of its keys has one row")
        order = {title: np.array([places[row, key] for row in rows]) for key, title in titles.items()}
        first = np.array([places[row, next(iter(titles))] for row in rows])
        values, lower, upper = (
            {title: each[name][at] for title, at in order.items()} if name in each else {}
            for each in (self.values, self.lower, self.upper)
        )
        keys, labels = ({each: held[each][first] for each in rest if each in held} for held in (self.keys, self.labels))
        return Answer(keys, values, lower, upper, self.confidence, labels=labels)

    def to_arrays(self) -> dict[str, Any]:
        """The fields, for a store: apart, so that no name of a column can stand for another."""
        parts = {"keys": self.keys, "lower": self.lower, "upper": self.upper, "values": self.values}
        more = {"notes": self.notes, "labels": self.labels}
        return {"confidence": self.confidence, **parts, **{name: each for name, each in more.items() if each}}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> "Answer":
        """Back from `to_arrays`."""
        return cls(**arrays)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Answer):
            return NotImplemented
        if self.confidence != other.confidence or self.notes != other.notes:
            return False
        parts = ((getattr(each, part) for each in (self, other)) for part in ("keys", "values", "lower", "upper"))
        return all(
            list(mine) == list(theirs) and all(np.array_equal(mine[name], theirs[name]) for name in mine)
            for mine, theirs in parts
        )

    def __hash__(self) -> int:
        return hash((*self.keys, *self.values))

    def __str__(self) -> str:
        titles = [*self.keys, *self.values]
        rows = [titles]
        for i in range(min(len(self), _SHOWN)):
            keys = [_told_key(column[i]) for column in self._shown_keys().values()]
            rows.append([*keys, *(self._with_bar(name, i) for name in self.values)])
        widths = [max(len(row[j]) for row in rows) for j in range(len(titles))]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        if len(self) > _SHOWN:
            lines.append(f"... {len(self) - _SHOWN:,} more")
        lines += [f"{name}: {note}" for name, note in self.notes.items()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        rows = (
            [
                *(_told_key(column[i]) for column in self._shown_keys().values()),
                *(self._with_bar(n, i) for n in self.values),
            ]
            for i in range(min(len(self), _SHOWN))
        )
        below = [f"{len(self) - _SHOWN:,} more rows"] if len(self) > _SHOWN else []
        below += [f"{100.0 * self.confidence:.4g}% intervals, each by itself"] if self.lower else []
        below += [f"{name}: {each}" for name, each in self.notes.items()]
        return grid([*self.keys, *self.values], rows) + "".join(map(note, below))

    def _with_bar(self, name: str, i: int) -> str:
        value = self.values[name][i]
        return told(value) if name not in self.lower else with_ends(value, self.lower[name][i], self.upper[name][i])


def _told_key(key: Any) -> str:
    """A key as it is written: a year has no thousands."""
    return str(int(key)) if isinstance(key, int | np.integer) and not isinstance(key, bool | np.bool_) else told(key)
