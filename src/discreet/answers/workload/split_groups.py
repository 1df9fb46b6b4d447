"""What the groups of a batch would be where it is split: statements that a workload measures apart may share there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.answers.workload.query_batch import QueryBatch, group_weight, statistic_weights
from discreet.sql.parsed_query import ParsedQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitGroup:
    """What a group of a batch would be where the batch is split: a group of its own, or part of a larger one.

    `share`: of epsilon, for all of the larger group; `part`: how much of that its own numbers have there. `is_part`:
    whether it is only a part.
    """

    whole: ParsedQuery
    share: Fraction
    part: Fraction
    is_part: bool

    def place_of(self, query: ParsedQuery, index: int) -> int:
        """Where a statistic of the group stands in the larger one."""
        return self.whole.inquiry.statistics.index(query.inquiry.statistics[index])


def split_groups(
    batch: QueryBatch, queries: Sequence[ParsedQuery], split: Sequence[ParsedQuery] | None, epsilon: Fraction
) -> list[SplitGroup]:
    """For each group of a batch what it would be in a split one. `split`: the same statements, as they share there."""
    other = batch if split is None else QueryBatch.of(split)
    shares = other.epsilons(epsilon)
    place_of = {id(query): place for place, group in enumerate(other.groups) for query in group}
    twin = {id(query): query if split is None else split[number] for number, query in enumerate(queries)}
    groups = []
    for group in batch.groups:
        place = place_of[id(twin[id(group[0])])]
        whole = other.whole(other.groups[place])
        is_part = len(other.groups[place]) > len(group)
        part = _part(whole, batch.whole(group)) if is_part else Fraction(1)
        groups.append(SplitGroup(whole=whole, share=shares[place], part=part, is_part=is_part))
    return groups


def _part(whole: ParsedQuery, own: ParsedQuery) -> Fraction:
    """How much of what a group spends goes to the numbers of some of its statements."""
    weights = statistic_weights(whole)
    places = [whole.inquiry.statistics.index(each) for each in own.inquiry.statistics]
    weight = (sum(weights[place] for place in places) + len(own.inquiry.quantiles)) * len(own.inquiry.sets)
    return min(Fraction(1), Fraction(round(100 * weight), 100) / group_weight(whole))
