"""A promise shared by two noises of one aggregator: that of its thresholds and that of its answers."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from privet import accounting
from privet._numerics import root_up
from privet._validate import above, count, open_fraction
from privet.pate.aggregator import FARTHEST, teachers_of
from privet.pate.gn_max import scale_up
from privet.privacy import Guarantee

Made = TypeVar("Made")


def with_two_noises(make: Callable[..., Made], public: Mapping[str, Any], target: Guarantee, share: float) -> Made:
    """The aggregator of these public parameters whose thresholds (deviation `sigma1`) take `share` of a promise and whose
    answers (`sigma2`) the rest. Two classes and a known number of teachers have an exact price, which is lower: there both
    noises shrink by one factor, to the least that keeps the promise.

    >>> from privet.pate import ConfidentGNMax
    >>> from privet.privacy import Unit
    >>> public = {"threshold": 150, "queries": 100, "answers": 50, "classes": 2, "unit": Unit(), "fixed_ids": False}
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
