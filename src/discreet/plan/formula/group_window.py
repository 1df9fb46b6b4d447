"""Windows: the other groups of an answer that a number is computed from, as in running totals and changes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupWindow:
    """Groups around a group, itself left out.

    partition: the keys, by their numbers in the question, that they share with it.
    order: the keys by which groups stand in a row, each with whether it falls; with `partition` all keys of the
        question, or none.
    first, last: from how many places after it (before it, where negative) to how many; None is no end.
    """

    partition: tuple[int, ...] = ()
    order: tuple[tuple[int, bool], ...] = ()
    first: int | None = None
    last: int | None = None

    def __post_init__(self) -> None:
        if self.first is not None and self.last is not None and self.first > self.last:
            raise ValueError("a window ends before it begins")
        if not self.order and (self.first, self.last) != (None, None):
            raise ValueError("a window without an order has no ends")

    @property
    def holds_own_group(self) -> bool:
        """Whether the group itself stands between the ends of the window."""
        return (self.first is None or self.first <= 0) and (self.last is None or self.last >= 0)
