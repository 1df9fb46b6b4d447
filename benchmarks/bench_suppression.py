"""k-anonymity of Adult by suppression of single cells: what is lost, beside what ARX's model loses at least.

`python benchmarks/bench_suppression.py` writes the section "suppression" of RESULTS.md. Loss is the mean, over rows and
quasi-identifiers, of the share of a column's other values that a label could mean instead; 1 for `*` and for each cell
of a row that is left out. It is the same for every line.

ARX generalises whole columns by hierarchies and leaves out rows, and finds the best of these. It needs a Java machine
and is not run here: `--method lattice` searches the same, by the same measure. Beside it are the figure of ARX itself
that was recorded (k = 10, its 30,162 rows, its own score) and the least losses of its model with the hierarchies of its
own example, which are not part of this repository.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from records import BELOW_LIMITS
from results import write_section
from synth_data import ADULT

from discreet.lab.anonymize import anonymize
from discreet.lab.table_reader import read

QUASI = ("age", "education", "marital-status", "occupation", "sex", "native-country")
SIZES = (2, 5, 10)
#: ARX's own score, recorded on 2026-11-15: 30,162 rows, k = 10, 5% left out.
RECORDED = {10: 0.216}
#: The least loss with the hierarchies of ARX's example and any share of rows left out, on these 48,842 rows.
EXAMPLE = {2: 0.1191, 5: 0.1753, 10: 0.2101}
WAYS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("suppression, `*` alone", {"method": "suppression"}),
    ("suppression, round labels", {"method": "suppression", "labels": "round"}),
    ("suppression, tight labels", {"method": "suppression", "labels": "tight"}),
    ("mondrian, cut points", {}),
    ("mondrian, tight labels", {"labels": "tight"}),
    ("lattice (ARX's model), 5% of rows left out", {"method": "lattice"}),
    ("lattice (ARX's model), any share left out", {"method": "lattice", "suppress": 0.99}),
)


def main(words: list[str]) -> None:
    """Measure, print and keep."""
    table = read(ADULT)
    lines = ["| loss at k = | 2 | 5 | 10 | CPU s at 10 |", "|---|---:|---:|---:|---:|"]
    factors, losses = [], {}
    for name, options in WAYS:
        made = []
        for k in SIZES:
            start = time.process_time()
            made.append(anonymize(table, quasi=QUASI, k=k, **options))
            seconds = time.process_time() - start
        losses[name] = [each.loss for each in made]
        lines.append(f"| {name} | {' | '.join(f'{each.loss:.4f}' for each in made)} | {seconds:.2f} |")
        if made[0].suppression is not None and not factors:
            factors = [each.suppression.factor for each in made]
        print(lines[-1], flush=True)
    lines += [
        f"| ARX's model, the hierarchies of its example | {' | '.join(f'{EXAMPLE[k]:.4f}' for k in SIZES)} | |",
        f"| ARX itself, its own score | | | {RECORDED[10]:.3f} | 0.3 to 0.7 |",
        "",
        "At most so many times the fewest possible `*`, proved for this table: "
        + ", ".join(f"{factor:.3f} (k = {k})" for k, factor in zip(SIZES, factors, strict=True))
        + "; for every table: "
        + ", ".join(f"{3 * (k - 1)}" for k in SIZES)
        + ".",
        "",
        "48,842 rows, six quasi-identifiers. ARX's own score was taken on 30,162 of these rows with 5% left out.",
    ]
    text = "\n".join(lines)
    print(text)
    write_section("suppression", text, quick="--quick" in words)
    stars, model = losses[WAYS[0][0]], losses[WAYS[-1][0]]
    limits = [min(most, EXAMPLE[k], RECORDED.get(k, 1.0)) for k, most in zip(SIZES, model, strict=True)]
    if any(lost > most for lost, most in zip(stars, limits, strict=True)):
        raise SystemExit(BELOW_LIMITS)


if __name__ == "__main__":
    main(sys.argv[1:])
