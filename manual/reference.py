"""Makes docs/reference/ from the code: `python -m manual.reference` compares, `--write` renews.

What the code says about itself (help texts, docstrings, keys that readers check) is taken from it; what it cannot
say stands in manual/words/, and a key without words fails here and in the tests.
"""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

from manual.words import Undocumented

from manual import answers, faults, happenings, settings, verbs

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"
PAGES = {
    "verbs.md": verbs.text,
    "settings.md": settings.text,
    "errors.md": faults.text,
    "events.md": happenings.text,
    "json.md": answers.text,
}


def stale() -> dict[str, tuple[str, str]]:
    """Pages whose committed text is not the generated one: (committed, generated) by name."""
    found = {}
    for name, make in PAGES.items():
        path = FOLDER / name
        before, now = path.read_text(encoding="utf-8") if path.exists() else "", make()
        if before != now:
            found[name] = before, now
    return found


def main(arguments: list[str]) -> int:
    """Compare, or with --write renew; say what was done."""
    try:
        old = stale()
    except Undocumented as problem:
        print(f"docs: {problem}", file=sys.stderr)
        return 1
    for name, (before, now) in old.items():
        if "--write" in arguments:
            (FOLDER / name).write_text(now, encoding="utf-8")
            print(f"docs: wrote docs/reference/{name}")
            continue
        lines = difflib.unified_diff(before.splitlines(), now.splitlines(), "committed", "generated", lineterm="", n=1)
        print("\n".join(list(lines)[:40]), file=sys.stderr)
    if old and "--write" not in arguments:
        print(f"docs: {', '.join(old)} is out of date; run ./do docs --write", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
