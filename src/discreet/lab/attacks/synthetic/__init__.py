"""Attacks on synthetic tables: whose row was in it, what a person hides, who can be singled out, who stands nearby.

Each is measured beside a control table of people who were not used. `attack` runs all of them on three tables;
`demo` runs them on generated people and on three ways of making synthetic data of them.
"""

from discreet.lab.attacks.synthetic.attack_suite import attack
from discreet.lab.attacks.synthetic.attribute_inference import inference
from discreet.lab.attacks.synthetic.coded_tables import CodedTables, code_tables
from discreet.lab.attacks.synthetic.generator_comparison import demo
from discreet.lab.attacks.synthetic.membership import density_ratio
from discreet.lab.attacks.synthetic.nearest_record import distances
from discreet.lab.attacks.synthetic.project_publisher import discreet_publisher
from discreet.lab.attacks.synthetic.shadow_models import shadow
from discreet.lab.attacks.synthetic.singling_out import multivariate, univariate

__all__ = [
    "CodedTables",
    "attack",
    "code_tables",
    "demo",
    "density_ratio",
    "discreet_publisher",
    "distances",
    "inference",
    "multivariate",
    "shadow",
    "univariate",
]
