"""Releases: answers with how wrong they may be, what they cost and where they come from. Safe to print, store and send.

A release is one reading of a measurement, in the order and under the names that a question asked for.

One class, and so one file, long as it is: text, JSON, frames and comparisons must show the same numbers and errors.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from discreet import exact
from discreet.accounting import events
from discreet.errors import UsageError
from discreet.present import notebook
from discreet.present.cell_text import DASH, TOTAL, cell_text, format_with_noise
from discreet.present.group_comparison import Ends, GroupComparison, Operation, find_row

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Cell = int | float | str | bool | None
Rows = tuple[tuple[Cell, ...], ...]
#: For each column of a row: where the number without noise lies, None for a key.
Interval = tuple[float | str, float | str] | None
Intervals = tuple[Interval, ...]
#: Between what the numbers of a column lie by what is declared; None where that is not known.
Bounds = tuple[float | str, float | str] | None

#: What the columns of the ends of an interval are called.
_ENDS = ("low", "high")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Epsilon (None: there is no pure bound), rho and delta, of a query or of a population.

    `budget`: of a query, by how much it raised the epsilon that its population has spent. That is what it cost.
    """

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None = None
    budget: Fraction | None = None

    def __str__(self) -> str:
        if self.budget == 0 and self.epsilon != 0 and not self.delta:
            return "nothing: other people have been queried more"
        if self.budget is not None:
            delta = f", delta {exact.show(self.delta, up=True)}" if self.delta else ""
            return f"epsilon {exact.show(self.budget, up=True)}{delta}"
        epsilon = "no pure epsilon" if self.epsilon is None else f"epsilon {exact.show(self.epsilon)}"
        rho = "" if self.rho is None else f", rho {exact.show(self.rho)}"
        return f"{epsilon}{rho}, delta {exact.show(self.delta)}"

    def to_data(self, *, up: bool) -> dict[str, float | None]:
        """Floats for JSON: spent is rounded up, remaining down. Epsilon is null if there is no pure bound."""
        data: dict[str, float | None] = {
            "epsilon": None if self.epsilon is None else exact.as_float(self.epsilon, up=up)
        }
        if self.rho is not None:
            data["rho"] = exact.as_float(self.rho, up=up)
        if self.budget is not None:
            data["budget"] = exact.as_float(self.budget, up=True)
        return data | {"delta": exact.as_float(self.delta, up=up)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseColumn:
    """A column of an answer: a key, a noisy number, or a number derived from those.

    bounds: the limits of its exact numbers that follow from the declaration alone, such as those of an average.
    least: 0 if its exact numbers are never negative, such as those of a count.
    labels: what some codes of a key are called, as pairs. Rows hold the codes; tables and charts show the labels.
    """

    name: str
    kind: Literal["key", "noisy", "derived"]
    bounds: Bounds = None
    least: Literal[0] | None = None
    labels: tuple[tuple[str, str], ...] = ()

    def to_data(self) -> dict[str, Any]:
        """The column as JSON data; `bounds`, `least` and `labels` only if they are set."""
        bounds = {} if self.bounds is None else {"bounds": list(self.bounds)}
        least = {} if self.least is None else {"least": self.least}
        labels = {"labels": dict(self.labels)} if self.labels else {}
        return {"name": self.name, "kind": self.kind, **bounds, **least, **labels}

    @staticmethod
    def from_data(data: dict[str, Any]) -> ReleaseColumn:
        """The column that `to_data` wrote."""
        bounds = data.get("bounds")
        return ReleaseColumn(
            name=data["name"],
            kind=data["kind"],
            bounds=None if bounds is None else (bounds[0], bounds[1]),
            least=data.get("least"),
            labels=tuple(data.get("labels", {}).items()),
        )

    def shown(self, cell: Cell) -> Cell:
        """A cell as people read it: a key by its label, where it has one."""
        return dict(self.labels).get(cell, cell) if self.labels and isinstance(cell, str) else cell

    def is_below_noise(self, cell: Cell, ends: Interval) -> bool:
        """Whether a number of this column is below the noise. Of a quantile without an interval that is not known."""
        if ends is None and cell is not None and self.kind == "noisy" and self.bounds is not None:
            return False
        return self.kind != "key" and is_below_noise(cell, ends, self.bounds, least=self.least)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionOutcome:
    """What came of a wished precision that was bought step by step.

    steps: of each, its release, its epsilon by itself and what it took from the budget. share, share_reached: of the
    groups. needed: about what epsilon it would take, if it is not reached and that is known.
    """

    wished: str
    share: Fraction
    reached: bool
    share_reached: Fraction
    steps: tuple[tuple[str, Fraction, Fraction], ...]
    at_most: Fraction
    needed: Fraction | None = None

    @property
    def groups_text(self) -> str:
        return "" if self.share == 1 else f" for {exact.show(100 * self.share)}% of the groups"

    def to_data(self) -> dict[str, Any]:
        """The outcome as JSON data."""
        return {
            "wished": self.wished,
            "for": float(self.share),
            "reached": self.reached,
            "reached_for": float(self.share_reached),
            "steps": [
                {"release": id_, "epsilon": exact.as_float(epsilon, up=True), "cost": exact.as_float(cost, up=True)}
                for id_, epsilon, cost in self.steps
            ],
            "at_most": exact.as_float(self.at_most, up=True),
            "needed": None if self.needed is None else exact.as_float(self.needed, up=True),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """An answer: noisy numbers with their confidence intervals and their price. See `interval`.

    A number is None if the noise is too large to show it, such as the average of a group that may be empty.
    totals: for each row the places of the keys that it is a total over, as rows of ROLLUP are; empty where no row is.
    missing: for each row the places of numbers that there are not at all, as the change in the first month; or empty.
        Such a key is None in `rows`, and so is the key of the group of NULL: tables show `total` and NULL.
    read_intervals: computes the intervals at a given confidence, from noisy values only.
    read_best: computes the best numbers, from noisy values only; None where they cannot be computed here.
    derived: the answer was computed from earlier releases, and nothing was charged.
    sources: the releases that the numbers are computed from, if there are others than this one.
    charged: what the measurement cost the budget when it was charged; None if that is not known here.
    read_comparison: compares the numbers of two rows at a given confidence; None where only the numbers are known.
    precision: what came of a precision that was bought step by step; `cost` is then that of all steps.
    """

    id: str
    table: str
    version: int
    columns: tuple[ReleaseColumn, ...]
    rows: tuple[tuple[Cell, ...], ...]
    event: events.Event
    confidence: Fraction
    cost: Spending
    spent: Spending
    remaining: Spending
    charged: Fraction | None = None
    cached: bool = False
    derived: bool = False
    sources: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    totals: tuple[tuple[int, ...], ...] = ()
    missing: tuple[tuple[int, ...], ...] = ()
    precision: PrecisionOutcome | None = None
    read_intervals: Callable[[Fraction], tuple[Intervals, ...]] = field(repr=False, compare=False)
    read_comparison: Callable[[int, int, Operation, Fraction], Sequence[tuple[float | int | None, Ends]]] | None = (
        field(default=None, repr=False, compare=False)
    )
    read_best: Callable[[], Rows] | None = field(default=None, repr=False, compare=False)
    _interval_cache: dict[Fraction, tuple[Intervals, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _best_cache: list[Rows] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def intervals(self) -> tuple[Intervals, ...]:
        """The confidence interval of each number, at the answer's confidence; None for keys."""
        return self.interval()

    @property
    def purchase_cost(self) -> Spending:
        """What the measurement cost when it was charged. For a stored answer, that may be long ago."""
        loss = events.loss(self.event)
        return Spending(epsilon=loss.epsilon, rho=loss.rho, delta=loss.delta, budget=self.charged)

    def plus_minus(self, confidence: object = None) -> float:
        """The largest ± of any number: half of the widest interval."""
        half_widths = [
            (ends[1] - ends[0]) / 2
            for row in self.interval(confidence)
            for ends in row
            if ends is not None and not isinstance(ends[0], str) and not isinstance(ends[1], str)
        ]
        widest = max(half_widths, default=0.0)
        return int(widest) if widest == int(widest) else widest

    def interval(self, confidence: object = None) -> tuple[Intervals, ...]:
        """The confidence interval of each number; None for keys.

        The exact number of the declared table is inside with this confidence. The interval covers the added noise only,
        not what the limits and bounds of the declared table left out. A quantile's interval was measured with the
        answer and does not change with `confidence`.
        """
        level = self.confidence if confidence is None else exact.number(confidence, name="confidence")
        if level not in self._interval_cache:
            self._interval_cache[level] = self.read_intervals(level)
        return self._interval_cache[level]

    def compare(
        self, left: object, right: object, *, ratio: bool = False, confidence: object = None
    ) -> GroupComparison:
        """Compare two groups: the first one's numbers minus the second one's, or over them, with intervals. Free.

        A group is named by the value of its key, by a tuple of all its keys, or by a mapping such as {"sex": "F"}.
        """
        if self.read_comparison is None:
            raise UsageError(
                "two groups can be compared only in an answer that was measured by itself",
                hint="count(*) - lag(count(*)) OVER (ORDER BY …) compares each group with the one before it",
            )
        level = self.confidence if confidence is None else exact.number(confidence, name="confidence")
        keys = [place for place, column in enumerate(self.columns) if column.kind == "key"]
        names = [self.columns[place].name for place in keys]
        groups = [tuple(row[place] for place in keys) for row in self.rows]
        places = [find_row(names, groups, wished) for wished in (left, right)]
        operation: Operation = "ratio" if ratio else "difference"
        numbers = self.read_comparison(places[0], places[1], operation, level)
        return GroupComparison(
            operation=operation,
            left=groups[places[0]],
            right=groups[places[1]],
            columns=tuple(column.name for column in self.columns if column.kind != "key"),
            values=tuple(value for value, _ in numbers),
            intervals=tuple(ends for _, ends in numbers),
            confidence=level,
        )

    def best(self) -> Rows:
        """The rows with the best guess of each count and sum in place of the unbiased number. Free.

        They are whole numbers (sums: whole steps), never negative where the exact ones cannot be, and add up: a total
        is the sum of its groups. Each is shrunk by what the other groups say; the total of a table stays the unbiased
        one. Averages, quantiles and keys are as in `rows`. Such a number is nearer to the exact one in most groups,
        above all in those below the noise, but it is not unbiased: to add up groups of your choice, use `rows`.
        """
        if self.read_best is None:
            raise UsageError("the best numbers of this answer cannot be computed here", hint="ask the query again")
        if not self._best_cache:
            self._best_cache.append(self.read_best())
        return self._best_cache[0]

    @property
    def best_places(self) -> tuple[int, ...]:
        """The columns in which some best number differs from the unbiased one."""
        pairs = list(zip(self.rows, self.best(), strict=True))
        return tuple(at for at in range(len(self.columns)) if any(row[at] != best[at] for row, best in pairs))

    def at_confidence(self, confidence: Fraction) -> Release:
        """The same answer with intervals at another confidence."""
        return replace(self, confidence=confidence)

    def with_warnings(self, warnings: Iterable[str]) -> Release:
        """The same answer with these warnings."""
        release = replace(self, warnings=tuple(warnings))
        release._interval_cache.update(self._interval_cache)
        release._best_cache.extend(self._best_cache)
        return release

    def is_below_noise(self, row: int, column: int) -> bool:
        """Whether a number is below the noise."""
        return self.columns[column].is_below_noise(self.rows[row][column], self.intervals[row][column])

    def count_below_noise(self) -> tuple[int, int, int]:
        """How many numbers are below the noise, how many are not shown because of it, and how many there are."""
        places = [(place, column) for place, column in enumerate(self.columns) if column.kind != "key"]
        pairs = list(zip(self.rows, self.intervals, strict=True))
        missing = sum(map(len, self.missing))
        hidden = sum(row[place] is None for place, _ in places for row in self.rows) - missing
        below_noise = sum(
            column.is_below_noise(row[place], ends[place]) for place, column in places for row, ends in pairs
        )
        return below_noise - hidden - missing, hidden, len(pairs) * len(places) - missing

    def below_noise_warnings(self) -> list[str]:
        """How many numbers are below their noise, and how many it hides."""
        return below_noise_warnings(*self.count_below_noise())

    def to_data(self, *, best: bool = False) -> dict[str, Any]:
        """The answer as JSON data; the keys are a contract. best: with the best numbers, row by row."""
        return {
            "release": self.id,
            "version": self.version,
            "columns": [column.to_data() for column in self.columns],
            "rows": [list(row) for row in self.rows],
            "intervals": [[None if ends is None else list(ends) for ends in row] for row in self.intervals],
            "confidence": float(self.confidence),
            "cost": self.cost.to_data(up=True),
            "spent": self.spent.to_data(up=True),
            "remaining": self.remaining.to_data(up=False),
            "cached": self.cached,
            "derived": self.derived,
            "from": list(self.sources),
            "warnings": list(self.warnings),
            **({"best": [list(row) for row in self.best()]} if best else {}),
            **({"totals": [list(places) for places in self.totals]} if self.totals else {}),
            **({} if self.precision is None else {"within": self.precision.to_data()}),
        }

    def to_arrow(self, *, best: bool = False) -> pyarrow.Table:
        """The rows as an Arrow table. Each noisy column is followed by the ends of its interval, _low and _high.

        best: also by its best number, _best.
        """
        import pyarrow

        arrays: dict[str, Any] = {}
        taken = {column.name for column in self.columns}
        best_rows = self.best() if best else None
        for place, column in enumerate(self.columns):
            arrays[column.name] = _array([row[place] for row in self.rows])
            if column.kind == "key":
                continue
            ends = [row[place] for row in self.intervals]
            further = {word: [None if each is None else each[end] for each in ends] for end, word in enumerate(_ENDS)}
            if best_rows is not None:
                further["best"] = [row[place] for row in best_rows]
            for word, values in further.items():
                name = f"{column.name}_{word}"
                while name in taken:
                    name += "_"
                taken.add(name)
                arrays[name] = _array(values)
        return pyarrow.table(arrays)

    def to_pandas(self, *, best: bool = False) -> pandas.DataFrame:
        """The rows as a pandas DataFrame, with the columns of `to_arrow`."""
        _require_package("pandas")
        frame: pandas.DataFrame = self.to_arrow(best=best).to_pandas()
        return frame

    def to_polars(self, *, best: bool = False) -> polars.DataFrame:
        """The rows as a polars DataFrame, with the columns of `to_arrow`."""
        _require_package("polars")
        import polars

        frame = polars.from_arrow(self.to_arrow(best=best))
        assert isinstance(frame, polars.DataFrame)
        return frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Cell, ...]]:
        return iter(self.rows)

    def is_total(self, row: int, column: int) -> bool:
        """Whether a row is a total over this key."""
        return bool(self.totals) and column in self.totals[row]

    def is_null_group(self, row: int) -> bool:
        """Whether a row is of the group in which some key is NULL."""
        return any(
            column.kind == "key" and self.rows[row][place] is None and not self.is_total(row, place)
            for place, column in enumerate(self.columns)
        )

    def without_null_groups(self) -> Release:
        """The same answer without the rows in which some key is NULL. Totals stay, and still include them."""
        kept = [row for row in range(len(self.rows)) if not self.is_null_group(row)]
        if len(kept) == len(self.rows):
            return self
        read_intervals, read_best, compare = self.interval, self.best, self.read_comparison
        fewer = replace(
            self,
            rows=_picked(self.rows, kept),
            totals=_picked(self.totals, kept) if self.totals else (),
            missing=_picked(self.missing, kept) if self.missing else (),
            read_intervals=lambda confidence: _picked(read_intervals(confidence), kept),
            read_best=None if self.read_best is None else lambda: _picked(read_best(), kept),
            read_comparison=None
            if compare is None
            else lambda left, right, operation, level: compare(kept[left], kept[right], operation, level),
        )
        others = [warning for warning in self.warnings if warning not in self.below_noise_warnings()]
        return fewer.with_warnings([*others, *fewer.below_noise_warnings()])

    def cell_text(self, row: int, column: int) -> str:
        """A cell as text: with only the digits that the noise leaves meaningful, and its ±."""
        if self.is_total(row, column):
            return TOTAL
        shown = self.columns[column].shown(self.rows[row][column])
        return format_cell(shown, self.intervals[row][column], key=self.columns[column].kind == "key")

    def __str__(self) -> str:
        table = [[column.name for column in self.columns]]
        places = range(len(self.columns))
        table += [[self.cell_text(row, place) for place in places] for row in range(min(20, len(self.rows)))]
        widths = [max(len(row[place]) for row in table) for place in places]
        lines = ["  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)).rstrip() for row in table]
        return "\n".join([*lines, *(["…"] if len(self.rows) > 20 else []), repr(self)])

    def __repr__(self) -> str:
        return f"<Release {self.id}: {len(self.rows)} rows, {self.price}>"

    def _repr_html_(self) -> str:
        """The answer in a notebook. Free."""
        return notebook.notebook_html(self._html_parts, lambda: repr(self))

    def _html_parts(self) -> Iterator[str]:
        places, most = range(len(self.columns)), min(notebook.MOST_ROWS, len(self.rows))
        drawn = sum(column.kind != "key" for column in self.columns) <= 2
        rows = [[self._cell(row, place, drawn=drawn) for place in places] for row in range(most)]
        yield notebook.table([column.name for column in self.columns], rows, more=len(self.rows) - most)
        if any(column.kind != "key" for column in self.columns):
            grey = any(cell.below_noise and cell.text != DASH for row in rows for cell in row)
            dash = any(cell.text == DASH for row in rows for cell in row)
            yield notebook.small_print(legend(self.confidence, mark="Grey" if grey else "", dash=dash))
        yield notebook.small_print(
            f"{self.price}; {_spending_text(self.spent)} spent, {_spending_text(self.remaining, up=False)} remaining. "
            f"Release {self.id} of {self.table}, version {self.version}."
        )
        for warning in self.warnings:
            yield notebook.small_print(f"note: {warning}")

    def _cell(self, row: int, place: int, *, drawn: bool) -> notebook.NotebookCell:
        cell, ends, key = self.rows[row][place], self.intervals[row][place], self.columns[place].kind == "key"
        whole = None
        if drawn and not key and ends is not None and isinstance(cell, int | float):
            low, high = ends
            if not isinstance(low, str) and not isinstance(high, str):
                whole = (float(cell), float(low), float(high))
        return notebook.NotebookCell(
            text=self.cell_text(row, place),
            number=not key if cell is None else isinstance(cell, int | float) and not isinstance(cell, bool),
            below_noise=self.is_below_noise(row, place),
            word=key and (cell is None or isinstance(cell, bool)),
            plotted=whole,
        )

    @property
    def price(self) -> str:
        """What it cost, in words."""
        if self.cached:
            return f"stored answer: free (it cost {_spending_text(self.purchase_cost)})"
        return "derived answer, free" if self.derived else f"cost {_spending_text(self.cost)}"


def _picked(rows: tuple[Any, ...], kept: Iterable[int]) -> tuple[Any, ...]:
    return tuple(rows[row] for row in kept)


def legend(confidence: Fraction | float, *, mark: str = "", dash: bool = False, whose: str = "per number") -> str:
    """What ± means. `mark`: what numbers below their noise are marked with, where there are some; `dash`: one is shown.

    >>> legend(0.95, mark="~")
    '± 95% confidence interval of the added noise, per number. ~ below the noise: treat as unknown.'
    >>> legend(0.9, dash=True)
    '± 90% confidence interval of the added noise, per number. – not shown: the noise is too large.'
    """
    parts = [f"± {100 * float(confidence):g}% confidence interval of the added noise, {whose}."]
    parts += [f"{mark} below the noise: treat as unknown."] if mark else []
    parts += [f"{DASH} not shown: the noise is too large."] if dash else []
    return " ".join(parts)


def format_cell(cell: Cell, ends: Interval, *, key: bool) -> str:
    """A cell for people: a key as it is, a number with its noise, a dash for a number that the noise hides."""
    if key:
        return cell_text(cell)
    if cell is None:
        return DASH
    if ends is None:
        return f"{cell:.6g} ± ?" if isinstance(cell, float) else f"{cell} ± ?"
    if isinstance(cell, str) or isinstance(ends[0], str) or isinstance(ends[1], str):
        return f"{cell} ({ends[0]} to {ends[1]})"
    return format_with_noise(cell, ends[0], ends[1])


def is_below_noise(cell: Cell, ends: Interval, bounds: Bounds = None, *, least: Literal[0] | None = None) -> bool:
    """Whether a number is lost in its noise. Every table, chart and warning greys by this one rule.

    A number is, where it is no larger than its noise, or where its interval says no more than its column's `bounds`,
    which everybody knew: an average of "110 (0 to 110)". A date or text is so by its bounds alone. A count whose whole
    interval lies below 0, its `least`, says no more than "about 0". A number without noise, 0 ± 0, is never lost.
    """
    if ends is None:
        return not isinstance(cell, str)
    low, high = ends
    if isinstance(low, str) or isinstance(high, str):
        return bounds is not None and ends == tuple(bounds)
    if _covers_bounds(low, high, bounds) or (least is not None and high < least):
        return True
    return not isinstance(cell, str) and (cell is None or (low < high and abs(cell) <= (high - low) / 2))


def _covers_bounds(low: float, high: float, bounds: Bounds) -> bool:
    """Whether an interval reaches over all of its bounds, but for what rounding moved."""
    if bounds is None or isinstance(bounds[0], str) or isinstance(bounds[1], str):
        return False
    slack = 1e-9 * (bounds[1] - bounds[0])
    return low <= bounds[0] + slack and high >= bounds[1] - slack


def below_noise_warnings(below_noise: int, hidden: int, cells: int) -> list[str]:
    """How many of some numbers are below their noise, and how many it hides."""
    warnings = []
    for number, words in (
        (below_noise, "below the noise"),
        (hidden, f"not shown ({DASH}): the noise is too large"),
    ):
        plural = "is" if number == 1 else "are"
        which = "the number is" if cells == 1 else f"{number:,} of {cells:,} numbers {plural}"
        warnings += [f"{which} {words}; use a larger epsilon or wider groups to see more"] if number else []
    return warnings


def _array(values: list[Any]) -> Any:
    """Values as an Arrow array; whole numbers and others together are decimal ones."""
    import pyarrow

    if any(isinstance(value, float) for value in values):
        values = [float(value) if isinstance(value, int) else value for value in values]
    try:
        return pyarrow.array(values)
    except (OverflowError, pyarrow.ArrowInvalid):  # beyond 64 bits
        return pyarrow.array([None if value is None else float(value) for value in values])


def _require_package(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise UsageError(f"{package} is not installed", hint=f"pip install 'discreet[{package}]', or use to_arrow()")


def _spending_text(cost: Spending, *, up: bool = True) -> str:
    """What was paid, or is left: what it cost the budget where that is known; else a Gaussian has no epsilon."""
    if cost.budget is not None:
        return f"epsilon {exact.show(cost.budget, up=up)}"
    if cost.epsilon is None:
        return f"rho {exact.show(cost.rho or Fraction(0), up=up)}"
    return f"epsilon {exact.show(cost.epsilon, up=up)}"
