"""The names of a source's columns, and which of them a declared name means. No row is read for it."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import SchemaError
from discreet.schema.schema import closest


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """A source as the owner wrote it, and the names of its columns in their order."""

    shown: str
    names: tuple[str, ...]

    def place(self, name: str) -> int:
        """Which column of the file a declared name means: the same name, or the same but for capital letters."""
        same = [place for place, known in enumerate(self.names) if known == name]
        places = same or [place for place, known in enumerate(self.names) if known.lower() == name.lower()]
        if not places:
            raise SchemaError(
                f"{self.shown} has no column {name!r}", hint=closest(name, [known for known in self.names if known])
            )
        if len(places) > 1:
            raise SchemaError(
                f"{self.shown} has {len(places)} columns that could be {name!r}", hint="give each its own name"
            )
        return places[0]

    def distinct_names(self) -> tuple[str, ...]:
        """The names that can be declared. A column without a name cannot be (a table's unnamed index)."""
        seen: dict[str, str] = {}
        for name in filter(None, self.names):
            if name.lower() in seen:
                raise SchemaError(
                    f"{self.shown}: columns {seen[name.lower()]!r} and {name!r} have the same name, capitals aside",
                    hint="rename one of them",
                )
            seen[name.lower()] = name
        return tuple(seen.values())
