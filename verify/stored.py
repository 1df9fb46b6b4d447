"""A stored measurement: each member of its type, and a law and a statistic for each vector of noisy numbers."""

from typing import Any

from measured import LAWS, PARTS, closed, ratio, text
from relation import Broken, Node, whole

MEASUREMENT = {"id", "text", "parts", "event", "also", "surer"}


def check_measurement(told: Node) -> None:
    closed(told, MEASUREMENT, "a measurement")
    also = told.get("also", [])
    if not isinstance(also, list) or not all(type(each) is str for each in [told["id"], told["text"], *also]):
        raise Broken("the name or the text of a measurement is not a text")
    if len({told["id"], *also}) < 1 + len(also):
        raise Broken("a measurement is combined with itself, or with another one twice")
    if whole(told.get("surer", 1)) < 1:
        raise Broken("the intervals of a measurement are less sure than is asked for")
    for part in told["parts"]:
        closed(part, PARTS[part["kind"]], "a part of a measurement")
        {"cells": check_cells, "bins": check_bins, "keys": check_keys}[part["kind"]](part)


def check_law(told: Any) -> None:
    closed(told, LAWS.get(told["kind"], set(told)), "a law")
    ratio(told["scale"] if "scale" in told else told["sigma2"])


def check_cells(part: Node) -> None:
    wholes([part["place"], *part["statistics"]])
    if not len(part["noisy"]) == len(part["laws"]) == len(part["statistics"]) > 0:
        raise Broken("numbers that belong to no statistic")
    for vector, law in zip(part["noisy"], part["laws"], strict=True):
        wholes(vector)
        check_law(law)


def check_bins(part: Node) -> None:
    wholes([part["place"], part["quantile"]])
    for each in part["noisy"]:
        wholes(each)
    if not 0 <= ratio(part["confidence"]) < 1:
        raise Broken("an invalid confidence")


def check_keys(part: Node) -> None:
    if not all(
        isinstance(key, list) and {type(each) for each in key} <= {str, int, type(None)} for key in part["keys"]
    ):
        raise Broken("a key must have a text, a whole number or NULL for each key of the query")
    if len(set(map(text, part["keys"]))) < len(part["keys"]) or len({len(key) for key in part["keys"]}) > 1:
        raise Broken("a key was found twice, or is wider than others")
    wholes(part["noisy"])
    wholes([part[name] for name in ("answers", "threshold") if part[name] is not None])
    if type(part.get("cut", False)) is not bool:
        raise Broken("a part of a measurement has unknown or missing members")
    if part["law"] is not None:
        check_law(part["law"])


def wholes(told: Any) -> None:
    if not isinstance(told, list):
        raise Broken("a list of whole numbers is missing")
    for each in told:
        whole(each)
