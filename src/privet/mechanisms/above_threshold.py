"""AboveThreshold, the sparse vector technique: which of many queries lie above a threshold."""

import math
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn, Unpack, final

import numpy as np

from privet import noise
from privet._cache import kept_property
from privet._calls import door
from privet._numerics import Array, down, up
from privet._validate import above, at_least, count, finite, flag, fraction, open_fraction, set_frozen
from privet.errors import BudgetExceeded, InvalidParameter
from privet.mechanisms.error_bar import ErrorBar
from privet.mechanisms.families.columns import as_element
from privet.mechanisms.families.response import largest_epsilon
from privet.mechanisms.families.selection import admit_scores, as_scores, check_monotonic
from privet.mechanisms.form import Form, ListOf, Numbers
from privet.mechanisms.mechanism import STREAM, Example, Mechanism, Source, register
from privet.mechanisms.repeats import epsilon_of_repeats
from privet.mechanisms.sensitivity import Sensitivity, as_sensitivity
from privet.mechanisms.target import root_of_falling, scale_for
from privet.noise import Grid, whole_steps
from privet.privacy import (
    AboveThresholdLoss,
    Composed,
    DiscreteLaplaceLoss,
    Guarantee,
    PrivacyLoss,
    Promise,
    Repeated,
    Unit,
)

_FINER = 20  # the grid is at least 2^20 times finer than the sensitivity
_WORTH = 2e-3  # of epsilon: what the search for the largest total may leave unused
_CLOSE = 100.0  # cells per unit of a range, squared: the curve of repeated numbers is right to a thousandth
ABOVE, UNANSWERED = 1, -1  # in place of answers; 0 is below


