"""The tables of a bundle against what was measured: their numbers, noise intervals and keys, and data.csv.

A cell is a noisy number, a key that is declared or stored, or it is not proved.
"""

import csv
import io
import math
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from operator import add, mul, or_
from typing import Any

from computed import Group
from declared import texts
from ends import coarse, is_as_wide, is_nobody, variance
from formulas import AGGREGATES, Formulas, limits
from labels import PLAIN, Keys, label, number
from measured import numbers, ratio
from relation import Broken, Open, columns, listed, same, step, text, whole
from selected import AGGREGATE, Spoken, lowered, named, statements, summed_times
from widths import DIGITS_AT, ends_of, half_widths, is_interval, is_shown, to_digits

MARKED = {"columns", "cells", "formulas", "quantiles", "combined"}
#: Weights of measurements that are combined are multiples of one over this; so many are combined here.
MILLION, MOST_COMBINED = 10**6, 7
FORMULA = ("=", "+", "-", "@", "\t", "\r")
Noise = tuple[list[Any], dict[str, Any], int | None]  # noisy numbers, their law, the threshold that they were shown by


class Tables:
    """The tables of an answer, with its question, what is stored of it, and which numbers are said to be which.

    known: the bounds of the columns of its relation. others: earlier measurements that it is combined with.
    """

    def __init__(self, tables: list[Any], proof: Any, plan: Any, stored: Any, known: Any, *others: Any) -> None:
        self.tables, self.question, self.told = tables, proof["question"], proof["shown"]
        self.together = [each["id"] for each in (stored, *others)] if others else []
        schemas, confidence = plan["schemas"], ratio(plan["confidence"])
        parts, self.doubt = stored["parts"], (1 - confidence) / stored.get("surer", 1)
        self.sets = [Counter(map(text, axes)) for axes in sorted(self.question["sets"], key=text)]
        self.statistics = sorted(self.question["statistics"], key=text)
        found = [part for part in parts if part["kind"] == "keys"]
        self.drawn: dict[tuple[int, int], Noise] = {
            (0, part["answers"]): (part["noisy"], part["law"], part["threshold"]) for part in found
        }
        if any(self.told):  # an older proof tells nothing of what is combined
            if others and self.question["keys"]:
                raise Broken("groups whose keys were discovered are not the same in two measurements")
            own, *more = (vectors(each["parts"]) for each in (stored, *others))
            self.drawn |= {place: combined([one, *(each[place] for each in more)]) for place, one in own.items()}
        self.bins = {(part["place"], part["quantile"]): part for part in parts if part["kind"] == "bins"}
        self.keys = Keys(self.question, schemas, found[0]["keys"] if found else None)
        self.formulas = Formulas(self.statistics, known, self.keys.named, schemas, plan["text"])
        self.text, self.persons = plan["text"], identifying(schemas)
        self.read = {told["table"].lower() for told in proof["relation"] if "table" in told}
        self.joins = any(told["node"] in ("person", "public") for told in proof["relation"])

    def names(self) -> str:
        """Whether columns are called, and computed, as the text of the query says."""
        words_ = lowered(self.text)
        every = statements(words_)
        if unnamed := self.read - set(words_):
            raise Broken(f"the text does not name the table {min(unnamed)}, whose rows were counted")
        if ("join" in words_) != self.joins:
            raise Open("the text joins tables, and what was counted is of one")
        called = Spoken(self.question, words_, self.persons, self.formulas.known)
        if len(every) != len(self.tables):
            raise Open("the text has other queries than there are tables, or is not read here")
        for table, told, items in zip(self.tables, self.told, every, strict=True):
            heads = [str(each["name"]) for each in table["columns"]]
            words = named(heads, items)
            trees = {place: self.multiple(words[place], *more) for place, *more in (told or {}).get("columns", [])}
            trees |= {place: self.formulas.united(tree) for place, tree in (told or {}).get("formulas", [])}
            trees |= {place: ["quantile", one] for place, one, _ in (told or {}).get("quantiles", [])}
            cells = self.cells(told, len(table["rows"]))
            for place, (head, said) in enumerate(zip(heads, words, strict=True)):
                try:
                    if place in trees:
                        called.compare(trees[place], said)
                    elif table["columns"][place]["kind"] != "key" or AGGREGATE & set(said):
                        raise Open("nothing tells what it is computed by")
                    elif told is not None:
                        self.key(table, place, said, called, cells)
                except (Open, Broken) as problem:
                    raise type(problem)(f"{head}: {problem}") from None
        return "columns are called, and computed, as the text of the query says"

    def key(self, table: Any, place: int, words: list[str], called: Spoken, cells: list[tuple[int, int]]) -> None:
        """A column of keys has the values, and their labels, that its words name."""
        values = [row[place] for row in table["rows"]]
        said: list[Any] = [called.means(word) for word in words]
        if None in said:
            raise Open("a subquery computes it, in a way that is not read here")
        if said[0] == "grouping":
            if text(values) not in self.follow(cells):
                raise Broken("its values are those of another key")
        elif not self.keys.holds(said, values, cells, lambda of: called.joined(columns(of)) == called.sides(words)):
            raise Broken("its values are those of another key")
        own = {name.lower(): each for name, each in self.keys.named.items()}.get(said[-1], {})
        if own and table["columns"][place].get("labels", own.get("labels")) != own.get("labels"):
            raise Broken("its values are called as those of another column are")

    def multiple(self, words: list[str], statistic: int, times: str) -> Any:
        """A multiple of a statistic as a tree, by the number that the text has; it may multiply inside of the sum."""
        factor = self.factor(statistic, ratio(times))
        if factor == 1 or (self.statistics[statistic][0] == "sum" and factor == summed_times(words)):
            return ["statistic", statistic]
        over = factor not in self.formulas.literals
        return ["/" if over else "*", ["statistic", statistic], ["number", as_ratio(1 / factor if over else factor)]]

    def check(self) -> str:
        left, doubt = list[str](), list[str]()
        for table, told in zip(self.tables, self.told, strict=True):
            try:
                left += self.table(table, told)
            except Open as problem:
                doubt.append(str(problem))
        if left:
            names = ", ".join(map(str, left))
            doubt.append(f"not told by the proof (sums over other groups, or an older bundle): {names}")
        if doubt:
            raise Open("; ".join(doubt))
        return "all numbers in data.json follow from measured noisy numbers, at most rounded; all keys are known"

    def table(self, table: Any, told: Any) -> list[str]:
        """One table; returns the columns that are computed from several noisy numbers."""
        rows, told_ = table["rows"], told or {"columns": []}
        columns = [
            (one, place, more)
            for one, name in ((self.column, "columns"), (self.formula, "formulas"), (self.quantile, "quantiles"))
            for place, *more in told_.get(name, [])
        ]
        if told is not None and (not columns or not {"columns", "cells"} <= set(told) <= MARKED):
            raise Broken("a table is marked as showing noisy numbers, but shows none, or has unknown members")
        if told is not None and told.get("combined", []) != self.together:
            raise Broken("a table is of other measurements than are said to be combined")
        if any("bounds" in table["columns"][place] for place, *_ in told_["columns"]):
            raise Broken("a noisy number has no bounds")
        cells = self.cells(told, len(rows))
        is_key = [each["kind"] == "key" for each in table["columns"]]
        names = [str(each["name"]) for each in table["columns"]]
        places = {whole(place) for _, place, _ in columns}
        if len(places) < len(columns) or any(is_key[place] for place in places):
            raise Broken("a column is marked as two kinds")
        left, doubt = list[str](), list[str]()
        for one, place, more in columns:
            try:
                left += one(table, place, more, cells)
            except Open as problem:
                doubt.append(f"{names[place]}: {problem}")
        left += [name for place, name in enumerate(names) if not is_key[place] and place not in places]
        held = [[cell for cell, key in zip(row, is_key, strict=True) if key] for row in rows]
        self.keyed([name for name, key in zip(names, is_key, strict=True) if key], held, cells, told, left)
        if doubt:
            raise Open("; ".join(doubt))
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
        name = str(table["columns"][place]["name"])
        noisy = [self.drawn[one, statistic][0][group] for one, group in cells]
        laws = [self.drawn[one, statistic][1] for one, _ in cells]
        for law, row in zip(laws, table["intervals"], strict=True):
            if "parts" in law and "width" not in law:
                law["width"] = self.stated(law, row[place], times)
        shown = [row[place] for row in table["rows"]]
        told = list(zip(shown, noisy, laws, strict=True))
        exact = is_shown(told, times)
        if exact is False:
            raise Broken(f"the numbers of {name} are not the measured ones")
        bounds = [self.drawn[one, statistic][2] for one, _ in cells]
        ends = [row[place] for row in table["intervals"]]
        if not all(self.interval(*each, times) for each in zip(ends, bounds, told, strict=True)):
            raise Broken(f"the confidence intervals of {name} do not match its noise")
        factor = self.factor(statistic, times)
        known = factor == 1 or {factor, 1 / factor} & set(self.formulas.literals)
        return [] if known and exact else [name]

    def stated(self, law: Any, ends: Any, times: Fraction) -> float:
        """The half width of numbers that are combined, of which an interval has four digits: one for all of a set."""
        far = float(f"{abs((ends[1] - ends[0]) / 2 / float(times)):.3e}")
        if not is_as_wide(law["parts"], far, coarse(law["parts"]), 0.0):
            raise Broken("the confidence intervals of a number that is combined do not match its noise")
        return far

    def factor(self, statistic: int, times: Fraction) -> Fraction:
        """By how much a count or a sum is multiplied, in its own units; of a sum of several columns, in any of theirs.

        A sum is counted in grains, of the grid of what is summed.
        """
        kind, *more = self.statistics[statistic]
        if kind != "sum":
            return times
        times, own = times / whole(more[2]), self.formulas.steps_of(more[0])
        return Fraction(1) if times in own else times / max(own)

    def formula(self, table: Any, place: int, named: list[Any], cells: list[tuple[int, int]]) -> list[str]:
        """A column computed from several noisy numbers, by a tree; its ends say how many digits are shown."""
        tree, name = self.formulas.read(self.formulas.united(named[0])), str(table["columns"][place]["name"])
        if self.doubt != DIGITS_AT or table["columns"][place].get("bounds") != limits(tree):
            if named[0][0] in AGGREGATES and self.doubt == DIGITS_AT:
                raise Broken(f"the bounds of {name} do not follow from its formula")
            raise Open("its digits or its bounds are not those that follow from its formula here")
        rows = zip(cells, table["rows"], table["intervals"], strict=True)
        for (one, group), row, ends in rows:

            def noisy(number: int, one: int = one, group: int = group) -> tuple[float, Any]:
                values, law, threshold = self.drawn[one, number]
                if threshold is not None:
                    raise Open("it is computed from numbers by which keys were discovered")
                return float(values[group]), law

            own = Group(tree, noisy, self.formulas.never_negative)
            if not own.shows(row[place], ends[place]):
                raise Broken(f"the numbers of {name} do not follow from the measured ones")
            if not own.fits(row[place], ends[place]):
                raise Broken(f"the intervals of {name} are not as wide as its noise makes them")
        return []

    def quantile(self, table: Any, place: int, named: list[Any], cells: list[tuple[int, int]]) -> list[str]:
        """A column of middles of chosen bins, with the least and the largest value of the bins at its ends."""
        number, grid = named
        (of, edges, _), _, _ = sorted(self.question["quantiles"], key=text)[whole(number)]
        told = {"type": grid} if grid in ("date", "timestamp") else {"type": "decimal", "step": grid}
        plain = self.keys.named.get(of["column"]) if "column" in of else None
        if plain is not None and plain["type"] in ("integer", "decimal") and told.get("step") != as_ratio(step(plain)):
            times = ratio(grid) / step(plain) if told["type"] == "decimal" else Fraction(0)
            self.formulas.other_units(times, "quantile")
        if (grid == told["type"] and grid not in self.keys.types(of)) or (
            grid != told["type"] and ratio(grid) not in self.formulas.steps
        ):
            raise Open("its values are in units that only the query's text explains")
        scale, name = Bins(edges, told), str(table["columns"][place]["name"])
        if table["columns"][place].get("bounds") != (scale.whole if scale.whole[0] != scale.whole[1] else None):
            raise Broken(f"the bounds of {name} are not those of its bins")
        for (one, group), row, ends in zip(cells, table["rows"], table["intervals"], strict=True):
            part = self.bins[one, number]
            chosen, bought = part["noisy"][group], ratio(part["confidence"])
            hidden = row[place] is None
            if hidden and not (scale.wide(chosen) or self.nobody(one, group)):
                raise Broken(f"a number of {name} is not shown, and nothing says why")
            wanted: Any = scale.whole if hidden or 1 - self.doubt > bought else scale.ends(chosen)
            wanted = None if not bought and 1 - self.doubt > bought else wanted
            if text(ends[place]) != text(wanted) or not (hidden or repr(row[place]) in scale.shown(chosen)):
                raise Broken(f"the numbers or the intervals of {name} are not those of the chosen bins")
        return []

    def nobody(self, place: int, group: int) -> bool:
        """Whether a noisy number of rows or persons of a group may be of none, with a confidence of 99%."""
        found = [(number, each) for number, each in enumerate(self.statistics) if each[0] in ("rows", "persons")]
        drawn = [self.drawn[place, number] for number, _ in found if (place, number) in self.drawn]
        return any(is_nobody(noisy[group], law)[1] for noisy, law, _ in drawn)

    def interval(self, ends: Any, threshold: int | None, told: tuple[Any, int, Any], times: Fraction) -> bool:
        """Whether a noisy number's interval is as wide on either side as its law says: nothing stands in its ends."""
        shown, noisy, law = told
        widths: list[Any] = half_widths(law, self.doubt if threshold is None else self.doubt / 2)
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


