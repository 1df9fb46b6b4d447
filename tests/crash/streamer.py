"""A life with a stream: take steps, saying each row, while data arrives; perhaps leave at a chosen point.

Arguments: the project, how many steps the stream has in all, and perhaps `die=POINT` (of the second step of this life)
or `mutant=NAME`. The data of step t is `data-<t>.csv`: it is put in place and a version made of it before the step.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas  # noqa: F401 - pyarrow imports it at its first use: once by the nursery, not by each life
import pyarrow.dataset  # noqa: F401

import discreet.engines.memory_person_table
import discreet.project.project
from crash.harness import say
from discreet.engines import stream_counts, table_file
from discreet.engines.memory import MemoryEngine
from discreet.kernel.curator import Curator
from discreet.ledger.anchor import Anchor
from discreet.ledger.ledger import Ledger
from discreet.ledger.sqlite_ledger import SqliteLedgerStore
from discreet.tables.stream import project_streams, stream_step

#: Writes of a step, in their order: what is wrapped, and whether to leave before or after it.
POINTS: dict[str, tuple[object, str, bool]] = {
    "before the state": (stream_counts, "save", True),
    "before the state's rename": (table_file.os, "replace", True),
    "after the state's rename": (table_file.os, "replace", False),
    "after the state": (stream_counts, "save", False),
    "before the row": (Ledger, "append_stream_row", True),
    "before the entry": (SqliteLedgerStore, "append", True),
    "after the entry": (SqliteLedgerStore, "append", False),
    "before the commit": (SqliteLedgerStore, "commit", True),
    "after the commit": (SqliteLedgerStore, "commit", False),
    "before the head": (Anchor, "write_head", True),
    "after the head": (Anchor, "write_head", False),
    "after the row": (Ledger, "append_stream_row", False),
    "after tidying": (stream_counts, "drop_other_states", False),
}
#: `commit`, `tidy` and `replace` happen in every section and at every step's beginning: only after the draw they count.
AFTER_DRAW = {"before the commit", "after the commit", "after tidying"}


def die_at(point: str) -> None:
    """From now on, leave this process at that point, without any goodbye."""
    owner, name, before = POINTS[point]
    act = getattr(owner, name)
    armed = [point not in AFTER_DRAW]
    draw = stream_step._draw_row

    def drawn(*arguments, **named):
        found = draw(*arguments, **named)
        armed[0] = True
        return found

    def deadly(*arguments, **named):
        if armed[0] and before:
            os._exit(9)
        found = act(*arguments, **named)
        if armed[0]:
            os._exit(9)
        return found

    if name == "commit":  # a section without an entry commits too: only the row's own counts
        append = SqliteLedgerStore.append

        def appended(*arguments, **named):
            append(*arguments, **named)
            setattr(owner, name, deadly)

        SqliteLedgerStore.append = appended
    else:
        setattr(owner, name, deadly)
    stream_step._draw_row = drawn


def state_after_row() -> None:
    """The state is written when the row is there already: a crash between leaves a row whose persons nobody knows."""
    real, waiting = stream_counts.save, []

    def late(folder, state, seal, *, name=""):
        name = name or f"{len(state.exact_steps)}-late{len(waiting)}.counted"
        waiting.append((folder, state, seal, name))
        return name

    def tidy(folder, *, keep):
        clean(folder, keep=keep)
        while waiting:
            own, state, seal, name = waiting.pop()
            real(own, state, seal, name=name)

    clean = stream_counts.drop_other_states
    stream_counts.save, stream_counts.drop_other_states = late, tidy


def old_state() -> None:
    """A state that is missing is taken to be an empty one: who was counted is counted again."""
    real = stream_counts.load

    def load(folder, name, seal):
        try:
            return real(folder, name, seal)
        except Exception:
            number = int(name.split("-")[0])
            return stream_counts.replace(
                stream_counts.StreamCounts.empty(folder.name, "visits"), exact_steps=(0,) * number
            )

    stream_counts.load = load
    state_after_row()


MUTANTS: dict[str, Callable[[], None]] = {"state_after_row": state_after_row, "old_state": old_state}


def plain(project: discreet.project.project.Project) -> discreet.project.project.Project:
    """With the engine that makes small tables quickly: the writes that matter here are not its own."""
    tables = project.folder / ".discreet" / "tables"
    project.__dict__["curator"] = Curator(ledger=project.ledger, engine=MemoryEngine(), folder=tables)
    return project


def live(arguments: list[str], ready: Callable[[], None]) -> None:
    folder, horizon, *options = arguments
    told = dict(option.split("=") for option in options)
    if "mutant" in told:
        MUTANTS[told["mutant"]]()
    project = plain(discreet.project.project.Project(Path(folder)))
    stream = project_streams.stream(project, "visits", "daily")[0]
    ready()
    turn = 0
    while (step := stream.steps + 1) <= int(horizon):
        # Data arrives once for each step, also where the step has to be taken again.
        shutil.copyfile(Path(folder) / f"data-{step}.csv", Path(folder) / "arriving.csv")
        os.replace(Path(folder) / "arriving.csv", Path(folder) / "visits.csv")
        project.refresh("visits")
        turn += 1
        if "die" in told and turn == 2:
            die_at(told["die"])
        row = stream.next(f"day {step}")
        say(f"{row.step} {json.dumps([row.total.value, list(row.noisy)])}")
