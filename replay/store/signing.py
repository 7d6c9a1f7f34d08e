"""Signatures beside an archive: a DSSE envelope over an in-toto statement, ed25519, no network.

`NAME.replay.sig.json` holds one envelope. Signing again with another key adds a signature and keeps the
earlier ones; the payload never changes, so an archive that is re-signed at a site still carries its maker's
signature. Follows the DSSE protocol v1 (pre-authentication encoding) and the in-toto Statement v1 layout.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from replay.core.canonical import canonical_bytes, parse_json
from replay.core.errors import DamagedError, InputError, MissingExtraError, ReplayError
from replay.core.types import Json, Record

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

__all__ = [
    "PREDICATE_TYPE",
    "Envelope",
    "Signature",
    "SignatureReport",
    "check_signatures",
    "load_envelope",
    "make_statement",
    "sign_statement",
    "signature_path",
]

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "urn:replay-bench:archive:v1"

MAX_ENVELOPE_BYTES: Final = 1 << 20
"""A statement is a few hundred bytes and a signature 200; a larger file is not one of ours."""

_CHUNK_BYTES: Final = 1 << 20


class Signature(Record, frozen=True, kw_only=True):
    """One signature of the payload."""

    keyid: str
    """sha256 hex of the raw public key."""
    sig: str
    """base64 of 64 bytes."""


class Envelope(Record, frozen=True, kw_only=True):
    """A DSSE envelope."""

    payloadType: str  # noqa: N815  the field name DSSE prescribes
    payload: str
    signatures: tuple[Signature, ...]


class SignatureReport(Record, frozen=True, kw_only=True):
    """What a check of an archive's signatures found."""

    valid: bool
    keyids: tuple[str, ...] = ()
    """Keys in the envelope, whether trusted or not."""
    trusted: tuple[str, ...] = ()
    """Given keys whose signature holds."""
    reasons: tuple[str, ...] = ()
    """Why it is not valid; empty when it is."""


def signature_path(archive: Path) -> Path:
    """Where the signatures of an archive live: beside it."""
    return archive.with_name(archive.name + ".sig.json")


def make_statement(archive: Path, *, root: str, name: str, version: str) -> Json:
    """State what is signed: the file's sha256, and the archive root that survives another zstd version.

    Errors: InputError when the archive cannot be read.
    """
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": f"{name}-{version}.replay", "digest": {"sha256": _file_sha256(archive)}}],
        "predicateType": PREDICATE_TYPE,
        "predicate": {"archive_root": root, "name": name, "version": version},
    }


def sign_statement(statement: Json, key_file: Path, *, earlier: Envelope | None = None) -> Envelope:
    """Sign a statement with an ed25519 private key (PEM, PKCS 8), keeping earlier signatures.

    Errors: InputError when the key is none, or when the earlier envelope signs another payload;
    MissingExtraError without the cryptography package.
    """
    payload = canonical_bytes(statement)
    if earlier is not None and _payload(earlier) != payload:
        raise InputError(
            "the signature file beside the archive signs other content",
            expected="the same statement, to add a signature to it",
            next_step="move the old signature file away if the archive was made anew",
        )
    private = _load_private(key_file)
    keyid = _keyid(private.public_key())
    kept = () if earlier is None else tuple(s for s in earlier.signatures if s.keyid != keyid)
    signature = base64.b64encode(private.sign(_pre_authentication(payload))).decode()
    return Envelope(
        payloadType=PAYLOAD_TYPE,
        payload=base64.b64encode(payload).decode(),
        signatures=(*kept, Signature(keyid=keyid, sig=signature)),
    )


