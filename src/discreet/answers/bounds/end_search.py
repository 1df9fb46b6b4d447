"""low and high: the bounds of numbers, dates and timestamps.

Each end is found in three stages: how large the numbers are, by a noisy histogram of powers of two (`magnitudes`);
then two choices, by how many rows would be clamped, of where inside what was found before. They zoom, so that
numbers far from 0 in a narrow band (years, dates) are found as well as those around 0. A column whose ends are near
each other already, or of which too few rows were seen for a choice to be any good, keeps the wider ends.

A unit with many rows counts once, by the least and the largest of them: then a bound is judged by how many
persons it touches, and one person weighs no more than one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from discreet.accounting.events import Event
from discreet.accounting.region import ValueSet
from discreet.answers.bounds.magnitudes import FEW, Magnitudes, rows_to_rely_on
from discreet.answers.bounds.round_bounds import first_code, last_code
from discreet.answers.bounds.tail_bin import TailBin
from discreet.kernel.curator import Version
from discreet.kernel.measurement import ChosenBins, Law, Measurement, NoisyCells
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.rank_choice import RankChoice
from discreet.plan.cell_statistics import Inner, PersonMaximum, PersonMinimum, RowCount
from discreet.plan.cells import Axis, Cells
from discreet.plan.expressions import Choose as Case
from discreet.plan.expressions import Code, Member, Number, Whole
from discreet.plan.inquiry import Inquiry
from discreet.plan.price import ChooseBin, Measure, Price
from discreet.plan.query_sensitivity import UnitReach, cells_touched, reach, sensitivity
from discreet.plan.relation import PerPerson, Plan, Scan
from discreet.schema.column import MomentColumn
from discreet.schema.column import NumberColumn as NumberColumn

End = Literal["low", "high"]

STAGES = 3

#: Such a share of the rows, or persons, may lie beyond an end.
BEYOND = Fraction(1, 200)

#: How much the farthest candidate is disliked beside the nearest, in nats. An end goes too far by about a 32nd of
#: where it was looked for; and there must be rows enough to outweigh this.
DISLIKE = 32

#: How much a candidate is disliked beside the one before it, at most, in nats: where there are few candidates (codes
#: 0 and 1), an end that is a value too far costs little, and one that is too near loses a value.
MOST_STEP = Fraction(1, 2)

#: Of what a column gets, this part goes to its magnitudes, the rest to choices: of a pure epsilon, and of rho, in which
#: choices are cheaper.
MAGNITUDES = Fraction(3, 4)
MAGNITUDES_RHO = Fraction(1, 3)

#: A choice whose epsilon times the rows that were seen is less than this is not listened to: the ends stay wide.
EVIDENCE = 100

#: The farthest candidate is disliked no more than if this share of the rows lay beyond the nearest.
MOST_DISLIKE = Fraction(1, 40)

#: After the last choice an end moves out by this over the weight of all rows, as a part of the width, and no more than
#: a quarter: a choice of that weight is wrong by some such share of the rows.
MARGIN = 30
MOST_MARGIN = Fraction(1, 4)

#: Cuts of a range in one choice.
MOST_BINS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class EndSearch:
    """The ends of one column that are wanted, and where they must lie: `low` and `high` once something is known.

    `codes` is what each end is judged by. `noisy_rows`: about how many rows were seen; `is_known`: whether any were;
    `is_settled`: whether its ends stay where they are, and no more is spent on them.
    """

    column: NumberColumn | MomentColumn
    missing_ends: tuple[End, ...]
    codes: Mapping[End, Code]
    low: int | None = None
    high: int | None = None
    noisy_rows: int | None = None
    is_known: bool = True
    is_settled: bool = False

    def candidates(self, end: End) -> list[int]:
        """Codes to choose from, from the nearest to the farthest."""
        if self.low is None or self.high is None:
            return self._powers(end)
        size = self.high - self.low + 1
        # Cut evenly, so that an engine finds a cell by one division, within 62 bits.
        bins = min(size, MOST_BINS, max(64, 2**61 // size))
        edges = [self.low + place * size // bins for place in range(bins + 1)]
        return [edge - 1 for edge in edges[1:]] if end == "high" else edges[-2::-1]

    def _powers(self, end: End) -> list[int]:
        """Away from the other end where that is declared, else from 0, by powers of two."""
        origin = self._origin(end)
        steps = [0, *(2**power for power in range(62))]
        if end == "high":
            last = last_code(self.column)
            return [*(origin + step for step in steps if origin + step < last), last]
        first = first_code(self.column)
        return [*(origin - step for step in steps if origin - step > first), first]

    def _origin(self, end: End) -> int:
        declared = self.column.low if end == "high" else self.column.high
        return 0 if declared is None else declared

    def axis(self, end: End) -> Axis:
        """A bin for each candidate, in the order of the codes; the farthest one's holds all that lies beyond."""
        assert self.low is not None and self.high is not None
        candidates = self.candidates(end)
        edges = [*sorted(candidates), self.high + 1] if end == "low" else [self.low, *(code + 1 for code in candidates)]
        return Axis(of=self._inside(end), edges=tuple(edges), null=False, labels=())

    def magnitudes(self) -> list[Magnitudes]:
        """The histograms of the first stage: one for both ends where they are judged by the same codes."""
        groups: list[tuple[End, ...]] = [(end,) for end in self.missing_ends]
        if len(groups) == 2 and self.codes["low"] == self.codes["high"]:
            groups = [("low", "high")]
        return [
            Magnitudes(
                code=self.codes[ends[0]],
                origin=self._origin(ends[0]),
                lows=tuple(self._powers("low")) if "low" in ends else (),
                highs=tuple(self._powers("high")) if "high" in ends else (),
                unit=max(1, round(1 / self.column.step)) if isinstance(self.column, NumberColumn) else 1,
                is_half=len(groups) == 2,
            )
            for ends in groups
        ]

    def seen(self, noisy_lines: Sequence[Sequence[int]], laws: Sequence[Law], *, choice_epsilon: Fraction) -> EndSearch:
        """The search after its first stage: every magnitude that holds rows lies within its ends."""
        ends = [own.seen(line, law) for own, line, law in zip(self.magnitudes(), noisy_lines, laws, strict=True)]
        low = self.column.low if self.column.low is not None else min(each.low for each in ends)
        high = self.column.high if self.column.high is not None else max(each.high for each in ends)
        rows, is_known = max(each.rows for each in ends), all(each.is_known for each in ends)
        low, high = min(low, high), max(low, high)
        is_settled = high - low < FEW or not is_known or choice_epsilon * rows < EVIDENCE
        return replace(self, low=low, high=high, noisy_rows=rows, is_known=is_known, is_settled=is_settled)

    def _inside(self, end: End) -> Number:
        """The codes, moved to the ends of where is looked; NULL stays NULL, which least and greatest would not."""
        code = self.codes[end]
        assert self.low is not None and self.high is not None
        below, above = ValueSet.interval(None, self.low), ValueSet.interval(self.high + 1, None)
        cases = ((Member(code.column, below), Whole(self.low)), (Member(code.column, above), Whole(self.high)))
        return Case(cases, code)

    def mechanism(self, end: End, *, epsilon: Fraction, rows: int) -> RankChoice:
        """The choice of one end."""
        size = len(self.candidates(end))
        dislike = Fraction(DISLIKE)
        if self.noisy_rows is not None:
            dislike = min(dislike, epsilon * self.noisy_rows * MOST_DISLIKE)
        step = min(MOST_STEP, dislike / size)
        return RankChoice(
            dislikes=tuple(step * place for place in range(size)),
            fraction=BEYOND,
            spare=0,
            rows=rows,
            epsilon=epsilon,
            descending=end == "low",
        )

    def with_margin(self, *, choice_epsilon: Fraction) -> EndSearch:
        """The search after its last choice: ends moved out as far as choices of this epsilon may be wrong."""
        if self.is_settled or self.noisy_rows is None or self.low is None or self.high is None:
            return self
        part = min(MOST_MARGIN, MARGIN / (choice_epsilon * self.noisy_rows))
        margin = int((self.high - self.low) * part)
        low = self.low - margin if "low" in self.missing_ends else self.low
        high = self.high + margin if "high" in self.missing_ends else self.high
        low = max(low, first_code(self.column), 0 if self.low >= 0 else first_code(self.column))
        return replace(self, low=low, high=min(high, last_code(self.column)))

    @property
    def is_one_value(self) -> bool:
        """Whether both ends are the same: no rows elsewhere, or too few to outweigh the noise."""
        return self.low is not None and self.low == self.high

    def with_distinct_ends(self) -> EndSearch:
        """The search with ends that are never the same: which of the two is the case cannot be known from here."""
        if not self.is_one_value:
            return self
        assert self.low is not None and self.high is not None
        upward = "high" in self.missing_ends and self.high < last_code(self.column)
        return replace(self, high=self.high + 1) if upward else replace(self, low=self.low - 1)

    def narrowed(self, chosen: Mapping[End, int]) -> EndSearch:
        """The search after its next choices, given by bin. Ends that cross, for want of rows, change places."""
        codes = {"low": self.column.low, "high": self.column.high}
        for end, place in chosen.items():
            listed = self.candidates(end)
            codes[end] = listed[place] if end == "high" else listed[-1 - place]
        low, high = codes["low"], codes["high"]
        assert low is not None and high is not None
        return replace(self, low=min(low, high), high=max(low, high))


