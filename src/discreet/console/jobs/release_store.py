"""What a project keeps of its releases beside the ledger, so that they are read for ever without a charge.

The ledger holds every noisy number, but a table of several columns is read from it only by whoever knows what was
wished for. So what was released is kept here as it was told: noisy numbers and public facts, nothing exact.
"""

from __future__ import annotations

import json
import os
import secrets
from datetime import date
from math import isfinite
from pathlib import Path
from typing import Any

PLACE = "released"


def release_folder(project: Path) -> Path:
    """Where releases are kept; readable by the owner of the files alone."""
    folder = project / ".discreet" / PLACE
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def store_release(project: Path, name: str, data: dict[str, Any]) -> None:
    """Keep data under a release's id, whole or not at all."""
    target = release_folder(project) / f"{name}.json"
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as stream:
            json.dump(to_json(data), stream, ensure_ascii=False, allow_nan=False)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def find_release(project: Path, name: str) -> dict[str, Any] | None:
    """What is kept under an id that the ledger knows; None where nothing is, or nothing that can be read."""
    try:
        release_json = json.loads((project / ".discreet" / PLACE / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return release_json if isinstance(release_json, dict) else None


def to_json(value: Any) -> Any:
    """Data as JSON has them: dates as text, a number that is not finite as none."""
    match value:
        case dict():
            return {str(name): to_json(each) for name, each in value.items()}
        case list() | tuple():
            return [to_json(each) for each in value]
        case float():
            return value if isfinite(value) else None
        case date():
            return value.isoformat()
        case _:
            return value
