"""Group privacy, measured: what epsilon promises to one person, it promises k times over to k people together.

Guarantee: whoever counts k people who share a trait, with all of an epsilon, sees no outcome more than exp(k epsilon)
    times as often where they have it as where they have not.
Because: the two tables are k steps apart, and each step changes the chance of any outcome by a factor of exp(epsilon)
    at most. Laplace noise on one count attains it: beyond the larger exact count, the factor is exactly that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import exact
from discreet.lab.attacks.servers import CountQuestion, discreet_server
from discreet.lab.evidence import clopper_pearson
from discreet.lab.worlds.target_places import TargetPlaces


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFactor:
    """How much likelier "all of them" was among those who have the trait: measured, surely at least, and at most."""

    people: int
    epsilon: Fraction
    bound: float
    measured: float | None
    at_least: float

    def to_data(self) -> dict[str, Any]:
        return {
            "people": self.people,
            "epsilon": float(self.epsilon * self.people),
            "factor_bound": self.bound,
            "factor_measured": self.measured,
            "factor_at_least": self.at_least,
        }

    @property
    def sentence(self) -> str:
        one, all_ = exact.show(self.epsilon), exact.show(self.epsilon * self.people)
        measured = f"{self.measured:,.3g} times"
        if self.measured is None:
            measured = "too few targets to measure it"
        return (
            f"What is epsilon {one} for one person is epsilon {self.people} x {one} = {all_} for the {self.people} "
            f"together: no outcome of a count may be more than e^{all_} = {self.bound:,.3g} times as likely if they "
            f"have the trait. Measured for a count of at least {self.people}: {measured}, and at least "
            f"{self.at_least:,.3g} at 95% confidence."
        )


def measure_factor(people: TargetPlaces, *, epsilon: Fraction) -> GroupFactor:
    """One count of each place's group by Discreet, with all of epsilon."""
    with discreet_server(people, budget=epsilon, epsilon=epsilon) as server:
        noisy_counts = server.ask(CountQuestion(whom="the target"))
    assert noisy_counts is not None
    reached = noisy_counts >= people.group
    secrets = people.secrets
    hits, have = int(np.count_nonzero(reached & secrets)), int(np.count_nonzero(secrets))
    slips, lack = int(np.count_nonzero(reached & ~secrets)), int(np.count_nonzero(~secrets))
    low = 0.0
    if have and lack:
        low = clopper_pearson(hits, have)[0] / clopper_pearson(slips, lack)[1]
    return GroupFactor(
        people=people.group,
        epsilon=epsilon,
        bound=math.exp(epsilon * people.group),
        measured=None if not (slips and have) else (hits / have) / (slips / lack),
        at_least=low,
    )
