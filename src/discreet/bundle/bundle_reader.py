"""The files of a bundle that somebody brings: a folder or a ZIP file, of a sane size, read in memory."""

from __future__ import annotations

import os
import zipfile
import zlib
from pathlib import Path

from discreet.bundle import manifest
from discreet.errors import UsageError

#: A bundle has no more files, and no more bytes.
MOST_FILES = 2000
MOST_BYTES = 2**30


def read_files(path: Path) -> dict[str, bytes]:
    """The files of a bundle. Without a manifest, or of an absurd size, it is none."""
    try:
        files = _read_archive(path) if path.is_file() else _read_folder(path)
    except OSError as problem:
        raise UsageError(f"there is no bundle at {str(path)!r}: {problem.strerror}") from None
    if manifest.NAME not in files:
        raise UsageError(f"there is no bundle at {str(path)!r}: it has no {manifest.NAME}")
    return files


def _read_folder(folder: Path) -> dict[str, bytes]:
    names = sorted(os.listdir(folder))
    paths = [folder / name for name in names]
    # What is no plain file is listed all the same: it is not in the manifest, and that is said.
    sizes = [path.stat().st_size if path.is_file() and not path.is_symlink() else 0 for path in paths]
    _refuse_absurd(len(names), sum(sizes), folder)
    return {path.name: path.read_bytes() if path.is_file() and not path.is_symlink() else b"" for path in paths}


def _read_archive(path: Path) -> dict[str, bytes]:
    """The files of an archive, read in memory: nothing in it names a place on the disk."""
    try:
        with zipfile.ZipFile(path) as packed:
            entries = [entry for entry in packed.infolist() if not entry.is_dir()]
            _refuse_absurd(len(entries), sum(entry.file_size for entry in entries), path)
            files = {}
            for entry in entries:
                name = entry.filename
                with packed.open(entry) as stream:  # a name that comes twice is not in the manifest
                    files[name if name not in files else f"{name} (twice)"] = stream.read(entry.file_size + 1)
    # What zipfile raises on strange files: NotImplementedError is an unknown compression, RuntimeError a password.
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, zlib.error):
        raise UsageError(f"{path.name!r} is neither a folder nor a readable ZIP file") from None
    tops = {name.partition("/")[0] for name in files if "/" in name}
    inside = len(tops) == 1 and all("/" in name for name in files)
    return {name.partition("/")[2] if inside else name: content for name, content in files.items()}


def _refuse_absurd(files: int, size: int, path: Path) -> None:
    if files > MOST_FILES or size > MOST_BYTES:
        raise UsageError(f"{path.name!r} is too large for a bundle")
