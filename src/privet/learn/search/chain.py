"""Encoders of the house and a model as one candidate of a search: planned together, run one after the other on records."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, final

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from privet._validate import instance, items
from privet.errors import InvalidData, InvalidParameter
from privet.learn.estimators import PCA, GaussianNB, MinMaxScaler, PrivateEstimator, StandardScaler
from privet.learn.estimators.linear import LinearModel
from privet.learn.problem import Chunk, Classes, Records
from privet.learn.problem.array_records import dense
from privet.learn.solvers import ColumnMoments, ColumnRanges, NoisyGram
from privet.mechanisms import Mechanism, Record, Source
from privet.privacy import Guarantee, PrivacyLoss, Unit

_SHARE = 0.2  # of the epsilon and delta of a fit, for each encoder that reads records
_PROMISE = ("epsilon", "delta", "rho", "mu", "ledger", "source", "unit", "bad_rows")
Encoders = tuple["Encoder", ...]


class Encoder(NamedTuple):
    """An encoder and the plan that it reads records by: None where public facts say everything."""

    model: Any
    plan: Mechanism[Any, Any] | None


def steps_of(estimator: object) -> tuple[list[Any], Any]:
    """The encoders of a pipeline and its model, or no encoders and the estimator: what a search can try, or a refusal."""
    steps = [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    *encoders, model = steps
    for each in encoders:
        if not isinstance(each, StandardScaler | MinMaxScaler | PCA):
            raise InvalidParameter(
                "the steps of a pipeline before its model must be learn.StandardScaler, MinMaxScaler or PCA: others read "
                "records without paying, or do not say what they do to one record"
            )
    if not isinstance(model, PrivateEstimator):
        raise InvalidParameter(
            "estimator must be a private estimator, such as learn.LogisticRegression(...), or a pipeline of them"
        )
    if not isinstance(model, LinearModel | GaussianNB):
        raise InvalidParameter(
            f"a search scores classifiers and regressions, each of one fit: {type(model).__name__} is none of them"
        )
    return encoders, model


def check_model(model: object) -> None:
    """Refuse a model among those of a search that none can try."""
    try:
        steps_of(model)
    except InvalidParameter as problem:
        raise InvalidParameter(f"models: {problem}") from None


def checked_encoders(encoders: object, many: int) -> tuple[Encoders, ...]:
    """The encoders of each of so many models, or nothing."""
    made = tuple(
        tuple(instance("encoders", each, Encoder) for each in items("encoders", of))
        for of in items("encoders", encoders)
    )
    if len(made) not in (0, many):
        raise InvalidParameter("encoders must hold the encoders of each of the models, or nothing")
    return made


def freed(estimator: Any) -> Any:
    """The estimator without a promise of its own: the budget is that of the search. Encoders that asked for one keep it
    as a sign that they read records."""
    for step in steps_of(estimator)[0]:
        step.set_params(ledger=None, source=None)
    steps_of(estimator)[1].set_params(epsilon=None, delta=0.0, rho=None, mu=None, ledger=None, source=None)
    return estimator


def planned(estimator: object, columns: int, unit: Unit, promise: Guarantee) -> tuple[Encoders, Mechanism[Any, Any]]:
    """Plans of all steps, which together keep the promise."""
    encoders, model = steps_of(estimator)
    sizes = [columns]  # of the rows that each step is given
    for each in encoders:
        sizes.append(each._kept(sizes[-1]) if isinstance(each, PCA) else sizes[-1])
    paying = [not clone(each)._from_public_facts(size) for each, size in zip(encoders, sizes, strict=False)]
    if sum(paying) * _SHARE >= 1.0:
        raise InvalidParameter("so many encoders that read records leave nothing for the model")
    shares = promise.split([_SHARE] * sum(paying) + [1.0 - _SHARE * sum(paying)]) if any(paying) else (promise,)
    left = iter(shares)
    made = [
        Encoder(each, each._plan(size, unit, next(left)) if pays else None)
        for each, size, pays in zip(encoders, sizes, paying, strict=False)
    ]
    return tuple(made), model._plan(sizes[-1], unit, next(left))


def losses_of(encoders: Encoders, plan: Mechanism[Any, Any]) -> tuple[PrivacyLoss, ...]:
    """The prices of what a candidate releases, one by one."""
    return (*(each.plan.loss for each in encoders if each.plan is not None), plan.loss)


def ran(encoders: Encoders, plan: Mechanism[Any, Any], records: Records, source: Source) -> Any:
    """The release of a candidate: of its plan, or of its encoders and its plan."""
    told, mapped = [], records
    for each in encoders:
        value = None if each.plan is None else each.plan.release(Seen(mapped), source=source).value
        told.append(value)
        mapped = Mapped(mapped, fitted_encoder(each, value, mapped.columns))
    value = plan.release(mapped, source=source).value
    return {"encoders": [each for each in told if each is not None], "fit": value} if encoders else value


def mapped_by(encoders: Encoders, value: Any, records: Records) -> Records:
    """Records as the released encoders show them to the model."""
    told = iter(value["encoders"]) if encoders else iter(())
    for each in encoders:
        records = Mapped(records, fitted_encoder(each, None if each.plan is None else next(told), records.columns))
    return records


def fit_of(encoders: Encoders, value: Any) -> Any:
    """The release of the plan of the model."""
    return value["fit"] if encoders else value


def fitted_encoder(encoder: Encoder, value: object, columns: int) -> Any:
    """An encoder that was released, or that public facts say."""
    made = clone(encoder.model)
    if encoder.plan is None:
        made._from_public_facts(columns)
    else:
        made._set(np.asarray(value), encoder.plan)
    made.n_features_in_ = columns
    return made


def last_step(estimator: Any) -> Any:
    """The model of a pipeline, or the estimator."""
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def check_different(models: Sequence[Any], columns: int, unit: Unit, promise: Guarantee) -> None:
    """Refuse candidates that are one and the same fit: a search among them would be paid for nothing."""
    seen: dict[str, int] = {}
    for place, whole in enumerate(models):
        encoders, model = steps_of(whole)
        told = [{name: each for name, each in step.get_params().items() if name not in _PROMISE} for step in encoders]
        after = [getattr(model, name) for name in model._after_release]
        plan = planned(whole, columns, unit, promise)[1]
        first = seen.setdefault(repr([plan.to_dict(), told, after]), place)
        if first != place:
            raise InvalidParameter(
                f"param_grid: candidates {first} and {place} are the same private fit; leave one of them out"
            )


def admit(encoders: Encoders, plan: Any, records: object) -> None:
    """Refuse records that a candidate is not for: from public facts. Its model sees what encoders make of them."""
    if not encoders or not isinstance(records, Records):
        plan._admit(records)
        return
    columns = plan.task.features
    for each in reversed(encoders):
        columns = each.plan.task.features if isinstance(each.model, PCA) else columns
    if records.columns != columns:
        raise InvalidData(f"the rows must have {columns} columns")
    plan._admit(Seen(records, plan.task.features, records.target_kind))


def nothing_known(encoders: Encoders, plan: Any) -> Any:
    """The release of a candidate that never ran: zeros, of which nothing is known. It is public."""
    fit = _zeros(plan)
    if not encoders:
        return fit
    return {"encoders": [_zeros(each.plan) for each in encoders if each.plan is not None], "fit": fit}


def _zeros(plan: Any) -> Any:
    task, size, target = plan.task, plan.task.dimension, plan.task.target
    if isinstance(plan, ColumnMoments):
        return np.zeros((plan.classes, 1 + 2 * task.features))
    if isinstance(plan, NoisyGram | ColumnRanges):
        return np.zeros((size, size) if isinstance(plan, NoisyGram) else (2, task.features))
    several = isinstance(target, Classes) and len(target.labels) > 2
    zeros = np.zeros((len(target.labels), size) if several else size)
    if not isinstance(plan.form, Record):
        return zeros
    unknown = {"covariance": np.full((size, size), math.inf), "gram": np.zeros((size, size)), "noise": np.zeros(3)}
    return {name: unknown.get(name, zeros) for name in plan.form.of}


@final
class Seen(Records):
    """Records without their targets, as an encoder sees them; or, of another number of columns, as a plan admits them."""

    __slots__ = ("_columns", "_kind", "_whole")

    def __init__(self, whole: Records, columns: int | None = None, kind: str | None = None) -> None:
        self._whole, self._columns, self._kind = whole, whole.columns if columns is None else columns, kind

    @property
    def columns(self) -> int:
        return self._columns

    @property
    def target_kind(self) -> str | None:
        return self._kind

    @property
    def unbounded(self) -> bool:
        return self._whole.unbounded

    @property
    def length(self) -> int | None:
        return self._whole.length

    def chunks(self) -> Iterator[Chunk]:
        for chunk in self._whole.chunks():
            yield chunk._replace(targets=None)


@final
class Mapped(Records):
    """Records whose rows went through an encoder, each by itself: element by element, so that a row depends on no other."""

    __slots__ = ("_encoder", "_whole")

    def __init__(self, whole: Records, encoder: Any) -> None:
        self._whole, self._encoder = whole, encoder

    @property
    def columns(self) -> int:
        return len(self._encoder.components_) if isinstance(self._encoder, PCA) else self._whole.columns

    @property
    def target_kind(self) -> str | None:
        return self._whole.target_kind

    @property
    def length(self) -> int | None:
        return self._whole.length

    def chunks(self) -> Iterator[Chunk]:
        for chunk in self._whole.chunks():
            with np.errstate(all="ignore"):  # a warning would tell about values
                yield chunk._replace(rows=self._encoder._encoded(dense(chunk.rows)))
