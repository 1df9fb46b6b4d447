"""Opens packed files, as far as they may be unpacked: a small file that holds an endless one is refused.

.gz .bz2 .xz .zst    one stream
.zip                 the only file in it
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, cast

from discreet.engines.content_fault import ContentFault
from discreet.engines.file_kind import packing
from discreet.engines.stop_signal import check_stop
from discreet.errors import UsageError

#: So many bytes may a packed file hold.
MOST_UNPACKED = 64 * 2**30
#: So many times its own size, once it holds more than is worth a question.
MOST_RATIO = 250
_UNQUESTIONED = 2**28
#: More than so many times its size no gzip file unpacks to: a pair of bits is at most 258 bytes.
_MOST_GZIP_RATIO = 1032
_CHUNK = 1 << 20

#: What opening or reading a packed file raises where it is damaged; NotImplementedError: by an unknown compression.
DAMAGED_PACKING = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, gzip.BadGzipFile, NotImplementedError)


def most_unpacked(packed: int) -> int:
    """How many bytes a packed file of a size may hold.

    >>> most_unpacked(1000) == 2**28, most_unpacked(2**21) == 250 * 2**21, most_unpacked(2**40) == 64 * 2**30
    (True, True, True)
    """
    return min(MOST_UNPACKED, max(_UNQUESTIONED, MOST_RATIO * packed))


def open_unpacked(file: Path) -> BinaryIO:
    """A file's bytes, unpacked where its name says that it is packed."""
    match packing(file):
        case ".gz":
            stream: Any = gzip.GzipFile(file)
        case ".bz2":
            stream = bz2.BZ2File(file)
        case ".xz":
            stream = lzma.LZMAFile(file)  # noqa: SIM115 - closed by whoever closes what is returned
        case ".zst":
            import pyarrow as pa

            stream = pa.CompressedInputStream(pa.OSFile(str(file)), "zstd")
        case ".zip":
            stream = _open_only_member(file)
        case _:
            return file.open("rb")
    return cast(BinaryIO, io.BufferedReader(_Limited(stream, file), 1 << 18))


@contextmanager
def translate_damage(file: Path) -> Iterator[None]:
    """What a damaged packed file raises, as a sentence."""
    try:
        yield
    except DAMAGED_PACKING:
        raise ContentFault(f"{file.name} cannot be unpacked: it is damaged", hint="fetch or save it again") from None
    except OSError as problem:
        if packing(file) is None or problem.errno is not None:
            raise
        raise ContentFault(f"{file.name} cannot be unpacked: it is damaged", hint="fetch or save it again") from None


def _open_only_member(file: Path) -> Any:
    archive = zipfile.ZipFile(file)
    inside = [member for member in archive.infolist() if not member.is_dir()]
    if len(inside) != 1:
        raise UsageError(
            f"{file.name} contains {len(inside):,} files", hint="pack one file, or unpack it and name its files"
        )
    if inside[0].flag_bits & 1:
        raise UsageError(f"{file.name} is encrypted", hint="unpack it with its password first")
    return archive.open(inside[0])


class _Limited(io.RawIOBase):
    """A stream that ends in a refusal where it is longer than a file of this size may be."""

    def __init__(self, stream: Any, file: Path) -> None:
        self._stream, self._file = stream, file
        self._left = most_unpacked(file.stat().st_size)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._stream.read(len(buffer))
        self._left -= len(piece)
        if self._left < 0:
            raise too_large(self._file)
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


def check_unpacked_size(file: Path) -> None:
    """Refuse a file that a library will unpack without a limit, where it unpacks to more than it may."""
    state = file.stat()
    if packing(file) == ".gz" and state.st_size * _MOST_GZIP_RATIO > most_unpacked(state.st_size):
        _measure_at(file, state.st_size, state.st_mtime_ns, state.st_ino)


@lru_cache(maxsize=64)
def _measure_at(file: Path, size: int, written: int, node: int) -> None:
    with translate_damage(file), open_unpacked(file) as stream:
        while stream.read(_CHUNK):
            check_stop()


def too_large(file: Path) -> ContentFault:
    """Why a packed file is not read to its end."""
    return ContentFault(
        f"{file.name} unpacks to more than {most_unpacked(file.stat().st_size):,} bytes, which is too large for a file "
        "of its size",
        hint="if it is what you expect, unpack it yourself and name the unpacked file",
    )
