"""Extraction: the most likely candidate of a whole space, found without trying all of them."""

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from privet._numerics import Array
from privet._validate import count
from privet.audit.answers import answered, numbers
from privet.errors import InvalidData, InvalidParameter

Next = Callable[[list[str]], Array]


@final
@dataclass(frozen=True)
class Extraction:
    """The outcome of a search: the most likely candidates in order, with minus the logarithm of their probability in nats.

    `complete` says that the search ended by itself: nothing in the space is more likely than what was found. `asked`
    counts the beginnings for which the model was asked.
    """

    found: tuple[tuple[str, float], ...]
    asked: int
    complete: bool

    def rank(self, secret: str) -> int | None:
        """The place of a secret among what was found, from 1; None where it is not among them."""
        names = [name for name, _ in self.found]
        return names.index(secret) + 1 if secret in names else None


def extract(
    following: Next, *, alphabet: Sequence[str], length: int, start: str = "", most: int = 1, budget: int = 100_000
) -> Extraction:
    """The most likely texts of `length` symbols after `start`, by a search that asks for the likeliest beginning first.

    `following(beginnings)` gives for each beginning a row of logarithms of probabilities (in nats), one for each
    symbol of the alphabet. `most` candidates are looked for, with at most `budget` beginnings asked for.

    **Guarantee:** where `complete`, no candidate of the space is likelier than those found. **Reference:** Carlini et
    al. 2019 (shortest path in the tree of beginnings).

    >>> odds = np.log([0.1, 0.9])
    >>> extract(lambda texts: np.tile(odds, (len(texts), 1)), alphabet="ab", length=3).found[0][0]
    'bbb'
    """
    symbols, size, wanted = list(alphabet), count("length", length, 1), count("most", most, 1)
    left = count("budget", budget, 1)
    if not symbols or len(set(symbols)) < len(symbols) or not all(isinstance(each, str) and each for each in symbols):
        raise InvalidParameter("the alphabet must be a list of different symbols")
    waiting: list[tuple[float, str, int]] = [(0.0, "", 0)]
    found: list[tuple[str, float]] = []
    asked = 0
    while waiting and len(found) < wanted:
        batch: list[tuple[float, str, int]] = []
        while waiting and len(batch) < min(64, left - asked):
            if waiting[0][2] == size:
                if batch:  # a beginning before it may still lead to something likelier
                    break
                cost, text, _ = heapq.heappop(waiting)
                found.append((text, cost))
                if len(found) == wanted:
                    break
                continue
            batch.append(heapq.heappop(waiting))
        if not batch:
            if asked >= left:
                break
            continue
        logs = _answers(following, [start + text for _, text, _ in batch], len(symbols))
        asked += len(batch)
        for (cost, text, depth), row in zip(batch, logs, strict=True):
            for symbol, log in zip(symbols, row.tolist(), strict=True):
                if log > -math.inf:
                    heapq.heappush(waiting, (cost - log, text + symbol, depth + 1))
    return Extraction(tuple(found), asked, len(found) == wanted or not waiting)


def _answers(following: Next, texts: list[str], symbols: int) -> Array:
    rows = numbers("answers of following", answered("following", following, texts))
    if rows.shape != (len(texts), symbols) or np.isnan(rows).any() or (rows > 1e-9).any():
        raise InvalidData("following(beginnings) must give a row of logarithms of probabilities for each beginning")
    return np.minimum(rows, 0.0)
