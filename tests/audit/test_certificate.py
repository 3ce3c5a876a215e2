"""Certificates: they survive JSON, can be recomputed from their counts, and betray every change."""

import json

import pytest

from privet import audit, mechanisms, privacy
from privet.errors import SerialisationError
from privet.report import audit_page
from privet.testing.zoo import zoo
from privet.testing.zoo.base import Simulated


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
    assert "other runs" in document["selection"]


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
    "schema": "privet-audit/2",
}


@pytest.mark.parametrize("field", CHANGES)
def test_a_changed_field_is_refused(broken, field):
    document = json.loads(broken.to_json()) | {field: CHANGES[field]}
    with pytest.raises(SerialisationError):
        audit.Certificate.from_json(json.dumps(document))


@pytest.mark.parametrize("field", ["verdict", "p_value", "lower", "counts", "claim"])
def test_a_change_with_a_new_digest_still_does_not_follow_from_the_counts(broken, field):
    """Whoever forges the digest as well is caught by the arithmetic."""
    from dataclasses import replace

    value = CHANGES[field]
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
    from dataclasses import replace

    assert "<b>" not in audit_page(replace(broken, name="<b>bold</b>", left="<b>"))
