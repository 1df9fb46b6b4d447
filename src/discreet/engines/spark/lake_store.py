"""The files of a lake, without their rows: listed, and a small one read, written or taken away.

Files of this machine are reached by Python; others (s3a://, hdfs://) through the driver's Java, where it is ours.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar
from urllib.parse import unquote

from discreet.engines.spark.folder_lock import lock_folder
from discreet.engines.spark.session import SparkSession
from discreet.engines.spark.spark_connect import is_remote
from discreet.errors import DiscreetError, UsageError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_BUCKET = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/]+")
_GLOB = re.compile(r"([\\{}\[\]*?])")

#: Stores of objects, which have no names to change.
_OBJECTS = ("s3a://", "s3://", "gs://")


class FileEntry(NamedTuple):
    """A file: its path, its size in bytes and the time of its last change, in the store's own unit."""

    path: str
    size: int
    time: int


class LakeStore(Protocol):
    """Where folders of files lie."""

    def files(self, folder: str) -> list[FileEntry]:
        """The files of a folder and of those in it, by name; none where it is not there."""

    def folders(self, folder: str) -> list[str]:
        """The names of the folders in a folder."""

    def entry(self, path: str) -> FileEntry | None:
        """One file."""

    def read(self, path: str) -> bytes | None:
        """A small file; None where it is not there."""

    def write(self, path: str, content: bytes) -> None:
        """Put a small file in the place of one of its name: the old one or the new one is there, and whole."""

    def make(self, folder: str) -> None:
        """Make a folder, for its owner only where files have owners."""

    def make_durable(self, folder: str) -> None:
        """What was written into a folder outlives the machine."""

    def drop(self, folder: str) -> None:
        """Take away a folder with all that is in it, where it is there."""

    def lock_folder(self, folder: str, *, patience_s: float) -> AbstractContextManager[bool | None]:
        """Whether nobody else is let into a folder within; None where the store cannot tell."""


def is_local(path: str) -> bool:
    """Whether a path is of this machine."""
    return path.startswith("file:") or not _SCHEME.match(path)


def local_path(path: str) -> str:
    """A path of this machine as Python takes it."""
    return unquote(re.sub("^file:/*", "/", path)) if path.startswith("file:") else path


def escape_glob(path: str) -> str:
    """A path as Spark takes it where it would read a pattern."""
    return _GLOB.sub(r"\\\1", path)


def with_root(path: str) -> str:
    """A path elsewhere as Java takes it: of a bucket alone it wants the slash at the end."""
    return f"{path}/" if _BUCKET.fullmatch(path) else path


def store_of(session: SparkSession, path: str, *, shown: str | None = None) -> LakeStore:
    """The store that a path lies in; `shown` is what to call it where it fails."""
    if is_local(path):
        return DiskStore()
    if is_remote(session):
        raise UsageError(
            "Spark Connect does not let a client list or replace files of the lake",
            hint="use a table of its catalog, or a folder that this machine and the server both see",
        )
    return HadoopStore(session=session) if shown is None else HadoopStore(session=session, shown=shown)


@dataclass(frozen=True, slots=True)
class DiskStore:
    """Files of this machine, or of a disk that it shares with the executors."""

    def files(self, folder: str) -> list[FileEntry]:
        paths = [Path(place) / name for place, _, names in os.walk(local_path(folder)) for name in names]
        return sorted(entry for path in paths if (entry := self.entry(str(path))) is not None)

    def folders(self, folder: str) -> list[str]:
        try:
            return sorted(entry.name for entry in os.scandir(local_path(folder)) if entry.is_dir())
        except FileNotFoundError:
            return []

    def entry(self, path: str) -> FileEntry | None:
        try:
            state = os.stat(local_path(path))
        except FileNotFoundError:
            return None
        return FileEntry(local_path(path), state.st_size, state.st_mtime_ns)

    def read(self, path: str) -> bytes | None:
        try:
            return Path(local_path(path)).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, path: str, content: bytes) -> None:
        target = Path(local_path(path))
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
        try:
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync(target.parent)

    def make(self, folder: str) -> None:
        path = Path(local_path(folder))
        for each in reversed([path, *path.parents]):
            if not each.exists():
                with suppress(FileExistsError):
                    each.mkdir(mode=0o700)

    def make_durable(self, folder: str) -> None:
        for place, _, names in os.walk(local_path(folder)):
            for name in names:
                _sync(Path(place) / name)
            _sync(Path(place))

    def drop(self, folder: str) -> None:
        shutil.rmtree(local_path(folder), ignore_errors=True)
        if os.path.exists(local_path(folder)):
            raise UsageError("a folder of declared tables cannot be removed", hint="check who owns its files")

    def lock_folder(self, folder: str, *, patience_s: float) -> AbstractContextManager[bool | None]:
        return lock_folder(local_path(folder), patience_s=patience_s)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _translate_errors(
    method: Callable[Concatenate[HadoopStore, Parameters], Result],
) -> Callable[Concatenate[HadoopStore, Parameters], Result]:
    """Turns what Java says of a store that is gone or refuses into one sentence: its own names paths, and has pages."""

    @wraps(method)
    def translated(store: HadoopStore, /, *args: Parameters.args, **more: Parameters.kwargs) -> Result:
        try:
            return method(store, *args, **more)
        except DiscreetError:
            raise
        except Exception:
            raise UsageError(
                f"{store.shown} does not answer, or it refuses to read or write",
                hint="check that it exists and runs, and that Spark is allowed to read and write there",
            ) from None

    return translated


