"""Breaking off: the keyboard stops what an engine counts, and the ledger says what was charged until then.

An engine that is interrupted inside a statement says only that it failed. So the interrupt is noted here, as a
`StopSignal` that the verb carries: the ledger then enters a stop, not a failure, and three of them lock no table.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import discreet
from discreet import exact
from discreet.cli import standard_streams
from discreet.engines.stop_signal import StopSignal, is_stop_requested, stoppable_by
from discreet.errors import DiscreetError

#: Verbs that charge nothing, so that nothing needs to be said of charges when one breaks off.
FREE = frozenset(
    {
        "init",
        "sample-data",
        "add",
        "refresh",
        "remove",
        "forget",
        "explain",
        "budget",
        "version",
        "reconcile",
        "release",
    }
    | {"sample-data", "ledger verify", "ledger show", "ledger export", "ledger backup", "synth sample", "graph spread"}
    | {"stream show", "stream list", "serve", "survey", "people", "audit", "anonymize", "attack", "check"}
)
#: Verbs that may also charge what is no charge of its own in the ledger: a gap after a rollback, exact totals.
_MORE = frozenset({"ledger", "publish", "demo"})
_UNKNOWN = "; anything already charged stays charged"


@contextmanager
def stop_on_interrupt() -> Iterator[StopSignal]:
    """What is done inside is stopped by Ctrl-C, wherever it is just then; whether it was, the stop says.

    Where it looks for the stop itself (`StopSignal.orderly`), the first Ctrl-C only pulls it; the second breaks off.
    """
    stop = StopSignal()

    def interrupted(_: int, __: FrameType | None) -> None:
        is_first = not stop.is_requested
        stop.request()
        if not (is_first and stop.is_orderly):
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # signals come to the main thread alone
        yield stop
        return
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # whoever handles them otherwise, or ignores them, goes on doing so
        yield stop
        return
    signal.signal(signal.SIGINT, interrupted)
    try:
        with stoppable_by(stop):
            yield stop
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def say_what_stands(words: str) -> Iterator[None]:
    """Say what was done for good where Ctrl-C stops what follows it."""
    try:
        yield
    except (KeyboardInterrupt, Exception) as problem:
        if isinstance(problem, KeyboardInterrupt) or is_stop_requested():
            standard_streams.print_stderr(words)
        raise


def charges_line(words: list[str], receipts: list[str]) -> str:
    """What has become of charges; nothing for a verb that never charges."""
    if any(" ".join(words[:size]) in FREE for size in (1, 2)):
        return ""
    try:
        if words[:1] and words[0] in _MORE:
            return _UNKNOWN
        return _charges_in_ledger(_folder(words), receipts, words)
    except (DiscreetError, OSError, KeyboardInterrupt):  # who presses it twice is in a hurry
        return _UNKNOWN


def retry_hint(words: list[str]) -> str:
    """How to have again what could not be printed. Whatever was charged is stored."""
    if any(" ".join(words[:size]) in FREE for size in (1, 2)):
        return "run the same command again with another output"
    if words[:1] == ["again"]:
        return "run discreet query with the same SQL: it returns the combined answer, free"
    if words[:1] == ["bounds"] and "--report" not in words:
        return "the bounds are in discreet.toml"
    if words[:2] == ["stream", "next"]:
        return "run discreet stream show with the same table and stream: it is free"
    left_out = [flag for flag in ("--fresh", "--next") if flag in words]
    without = f" without {' and '.join(left_out)}" if left_out else ""
    return f"run the same command{without}, with another output: the stored answer is free"


def _charges_in_ledger(folder: Path, receipts: list[str], words: list[str]) -> str:
    """Which of the charges that were asked for the ledger holds, and what the same command would do."""
    without = " without --fresh" if "--fresh" in words else ""
    project = discreet.open(folder)
    state = project.ledger.refresh()
    charges = [state.charges[id_] for id_ in receipts if id_ in state.charges]
    if not charges:
        return "; nothing was charged"
    each = [f"epsilon {exact.show(charge.price, up=True)} for {charge.id}" for charge in charges]
    stays = f"; this stays charged: {', '.join(each)}"
    unanswered = [charge.id for charge in charges if charge.id not in state.answers]
    if any(id_ in state.reservations for id_ in unanswered):
        return f"{stays}; run the same command{without} to continue, free"
    if words[:1] not in (["query"], ["ask"], ["again"]) or any(map(project.ledger.waits_for_answer, unanswered)):
        return stays
    if unanswered:
        return f"{stays}; it has no answer, so the same command is charged again"
    how = "discreet query with the same SQL shows it" if words[0] == "again" else f"the same command{without} shows it"
    return f"{stays}; the answer is stored: {how}, free"


def _folder(words: list[str]) -> Path:
    """The project that was named, else where we are."""
    for place, word in enumerate(words):
        if word == "--project" and place + 1 < len(words):
            return Path(words[place + 1])
        if word.startswith("--project="):
            return Path(word.removeprefix("--project="))
    return Path(".")
