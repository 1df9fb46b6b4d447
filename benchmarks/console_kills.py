"""A console that is killed again and again while programs ask: what was charged, what was answered, and what the next try finishes."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from console_project import Session
from console_server import Client, ConsoleServer

import discreet
from discreet.exact import EPSILON_UNITS

PROGRAMS = 4
EPSILON = "0.01"
SQL = "select disease, count(*) n from patients group by disease"


@dataclass(slots=True, kw_only=True)
class LedgerFacts:
    """What a ledger says. charges, answers: ids. unfinished: charges that have neither an answer nor a failure."""

    charges: set[str]
    answers: set[str]
    unfinished: set[str]
    keys: int
    lost: Fraction
    sound: bool


@dataclass(slots=True, kw_only=True)
class KillRun:
    """What programs and ledger say of a run.

    answered: the release of each key that was answered while servers were killed. left: the keys whose connection broke,
    and the release that the one further try was answered with, at the end. before, after: the ledger before those tries
    and after them. repeats: answered keys that were asked again, at the very end, with what they were answered with.
    """

    kills: int
    answered: dict[str, str] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    odd: list[tuple[str, int]] = field(default_factory=list)
    repeats: dict[str, str] = field(default_factory=dict)
    before: LedgerFacts
    after: LedgerFacts


class Program(threading.Thread):
    """Asks under a new key each time, and leaves a key whose connection broke, until it is enough."""

    def __init__(self, server: ConsoleServer, session: Session, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.client = Client(server, session)
        self.answered: dict[str, str] = {}
        self.left: list[str] = []
        self.odd: list[tuple[str, int]] = []
        self.enough = threading.Event()

    def ask(self, key: str) -> tuple[int, str]:
        """A request under a key; its status and its release."""
        reply = self.client.call("query", {"sql": SQL, "epsilon": EPSILON, "fresh": True}, key=key)
        return reply.status, reply.data["release"] if reply.status == 200 else ""

    def run(self) -> None:
        number = 0
        while not self.enough.is_set():
            number += 1
            key = f"{self.name}-{number}"
            status, release = self.ask(key)
            if status == 200:
                self.answered[key] = release
            elif status == 0:
                self.left.append(key)
            else:
                self.odd.append((key, status))
                time.sleep(0.2)


def run_kills(folder: Path, sessions: Sequence[Session], *, kills: int) -> KillRun:
    """So many kills at random moments; every fifth may fall into the start of a server."""
    with ConsoleServer(folder, grid_ms=1) as server:
        programs = [Program(server, session, f"p{number}") for number, session in enumerate(sessions[1 : PROGRAMS + 1])]
        for program in programs:
            program.start()
        for number in range(kills):
            if number % 5:
                server.wait_until_ready()
                _await_another(programs)
            time.sleep(random.uniform(0, 0.3))
            server.stop(signal.SIGKILL)
            server.start()
        for program in programs:
            program.enough.set()
        for program in programs:
            program.join(300)
            assert not program.is_alive(), "a program hangs"
        server.stop()
        before = read_ledger(folder)
        server.start()
        server.wait_until_ready()
        run = KillRun(kills=kills, before=before, after=before)
        for program in programs:
            program.client.close()  # its connection was to the server that is gone
            run.answered |= program.answered
            run.odd += program.odd
            for key in program.left:
                status, run.left[key] = program.ask(key)
                run.odd += [(key, status)] if status != 200 else []
        for program in programs:
            run.repeats |= {key: program.ask(key)[1] for key in program.answered}
            program.client.close()
        server.stop()
    run.after = read_ledger(folder)
    return run


def read_ledger(folder: Path) -> LedgerFacts:
    """The ledger, from the disk."""
    project = discreet.open(folder)
    state: Any = project.ledger.refresh()
    (account,) = state.accounts.values()
    facts = LedgerFacts(
        charges=set(state.charges),
        answers=set(state.answers),
        unfinished=set(state.unfinished),
        keys=len(state.charge_of_key),
        lost=Fraction(account.total.pure, EPSILON_UNITS),
        sound=project.verify().sound,
    )
    project.ledger.close()
    return facts


def check_kills(run: KillRun) -> None:
    """Charges are answers and unfinished ones, and those finish at the next try, under the charge that there is."""
    before, after = run.before, run.after
    assert not run.odd, f"answers that nobody expects: {run.odd[:5]}"
    assert before.sound
    assert after.sound
    assert before.charges == before.answers | before.unfinished, "a charge that is neither answered nor unfinished"
    assert not before.answers & before.unfinished
    releases = {**run.answered, **run.left}
    assert len(releases) == len(run.answered) + len(run.left), "a key is both answered and left"
    assert len(set(releases.values())) == len(releases), "two keys have one release"
    assert set(run.answered.values()) <= before.answers, "an answer that left is not stored"
    assert before.unfinished <= set(run.left.values()), "an unfinished charge did not finish under its key"
    assert not after.unfinished
    assert after.charges == after.answers == set(releases.values()), "a charge that no key has"
    assert after.keys == len(releases)
    assert before.charges <= after.charges, "a charge is gone"
    assert after.lost == Fraction(EPSILON) * len(releases), "each key is paid once"
    assert run.repeats == run.answered, "an answered key has another answer"


def kills_text(run: KillRun) -> str:
    """What was seen, in words."""
    uncharged = len(run.after.charges) - len(run.before.charges)
    return (
        f"Killed {run.kills} times at random moments (kill -9) while {PROGRAMS} programs ask. Then the ledger has "
        f"{len(run.before.charges):,} charges: {len(run.before.answers):,} with an\nanswer and {len(run.before.unfinished):,} unfinished. "
        f"{len(run.answered):,} answers had arrived; {len(run.left):,} requests were lost, and each is sent once more under its key: "
        f"{len(run.before.unfinished):,} finish under\nthe charge that they had, {len(run.left) - uncharged - len(run.before.unfinished):,} "
        f"get the answer that was stored, {uncharged:,} had not been charged and are charged now. In the end {len(run.after.charges):,} charges, "
        f"{len(run.after.answers):,} answers and\n{run.after.keys:,} keys; epsilon {EPSILON} is lost for each, once. All "
        f"{len(run.repeats):,} answered keys, asked again, give the same release, free. The chain verifies."
    )


def _await_another(programs: Sequence[Program]) -> None:
    """Until a program has one more answer than now, however slow the machine is: else nothing is killed at work."""
    before, end = sum(len(program.answered) for program in programs), time.monotonic() + 60
    while sum(len(program.answered) for program in programs) == before and time.monotonic() < end:
        time.sleep(0.005)