def make_searches(version: Version, missing_ends: Mapping[str, tuple[End, ...]]) -> tuple[Plan, list[EndSearch]]:
    """What is looked at, and a search for each column."""
    scan = Scan(table=version.table, version=version.number)
    many = version.schema.unit.rows > 1
    end_searches: list[EndSearch] = []
    values: list[tuple[str, Inner]] = []
    for name, ends in missing_ends.items():
        column = version.schema.column(name)
        assert isinstance(column, NumberColumn | MomentColumn)
        code = Code(column.name, column.low, column.high, null=True)
        codes: dict[End, Code] = {}
        for end in ends:
            inner: Inner = PersonMinimum(of=code) if end == "low" else PersonMaximum(of=code)
            own = Code(f"p.{len(values)}", column.low, column.high, null=True)
            codes[end] = own if many else code
            values.append((own.column, inner))
        end_searches.append(EndSearch(column=column, missing_ends=ends, codes=codes))
    return PerPerson(source=scan, keys=(), values=tuple(values)) if many else scan, end_searches


def magnitudes_price(
    version: Version, plan: Plan, end_searches: Sequence[EndSearch], *, epsilon: Fraction, gaussian: bool = False
) -> Price:
    """The histograms of magnitudes of all columns, priced; `epsilon` is what one column gets.

    Guarantee: the event loses at most epsilon for each column, or rho = epsilon^2 / 2 where it is `gaussian`.
    Because: a row of the plan lies in one cell of each histogram, and so a unit moves it as `sensitivity` says; where a
        column has two histograms, each has half of its epsilon, or of its rho.
    """
    reached = reach(plan, {version.table: version.schema})
    lines = [(search, own.axis()) for search in end_searches for own in search.magnitudes()]
    inquiry = Inquiry(plan=plan, sets=tuple((axis,) for _, axis in lines), statistics=(RowCount(),))
    steps = []
    for place, (search, axis) in enumerate(lines):
        moves = sensitivity(RowCount(), reached, touched=cells_touched([axis.of], reached, groups=axis.size))
        part = Fraction(1, len(search.magnitudes()))
        law: Law = (
            DiscreteGaussian(sigma2=moves.l2_squared / (epsilon**2 * part))
            if gaussian
            else DiscreteLaplace(scale=moves.l1 / (epsilon * part))
        )
        cells = Cells(plan=plan, axes=(axis,), statistics=(RowCount(),))
        steps.append(
            Measure(
                place=inquiry.order.sets[place],
                statistics=(0,),
                cells=cells,
                moves=(moves,),
                laws=(law,),
                shares=(part / len(end_searches),),
            )
        )
    return Price(inquiry=inquiry, reach=reached, epsilon=epsilon * len(end_searches), steps=tuple(steps))


