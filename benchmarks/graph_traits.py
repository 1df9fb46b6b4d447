"""How exact mixing by a private trait is: half of the interval's width, over all edges, and of the share of friends alike.

    ./do bench graph --only traits

The network of `discreet sample-data` with 10,000 people in four wards, which are taken as private here, through the
facade: whole persons protected, and single edges, whose rows say the ward of both ends.
"""

from __future__ import annotations

import csv
import statistics
import tempfile
from pathlib import Path

import discreet

DRAWS, LIMIT = 10, 20
WARDS = '{ type = "category", values = ["east", "north", "south", "west"] }'

_PERSONS = f"""[project]
ledger = "sqlite:///.discreet/ledger.db"
[populations.all]
budget = {{ epsilon = 1000, delta = 0 }}
[tables.ties]
source = "friends.csv"
ends = ["from", "to"]
rows_per_person = {LIMIT}
population = "all"
[tables.members]
source = "members.csv"
person = "person"
population = "all"
columns = {{ ward = {WARDS} }}
"""
_EDGES = f"""[project]
ledger = "sqlite:///.discreet/ledger.db"
[tables.ties]
source = "labelled.csv"
budget = {{ epsilon = 1000, delta = 0 }}
columns = {{ from = {{ type = "text" }}, to = {{ type = "text" }}, here = {WARDS}, there = {WARDS} }}
"""
ASKED = {
    "a person, with all edges and the ward": (_PERSONS, {"nodes": "members", "by": "ward"}),
    "an edge, with what its row says": (_EDGES, {"by": "here,there"}),
    f"that, and a node's ward in all rows ({LIMIT} edges count)": (
        _EDGES,
        {"by": "here,there", "edges_per_node": LIMIT},
    ),
}


def main() -> None:
    """Measure and print."""
    print(
        f"10,000 people, 40,000 friendships, four wards, nobody with more than {LIMIT} friends; epsilon 1 for one question, "
        f"{DRAWS} releases each. Mixing: half of the width of an entry's interval, of ten entries. The exact share of "
        "friends in the same ward is told beside.\n"
    )
    print("| protected | mixing, an entry | homophily | mean error | it held |\n|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory(prefix="discreet-bench-graph-") as name:
        made = Path(name) / "network"
        discreet.sample_data("network", str(made), rows=40_000)
        with open(made / "members.csv", newline="") as file:
            ward = {row["person"]: row["ward"] for row in csv.DictReader(file)}
        with open(made / "friends.csv", newline="") as file:
            edges = [(row["from"], row["to"]) for row in csv.DictReader(file)]
        exact = statistics.mean(ward[one] == ward[other] for one, other in edges)
        for place, (words, (toml, given)) in enumerate(ASKED.items()):
            folder = Path(name) / str(place)
            folder.mkdir()
            for file_name in ("friends.csv", "members.csv"):
                (folder / file_name).write_bytes((made / file_name).read_bytes())
            with open(folder / "labelled.csv", "w", newline="") as file:
                rows = [(one, other, ward[one], ward[other]) for one, other in edges]
                csv.writer(file).writerows([("from", "to", "here", "there"), *rows])
            (folder / "discreet.toml").write_text(toml)
            project = discreet.init(folder)
            project.refresh("ties")
            network = project.graph("ties", **given)
            matrix = network.stats(epsilon=1, only="mixing").mixing
            widths = [(each.interval[1] - each.interval[0]) / 2 for row in matrix.edges for each in row]
            alike = [network.stats(epsilon=1, only="homophily", fresh=True).homophily for _ in range(DRAWS)]
            wide = statistics.mean((each.interval[1] - each.interval[0]) / 2 for each in alike)
            error = statistics.mean(abs(each.value - exact) for each in alike)
            held = sum(each.interval[0] <= exact <= each.interval[1] for each in alike)
            print(
                f"| {words} | ±{statistics.mean(widths):,.0f} edges | {exact:.3f} ± {wide:.4f} | {error:.4f} | "
                f"{held} of {DRAWS} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
