"""MST on private-pgm (mbi 2): an order on stdin, what it cost on stdout.

The package holds the inference and leaves mechanisms to its user: this is the published algorithm (McKenna, Miklau and
Sheldon 2021), a third of rho each for single columns, for choosing a tree of pairs, and for the pairs. Values that are
rarer than three deviations of the noise are taken together, as there.
"""

from __future__ import annotations

import itertools
import json
import math
import resource
import sys
from contextlib import redirect_stdout
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import coded_table
import numpy as np
import pandas as pd
from mbi import Dataset, Domain, LinearMeasurement, estimation
from usage import peak_mib

DELTA = 1e-9
#: Of the fits of single columns, and of the tree.
FIRST, SECOND = 1000, 2500


def rho_of(epsilon: float) -> float:
    """The largest rho whose best conversion stays within epsilon at DELTA."""
    orders = 1 + np.logspace(-3, 5, 2000)
    fixed = np.log1p(-1 / orders) - (math.log(DELTA) + np.log(orders)) / (orders - 1)
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if float((orders * middle + fixed).min()) <= epsilon else (low, middle)
    return low


def merged(codes: pd.DataFrame, sizes: dict, sigma: float, random) -> tuple[pd.DataFrame, dict, dict, list]:
    """Columns with their rare values as one, what each new code stands for, and the measurements of single columns."""
    kept, ways, log = {}, {}, []
    for name, size in sizes.items():
        noisy = np.bincount(codes[name], minlength=size) + random.normal(0, sigma, size)
        common = np.flatnonzero(noisy >= 3 * sigma)
        rare = np.setdiff1d(np.arange(size), common)
        ways[name] = [np.array([value]) for value in common] + ([rare] if len(rare) else [])
        places = np.full(size, len(common))
        places[common] = np.arange(len(common))
        kept[name] = places[codes[name].to_numpy()]
        told = np.append(noisy[common], noisy[rare].sum()) if len(rare) else noisy[common]
        log.append(LinearMeasurement(told, (name,), sigma))
    return pd.DataFrame(kept), {name: len(way) for name, way in ways.items()}, ways, log


def tree(data: Dataset, model, names: list[str], rho: float, random) -> list[tuple[str, str]]:
    """Pairs that join all columns, each drawn by the exponential mechanism by how badly the model knows it."""
    known = {
        pair: float(
            np.abs(np.asarray(data.project(pair).datavector()) - np.asarray(model.project(pair).datavector())).sum()
        )
        for pair in itertools.combinations(names, 2)
    }
    part, chosen = {name: name for name in names}, []
    epsilon = math.sqrt(8 * rho / (len(names) - 1))
    while len(chosen) < len(names) - 1:
        open_pairs = [pair for pair in known if part[pair[0]] != part[pair[1]]]
        scores = epsilon / 2 * np.array([known[pair] for pair in open_pairs])
        weights = np.exp(scores - scores.max())
        left, right = open_pairs[random.choice(len(open_pairs), p=weights / weights.sum())]
        chosen.append((left, right))
        old, new = part[left], part[right]
        part = {name: new if group == old else group for name, group in part.items()}
    return chosen


def main() -> None:
    order = json.load(sys.stdin)
    random = np.random.default_rng()
    with redirect_stdout(sys.stderr):
        codes, sizes, back = coded_table.read(order["source"], order["bins"])
        rho = rho_of(order["epsilon"])
        sigma = math.sqrt(3 * len(sizes) / (2 * rho))
        small, domain_sizes, ways, log = merged(codes, sizes, sigma, random)
        domain = Domain.fromdict(domain_sizes)
        data = Dataset({name: small[name].to_numpy() for name in small}, domain)
        solver = estimation.MirrorDescent()
        model = solver.estimate(domain, log, iters=FIRST)
        pairs = tree(data, model, list(sizes), rho / 3, random)
        second = math.sqrt(3 * len(pairs) / (2 * rho))
        log += [
            LinearMeasurement(
                np.asarray(data.project(pair).datavector()) + random.normal(0, second, domain.size(pair)), pair, second
            )
            for pair in pairs
        ]
        made = solver.estimate(domain, log, iters=SECOND).synthetic_data(rows=len(codes))
        found = {
            name: np.array([random.choice(ways[name][place]) for place in np.asarray(made.data[name])])
            for name in sizes
        }
        coded_table.write(pd.DataFrame(found), back, order["rows"])
    used = resource.getrusage(resource.RUSAGE_SELF)
    json.dump({"cpu_s": used.ru_utime + used.ru_stime, "memory_mb": peak_mib()}, sys.stdout)


if __name__ == "__main__":
    main()
