"""The page of settings: every key of every TOML file that is read, every environment variable, the console's limits.

The readers say which keys they know, in calls of `refuse_unknown_keys` and in patterns of `match`; what is found
there must have words in manual/words/settings.toml, and the words nothing besides.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from manual.tables import code, page, table
from manual.words import agree, words

import discreet
from discreet.bundle.about import About
from discreet.console.settings import Settings
from discreet.schema.project_file import _KEYS

WHERE = "manual/words/settings.toml"
OPENING = """\
The keys of the files that Discreet reads, and the environment variables that it uses. An unknown key is refused, and
the error names the closest known key, so a typing error is never ignored."""
#: Modules that read TOML, by the file that they read; `about.toml` is a dataclass.
READERS = {
    "discreet.toml": "discreet.schema.project_file",
    "plan.toml": "discreet.tables.publish.plan_file",
    "constraints": "discreet.synth.constraints_file",
    "tables.toml": "discreet.tables.infer.noisy_tables",
    "block.toml": "discreet.lab.attacks.census.block_file",
}


def text() -> str:
    """The page."""
    said = words("settings")
    parts = []
    for name, file in said["files"].items():
        told = {key for section in file["sections"] for key in section["keys"]}
        agree(keys_of(name), told, what=f"keys of {name}", where=WHERE)
        parts.append(f"## {file['title']}\n\n{file['opening'].strip()}\n")
        for section in file["sections"]:
            parts.append(_section(section, of_columns=section.get("columns", False)))
        if "closing" in file:
            parts.append(file["closing"].strip() + "\n")
    agree(variables(), set(said["environment"]), what="environment variables", where=WHERE)
    parts.append("## Environment\n")
    parts.append(table(("variable", "meaning"), [(code(name), told) for name, told in said["environment"].items()]))
    limits = {field.name: field.default for field in dataclasses.fields(Settings)}
    agree(set(limits), set(said["console"]), what="settings of the console", where=WHERE)
    parts.append(
        "## The console\n\n"
        "Set by flags of [`discreet serve`](verbs.md#discreet-serve) where one is named; the others are fixed.\n"
    )
    rows = [(code(name), _plain(limits[name]), told) for name, told in said["console"].items()]
    parts.append(table(("setting", "default", "meaning"), rows))
    return page("Settings", OPENING, *parts)


def _section(section: dict[str, Any], *, of_columns: bool) -> str:
    heading = ("key", "of columns", "default", "meaning") if of_columns else ("key", "type", "default", "meaning")
    rows = []
    for key, told in section["keys"].items():
        kinds = [kind for kind, known in _KEYS.items() if key in known]
        types = "all" if len(kinds) == len(_KEYS) else ", ".join(map(code, kinds))
        rows.append((code(key), types if of_columns else told["type"], told.get("default", ""), told["words"]))
    return f"### {section['title']}\n\n" + table(heading, rows)


def _plain(value: object) -> str:
    return "" if value is dataclasses.MISSING else code(str(value).lower() if isinstance(value, bool) else str(value))


def keys_of(name: str) -> set[str]:
    """Every key that a file's reader knows."""
    if name == "about.toml":
        return {field.name for field in dataclasses.fields(About)}
    return keys_in(importlib.import_module(READERS[name]))


def keys_in(module: ModuleType) -> set[str]:
    """Every key that a module checks a mapping for."""
    tree = ast.parse(inspect.getsource(module))
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="refuse_unknown_keys"), args=[_, keys]):
                found |= set(_strings(keys, module, tree))
            case ast.MatchMapping(keys=keys):
                found |= {str(key.value) for key in keys if isinstance(key, ast.Constant)}
    return found


def _strings(node: ast.expr, module: ModuleType, tree: ast.Module) -> Iterator[str]:
    """The strings that an expression stands for: a set of them, a name of one, or any value of a mapping of sets."""
    match node:
        case ast.Subscript(value=ast.Name(id=name)):
            for inner in vars(module)[name].values():
                yield from inner
        case ast.Name(id=name) if name not in vars(module):
            for each in ast.walk(tree):
                match each:
                    case ast.Assign(targets=[ast.Name(id=assigned)], value=value) if assigned == name:
                        yield from ast.literal_eval(value)
        case _:
            yield from eval(compile(ast.Expression(node), module.__name__, "eval"), vars(module))  # noqa: S307 - our source


def variables() -> set[str]:
    """Every environment variable of ours that the code names."""
    root = Path(discreet.__file__).parent
    return {
        name for path in root.rglob("*.py") for name in re.findall(r'"(DISCREET_[A-Z_]+)"', path.read_text("utf-8"))
    }
