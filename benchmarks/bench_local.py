"""Local protocols: CPU seconds of a million devices and of the collector, and the error beside its theory.

1,000 choices, epsilon 2, shares by Zipf's law (exponent 1.1). The peers run in environments of their own on as many
respondents as they can, and their time is multiplied; of memory that would say nothing. Errors over 20 runs, beside the
variance that each estimate states.
`--quick`: a tenth of the respondents, and 3 runs.
"""

from __future__ import annotations

import math
import sys
import time
from typing import Any

import numpy as np
import peer
from records import BELOW_LIMITS, Record, ours, write
from results import write_section
from usage import peak_mib, start_of_peak

from discreet.surveys.protocols.choice_randomizer import ChoiceRandomizer
from discreet.surveys.protocols.hadamard import HadamardResponse
from discreet.surveys.protocols.local_hash import FastHashing, LocalHashing
from discreet.surveys.protocols.randomized_response import RandomizedResponse
from discreet.surveys.protocols.rappor import Rappor
from discreet.surveys.protocols.sketch import CountMeanSketch, HadamardSketch
from discreet.surveys.protocols.subset_selection import SubsetSelection
from discreet.surveys.protocols.unary import OptimisedUnary, SymmetricUnary

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
PROTOCOLS = (
    "response",
    "symmetric-unary",
    "unary",
    "hashing",
    "fast-hashing",
    "subset",
    "hadamard",
    "sketch",
    "hadamard-sketch",
    "rappor",
)
ERROR = "standard error of a count / sqrt(respondents)"
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
    return codes if isinstance(randomizer, ChoiceRandomizer) else np.array(WORDS, dtype=object)[codes].tolist()


def estimated(randomizer: Any, reports: Any) -> Any:
    return (
        randomizer.estimate(reports)
        if isinstance(randomizer, ChoiceRandomizer)
        else randomizer.estimate(reports, WORDS)
    )


def timed(randomizer: Any, codes: Any) -> tuple[float, float, float]:
    """CPU seconds of all devices and of the collector, and the MiB that both added."""
    values = asked(randomizer, codes)
    before = start_of_peak()
    start = time.process_time()
    reports = randomizer.randomize_all(values)
    middle = time.process_time()
    estimated(randomizer, reports)
    return middle - start, time.process_time() - middle, max(0.0, peak_mib() - before)


def errors_of(randomizer: Any, runs: int) -> tuple[float, float]:
    """Over some runs of fewer respondents: the mean squared error over the variance that is stated; and its root over
    the root of the respondents, which is how a peer's error on fewer is compared."""
    errors = stated = 0.0
    for run in range(runs):
        codes = np.random.default_rng([run, 5]).choice(CHOICES, size=FEWER, p=SHARES)
        found = estimated(randomizer, randomizer.randomize_all(asked(randomizer, codes)))
        errors += float(((found.counts - np.bincount(codes, minlength=CHOICES)) ** 2).mean())
        stated += float(found.variances.mean())
    return errors / stated, math.sqrt(errors / runs / FEWER)


def peer_records(name: str, people: int) -> tuple[dict[str, Any], list[Record]]:
    """What a peer told of each protocol, and its records; a protocol that it does not have is a dash."""
    order = {"shares": SHARES.tolist(), "epsilon": EPSILON}
    try:
        found = peer.ask(name, PEERS[name], order, limit_s=1800)
    except peer.Silent as why:
        return {}, [peer.silent(name, "local", _case(each, people), why) for each in PROTOCOLS]
    records = []
    for protocol in PROTOCOLS:
        match found.get(protocol):
            case None:
                why = peer.Silent("cannot", "does not have this protocol")
                records.append(peer.silent(name, "local", _case(protocol, people), why))
            case str() as reason:
                records.append(peer.silent(name, "local", _case(protocol, people), peer.Silent("failed", reason)))
            case told:
                figures = {"cpu_s": (told["client_s"] + told["server_s"]) * people / MILLION}
                if "error" in told:
                    # A mean over the choices: the squares of about as many independent numbers.
                    figures |= {"error": told["error"], "error_name": ERROR, "uncertainty": 1 / math.sqrt(2 * CHOICES)}
                records.append(peer.record(name, "local", _case(protocol, people), **figures))
    return found, records


def _case(protocol: str, people: int) -> str:
    return f"{protocol}, {people:,} respondents"


def peer_cell(found: Any) -> str:
    return (
        f"{found['client_s']:.2f} + {found['server_s']:.2f} ({found['people']:,} run)"
        if isinstance(found, dict)
        else "–"
    )


def main() -> None:
    quick = "--quick" in sys.argv
    people = MILLION // (10 if quick else 1)
    codes = np.random.default_rng(1).choice(CHOICES, size=people, p=SHARES)
    others, records = {}, []
    for name in PEERS:
        others[name], told = peer_records(name, people)
        records += told
    rows, over = [], []
    for randomizer in randomizers():
        name = randomizer.protocol
        client, server, peak = timed(randomizer, codes)
        ratio, error = errors_of(randomizer, 3 if quick else RUNS)
        cells = " | ".join(peer_cell(others[each].get(name)) for each in PEERS)
        wanted = LIMITS.get(name)
        limit = f"{wanted[0]} + {wanted[1]}" if wanted else ""
        rows.append(
            f"| {name} | **{client:.2f} + {server:.2f}** | {limit} | {ratio:.3f} | {randomizer.width} | {cells} |"
        )
        print(rows[-1], flush=True)
        figures = {"cpu_s": client + server, "peak_mib": peak, "error": error, "error_name": ERROR}
        records.append(ours("local", _case(name, people), **figures, uncertainty=0.03 if quick else 0.01))
        if not quick and wanted and (client > wanted[0] or server > wanted[1]):
            over.append(f"{name} took {client:.2f} + {server:.2f} s")
        if not 0.9 <= ratio <= 1.1:
            over.append(f"{name}'s error is {ratio:.2f} of what it states")
    text = (
        f"{CHOICES:,} choices, epsilon {EPSILON}, {people:,} respondents: CPU seconds of all devices + of the collector. "
        f"Error: mean squared error over the stated variance, {3 if quick else RUNS} runs of {FEWER:,}. Peers in the same "
        "run, on fewer respondents, multiplied up to a million; a dash is what a peer does not have or could not do.\n\n"
        f"| protocol | Discreet | limit | error | bytes a report | {' | '.join(PEERS)} |\n|---|---|---|---|---|---|---|\n"
        + "\n".join(rows)
        + f"\n\nOver the limits: {'; '.join(over) or 'nothing'}."
    )
    write_section("local", text, quick=quick)
    write("local", records, missed=over, quick=quick)
    if over:
        print("; ".join(over), file=sys.stderr)
        raise SystemExit(BELOW_LIMITS)


if __name__ == "__main__":
    main()
