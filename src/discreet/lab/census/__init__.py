"""Rebuild people from published tables (Garfinkel, Abowd and Martindale): the statistics become constraints, a solver
lists every block of people that fits, proves that there is no other, and says what is certain about each person."""

from discreet.lab.census.attack import attack, demo
from discreet.lab.census.block import seven
from discreet.lab.census.certain import Certain, certain
from discreet.lab.census.conflict import Conflict, conflict
from discreet.lab.census.file import read
from discreet.lab.census.model import Block, Column, Condition, Fact, Statistic
from discreet.lab.census.solve import Found, worlds
from discreet.lab.census.span import Span

__all__ = [
    "Block",
    "Certain",
    "Column",
    "Condition",
    "Conflict",
    "Fact",
    "Found",
    "Span",
    "Statistic",
    "attack",
    "certain",
    "conflict",
    "demo",
    "read",
    "seven",
    "worlds",
]
