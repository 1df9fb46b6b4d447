"""Attacks on synthetic tables: whose row was in it, what a person hides, who can be singled out, who stands nearby.

Each is measured beside a control table of people who were not used. `attack` runs all of them on three tables;
`demo` runs them on generated people and on three ways of making synthetic data of them.
"""

from discreet.lab.synthetic.attributes import inference
from discreet.lab.synthetic.coded import Coded, coded
from discreet.lab.synthetic.membership import density_ratio
from discreet.lab.synthetic.nearest import distances
from discreet.lab.synthetic.ours import publisher
from discreet.lab.synthetic.shadow import shadow
from discreet.lab.synthetic.singling import multivariate, univariate
from discreet.lab.synthetic.suite import attack
from discreet.lab.synthetic.three import demo

__all__ = [
    "Coded",
    "attack",
    "coded",
    "demo",
    "density_ratio",
    "distances",
    "inference",
    "multivariate",
    "publisher",
    "shadow",
    "univariate",
]
