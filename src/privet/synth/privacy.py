"""The price of a synthesis and its reasons: the `privacy_` of a model."""

from dataclasses import dataclass
from typing import Any, final

from privet._markup import by_lines
from privet.mechanisms import Release, proof_of, read_back, receipt
from privet.privacy import Guarantee, PrivacyLoss, Unit
from privet.privacy.serial import from_dict


@final
@dataclass(frozen=True)
class SynthesisPrivacy:
    """Promise, price, relation, plan and proof of a synthesis; `paid` says which ledger entry paid for it, or None.

    >>> from privet.privacy import PureLoss
    >>> print(SynthesisPrivacy(Guarantee(1.0), PureLoss(1.0), Unit(), {}, "noise on every column"))
    1-DP under adding or removing one record
    method: noise on every column
    paid by nobody: no ledger was in force
    """

    promise: Guarantee
    loss: PrivacyLoss
    unit: Unit
    plan: dict[str, Any]
    method: str
    proof: str | None = None
    paid: Any = None
    insecure: bool = False
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, release: Release[Any], plan: Any, promise: Guarantee) -> "SynthesisPrivacy":
        """Of a release that was made by a plan."""
        return cls(
            promise=promise,
            loss=release.loss,
            unit=release.loss.unit,
            plan=plan.to_dict(),
            method=(type(plan).__doc__ or plan.name).splitlines()[0].rstrip("."),
            proof=proof_of(plan),
            paid=release.paid,
            insecure=release.insecure,
            notes=read_back(release),
        )

    def __str__(self) -> str:
        lines = [f"{self.promise.describe()} under {self.unit.describe()}", f"method: {self.method}"]
        lines += receipt(self.paid, self.insecure)
        if self.proof:
            lines.append(f"proof: {self.proof}")
        return "\n".join([*lines, *self.notes])

    def _repr_html_(self) -> str:
        return by_lines("Synthesis", str(self))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "promise": dict(self.promise.keywords()),
            "loss": self.loss.to_dict(),
            "plan": self.plan,
            "method": self.method,
            "proof": self.proof,
            "paid": self.paid,
            "insecure": self.insecure,
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> "SynthesisPrivacy":
        """Back from `to_dict`."""
        loss = from_dict(told["loss"])
        return cls(
            promise=Guarantee(**told["promise"]),
            loss=loss,
            unit=loss.unit,
            plan=dict(told["plan"]),
            method=str(told["method"]),
            proof=told["proof"],
            paid=told["paid"],
            insecure=bool(told["insecure"]),
            notes=tuple(map(str, told["notes"])),
        )
