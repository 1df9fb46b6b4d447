"""A release as the API gives it."""

from __future__ import annotations

import math
from typing import Any

from discreet.accounting import events
from discreet.console.console_text import console_texts
from discreet.release import Release


def release_data(release: Release) -> dict[str, Any]:
    """As the command line does, with its table and its event. Safe for JSON."""
    data: dict[str, Any] = without_infinities(release.to_data(best=True))
    data["warnings"] = console_texts(data["warnings"])
    return {**data, "table": release.table, "event": events.to_data(release.event)}


def without_infinities(data: Any) -> Any:
    """JSON has no infinity: a number that is not finite is told as none."""
    match data:
        case float():
            return data if math.isfinite(data) else None
        case dict():
            return {name: without_infinities(value) for name, value in data.items()}
        case list() | tuple():
            return [without_infinities(value) for value in data]
        case _:
            return data
