"""dp_accounting's privacy loss distributions of lists of events: the lists on stdin, epsilon of each on stdout."""

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from dp_accounting.pld import privacy_loss_distribution as pld
from usage import peak_mib, start_of_peak

MAKERS = {"laplace": pld.from_laplace_mechanism, "gaussian": pld.from_gaussian_mechanism}


def main() -> None:
    cases = json.load(sys.stdin)
    before, start = start_of_peak(), time.process_time()
    for case in cases:
        for name, pessimistic in (("pld", True), ("pld_low", False)):
            whole = None
            for kind, scale, times in case["events"]:
                part = MAKERS[kind](scale, pessimistic_estimate=pessimistic).self_compose(times)
                whole = part if whole is None else whole.compose(part)
            case[name] = whole.get_epsilon_for_delta(case["delta"])
    spent, peak = time.process_time() - start, max(0.0, peak_mib() - before)
    json.dump({"cases": cases, "cpu_s": spent, "peak_mib": peak}, sys.stdout)


if __name__ == "__main__":
    main()
