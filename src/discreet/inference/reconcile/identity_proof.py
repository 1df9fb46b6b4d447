"""Proof: is a linear relation between regions an identity? Decided by one number for each region.

Give every cell of every column a weight in the field of the integers modulo a prime, each column's weights adding to
1. A region's *print* is the sum over its pieces of the product over columns of the weights inside.

Guarantee: a relation with coefficients below the prime that is no identity passes with probability at most
    (columns) / 2^127, over a hash function that behaves like a random one; an identity always passes.
Because: the print is a polynomial in the cell weights whose coefficients are the region's indicator over all atoms, so
    a relation between prints as polynomials is one between indicators (homogeneous in each column, so fixing the totals
    loses nothing). A polynomial of degree d that is not zero has at most a share d / p of zeros (Schwartz and Zippel).
    The weights are hashed from all the regions at stake together: nobody can choose a region after seeing them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from discreet.accounting.region import ValueSet
from discreet.inference.reconcile.measured_number import ColumnDomains
from discreet.inference.reconcile.region_pieces import Piece

#: A Mersenne prime.
PRIME = 2**127 - 1


def digest_of_regions(regions: Iterable[Sequence[Piece]]) -> bytes:
    """A digest of these regions, in order."""
    digest = hashlib.blake2b(digest_size=32)
    for pieces in regions:
        listed = [[(name, side.runs, side.null) for name, side in sorted(piece.items())] for piece in pieces]
        digest.update(repr(listed).encode() + b"\n")
    return digest.digest()


class RegionFingerprints:
    """The prints of regions under one key. Remembers the weights of sides."""

    __slots__ = ("_domain", "_key", "_scale", "_sides")

    def __init__(self, key: bytes, domain: ColumnDomains) -> None:
        self._key = key
        self._domain = domain
        self._scale: dict[str, int] = {}
        self._sides: dict[tuple[str, ValueSet], int] = {}

    def of(self, pieces: Iterable[Piece]) -> int:
        """The print of a region: 0 for nobody, 1 for everybody."""
        total = 0
        for piece in pieces:
            product = 1
            for name, side in piece.items():
                product = product * self._side(name, side) % PRIME
            total += product
        return total % PRIME

    def _side(self, name: str, side: ValueSet) -> int:
        if (name, side) not in self._sides:
            if name not in self._scale:
                self._scale[name] = pow(self._raw(name, self._domain.possible(name)), -1, PRIME)
            self._sides[name, side] = self._raw(name, side) * self._scale[name] % PRIME
        return self._sides[name, side]

    def _raw(self, name: str, side: ValueSet) -> int:
        """A run weighs the difference of two hashed ends, so cells add up however a line is cut."""
        weight = self._hash((name, None, "null")) if side.null else 0
        for low, high in side.runs:
            weight += self._hash((name, None, "top") if high is None else (name, high))
            weight -= self._hash((name, None, "bottom") if low is None else (name, low))
        return weight % PRIME

    def _hash(self, place: tuple[object, ...]) -> int:
        digest = hashlib.blake2b(repr(place).encode(), key=self._key, digest_size=32).digest()
        return int.from_bytes(digest) % PRIME
