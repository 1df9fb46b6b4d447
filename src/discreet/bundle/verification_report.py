"""What a check of a bundle found, one thing after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

PROVES = "the holder of this key made this bundle, and no byte of it has changed since"
DOES_NOT_PROVE = (
    "that the key is the publisher's (compare its fingerprint with one that they gave you), that the noise was drawn "
    "as the event says, or that the data were true"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleCheck:
    """One thing that was looked at. `holds` None: it could not be, and `words` say why."""

    name: Literal["whole", "signed", "cost", "unit", "limit", "proof", "noise", "data", "card", "ledger"]
    holds: bool | None
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationReport:
    """What was found. `fingerprint`: of the key that signed it; empty where none did.

    expected: whether that key was compared with one that somebody named, or with the project's own.
    """

    release: str
    fingerprint: str
    expected: bool
    checks: tuple[BundleCheck, ...]

    @property
    def sound(self) -> bool:
        """Nothing that was looked at is wrong, and it is signed."""
        return all(check.holds is not False for check in self.checks) and bool(self.fingerprint)

    @property
    def open(self) -> tuple[str, ...]:
        """What could not be looked at."""
        return tuple(check.name for check in self.checks if check.holds is None)

    @property
    def state(self) -> Literal["holds", "not checked", "fails"]:
        """All of it in a word."""
        return "fails" if not self.sound else "not checked" if self.open else "holds"

    def to_data(self) -> dict[str, Any]:
        """The report as JSON data."""
        checks = [{"name": check.name, "holds": check.holds, "words": check.words} for check in self.checks]
        return {
            "state": self.state,
            "sound": self.sound,
            "open": list(self.open),
            "release": self.release,
            "key": self.fingerprint,
            "key_expected": self.expected,
            "checks": checks,
            "proves": PROVES,
            "does_not_prove": DOES_NOT_PROVE,
        }


def printable(text: str) -> str:
    """A text that somebody else wrote, for a terminal: short, and nothing that a terminal would obey."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:200])
