"""One measurement of `./do bench tables`: Discreet's strategies for all ranges over many leaves, epsilon 1."""

from __future__ import annotations

import json
import math
import sys
import time
from fractions import Fraction

import numpy as np
from usage import peak_mib, start_of_peak

from discreet.inference.linear.solvers import solver_for
from discreet.inference.strategy_choice.strategy_plan import plan_strategy
from discreet.inference.strategy_choice.workload import AllRanges
from discreet.mechanisms.bits import system
from discreet.mechanisms.laplace import DiscreteLaplace


def main() -> None:
    order = json.load(sys.stdin)
    leaves = order["leaves"]
    exact = np.zeros(leaves, dtype=np.int64)
    before = start_of_peak()
    start = time.process_time()
    planned = plan_strategy(AllRanges(leaves), gaussian=False, strategy=order["strategy"])
    planning_s = time.process_time() - start
    l1, squares = planned.strategy.sensitivity(1).l1, []
    start = time.process_time()
    for _ in range(order["draws"]):
        noisy, _ = DiscreteLaplace(scale=Fraction(l1)).add_noise(planned.strategy.apply(exact), l1=l1, bits=system())
        prefixes = np.cumsum(solver_for(planned.strategy).fit(noisy))
        squares.append(((leaves + 1) * (prefixes**2).sum() - prefixes.sum() ** 2) / planned.workload.queries)
    spent = (time.process_time() - start) / order["draws"]
    error = math.sqrt(float(np.mean(squares)))
    json.dump({"cpu_s": planning_s + spent, "peak_mib": max(0.0, peak_mib() - before), "error": error}, sys.stdout)


if __name__ == "__main__":
    main()
