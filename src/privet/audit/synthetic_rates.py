"""Singling out, linkability and inference by a synthetic table, beside the same on people who were not in the data."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet._validate import count, open_fraction
from privet.audit.columns import Columns, alike, columns_of, gaps
from privet.audit.disclosure.inversion import Share
from privet.audit.disclosure.reconstruction import reconstruct
from privet.audit.statistics.roc import Interval
from privet.errors import InvalidData, InvalidParameter

_PEOPLE = 400  # who are attacked, at most: the bars on rates are then some 5% wide


@final
@dataclass(frozen=True)
class Beside:
    """The success of an attack on people in the data, and of the same attack on people who were not: only the difference is
    about the data.

    >>> Beside(Share(9, 10, 0.05), Share(9, 10, 0.05)).excess.value
    0.0
    """

    members: Share
    others: Share

    @property
    def excess(self) -> Interval:
        """Members minus others, with an interval (half of the level for each)."""
        one, two = (Share(each.right, each.many, each.alpha / 2.0).rate for each in (self.members, self.others))
        return Interval(one.value - two.value, one.low - two.high, one.high - two.low)

    @property
    def accused(self) -> bool:
        """True if the attack succeeds more often on people in the data, beyond its interval."""
        return self.excess.low > 0.0

    def __str__(self) -> str:
        return f"{self.members.rate} in the data, {self.others.rate} not in it; more by {self.excess}"


@final
@dataclass(frozen=True)
class SyntheticRates:
    """Rates of attacks on a synthetic table: singling out, linkability and inference, each beside its control group.

    `reconstruction` is inference of a yes-or-no secret from the table's counts, solved together; None where the
    secret has other values. `distances` are the median distances of members and of others to the nearest synthetic
    row: shown because people ask, and no evidence in either direction. `shared` is the share of others who are equal to a
    member: a person on both sides hides what leaks. Exact figures about private rows: not releasable.
    """

    singling_out: Beside
    linkability: Beside
    inference: Beside
    reconstruction: Beside | None
    distances: tuple[float, float]
    shared: float = 0.0

    @property
    def named(self) -> dict[str, Beside]:
        """The attacks by name."""
        held = {"singling out": self.singling_out, "linkability": self.linkability, "inference": self.inference}
        return held if self.reconstruction is None else {**held, "reconstruction": self.reconstruction}

    @property
    def accused(self) -> tuple[str, ...]:
        """The attacks that succeed more often on people in the data, beyond their intervals."""
        return tuple(name for name, each in self.named.items() if each.accused)

    def to_dict(self) -> dict[str, Any]:
        """The figures and the counts behind them, for the custodian: not releasable."""
        return {
            "rates": {
                name: {
                    "members": vars(each.members.rate),
                    "others": vars(each.others.rate),
                    "excess": vars(each.excess),
                }
                for name, each in self.named.items()
            },
            "people": self.inference.members.many,
            "accused": list(self.accused),
            "distances, no evidence": list(self.distances),
            "others equal to a member": self.shared,
            "releasable": False,
        }

    def explain(self) -> str:
        """Words for the custodian."""
        lines = [
            "Exact figures about private rows, for the custodian alone: not releasable.",
            f"Singled out: {self.singling_out}.",
            f"Linked: {self.linkability}.",
            f"Inferred: {self.inference}.",
        ]
        if self.reconstruction is not None:
            lines.append(f"Rebuilt from counts: {self.reconstruction}.")
        if self.shared:
            lines.append(
                f"Of the people not in it {100.0 * self.shared:.3g}% have the row of one who is; the same person on both "
                "sides would hide what leaks."
            )
        lines += [
            f"Median distance to the nearest synthetic row: {self.distances[0]:.3g} in the data, {self.distances[1]:.3g} "
            "not in it. This is no evidence in either direction: copies can be far, and strangers near.",
            f"Leaks about people in the data: {', '.join(self.accused) or 'none seen, which proves nothing'}.",
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.explain()


def exact_synthetic_rates(
    members: object,
    made: object,
    others: object,
    *,
    secret: str,
    known: Sequence[str] | None = None,
    guesses: int = _PEOPLE,
    alpha: float = 0.05,
) -> SyntheticRates:
    """Three rates that data protection authorities ask for, each with a control group.

    `members` are the rows behind the synthetic table `made`, `others` rows of the same population that were not: a
    holdout. Singling out: columns, in random order, until a synthetic row is alone with its values; these fit exactly one
    person. Only rows that no other synthetic row equals are asked about: the attacker sees which.
    Linkability: the nearest synthetic rows by the columns `known` and by the others are one and the same. Inference:
    the `secret` column is guessed from the nearest synthetic row by all others. The first guess is the only one;
    people are chosen at random, equally many on both sides.

    **Guarantee:** each interval misses with probability at most `alpha` over the choice of people.
    **Reference:** Giomi, Boenisch, Wehmeyer & Tasnádi 2023 (Anonymeter).

    >>> rng = np.random.default_rng(0)
    >>> people = {name: rng.integers(0, 9, 200) for name in "abcd"}
    >>> more = {name: rng.integers(0, 9, 200) for name in "abcd"}
    >>> "inference" in exact_synthetic_rates(people, people, more, secret="d").accused
    True
    """
    level, most = open_fraction("alpha", alpha), count("guesses", guesses, 1)
    inside, table, outside = columns_of(members), columns_of(made), columns_of(others)
    names = list(inside.values)
    if set(names) != set(table.values) or set(names) != set(outside.values):
        raise InvalidData("members, others and the synthetic table must have the same columns")
    if not min(len(inside), len(table), len(outside)):
        raise InvalidData("members, others and the synthetic table need a row each at least")
    inside, table, outside = alike(inside, table, outside)
    if secret not in names or len(names) < 2:
        raise InvalidParameter("secret must be one of two or more columns")
    shared = _shared(inside, table, outside, names)
    rest = [name for name in names if name != secret]
    first = list(known) if known is not None else rest[: max(1, len(rest) // 2)]
    second = [name for name in names if name not in first]
    if not first or not second or not set(first) <= set(names):
        raise InvalidParameter("known must be some of the columns, and leave some")
    rng = np.random.default_rng(0)
    size = min(len(inside), len(outside))
    sides = [_sample(each, size, rng) for each in (inside, outside)]
    people = [_sample(each, min(most, size), rng) for each in sides]
    nearest = [_nearest(each, table, (rest, first, second, names), inside) for each in people]
    linked, inferred, near = zip(
        *(_outcomes(who, found, table, secret) for who, found in zip(people, nearest, strict=True)), strict=True
    )
    alone, asked = _singled(sides, table, names, most, rng)
    return SyntheticRates(
        singling_out=Beside(*(Share(each, asked, level) for each in alone)),
        linkability=Beside(*(Share(each, len(people[0]), level) for each in linked)),
        inference=Beside(*(Share(each, len(people[0]), level) for each in inferred)),
        reconstruction=_rebuilt(people, table, rest, secret, level),
        distances=(near[0], near[1]),
        shared=shared,
    )


def _shared(inside: Columns, table: Columns, outside: Columns, names: list[str]) -> float:
    """The share of others who are equal to a member; others who are the members, or the synthetic rows, are refused."""
    one, made, two = (
        Counter(zip(*(each.values[name].astype(str).tolist() for name in names), strict=True))
        for each in (inside, table, outside)
    )
    for which, rows in (("members", one), ("synthetic rows", made)):
        if rows == two:
            raise InvalidData(f"others must be people who were not in the data: these are the very {which}")
    return sum(many for row, many in two.items() if row in one) / len(outside)


def _sample(columns: Columns, many: int, rng: Any) -> Columns:
    chosen = rng.permutation(len(columns))[:many]
    return Columns({name: values[chosen] for name, values in columns.values.items()}, columns.spans)


def _record(columns: Columns, place: int) -> dict[str, Any]:
    return {name: values[place] for name, values in columns.values.items()}


def _nearest(people: Columns, table: Columns, groups: Sequence[list[str]], where: Columns) -> list[tuple[Any, ...]]:
    """For each person the nearest synthetic row by each group of columns, and how near the nearest by all columns is."""
    found = []
    for place in range(len(people)):
        apart = gaps(table, _record(people, place), where)
        sums = [np.sum([apart[name] for name in group], axis=0) for group in groups]
        found.append((*(int(each.argmin()) for each in sums), float(sums[-1].min())))
    return found


def _outcomes(people: Columns, nearest: list[tuple[Any, ...]], table: Columns, secret: str) -> tuple[int, int, float]:
    linked = sum(one == two for _, one, two, _, _ in nearest)
    guessed = table.values[secret][[each[0] for each in nearest]]
    right = int((guessed.astype(str) == people.values[secret].astype(str)).sum())
    return linked, right, float(np.median([each[-1] for each in nearest]))


def _singled(
    sides: list[Columns], table: Columns, names: list[str], guesses: int, rng: Any
) -> tuple[tuple[int, int], int]:
    """The numbers of people on each side who alone fit a predicate that one synthetic row alone has, and of predicates.

    A synthetic row has one, and a person counts once: the same luck again is no further trial.
    """
    hits: tuple[set[int], set[int]] = (set(), set())
    rows = rng.permutation(_alone(table, names))[:guesses].tolist()
    for place in rows:
        wanted: dict[str, Any] = {}
        left = np.ones(len(table), dtype=bool)
        for i in rng.permutation(len(names)).tolist():
            wanted[names[i]] = table.values[names[i]][place]
            left &= _same(table.values[names[i]], wanted[names[i]])
            if left.sum() == 1:
                break
        for found, each in zip(hits, sides, strict=True):
            fits = np.flatnonzero(_fits(each, wanted)).tolist()
            if len(fits) == 1:
                found.add(fits[0])
    return (len(hits[0]), len(hits[1])), max(len(rows), 1)


def _alone(table: Columns, names: list[str]) -> Array:
    """The places of rows that no other row equals."""
    cells = np.zeros(len(table), dtype=np.int64)
    for name in names:
        values = np.unique(table.values[name], return_inverse=True)[1].reshape(-1)
        cells = np.unique(cells * (int(values.max(initial=0)) + 1) + values, return_inverse=True)[1].reshape(-1)
    return np.flatnonzero(np.bincount(cells)[cells] == 1)


def _same(values: Array, value: Any) -> Array:
    """The places with this value; what is missing is equal to what is missing."""
    return np.isnan(values) if isinstance(value, float) and np.isnan(value) else np.asarray(values == value)


def _fits(columns: Columns, wanted: dict[str, Any]) -> Array:
    return np.logical_and.reduce([_same(columns.values[name], value) for name, value in wanted.items()])


def _rebuilt(people: list[Columns], table: Columns, rest: list[str], secret: str, alpha: float) -> Beside | None:
    """A secret of two values, solved from the counts of every value of every other column, for each side by itself."""
    values = sorted(
        set(table.values[secret].astype(str).tolist()) | {str(v) for v in people[0].values[secret].tolist()}
    )
    if len(values) != 2:
        return None
    yes = table.values[secret].astype(str) == values[1]
    shares = []
    for side in people:
        rows, answers = [], []
        for name in rest:
            own, made = side.values[name].astype(str), table.values[name].astype(str)
            for value in np.unique(own):
                member, same = own == value, made == value
                rows.append(member.astype(float))
                answers.append(
                    float(member.sum()) * float(yes[same].mean()) if same.any() else float(member.sum()) / 2.0
                )
        truth = (side.values[secret].astype(str) == values[1]).astype(int)
        right = reconstruct(np.array(rows), np.array(answers)).right(truth)
        shares.append(Share(round(right * len(truth)), len(truth), alpha))
    return Beside(*shares)
