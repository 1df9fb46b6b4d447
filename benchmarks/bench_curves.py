"""Utility against privacy: the error of everything that is released, from epsilon 0.05 to 8, beside theory and the peers.

Counts, ranges, marginals, quantiles, models of synthetic data and local protocols, each through the product (a project, its
ledger and its curator) or, where respondents add the noise, by the protocol's own objects. Pictures and the numbers behind
them go to benchmarks/plots, the tables to RESULTS.md. `--only=NAME` runs one of them, `--quick` three epsilons with few
repetitions, kept apart in benchmarks/.quick.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from curves_picture import EPSILONS, FEW, Picture
from records import HERE, QUICK
from results import write_section

#: In the order of the page.
NAMES = ("counts", "ranges", "marginals", "quantiles", "synth", "local")
#: Run in environments of their own.
PEERS = ("opendp", "smartnoise", "pure_ldp", "multi_freq_ldpy", "dpmm", "private_pgm", "datasynthesizer")


def main(words: Sequence[str]) -> None:
    quick = "--quick" in words
    only = [word.removeprefix("--only=") for word in words if word.startswith("--only=")]
    folder = QUICK / "plots" if quick else HERE / "plots"
    for name in only or NAMES:
        start = time.process_time()
        for picture in import_module(f"curves_{name}").pictures(FEW if quick else EPSILONS, quick=quick):
            print(picture.table(), end="\n\n", flush=True)
            picture.save(folder)
        print(f"{name}: {time.process_time() - start:.1f} CPU seconds, without the peers'", file=sys.stderr, flush=True)
    write_section("curves", section(folder), quick=quick)


def section(folder: Path) -> str:
    """All pictures and their tables, from the numbers behind them."""
    found = {path.stem: Picture.load(path) for path in sorted(folder.glob("curves-*.json"))}
    order = [each for name in NAMES for each in found if each.startswith(f"curves-{name}")]
    head = (
        "What epsilon buys: root mean square errors (of quantiles and synthetic data: means) with their standard errors, "
        "measured in **bold**, theory in *italics*, peers plain; a dash is what a peer cannot do or did not. "
        "[What they say](../docs/utility.md)."
    )
    return "\n\n".join(
        [head, *(f"{found[name].table()}\n\n![{found[name].title}](plots/{name}.svg)" for name in order)]
    )


if __name__ == "__main__":
    main(sys.argv[1:])
