"""The certificate of an audit: everything that was claimed, run and counted, as JSON that anybody can recompute."""

import hashlib
import json
import platform
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

import numpy as np

from privet.audit.base import Counts, CurveTest, LowerBound, Verdict
from privet.audit.black_box import SHARES, MechanismAudit, decide, measure
from privet.errors import SerialisationError
from privet.privacy import from_json, to_json

__all__ = ["Certificate", "certify"]

_SCHEMA = "privet-audit/1"
_HALF = 0.5  # the share of the level that either of two tests had, in certificates that do not state it
_VERSION = str(import_module("privet").__version__)  # by name: the package itself names every room


@dataclass(frozen=True)
class Certificate:
    """One audit on paper. It says `violated` or `not refuted`, never "private".

    The digest covers every field; `recompute` repeats the statistics from the counts alone, without the mechanism.

    **Guarantee:** as of `audit.mechanism`: a true claim is called violated with probability at most `alpha`.

    >>> from privet import audit, mechanisms
    >>> found = audit.mechanism(mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0), runs=2000)
    >>> certificate = audit.certify(found)
    >>> audit.Certificate.from_json(certificate.to_json()) == certificate, certificate.recompute().verdict
    (True, 'not refuted')
    """

    name: str
    claim: str
    verdict: Verdict
    alpha: float
    p_value: float
    lower: float
    delta: float
    ceiling: float
    runs: int
    pairs_tried: int
    counts: dict[str, int]
    measured: dict[str, int]
    event: str
    selection: str
    left: str
    right: str
    versions: dict[str, str]
    created: str
    schema: str = _SCHEMA
    share: float = _HALF

    @property
    def digest(self) -> str:
        """SHA-256 of all fields."""
        fields = asdict(self) if self.share != _HALF else {k: v for k, v in asdict(self).items() if k != "share"}
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()

    def recompute(self) -> CurveTest:
        """The test once more, from the counts and the claim."""
        return decide(Counts(**self.counts), claim=from_json(self.claim), alpha=self.alpha, share=self.share)

    def to_json(self) -> str:
        """All fields and the digest."""
        return json.dumps(asdict(self) | {"claim": json.loads(self.claim), "digest": self.digest}, indent=2)

    @classmethod
    def from_json(cls, text: str) -> "Certificate":
        """Read a certificate; refuse one whose digest, test or bound does not follow from its own counts."""
        try:
            document = json.loads(text)
            digest = document.pop("digest")
            document["claim"] = to_json(from_json(json.dumps(document["claim"])))
            certificate = cls(**document)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise SerialisationError("this text is not a certificate written by privet") from None
        if certificate.schema != _SCHEMA:
            raise SerialisationError(
                f"this certificate has the schema {certificate.schema!r}; {_SCHEMA!r} was expected"
            )
        if certificate.digest != digest:
            raise SerialisationError("the certificate was changed after it was written: its digest does not match")
        if not certificate.follows():
            raise SerialisationError("the certificate's verdict or bound does not follow from its own counts")
        return certificate

    def follows(self) -> bool:
        """Whether verdict and bound are what the counts give."""
        test, lower = self.recompute(), self._lower()
        return (
            test.verdict == self.verdict
            and bool(np.isclose(test.p_value, self.p_value, rtol=1e-9, atol=0.0))
            and bool(np.isclose(lower.lower, self.lower, rtol=1e-9, atol=1e-12))
        )

    def _lower(self) -> LowerBound:
        share = _HALF if self.share == _HALF else SHARES[-1]
        return measure(
            Counts(**self.measured), claim=from_json(self.claim), delta=self.delta, alpha=self.alpha, share=share
        )


def certify(audit: MechanismAudit) -> Certificate:
    """The certificate of an audit. Inputs appear in it: audit made-up neighbours, not private tables."""
    test, lower = audit.test, audit.lower
    return Certificate(
        name=audit.name,
        claim=to_json(audit.claim),
        verdict=audit.verdict,
        alpha=audit.alpha,
        p_value=test.p_value,
        lower=lower.lower,
        delta=lower.delta,
        ceiling=lower.ceiling,
        runs=audit.runs,
        pairs_tried=audit.pairs_tried,
        counts=asdict(test.counts),
        measured=asdict(lower.counts),
        event=str(audit.witness),
        selection=test.selection,
        left=_short(audit.witness.left),
        right=_short(audit.witness.right),
        versions={
            "privet": import_module("privet").__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
        },
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        share=test.share,
    )


def _short(value: Any, most: int = 200) -> str:
    text = np.array2string(value, threshold=16) if isinstance(value, np.ndarray) else repr(value)
    return text if len(text) <= most else text[:most] + "..."
