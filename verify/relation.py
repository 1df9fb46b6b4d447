"""From the declared schema up: how many rows one unit owns, which columns are constant over them, what bounds hold.

Nothing here is told by the proof but what public tables are like, which a bundle does not hold.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from itertools import pairwise, product
from json import dumps
from math import isqrt
from operator import add, mul
from typing import Any


class Broken(Exception):
    """Something is not as it must be."""


class Open(Exception):
    """Something that this checker does not know how to derive."""


Node = dict[str, Any]
Bounds = tuple[Any, Any, bool]  # low and high, None where there is no bound, and whether it may be NULL
TRUE: Node = {"every": []}
#: The parts that a node of each kind has, no more and no fewer.
PARTS = {
    "filter": {"filter", "of"}, "public": {"public", "columns", "on", "of"}, "per-person": {"per-person", "by", "of"},
    "person": {"person", "outer", "columns", "of"}, "limit": {"limit", "axes", "keys", "columns", "of"},
}  # fmt: skip
#: How many arguments an expression has, and how many of them are expressions.
ARGUMENTS = {
    name: numbers
    for numbers, names in {
        (2, 2): "plus times remainder", (3, 2): "over", (1, 1): "absolute root bitlength length lower upper",
        (2, 1): "like part start", (3, 1): "lookup trim substr", (1, 0): "whole", (0, 0): "null",
    }.items()
    for name in names.split()
}  # fmt: skip
#: How many arguments a number of a person's rows has, its condition among them.
INNER = {"rows": 1, "distinct": 2, "sum": 4, "mean": 3, "lowest": 2, "highest": 2}
#: Fields of a day that begin anew in each year or month, and the months of periods. Days count from EPOCH.
FIELDS = {"month": 12, "day": 31, "doy": 366, "week": 53}
MONTHS = {"year": 12, "quarter": 3, "month": 1}
EPOCH = date(1970, 1, 1).toordinal()
MOST_EDGES = 50_000_000  # stands for a limit on the edges of a node that nobody declared
MOST_BITS = 4096  # of a bound: numbers that were summed have fewer than 80


def text(data: Any) -> str:
    return dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def same(told: Any, wanted: Any, what: str) -> None:
    if text(told) != text(wanted):
        raise Broken(f"{what} is not the value that follows from the rest")


def whole(value: Any) -> int:
    if type(value) is not int:
        raise Broken("a whole number is missing")
    return value


def step(told: Node) -> Fraction:
    """The grid of a declared column of numbers."""
    return Fraction(str(told.get("step", "1" if told["type"] == "integer" else "0.01")))


def column(told: Node) -> Bounds:
    """What a declared column can hold, in its stored whole numbers: grid steps, days, microseconds, places."""
    kind = told["type"]
    if kind in ("boolean", "category"):
        return 0, 1 if kind == "boolean" else len(told["values"]) - 1, told.get("closed") is not True
    if kind == "text":
        return None, None, True

    def code(value: Any) -> int:
        if kind in ("integer", "decimal"):
            return int(Fraction(str(value)) / step(told))
        moment = datetime.fromisoformat(str(value).strip())
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        units = {"date": timedelta(days=1), "timestamp": timedelta(microseconds=1)}
        return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // units[kind]

    low, high = (code(told[end]) if end in told else None for end in ("low", "high"))
    return low, high, told.get("closed") is not True


def unit(declared: Node, *, of_network: bool = False) -> tuple[bool, int]:
    """Whether the unit is a row, and how many rows of the declared table it has at most, or of its edges count."""
    if "ends" in declared and not of_network:
        raise Open("a table of edges, whose rows belong to two persons, cannot be derived here")
    of_persons = "person" in declared or "ends" in declared
    rows = whole(declared.get("rows_per_person", MOST_EDGES if "ends" in declared else 1))
    if rows < 1 or (not of_persons and rows != 1):
        raise Broken("the declared number of rows per person is not valid")
    return not of_persons, rows


def listed(names: Any) -> list[Any]:
    return [names] if type(names) is str else list(names)


def persons(table: str, told: Node) -> str:
    """By which columns the persons of a table are identified: what it declares, and a way that ends at a person."""
    person, steps, ends = told["declared"].get("person"), told["persons"], told["declared"].get("ends")
    through = person if isinstance(person, dict) else {}
    own = {"person": [] if through else listed(person or []), "through": through.get("through")}
    own = {"ends": ends} if ends else own | {"on": listed(through.get("on", []))}
    own |= {"table": table}
    if any(set(step) - {"kinds"} != set(own) for step in steps) or {**steps[0], "kinds": 0} != {**own, "kinds": 0}:
        raise Broken("the columns that identify people are not the declared ones")
    if ends:
        if len(steps) > 1 or person or len(ends) != 2 or len(set(map(str.lower, ends))) != 2:
            raise Broken("the ends of edges are not two columns, or not those of persons")
        return f"; in {table} a person has each row with them in {ends[0]} or in {ends[1]}"
    if any(str(here["through"]).lower() != there["table"].lower() for here, there in pairwise(steps)):
        raise Broken("the path from a table to its persons has a gap")
    last = steps[-1]
    if (last["through"] is not None and len(steps) > 1) or not (last["person"] or last["through"]):
        raise Broken("the path from a table to its persons ends without a person")
    if last["through"] is not None:
        raise Open(f"an older version of {table}: it does not say which columns of {last['through']} identify people")
    return f"; in {table} by {' and '.join(last['person'])}"


def only(node: Node) -> tuple[str, Any]:
    ((kind, parts),) = node.items()
    return kind, parts


def operands(kind: str, parts: Any) -> list[Node]:
    """The expressions among the arguments of a node, as many as there must be: a condition is none."""
    several = kind in ("first", "least", "greatest") and len(parts) == 1 and len(parts[0]) > 0
    own = parts[0] if several else [part for part in parts if isinstance(part, dict)]
    are_all = several or ARGUMENTS.get(kind) == (len(parts), len(own))
    if not are_all or not all(isinstance(part, dict) for part in own):
        raise Broken("an expression with unknown or missing arguments")
    return list(own)


def columns(node: Node) -> set[str]:
    """The columns that the value of an expression depends on, those of its conditions included."""
    kind, parts = only(node)
    if kind == "column":
        return {parts}
    if kind != "choose":
        return set[str]().union(*map(columns, operands(kind, parts)))
    cases, otherwise = parts
    return columns(otherwise).union(*(tested(test) | columns(chosen) for test, chosen in cases))


def plain(name: str) -> str:
    """What a column is called, without the join that brings it."""
    return ((name.startswith("discreet:") and name.partition(".")[2]) or name).lower()


def tested(test: Any) -> set[str]:
    """The columns of a condition: a column's list of values, an expression's, or an AND or OR of such."""
    kind, parts = ("list", test[1:]) if isinstance(test, list) else only(test)
    if kind in ("every", "some"):
        return set().union(*map(tested, parts))
    runs, null = parts if kind == "list" else parts[1]
    if (
        kind not in ("list", "test")
        or type(null) is not bool
        or any(type(end) in (list, dict) for run in runs for end in run)
    ):
        raise Broken("a condition that is not about values")
    return {test[0]} if kind == "list" else columns(parts[0])


def derive(node: Node, known: dict[str, Bounds]) -> Node:
    """An expression with the bounds of every part: each rule contains every value that its operands allow."""
    kind, parts = only(node)
    if kind == "column":
        low, high, null = known[parts]
        return {"column": parts, "low": low, "high": high, "null": null}
    inside = [chosen for _, chosen in parts[0]] + [parts[1]] if kind == "choose" else operands(kind, parts)
    of = [derive(part, known) for part in inside]
    low, high, null = rule(kind, parts, inside, of)
    return {"node": kind, "low": low, "high": high, "null": null, "of": of}


def rule(kind: str, parts: Any, inside: list[Node], of: list[Node]) -> Bounds:
    """The bounds of one node from those of its parts."""
    lows, highs, nulls = ([part[name] for part in of] for name in ("low", "high", "null"))
    if any(end is not None and end.bit_length() > MOST_BITS for end in lows + highs):
        raise Broken("numbers are too large to be summed")
    if kind in ("whole", "null"):
        return (whole(parts[0]), parts[0], False) if kind == "whole" else (0, 0, True)
    if kind in ("length", "like", "lower", "upper", "trim", "substr"):
        return 0 if kind in ("length", "like") else None, 1 if kind == "like" else None, nulls[0]
    if kind in ("first", "choose"):  # one of the parts; a literal NULL brings no value
        there = [place for place, part in enumerate(inside) if "null" not in part]
        low, high = hull([lows[place] for place in there] or [0], [highs[place] for place in there] or [0])
        return low, high, any(nulls) if kind == "choose" else all(nulls)
    if kind in ("least", "greatest"):  # NULLs are passed over: only a part that cannot be NULL is sure to be compared
        low, high = hull(lows, highs)
        ends = zip(highs if kind == "least" else lows, nulls, strict=True)
        sure = [end for end, null in ends if not null and end is not None]
        if kind == "least":
            return low, min(sure, default=high), all(nulls)
        return max(sure, default=low), high, all(nulls)
    if not lows or None in lows + highs:
        raise Broken("arithmetic over something without bounds")
    low, high, null = lows[0], highs[0], any(nulls)
    if kind == "lookup":
        if low < parts[2] or high >= parts[2] + len(parts[1]):
            raise Broken("a list of values does not cover its codes")
        values = [whole(value) for value in parts[1] if value is not None] or [0]
        return min(values), max(values), null or None in parts[1]
    if kind in ("root", "bitlength"):  # both rise: a whole square root, and the number of binary digits
        if low < (0 if kind == "root" else 1):
            raise Broken("a root or a length of a number that may be negative")
        return (isqrt(low), isqrt(high), null) if kind == "root" else (low.bit_length(), high.bit_length(), null)
    if kind == "absolute" or (kind == "times" and inside[0] == inside[1]):
        size = (0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))
        return (*size, null) if kind == "absolute" else (size[0] ** 2, size[1] ** 2, null)
    if kind in ("part", "start"):  # years and starts of periods rise with their days; other fields begin anew
        name, _ = parts
        if kind == "part" and name in FIELDS:
            return 1, FIELDS[name], null
        return calendar(kind, name, low), calendar(kind, name, high), null
    if kind in ("plus", "times"):  # monotone in each operand: the extremes are at the corners
        corners = [(add if kind == "plus" else mul)(*ends) for ends in product((low, high), (lows[1], highs[1]))]
        return min(corners), max(corners), null
    if kind == "over" and parts[2] not in ("down", "zero", "nearest"):
        raise Broken("an unknown kind of rounding")
    if kind in ("over", "remainder"):  # monotone on either side of a divisor of 0, which makes NULL
        divisors = {end for end in (lows[1], highs[1], -1, 1) if end and lows[1] <= end <= highs[1]}
        null = null or lows[1] <= 0 <= highs[1]
        if kind == "remainder":
            far = max(map(abs, divisors), default=1) - 1
            return max(min(low, 0), -far), min(max(high, 0), far), null
        corners = [quotient(one, two, parts[2]) for one, two in product((low, high), divisors)] or [0]
        return min(corners), max(corners), null
    raise Open(f"an unknown kind of expression: {kind}")


def calendar(kind: str, name: str, day: int) -> int:
    """The year of a day, or the first day of its period: a week begins on Monday."""
    moment = date.fromordinal(day + EPOCH)
    if kind == "part":
        return {"year": moment.year, "isoyear": moment.isocalendar().year}[name]
    if name == "week":
        return day - moment.weekday()
    months = MONTHS[name]
    return moment.replace(month=(moment.month - 1) // months * months + 1, day=1).toordinal() - EPOCH


def hull(lows: Any, highs: Any) -> tuple[Any, Any]:
    return None if None in lows else min(lows), None if None in highs else max(highs)


def quotient(left: int, right: int, rounding: str) -> int:
    """left / right as a whole number: down, towards zero, or to the nearest, halves away from zero."""
    if rounding == "down":
        return left // right
    size = abs(left) // abs(right) if rounding == "zero" else (2 * abs(left) + abs(right)) // (2 * abs(right))
    return size if (left < 0) == (right < 0) else -size


def span(expression: Node, known: dict[str, Bounds]) -> Bounds:
    found = derive(expression, known)
    return found["low"], found["high"], found["null"]


class Relation:
    """The rows of a question: how many one unit owns, on which columns they agree, and what bounds hold of columns.

    `facts`: the same, node by node. `fewest`: how few rows are counted where all rows of a person's group are: 1; a
    derivation that says 0 contains it.
    """

    def __init__(self, node: Node, schemas: Node, publics: Iterator[Any], fewest: int) -> None:
        self.schemas, self.publics, self.fewest = schemas, publics, fewest
        self.rows, self.constant, self.known, self.is_row = 1, set[str](), dict[str, Bounds](), False
        self.facts: list[Node] = []
        self.limit: Node | None = None  # on the groups that a person is in, and on that person's rows in each
        if "of" in node:
            inner = Relation(node["of"], schemas, publics, fewest)
            self.rows, self.constant, self.known, self.facts = inner.rows, inner.constant, inner.known, inner.facts
            self.is_row = inner.is_row
            if inner.limit is not None:
                raise Broken("a limit on groups holds of the rows that are counted, and not below them")
            if self.is_row and ("person" in node or "per-person" in node or "limit" in node):
                raise Broken("if each row is a privacy unit, there is no person to join on or group by")
        rules = {"filter": self.filter, "public": self.public, "person": self.person, "per-person": self.per_person}
        kinds = [name for name in PARTS if name in node]
        if len(kinds) > 1 or (kinds and set(node) != PARTS[kinds[0]]):
            raise Broken("a part of the relation is two things at once")
        named = (rules | {"limit": self.limited}).get("".join(kinds), self.scan)(node)
        self.facts.append(named | {"rows": self.rows, "constant": sorted(self.constant)})

    def scan(self, node: Node) -> Node:
        """A declared table holds at most rows_per_person rows of a person; constant columns are enforced in it."""
        roster = set(node) == {"roster", "version"}  # one row for each person
        if set(node) != {"scan", "version"} and not roster:
            raise Open("an unknown kind of relation")
        name = node["roster" if roster else "scan"]
        table = self.schemas[name]
        if node["version"] != table["version"]:
            raise Broken("the version of the table differs from the one whose schema is in the bundle")
        self.is_row, self.rows = unit(table["declared"])
        if roster and self.is_row:
            raise Broken("a list of persons, where each row is a unit")
        if roster:
            self.rows, self.constant = 1, {"rows"}
            return {"node": "roster", "table": name}
        told = table["declared"].get("columns", {})
        alone = self.is_row or self.rows == 1  # of one row every column has one value
        self.known = {name: column(each) for name, each in told.items()}
        self.constant = {name for name, each in told.items() if alone or each.get("constant") is True}
        return {"node": "scan", "table": name}

    def filter(self, node: Node) -> Node:
        """A condition looks at one row, and adds none."""
        if not tested(node["filter"]) <= self.known.keys():
            raise Broken("a condition on columns that the rows do not have")
        return {"node": "filter"}

    def public(self, node: Node) -> Node:
        """A row meets at most fan_out rows of a public table."""
        told, none = next(self.publics), {"low": None, "high": None, "null": True}
        fan_out = whole(told["fan_out"])
        if [told["table"], told["content"]] != node["public"][:2] or fan_out < 0:
            raise Broken("the facts of a public table belong to another table")
        if fan_out <= 1 and set().union(*(columns(left) for left, _ in node["on"])) <= self.constant:
            self.constant = self.constant | set(node["columns"])
        self.new(node["columns"])
        ends = {name: told["columns"].get(name, none) for name in node["columns"]}
        self.known = self.known | {name: (one["low"], one["high"], one["null"]) for name, one in ends.items()}
        self.rows *= max(1, fan_out)
        return {"node": "public", "table": told["table"], "fan_out": fan_out}

    def new(self, names: list[str]) -> None:
        """What is brought along has names of its own: a constant column stays the one that it was."""
        if len(set(names)) < len(names) or not self.known.keys().isdisjoint(names):
            raise Broken("a column that is two things")

    def person(self, node: Node) -> Node:
        """Joined on the person, each of a person's rows meets that person's other rows."""
        other = Relation(node["person"], self.schemas, self.publics, self.fewest)
        if other.is_row:
            raise Broken("if each row is a privacy unit, there is no person to join on")
        if type(node["outer"]) is not bool:
            raise Broken("whether a join keeps all rows must be true or false")
        self.new([name for name, _ in node["columns"]])
        for name, expression in node["columns"]:
            low, high, null = span(expression, other.known)
            self.known = self.known | {name: (low, high, null or node["outer"])}
            if columns(expression) <= other.constant:
                self.constant = self.constant | {name}
        self.rows *= other.rows
        self.facts += other.facts
        return {"node": "person"}

    def per_person(self, node: Node) -> Node:
        """Grouped by person, one person's rows make one row for each key that they have."""
        names = [name for name, _ in (*node["by"], *node["per-person"])]
        if len(set(names)) < len(names):
            raise Broken("a column that is two things")
        known = {name: span(expression, self.known) for name, expression in node["by"]}
        fixed = {name for name, expression in node["by"] if columns(expression) <= self.constant}
        known |= {name: self.inner(kind, parts) for name, (kind, *parts) in node["per-person"]}
        alone = len(fixed) == len(node["by"])
        self.rows, self.constant, self.known = 1 if alone else self.rows, set(known) if alone else fixed, known
        return {"node": "per person"}

    def limited(self, node: Node) -> Node:
        """Of a person's rows those in so many groups, and so many in each, by that person's rows alone."""
        groups, rows = node["limit"]
        if min(whole(each) for each in (groups, rows, 1) if each is not None) < 1:
            raise Broken("a limit must be at least 1")
        keys = [*(axis[0] for axis in node["axes"]), *node["keys"]]
        most = self.rows if groups is None else min(self.rows, groups)
        most = 1 if all(columns(key) <= self.constant for key in keys) else most
        self.rows = min(self.rows, most * (self.rows if rows is None else rows))
        self.limit = node
        return {"node": "limit", "groups": groups, "rows_per_group": rows}

    def inner(self, kind: str, parts: list[Any]) -> Bounds:
        """The bounds of one number of a person's own rows, of which there are from 1 to `rows`."""
        every = parts[-1] == TRUE
        if len(parts) != INNER.get(kind):
            raise Broken("an unknown kind of number per person, or one with unknown or missing arguments")
        if kind in ("rows", "distinct"):
            return self.fewest if every and kind == "rows" else 0, self.rows, False
        low, high, null = span(parts[0], self.known)
        if (kind == "sum" and parts[1:3] != [0, 1]) or (kind == "mean" and whole(parts[1]) < 1):
            raise Broken(f"a {kind} per person in other units")
        if None in (low, high):  # of numbers whose ends are not declared only the ends can be asked for
            if kind in ("sum", "mean"):
                raise Broken("arithmetic over something without bounds")
            return low, high, null or not every
        if kind == "sum":
            low, high = min(low, self.rows * low), max(high, self.rows * high)
        finer = parts[1] if kind == "mean" else 1
        return low * finer, high * finer, null or not every
