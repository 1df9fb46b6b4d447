"""Recognising a source again: has it changed, is it declared already under another name? For the owner alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from discreet.engines.source import find
from discreet.errors import DiscreetError

_CHUNK = 1 << 20


def fingerprint(source: str, *, folder: Path, seal: Callable[[str], str]) -> dict[str, Any]:
    """Sealed sizes and times of a source's files: a change shows, and a moved file is known again.

    Sealed, because an exact size in bytes tells of one row, and a ledger may be handed to outsiders.
    """
    try:
        stamps = find(source, folder=folder).stamp()
    except (DiscreetError, OSError):
        return {"files": []}
    return {"files": [seal(f"{size} {time}") for size, time, *_ in stamps]}


def shared(left: Iterable[Path], right: Iterable[Path]) -> bool:
    """Whether two sources share a file: the same one by any path, or a copy of it."""
    return any(one.samefile(two) or _copy(one, two) for one in left for two in right)


def _copy(one: Path, two: Path) -> bool:
    size = one.stat().st_size
    return size > 0 and size == two.stat().st_size and _digest(one) == _digest(two)


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
