"""Keepers: people who live alone in their places. A table of links by place tells who knows whom.

The only one in a lighthouse and the only one in a mill: the number of links between the two places is 1 if they know
each other, and 0 if not. Nothing else need be known. All pairs of a network are attacked in one release, and each is a
number of its own.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.lab.attacks.contest import ServerOutcome, count_right_guesses
from discreet.lab.attacks.network.coin_guesses import Coins, Floats
from discreet.lab.attacks.network.graphs import SmallGraph, random_town
from discreet.lab.attacks.network.network_project import open_network_project
from discreet.lab.attacks.network.tales import LINKS, MOST, PEOPLE
from discreet.mechanisms.bits import system
from discreet.mechanisms.laplace import DiscreteLaplace

#: Millers whom a keeper may know.
NEAR = 3
#: Two places for each keeper; an attribute has 256 values at most.
MOST_PAIRS, PAIRS = 120 * NEAR, 100 * NEAR
TOWNS = 8
STORY = (
    "The table counts the links between each two places. One person lives in a lighthouse and one in a mill: one "
    "number of the table shows whether they know each other."
)


def attack_owners(coins: Coins, epsilon: Fraction) -> tuple[ServerOutcome, ServerOutcome, ServerOutcome]:
    """The table from an owner without noise, from one who has noise for this table alone, and from Discreet."""
    exact = coins.astype(np.float64)
    noise = DiscreteLaplace(scale=1 / epsilon).draw(len(coins), bits=system())
    return (
        _round("exact", exact, coins),
        _round("noisy, sensitivity 1", exact + np.asarray(noise, dtype=np.float64), coins),
        _round("Discreet", _noisy_link_counts(coins, epsilon), coins),
    )


def _noisy_link_counts(coins: Coins, epsilon: Fraction) -> Floats:
    """What Discreet says of each pair, beside all else that it says of a network: the table is one of its statistics.

    Guarantee: a pair's coin moves all that is told by a factor of exp(epsilon) at most. Because: it is one link.
    """
    places = [f"town {number % TOWNS}" for number in range(PEOPLE)]
    for keeper in range(_keepers(coins)):
        places += [f"lighthouse {keeper}", f"mill {keeper}"]
    with open_network_project({"links": linked_graph(coins)}, budget=epsilon, places=places) as project:
        mixing = project.graph("links", nodes="people", by="place").stats(epsilon=epsilon).mixing
    assert mixing is not None
    where = {label: place for place, label in enumerate(mixing.labels)}
    return np.array(
        [
            mixing.edges[where[f"lighthouse {keeper}"]][where[f"mill {miller}"]].value
            for keeper, miller in _pairs(coins)
        ],
        dtype=np.float64,
    )


def linked_graph(coins: Coins) -> SmallGraph:
    """A town; keepers and millers around it, who know one of it each; and each other, where the coin says so."""
    base = random_town(PEOPLE, LINKS, most=MOST)
    town_links = [(place % PEOPLE, PEOPLE + place) for place in range(2 * _keepers(coins))]
    pairs = [(PEOPLE + 2 * keeper, PEOPLE + 2 * miller + 1) for keeper, miller in _pairs(coins)]
    return base.with_links(*town_links, *(pair for pair, coin in zip(pairs, coins, strict=True) if coin))


def _keepers(coins: Coins) -> int:
    """How many keepers, and millers, there are: enough that no pair comes twice."""
    return max(NEAR, -(-len(coins) // NEAR))


def _pairs(coins: Coins) -> list[tuple[int, int]]:
    """The keeper and the miller of each coin."""
    count = _keepers(coins)
    return [(number // NEAR, (number // NEAR + number % NEAR) % count) for number in range(len(coins))]


def _round(server: str, seen: Floats, coins: Coins) -> ServerOutcome:
    return ServerOutcome(server=server, right=count_right_guesses(seen, coins), n=len(coins), answered=1)
