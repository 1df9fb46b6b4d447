"""The key that bundles are signed with: Ed25519, in the state folder, made at first use, readable by its owner only.

A signature says that whoever has this key made the bundle, and that no byte changed since. That is all it says.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from discreet.errors import Command, LedgerFault, Message, UsageError
from discreet.ledger.filesystem import state_root

#: Marks what is signed as a bundle's manifest, so that the signature can never stand for anything else.
_MARK = b"discreet release bundle 1\n"
_BYTES = 32


class Signer:
    """The key of this state folder."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

    @staticmethod
    def load_or_make() -> Signer:
        """The key, which is made where there is none. Of two that are made at once, one stands."""
        path = key_path()
        try:
            if not path.exists():
                _make(path)
            raw = path.read_bytes()
        except OSError as fault:
            raise LedgerFault("the signing key in the state folder cannot be read or created") from fault
        if len(raw) != _BYTES:
            raise LedgerFault(
                "the signing key in the state folder is damaged",
                hint="restore it; a new key has another fingerprint, which you must give to readers",
            )
        return Signer(Ed25519PrivateKey.from_private_bytes(raw))

    @staticmethod
    def existing_fingerprint() -> str | None:
        """The fingerprint of the key that is here; None where there is none. Makes nothing."""
        return fingerprint(Signer.load_or_make().public) if key_path().exists() else None

    @property
    def public(self) -> str:
        """The public key, in hexadecimal digits."""
        return self._key.public_key().public_bytes_raw().hex()

    def sign(self, content: bytes) -> str:
        """A signature, in hexadecimal digits. The same content always has the same one."""
        return self._key.sign(_MARK + content).hex()


def key_path() -> Path:
    """Where the key lies: never in a project's folder, which is copied, shared and committed."""
    return state_root() / "signing" / "key"


def is_signed_by(content: bytes, *, signature: str, public: str) -> bool:
    """Whether a public key signed this content."""
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(bytes.fromhex(signature), _MARK + content)
    except (InvalidSignature, ValueError):
        return False
    return True


def fingerprint(public: str) -> str:
    """The SHA-256 of a public key: what people compare."""
    return hashlib.sha256(bytes.fromhex(public)).hexdigest()


def read_fingerprint(text: str) -> str:
    """A fingerprint as it was typed; colons, spaces and capitals do not matter, a part of one does not do."""
    digits = "".join(text.split()).replace(":", "").lower()
    if len(digits) != 64 or any(letter not in "0123456789abcdef" for letter in digits):
        raise UsageError(
            "a fingerprint is 64 hexadecimal digits",
            hint=Message("`", Command("release key"), "` shows the publisher's"),
        )
    return digits


def _make(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".key.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            os.write(descriptor, Ed25519PrivateKey.generate().private_bytes_raw())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.link(draft, path)  # fails where another process was first: that key stands
    except FileExistsError:
        return
    finally:
        draft.unlink(missing_ok=True)
