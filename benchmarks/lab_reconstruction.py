"""Reconstruction: CPU seconds, and bits got wrong, in percent."""

from __future__ import annotations

import time

import numpy as np

from discreet.lab.attacks.reconstruction import AnswerNoise, exhaustive, hadamard, reconstruct

TURNS = 5


def figures() -> list[tuple[str, float, float]]:
    """What, seen, limit."""
    chance = np.random.default_rng()
    seconds, wrong = [], []
    for _ in range(TURNS):
        secret = chance.random(2_000) < 0.5
        found = reconstruct(secret, queries=8_000, noise=AnswerNoise(multiple=0.25), method="squares", chance=chance)
        seconds.append(found.seconds)  # with making the questions and answering them
        wrong.append(100 * np.mean(found.bits != secret))
    return [
        ("squares, n = 2,000, m = 8,000, noise 0.25 sqrt(n): CPU s, median of 5", float(np.median(seconds)), 1.0),
        ("squares, the same: bits wrong, %, mean of 5", float(np.mean(wrong)), 0.1),
        ("Hadamard, n = 2,048, solving alone: CPU ms, mean of 100", _hadamard(chance), 5.0),
        ("exhaustive, n = 20, noise 0.25 sqrt(n): CPU s", _exhaustive(chance), 1.0),
    ]


def _hadamard(chance: np.random.Generator) -> float:
    answers = AnswerNoise(multiple=0.25).perturb(hadamard.counts(chance.random(2_048) < 0.5), 2_048, chance)
    began = time.process_time()
    for _ in range(100):
        hadamard.estimate(answers, 2_048)
    return 1_000 * (time.process_time() - began) / 100


def _exhaustive(chance: np.random.Generator) -> float:
    noise, people = AnswerNoise(multiple=0.25), exhaustive.MOST_PEOPLE
    return reconstruct(
        chance.random(people) < 0.5, queries=None, noise=noise, method="exhaustive", chance=chance
    ).seconds


if __name__ == "__main__":
    for what, seen, limit in figures():
        print(f"{what}: {seen:.3g} (limit {limit:g})")
