"""The common ground of the plans of all fits: they read records of their task, and their parts are made for its
reach."""

from typing import ClassVar

from privet.errors import InvalidParameter
from privet.learn.problem import Task
from privet.learn.solvers.knobs import clean_knobs
from privet.mechanisms import Form, Numbers, Sensitivity


class OnRecords:
    """A mixin for plans with a field `task`: records of that task go in, numbers come out.

    `by_totals` says that a plan reads records by `exact_added` alone, so that it runs where rows cannot leave (Spark), and
    `one_pass` that it reads them once, so that nothing has to be kept for a second pass.
    """

    one_pass: ClassVar[bool] = False
    by_totals: ClassVar[bool] = False

    task: Task

    def __post_init__(self) -> None:
        """Fields that several plans have are cleaned here, as their names say; parts are checked by the plan itself."""
        super().__post_init__()  # type: ignore[misc]  # of the mechanism that this is mixed into
        clean_knobs(self)

    @property
    def form(self) -> Form:
        """An array of numbers, unless a plan says otherwise."""
        return Numbers()

    def _admit(self, value: object) -> None:
        self.task.admit(value)


def check_reach(part: str, made: Sensitivity, needed: Sensitivity) -> None:
    """Refuse a part whose noise is too small for what one person can change, or for another unit.

    >>> from privet.privacy import Unit
    >>> check_reach("noise", Sensitivity(2, norm="l2", unit=Unit()), Sensitivity(1, norm="l2", unit=Unit()))
    """
    if made.value < needed.value or made.unit != needed.unit:
        raise InvalidParameter(f"{part} was made for a smaller reach, or another unit, than this plan has")
