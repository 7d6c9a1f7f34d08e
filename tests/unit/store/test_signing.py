"""Signatures beside an archive."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from replay.core.errors import InputError
from replay.core.types import Json
from replay.store.signing import (
    Envelope,
    SignatureReport,
    check_signatures,
    load_envelope,
    make_statement,
    sign_statement,
    signature_path,
)

ROOT = "sha256:" + "ab" * 32


def make_key(folder: Path, name: str, seed: int) -> tuple[Path, Path]:
    """Write one ed25519 key pair made from a fixed seed and return (private, public) paths."""
    key = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
    private, public = folder / f"{name}.pem", folder / f"{name}.pub.pem"
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    public.write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    return private, public


def make_archive(folder: Path) -> Path:
    """Write a file that stands for an archive; signatures cover its bytes, whatever they are."""
    path = folder / "demo-1.replay"
    path.write_bytes(b"archive bytes")
    return path


def sign(archive: Path, private: Path) -> Envelope:
    """Sign an archive and write the envelope beside it."""
    statement = make_statement(archive, root=ROOT, name="demo", version="1")
    envelope = sign_statement(statement, private, earlier=load_envelope(signature_path(archive)))
    signature_path(archive).write_bytes(msgspec.json.encode(envelope))
    return envelope


def check(archive: Path, *keys: Path, root: str = ROOT) -> SignatureReport:
    """Check an archive against public keys."""
    return check_signatures(archive, keys, root=root)


def test_signed_archive_is_valid_under_its_key(tmp_path: Path) -> None:
    """A signature holds under the key that made it."""
    archive, (private, public) = make_archive(tmp_path), make_key(tmp_path, "a", 1)
    sign(archive, private)
    assert (True, ()) == ((report := check(archive, public)).valid, report.reasons)


def test_signing_is_deterministic(tmp_path: Path) -> None:
    """The same key signs the same archive with the same bytes."""
    archive, (private, _) = make_archive(tmp_path), make_key(tmp_path, "a", 1)
    assert sign(archive, private) == sign(archive, private)


def test_payload_is_an_in_toto_statement(tmp_path: Path) -> None:
    """The payload names the file, its sha256 and the archive root."""
    archive, (private, _) = make_archive(tmp_path), make_key(tmp_path, "a", 1)
    statement: Json = json.loads(base64.b64decode(sign(archive, private).payload))
    assert ("https://in-toto.io/Statement/v1", ROOT, "demo-1.replay") == (
        statement["_type"],
        statement["predicate"]["archive_root"],
        statement["subject"][0]["name"],
    )


def test_second_signature_keeps_the_first(tmp_path: Path) -> None:
    """Signing again at a site keeps the maker's signature."""
    archive = make_archive(tmp_path)
    (maker, maker_public), (site, site_public) = make_key(tmp_path, "a", 1), make_key(tmp_path, "b", 2)
    sign(archive, maker)
    sign(archive, site)
    assert check(archive, maker_public, site_public).valid


def test_wrong_key_is_named(tmp_path: Path) -> None:
    """A key that has not signed is a reason, never a pass."""
    archive, (private, _) = make_archive(tmp_path), make_key(tmp_path, "a", 1)
    _, other = make_key(tmp_path, "b", 2)
    sign(archive, private)
    report = check(archive, other)
    assert not report.valid
    assert "has not signed this archive" in report.reasons[0]


def test_missing_signature_is_not_valid(tmp_path: Path) -> None:
    """No signature file is a reason, never a pass."""
    _, public = make_key(tmp_path, "a", 1)
    report = check(make_archive(tmp_path), public)
    assert (False, ("there is no signature file beside the archive",)) == (report.valid, report.reasons)


def test_no_key_is_not_valid(tmp_path: Path) -> None:
    """A check without a key proves nothing and says so."""
    archive, (private, _) = make_archive(tmp_path), make_key(tmp_path, "a", 1)
    sign(archive, private)
    assert ("no key was given to check with",) == check(archive).reasons


def test_changed_archive_is_found(tmp_path: Path) -> None:
    """A changed byte of the file breaks the statement, not the signature."""
    archive, (private, public) = make_archive(tmp_path), make_key(tmp_path, "a", 1)
    sign(archive, private)
    archive.write_bytes(b"archive bytez")
    assert ("the signed file digest is not that of this archive",) == check(archive, public).reasons


def test_other_root_is_found(tmp_path: Path) -> None:
    """A statement about another root does not pass."""
    archive, (private, public) = make_archive(tmp_path), make_key(tmp_path, "a", 1)
    sign(archive, private)
    report = check(archive, public, root="sha256:" + "00" * 32)
    assert ("the signed archive root is not that of this archive",) == report.reasons


def test_every_changed_envelope_byte_is_not_valid(tmp_path: Path) -> None:
    """No flipped bit of the signature file gives a valid report for its key, and none raises."""
    archive, (private, public) = make_archive(tmp_path), make_key(tmp_path, "a", 1)
    sign(archive, private)
    good = signature_path(archive).read_bytes()
    for position in range(len(good)):
        bad = bytearray(good)
        bad[position] ^= 1
        signature_path(archive).write_bytes(bytes(bad))
        assert not check(archive, public).valid, position


def test_new_content_is_not_mixed_with_old_signatures(tmp_path: Path) -> None:
    """An archive made anew is not added to the old envelope."""
    archive, (private, _) = make_archive(tmp_path), make_key(tmp_path, "a", 1)
    sign(archive, private)
    archive.write_bytes(b"other")
    with pytest.raises(InputError, match=r"signs other content.*move the old signature file away"):
        sign(archive, private)


def test_text_file_is_not_a_key(tmp_path: Path) -> None:
    """A file that is no key is named, in our words alone, with the commands that make one."""
    archive = make_archive(tmp_path)
    bad = tmp_path / "key.pem"
    bad.write_text("hello")
    said = r"not an ed25519 private key: no PEM text that holds a private key \(key\.pem\).*openssl genpkey"
    with pytest.raises(InputError, match=said):
        sign(archive, bad)


def test_an_encrypted_key_is_not_taken(tmp_path: Path) -> None:
    """There is no place to give its password."""
    archive, (private, _) = make_archive(tmp_path), make_key(tmp_path, "a", 1)
    plain = serialization.load_pem_private_key(private.read_bytes(), password=None)
    private.write_bytes(
        plain.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"word"),
        )
    )
    with pytest.raises(InputError, match="not an ed25519 private key: an encrypted one"):
        sign(archive, private)
