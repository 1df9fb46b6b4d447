"""Recognising a source again: has it changed, is it declared already under another name? For the owner alone."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from discreet.engines.engine import Engine, SourceTrace
from discreet.engines.stop_signal import check_stop
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


def content_of(trace: SourceTrace, *, seal: Callable[[str], str]) -> dict[str, Any] | None:
    """What a version keeps of the content of its source's files, which are read for it; None where it has none.

    Sealed under a salt of its own, so that whoever reads a ledger cannot compare two versions by it. Nothing is kept
    of files that cannot be read; whoever makes the version says so.
    """
    salt = secrets.token_hex(16)
    try:
        sizes = [seal(_size_text(salt, place, file)) for place, file in enumerate(trace.files)]
        digests = [seal(_content_text(salt, place, file)) for place, file in enumerate(trace.files)]
    except OSError:
        return None
    return {"salt": salt, "sizes": sizes, "digests": digests} if trace.files else None


def has_content(trace: SourceTrace, content: Mapping[str, Any] | None, *, seal: Callable[[str], str]) -> bool:
    """Whether files that have another time have the content that a version kept. Read only if their sizes are equal."""
    if content is None or not trace.files or len(trace.files) != len(content["sizes"]):
        return False
    salt, files = content["salt"], list(enumerate(trace.files))
    try:
        if [seal(_size_text(salt, place, file)) for place, file in files] != content["sizes"]:
            return False
        return all(
            seal(_content_text(salt, place, file)) == digest
            for (place, file), digest in zip(files, content["digests"], strict=True)
        )
    except OSError:
        return False


def matching_files(
    trace: SourceTrace, content: Mapping[str, Any] | None, *, seal: Callable[[str], str]
) -> tuple[Path, ...] | None:
    """The files that have the content that a version kept, each of it one file, whatever they are called by now; None
    where some content is nowhere. Files whose sizes differ are not read.
    """
    if content is None or len(trace.files) < len(content["sizes"]):
        return None
    salt, left, matching = content["salt"], list(trace.files), []
    try:
        for place, (size, digest) in enumerate(zip(content["sizes"], content["digests"], strict=True)):
            for file in left:  # mostly the first: they come in the order of their names
                if seal(_size_text(salt, place, file)) == size and seal(_content_text(salt, place, file)) == digest:
                    matching.append(file)
                    left.remove(file)
                    break
            else:
                return None
    except OSError:
        return None
    return tuple(matching)


def _size_text(salt: str, place: int, file: Path) -> str:
    return f"size {salt} {place} {file.stat().st_size}"


def _content_text(salt: str, place: int, file: Path) -> str:
    state = file.stat()
    return (
        f"content {salt} {place} {_digest_at(file, state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino)}"
    )


@lru_cache(maxsize=4096)
def _digest_at(file: Path, size: int, written: int, changed: int, node: int) -> str:
    """The digest of a file as it is at this time: a page that is looked at often does not read it again."""
    return _digest(file)


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
            check_stop()
            digest.update(chunk)
    return digest.hexdigest()
