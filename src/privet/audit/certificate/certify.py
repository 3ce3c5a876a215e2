"""From the outcome of an audit, of whatever kind, to its certificate."""

import hashlib
import inspect
import platform
from collections.abc import Callable
from dataclasses import asdict, fields, is_dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from privet.audit.black_box import SHARES, MechanismAudit
from privet.audit.certificate.attacks import membership_fields, table_fields
from privet.audit.certificate.document import Certificate
from privet.audit.counts import Guesses, Hits
from privet.audit.exact import ExactCheck
from privet.audit.membership import MembershipAttack
from privet.audit.record import Replay
from privet.audit.result import CurveTest, LowerBound
from privet.audit.tables import Reidentification
from privet.audit.training import TrainingAudit
from privet.audit.trial import BETTING
from privet.errors import InvalidParameter
from privet.privacy import to_json

Audit = (
    MechanismAudit | TrainingAudit | MembershipAttack | Reidentification | CurveTest | LowerBound | ExactCheck | Replay
)
_NAMES = {
    "Clopper-Pearson": "point", "Gaussian": "gaussian", "one run, f-DP": "one run f-DP", "one run (": "one run",
    "known rate": "known rate",
}  # fmt: skip


def certify(audit: Audit, *, name: str | None = None, subject: object = None, key: object = None) -> Certificate:
    """The certificate of an audit of any kind. Inputs appear in it: audit made-up neighbours, not private tables.

    `subject` is what was audited, for the hash of its code; `key` signs (a private key, see `audit.new_key`).

    >>> from privet import audit
    >>> audit.certify(audit.one_run_lower(audit.Guesses(correct=95, made=100, canaries=1000), delta=1e-5)).kind
    'one run'
    """
    for kind, build in _BUILDERS:
        if isinstance(audit, kind):
            certificate = build(audit, name, subject)
            return certificate if key is None else certificate.signed(key)
    raise InvalidParameter(
        "certificates are made of audits: audit.mechanism, training, one_run, curve_test, exact_pair, replay, and of "
        "attacks: audit.lira and its like, exposure(...).test or .lower, exact_reidentification"
    )


