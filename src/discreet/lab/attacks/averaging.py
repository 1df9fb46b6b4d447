"""Averaging: ask the same question again and again; fresh noise cancels, the secret stays."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import UsageError
from discreet.lab import pictures
from discreet.lab.attacks.contest import (
    Contest,
    ServerOutcome,
    check_epsilon,
    check_server,
    check_targets,
    contest_evidence,
    count_blind_guesses,
    count_right_guesses,
)
from discreet.lab.attacks.servers import (
    CountQuestion,
    Counts,
    CountServer,
    DiscreetServer,
    ExactServer,
    NoisyServer,
    discreet_server,
)
from discreet.lab.evidence import Evidence
from discreet.lab.worlds.target_places import TargetPlaces, clinics, deal_rows

if TYPE_CHECKING:
    import pyarrow as pa

#: The budget holds this many fresh answers; a server that adds nothing up gives as many as are asked.
FRESH_ANSWERS = 4
#: Discreet is asked this often: beyond what the budget holds every further answer is refused.
DISCREET_ASKS = 12
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
    """Guess each target's bit from the mean of repeated answers, against three servers.

    Each noisy answer uses a quarter of `epsilon`; `epsilon` is the whole budget of the Discreet server.
    """
    start, total = time.process_time(), check_epsilon(epsilon)
    check_server(server)  # before the work
    if not 1 <= repeats <= MOST_REPEATS:
        raise UsageError(f"a query can be repeated 1 to {MOST_REPEATS:,} times, not {repeats:,}")
    check_targets(targets)
    people = clinics(targets) if table is None else deal_rows(table, trait, value, targets)
    exact, _ = _average_answers(ExactServer(people=people), people, 1)
    noisy_server = NoisyServer(exact=ExactServer(people=people), epsilon=total / FRESH_ANSWERS, reuses_noise=False)
    noisy, curve = _average_answers(noisy_server, people, repeats)
    ours, our_curve = _attack_discreet(people, total)
    return contest_evidence(
        Contest(attack="averaging", server=server, epsilon=total, steps=2),
        [exact, noisy, ours],
        seconds=time.process_time() - start,
        story=(
            f"The attacker repeats one query about one person {repeats:,} times: fresh noise averages out. Discreet "
            "returns its stored answer, and its ledger charges every fresh answer until the budget is spent.",
        ),
        details={
            "repeats": repeats,
            "epsilon_each": float(total / FRESH_ANSWERS),
            "curve": curve,
            "discreet_curve": our_curve,
        },
        picture=lambda bound: _picture(curve, our_curve, bound),
    )


def demo() -> Evidence:
    """The attack on generated clinics."""
    return attack()


def _average_answers(
    server: CountServer, people: TargetPlaces, times: int
) -> tuple[ServerOutcome, list[tuple[int, float]]]:
    """Ask `times` times for new noise, and guess from the mean; the share that is right on the way, too."""
    secrets, answered, curve = people.secrets, 0, []
    total = np.zeros(len(secrets))
    right = count_blind_guesses(secrets)
    for turn in range(1, times + 1):
        counts = server.ask(CountQuestion(whom="the target"), fresh=turn > 1)
        if counts is not None:
            answered, total = answered + 1, total + counts
        if turn & (turn - 1) == 0 or turn == times:
            right = count_right_guesses(total / answered, secrets) if answered else count_blind_guesses(secrets)
            curve.append((turn, right / len(secrets)))
    outcome = ServerOutcome(
        server=server.name, right=right, n=len(secrets), answered=answered, refused=times - answered
    )
    return outcome, curve


def _attack_discreet(people: TargetPlaces, epsilon: Fraction) -> tuple[ServerOutcome, list[tuple[int, float]]]:
    """The same against Discreet; first without asking for new noise, which only returns what it said before."""
    with discreet_server(people, budget=epsilon, epsilon=epsilon / FRESH_ANSWERS) as server:
        repeats = [server.ask(CountQuestion(whom="the target")) for _ in range(3)]
        _require_stored_answer(repeats, server)
        outcome, curve = _average_answers(server, people, DISCREET_ASKS)
    return replace(outcome, cached=server.cached), curve


def _require_stored_answer(repeats: list[Counts | None], server: DiscreetServer) -> None:
    """A repeat must be the stored answer: otherwise the ledger is being cheated, which is no evidence but a fault."""
    first = repeats[0]
    if first is None or any(each is None or not np.array_equal(each, first) for each in repeats):
        raise AssertionError(f"{server.name} did not return the stored answer")


def _picture(curve: list[tuple[int, float]], ours: list[tuple[int, float]], bound: float) -> str:
    turns = [turn for turn, _ in curve]
    flat = [next((share for turn, share in reversed(ours) if turn <= at), ours[0][1]) for at in turns]
    return pictures.curves(
        "Averaging: share of targets guessed right, by number of repeats",
        turns,
        {"noisy, no ledger": [share for _, share in curve], "Discreet": flat},
        across="repeats of one query",
        logarithmic=True,
        marks={"chance": 0.5, "bound": bound},
    )
