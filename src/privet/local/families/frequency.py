"""Frequencies of k values: what every protocol shares that estimates them by supports.

A report supports a value: its own with probability `own`, any other one with probability `other`. From C supports in n
reports, (C/n - other)/(own - other) is an unbiased estimate of the value's share.
"""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from privet._numerics import Array
from privet._validate import above, count, flag, fraction, set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.local.consistency import made_consistent
from privet.local.families.intervals import exact_interval, needs_exact_law, score_interval, tail_of
from privet.local.families.pooled import Pool
from privet.local.families.single import is_single, one_each
from privet.local.protocol import Protocol, by_name, whole_sum
from privet.local.state import State
from privet.mechanisms import ErrorBar, Estimate, Mechanism, Source
from privet.mechanisms.families.columns import column_kind, is_typed
from privet.mechanisms.families.labels import admit_texts, places, public_texts
from privet.mechanisms.families.odds import MOST
from privet.mechanisms.families.response import codes_of
from privet.mechanisms.families.values import admit_value
from privet.workloads import MeasuredCells

_TEXTS = "this holds texts or objects, no numbers: name the texts when the protocol is made, labels=(...)"
_LISTED = 2**24  # values that are estimated together; more need candidates
_PAIRED = 2**12  # values of which all pairs are tabled
_MOST = 2**40  # people of a population: their binomials are drawn by the million
Channel = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True, kw_only=True)
class FrequencyProtocol(Mechanism[Any, Any], Protocol):
    """Base of the protocols that estimate the share of each of k public values, 0 to k - 1 or `labels`.

    A number is rounded and clamped to 0, ..., k - 1, what is no number counts as 0, and a text that is no label counts as
    the first: each value by itself, alone as in a list (where a list is no number), so that none is ever refused.
    `epsilon` is what is typed; the price is computed back from the fraction that runs and never exceeds it.

    **Guarantee:** pure, for each person against everybody. Relation: replace.
    """

    epsilon: float
    k: int | None = None
    labels: tuple[str, ...] | None = None

    simulation: ClassVar[Literal["joint", "marginals"]] = "joint"
    most_values: ClassVar[int] = 2**32
    exact_supports: ClassVar[bool] = True  # supports are two binomials, exactly; with hashes they are so on average

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.labels is not None:
            set_frozen(self, labels=public_texts(self.labels))
            if self.k not in (None, len(self.labels)):
                raise InvalidParameter("k must be the number of labels, or left out")
            set_frozen(self, k=len(self.labels))
        if self.k is None:
            raise InvalidParameter("give k, the number of values, or labels=, the public texts that may be reported")
        if count("k", self.k, 1) == 1:
            raise InvalidParameter("k must be at least 2: where there is one possible value, nothing needs to be asked")
        if self.k > self.most_values:
            raise InvalidParameter(f"k must be at most {self.most_values} for {type(self).__name__}")
        if above("epsilon", self.epsilon, 0.0) > MOST:
            raise InvalidParameter(f"epsilon must be at most {MOST:g}: beyond, a report is the truth")
        set_frozen(self, k=count("k", self.k, 2), epsilon=above("epsilon", self.epsilon, 0.0))

    # --- what a member answers ---------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def own(self) -> Fraction:
        """The probability that a report supports the person's value."""

    @property
    @abstractmethod
    def other(self) -> Fraction:
        """The probability that a report supports a given other value."""

    @abstractmethod
    def outcomes(self) -> Array:
        """All possible reports, one a row."""

    @abstractmethod
    def channel(self) -> Channel:
        """Row x: the exact law of the report on the value x; a column for each of `outcomes`, in this order."""

    @abstractmethod
    def simulate_counts(self, counts: Any, *, source: Source = None) -> State:
        """A state as if so many people held each value: the law of the real one (see `simulation`), without reports."""

    # --- what a member answers unless it says otherwise --------------------------------------------------------------

    @property
    def report_shape(self) -> tuple[int, ...]:
        return ()

    def table_shape(self, candidates: Array | None) -> tuple[int, ...]:
        return (self.size,)

    def supports(self, state: State, candidates: Array | None) -> Array:
        """The number of reports that support each value, or each candidate: the table counts them, value by value."""
        return state.table if candidates is None else state.table[candidates.astype(np.int64)]

    # --- the mechanism -----------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """The number of values."""
        assert self.k is not None
        return self.k

    def _admit(self, value: Any) -> None:
        if is_single(value):
            return
        if self.labels is not None:
            admit_texts(value)
        elif is_typed(value) and column_kind(value) in ("text", "object"):
            raise InvalidData(_TEXTS)
        else:
            admit_value(one_each(value))

    def _prepare(self, value: Any) -> Array:
        one = is_single(value)
        given = [value] if one else one_each(value)
        labels = self.labels
        codes = codes_of(given, self.size) if labels is None else places(given, labels, other=0)
        return (codes.reshape(()) if one else codes).astype(np.int64, copy=False)

    def error(self, confidence: float = 0.95, *, people: int = 1) -> ErrorBar:
        """The distance that each estimated share of `people` reports may have from the true one, all k of them at
        once.

        **Error:** noise of the reports alone: the normal approximation, or Chebyshev's inequality where it is poor.
        """
        n, p, q = count("people", people, 1), float(self.own), float(self.other)
        tail = tail_of(confidence, among=self.size)
        worst = max(float(self.variance(0.0, n=n)) + self._collisions, float(self.variance(1.0, n=n)))
        if needs_exact_law(n, p, q, tail):
            radius = (worst * self.size / (1.0 - confidence)) ** 0.5
        else:
            low, high = score_interval(np.zeros(1), worst, 0.0, tail)
            radius = float(high[0] - low[0]) / 2.0
        return ErrorBar(radius, confidence, f"each of {self.size} estimated shares", around=False)

    def _error_of(self, prepared: Array) -> ErrorBar | None:
        return self.error(people=max(1, prepared.size))

    # --- the server --------------------------------------------------------------------------------------------------

    def candidates_of(self, given: Any) -> Array:
        try:
            found = np.asarray(given)
        except ValueError:  # lists of unlike lengths
            found = np.zeros(0)
        if found.ndim != 1 or found.dtype.kind not in "iu" or not found.size or found.min() < 0:
            raise InvalidParameter("candidates must be a list of public values, whole numbers that are not negative")
        if found.max() >= self.size:
            raise InvalidParameter(f"candidates must be values of the protocol, 0 to {self.size - 1}")
        return found.astype(np.uint64)

    def new_state(self, *, candidates: Any = None) -> State:
        """An empty state; `candidates` are the values to be estimated, where there are too many to count them all."""
        return State(self, candidates=candidates)

    def variance(self, share: Any = 0.0, *, n: int = 1) -> Any:
        """The variance of the raw estimate of a share from n reports, given the true values of the people (noise alone).

        What a public pool of hashes adds is in `squared_error`: it depends on the shares of all values.
        """
        a, b = self._line(count("n", n, 1))
        if not isinstance(share, list | tuple | np.ndarray):
            return a + b * fraction("share", share)
        shares = numbers_or_nan(share)
        if not np.all((shares >= 0.0) & (shares <= 1.0)):
            raise InvalidParameter("share must be one number or a list of them, from 0 to 1")
        return a + b * shares

    @property
    def _gap(self) -> float:
        """own - other, from the fractions: as floats both may be the same number."""
        return float(self.own - self.other)

    def _line(self, n: int) -> tuple[float, float]:
        """Variance a + b f of a raw estimate at the share f."""
        p, q = self.own, self.other
        return float(q * (1 - q) / (n * (p - q) ** 2)), float((1 - p - q) / (n * (p - q)))

    def estimate(self, reports: Any, **how: Any) -> Estimate:
        """The shares of the k values, or of the candidates, from reports or a state (post-processing).

        `raw` is unbiased and never clipped. `interval` holds for each share by itself, or for all at once with
        `simultaneous=True`; it is cut at 0 and 1. A `consistency` (`NormSub()`, `EM()`) moves `value`, and voids it.

        Arguments by name: candidates=None, confidence=0.95, simultaneous=False, consistency=None.
        """
        by_name(how, ("candidates", "confidence", "simultaneous", "consistency"))
        return self._estimate(reports, **how)

    def _estimate(
        self,
        reports: Any,
        *,
        candidates: Any = None,
        confidence: float = 0.95,
        simultaneous: bool = False,
        consistency: Any = None,
    ) -> Estimate:
        state, wanted = self._asked(reports, candidates)
        counts = self.supports(state, wanted)
        q, n = float(self.other), state.n
        raw = (counts / n - q) / self._gap
        off = self._off(raw, n, wanted is None)
        interval = self._interval(counts, raw, n, confidence, flag("simultaneous", simultaneous), off)
        variance = self.variance(np.clip(raw, 0.0, 1.0), n=n) + off
        labels = self.labels if wanted is None else tuple(wanted.tolist())
        if consistency is not None:
            value, note = made_consistent(consistency, raw, state, wanted)
            return Estimate(value, None, raw=raw, variance=variance, labels=labels, n=n, notes=(note,))
        low, high = interval
        bar = ErrorBar(
            np.maximum(high - raw, 0.0),
            confidence,
            f"each of {len(raw)} estimated shares",
            below=np.maximum(raw - low, 0.0),
            joint=simultaneous,
        )
        ends = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
        return Estimate(raw, bar, variance=variance, interval=ends, labels=labels, n=n)

    def _asked(self, reports: Any, candidates: Any) -> tuple[State, Array | None]:
        """The state with the reports, and the values to be estimated (None: all), which are checked first."""
        wanted = None if candidates is None else self.candidates_of(candidates)
        state = reports if isinstance(reports, State) else self.new_state(candidates=wanted).add(reports)
        if state.protocol != self:
            raise InvalidParameter("this state belongs to another protocol, or to other parameters")
        wanted = state.candidates if wanted is None else wanted
        if wanted is None and self.size > _LISTED:
            raise InvalidParameter(f"more than {_LISTED} values are not estimated together: name candidates=")
        if not state.n:
            raise InvalidData("an estimate needs at least one report")
        return state, wanted

    def _interval(
        self, counts: Array, raw: Array, n: int, confidence: float, joint: bool, off: Any = 0.0
    ) -> tuple[Array, Array]:
        """Both ends, not cut. Two shares that add up to 1 are off together: one interval is both."""
        p, q, among = float(self.own), float(self.other), len(raw) if joint else 1
        among = 1 if among == 2 == self.size and not any(self.pair_supports) else among
        tail = tail_of(confidence, among=among)
        if self.exact_supports and needs_exact_law(n, p, q, tail):
            return exact_interval(counts, n, p, q, tail_of(confidence, among=among, exact=True))
        a, b = self._line(n)
        return score_interval(raw, a + off, b, tail)

    # --- hashes that all people share --------------------------------------------------------------------------------

    @property
    def shared_hashes(self) -> Pool | None:
        """The public pool of hashes, where there is one."""
        return None

    @property
    def _collisions(self) -> float:
        return 0.0 if self.shared_hashes is None else self.shared_hashes.collisions

    def _off(self, raw: Array, n: int, whole: bool) -> Any:
        """The mean square, over pools, of what collisions add: squares of shares are estimated without bias, and those who
        hold no value that is asked for may all hold one of the others."""
        if self.shared_hashes is None:
            return 0.0
        shares = np.clip(raw, 0.0, 1.0)
        squares = float(np.sum(raw**2 - self.variance(shares, n=n)))
        rest = 0.0 if whole else max(0.0, 1.0 - float(shares.sum())) ** 2
        return self._collisions * np.clip(squares + rest - shares**2, 0.0, 1.0)

    def bias(self, shares: Any) -> Array:
        """The distance of each raw estimate's mean from its share, given the public hashes and the shares of all values:
        what shares a cell is counted too often. It is 0 where there is no public pool of hashes."""
        f, q = self._shares(shares), float(self.other)
        return np.zeros(self.size) if self.shared_hashes is None else (self.shared_hashes.means(f) - q) / self._gap - f

    def squared_error(self, shares: Any, *, n: int) -> Array:
        """The mean squared error of each raw estimate from n reports, given the public hashes and the shares of all values:
        the variance of the noise (to a relative 1/hashes where these are shared), and the square of `bias`."""
        f, p, q, gap = self._shares(shares), float(self.own), float(self.other), self._gap
        off = self.bias(f)
        others = np.divide(off * gap, 1.0 - f, out=np.zeros(self.size), where=f < 1.0) + q  # how they support it
        unlike = self._collisions * gap**2  # how much they differ in that, on average over pools
        noise = f * p * (1.0 - p) + (1.0 - f) * (others * (1.0 - others) - unlike)
        return noise / (count("n", n, 1) * gap**2) + off**2

    def _shares(self, given: Any) -> Array:
        f = numbers_or_nan(given)
        if f.shape != (self.size,) or np.isnan(f).any():
            raise InvalidParameter(f"shares must be {self.size} numbers, one for each value")
        return f

    # --- sums, ranges and differences --------------------------------------------------------------------------------

    @property
    def pair_supports(self) -> tuple[Fraction, Fraction]:
        """The probability that a report supports two given values: its own and another one; two others."""
        return self.own * self.other, self.other**2

    def covariance(self, shares: Any, *, n: int) -> Array:
        """The covariance of the raw estimates from n reports, given the true shares and public hashes (noise alone)."""
        if self.size > _PAIRED:
            raise InvalidParameter(f"covariances of more than {_PAIRED} values are not tabled: group values first")
        return self._covariance(self._shares(shares), count("n", n, 1))

    def _covariance(self, f: Array, n: int) -> Array:
        p, q, (own, two) = float(self.own), float(self.other), map(float, self.pair_supports)
        if self.shared_hashes is not None:
            return self.shared_hashes.covariance(f) / (n * self._gap**2)
        cross = (own - p * q) * (f[:, None] + f[None, :]) + (two - q * q) * (1.0 - f[:, None] - f[None, :])
        cross += self._extra_cross(f)
        np.fill_diagonal(cross, f * p * (1.0 - p) + (1.0 - f) * q * (1.0 - q))
        return cross / (n * self._gap**2)

    def _extra_cross(self, f: Array) -> Any:
        """The common supports of pairs of values beyond `pair_supports`."""
        return 0.0

    def histogram(self, estimate: Estimate) -> MeasuredCells:
        """The raw shares as cells of a histogram with their covariance, of which sums and ranges are asked.

        **Error:** the normal approximation, at the estimated shares; what public hashes add is in it as it is at those.

        >>> from privet import local
        >>> survey = local.KRR(k=4, epsilon=2.0)
        >>> print(survey.histogram(survey.estimate([0] * 300 + [1] * 300 + [2] * 200 + [3] * 200)).answer(0, 3))
        1 +-0 (95%)
        """
        if estimate.n is None or np.shape(estimate.raw) != (self.size,):
            raise InvalidParameter("the estimate must be one of this protocol, for all of its values")
        shares = np.clip(estimate.raw, 0.0, 1.0)
        off = self.bias(shares)
        return MeasuredCells(estimate.raw, self.covariance(shares, n=estimate.n) + off[:, None] * off[None, :])

    def combined(self, estimate: Estimate, weights: Any, *, confidence: float = 0.95) -> Estimate:
        """A sum, range or difference of shares: weights @ raw, with the variance that `histogram` gives it."""
        w = numbers_or_nan(weights)
        if w.shape != (self.size,) or np.isnan(w).any():
            raise InvalidParameter(f"weights must be {self.size} finite numbers, one for each value")
        cells = self.histogram(estimate)
        found = cells.linear(w, confidence=confidence)
        bar = ErrorBar(found.radius, confidence, "the combination of shares")
        return Estimate(found.value, bar, variance=cells.variance(w), n=estimate.n)


def people_of(counts: Any, k: int) -> Array:
    """The number of people that hold each value, as whole numbers.

    >>> people_of([3, 0], 2).tolist()
    [3, 0]
    """
    wrong = f"counts must be {k} whole numbers that are not negative: how many people hold each value"
    try:
        found = np.asarray(counts)
    except ValueError:  # lists of unlike lengths
        raise InvalidParameter(wrong) from None
    if found.shape != (k,) or found.dtype.kind not in "iu" or found.min() < 0:
        raise InvalidParameter(wrong)
    if int(found.max()) > _MOST or whole_sum(found.astype(np.int64)) > _MOST:
        raise InvalidParameter("a population has at most 2^40 people")
    return found.astype(np.int64)


def numbers_or_nan(given: Any) -> Array:
    """Numbers in any shape; one NaN where some are missing, infinite or no numbers.

    >>> numbers_or_nan([1, 2]).tolist(), numbers_or_nan(["a"]).tolist()
    ([1.0, 2.0], [nan])
    """
    try:
        found = np.asarray(given, dtype=float)
    except (TypeError, ValueError):  # texts, objects, lists of unlike lengths
        return np.array([np.nan])
    return found if np.all(np.isfinite(found)) else np.array([np.nan])
