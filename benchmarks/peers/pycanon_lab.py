"""pycanon: k, l and t of a table, in a process of its own."""

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import pandas as pd
from pycanon import anonymity
from usage import peak_mib, start_of_peak


def main() -> None:
    order = json.load(sys.stdin)
    table = pd.read_csv(order["source"]).head(order["rows"])
    before, start = start_of_peak(), time.process_time()
    anonymity.k_anonymity(table, order["quasi"])
    anonymity.l_diversity(table, order["quasi"], [order["sensitive"]])
    anonymity.t_closeness(table, order["quasi"], [order["sensitive"]])
    json.dump({"cpu_s": time.process_time() - start, "peak_mib": max(0.0, peak_mib() - before)}, sys.stdout)


if __name__ == "__main__":
    main()
