"""The records of which an attacker asks whether a model was trained on them."""

import hashlib
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet._validate import flag, set_frozen
from privet.audit.coins import Coins
from privet.errors import InvalidData, InvalidParameter

Pair = tuple[Any, Any]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Suspects:
    """Records with their labels, and the truth about each: whether it was trained on.

    `Suspects.of(members=(x, y), others=(x, y))` takes two sets, which must not share a record; `Suspects.by((x, y),
    coins)` takes the records that `audit.Coins` chose among, and then a claim can be refuted. `real=False` says that
    nobody is behind the records: they are made up, or public. Otherwise whatever is computed from them is itself
    private.

    >>> who = Suspects.of(members=([[1.0], [2.0]], [0, 1]), others=([[3.0]], [1]), real=False)
    >>> who
    <2 members and 1 other>
    """

    x: Array = field(repr=False)
    y: Array = field(repr=False)
    included: Array = field(repr=False)
    real: bool = True
    coins: Coins | None = None

    def __post_init__(self) -> None:
        flag("real", self.real)
        inside = np.asarray(self.included).astype(bool)
        x, y = labelled((self.x, self.y))
        if inside.shape != (len(y),):
            raise InvalidData("say of each record whether it was trained on: one True or False each")
        if not inside.any() or inside.all():
            raise InvalidData("an attack is judged on members and on others: at least one of each is needed")
        names = record_names(x, y)
        if set(names[inside]) & set(names[~inside]):
            raise InvalidData(
                "some records are both members and others, and no attack could be right about them; "
                "Suspects.of(..., leave_out_shared=True) leaves them out"
            )
        set_frozen(self, x=x, y=y, included=inside)

    @classmethod
    def of(cls, *, members: Pair, others: Pair, real: bool = True, leave_out_shared: bool = False) -> "Suspects":
        """Two sets of records, each as (x, y). In a table of few columns records of different people are often equal:
        with `leave_out_shared` those that are on both sides are on neither.

        >>> Suspects.of(members=([[1], [2]], [0, 0]), others=([[2], [3]], [0, 0]), leave_out_shared=True)
        <1 member and 1 other>
        """
        (x_in, y_in), (x_out, y_out) = labelled(members), labelled(others)
        if x_in.shape[1:] != x_out.shape[1:]:
            raise InvalidData("members and others must have the same columns")
        if flag("leave_out_shared", leave_out_shared):
            names_in, names_out = record_names(x_in, y_in), record_names(x_out, y_out)
            alone_in, alone_out = ~np.isin(names_in, names_out), ~np.isin(names_out, names_in)
            if not alone_in.any() or not alone_out.any():
                raise InvalidData(
                    "all members, or all others, are on both sides: there is nobody left to be told apart"
                )
            x_in, y_in, x_out, y_out = x_in[alone_in], y_in[alone_in], x_out[alone_out], y_out[alone_out]
        inside = np.concatenate((np.ones(len(y_in), dtype=bool), np.zeros(len(y_out), dtype=bool)))
        return cls(np.concatenate((x_in, x_out)), np.concatenate((y_in, y_out)), inside, real)

    @classmethod
    def by(cls, records: Pair, coins: Coins, *, real: bool = True) -> "Suspects":
        """Records whose coins decided whether they were trained on.

        >>> coins = Coins.draw(40, top=4, bottom=4)
        >>> who = Suspects.by((np.arange(40.0), np.zeros(40)), coins)
        >>> bool((who.included == coins.included).all())
        True
        """
        if not isinstance(coins, Coins):
            raise InvalidParameter("coins must be those of audit.Coins.draw, one for each record")
        x, y = labelled(records)
        return cls(x, y, coins.included, real, coins)

    def __repr__(self) -> str:
        inside = int(self.included.sum())
        many, rest = ("s" if inside > 1 else ""), len(self.included) - inside
        return f"<{inside} member{many} and {rest} other{'s' if rest > 1 else ''}>"


def labelled(records: object) -> tuple[Array, Array]:
    """Records and their labels as two arrays of one length; frames and lists are taken as well.

    >>> labelled(([[1], [2]], ["a", "b"]))[1].tolist()
    ['a', 'b']
    """
    if not isinstance(records, tuple | list) or len(records) != 2:
        raise InvalidData("records are given as a pair: (x, y), the columns and the label of each")
    x, y = np.asarray(records[0]), np.asarray(records[1])
    if y.ndim != 1 or x.ndim < 1 or len(x) != len(y) or not len(y):
        raise InvalidData("records need one label each: (x, y) of one length, at least 1, y being a list")
    return x, y


def record_names(x: Array, y: Array) -> Array:
    """A name for each record by which equal ones are known: a hash of its values and its label.

    >>> names = record_names(np.array([[1.0], [1.0]]), np.array([0, 0]))
    >>> names[0] == names[1]
    True
    """
    rows = [values.tobytes() if values.dtype != object else repr(values.tolist()).encode() for values in x]
    return np.array(
        [hashlib.sha256(row + b"\0" + str(label).encode()).hexdigest() for row, label in zip(rows, y, strict=True)]
    )
