"""Averaging: ask the same question again and again; fresh noise cancels, the secret stays."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import UsageError
from discreet.lab import pictures
from discreet.lab.contest import Round, blind, epsilon_of, evidence, guessed, server_of, targets_of
from discreet.lab.evidence import Evidence
from discreet.lab.servers import Counted, Counts, DiscreetServer, ExactServer, NoisyServer, Server, discreet_server
from discreet.lab.worlds.places import Places, clinics, dealt

if TYPE_CHECKING:
    import pyarrow as pa

#: The budget holds this many fresh answers; a server that adds nothing up gives as many as are asked.
HELD = 4
#: Discreet is asked this often: beyond what the budget holds every further answer is refused.
TRIES = 12
MOST_REPEATS = 10_000


def attack(
    table: pa.Table | None = None,
    *,
    trait: str = "",
    value: str | None = None,
    epsilon: object = 1,
    repeats: int = 1_000,
    targets: int = 1_000,
    server: str = "noisy",
) -> Evidence:
    """Guess each target's bit from the mean of repeated answers, against the three servers.

    Each noisy answer is private for a quarter of `epsilon`, which is Discreet's whole budget.
    """
    start, total = time.process_time(), epsilon_of(epsilon)
    server_of(server)  # before the work
    if not 1 <= repeats <= MOST_REPEATS:
        raise UsageError(f"a question can be repeated 1 to {MOST_REPEATS:,} times, not {repeats:,}")
    targets_of(targets)
    people = clinics(targets) if table is None else dealt(table, trait, value, targets)
    exact, _ = _averaged(ExactServer(people=people), people, 1)
    noisy_server = NoisyServer(exact=ExactServer(people=people), epsilon=total / HELD, sticky=False)
    noisy, curve = _averaged(noisy_server, people, repeats)
    ours, our_curve = _ours(people, total)
    return evidence(
        "averaging",
        [exact, noisy, ours],
        server=server,
        epsilon=total,
        steps=2,
        seconds=time.process_time() - start,
        story=(
            f"One question about one person, asked {repeats:,} times: fresh noise averages away. Discreet repeats its "
            "stored answer, and a ledger counts every fresh one until the budget is gone.",
        ),
        details={"repeats": repeats, "epsilon_each": float(total / HELD), "curve": curve, "discreet_curve": our_curve},
        picture=lambda bound: _picture(curve, our_curve, bound),
    )


def demo() -> Evidence:
    """The attack on generated clinics."""
    return attack()


def _averaged(server: Server, people: Places, times: int) -> tuple[Round, list[tuple[int, float]]]:
    """Ask `times` times for new noise, and guess from the mean; the share that is right on the way, too."""
    secrets, answered, curve = people.secrets, 0, []
    total = np.zeros(len(secrets))
    right = blind(secrets)
    for turn in range(1, times + 1):
        counts = server.ask(Counted(whom="the target"), fresh=turn > 1)
        if counts is not None:
            answered, total = answered + 1, total + counts
        if turn & (turn - 1) == 0 or turn == times:
            right = guessed(total / answered, secrets) if answered else blind(secrets)
            curve.append((turn, right / len(secrets)))
    found = Round(server=server.name, right=right, n=len(secrets), answered=answered, refused=times - answered)
    return found, curve


def _ours(people: Places, epsilon: Fraction) -> tuple[Round, list[tuple[int, float]]]:
    """The same against Discreet; first without asking for new noise, which only returns what it said before."""
    with discreet_server(people, budget=epsilon, epsilon=epsilon / HELD) as server:
        said = [server.ask(Counted(whom="the target")) for _ in range(3)]
        _same(said, server)
        found, curve = _averaged(server, people, TRIES)
    return replace(found, cached=server.cached), curve


def _same(said: list[Counts | None], server: DiscreetServer) -> None:
    """A repeat must be the stored answer: otherwise the ledger is being cheated, which is no evidence but a fault."""
    first = said[0]
    if first is None or any(each is None or not np.array_equal(each, first) for each in said):
        raise AssertionError(f"{server.name} did not return the stored answer")


def _picture(curve: list[tuple[int, float]], ours: list[tuple[int, float]], bound: float) -> str:
    turns = [turn for turn, _ in curve]
    flat = [next((share for turn, share in reversed(ours) if turn <= at), ours[0][1]) for at in turns]
    return pictures.curves(
        "Averaging: the target's bit guessed after so many repeats",
        turns,
        {"noisy, no ledger": [share for _, share in curve], "Discreet": flat},
        across="repeats of one question",
        logarithmic=True,
        marks={"chance": 0.5, "bound": bound},
    )
