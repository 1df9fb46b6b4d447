"""A limit on the edges of a node, chosen privately where none is declared.

A small limit cuts edges off, a large one asks for noise in proportion. Both are weighed at once: by the generalised
exponential mechanism of Raskhodnikova and Smith (2016), since each limit's count of edges moves as far as that limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.network.exact_graph import ExactGraph
from discreet.engines.network.projection import project
from discreet.mechanisms.exponential import ExponentialMechanism

#: The limits that are weighed.
CANDIDATES = tuple(2**power for power in range(13))

#: Scores are ratios, in such parts; floors of them, so that they are whole.
_PARTS = 1024

#: The chance, about, that a limit is chosen that is far too large.
_RARELY = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class DegreeLimitChoice:
    """What is chosen from, by which epsilon. `price`: how many edges cut off weigh as much as a limit that is 1 larger.

    Guarantee: epsilon-differentially private for one node, and (epsilon^2 / 8)-zCDP.
    Because: let E_i be the number of edges of the projection to D_i, which one node moves by at most D_i. A candidate
        scores -max_j floor(PARTS ((E_j - price D_j) - (E_i - price D_i)) / (D_i + D_j)). In each ratio one node moves
        the numerator by at most D_i + D_j, so the ratio by at most 1, its floor in parts by at most PARTS, and so the
        largest of them. The exponential mechanism does the rest (docs/proofs/graph-stats.md).
    """

    epsilon: Fraction
    price: int
    candidates: tuple[int, ...] = CANDIDATES

    @staticmethod
    def of(epsilon: Fraction) -> DegreeLimitChoice:
        """A choice at an epsilon: a limit pays if it brings more edges than the choice itself may miss."""
        return DegreeLimitChoice(
            epsilon=epsilon, price=math.ceil(2 * math.log(len(CANDIDATES) / _RARELY) / float(epsilon))
        )

    def mechanism(self) -> ExponentialMechanism:
        return ExponentialMechanism(epsilon=self.epsilon, sensitivity=_PARTS)

    def exact_scores(self, graph: ExactGraph) -> NDArray[np.int64]:
        """The exact scores, for a draw alone."""
        exact_worth = [
            count - self.price * limit for count, limit in zip(self._counts(graph), self.candidates, strict=True)
        ]
        return np.array([-self._behind(place, exact_worth) for place in range(len(self.candidates))], dtype=np.int64)

    def _behind(self, place: int, exact_worth: list[int]) -> int:
        """How far a candidate is behind the best of the others, each weighed by how far the two move."""
        own = self.candidates[place]
        return max(
            _PARTS * (worth - exact_worth[place]) // (own + limit)
            for worth, limit in zip(exact_worth, self.candidates, strict=True)
        )

    def _counts(self, graph: ExactGraph) -> list[int]:
        """The number of edges of each projection. Where one cuts nothing off, no larger one does."""
        exact_all = len(graph.exact_from)
        exact_counts: list[int] = []
        for limit in self.candidates:
            whole = bool(exact_counts) and exact_counts[-1] == exact_all
            exact_counts.append(exact_all if whole else len(project(graph, limit).exact_from))
        return exact_counts

    def to_data(self) -> dict[str, Any]:
        return {"epsilon": str(self.epsilon), "price": self.price, "candidates": list(self.candidates)}
