"""Where randomness comes from: the operating system, and nowhere else.

Only the curator and the local randomizers draw from `system()`; everything else is handed a
`Bits`. There is no seed. Tests bring a source of their own.
"""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

#: Up to this many words the system call is cheaper than setting up a cipher.
_SHORT = 64
#: One key never stretches further. 2^22 blocks of AES differ from true randomness by at most
#: (2^22)^2 / 2^129 = 2^-85, whatever is computed from them (the PRP/PRF switching lemma).
_WORDS_PER_KEY = 1 << 23


class Bits(Protocol):
    """A source of independent uniform 64-bit words."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """`count` fresh words. A word is returned once and never again."""
        ...


class SystemBits:
    """AES-256 in counter mode, under a key from `os.urandom` that lives for one call.

    Nothing is kept between calls. So there is nothing that a forked child, a second thread or a
    restored snapshot could share with its twin, nothing to lock, and no state from which earlier
    noise could be computed afterwards.
    """

    __slots__ = ()

    def words(self, count: int) -> NDArray[np.uint64]:
        if count <= _SHORT:
            return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
        if count <= _WORDS_PER_KEY:
            return _words_of_one_key(count)
        pieces = [_words_of_one_key(min(_WORDS_PER_KEY, count - start)) for start in range(0, count, _WORDS_PER_KEY)]
        return np.concatenate(pieces)


def _words_of_one_key(count: int) -> NDArray[np.uint64]:
    """`count` words from one fresh key. The counter may start at zero: the key is used once."""
    cipher = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(bytes(16)))
    return np.frombuffer(cipher.encryptor().update(bytes(8 * count)), dtype=np.uint64)


_SYSTEM = SystemBits()


def system() -> Bits:
    """The operating system's randomness."""
    return _SYSTEM
