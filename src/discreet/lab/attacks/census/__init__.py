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
    "CensusBlock",
    "CertainRecords",
    "BlockColumn",
    "GroupCondition",
    "StatisticsConflict",
    "BlockFact",
    "FittingWorlds",
    "PublishedRange",
    "PublishedStatistic",
    "attack",
    "find_certain",
    "find_conflict",
    "demo",
    "read",
    "seven_people",
    "find_worlds",
]