@final
@register
@dataclass(frozen=True, kw_only=True)
class AboveThreshold(Mechanism[Any, Any]):
    """Says of one query after the other whether it lies above a public threshold, until `positives` of them did.

    Queries that lie below are free: however many they are, the whole stream has one price. `start()` opens a stream for
    queries that are chosen as answers come in; `release(values)` runs over a whole list, and marks each query as above
    (1), below (0) or not answered (-1). With `answer_scale` each positive answer comes with a number (the release is a
    pair of arrays), drawn with fresh noise of its own. With `gaps` each positive answer comes with its lead over the noisy
    threshold, free of charge; threshold + gap estimates the query.

    Noise is discrete Laplace on a grid far finer than the sensitivity: of `threshold_scale`, once; of `query_scale`, for
    each query.

    **Guarantee:** pure e1 + e2 for the whole stream (c positives), e1 = sensitivity/threshold_scale, e2 = 2 c
    sensitivity/query_scale (c sensitivity/query_scale when all queries move the same way), with the sensitivity rounded
    up to the grid; and c times sensitivity/answer_scale for numbers.
    **Sensitivity:** of each single query. A query that is NaN is answered as 0 would be, in a list as the lowest of the
    others; which ones are must not depend on the data.
    **Error:** with probability 1 - beta, every one of k answers is right up to threshold_scale ln(2/beta) + query_scale
    ln(2 k/beta); at the textbook's equal split, at most 8 (ln k + ln(2/beta)) sensitivity/epsilon.
    **Reference:** Dwork & Roth 2014, section 3.6; Lyu, Su & Li 2017.

    >>> watch = AboveThreshold.for_budget(epsilon=1.0, sensitivity=1, threshold=1000)
    >>> stream = watch.start()
    >>> stream.ask(20), stream.ask(300), stream.ask(5000)
    (False, False, True)
    >>> stream.ask(20)
    Traceback (most recent call last):
    privet.errors.BudgetExceeded: this stream has given all its positive answers; a new stream is a new price
    """

    name = "above_threshold"

    threshold: float
    threshold_scale: float
    query_scale: float
    sensitivity: Sensitivity = field()
    positives: int = 1
    monotonic: bool = False
    answer_scale: float | None = None
    gaps: bool = False
    at: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("threshold_scale", "query_scale", "answer_scale"):
            if name != "answer_scale" or self.answer_scale is not None:
                set_frozen(self, **{name: above(name, getattr(self, name), 0.0)})
        set_frozen(self, threshold=finite("threshold", self.threshold))
        set_frozen(self, sensitivity=as_sensitivity(self.sensitivity, norm="score"))
        set_frozen(self, positives=count("positives", self.positives, 1))
        check_monotonic(self.monotonic, self.sensitivity.unit)
        if flag("gaps", self.gaps) and self.answer_scale is not None:
            raise InvalidParameter(
                "gaps are free and numbers are paid for: take gaps=True or an answer_share, not both"
            )
        if max(self._in_steps(s) for s in (self.threshold_scale, self.query_scale, self.answer_scale or 0.0)) > 2**52:
            raise InvalidParameter("the noise must stay below 2^52 grid steps: the budget is too small")
        if abs(self._in_steps(self.threshold)) > 2**60:
            raise InvalidParameter(
                "the threshold must lie within 2^60 steps of the grid, a million steps to the sensitivity: measure "
                "queries and threshold from a public origin near it"
            )

    @classmethod
    def for_budget(
        cls,
        *,
        sensitivity: float | Fraction | Sensitivity,
        threshold: float,
        unit: Unit | None = None,
        positives: int = 1,
        monotonic: bool = False,
        answer_share: float = 0.0,
        gaps: bool = False,
        **promise: Unpack[Promise],
    ) -> "AboveThreshold":
        """The best split of the budget between threshold and queries, 1 : (2c)^(2/3), or 1 : c^(2/3) when monotonic.

        `answer_share` is the part of epsilon that is kept for numbers; 0 means signs only.
        """
        target = Guarantee(**promise)
        share = Fraction(at_least("answer_share", fraction("answer_share", answer_share), 0.0))
        if share == 1:
            raise InvalidParameter("answer_share must be below 1: the signs need a budget too")
        bound, c = as_sensitivity(sensitivity, norm="score", unit=unit), count("positives", positives, 1)

        grid = _grid_of(bound.value)

        def made(total: float) -> "AboveThreshold":
            scales = _split(Fraction(total), share, c, flag("monotonic", monotonic), grid.times(grid.ceil(bound.value)))
            return cls(threshold=threshold, sensitivity=bound, positives=c, monotonic=monotonic, gaps=gaps, **scales)

        if share and target.delta:
            return made(_largest_total(float(share), c, target))._charged_at(target)
        return made(largest_epsilon(lambda e: made(e).loss, target))._charged_at(target)

    @property
    def step(self) -> float:
        """The grid on which queries and noise live: a power of two."""
        return self._grid.width

    @kept_property
    def _grid(self) -> Grid:
        return _grid_of(self.sensitivity.value)

    @property
    def loss(self) -> PrivacyLoss:
        steps, unit, c = self._grid.ceil(self.sensitivity.value), self.sensitivity.unit, self.positives
        reach = 1 if self.monotonic else 2
        epsilon = steps / self._in_steps(self.threshold_scale) + reach * c * steps / self._in_steps(self.query_scale)
        signs = AboveThresholdLoss(up(epsilon), c, unit=unit)
        if self.answer_scale is None:
            return signs
        one = DiscreteLaplaceLoss(down(self._in_steps(self.answer_scale)), steps, unit=unit)
        return Composed((signs, Repeated(one, c)))

    def to_dict(self) -> dict[str, Any]:
        """As for every mechanism; without `gaps` where there are none, as it was before they existed."""
        public = super().to_dict()
        return public if self.gaps else {name: value for name, value in public.items() if name != "gaps"}

    def _in_steps(self, scale: float) -> Fraction:
        return self._grid.length(scale)

    @door
    def start(self, *, source: Source = None) -> "ThresholdStream":
        """A stream for queries asked one by one; the price of the whole stream is due now."""
        stream: ThresholdStream = self._pass(
            STREAM, lambda: self._made(ThresholdStream(self, source), self.error(), source), source
        ).value
        return stream

    def _admit(self, value: object) -> None:
        admit_scores(value)

    def _prepare(self, value: object) -> Array:
        return self._rounded(as_scores(value))

    def _rounded(self, values: Array) -> Array:
        """Values in whole steps, half up: what lies d apart lies at most ceil(d) steps apart. Saturates at 2^62."""
        return whole_steps(values, self._grid)

    @property
    def form(self) -> Form:
        return Numbers() if self.answer_scale is None and not self.gaps else ListOf(Numbers())

    def _draw(self, prepared: Array, runs: int, source: Source) -> Any:
        """Whole streams at once, one threshold each; what comes after the last positive answer is dropped unseen."""
        queries = np.broadcast_to(prepared, (runs, len(prepared)))
        leads = self._leads(queries, self._noisy_threshold(runs, source), source)
        higher = leads >= 0
        earlier: Array = np.cumsum(higher, axis=1) - higher
        answers = np.where(earlier < self.positives, higher, UNANSWERED).astype(np.int64)
        if self.answer_scale is None and not self.gaps:
            return answers
        numbers = leads * self.step if self.gaps else self._numbers(queries, source)
        return list(zip(answers, np.where(answers == ABOVE, numbers, np.nan), strict=True))

    # The three draws of a stream. A list is asked at once and a `ThresholdStream` one by one, through these alike.

    def _noisy_threshold(self, runs: int, source: Source) -> Array:
        """The threshold of each run, in steps: drawn once."""
        return self._rounded(np.array([self.threshold])) + self._noise(self.threshold_scale, (runs, 1), source)

    def _leads(self, queries: Array, threshold: Array, source: Source) -> Array:
        """By how many steps each query, with fresh noise, lies above the noisy threshold of its run; negative below it."""
        leads: Array = queries + self._noise(self.query_scale, queries.shape, source) - threshold
        return leads

    def _numbers(self, queries: Array, source: Source) -> Array:
        """The values once more, with noise that has nothing to do with the comparison."""
        assert self.answer_scale is not None
        return (queries + self._noise(self.answer_scale, queries.shape, source)) * self.step

    def _noise(self, scale: float, size: int | tuple[int, ...], source: Source) -> Array:
        """Whole steps; values saturate at 2^62 steps and scales at 2^52, so that a sum stays in 64 bits."""
        return noise.discrete_laplace(scale=self._in_steps(scale), size=size, source=source)

    def error(self, confidence: float = 0.95, *, queries: int = 1) -> ErrorBar:
        """The distance from the threshold at which a query may lie and still be answered wrongly, for `queries` answers
        at once."""
        k, beta = count("queries", queries, 1), 1.0 - open_fraction("confidence", confidence)
        radius = self.threshold_scale * math.log(2.0 / beta) + self.query_scale * math.log(2.0 * k / beta)
        return ErrorBar(radius + 3.0 * self.step, confidence, f"threshold of {k} answers", around=False)

    def _error_of(self, prepared: Array) -> ErrorBar:
        return self.error(queries=len(prepared))

    @classmethod
    def examples(cls) -> Iterable[Example]:
        plain = cls.for_budget(epsilon=3.0, sensitivity=1, threshold=0.0, unit=Unit("replace"))
        yield Example(plain, [-1.0] * 8 + [1.0], [0.0] * 9, Guarantee(3.0))
        counts = cls.for_budget(epsilon=2.0, sensitivity=1, threshold=5, positives=2, monotonic=True)
        # Threshold and two positives strain the price together only on streams that end this way once in thousands of runs.
        yield Example(counts, [4, 5, 5], [5, 6, 6], Guarantee(2.0), detects=0.25)
        numbers = cls.for_budget(epsilon=2.0, sensitivity=0.5, threshold=1.0, answer_share=0.25)
        # The number shows when the second query is above, and that hardly depends on the world: an eighth of the price.
        yield Example(numbers, [0.5, 1.0], [0.0, 1.5], Guarantee(2.0), detects=0.25)
        leads = cls.for_budget(epsilon=1.0, sensitivity=1, threshold=0.0, gaps=True)
        # three queries that move up and one that moves down: half of the price is refuted by little more than chance allows
        yield Example(leads, [-1.0, -1.0, -1.0, 1.0], [0.0] * 4, Guarantee(1.0), detects=0.4)


