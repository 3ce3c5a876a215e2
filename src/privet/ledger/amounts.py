"""Running sums: whole amounts per rule and currency, and their text in an entry. No floats."""

from collections.abc import Iterable
from typing import Any

from privet.accounting.filters import Sums
from privet.accounting.filters.amounts import Amount, add
from privet.errors import LedgerTampered


def plain_sums(sums: Sums) -> list[list[str]]:
    """Sums as lists of decimal texts, for an entry; infinity is "inf".

    >>> plain_sums(((5, None),))
    [['5', 'inf']]
    """
    return [["inf" if amount is None else str(amount) for amount in rule] for rule in sums]


def sums_text(sums: Sums) -> str:
    """The canonical text of `plain_sums`, written without a detour: it is on the path of every charge.

    >>> sums_text(((5, None),))
    '[["5","inf"]]'
    """
    rules = [
        '","'.join(["inf" if amount is None else str(amount) for amount in rule] if None in rule else map(str, rule))
        for rule in sums
    ]
    return '[["' + '"],["'.join(rules) + '"]]'


def read_sums(plain: Any) -> Sums:
    """Inverse of `plain_sums`; anything else was not written by a ledger.

    >>> read_sums([["5", "inf"]])
    ((5, None),)
    """
    try:
        sums = tuple(tuple(None if text == "inf" else int(text) for text in rule) for rule in plain)
    except (TypeError, ValueError):
        raise LedgerTampered("a running sum is not a whole number; the ledger was edited") from None
    if plain_sums(sums) != plain or any(amount is not None and amount < 0 for rule in sums for amount in rule):
        raise LedgerTampered("a running sum is negative or not in its canonical form; the ledger was edited")
    return sums


def add_sums(a: Sums, b: Sums) -> Sums:
    """Component by component; infinity absorbs.

    >>> add_sums(((1, 2),), ((3, None),))
    ((4, None),)
    """
    return tuple(tuple(map(add, x, y)) for x, y in zip(a, b, strict=True))


def minus_sums(a: Sums, b: Sums) -> Sums:
    """How much `a` is above `b`, which is nowhere larger; what is infinite already does not grow.

    >>> minus_sums(((4, None),), ((1, None),))
    ((3, 0),)
    """
    return tuple(tuple(_minus(x, y) for x, y in zip(p, q, strict=True)) for p, q in zip(a, b, strict=True))


def _minus(a: Amount, b: Amount) -> Amount:
    if b is None:
        return 0
    return None if a is None else a - b


def most_sums(a: Sums, b: Sums) -> Sums:
    """The larger amount, component by component; infinity is above all.

    >>> most_sums(((4, 1),), ((2, None),))
    ((4, None),)
    """
    return tuple(
        tuple(None if x is None or y is None else max(x, y) for x, y in zip(p, q, strict=True))
        for p, q in zip(a, b, strict=True)
    )


def total_sums(many: Iterable[Sums], zero: Sums) -> Sums:
    """The sum of several.

    >>> total_sums([((1,),), ((2,),)], ((0,),))
    ((3,),)
    """
    total = zero
    for sums in many:
        total = add_sums(total, sums)
    return total


def largest(amounts: Iterable[Amount], count: int) -> list[Amount]:
    """The `count` largest amounts, largest first; infinity is above all.

    >>> largest([3, None, 7, 1], 2)
    [None, 7]
    """
    return sorted(amounts, key=lambda amount: (amount is None, amount or 0), reverse=True)[:count]
