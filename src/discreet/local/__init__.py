"""Local differential privacy: each answer is noised on the respondent's own device, and nobody is trusted.

>>> from discreet.local import RandomizedResponse
>>> coins = RandomizedResponse(["yes", "no"], epsilon=1.1)
>>> report = coins.randomize("yes")                                      # on the device
>>> coins.estimate([report]).interval(0.95)                              # doctest: +SKIP
"""

from __future__ import annotations

from discreet.local.device import Device, Donation
from discreet.local.estimate import Estimate, Mean
from discreet.local.hadamard import HadamardResponse
from discreet.local.hashing import FastHashing, LocalHashing
from discreet.local.numbers import Duchi
from discreet.local.puzzle import FragmentPuzzle
from discreet.local.randomizer import Randomizer
from discreet.local.rappor import BasicRappor, Rappor
from discreet.local.record import LaplaceRecord
from discreet.local.response import RandomizedResponse
from discreet.local.several import Sampled, Split
from discreet.local.shuffle import amplified, local_for
from discreet.local.sketch import CountMeanSketch, HadamardSketch
from discreet.local.subset import SubsetSelection
from discreet.local.tree import Tree
from discreet.local.unary import OptimisedUnary, SymmetricUnary
from discreet.local.window import Hybrid, Piecewise, SquareWave
from discreet.local.words import PrefixWords

__all__ = [
    "BasicRappor",
    "CountMeanSketch",
    "Device",
    "Donation",
    "Duchi",
    "Estimate",
    "FastHashing",
    "FragmentPuzzle",
    "HadamardResponse",
    "HadamardSketch",
    "Hybrid",
    "LaplaceRecord",
    "LocalHashing",
    "Mean",
    "OptimisedUnary",
    "Piecewise",
    "PrefixWords",
    "RandomizedResponse",
    "Randomizer",
    "Rappor",
    "Sampled",
    "Split",
    "SquareWave",
    "SubsetSelection",
    "SymmetricUnary",
    "Tree",
    "amplified",
    "local_for",
]
