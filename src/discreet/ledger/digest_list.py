"""The digests of a chain, 32 bytes each, read and appended as hexadecimal text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

DIGEST_BYTES = 32


class DigestList(Sequence[str]):
    """Append-only. Equal to any sequence of the same digests."""

    __slots__ = ("packed",)

    def __init__(self, packed: bytes = b"") -> None:
        self.packed = bytearray(packed)

    def append(self, digest: str) -> None:
        """Append one."""
        raw = bytes.fromhex(digest)
        if len(raw) != DIGEST_BYTES:
            raise ValueError("not a digest")
        self.packed += raw

    def __len__(self) -> int:
        return len(self.packed) // DIGEST_BYTES

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        start = range(len(self))[place] * DIGEST_BYTES
        return self.packed[start : start + DIGEST_BYTES].hex()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DigestList):
            return self.packed == other.packed
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]
