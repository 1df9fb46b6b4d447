"""Anonymeter: 500 guesses that single people out, on one column or on several; the synthetic table is a copy."""

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import pandas as pd
from anonymeter.evaluators import SinglingOutEvaluator
from usage import peak_mib, start_of_peak


def main() -> None:
    order = json.load(sys.stdin)
    original, control = pd.read_csv(order["original"]), pd.read_csv(order["control"])
    before, start = start_of_peak(), time.process_time()
    SinglingOutEvaluator(ori=original, syn=original, control=control, n_attacks=500).evaluate(mode=order["what"])
    json.dump({"cpu_s": time.process_time() - start, "peak_mib": max(0.0, peak_mib() - before)}, sys.stdout)


if __name__ == "__main__":
    main()
