"""Certificates: they survive JSON, can be recomputed from their counts, and betray every change."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from privet import audit, mechanisms, privacy
from privet.errors import InvalidParameter, SerialisationError
from privet.report import audit_page
from privet.testing.zoo import zoo
from privet.testing.zoo.entry import Simulated


@pytest.fixture(scope="module")
def sound() -> audit.Certificate:
    laplace = mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0)
    return audit.certify(audit.mechanism(laplace, runs=10_000, alpha=1e-6))


@pytest.fixture(scope="module")
def broken() -> audit.Certificate:
    entry = zoo()[0]
    law = Simulated(entry.name, entry.broken)
    pairs = [(entry.left, entry.right)]
    return audit.certify(audit.mechanism(law, claim=entry.claim, neighbours=pairs, runs=10_000, alpha=1e-6))


def test_a_certificate_survives_json_and_can_be_recomputed(sound, broken):
    for certificate, verdict in ((sound, "not refuted"), (broken, "violated")):
        again = audit.Certificate.from_json(certificate.to_json())
        assert again == certificate
        assert again.digest == certificate.digest
        assert again.verdict == again.recompute().verdict == verdict


def test_everything_needed_to_repeat_the_test_is_there(broken):
    document = json.loads(broken.to_json())
    assert document["claim"] == json.loads(privacy.to_json(privacy.PureLoss(1.0)))
    assert set(document["counts"]) == {"tp", "fp", "n", "n_out"}
    assert (document["left"], document["right"]) == ("0", "10")
    assert document["runs"] == 10_000
    assert document["event"].startswith("value[0]")
    assert set(document["versions"]) == {"privet", "python", "numpy"}
    assert "chosen on" in document["selection"]
    assert document["kind"] == "mechanism"
    assert len(document["code"]["privet.audit"]) == 64
    for finding in document["findings"]:
        assert {"kind", "event", "question", "learned", "pair", "counts", "p_value", "share", "test"} <= set(finding)
        assert {"feature", "relation", "threshold"} <= set(finding["question"])
    assert sum(finding["share"] for finding in document["findings"]) <= 1.0 + 1e-9


CHANGES = {
    "verdict": "not refuted",
    "p_value": 0.5,
    "alpha": 1e-5,
    "lower": 0.1,
    "name": "something else",
    "left": "1",
    "counts": {"tp": 1, "fp": 1, "n": 5000, "n_out": 5000},
    "claim": json.loads(privacy.to_json(privacy.PureLoss(3.0))),
    "created": "2001-01-01T00:00:00+00:00",
    "ceiling": 99.0,
    "runs": 10_001,
    "schema": "privet-audit/1",
    "findings": [],
    "notes": ["nothing to see"],
    "code": {},
    "kind": "training",
}


@pytest.mark.parametrize("field", CHANGES)
def test_a_changed_field_is_refused(broken, field):
    document = json.loads(broken.to_json()) | {field: CHANGES[field]}
    with pytest.raises(SerialisationError):
        audit.Certificate.from_json(json.dumps(document))


@pytest.mark.parametrize(
    "field",
    ["verdict", "p_value", "lower", "counts", "claim", "ceiling", "findings", "event", "measured", "runs", "alpha"],
)
def test_a_change_with_a_new_digest_still_does_not_follow_from_the_counts(broken, field):
    """Whoever forges the digest as well is caught by the arithmetic."""
    value = (CHANGES | {"runs": 10, "event": "luck", "measured": {"tp": 1, "fp": 1, "n": 5, "n_out": 5}})[field]
    forged = replace(broken, **{field: privacy.to_json(privacy.PureLoss(3.0)) if field == "claim" else value})
    with pytest.raises(SerialisationError, match="does not follow"):
        audit.Certificate.from_json(forged.to_json())


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"digest": "x"}', "not json"])
def test_other_texts_are_refused(text):
    with pytest.raises(SerialisationError, match="not a certificate"):
        audit.Certificate.from_json(text)


def test_the_page_stands_alone_and_is_modest(sound, broken):
    for certificate in (sound, broken):
        page = audit_page(certificate)
        assert page.count("<svg") == 2
        assert "“Not refuted” is not “private”" in page
        assert certificate.digest[:16] in page
        assert not any(word in page for word in ("http://", "https://", "<script", "<link", "src="))
        assert "nan" not in page.split("<figure>")[1].split("</figure>")[0]
    assert "verdict violated" in audit_page(broken)
    assert "verdict violated" not in audit_page(sound)


def test_names_are_escaped_on_the_page(broken):
    assert "<b>" not in audit_page(replace(broken, name="<b>bold</b>", left="<b>"))


# --- every kind of audit ----------------------------------------------------------------------------------------------


def halves(rows):
    return mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0).release(3 * sum(rows)).value


def trained(sigma: float, **options) -> audit.TrainingAudit:
    rng = np.random.default_rng(5)
    return audit.training(
        lambda rows: float(np.sum(rows)) + sigma * rng.standard_normal(),
        [1.0] if "top" not in options else list(np.arange(1.0, 21.0)),
        lambda model, canary: model,
        claim=privacy.GaussianLoss(1.0),
        data=[0.0],
        **{"runs": 60, **options},
    )


MADE = {
    "training": lambda: trained(1.0),
    "training, stopped": lambda: trained(0.05, runs=400, alpha=1e-3),
    "training, coins": lambda: trained(1.0, runs=3, top=2, bottom=2),
    "one run": lambda: audit.one_run_lower(audit.Guesses(correct=95, made=100, canaries=1000), delta=1e-5),
    "one run, f-DP": lambda: audit.one_run_fdp_lower(audit.Guesses(correct=95, made=100, canaries=1000), delta=1e-5),
    "one run, curve": lambda: audit.one_run_curve(
        audit.Guesses(correct=95, made=100, canaries=1000), claim=privacy.GaussianLoss(2.0)
    ),
    "point": lambda: audit.point_lower(audit.Counts(tp=400, fp=100, n=1000), delta=1e-5),
    "gaussian": lambda: audit.gaussian_lower(audit.Counts(tp=690, fp=310, n=1000), delta=1e-5),
    "curve": lambda: audit.curve_test(audit.Counts(tp=700, fp=300, n=1000), claim=privacy.PureLoss(0.5)),
    "exact": lambda: audit.exact_pair(
        {0: Fraction(3, 4), 1: Fraction(1, 4)}, {0: Fraction(1, 4), 1: Fraction(3, 4)}, claim=privacy.PureLoss(1.0)
    ),
    "exact, floats": lambda: audit.exact_pair({0: 0.75, 1: 0.25}, {0: 0.25, 1: 0.75}, claim=privacy.PureLoss(2.0)),
    "replay": lambda: audit.replay(halves, [1.0, 1.0], [1.0]),
}


@pytest.mark.parametrize("kind", MADE)
def test_every_kind_of_audit_has_a_certificate(kind):
    result = MADE[kind]()
    certificate = audit.certify(result, name=kind, subject=halves)
    again = audit.Certificate.from_json(certificate.to_json())
    assert again == certificate
    verdict = getattr(result, "verdict", "not refuted")
    assert certificate.verdict == (verdict if isinstance(verdict, str) else "not refuted")
    assert len(certificate.code["subject"]) == 64
    assert "<html" in audit_page(certificate)


LIES = {
    "training": {"p_value": 1e-9, "verdict": "violated"},
    "training, stopped": {"verdict": "not refuted", "p_value": 0.9},
    "training, coins": {"lower": 9.0},
    "one run": {"lower": 5.0},
    "one run, f-DP": {"lower": 0.5},
    "one run, curve": {"verdict": "not refuted"},
    "point": {"lower": 0.1},
    "gaussian": {"ceiling": 0.1},
    "curve": {"p_value": 0.9, "verdict": "not refuted"},
    "exact": {"verdict": "not refuted", "p_value": 1.0},
    "exact, floats": {"verdict": "violated", "p_value": 0.0},
    "replay": {"verdict": "not refuted", "p_value": 1.0},
}


@pytest.mark.parametrize("kind", LIES)
def test_a_forged_certificate_of_any_kind_is_refused_even_with_a_fitting_digest(kind):
    forged = replace(audit.certify(MADE[kind]()), **LIES[kind])
    with pytest.raises(SerialisationError, match="does not follow"):
        audit.Certificate.from_json(forged.to_json())


def test_bets_on_more_than_the_claim_promises_are_refused():
    certificate = audit.certify(MADE["training, stopped"]())
    (finding,) = certificate.findings
    assert finding["test"] == "betting"
    easy = finding | {"bets": finding["bets"] | {"delta": 0.0, "epsilon": 0.0}}
    with pytest.raises(SerialisationError, match="does not follow"):
        audit.Certificate.from_json(replace(certificate, findings=[easy]).to_json())


def test_findings_cannot_share_more_than_the_level(broken):
    """Each p-value fits its own share, so only the sum of the shares tells."""
    greedy = [f | {"share": 1.0, "p_value": f["p_value"] * f["share"]} for f in broken.findings]
    best = min(greedy, key=lambda f: f["p_value"])
    told = {"counts": best["counts"], "event": best["event"], "p_value": best["p_value"]}
    assert replace(broken, findings=[best], **told).follows()
    assert not replace(broken, findings=greedy, **told).follows()


def test_what_has_no_certificate_is_refused():
    with pytest.raises(InvalidParameter, match="certificates are made of audits"):
        audit.certify("an audit")
    both = audit.point_lower(audit.Counts(tp=400, fp=100, n=1000), delta=1e-5, two_sided=True)
    with pytest.raises(InvalidParameter, match="no certificate"):
        audit.certify(both)


# --- signatures -------------------------------------------------------------------------------------------------------


def test_a_signature_is_the_only_thing_that_cannot_be_invented(sound, tmp_path):
    key, other = audit.new_key(), audit.new_key()
    signed = sound.signed(key)
    text = signed.to_json()
    assert audit.Certificate.from_json(text) == signed
    assert audit.Certificate.from_json(text, key=audit.public_key(key)) == signed
    (tmp_path / "key").write_text(audit.public_key(key) + "\n")
    assert audit.Certificate.from_json(text, key=str(tmp_path / "key")) == signed
    with pytest.raises(SerialisationError, match="another key"):
        audit.Certificate.from_json(text, key=audit.public_key(other))
    with pytest.raises(SerialisationError, match="not signed"):
        audit.Certificate.from_json(sound.to_json(), key=audit.public_key(key))
    assert signed.digest == sound.digest


@pytest.mark.parametrize("part", ["value", "public_key", "algorithm"])
def test_a_changed_signature_is_refused(sound, part):
    signed = sound.signed(audit.new_key())
    wrong = {"value": "00" * 64, "public_key": audit.public_key(audit.new_key()), "algorithm": "RSA"}[part]
    forged = replace(signed, signature=signed.signature | {part: wrong})
    with pytest.raises(SerialisationError, match="sign"):
        audit.Certificate.from_json(forged.to_json())


def test_a_signature_of_another_certificate_is_refused(sound, broken):
    key = audit.new_key()
    with pytest.raises(SerialisationError, match="does not belong"):
        audit.Certificate.from_json(replace(broken, signature=sound.signed(key).signature).to_json())


@pytest.mark.parametrize("key", ["00", b"short", "no such file"])
def test_what_is_no_key_is_refused(sound, key):
    with pytest.raises(InvalidParameter, match="key"):
        sound.signed(key)


# --- certificates of the first schema ---------------------------------------------------------------------------------

FIRST = (Path(__file__).parent / "certificates" / "first.json").read_text()


def test_a_certificate_of_the_first_schema_is_still_read():
    old = audit.Certificate.from_json(FIRST)
    assert (old.schema, old.verdict, old.recompute().verdict) == ("privet-audit/1", "violated", "violated")
    assert json.loads(old.to_json()) == json.loads(FIRST)


@pytest.mark.parametrize("field", ["verdict", "p_value", "lower", "counts", "name"])
def test_a_forged_one_is_still_refused(field):
    old = audit.Certificate.from_json(FIRST)
    with pytest.raises(SerialisationError):
        audit.Certificate.from_json(json.dumps(json.loads(FIRST) | {field: CHANGES[field]}))
    if field != "name":
        with pytest.raises(SerialisationError, match="does not follow"):
            audit.Certificate.from_json(replace(old, **{field: CHANGES[field]}).to_json())


def test_an_audit_explains_what_it_saw_and_what_it_cannot_see():
    laplace = mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0)
    found = audit.mechanism(laplace, runs=1_000, alpha=1e-6)
    told = found.explain()
    assert told.count("Tested (") == len(found.tests) >= 2
    for words in ("Looked at", "Cannot be seen", "Not refuted is not private", "p-value"):
        assert words in told


def test_the_delta_of_a_bound_follows_the_claim():
    gaussian = mechanisms.Gaussian.for_budget(epsilon=1.0, delta=1e-3, sensitivity=1.0)
    claim = privacy.ApproxLoss(1.0, 1e-3)
    assert audit.mechanism(gaussian, claim=claim, runs=500, alpha=1e-6).lower.delta == 1e-3
    assert audit.mechanism(gaussian, claim=privacy.PureLoss(9.0), runs=500, alpha=1e-6).lower.delta == 0.0
    assert audit.mechanism(gaussian, runs=500, alpha=1e-6).lower.delta == 1e-5
