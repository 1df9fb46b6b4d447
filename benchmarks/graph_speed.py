"""Speed: a million nodes and ten million edges through the facade, beside the same aggregates in plain DuckDB.

    ./do bench graph --only speed      or, of another size, some acts alone:      graph_speed.py NODES EDGES [ACT,ACT]

Every act is a process of its own: CPU seconds of all its threads, and the peak of its memory. Raw queries read the Parquet
file that the owner declares, and ours read what was declared: priced, charged, read, noised and stored.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import graph_large

NODES, EDGES = 1_000_000, 10_000_000
LIMIT = 50

#: What an act should cost at most: as many times a raw query, or so many CPU seconds.
WITHIN_RAW, TRIANGLES_S = 2.0, 60.0

#: A project for each unit of privacy: one ledger would not have the same people in two populations.
_LINKS = """[project]
ledger = "sqlite:///.discreet/ledger.db"
[tables.links]
source = "../edges.parquet"
budget = { epsilon = 1000, delta = 0 }
columns = { from = { type = "integer" }, to = { type = "integer" } }
[tables.people]
source = "../nodes.parquet"
public = true
columns = { id = { type = "integer" }, town = { type = "text" } }
"""
_MEMBERS = f"""[project]
ledger = "sqlite:///.discreet/ledger.db"
[tables.members]
source = "../edges.parquet"
budget = {{ epsilon = 1000, delta = 0 }}
ends = ["from", "to"]
rows_per_person = {LIMIT}
"""
_GIVERS = f"""[project]
ledger = "sqlite:///.discreet/ledger.db"
[tables.givers]
source = "../edges.parquet"
budget = {{ epsilon = 1000, delta = 0 }}
person = "from"
rows_per_person = {LIMIT}
columns = {{ to = {{ type = "integer" }} }}
"""
PROJECTS = {"links": _LINKS, "members": _MEMBERS, "givers": _GIVERS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Something to measure, with what must be there before. beside: the raw query that it is held against."""

    meaning: str
    done: Callable[[Any], Any]
    ready: Callable[[Path], Any] = lambda folder: folder
    beside: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What an act cost."""

    cpu_s: float
    wall_s: float
    mib: float


def _raw(sql: str) -> Callable[[Path], Any]:
    def done(folder: Path) -> Any:
        import duckdb

        return duckdb.sql(sql.format(edges=f"'{folder}/edges.parquet'", nodes=f"'{folder}/nodes.parquet'")).fetchall()

    return done


def _network(table: str, **more: Any) -> Callable[[Path], Any]:
    """A network, with its public nodes read."""

    def made(folder: Path) -> Any:
        import discreet

        return discreet.open(folder / table).graph(table, **more)

    return made


def _stats(*only: str) -> Callable[[Any], Any]:
    return lambda network: network.stats(epsilon=1, only=list(only) or None)


def _refreshed(table: str) -> Callable[[Path], Any]:
    def done(folder: Path) -> Any:
        import discreet

        return discreet.open(folder / table).refresh(table)

    return done


def _givers(folder: Path) -> Any:
    import discreet

    return discreet.open(folder / "givers")


def _counted_counts(project: Any) -> Any:
    text = (
        'SELECT degree, count(*) FROM (SELECT "from", count(*) AS degree FROM givers GROUP BY "from") GROUP BY degree'
    )
    return project.sql(text).ask(epsilon=1, fresh=True)  # a stored answer is no work


def _counted_before(folder: Path) -> Any:
    """The project, of which the same was asked: what a process does once is over."""
    project = _givers(folder)
    _counted_counts(project)
    return project


def _raw_before(folder: Path) -> Path:
    _OUT_DEGREES(folder)
    return folder


_OUT_DEGREES = _raw(
    'SELECT degree, count(*) FROM (SELECT "from", count(*) AS degree FROM {edges} GROUP BY "from") GROUP BY degree'
)


ACTS: dict[str, Act] = {
    "raw degrees": Act(
        meaning="degree histogram, DuckDB",
        done=_raw(
            "SELECT degree, count(*) FROM (SELECT node, count(*) AS degree FROM "
            '(SELECT "from" AS node FROM {edges} UNION ALL SELECT "to" FROM {edges}) GROUP BY node) GROUP BY degree'
        ),
    ),
    "raw out-degrees": Act(meaning="histogram of outgoing edges, DuckDB", done=_OUT_DEGREES),
    "raw out-degrees again": Act(
        meaning="histogram of outgoing edges, DuckDB, the second time in a process", ready=_raw_before, done=_OUT_DEGREES
    ),
    "raw mixing": Act(
        meaning="mixing matrix, DuckDB",
        done=_raw(
            "SELECT least(a.town, b.town), greatest(a.town, b.town), count(*) FROM {edges} e "
            'JOIN {nodes} a ON e."from" = a.id JOIN {nodes} b ON e."to" = b.id GROUP BY 1, 2'
        ),
    ),
    "declare links": Act(meaning="declare, an edge is protected", done=_refreshed("links")),
    "declare members": Act(meaning="declare, a person with all edges is protected", done=_refreshed("members")),
    "declare givers": Act(meaning="declare, a person with all outgoing edges is protected", done=_refreshed("givers")),
    "sql degrees": Act(
        meaning="histogram of outgoing edges by SQL, a count of counts",
        ready=_givers,
        done=_counted_counts,
        beside="raw out-degrees",
    ),
    "sql degrees again": Act(
        meaning="the same by SQL, the second charged query of a process",
        ready=_counted_before,
        done=_counted_counts,
        beside="raw out-degrees again",
    ),
    "degrees": Act(
        meaning="degree histogram", ready=_network("links"), done=_stats("degrees"), beside="raw degrees"
    ),
    "nodes": Act(
        meaning="read the public table of nodes, once in a process", done=_network("links", nodes="people", by="town")
    ),
    "public degrees": Act(
        meaning="degree histogram of public nodes",
        ready=_network("links", nodes="people"),
        done=_stats("degrees"),
        beside="raw degrees",
    ),
    "mixing": Act(
        meaning="mixing matrix of public nodes",
        ready=_network("links", nodes="people", by="town"),
        done=_stats("mixing"),
        beside="raw mixing",
    ),
    "triangles": Act(meaning="triangles", ready=_network("links"), done=_stats("triangles")),
    "everything": Act(
        meaning="all statistics, of public nodes by town",
        ready=_network("links", nodes="people", by="town"),
        done=_stats(),
    ),
    "members": Act(
        meaning=f"node privacy, projected to {LIMIT} edges: all statistics", ready=_network("members"), done=_stats()
    ),
}  # fmt: skip


def measure(name: str, folder: Path) -> Report:
    """One act, by a process of its own."""
    words = [sys.executable, str(Path(__file__).resolve()), "--act", name, str(folder)]
    done = subprocess.run(words, env=_environment(folder), stdout=subprocess.PIPE, text=True, check=True)
    return Report(**json.loads(done.stdout.splitlines()[-1]))


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "DISCREET_STATE": str(folder / "state")}


def act(name: str, folder: Path) -> None:
    """What the process of an act does. What is imported once is not the act's."""
    for module in ("discreet.graph.project_network", "duckdb", "pandas", "pyarrow.compute", "pyarrow.parquet"):
        import_module(module)
    ready = ACTS[name].ready(folder)
    cpu_s, wall_s = time.process_time(), time.perf_counter()
    ACTS[name].done(ready)
    report = {"cpu_s": time.process_time() - cpu_s, "wall_s": time.perf_counter() - wall_s}
    print(json.dumps(report | {"mib": _peak_mib()}))


