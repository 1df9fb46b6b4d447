"""CPU seconds for a million draws: ours, the integer-only reference, OpenDP, and numpy's unsafe floats.

OpenDP runs in an environment of its own. What is too slow for a million draws is timed on fewer
and multiplied; the table says so.
"""

from __future__ import annotations

import json
import subprocess
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
from results import write_section

from discreet.mechanisms import reference
from discreet.mechanisms.bits import system
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace

ROOT = Path(__file__).resolve().parent.parent
PEER = ROOT / "benchmarks" / ".peers" / "opendp" / "bin" / "python"
SCALES = [1, 10, 10**3, 10**6]
MILLION = 10**6
FEW = 4_000
#: What the issue asks for, at scales 10, 1e3 and 1e6.
LIMITS = {"Laplace": 0.06, "Gaussian": 0.13}

PEER_SCRIPT = """
import json, sys, time
import numpy as np
import opendp.prelude as dp
dp.enable_features("contrib")
n, scales = 10**5, json.load(sys.stdin)
zeros = np.zeros(n, dtype=np.int64)
domain = dp.vector_domain(dp.atom_domain(T="i64"))
found = {"Laplace": [], "Gaussian": []}
for scale in scales:
    makers = {
        "Laplace": dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=float(scale)),
        "Gaussian": dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=float(scale)),
    }
    for law, measure in makers.items():
        best = float("inf")
        for _ in range(2):
            start = time.process_time()
            measure(zeros)
            best = min(best, time.process_time() - start)
        found[law].append(10 * best)
json.dump(found, sys.stdout)
"""


def seconds(work, repeats: int) -> float:
    """The least CPU time of a few runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def ours(law: str, scale: int) -> float:
    exact = Fraction(scale)
    mechanism = DiscreteLaplace(scale=exact) if law == "Laplace" else DiscreteGaussian(sigma2=exact**2)
    return seconds(lambda: mechanism.draw(MILLION, bits=system()), 5)


def by_reference(law: str, scale: int) -> float:
    draw = reference.laplace if law == "Laplace" else reference.gaussian
    parameter = Fraction(scale) if law == "Laplace" else Fraction(scale) ** 2
    return MILLION / FEW * seconds(lambda: [draw(parameter, bits=system()) for _ in range(FEW)], 2)


def by_numpy(law: str, scale: int) -> float:
    generator = np.random.default_rng()
    draw = generator.laplace if law == "Laplace" else generator.normal
    return seconds(lambda: draw(0, scale, MILLION), 5)


def small_draws() -> str:
    """What the answers of a small question wait for."""
    bits = system()
    parts = []
    for law, mechanism in (
        ("Laplace", DiscreteLaplace(scale=Fraction(10))),
        ("Gaussian", DiscreteGaussian(sigma2=Fraction(100))),
    ):
        times = [seconds(lambda n=n, m=mechanism: m.draw(n, bits=bits), 50) for n in (1, 50, 20_000)]
        parts.append(f"{law} {times[0] * 1e3:.3f}, {times[1] * 1e3:.3f} and {times[2] * 1e3:.2f} ms")
    return "For 1, 50 and 20,000 cells at scale 10: " + "; ".join(parts) + "."


def main() -> None:
    command = [PEER, "-c", PEER_SCRIPT]
    told = subprocess.run(command, input=json.dumps(SCALES), capture_output=True, text=True, check=True)
    opendp = json.loads(told.stdout)
    rows = []
    slow = []
    for law, limit in LIMITS.items():
        for scale, peer in zip(SCALES, opendp[law], strict=True):
            own, integers, floats = ours(law, scale), by_reference(law, scale), by_numpy(law, scale)
            times = f"**{own:.4f}** | {integers:.1f} | {peer:.2f} | {peer / own:,.0f}x | {floats:.4f}"
            rows.append(f"| {law} | {scale:,} | {times} |")
            if scale > 1 and own > limit:
                slow.append(f"{law} at scale {scale:,} took {own:.3f} s, more than {limit}")
    text = (
        "CPU seconds for a million exact draws in one process; sigma is the Gaussian's scale. The reference is "
        f"Canonne, Kamath and Steinke's integer sampler as written in mechanisms/reference.py, {FEW:,} draws times "
        f"{MILLION // FEW}; OpenDP 0.16.0 on integer vectors, 100,000 draws times 10; numpy is float noise that leaks "
        "(Mironov 2012) from a generator that can be predicted.\n\n"
        "| law | scale | Discreet | reference | OpenDP | OpenDP / ours | numpy, unsafe |\n"
        "|---|---|---|---|---|---|---|\n" + "\n".join(rows) + "\n\n" + small_draws()
    )
    print(text)
    write_section("noise", text)
    if slow:
        raise SystemExit("; ".join(slow))


if __name__ == "__main__":
    main()
