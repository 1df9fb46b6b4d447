"""Which of several sheets or tables in one file is meant: the declared one, or the only one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from discreet.errors import Flag, Message, UsageError
from discreet.schema.schema import closest_name_hint
from discreet.schema.source_layout import SourceLayout

#: So many names are listed in a sentence.
_MOST_LISTED = 20


def choose_table(file: Path, names: Sequence[str], layout: SourceLayout, *, what: str = "table") -> str:
    """The declared sheet or table, or the only one."""
    if layout.sheet is not None:
        if layout.sheet not in names:
            raise UsageError(
                f"{file.name} has no {what} {layout.sheet[:60]!r}", hint=closest_name_hint(layout.sheet, list(names))
            )
        return layout.sheet
    if not names:
        raise UsageError(f"{file.name} has no {what}")
    if len(names) > 1:
        listed = ", ".join(repr(name[:60]) for name in names[:_MOST_LISTED])
        more = f" and {len(names) - _MOST_LISTED:,} more" if len(names) > _MOST_LISTED else ""
        raise UsageError(
            f"{file.name} has {len(names):,} {what}s: {listed}{more}",
            hint=Message("choose one: ", Flag("sheet", "NAME"), ", or sheet = in its section of discreet.toml"),
        )
    return names[0]


def open_elsewhere(file: Path, beside: Path) -> UsageError:
    """Why a file is not read that another program writes to: what it wrote stands beside it."""
    return UsageError(
        f"{file.name} is being written to by another program, or was not closed ({beside.name} is not empty)",
        hint="close that program, then try again",
    )
