"""The census attack: CPU seconds for all worlds of the block of seven, and the proof that there is no other."""

from __future__ import annotations

import time
from fractions import Fraction

from discreet.lab.attacks.census import find_worlds, seven_people

#: What is left out, means rounded to, how many worlds there are, CPU seconds allowed.
CASES = (
    ("all 14 statistics", (), "0.1", 1, 0.1),
    ("without 4A", ("4A",), "0.1", 2, 0.1),
    ("without 3B", ("3B",), "0.1", 22, 0.1),
    ("without 3B and 4A", ("3B", "4A"), "0.1", 76, 0.135),
    ("means rounded to whole years", (), "1", 26, 0.127),
)
RUNS = 5


def figures() -> list[tuple[str, float, float]]:
    """(what, CPU seconds, the most they may be); the best of a few runs, the solver loaded before."""
    find_worlds(seven_people())
    return [
        (f"census, {name}: {ways} worlds, s", _seconds(left_out, rounding, ways), most)
        for name, left_out, rounding, ways, most in CASES
    ]


def _seconds(left_out: tuple[str, ...], rounding: str, ways: int) -> float:
    best = float("inf")
    for _ in range(RUNS):
        started = time.process_time()
        found = find_worlds(seven_people(mean_rounding=Fraction(rounding)).without(left_out))
        best = min(best, time.process_time() - started)
        assert found.complete and len(found.worlds) == ways
    return best


if __name__ == "__main__":
    for what, seen, limit in figures():
        print(f"{what}: {seen:.3f} (at most {limit})")
