"""MST on private-pgm for `./do bench synth`: an order on stdin, rows into a file, what it cost on stdout."""

from __future__ import annotations

import json
import resource
import sys
from contextlib import redirect_stdout
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import coded_table
import pandas as pd
import private_pgm_mst
from usage import peak_mib

DELTA = 1e-9


def main() -> None:
    order = json.load(sys.stdin)
    with redirect_stdout(sys.stderr):
        codes, sizes, back = coded_table.read(order["source"], order["bins"])
        rho = private_pgm_mst.rho_of(order["epsilon"], DELTA)
        found = private_pgm_mst.rows({name: codes[name].to_numpy() for name in codes}, sizes, rho)
        coded_table.write(pd.DataFrame(found), back, order["rows"])
    used = resource.getrusage(resource.RUSAGE_SELF)
    json.dump({"cpu_s": used.ru_utime + used.ru_stime, "memory_mb": peak_mib()}, sys.stdout)


if __name__ == "__main__":
    main()
