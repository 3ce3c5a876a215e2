"""Shares that are not negative and add up to one: what is done to a raw estimate on request, and said."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet._validate import above, count, set_frozen
from privet.errors import InvalidParameter
from privet.local.state import State

_LARGEST = 2**22  # entries of a channel: memory and time, more are refused


class Consistency(ABC):
    """A way to make shares consistent: post-processing, which moves the estimate and voids its interval."""

    @abstractmethod
    def apply(self, raw: Array, state: State, candidates: Array | None) -> tuple[Array, str]:
        """The consistent shares, and what was done, for the notes of the estimate."""


def made_consistent(consistency: object, raw: Array, state: State, candidates: Array | None) -> tuple[Array, str]:
    """Raw shares made consistent, with a note; an object that cannot do that is refused."""
    if not isinstance(consistency, Consistency):
        raise InvalidParameter("consistency must be an object such as NormSub() or EM(), or left out")
    return consistency.apply(raw, state, candidates)


@final
@dataclass(frozen=True)
class NormSub(Consistency):
    """The nearest shares that are not negative and add up to 1 (Euclidean projection on the simplex).

    **Error:** in the l2 norm no farther from the truth than the raw estimate; single shares are biased, small ones upwards.
    **Reference:** Wang et al. 2020; Duchi et al. 2008.

    >>> NormSub().project(np.array([0.5, 0.4, 0.3, -0.2])).round(5).tolist()
    [0.43333, 0.33333, 0.23333, 0.0]
    """

    def project(self, raw: Any) -> Array:
        """The projection of any list of numbers."""
        given = np.asarray(raw, dtype=float)
        if given.ndim != 1 or not given.size or not np.all(np.isfinite(given)):
            raise InvalidParameter("shares must be a list of finite numbers, at least one")
        falling = np.sort(given)[::-1]
        shift = (1.0 - np.cumsum(falling)) / np.arange(1, len(given) + 1)
        return np.maximum(given + shift[np.flatnonzero(falling + shift > 0.0)[-1]], 0.0)

    def apply(self, raw: Array, state: State, candidates: Array | None) -> tuple[Array, str]:
        if candidates is not None:
            raise InvalidParameter("the shares of some candidates need not add up to 1: leave consistency out")
        return self.project(raw), "projected on the simplex: no interval is claimed for these shares; `raw` has one"


@final
@dataclass(frozen=True)
class EM(Consistency):
    """The most likely shares, by expectation maximisation with the true channel of the protocol.

    It needs how often each possible report was seen: randomized response, Hadamard response, fast local hashing and the
    Hadamard sketch count that; sums of bits do not tell it.

    **Error:** maximum likelihood: biased in single shares, consistent as n grows. **Reference:** Agrawal & Aggarwal 2001.

    >>> from privet import local
    >>> told = local.KRR(k=3, epsilon=1.0).estimate([0] * 60 + [1] * 30 + [2] * 10, consistency=EM())
    >>> round(float(told.value.sum()), 9), bool(told.value.min() >= 0.0), told.interval is None
    (1.0, True, True)
    """

    steps: int = 10_000
    within: float = 1e-9

    def __post_init__(self) -> None:
        set_frozen(self, steps=count("steps", self.steps, 1), within=above("within", self.within, 0.0))

    def apply(self, raw: Array, state: State, candidates: Array | None) -> tuple[Array, str]:
        protocol: Any = state.protocol
        seen = state.table.reshape(-1)
        if candidates is not None or protocol.report_shape or len(seen) != len(protocol.outcomes()):
            raise InvalidParameter(
                "EM needs how often each report was seen; this state holds sums of bits or supports: take NormSub()"
            )
        if len(raw) * len(seen) > _LARGEST:
            raise InvalidParameter("the channel has more than 2^22 entries: take NormSub()")
        channel = np.array([[float(mass) for mass in row] for row in protocol.channel()])
        shares, weights = np.full(len(raw), 1.0 / len(raw)), seen / seen.sum()
        taken = 0
        while taken < self.steps:
            taken += 1
            expected = shares @ channel
            after = shares * (channel @ np.divide(weights, expected, out=np.zeros_like(weights), where=weights > 0))
            moved, shares = float(np.abs(after - shares).sum()), after
            if moved <= self.within:
                break
        told = f"most likely shares after {taken} steps of EM: no interval is claimed for these; `raw` has one"
        return shares / shares.sum(), told
