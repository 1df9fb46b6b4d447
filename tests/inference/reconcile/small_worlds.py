"""Small worlds: every possible record can be listed, so that least squares can be done over all of them."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass

import numpy as np

from discreet.accounting.region import Box, Region, ValueSet, successor
from discreet.inference.reconcile import ColumnDomains, MeasuredNumber

WORDS = ["", "a", "ab", "b"]


@dataclass(frozen=True, kw_only=True)
class SmallWorld:
    domain: ColumnDomains
    measured: list[MeasuredNumber]
    records: list[dict]

    def matrix(self, regions: list[Region]) -> np.ndarray:
        return np.array([[record in region for record in self.records] for region in regions], dtype=float)


def small_world(seed: int, *, family: str = "rows") -> SmallWorld:
    rng = random.Random(f"small {seed}")
    columns, values = {}, {}
    for name in "abcd"[: rng.randint(1, 4)]:
        null = rng.random() < 0.4
        if rng.random() < 0.2:
            columns[name] = ValueSet((("", None),), null)
            values[name] = sorted({*WORDS, *map(successor, WORDS)})
        else:
            low, size = rng.randint(-2, 2), rng.randint(1, 4)
            columns[name] = ValueSet(((low, low + size),), null)
            values[name] = list(range(low, low + size))
        values[name] += [None] if null else []
    domain = ColumnDomains(columns=columns)
    records = [dict(zip(values, found, strict=True)) for found in itertools.product(*values.values())]
    regions = _regions(rng, columns, rng.randint(1, 11))
    measured = [
        MeasuredNumber(
            region=region,
            value=rng.randint(-30, 90),
            variance=rng.choice([1.0, 2.0, 8.0, 0.01, 500.0]) * rng.uniform(0.5, 2),
            family=family,
        )
        for region in regions
    ]
    return SmallWorld(domain=domain, measured=measured, records=records)


def _regions(rng: random.Random, columns: dict, count: int) -> list[Region]:
    found: list[Region] = []
    while len(found) < count:
        kind = rng.random()
        if found and kind < 0.1:
            found.append(rng.choice(found))
        elif found and kind < 0.3:
            base, name = rng.choice(found), rng.choice(list(columns))
            side = _side(rng, columns[name])
            found += [
                Region(tuple(box & Box({name: part}) for box in base.boxes)) for part in (side, side.complement())
            ]
        else:
            boxes = rng.choice([0, 1, 1, 1, 1, 2, 3]) if kind > 0.4 else 1
            found.append(Region(tuple(_box(rng, columns) for _ in range(boxes))))
    return found


def _box(rng: random.Random, columns: dict) -> Box:
    names = [name for name in columns if rng.random() < 0.5]
    return Box({name: _side(rng, columns[name]) for name in names})


def _side(rng: random.Random, possible: ValueSet) -> ValueSet:
    """Sometimes reaches out of the domain, sometimes holds nothing of it."""
    low = possible.runs[0][0]
    if isinstance(low, str):
        cuts = sorted(rng.sample(WORDS, 2))
        side = ValueSet.of(rng.sample(WORDS, 2)) if rng.random() < 0.4 else ValueSet.interval(cuts[0], cuts[1])
    elif rng.random() < 0.5:
        side = ValueSet.of(rng.sample(range(low - 1, low + 5), rng.randint(1, 3)))
    else:
        start = rng.randint(low - 1, low + 3)
        side = ValueSet.interval(rng.choice([None, start]), rng.choice([None, start + rng.randint(1, 3)]))
    side = ValueSet(side.runs, rng.random() < 0.3)
    return side.complement() if rng.random() < 0.15 else side


def brute_force(matrix: np.ndarray, noisy: np.ndarray, variances: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
    """Rank, least-squares values and covariance by projection on the span of all atoms, whitened."""
    scale = np.sqrt(variances)
    left, sizes, _ = np.linalg.svd(matrix / scale[:, None], full_matrices=False)
    span = left[:, sizes > 1e-9 * max(1.0, sizes.max(initial=0.0))]
    values = scale * (span @ (span.T @ (noisy / scale)))
    half = scale[:, None] * span
    return span.shape[1], values, half @ half.T


def regions_like(world: SmallWorld, seed: int, count: int) -> list[Region]:
    """Further regions of the same world: some new, some made of measured ones."""
    rng = random.Random(f"like {seed}")
    found = _regions(rng, dict(world.domain.columns), count)
    known = [number.region for number in world.measured]
    both = [Region(rng.choice(known).boxes + rng.choice(known).boxes) for _ in range(count)]
    met = [Region(tuple(a & b for a in rng.choice(known).boxes for b in rng.choice(known).boxes)) for _ in range(count)]
    return found + both + met
