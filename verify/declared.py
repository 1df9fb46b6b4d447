"""What is declared of a table: each member of its type. Which bounds, values and names there are, its owner says."""

from datetime import datetime
from fractions import Fraction
from typing import Any

from measured import closed
from relation import Broken, Node, listed, whole

LIMIT = {"epsilon", "delta", "delta_keys", "accounting"}
ACCOUNTINGS = ("pure", "zcdp", "either", "renyi")
TABLE = {
    "budget", "accounting", "person", "rows_per_person", "rows_per_person_measured", "public", "population", "columns",
    "invariants", "ends", "directed", "decimal", "thousands", "null", "groups_per_person", "rows_per_person_per_group",
    "public_persons",
}  # fmt: skip
ORDERED = {"type", "low", "high", "bins", "edges", "closed", "constant", "measured"}
COLUMNS = {
    "integer": ORDERED | {"decimal", "thousands", "symbols", "null"},
    "decimal": ORDERED | {"decimal", "thousands", "symbols", "null", "step"},
    "date": ORDERED | {"format", "null"},
    "timestamp": ORDERED | {"format", "null"},
    "boolean": {"type", "closed", "constant", "true", "false", "null"},
    "category": {"type", "values", "labels", "other", "closed", "constant", "measured", "null"},
    "text": {"type", "constant", "null"},
}


def check_declared(table: str, declared: Node) -> None:
    closed(declared, TABLE, f"the declaration of {table}")
    closed(declared.get("budget", {}), LIMIT, f"the budget of {table}")
    columns, person = declared.get("columns", {}), declared.get("person", [])
    budget = [each for name, each in declared.get("budget", {}).items() if name != "accounting"]
    if not all(map(number, [*budget, declared.get("rows_per_person_measured", 1)])):
        raise Broken(f"a declared number of {table} is not a number")
    if declared.get("accounting", "renyi") not in ACCOUNTINGS:
        raise Broken(f"{table} is declared with an unknown accounting")
    flags(declared, ("public", "directed"), table)
    check_format(f"the declaration of {table}", declared)
    for name in ("rows_per_person", "groups_per_person", "rows_per_person_per_group", "public_persons"):
        whole(declared.get(name, 1))
    known = [name.lower() for name in columns]
    own = [*known, *(map(str.lower, listed(person)) if not isinstance(person, dict) else ())]
    if len(set(own)) < len(own) or any(name.startswith("discreet:") for name in own):
        raise Broken(f"{table} has two columns of one name, or one that is called as Discreet calls its own")
    if isinstance(person, dict):
        closed(person, {"through", "on"}, f"the persons of {table}")
        person = [person["through"], *listed(person["on"])]
    ends = declared.get("ends", [])
    named = [declared.get("population", ""), *listed(person), *listed(ends), *declared.get("invariants", [])]
    if not all(type(each) is str for each in named):
        raise Broken(f"a declared name of {table} is not a text")
    for told in declared.get("invariants", []):
        if told.strip() != "*" and told.partition(">")[0].strip().lower() not in known:
            raise Broken(f"exact totals of {table} by something that is not a declared column")
    for name, column in columns.items():
        check_column(f"the column {name} of {table}", column)


def check_column(what: str, told: Node) -> None:
    closed(told, COLUMNS[told["type"]], what)
    flags(told, ("constant", "closed"), what)
    numbers = [told[name] for name in ("measured", "step") if name in told]
    ends = [*(told[name] for name in ("low", "high") if name in told), *told.get("edges", [])]
    if not all(map(number, numbers)) or not all(
        map(number if told["type"] in ("integer", "decimal") else moment, ends)
    ):
        raise Broken(f"{what} has a bound or a number that is not a number")
    if type(told.get("bins", 1)) is not int:
        raise Broken(f"{what} has an invalid number of bins")
    check_format(what, told)
    values = told.get("values", [])
    words = [*values, told.get("other", "")]
    if not isinstance(values, list) or not all(type(each) in (str, int, bool) for each in words):
        raise Broken(f"{what} contains something that is not a single value")
    called = {str(each).lower() if type(each) is bool else str(each) for each in values}
    if "labels" in told and (not texts(told["labels"]) or not set(told["labels"]) <= called):
        raise Broken(f"{what} has a label that is not a text, or of something that is not among its values")


def texts(labels: Any) -> bool:
    return isinstance(labels, dict) and all(type(each) is str for each in labels.values())


def check_format(what: str, told: Node) -> None:
    """How the cells of a source are written: texts, and lists of them. No number of a release follows from it."""
    texts = [told.get(name, "") for name in ("decimal", "thousands", "format")]
    lists = [told.get(name, []) for name in ("symbols", "true", "false", "null")]
    words = [each if isinstance(one, list) else None for one in lists for each in one]
    if not all(type(each) is str for each in texts) or not all(type(each) in (str, int, bool) for each in words):
        raise Broken(f"{what} has a format that is neither a text nor a list of texts")


def flags(told: Node, names: tuple[str, ...], what: str) -> None:
    if not all(type(told.get(name, False)) is bool for name in names):
        raise Broken(f"{what}: a flag is neither true nor false")


def number(told: Any) -> bool:
    """Whether it is a number, or a number as text."""
    try:
        return type(told) in (int, float, str) and len(str(told)) < 400 and Fraction(str(told)) is not None
    except (ValueError, ZeroDivisionError):
        return False


def moment(told: Any) -> bool:
    try:
        return type(told) is str and datetime.fromisoformat(told.strip()) is not None
    except ValueError:
        return False


def day(told: Any) -> bool:
    return moment(told) and str(datetime.fromisoformat(told).date()) == told
