"""Optimal full-domain generalisation: of all combinations of levels, the one that loses least.

Loss is the mean, over rows and quasi-identifiers, of the share of a column's other values that the release could mean
instead; 1 for each cell of a row that is left out. A release may leave out a given share of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import Flag, Message, UsageError
from discreet.lab.anonymize.column_codes import CodedColumn, Flags, Floats, Integers
from discreet.lab.anonymize.criteria import Criteria
from discreet.lab.anonymize.equivalence_classes import EquivalenceClasses, group_codes
from discreet.lab.anonymize.hierarchy import ValueHierarchy
from discreet.lab.anonymize.sensitive_spread import SensitiveSpread, measure_spread

Node = tuple[int, ...]
#: More combinations of levels than this are not searched.
MOST_NODES = 1_000_000
_UNKNOWN, _HOPELESS, _POSSIBLE = 0, 1, 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BestGeneralisation:
    """The best combination of levels, the rows that it keeps, what it loses, and how many combinations were tried."""

    node: Node
    kept: Flags
    loss: float
    nodes: int
    tried: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Outcome:
    """What one node gives. `hopeless`: neither it nor any node under it can do. `kept`: rows of the collapsed table."""

    hopeless: bool
    valid: bool
    loss: float
    kept: Flags


class LatticeSearch:
    """The lattice of one table and what is known of its nodes."""

    def __init__(
        self,
        columns: Sequence[CodedColumn],
        hierarchies: Sequence[ValueHierarchy],
        sensitive: Sequence[CodedColumn],
        criteria: Criteria,
        suppress: float,
    ) -> None:
        shape = tuple(len(hierarchy.levels) for hierarchy in hierarchies)
        if math.prod(shape) > MOST_NODES:
            raise UsageError(
                f"there are {math.prod(shape):,} combinations of levels; the search allows at most {MOST_NODES:,}",
                hint=Message(Flag("method", "mondrian"), ", fewer quasi-identifiers, or hierarchies with fewer levels"),
            )
        self._criteria = criteria
        checked_columns = sensitive if criteria.needs_sensitive else ()
        self._entries = _collapse(columns, checked_columns)
        self._weights = self._entries.sizes
        first = self._entries.first_rows()
        self._sensitive = [column.take(first) for column in checked_columns]
        self._rows = len(self._entries.ids)
        self._allowed = math.floor(suppress * self._rows + 1e-9)
        self._sizes = [[len(level.labels) for level in hierarchy.levels] for hierarchy in hierarchies]
        codes = [column.codes[first] for column in columns]
        self._groups = [[level.groups[c] for level in h.levels] for c, h in zip(codes, hierarchies, strict=True)]
        self._losses = [[level.loss()[c] for level in h.levels] for c, h in zip(codes, hierarchies, strict=True)]
        self._least = self._least_losses()
        self._node_states: npt.NDArray[np.int8] = np.zeros(shape, dtype=np.int8)
        self._outcomes: dict[Node, _Outcome] = {}
        self._best: tuple[float, Node] = (math.inf, ())

    def best(self) -> BestGeneralisation:
        """The valid node of the least loss; among equals, the first in the order of their levels.

        Because: a node's loss is at least what its levels lose before any row is left out, so nodes are taken in that
        order, and none after the best loss found can be better.
        """
        shape, least = self._node_states.shape, self._least.ravel()
        for place in np.argsort(least, kind="stable"):
            if least[place] > self._best[0]:
                break
            node = tuple(int(level) for level in np.unravel_index(place, shape))
            if self._node_states[node] == _UNKNOWN:
                self._bisect_path(node)
            if self._node_states[node] != _HOPELESS:
                self._evaluate(node)
        loss, node = self._best
        outcome = self._outcomes[node]
        return BestGeneralisation(
            node=node,
            kept=outcome.kept[self._entries.ids],
            loss=loss,
            nodes=self._node_states.size,
            tried=len(self._outcomes),
        )

    def _least_losses(self) -> Floats:
        """What the levels of each node lose before any row is left out: the sum over columns, as one array."""
        total = np.zeros((), dtype=np.float64)
        for losses in self._losses:
            means = np.array([float((loss * self._weights).sum()) / self._rows for loss in losses])
            total = total[..., None] + means
        return total / len(self._losses)

    def _bisect_path(self, node: Node) -> None:
        """Find, on one path from the node to the top, where hope begins: by halving, and tell its neighbours."""
        path = self._path(node)
        low, high = 0, len(path)
        while low < high:
            middle = (low + high) // 2
            if self._node_states[path[middle]] == _UNKNOWN:
                self._evaluate(path[middle])
            if self._node_states[path[middle]] == _HOPELESS:
                low = middle + 1
            else:
                high = middle

    def _path(self, node: Node) -> list[Node]:
        """From a node to the top, each step the one that loses least."""
        path = [node]
        while True:
            here = path[-1]
            above = [
                (*here[:place], level + 1, *here[place + 1 :])
                for place, level in enumerate(here)
                if level + 1 < self._node_states.shape[place]
            ]
            if not above:
                return path
            path.append(min(above, key=lambda step: float(self._least[step])))

    def _evaluate(self, node: Node) -> None:
        """Learn what a node gives, once, and what that says of the nodes under and over it."""
        if node in self._outcomes:
            return
        outcome = self._outcomes[node] = self._outcome(node)
        if outcome.hopeless:
            self._node_states[tuple(slice(0, level + 1) for level in node)] = _HOPELESS
            return
        self._node_states[tuple(slice(level, None) for level in node)] = _POSSIBLE
        if outcome.valid:
            self._best = min(self._best, (outcome.loss, node))

    def _outcome(self, node: Node) -> _Outcome:
        """Whether a node is hopeless, and what it keeps.

        Because generalising joins classes, it only adds rows and values to a class: a row whose class is too small or
        has too few values at a node is in such a class at every node under it. Entropy and distance do not have this
        property (a good class joined with a bad one may be bad), unless no row may be left out: then every class must
        do, and joined classes have no less entropy (it is concave) and no more distance (it is convex).
        """
        classes = self._classes(node)
        short = self._criteria.too_small(classes.sizes)
        column_spreads = [
            self._spread(classes, column, np.ones(len(classes.ids), dtype=bool)) for column in self._sensitive
        ]
        for one in column_spreads:
            short = short | (self._criteria.too_few(one) if self._allowed else self._criteria.falls_short(one))
        lost = int(classes.sizes[short].sum())
        kept = ~short[classes.ids]
        if lost > self._allowed:
            return _Outcome(hopeless=True, valid=False, loss=math.inf, kept=kept)
        kept = self._suppress_short_classes(classes, kept) if self._allowed and self._sensitive else kept
        lost = self._rows - int(self._weights[kept].sum())
        valid = lost <= self._allowed and lost < self._rows
        return _Outcome(hopeless=False, valid=valid, loss=self._loss(node, kept, lost), kept=kept)

    def _suppress_short_classes(self, classes: EquivalenceClasses, kept: Flags) -> Flags:
        """Leave out classes that fall short, until those that remain meet the criteria among themselves.

        Each round measures distance from the rows that are still kept, since those are the release; it ends early once
        more rows are left out than may be. (A cleverer choice of classes might leave out fewer.)
        """
        while kept.any() and self._rows - int(self._weights[kept].sum()) <= self._allowed:
            short = np.zeros(len(classes.sizes), dtype=bool)
            present = np.flatnonzero(np.bincount(classes.ids[kept], minlength=len(classes.sizes)))
            for column in self._sensitive:
                short[present] |= self._criteria.falls_short(self._spread(classes, column, kept))
            if not short.any():
                break
            kept = kept & ~short[classes.ids]
        return kept

    def _classes(self, node: Node) -> EquivalenceClasses:
        """The classes of the collapsed rows at a node, with the true number of rows in each."""
        codes = [groups[level] for groups, level in zip(self._groups, node, strict=True)]
        grouped = group_codes(codes, [sizes[level] for sizes, level in zip(self._sizes, node, strict=True)])
        sizes = np.bincount(grouped.ids, weights=self._weights, minlength=len(grouped.sizes))
        return EquivalenceClasses(ids=grouped.ids, sizes=sizes.astype(np.int64))

    def _spread(self, classes: EquivalenceClasses, column: CodedColumn, kept: Flags) -> SensitiveSpread:
        weights, codes = self._weights[kept], column.codes[kept]
        overall = np.bincount(codes, weights=weights, minlength=column.size).astype(np.int64)
        return measure_spread(
            classes.ids[kept], classes.sizes, codes, overall=overall, ordered=column.ordered, weights=weights
        )

    def _loss(self, node: Node, kept: Flags, lost: int) -> float:
        """What a node loses: what its levels lose, and for the rows left out the rest of their cells."""
        left_out = np.flatnonzero(~kept)
        weights = self._weights[left_out]
        cells = sum(
            float((losses[level][left_out] * weights).sum()) for losses, level in zip(self._losses, node, strict=True)
        )
        return float(self._least[node]) + (lost - cells / len(node)) / self._rows


def _collapse(columns: Sequence[CodedColumn], sensitive: Sequence[CodedColumn]) -> EquivalenceClasses:
    """Rows that agree in every column that matters, as one entry each."""
    every = [*columns, *sensitive]
    return group_codes([column.codes for column in every], [column.size for column in every])


def labels_at(
    node: Node, columns: Sequence[CodedColumn], hierarchies: Sequence[ValueHierarchy]
) -> list[tuple[Integers, Sequence[str]]]:
    """For each column, the group of every row at the node's level, and the groups' labels."""
    return [
        (hierarchy.levels[level].groups[column.codes], hierarchy.levels[level].labels)
        for level, column, hierarchy in zip(node, columns, hierarchies, strict=True)
    ]
