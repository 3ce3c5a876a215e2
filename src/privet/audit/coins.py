"""The coins of a one-run audit: fair, independent, secret until the run is over, and committed to before it."""

import hashlib
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from privet import noise
from privet._numerics import Array
from privet._validate import count, set_frozen
from privet.audit.datasets import extended, selected
from privet.audit.observed import text_of
from privet.errors import InvalidData, InvalidParameter


@dataclass(frozen=True, eq=False)
class Coins:
    """Which canaries go into training: one fair coin each, drawn by the secure source.

    Publish `commitment` before training. Afterwards `opening()` lets anybody check that the audited coins are the ones
    that were drawn: no set of coins can be fitted to the scores.

    **Guarantee:** the commitment binds (SHA-256 is collision resistant) and hides (256 random bits are hashed along).
    A fixed half/half split is not a set of fair coins; that is why coins are drawn here.

    `top` and `bottom`, how many guesses will be made at each end of the scores, are committed to as well. Where they
    were not named when the coins were drawn, the first guess fixes them: the best of many choices is no test.

    >>> coins = Coins.draw(100, top=20, bottom=20)
    >>> Coins.verify(coins.commitment, coins.opening())
    True
    """

    included: Array = field(repr=False)
    nonce: bytes = field(repr=False)
    top: int | None = None
    bottom: int | None = None
    _first: list[tuple[int, int]] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        set_frozen(self, included=np.array(self.included, dtype=bool))
        self.included.setflags(write=False)
        if (self.top is None) != (self.bottom is None):
            raise InvalidParameter("fix both top and bottom, or neither")
        if self.top is not None and self.bottom is not None:
            self._fix(count("top", self.top), count("bottom", self.bottom))

    @classmethod
    def draw(
        cls,
        canaries: int,
        *,
        top: int | None = None,
        bottom: int | None = None,
        source: noise.Source | None = None,
    ) -> "Coins":
        """One coin per canary. A seeded source is for tests: whoever knows the seed knows the coins.

        >>> len(Coins.draw(8).included)
        8
        """
        size = count("canaries", canaries, 1)
        return cls(noise.bernoulli(p=Fraction(1, 2), size=size, source=source), _nonce(), top, bottom)

    def guesses(self, top: int | None = None, bottom: int | None = None) -> tuple[int, int]:
        """The number of guesses that are made at each end: those that were fixed. Others are refused from then on.

        >>> coins = Coins.draw(8)
        >>> coins.guesses(2, 2), coins.guesses()
        ((2, 2), (2, 2))
        """
        if top is None and bottom is None and self._first:
            return self._first[0]
        if top is None or bottom is None:
            raise InvalidParameter("say how many guesses to make at each end: top=... and bottom=...")
        self._fix(count("top", top), count("bottom", bottom))
        return self._first[0]

    def _fix(self, top: int, bottom: int) -> None:
        if not 1 <= top + bottom <= len(self.included):
            raise InvalidParameter(f"top + bottom must lie between 1 and the number of canaries, {len(self.included)}")
        if self._first and self._first[0] != (top, bottom):
            fixed = "top={}, bottom={}".format(*self._first[0])
            raise InvalidParameter(
                f"the numbers of guesses of these coins are fixed: {fixed}. The best of several choices is no test; "
                "draw new coins and train again, or share the level among choices named in advance"
            )
        self._first[:] = [(top, bottom)]

    def apply(self, data: object, canaries: object, *, otherwise: object = None) -> Any:
        """The training set that the coins choose: `data` and the canaries whose coin shows heads.

        With `otherwise`, one record for each canary, tails puts that in instead: pairs for a claim under `replace`.
        Lists, arrays, dicts of columns, and frames of pandas and Polars are extended by their own kind.

        >>> coins = Coins.draw(3)
        >>> len(coins.apply([1, 2], [10, 20, 30])) == 2 + int(coins.included.sum())
        True
        >>> len(coins.apply([1, 2], [10, 20, 30], otherwise=[11, 21, 31]))
        5
        """
        chosen, others = selected(canaries, len(self)), None if otherwise is None else selected(otherwise, len(self))
        if others is None:
            return extended(data, [record for record, heads in zip(chosen, self.included, strict=True) if heads])
        if any(text_of(a) == text_of(b) for a, b in zip(chosen, others, strict=True)):
            raise InvalidData("a canary and the record that stands in for it must differ")
        triples = zip(chosen, others, self.included, strict=True)
        return extended(data, [record if heads else other for record, other, heads in triples])

    def __len__(self) -> int:
        return len(self.included)

    @property
    def commitment(self) -> str:
        """SHA-256 of the opening, in hexadecimal: publish it before training."""
        return hashlib.sha256(self.opening().encode()).hexdigest()

    def opening(self) -> str:
        """Nonce and coins as text, to be published after the audit."""
        fixed = "" if self.top is None else f" top {self.top} bottom {self.bottom}"
        return f"privet coins {self.nonce.hex()} {''.join('01'[int(coin)] for coin in self.included)}{fixed}"

    @classmethod
    def opened(cls, opening: str) -> "Coins":
        """The coins that an opening tells of; check it against the commitment first.

        >>> coins = Coins.draw(8, top=2, bottom=2)
        >>> Coins.opened(coins.opening()).commitment == coins.commitment
        True
        """
        words = opening.split()
        try:
            if words[:2] != ["privet", "coins"] or len(words) not in (4, 8) or not set(words[3]) <= {"0", "1"}:
                raise ValueError
            fixed = (int(words[5]), int(words[7])) if len(words) == 8 else (None, None)
            return cls(np.array([digit == "1" for digit in words[3]]), bytes.fromhex(words[2]), *fixed)
        except (ValueError, IndexError):
            raise InvalidParameter("this text is not the opening of coins") from None

    @staticmethod
    def verify(commitment: str, opening: str) -> bool:
        """True if an opening is the one that was committed to."""
        if not isinstance(commitment, str) or not isinstance(opening, str):
            raise InvalidParameter("commitment and opening must be texts")
        return hashlib.sha256(opening.encode()).hexdigest() == commitment


def _nonce() -> bytes:
    """256 secure bits, whatever source the coins come from: the nonce keeps the commitment from being searched."""
    return int(noise.uniform_int(bound=2**256)).to_bytes(32, "big")
