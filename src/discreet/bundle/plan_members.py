"""Whether the JSON of a plan holds what is read of it and nothing else: an unknown member is a place for a secret.

Declared tables and columns are closed by `schema.project_file`, the human fields by `about`, versions and limits by
`standing`.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Mapping
from datetime import date
from typing import Any, get_args

from discreet.accounting import events
from discreet.accounting.guarantee import Accounting
from discreet.accounting.region import Region
from discreet.bundle.measurement_check import UnknownMember, read_measurement
from discreet.kernel.measurement import law_from_data
from discreet.mechanisms.strategy import strategy_data

#: A packed list unpacks to no more bytes.
MOST_BYTES = 2**28

_PLAN = {
    "release", "kind", "question", "text", "table", "version", "privacy_unit", "unit_changes", "day", "event",
    "explanation", "guarantee", "spent", "doubled", "invariants", "as_of", "confidence", "schemas", "payloads",
    "warnings", "publics", "steps", "about",
}  # fmt: skip
_LISTS = ("unit_changes", "explanation", "invariants", "warnings")
_NODES = {"public", "counted", "counted_version"}
#: What is stored under a release of each kind that no SQL asked for.
_SUMMARIES = {
    "ranges": {
        "kind", "column", "edges", "only", "name", "adaptive", "strategy", "mean_variance", "law", "words",
        "expected_rmse", "by", "cut", "where", "meaning",
    },
    "marginals": {"kind", "columns", "parts", "shares"},
    "publish": {"kind", "levels", "called", "cells"},
    "batch": {"kind", "texts", "groups", "grids", "region", "steps", "words"},
    "model": {"kind", "model", "steps", "tables", "table_versions", "contents"},
    "comparison": {"kind", "steps", "contents"},
    "description": {"kind", "steps", "columns", "contents"},
    "graph": {"kind", "statistics", "unit", "shape"} | _NODES,
    "graph model": {"kind", "unit", "recipe", "notes"} | _NODES,
}  # fmt: skip
#: Of these, what is a text.
_TEXTS = ("contents", "column", "name", "words", "model", "unit", "where", "meaning", "cut")
_INSIDE = {
    "called": {"numbers", "columns", "labels", "codes"},
    "cells": {"places", "attributes", "levels"},
    "shape": {
        "statistics", "unit", "directed", "shares", "nodes", "limit", "counted", "by", "labels", "floored", "planned",
        "labelled", "label_limit",
    },
    "recipe": {"unit", "shares", "by", "labels", "sizes", "limit"},
}  # fmt: skip


def check_members(plan: Mapping[str, Any]) -> None:
    """Raises UnknownMember."""
    _refuse_unknown_members(plan, _PLAN, "the plan")
    for name in _LISTS:
        if not all(isinstance(line, str) for line in plan.get(name, ())):
            raise UnknownMember(f"{name} of the plan contains something that is not text")
    if not _is_day(plan["day"]) or type(plan["publics"]) is not bool:
        raise UnknownMember("the plan has an invalid date, or publics is not true or false")
    if plan["confidence"] != "19/20":
        raise UnknownMember("the confidence of the intervals is not 95%")
    if type(plan["question"]) is not str or not re.fullmatch(r"[0-9a-f]{64,80}(/[0-9,/]{0,4000})?", plan["question"]):
        raise UnknownMember("the query is not given by its digest")
    for schema in plan["schemas"].values():
        if schema["declared"].get("accounting", "renyi") not in get_args(Accounting):
            raise UnknownMember("a table is declared with an unknown accounting")
    _check_steps(plan)
    for name, text in plan["payloads"].items():
        data = _read_stored(text)
        if name != plan["release"] and name.startswith(f"{plan['release']}."):
            _check_step(data)
        elif "text" in data:
            read_measurement(data)
        else:
            _check_summary(plan, data)


def _is_day(text: Any) -> bool:
    try:
        return str(date.fromisoformat(text)) == str(text)
    except (TypeError, ValueError):
        return False


def _check_steps(plan: Mapping[str, Any]) -> None:
    """The steps of a program, numbered as they were taken. What is measured at once has none."""
    steps = plan.get("steps", [])
    if plan["kind"] in ("answer", "bounds") and steps:
        raise UnknownMember("an answer must not have steps")
    for number, step in enumerate(steps, start=1):
        _refuse_unknown_members(step, {"number", "of", "event"}, "a step")
        if type(step["number"]) is not int or step["number"] != number:
            raise UnknownMember("the steps are not numbered in order")
        if not re.fullmatch(r"[0-9a-f]{64}", step["of"]):
            raise UnknownMember("the measurement of a step is not given by its digest")
        events.from_data(step["event"])


def _refuse_unknown_members(data: Any, allowed: set[str], what: str) -> None:
    if not isinstance(data, Mapping):
        raise UnknownMember(f"{what} is not an object")
    if strange := sorted(set(data) - allowed):
        raise UnknownMember(f"{what} has an unknown member {strange[0][:60]!r}")


def _read_stored(text: str) -> Any:
    """What is stored, as Discreet writes it: no spaces of one's own, no name twice."""
    data = json.loads(text)
    compact = {"separators": (",", ":")}
    ways: list[dict[str, Any]] = [{}, compact, {"sort_keys": True, **compact}]
    if not any(json.dumps(data, **way) == text for way in ways):
        raise UnknownMember("stored data is not formatted as Discreet formats it")
    return data


