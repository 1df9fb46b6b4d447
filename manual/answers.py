"""The page of JSON: every key that a verb prints with --json, found by running it, with one line of meaning."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from manual.scenario import CALLS, FAILURES, seen
from manual.tables import code, page, table
from manual.verbs import application, verbs
from manual.words import Undocumented, words

OPENING = """\
What each verb prints with `--json`: one object on one line. A key followed by `[]` is a list, and the keys after it
belong to each of its members; `NAME` stands for a name that you chose. These keys were collected by running the verbs
on a small project; keys may be added, but existing keys do not change. The console's HTTP API has
[its own page](../api.md)."""
WHERE = "manual/words/json.toml"


def paths(data: Any, named: set[str], path: str = "") -> Iterator[str]:
    """Every key of JSON data by its path. `named`: paths whose keys are names that people chose."""
    match data:
        case dict():
            for key, value in data.items():
                shown = "NAME" if path in named else key
                inner = f"{path}.{shown}".lstrip(".")
                yield inner
                yield from paths(value, named, inner)
        case list():
            for value in data:
                if isinstance(value, dict | list):
                    yield from paths(value, named, f"{path}[]")


@cache
def found() -> dict[str, tuple[str, ...]]:
    """The paths that each verb, or failure, was seen to print, in the order of their first appearance."""
    said = words("json")
    kept: dict[str, dict[str, None]] = {}
    for verb, told in seen():
        named = {path.partition(": ")[2] for path in said["named"] if path.startswith(f"{verb}: ")}
        leaves = tuple(path.partition(": ")[2] for path in said["leaves"] if path.startswith((f"{verb}: ", "*: ")))
        for path in paths(told, named):
            if not any(path != leaf and path.startswith((leaf + ".", leaf + "[")) for leaf in leaves):
                kept.setdefault(verb, {})[path] = None
    return {verb: tuple(each) for verb, each in kept.items()}


def text() -> str:
    """The page."""
    said = words("json")
    _complete(said)
    parts = []
    used: set[str] = set()
    for verb, keys in found().items():
        rows = []
        for path in keys:
            meaning, key = _meaning(verb, path, said["keys"])
            used.add(key)
            rows.append((code(path), meaning))
        title = f"discreet {verb}" if verb in _known() else verb[0].upper() + verb[1:]
        note = said["notes"].get(verb, "")
        parts.append(f"## {title}\n\n" + (note + "\n\n" if note else "") + table(("key", "meaning"), rows))
    others = {verb: told for verb, told in said["notes"].items() if verb not in found()}
    parts.append(
        "## The others\n\n" + table(("verb", "what it prints"), [(code(f"discreet {v}"), t) for v, t in others.items()])
    )
    if strange := sorted(set(said["keys"]) - used):
        raise Undocumented(f"documented JSON keys that no verb prints: {', '.join(strange)}; remove them from {WHERE}")
    return page("JSON", OPENING, *parts)


def _known() -> set[str]:
    return {verb for verb, _ in verbs(application())}


def _complete(said: dict[str, Any]) -> None:
    """Every verb has its keys or a note that says what it prints."""
    told = {verb for verb, _ in CALLS} | set(said["notes"])
    if missing := sorted(_known() - told):
        raise Undocumented(
            f"the JSON of {', '.join(missing)} is not documented: call it in manual/scenario.py, or note it in {WHERE}"
        )
    if strange := sorted(told - _known() - {name for name, _ in FAILURES}):
        raise Undocumented(f"documented JSON of verbs that do not exist: {', '.join(strange)}")


def _meaning(verb: str, path: str, keys: dict[str, str]) -> tuple[str, str]:
    """What a key means: of this verb, else wherever it stands."""
    last = path.rpartition(".")[2]
    for key in (f"{verb}: {path}", f"{verb}: {last}", last):
        if key in keys:
            return keys[key], key
    raise Undocumented(f"JSON key {path!r} of {verb!r} is not documented; add it to {WHERE}")
