"""Which members the objects of a plan have: an unknown one is broken, since nobody would say what stands in it.

A member that an older Discreet did not write may be missing here; what needs it says so. Texts for people (the
question, sentences, notes) are texts, and are not read.
"""

import re
from typing import Any

from declared import LIMIT, check_declared, day
from measured import STRATEGIES, closed, loss, maybe, numbers, ratio, shaped
from relation import ARGUMENTS, Broken, Node, Open, listed, whole
from shown import MARKED
from stored import check_law, check_measurement

#: What columns hold that people are identified by. A source may have types of its own, which are their own kinds.
KINDS = {
    "text", "integer", "decimal", "float", "date", "timestamp", "boolean", "bytes", "uuid", "hugeint", "time", "inet",
}  # fmt: skip
#: The parts of which a network's shares are.
SHARES = {
    "limit", "persons", "nodes", "edges", "degrees", "out_degrees", "in_degrees", "mixing", "homophily", "by_block",
    "triangles", "triangles_width", "wedges", "wedges_width",
}  # fmt: skip
#: Every kind of expression and condition.
NODES = {"column", "choose", "first", "least", "greatest", "test", "every", "some", *ARGUMENTS}


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


def each_of(form: Any, what: str) -> Any:
    """A rule for every value of an object whose names are columns."""

    def rule(told: Node) -> None:
        for each in told.values():
            shaped(each, form, what)

    return rule


DIGEST = "[0-9a-f]{64}"
TEXTS = ("name", "description", "intended_use", "region", "sector", "publication_date", "sources", "justification")
STEP = {"number": int, "of": DIGEST, "event": loss}
PLAN = {
    "release": "[a-z0-9-]{1,40}", "kind": str, "question": "[0-9a-f]{64,80}(/[0-9,/]{0,4000})?", "text": str,
    "table": str, "version": int, "privacy_unit": str, "unit_changes": [str], "day": day, "event": None,
    "explanation": [str], "guarantee": LIMIT, "spent": None, "doubled": bool, "invariants": [str], "as_of": int,
    "confidence": "19/20", "schemas": None, "payloads": None, "warnings": [str], "publics": bool, "steps": [STEP],
    "about": dict.fromkeys(TEXTS, str) | {"curators": [str], "registry_authors": [str]},
}  # fmt: skip
PERSON = {"table": str, "person": [str], "through": maybe(str), "on": [str], "ends": None, "kinds": None}
VERSION = {"version": int, "population": str, "declared": None, "persons": [PERSON]}
#: What is stored of a grid of a batch, of what a publication counted, and of a network: the tables beside it, its form.
GRID = {
    "relation": DIGEST, "statistic": DIGEST, "columns": no_objects, "edges": [numbers], "numbers": numbers,
    "places": numbers, "strategy": check_strategy, "law": check_law, "words": str,
}  # fmt: skip
CALLED = {"numbers": int, "columns": [str], "labels": no_objects, "codes": [numbers]}
LEVEL = {"nodes": numbers, "groups": [numbers], "shares": [str]}
BESIDE = {"kind": str, "unit": str, "public": maybe(str), "counted": maybe(str), "counted_version": maybe(int)}
FORM = {"unit": str, "shares": dict.fromkeys(SHARES, str), "by": maybe(str), "labels": no_objects, "limit": maybe(int)}
SHAPE = FORM | {
    "statistics": [str], "directed": bool, "nodes": maybe(int), "counted": bool, "floored": bool, "planned": bool,
    "labelled": bool, "label_limit": maybe(int),
}  # fmt: skip
SIDE = each_of({"runs": no_objects, "null": bool}, "a side of the region")
BOUNDS = each_of(dict.fromkeys(("low", "high", "null")), "the bounds of a public column")
PUBLIC = dict.fromkeys(("table", "content", "fan_out")) | {"columns": BOUNDS}
OWN = {"kind": str, "steps": int, "contents": str}
NUMBER = (int, float)
PAYLOADS = {
    "answer": check_measurement,
    "bounds": check_measurement,
    "ranges": {
        "kind": str, "column": str, "edges": [int], "only": bool, "name": str, "adaptive": bool, "words": str,
        "strategy": check_strategy, "mean_variance": NUMBER, "law": check_law, "expected_rmse": NUMBER, "by": [str],
        "cut": str, "where": str, "meaning": DIGEST,
    },
    "marginals": {"kind": str, "columns": [str], "parts": [[[int]]], "shares": [str]},
    "publish": {
        "kind": str, "levels": [str], "called": maybe(CALLED),
        "cells": maybe({"places": [str], "attributes": [str], "levels": [LEVEL]}),
    },
    "batch": {
        "kind": str, "texts": [str], "groups": no_objects, "grids": [GRID], "region": [SIDE], "steps": int,
        "words": str,
    },
    "model": OWN | {"model": "[a-z_]{1,20}", "tables": [str], "table_versions": [int]},
    "comparison": OWN,
    "description": OWN | {"columns": int},
    "graph": BESIDE | {"statistics": str, "shape": SHAPE},
    "graph model": BESIDE | {"recipe": FORM | {"sizes": no_objects}, "notes": no_objects},
}  # fmt: skip