@final
class ThresholdStream:
    """One run of `AboveThreshold`: a noisy threshold, drawn once, and as many questions as it takes.

    It cannot be copied, pickled or forked: a copy would give further positive answers against the same threshold.

    **Guarantee:** the `loss` of the mechanism, for all answers together, whatever is asked and however adaptively.

    >>> AboveThreshold.for_budget(epsilon=1.0, sensitivity=1, threshold=0).start().remaining
    1
    """

    __slots__ = ("_left", "_lock", "_mechanism", "_process", "_source", "_threshold")

    def __init__(self, mechanism: AboveThreshold, source: Source = None) -> None:
        self._mechanism, self._source, self._lock = mechanism, source, threading.Lock()
        self._left, self._process = mechanism.positives, os.getpid()
        self._threshold = mechanism._noisy_threshold(1, source)

    @property
    def remaining(self) -> int:
        """The number of positive answers that are left."""
        return self._left

    @property
    def insecure(self) -> bool:
        """True if the noise comes from a seeded stream and protects nobody: its answers say so too."""
        return self._source is not None and bool(getattr(self._source, "insecure", True))

    def ask(self, value: float) -> "bool | InsecureAnswer":
        """True if the query with this exact value lies above the threshold, up to the noise."""
        over = self._compare(value)[0] >= 0
        return InsecureAnswer(over) if self.insecure else over

    def ask_number(self, value: float) -> float | None:
        """A noisy value of the query if it lies above the threshold, else None."""
        if self._mechanism.answer_scale is None:
            raise InvalidParameter("this mechanism answers with signs only; give for_budget an answer_share")
        lead, query = self._compare(value)
        if lead < 0:
            return None
        number = float(self._mechanism._numbers(query, self._source)[0, 0])
        return InsecureNumber(number) if self.insecure else number

    def ask_gap(self, value: float) -> float | None:
        """By how much the noisy query exceeds the noisy threshold, or None when it lies below."""
        if not self._mechanism.gaps:
            raise InvalidParameter("this mechanism answers without gaps; make it with gaps=True, which costs nothing")
        lead = self._compare(value)[0]
        if lead < 0:
            return None
        gap = lead * self._mechanism.step
        return InsecureNumber(gap) if self.insecure else gap

    def _compare(self, value: float) -> tuple[int, Array]:
        query = self._mechanism._prepare([as_element(value)])[None, :]
        if self._process != os.getpid():
            raise InvalidParameter("a stream lives in the process that started it: a fork would double its answers")
        with self._lock:
            if self._left == 0:
                raise BudgetExceeded("this stream has given all its positive answers; a new stream is a new price")
            lead = int(self._mechanism._leads(query, self._threshold, self._source)[0, 0])
            self._left -= lead >= 0
        return lead, query

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise InvalidParameter("a stream cannot be copied or pickled: its threshold may be used once only")


