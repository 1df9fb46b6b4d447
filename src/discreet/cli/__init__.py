"""The command line. `run` is its entry point, and light: a keyboard interrupt is met even while the rest loads."""

from __future__ import annotations

import sys


def run() -> None:
    """Call the command line and leave with its exit code."""
    try:
        from discreet.cli.main import call

        code = call(sys.argv[1:])
    except KeyboardInterrupt:
        print("stopped; what was charged stays charged", file=sys.stderr)
        code = 130
    sys.exit(code)
