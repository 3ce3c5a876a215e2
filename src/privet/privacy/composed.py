"""Composition: the only place where counts exist."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Self

import numpy as np

from privet._cache import kept_property
from privet._numerics import UNIT_ROUNDOFF, Array, round_up, square_up, sum_up
from privet._validate import count, instance, items, set_frozen
from privet.errors import NoGuarantee
from privet.privacy.atoms import any_failure, sum_of_atoms
from privet.privacy.binary import binary_variable
from privet.privacy.families.normal import NormalVariable
from privet.privacy.families.sums import variable_of_sum
from privet.privacy.loss import Approximate, PrivacyLoss, RdpCurve, ZcdpBound, orders_of
from privet.privacy.serial import from_dict, register
from privet.privacy.unit import Unit, a_unit, same_unit
from privet.privacy.variable import Direction, LossVariable

Parts = tuple[tuple[PrivacyLoss, int], ...]

_MOST_ATOMS = 20_000  # outcomes of a sum that is listed; a longer list is left to the accountants


class Total(PrivacyLoss):
    """The common ground of `Composed` and `Repeated`: every answer is derived from the flat list of parts with their
    counts.

    >>> from privet import privacy
    >>> issubclass(privacy.Composed, Total)
    True
    """

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """When every part is attained and the pair of the whole is their product, not a bound on it."""
        parts = self.parts()
        if not all(part.exact for part, _ in parts):
            return False
        if self.gaussian() is not None or (len(parts) == 1 and parts[0][1] == 1):
            return True
        return self._listed is not None

    @kept_property
    def _listed(self) -> LossVariable | None:
        """The sum of the parts' losses in the direction remove, outcome by outcome, while these are few."""
        return sum_of_atoms([(part.variable("remove"), n) for part, n in self.parts()], _MOST_ATOMS)

    @property
    def attained_by_groups(self) -> bool:  # type: ignore[override]
        """When every part is."""
        return all(part.attained_by_groups for part, _ in self.parts())

    def pure(self) -> float:
        return sum_up((part.pure(), n) for part, n in self.parts())

    def approximate(self) -> Approximate:
        points = [(part.approximate(), n) for part, n in self.parts()]
        epsilon, delta = (sum_up((point[i], n) for point, n in points) for i in (0, 1))
        return Approximate(epsilon, min(1.0, delta))

    def zcdp(self) -> ZcdpBound:
        bounds = [(part.zcdp(), n) for part, n in self.parts()]
        return ZcdpBound(sum_up((b.rho, n) for b, n in bounds), any_failure((b.delta0, n) for b, n in bounds))

    def gdp(self) -> float:
        mus = [(part.gdp(), n) for part, n in self.parts()]
        if len(mus) == 1 and mus[0][1] == 1:
            return mus[0][0]
        return round_up(math.sqrt(sum_up((square_up(mu), n) for mu, n in mus)))

    def gaussian(self) -> float | None:
        squares = []
        for part, n in self.parts():
            mu = part.gaussian()
            if mu is None:
                return None
            squares.append((mu, n))
        if len(squares) == 1 and squares[0][1] == 1:
            return squares[0][0]
        return round_up(math.sqrt(sum_up((square_up(mu), n) for mu, n in squares)))

    @property
    def attained_by_exchange(self) -> bool:  # type: ignore[override]
        """When every part is."""
        return all(part.attained_by_exchange for part, _ in self.parts())

    def grouped(self, size: int) -> PrivacyLoss | None:
        return self._of_known([(part.grouped(size), n) for part, n in self.parts()])

    def exchanged(self, size: int) -> PrivacyLoss | None:
        return self._of_known([(part.exchanged(size), n) for part, n in self.parts()])

    def _of_known(self, groups: list[tuple[PrivacyLoss | None, int]]) -> PrivacyLoss | None:
        """The composition of the groups of the parts, if every part has one: the same records change in each."""
        known = [Repeated(group, n) for group, n in groups if group is not None]
        return Composed(known, unit=self.unit) if len(known) == len(groups) else None

    def rdp(self, alphas: Array) -> RdpCurve:
        orders = orders_of(alphas)
        parts = self.parts()
        if not parts:
            return RdpCurve(np.zeros(orders.shape), 0.0)
        curves = [(part.rdp(orders), n) for part, n in parts]
        total: Array = curves[0][0].values * curves[0][1]
        for curve, n in curves[1:]:
            total = total + n * curve.values
        failures = [(curve.delta0, n) for curve, n in curves]
        single = len(parts) == 1 and parts[0][1] == 1
        return RdpCurve(total if single else total * (1.0 + UNIT_ROUNDOFF * (len(parts) + 8.0)), any_failure(failures))

    def stated_orders(self) -> tuple[float, ...]:
        return tuple(sorted({order for part, _ in self.parts() for order in part.stated_orders()}))

    def variable(self, direction: Direction) -> LossVariable:
        """The variable of the whole composition: exact when all is Gaussian or atoms are few, else one above it."""
        parts = self.parts()
        if not parts:
            return binary_variable(0.0)
        mu = self.gaussian()
        if mu is not None:
            return NormalVariable(mu) if mu > 0.0 else binary_variable(0.0)
        if len(parts) == 1 and parts[0][1] == 1:
            return parts[0][0].variable(direction)
        if self._listed is not None:
            return self._listed if direction == "remove" else self._listed.reversed()
        alike = all(part.variable("remove").symmetric for part, _ in parts)
        return _summed(self, "remove" if alike else direction)


