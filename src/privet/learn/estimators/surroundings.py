"""What calls a fit: steps of a pipeline that are not private, and searches. Warnings, from classes alone."""

import sys
import warnings
from dataclasses import fields
from typing import Any

from privet.errors import PrivacyWarning

_DEEP = 40  # frames


def warn_about_callers(estimator: Any, *, paid: bool) -> None:
    """Name what stands in front of a private fit without being private, and say that a search pays for every fit."""
    frame: Any = sys._getframe(1)
    for _ in range(_DEEP):
        if frame is None:
            return
        module, caller = frame.f_globals.get("__name__", ""), frame.f_locals.get("self")
        if module == "sklearn.pipeline" and hasattr(caller, "steps"):
            _name_open_steps(estimator, caller.steps)
            return
        if module.startswith("sklearn.model_selection"):
            _name_search(paid)
        frame = frame.f_back


def warn_about_unused(estimator: Any) -> None:
    """Name parameters that were set and do not count in a private fit."""
    usual = {each.name: each.default for each in fields(estimator)}
    unused = [name for name in estimator._without_privacy if getattr(estimator, name) != usual[name]]
    if unused:
        warnings.warn(
            f"{', '.join(unused)} of {type(estimator).__name__} counts at epsilon=inf only: with privacy the solver "
            "chooses the strength of the regulariser, or has it as an argument: solver=ObjectivePerturbation(strength=1.0)",
            UserWarning,
            stacklevel=3,
        )


def _name_search(paid: bool) -> None:
    told = "each fit is paid for" if paid else "each fit is a release of its own, and nobody pays"
    warnings.warn(
        f"a search or cross-validation fits many times: {told}, folds overlap, so prices add up; and scores on private "
        "rows are not private. PrivateSearchCV pays once",
        PrivacyWarning,
        stacklevel=3,
    )


def _name_open_steps(estimator: Any, steps: Any) -> None:
    """A transformer that learns from data is named, unless it is one of ours: what it learned is not paid for."""
    from sklearn.utils import get_tags

    open_steps = []
    for _, step in steps:
        if step is estimator or step is None or isinstance(step, str) or type(step).__module__.startswith("privet."):
            continue
        if get_tags(step).requires_fit and hasattr(step, "transform"):
            open_steps.append(type(step).__name__)
    if open_steps:
        warnings.warn(
            f"{', '.join(open_steps)} in front of {type(estimator).__name__} learns from the data without paying: what it "
            "learned goes into the rows. Use public bounds, or privet's StandardScaler, which is paid for",
            PrivacyWarning,
            stacklevel=3,
        )
