"""Which members the objects of a plan have: an unknown one is broken, since nobody would say what stands in it.

A member that an older Discreet did not write may be missing here; what needs it says so. Texts for people (the
question, sentences, notes) are texts, and are not read.
"""

import re
from typing import Any

from declared import LIMIT, check_declared, day
from measured import STRATEGIES, closed, loss, numbers
from relation import Broken, Node, Open, listed, whole
from stored import MEASUREMENT, check_law, check_measurement, wholes

PLAN = {
    "release", "kind", "question", "text", "table", "version", "privacy_unit", "unit_changes", "day", "event",
    "explanation", "guarantee", "spent", "doubled", "invariants", "as_of", "confidence", "schemas", "payloads",
    "warnings", "publics", "steps", "about",
}  # fmt: skip
TEXTS = ("name", "description", "intended_use", "region", "sector", "publication_date", "sources", "justification")
LISTS = ("curators", "registry_authors")
#: What columns hold that people are identified by. A source may have types of its own, which are their own kinds.
KINDS = {
    "text", "integer", "decimal", "float", "date", "timestamp", "boolean", "bytes", "uuid", "hugeint", "time", "inet",
}  # fmt: skip
BESIDE = {"public", "counted", "counted_version"}  # the tables beside that of a network's edges
PAYLOADS = {
    "answer": MEASUREMENT,
    "bounds": MEASUREMENT,
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
    "graph": {"kind", "statistics", "unit", "shape"} | BESIDE,
    "graph model": {"kind", "unit", "recipe", "notes"} | BESIDE,
}  # fmt: skip
INSIDE = {  # objects inside those
    "called": {"numbers", "columns", "labels", "codes"},
    "cells": {"places", "attributes", "levels"},
    "shape": {
        "statistics", "unit", "directed", "shares", "nodes", "limit", "counted", "by", "labels", "floored", "planned",
        "labelled", "label_limit",
    },
    "recipe": {"unit", "shares", "by", "labels", "sizes", "limit"},
}  # fmt: skip
#: The parts of which a network's shares are.
SHARES = {
    "limit", "persons", "nodes", "edges", "degrees", "out_degrees", "in_degrees", "mixing", "homophily", "by_block",
    "triangles", "triangles_width", "wedges", "wedges_width",
}  # fmt: skip
#: Every kind of expression and condition.
NODES = {
    "column", "null", "whole", "plus", "times", "over", "remainder", "absolute", "root", "bitlength", "least",
    "greatest", "first", "choose", "lookup", "part", "start", "length", "like", "lower", "upper", "trim", "substr",
    "test", "every", "some",
}  # fmt: skip


def texts(told: Any, what: str) -> None:
    if not isinstance(told, list) or not all(type(each) is str for each in told):
        raise Broken(f"{what} is not a list of texts")


def check_plan(plan: Node) -> None:
    """The members of plan.json, but for what its payloads are."""
    closed(plan, PLAN, "the plan")
    closed(plan["guarantee"], LIMIT, "the limit")
    closed(plan["about"], {*TEXTS, *LISTS}, "the information about the release")
    for name in ("explanation", "invariants", "warnings", "unit_changes"):
        texts(plan.get(name, []), f"{name} of the plan")
    for name in LISTS:
        texts(plan["about"].get(name, []), name)
    own = [plan["about"].get(name, "") for name in TEXTS]
    own += [plan[name] for name in ("text", "release", "kind", "table")]
    if any(type(each) is not str for each in own) or not day(plan["day"]):
        raise Broken("an invalid text or day")
    if not re.fullmatch("[0-9a-f]{64,80}(/[0-9,/]{0,4000})?", plan["question"]):
        raise Broken("the digest of the query is missing or invalid")
    if plan["confidence"] != "19/20" or not re.fullmatch("[a-z0-9-]{1,40}", plan["release"]):
        raise Broken("an invalid confidence or name of a release")
    if type(plan["publics"]) is not bool:
        raise Broken("whether the release reads public tables must be true or false")
    if plan["kind"] in ("answer", "bounds") and plan["steps"]:
        raise Broken("an answer with steps, which answers do not have")
    for place, step in enumerate(plan["steps"], start=1):
        closed(step, {"number", "of", "event"}, "a step")
        if not re.fullmatch("[0-9a-f]{64}", step["of"]) or whole(step["number"]) != place:
            raise Broken("the digest of what a step measured is missing or invalid")
        loss(step["event"])
    for table, told in plan["schemas"].items():
        check_version(table, told)


def check_version(table: str, told: Node) -> None:
    """A version of a table, and what is declared of it."""
    closed(told, {"version", "population", "declared", "persons"}, f"the version of {table}")
    check_declared(table, told["declared"])
    whole(told["version"])
    if type(told["population"]) is not str:
        raise Broken(f"the population of {table} has no name")
    for step in told.get("persons", []):
        closed(step, {"table", "person", "through", "on", "ends", "kinds"}, f"the persons of {table}")
        check_kinds(table, step)


def check_kinds(table: str, step: Node) -> None:
    """Of each column that identifies people, what it holds: one word of those that sources have."""
    if "kinds" not in step:  # an older version
        return
    names = [*listed(step.get("ends", [])), *listed(step.get("person", [])), *listed(step.get("on", []))]
    texts(step["kinds"], f"the kinds of the columns that identify people in {table}")
    if len(step["kinds"]) != len(names):
        raise Broken(f"the number of kinds differs from the number of columns that identify people in {table}")
    if strange := sorted(set(step["kinds"]) - KINDS):
        if not all(re.fullmatch("[a-z_]{0,30}", each) for each in strange):
            raise Broken(f"a column that identifies people in {table} has the invalid kind {strange[0]!r}")
        raise Open(f"an unknown kind of a column that identifies people in {table}: {strange[0]}")


