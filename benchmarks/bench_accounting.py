"""Our filters against dp_accounting's PLD accountant: on random event lists ours is never below it.

The peer, "dp_accounting", runs in its own environment. `--quick`: 20 lists instead of 200. `--write` refreshes tests/accounting/fixtures/pld.json, which
the test suite checks without the peer.
"""

from __future__ import annotations

import json
import random
import sys
import time
from fractions import Fraction
from pathlib import Path

import peer
from records import ours as our_record
from records import write
from results import write_section

from discreet.accounting.events import GaussianEvent, LaplaceEvent, loss
from discreet.accounting.zcdp_conversion import epsilon_from_rho

ROOT = Path(__file__).resolve().parent.parent
FIXTURE = ROOT / "tests" / "accounting" / "fixtures" / "pld.json"


def make_cases(count: int) -> list[dict]:
    source = random.Random(20261115)
    cases = []
    for _ in range(count):
        events = []
        for _ in range(source.randint(1, 6)):
            kind = source.choice(["laplace", "laplace", "gaussian"])
            scale = round(10 ** source.uniform(0, 2), 3) * (3 if kind == "gaussian" else 1)
            events.append([kind, round(scale, 3), source.choice([1, 1, 2, 5, 20, 100])])
        cases.append({"events": events, "delta": source.choice([1e-4, 1e-6, 1e-9])})
    return cases


def ours(case: dict) -> float:
    """The smaller of the pure sum and the converted zCDP sum."""
    losses = []
    for kind, scale, times in case["events"]:
        exact_scale = Fraction(repr(scale))
        event = (
            LaplaceEvent(scale=exact_scale, l1=1)
            if kind == "laplace"
            else GaussianEvent(sigma2=exact_scale**2, l2_squared=1)
        )
        losses += [loss(event)] * times
    rho = sum(part.rho for part in losses)
    bounds = [epsilon_from_rho(rho, Fraction(repr(case["delta"])))]
    if all(part.epsilon is not None for part in losses):
        bounds.append(sum(part.epsilon for part in losses))
    return float(min(bounds))


def main() -> None:
    quick = "--quick" in sys.argv
    try:
        pld = peer.ask("dp_accounting", "dp_accounting_lists.py", make_cases(20 if quick else 200))
    except peer.Silent as why:
        sys.exit(f"dp_accounting did not answer ({why.outcome}): {why.reason}")
    start = time.process_time()
    ratios = sorted(ours(case) / case["pld"] for case in pld["cases"])
    seconds = time.process_time() - start
    if "--write" in sys.argv:
        FIXTURE.write_text(json.dumps(pld["cases"], indent=None, separators=(",", ":")) + "\n")
    text = (
        "Random lists of Laplace and Gaussian events, epsilon at delta 1e-4 to 1e-9, ours over PLD (dp_accounting "
        "0.6.0; PLD is tighter but no filter: it needs the plan in advance). Its pessimistic value is rounded up to a grid "
        "of 1e-4, so ratios a little below 1 are its rounding; ours is never below its optimistic value.\n\n"
        "| lists | smallest ratio | median | largest | ours CPU s | PLD CPU s |\n|---|---|---|---|---|---|\n"
        f"| {len(ratios)} | {ratios[0]:.4f} | {ratios[len(ratios) // 2]:.3f} | {ratios[-1]:.3f} "
        f"| {seconds:.3f} | {pld['cpu_s']:.1f} |\n"
    )
    print(text)
    write_section("accounting", text, quick=quick)
    case, name = f"epsilon of {len(ratios)} lists of events", "median of epsilon / PLD's epsilon"
    figures = {"cpu_s": seconds, "error": ratios[len(ratios) // 2], "error_name": name}
    other = {"cpu_s": pld["cpu_s"], "peak_mib": pld["peak_mib"], "error": 1.0, "error_name": name}
    records = [our_record("accounting", case, **figures), peer.record("dp_accounting", "accounting", case, **other)]
    write("accounting", records, quick=quick)
    if min(ours(case) - case["pld_low"] for case in pld["cases"]) < 0:
        sys.exit("our accounting fell below PLD: a defect")


if __name__ == "__main__":
    main()
