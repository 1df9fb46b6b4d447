"""MST on private-pgm (mbi 2). The package holds the inference and leaves noise and mechanisms to its user.

This is the published algorithm (McKenna, Miklau and Sheldon 2021): a third of rho each for single columns, for choosing a
tree of pairs, and for the pairs. Values that are rarer than three deviations of the noise are taken together, as there.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from mbi import Dataset, Domain, LinearMeasurement, estimation

#: Steps of the fits of single columns, and of the tree.
FIRST, SECOND = 1000, 2500


def rho_of(epsilon: float, delta: float) -> float:
    """The rho whose best conversion over orders is (epsilon, delta): Canonne, Kamath and Steinke (2020)."""
    orders = 1 + np.logspace(-3, 5, 4000)
    fixed = np.log1p(-1 / orders) - (math.log(delta) + np.log(orders)) / (orders - 1)
    low, high = 0.0, 100.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if float((orders * middle + fixed).min()) <= epsilon else (low, middle)
    return low


def rows(codes: dict, sizes: dict, rho: float) -> dict:
    """As many synthetic rows as real ones, as codes by column."""
    random = np.random.default_rng()
    sigma = math.sqrt(3 * len(sizes) / (2 * rho))
    small, ways, log = _merged(codes, sizes, sigma, random)
    domain = Domain.fromdict({name: len(way) for name, way in ways.items()})
    data = Dataset(small, domain)
    solver = estimation.MirrorDescent()
    pairs = _tree(data, solver.estimate(domain, log, iters=FIRST), list(sizes), rho / 3, random)
    second = math.sqrt(3 * len(pairs) / (2 * rho))
    log += [
        LinearMeasurement(_table(data, pair) + random.normal(0, second, domain.size(pair)), pair, second)
        for pair in pairs
    ]
    made = solver.estimate(domain, log, iters=SECOND).synthetic_data(rows=len(next(iter(codes.values()))))
    return {name: _drawn(np.asarray(made.data[name]), ways[name], random) for name in sizes}


def _merged(codes: dict, sizes: dict, sigma: float, random) -> tuple[dict, dict, list]:
    """Columns with their rare values as one, what each new code stands for, and the measurements of single columns."""
    kept, ways, log = {}, {}, []
    for name, size in sizes.items():
        noisy = np.bincount(codes[name], minlength=size) + random.normal(0, sigma, size)
        common = np.flatnonzero(noisy >= 3 * sigma)
        rare = np.setdiff1d(np.arange(size), common)
        ways[name] = [np.array([value]) for value in common] + ([rare] if len(rare) else [])
        places = np.full(size, len(common))
        places[common] = np.arange(len(common))
        kept[name] = places[codes[name]]
        told = np.append(noisy[common], noisy[rare].sum()) if len(rare) else noisy[common]
        log.append(LinearMeasurement(told, (name,), sigma))
    return kept, ways, log


def _tree(data: Dataset, model, names: list[str], rho: float, random) -> list[tuple[str, str]]:
    """Pairs that join all columns, each drawn by the exponential mechanism by how badly the model knows it."""
    known = {
        pair: float(np.abs(_table(data, pair) - _table(model, pair)).sum()) for pair in itertools.combinations(names, 2)
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


def _table(data, pair: tuple[str, str]) -> np.ndarray:
    return np.asarray(data.project(pair).datavector())


def _drawn(places: np.ndarray, way: list[np.ndarray], random) -> np.ndarray:
    """A value of each row's group, evenly."""
    return np.array([random.choice(way[place]) for place in places], dtype=int)
