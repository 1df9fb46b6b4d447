"""Recognising a source again: has it changed, is it declared already under another name? For the owner alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from discreet.engines.engine import Engine, SourceTrace
from discreet.errors import DiscreetError

_CHUNK = 1 << 20


def trace_of(source: str, *, folder: Path, engine: Engine) -> SourceTrace:
    """By what a source is known again; nothing where it cannot be reached."""
    try:
        return engine.trace(source, folder=folder)
    except (DiscreetError, OSError):
        return SourceTrace(same=())


def fingerprint(trace: SourceTrace, *, seal: Callable[[str], str]) -> dict[str, Any]:
    """What a version keeps of its source: a change shows, and a moved file is known again.

    Sealed, because an exact size in bytes tells of one row, and a ledger may be handed to outsiders.
    """
    state = {"state": seal(trace.state)} if trace.state else {}
    return {"files": [seal(part) for part in trace.same], **state}


def is_same_source(one: SourceTrace, two: SourceTrace) -> bool:
    """Whether two sources are one, at least in part: by the same name, through a link, or as a copy."""
    if not one.files and not two.files:
        return bool(set(one.same) & set(two.same))
    try:
        return any(mine.samefile(other) or _copy(mine, other) for mine in one.files for other in two.files)
    except OSError:
        return False


def _copy(one: Path, two: Path) -> bool:
    size = one.stat().st_size
    return size > 0 and size == two.stat().st_size and _digest(one) == _digest(two)


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