def _frame(name: str, subject: object, **given: object) -> Certificate:
    """A certificate with everything that all kinds have in common."""
    default: dict[str, Any] = {
        "alpha": 0.0, "p_value": 1.0, "lower": 0.0, "delta": 0.0, "ceiling": 0.0, "runs": 0, "pairs_tried": 1, "counts": {},
        "measured": {}, "event": "", "selection": "", "left": "", "right": "", "claim": "null",
    }  # fmt: skip
    versions = {
        "privet": str(import_module("privet").__version__),  # by name: the package itself names every room
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return Certificate(name=name, versions=versions, created=created, code=_code(subject), **(default | given))


def _of_mechanism(audit: MechanismAudit, name: str | None, subject: object) -> Certificate:
    lower = audit.lower
    tests = audit.tests or ((audit.test, audit.witness),)
    part = 1.0 - BETTING if audit.betting is not None else 1.0
    kinds = ["betting"] if audit.stopped else ["curve", "curve", "box"] if len(tests) == len(SHARES) else ["curve"]
    findings: list[dict[str, Any]] = [
        {
            "kind": witness.event.kind,
            "event": str(witness),
            "question": _plain(witness.event),
            "world": "right" if witness.swapped else "left",
            "learned": {each: _plain(rule) for each, rule in witness.learned.items() if each == witness.event.feature},
            "pair": [_short(witness.left), _short(witness.right)],
            "counts": asdict(test.counts),
            "p_value": test.p_value,
            "share": test.share,
            "test": kind,
            "selection": test.selection,
        }
        for (test, witness), kind in zip(tests, kinds, strict=True)
    ]
    if audit.stopped:
        findings[0]["bets"] = audit.betting
    bound = {"statistic": "point", "share": SHARES[-1] * part, "counts": asdict(lower.counts)}
    best = min(findings, key=lambda finding: finding["p_value"])
    return _frame(
        name or audit.name, subject, kind="mechanism", claim=to_json(audit.claim), verdict=audit.verdict,
        alpha=audit.alpha, p_value=best["p_value"], lower=lower.lower, delta=lower.delta, ceiling=lower.ceiling,
        runs=audit.runs, pairs_tried=audit.pairs_tried, counts=best["counts"],
        measured={} if audit.stopped else asdict(lower.counts),
        event=best["event"], selection=best["selection"], left=best["pair"][0], right=best["pair"][1],
        parameters={"runs": audit.runs, "alpha": audit.alpha, "delta": lower.delta},
        pairs=[list(pair) for pair in dict.fromkeys((each["pair"][0], each["pair"][1]) for each in findings)],
        scouting={"calls": audit.calls, "events": audit.events_tried, "released": audit.released,
                  "simulated": audit.simulated, "pairs": audit.pairs_tried},
        findings=findings, notes=list(audit.notes),
        evidence={"bound": None if audit.stopped else bound,
                  "unit": audit.claim.unit.to_dict(), "depends": audit.depends},
    )  # fmt: skip


def _of_training(audit: TrainingAudit, name: str | None, subject: object) -> Certificate:
    counts, share = asdict(audit.test.counts), 0.5 if audit.betting is not None else 1.0
    finding: dict[str, Any] = {
        "kind": "score", "event": "score" if audit.threshold is None else f"score at least {audit.threshold!r}",
        "counts": counts, "p_value": audit.test.p_value, "share": share, "selection": audit.test.selection,
        "test": "betting" if audit.stopped else "one run" if isinstance(audit.test.counts, Guesses) else "curve",
    }  # fmt: skip
    if audit.stopped:
        finding["bets"] = audit.betting
    statistic = "one run" if isinstance(audit.test.counts, Guesses) else "point"
    bound = None if audit.stopped else {"statistic": statistic, "share": share, "counts": counts}
    return _frame(
        name or "training", subject, kind="training", claim=to_json(audit.claim), verdict=audit.verdict,
        alpha=audit.alpha, p_value=audit.test.p_value, lower=audit.lower.lower, delta=audit.lower.delta,
        ceiling=0.0 if audit.stopped else audit.lower.ceiling, runs=audit.trainings, counts=counts, event=finding["event"],
        measured={} if bound is None else counts, selection=audit.test.selection, findings=[finding],
        parameters={"canaries": audit.canaries, "trainings": audit.trainings, "threshold": audit.threshold},
        evidence={"bound": bound, "unit": audit.claim.unit.to_dict(), "commitments": list(audit.commitments)},
    )  # fmt: skip


def _of_test(test: CurveTest, name: str | None, subject: object) -> Certificate:
    kind, counts = _kind(test.counts), asdict(test.counts)
    by = {"one run": "one run", "exposure": "known rate"}.get(kind, "box" if "Clopper" in test.method else "curve")
    finding = {
        "kind": "given", "event": "given", "counts": counts, "p_value": test.p_value, "share": 1.0,
        "test": by, "selection": test.selection,
    }  # fmt: skip
    return _frame(
        name or test.method, subject, kind=kind, claim=to_json(test.claim),
        verdict=test.verdict, alpha=test.alpha, p_value=test.p_value, counts=counts, event="given", findings=[finding],
        selection=test.selection, runs=max(counts.get("n", 0), counts.get("n_out", 0)),
    )  # fmt: skip


def _kind(counts: object) -> str:
    return "one run" if isinstance(counts, Guesses) else "exposure" if isinstance(counts, Hits) else "two worlds"


def _of_bound(bound: LowerBound, name: str | None, subject: object) -> Certificate:
    counts = asdict(bound.counts)
    statistic = next((kind for start, kind in _NAMES.items() if bound.method.startswith(start)), None)
    if statistic is None or "either world" in bound.method:
        raise InvalidParameter(f"a bound by {bound.method!r} has no certificate")
    return _frame(
        name or bound.method, subject, kind=_kind(bound.counts), verdict="not refuted",
        alpha=bound.alpha, lower=bound.lower, delta=bound.delta, ceiling=bound.ceiling, measured=counts,
        selection=bound.selection, runs=max(counts.get("n", 0), counts.get("n_out", 0)),
        notes=[] if bound.assumption is None else [f"assuming that {bound.assumption}"],
        evidence={"bound": {"statistic": statistic, "share": 1.0, "counts": counts}, "unit": bound.unit.to_dict()},
    )  # fmt: skip


def _of_exact(check: ExactCheck, name: str | None, subject: object) -> Certificate:
    if check.laws is None:
        raise InvalidParameter("this check does not hold the distributions that it compared")
    exact = all(isinstance(mass, Fraction | int) for law in check.laws for mass in law.values())
    sides = [[[repr(outcome), str(Fraction(mass))] for outcome, mass in law.items()] for law in check.laws]
    return _frame(
        name or "exact", subject, kind="exact", claim=to_json(check.claim), verdict=check.verdict,
        event=repr(check.outcome), p_value=0.0 if check.verdict == "violated" else 1.0, ceiling=-1.0,
        lower=check.epsilon if check.epsilon < np.inf else -1.0,
        evidence={"left": sides[0], "right": sides[1], "exact": exact},
    )  # fmt: skip


def _of_replay(replay: Replay, name: str | None, subject: object) -> Certificate:
    told = {part: [str(each) for each in getattr(replay, part)] for part in ("findings", "unstable")}
    return _frame(
        name or "replay", subject, kind="replay", verdict=replay.verdict, p_value=0.0 if replay.refuted else 1.0,
        evidence={**told, "releases": replay.releases, "times": replay.times}, notes=list(replay.notes),
    )  # fmt: skip


def _of_membership(attack: MembershipAttack, name: str | None, subject: object) -> Certificate:
    return _frame(name or attack.name, subject, **membership_fields(attack))


def _of_table(found: Reidentification, name: str | None, subject: object) -> Certificate:
    return _frame(name or "table", subject, **table_fields(found))


_BUILDERS: tuple[tuple[type, Callable[..., Certificate]], ...] = (
    (MechanismAudit, _of_mechanism),
    (TrainingAudit, _of_training),
    (MembershipAttack, _of_membership),
    (Reidentification, _of_table),
    (CurveTest, _of_test),
    (LowerBound, _of_bound),
    (ExactCheck, _of_exact),
    (Replay, _of_replay),
)


def _code(subject: object) -> dict[str, str]:
    """Hashes of the code that judged, and of the code that was judged where it can be read."""
    found = {"privet.audit": _own_code()}
    if subject is not None:
        target = subject if inspect.isroutine(subject) or inspect.isclass(subject) else type(subject)
        try:
            source = inspect.getsource(target)
        except (OSError, TypeError):
            source = repr(getattr(getattr(target, "__code__", None), "co_code", target.__qualname__))
        found["subject"] = hashlib.sha256(source.encode()).hexdigest()
    return found


@lru_cache(maxsize=1)
def _own_code() -> str:
    room = Path(__file__).resolve().parents[1]
    text = hashlib.sha256()
    for path in sorted(room.rglob("*.py")):
        text.update(path.relative_to(room).as_posix().encode() + b"\0" + path.read_bytes())
    return text.hexdigest()


def _plain(value: object) -> Any:
    """An event or a learned rule as JSON, complete: it can be rebuilt from it."""
    if is_dataclass(value) and not isinstance(value, type):
        held = {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
        return {"class": type(value).__name__, **held}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else repr(float(value))
    plain = value.item() if isinstance(value, np.generic) else value
    return plain if plain is None or isinstance(plain, str | int | bool) else repr(plain)


def _short(value: object, most: int = 200) -> str:
    text = np.array2string(value, threshold=16) if isinstance(value, np.ndarray) else repr(value)
    return text if len(text) <= most else text[:most] + "..."
