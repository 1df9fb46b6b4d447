"""What COPY ... TO STDOUT (FORMAT binary) sends, as columns of whole numbers: nothing but integers comes back.

The format: a head of 19 bytes, then for each row its number of fields (16 bits) and for each field its length (32
bits) and its bytes, then -1 where the next row would begin. Where every field has its own fixed length, and none is
NULL, rows are records of one length, which numpy reads at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_HEAD = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
_END = b"\xff\xff"
#: Bytes that are looked at together.
_AT_ONCE = 1 << 22


def columns(pieces: Iterable[bytes | bytearray | memoryview], types: Sequence[str]) -> list[list[NDArray[Any]]]:
    """The columns, each in parts, of rows whose fields have these types of numpy (`>i2`, `>i4`, `>i8`, `S16`)."""
    record = np.dtype(
        [("many", ">i2"), *(field for place, type_ in enumerate(types) for field in _field(place, type_))]
    )
    found: list[list[NDArray[Any]]] = [[] for _ in types]
    for block in _blocks(pieces, record.itemsize):
        rows = np.frombuffer(block, dtype=record)
        lengths_hold = all(
            (rows[f"length{place}"] == np.dtype(type_).itemsize).all() for place, type_ in enumerate(types)
        )
        if not (rows["many"] == len(types)).all() or not lengths_hold:
            raise ValueError("the server sent something else than whole numbers")
        for place, part in enumerate(found):
            part.append(rows[f"value{place}"].copy())
    return found


def _field(place: int, type_: str) -> list[tuple[str, str]]:
    return [(f"length{place}", ">i4"), (f"value{place}", type_)]


def _blocks(pieces: Iterable[bytes | bytearray | memoryview], size: int) -> Iterator[bytes]:
    """Whole records, many at once; the head and the end are taken off."""
    held: list[bytes] = []
    many, begun = 0, False
    for piece in pieces:
        held.append(bytes(piece))
        many += len(piece)
        if many < max(_AT_ONCE, len(_HEAD)):
            continue
        block = b"".join(held)
        block, begun = (block, True) if begun else (_without_head(block), True)
        whole = max(0, len(block) - len(_END)) // size * size  # what may be the end is left for the end
        yield block[:whole]
        held, many = [block[whole:]], len(block) - whole
    rest = b"".join(held)
    rest = rest if begun else _without_head(rest)
    if not rest.endswith(_END) or (len(rest) - len(_END)) % size:
        raise ValueError("the server's rows broke off")
    yield rest[: -len(_END)]


def _without_head(block: bytes) -> bytes:
    if not block.startswith(_HEAD):
        raise ValueError("the server sent another format")
    return block[len(_HEAD) :]