def load_envelope(path: Path) -> Envelope | None:
    """Read the envelope, or None when there is no such file. Errors: DamagedError when it is not one."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return None
    if size > MAX_ENVELOPE_BYTES:
        raise DamagedError(
            f"signature file of {size} bytes", where=path.name, expected=f"at most {MAX_ENVELOPE_BYTES}"
        )
    try:
        envelope = msgspec.convert(parse_json(path.read_bytes(), where=path.name), Envelope)
        _payload(envelope)
    except (msgspec.ValidationError, InputError, DamagedError) as error:
        raise DamagedError(
            f"not a DSSE envelope: {error}", where=path.name, next_step="get the signature file again"
        ) from None
    return envelope


def check_signatures(archive: Path, key_files: tuple[Path, ...], *, root: str) -> SignatureReport:
    """Check that every given public key (PEM) signed exactly this archive. Never passes in silence.

    Errors: InputError when a key file is none. All other trouble is a reason in the report.
    """
    keys = {_keyid(key): key for key in map(_load_public, key_files)}
    try:
        envelope = load_envelope(signature_path(archive))
    except ReplayError as error:
        return SignatureReport(valid=False, reasons=(str(error),))
    if envelope is None:
        return SignatureReport(valid=False, reasons=("there is no signature file beside the archive",))
    reasons = _statement_faults(envelope, archive, root)
    trusted: list[str] = []
    for keyid, key in sorted(keys.items()):
        fault = _signature_fault(envelope, keyid, key)
        if fault:
            reasons.append(fault)
        else:
            trusted.append(keyid)
    if not keys:
        reasons.append("no key was given to check with")
    return SignatureReport(
        valid=not reasons,
        keyids=tuple(sorted({s.keyid for s in envelope.signatures})),
        trusted=tuple(trusted),
        reasons=tuple(reasons),
    )


def _statement_faults(envelope: Envelope, archive: Path, root: str) -> list[str]:
    try:
        statement = parse_json(_payload(envelope))
    except ReplayError as error:
        return [f"the signed payload cannot be read: {error}"]
    faults: list[str] = []
    if envelope.payloadType != PAYLOAD_TYPE:
        faults.append(f"payload type {envelope.payloadType!r}, expected {PAYLOAD_TYPE!r}")
    if not isinstance(statement, dict) or statement.get("_type") != STATEMENT_TYPE:
        return [*faults, "the signed payload is not an in-toto statement v1"]
    if statement.get("predicateType") != PREDICATE_TYPE:
        faults.append(f"predicate type {statement.get('predicateType')!r}, expected {PREDICATE_TYPE!r}")
    if _dig(statement, "subject", 0, "digest", "sha256") != _file_sha256(archive):
        faults.append("the signed file digest is not that of this archive")
    if _dig(statement, "predicate", "archive_root") != root:
        faults.append("the signed archive root is not that of this archive")
    return faults


def _signature_fault(envelope: Envelope, keyid: str, key: Ed25519PublicKey) -> str:
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415  optional package

    found = [s for s in envelope.signatures if s.keyid == keyid]
    if not found:
        return f"key {keyid[:16]} has not signed this archive"
    try:
        key.verify(_decode_base64(found[0].sig), _pre_authentication(_payload(envelope)))
    except (InvalidSignature, DamagedError):
        return f"the signature of key {keyid[:16]} does not hold"
    return ""


def _payload(envelope: Envelope) -> bytes:
    return _decode_base64(envelope.payload)


def _decode_base64(text: str) -> bytes:
    """Decode strictly: one text for one value, so that no changed character passes unseen."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if base64.b64encode(data).decode() != text:
        raise DamagedError("not canonical base64", expected="a DSSE envelope")
    return data


def _pre_authentication(payload: bytes) -> bytes:
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def _dig(value: Json, *path: str | int) -> Json:
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _file_sha256(path: Path) -> str:
    hasher = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                hasher.update(chunk)
    except OSError as error:
        raise InputError(f"cannot read the archive: {error.strerror}", where=path.name) from None
    return hasher.hexdigest()


def _read_key(path: Path) -> bytes:
    try:
        return path.read_bytes()[:MAX_ENVELOPE_BYTES]
    except OSError as error:
        raise InputError(f"cannot read the key: {error.strerror}", where=path.name) from None


def _load_private(path: Path) -> Ed25519PrivateKey:
    serialization, kinds = _crypto()
    key = _load(path, "private", lambda pem: serialization.load_pem_private_key(pem, password=None))
    if not isinstance(key, kinds.Ed25519PrivateKey):
        raise _not_a_key(path, "private", "a key of another kind")
    return key  # type: ignore[no-any-return]


def _load_public(path: Path) -> Ed25519PublicKey:
    serialization, kinds = _crypto()
    key = _load(path, "public", serialization.load_pem_public_key)
    if not isinstance(key, kinds.Ed25519PublicKey):
        raise _not_a_key(path, "public", "a key of another kind")
    return key  # type: ignore[no-any-return]


def _load(path: Path, kind: str, read: Callable[[bytes], Json]) -> Json:
    """Read a key of any kind, and say in our words why it is none."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415  optional package

    try:
        return read(_read_key(path))
    except TypeError:
        raise _not_a_key(path, kind, "an encrypted one") from None
    except UnsupportedAlgorithm:
        raise _not_a_key(path, kind, "a key of another kind") from None
    except ValueError:
        raise _not_a_key(path, kind, f"no PEM text that holds a {kind} key") from None


def _not_a_key(path: Path, kind: str, found: str) -> InputError:
    return InputError(
        f"not an ed25519 {kind} key: {found}",
        where=path.name,
        expected=f"an unencrypted PEM file with an ed25519 {kind} key",
        next_step="make one with: openssl genpkey -algorithm ed25519 -out key.pem; "
        "openssl pkey -in key.pem -pubout -out key.pub.pem",
    )


def _keyid(key: Ed25519PublicKey) -> str:
    serialization, _ = _crypto()
    raw = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return hashlib.sha256(raw).hexdigest()


def _crypto() -> tuple[Json, Json]:
    try:
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415  optional package
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError(
            "signatures need the cryptography package",
            next_step="pip install 'replay-bench[sign]'",
        ) from None
    return serialization, ed25519
