"""OpenDP's b-ary tree over many leaves, epsilon 1: noise on every node, then its consistency; all ranges of one draw."""

import json
import math
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import numpy as np
import opendp.prelude as dp
from usage import peak_mib, start_of_peak

dp.enable_features("contrib")


def main() -> None:
    order = json.load(sys.stdin)
    leaves, branching = order["leaves"], 16
    tree = dp.t.make_b_ary_tree(
        dp.vector_domain(dp.atom_domain(T="i64"), leaves),
        dp.l1_distance(T="i64"),
        leaf_count=leaves,
        branching_factor=branching,
    )
    noisy = dp.binary_search_chain(lambda scale: tree >> dp.m.then_laplace(scale), d_in=1, d_out=1.0)
    zeros = [0] * leaves
    squares, before = [], start_of_peak()
    start = time.process_time()
    for _ in range(order["draws"]):
        consistent = dp.t.make_consistent_b_ary_tree(branching)(noisy(zeros))
        prefixes = np.cumsum(consistent[-leaves:])
        squares.append(float(((leaves + 1) * (prefixes**2).sum() - prefixes.sum() ** 2) / (leaves * (leaves + 1) / 2)))
    spent = (time.process_time() - start) / order["draws"]
    figures = {"cpu_s": spent, "peak_mib": max(0.0, peak_mib() - before), "error": math.sqrt(np.mean(squares))}
    json.dump(figures, sys.stdout)


if __name__ == "__main__":
    main()
