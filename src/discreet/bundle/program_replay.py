"""A program whose steps are taken again from a bundle: made as at first, compared with what was charged, not drawn."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from discreet.accounting import events
from discreet.accounting.events import Event, ReservationEvent
from discreet.accounting.region import Region
from discreet.bundle.answer_replay import schema_of
from discreet.kernel.curator import Curator, Version
from discreet.kernel.program import Program, step_digest
from discreet.plan.cell_statistics import RowCount
from discreet.plan.query_sensitivity import reach, sensitivity
from discreet.plan.relation import Scan
from discreet.schema.schema import Schema


class ReplayMismatch(Exception):
    """What is stored is not what follows."""


class ProgramReplay(Program):
    """The steps of a stored program. It has no curator, and touches no data."""

    def __init__(self, plan: Mapping[str, Any], schema: Schema, event: ReservationEvent) -> None:
        number = int(plan["version"])
        self.version = _version(schema, number, str(plan["schemas"][plan["table"]]["population"]))
        self.id = str(plan["release"])
        self._event = event
        self._spent = []
        self.shares = {}
        self._contents = []
        self._plan = Scan(table=schema.table, version=number)
        unit_reach = reach(self._plan, {schema.table: schema})
        self.moves = sensitivity(RowCount(), unit_reach, touched=unit_reach.rows)
        self._joined = tuple(
            _version(schema_of(table, plan["schemas"]), int(other["version"]), str(other["population"]))
            for table, other in plan["schemas"].items()
            if table != plan["table"]
        )
        self._region = Region.whole()
        self._steps = list(plan["steps"])
        self._payloads: Mapping[str, str] = plan["payloads"]

    @property
    def stored_steps(self) -> list[Any]:
        """The steps that the bundle has."""
        return self._steps

    def beside(self, number: int) -> Any:
        stored = self._payloads.get(f"{self.id}.{number}")
        return None if stored is None else json.loads(stored)["beside"]

    def step(
        self, of: Any, event: Event, draw: Callable[[Curator], tuple[Any, Event]], *, word: str = "measuring"
    ) -> Any:
        """What was drawn, if this is the step that was charged for it."""
        number = len(self._spent) + 1
        digest = step_digest(of)
        if number > len(self._steps):
            raise ReplayMismatch("the bundle has fewer steps than the release needs")
        stored_step = self._steps[number - 1]
        if events.from_data(stored_step["event"]) != event:
            rows = self.version.schema.unit.rows
            raise ReplayMismatch(
                f"the noise of step {number} is not the noise for privacy units of {rows:,} rows on what it measures"
            )
        if stored_step["of"] != digest or stored_step["number"] != number:
            raise ReplayMismatch(f"step {number} measured something other than the release says")
        self._spent.append(events.loss(event))
        self._contents.append(of)
        return json.loads(self._payloads[f"{self.id}.{number}"])

    def end(self) -> None:
        """No step is left over."""
        if len(self._spent) != len(self._steps):
            raise ReplayMismatch("the bundle has more steps than the release needs")


def _version(schema: Schema, number: int, population: str) -> Version:
    return Version(table=schema.table, number=number, population=population, schema=schema, file="")
