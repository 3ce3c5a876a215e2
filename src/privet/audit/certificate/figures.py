"""The figures of attacks once more, from whole numbers alone."""

from typing import Any

import numpy as np

from privet.audit.statistics.roc import Area, RateAt
from privet.errors import SerialisationError

MEMBERSHIP, TABLE = "membership", "table"


def membership_figures(evidence: dict[str, Any]) -> dict[str, list[float]]:
    """The area under the curve and the rates of an attack, with their intervals."""
    under = Area(**evidence["area"])
    if not 0 <= under.doubled <= 2 * under.members * under.others:
        raise SerialisationError("more pairs are in order than there are")
    figures = {"area under the curve": _ends(under.auc)}
    for each in evidence["rates"]:
        rate = RateAt(**each)
        if not 0 <= rate.strict <= rate.members or not 0 <= rate.hits <= rate.members or rate.loose > rate.members:
            raise SerialisationError("more members are found than there are")
        figures[f"found at {rate.fpr:g}"] = _ends(rate.tpr)
    return figures


def table_figures(evidence: dict[str, Any]) -> dict[str, list[float]]:
    """The figures of a table, from the sizes of its cells."""
    sizes = {int(size): int(many) for size, many in evidence["sizes"].items()}
    if not sizes or any(size < 1 or many < 1 for size, many in sizes.items()):
        raise SerialisationError("cells have at least one row")
    rows, cells = sum(size * many for size, many in sizes.items()), sum(sizes.values())
    return {
        "rows": [rows],
        "cells": [cells],
        "smallest cell": [min(sizes)],
        "alone": [sizes.get(1, 0) / rows],
        "in cells below 5": [sum(size * many for size, many in sizes.items() if size < 5) / rows],
        "prosecutor": [1.0 / min(sizes)],
        "marketer": [cells / rows],
    }


def _ends(interval: Any) -> list[float]:
    return [interval.value, interval.low, interval.high]


_FIGURES = {MEMBERSHIP: membership_figures, TABLE: table_figures}


def check_figures(kind: str, evidence: dict[str, Any]) -> None:
    """Refuse figures that do not follow from the counts beside them."""
    if kind not in _FIGURES:
        return
    wanted, told = _FIGURES[kind](evidence), evidence["figures"]
    if set(wanted) != set(told) or any(
        not np.allclose(wanted[name], told[name], rtol=1e-9, atol=1e-12) for name in wanted
    ):
        raise SerialisationError("the certificate's figures do not follow from its own counts")
