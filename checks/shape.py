"""The shape of the house, of signatures and of imports, counted; the numbers may fall and never rise.

`python checks/shape.py` compares the source with checks/shape.json and fails where a number is not the one kept there.
`--write` keeps the new numbers if none is larger. `--list` prints what is counted. Standard library only.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "discreet"
KEPT = ROOT / "checks" / "shape.json"

#: A function with more parameters is told too much; `self` is not told.
MOST = 8

#: Where a function is a verb's own: its parameters are what people type, each by its name. The command line; and in
#: Python the project's verbs, the estimator with scikit-learn's manners, and the lab's.
VERBS = {
    "project/project.py": {"add", "draft"},
    "project/question.py": {"ask", "explain"},
    "project/publications.py": {"ranges", "plan_ranges", "publish", "synthesize"},
    "synth/estimator.py": {"__init__"},
    "lab/anonymize/anonymizer.py": {"anonymize"},
    "lab/attacks/synthetic/attack_suite.py": {"attack"},
}


def main(words: list[str]) -> int:
    listed = {
        f"functions of more than {MOST} parameters": list(long_signatures()),
        "parameters of any name and type": list(open_signatures()),
        "files that import each other in a circle": [name for circle in circles(imports()) for name in circle],
        "rooms on the ground floor": rooms(),
        "imports inside functions of what is loaded anyway": list(needless_imports()),
    }
    if "--list" in words:
        for what, places in listed.items():
            print(f"{what}:")
            for place in places:
                print(f"  {place}")
    counted = {what: len(places) for what, places in listed.items()}
    kept = json.loads(KEPT.read_text())
    problems = [f"{what}: {counted[what]}, was {kept[what]}" for what in counted if counted[what] > kept[what]]
    if problems:
        print("shape: more than before. " + "; ".join(problems) + " (python checks/shape.py --list shows them)")
        return 1
    if "--write" in words:
        KEPT.write_text(json.dumps(counted, indent=2) + "\n")
    elif counted != kept:
        print(f"shape: fewer than before, which is good: keep it by python checks/shape.py --write ({counted})")
        return 1
    return 0


def long_signatures() -> Iterator[str]:
    """Functions with more than `MOST` parameters that are not a verb's own."""
    for path, function in functions():
        where, own = shown(path), function.args
        if where.startswith("cli/") or function.name in VERBS.get(where, ()):
            continue
        names = [each.arg for each in (*own.posonlyargs, *own.args, *own.kwonlyargs)]
        count = len(names) - (names[:1] in (["self"], ["cls"]))
        if count > MOST:
            yield f"{where}:{function.lineno} {function.name} ({count})"


def open_signatures() -> Iterator[str]:
    """Functions with `**more: Any`, or without a type for it: what is passed so, nobody checks."""
    for path, function in functions():
        more = function.args.kwarg
        if more is not None and (more.annotation is None or ast.unparse(more.annotation) == "Any"):
            yield f"{shown(path)}:{function.lineno} {function.name} (**{more.arg})"


def imports() -> dict[str, set[str]]:
    """For each module what it imports of the package: at the top, for type checking, or inside a function."""
    modules = {module_of(path): tree for path, tree in trees()}
    return {name: {target for target in named(tree, modules) if target != name} for name, tree in modules.items()}


def named(tree: ast.Module, modules: dict[str, ast.Module]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module in modules:
            for each in node.names:
                inner = f"{node.module}.{each.name}"
                yield inner if inner in modules else node.module


def rooms() -> list[str]:
    """The folders of code that stand directly in the package."""
    return sorted({shown(path).partition("/")[0] for path, _ in trees() if path.parent != SOURCE})


def needless_imports() -> Iterator[str]:
    """Imports inside functions of modules that the file's own imports, at its top, have loaded by then."""
    loads = {module_of(path): loaded(import_statements(tree, inside=False)) for path, tree in trees()}
    for path, tree in trees():
        inside = import_statements(tree, inside=True)
        there = reached(module_of(path), loads) if inside else set()
        yield from (f"{shown(path)}:{node.lineno} {ast.unparse(node)}" for node in inside if loaded([node]) <= there)


def reached(name: str, graph: dict[str, set[str]]) -> set[str]:
    """What a module loads, and what that loads, and so on.

    >>> sorted(reached("a", {"a": {"b"}, "b": {"c", "a"}, "d": {"a"}}))
    ['a', 'b', 'c']
    """
    there = {name}
    waiting = [name]
    while waiting:
        new = graph.get(waiting.pop(), set()) - there
        there |= new
        waiting += new
    return there


def import_statements(tree: ast.Module, *, inside: bool) -> list[ast.Import | ast.ImportFrom]:
    """The imports of a file that are inside functions, or those that are not; without those for type checking."""
    listed = []
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, within = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom) and within == inside:
            listed.append(node)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        within = within or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += [(child, within) for child in getattr(node, block, ())]
    return sorted(listed, key=lambda node: node.lineno)


def loaded(nodes: list[ast.Import | ast.ImportFrom]) -> set[str]:
    """The modules that imports load, with the packages that they are in."""
    names = set()
    for node in nodes:
        listed = {each.name for each in node.names}
        if isinstance(node, ast.ImportFrom):
            listed = {node.module or ""} | {name for each in listed if (name := f"{node.module}.{each}") in modules()}
        names |= listed
    return {".".join(parts[:end]) for name in names for parts in [name.split(".")] for end in range(1, len(parts) + 1)}


@cache
def modules() -> frozenset[str]:
    return frozenset(module_of(path) for path, _ in trees())


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Modules that reach each other (Tarjan's strongly connected components of more than one).

    >>> circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()})
    [['b', 'c']]
    """
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_: list[str] = []
    closed: list[list[str]] = []

    def visit(name: str) -> None:
        numbers[name] = lowest[name] = len(numbers)
        open_.append(name)
        for other in sorted(graph[name]):
            if other not in numbers:
                visit(other)
            if other in open_:
                lowest[name] = min(lowest[name], lowest[other])
        if lowest[name] == numbers[name]:
            place = open_.index(name)
            closed.append(sorted(open_[place:]))
            del open_[place:]

    sys.setrecursionlimit(10_000)
    for name in sorted(graph):
        if name not in numbers:
            visit(name)
    return [circle for circle in closed if len(circle) > 1]


def functions() -> Iterator[tuple[Path, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield path, node


@cache
def trees() -> list[tuple[Path, ast.Module]]:
    return [(path, ast.parse(path.read_text(encoding="utf-8"))) for path in sorted(SOURCE.rglob("*.py"))]


def module_of(path: Path) -> str:
    """The module of a file; a package's own is that of its `__init__.py`."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def shown(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
