"""Local protocols: CPU seconds of a million devices and of the collector, and the error beside its theory.

1,000 choices, epsilon 2, shares by Zipf's law (exponent 1.1). The peers run in environments of their own on as many
respondents as they can, and are multiplied. Errors over 20 runs, beside the variance that each estimate states.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from results import write_section

from discreet.local.choices import Choices
from discreet.local.hadamard import HadamardResponse
from discreet.local.hashing import FastHashing, LocalHashing
from discreet.local.rappor import Rappor
from discreet.local.response import RandomizedResponse
from discreet.local.sketch import CountMeanSketch, HadamardSketch
from discreet.local.subset import SubsetSelection
from discreet.local.unary import OptimisedUnary, SymmetricUnary

ROOT = Path(__file__).resolve().parent
PEERS = {"pure_ldp": "pure_ldp_local.py", "multi_freq_ldpy": "multi_freq_local.py"}
CHOICES, EPSILON, MILLION, RUNS, FEWER = 1000, 2, 1_000_000, 20, 100_000
#: What the issue asks for: clients and server.
LIMITS = {
    "response": (0.2, 0.05),
    "unary": (4, 0.5),
    "hashing": (0.3, 8),
    "sketch": (3, 1),
    "hadamard-sketch": (0.4, 0.1),
    "rappor": (4, 1),
}
WORDS = [f"word {place}" for place in range(CHOICES)]
SHARES = (1 / np.arange(1, CHOICES + 1) ** 1.1) / (1 / np.arange(1, CHOICES + 1) ** 1.1).sum()


def randomizers() -> list[Any]:
    listed = [
        RandomizedResponse,
        SymmetricUnary,
        OptimisedUnary,
        LocalHashing,
        FastHashing,
        SubsetSelection,
        HadamardResponse,
    ]
    made: list[Any] = [kind(WORDS, epsilon=EPSILON) for kind in listed]
    return [*made, CountMeanSketch(epsilon=EPSILON), HadamardSketch(epsilon=EPSILON), Rappor(epsilon=EPSILON)]


def asked(randomizer: Any, codes: Any) -> Any:
    """Answers as the randomizer takes them: places of choices, or words."""
    return codes if isinstance(randomizer, Choices) else np.array(WORDS, dtype=object)[codes].tolist()


def estimated(randomizer: Any, reports: Any) -> Any:
    return randomizer.estimate(reports) if isinstance(randomizer, Choices) else randomizer.estimate(reports, WORDS)


def timed(randomizer: Any, codes: Any) -> tuple[float, float]:
    values = asked(randomizer, codes)
    start = time.process_time()
    reports = randomizer.randomize_all(values)
    middle = time.process_time()
    estimated(randomizer, reports)
    return middle - start, time.process_time() - middle


def ratio(randomizer: Any, runs: int) -> float:
    """The mean squared error over the variance that is stated, over some runs of fewer respondents."""
    errors = stated = 0.0
    for run in range(runs):
        codes = np.random.default_rng([run, 5]).choice(CHOICES, size=FEWER, p=SHARES)
        found = estimated(randomizer, randomizer.randomize_all(asked(randomizer, codes)))
        errors += float(((found.counts - np.bincount(codes, minlength=CHOICES)) ** 2).mean())
        stated += float(found.variances.mean())
    return errors / stated


def peers() -> dict[str, Any]:
    order = json.dumps({"shares": SHARES.tolist(), "epsilon": EPSILON})
    found = {}
    for name, script in PEERS.items():
        command = [ROOT / ".peers" / name / "bin" / "python", ROOT / "peers" / script]
        told = subprocess.run(command, input=order, capture_output=True, text=True, check=False)
        found[name] = json.loads(told.stdout) if told.returncode == 0 else {}
    return found


def peer_cell(found: Any) -> str:
    if not isinstance(found, list):
        return "-" if found is None else f"- ({found})"
    return f"{found[0]:.2f} + {found[1]:.2f} ({found[2]:,} run)"


def main() -> None:
    quick = "--quick" in sys.argv
    codes = np.random.default_rng(1).choice(CHOICES, size=MILLION // (10 if quick else 1), p=SHARES)
    others = {name: {} for name in PEERS} if quick else peers()
    rows, over = [], []
    for randomizer in randomizers():
        name = randomizer.protocol
        client, server = timed(randomizer, codes)
        error = ratio(randomizer, 3 if quick else RUNS)
        cells = " | ".join(peer_cell(others[peer].get(name)) for peer in PEERS)
        wanted = LIMITS.get(name)
        limit = f"{wanted[0]} + {wanted[1]}" if wanted else ""
        rows.append(
            f"| {name} | **{client:.2f} + {server:.2f}** | {limit} | {error:.3f} | {randomizer.width} | {cells} |"
        )
        print(rows[-1], flush=True)
        if wanted and (client > wanted[0] or server > wanted[1]):
            over.append(f"{name} took {client:.2f} + {server:.2f} s")
        if not 0.9 <= error <= 1.1:
            over.append(f"{name}'s error is {error:.2f} of what it states")
    if quick:
        return
    text = (
        f"{CHOICES:,} choices, epsilon {EPSILON}, a million respondents: CPU seconds of all devices + of the collector. "
        f"Error: mean squared error over the stated variance, {RUNS} runs of {FEWER:,}. Peers in the same run, on fewer "
        "respondents, multiplied; a dash is what a peer does not have or could not do.\n\n"
        f"| protocol | Discreet | limit | error | bytes a report | {' | '.join(PEERS)} |\n|---|---|---|---|---|---|---|\n"
        + "\n".join(rows)
        + f"\n\nOver the limits: {'; '.join(over) or 'nothing'}."
    )
    write_section("local", text)
    if over:
        raise SystemExit("; ".join(over))


if __name__ == "__main__":
    main()
