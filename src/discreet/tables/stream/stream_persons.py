"""Who a person of a version is: by what the version was made by, whatever discreet.toml says by now."""

from __future__ import annotations

from typing import Any

from discreet.errors import Command, Message, UsageError
from discreet.kernel.curator import Curator, Version
from discreet.schema.person_identity import REACHED, step_of


def person_identity(version: Version, curator: Curator) -> list[dict[str, Any]]:
    """Who a person of a version is, as data: the columns that name them, and those on the way to them.

    Guarantee: in two versions for which this is equal, made with the same keys, whoever has one name has one tag.
    Because: tags were made from just these columns when the version was, and the ledger has kept which they were. The
        file cannot say it: it may have been changed, and changed back, around a refresh.
    """
    unit = version.schema.unit
    own = step_of(version.table, unit)
    if unit.through is None:
        return [own]
    path = curator.ledger.refresh().version(version.table, version.number).source.get(REACHED)
    if path is None:
        raise UsageError(
            f"version {version.number} of {version.table!r} does not record how its persons are identified, because an "
            "older version of Discreet made it",
            hint=Message(Command("refresh", version.table), " makes a new version that does"),
        )
    return [own, *path]
