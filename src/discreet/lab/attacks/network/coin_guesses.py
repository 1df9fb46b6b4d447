"""Guesses about a coin from what was published of a network, beside what each side of the coin would show."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.lab.attacks.contest import ServerOutcome, count_right_guesses
from discreet.lab.attacks.network.graphs import SmallGraph
from discreet.lab.attacks.network.network_project import open_network_project
from discreet.lab.attacks.network.tales import Tale
from discreet.mechanisms.bits import system
from discreet.mechanisms.laplace import DiscreteLaplace

if TYPE_CHECKING:
    from discreet.graph.project_network import Network
    from discreet.graph.statistics_release import GraphStats

Floats = NDArray[np.float64]
Coins = NDArray[np.bool_]

#: Up to here degrees are told by those who have no public rule of their own.
_DEGREES = tuple(range(1, 17))


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkStatistics:
    """The statistics of a network as numbers in a row: exact ones, of both networks of a tale.

    weights: how much each number tells, which is the smaller the noisier it is.
    """

    without: Floats
    with_it: Floats
    weights: Floats

    def guess(self, seen: Floats) -> float:
        """Above 1/2 for "it is there", 1/2 for "who knows". `seen` would be `without` or `with_it`, but for noise.

        Because: up to a factor the sum is the logarithm of how much likelier a number is on one side than on the other,
            where its noise is Laplace's: nothing that looks at the numbers one by one does better.
        """
        nearer = np.abs(seen - self.without) - np.abs(seen - self.with_it)
        return 0.5 + float(np.sign(nearer @ self.weights)) / 2


def exact_statistics(graph: SmallGraph, only: tuple[str, ...], degrees: tuple[int, ...] = _DEGREES) -> Floats:
    """What an owner publishes who adds no noise."""
    numbers: list[int] = []
    for name in only:
        match name:
            case "edges":
                numbers.append(len(graph.links))
            case "degrees":
                numbers.extend(graph.at_least(degrees))
            case _:
                numbers.append(graph.triangles)
    return np.array(numbers, dtype=np.float64)


def tale_statistics(tale: Tale, degrees: tuple[int, ...] = _DEGREES) -> NetworkStatistics:
    """Both networks of a tale; of what is told twice the first is taken off."""
    first, second = (exact_statistics(graph, tale.only, degrees) for graph in (tale.without, tale.with_it))
    off = first if tale.twice else np.zeros(len(first))
    return NetworkStatistics(without=first - off, with_it=second - off, weights=np.ones(len(first)))


def against_exact(tale: Tale, coins: Coins) -> ServerOutcome:
    """Against an owner who publishes exact statistics."""
    both = tale_statistics(tale)
    seen = [both.with_it if coin else both.without for coin in coins]
    return _round("exact", np.array([both.guess(each) for each in seen]), coins, tale)


def against_noisy(tale: Tale, coins: Coins, epsilon: Fraction) -> ServerOutcome:
    """Against one who adds noise to each number as if it were the only one, and one unit moved it by one at most."""
    both, law = tale_statistics(tale), DiscreteLaplace(scale=(2 if tale.twice else 1) / epsilon)

    def noise() -> Floats:
        times = 2 if tale.twice else 1
        return np.asarray(sum(law.draw(len(both.weights), bits=system()) for _ in range(times)), dtype=np.float64)

    seen = [(both.with_it if coin else both.without) + noise() for coin in coins]
    return _round("noisy, sensitivity 1", np.array([both.guess(each) for each in seen]), coins, tale)


def against_discreet(tale: Tale, coins: Coins, epsilon: Fraction) -> ServerOutcome:
    """Against Discreet. Every coin is a town of its own, whose whole budget is `epsilon`: its draws are new ones.

    Guarantee: the coin moves all that is told of one town by a factor of exp(epsilon) at most.
    Because: the two networks are neighbours, and the releases of a town cost epsilon together.
    """
    releases = 2 if tale.twice else 1
    each = epsilon / releases
    graphs = {"without": tale.without, "with_it": tale.with_it}
    with open_network_project(graphs, budget=epsilon * len(coins) + 1, limit=tale.limit) as project:
        networks = [project.graph(name) for name in graphs]

        def ask(coin: bool) -> GraphStats:
            return networks[coin].stats(epsilon=each, only=tale.only, fresh=True)

        noisy_statistics = [(ask(bool(coin)), ask(coin=False) if tale.twice else None) for coin in coins]
        both = _weighed_by_noise(tale, noisy_statistics[0][0], networks[0], each)
    seen = [
        _numbers(after, tale.only) - (0.0 if before is None else _numbers(before, tale.only))
        for after, before in noisy_statistics
    ]
    return _round("Discreet", np.array([both.guess(one) for one in seen]), coins, tale)


def _weighed_by_noise(tale: Tale, first: GraphStats, network: Network, epsilon: Fraction) -> NetworkStatistics:
    """Both networks as Discreet tells them, weighed by the noise, which is public."""
    both = tale_statistics(tale, () if first.degrees is None else first.degrees.at_least)
    widths = {
        part["name"]: part["plus_minus"] for part in network.plan(epsilon=epsilon, only=tale.only).to_data()["parts"]
    }
    counts = {"degrees": 0 if first.degrees is None else len(first.degrees.values)}
    weights = [1 / (widths[name] or 1) for name in tale.only for _ in range(counts.get(name, 1))]
    return NetworkStatistics(without=both.without, with_it=both.with_it, weights=np.array(weights))


def _numbers(stats: GraphStats, only: tuple[str, ...]) -> Floats:
    numbers: list[float] = []
    for name in only:
        statistic = getattr(stats, name)
        numbers.extend(statistic.values if name == "degrees" else [statistic.value])
    return np.array(numbers, dtype=np.float64)


def _round(server: str, guesses: Floats, coins: Coins, tale: Tale) -> ServerOutcome:
    answered = len(coins) * (2 if tale.twice else 1)
    return ServerOutcome(server=server, right=count_right_guesses(guesses, coins), n=len(coins), answered=answered)