@final
class InsecureAnswer(int):
    """A yes or no of a seeded stream: as good as True or False, and stamped, since it protects nobody.

    >>> InsecureAnswer(True), bool(InsecureAnswer(False)), InsecureAnswer(True).insecure
    (True [INSECURE: seeded noise], False, True)
    """

    insecure = True

    def __repr__(self) -> str:
        return f"{bool(self)} [INSECURE: seeded noise]"


@final
class InsecureNumber(float):
    """A number of a seeded stream, stamped.

    >>> InsecureNumber(2.5)
    2.5 [INSECURE: seeded noise]
    """

    insecure = True

    def __repr__(self) -> str:
        return f"{float(self)!r} [INSECURE: seeded noise]"


def _split(total: Fraction, share: Fraction, positives: int, monotonic: bool, moved: Fraction) -> dict[str, Any]:
    """The scales that cost a total epsilon: a share for numbers, the rest 1 : (rc)^(2/3) for threshold and queries."""
    reach = 1 if monotonic else 2
    numbers = total * share * (1 - Fraction(1, 2**48))  # sums of several prices are rounded in floats
    first = (total - numbers) * Fraction(1.0 / (1.0 + (reach * positives) ** (2.0 / 3.0)))
    second = (total - numbers - first) * (1 if share == 0 else 1 - Fraction(1, 2**48))
    return {
        "threshold_scale": scale_for(1.0, moved / first),
        "query_scale": scale_for(1.0, reach * positives * moved / second),
        "answer_scale": scale_for(1.0, positives * moved / numbers) if numbers else None,
    }


def _largest_total(share: float, c: int, target: Guarantee) -> float:
    """The largest pure total of signs and numbers whose price meets (epsilon, delta), to a few thousandths of epsilon.

    Half of all numbers show their whole price, so a delta below about 2^-c buys nothing: often that settles it. Else the
    numbers are priced as repeated Laplace noise, which is above noise on the grid once its range is a step wider.
    """
    assert target.epsilon is not None
    pure, more = target.epsilon, target.epsilon * (1.0 + _WORTH)
    shown = 0.5**c / (1.0 + math.exp((share - 1.0) * more))  # the probability that all answers show their whole price
    if shown * -math.expm1(pure - more) >= target.delta:
        return pure

    def cost(inverse: float) -> float:
        one = share / (c * inverse) * (1.0 + 2.0 ** (1 - _FINER))
        signs = (1.0 - share) / inverse * (1.0 + 2.0**-40)  # rounding of sums and of quotients
        cells = 2 + math.isqrt(int(_CLOSE * one))
        return epsilon_of_repeats(one, c, target.delta, at_ends=2.0, cells=cells, beside=signs)

    goal = pure * (1.0 - _WORTH)
    return max(pure, 1.0 / root_of_falling(cost, goal, 1.0 / pure, _WORTH))


def _grid_of(sensitivity: Fraction) -> Grid:
    """A millionth of the sensitivity."""
    return Grid.finer_than(sensitivity, _FINER, coarsest=50)
