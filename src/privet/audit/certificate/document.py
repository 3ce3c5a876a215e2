"""The certificate of an audit: everything that was claimed, run and counted, as JSON that anybody can recompute."""

import hashlib
import json
import math
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np

from privet.audit.certificate import signature as signing
from privet.audit.certificate.recompute import recomputed, test_of
from privet.audit.counts import Counts
from privet.audit.result import CurveTest
from privet.audit.statistics import point_lower
from privet.audit.statistics.curve import box_test
from privet.errors import PrivetError, SerialisationError
from privet.privacy import PrivacyLoss, from_json, to_json

SCHEMA = "privet-audit/2"
_FIRST = "privet-audit/1"
_KINDS = (
    "mechanism", "training", "one run", "two worlds", "exact", "replay", "membership", "exposure", "table",
)  # fmt: skip
_OF_FIRST = (
    "name", "claim", "verdict", "alpha", "p_value", "lower", "delta", "ceiling", "runs", "pairs_tried", "counts",
    "measured", "event", "selection", "left", "right", "versions", "created", "schema",
)  # fmt: skip


@dataclass(frozen=True)
class Certificate:
    """One audit on paper. It says `violated` or `not refuted`, never "private".

    The digest covers every field; `recompute` repeats the statistics from the counts alone, without the mechanism.
    `findings` has every test that was made, with its event, its pair and its share of the level; `parameters`, `pairs`
    and `scouting` say how it was looked for, `code` names the code by its hash. A `signature` says who vouches for it: a
    digest can be computed by anybody, a signature only by the holder of the key.

    **Guarantee:** as of `audit.mechanism`: a true claim is called violated with probability at most `alpha`.

    >>> from privet import audit, mechanisms
    >>> found = audit.mechanism(mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0), runs=2000)
    >>> certificate = audit.certify(found)
    >>> audit.Certificate.from_json(certificate.to_json()) == certificate, certificate.recompute().verdict
    (True, 'not refuted')
    """

    name: str
    claim: str
    verdict: str
    alpha: float
    p_value: float
    lower: float
    delta: float
    ceiling: float
    runs: int
    pairs_tried: int
    counts: dict[str, Any]
    measured: dict[str, Any]
    event: str
    selection: str
    left: str
    right: str
    versions: dict[str, str]
    created: str
    schema: str = SCHEMA
    kind: str = "mechanism"
    parameters: dict[str, Any] = field(default_factory=dict)
    pairs: list[list[str]] = field(default_factory=list)
    scouting: dict[str, Any] = field(default_factory=dict)
    findings: list[dict[str, Any]] = field(default_factory=list)
    evidence: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    code: dict[str, str] = field(default_factory=dict)
    signature: dict[str, str] | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of all fields but the signature."""
        return hashlib.sha256(json.dumps(self._signed_fields(), sort_keys=True).encode()).hexdigest()

    def _signed_fields(self) -> dict[str, Any]:
        every = asdict(self)
        names = _OF_FIRST if self.schema == _FIRST else [f.name for f in fields(self) if f.name != "signature"]
        return {name: every[name] for name in names}

    def signed(self, key: object) -> "Certificate":
        """The same certificate with a signature by a private key (see `audit.new_key`).

        >>> from privet import audit
        >>> plain = audit.certify(audit.point_lower(audit.Counts(tp=40, fp=10, n=100), delta=0.0))
        >>> plain.signed(audit.new_key()).signature["algorithm"]
        'Ed25519'
        """
        return replace(self, signature=signing.sign(self.digest, key))

    def verify(self, key: str | None = None) -> None:
        """Refuse what does not follow from the evidence, or is not signed by the public `key`.

        Without a key a signature is checked if there is one; that only shows that nothing was changed since.
        """
        if self.signature is None and key is not None:
            raise SerialisationError("the certificate is not signed; a signature by the trusted key was asked for")
        if self.signature is not None:
            signing.verify(self.digest, self.signature, key)
        if not self.follows():
            raise SerialisationError("the certificate's verdict or bound does not follow from its own counts")

    def price(self) -> PrivacyLoss | None:
        """The claim, where there was one."""
        return None if self.claim == "null" else from_json(self.claim)

    def recompute(self) -> CurveTest:
        """The deciding test once more, from the counts and the claim."""
        claim = self.price()
        if claim is None or (self.schema != _FIRST and not self.findings):
            raise SerialisationError(f"a certificate of the kind {self.kind!r} holds no test of a claim")
        if self.schema == _FIRST:
            return box_test(Counts(**self.counts), claim=claim, alpha=self.alpha / 2.0).selected(
                self.alpha, self.selection
            )
        return min((test_of(finding, claim, self.alpha) for finding in self.findings), key=lambda test: test.p_value)

    def to_json(self) -> str:
        """All fields and the digest."""
        shown = self._signed_fields() | {"claim": json.loads(self.claim), "digest": self.digest}
        if self.signature is not None:
            shown["signature"] = self.signature
        return json.dumps(shown, indent=2)

    @classmethod
    def from_json(cls, text: str, *, key: str | None = None) -> "Certificate":
        """Read a certificate; refuse one whose digest, signature, test or bound does not follow from what it holds.

        With `key`, a public key in hexadecimal or a file that holds one, only a certificate signed by it is accepted.
        """
        try:
            document = json.loads(text)
            digest = document.pop("digest")
            claim = document["claim"]
            document["claim"] = "null" if claim is None else to_json(from_json(json.dumps(claim)))
            certificate = cls(**document)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise SerialisationError("this text is not a certificate written by privet") from None
        if certificate.schema not in (SCHEMA, _FIRST) or certificate.kind not in _KINDS:
            raise SerialisationError(
                f"this certificate has the schema {certificate.schema!r} and the kind {certificate.kind!r}; "
                f"{SCHEMA!r} or {_FIRST!r} was expected"
            )
        if certificate.digest != digest:
            raise SerialisationError("the certificate was changed after it was written: its digest does not match")
        certificate.verify(key)
        return certificate

    def follows(self) -> bool:
        """True if verdict and bound are what the evidence gives."""
        try:
            return self._follows_first() if self.schema == _FIRST else self._follows()
        except (KeyError, TypeError, ValueError, AttributeError, PrivetError):
            return False

    def _follows(self) -> bool:
        found = recomputed(asdict(self), self.price())
        if self.findings:
            best = min(self.findings, key=lambda finding: float(finding["p_value"]))
            if best["counts"] != self.counts or best.get("event") != self.event:
                return False
        bound = self.evidence.get("bound")
        return (
            found.verdict == self.verdict
            and _near(found.p_value, self.p_value)
            and _near(found.lower, self.lower)
            and _near(found.ceiling, self.ceiling)
            and (bound is None or bound["counts"] == self.measured)
            and self._runs_suffice()
            and (self.kind != "mechanism" or self._paths_add_up())
        )

    def _paths_add_up(self) -> bool:
        """Every tested run came either from `release` or from a simulation, and all of them are among the runs made."""
        by_path = [self.scouting[path] for path in ("released", "simulated")]
        if any(isinstance(times, bool) or not isinstance(times, int) or times < 0 for times in by_path):
            return False
        tested = {each["counts"]["n"] + each["counts"]["n_out"] for each in self.findings if each["test"] != "betting"}
        used = [each["counts"]["n"] + each["counts"]["n_out"] for each in self.findings]
        whole = sum(by_path)
        return tested <= {whole} and all(n <= whole for n in used) and whole <= self.scouting["calls"]

    def _runs_suffice(self) -> bool:
        """No event was counted in more runs than were made."""
        seen = [finding["counts"] for finding in self.findings] + [self.measured]
        return all(max(each.get("n", 0), each.get("n_out", 0)) <= self.runs for each in seen if "canaries" not in each)

    def _follows_first(self) -> bool:
        claim = self.price()
        if claim is None:
            return False
        lower = point_lower(Counts(**self.measured), delta=self.delta, alpha=self.alpha / 2.0, unit=claim.unit)
        test = self.recompute()
        return (
            test.verdict == self.verdict and _near(test.p_value, self.p_value, 0.0) and _near(lower.lower, self.lower)
        )


def _near(a: float, b: float, least: float = 1e-12) -> bool:
    return bool(np.isclose(a, b, rtol=1e-9, atol=least)) or (math.isinf(a) and a == b)
