"""A release as the API gives it."""

from __future__ import annotations

import math
from typing import Any

from discreet.accounting import events
from discreet.console import wording
from discreet.release import Release


def release_data(release: Release) -> dict[str, Any]:
    """As the command line does, with its table and its event. Safe for JSON."""
    data: dict[str, Any] = finite(release.to_data())
    data["warnings"] = [wording.plain(each) for each in data["warnings"]]
    return {**data, "table": release.table, "event": events.to_data(release.event)}


def finite(data: Any) -> Any:
    """JSON has no infinity: a number that is not finite is told as none."""
    match data:
        case float():
            return data if math.isfinite(data) else None
        case dict():
            return {name: finite(value) for name, value in data.items()}
        case list() | tuple():
            return [finite(value) for value in data]
        case _:
            return data
