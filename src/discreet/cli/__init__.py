"""The command line. `run` is its entry point, and light: a keyboard interrupt is met even while the rest loads."""

from __future__ import annotations

import gc
import os
import sys

#: So many new objects wait for the collector, not 700: while libraries load hardly any is garbage.
_NEW_OBJECTS = 10_000


def run() -> None:
    """Call the command line and leave with its exit code."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        # Before numpy is loaded: the products of a fit are small, and threads that wait for each other double its time.
        os.environ.setdefault(name, "1")
    gc.set_threshold(_NEW_OBJECTS)
    begun = False
    try:
        from discreet.cli.main import call

        begun = True
        code = call(sys.argv[1:])
    except KeyboardInterrupt:
        print(
            f"stopped; {'anything already charged stays charged' if begun else 'nothing was charged'}", file=sys.stderr
        )
        code = 130
    gc.freeze()  # the process ends, and what must be closed says so itself: no need to search all for garbage again
    sys.exit(code)
