"""The image of a loss under sampling at rate q, L' = ln(1 - q + q e^L), there and back."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from privet._numerics import ROOMY_EXPONENT, UNIT_ROUNDOFF, Array, round_up
from privet._validate import instance
from privet.errors import InvalidParameter, MixedUnits
from privet.privacy.loss import PrivacyLoss
from privet.privacy.unit import Unit
from privet.privacy.variable import Enclosure, LossVariable

Coin = Literal["record", "person"]

MARGIN = 16.0 * UNIT_ROUNDOFF  # what a handful of elementary functions may lose


def coin_of(unit: Unit) -> Coin:
    """Whose coin a price about this unit speaks of."""
    return "record" if unit.person is None else "person"


# Of the field `coin` of a sampler: for whom it decides, each record (the usual sampler) or each person. A price about
# persons holds only if all records of a person share one coin; the caller must say that they do.
OF_COIN = {"told_by_unit": coin_of}


def of_one_record(of: PrivacyLoss, *, relation: str, name: str, coin: Coin = "record") -> PrivacyLoss:
    """The loss inside a sampler, which must speak of one record: replaced (`relation` "replace"), or added and removed;
    or of one person, where `coin` is "person".

    >>> from privet import privacy
    >>> of_one_record(privacy.PureLoss(1.0), relation="add_remove", name="tossing coins")
    PureLoss(epsilon=1.0)
    """
    instance("of", of, PrivacyLoss)
    if coin not in get_args(Coin):
        raise InvalidParameter(f'coin must be "record" or "person", got {coin!r:.40}')
    if of.unit.person is not None and coin == "record":
        raise MixedUnits(
            f"{name} decides record by record, and this price is about persons ({of.unit.describe()}), whose records would "
            "each have a chance of their own. Sample the price of one record and restate it, per_person(sampled, ...); "
            'or say coin="person" where the sampler takes or leaves all records of a person together'
        )
    if of.unit.person is None and coin == "person":
        raise MixedUnits(
            'coin="person" needs a price about persons, and this one names no column; restate it with privacy.per_person'
        )
    if (of.unit.relation == "replace") == (relation == "replace") and of.unit.group_size == 1:
        return of.simplest()
    if relation == "replace":
        raise MixedUnits(
            f"{name} is priced for replacing one record; build the base loss with "
            'unit=privacy.Unit("replace") and the sensitivity of a replacement'
        )
    raise MixedUnits(
        f"{name} is priced for adding, removing or nulling one record, each with its own coin; build the loss for one "
        "record and convert afterwards (privacy.to_replace, privacy.Grouped), or use FixedSampled"
    )


def after_sampling(losses: Array | float, q: float) -> Array:
    """ln(1 + q (e^L - 1)).

    >>> float(after_sampling(1.0, 0.5).round(6))
    0.620115
    """
    losses = np.asarray(losses, dtype=float)
    return np.where(
        losses > ROOMY_EXPONENT, losses + math.log(q), np.log1p(q * np.expm1(np.minimum(losses, ROOMY_EXPONENT)))
    )


def epsilon_after_sampling(epsilon: float, q: float) -> float:
    """ln(1 + q (e^epsilon - 1)) rounded up: the amplified epsilon of an (epsilon, delta) statement.

    >>> 0.0 < epsilon_after_sampling(1.0, 0.5) - math.log1p(0.5 * math.expm1(1.0)) < 1e-14
    True
    """
    return epsilon if epsilon == math.inf else min(epsilon, round_up(float(after_sampling(epsilon, q)), 16.0))


def before_sampling(losses: Array | float, q: float) -> Array:
    """ln(1 + (e^L' - 1)/q); -inf for losses that sampling cannot show.

    >>> float(before_sampling(after_sampling(1.0, 0.5), 0.5).round(12))
    1.0
    """
    losses = np.asarray(losses, dtype=float)
    growth = np.expm1(np.minimum(losses, ROOMY_EXPONENT)) / q
    with np.errstate(divide="ignore"):
        near = np.log1p(np.maximum(growth, -1.0))
    return np.where(losses > ROOMY_EXPONENT, losses - math.log(q), near)


def enclose_sampled(of: LossVariable, q: float, epsilon: float) -> Enclosure:
    """q delta(ln(1 + (e^e - 1)/q)) for epsilon >= 0, as sure as the base's own curve.

    >>> from privet import privacy
    >>> low, high = enclose_sampled(privacy.LaplaceLoss(1.0).variable("remove"), 0.5, 0.0)
    >>> low <= 0.5 * -math.expm1(-0.5) <= high
    True
    """
    before = float(before_sampling(epsilon, q))
    low, high = of.enclose(before * (1.0 + MARGIN))[0], of.enclose(before * (1.0 - MARGIN))[1]
    return q * low * (1.0 - MARGIN), q * high * (1.0 + MARGIN)


@dataclass(frozen=True, eq=False)
class OfSample(LossVariable):
    """The pair of a release on a sample, each record of which is taken with probability q: base of the two samplings."""

    of: LossVariable
    q: float

    @property
    def discrete(self) -> bool:
        return self.of.discrete

    @property
    def p_only(self) -> float:
        return self.q * self.of.p_only

    @property
    def least(self) -> float:
        return self.q * self.of.least

    @property
    def smooth(self) -> bool:
        return self.of.smooth

    @property
    def mass_error(self) -> float:
        return self.of.mass_error + MARGIN  # a mixture of non-negative numbers

    def enclose(self, epsilon: float) -> Enclosure:
        return super().enclose(epsilon) if epsilon < 0.0 else enclose_sampled(self.of, self.q, epsilon)
