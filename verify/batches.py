"""The tables of ranges and of batches: which cells each number adds up, and what least squares makes of these.

Which cells those are follows from the query of a statement, its conditions and its groups. What was charged says what
the cells of a grid are.
"""

from itertools import pairwise, product
from math import prod
from typing import Any

from contents import related
from estimates import LeastSquares
from labels import label, of_axis
from measured import numbers, question_digest, ratio, size_of
from relation import TRUE, Broken, Node, Open, column, only, text, whole
from shown import Tables
from strategies import described, law_of, shortened


def check_ranges(tables: list[Any], stored: Node, content: Node, drawn: Node, declared: Node) -> None:
    """A row for each cell, group after group: its labels, its best estimate and how far off that may be."""
    (table,), (*groups, (_of, edges, _)), noisy = tables, content["axes"], numbers(drawn["noisy"][0])
    names = [*stored.get("by", []), stored["column"]]
    short = shortened(stored["strategy"])
    if groups:
        short = ["product", [["identity", prod(map(size_of, groups))], short]]
    if content["linear"] != [short]:
        raise Broken("ranges by another strategy than was measured")
    told, squares = declared[names[-1]], LeastSquares(stored["strategy"], stored["law"])
    low, high, _ = column(told)
    ends = [[label(max(one, low), told), label(min(two, high + 1) - 1, told)] for one, two in pairwise(edges)]
    heads = [[name, "key"] for name in (*names[:-1], "low", "high")] + [["rows", "derived"]]
    if [[each["name"], each["kind"]] for each in table["columns"]] != heads or "bounds" in table["columns"][-1]:
        raise Broken("ranges under other columns than they are of")
    labels = [list(of_axis(axis, declared)) for axis in groups]
    places = list(product(*(range(size_of(axis)) for axis in groups)))
    size, many = len(noisy) // len(places), len(ends)
    if len(table["rows"]) != many * len(places):
        raise Broken("there is not one row for each cell")
    for turn, lists in enumerate(labels):
        values = [row[turn] for row in table["rows"]]
        if not any(text(values) == text([own[place[turn]] for place in places for _ in ends]) for own in lists):
            raise Broken(f"the groups are not those of {names[turn]}")
    for turn, (row, intervals) in enumerate(zip(table["rows"], table["intervals"], strict=True)):
        group, cell = divmod(turn, many)
        weights = squares.weights(frozenset([cell]))
        value = sum(one * two for one, two in zip(weights, noisy[group * size : (group + 1) * size], strict=True))
        if text(row[len(groups) : -1]) != text(ends[cell]):
            raise Broken("a range begins or ends elsewhere than its cell")
        if not squares.fits(row[-1], intervals[-1], value, weights, places=4):
            raise Broken("a number of rows, or its interval, is not the best estimate of its cell")


def check_batch(
    tables: list[Any], plan: Node, stored: Node, answers: list[Node], steps: list[tuple[Node, Any, Node]]
) -> None:
    """A table for each statement. steps: what each measured, what it stores, and its event."""
    grids = [Grid(content, values, law_of(event), stored) for content, values, event in steps if "linear" in content]
    runs = {content["run"]: values for content, values, _ in steps if "run" in content}
    doubt, last = list[str](), -1
    for table, told in zip(tables, answers, strict=True):
        if whole(told["statement"]) <= last:
            raise Broken("a statement is shown twice")
        question, last = told["question"], told["statement"]
        relation = related(question["plan"], plan)
        proof = {"question": question, "shown": [told["shown"]], "relation": relation.facts}
        own = proof, plan | {"text": stored["texts"][last]}
        run = runs.get(question_digest(question))
        if run is None and question["keys"] + question["quantiles"]:
            raise Broken("a statement that no step of the batch measured")
        made: Any = (Tables if run else Estimated)([table], *own, run or {"parts": []}, relation.known)
        made.grids = grids
        for one in (made.check, made.names):
            try:
                one()
            except Open as problem:
                doubt.append(str(problem))
    if doubt:
        raise Open("; ".join(dict.fromkeys(doubt)))


