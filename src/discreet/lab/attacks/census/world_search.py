"""All worlds that fit what was published, or as many as were asked for; and whether there is any.

The solver runs in a thread of its own while this one waits, so that Ctrl-C stops it at once.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any, Literal

from discreet.errors import Flag, Message, UsageError
from discreet.lab.attacks.census.block_constraints import BlockConstraints, compile_block, solver
from discreet.lab.attacks.census.published_block import CensusBlock, World

MOST = 1_000
SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FittingWorlds:
    """The worlds that were found. `stopped` says why there may be more; None is a proof that there are no others."""

    worlds: tuple[World, ...]
    stopped: Literal["most", "seconds"] | None

    @property
    def complete(self) -> bool:
        """Whether these are all."""
        return self.stopped is None

    def show(self) -> str:
        """How many, without a false word."""
        return f"{len(self.worlds):,}" if self.complete else f"at least {len(self.worlds):,}"


def find_worlds(block: CensusBlock, *, most: int = MOST, seconds: float = SECONDS) -> FittingWorlds:
    """Every world that fits the block, until there are more than `most` or the seconds are over."""
    if most < 1:
        raise UsageError(Message(Flag("most"), f" must be at least 1, got {most}"))
    if not 0 < seconds < float("inf"):
        raise UsageError(Message(Flag("seconds"), f" must be above 0, got {seconds:g}"))
    started = time.monotonic()
    made = compile_block(block)
    # One more than asked for is looked for, so that exactly `most` worlds can still be told to be all.
    seen = _world_collector(made, most + 1)
    status = run_solver(made, seconds - (time.monotonic() - started), every=seen)
    listed = tuple(sorted(seen.worlds))
    if len(listed) > most:
        return FittingWorlds(worlds=listed[:most], stopped="most")
    cp_model = solver()
    proved = status in (cp_model.OPTIMAL, cp_model.INFEASIBLE)
    return FittingWorlds(worlds=listed, stopped=None if proved else "seconds")


def find_world(made: BlockConstraints, seconds: float) -> World | Literal["none", "undecided"]:
    """One world that meets the constraints, a proof that there is none, or neither in the time."""
    cp_model = solver()
    engine = cp_model.CpSolver()
    status = run_solver(made, seconds, engine=engine)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return made.world(engine.value)
    return "none" if status == cp_model.INFEASIBLE else "undecided"


def run_solver(made: BlockConstraints, seconds: float, *, every: Any = None, engine: Any = None) -> Any:
    """Run the solver; its status. With `every`, all solutions are handed to that."""
    engine = engine or solver().CpSolver()
    settings = engine.parameters
    settings.num_workers = 1  # enumeration needs it, and the answer is then the same on every machine
    settings.max_time_in_seconds = max(seconds, 1e-3)
    settings.catch_sigint_signal = False  # the keyboard is ours
    if every is not None:
        settings.enumerate_all_solutions = True
        # Measured on the seven people: half the time without these two, the same worlds.
        settings.linearization_level = 0
        settings.cp_model_probing_level = 0
    ended: list[Any] = []
    over = threading.Event()  # not Thread.join: interrupted, that takes a running thread for one that has ended

    def work() -> None:
        try:
            ended.append(engine.solve(made.model, every))
        except BaseException as problem:  # carried over to the thread that waits
            ended.append(problem)
        finally:
            over.set()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while not over.wait(0.2):  # in slices: a wait without an end cannot be interrupted everywhere
            pass
    except BaseException:
        _stop(engine, over)
        raise
    finally:
        thread.join()
    if isinstance(ended[0], BaseException):
        raise ended[0]
    if ended[0] == solver().MODEL_INVALID:
        raise UsageError("the statistics contain numbers that are too large for the solver")
    return ended[0]


def _stop(engine: Any, over: threading.Event) -> None:
    """Stop the solver and see it end; an interpreter that leaves while it runs would crash. Once more: it may only be
    starting, and a second Ctrl-C changes nothing."""
    while not over.is_set():
        try:
            engine.stop_search()
            over.wait(0.05)
        except KeyboardInterrupt:
            continue


def _world_collector(made: BlockConstraints, most: int) -> Any:
    class WorldCollector(solver().CpSolverSolutionCallback):  # type: ignore[misc]
        """Keeps the different worlds that the solver meets."""

        def __init__(self) -> None:
            super().__init__()
            self.worlds: set[World] = set()

        def on_solution_callback(self) -> None:
            self.worlds.add(made.world(self.value))
            if len(self.worlds) >= most:
                self.stop_search()

    return WorldCollector()
