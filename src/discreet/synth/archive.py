"""Files of numbers and plain data: a JSON document, or an npz with the document and its long arrays beside it.

Whoever opens a file here may have been sent it by anybody. Nothing in it is code, and nothing it says about its own
size is believed: every length is checked against the bytes that are there before memory is taken.
"""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import Command, Message, UsageError

#: The most bytes of a JSON document, and of all that an npz unpacks to.
MOST_JSON = 2**28
MOST_ARRAYS = 2**28

#: The member of an npz that holds the document.
_DOCUMENT = "document"
_PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")


class DocumentArrays:
    """Long arrays of a document: lists in JSON; members of their own, named in the document, in an npz."""

    def __init__(self, members: dict[str, NDArray[Any]] | None) -> None:
        self.members = members

    def put(self, values: ArrayLike) -> Any:
        """What stands in the document for these numbers."""
        flat = np.ravel(np.asarray(values))
        if self.members is None:
            return flat.tolist()
        name = f"array{len(self.members)}"
        self.members[name] = flat
        return name

    def floats(self, entry: Any) -> NDArray[np.float64]:
        """The numbers that stand for themselves or are named: all finite."""
        numbers = np.asarray(self._get(entry, np.float64), dtype=np.float64)
        if not np.isfinite(numbers).all():
            raise ValueError("it contains a number that is not finite")
        return numbers

    def integers(self, entry: Any) -> NDArray[np.int64]:
        """The same for whole numbers."""
        numbers = self._get(entry, np.int64)
        if isinstance(numbers, list) and not all(type(value) is int for value in numbers):
            raise ValueError("it contains a number that is not a whole number")
        return np.asarray(numbers, dtype=np.int64)

    def _get(self, entry: Any, dtype: type[np.generic]) -> Any:
        if isinstance(entry, list) and all(type(value) in (int, float) for value in entry):
            return entry
        if self.members is None or not isinstance(entry, str) or entry not in self.members:
            raise ValueError("a list of numbers is missing")
        if self.members[entry].dtype != dtype:
            raise ValueError("a list has numbers of the wrong type")
        return self.members[entry]


def write(path: Path, document: dict[str, Any], arrays: DocumentArrays) -> None:
    """Write a file whole or not at all."""
    text = json.dumps(document, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    content = text.encode("utf-8")
    if len(content) > MOST_JSON:
        raise UsageError("the model is too large for JSON", hint="save it under a name that ends in .npz")
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("wb") as stream:
            _write(stream, content, arrays)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    except OSError as problem:
        beside.unlink(missing_ok=True)
        raise UsageError(f"cannot write {path.name}: {problem.strerror}") from None


def _write(stream: IO[bytes], content: bytes, arrays: DocumentArrays) -> None:
    if arrays.members is None:
        stream.write(content)
    else:
        members: dict[str, Any] = {_DOCUMENT: np.frombuffer(content, dtype=np.uint8), **arrays.members}
        np.savez_compressed(stream, **members)


def read(path: Path) -> tuple[Any, DocumentArrays]:
    """The document of a file, and its arrays. Raises ValueError where it is none, UsageError where it is absent."""
    try:
        with path.open("rb") as stream:
            start = stream.read(4)
            stream.seek(0)
            if start[:2] in _PICKLES:
                raise ValueError("it is a pickle file; Discreet never opens these, because they can run code")
            if start == b"PK\x03\x04":
                members = _members(stream)
                return _parsed(members.pop(_DOCUMENT, np.zeros(0, np.uint8)).tobytes()), DocumentArrays(members)
            if os.fstat(stream.fileno()).st_size > MOST_JSON:
                raise ValueError("it is too large")
            return _parsed(stream.read()), DocumentArrays(None)
    except OSError as problem:
        raise UsageError(
            f"cannot read {path.name}: {problem.strerror}",
            hint=Message("name the file of a model, such as ", Command("synth fit", "TABLE"), " saves"),
        ) from None


def _parsed(content: bytes) -> Any:
    """JSON without NaN, infinities and other things that JSON has not."""
    try:
        return json.loads(content.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise ValueError("it is not valid JSON, or it is truncated") from None


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not a number")


def _members(stream: IO[bytes]) -> dict[str, NDArray[Any]]:
    """The arrays of an npz, none larger than the bytes that it has."""
    try:
        with zipfile.ZipFile(stream) as archive:
            entries = archive.infolist()
            if sum(entry.file_size for entry in entries) > MOST_ARRAYS or len(entries) > 100_000:
                raise ValueError("it is too large")
            return {entry.filename.removesuffix(".npy"): _array(archive, entry) for entry in entries}
    # What zipfile raises on strange files: NotImplementedError is an unknown compression, RuntimeError a password.
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, zlib.error):
        raise ValueError("it is damaged or truncated") from None


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray[Any]:
    """One array: flat numbers, as long as its bytes."""
    with archive.open(entry) as packed:
        content = packed.read(entry.file_size + 1)
    if len(content) != entry.file_size:
        raise ValueError("it is damaged or truncated")
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = header(stream)
    is_number_type = dtype in (np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.uint8))
    if not is_number_type or len(shape) != 1 or math.prod(shape) * dtype.itemsize != len(content) - stream.tell():
        raise ValueError("it contains something other than one-dimensional lists of numbers")
    return np.frombuffer(content, dtype=dtype, offset=stream.tell())