def _check_summary(plan: Mapping[str, Any], data: Any) -> None:
    """What a program stored of itself."""
    kind = str(plan["kind"])
    if kind in _SUMMARIES:
        if data["kind"] != kind or data.get("steps", len(plan["steps"])) != len(plan["steps"]):
            raise UnknownMember("the stored data has another kind or another number of steps")
        if any(type(data.get(name, "")) is not str for name in _TEXTS) or type(data.get("steps", 0)) is not int:
            raise UnknownMember("the stored data has a text or a number of the wrong type")
        _refuse_unknown_members(data, _SUMMARIES[kind], "the stored data")
    if kind == "model":
        _check_joined(data)
    for name, members in _INSIDE.items():
        if data.get(name) is not None:
            _refuse_unknown_members(data[name], members, f"{name} of the stored data")
            for part in data[name].keys() - {"shares", "codes"} - ({"levels"} if name == "cells" else set()):
                _no_objects(data[name][part])
    for codes in (data.get("called") or {}).get("codes", ()):
        _check_numbers(codes)
    for level in (data.get("cells") or {}).get("levels", ()):
        _refuse_unknown_members(level, {"nodes", "groups", "shares"}, "a level of the stored cells")
        _no_objects(level["shares"])
        for numbers in (level["nodes"], *level["groups"]):
            _check_numbers(numbers)
    if kind == "batch":
        _check_batch(data)
    for name in data.keys() - {*_INSIDE, "law", "strategy", *(("grids", "region") if kind == "batch" else ())}:
        _no_objects(data[name])
    if "law" in data:
        law_from_data(data["law"])
    if kind == "ranges":
        _check_strategy(data["strategy"])


def _check_joined(data: Mapping[str, Any]) -> None:
    """The tables that a model of persons reads beside its own: their names, and the numbers of their versions."""
    for name, type_ in (("tables", str), ("table_versions", int)):
        if not isinstance(data.get(name, []), list) or any(type(each) is not type_ for each in data.get(name, ())):
            raise UnknownMember(f"{name} of the stored data is something else")


#: What is stored of a grid of a batch; of these, what is packed numbers.
_GRID = {"relation", "statistic", "columns", "edges", "numbers", "places", "strategy", "law", "words"}
_PACKED = ("numbers", "places")


def _check_batch(data: Mapping[str, Any]) -> None:
    """The grids of a batch, and whom it was charged to."""
    if not all(isinstance(text, str) for text in data["texts"]):
        raise UnknownMember("a statement of the batch is not text")
    if Region.from_data(data["region"]).to_data() != data["region"]:
        raise UnknownMember("the region of the batch contains something else")
    for grid in data["grids"]:
        _refuse_unknown_members(grid, _GRID, "a grid of the batch")
        if not all(re.fullmatch(r"[0-9a-f]{64}", grid[name]) for name in ("relation", "statistic")):
            raise UnknownMember("what a grid measures is not given by its digest")
        for packed in (*grid["edges"], *(grid[name] for name in _PACKED)):
            _check_numbers(packed)
        if type(grid["words"]) is not str:
            raise UnknownMember("the words of a grid are not text")
        _no_objects(grid["columns"])
        _check_strategy(grid["strategy"])
        law_from_data(grid["law"])


def _no_objects(data: Any) -> None:
    """A single value, or lists of such."""
    if isinstance(data, Mapping):
        raise UnknownMember(f"there is an unexpected object, with the member {str(next(iter(data), ''))[:60]!r}")
    for each in data if isinstance(data, list) else ():
        _no_objects(each)


def _check_step(data: Any) -> None:
    """What a step drew: numbers, packed numbers, a choice, or keys that were found."""
    if isinstance(data, list):
        for each in data:
            _check_step(each)
    elif not isinstance(data, Mapping):
        if type(data) is not int:
            raise UnknownMember("a step drew something that is not a whole number")
    elif "data" in data:
        _check_numbers(data)
    elif "parts" in data:
        read_measurement(data)
    else:
        allowed = {"noisy", "beside", "of"} if "noisy" in data else {"chosen", "of"}
        _refuse_unknown_members(data, allowed, "the result of a step")
        _check_step(data.get("noisy", data.get("chosen", ())))
        if data.get("beside") is not None:
            _check_strategy(data["beside"])


def _check_strategy(data: Any) -> None:
    """A strategy, and the lists of numbers in it."""
    made = strategy_data.strategy_to_data(strategy_data.strategy_from_data(data))
    _refuse_unknown_members(data, set(made), "a strategy")
    for value in data.values():
        if isinstance(value, Mapping) and "kind" not in value:
            _check_numbers(value)
    for part in (*data.get("parts", ()), *data.get("factors", ()), *((data["inner"],) if "inner" in data else ())):
        _check_strategy(part)


def _check_numbers(data: Any) -> None:
    """A packed list of whole numbers, with nothing behind it; a plain one."""
    if isinstance(data, list):
        return _check_step(data)
    _refuse_unknown_members(data, {"type", "data"}, "a packed list")
    packed, unpacking = base64.b64decode(data["data"], validate=True), zlib.decompressobj()
    unpacking.decompress(packed, MOST_BYTES)
    if not unpacking.eof or unpacking.unused_data or base64.b64encode(packed).decode() != data["data"]:
        raise UnknownMember("there is extra data after a packed list of numbers")
    return None
