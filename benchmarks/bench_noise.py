"""CPU seconds for a million draws: ours, the integer-only reference, "opendp", "diffprivlib", and numpy's unsafe floats.

Each runs in a process of its own, the peers in their own environments. What is too slow for a million draws is timed on
fewer and multiplied; the text says so. `--quick`: fewer scales, draws and repeats.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import peer
from records import BELOW_LIMITS, OURS, Record, write
from results import write_section
from summary import figure

from discreet.mechanisms.bits import system
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace

WORKER = Path(__file__).resolve().parent / "noise_worker.py"
LAWS = ("Laplace", "Gaussian")
SCALES = (1, 10, 10**3, 10**6)
QUICK_SCALES = (10, 10**6)
MILLION = 10**6
#: CPU seconds that a million of ours may take, at scales 10, 1e3 and 1e6.
LIMITS = {"Laplace": 0.06, "Gaussian": 0.13}


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawer:
    """Who draws, how many at a time and how often. `own`: as noise_worker.py calls it; `yardstick`: no rival."""

    name: str
    draws: int
    quick_draws: int
    repeats: int
    own: str = ""
    peer: str = ""
    yardstick: bool = False


DRAWERS = (
    Drawer(name=OURS, own="discreet", draws=MILLION, quick_draws=MILLION, repeats=5),
    Drawer(name="reference", own="reference", draws=4_000, quick_draws=1_000, repeats=2, yardstick=True),
    Drawer(name="OpenDP", peer="opendp", draws=100_000, quick_draws=20_000, repeats=2),
    Drawer(name="diffprivlib", peer="diffprivlib", draws=5_000, quick_draws=1_000, repeats=2),
    Drawer(name="numpy, unsafe", own="numpy", draws=MILLION, quick_draws=MILLION, repeats=5, yardstick=True),
)


def measured(drawer: Drawer, cases: list[tuple[str, int]], *, quick: bool) -> list[Record]:
    """A record for each case."""
    draws, most_s = (drawer.quick_draws, 5) if quick else (drawer.draws, 20)
    order = {"cases": cases, "draws": draws, "repeats": drawer.repeats, "most_s": most_s}
    known = peer.version(drawer.peer) if drawer.peer else version("numpy" if drawer.own == "numpy" else "discreet")
    names = [f"{law}, scale {scale:,}" for law, scale in cases]
    about: dict[str, Any] = {
        "benchmark": "noise",
        "system": drawer.name,
        "version": known,
        "yardstick": drawer.yardstick,
    }
    try:
        if drawer.peer:
            found = peer.ask(drawer.peer, f"{drawer.peer}_noise.py", order)
        else:
            found = peer.told([sys.executable, str(WORKER), drawer.own], order, limit_s=900)
    except peer.Silent as why:
        return [Record(case=name, outcome=why.outcome, reason=why.reason, **about) for name in names]
    return [Record(case=name, **told, **about) for name, told in zip(names, found, strict=True)]


def small_draws() -> str:
    """What the answers of a small question wait for."""
    bits, parts = system(), []
    for law, mechanism in zip(
        LAWS, (DiscreteLaplace(scale=Fraction(10)), DiscreteGaussian(sigma2=Fraction(100))), strict=True
    ):
        times = []
        for cells in (1, 50, 20_000):
            spent = []
            for _ in range(50):
                start = time.process_time()
                mechanism.draw(cells, bits=bits)
                spent.append(1e3 * (time.process_time() - start))
            times.append(min(spent))
        parts.append(f"{law} {times[0]:.3f}, {times[1]:.3f} and {times[2]:.2f} ms")
    return "For 1, 50 and 20,000 cells at scale 10: " + "; ".join(parts) + "."


def text_of(records: list[Record], cases: list[tuple[str, int]], *, quick: bool) -> str:
    """A row for each law and scale, and what the columns are."""
    found = {(record.case, record.system): record for record in records}
    rows = []
    for law, scale in cases:
        own = found[f"{law}, scale {scale:,}", OURS]
        cells = [_cell(found[f"{law}, scale {scale:,}", drawer.name], own) for drawer in DRAWERS]
        rows.append(f"| {law} | {scale:,} | {' | '.join(cells)} |")
    counted = "; ".join(f"{each.name} {each.quick_draws if quick else each.draws:,}" for each in DRAWERS)
    reasons = {f"{record.system}: {record.reason}" for record in records if record.reason}
    return "\n".join(
        [
            "CPU seconds for a million draws in one process, and as a multiple of ours; sigma is the Gaussian's scale. The "
            "reference is Canonne, Kamath and Steinke's integer sampler as written in mechanisms/reference_sampler.py; OpenDP draws on "
            "vectors of whole numbers; diffprivlib draws one at a time, by floats; numpy is float noise that leaks (Mironov "
            f"2012) from a generator that can be predicted. So many draws were timed: {counted}.",
            "",
            f"| law | scale | {' | '.join(drawer.name for drawer in DRAWERS)} |",
            "|---|---:|" + "---:|" * len(DRAWERS),
            *rows,
            "",
            *sorted(reasons),
            small_draws(),
        ]
    )


def _cell(record: Record, own: Record) -> str:
    if record.cpu_s is None:
        return "–"
    if record is own or not own.cpu_s:
        return f"**{record.cpu_s:.4f}**"
    times = record.cpu_s / own.cpu_s
    return f"{figure(record.cpu_s)} ({times:,.{0 if times >= 10 else 1}f}x)"


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    cases = list(product(LAWS, QUICK_SCALES if quick else SCALES))
    records = [record for drawer in DRAWERS for record in measured(drawer, cases, quick=quick)]
    missed = [
        f"{record.case}: {record.reason or f'{record.cpu_s:.3f} CPU s, more than {LIMITS[law]}'}"
        for (law, scale), record in zip(cases, records, strict=False)
        if record.cpu_s is None or (scale > 1 and record.cpu_s > LIMITS[law])
    ]
    text = text_of(records, cases, quick=quick)
    print(text)
    write_section("noise", text, quick=quick)
    write("noise", records, missed=missed, quick=quick)
    if missed:
        print("; ".join(missed), file=sys.stderr)
        raise SystemExit(BELOW_LIMITS)


if __name__ == "__main__":
    main()
