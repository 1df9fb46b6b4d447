"""Bit sources for tests. Nothing in src can be seeded, so these live here."""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes


class FixedBits:
    """The same words at every run: AES-256-CTR under a key made of `number`. Counts what was taken."""

    def __init__(self, number=0):
        key = number.to_bytes(32, "big")
        self._stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        self.taken = 0

    def words(self, count):
        self.taken += count
        return np.frombuffer(self._stream.update(bytes(8 * count)), dtype=np.uint64)


class Script:
    """Exactly these words, in this order, and no more."""

    def __init__(self, *words):
        self._words = list(words)

    @property
    def left(self):
        return len(self._words)

    def words(self, count):
        assert count <= len(self._words), "more words were taken than the script holds"
        taken, self._words = self._words[:count], self._words[count:]
        return np.array(taken, dtype=np.uint64)
