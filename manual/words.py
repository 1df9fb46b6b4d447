"""Words that stand beside the code: one file a page, so that what is said of a key is found in one place."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "words"


class Undocumented(Exception):
    """The code knows something that the words do not, or the other way about."""


def words(name: str) -> dict[str, Any]:
    """The words of a page."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def agree(known: set[str], told: set[str], *, what: str, where: str) -> None:
    """Refuse where code and words know different things; both ways, so that no word outlives its key."""
    if missing := sorted(known - told):
        raise Undocumented(f"{what} without documentation: {', '.join(missing)}; add them to {where}")
    if strange := sorted(told - known):
        raise Undocumented(
            f"documented {what} that the code does not have: {', '.join(strange)}; remove them from {where}"
        )
