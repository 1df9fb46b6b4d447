"""A question, rehearsed: asked a few times of made-up rows, beside what plain SQL says of the same rows.

The whole error of a number is what it is less what plain SQL says, and is the sum of three parts:

    clamping     what the declaration changes: bounds, lists of values, missing ones      plain SQL -> declared rows
    truncation   rows of a person beyond rows_per_person, which are left out              -> the rows that count
    noise        another one with every draw                                              -> the answer
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.answers.query_quote import QueryQuote, QueryWish, cost_of, quote, quote_with_law
from discreet.answers.refine import AnswerReading
from discreet.answers.wished_precision import WishedPrecision, precision_of
from discreet.engines.engine import EngineFailure
from discreet.errors import UsageError
from discreet.kernel.curator import Version
from discreet.kernel.measurement import Measurement
from discreet.project.budget import declared_limit
from discreet.project.question import wish_of
from discreet.rehearse.plain_sql import plain_rows
from discreet.rehearse.rehearsal_rows import declared_tables, make_rows, narrow_tables
from discreet.rehearse.rehearsal_world import EMPTY_LEDGER, RehearsalWorld, world_of
from discreet.rehearse.rehearsed_purchase import buy_in_world
from discreet.rehearse.row_sources import RowSource, find_row_sources
from discreet.release import Cell, Spending
from discreet.sql.parsed_query import OutputColumn, ParsedQuery
from discreet.sql.query_parser import parse_query

if TYPE_CHECKING:
    from discreet.project.project import Project

#: So often a question is asked: enough to see that it is chance.
DRAWS = 5

Key = tuple[Cell, ...]
#: A group: its keys, and which of those with the same keys it is, for sums over groups may look alike.
Group = tuple[Key, int]

#: Numbers that differ by less than such a part are the same: the dust of binary fractions.
_DUST = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedNumber:
    """One number of a rehearsed answer. None: not known, such as the average of nobody, or no number at all.

    plain: by plain SQL on the rows as they are. whole: on declared rows. kept: on those that count. draws: with noise.
    """

    plain: float | None
    whole: float | None
    kept: float | None
    draws: tuple[float | None, ...]

    @property
    def clamping(self) -> float | None:
        """What the declaration changes."""
        return _difference(self.whole, self.plain)

    @property
    def truncation(self) -> float | None:
        """What is missing of persons with many rows."""
        return _difference(self.kept, self.whole)

    def noise(self, draw: int = 0) -> float | None:
        """What one draw added."""
        return _difference(self.draws[draw], self.kept)

    def error(self, draw: int = 0) -> float | None:
        """How wrong one draw is in all."""
        return _difference(self.draws[draw], self.plain)

    def to_data(self) -> dict[str, Any]:
        return {
            "plain": self.plain,
            "clamping": self.clamping,
            "truncation": self.truncation,
            "noise": [self.noise(draw) for draw in range(len(self.draws))],
            "error": [self.error(draw) for draw in range(len(self.draws))],
            "noisy": list(self.draws),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """A rehearsed answer. It cost nothing, and says nothing about anybody.

    keys, numbers: of each group; `names` and `columns` say what they are. `on`: what it ran on, in words. cost: what
    the question would cost. beyond: how many groups plain SQL has that a private answer has not.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    keys: tuple[Key, ...]
    numbers: tuple[tuple[RehearsedNumber, ...], ...]
    on: str
    rows: Mapping[str, int]
    learned: tuple[str, ...]
    cost: Spending
    notes: tuple[str, ...]
    beyond: int | None

    def sizes(self, column: int) -> dict[str, float | None]:
        """How large the error of a column and its parts are: the root of the mean square, over groups and draws."""
        cells = [row[column] for row in self.numbers]
        draws = range(DRAWS)
        return {
            "error": _root_mean_square([cell.error(draw) for cell in cells for draw in draws]),
            "clamping": _root_mean_square([cell.clamping for cell in cells]),
            "truncation": _root_mean_square([cell.truncation for cell in cells]),
            "noise": _root_mean_square([cell.noise(draw) for cell in cells for draw in draws]),
        }

    def to_data(self, most: int = 200) -> dict[str, Any]:
        """The rehearsal as JSON data; of many groups the first."""
        return {
            "keys": list(self.names),
            "columns": [{"name": name, "size": self.sizes(place)} for place, name in enumerate(self.columns)],
            "rows": [
                {"keys": list(key), "numbers": [number.to_data() for number in row]}
                for key, row in list(zip(self.keys, self.numbers, strict=True))[:most]
            ],
            "groups": len(self.keys),
            "draws": DRAWS,
            "on": self.on,
            "made_up": dict(self.rows),
            "learned_from": list(self.learned),
            "would_cost": self.cost.to_data(up=True),
            "beyond": self.beyond,
            "notes": list(self.notes),
        }


