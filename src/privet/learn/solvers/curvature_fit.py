"""A fit, and then the curvature of its loss at the coefficients that were released: what intervals are made of."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet._validate import instance
from privet.errors import InvalidParameter
from privet.learn.losses import Logistic, Loss
from privet.learn.problem import ArrayRecords, Classes, Records, Task
from privet.learn.solvers.budget import whole_mu
from privet.learn.solvers.equations import reach
from privet.learn.solvers.exact_totals import exact_bent_gram
from privet.learn.solvers.objective_perturbation import ObjectiveFit, ObjectivePerturbation
from privet.learn.solvers.on_records import OnRecords, check_reach
from privet.learn.solvers.symmetric_gaussian import SymmetricGaussian
from privet.mechanisms import Algorithm, Example, Form, Mechanism, Numbers, Record, Source, register
from privet.privacy import Composed, Guarantee, PrivacyLoss, Unit

_SHARE = 0.1  # of mu^2, for the curvature: the noise of the coefficients grows by 5 to 10 in a hundred
_LESS = 0.99  # the share of the fit is lessened by this factor until the promise covers both


@final
@register
@dataclass(frozen=True, kw_only=True)
class CurvatureFit(OnRecords, Algorithm[Any, Any]):
    """Coefficients by objective perturbation, then the noisy Hessian of their loss at these.

    The Hessian is that of the losses of all records, without the regulariser: the sum of psi'' x x^T.

    **Guarantee:** the composition of the fit and of one normal release.
    **Sensitivity:** Frobenius, of the Hessian over the loss's `smoothness`: 1 under add/remove, sqrt2 under replace.
    **Reference:** Dwork & Roth 2014, section 3.5 (adaptive composition); Dwork, Talwar, Thakurta & Zhang 2014.
    **Proof:** docs/proofs/learn/curvature_fit.md.
    """

    name = "curvature_fit"
    by_totals = True

    fit: ObjectiveFit
    curvature: SymmetricGaussian
    at: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("fit", self.fit, ObjectiveFit)
        instance("curvature", self.curvature, SymmetricGaussian)
        if self.model.outputs != 1:
            raise InvalidParameter("the curvature is that of a loss of one margin: two classes")
        if self.curvature.size != self.task.dimension:
            raise InvalidParameter("the noise was made for a matrix of another size")
        check_reach("curvature", self.curvature.sensitivity, reach(1, 2, self.task.unit))

    @classmethod
    def planned(cls, plan: Callable[[Guarantee], Mechanism[Any, Any]], promise: Guarantee) -> "CurvatureFit":
        """A public share of the promise for the curvature, and what `plan` makes of the rest: the most of it at which the
        promise was seen to cover both.
        """
        if promise.epsilon is None or promise.delta == 0.0:
            raise InvalidParameter("intervals=True needs an epsilon and a delta above 0: its noise is normal")
        mu, share = whole_mu(promise, "CurvatureFit") * math.sqrt(_SHARE), math.sqrt(1.0 - _SHARE)
        for _ in range(200):
            fit = plan(promise.share(share, delta=1.0))
            if not isinstance(fit, ObjectiveFit):
                raise InvalidParameter("intervals=True is for solver=ObjectivePerturbation(), or none")
            size, unit = fit.task.dimension, fit.task.unit
            noise = SymmetricGaussian.for_budget(mu=mu, size=size, sensitivity=reach(1, 2, unit))
            made = cls(fit=fit, curvature=noise, at=promise.delta)
            if promise.covers(made.loss):
                return made
            share *= _LESS
        raise InvalidParameter("the fit and its curvature have no price within this promise: leave intervals= out")

    @property
    def task(self) -> Task:  # type: ignore[override]
        """The public facts of the fit."""
        return self.fit.task

    @property
    def model(self) -> Loss:
        """The loss that is minimised."""
        return self.fit.model

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise on the diagonal of the Hessian."""
        return self.curvature.sigma * self.model.smoothness

    @property
    def loss(self) -> PrivacyLoss:
        return Composed((self.fit.loss, self.curvature.loss))

    @property
    def form(self) -> Form:
        return Record({"coefficients": Numbers(), "curvature": Numbers()})

    def _run(self, prepared: Records, source: Source) -> dict[str, Any]:
        coefficients = np.asarray(self.fit.release(prepared, source=source).value)
        bent = exact_bent_gram(self.task, prepared, self.model, coefficients)
        noisy: Array = np.asarray(self.curvature.release(bent, source=source).value)
        return {"coefficients": coefficients, "curvature": noisy * self.model.smoothness}

    @classmethod
    def examples(cls) -> Iterable[Example]:
        def made(unit: Unit, promise: Guarantee) -> CurvatureFit:
            task = Task(features=1, row_norm=1.0, intercept=False, target=Classes((0, 1)), unit=unit)
            return cls.planned(lambda share: ObjectivePerturbation(strength=9.0).plan(task, Logistic(), share), promise)

        promise, one, label = Guarantee(4.0, 1e-5), np.array([[1.0]]), np.array([1])
        alone, nobody = ArrayRecords(one, label), ArrayRecords(one[:0], label[:0])
        yield Example(made(Unit(), promise), alone, nobody, promise, cost="costly", detects=0.25)
        yield Example(
            made(Unit("replace"), promise), alone, ArrayRecords(-one, label), promise, cost="costly", detects=0.25
        )
