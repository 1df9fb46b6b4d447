"""Passwords: Argon2id, at one cost for names that there are and names that there are not.

The parameters are OWASP's least for Argon2id: 19 MiB, two passes, one lane. A hash says which it was made with.
"""

from __future__ import annotations

import secrets
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError

from discreet.console.people.throttle import TooManyLogins
from discreet.console.people.weak_passwords import weakness
from discreet.errors import UsageError

MEMORY_KIB = 19 * 1024
PASSES = 2
LEAST = 10
MOST = 1_000
#: Hashes at once: each takes its memory and a processor.
AT_ONCE = 2
#: Those that may wait for their turn. More are sent away, or a flood of logins would hold every thread there is.
WAITING = 48


class Passwords:
    """Makes and checks hashes."""

    def __init__(self, *, memory_kib: int = MEMORY_KIB, passes: int = PASSES) -> None:
        self._hasher = PasswordHasher(time_cost=passes, memory_cost=memory_kib, parallelism=1)
        self._places = threading.BoundedSemaphore(AT_ONCE + WAITING)
        self._turns = threading.BoundedSemaphore(AT_ONCE)
        self._stand_in = ""
        self._making = threading.Lock()

    def hash_new(self, password: str, names: Sequence[str] = ()) -> str:
        """The hash of a new password; refuses one that is too short, too long, or one of the first that are tried.

        `names`: those of its person, which are no password.
        """
        composed = unicodedata.normalize("NFC", password) if len(password) <= MOST else password
        if len(composed) < LEAST:
            raise UsageError(f"a password needs at least {LEAST} characters", hint="several words are easy to remember")
        if len(composed) > MOST:
            raise UsageError(f"a password must have at most {MOST:,} characters")
        if why := weakness(composed, names):
            raise UsageError(
                f"this password is easy to guess: {why}", hint="use several words that do not belong together"
            )
        return self.hash_existing(composed)

    def hash_existing(self, password: str) -> str:
        """The hash of a password that is somebody's already, whatever it is."""
        with self._turn():
            return self._hasher.hash(_bytes(unicodedata.normalize("NFC", password)))

    def is_right(self, stored: str | None, password: str) -> bool:
        """Whether it is the password; `stored` is None where the name is not known, or may not log in.

        Guarantee: exactly one hash is computed, whether the name is known or not and the password right or not.
        Because: where nothing is stored, the hash of a secret that nobody knows, made with the same parameters,
            stands in; and the longest password differs from the shortest by microseconds.
        """
        nobody = self._stand_in_hash()  # made before it is known who comes, or the first stranger would cost more
        composed = unicodedata.normalize("NFC", password) if len(password) <= MOST else ""
        with self._turn():
            try:
                fits = self._hasher.verify(stored or nobody, _bytes(composed))
            except (VerifyMismatchError, InvalidHashError):
                return False
        return fits and stored is not None and len(password) <= MOST

    @staticmethod
    def are_same(one: str, other: str) -> bool:
        """Whether two texts are the same password, however their letters are composed."""
        return unicodedata.normalize("NFC", one[: MOST + 1]) == unicodedata.normalize("NFC", other[: MOST + 1])

    def is_outdated(self, stored: str) -> bool:
        """Whether a hash was made with other parameters than today's."""
        return self._hasher.check_needs_rehash(stored)

    def _stand_in_hash(self) -> str:
        with self._making:
            if not self._stand_in:
                self._stand_in = self._hasher.hash(secrets.token_bytes(32))
            return self._stand_in

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._places.acquire(blocking=False):
            raise TooManyLogins("too many people are logging in right now", wait_s=2)
        try:
            with self._turns:
                yield
        finally:
            self._places.release()


def _bytes(password: str) -> bytes:
    return password.encode("utf-8", "surrogatepass")  # a form may hold anything; what is odd is only wrong
