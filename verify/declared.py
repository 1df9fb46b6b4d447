"""What is declared of a table: each member of its type. Which bounds, values and names there are, its owner says."""

from datetime import datetime
from fractions import Fraction
from typing import Any

from measured import shaped
from relation import Broken, Node, listed


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


def names(told: Any) -> None:
    shaped(listed(told), [str], "a name")


def persons(told: Any) -> None:
    """By which columns people are identified, or through which table."""
    names(told) if not isinstance(told, dict) else shaped(told, {"through": str, "on": names}, "persons")


def texts(labels: Any) -> bool:
    return isinstance(labels, dict) and all(type(each) is str for each in labels.values())


ACCOUNTING, SINGLE = "pure|zcdp|either|renyi", (str, int, bool)
LIMIT = {"epsilon": number, "delta": number, "delta_keys": number, "accounting": ACCOUNTING}
TABLE = {
    "budget": LIMIT, "accounting": ACCOUNTING, "person": persons, "rows_per_person": int, "columns": None,
    "ends": names, "rows_per_person_measured": number, "public": bool, "population": str, "invariants": [str],
    "directed": bool, "decimal": str, "thousands": str, "null": [SINGLE], "groups_per_person": int,
    "rows_per_person_per_group": int, "public_persons": int,
}  # fmt: skip
ALL = {"type": str, "constant": bool, "null": [SINGLE]}
NUMBERS, MOMENTS = (
    ALL | {"low": end, "high": end, "edges": [end], "bins": int, "closed": bool, "measured": number}
    for end in (number, moment)
)
NUMBERS |= {"decimal": str, "thousands": str, "symbols": [SINGLE]}
MOMENTS["format"] = str
COLUMNS = {
    "integer": NUMBERS, "decimal": NUMBERS | {"step": number}, "date": MOMENTS, "timestamp": MOMENTS, "text": ALL,
    "boolean": ALL | {"closed": bool, "true": [SINGLE], "false": [SINGLE]},
    "category": ALL | {"values": [SINGLE], "labels": texts, "other": SINGLE, "closed": bool, "measured": number},
}  # fmt: skip


def check_declared(table: str, declared: Node) -> None:
    shaped(declared, TABLE, f"the declaration of {table}")
    columns, person = declared.get("columns", {}), declared.get("person", [])
    known = [name.lower() for name in columns]
    own = [*known, *(map(str.lower, listed(person)) if not isinstance(person, dict) else ())]
    if len(set(own)) < len(own) or any(name.startswith("discreet:") for name in own):
        raise Broken(f"{table} has two columns of one name, or one that is called as Discreet calls its own")
    for told in declared.get("invariants", []):
        if told.strip() != "*" and told.partition(">")[0].strip().lower() not in known:
            raise Broken(f"exact totals of {table} by something that is not a declared column")
    for name, column in columns.items():
        shaped(column, COLUMNS[column["type"]], f"the column {name} of {table}")
        called = {str(each).lower() if type(each) is bool else str(each) for each in column.get("values", [])}
        if not set(column.get("labels", {})) <= called:
            raise Broken(f"the column {name} of {table} has a label of something that is not among its values")
