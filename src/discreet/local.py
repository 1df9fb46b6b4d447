"""Local differential privacy: each answer gets its noise on the respondent's own device, so nobody need be trusted.

>>> from discreet.local import RandomizedResponse
>>> coins = RandomizedResponse(["yes", "no"], epsilon=1.1)
>>> report = coins.randomize("yes")                                      # on the device
>>> coins.estimate([report]).interval(0.95)                              # doctest: +SKIP
"""

from __future__ import annotations

from discreet.surveys.device.respondent_device import Device, Donation
from discreet.surveys.protocols.estimate import Estimate, Mean
from discreet.surveys.protocols.fragment_puzzle import FragmentPuzzle
from discreet.surveys.protocols.grid_numbers import Duchi
from discreet.surveys.protocols.hadamard import HadamardResponse
from discreet.surveys.protocols.interval_tree import Tree
from discreet.surveys.protocols.laplace_record import LaplaceRecord
from discreet.surveys.protocols.local_hash import FastHashing, LocalHashing
from discreet.surveys.protocols.prefix_words import PrefixWords
from discreet.surveys.protocols.protocol_registry import best_protocol
from discreet.surveys.protocols.randomized_response import RandomizedResponse, TwoCoins
from discreet.surveys.protocols.randomizer import Randomizer
from discreet.surveys.protocols.rappor import BasicRappor, Rappor
from discreet.surveys.protocols.several_questions import Sampled, Split
from discreet.surveys.protocols.shuffle_amplification import amplified, local_for
from discreet.surveys.protocols.sketch import CountMeanSketch, HadamardSketch
from discreet.surveys.protocols.subset_selection import SubsetSelection
from discreet.surveys.protocols.unary import OptimisedUnary, SymmetricUnary
from discreet.surveys.protocols.window_mechanism import Hybrid, Piecewise, SquareWave

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
    "TwoCoins",
    "amplified",
    "best_protocol",
    "local_for",
]