class Grid:
    """The cells of a step of a batch, and what was drawn over them."""

    def __init__(self, content: Node, values: Node, law: Node, stored: Node) -> None:
        (self.noisy,), (short,) = map(numbers, values["noisy"]), content["linear"]
        written = [grid["strategy"] for grid in stored["grids"]]
        self.added, self.squares = content["added"], LeastSquares(described(short, written), law)
        sides = [[*pairwise(edges)] + [None] * (null is True) for _, edges, null in content["axes"]]
        self.names = [axis[0]["column"] for axis in content["axes"]]
        self.cells = [dict(zip(self.names, cell, strict=True)) for cell in product(*sides)]


class Estimated(Tables):
    """A table whose numbers are best estimates of sums over the cells of a grid."""

    grids: list[Grid]

    def column(self, table: Any, place: int, named: list[Any], cells: list[tuple[int, int]]) -> list[str]:
        statistic, times = whole(named[0]), ratio(named[1])
        name, factor = str(table["columns"][place]["name"]), self.factor(statistic, times)
        for (one, group), row, ends in zip(cells, table["rows"], table["intervals"], strict=True):
            grid, over = self.over(one, group, statistic)
            own = grid.squares.weights(over)
            weights = [float(times) * weight for weight in own]
            value = float(times) * sum(weight * each for weight, each in zip(own, grid.noisy, strict=True))
            if not grid.squares.fits(row[place], ends[place], value, weights, places=3):
                raise Broken(f"the numbers or the intervals of {name} are not the best estimates of what was measured")
        return [] if factor == 1 or {factor, 1 / factor} & set(self.formulas.literals) else [name]

    def over(self, place: int, group: int, statistic: int) -> tuple[Grid, frozenset[int]]:
        """The grid of a number, and the cells that it adds up: those of its group, of which all conditions hold."""
        plan, conditions = self.question["plan"], [self.statistics[statistic][-1]]
        while "filter" in plan:
            conditions.append(plan["filter"])
            plan = plan["of"]
        lying = self.keys.positions(place, group)
        for key, (of, edges, _null) in zip(self.keys.places[place], self.keys.sets[place], strict=True):
            turn = lying[key]
            none = turn == len(edges) - 1
            conditions.append({"test": [of, [[] if none else [edges[turn : turn + 2]], none]]})
        doubt = Open("a number that no step of the batch measured, or by other cells than are seen here")
        for grid in self.grids:
            if text(grid.added) == text({"plan": plan, "statistic": [*self.statistics[statistic][:-1], TRUE]}):
                try:
                    held = [all(self.holds(each, cell) for each in conditions) for cell in grid.cells]
                except Open as problem:
                    doubt = problem
                else:
                    return grid, frozenset(turn for turn, each in enumerate(held) if each)
        raise doubt

    def holds(self, test: Any, cell: Node) -> bool:
        """Whether a condition holds of all rows of a cell, or of none; a column that does not cut has one side."""
        kind, parts = only({"test": [{"column": test[0]}, test[1:]]} if isinstance(test, list) else test)
        if kind in ("every", "some"):
            every = [self.holds(part, cell) for part in parts]
            return all(every) if kind == "every" else any(every)
        of, (runs, null) = parts
        if "column" not in of:
            raise Open("a condition on what is computed of several values")
        low, high, may_be_null = self.formulas.known[of["column"]]
        sides: list[Any] = [cell[of["column"]]] if of["column"] in cell else [(low, high + 1), *[None] * may_be_null]
        found = set[bool]()
        for side in sides:
            first, last = (0, 0) if side is None else (side[0], side[1])
            inside = any(low <= first and last <= high for low, high in runs)
            outside = not any(low < last and first < high for low, high in runs)
            found |= {null} if side is None else {inside, not outside}
        if len(found) > 1:
            raise Open("a condition that cuts cells")
        return found.pop()
