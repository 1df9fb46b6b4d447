"""Linkage and sampling at a million rows. CPU seconds, and shares in percent."""

from __future__ import annotations

import time

from discreet.lab.attacks import linkage, sampling
from discreet.lab.worlds.state import make_state


def figures() -> list[tuple[str, float, float]]:
    """What, seen, limit."""
    state = make_state(1_000_000)
    began = time.process_time()
    linked = linkage.link(state.people, state.voters, on=["zip", "birth", "sex"], truth="person")
    link_s = time.process_time() - began
    began = time.process_time()
    sampling.expose(sampling.draw_sample(state.people, 0.01, seed=1), state.people, on=["zip", "birth", "sex"])
    sample_s = time.process_time() - began
    assert linked.n == 1_000_000
    return [
        ("linkage, 1,000,000 rows to 640,000 names, four sets of columns: CPU s", link_s, 2.0),
        ("sampling, 1% of 1,000,000: CPU s", sample_s, 1.0),
    ]


if __name__ == "__main__":
    for what, seen, limit in figures():
        print(f"{what}: {seen:.3g} (limit {limit:g})")
