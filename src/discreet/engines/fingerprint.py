"""Recognising a source again: has it changed, is it declared already under another name? For the owner alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from discreet.engines.source import find
from discreet.errors import DiscreetError

_CHUNK = 1 << 20


def fingerprint(source: str, *, folder: Path) -> dict[str, Any]:
    """Names, sizes and times of a source's files: enough to tell the owner that something changed."""
    try:
        found = find(source, folder=folder)
        return {
            "files": [[file.name, size, time] for file, (size, time, _) in zip(found.files, found.stamp(), strict=True)]
        }
    except (DiscreetError, OSError):
        return {"files": []}


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