@lru_cache(maxsize=64)
def _summed(total: Total, direction: Direction) -> LossVariable:
    """A lattice law above the sum of the parts' losses. Costly, so it is kept.

    Of each direction by itself, on one lattice, so that both are mirror images but for rounding: in a mirror image as such
    what is left over of 1 is mass at infinity, and that is rounding alone where epsilon is large.
    """
    towards = [(part.variable("remove"), n) for part, n in total.parts()]
    back = towards if direction == "remove" else [(part.variable("add"), n) for part, n in total.parts()]
    found = variable_of_sum(back, towards)
    if found is not None:
        return found
    if math.isfinite(total.approximate().epsilon) and total.approximate().delta < 1.0:
        return binary_variable(*total.approximate())
    raise NoGuarantee(
        "this composition has losses too large to list; ask accounting.epsilon about it, or sample its single releases"
    )


@register
@dataclass(frozen=True, eq=False, init=False)
class Composed(Total):
    """Several releases about the same data, each possibly chosen after seeing the earlier outputs.

    **Guarantee:** adaptive composition of *outputs*; when the losses themselves are chosen adaptively use a filter
    (`accounting.filters`). **Reference:** Dwork & Roth 2014, section 3.5; Zhu, Dong & Wang 2022, theorem 10.
    **Proof:** docs/proofs/privacy/composed.md.

    >>> from privet import privacy
    >>> a, b = privacy.PureLoss(0.5), privacy.PureLoss(0.25)
    >>> privacy.Composed((a, b)) == privacy.Composed((b, privacy.Composed((a,))))
    True
    """

    kind = "composed"
    losses: tuple[PrivacyLoss, ...]

    def __init__(self, losses: Iterable[PrivacyLoss], *, unit: Unit | None = None) -> None:
        parts = tuple(instance("losses", part, PrivacyLoss) for part in items("losses", losses))
        units = [part.unit for part in parts] + ([a_unit(unit)] if unit is not None else [])
        set_frozen(self, losses=parts, unit=same_unit(units) if units else Unit())

    @kept_property
    def _parts(self) -> Parts:
        return merge_parts((part, n) for loss in self.losses for part, n in loss.parts())

    def parts(self) -> Parts:
        return self._parts

    @classmethod
    def from_body(cls, body: dict[str, Any], unit: Unit) -> Self:
        entries = body["parts"]
        return cls((Repeated(from_entry(entry), entry["times"]) for entry in entries), unit=unit)


@register
@dataclass(frozen=True, eq=False)
class Repeated(Total):
    """The price of `times` equal releases. Zero times is free.

    **Guarantee:** equal to composing it with itself; n singles and one n-fold have the same price, hash and JSON form.
    **Reference:** as for `Composed`.
    **Proof:** docs/proofs/privacy/composed.md.

    >>> from privet import privacy
    >>> a = privacy.PureLoss(0.5)
    >>> Repeated(a, 3) == privacy.Composed((a, a, a)), Repeated(Repeated(a, 2), 3) == Repeated(a, 6), Repeated(a, 1) == a
    (True, True, True)
    """

    kind = "repeated"
    of: PrivacyLoss
    times: int
    unit: Unit = field(default=None, kw_only=True)  # type: ignore[assignment]  # that of the parts

    def __post_init__(self) -> None:
        instance("of", self.of, PrivacyLoss)
        set_frozen(self, times=count("times", self.times), unit=self._about(self.of.unit))

    @kept_property
    def _parts(self) -> Parts:
        return merge_parts((part, n * self.times) for part, n in self.of.parts())

    def parts(self) -> Parts:
        return self._parts


def from_entry(entry: dict[str, Any]) -> PrivacyLoss:
    """One entry of the JSON form of a composition."""
    return from_dict(entry["of"])


def merge_parts(parts: Iterable[tuple[PrivacyLoss, int]]) -> Parts:
    """Equal parts once with the sum of their counts, in the order of their keys; free parts vanish."""
    counts: dict[PrivacyLoss, int] = {}
    for part, n in parts:
        if n:
            counts[part] = counts.get(part, 0) + n
    return tuple(sorted(counts.items(), key=lambda item: item[0].key))
