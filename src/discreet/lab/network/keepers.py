"""Keepers: people who live alone in their places. A table of links by place tells who knows whom.

The only one in a lighthouse and the only one in a mill: the number of links between the two places is 1 if they know
each other, and 0 if not. Nothing else need be known. All pairs of a network are attacked in one release, and each is a
number of its own.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.lab.contest import Round, guessed
from discreet.lab.network.graphs import Graph, town
from discreet.lab.network.guessing import Coins, Floats
from discreet.lab.network.owners import owner
from discreet.lab.network.tales import LINKS, MOST, PEOPLE
from discreet.mechanisms.bits import system
from discreet.mechanisms.laplace import DiscreteLaplace

#: Millers whom a keeper may know.
NEAR = 3
#: Two places for each keeper; an attribute has 256 values at most.
MOST_PAIRS, PAIRS = 120 * NEAR, 100 * NEAR
TOWNS = 8
TOLD = (
    "How many links there are between each two places. One person lives in a lighthouse and one in a mill: whether "
    "they know each other is one number of the table."
)


def against(coins: Coins, epsilon: Fraction) -> tuple[Round, Round, Round]:
    """The table from an owner without noise, from one who has noise for this table alone, and from Discreet."""
    exact = coins.astype(np.float64)
    noise = DiscreteLaplace(scale=1 / epsilon).draw(len(coins), bits=system())
    return (
        _round("exact", exact, coins),
        _round("noisy, sensitivity 1", exact + np.asarray(noise, dtype=np.float64), coins),
        _round("Discreet", _told(coins, epsilon), coins),
    )


def _told(coins: Coins, epsilon: Fraction) -> Floats:
    """What Discreet says of each pair, beside all else that it says of a network: the table is one of its statistics.

    Guarantee: a pair's coin moves all that is told by a factor of exp(epsilon) at most. Because: it is one link.
    """
    places = [f"town {number % TOWNS}" for number in range(PEOPLE)]
    for keeper in range(_keepers(coins)):
        places += [f"lighthouse {keeper}", f"mill {keeper}"]
    with owner({"links": linked(coins)}, budget=epsilon, places=places) as project:
        told = project.graph("links", nodes="people", by="place").stats(epsilon=epsilon).mixing
    assert told is not None
    where = {label: place for place, label in enumerate(told.labels)}
    return np.array(
        [told.edges[where[f"lighthouse {keeper}"]][where[f"mill {miller}"]].value for keeper, miller in _pairs(coins)],
        dtype=np.float64,
    )


def linked(coins: Coins) -> Graph:
    """A town; keepers and millers around it, who know one of it each; and each other, where the coin says so."""
    base = town(PEOPLE, LINKS, most=MOST)
    known = [(place % PEOPLE, PEOPLE + place) for place in range(2 * _keepers(coins))]
    pairs = [(PEOPLE + 2 * keeper, PEOPLE + 2 * miller + 1) for keeper, miller in _pairs(coins)]
    return base.plus(*known, *(pair for pair, coin in zip(pairs, coins, strict=True) if coin))


def _keepers(coins: Coins) -> int:
    """How many keepers, and millers, there are: enough that no pair comes twice."""
    return max(NEAR, -(-len(coins) // NEAR))


def _pairs(coins: Coins) -> list[tuple[int, int]]:
    """The keeper and the miller of each coin."""
    count = _keepers(coins)
    return [(number // NEAR, (number // NEAR + number % NEAR) % count) for number in range(len(coins))]


def _round(server: str, seen: Floats, coins: Coins) -> Round:
    return Round(server=server, right=guessed(seen, coins), n=len(coins), answered=1)
