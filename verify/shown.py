"""The tables of a bundle against what was measured: their numbers, noise intervals and keys, and data.csv.

A cell is a noisy number, a key that is declared or stored, or it is not proved.
"""

import csv
import io
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from operator import or_
from typing import Any

from declared import texts
from labels import PLAIN, Keys
from measured import ratio, text
from relation import Broken, Open, whole
from widths import ends_of, half_widths, is_interval, is_shown

FORMULA = ("=", "+", "-", "@", "\t", "\r")
Noise = tuple[list[int], dict[str, Any], int | None]  # noisy numbers, their law, the threshold that they were shown by


class Tables:
    """The tables of an answer, with its question, what is stored of it, and which numbers are said to be which."""

    def __init__(self, tables: list[Any], proof: Any, schemas: Any, stored: Any, confidence: Fraction) -> None:
        self.tables, self.question, self.told = tables, proof["question"], proof["shown"]
        parts, self.doubt = stored["parts"], (1 - confidence) / stored.get("surer", 1)
        self.sets = [Counter(map(text, axes)) for axes in sorted(self.question["sets"], key=text)]
        self.statistics = sorted(self.question["statistics"], key=text)
        found = [part for part in parts if part["kind"] == "keys"]
        self.drawn: dict[tuple[int, int], Noise] = {
            (0, part["answers"]): (part["noisy"], part["law"], part["threshold"]) for part in found
        }
        for part in [part for part in parts if part["kind"] == "cells"]:
            noised = zip(part["statistics"], part["noisy"], part["laws"], strict=True)
            self.drawn |= {(part["place"], number): (noisy, law, None) for number, noisy, law in noised}
        self.keys = Keys(self.question, schemas, found[0]["keys"] if found else None)

    def check(self) -> str:
        left, doubt = list[str](), list[str]()
        for table, told in zip(self.tables, self.told, strict=True):
            try:
                left += self.table(table, told)
            except Open as problem:
                doubt.append(str(problem))
        if left:
            doubt.append(
                f"computed from several noisy numbers, which is not repeated here: {', '.join(map(str, left))}"
            )
        if doubt:
            raise Open("; ".join(doubt))
        return "all numbers in data.json are measured noisy numbers, at most rounded; all keys are known"

    def table(self, table: Any, told: Any) -> list[str]:
        """One table; returns the columns that are computed from several noisy numbers."""
        rows, plain = table["rows"], [] if told is None else told["columns"]
        if told is not None and not plain:
            raise Broken("a table is marked as showing noisy numbers, but shows none")
        cells = self.cells(told, len(rows))
        is_key = [each["kind"] == "key" for each in table["columns"]]
        names = [str(each["name"]) for each in table["columns"]]
        left = [name for place, *named in plain for name in self.column(table, place, named, cells)]
        places = {place for place, _, _ in plain}
        if len(places) < len(plain) or any(is_key[place] for place in places):
            raise Broken("a column is marked as two kinds")
        left += [name for place, name in enumerate(names) if not is_key[place] and place not in places]
        held = [[cell for cell, key in zip(row, is_key, strict=True) if key] for row in rows]
        self.keyed([name for name, key in zip(names, is_key, strict=True) if key], held, cells, told, left)
        return left

    def cells(self, told: Any, rows: int) -> list[tuple[int, int]]:
        """Which group of which set each row is; each is one, and no two are the same."""
        straight = told is None or told["cells"] is None
        named = [(0, place) for place in range(rows)] if straight else told["cells"]
        cells = [(whole(one), whole(two)) for one, two in named]
        if len(set(cells)) < len(cells) or len(cells) != rows:
            raise Broken("two rows are marked as the same group")
        groups = [self.keys.groups(place) for place in range(len(self.sets))]
        if told is not None and not all(0 <= one < len(groups) and 0 <= two < groups[one] for one, two in cells):
            raise Broken("a row of a group that the query does not have")
        return cells

    def column(self, table: Any, place: int, named: list[Any], cells: list[tuple[int, int]]) -> list[str]:
        """A column that is said to be a multiple of one noisy number; returns its name where why is not known here."""
        statistic, times = whole(named[0]), ratio(named[1])
        if "bounds" in table["columns"][place]:
            raise Broken("a noisy number has no bounds")
        kind, *more = self.statistics[statistic]
        name = str(table["columns"][place]["name"])
        step = times / (whole(more[2]) if kind == "sum" else 1)  # a sum is counted in grains, of a grid
        noisy = [self.drawn[one, statistic][0][group] for one, group in cells]
        laws = [self.drawn[one, statistic][1] for one, _ in cells]
        shown = [row[place] for row in table["rows"]]
        told = list(zip(shown, noisy, laws, strict=True))
        exact = is_shown(told, times)
        if exact is False:
            raise Broken(f"the numbers of {name} are not the measured ones")
        bounds = [self.drawn[one, statistic][2] for one, _ in cells]
        ends = [row[place] for row in table["intervals"]]
        if not all(self.interval(*each, times) for each in zip(ends, bounds, told, strict=True)):
            raise Broken(f"the confidence intervals of {name} do not match its noise")
        # By how much, and in which order it was computed, is said in the text, which is not read.
        known = 1 in step.as_integer_ratio() if kind == "sum" else step == 1
        return [] if known and exact else [name]

    def interval(self, ends: Any, threshold: int | None, told: tuple[Any, int, Any], times: Fraction) -> bool:
        """Whether a noisy number's interval is as wide on either side as its law says: nothing stands in its ends."""
        shown, noisy, law = told
        widths = half_widths(law, self.doubt if threshold is None else self.doubt / 2)
        return any(is_interval(ends, shown, ends_of(noisy, far, times, threshold)) for far in widths)

    def keyed(
        self, names: list[str], held: list[list[Any]], cells: list[tuple[int, int]], told: Any, left: list[str]
    ) -> None:
        """The columns of keys: no more than there are, and of each its labels."""
        keys, most, different = self.count([one for one, _ in cells], held)
        if different > most and (told is not None or not left):  # a table of which nothing is told stays open
            raise Broken("more columns are marked as keys than the query has")
        if [len(self.sets), different] == [1, keys] and len(set(map(text, held))) < len(held):
            raise Broken("two rows have the same keys")
        says = [list(column) for column in zip(*held, strict=True)] if held else [[] for _ in names]
        said = [turn for turn, column in enumerate(says) if text(column) not in self.follow(cells)]
        if told is not None:
            self.keys.explain([names[turn] for turn in said], [says[turn] for turn in said], cells)
        elif not left:
            self.keys.alone([names[turn] for turn in said], [says[turn] for turn in said], len(held))
        if different > keys:
            raise Open("several columns show one key; the reason is in the query's text, which is not read")

    def follow(self, cells: list[tuple[int, int]]) -> set[str]:
        """Columns that say nothing new: NULL alone, and grouping(key), 0 where a set has it and else 1."""
        places = [one for one, _ in cells]
        found = [[None] * len(places)] + [[0] * len(places)] * len(self.question["keys"])
        found += [[int(axis not in self.sets[place]) for place in places] for axis in set().union(*self.sets)]
        return set(map(text, found))

    def count(self, places: list[int], held: list[list[Any]]) -> tuple[int, int, int]:
        """How many keys rows of these sets have, how many if none is in two sets, and how many columns say something.

        An earlier column again says nothing new.
        """
        used, more = [self.sets[place] for place in set(places)], len(self.question["keys"])
        said = {text(list(column)) for column in zip(*held, strict=True)} - self.follow([(one, 0) for one in places])
        return reduce(or_, used, Counter[str]()).total() + more, sum(map(Counter.total, used)) + more, len(said)


