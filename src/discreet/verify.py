"""The independent checker of bundles, `python -m discreet.verify FOLDER`: it imports nothing of Discreet.

It runs the same file as `python verify/check_bundle.py`, in its own words and with its own exit codes. The checker's
files are those of the folder `verify/` of the source, unchanged: a wheel has them beside this file, a checkout there.
"""

import runpy
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAME = "check_bundle.py"

if __name__ == "__main__":
    folders = (HERE / "verify", HERE.parents[1] / "verify")
    checker = next(path for folder in folders if (path := folder / NAME).is_file())
    sys.argv[0] = str(checker)
    runpy.run_path(str(checker), run_name="__main__")
