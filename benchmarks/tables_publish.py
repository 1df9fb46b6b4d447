"""Census tables: 1 > 50 > 3,000 > 1,000,000 places x 8 cells, refined after noise, and the whole verb on 6.9 million rows.

`python benchmarks/tables_publish.py` prints Markdown; CPU seconds, one BLAS thread.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import json
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import discreet
from discreet.inference.linear.topdown import whole_tables
from discreet.inference.linear.tree_least_squares import LevelPrecisions, NodeTree, fit_tree, level_variances
from discreet.kernel.project_session import open_session
from discreet.ledger.charge_request import UNNAMED
from discreet.mechanisms.bits import system
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.tables.publish.publish import plan_of, publish

SIZES = (1, 50, 3_000, 1_000_000)
CELLS = 8
SIGMA2 = Fraction(16, 9)
TARGET_S, PROTOTYPE_S = 2.0, 1.43

TOML = """
[tables.people]
source = "people.parquet"
budget = { epsilon = 100, delta = 1e-6 }
[tables.people.columns.block]
type = "text"
[tables.people.columns.sex]
type = "category"
values = ["F", "M"]
closed = true
[tables.people.columns.kind]
type = "category"
values = ["a", "b", "c", "d"]
closed = true
[tables.places]
source = "places.csv"
public = true
[tables.places.columns.state]
type = "text"
[tables.places.columns.county]
type = "text"
[tables.places.columns.block]
type = "text"
"""
PLAN = {
    "table": "people",
    "attributes": ["sex", "kind"],
    "hierarchy": {
        "column": "block",
        "levels": ["state", "county", "block"],
        "from": "places",
        "root": "nation",
        "elsewhere": False,
    },
}


@contextmanager
def clock(times: dict[str, float], name: str) -> Iterator[None]:
    start = time.process_time()
    yield
    times[name] = time.process_time() - start


def nation(generator: np.random.Generator) -> tuple[NodeTree, list[np.ndarray]]:
    """A tree and its exact tables, cells by nodes: most blocks small, most cells of a block empty."""
    parents = []
    for above, size in pairwise(SIZES):
        parents.append(np.sort(np.concatenate([np.arange(above), generator.integers(0, above, size - above)])))
    tree = NodeTree(tuple(parents))
    chances = generator.dirichlet(np.full(CELLS, 0.4))
    people = generator.gamma(0.5, 13.72, size=SIZES[-1])
    exact = [generator.poisson(people[None] * chances[:, None])]
    for level in reversed(range(len(parents))):
        exact.insert(0, tree.sums(level, exact[0]))
    return tree, exact


def refined(tree: NodeTree, exact: list[np.ndarray]) -> list[str]:
    """Noise, least squares, projection and rounding alone."""
    times: dict[str, float] = {}
    law, bits = DiscreteGaussian(sigma2=SIGMA2), system()
    with clock(times, "noise"):
        noisy = [each + law.draw(each.size, bits=bits).reshape(each.shape) for each in exact]
    values = [each.astype(np.float64) for each in noisy]
    with clock(times, "least squares"):
        shape = (len(SIZES), CELLS)
        precisions = LevelPrecisions(of=np.full(shape, 1 / law.variance()), is_exact=np.zeros(shape, dtype=np.bool_))
        spread = level_variances(tree, precisions)
        estimates = fit_tree(tree, precisions, spread, values)
    with clock(times, "projection and rounding"):
        found = whole_tables(tree, estimates, [np.repeat(each.subtree, CELLS, axis=0) for each in spread], {})
    for level in range(len(SIZES) - 1):
        assert (tree.sums(level, found[level + 1]) == found[level]).all() and found[level + 1].min() >= 0
    after = times["least squares"] + times["projection and rounding"]
    total = int(exact[0].sum())
    clipped = int(np.maximum(noisy[-1], 0).sum()) - total
    lines = [
        f"{' > '.join(f'{size:,}' for size in SIZES)} places x {CELLS} cells, {total:,} people, discrete Gaussian of "
        f"sigma {float(SIGMA2) ** 0.5:.3g} on every cell of every level. Every sum exact, nothing negative (asserted).",
        "",
        "| | Discreet | target |",
        "|---|---|---|",
        f"| refined after noise, CPU s | {after:.2f} | {TARGET_S} (prototype {PROTOTYPE_S}) |",
        *(f"| of which {name} | {seconds:.2f} | |" for name, seconds in times.items() if name != "noise"),
        f"| exact noise on {sum(each.size for each in exact):,} cells, CPU s | {times['noise']:.2f} | |",
        f"| people added to the total | {int(found[0].sum()) - total:+,} | a few |",
        f"| added by clipping negative blocks instead | {clipped:+,} ({clipped / total:.0%}) | |",
        "",
        "| error of a cell (root mean square) | noisy | least squares | stated | whole |",
        "|---|---|---|---|---|",
    ]
    for level, name in enumerate(("nation", "state", "county", "block")):
        errors = [np.sqrt(((each[level] - exact[level]) ** 2).mean()) for each in (noisy, estimates, found)]
        fans = tree.fan_outs[level - 1] if spread[level].shared else None
        stated = np.sqrt(np.average(spread[level].final[0], weights=fans))
        lines.append(f"| {name} | {errors[0]:.3f} | {errors[1]:.3f} | {stated:.3f} | {errors[2]:.3f} |")
    return lines


def write_data(folder: Path, tree: NodeTree, exact: list[np.ndarray]) -> None:
    county = tree.parents[2]
    state = tree.parents[1][county]
    names = [f"{code:02d}{inner:04d}{block:07d}" for block, (code, inner) in enumerate(zip(state, county, strict=True))]
    places = pa.table({"state": [name[:2] for name in names], "county": [name[:6] for name in names], "block": names})
    pyarrow.csv.write_csv(places, folder / "places.csv")
    cells = np.repeat(np.tile(np.arange(CELLS)[:, None], (1, SIZES[-1])).ravel(), exact[-1].ravel())
    blocks = np.repeat(np.tile(np.arange(SIZES[-1]), CELLS), exact[-1].ravel())
    order = np.random.default_rng(3).permutation(len(cells))
    cells, blocks = cells[order], blocks[order]
    people = pa.table(
        {
            "block": pa.array(names).take(pa.array(blocks)),
            "sex": pa.array(["F", "M"]).take(pa.array(cells // 4)),
            "kind": pa.array(["a", "b", "c", "d"]).take(pa.array(cells % 4)),
        }
    )
    pyarrow.parquet.write_table(people, folder / "people.parquet")


def whole_verb(tree: NodeTree, exact: list[np.ndarray]) -> list[str]:
    """Refresh, publish, publish again, write: everything that a user waits for."""
    times: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["DISCREET_STATE"] = str(folder / "state")
        (folder / "p").mkdir()
        write_data(folder / "p", tree, exact)
        discreet.init(folder / "p")
        file = folder / "p" / "discreet.toml"
        file.write_text(file.read_text() + TOML)
        project = discreet.open(folder / "p")
        with clock(times, "refresh (making the declared table)"):
            project.refresh("people")
        with clock(times, "reading the public table of places"):
            project.public("places")
        marks = [("start", time.process_time())]

        def run():
            return publish(
                plan_of(PLAN),
                open_session(project, "people", UNNAMED),
                epsilon=2,
                delta=None,
                publics=project.public,
                progress=lambda word, done: marks.append((word, time.process_time())),
            )

        with clock(times, "publish, all"):
            made = run()
        for (word, begun), (_, ended) in pairwise(marks[1:]):
            times[f"publish: {word}"] = ended - begun
        with clock(times, "publish again (stored)"):
            assert run().cached
        with clock(times, "write CSV, Parquet and card"):
            made.write(folder / "out")
        size = sum(file.stat().st_size for file in (folder / "out").iterdir()) / 2**20
        ledger = (folder / "p" / ".discreet" / "ledger.db").stat().st_size / 2**20
        card = json.loads((folder / "out" / "card.json").read_text())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    assert made.total == card["rows"]
    return [
        "",
        f"The whole verb, blocks as text joined to a public table: {made.total:,} rows published of "
        f"{int(exact[0].sum()):,}; files {size:,.0f} MB, ledger {ledger:,.0f} MB, at most {memory:.1f} GB of memory "
        "(this benchmark's own data among it).",
        "",
        "| | CPU s |",
        "|---|---|",
        *(f"| {name} | {seconds:.1f} |" for name, seconds in times.items()),
    ]


def main() -> None:
    tree, exact = nation(np.random.default_rng(1))
    print("\n".join([*refined(tree, exact), *whole_verb(tree, exact)]))


if __name__ == "__main__":
    main()
