"""One grouping set of an answer: its noisy vectors as labels, numbers, intervals. Post-processing.

One class, and so one file, long as it is: what is shown, hidden and how far off it may be must go by the same vectors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.answers.answer_columns import never_negative
from discreet.answers.column_numbers import ColumnNumbers, endless_intervals
from discreet.answers.group_windows import alike_windows, rounded_draws, window_sums
from discreet.mechanisms.repeated_noise import RepeatedNoise
from discreet.plan import formula
from discreet.plan.cell_statistics import PersonCount, RowCount
from discreet.plan.predicate import TRUE
from discreet.release import Cell, Interval
from discreet.sql.bin_labels import bin_middle, bin_range_labels
from discreet.sql.parsed_query import OutputColumn, ParsedQuery
from discreet.sql.typed_expression import CategoryKind, NumericKind, TextKind

#: How many digits mean something is judged at one confidence, so that an answer has one value whoever reads it.
_DIGITS_AT = Fraction(95, 100)
#: A number that is computed from rows is shown where with this confidence there is a row.
_SURE = Fraction(99, 100)
#: A quantile whose interval reaches a bound tells nothing where it covers more than this share of the bins. Of groups
#: without rows one in 20 has an interval that does not reach both bounds; two of 100 are left to pass this.
_MOST_BINS = Fraction(2, 3)

#: Whole numbers and widths up to this, and their sums and differences, are exact as floats.
_EXACT = 2**51

_Ends = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True, kw_only=True)
class AnswerBlock:
    """One grouping set: its noisy vectors over the groups, discovered keys first, then the axes, row-major."""

    query: ParsedQuery
    place: int
    keys: tuple[tuple[int | str | None, ...], ...] | None
    shape: tuple[int, ...]
    values: dict[int, NDArray[Any]] = field(default_factory=dict)
    laws: dict[int, Any] = field(default_factory=dict)
    thresholds: dict[int, int] = field(default_factory=dict)
    bins: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    bought_confidence: dict[int, Fraction] = field(default_factory=dict)
    ends: dict[tuple[formula.Formula, Fraction], _Ends] = field(default_factory=dict)
    rounded_values: dict[formula.Formula, NDArray[Any]] = field(default_factory=dict)
    coalesce_choices: dict[formula.Formula, formula.CoalesceChoice] = field(default_factory=dict)
    uninformative_groups: dict[formula.Formula, NDArray[np.bool_]] = field(default_factory=dict)
    window_places: dict[tuple[int, tuple[formula.GroupWindow, ...]], list[list[int]]] = field(default_factory=dict)
    draws: dict[int, NDArray[np.int64]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return math.prod(self.full_shape)

    @property
    def full_shape(self) -> tuple[int, ...]:
        return self.shape if self.keys is None else (len(self.keys), *self.shape)

    def vectors(self) -> list[NDArray[Any]]:
        """The noisy vectors by the numbers of their statistics; after them those of windows."""
        return [self.values[index] for index in self._indexes()]

    def _indexes(self) -> range:
        return range(len(self.query.inquiry.statistics) + len(self.draws))

    def _located(self, output: OutputColumn) -> OutputColumn:
        """The column with statistics over windows by the places that their vectors have in this block."""
        of, own = output.formula, len(self.query.inquiry.statistics)
        references = () if of is None else tuple(formula.references(of))
        windows = [reference.over for reference in references if reference.over is not None and reference.index < own]
        if of is None or not windows:
            return output
        alike = {window: together for together in alike_windows(windows) for window in together}

        def located(reference: formula.StatisticRef) -> formula.Formula:
            if reference.over is None:
                return reference
            together = alike[reference.over]
            places = self._window_places(reference.index, together)[together.index(reference.over)]
            parts = [formula.StatisticRef(place, together[0]) for place in places]
            return formula.added(parts)

        return replace(output, formula=formula.replace_references(of, located))

    def _window_places(self, statistic: int, windows: tuple[formula.GroupWindow, ...]) -> list[list[int]]:
        """For each of some windows that are alike, the places of the vectors that add up to a statistic over it."""
        if (statistic, windows) not in self.window_places:
            self.window_places[statistic, windows] = [[] for _ in windows]
            for part in window_sums(
                self.values[statistic],
                self._possible(np.arange(self.size)),
                windows,
                places=self.positions,
                ranks=self._label_ranks,
            ):
                index = len(self._indexes())
                self.values[index], self.draws[index] = part.sums, rounded_draws(part.draws)
                most = max(int(self.draws[index].max(initial=1)), 1)
                self.laws[index] = RepeatedNoise(law=self.laws[statistic], draws=most)
                for place in part.windows:
                    self.window_places[statistic, windows][place].append(index)
        return self.window_places[statistic, windows]

    def _label_ranks(self, key: int) -> NDArray[np.int64]:
        """By what groups stand in the order of a key: texts by themselves, others by their places; -1 for NULL."""
        labels, positions = self._labels(key), self.positions(key)
        if isinstance(self.query.keys[key].typed.kind, CategoryKind | TextKind):
            texts = sorted({label for label in labels if isinstance(label, str)})
            ranks = {text: rank for rank, text in enumerate(texts)}
            return np.array([ranks.get(label, -1) if isinstance(label, str) else -1 for label in labels])
        return np.array([-1 if label is None else place for label, place in zip(labels, positions, strict=True)])

    def kept_groups(self) -> NDArray[np.int64]:
        """The groups that HAVING keeps, in the order of their keys as selected. What is hidden is NULL there."""
        order, having = self._possible(self._by_keys()), self.query.having
        if having is None:
            return order
        shown = {part: self._shown(part) for part in formula.compared_numbers(having) if formula.cells(part)}
        passes = np.broadcast_to(formula.evaluate(having, self.vectors(), given_values=shown), self.size)
        kept: NDArray[np.int64] = order[passes[order] == 1]
        return kept

    def possible_groups(self) -> NDArray[np.int64]:
        """The groups that a row can be in."""
        return self._possible(np.arange(self.size))

    def noise_law(self, index: int) -> Any:
        """The law of the noise of a statistic's cells; None where they have no law in common."""
        return self.laws.get(index)

    def _possible(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Without groups that no row can be in: keys of the same values, as lower(sex) and sex are, differ there."""
        axes = [axis.to_data() for axis in self.query.inquiry.sets[self.place]]
        firsts = [axes.index(each) for each in axes]
        if firsts == list(range(len(axes))):
            return order
        places = np.unravel_index(order, self.full_shape)[self.keys is not None :]
        return order[np.all([places[turn] == places[first] for turn, first in enumerate(firsts)], axis=0)]

    def _shown(self, part: formula.Formula) -> NDArray[np.float64]:
        """The numbers of a formula as they were drawn, NaN where one is hidden."""
        return np.where(self.hidden(OutputColumn(name="", formula=part)), np.nan, self._computed(part))

    def _by_keys(self) -> NDArray[np.int64]:
        shown = [output.key for output in self.query.outputs if output.key is not None]
        rest = [key for key in range(len(self.query.keys)) if key not in shown]
        keys = list(dict.fromkeys([*shown, *rest]))
        turns = [turn for turn in map(self._dimension_of, keys) if turn is not None]
        if turns == sorted(turns) and len(turns) == len(self.full_shape):
            return np.arange(self.size)  # row-major already
        return np.lexsort([self._ranks(key) for key in reversed(keys)])

    def _ranks(self, key: int) -> NDArray[np.int64]:
        """`positions`; of several discovered keys, which share one dimension, each by its own values, NULL last."""
        positions = self.positions(key)
        query = self.query
        if self.keys is None or query.keys[key].axis is not None or len(query.inquiry.keys) < 2:
            return positions
        values = [key_values[self._discovered_key_number(key)] for key_values in self.keys]
        sorted_values: list[Any] = sorted({value for value in values if value is not None})
        ranks = {value: rank for rank, value in enumerate([*sorted_values, None])}
        return np.array([ranks[value] for value in values], dtype=np.int64)[positions]

    def _discovered_key_number(self, key: int) -> int:
        """Which of the discovered keys a key is."""
        return [place for place, each in enumerate(self.query.keys) if each.axis is None].index(key)

    def positions(self, key: int) -> NDArray[np.int64]:
        """For each group, which of the key's values it has; -1 where the set sums over the key."""
        turn = self._dimension_of(key)
        if turn is None:
            return np.full(self.size, -1)
        full = self.full_shape
        inner = math.prod(full[turn + 1 :])
        outer = math.prod(full[:turn])
        return np.tile(np.repeat(np.arange(full[turn]), inner), outer)

    def _dimension_of(self, key: int) -> int | None:
        """Which dimension of the block a key is; None where the set sums over it."""
        axis = self.query.axis_of(self.place, key)
        if axis is not None:
            return axis + (self.keys is not None)
        return 0 if self.keys is not None and self.query.keys[key].axis is None else None

    def places(self, key: int) -> list[int | None]:
        """`positions`, with None for NULL and where the set sums over the key."""
        labels = self._labels(key)
        positions = self.positions(key).tolist()
        return [None if label is None else place for place, label in zip(positions, labels, strict=True)]

    def cells(self, output: OutputColumn, groups: NDArray[np.int64] | None = None) -> list[Cell]:
        """One column of the answer. `groups`: of these groups only, in this order."""
        output = self._located(output)
        if output.key is not None:
            return self._labels(output.key, groups)
        if output.grouping is not None:
            size = self.size if groups is None else len(groups)
            return [int(output.grouping not in self.query.sets[self.place])] * size
        if output.quantile is not None:
            chosen = _without_hidden(self._chosen(output.quantile), self.hidden(output))
            return chosen if groups is None else [chosen[group] for group in groups.tolist()]
        rounded = self._rounded(output)
        numbers = rounded if self._whole(output) is not None else np.where(self.hidden(output), np.nan, rounded)
        chosen_numbers = numbers if groups is None else numbers[groups]
        return list(chosen_numbers.tolist()) if self._whole(output) is not None else floats_as_cells(chosen_numbers)

    def sortable(self, output: OutputColumn) -> list[Cell]:
        """What a column is sorted by: numbers as they were drawn, with all their digits; quantiles by their bins."""
        output = self._located(output)
        if output.quantile is not None:
            return _without_hidden(self.bins[output.quantile][:, 1].tolist(), self.hidden(output))
        return (
            self.cells(output)
            if output.formula is None
            else _without_hidden(self._evaluated(output), self.hidden(output))
        )

    def hidden(self, output: OutputColumn) -> NDArray[np.bool_]:
        """Groups whose number the noise hides, so that it is not shown: it would be one from the middle of the bounds.

        Post-processing: it looks at noisy numbers alone. A number is hidden where there may be no row to compute it
        from, and where its interval has no end, or says no more than what is declared. Where `coalesce` takes another
        argument instead of it, that one decides.

        Of groups without rows at most 1 in 200 shows a mean, or a quotient like sum(x) / count(*) whose divisor is
        never negative (its noisy divisor is beyond its 99% noise, on one side), and at most 1 in 20 any other quotient
        (its noisy divisor is beyond its 95% noise).
        """
        output = self._located(output)
        if output.quantile is not None:
            return self._hidden_quantile(output.quantile)
        if output.formula is None or output.plain is not None or self._uses_discovered_counts(output):
            return np.zeros(self.size, dtype=np.bool_)
        return self._uninformative(output.formula)

    def _uninformative(self, of: formula.Formula) -> NDArray[np.bool_]:
        """Groups in which the interval of a formula says no more than what is declared."""
        if of not in self.uninformative_groups:
            self.uninformative_groups[of] = self._judged(formula.simplify(of))
        return self.uninformative_groups[of]

    def _judged(self, of: formula.Formula) -> NDArray[np.bool_]:
        """`_uninformative`, by the arguments that `coalesce` takes in each group."""
        if not formula.cells(of):
            return np.zeros(self.size, dtype=np.bool_)
        choices = self._choices(of)
        if isinstance(of, formula.Call) and of in choices:
            last = len(of.arguments) - 1  # the others are taken only where they are known
            return np.asarray((choices[of].places == last) & self._uninformative(of.arguments[last]))
        low, high = (
            self._taken_ends(of, choices) if choices else self._ends(OutputColumn(name="", formula=of), _DIGITS_AT)
        )
        least, most = formula.limits(of, choices)
        slack = np.where(np.isinf(most), 0.0, 1e-9 * (most - least))
        wide = (low <= least + slack) & (high >= most - slack) | np.isinf(low) | np.isinf(high)
        return np.asarray(wide & (least != most) & self._noisy(of))

    def _taken_ends(self, of: formula.Formula, choices: formula.Choices) -> _Ends:
        """The interval of a formula by the arguments that `coalesce` takes; infinite where there may be nobody."""
        low, high = formula.interval(of, self.vectors(), self._laws(), _DIGITS_AT, choices=choices)
        nobody = self._nobody(of, _SURE, choices)
        return np.where(nobody, -np.inf, low), np.where(nobody, np.inf, high)

    def _choices(self, of: formula.Formula) -> formula.Choices:
        """Which argument each `coalesce` of a formula takes in each group: what is NULL or hidden is not taken."""
        for call in formula.coalesces(of):
            if call not in self.coalesce_choices:
                self.coalesce_choices[call] = formula.choose_argument(call, self._unknown_number, self._computed)
        return {call: self.coalesce_choices[call] for call in formula.coalesces(of)}

    def _unknown_number(self, of: formula.Formula) -> NDArray[np.bool_]:
        """Groups in which a formula is NULL or hidden."""
        return np.asarray(self._uninformative(of) | np.isnan(self._computed(of)))

    def _computed(self, of: formula.Formula) -> NDArray[np.float64]:
        """The numbers of a formula as they were drawn, NaN for NULL."""
        coalesced_values = {call: taken.values for call, taken in self._choices(of).items()}
        return np.broadcast_to(formula.evaluate(of, self.vectors(), given_values=coalesced_values), self.size)

    def _noisy(self, of: formula.Formula) -> NDArray[np.bool_]:
        """Groups whose number is computed from a statistic: a literal that the question names is no noisy number."""
        none, every = np.zeros(self.size, dtype=np.bool_), np.ones(self.size, dtype=np.bool_)
        return formula.groups_using(
            of, self._choices(of), lambda part: every if isinstance(part, formula.StatisticRef) else none
        )

    def _hidden_quantile(self, quantile: int) -> NDArray[np.bool_]:
        quantile_inquiry, bins = self.query.quantiles[quantile].quantile, self.bins[quantile]
        last = len(quantile_inquiry.axis.edges) - 2
        if last == 0:
            return np.zeros(self.size, dtype=np.bool_)
        low, high = bins[:, 0], bins[:, 2]
        wide = _MOST_BINS.denominator * (high - low + 1) > _MOST_BINS.numerator * (last + 1)
        is_hidden = np.asarray(((low == 0) | (high == last)) & wide | (low == 0) & (high == last))
        for index, statistic in enumerate(self.query.inquiry.statistics):
            if isinstance(statistic, RowCount | PersonCount) and statistic.where in (TRUE, quantile_inquiry.where):
                is_hidden = is_hidden | self._nobody_by(index, _SURE)
        return is_hidden

    def _labels(self, key: int, groups: NDArray[np.int64] | None = None) -> list[Cell]:
        query = self.query
        positions = self.positions(key) if groups is None else self.positions(key)[groups]
        axis = query.axis_of(self.place, key)
        if axis is not None:
            labels: Sequence[Cell] = query.inquiry.sets[self.place][axis].labels
        elif self.keys is not None and query.keys[key].axis is None:
            turn = self._discovered_key_number(key)
            labels = [query.keys[key].label(key_values[turn]) for key_values in self.keys]
        else:
            return [None] * len(positions)
        label_array = np.empty(len(labels), dtype=object)
        label_array[:] = labels
        return list(label_array[positions].tolist())

    def _evaluated(self, output: OutputColumn) -> list[Cell]:
        whole = self._whole(output)
        if whole is not None:
            return list(self.values[whole].tolist())
        assert output.formula is not None
        return floats_as_cells(self._computed(output.formula))

    def _rounded(self, output: OutputColumn) -> NDArray[Any]:
        """The numbers of a column, with no more digits than the noise leaves meaningful; NaN for NULL."""
        assert output.formula is not None
        if output.formula not in self.rounded_values:
            whole = self._whole(output)
            if whole is not None:
                width = self.laws[whole].half_width(_DIGITS_AT)
                rounded = formula.meaningful_whole(self.values[whole], width)
            else:
                values = self._computed(output.formula)
                within = formula.meaningful_within(values, *self._ends(output, _DIGITS_AT))
                rounded = np.where(self._noisy(output.formula), within, values)
            self.rounded_values[output.formula] = rounded
        return self.rounded_values[output.formula]

    def numbers(self, output: OutputColumn, confidence: Fraction) -> ColumnNumbers | None:
        """What `cells` and `interval` say of a column, as arrays; None where floats would not hold it exactly."""
        output = self._located(output)
        if output.formula is None or self._uses_discovered_counts(output):
            return None
        whole, shown = self._whole(output), np.where(self.hidden(output), np.nan, self._rounded(output))
        if whole is None:
            low, high = self._ends(output, confidence)
            return ColumnNumbers(values=shown, lows=low, highs=high)
        width, values = self.laws[whole].half_width(confidence), self.values[whole]
        if values.dtype == object or max(width, -int(values.min(initial=0)), int(values.max(initial=0))) > _EXACT:
            return None
        return ColumnNumbers(values=shown, lows=values - float(width), highs=values + float(width))

    def _chosen(self, quantile: int) -> list[Cell]:
        """A quantile: the middle of a bin, with no more digits than its interval leaves meaningful."""
        quantile_query = self.query.quantiles[quantile]
        middles = [
            bin_middle(quantile_query.quantile.axis, quantile_query.typed, int(bin_))
            for bin_ in self.bins[quantile][:, 1]
        ]
        if not isinstance(quantile_query.typed.kind, NumericKind):
            return list(middles)
        lows, highs = (
            zip(*self._bin_ends(quantile, self.bought_confidence[quantile]), strict=True) if middles else ((), ())
        )
        return formula.meaningful_quantiles(middles, lows, highs)

    def _whole(self, output: OutputColumn) -> int | None:
        """The statistic that an output is, as it was drawn: whole numbers."""
        plain = output.plain
        if plain is None or plain[1] != 1 or self.values[plain[0]].dtype.kind == "f":
            return None
        return plain[0]

    def interval(self, output: OutputColumn, confidence: Fraction) -> list[Interval]:
        """Where the numbers of a column lie without their noise; of hidden ones, between what is declared."""
        output = self._located(output)
        if output.key is not None or output.grouping is not None:
            return [None] * self.size
        if output.quantile is not None:
            return self._bin_ends(output.quantile, confidence)
        whole = self._whole(output)
        if self._uses_discovered_counts(output):
            return self._discovered_intervals(output, confidence)
        if whole is not None:
            width = self.laws[whole].half_width(confidence)
            return [(value - width, value + width) for value in self.values[whole].tolist()]
        low, high = self._ends(output, confidence)
        pairs: list[Interval] = list(zip(low.tolist(), high.tolist(), strict=True))
        for place in np.flatnonzero(endless_intervals(low, high)).tolist():
            pairs[place] = None
        return pairs

    def _ends(self, output: OutputColumn, confidence: Fraction) -> _Ends:
        assert output.formula is not None
        if (output.formula, confidence) not in self.ends:
            low, high = self._noise_interval(output.formula, confidence)
            nobody = self._nobody(output.formula, max(confidence, _SURE))
            least, most = formula.bounds(output.formula) or (-math.inf, math.inf)
            low, high = np.where(nobody, least, low), np.where(nobody, most, high)
            if formula.has_fallback(output.formula):  # an interval holds the number that is shown
                values = self._computed(output.formula)
                low, high = np.fmin(low, values), np.fmax(high, values)
            self.ends[output.formula, confidence] = low, high
        return self.ends[output.formula, confidence]

    def _noise_interval(self, of: formula.Formula, confidence: Fraction) -> _Ends:
        """The interval of a formula; where it sums over windows, for groups with as many draws of noise together."""
        summed = [index for index in sorted(formula.cells(of)) if index in self.draws]
        if not summed:
            return formula.interval(of, self.vectors(), self._laws(), confidence)
        low, high = np.full(self.size, np.nan), np.full(self.size, np.nan)
        vectors = self.vectors()
        given_groups = np.flatnonzero(~np.any([np.isnan(vectors[index]) for index in summed], axis=0))
        numbers = np.stack([self.draws[index][given_groups] for index in summed])
        alike, places = np.unique(numbers, axis=1, return_inverse=True)
        for place, draws in enumerate(alike.T):
            lanes = given_groups[places.ravel() == place]
            laws = self._laws()
            for index, number in zip(summed, draws, strict=True):
                laws[index] = replace(self.laws[index], draws=int(number))
            low[lanes], high[lanes] = formula.interval(of, [each[lanes] for each in vectors], laws, confidence)
        return low, high

    def _laws(self) -> list[Any]:
        return [self.laws[index] for index in self._indexes()]

    def _nobody(
        self, of: formula.Formula, confidence: Fraction, choices: formula.Choices | None = None
    ) -> NDArray[np.bool_]:
        """Groups of which the noise leaves open whether there is anybody, where the column is computed from a mean.

        The mean of nobody is anything: such an interval says only what was declared, and the number is hidden.
        """
        none = np.zeros(self.size, dtype=np.bool_)

        def by_mean(part: formula.Formula) -> NDArray[np.bool_]:
            rows = formula.cells(part.below) if isinstance(part, formula.Quotient) else self._divisor(part)
            return np.asarray(np.logical_or.reduce([none, *(self._nobody_by(index, confidence) for index in rows)]))

        return formula.groups_using(of, choices or {}, by_mean)

    def _divisor(self, part: formula.Formula) -> tuple[int, ...]:
        """The count, or the sum of what is never negative, that a formula divides by, as sum(x) / count(*) does."""
        if not isinstance(part, formula.Arithmetic) or part.operator != "/":
            return ()
        below = part.right
        if isinstance(below, formula.Call) and below.name == "nullif":
            below = below.arguments[0]
        plain = OutputColumn(name="", formula=below).plain
        statistics = self.query.inquiry.statistics
        return (plain[0],) if plain is not None and plain[1] > 0 and never_negative(statistics[plain[0]]) else ()

    def _nobody_by(self, index: int, confidence: Fraction) -> NDArray[np.bool_]:
        """Groups whose noisy number of rows or persons may be of nobody."""
        width = float(self.laws[index].half_width(confidence))
        return np.asarray(self.values[index].astype(np.float64) <= width)

    def _uses_discovered_counts(self, output: OutputColumn) -> bool:
        """Whether a column is computed from numbers by which keys were discovered."""
        return output.formula is not None and not self.thresholds.keys().isdisjoint(formula.cells(output.formula))

    def _discovered_intervals(self, output: OutputColumn, confidence: Fraction) -> list[Interval]:
        """The numbers of persons of keys that were discovered by these very numbers, or multiples of them.

        Because: a key shows only where its noisy number reaches the threshold. Of keys below it those show
        whose noise is large, and by how much it is over tells nothing about the key (the noise has no
        memory): only a number that is over by more than `width` is evidence. For the others a tail of
        (1 - confidence) / 4 becomes at most twice as likely, since they show at least every other time.
        """
        plain = output.plain
        if plain is None or plain[1] <= 0:
            return [None] * self.size
        index, step = plain
        width = self.laws[index].half_width(1 - (1 - confidence) / 2)
        sure = self.thresholds[index] + width
        intervals: list[Interval] = []
        for value in self.values[index].tolist():
            low, high = value - width if value > sure else 1, value + width
            intervals.append((low, high) if step == 1 else (float(low * step), float(high * step)))
        return intervals

    def _bin_ends(self, quantile: int, confidence: Fraction) -> list[Interval]:
        """A quantile's interval was bought at one confidence; at a higher one only the bounds are sure.

        One without an interval has none at any confidence that is asked for.
        """
        quantile_query = self.query.quantiles[quantile]
        axis, last = quantile_query.quantile.axis, len(quantile_query.quantile.axis.edges) - 2
        whole = _ends(*bin_range_labels(axis, quantile_query.typed, 0, last))
        if confidence > self.bought_confidence[quantile]:
            return [whole if self.bought_confidence[quantile] else None] * self.size
        return [
            whole if hidden else _ends(*bin_range_labels(axis, quantile_query.typed, low, high))
            for (low, _, high), hidden in zip(self.bins[quantile], self._hidden_quantile(quantile), strict=True)
        ]


def _without_hidden(column_cells: list[Cell], hidden: NDArray[np.bool_]) -> list[Cell]:
    """The numbers, None where one is hidden."""
    if not hidden.any():
        return column_cells
    return [None if lost else cell for cell, lost in zip(column_cells, hidden.tolist(), strict=True)]


def _ends(low: Cell, high: Cell) -> Interval:
    """An interval; None where it has no end."""
    if low is None or high is None or math.inf in (-low if isinstance(low, float) else 0, high):
        return None
    return low, high


def floats_as_cells(floats: NDArray[Any]) -> list[Cell]:
    """Floats as Python's, NaN as NULL."""
    numbers = np.asarray(floats, dtype=np.float64)
    if not np.isnan(numbers).any():
        return list(numbers.tolist())
    return [None if value != value else value for value in numbers.tolist()]
