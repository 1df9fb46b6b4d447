"""A stored measurement: each member of its type, and a law and a statistic for each vector of noisy numbers."""

from typing import Any

from measured import LAWS, closed, maybe, ratio, shaped
from relation import Broken, Node, text, whole


def check_law(told: Any) -> None:
    closed(told, LAWS.get(told["kind"], set(told)), "a law")
    ratio(told["scale"] if "scale" in told else told["sigma2"])


#: What is stored of noisy cells, of a quantile and of discovered keys.
PARTS = {
    "cells": {"kind": str, "place": int, "statistics": [int], "noisy": [[int]], "laws": [check_law]},
    "bins": {"kind": str, "place": int, "quantile": int, "noisy": [[int]], "confidence": None},
    "keys": {
        "kind": str, "keys": [[(str, int, type(None))]], "answers": maybe(int), "noisy": [int], "law": maybe(check_law),
        "threshold": maybe(int), "cut": bool,
    },
}  # fmt: skip


def check_part(part: Node) -> None:
    shaped(part, PARTS[part["kind"]], "a part of a measurement")
    if part["kind"] == "cells" and not len(part["noisy"]) == len(part["laws"]) == len(part["statistics"]) > 0:
        raise Broken("numbers that belong to no statistic")
    if part["kind"] == "bins" and not 0 <= ratio(part["confidence"]) < 1:
        raise Broken("an invalid confidence")
    keys = part.get("keys", [])
    if len(set(map(text, keys))) < len(keys) or len({len(key) for key in keys}) > 1:
        raise Broken("a key was found twice, or is wider than others")


MEASUREMENT = {"id": str, "text": str, "parts": [check_part], "event": None, "also": [str], "surer": int}


def check_measurement(told: Node) -> None:
    shaped(told, MEASUREMENT, "a measurement")
    also = told.get("also", [])
    if len({told["id"], *also}) < 1 + len(also):
        raise Broken("a measurement is combined with itself, or with another one twice")
    if whole(told.get("surer", 1)) < 1:
        raise Broken("the intervals of a measurement are less sure than is asked for")
