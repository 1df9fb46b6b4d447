"""low and high: the bounds of numbers, dates and timestamps.

Each end is found in three choices, all by how many rows would be clamped: how large the numbers are, by powers
of two; then, twice, where inside what was found before. The three zoom, so that numbers far from 0 in a narrow
band (years, dates) are found as well as those around 0.

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
from discreet.answers.bounds.round_bounds import first_code, last_code
from discreet.answers.bounds.row_limit import FAR
from discreet.answers.bounds.tail_bin import TailBin
from discreet.kernel.curator import Version
from discreet.kernel.measurement import ChosenBins, Measurement
from discreet.mechanisms.rank_choice import RankChoice
from discreet.plan.cell_statistics import Inner, PersonMaximum, PersonMinimum, RowCount
from discreet.plan.cells import Axis, Cells
from discreet.plan.expressions import Choose as Case
from discreet.plan.expressions import Code, Member, Number, Whole
from discreet.plan.inquiry import Inquiry
from discreet.plan.price import ChooseBin, Price
from discreet.plan.relation import PerPerson, Plan, Scan
from discreet.plan.stability import UnitReach, reach
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

#: In the first stage, how much each power of two is disliked more than the one before it; and all below 0 beside 0:
#: a column that is nowhere negative shall not become so by chance.
OCTAVE = 1
RELUCTANCE = 4

#: With so many rows, or persons, over the epsilon of one choice, few of them come to lie beyond: up to some 8% at
#: both ends of a heavy tail, 2% of an even spread. With a third of them bounds are too narrow.
ENOUGH = 160

#: Cuts of a range in one choice.
MOST_BINS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class EndSearch:
    """The ends of one column that are wanted, and where they must lie: `low` and `high` once something is known.

    `codes` is what each end is judged by.
    """

    column: NumberColumn | MomentColumn
    missing_ends: tuple[End, ...]
    codes: Mapping[End, Code]
    low: int | None = None
    high: int | None = None

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
        declared = self.column.low if end == "high" else self.column.high
        origin = 0 if declared is None else declared
        steps = [0, *(2**power for power in range(62))]
        if end == "high":
            last = last_code(self.column)
            return [*(origin + step for step in steps if origin + step < last), last]
        first = first_code(self.column)
        return [*(origin - step for step in steps if origin - step > first), first]

    def axis(self, end: End) -> Axis:
        """A bin for each candidate, in the order of the codes; the farthest one's holds all that lies beyond."""
        candidates = self.candidates(end)
        if self.low is not None and self.high is not None:
            edges = (
                [*sorted(candidates), self.high + 1] if end == "low" else [self.low, *(code + 1 for code in candidates)]
            )
            return Axis(of=self._inside(end), edges=tuple(edges), null=False, labels=())
        inner = [code + 1 for code in candidates[:-1]] if end == "high" else sorted(candidates[:-1])
        return Axis(of=self.codes[end], edges=(-FAR, *inner, FAR), null=False, labels=())

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
        if self.low is None:
            reluctance = RELUCTANCE if end == "low" and self.column.high is None else 0
            dislikes = [Fraction(0), *(Fraction(reluctance + OCTAVE * place) for place in range(1, size))]
        else:
            dislikes = [min(MOST_STEP, Fraction(DISLIKE, size)) * place for place in range(size)]
        return RankChoice(
            dislikes=tuple(dislikes),
            fraction=BEYOND,
            spare=0,
            rows=rows,
            epsilon=epsilon,
            descending=end == "low",
        )

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


def stage_price(version: Version, plan: Plan, end_searches: Sequence[EndSearch], *, share: Fraction) -> Price:
    """The next choice of every end, priced; `share` is what one column gets for all its choices."""
    reached = reach(plan, {version.table: version.schema})
    steps = [step for search in end_searches for step in _steps(plan, search, reached, share=share)]
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
        epsilon=share / STAGES * len(end_searches),
        steps=numbered,
    )


def _steps(plan: Plan, search: EndSearch, reached: UnitReach, *, share: Fraction) -> list[ChooseBin]:
    epsilon = share / (STAGES * len(search.missing_ends))
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


def stage_event(version: Version, plan: Plan, end_searches: Sequence[EndSearch], *, share: Fraction) -> Event:
    """What any stage costs: the same whatever was found before."""
    return stage_price(version, plan, end_searches, share=share).event


def after_stage(end_searches: Sequence[EndSearch], measured: Measurement) -> list[EndSearch]:
    """The searches as a stage left them."""
    bins = []
    for part in measured.parts:
        assert isinstance(part, ChosenBins)
        bins.append(part.noisy_bins[0][1])
    later = []
    for search in end_searches:
        chosen, bins = dict(zip(search.missing_ends, bins, strict=False)), bins[len(search.missing_ends) :]
        later.append(search.narrowed(chosen))
    return later
