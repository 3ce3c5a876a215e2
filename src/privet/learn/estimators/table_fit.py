"""A fit of a table: its schema says what is public, its unit who is protected, and its engine streams the rows."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from privet.errors import InvalidData, InvalidParameter
from privet.learn.encoding import Encoding
from privet.learn.problem import TableRecords
from privet.learn.solvers import PersonFit, SolverExample, registered_solvers
from privet.learn.solvers.person_fit import coming_or_going
from privet.mechanisms import Mechanism
from privet.privacy import Guarantee, Unit
from privet.tables import Described, Person


def table_encoding(table: Described, target: str | None, features: Sequence[str] | None, *, predicts: bool) -> Encoding:
    """The columns of a table as features and target: all but the target and the person, unless features are named.

    >>> import privet as pv
    >>> visits = pv.Table({}, columns={"age": pv.Int(0, 110), "ill": pv.Bool()})
    >>> table_encoding(visits, "ill", None, predicts=True).names
    ('age',)
    """
    if predicts and target is None:
        raise InvalidParameter('name the column that is predicted: fit(table, target="...")')
    if not predicts and target is not None:
        raise InvalidParameter("this model predicts no column: leave target= out")
    columns, unit = table.columns, table.rows.unit
    if features is None:
        left_out = {target, unit.column if isinstance(unit, Person) else None}
        features = [name for name in columns if name not in left_out]
    elif isinstance(features, str) or any(not isinstance(name, str) for name in features):
        raise InvalidParameter('features must be a list of names of columns, such as ["age", "ward"]')
    if target in features:
        raise InvalidParameter("the target cannot be one of the features")
    wanted = [*features, *([] if target is None else [target])]
    for name in wanted:
        if name not in columns:
            raise InvalidParameter(f"there is no column {name!r:.60} in the table; there are {', '.join(columns)}")
    return Encoding({name: columns[name] for name in wanted}, target)


def described(model: Any, encoding: Encoding) -> Any:
    """The model with what the schema says where the user has said nothing."""
    made = copy(model)
    if getattr(model, "estimator", None) is not None:  # a search: the model that it tries
        made.estimator = described(model.estimator, encoding)
    if getattr(model, "classes", encoding) is None:
        made.classes = encoding.classes
    if getattr(model, "bounds_y", encoding) is None:
        made.bounds_y = encoding.bounds_y
    if getattr(model, "bounds", encoding) is None and getattr(model, "row_norm", None) is None:
        if hasattr(model, "row_norm"):
            made.row_norm = encoding.row_norm
        else:
            made.bounds = (-1.0, 1.0)
    return made


def table_plan(model: Any, columns: int, table: Described, promise: Guarantee) -> Mechanism[Any, Any]:
    """The mechanism that fits the rows of a table; of persons with several rows as a group of these."""
    if model.unit is not None and model.unit != table.unit:
        raise InvalidParameter("the unit is the table's: leave unit= out, or describe the table as it is")
    if not isinstance(table.rows.unit, Person):
        plan: Mechanism[Any, Any] = model._plan(columns, table.unit, promise)
        return plan
    most = TableRecords.most_rows(table.rows)

    def rows(unit: Unit, share: Guarantee) -> Mechanism[Any, Any]:
        made: Mechanism[Any, Any] = model._plan(columns, unit, share)
        return made

    return PersonFit.planned(rows, table.unit, most, promise)


def plan_of_rows(plan: object) -> Any:
    """The plan that sees rows, inside one about persons."""
    return plan.rows if isinstance(plan, PersonFit) else plan


def table_notes(model: Any, plan: Any, promise: Guarantee) -> tuple[str, ...]:
    """Remarks for `privacy_`."""
    zeros = "records with a missing number or label counted as rows of zeros"
    if not isinstance(plan, PersonFit):
        return (*model._notes(plan, promise), zeros)
    one = plan.rows.loss.unit.group_size == 1 and plan.links > 1
    share = promise if one else coming_or_going(promise, plan.about)
    kept = f"at most {plan.max_rows} rows of a person are kept, and the price is that of so many"
    if plan.links == 1 < plan.max_rows:
        kept = f"what a person's rows, at most {plan.max_rows}, add is added up and clipped as one"
    return (*model._notes(plan.rows, share), kept, zeros)


def table_records(table: Described, encoding: Encoding, plan: object) -> TableRecords:
    """The records for this plan: what cannot be run on them is refused here, before anything is paid."""
    inner = plan_of_rows(plan)
    records = TableRecords(table.rows, table.data, encoding, one_pass=getattr(inner, "one_pass", False))
    if records.apart and not getattr(inner, "by_totals", False):
        raise InvalidData(
            "this solver goes through records one by one, and rows do not leave their engine: take one that reads totals "
            f"alone ({', '.join(solvers_by_totals())})"
        )
    return records


def solvers_by_totals() -> list[str]:
    """The solvers whose plans run where rows stay in their engine, by what their first example plans.

    >>> "NoisyGD()" in solvers_by_totals()
    True
    """
    firsts = (next(iter(kind.examples())) for kind in registered_solvers().values())
    return [f"{type(each.solver).__name__}()" for each in firsts if _reads_totals(each)]


def _reads_totals(example: SolverExample) -> bool:
    """True if what is planned under either relation (some solvers know one of them) reads totals alone."""
    for unit in (Unit(), Unit("replace")):
        try:
            plan = example.solver.plan(replace(example.task, unit=unit), example.loss, example.promise)
        except InvalidParameter:
            continue
        return bool(getattr(plan, "by_totals", False))
    return False
