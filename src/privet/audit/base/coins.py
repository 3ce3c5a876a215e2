"""The coins of a one-run audit: fair, independent, secret until the run is over, and committed to before it."""

import hashlib
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from privet import noise
from privet._numerics import Array
from privet._validate import count
from privet.errors import InvalidParameter

__all__ = ["Coins"]


@dataclass(frozen=True, eq=False)
class Coins:
    """Which canaries go into training: one fair coin each, drawn by the secure source.

    Publish `commitment` before training. Afterwards `opening()` lets anybody check that the audited coins are the ones
    that were drawn: no set of coins can be fitted to the scores.

    **Guarantee:** the commitment binds (SHA-256 is collision resistant) and hides (256 random bits are hashed along).
    A fixed half/half split is not a set of fair coins; that is why coins are drawn here.

    >>> coins = Coins.draw(100)
    >>> Coins.verify(coins.commitment, coins.opening())
    True
    """

    included: Array = field(repr=False)
    nonce: bytes = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "included", np.array(self.included, dtype=bool))
        self.included.setflags(write=False)

    @classmethod
    def draw(cls, canaries: int, *, source: noise.Source | None = None) -> "Coins":
        """One coin per canary. A seeded source is for tests: whoever knows the seed knows the coins.

        >>> len(Coins.draw(8).included)
        8
        """
        size = count("canaries", canaries, 1)
        return cls(noise.bernoulli(p=Fraction(1, 2), size=size, source=source), _nonce())

    def __len__(self) -> int:
        return len(self.included)

    @property
    def commitment(self) -> str:
        """SHA-256 of the opening, in hexadecimal: publish it before training."""
        return hashlib.sha256(self.opening().encode()).hexdigest()

    def opening(self) -> str:
        """Nonce and coins as text, to be published after the audit."""
        return f"privet coins {self.nonce.hex()} {''.join('01'[int(coin)] for coin in self.included)}"

    @staticmethod
    def verify(commitment: str, opening: str) -> bool:
        """Whether an opening is the one that was committed to."""
        if not isinstance(commitment, str) or not isinstance(opening, str):
            raise InvalidParameter("commitment and opening must be texts")
        return hashlib.sha256(opening.encode()).hexdigest() == commitment


def _nonce() -> bytes:
    """256 secure bits, whatever source the coins come from: the nonce keeps the commitment from being searched."""
    return int(noise.uniform_int(bound=2**256)).to_bytes(32, "big")
