"""Buying what the owner does not know: rows_per_person, bounds and values, privately, to be written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.accounting.events import Event
from discreet.accounting.guarantee import Guarantee
from discreet.answers.bounds.ends import ENOUGH, STAGES, Search, after_stage, searches, stage_event, stage_price
from discreet.answers.bounds.limit import limit_of, limit_price
from discreet.answers.bounds.purse import Purse
from discreet.answers.bounds.rounding import outward
from discreet.answers.bounds.terms import Terms
from discreet.answers.bounds.wishes import ROWS_PER_PERSON, Wishes
from discreet.answers.quoting import spending
from discreet.curator import Curator, Version
from discreet.measurement import FoundKeys
from discreet.plan.expressions import TextCode
from discreet.plan.inquiry import Inquiry
from discreet.plan.price import Price, price
from discreet.plan.relation import Scan
from discreet.plan.stability import reach
from discreet.release import Spending
from discreet.schema.column import EPOCH, Moment, Number


@dataclass(frozen=True, slots=True, kw_only=True)
class Bought:
    """What was found: settings of the table and of its columns as discreet.toml has them, and their price.

    `shares`: the epsilon that each was measured for.
    """

    table: str
    version: int
    settings: Mapping[str, Any]
    columns: Mapping[str, Mapping[str, Any]]
    shares: Mapping[str, Fraction]
    cost: Spending
    spent: Spending
    remaining: Spending
    releases: tuple[str, ...]
    warnings: tuple[str, ...]

    def written(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """What discreet.toml gets: settings of the table and of its columns, marked with the epsilon they cost."""
        marks = {name: Fraction(exact.show(share, up=True)) for name, share in self.shares.items()}
        settings = dict(self.settings)
        if ROWS_PER_PERSON in settings:
            settings[f"{ROWS_PER_PERSON}_measured"] = marks[ROWS_PER_PERSON]
        return settings, {name: {**told, "measured": marks[name]} for name, told in self.columns.items()}


def buy(wanted: Wishes, terms: Terms, *, version: Version, guarantee: Guarantee, curator: Curator) -> Bought:
    """Find what is wanted, each for the same share of epsilon.

    Guarantee: the losses of all charges add to terms.epsilon or less, and to terms.delta or less for values; the
        whole is refused before anything is charged where the budget does not hold it.
    Because: each choice gets its part of its share (`limit`, `ends`), values theirs (`price`), and the curator charges
        what each really was.
    """
    text = f"discreet bounds {version.table}"
    purse = Purse(curator=curator, version=version, guarantee=guarantee, text=text)
    errand = _Errand(wanted=wanted, terms=terms, version=version, purse=purse)
    limit = errand.limit()
    chosen = errand.ends()
    ends = [search.parted() for search in chosen]
    values = errand.values()
    standing = curator.ledger.standing(version.population)
    columns = {search.column.name: _end_settings(search) for search in ends}
    listed = {name: _words(found) for name, found in values.items()}
    columns |= {name: {"type": "category", "values": words} for name, words in listed.items() if words}
    return Bought(
        table=version.table,
        version=version.number,
        settings={} if limit is None else {ROWS_PER_PERSON: limit},
        columns=columns,
        shares=dict.fromkeys([*([] if limit is None else [ROWS_PER_PERSON]), *columns], errand.share),
        cost=purse.cost,
        spent=spending(standing.spent),
        remaining=spending(standing.remaining),
        releases=tuple(purse.releases),
        warnings=tuple(_warnings(errand, chosen, values)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Errand:
    """The steps, in order; each knows what those after it will cost."""

    wanted: Wishes
    terms: Terms
    version: Version
    purse: Purse

    @property
    def share(self) -> Fraction:
        return self.terms.epsilon / self.wanted.size

    def limit(self) -> int | None:
        if not self.wanted.limit:
            return None
        found = limit_price(
            self.version, epsilon=self.share, cells=self.terms.cells, for_epsilon=self.terms.for_epsilon
        )
        return limit_of(self.purse.buy(found, coming=[*self._ends_events(STAGES), *self._values_events(0)]))

    def ends(self) -> list[Search]:
        if not self.wanted.ends:
            return []
        plan, found = searches(self.version, self.wanted.ends)
        for stage in range(STAGES):
            coming = [*self._ends_events(STAGES - 1 - stage), *self._values_events(0)]
            measured = self.purse.buy(stage_price(self.version, plan, found, share=self.share), coming=coming)
            found = after_stage(found, measured)
        return found

    def values(self) -> dict[str, FoundKeys]:
        found = {}
        for place, name in enumerate(self.wanted.values):
            measured = self.purse.buy(self._values_price(name), coming=self._values_events(place + 1))
            (part,) = measured.parts
            assert isinstance(part, FoundKeys)
            found[name] = part
        return found

    def _ends_events(self, stages: int) -> list[Event]:
        if not self.wanted.ends or not stages:
            return []
        plan, found = searches(self.version, self.wanted.ends)
        return [stage_event(self.version, plan, found, share=self.share)] * stages

    def _values_events(self, start: int) -> list[Event]:
        return [self._values_price(name).event for name in self.wanted.values[start:]]

    def _values_price(self, name: str) -> Price:
        plan = Scan(table=self.version.table, version=self.version.number)
        column = self.version.schema.column(name)
        assert column is not None and self.terms.delta is not None
        return price(
            Inquiry(plan=plan, sets=((),), statistics=(), keys=(TextCode(column.name),)),
            reach(plan, {self.version.table: self.version.schema}),
            needs={},
            epsilon=self.share,
            delta=self.terms.delta / len(self.wanted.values),
        )


def _words(found: FoundKeys) -> list[str]:
    """The values that enough persons share, sorted; NULL is none."""
    return sorted(str(key) for (key,) in found.keys if key is not None)


def _end_settings(search: Search) -> dict[str, Any]:
    """The ends that were wanted, round, as the file has them."""
    assert search.low is not None and search.high is not None
    ends = dict(zip(("low", "high"), outward(search.column, search.low, search.high), strict=True))
    return {end: _value(search.column, ends[end]) for end in search.wanted}


def _value(column: Number | Moment, code: int) -> Any:
    """A bound as TOML has it: a whole number, a decimal one, a date or a timestamp."""
    if isinstance(column, Number):
        value = code * column.step
        return int(value) if value.denominator == 1 else value
    if column.type == "date":
        return (EPOCH + timedelta(days=code)).date()
    return (EPOCH + timedelta(microseconds=code)).replace(tzinfo=None)


def _warnings(errand: _Errand, ends: Sequence[Search], values: Mapping[str, FoundKeys]) -> list[str]:
    told = []
    unit = "rows" if errand.version.schema.unit.is_row else "persons"
    if ends:
        most = max(len(search.wanted) for search in ends)
        needed = ENOUGH * STAGES * most / errand.share
        told.append(
            f"bounds found so are good from about {int(needed):,} {unit} on; with fewer they come out too narrow"
        )
    for search in ends:
        if search.is_one_value:
            told.append(
                f"both bounds of {search.column.name!r} came out equal and were set one step apart: this epsilon "
                "may be too small to see the others"
            )
    return [*told, *(line for name, found in values.items() for line in _hidden(name, found, unit))]


def _hidden(name: str, found: FoundKeys, unit: str) -> list[str]:
    """Why values may be missing. The threshold is public: it follows from the price."""
    needed = "" if found.threshold is None else f", about {found.threshold:,}"
    if not _words(found):
        return [f"no value of {name!r} is shared by enough {unit} for this epsilon and delta{needed}; it stays text"]
    told = []
    if found.threshold is not None:
        told.append(f"values of {name!r} that fewer than about {found.threshold:,} {unit} share do not show")
    if found.cut:
        told.append(f"only the {len(found.keys):,} most common of the values of {name!r} that were found are kept")
    return told
