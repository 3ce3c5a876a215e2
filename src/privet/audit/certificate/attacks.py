"""Certificates of attacks: figures that anybody can recompute from whole numbers."""

from dataclasses import asdict
from typing import Any

from privet.audit.certificate.figures import MEMBERSHIP, TABLE, membership_figures, table_figures
from privet.audit.membership import MembershipAttack
from privet.audit.membership.attack import REAL
from privet.audit.tables import Reidentification
from privet.audit.tables.reidentification import NO_GUARANTEE, NOT_RELEASABLE
from privet.privacy import to_json


def membership_fields(attack: MembershipAttack) -> dict[str, Any]:
    """The fields of the certificate of a membership attack: counts, and what follows from them."""
    evidence: dict[str, Any] = {
        "area": asdict(attack.exact_area),
        "rates": [asdict(rate) for rate in attack.exact_rates],
        "assumes": attack.assumes,
        "commitments": [] if attack.commitment is None else [attack.commitment],
    }
    evidence["figures"] = membership_figures(evidence)
    found: dict[str, Any] = {
        "kind": MEMBERSHIP, "verdict": attack.verdict, "alpha": attack.alpha, "evidence": evidence,
        "notes": [
            f"Attack: {attack.name}. Assumes: {attack.assumes}.", *attack.notes, *([REAL] if attack.real else []),
        ],
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
    evidence["figures"] = table_figures(evidence)
    return {
        "kind": TABLE, "verdict": "not refuted", "evidence": evidence,
        "notes": [NOT_RELEASABLE, NO_GUARANTEE, found.privately()],
    }  # fmt: skip
