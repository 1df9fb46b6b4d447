"""How exact triangles and clustering are: half of an interval's width over the exact number, and how often it held.

    ./do bench graph --only triangles

Three networks, through the facade: the generated one of graph_data.py with 10,000 people, whose friends' friends are
friends; the network of `discreet sample-data` with as many people, in which triangles are chance; and 300 people in two
towns, as docs/graphs.md makes them.
"""

from __future__ import annotations

import csv
import statistics
import tempfile
from pathlib import Path

import graph_data
import numpy as np

import discreet
from discreet.engines.network import triangles
from discreet.engines.network.exact_graph import ExactGraph

DRAWS = 20
ASKED = {"everything": None, "triangles alone": "triangles", "clustering alone": "clustering"}

_TOML = """[project]
ledger = "sqlite:///.discreet/ledger.db"
[tables.links]
source = "links.csv"
budget = { epsilon = 1000, delta = 0 }
columns = { from = { type = "text" }, to = { type = "text" } }
[tables.people]
source = "people.csv"
public = true
columns = { id = { type = "text" }, town = { type = "text" } }
"""


def generated():
    """The network of the generator: its edges, and a town of everybody."""
    one, other, communities = graph_data.network(10_000)
    return list(zip(one.tolist(), other.tolist(), strict=True)), [f"c{town}" for town in communities]


def sampled():
    """The network that `discreet sample-data` writes, of about as many people."""
    with tempfile.TemporaryDirectory(prefix="discreet-bench-graph-") as name:
        discreet.sample_data("network", f"{name}/network", rows=40_000)
        with open(f"{name}/network/friends.csv", newline="") as file:
            rows = [(row["from"], row["to"]) for row in csv.DictReader(file)]
        with open(f"{name}/network/members.csv", newline="") as file:
            wards = {row["person"]: row["ward"] for row in csv.DictReader(file)}
    numbers = {person: number for number, person in enumerate(wards)}
    return [(numbers[one], numbers[other]) for one, other in rows], list(wards.values())


def small():
    """300 people in two towns, who know each other more often within one."""
    generator = np.random.default_rng(1)
    towns = generator.integers(0, 2, 300)
    pairs = {tuple(sorted(generator.choice(300, 2, replace=False).tolist())) for _ in range(3000)}
    kept = [pair for pair in sorted(pairs) if towns[pair[0]] == towns[pair[1]] or generator.random() < 0.3]
    return kept, ["Basel" if town else "Bern" for town in towns]


NETWORKS = {"generated, 10,000 people": generated, "sample data, 10,000 people": sampled, "300 people": small}


def measure(folder: Path, edges, towns) -> list[str]:
    """A row of the table for each question."""
    folder.mkdir()
    for name, header, rows in (
        ("links", ("from", "to"), [(f"p{one}", f"p{other}") for one, other in edges]),
        ("people", ("id", "town"), [(f"p{number}", town) for number, town in enumerate(towns)]),
    ):
        with open(folder / f"{name}.csv", "w", newline="") as file:
            csv.writer(file).writerows([header, *rows])
    (folder / "discreet.toml").write_text(_TOML)
    network = discreet.init(folder).graph("links", nodes="people", by="town")
    ends = np.sort(np.array(edges, dtype=np.int64), axis=1)
    graph = ExactGraph(ends[:, 0].copy(), ends[:, 1].copy(), exact_nodes=len(towns))
    exact = {"triangles": triangles.triangles(graph), "wedges": triangles.wedges(graph)}
    exact["clustering"] = 3 * exact["triangles"] / exact["wedges"]
    rows = []
    for asked, only in ASKED.items():
        drawn = [network.stats(epsilon=1, only=only, fresh=True) for _ in range(DRAWS)]
        for name in ("triangles", "clustering"):
            found = [getattr(each, name) for each in drawn if getattr(each, name) is not None]
            if not found:
                continue
            value = exact[name]
            wide = statistics.mean((each.interval[1] - each.interval[0]) / 2 / value for each in found)
            error = statistics.mean(abs(each.value - value) / value for each in found)
            held = sum(each.interval[0] <= value <= each.interval[1] for each in found)
            shown = f"{value:,}" if name == "triangles" else f"{value:.4f}"
            rows.append(f"{asked} | {name}, {shown} | {error:.1%} | ±{wide:.1%} | {held} of {len(found)}")
    return rows


def main() -> None:
    """Measure and print."""
    print(
        f"Edge privacy, epsilon 1 in all, public nodes; {DRAWS} releases each. Half of the interval's width (an end "
        "below 0 is cut off) and the mean error, over the exact number.\n"
    )
    print("| network | asked for | number | mean error | interval | it held |\n|---|---|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory(prefix="discreet-bench-graph-") as folder:
        for place, (name, make) in enumerate(NETWORKS.items()):
            for row in measure(Path(folder) / str(place), *make()):
                print(f"| {name} | {row} |", flush=True)


if __name__ == "__main__":
    main()
