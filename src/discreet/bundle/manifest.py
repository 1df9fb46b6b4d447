"""The manifest: every file with its digest, what the bundle claims, where the ledger says so, a signature."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.bundle import signing_key
from discreet.ledger.chain import canonical_json

NAME = "manifest.json"
#: 2: a proof is among the files. Bundles of format 1 have none, and are read all the same.
FORMAT = 2

_HEX = re.compile(r"[0-9a-f]*", re.ASCII)
_FILE = re.compile(r"[a-z][a-z0-9-]*\.[a-z]+", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleManifest:
    """What is signed. `ledger`: which ledger, the row of the charge, and a commitment to it; see `content`."""

    format: int = FORMAT
    release: str
    discreet: str
    files: Mapping[str, str]
    claims: Mapping[str, Any]
    ledger: Mapping[str, Any]

    def body(self) -> dict[str, Any]:
        """All that is signed, as JSON data."""
        return {
            "format": self.format,
            "release": self.release,
            "discreet": self.discreet,
            "files": dict(self.files),
            "claims": dict(self.claims),
            "ledger": dict(self.ledger),
        }

    def sign(self, signer: signing_key.Signer) -> bytes:
        """The manifest's file."""
        body = self.body() | {"key": signer.public}
        return _serialize(body | {"signature": signer.sign(canonical_json(body).encode())})


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedManifest:
    """A manifest that was read, the key that it names and whether that key signed it."""

    manifest: BundleManifest
    key: str
    holds: bool

    @property
    def fingerprint(self) -> str:
        return signing_key.fingerprint(self.key)


def read(content: bytes) -> SignedManifest:
    """A manifest as we write it, byte for byte. Raises ValueError for anything else."""
    data = json.loads(content.decode("utf-8"))
    names = {"format", "release", "discreet", "files", "claims", "ledger", "key", "signature"}
    if not isinstance(data, dict) or set(data) != names or _serialize(data) != content:
        raise ValueError("not formatted as Discreet formats it")
    if type(data["format"]) is not int or not 1 <= data["format"] <= FORMAT:
        raise ValueError("a newer version of Discreet wrote this bundle")
    signature = data.pop("signature")
    digits = [signature, data["key"], *data["files"].values()]
    if not all(isinstance(each, str) and _HEX.fullmatch(each) for each in digits):
        raise ValueError("a digest, key or signature is not valid")
    if not all(_FILE.fullmatch(name) and name != NAME for name in data["files"]):
        raise ValueError("a file has a name that Discreet does not use")
    holds = signing_key.is_signed_by(canonical_json(data).encode(), signature=signature, public=data["key"])
    manifest = BundleManifest(
        format=data["format"],
        release=data["release"],
        discreet=data["discreet"],
        files=data["files"],
        claims=data["claims"],
        ledger=data["ledger"],
    )
    return SignedManifest(manifest=manifest, key=data["key"], holds=holds)


def digest(content: bytes) -> str:
    """The digest under which a file stands in a manifest."""
    return hashlib.sha256(content).hexdigest()


def _serialize(data: Mapping[str, Any]) -> bytes:
    return (json.dumps(data, sort_keys=True, ensure_ascii=True, allow_nan=False, indent=1) + "\n").encode()