@dataclass(frozen=True, slots=True, kw_only=True)
class HadoopStore:
    """Whatever file system the driver's Java knows; what to call it for its owner."""

    session: SparkSession
    shown: str = "the file system of the declared tables"

    def _java(self, path: str) -> tuple[Any, Any]:
        java = self.session._jvm
        there = java.org.apache.hadoop.fs.Path(with_root(path))
        return there.getFileSystem(self.session.sparkContext._jsc.hadoopConfiguration()), there

    @_translate_errors
    def files(self, folder: str) -> list[FileEntry]:
        system, there = self._java(folder)
        if not system.exists(there):
            return []
        listed, entries = system.listFiles(there, True), []
        while listed.hasNext():
            entries.append(_entry(listed.next()))
        return sorted(entries)

    @_translate_errors
    def folders(self, folder: str) -> list[str]:
        system, there = self._java(folder)
        if not system.exists(there):
            return []
        return sorted(str(each.getPath().getName()) for each in system.listStatus(there) if each.isDirectory())

    @_translate_errors
    def entry(self, path: str) -> FileEntry | None:
        system, there = self._java(path)
        return _entry(system.getFileStatus(there)) if system.exists(there) else None

    @_translate_errors
    def read(self, path: str) -> bytes | None:
        system, there = self._java(path)
        if not system.exists(there):
            return None
        stream = system.open(there)
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()

    @_translate_errors
    def write(self, path: str, content: bytes) -> None:
        # An object is there when its stream is closed, in the place of the old one; a renamed one is copied, and for a
        # moment none is there.
        temporary = path if path.startswith(_OBJECTS) else f"{path}.{secrets.token_hex(8)}"
        system, there = self._java(temporary)
        stream = system.create(there, True)
        stream.write(bytearray(content))
        stream.close()
        if temporary == path:
            return
        java = self.session._jvm
        options = self.session.sparkContext._gateway.new_array(java.org.apache.hadoop.fs.Options.Rename, 1)
        options[0] = java.org.apache.hadoop.fs.Options.Rename.OVERWRITE
        context = java.org.apache.hadoop.fs.FileContext.getFileContext(
            there.toUri(), self.session.sparkContext._jsc.hadoopConfiguration()
        )
        context.rename(there, java.org.apache.hadoop.fs.Path(path), options)

    @_translate_errors
    def make(self, folder: str) -> None:
        system, there = self._java(folder)
        permission = self.session._jvm.org.apache.hadoop.fs.permission.FsPermission
        system.mkdirs(there, permission("700"))

    def make_durable(self, folder: str) -> None:
        """Nothing: a distributed file system has a closed file on its disks."""

    @_translate_errors
    def drop(self, folder: str) -> None:
        system, there = self._java(folder)
        if system.exists(there) and not system.delete(there, True):
            raise UsageError("a folder of declared tables cannot be removed", hint="check who owns its files")

    def lock_folder(self, folder: str, *, patience_s: float) -> AbstractContextManager[bool | None]:
        return nullcontext()


def _entry(status: Any) -> FileEntry:
    return FileEntry(str(status.getPath().toString()), int(status.getLen()), int(status.getModificationTime()))
