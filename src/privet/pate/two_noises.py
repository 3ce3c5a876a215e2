"""The common ground of aggregators with two noises, on thresholds and on answers: their parts, and a promise for both."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeVar

from privet import accounting
from privet._numerics import root_up
from privet._validate import above, count, finite, open_fraction, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import Form, Gaussian, Numbers, Sensitivity
from privet.pate.aggregator import FARTHEST, check_unit, check_votes, teachers_of
from privet.pate.gn_max import GNMax, scale_up
from privet.pate.votes import Votes
from privet.privacy import Guarantee, Unit

ABSTAINED = -1  # in place of a label: no class has this number

Made = TypeVar("Made")


class TwoNoises:
    """Base of these aggregators, before `Algorithm`: votes on which enough teachers agree are answered."""

    threshold: float
    sigma1: float
    sigma2: float
    queries: int
    answers: int
    classes: int
    teachers: int | None
    unit: Unit
    fixed_ids: bool

    def _check_noises(self, least: Mapping[str, int]) -> None:
        """Whole numbers that are at least so large, and two noises."""
        whole = {name: count(name, getattr(self, name), low) for name, low in least.items()}
        if whole["answers"] > whole["queries"]:
            raise InvalidParameter("answers must be at most queries")
        check_unit(self.unit, self.fixed_ids)
        ends = {name: above(name, getattr(self, name), 0.0) for name in ("sigma1", "sigma2")}
        set_frozen(self, threshold=finite("threshold", self.threshold), **ends, **whole)
        check_threshold(self.threshold, self.teachers)

    def _thresholds(self, queries: int) -> Gaussian:
        """The noise on the largest counts of so many queries: a vector that a teacher moves by at most 1 in each."""
        teachers = teachers_of(self.unit, self.fixed_ids)
        reach = Sensitivity(teachers * Fraction(root_up(queries)), norm="l2", unit=self.unit)
        return Gaussian(scale=self.sigma1, sensitivity=reach)

    def answer_part(self, queries: int) -> GNMax:
        """The aggregator of the queries that are answered."""
        return GNMax(
            sigma=self.sigma2,
            queries=queries,
            classes=self.classes,
            teachers=self.teachers,
            unit=self.unit,
            fixed_ids=self.fixed_ids,
        )

    @property
    def form(self) -> Form:
        """A number for each query."""
        return Numbers()

    def _admit(self, value: Votes) -> None:
        check_votes(value, self.queries, self.classes, self.teachers)
        check_threshold(self.threshold, value.teachers)


def check_threshold(threshold: float, teachers: int | None) -> None:
    """Refuse a threshold that no query reaches, however many of the teachers agree: all are paid for, and noise alone
    would answer some.

    >>> check_threshold(300, 250)
    Traceback (most recent call last):
    privet.errors.InvalidParameter: threshold must be at most the number of teachers, 250: no query would be answered
    """
    if teachers is not None and threshold > teachers:
        raise InvalidParameter(
            f"threshold must be at most the number of teachers, {teachers:,}: no query would be answered"
        )


def with_two_noises(make: Callable[..., Made], public: Mapping[str, Any], target: Guarantee, share: float) -> Made:
    """The aggregator of these public parameters whose thresholds (deviation `sigma1`) take `share` of a promise and whose
    answers (`sigma2`) the rest. Two classes and a known number of teachers have an exact price, which is lower: there both
    noises shrink by one factor, to the least that keeps the promise.

    >>> from privet.pate import ConfidentGNMax
    >>> from privet.privacy import Unit
    >>> public = {"threshold": 15, "queries": 100, "answers": 50, "classes": 2, "unit": Unit(), "fixed_ids": False}
    >>> many = with_two_noises(ConfidentGNMax, public, Guarantee(2.0, 1e-5), 0.1)
    >>> known = with_two_noises(ConfidentGNMax, public | {"teachers": 20}, Guarantee(2.0, 1e-5), 0.1)
    >>> known.sigma1 < many.sigma1, known.sigma2 < many.sigma2
    (True, True)
    """
    taken = above("share", open_fraction("share", share), 0.0)
    first, second = target.as_mu().split((taken, 1.0 - taken))
    changed = teachers_of(public["unit"], public["fixed_ids"])
    sigma1 = scale_up(changed * root_up(count("queries", public["queries"], 1)), first)
    sigma2 = scale_up(changed * root_up(2 * count("answers", public["answers"], 1)), second)

    def scaled(factor: float) -> Any:
        return make(sigma1=factor * sigma1, sigma2=factor * sigma2, **public)

    made: Any = scaled(1.0)
    if made.classes == 2 and made.teachers is not None:
        keeps = accounting.calibrate(
            lambda each: scaled(each).loss, bounds=(1.0 / FARTHEST, FARTHEST), **target.keywords()
        )
        made = scaled(keeps)
    bought: Made = made._charged_at(target)
    return bought
