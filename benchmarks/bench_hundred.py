"""A hundred fits of a table, at epsilon 1: in how many of them the claims of synthetic data hold, with exact intervals.

`python benchmarks/bench_hundred.py --jobs 16 --fits 100 --out FILE.json` runs the fits in parallel processes, keeps each
outcome in the file while it runs, and goes on from there when it is started again. Needs the runtime's environment only.
`--read FILE.json` prints the tables of a file that is there; with `--write`, as the section "hundred" of RESULTS.md too.
`--tuning`: tables of the seeds that may be looked at; the others are judged. `--only pair,columns`, `--tables offenders`,
`--deltas 0`: a part. Tables are generated from their seeds; the noise of a fit has none.

Claims: the correlation of the main pair is within 0.1 in 95 of 100 fits; codes and words of 5% survive in 99 of 100; no
column collapses; NULL is not invented; numbers and dates reach the 1st and the 99th percentile. Text without a delta
cannot be found, which a fit says before it is paid: its words are not counted there.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before numpy is loaded, here and in the processes that this one starts

from hundred_fits import FitOrder, fit_once  # noqa: E402
from results import write_section  # noqa: E402

from discreet.lab.evidence import clopper_pearson  # noqa: E402

#: The first seeds of tables that may be looked at while something is chosen, and of those that are judged.
TUNING, JUDGING = 1, 5000

#: What is fitted: kinds of orders and their tables.
TABLES = {
    "pair": ("offenders", "one pair", "long tails", "many values"),
    "undeclared pair": ("offenders",),
    "columns": ("offenders", "pupils", "loans", "stops"),
}
DELTAS = ("1e-6", "0")

Fit = dict[str, Any]
Column = dict[str, Any]


def main() -> None:
    given = _arguments()
    if given.read:
        fits = json.loads(given.read.read_text())["fits"]
    else:
        fits = run(_orders(given), jobs=given.jobs, out=given.out)
    text = tables(fits)
    print(text)
    if given.write:
        write_section("hundred", text, quick=given.quick)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes; default: all cores")
    parser.add_argument("--fits", type=int, default=100, help="of each table")
    parser.add_argument("--out", type=Path, help="the file that keeps outcomes; what is in it is not fitted again")
    parser.add_argument("--read", type=Path, help="print the outcomes of this file, and fit nothing")
    parser.add_argument("--only", default=",".join(TABLES), help="pair, undeclared pair, columns")
    parser.add_argument("--tables", default="", help="only tables of these names")
    parser.add_argument("--deltas", default=",".join(DELTAS))
    parser.add_argument("--kind", default="auto", help="the model")
    parser.add_argument("--tuning", action="store_true", help="tables that may be looked at")
    parser.add_argument("--write", action="store_true", help="the section of RESULTS.md")
    parser.add_argument("--quick", action="store_true", help="two fits of each")
    return parser.parse_args()


def _orders(given: argparse.Namespace) -> list[FitOrder]:
    """Fit by fit, not table by table: what is stopped early has seen all of them."""
    first = TUNING if given.tuning else JUDGING
    return [
        FitOrder(what=what, table=table, delta=delta, seed=seed, kind=given.kind)
        for seed in range(first, first + (2 if given.quick else given.fits))
        for what in given.only.split(",")
        for table in TABLES[what]
        for delta in given.deltas.split(",")
        if given.tables == "" or table in given.tables.split(",")
    ]


def run(orders: Sequence[FitOrder], *, jobs: int, out: Path | None) -> list[Fit]:
    """The outcomes of all orders, in their order; those that the file has are read from it."""
    done = {_order(fit).name: fit for fit in (json.loads(out.read_text())["fits"] if out and out.exists() else [])}
    open_orders = [order for order in orders if order.name not in done]
    started = saved = time.monotonic()
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(fit_once, order): order for order in open_orders}
        for count, future in enumerate(as_completed(waiting), start=1):
            done[waiting[future].name] = future.result()
            if time.monotonic() - saved > 10 or count == len(open_orders):
                saved = time.monotonic()
                _save(out, done.values())
                print(f"{count} of {len(open_orders)} fits, {saved - started:.0f} s", file=sys.stderr, flush=True)
    return [done[order.name] for order in orders]


def _order(fit: Fit) -> FitOrder:
    return FitOrder(**{name: fit[name] for name in ("what", "table", "delta", "seed", "kind")})


def _save(out: Path | None, fits: Iterable[Fit]) -> None:
    if out is None:
        return
    partial = out.with_suffix(".part")
    partial.write_text(json.dumps({"fits": list(fits)}, indent=1) + "\n")
    partial.replace(out)


#: Claims about a fit of an undeclared table: their names, what is required of 100 fits, and whether a column meets it.
CLAIMS: dict[str, tuple[int, Callable[[Column], bool]]] = {
    "values of 5% survive": (99, lambda column: not column.get("lost5")),
    "no column collapses": (100, lambda column: not column.get("collapsed")),
    "NULL is not invented": (100, lambda column: not column.get("invented")),
    "reaches the 1st percentile": (100, lambda column: not column.get("short_low")),
    "reaches the 99th percentile": (100, lambda column: not column.get("short_high")),
    "not four times too wide": (100, lambda column: not column.get("wide")),
}


def tables(fits: Sequence[Fit]) -> str:
    """Both tables, and what failed."""
    groups: dict[tuple[str, str, str, str], list[Fit]] = {}
    for fit in fits:
        groups.setdefault((fit["what"], fit["table"], fit["delta"], fit["kind"]), []).append(fit)
    lines = [
        "Epsilon 1; every fit is of a table generated anew. Intervals are those of Clopper and Pearson, at 95%.",
        "",
        "| table | declared | model | delta | correlation within 0.1 | interval | required | mean error | worst | CPU s |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *(_pair_line(*group, each) for group, each in groups.items() if group[0] != "columns"),
        "",
        "| table | model | delta | claim | fits | interval | required | columns that miss it (fits) |",
        "|---|---|---|---|---|---|---|---|",
        *(line for group, each in groups.items() if group[0] == "columns" for line in _column_lines(*group, each)),
    ]
    failed = [fit for fit in fits if "failed" in fit]
    reasons = "; ".join(f"{reason} ({count})" for reason, count in Counter(fit["failed"] for fit in failed).items())
    return "\n".join([*lines, "", f"Fits that failed: {len(failed)}{f' ({reasons})' if failed else ''}."])


def _pair_line(what: str, table: str, delta: str, kind: str, fits: Sequence[Fit]) -> str:
    errors = [abs(fit["synthetic"] - fit["real"]) for fit in fits if "failed" not in fit]
    met = sum(error <= 0.1 for error in errors)
    mean, worst = (f"{sum(errors) / len(errors):.3f}", f"{max(errors):.3f}") if errors else ("–", "–")
    seconds = sum(fit["cpu_s"] for fit in fits) / len(fits)
    declared = "yes" if what == "pair" else "no"
    return (
        f"| {table} | {declared} | {kind} | {delta} | {met} of {len(fits)} | {_interval(met, len(fits))} | 95% | "
        f"{mean} | {worst} | {seconds:.1f} |"
    )


def _column_lines(_: str, table: str, delta: str, kind: str, fits: Sequence[Fit]) -> list[str]:
    lines = []
    for claim, (required, meets) in CLAIMS.items():
        misses: Counter[str] = Counter()
        met = 0
        for fit in fits:
            missing = [
                name
                for name, column in fit.get("columns", {}).items()
                if not meets(column) and not (column["text"] and delta == "0")
            ]
            misses.update(missing)
            met += "failed" not in fit and not missing
        which = ", ".join(f"{name} ({count})" for name, count in misses.most_common())
        interval = _interval(met, len(fits))
        lines.append(
            f"| {table} | {kind} | {delta} | {claim} | {met} of {len(fits)} | {interval} | {required}% | {which} |"
        )
    return lines


def _interval(met: int, fits: int) -> str:
    low, high = clopper_pearson(met, fits)
    return f"{low:.1%} to {high:.1%}"


if __name__ == "__main__":
    main()
