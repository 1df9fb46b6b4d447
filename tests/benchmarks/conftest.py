"""The benchmarks are scripts, not a package: here their modules are found by name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
