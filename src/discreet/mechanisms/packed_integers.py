"""Long lists of whole numbers as short text: what the ledger stores of large releases."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64] | NDArray[np.object_]

#: Fewer numbers than this are stored so that people can read them.
_FEW = 64


def pack_integers(values: Integers) -> Any:
    """Whole numbers as JSON data.

    >>> unpack_integers(pack_integers(np.arange(1000))).sum()
    np.int64(499500)
    """
    if values.dtype == object or values.size < _FEW:
        return [int(value) for value in values.tolist()]
    largest = int(np.abs(values).max())
    kind = next(kind for kind in ("<i1", "<i2", "<i4", "<i8") if largest <= np.iinfo(kind).max)
    data = zlib.compress(values.astype(kind).tobytes(), level=1)
    return {"type": kind, "data": base64.b64encode(data).decode()}


def unpack_integers(data: Any) -> Integers:
    """The numbers that `pack_integers` wrote."""
    if isinstance(data, list):
        wide = any(abs(value) >= 2**63 for value in data)
        return np.array(data, dtype=object if wide else np.int64)
    return np.frombuffer(zlib.decompress(base64.b64decode(data["data"])), dtype=data["type"]).astype(np.int64)
