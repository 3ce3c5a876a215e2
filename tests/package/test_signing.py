"""Keys and signatures: one kit for ledgers and audits, both ways of writing a key, and no secret in a message."""

import pytest

import privet as pv
from privet import _signing, audit, ledger, mechanisms
from privet.errors import InvalidParameter, LedgerUnavailable, SerialisationError


@pytest.fixture
def pem(tmp_path):
    """The key file of a custodian, as a ledger writes it, and its public key."""
    return tmp_path / "custodian.key", ledger.new_signing_key(tmp_path / "custodian.key")


@pytest.fixture
def digits(tmp_path):
    """The key file of an auditor, as `privet audit key` writes it, and its public key."""
    secret = audit.new_key()
    (tmp_path / "auditor.key").write_text(secret + "\n")
    return tmp_path / "auditor.key", audit.public_key(secret)


@pytest.fixture(scope="module")
def certificate():
    laplace = mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0)
    return audit.certify(audit.mechanism(laplace, neighbours=[(0.0, 1.0)], runs=200))


@pytest.mark.parametrize("kind", ["pem", "digits"])
def test_a_key_of_either_kind_signs_certificates_and_anchors(kind, request, certificate, tmp_path):
    path, public = request.getfixturevalue(kind)
    for given in (path, str(path), path.read_text(), path.read_bytes()):
        assert audit.public_key(given) == public
        signed = certificate.signed(given)
        assert audit.Certificate.from_json(signed.to_json(), key=public) == signed
    assert ledger.public_key_of(path) == public
    place = ledger.AnchorFile(tmp_path / "visits.anchor", key=path, public_key=public)
    visits = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0), anchor=place)
    assert visits.checkpoint().check(public).public_key == public
    owned = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0))
    owned.appoint(public)
    owned.unlock(path)
    owned.add_analyst("ann", budget=pv.Budget(epsilon=0.5))  # an act that must be signed
    assert owned.verify().entries > 2


def test_who_is_trusted_is_said_in_either_way(pem, digits, certificate, tmp_path):
    path, public = pem
    signed = certificate.signed(path)
    (tmp_path / "public").write_text(public.upper() + "\n")
    for trusted in (public, public.upper(), tmp_path / "public", path):
        assert audit.Certificate.from_json(signed.to_json(), key=trusted) == signed
    with pytest.raises(SerialisationError, match="another key"):
        audit.Certificate.from_json(signed.to_json(), key=digits[1])


def test_a_path_as_long_as_a_key_is_a_path(certificate, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, secret = "n" * 64, audit.new_key()
    (tmp_path / path).write_text(audit.public_key(secret))
    signed = certificate.signed(secret)
    assert audit.Certificate.from_json(signed.to_json(), key=path) == signed


def test_a_file_whose_name_is_a_key_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name, secret = audit.new_key(), audit.new_key()
    (tmp_path / name).write_text(secret)
    assert ledger.public_key_of(name) == audit.public_key(secret)


@pytest.mark.parametrize(
    "wrong",
    ["", "ab" * 31, "zz" * 32, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", b"\xff" * 33, None, 7],
)
def test_what_is_no_key_is_refused_without_being_repeated(wrong, tmp_path):
    for read in (_signing.private_key, _signing.trusted_hex, audit.public_key):
        with pytest.raises(InvalidParameter, match="64 hexadecimal digits or a PEM") as caught:
            read(wrong)
        assert not wrong or str(wrong) not in str(caught.value)
        assert caught.value.__cause__ is None
    (tmp_path / "key").write_bytes(wrong if isinstance(wrong, bytes) else str(wrong).encode())
    with pytest.raises(LedgerUnavailable, match="cannot be read"):
        ledger.public_key_of(tmp_path / "key")


def test_a_key_of_another_algorithm_is_refused(tmp_path):
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

    text = generate_private_key(SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with pytest.raises(InvalidParameter, match="Ed25519"):
        audit.public_key(text)


def test_signatures_of_other_messages_and_keys_are_seen():
    key, other = _signing.new_private(), _signing.new_private()
    good = key.sign(b"an act").hex()
    known = _signing.public_hex(key)
    assert _signing.is_signed(b"an act", good, known)
    for message, signature, public in (
        (b"another act", good, known),
        (b"an act", good[:-2] + "ff", known),
        (b"an act", good, _signing.public_hex(other)),
        (b"an act", None, known),
        (b"an act", good, "no key"),
    ):
        assert not _signing.is_signed(message, signature, public)
