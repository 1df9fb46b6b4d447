"""A rumour in a generated network, and in models of it by the public path: the time until half of the people know.

Prints a table for RESULTS.md. `--fits N`: how many models are fitted for the first row, each with noise of its own; a
quarter of that for the others.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from graph_data import network
from pyarrow import parquet

import discreet
from discreet.graph.model.graph_sampler import SampledGraph
from discreet.graph.model.rumour_spread import AdjacencyList, spread_rumour

NODES = 100_000
SEEDS, RATE = 10, 0.1

#: Rumours in the true network, and in a graph of each model, for its mean alone.
RUMOURS, IN_MODEL = 150, 8

EDGES = """[tables.friends]
source = "friends.parquet"
budget = { epsilon = 10000 }
[tables.friends.columns.from]
type = "integer"
[tables.friends.columns.to]
type = "integer"
[tables.people]
source = "people.parquet"
public = true
[tables.people.columns.id]
type = "integer"
[tables.people.columns.community]
type = "text"
"""
PERSONS = """[tables.friends]
source = "friends.parquet"
budget = { epsilon = 10000 }
ends = ["from", "to"]
"""

#: What is protected, at which epsilon, with which words.
ROWS = (
    ("edges, blocks by community", EDGES, "1", {"nodes": "people", "by": "community"}),
    ("edges, blocks by community", EDGES, "0.1", {"nodes": "people", "by": "community"}),
    ("edges, one block", EDGES, "1", {"nodes": "people"}),
    ("persons, limit chosen privately", PERSONS, "1", {}),
    ("persons, limit chosen privately", PERSONS, "4", {}),
)


def opened(folder: Path, declared: str, one, other, communities):
    folder.mkdir()
    parquet.write_table(pa.table({"from": one, "to": other}), folder / "friends.parquet")
    words = [f"c{number}" for number in communities.tolist()]
    parquet.write_table(pa.table({"id": np.arange(len(words)), "community": words}), folder / "people.parquet")
    (folder / "discreet.toml").write_text(declared)
    discreet.init(folder)
    found = discreet.open(folder)
    found.refresh("friends")
    return found


def times(neighbours, count: int, generator) -> list[float]:
    nodes = neighbours.nodes
    return [
        spread_rumour(neighbours, seeds=SEEDS, rate=RATE, generator=generator).time_to(nodes / 2) for _ in range(count)
    ]


def main(words: list[str]) -> None:
    fits = int(words[words.index("--fits") + 1]) if "--fits" in words else 20
    os.environ["DISCREET_STATE"] = tempfile.mkdtemp()
    generator = np.random.default_rng(3)
    one, other, communities = network(NODES)
    degrees = np.bincount(np.concatenate([one, other]), minlength=NODES)
    true = AdjacencyList.of(SampledGraph(ends=np.array([one, other]), blocks=communities))
    truth = times(true, RUMOURS, generator)
    mean = float(np.mean(truth))
    print(
        f"{NODES:,} nodes, {len(one):,} edges, {communities[-1] + 1} communities, mean degree {degrees.mean():.1f}, "
        f"largest {degrees.max()}. A rumour from {SEEDS} nodes at rate {RATE} reaches half of them after {mean:.2f} "
        f"steps (mean of {RUMOURS}; standard deviation {np.std(truth):.2f})."
    )
    print(
        "\n| protected | epsilon | fits | time in the model: mean of the fits | least, most | error of the mean |",
        end="",
    )
    print(" largest of a fit | true rumours inside the interval | CPU s: fit | a graph | spread |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        projects: dict[str, object] = {}
        for number, (said, declared, epsilon, given) in enumerate(ROWS):
            if declared not in projects:
                projects[declared] = opened(Path(place) / str(len(projects)), declared, one, other, communities)
            net, count = projects[declared].graph("friends", **given), max(1, fits if number == 0 else fits // 4)
            print(row(said, epsilon, net, count, truth, generator), flush=True)


def row(said: str, epsilon: str, net, fits: int, truth: list[float], generator) -> str:
    mean = float(np.mean(truth))
    found, took = [], {"fit": 0.0, "graph": 0.0}
    for _ in range(fits):
        start = time.process_time()
        model = net.synth(epsilon=epsilon, fresh=True)
        middle = time.process_time()
        graph = model.graph()
        took["fit"] += middle - start
        took["graph"] += time.process_time() - middle
        found.append(float(np.mean(times(AdjacencyList.of(graph), IN_MODEL, generator))))
    start = time.process_time()
    low, high = model.spread(seeds=SEEDS, rate=RATE).interval
    spread = time.process_time() - start
    inside = np.mean([low <= each <= high for each in truth])
    errors = [each / mean - 1 for each in found]
    limit = "" if model.measured.limit is None else f" ({model.measured.limit})"
    return (
        f"| {said}{limit} | {epsilon} | {fits} | {np.mean(found):.2f} | {min(found):.2f}, {max(found):.2f} "
        f"| {100 * np.mean(errors):+.1f}% | {100 * max(errors, key=abs):+.1f}% | {100 * inside:.0f}% of {low:g} to {high:g} "
        f"| {took['fit'] / fits:.2f} | {took['graph'] / fits:.2f} | {spread:.1f} |"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
