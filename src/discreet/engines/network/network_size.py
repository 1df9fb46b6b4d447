"""How large a network may be. Its owner is told when it is made; no question fails by it."""

from __future__ import annotations

from discreet.errors import UsageError
from discreet.schema.privacy_unit import MOST_EDGES


def check_size(exact_edges: int, *, table: str) -> None:
    """Refuse to make a declared table of more edges than a question holds in memory. Exact: for the owner only."""
    if exact_edges >= MOST_EDGES:
        raise UsageError(
            f"{table!r} has {exact_edges:,} distinct edges; a network must have fewer than {MOST_EDGES:,}",
            hint="declare a part of it, such as the edges of one year or of one place",
        )
