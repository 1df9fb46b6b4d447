"""Run the checker: the same file as `python verify/check_bundle.py`, in its own words and with its own exit codes."""

import runpy
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAME = "check_bundle.py"

if __name__ == "__main__":
    checker = next(path for path in (HERE / NAME, HERE.parents[2] / "verify" / NAME) if path.is_file())
    sys.argv[0] = str(checker)
    runpy.run_path(str(checker), run_name="__main__")