def vectors(parts: list[Any]) -> dict[tuple[int, int], list[Any]]:
    """The noisy numbers of cells and their law, by set and statistic."""
    return {
        (part["place"], number): own
        for part in [part for part in parts if part["kind"] == "cells"]
        for number, *own in zip(part["statistics"], part["noisy"], part["laws"], strict=True)
    }


def combined(told: list[list[Any]]) -> Noise:
    """Measurements of the same numbers as one: their mean, by inverse variance in whole millionths, and its law."""
    if len(told) == 1:
        return told[0][0], told[0][1], None
    if len(told) > MOST_COMBINED:
        raise Open("so many measurements are not combined here")
    inverse = [1 / max(variance(law), 1e-200) for _, law in told]
    units = [round(MILLION * each / math.fsum(inverse)) for each in inverse]
    units[units.index(max(units))] += MILLION - sum(units)
    weights = [unit / MILLION for unit in units]
    rows = zip(*(noisy for noisy, _ in told), strict=True)
    parts = [(weight, law) for weight, (_, law) in zip(weights, told, strict=True)]
    return [reduce(add, map(mul, weights, row)) for row in rows], {"parts": parts}, None


def identifying(schemas: Any) -> set[str]:
    """The names of the columns by which people are identified."""
    steps = [step for told in schemas.values() for step in (*told.get("persons", []), told["declared"])]
    named = [step.get(part) or [] for step in steps for part in ("person", "on", "ends")]
    named += [each["on"] for each in named if isinstance(each, dict)]
    return {name.lower() for each in named if not isinstance(each, dict) for name in listed(each)}


