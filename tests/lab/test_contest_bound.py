"""A trait of somebody who is known to be there: two steps, not one. An answer that moves by two for one person shows it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.lab.attacks.contest import SERVERS, Contest, ServerOutcome, contest_evidence, count_right_guesses
from discreet.lab.evidence import best_under
from discreet.mechanisms.laplace import DiscreteLaplace
from noise.source import FixedBits

N = 40_000


def test_a_signed_sum_guesses_better_than_a_count_can():
    """+1 with the trait, -1 without: one row moves it by 1, so Laplace noise of scale 1 is epsilon 1; a trait by 2."""
    secrets = np.random.default_rng(5).random(N) < 0.5
    noise = np.asarray(DiscreteLaplace(scale=Fraction(1)).draw(N, bits=FixedBits(7)), dtype=float)
    answers = np.where(secrets, 1, -1) + noise
    share = count_right_guesses((answers + 1) / 2, secrets) / N
    assert best_under(1.0) + 0.03 < share < best_under(2.0)  # 0.80 expected; 0.002 a standard deviation
    rounds = [ServerOutcome(server=name, right=round(share * N), n=N, answered=1, refused=0) for name in SERVERS]
    found = contest_evidence(
        Contest(attack="differencing", server=SERVERS[0], epsilon=Fraction(1), steps=2),
        rounds,
        seconds=0.0,
        story=(),
        details={},
        picture=lambda bound: "",
    )
    assert not found.breaks and found.success > found.details["bound_of_counts"]