def rehearse(
    project: Project,
    text: str,
    *,
    epsilon: object = None,
    within: object = None,
    confidence: object = "0.95",
    delta: object = None,
    rows: int | None = None,
    gaussian: bool | None = None,
) -> Rehearsal:
    """Run a question on rows that are made up, free, and say how wrong its answer is and why.

    `rows`: how many a table has, as the owner or analyst guesses; the real number is never looked at. `gaussian`: which
    noise, where explain has said; else as on an untouched budget.

    Guarantee: nothing private is read, and nothing is charged.
    Because: rows are made from declarations, public tables and releases; the question runs in a folder of its own,
        under a ledger that is empty and takes nothing.
    """
    if within is not None and epsilon is None:
        return rehearse_wish(project, text, precision_of(within, confidence=confidence), rows=rows, gaussian=gaussian)
    return rehearse_wish(project, text, wish_of(epsilon, within, confidence, delta), rows=rows, gaussian=gaussian)


def rehearse_wish(
    project: Project,
    text: str,
    wish: QueryWish | WishedPrecision,
    *,
    rows: int | None = None,
    gaussian: bool | None = None,
) -> Rehearsal:
    """`rehearse`, of an epsilon or of a precision. One that depends on the data is bought as on the real table: the
    steps that it takes, and what they would cost, are those of the made-up rows.
    """
    tables, catalog = declared_tables(project)
    query = parse_query(text, catalog)
    precision = wish if isinstance(wish, WishedPrecision) else None
    takes_steps = precision is not None and not query.inquiry.keys and precision.depends_on_data(query)
    if precision is not None and takes_steps:
        precision.check(query)
        wish = QueryWish(epsilon=Fraction(1, 100), confidence=precision.confidence)
    elif precision is not None:
        wish = QueryWish(within=precision.width, confidence=precision.confidence)
    assert isinstance(wish, QueryWish)
    quoted = _quote_unspent(query, wish, project, gaussian=gaussian)
    row_sources = find_row_sources(project, query)
    needed = narrow_tables(tables, query)
    made = make_rows(query, needed, catalog, row_sources, rows=rows)
    try:
        with world_of(needed, made.private) as world:
            all_rows = {**made.private, **made.public}
            if precision is None or not takes_steps:
                return _compare_answers(query, quoted, world, all_rows, row_sources)
            bought = buy_in_world(query, precision, quoted, world)
            compared = _compare_answers(query, bought.quoted, world, all_rows, row_sources)
            return replace(compared, cost=bought.cost, notes=(bought.note, *compared.notes))
    except EngineFailure:
        raise UsageError("the rehearsal of this query takes too long", hint="fewer rows, or fewer groups") from None


def _quote_unspent(query: ParsedQuery, wish: QueryWish, project: Project, *, gaussian: bool | None) -> QueryQuote:
    """The question's price, as on a budget of which nothing is spent."""
    table, scan = project.table(query.table), query.tables[0]
    version = Version(
        table=scan.table, number=scan.version, population=table.population, schema=query.schemas[scan.table], file=""
    )
    guarantee = declared_limit(table)
    if gaussian is None or guarantee.limits.rho is None:
        return quote(query, wish, version=version, guarantee=guarantee, ledger=EMPTY_LEDGER)
    return quote_with_law(query, wish, version, guarantee, EMPTY_LEDGER, gaussian=gaussian)


def _compare_answers(
    query: ParsedQuery,
    quoted: QueryQuote,
    world: RehearsalWorld,
    rows: Mapping[str, Any],
    row_sources: Mapping[str, RowSource],
) -> Rehearsal:
    """Ask, and set the answers beside each other, group by group."""
    keys = [place for place, output in enumerate(query.outputs) if _is_key(output)]
    shown = [place for place in range(len(query.outputs)) if place not in keys]
    every = replace(query, having=None, order=(), limit=None, offset=0)
    draws = [_groups(every, world.noisy(query, quoted.price), keys) for _ in range(DRAWS)]
    kept = _groups(every, world.exact(query, quoted.price, whole=False), keys)
    whole = _groups(every, world.exact(query, quoted.price, whole=True), keys)
    plain = _plain_groups(query, rows, keys, whole)
    groups = list(dict.fromkeys(group for each in (*draws, kept) for group in each))
    numbers = [
        tuple(
            RehearsedNumber(
                plain=None if plain is None else _number(plain.get(group), place, query.outputs[place]),
                whole=_number(whole.get(group), place, query.outputs[place]),
                kept=_number(kept.get(group), place, query.outputs[place]),
                draws=tuple(_number(draw.get(group), place, None) for draw in draws),
            )
            for place in shown
        )
        for group in groups
    ]
    return Rehearsal(
        names=tuple(query.outputs[place].name for place in keys),
        columns=tuple(query.outputs[place].name for place in shown),
        keys=tuple(key for key, _ in groups),
        numbers=tuple(numbers),
        on=_words(row_sources),
        rows={name: each.num_rows for name, each in world.rows.items()},
        learned=tuple(dict.fromkeys(release for each in row_sources.values() for release in each.releases)),
        cost=cost_of(quoted.price.event),
        notes=tuple(_notes(query, plain, row_sources)),
        beyond=None if plain is None else len(plain.keys() - set(groups)),
    )