def _peak_mib() -> float:
    """The most memory that this process held. (What getrusage tells is no less than what its parent held.)"""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def main(words: list[str]) -> None:
    """Make the network, measure, print."""
    if words[:1] == ["--act"]:
        act(words[1], Path(words[2]))
        return
    chosen = words.pop().split(",") if words and not words[-1].isdigit() else list(ACTS)
    nodes, edges = map(int, words or (NODES, EDGES))
    with tempfile.TemporaryDirectory(prefix="discreet-bench-graph-") as name:
        folder = Path(name)
        graph_large.make(folder, nodes=nodes, edges=edges)
        for table, toml in PROJECTS.items():
            (folder / table).mkdir()
            (folder / table / "discreet.toml").write_text(toml)
            words = [sys.executable, "-c", "import discreet, sys; discreet.init(sys.argv[1])", str(folder / table)]
            subprocess.run(words, env=_environment(folder), check=True)
        found: dict[str, Report] = {}
        for each in chosen:
            found[each] = measure(each, folder)
            print(f"{each}: {found[each]}", file=sys.stderr, flush=True)
    print(text_of(found, nodes, edges))


def text_of(found: dict[str, Report], nodes: int, edges: int) -> str:
    """The table, with what it means."""
    lines = [
        f"{nodes:,} nodes and {edges:,} edges, power-law degrees in {graph_large.TOWNS} towns, one Parquet file; whole numbers as "
        "ids. CPU seconds of all threads: priced, charged, read, noised and stored, in a process of its own; wall "
        "seconds of a busy machine in brackets. MiB: the peak of that process. Public nodes are read before the clock of what uses them; what that takes is told apart. "
        "Their mixing matrix by SQL, two joins with a public table of so many rows, is refused: one edge could take seconds.",
        "",
        "| | CPU s (wall) | beside DuckDB | MiB |",
        "|---|---:|---:|---:|",
    ]
    for name, report in found.items():
        beside = ACTS[name].beside
        times = f"{report.cpu_s / found[beside].cpu_s:.2f}x" if beside else ""
        cells = [ACTS[name].meaning, f"{report.cpu_s:.2f} ({report.wall_s:.2f})", times, f"{report.mib:,.0f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", "Over its limits: " + ("; ".join(over_limits(found)) or "nowhere") + "."])


def over_limits(found: dict[str, Report]) -> list[str]:
    """What took longer than it should."""
    told = [
        f"{ACTS[name].meaning} ({report.cpu_s / found[ACTS[name].beside].cpu_s:.2f}x)"
        for name, report in found.items()
        if ACTS[name].beside and report.cpu_s > WITHIN_RAW * found[ACTS[name].beside].cpu_s
    ]
    return told + (
        [ACTS["triangles"].meaning] if "triangles" in found and found["triangles"].cpu_s > TRIANGLES_S else []
    )


if __name__ == "__main__":
    main(sys.argv[1:])
