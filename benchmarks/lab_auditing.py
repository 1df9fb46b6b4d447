"""Query auditing: CPU seconds of the sum auditor, and of Boolean audits as people grow more."""

from __future__ import annotations

import time

import numpy as np

from discreet.lab.query_auditing import SumAuditor, boolean_auditor


def figures() -> list[tuple[str, float, float]]:
    """What, seen, limit."""
    chance = np.random.default_rng()
    seconds = []
    for _ in range(5):
        asked = chance.random((400, 200)) < 0.5
        began = time.process_time()
        auditor = SumAuditor(200)
        verdicts = [auditor.ask(question) for question in asked]
        seconds.append(time.process_time() - began)
        assert verdicts.count("deny") > 0 and not auditor.span.exposed()
    grown = dict(boolean_auditor.measure_growth((16, 32, 48), chance=chance))
    return [
        ("sum auditor, n = 200, 400 random sums: CPU s, median of 5", float(np.median(seconds)), 0.2),
        *((f"Boolean audit, {people} people: CPU s (no limit: coNP)", spent, 60.0) for people, spent in grown.items()),
    ]


if __name__ == "__main__":
    for what, seen, limit in figures():
        print(f"{what}: {seen:.3g} (limit {limit:g})")
