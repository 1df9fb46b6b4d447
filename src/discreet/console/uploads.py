"""Files that owners upload: in the project's own folder for sources, readable by its owner alone, never over another.

Guarantee: whatever a file is called, it lands in `sources/` of the project folder and replaces nothing.
Because: of its name only letters, digits, dots, dashes and underscores are kept, none of them a dot at the beginning,
    and its name is claimed by a new empty file, which the system refuses to make where one is there.
"""

from __future__ import annotations

import glob
import os
import re
import secrets
import time
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

from discreet.console.responses import RequestDenied
from discreet.errors import Flag, Message, UsageError
from discreet.schema.address import check_address, engine_kind

#: In the project folder.
FOLDER = "sources"
#: How a file is called while it comes, and after which time one that never came whole is deleted.
_COMING, _STALE_S = ".coming-", 86_400
LONGEST_NAME = 80
#: How an address of a file begins, and which of them lead to a lake.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_LAKES = frozenset({"abfs", "abfss", "adl", "dbfs", "gs", "hdfs", "oss", "s3", "s3a", "s3n", "wasb", "wasbs"})
#: A table of an engine's catalog.
_NAME = re.compile(r"\w+(\.\w+){0,3}")
#: Endings of which the last two belong together.
_PACKED = (".gz", ".zst", ".bz2")


def sources_folder(project: Path) -> Path:
    """The folder, made where there is none. A link to elsewhere is refused."""
    folder = project / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or not folder.is_dir():
        raise RequestDenied(f"{FOLDER} in the project folder must be a folder, not a link.", status=409)
    return folder


def new_upload(project: Path) -> Path:
    """An empty file for what comes, which nobody else reads."""
    try:
        folder = sources_folder(project)
        for left in folder.glob(f"{_COMING}*"):
            if left.stat().st_mtime < time.time() - _STALE_S:
                left.unlink(missing_ok=True)
        path = folder / f"{_COMING}{secrets.token_hex(8)}"
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as problem:
        raise RequestDenied(f"The file could not be stored: {problem.strerror}.", status=409) from None
    return path


def plain_name(name: str) -> str:
    """A file's name, as it is stored: no path, nothing that means something to a shell, a glob or a page.

    >>> plain_name("../../etc/Kosten 2026 (neu).CSV"), plain_name("..."), plain_name("C:\\\\data\\\\a'b.csv.gz")
    ('Kosten_2026_neu.csv', 'file', 'a_b.csv.gz')
    """
    last = re.split(r"[/\\\\]", name)[-1]
    stem, ending = _split(last)
    plain = re.sub(r"[^A-Za-z0-9]+", "_", _ascii(stem)).strip("_")
    return (plain[:LONGEST_NAME] or "file") + re.sub(r"[^a-z0-9.]", "", ending.lower())[:20]


def _ascii(text: str) -> str:
    """Letters without their accents; what has no plain letter is left out.

    >>> _ascii("Größe é 数")
    'Grosse e '
    """
    apart = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    return apart.encode("ascii", "ignore").decode()


def _split(name: str) -> tuple[str, str]:
    stem, dot, ending = name.rpartition(".")
    if not dot or not stem.strip(". "):
        return name, ""
    if f".{ending.lower()}" in _PACKED and "." in stem.strip("."):
        stem, _, inner = stem.rpartition(".")
        return stem, f".{inner}.{ending}"
    return stem, f".{ending}"


def keep_upload(coming: Path, name: str) -> str:
    """Give a file that came whole its name; another where that is taken. Its path as discreet.toml has it."""
    if not coming.stat().st_size:
        raise UsageError("the file is empty", hint="choose a file that has a line of column names, and rows")
    plain = plain_name(name)
    for candidate in _free_names(plain):
        named = coming.with_name(candidate)
        try:
            os.close(os.open(named, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))  # the name is ours, or is taken
        except FileExistsError:
            continue
        coming.replace(named)
        return f"{FOLDER}/{candidate}"
    raise UsageError(f"there are too many files called {plain}", hint="rename the file, and upload it again")


def _free_names(plain: str) -> Iterator[str]:
    stem, ending = _split(plain)
    yield plain
    for number in range(2, 1000):
        yield f"{stem}_{number}{ending}"


def unused_uploads(project: Path, is_source: Callable[[Path], bool]) -> list[dict[str, object]]:
    """Files of the folder that no table is made from: copies of private rows, for an owner to declare or delete."""
    folder = project / FOLDER
    if not folder.is_dir() or folder.is_symlink():
        return []
    files = [file for file in sorted(folder.iterdir()) if file.is_file() and not file.name.startswith(".")]
    return [{"source": f"{FOLDER}/{file.name}", "bytes": file.stat().st_size} for file in files if not is_source(file)]


def delete_upload(project: Path, source: str, is_source: Callable[[Path], bool]) -> None:
    """Delete one of them."""
    if source not in [each["source"] for each in unused_uploads(project, is_source)]:
        raise UsageError(
            f"{source[:100]!r} is not an uploaded file that could be deleted",
            hint="a file that a table is made from stays: remove the table first",
        )
    (project / source).unlink(missing_ok=True)


def allowed_engine_source(source: str, engine: str, *, project: Path, folders: tuple[Path, ...]) -> str:
    """A source of an engine that an owner typed. A file that an engine would read from a disk is held to the same
    rule as a path: an engine on this machine reads what is on it. Lakes and tables have their own guards.
    """
    text = source.strip()
    kind = engine_kind(check_address(engine, where="the address"))
    named = _SCHEME.match(text)
    if kind == "postgresql" or (named and named[1].lower() in _LAKES) or (kind == "spark" and _NAME.fullmatch(text)):
        return text
    if named is not None:
        raise _outside(text)
    return str(project / allowed_source(text, project=project, folders=folders))


def allowed_source(source: str, *, project: Path, folders: tuple[Path, ...]) -> str:
    """A path that an owner typed, where the console may read it: in the project folder, or where the server allows.

    Guarantee: no page shows a line of any other file of this machine.
    Because: names of columns are a file's first line; whoever has an owner's account has perhaps no account here.
    """
    text = source.strip()
    if not text or len(text) > 1000 or not text.isprintable():
        raise UsageError("give the path of a file", hint="paths are relative to the project folder")
    pattern = str(Path(glob.escape(str(project))) / text) if not Path(text).is_absolute() else text
    path = project / text
    files = [path] if path.exists() or not glob.has_magic(text) else map(Path, glob.iglob(pattern, recursive=True))
    allowed = [project.resolve(), *(folder.resolve() for folder in folders)]
    hidden = (project / ".discreet").resolve()
    for file in files:
        resolved = file.resolve()
        inside = any(folder in resolved.parents for folder in allowed)
        if not inside or resolved == hidden or hidden in resolved.parents:
            raise _outside(text)
    return text


def _outside(text: str) -> UsageError:
    return UsageError(
        f"{text[:100]!r} is not in the project folder, or in a folder that this server allows",
        hint=Message(
            "copy the file into the project folder, or upload it; an option of the server, ",
            Flag("sources", "FOLDER"),
            ", allows another folder",
        ),
    )