def noisy_lists(told: Any) -> Iterator[list[int]]:
    """The lists of noisy numbers in a stored step, in their order. A number that stands alone is a choice."""
    flat = isinstance(told, list) and all(type(each) is int for each in told)
    if isinstance(told, dict) and "data" not in told:
        for name, value in told.items():
            if name == "noisy":
                lists = isinstance(value, list) and value and not all(type(each) is int for each in value)
                yield from map(numbers, value if lists else [value])
            elif name == "parts":
                for part in value:
                    yield from noisy_lists(part) if isinstance(part, dict) else ()
    elif isinstance(told, dict) or (flat and told):
        yield numbers(told)
    elif not flat and isinstance(told, list):
        for each in told:
            yield from noisy_lists(each)


def as_drawn(table: Any, steps: dict[int, Any]) -> None:
    """Whether a table is every noisy number as it was drawn, by step, part and place, and nothing else."""
    head = [
        {"kind": "noisy" if name == "value" else "key", "name": name} for name in ("step", "part", "place", "value")
    ]
    rows = [
        [step_, part, place, value]
        for step_, told in sorted(steps.items())
        for part, values_ in enumerate(noisy_lists(told))
        for place, value in enumerate(values_)
    ]
    own = {"columns": head, "rows": rows, "intervals": [[None] * 4] * len(rows)}
    same({name: table[name] for name in own}, own, "the last table, of the noisy numbers as they were measured,")


