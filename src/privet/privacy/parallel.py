"""Parallel composition over disjoint blocks of a public partition."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np

from privet._numerics import Array
from privet._validate import flag, instance, items, set_frozen
from privet.errors import InvalidParameter, MixedUnits
from privet.privacy.curve import variable_of_envelope
from privet.privacy.loss import Approximate, PrivacyLoss, RdpCurve, ZcdpBound
from privet.privacy.serial import register
from privet.privacy.unit import Unit, a_unit, same_unit
from privet.privacy.variable import Direction, LossVariable


@register
@dataclass(frozen=True, eq=False, init=False)
class Parallel(PrivacyLoss):
    """Releases on disjoint blocks of the data: one record touches one block, so the costliest block is the price.

    The partition must be public. Under replace a record may *move* between blocks; then two blocks change, and the
    price is `to_replace` of the blocks' add/remove losses. Pass `fixed_blocks=True` only if neighbours share the
    attribute that assigns the block.

    **Guarantee:** the pointwise largest of the blocks' curves. **Sensitivity:** as of each block.
    **Reference:** McSherry 2009.
    **Proof:** docs/proofs/privacy/parallel.md.

    >>> from privet import privacy
    >>> Parallel((privacy.PureLoss(0.5), privacy.PureLoss(1.0))).pure()
    1.0
    """

    kind = "parallel"
    silent_fields = ("fixed_blocks",)
    blocks: tuple[PrivacyLoss, ...]
    fixed_blocks: bool

    def _words(self) -> str:
        return f"the largest of {' | '.join(block._as_a_whole() for block in self.blocks)}"

    def __init__(self, blocks: Iterable[PrivacyLoss], *, fixed_blocks: bool = False, unit: Unit | None = None) -> None:
        losses = tuple(instance("blocks", block, PrivacyLoss) for block in items("blocks", blocks))
        if not losses:
            raise InvalidParameter("blocks must be at least one loss, got none")
        flag("fixed_blocks", fixed_blocks)
        shared = same_unit([loss.unit for loss in losses] + ([a_unit(unit)] if unit is not None else []))
        if not fixed_blocks and (shared.relation == "replace" or shared.group_size > 1):
            raise MixedUnits(
                "replacing a record (or changing a group) can touch several blocks; price the blocks under add_remove and "
                "convert the whole with privacy.to_replace or Grouped, or pass fixed_blocks=True when the block is a "
                "public attribute that neighbours share"
            )
        unique = tuple(sorted(set(losses), key=lambda loss: loss.key))
        set_frozen(self, blocks=unique, fixed_blocks=fixed_blocks, unit=shared)

    def alternatives(self) -> tuple[PrivacyLoss, ...]:
        return self.blocks

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """The envelope of several different curves is not one attained pair."""
        return len(self.blocks) == 1 and self.blocks[0].exact

    def parts(self) -> tuple[tuple[PrivacyLoss, int], ...]:
        return self.blocks[0].parts() if len(self.blocks) == 1 else ((self, 1),)

    def pure(self) -> float:
        return max(block.pure() for block in self.blocks)

    def approximate(self) -> Approximate:
        points = [block.approximate() for block in self.blocks]
        return Approximate(max(p.epsilon for p in points), max(p.delta for p in points))

    def zcdp(self) -> ZcdpBound:
        bounds = [block.zcdp() for block in self.blocks]
        return ZcdpBound(max(b.rho for b in bounds), max(b.delta0 for b in bounds))

    def gdp(self) -> float:
        return max(block.gdp() for block in self.blocks)

    def gaussian(self) -> float | None:
        mus = [block.gaussian() for block in self.blocks]
        return max(mu for mu in mus if mu is not None) if None not in mus else None

    def rdp(self, alphas: Array) -> RdpCurve:
        curves = [block.rdp(alphas) for block in self.blocks]
        return RdpCurve(np.max([c.values for c in curves], axis=0), max(c.delta0 for c in curves))

    def variable(self, direction: Direction) -> LossVariable:
        if len(self.blocks) == 1:
            return self.blocks[0].variable(direction)
        return _envelope(self.blocks) if direction == "remove" else _envelope(self.blocks).reversed()

    @classmethod
    def from_body(cls, body: dict[str, Any], unit: Unit) -> Self:
        return cls(body["blocks"], fixed_blocks=body.get("fixed_blocks", False), unit=unit)


@lru_cache(maxsize=64)
def _envelope(blocks: tuple[PrivacyLoss, ...]) -> LossVariable:
    """One pair above those of all blocks, costly to build, so it is kept; its mirror image lies above theirs."""
    return variable_of_envelope([block.variable("remove") for block in blocks])
