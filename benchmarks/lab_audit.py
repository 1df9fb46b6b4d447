"""The audit: power, false alarms, and CPU seconds."""

from __future__ import annotations

import time

import numpy as np

from discreet.lab.privacy_audit import audit, lower_bound, one_run_audit
from discreet.lab.privacy_audit.epsilon_lower_bound import count_output_set

REPEATS = 400


def figures() -> list[tuple[str, float, float]]:
    """What, seen, limit."""
    generator = np.random.default_rng(5)  # samples of a benchmark: they protect nobody
    caught = {each: _caught(each, generator) for each in (1.0, 1.25, 1.5)}
    return [
        ("audit, 10,000 samples: 1.5 missed where 1 is claimed, %", 100 - caught[1.5], 5),
        ("audit, 10,000 samples: 1.25 missed where 1 is claimed, %", 100 - caught[1.25], 13.5),
        ("audit, 10,000 samples: false alarms, %", caught[1.0], 1),
        ("audit, a lower bound from 10,000 samples: CPU ms", _bound_ms(generator), 10),
        ("audit, one run of 10,000 canaries: CPU ms", _one_run_ms(generator), 5),
        ("audit, all, quick: CPU s", _seconds(quick=True), 15),
        ("audit, all: CPU s", _seconds(quick=False), 60),
    ]


def _worlds(epsilon, generator, size=10_000):
    return generator.laplace(0, 1 / epsilon, size), generator.laplace(1, 1 / epsilon, size)


def _caught(epsilon, generator):
    return (
        100 * sum(count_output_set(*_worlds(epsilon, generator)).p_value(1.0) <= 0.01 for _ in range(REPEATS)) / REPEATS
    )


def _bound_ms(generator):
    worlds = _worlds(1.0, generator)
    began = time.process_time()
    for _ in range(50):
        lower_bound(*worlds)
    return 1000 * (time.process_time() - began) / 50


def _one_run_ms(generator):
    included = generator.random(10_000) < 0.5
    scores = included + generator.laplace(0, 1, 10_000)
    began = time.process_time()
    for _ in range(20):
        guessed = one_run_audit.guess_canaries(scores, 2_500)
        right = int((guessed == np.where(included, 1, -1)).sum())
        one_run_audit.lower_bound(right, 2_500, canaries=10_000)
    return 1000 * (time.process_time() - began) / 20


def _seconds(*, quick):
    return audit(quick=quick).seconds


if __name__ == "__main__":
    for what, seen, limit in figures():
        print(f"{what}: {seen:.3g} (limit {limit:g})")