def formed(data: Any, release: str, confidence: Fraction, labels: list[Any], *, public: bool) -> list[Any]:
    """The tables of data.json, if they have the parts of tables and nothing else, and cells of one value each.

    `labels`: what declared columns call their values. A key that calls them something must say the same, unless it may
    be one of a public table, whose declaration is not in the bundle.
    """
    if set(data) != {"release", "confidence", "tables"} or data["release"] != release:
        raise Broken("data.json belongs to something else, or has unknown or missing members")
    if Fraction(Decimal(repr(data["confidence"]))) != confidence:
        raise Broken("data.json has another confidence than the plan")
    for table in data["tables"]:
        kinds = [each["kind"] for each in table["columns"]]
        if set(table) != {"columns", "rows", "intervals"} or not {"key", "noisy", "derived"} >= set(kinds):
            raise Broken("a table has unknown or missing members")
        for each in table["columns"]:
            bounds = each.get("bounds", []) if each["kind"] != "key" else []  # of averages and quantiles
            known = {"name", "kind"} | ({"bounds"} if len(bounds) == 2 else set())
            if each["kind"] != "key" and type(each.get("least")) is int and each["least"] == 0:
                known.add("least")  # exact numbers are never negative; nothing follows from it but what is grey
            if each["kind"] == "key" and (each.get("labels") in labels or (public and texts(each.get("labels")))):
                known.add("labels")
            if set(each) != known or type(each["name"]) is not str or {type(end) for end in bounds} - set(PLAIN):
                raise Broken("a column has unknown or missing members")
        lines = zip(table["rows"], table["intervals"], strict=True)
        for row, ends in lines:
            pairs = [two for two in ends if two is not None]
            flat = [*row, *(end for two in pairs for end in two)]
            if len(row) != len(kinds) or len(ends) != len(kinds) or any(len(two) != 2 for two in pairs):
                raise Broken("a row has more or fewer cells than there are columns")
            if any(type(cell) not in PLAIN for cell in flat) or any(
                two is not None and kind == "key" for two, kind in zip(ends, kinds, strict=True)
            ):
                raise Broken("a cell is not a single value, or a key has a confidence interval")
    return list(data["tables"])


def written(table: Any, content: bytes) -> None:
    """Whether a CSV file holds a table: its columns, each noisy one followed by the ends of its intervals."""
    wanted: list[tuple[str, list[Any]]] = []
    for place, column in enumerate(table["columns"]):
        wanted.append((column["name"], [row[place] for row in table["rows"]]))
        ends = [row[place] for row in table["intervals"]]
        if column["kind"] != "key" and any(each is not None for each in ends):
            for end, word in enumerate(("low", "high")):
                wanted.append((f"{column['name']}_{word}", [None if each is None else each[end] for each in ends]))
    head, *rows = list(csv.reader(io.StringIO(content.decode("utf-8"), newline=""), strict=True)) or [[]]
    heads = [told.rstrip("_") == field(name).rstrip("_") for told, (name, _) in zip(head, wanted, strict=True)]
    lines = [list(map(field, line)) for line in zip(*(values for _, values in wanted), strict=True)]
    if not all(heads) or rows != lines:
        raise Broken("data.csv and data.json differ")


def field(value: Any) -> str:
    """A cell of a CSV file: NULL is empty, and a text that a spreadsheet would run has an apostrophe before it."""
    if type(value) is bool or value is None:
        return "" if value is None else str(value).lower()
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else str(value)
