"""Known browsers: a cookie that a browser gets when somebody logs in with it, and shows at the next login.

It lets nobody in. It spares its browser the limits that others can use up: see `throttle`.

Guarantee: a browser is known for a person only where that person logged in with it, in the last half year, and since
    the password was last set.
Because: each mark is a MAC under a key that follows from the stored hash of the password. Its salt leaves the store
    in no other way, so marks cannot be made, nor passwords tried against one, without the store; and a new password has
    a new salt.
"""

from __future__ import annotations

import base64
import hmac
import secrets

from discreet.console.people import secret
from discreet.console.people.clock import DAY_S
from discreet.console.people.roster import Person

LASTS_S = 180 * DAY_S
#: People who share a browser and are known in it.
MOST = 4
#: Bytes of a mark: which browser, when, and the MAC of both.
_ID, _TIME, _MAC = 12, 4, 16


def new_mark(person: Person, password_hash: str, *, now: int) -> str:
    """A new mark for the browser that a person just logged in with."""
    signed = secrets.token_bytes(_ID) + now.to_bytes(_TIME)
    return _text(signed + _mac(person, password_hash, signed))


def matching_mark(cookie: str, person: Person, password_hash: str, *, now: int) -> str:
    """The mark by which a browser is known for a person; empty where it is not."""
    return next((text for text in _marks(cookie) if _is_valid_mark(text, person, password_hash, now)), "")


def with_mark(cookie: str, new: str, *, instead_of: str = "") -> str:
    """The cookie with a new mark, in place of an older one of the same person; those of other people stay."""
    others = [text for text in _marks(cookie) if text not in (new, instead_of)]
    return ".".join([new, *others][:MOST])


def _marks(cookie: str) -> list[str]:
    return [text for text in cookie[: 50 * MOST].split(".")[:MOST] if secret.is_secret(text)]


def _is_valid_mark(text: str, person: Person, password_hash: str, now: int) -> bool:
    content = base64.urlsafe_b64decode(f"{text}=")
    signed, mac = content[: _ID + _TIME], content[_ID + _TIME :]
    fits = hmac.compare_digest(mac, _mac(person, password_hash, signed))
    return fits and 0 <= now - int.from_bytes(signed[_ID:]) < LASTS_S


def _mac(person: Person, password_hash: str, signed: bytes) -> bytes:
    key = secret.derive(password_hash, "known browser")
    return hmac.digest(key.encode(), person.number.to_bytes(8) + signed, "sha256")[:_MAC]


def _text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
