"""benchmarks/RESULTS.md: the summary, then one section a benchmark, replaced by each run."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from fcntl import LOCK_EX, flock
from pathlib import Path

from records import QUICK, folder, this_machine

RESULTS = Path(__file__).resolve().parent / "RESULTS.md"
HEAD = """# Figures

What the benchmarks saw, good and bad: CPU seconds and same-run ratios, written by `./do bench`.
Machines differ and are noisy; ratios in one run travel best. [What they mean and how to run them](../docs/figures.md).
"""


def page(*, quick: bool) -> Path:
    """The results, or those of quick runs, which git ignores."""
    return QUICK / "RESULTS.md" if quick else RESULTS


def begin() -> None:
    """An empty page and no records, for a run of everything: what a former run found is in git."""
    RESULTS.write_text(HEAD, encoding="utf-8")
    for path in folder(quick=False).glob("*.json"):
        path.unlink()


def write_section(name: str, text: str, *, quick: bool = False) -> None:
    """Replace the section `name`, or append it, with the day and the machine."""
    stamp = f"*{datetime.now(UTC):%Y-%m-%d}, {this_machine()}*"
    _replace(page(quick=quick), name, f"## {name}\n\n{text.strip()}\n\n{stamp}")


def write_summary(text: str, *, quick: bool = False) -> None:
    """The summary stands first; the page's own head is written anew."""
    path = page(quick=quick)
    rest = path.read_text(encoding="utf-8") if path.exists() else ""
    rest = re.sub(r"<!-- summary -->.*?<!-- /summary -->\n*", "", rest, flags=re.DOTALL)
    first = rest.find("<!-- ")
    rest = rest[first:] if first >= 0 else ""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{HEAD}\n<!-- summary -->\n{text.strip()}\n<!-- /summary -->\n\n{rest}", encoding="utf-8")


def _replace(path: Path, name: str, text: str) -> None:
    """Under a lock: benchmarks that count errors run side by side."""
    QUICK.mkdir(parents=True, exist_ok=True)
    with (QUICK / "lock").open("w") as lock:
        flock(lock, LOCK_EX)
        _replace_alone(path, name, text)


def _replace_alone(path: Path, name: str, text: str) -> None:
    whole = path.read_text(encoding="utf-8") if path.exists() else HEAD
    section = f"<!-- {name} -->\n{text}\n<!-- /{name} -->"
    pattern = re.compile(rf"<!-- {name} -->.*?<!-- /{name} -->", re.DOTALL)
    whole = pattern.sub(lambda _: section, whole) if pattern.search(whole) else f"{whole.rstrip()}\n\n{section}\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(whole, encoding="utf-8")
