"""Alice and Bob: are they connected, and is Alice in the network at all? The two facts that must stay hidden.

The attacker knows the whole network but for the one fact, and sees the number of links. They guess by the ratio of the
two likelihoods: no attacker who sees the same number does better. Each fact is a fair coin.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from discreet.lab.attacks.contest import ServerOutcome
from discreet.lab.attacks.network import coin_guesses
from discreet.lab.attacks.network.coin_guesses import Coins
from discreet.lab.attacks.network.graphs import random_town
from discreet.lab.attacks.network.tales import LINKS, MOST, NEW, PEOPLE, Tale
from discreet.lab.evidence import best_under, percent


def connected() -> Tale:
    """Alice and Bob may know each other; all other links are known. A link is protected."""
    base = random_town(PEOPLE, LINKS, most=MOST)
    bob = next(other for other in range(1, PEOPLE) if (0, other) not in base.links)
    return Tale(
        without=base,
        with_it=base.with_links((0, bob)),
        unit="edge",
        only=("edges",),
        twice=False,
        story="Are Alice and Bob connected?",
    )


def member() -> Tale:
    """Alice may be in the network, with all her links. A person is protected."""
    base = random_town(PEOPLE, LINKS, most=MOST)
    return Tale(
        without=base,
        with_it=base.with_links(*((friend, PEOPLE) for friend in range(NEW))),
        unit="node",
        only=("edges",),
        twice=False,
        story="Is Alice in the network?",
    )


QUESTIONS: tuple[Callable[[], Tale], ...] = (connected, member)


class AliceOutcome:
    """Both questions against three owners: without noise, with noise for a number that moves by 1, and Discreet."""

    def __init__(self, coins: Coins, epsilon: Fraction) -> None:
        """Of the coins the first half is for the first question."""
        self.epsilon = epsilon
        halves = (coins[: len(coins) // 2], coins[len(coins) // 2 :])
        self.questions = [
            (tale, _against_all(tale, half, epsilon))
            for tale, half in zip((make() for make in QUESTIONS), halves, strict=True)
        ]

    @property
    def rounds(self) -> tuple[ServerOutcome, ...]:
        """Both questions together."""
        return tuple(_both(*pair) for pair in zip(*(rounds for _, rounds in self.questions), strict=True))

    @property
    def story(self) -> tuple[str, ...]:
        """A line for each question, and what no attacker exceeds."""
        lines = []
        for tale, rounds in self.questions:
            unit = (
                "a link is protected" if tale.unit == "edge" else f"a person with up to {tale.limit} links is protected"
            )
            shares = "; ".join(f"{each.server}: {percent(each.share)}" for each in rounds)
            lines.append(f"{tale.story} Guessed right: {shares} ({unit}; {rounds[0].n:,} networks).")
        epsilon = float(self.epsilon)
        return (
            *lines,
            "The attacker knows all the rest of the network and compares how likely the published number of links is "
            "with and without the fact. No attacker who sees that number does better.",
            f"At epsilon {epsilon:g} at most e^epsilon / (1 + e^epsilon) = {percent(best_under(epsilon))} can be "
            "guessed right.",
        )

    def to_data(self) -> list[dict[str, Any]]:
        """Each question, as JSON has it."""
        bound = best_under(float(self.epsilon))
        return [
            {
                "question": tale.story,
                "unit": tale.unit,
                "bound": bound,
                "servers": [each.to_data(bound) for each in rounds],
            }
            for tale, rounds in self.questions
        ]


def _against_all(tale: Tale, coins: Coins, epsilon: Fraction) -> tuple[ServerOutcome, ...]:
    return (
        coin_guesses.against_exact(tale, coins),
        coin_guesses.against_noisy(tale, coins, epsilon),
        coin_guesses.against_discreet(tale, coins, epsilon),
    )


def _both(one: ServerOutcome, other: ServerOutcome) -> ServerOutcome:
    return ServerOutcome(
        server=one.server, right=one.right + other.right, n=one.n + other.n, answered=one.answered + other.answered
    )