def after_magnitudes(
    end_searches: Sequence[EndSearch], measured: Measurement, *, choice_epsilon: Fraction
) -> list[EndSearch]:
    """The searches as their first stage left them; `choice_epsilon`: what each choice will have."""
    parts = iter(measured.parts)
    later = []
    for search in end_searches:
        own = [next(parts) for _ in search.magnitudes()]
        cells = [part for part in own if isinstance(part, NoisyCells)]
        lines, laws = [part.noisy_values[0] for part in cells], [part.laws[0] for part in cells]
        later.append(search.seen(lines, laws, choice_epsilon=choice_epsilon))
    return later


def choices_price(version: Version, plan: Plan, end_searches: Sequence[EndSearch], *, epsilon: Fraction) -> Price:
    """The next choice of every end that is not settled, priced; `epsilon` is what each choice has."""
    reached = reach(plan, {version.table: version.schema})
    steps = [step for search in end_searches for step in _steps(plan, search, reached, epsilon=epsilon)]
    numbered = tuple(replace(step, quantile=place) for place, step in enumerate(steps))
    return Price(
        inquiry=Inquiry(
            plan=plan,
            sets=((),),
            statistics=(),
            quantiles=tuple(
                TailBin.by(step.mechanism, axis=step.cells.axes[-1], turn=step.quantile) for step in numbered
            ),
        ),
        reach=reached,
        epsilon=epsilon * len(steps),
        steps=numbered,
    )


