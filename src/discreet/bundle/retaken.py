"""A program whose steps are taken again from a bundle: made as at first, compared with what was charged, not drawn."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from discreet.accounting import events
from discreet.accounting.events import Event, Reserved
from discreet.curator import Curator, Version
from discreet.plan.relation import Scan
from discreet.plan.stability import reach, sensitivity
from discreet.plan.statistics import Rows
from discreet.program import Program, digest_of
from discreet.schema.schema import Schema


class Differs(Exception):
    """What is stored is not what follows."""


class Retaken(Program):
    """The steps of a stored program. It has no curator, and touches no data."""

    def __init__(self, plan: Mapping[str, Any], schema: Schema, event: Reserved) -> None:
        number = int(plan["version"])
        self.version = _version(schema, number, str(plan["schemas"][plan["table"]]["population"]))
        self.id = str(plan["release"])
        self._event = event
        self._spent = []
        self.shares = {}
        self._plan = Scan(table=schema.table, version=number)
        self.moves = sensitivity(Rows(), reach(self._plan, {schema.table: schema}), touched=1)
        self._steps = list(plan["steps"])
        self._payloads: Mapping[str, str] = plan["payloads"]

    def beside(self, number: int) -> Any:
        stored = self._payloads.get(f"{self.id}.{number}")
        return None if stored is None else json.loads(stored)["beside"]

    def step(
        self, of: Any, event: Event, draw: Callable[[Curator], tuple[Any, Event]], *, word: str = "measuring"
    ) -> Any:
        """What was drawn, if this is the step that was charged for it."""
        number = len(self._spent) + 1
        digest = digest_of(of)
        if number > len(self._steps):
            raise Differs("fewer steps are stored than were taken")
        told = self._steps[number - 1]
        if events.from_data(told["event"]) != event:
            rows = self.version.schema.unit.rows
            raise Differs(f"step {number} is not noise for units of {rows} rows on what the release says it measures")
        if told["of"] != digest or told["number"] != number:
            raise Differs(f"step {number} measured something else than the release says")
        self._spent.append(events.loss(event))
        return json.loads(self._payloads[f"{self.id}.{number}"])

    def end(self) -> None:
        """No step is left over."""
        if len(self._spent) != len(self._steps):
            raise Differs("more steps are stored than follow")


def _version(schema: Schema, number: int, population: str) -> Version:
    return Version(table=schema.table, number=number, population=population, schema=schema, file="")
