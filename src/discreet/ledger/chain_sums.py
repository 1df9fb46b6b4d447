"""Sums: whether two long lists hold the same rows, in any order, without keeping either.

Guarantee: lists with different rows have equal sums with a chance below 2^-250, whoever chose the rows.
Because: each row counts as a keyed BLAKE2b of 256 bits, the key is drawn for this comparison and never leaves it, and
    the sums are taken modulo 2^256.
"""

from __future__ import annotations

import hashlib
import secrets


class RowSum:
    """The sum over rows that were added."""

    def __init__(self, key: bytes) -> None:
        self._key, self.total = key, 0

    def add(self, row: tuple[object, ...]) -> None:
        """Add a row of texts and whole numbers."""
        digest = hashlib.blake2b(repr(row).encode(), key=self._key, digest_size=32).digest()
        self.total = (self.total + int.from_bytes(digest)) % 2**256


class ChainSums:
    """What the chain says of charges and answers, to compare with the tables beside it."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self.charges, self.answers = self.new(), self.new()

    def new(self) -> RowSum:
        """A sum to compare with these."""
        return RowSum(self._key)
