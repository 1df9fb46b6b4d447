"""Names that mean more than one thing, counted; the numbers may fall and never rise.

`python checks/names.py` compares the source with checks/names.json and fails where a number is not the one kept there.
`--write` keeps the new numbers if none is larger. `--list` prints what is counted. Standard library only.
"""

from __future__ import annotations

import ast
import json
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "discreet"
KEPT = ROOT / "checks" / "names.json"

#: Words that say nothing of what they name: CONTRIBUTING, "Names".
VAGUE = frozenset({"told", "found", "known", "held", "said", "asked", "sought", "wanted"})

#: Where a node that defines a name keeps it.
NAMED = {
    ast.FunctionDef: "name",
    ast.AsyncFunctionDef: "name",
    ast.ClassDef: "name",
    ast.arg: "arg",
    ast.MatchAs: "name",
}

Places = dict[str, list[str]]


def main(words: list[str]) -> int:
    listed = {
        "module names used more than twice": modules(),
        "class names used twice": classes(),
        "vague names": vague(),
    }
    if "--list" in words:
        for what, places in listed.items():
            print(f"{what}:")
            for name, where in sorted(places.items(), key=lambda item: (-len(item[1]), item[0])):
                print(f"  {name} ({len(where)}): {', '.join(sorted(set(where)))}")
    counted = {what: sum(map(len, places.values())) for what, places in listed.items()}
    kept = json.loads(KEPT.read_text())
    problems = [f"{what}: {counted[what]}, was {kept[what]}" for what in counted if counted[what] > kept[what]]
    if problems:
        print("names: more than before. " + "; ".join(problems) + " (python checks/names.py --list shows them)")
        return 1
    if "--write" in words:
        KEPT.write_text(json.dumps(counted, indent=2) + "\n")
    elif counted != kept:
        print(f"names: fewer than before, which is good: keep it by python checks/names.py --write ({counted})")
        return 1
    return 0


def modules() -> Places:
    """Files by name, where more than two share one."""
    places = defaultdict(list)
    for path in files():
        if path.name != "__init__.py":
            places[path.name].append(shown(path))
    return {name: where for name, where in places.items() if len(where) > 2}


def classes() -> Places:
    """Classes by name, where two share one. A name with an underscore is its module's own."""
    places = defaultdict(list)
    for path, names in definitions():
        for name in names[ast.ClassDef]:
            if not name.startswith("_"):
                places[name].append(shown(path))
    return {name: where for name, where in places.items() if len(where) > 1}


def vague() -> Places:
    """Where a vague word is defined as a name: a variable, parameter, function, class, field or module."""
    places = defaultdict(list)
    for path, names in definitions():
        for name in [path.stem, *(name for listed in names.values() for name in listed)]:
            if name.strip("_").lower() in VAGUE:
                places[name].append(shown(path))
    return dict(places)


@cache
def definitions() -> list[tuple[Path, dict[type, list[str]]]]:
    """The names that each file defines, by the kind of node that does."""
    listed = []
    for path in files():
        names: dict[type, list[str]] = defaultdict(list)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            kind = type(node)
            if kind is ast.Name:
                if type(node.ctx) is ast.Store:
                    names[kind].append(node.id)
            elif kind in NAMED and getattr(node, NAMED[kind]) is not None:
                names[kind].append(getattr(node, NAMED[kind]))
        listed.append((path, names))
    return listed


def files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def shown(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
