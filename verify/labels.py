"""What keys of rows can be called: the labels of every key of a question, by the declaration and stored keys alone.

A column of keys that is none of these says something that was not measured, or that only the text of the question says.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import islice, pairwise, product
from math import prod
from typing import Any

from formulas import combined
from relation import Broken, Node, Open, columns, only, operands, plain, step, text, whole

Labels = list[Any]
Place = tuple[int, int | None]  # of a row: its set, and where it lies on a key, None where the set sums over it
MOST_GROUPS, MOST_TRIED, MOST_FACTORS = 200_000, 256, 12
NUMBERS = ("integer", "decimal", "boolean")
PLAIN = (str, int, float, bool, type(None))


def same(one: Any, two: Any) -> bool:
    return type(one) is type(two) and one == two


def declared(node: Node, schemas: Node) -> dict[str, Node]:
    """The declared columns that the names of a relation stand for; what is computed stands for none."""
    if "scan" in node:
        return dict(schemas[node["scan"]]["declared"].get("columns", {}))
    inner = declared(node["of"], schemas)
    if "per-person" in node:
        own = {name: {"type": "integer"} for name, (kind, *_) in node["per-person"] if kind in ("rows", "distinct")}
        ends = [[name, of] for name, (kind, of, *_) in node["per-person"] if kind not in ("rows", "distinct")]
        known = brought([*node["by"], *ends], inner) | own
        means = [(name, more[1]) for name, (kind, *more) in node["per-person"] if kind == "mean" and name in known]
        for name, many in means:
            told = known.pop(name)
            known |= {name: {"type": "decimal", "step": step(told) / many}} if told["type"] in NUMBERS[:2] else {}
        return known
    return inner | brought(node["columns"], declared(node["person"], schemas)) if "person" in node else inner


def brought(names: list[Any], inner: dict[str, Node]) -> dict[str, Node]:
    return {name: inner[of["column"]] for name, of in names if of.get("column") in inner}


def number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def factors(of: Node, named: dict[str, Node]) -> set[Fraction]:
    """What codes may count for: steps of grids, and whole numbers that the expression itself holds (x / 10 * 10)."""
    base = {Fraction(1)} | {step(named[name]) for name in columns(of) if named.get(name, {}).get("type") == "decimal"}
    base |= {Fraction(each) for each in literals(of) if each}
    return {abs(each) for each in combined(set(islice(sorted(base), MOST_FACTORS)))}


def literals(of: Node) -> Iterator[int]:
    kind, parts = only(of)
    if kind == "whole":
        yield whole(parts[0])
    elif kind not in ("column", "choose"):
        for part in operands(kind, parts):
            yield from literals(part)


def moments(codes: list[int]) -> Iterator[Labels]:
    """Days, microseconds, and numbers of years, quarters and months, as dates and as midnights."""
    with suppress(OverflowError, ValueError):
        yield [label(code, {"type": "timestamp"}) for code in codes]
    with suppress(OverflowError, ValueError):
        yield from midnights([label(code, {"type": "date"}) for code in codes])
    for months in (12, 3, 1):  # of the period that is numbered
        with suppress(OverflowError, ValueError):
            starts = [divmod(code - (months < 12), 12 // months) for code in codes]
            yield from midnights([date(year, 1 + turn * months, 1).isoformat() for year, turn in starts])


def midnights(days: Labels) -> Iterator[Labels]:
    yield from (days, [f"{day} 00:00:00" for day in days])


def coded(codes: list[int], of: Node, named: dict[str, Node]) -> Iterator[Labels]:
    """Single codes as numbers, truths or moments; those of a declared column as what it holds."""
    told = named.get(of["column"]) if "column" in of else None
    if told is not None and told["type"] in NUMBERS:
        yield [label(code, told) for code in codes]
        return
    for times in factors(of, named):
        yield [number(code * times) for code in codes]
    if set(codes) <= {0, 1}:
        yield [code == 1 for code in codes]
    yield from moments(codes)


def bins(edges: list[int], told: Node) -> Labels:
    """Declared bins, as people read them: [0, 100), and the last one [100, 200]."""
    names = [label(code, told) for code in edges]
    last = label(edges[-1] - 1, told)
    return [f"[{one}, {two})" for one, two in pairwise(names[:-1])] + [f"[{names[-2]}, {last}]"]


def label(code: int, told: Node) -> int | float | str:
    """A code of a declared column of numbers, truths or moments."""
    if told["type"] == "boolean":
        return code == 1
    if told["type"] in NUMBERS:
        return number(code * step(told))
    begun = datetime(1970, 1, 1)
    if told["type"] == "date":
        return (begun + timedelta(days=code)).date().isoformat()
    return (begun + timedelta(microseconds=code)).isoformat(sep=" ")


def of_axis(axis: list[Any], named: dict[str, Node]) -> Iterator[Labels]:
    """The labels that the cells of a known key can have, each list one for every cell, NULL last."""
    of, edges, null = axis
    last = [None] if null is True else []
    told = named.get(of["column"]) if "column" in of else None
    codes = [whole(edge) for edge in edges[:-1]]
    if told is not None and told["type"] == "category" and set(codes) <= set(range(len(told["values"]))):
        words = [str(told["values"][code]) for code in codes]
        yield from (words + last, [each.lower() for each in words] + last, [each.upper() for each in words] + last)
    if told is not None and told["type"] in ("integer", "decimal", "date", "timestamp"):
        yield bins(edges, told) + last
    if all(two - one == 1 for one, two in pairwise(edges)):
        yield from (each + last for each in coded(codes, of, named))
    else:
        yield from (each + last for each in moments(codes))


def of_found(values: list[Any], of: Node, named: dict[str, Node]) -> Iterator[Labels]:
    """The labels of keys that were discovered: texts as they are, codes as numbers or moments."""
    codes = [value for value in values if type(value) is int]
    if not codes:
        yield values
        return
    for labels in coded(codes, of, named):
        told = dict(zip(codes, labels, strict=True))
        yield [told[value] if type(value) is int else value for value in values]


class Keys:
    """The keys of a question: which labels each can have, and where a group lies on it."""

    def __init__(self, question: Node, schemas: Node, found: list[Any] | None) -> None:
        self.named = named = declared(question["plan"], schemas)
        self.found = found
        self.sets = sorted(question["sets"], key=text)
        # An axis is known by what it is, and by which of several like it in its set: lower(sex) and sex are two keys.
        self.places = [[(text(axis), axes[:turn].count(axis)) for turn, axis in enumerate(axes)] for axes in self.sets]
        self.sizes = [[len(edges) - 1 + (null is True) for _, edges, null in axes] for axes in self.sets]
        pairs = zip(self.places, self.sets, strict=True)
        known = {name: axis for names, axes in pairs for name, axis in zip(names, axes, strict=True)}
        self.labels: dict[Any, list[Labels]] = {name: list(of_axis(axis, named)) for name, axis in known.items()}
        self.of: dict[Any, Node] = {name: axis[0] for name, axis in known.items()}
        for place, of in enumerate(sorted(question["keys"], key=text)):
            self.of[place] = of
            self.labels[place] = list(of_found([key[place] for key in found or ()], of, named))
        self.sure = not known and not any(type(value) is int for key in found or () for value in key)

    def types(self, of: Node) -> set[str]:
        """What the columns of an expression are declared to hold."""
        return {self.named[name]["type"] for name in columns(of) if name in self.named}

    def holds(
        self, words: list[str], values: list[Any], where: list[tuple[int, int]], same_table: Callable[[Node], bool]
    ) -> bool:
        """Whether values are labels of the key that words name: of a column, or of what is computed of just these."""
        alone = len(words) in (1, 3) and words[-1] != ")"
        named = {key: set(map(plain, columns(of))) for key, of in self.of.items()}
        every = {words[-1]} if alone else set(words) & set().union(*named.values())
        units = {unit for of in self.of.values() for unit in unit_of(of)}
        units &= {word.strip("'") for word in words}
        own = [key for key, of in self.of.items() if named[key] == every and (not alone or "column" in of)]
        own = [key for key in own if unit_of(self.of[key]) == units] or own
        if own and not (own := [key for key in own if same_table(self.of[key])]):
            raise Open("its words in the text name a column of another table")
        places = self.lying(where)
        fits = {key for key, lists in self.labels.items() for labels in lists if called(values, places[key], labels)}
        if alone and not own and words[-1] in {name.lower() for name in self.named}:
            raise Open("its words in the text name no key of the query")
        if not every or not own:
            return True
        if len({text(self.of[key]) for key in own}) > 1:
            raise Open("its words in the text may name several keys")
        # Labels that only the text explains are said to be that elsewhere.
        computed = not alone and not fits and any(function(values, places[key]) for key in own)
        return computed or not fits.isdisjoint(own)

    def groups(self, place: int) -> int:
        return prod(self.sizes[place]) * (1 if self.found is None else len(self.found))

    def positions(self, place: int, group: int) -> dict[Any, int]:
        """Where a group of a set lies on each of its keys: discovered ones first, then axes, the last one fastest."""
        found: dict[Any, int] = {}
        for name, size in zip(reversed(self.places[place]), reversed(self.sizes[place]), strict=True):
            group, found[name] = divmod(group, size)
        return found | {name: group for name in self.labels if type(name) is int}

    def lying(self, where: list[tuple[int, int]]) -> dict[Any, list[Place]]:
        """For each key where each of some groups lies on it."""
        every = [(place, self.positions(place, group)) for place, group in where]
        return {key: [(place, each.get(key)) for place, each in every] for key in self.of}

    def explain(self, names: list[str], shown: list[list[Any]], where: list[tuple[int, int]]) -> None:
        """Columns of keys, of rows that are these groups, are labels of them."""
        places, left = self.lying(where), []
        for name, values in zip(names, shown, strict=True):
            if any(called(values, places[key], labels) for key, lists in self.labels.items() for labels in lists):
                continue
            if self.sure or not any(function(values, places[key]) for key in self.labels):
                raise Broken(f"{name} is marked as a key, but no key of the query has these values")
            left.append(name)
        if left:
            raise Open(f"these keys are neither declared nor stored, only named in the query's text: {', '.join(left)}")

    def alone(self, names: list[str], shown: list[list[Any]], rows: int) -> None:
        """A table of keys alone, which tells no groups: no more rows than there are groups of such keys."""
        every = [(place, group) for place in range(len(self.sets)) for group in range(self.groups(place))]
        if rows > len(every):
            raise Broken("a table of keys has more rows than the query has groups")
        if len(every) > MOST_GROUPS:
            raise Open("too many groups to compare their keys")
        lying = [self.positions(*group) for group in every]
        fits = [[(key, labels) for key, lists in self.labels.items() for labels in lists if within(values, labels)]
                for values in shown]  # fmt: skip
        wanted = Counter(zip(*(map(text, values) for values in shown), strict=True))
        for chosen in islice(product(*fits), MOST_TRIED):
            there = Counter(
                tuple(text(labels[each[key]] if key in each else None) for key, labels in chosen) for each in lying
            )
            if all(there[row] >= count for row, count in wanted.items()):
                return
        if self.sure:
            raise Broken(f"{', '.join(names)}: no discovered key has these values")
        raise Open(f"these keys are neither declared nor stored, only named in the query's text: {', '.join(names)}")


def unit_of(of: Node) -> set[str]:
    """The periods that an expression names: month, year."""
    kind, parts = only(of)
    own = {parts[0]} if kind in ("part", "start") else set[str]()
    return own.union(*map(unit_of, operands(kind, parts))) if kind not in ("column", "choose") else own


def within(values: list[Any], labels: Labels) -> bool:
    there = set(map(text, labels)) | {"null"}
    return all(text(value) in there for value in values)


def called(values: list[Any], places: list[Place], labels: Labels) -> bool:
    """Whether values are the labels of these places; a set that sums over a key, or shows it elsewhere, has NULL."""
    summed = {one for one, place in places if place is None}
    pairs = list(zip(values, places, strict=True))
    summed |= {one for one, _ in places} - {one for value, (one, _) in pairs if value is not None}
    return all(same(value, None if one in summed or place is None else labels[place]) for value, (one, place) in pairs)


def function(values: list[Any], places: list[Place]) -> bool:
    """Whether rows of the same key have the same value, and rows of a set that sums over it have NULL."""
    told: dict[Place, Any] = {place: None for place in places if place[1] is None}
    return all(same(told.setdefault(place, value), value) for value, place in zip(values, places, strict=True))
