"""Mironov's attack: how much one output tells, and what trying it costs."""

from __future__ import annotations

import time

from discreet.lab.attacks.floats import demo, discreet_laplace, floats


def figures() -> list[tuple[str, float, float]]:
    """What, seen, limit."""
    began = time.process_time()
    found = demo()
    seconds = time.process_time() - began
    ours = max(
        floats(discreet_laplace, values=values, scale=1000, n=20_000).success for values in ((0, 1), (1000, 1001))
    )
    return [
        ("floats, numpy at 0 or 1, scale 10: outputs not named, %", 100 - 100 * found.details["certain_and_right"], 20),
        ("floats, numpy: outputs named wrongly, %", 100 * found.details["certain_and_wrong"], 0.03),
        ("floats, Discreet at scale 1,000: guessed right, % (chance 50)", 100 * ours, 52),
        ("floats, 40,000 outputs and three readers: CPU s", seconds, 0.2),
    ]


if __name__ == "__main__":
    for what, seen, limit in figures():
        print(f"{what}: {seen:.3g} (limit {limit:g})")
