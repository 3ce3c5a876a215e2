"""A test by betting: watch pairs of runs one after the other and stop as soon as the claim is refuted."""

import math
from dataclasses import dataclass

import numpy as np

from privet._numerics import LARGEST_EXPONENT, Array, exp_capped
from privet._validate import at_least, flag, fraction, open_fraction
from privet.accounting import tightest
from privet.audit.result import ADD_REMOVE, Verdict
from privet.errors import InvalidData, InvalidParameter
from privet.privacy import PrivacyLoss, Unit

_TANGENTS = [0.0, 0.25, 0.5, 1.0, 2.0, 4.0]  # epsilons at which a claim's curve may be bet against
_LARGEST_TANGENT = 50.0  # e^50 still leaves digits to a bet
_PRIOR = 1.0  # weight of the imagined past that keeps the first bets small


@dataclass
class _Wealth:
    """The basis of the bets: sums over earlier pairs, one entry per bet (event and direction)."""

    gain: Array
    square: Array
    log_wealth: Array


class BettingTest:
    """Sequential test of an (epsilon, delta) claim: a gambler who cannot win on average unless the claim is false.

    A pair is one run on D and one on D', seen through an event: a, b in {0, 1}. Under the claim
    X = a - e^epsilon b - delta has mean at most 0, so betting a share of the wealth on it is no winning game;
    wealth 1/alpha refutes the claim. Shares follow the pairs seen before (a plug-in Kelly rule). With several events,
    or with all directions of an event, the wealths are averaged.

    **Guarantee:** P[ever refuted] <= alpha under the claim, however often one looks and whenever one stops; events and
    pairs may depend on earlier pairs. **Error:** no fixed sample size; strong violations show within tens of pairs.
    **Reference:** Ville 1939; Waudby-Smith & Ramdas 2024; Kelly 1956.

    >>> test = BettingTest(epsilon=1.0, alpha=0.01)
    >>> test.feed(np.ones(100, dtype=bool), np.zeros(100, dtype=bool))
    'violated'
    >>> test.pairs < 30
    True
    """

    def __init__(
        self, *, epsilon: float, delta: float = 0.0, alpha: float = 0.05, both: bool = False, unit: Unit = ADD_REMOVE
    ) -> None:
        """`both` bets on an event, its complement, and both with the worlds exchanged; without it, on the event only."""
        self.epsilon = at_least("epsilon", epsilon, 0.0)
        if self.epsilon > LARGEST_EXPONENT:
            raise InvalidParameter("epsilon must be at most 700: no run could refute more")
        self.delta, self.alpha = fraction("delta", delta), open_fraction("alpha", alpha)
        self.both, self.unit = flag("both", both), unit
        self._factor = math.exp(self.epsilon)
        self._state: _Wealth | None = None
        self._pairs, self._peak, self._current = 0, 0.0, 0.0

    @classmethod
    def of(cls, claim: PrivacyLoss, *, delta: float, alpha: float = 0.05, both: bool = False) -> "BettingTest":
        """A test of what a price promises at one delta.

        >>> from privet import privacy
        >>> round(BettingTest.of(privacy.LaplaceLoss(scale=2.0), delta=0.0).epsilon, 6)
        0.5
        """
        promised = tightest.epsilon(claim, delta=delta).upper
        return cls(epsilon=promised, delta=delta, alpha=alpha, both=both, unit=claim.unit)

    @classmethod
    def against(cls, claim: PrivacyLoss, likely: float, rarely: float, *, alpha: float) -> "BettingTest":
        """Bets on the tangent of a claim's curve that two expected rates of an event lie furthest beyond.

        The rates must come from other runs than those that are bet on; a tangent is an epsilon with its delta.

        >>> from privet import privacy
        >>> BettingTest.against(privacy.PureLoss(3.0), 0.5, 0.01, alpha=0.05).epsilon
        3.0
        """
        pure = claim.pure()
        epsilons = [*_TANGENTS, pure] if pure < _LARGEST_TANGENT else _TANGENTS
        tangents = [(epsilon, min(1.0, float(tightest.delta(claim, epsilon=epsilon)))) for epsilon in epsilons]
        gain = [(likely - math.exp(e) * rarely - d) / math.exp(e) for e, d in tangents]
        epsilon, delta = tangents[int(np.argmax(gain))]
        return cls(epsilon=epsilon, delta=delta, alpha=alpha, unit=claim.unit)

    @property
    def pairs(self) -> int:
        """The number of pairs that were used; no more than it took to refute."""
        return self._pairs

    @property
    def wealth(self) -> float:
        """The average wealth now; it starts at 1."""
        return exp_capped(self._current)

    @property
    def p_value(self) -> float:
        """Valid at any time: one over the largest average wealth so far."""
        return math.exp(-max(self._peak, 0.0))

    @property
    def verdict(self) -> Verdict:
        """`violated` once the average wealth has reached 1/alpha; that is never taken back."""
        return "violated" if self._peak >= -math.log(self.alpha) else "not refuted"

    def feed(self, first: Array, second: Array) -> Verdict:
        """Bet on more pairs: whether the event happened on D and on D', one row a pair, one column an event.

        The events of one call must be fixed before its pairs are drawn. Pairs after the refuting one are not looked at.
        """
        a, b = (_indicators(name, value) for name, value in (("first", first), ("second", second)))
        if a.shape != b.shape:
            raise InvalidData("first and second must have the same shape: a pair is one run of each world")
        if self.verdict == "not refuted" and len(a):
            self._bet(_directions(a, b) if self.both else (a, b))
        return self.verdict

    def _bet(self, events: tuple[Array, Array]) -> None:
        a, b = events
        payoff = a - self._factor * b - self.delta
        state = self._state or _Wealth(*(np.zeros(payoff.shape[1]) for _ in range(3)))
        if len(state.gain) != payoff.shape[1]:
            raise InvalidParameter("every call must bring the same number of events")
        gains = state.gain + np.cumsum(payoff, axis=0)
        squares = state.square + np.cumsum(payoff * payoff, axis=0)
        kelly = _earlier(state.gain, gains) / (_earlier(state.square, squares) + _PRIOR * self._factor)
        bets = np.clip(kelly, 0.0, 0.5 / (self._factor + self.delta))
        logs = state.log_wealth + np.cumsum(np.log1p(bets * payoff), axis=0)
        average = _average(logs)
        crossed = np.flatnonzero(average >= -math.log(self.alpha))
        last = int(crossed[0]) if len(crossed) else len(average) - 1
        self._state = _Wealth(gains[last], squares[last], logs[last])
        self._pairs += last + 1
        self._current = float(average[last])
        self._peak = max(self._peak, float(average[: last + 1].max()))


def _earlier(before: Array, sums: Array) -> Array:
    """The sums as they stood before each pair: a bet may not know the pair it is placed on."""
    return np.vstack((before, sums[:-1]))


def _average(logs: Array) -> Array:
    """ln of the mean wealth. A mean of fair games is a fair game; their maximum is not."""
    return np.logaddexp.reduce(logs, axis=1) - math.log(logs.shape[1])


def _indicators(name: str, value: Array) -> Array:
    table = np.asarray(value)
    if table.ndim not in (1, 2) or (table.ndim == 2 and table.shape[1] == 0):
        raise InvalidData(f"{name} must have one row a pair and, with several events, one column an event")
    if table.dtype.kind not in "biuf" or not np.isin(table, (0, 1)).all():
        raise InvalidData(f"{name} must say whether the event happened: False or True, 0 or 1")
    return table.astype(float) if table.ndim == 2 else table.astype(float)[:, None]


def _directions(a: Array, b: Array) -> tuple[Array, Array]:
    """The event, its complement with the worlds exchanged, and the other two: four inequalities of one claim."""
    return np.hstack((a, 1.0 - b, b, 1.0 - a)), np.hstack((b, 1.0 - a, a, 1.0 - b))
