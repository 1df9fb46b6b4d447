"""The command line. `run` is its entry point, and light: a keyboard interrupt is met even while the rest loads."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress

#: So many new objects wait for the collector, not 700: while a verb loads its libraries hardly any is garbage.
_NEW_OBJECTS = 10_000


def run() -> None:
    """Call the command line and leave with its exit code."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        # Before numpy is loaded: the products of a fit are small, and threads that wait for each other double its time.
        os.environ.setdefault(name, "1")
    gc.disable()
    gc.set_threshold(_NEW_OBJECTS)
    begun = False
    try:
        from discreet.cli.main import call

        gc.freeze()  # what is loaded now stays, and is never searched; what a verb opens is, so that it is closed
        gc.enable()
        begun = True
        code = call(sys.argv[1:])
    except KeyboardInterrupt:
        print(
            f"stopped; {'anything already charged stays charged' if begun else 'nothing was charged'}", file=sys.stderr
        )
        code = 130
    _close_undisturbed()
    sys.exit(code)


def _close_undisturbed() -> None:
    """Open files are closed in a moment, and temporary ones erased: a second Ctrl-C would only interrupt that."""
    import signal

    with suppress(ValueError):  # only a main thread may say so
        signal.signal(signal.SIGINT, signal.SIG_IGN)
