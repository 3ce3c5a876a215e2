"""Certificates of attacks: figures that anybody can recompute from whole numbers."""

from dataclasses import asdict
from typing import Any

import numpy as np

from privet.audit.membership import MembershipAttack
from privet.audit.membership.attack import REAL
from privet.audit.statistics.roc import Area, RateAt
from privet.audit.tables import Reidentification
from privet.audit.tables.reidentification import NO_GUARANTEE, NOT_RELEASABLE
from privet.errors import SerialisationError
from privet.privacy import to_json

MEMBERSHIP, TABLE = "membership", "table"


def membership_fields(attack: MembershipAttack) -> dict[str, Any]:
    """The fields of the certificate of a membership attack: counts, and what follows from them."""
    evidence: dict[str, Any] = {
        "area": asdict(attack.exact_area),
        "rates": [asdict(rate) for rate in attack.exact_rates],
        "assumes": attack.assumes,
        "commitments": [] if attack.commitment is None else [attack.commitment],
    }
    evidence["figures"] = _of_membership(evidence)
    found: dict[str, Any] = {
        "kind": MEMBERSHIP, "verdict": attack.verdict, "alpha": attack.alpha, "evidence": evidence,
        "notes": [*attack.notes, *([REAL] if attack.real else [])],
        "claim": "null" if attack.claim is None else to_json(attack.claim),
    }  # fmt: skip
    if attack.test is not None:
        counts = asdict(attack.test.counts)
        found |= {
            "counts": counts, "event": "score", "p_value": attack.test.p_value, "selection": attack.test.selection,
            "findings": [{"kind": "score", "event": "score", "counts": counts, "p_value": attack.test.p_value,
                          "share": 1.0, "test": "one run", "selection": attack.test.selection}],
        }  # fmt: skip
    return found


def table_fields(found: Reidentification) -> dict[str, Any]:
    """The fields of the certificate of a table: the sizes of its cells, and what follows from them."""
    evidence: dict[str, Any] = {
        "quasi": list(found.quasi),
        "sizes": {str(size): many for size, many in found.sizes.items()},
        "diversity": None if found.diversity is None else asdict(found.diversity),
    }
    evidence["figures"] = _of_table(evidence)
    return {
        "kind": TABLE, "verdict": "not refuted", "evidence": evidence,
        "notes": [NOT_RELEASABLE, NO_GUARANTEE, found.privately()],
    }  # fmt: skip


def _of_membership(evidence: dict[str, Any]) -> dict[str, list[float]]:
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


def _of_table(evidence: dict[str, Any]) -> dict[str, list[float]]:
    sizes = {int(size): int(many) for size, many in evidence["sizes"].items()}
    if any(size < 1 or many < 1 for size, many in sizes.items()):
        raise SerialisationError("cells have at least one row")
    found = Reidentification(tuple(evidence["quasi"]), sizes)
    return {
        "rows": [found.rows],
        "cells": [found.cells],
        "smallest cell": [found.least],
        "alone": [found.exact_unique],
        "in cells below 5": [found.exact_small],
        "prosecutor": [found.exact_prosecutor],
        "marketer": [found.exact_marketer],
    }


def _ends(interval: Any) -> list[float]:
    return [interval.value, interval.low, interval.high]


_FIGURES = {MEMBERSHIP: _of_membership, TABLE: _of_table}


def check_figures(kind: str, evidence: dict[str, Any]) -> None:
    """Refuse figures that do not follow from the counts beside them."""
    if kind not in _FIGURES:
        return
    wanted, told = _FIGURES[kind](evidence), evidence["figures"]
    if set(wanted) != set(told) or any(
        not np.allclose(wanted[name], told[name], rtol=1e-9, atol=1e-12) for name in wanted
    ):
        raise SerialisationError("the certificate's figures do not follow from its own counts")
