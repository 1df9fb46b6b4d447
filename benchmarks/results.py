"""benchmarks/RESULTS.md: one section a benchmark, replaced by each run."""

from __future__ import annotations

import platform
import re
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "RESULTS.md"
HEAD = """# Figures

What the benchmarks saw, good and bad: CPU seconds and same-run ratios, written by `./do bench NAME`.
Machines differ and are noisy; ratios in one run travel best.
"""


def write_section(name: str, text: str) -> None:
    """Replace the section `name`, or append it."""
    page = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else HEAD
    stamp = f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {platform.machine()}"
    section = f"<!-- {name} -->\n## {name}\n\n{text.strip()}\n\n*{stamp}*\n<!-- /{name} -->"
    pattern = re.compile(rf"<!-- {name} -->.*?<!-- /{name} -->", re.DOTALL)
    page = pattern.sub(lambda _: section, page) if pattern.search(page) else f"{page.rstrip()}\n\n{section}\n"
    RESULTS.write_text(page, encoding="utf-8")