def check_payload(kind: str, told: Node) -> None:
    """What is stored under the release itself. Parts and laws of an answer are looked at where they are derived."""
    if kind not in PAYLOADS:
        raise Open(f"an unknown kind of release: {kind}")
    closed(told, PAYLOADS[kind], "the stored payload")
    for name, known in INSIDE.items():
        if told.get(name) is not None:
            closed(told[name], known, f"{name} of the stored payload")
            for part in told[name].keys() - {"shares", "codes"} - ({"levels"} if name == "cells" else set()):
                no_objects(told[name][part])
            check_step(told[name].get("codes", []))
            closed(told[name].get("shares", {}), SHARES, f"the shares of {name}")
    for level in (told.get("cells") or {}).get("levels", []):  # which node and group each place and cell is in
        closed(level, {"nodes", "groups", "shares"}, "a level of the stored cells")
        no_objects(level["shares"])
        check_step([level["nodes"], *level["groups"]])
    if "law" in told:
        check_law(told["law"])
    if kind == "batch":
        check_grids(told)
    for name in told.keys() - {*INSIDE, "law", "strategy", "event", "parts", "grids", "region"}:
        no_objects(told[name])
    if kind not in ("answer", "bounds") and told["kind"] != kind:
        raise Broken("the stored payload is of another kind")
    for name in WORDS:
        if type(told.get(name, "")) is not str:
            raise Broken(f"{name} of the stored payload is not a text")
    if kind == "ranges":
        check_strategy(told["strategy"])
        wholes(told["edges"])
        texts(told.get("by", []), "the columns that ranges are given by")
        if {type(told[name]) for name in ("only", "adaptive")} != {bool}:
            raise Broken("ranges: a flag is neither true nor false")
        if not {type(told[name]) for name in ("mean_variance", "expected_rmse")} <= {float, int}:
            raise Broken("ranges: an expected error is not a number")
    if kind == "marginals":
        for each in [axes for part in told["parts"] for axes in part]:
            wholes(each)
    if kind in ("answer", "bounds"):
        check_measurement(told)


#: What is a text in a payload.
WORDS = ("kind", "contents", "column", "name", "words", "unit", "model", "id", "text", "where", "meaning", "cut")
#: What is stored of a grid of a batch.
GRID = {"relation", "statistic", "columns", "edges", "numbers", "places", "strategy", "law", "words"}


def check_grids(told: Node) -> None:
    """The grids of a batch, and the people that it was charged to: boxes of values."""
    texts(told["texts"], "the statements of the batch")
    whole(told["steps"])
    for box in told["region"]:
        for side in box.values():
            closed(side, {"runs", "null"}, "a side of the region")
            no_objects(side["runs"])
            if type(side["null"]) is not bool:
                raise Broken("a side of the region is neither with NULL nor without")
    for grid in told["grids"]:
        closed(grid, GRID, "a grid of the batch")
        if not all(re.fullmatch("[0-9a-f]{64}", grid[name]) for name in ("relation", "statistic")):
            raise Broken("the digest of what a grid measures is missing or invalid")
        for packed in (*grid["edges"], grid["numbers"], grid["places"]):
            numbers(packed)
        if type(grid["words"]) is not str:
            raise Broken("the words of a grid are not a text")
        no_objects(grid["columns"])
        check_strategy(grid["strategy"])
        check_law(grid["law"])


def no_objects(told: Any) -> None:
    """A single value, or lists of such."""
    if isinstance(told, dict):
        raise Broken(f"an unexpected object, with the member {next(iter(told), '')!r}")
    for each in told if isinstance(told, list) else ():
        no_objects(each)


def check_strategy(told: Any) -> None:
    """A strategy, whole."""
    closed(told, STRATEGIES.get(told["kind"], set(told)), "a strategy")
    for part in [*told.get("parts", []), *told.get("factors", []), *([told["inner"]] if "inner" in told else [])]:
        check_strategy(part)


def check_step(told: Any) -> None:
    """What a step of a program drew: numbers, packed numbers, a choice or discovered keys."""
    if isinstance(told, list):
        for each in told:
            check_step(each)
    elif not isinstance(told, dict):
        whole(told)
    elif "data" in told:
        numbers(told)
    elif "parts" in told:
        check_measurement(told)
    else:
        closed(told, {"noisy", "beside", "of"} if "noisy" in told else {"chosen", "of"}, "what a step drew")
        check_step(told.get("noisy", told.get("chosen", [])))
        if told.get("beside") is not None:
            check_strategy(told["beside"])


def check_question(told: Node) -> None:
    """The members of a question, and of every node of its relation, its expressions and conditions."""
    check_relation(told["plan"])
    for name in ("sets", "keys", "statistics", "quantiles"):
        check_nodes(told[name])
    if told["top"] is not None and (whole(told["top"]) < 1 or not told["keys"]):
        raise Broken("a number of most common keys, of none")


def check_relation(told: Node) -> None:
    """A part of a relation; which parts it has is looked at where it is derived."""
    for name, each in told.items():
        if name == "of" or (name == "person" and isinstance(each, dict)):
            check_relation(each)
        else:
            check_nodes(each)


def check_nodes(told: Any) -> None:
    """Every object is one node: one name, with its arguments."""
    if isinstance(told, list):
        for each in told:
            check_nodes(each)
    elif isinstance(told, dict):
        if strange := sorted(set(told) - NODES):
            raise Broken(f"the query has an unknown member {strange[0]!r}")
        if len(told) != 1:
            raise Broken("a part of the query is two things at once")
        check_nodes(next(iter(told.values())))
