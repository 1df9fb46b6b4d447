"""The ends of edges on their way from the engine where a source lies to the one where a network is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa


def end_batch(rows: Sequence[Sequence[str | None]]) -> Any:
    """Some rows, each with the texts of its two ends, as an Arrow batch."""
    ends = ([row[place] for row in rows] for place in (0, 1))
    return pa.RecordBatch.from_arrays([pa.array(end, pa.string()) for end in ends], names=["first", "second"])