def check_plan(plan: Node) -> None:
    """The members of plan.json, but for what its payloads are."""
    shaped(plan, PLAN, "the plan")
    ratio(plan["spent"])
    if plan["kind"] in ("answer", "bounds") and plan["steps"]:
        raise Broken("an answer with steps, which answers do not have")
    if [step["number"] for step in plan["steps"]] != [*range(1, len(plan["steps"]) + 1)]:
        raise Broken("steps that are not numbered in their order")
    for table, told in plan["schemas"].items():
        shaped(told, VERSION, f"the version of {table}")
        check_declared(table, told["declared"])
        for step in [each for each in told.get("persons", []) if "kinds" in each]:  # an older version says none
            check_kinds(table, step)


def check_kinds(table: str, step: Node) -> None:
    """Of each column that identifies people, what it holds: one word of those that sources have."""
    names = [*listed(step.get("ends", [])), *listed(step.get("person", [])), *listed(step.get("on", []))]
    shaped(step["kinds"], [str], f"the kinds of the columns that identify people in {table}")
    if len(step["kinds"]) != len(names):
        raise Broken(f"the number of kinds differs from the number of columns that identify people in {table}")
    if strange := sorted(set(step["kinds"]) - KINDS):
        if not all(re.fullmatch("[a-z_]{0,30}", each) for each in strange):
            raise Broken(f"a column that identifies people in {table} has the invalid kind {strange[0]!r}")
        raise Open(f"an unknown kind of a column that identifies people in {table}: {strange[0]}")


def check_payload(kind: str, told: Node) -> None:
    """What is stored under the release itself. Laws of an answer are looked at where they are derived."""
    if kind not in PAYLOADS:
        raise Open(f"an unknown kind of release: {kind}")
    shaped(told, PAYLOADS[kind], "the stored payload")
    if kind not in ("answer", "bounds") and told["kind"] != kind:
        raise Broken("the stored payload is of another kind")


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
    nodes = dict.fromkeys(("sets", "keys", "statistics", "quantiles"), check_nodes)
    shaped(told, {"plan": check_relation, "top": maybe(int)} | nodes, "the query")
    if told["top"] is not None and (told["top"] < 1 or not told["keys"]):
        raise Broken("a number of most common keys, of none")


#: What the proof of a batch says of a statement.
ANSWER = {"statement": int, "question": check_question, "shown": maybe(dict.fromkeys(MARKED, no_objects))}


def check_told(proof: Node) -> None:
    """What a proof says of statements and of public tables."""
    shaped(proof.get("answers", []), [ANSWER], "a statement of a batch")
    shaped(proof.get("publics", []), [PUBLIC], "a public table")


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
