"""The price of a fit and its reasons: the `privacy_` of an estimator."""

from dataclasses import dataclass
from typing import Any, final

from privet._markup import by_lines
from privet.learn.estimators.ladder import ladder
from privet.mechanisms import Release, proof_of, read_back, receipt
from privet.privacy import Guarantee, PrivacyLoss, PureLoss, Unit


@final
@dataclass(frozen=True)
class FitPrivacy:
    """Price, relation, plan, analysis and proof of a fit. `epsilon=inf` promised nothing: then `loss` is None.
    A fit by public facts alone has a price of 0, and neither promise nor plan.

    `plan` is what was run, as plain JSON values; `paid` says which ledger entry paid for it, or None.
    """

    promise: Guarantee | None
    loss: PrivacyLoss | None
    unit: Unit | None
    plan: dict[str, Any] | None
    solver: str
    proof: str | None = None
    paid: Any = None
    insecure: bool = False
    notes: tuple[str, ...] = ()

    @property
    def epsilon(self) -> float:
        """The epsilon that was promised: infinite where nothing was, 0 where nothing was read from the data."""
        if self.promise is None:
            return float("inf") if self.loss is None else 0.0
        return float("nan") if self.promise.epsilon is None else self.promise.epsilon

    @property
    def delta(self) -> float:
        return 0.0 if self.promise is None else self.promise.delta

    def ladder(self) -> dict[str, float]:
        """Epsilon of the plan at the promised delta by four ways of adding up its steps; nothing where there are none."""
        return {} if self.loss is None else ladder(self.loss, self.delta)

    def __str__(self) -> str:
        if self.promise is None and self.loss is not None:
            return f"free of charge: {self.solver}"
        if self.promise is None or self.unit is None:
            return f"not private (epsilon = inf): {self.solver}"
        lines = [f"{self.promise.describe()} under {self.unit.describe()}", f"solver: {self.solver}"]
        lines += receipt(self.paid, self.insecure)
        rungs = ", ".join(f"{name} {value:.4g}" for name, value in self.ladder().items())
        if rungs:
            lines.append(f"epsilon of its steps at that delta, from naive to tight: {rungs}")
        if self.proof:
            lines.append(f"proof: {self.proof}")
        return "\n".join([*lines, *self.notes])

    def _repr_html_(self) -> str:
        return by_lines("Fit", str(self))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "promise": None if self.promise is None else _given(self.promise),
            "loss": None if self.loss is None else self.loss.to_dict(),
            "unit": None if self.unit is None else self.unit.to_dict(),
            "plan": self.plan,
            "solver": self.solver,
            "proof": self.proof,
            "paid": self.paid,
            "insecure": self.insecure,
            "notes": list(self.notes),
        }

    @classmethod
    def of_nothing(cls, unit: Unit) -> "FitPrivacy":
        """Of a fit that reads nothing from the data."""
        return cls(None, PureLoss(0.0, unit=unit), unit, None, "public facts alone, nothing was read from the data")

    @classmethod
    def of(
        cls, release: Release[Any], plan: Any, promise: Guarantee, solver: str, notes: tuple[str, ...]
    ) -> "FitPrivacy":
        return cls(
            promise=promise,
            loss=release.loss,
            unit=release.loss.unit,
            plan=plan.to_dict(),
            solver=solver,
            proof=proof_of(plan),
            paid=release.paid,
            insecure=release.insecure,
            notes=(*read_back(release), *notes),
        )


def _given(promise: Guarantee) -> dict[str, float]:
    told = {"epsilon": promise.epsilon, "delta": promise.delta or None, "rho": promise.rho, "mu": promise.mu}
    return {name: value for name, value in told.items() if value is not None}
