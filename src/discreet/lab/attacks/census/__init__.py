"""Rebuild people from published tables (Garfinkel, Abowd and Martindale): the statistics become constraints, a solver
lists every block of people that fits, proves that there is no other, and says what is certain about each person."""

from discreet.lab.attacks.census.block_attack import attack, demo
from discreet.lab.attacks.census.block_file import read
from discreet.lab.attacks.census.certainty import CertainRecords, find_certain
from discreet.lab.attacks.census.conflict import StatisticsConflict, find_conflict
from discreet.lab.attacks.census.example_block import seven_people
from discreet.lab.attacks.census.published_block import (
    BlockColumn,
    BlockFact,
    CensusBlock,
    GroupCondition,
    PublishedStatistic,
)
from discreet.lab.attacks.census.published_range import PublishedRange
from discreet.lab.attacks.census.world_search import FittingWorlds, find_worlds

__all__ = [
    "BlockColumn",
    "BlockFact",
    "CensusBlock",
    "CertainRecords",
    "FittingWorlds",
    "GroupCondition",
    "PublishedRange",
    "PublishedStatistic",
    "StatisticsConflict",
    "attack",
    "demo",
    "find_certain",
    "find_conflict",
    "find_worlds",
    "read",
    "seven_people",
]
