"""Scoreboard-RH at 20,000 users: CPU milliseconds a target, and how many are missed of those that it should find."""

from __future__ import annotations

import time

from discreet.lab.attacks.rating_records import index_ratings
from discreet.lab.attacks.ratings import attack
from discreet.lab.worlds.rating_service import make_ratings


def figures() -> list[tuple[str, float, float]]:
    """What, seen, limit."""
    began = time.process_time()
    table = make_ratings()
    make_s = time.process_time() - began
    began = time.process_time()
    records = index_ratings(table)
    index_s = time.process_time() - began
    eight = attack(records, targets=2_000)
    two = attack(records, count=2, wrong=0, days=3, targets=2_000)
    return [
        ("ratings, 20,000 users, 8 known: CPU ms a target", 1e3 * eight.details["seconds_per_target"], 1.0),
        ("ratings, 2 known: CPU ms a target", 1e3 * two.details["seconds_per_target"], 1.0),
        ("ratings, index of 2 million: CPU s", index_s, 2.0),
        ("ratings, making the service: CPU s", make_s, 5.0),
        ("ratings, 8 known: points from 99%", abs(100 * eight.success - 99), 2.0),
        ("ratings, 2 known: points from 68%", abs(100 * two.success - 68), 5.0),
    ]


if __name__ == "__main__":
    for what, seen, limit in figures():
        print(f"{what}: {seen:.3g} (limit {limit:g})")
