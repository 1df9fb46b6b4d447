"""Buying what the owner does not know: rows_per_person, bounds and values, privately, to be written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.accounting.events import Event
from discreet.answers.bounds.bounds_terms import BoundsTerms
from discreet.answers.bounds.end_search import (
    STAGES,
    EndSearch,
    after_stage,
    make_searches,
    rows_for_bounds,
    stage_event,
    stage_price,
)
from discreet.answers.bounds.missing_bounds import ROWS_PER_PERSON, MissingBounds
from discreet.answers.bounds.program_purchase import sorted_words, words_price
from discreet.answers.bounds.round_bounds import round_outward
from discreet.answers.bounds.row_limit import chosen_limit, limit_price
from discreet.answers.bounds.step_purchases import StepPurchases
from discreet.answers.query_quote import spending
from discreet.kernel.curator import Version
from discreet.kernel.measurement import DiscoveredKeys
from discreet.kernel.project_session import Session
from discreet.plan.price import Price
from discreet.release import Spending
from discreet.schema.column import EPOCH, MomentColumn, NumberColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class BoughtBounds:
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

    def toml_settings(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """What discreet.toml gets: settings of the table and of its columns, marked with the epsilon they cost."""
        marks = {name: Fraction(exact.show(share, up=True)) for name, share in self.shares.items()}
        settings = dict(self.settings)
        if ROWS_PER_PERSON in settings:
            settings[f"{ROWS_PER_PERSON}_measured"] = marks[ROWS_PER_PERSON]
        return settings, {
            name: {**column_settings, "measured": marks[name]} for name, column_settings in self.columns.items()
        }


def buy_bounds(missing: MissingBounds, terms: BoundsTerms, session: Session) -> BoughtBounds:
    """Find what is wanted, each for the same share of epsilon.

    Guarantee: the losses of all charges add to terms.epsilon or less, and to terms.delta or less for values; the
        whole is refused before anything is charged where the budget does not hold it.
    Because: each choice gets its part of its share (`limit`, `ends`), values theirs (`price`), and the curator charges
        what each really was.
    """
    version = session.version
    text = f"discreet bounds {version.table}"
    purse = StepPurchases(session=session, text=text)
    purchase = _Purchase(missing=missing, terms=terms, version=version, purse=purse)
    limit = purchase.limit()
    chosen = purchase.ends()
    ends = [search.with_distinct_ends() for search in chosen]
    values = purchase.values()
    standing = session.ledger.account_status(version.population)
    columns = {search.column.name: end_settings(search) for search in ends}
    listed = {name: sorted_words(discovered) for name, discovered in values.items()}
    columns |= {name: {"type": "category", "values": words} for name, words in listed.items() if words}
    return BoughtBounds(
        table=version.table,
        version=version.number,
        settings={} if limit is None else {ROWS_PER_PERSON: limit},
        columns=columns,
        shares=dict.fromkeys([*([] if limit is None else [ROWS_PER_PERSON]), *columns], purchase.share),
        cost=purse.cost,
        spent=spending(standing.spent),
        remaining=spending(standing.remaining),
        releases=tuple(purse.releases),
        warnings=tuple(_warnings(purchase, chosen, values)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Purchase:
    """The steps, in order; each knows what those after it will cost."""

    missing: MissingBounds
    terms: BoundsTerms
    version: Version
    purse: StepPurchases

    @property
    def share(self) -> Fraction:
        return self.terms.epsilon / self.missing.size

    def limit(self) -> int | None:
        if not self.missing.limit:
            return None
        priced_limit = limit_price(
            self.version, epsilon=self.share, cells=self.terms.cells, for_epsilon=self.terms.for_epsilon
        )
        return chosen_limit(self.purse.buy(priced_limit, coming=[*self._ends_events(0), *self._values_events(0)]))

    def ends(self) -> list[EndSearch]:
        if not self.missing.ends:
            return []
        plan, end_searches = make_searches(self.version, self.missing.ends)
        for stage in range(STAGES):
            if all(search.is_settled for search in end_searches):
                break
            coming = [*self._ends_events(stage + 1), *self._values_events(0)]
            measured = self.purse.buy(stage_price(self.version, plan, end_searches, share=self.share), coming=coming)
            end_searches = after_stage(end_searches, measured, share=self.share, stage=stage)
        return end_searches

    def values(self) -> dict[str, DiscoveredKeys]:
        keys_by_column = {}
        for place, name in enumerate(self.missing.values):
            measured = self.purse.buy(self._values_price(name), coming=self._values_events(place + 1))
            (part,) = measured.parts
            assert isinstance(part, DiscoveredKeys)
            keys_by_column[name] = part
        return keys_by_column

    def _ends_events(self, start: int) -> list[Event]:
        """What the stages from this one on will cost."""
        if not self.missing.ends:
            return []
        plan, end_searches = make_searches(self.version, self.missing.ends)
        return [
            stage_event(self.version, plan, end_searches, share=self.share, stage=stage)
            for stage in range(start, STAGES)
        ]

    def _values_events(self, start: int) -> list[Event]:
        return [self._values_price(name).event for name in self.missing.values[start:]]

    def _values_price(self, name: str) -> Price:
        assert self.terms.delta is not None
        delta = self.terms.delta / len(self.missing.values)
        return words_price(self.version, name, epsilon=self.share, delta=delta)


def end_settings(search: EndSearch) -> dict[str, Any]:
    """The ends that were wanted, round, as the file has them."""
    assert search.low is not None and search.high is not None
    ends = dict(zip(("low", "high"), round_outward(search.column, search.low, search.high), strict=True))
    return {end: _value(search.column, ends[end]) for end in search.missing_ends}


def _value(column: NumberColumn | MomentColumn, code: int) -> Any:
    """A bound as TOML has it: a whole number, a decimal one, a date or a timestamp."""
    if isinstance(column, NumberColumn):
        value = code * column.step
        return int(value) if value.denominator == 1 else value
    if column.type == "date":
        return (EPOCH + timedelta(days=code)).date()
    return (EPOCH + timedelta(microseconds=code)).replace(tzinfo=None)


def _warnings(purchase: _Purchase, ends: Sequence[EndSearch], values: Mapping[str, DiscoveredKeys]) -> list[str]:
    warnings = []
    unit = "rows" if purchase.version.schema.unit.is_row else "people"
    if ends:
        needed = rows_for_bounds(purchase.share, ends[0])
        warnings.append(
            f"these bounds are reliable from about {needed:,} {unit} on; with fewer, they come out wide, or too narrow"
        )
    for search in ends:
        if not search.is_known:
            warnings.append(
                f"the bounds of {search.column.name!r} could not be known: noise hides all rows; they are a wide guess"
            )
            continue
        if search.is_one_value:
            warnings.append(
                f"both bounds of {search.column.name!r} came out equal and were set one step apart: this epsilon "
                "may be too small to see the other values"
            )
    return [
        *warnings,
        *(line for name, discovered in values.items() for line in _missing_value_warnings(name, discovered, unit)),
    ]


def _missing_value_warnings(name: str, discovered: DiscoveredKeys, unit: str) -> list[str]:
    """Why values may be missing. The threshold is public: it follows from the price."""
    needed = "" if discovered.threshold is None else f" (about {discovered.threshold:,} are needed)"
    if not sorted_words(discovered):
        return [f"no value of {name!r} is shared by enough {unit} for this epsilon and delta{needed}; it stays text"]
    warnings = []
    if discovered.threshold is not None:
        warnings.append(f"values of {name!r} shared by fewer than about {discovered.threshold:,} {unit} are not shown")
    if discovered.is_truncated:
        warnings.append(f"only the {len(discovered.keys):,} most common of the discovered values of {name!r} are kept")
    return warnings
