"""Exact totals of a plan: which of them the owner lets be published, and how they are counted. Public facts alone.

An exact total is an owner's to give away, for it costs everybody: `invariants` of the table in discreet.toml says
which. A plan only says that it wants them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Command, Message, Refused
from discreet.mechanisms.strategy.node_tables import NodeStrategy
from discreet.schema.schema import EVERYBODY, Schema, totals_named
from discreet.tables.publish.place_hierarchy import PlaceHierarchy
from discreet.tables.publish.plan_file import PublicationPlan

#: What exact totals cost, in the words of every message.
COSTS = "every charge counts double, permanently, and presence is not protected"


def exact_level(plan: PublicationPlan) -> int | None:
    """The lowest level whose totals are exact; those above it are its sums."""
    return max((plan.level_names.index(name) for name in plan.invariants), default=None)


def level_totals(plan: PublicationPlan, level: int) -> str:
    """What the totals of a level are of, as an owner declares it: the table's column, and where its values lie.

    A level has whatever name a plan gives it; what it is made of has one.
    """
    hierarchy = plan.hierarchy
    if level == 0 or hierarchy is None:
        return EVERYBODY
    if hierarchy.columns:
        return totals_named(hierarchy.columns[level - 1])
    assert hierarchy.column is not None
    if hierarchy.source is not None:
        return totals_named(hierarchy.column, f"{hierarchy.source}.{hierarchy.levels[level - 1]}")
    if hierarchy.prefix is not None and level <= len(hierarchy.prefix):
        return totals_named(hierarchy.column, str(hierarchy.prefix[level - 1]))
    return totals_named(hierarchy.column)


def refuse_undeclared(plan: PublicationPlan, schema: Schema, places: PlaceHierarchy) -> None:
    """Refuse exact totals that the owner has not declared.

    Because: what is published are functions of declared totals. Totals of all rows are sums of any; a public table and
    prefixes put each value of a column in one place, so theirs are sums of the column's; and a place that its own label
    does not tell, such as a value of one column inside one of another, is refused: its totals are of both at once.
    """
    level = exact_level(plan)
    if level is None:
        return
    totals_name = level_totals(plan, level)
    enough = (
        schema.invariants if level == 0 else {totals_name, totals_name.partition(" > ")[0]} & set(schema.invariants)
    )
    if not enough:
        raise Refused(
            f"{plan.where}: only the data owner can publish exact totals, and those of {plan.level_names[level]!r} are "
            "not declared",
            hint=Message(
                f'invariants = ["{totals_name}"] in [tables.{schema.table}] of discreet.toml, then ',
                Command("refresh", schema.table),
                f"; once they are published, {COSTS}",
            ),
        )
    if level and len(set(places.labels[level - 1])) < places.tree.sizes[level]:
        raise Refused(
            f"{plan.where}: exact totals of {plan.level_names[level]!r} would count each of its values within each "
            "level above, which is more than was declared",
            hint="a level whose values each belong to one place of the level above, such as a code",
        )


def totals_of(places: PlaceHierarchy, level: int) -> tuple[NodeStrategy, NDArray[np.int64]]:
    """The number of rows of each place of a level, all of them; and where each node's stands among them.

    Places stand in the order in which the values of the axes name them first, so that every plan that has this level
    counts the same, whatever lies above it.
    """
    nodes = places.nodes(level)
    _, firsts = np.unique(nodes, return_index=True)
    rank = np.empty(len(firsts), dtype=np.int64)
    rank[np.argsort(firsts)] = np.arange(len(firsts))
    counted = NodeStrategy(places=rank[nodes], nodes=len(firsts), groups=np.zeros(1, dtype=np.int64), kinds=1)
    return counted, rank
