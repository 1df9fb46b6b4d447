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
    """How much likelier "all of them" was among those who have the trait: measured, with its interval, and allowed.

    Guarantee: the exact ratio is in the interval with 95% confidence.
    Because: it divides the ends of two Clopper-Pearson intervals of 97.5% each: it misses only where one of them does.
    `at_most` is None where no target without the trait was counted so: then nothing bounds the ratio from above.
    """

    people: int
    epsilon: Fraction
    bound: float
    measured: float | None
    at_least: float
    at_most: float | None

    def to_data(self) -> dict[str, Any]:
        return {
            "people": self.people,
            "epsilon": float(self.epsilon * self.people),
            "factor_bound": self.bound,
            "factor_measured": self.measured,
            "factor_at_least": self.at_least,
            "factor_at_most": self.at_most,
        }

    @property
    def sentence(self) -> str:
        one, all_ = exact.show(self.epsilon), exact.show(self.epsilon * self.people)
        measured = f"too few targets to measure it; at least {_figure(self.at_least)} at 95% confidence"
        if self.measured is not None and self.at_most is not None:
            interval = f"{_figure(self.at_least)} to {_figure(self.at_most)} at 95% confidence"
            measured = f"{_figure(self.measured)} times ({interval})"
        return (
            f"What is epsilon {one} for one person is epsilon {self.people} x {one} = {all_} for the {self.people} "
            f"together: no outcome of a count may be more than e^{all_} = {_figure(self.bound)} times as likely if "
            f"they have the trait. Measured for a count of at least {self.people}: {measured}."
        )


def _figure(factor: float) -> str:
    """Three digits, or whole from a thousand on."""
    return f"{factor:,.3g}" if factor < 1000 else f"{factor:,.0f}"


def measure_factor(people: TargetPlaces, *, epsilon: Fraction) -> GroupFactor:
    """One count of each place's group by Discreet, with all of epsilon."""
    with discreet_server(people, budget=epsilon, epsilon=epsilon) as server:
        noisy_counts = server.ask(CountQuestion(whom="the target"))
    assert noisy_counts is not None
    reached = noisy_counts >= people.group
    secrets = people.secrets
    hits, have = int(np.count_nonzero(reached & secrets)), int(np.count_nonzero(secrets))
    slips, lack = int(np.count_nonzero(reached & ~secrets)), int(np.count_nonzero(~secrets))
    low, high = 0.0, None
    if have and lack:
        with_trait, without = (clopper_pearson(*each, 0.975) for each in ((hits, have), (slips, lack)))
        low = with_trait[0] / without[1]
        high = with_trait[1] / without[0] if without[0] else None
    return GroupFactor(
        people=people.group,
        epsilon=epsilon,
        bound=math.exp(epsilon * people.group),
        measured=None if not (slips and have) else (hits / have) / (slips / lack),
        at_least=low,
        at_most=high,
    )
