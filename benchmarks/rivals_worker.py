"""One measurement of `./do bench lab` that a peer makes, too: an order on stdin, what it cost on stdout."""

from __future__ import annotations

import json
import sys
import time

import pyarrow.csv as csv
from usage import peak_mib, start_of_peak

from discreet.lab.anonymize import anonymize, check
from discreet.lab.attacks.synthetic import code_tables, multivariate, univariate
from discreet.lab.table_reader import read


def main() -> None:
    order = json.load(sys.stdin)
    if order["what"] in ("check", "anonymize"):
        table = read(order["source"]).slice(0, order["rows"])
        about = {"quasi": tuple(order["quasi"]), "sensitive": (order["sensitive"],)}
        if order["what"] == "check":
            work = lambda: check(table, **about)  # noqa: E731
        else:
            work = lambda: anonymize(table, k=10, **about)  # noqa: E731
    else:
        original, control = csv.read_csv(order["original"]), csv.read_csv(order["control"])
        attack = multivariate if order["what"] == "multivariate" else univariate
        work = lambda: attack(code_tables(original, original, control))  # noqa: E731
    before, start = start_of_peak(), time.process_time()
    work()
    json.dump({"cpu_s": time.process_time() - start, "peak_mib": max(0.0, peak_mib() - before)}, sys.stdout)


if __name__ == "__main__":
    main()