def _groups(query: ParsedQuery, measurement: Measurement, keys: Sequence[int]) -> dict[Group, tuple[Cell, ...]]:
    """The rows of a reading by their groups."""
    return _by_group(AnswerReading(query=query, measurement=measurement).rows, keys)


def _by_group(rows: Iterable[tuple[Cell, ...]], keys: Sequence[int]) -> dict[Group, tuple[Cell, ...]]:
    seen: Counter[Key] = Counter()
    by_group = {}
    for row in rows:
        key = tuple(_normalize_key(row[place]) for place in keys)
        by_group[key, seen[key]] = row
        seen[key] += 1
    return by_group


def _plain_groups(
    query: ParsedQuery, rows: Mapping[str, Any], keys: Sequence[int], like: Mapping[Group, Any]
) -> dict[Group, tuple[Cell, ...]] | None:
    """What plain SQL says, by groups; None where its keys are others altogether, as of a column that is cut into bins.

    None, too, where groups look alike: which is which plain SQL does not say.
    """
    answer_rows = plain_rows(query.text, rows)
    if answer_rows is None or any(turn for _, turn in like):
        return None
    groups = _by_group(answer_rows, keys)
    groups_with_rows = [group for group, row in like.items() if None not in group[0] and _has_rows(row, keys)]
    met = [group for group in groups_with_rows if group in groups]
    return groups if 2 * len(met) >= len(groups_with_rows) else None


def _has_rows(row: Sequence[Cell], keys: Sequence[int]) -> bool:
    """Whether there is anything in a group: a number that is not 0."""
    return any(cell for place, cell in enumerate(row) if place not in keys)


def _normalize_key(cell: Cell) -> Cell:
    """One spelling for numbers and days, so that keys of two engines meet."""
    if isinstance(cell, str):
        return cell.removesuffix(" 00:00:00")
    return int(cell) if isinstance(cell, float) and math.isfinite(cell) and cell == int(cell) else cell


def _is_key(output: OutputColumn) -> bool:
    return output.key is not None or output.grouping is not None


def _number(row: Sequence[Cell] | None, place: int, output: OutputColumn | None) -> float | None:
    """A number of a row. A group that is not there has no rows: its counts and sums are 0, where that is asked."""
    if row is None:
        return 0 if output is not None and output.plain is not None else None
    cell = row[place]
    if cell is None and output is not None and output.plain is not None:
        return 0  # in SQL the sum of nothing is NULL
    return cell if isinstance(cell, int | float) and not isinstance(cell, bool) else None


def _difference(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return None
    difference = one - other
    if isinstance(difference, int):
        return difference
    return 0.0 if abs(difference) <= _DUST * max(abs(one), abs(other)) else float(f"{difference:.9g}")


def _root_mean_square(values: Sequence[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return math.sqrt(math.fsum(value * value for value in numbers) / len(numbers)) if numbers else None


def _words(row_sources: Mapping[str, RowSource]) -> str:
    if not row_sources:
        return "rows made up from the declaration only"
    return "; ".join(f"{name}: {each.words}" for name, each in row_sources.items())


def _notes(query: ParsedQuery, plain: object, row_sources: Mapping[str, RowSource]) -> list[str]:
    """What a reader of a rehearsal must not forget."""
    notes = ["the real table may have a different number of rows and a different distribution of values"]
    if plain is None:
        notes.append("plain SQL groups or computes this differently, so only noise and truncation are shown")
    if row_sources:
        notes.append(
            "releases describe the declared table only: they cannot show what bounds and limits change in the real rows"
        )
    if query.having is not None or query.limit is not None or query.order:
        notes.append("all groups are compared: HAVING, ORDER BY and LIMIT are ignored")
    return notes
