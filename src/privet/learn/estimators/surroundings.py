"""Warnings of a private fit, from public facts that the estimator has about itself."""

import warnings
from dataclasses import fields
from typing import Any

from privet.errors import PrivacyWarning

_told: set[str] = set()  # once in a process: Python's own "once" begins anew with every `catch_warnings`


def warn_about_copies(*, paid: bool) -> None:
    """Say, once in a process, what fits of copies cost."""
    price = "each fit is paid for" if paid else "each fit is a release of its own, and nobody pays"
    if price in _told:
        return
    _told.add(price)
    warnings.warn(
        "this fit is that of a copy made by scikit-learn's clone, as searches, cross-validation and ensembles make many: "
        f"{price}, they share records, so prices add up; and scores on private rows are not private. PrivateSearchCV pays "
        "once",
        PrivacyWarning,
        stacklevel=5,
    )


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
