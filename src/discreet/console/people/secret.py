"""Secrets of 256 bits, and the digests by which they are known again."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets

BYTES = 32
_TEXT = re.compile(r"[A-Za-z0-9_-]{43}")


def new() -> str:
    """256 bits from the operating system, as base64url: 43 letters.

    >>> len(new())
    43
    """
    return secrets.token_urlsafe(BYTES)


def is_secret(text: str) -> bool:
    """Whether a text has the form of a secret."""
    return _TEXT.fullmatch(text) is not None


def digest(text: str) -> bytes:
    """What is stored of a secret, and what it is looked up by.

    Guarantee: the stored digest gives nobody the secret, and the time of a lookup says nothing of use about it.
    Because: SHA-256 of 256 random bits has no better attack than guessing them, so no salt or slow hash is needed;
        a lookup compares digests, and whoever can steer theirs towards a stored one can invert SHA-256.
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def derive(text: str, purpose: str) -> str:
    """Another secret that follows from one, for one purpose, and does not lead back to it."""
    return base64.urlsafe_b64encode(hmac.digest(text.encode(), purpose.encode(), "sha256")).rstrip(b"=").decode()