def _steps(plan: Plan, search: EndSearch, reached: UnitReach, *, epsilon: Fraction) -> list[ChooseBin]:
    if search.is_settled:
        return []
    return [
        ChooseBin(
            place=0,
            quantile=0,
            cells=Cells(plan=plan, axes=(search.axis(end),), statistics=(RowCount(),)),
            mechanism=search.mechanism(end, epsilon=epsilon, rows=reached.rows),
            share=Fraction(1, len(search.missing_ends)),
        )
        for end in search.missing_ends
    ]


def after_choices(
    end_searches: Sequence[EndSearch], measured: Measurement, *, choice_epsilon: Fraction, is_last: bool
) -> list[EndSearch]:
    """The searches as a stage of choices left them."""
    bins = [part.noisy_bins[0][1] for part in measured.parts if isinstance(part, ChosenBins)]
    later = []
    for search in end_searches:
        if search.is_settled:
            later.append(search)
            continue
        chosen, bins = dict(zip(search.missing_ends, bins, strict=False)), bins[len(search.missing_ends) :]
        narrowed = search.narrowed(chosen)
        later.append(narrowed.with_margin(choice_epsilon=choice_epsilon) if is_last else narrowed)
    return later


def choice_epsilon_of(share: Fraction, search: EndSearch) -> Fraction:
    """What each choice of a column has, where `share` is the pure epsilon that the column gets for everything."""
    return share * (1 - MAGNITUDES) / ((STAGES - 1) * len(search.missing_ends))


def rows_for_bounds(share: Fraction, search: EndSearch) -> int:
    """From about so many rows, or persons, on these bounds can be relied on, for this pure epsilon a column."""
    return rows_to_rely_on(DiscreteLaplace(scale=len(search.magnitudes()) / (share * MAGNITUDES)))


def stage_price(version: Version, plan: Plan, end_searches: Sequence[EndSearch], *, share: Fraction) -> Price:
    """The next stage of every search that is not settled, priced; `share`: a column's pure epsilon for all stages."""
    if end_searches[0].low is None:
        return magnitudes_price(version, plan, end_searches, epsilon=share * MAGNITUDES)
    return _join_prices(
        [choices_price(version, plan, [search], epsilon=choice_epsilon_of(share, search)) for search in end_searches]
    )


def _join_prices(prices: Sequence[Price]) -> Price:
    """Choices of several columns as one price: their choices are numbered through, in this order."""
    steps = [step for price in prices for step in price.steps if isinstance(step, ChooseBin)]
    numbered = tuple(replace(step, quantile=place) for place, step in enumerate(steps))
    turns = [TailBin.by(step.mechanism, axis=step.cells.axes[-1], turn=step.quantile) for step in numbered]
    inquiry = replace(prices[0].inquiry, quantiles=tuple(turns))
    return replace(
        prices[0], inquiry=inquiry, epsilon=sum((price.epsilon for price in prices), Fraction(0)), steps=numbered
    )


def stage_event(
    version: Version, plan: Plan, end_searches: Sequence[EndSearch], *, share: Fraction, stage: int
) -> Event:
    """What a stage costs at most: less where what was found before settles a column."""
    if stage and end_searches[0].low is None:
        end_searches = [replace(search, low=0, high=1) for search in end_searches]
    return stage_price(version, plan, end_searches, share=share).event


def after_stage(
    end_searches: Sequence[EndSearch], measured: Measurement, *, share: Fraction, stage: int
) -> list[EndSearch]:
    """The searches as a stage left them."""
    parts, later = list(measured.parts), []
    for search in end_searches:
        size = len(search.missing_ends) * (not search.is_settled) if stage else len(search.magnitudes())
        own, parts = replace(measured, parts=tuple(parts[:size])), parts[size:]
        epsilon = choice_epsilon_of(share, search)
        later += (
            after_choices([search], own, choice_epsilon=epsilon, is_last=stage == STAGES - 1)
            if stage
            else after_magnitudes([search], own, choice_epsilon=epsilon)
        )
    return later