class Bins:
    """What the bins of a quantile stand for: the codes of a grid, days or microseconds."""

    def __init__(self, edges: list[int], told: Any) -> None:
        self.edges, self.told, self.last = edges, told, len(edges) - 2
        self.numeric = told["type"] == "decimal"
        if self.numeric and max(abs(edges[0]), abs(edges[-1])) * step(told) > 2**49:
            raise Open("its values are too large to be rounded here")
        self.whole = self.ends([0, 0, self.last])

    def ends(self, chosen: list[int]) -> list[Any]:
        return [label(code, self.told) for code in (self.edges[chosen[0]], self.edges[chosen[2] + 1] - 1)]

    def wide(self, chosen: list[int]) -> bool:
        """Whether an interval reaches a bound and covers two thirds of the bins, or reaches both."""
        low, _, high = chosen
        reach = [low == 0, high == self.last]
        return self.last > 0 and (all(reach) or (any(reach) and 3 * (high - low + 1) > 2 * (self.last + 1)))

    def shown(self, chosen: list[int]) -> set[str]:
        """The middle of the chosen bin, to three digits of how far the nearer end of its interval is."""
        first, last = self.edges[chosen[1]], self.edges[chosen[1] + 1] - 1
        if not self.numeric:
            return {repr(label((first + last) // 2, self.told))}
        value, (low, high) = number(Fraction(first + last, 2) * step(self.told)), self.ends(chosen)
        far = min(float(value) - float(low), float(high) - float(value)) / 10
        found = to_digits(float(value), far) if far > 0 else [float(value)]
        whole_ = [round(each) if type(value) is int else each + 0.0 for each in found]
        return {repr(min(max(each, low), high)) for each in whole_}


def as_ratio(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"


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
