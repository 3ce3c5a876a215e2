"""Labels only where teachers and a student disagree, in rounds: what the student knows already is not asked."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Unpack, final

import numpy as np

from privet._numerics import Array
from privet._validate import fraction, set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms import BlockAlgorithm, Example, Gaussian, Source, outside, register
from privet.pate.small_votes import moved, usual_class
from privet.pate.two_noises import ABSTAINED, TwoNoises, with_two_noises
from privet.pate.votes import Votes
from privet.privacy import Composed, Guarantee, PrivacyLoss, Promise, Unit, as_unit

_WHOLE = {"queries": 1, "answers": 1, "classes": 2, "teachers": 1, "rounds": 1}  # the least of each

Guess = Callable[[Array], Any]


@final
@register
@dataclass(frozen=True, kw_only=True, eq=False)
class InteractiveGNMax(TwoNoises, BlockAlgorithm[Votes, Array]):
    """Labels of queries by votes of teachers where these differ from what a student expects, and by the student elsewhere.

    For each query the votes that the student expects are subtracted from the counts, class by class. Where the largest
    difference, plus normal noise of deviation `sigma1`, reaches `threshold`, the label is the class with the largest count
    after fresh normal noise of deviation `sigma2`: up to the number of answers of the round. Every other query gets the
    student's most likely class if its chance is above `confidence`, and -1 otherwise.

    `student(labels)` takes the labels known so far (-1: none) and gives the chances of every class, a row for each query;
    it is asked anew before each round but the first, in which every class is as likely as any other. It sees released
    labels and public rows alone: `Student.guesses(pool)` makes one.

    Queries and answers are divided evenly over the `rounds`; of a remainder the first rounds have one more each. All are
    paid for in advance as one run, of which each round is a block: `ledger.run_blocks` stops and resumes between rounds.
    Answers that a round did not need are neither paid back nor used later. Rounds depend on earlier answers, so that these
    labels have no price that is computed from the votes.

    **Guarantee:** the composition of `queries` releases of mu = 1/sigma1 (what the student expects is public, so that a
    teacher moves the largest difference by at most 1) and `answers` releases of mu = sqrt(2)/sigma2.
    **Reference:** Papernot et al. 2018. **Proof:** docs/proofs/pate/interactive_gn_max.md.

    >>> from privet import accounting
    >>> def knows_nothing(labels):
    ...     return np.full((640, 10), 0.1)
    >>> labels = InteractiveGNMax(
    ...     threshold=200, sigma1=150.0, sigma2=40.0, queries=640, answers=286, classes=10, teachers=250, rounds=2,
    ...     student=knows_nothing,
    ... )
    >>> len(labels.blocks), round(float(accounting.epsilon(labels.loss, delta=1e-5).upper), 3)
    (2, 2.543)
    """

    name = "pate_interactive_gn_max"
    at_most = True  # a run may give fewer answers than it pays for

    threshold: float
    sigma1: float
    sigma2: float
    queries: int
    answers: int
    classes: int
    teachers: int
    student: Guess
    rounds: int = 2
    confidence: float = 0.95
    unit: Unit = field(default=Unit())
    fixed_ids: bool = False
    at: float | None = None  # the delta at which the price is told, set where `for_budget` is given one

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_noises(_WHOLE)
        if self.rounds > self.answers:
            raise InvalidParameter("rounds must be at most answers: each of them answers something")
        if not callable(self.student) or isinstance(self.student, type):
            raise InvalidParameter(
                "student must be a function of labels that gives chances: Student(...).guesses(pool)"
            )
        set_frozen(self, confidence=fraction("confidence", self.confidence))
        self.loss.gaussian()  # noise so small that no double holds its price is refused here

    def asked(self, index: int) -> range:
        """The queries of a round."""
        sizes = _even(self.queries, self.rounds)
        first = sum(sizes[:index])
        return range(first, first + sizes[index])

    def threshold_part(self, queries: int) -> Gaussian:
        """The mechanism that makes the largest differences noisy, of so many queries; a teacher moves each by 1 at most."""
        return self._thresholds(queries)

    @property
    def blocks(self) -> tuple[PrivacyLoss, ...]:
        sizes = zip(_even(self.queries, self.rounds), _even(self.answers, self.rounds), strict=True)
        return tuple(
            Composed((self.threshold_part(queries).loss, self.answer_part(answers).loss)) for queries, answers in sizes
        )

    def _first(self) -> Array:
        return np.full(self.queries, ABSTAINED, dtype=np.int64)

    def _block(self, index: int, state: Array, prepared: Votes, source: Source) -> Array:
        asked = np.array(self.asked(index))
        most = _even(self.answers, self.rounds)[index]  # answers of this round
        chances = self._guessed(state, index)[asked]
        expected = np.rint(self.teachers * chances).astype(np.int64)  # whole votes: differences are compared exactly
        gaps = (prepared.exact_counts[asked] - expected).max(axis=1).astype(np.int64)
        noisy = self.threshold_part(len(asked)).release(gaps, source=source).value
        chosen = asked[np.flatnonzero(np.asarray(noisy) >= self.threshold)[:most]]
        labels = state.copy()
        labels[asked] = np.where(chances.max(axis=1) > self.confidence, chances.argmax(axis=1), ABSTAINED)
        if len(chosen):
            labels[chosen] = self.answer_part(len(chosen)).release(prepared.exact_part(chosen), source=source).value
        return labels

    def _guessed(self, labels: Array, index: int) -> Array:
        """The student's chances of each class, a row for each query; released labels are all that it is told."""
        if index == 0:
            return np.full((self.queries, self.classes), 1.0 / self.classes)
        with outside():
            told = np.asarray(self.student(labels.copy()), dtype=float)
        if told.shape != (self.queries, self.classes) or not np.all((told >= 0.0) & (told <= 1.0)):
            raise InvalidData(
                "the student must give chances from 0 to 1: a row for each query, a column for each class"
            )
        return told

    def _result(self, state: Array) -> Array:
        return state

    def to_dict(self) -> dict[str, Any]:
        """The public parameters; a student is known by the name of its function."""
        student = getattr(self.student, "__qualname__", type(self.student).__name__)
        public = {name: getattr(self, name) for name in (*_WHOLE, "threshold", "sigma1", "sigma2", "confidence")}
        shown = {"mechanism": self.name, "student": student, "unit": self.unit.to_dict(), "fixed_ids": self.fixed_ids}
        shown |= {name: each if isinstance(each, int) else repr(each) for name, each in public.items()}
        return shown if self.at is None else shown | {"at": repr(self.at)}

    @classmethod
    def for_budget(
        cls,
        *,
        threshold: float,
        queries: int,
        answers: int,
        classes: int,
        teachers: int,
        student: Guess,
        rounds: int = 2,
        confidence: float = 0.95,
        share: float = 0.1,
        unit: Unit | None = None,
        fixed_ids: bool = False,
        **promise: Unpack[Promise],
    ) -> "InteractiveGNMax":
        """The aggregator all of whose rounds together keep a promise; the noise on thresholds takes `share` of it.

        >>> made = InteractiveGNMax.for_budget(
        ...     epsilon=2.0, delta=1e-5, threshold=150, queries=100, answers=50, classes=10, teachers=250,
        ...     student=lambda labels: np.full((100, 10), 0.1),
        ... )
        >>> made.sigma1 > made.sigma2
        True
        """
        public = {
            "threshold": threshold,
            "queries": queries,
            "answers": answers,
            "classes": classes,
            "teachers": teachers,
            "student": student,
            "rounds": rounds,
            "confidence": confidence,
            "unit": as_unit(unit),
            "fixed_ids": fixed_ids,
        }
        return with_two_noises(cls, public, Guarantee(**promise), share)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        public: dict[str, Any] = {"queries": 4, "answers": 2, "classes": 2, "teachers": 5, "student": usual_class}
        left, right = [[4, 1], [2, 3], [5, 0], [1, 4]], [[3, 2], [3, 2], [4, 1], [0, 5]]
        plain = cls(threshold=2.0, sigma1=2.0, sigma2=2.0, **public)
        yield Example(plain, *moved(left, right), cost="costly")
        target = Guarantee(4.0, 1e-5)
        bought = cls.for_budget(epsilon=4.0, delta=1e-5, threshold=2.0, **public)
        yield Example(bought, *moved(left, right), target, cost="costly")
        double = cls(threshold=2.0, sigma1=2.0, sigma2=2.0, unit=Unit("replace"), **public)
        yield Example(double, *moved(left, [[2, 3], [4, 1], [3, 2], [3, 2]]), cost="costly")


def _even(total: int, rounds: int) -> list[int]:
    """A total divided over rounds, as whole numbers; the remainder is added one by one to the first ones."""
    each, remainder = divmod(total, rounds)
    return [each + 1] * remainder + [each] * (rounds - remainder)
