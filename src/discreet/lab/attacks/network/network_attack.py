"""Networks: is there this link, is there this person? From exact statistics, from badly noised ones, and from ours."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from discreet.errors import Flag, Message, UsageError
from discreet.lab import pictures
from discreet.lab.attacks.contest import Contest, ServerOutcome, check_epsilon, check_server, contest_evidence
from discreet.lab.attacks.network import alice, coin_guesses, keepers
from discreet.lab.attacks.network.tales import TALE_MAKERS, TALES
from discreet.lab.evidence import Evidence

#: Towns, each with a coin of its own: every one of them asks Discreet once or twice.
TOWNS, MOST_TOWNS = 60, 2_000


def attack(
    *, tale: str = "keepers", epsilon: object = 1, targets: int | None = None, server: str = "exact"
) -> Evidence:
    """Guess from published statistics which of two networks is real: they differ by one link, or by one person.

    A person comes with all their links. Three servers answer: exact statistics; noise on each number as if it were the
    only one and changed by at most 1; Discreet, called by its public API with a budget of `epsilon` for each guess.
    """
    start, total = time.process_time(), check_epsilon(epsilon)
    check_server(server)  # before the work
    coins = np.random.default_rng().random(_targets(tale, targets)) < 0.5
    details: dict[str, Any] = {"tale": tale}
    rounds: tuple[ServerOutcome, ...]
    if tale == "alice":
        outcome = alice.AliceOutcome(coins, total)
        rounds, story, what = outcome.rounds, outcome.story, "link, or a person,"
        details["questions"] = outcome.to_data()
    elif tale == "keepers":
        rounds, story, what = keepers.attack_owners(coins, total), (keepers.STORY,), "link"
        details["unit"] = "edge"
    else:
        made = TALE_MAKERS[tale]()
        rounds = (
            coin_guesses.against_exact(made, coins),
            coin_guesses.against_noisy(made, coins, total),
            coin_guesses.against_discreet(made, coins, total),
        )
        story, what = (made.story,), "link" if made.unit == "edge" else "person"
        details["unit"] = made.unit
    shares = {each.server: each.share for each in rounds}
    return contest_evidence(
        Contest(attack="network", server=server, epsilon=total, steps=1),
        rounds,
        seconds=time.process_time() - start,
        story=story,
        details=details,
        picture=lambda bound: pictures.bars(
            f"Networks: is a {what} there? Share guessed right, total epsilon {float(total):g}",
            shares,
            marks={"chance": 0.5, "bound": bound},
        ),
    )


def demo() -> Evidence:
    """Are Alice and Bob connected, and is Alice in the network at all?"""
    return attack(tale="alice")


def _targets(tale: str, targets: int | None) -> int:
    """How many coins, checked."""
    if tale not in TALES:
        raise UsageError(f"there is no scenario {tale!r}", hint=Message(Flag("tale"), f" {', '.join(TALES)}"))
    usual, most = {"keepers": (keepers.PAIRS, keepers.MOST_PAIRS), "alice": (2 * TOWNS, MOST_TOWNS)}.get(
        tale, (TOWNS, MOST_TOWNS)
    )
    count = usual if targets is None else targets
    if tale == "alice" and count % 2:
        raise UsageError(
            f"the scenario 'alice' asks two questions equally often: the number of targets must be even, not {count:,}",
            hint=Message(Flag("targets", count + 1)),
        )
    if not 2 <= count <= most:
        raise UsageError(f"the scenario {tale!r} takes 2 to {most:,} targets, not {count:,}")
    return count
