"""Idempotency keys: whose one is, what it is bound to, and what one looks like.

    begin    before anything is charged: the key is bound to its request, for good
    (the charge, which the ledger makes under a digest of the key, once; then the answer)
    finish   what is answered: the first one stands, and what leaves is read back

A crash between them leaves a key that was begun and has no result. Then the ledger knows: nothing was charged under the
key, and the question is asked now; or something was, and its stored answer is given, or it is said to be lost.
"""

from __future__ import annotations

import hashlib
import re

from discreet.console.people.clock import DAY_S
from discreet.console.responses import RequestDenied

#: A result is kept so long. After it a retry finds the charge in the ledger, and what is stored there.
KEPT_S = 7 * DAY_S

#: Printable ASCII without spaces at its ends, so that every proxy passes it on as it is.
_KEY = re.compile(r"[!-~]([ -~]{0,198}[!-~])?")


def check_key(key: str) -> str:
    """An idempotency key, or a refusal that says what one is."""
    if not key:
        raise RequestDenied(
            "This request needs an Idempotency-Key.",
            status=400,
            hint="send a header with any text, new for each query, so that a retry is charged only once",
        )
    if _KEY.fullmatch(key) is None:
        raise RequestDenied(
            "An Idempotency-Key must be 1 to 200 printable ASCII characters, with no space at its ends.", status=400
        )
    return key


def check_same_request(stored_body: bytes, sent_body: bytes) -> None:
    """Refuse a key that was used for another request."""
    if stored_body != sent_body:
        raise RequestDenied(
            "This Idempotency-Key was used for another request.", status=422, hint="use a new key for a new query"
        )


def key_owner(name: str) -> bytes:
    """Whose a key is: a person's, under whatever token or session. Others may use the same text."""
    return hashlib.sha256(b"person " + name.casefold().encode()).digest()
