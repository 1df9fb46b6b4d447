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
from typing import TYPE_CHECKING, Any

from discreet.answers.quoting import Quote, Wish, cost_of, quote, quoted_with
from discreet.answers.refine import Reading
from discreet.curator import Version
from discreet.engines.engine import EngineFailure
from discreet.errors import UsageError
from discreet.measurement import Measurement
from discreet.question import wish_of
from discreet.rehearse.learned import Learned, learned
from discreet.rehearse.plain import plain_rows
from discreet.rehearse.rows import declared_tables, made_up, narrowed
from discreet.rehearse.world import UNTOUCHED, World, world_of
from discreet.release import Cell, Spending
from discreet.sql.asked import Asked, Output
from discreet.sql.read import read
from discreet.standing import declared

if TYPE_CHECKING:
    from discreet.api import Project

#: So often a question is asked: enough to see that it is chance.
DRAWS = 5

Key = tuple[Cell, ...]
#: A group: its keys, and which of those with the same keys it is, for sums over groups may look alike.
Group = tuple[Key, int]

#: Numbers that differ by less than such a part are the same: the dust of binary fractions.
_DUST = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
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
        return _less(self.whole, self.plain)

    @property
    def truncation(self) -> float | None:
        """What is missing of persons with many rows."""
        return _less(self.kept, self.whole)

    def noise(self, draw: int = 0) -> float | None:
        """What one draw added."""
        return _less(self.draws[draw], self.kept)

    def error(self, draw: int = 0) -> float | None:
        """How wrong one draw is in all."""
        return _less(self.draws[draw], self.plain)

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
    numbers: tuple[tuple[Number, ...], ...]
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
            "error": _size([cell.error(draw) for cell in cells for draw in draws]),
            "clamping": _size([cell.clamping for cell in cells]),
            "truncation": _size([cell.truncation for cell in cells]),
            "noise": _size([cell.noise(draw) for cell in cells for draw in draws]),
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
    wish = wish_of(epsilon, within, confidence, delta)
    tables, catalog = declared_tables(project)
    asked = read(text, catalog)
    quoted = _quoted(asked, wish, project, gaussian=gaussian)
    known = learned(project, asked)
    needed = narrowed(tables, asked)
    made = made_up(asked, needed, catalog, known, rows=rows)
    try:
        with world_of(needed, made.private) as world:
            return _compared(asked, quoted, world, {**made.private, **made.public}, known)
    except EngineFailure:
        raise UsageError("this question cannot be rehearsed in time", hint="fewer rows, or fewer groups") from None


def _quoted(asked: Asked, wish: Wish, project: Project, *, gaussian: bool | None) -> Quote:
    """The question's price, as on a budget of which nothing is spent."""
    table, scan = project.table(asked.table), asked.tables[0]
    version = Version(
        table=scan.table, number=scan.version, population=table.population, schema=asked.schemas[scan.table], file=""
    )
    guarantee = declared(table)
    if gaussian is None or guarantee.limits.rho is None:
        return quote(asked, wish, version=version, guarantee=guarantee, ledger=UNTOUCHED)
    return quoted_with(asked, wish, version, guarantee, UNTOUCHED, gaussian=gaussian, because="")


def _compared(
    asked: Asked, quoted: Quote, world: World, rows: Mapping[str, Any], known: Mapping[str, Learned]
) -> Rehearsal:
    """Ask, and set the answers beside each other, group by group."""
    keys = [place for place, output in enumerate(asked.outputs) if _is_key(output)]
    shown = [place for place in range(len(asked.outputs)) if place not in keys]
    every = replace(asked, having=None, order=(), limit=None, offset=0)
    draws = [_groups(every, world.noisy(asked, quoted.price), keys) for _ in range(DRAWS)]
    kept = _groups(every, world.exact(asked, quoted.price, whole=False), keys)
    whole = _groups(every, world.exact(asked, quoted.price, whole=True), keys)
    plain = _plain(asked, rows, keys, whole)
    groups = list(dict.fromkeys(group for each in (*draws, kept) for group in each))
    numbers = [
        tuple(
            Number(
                plain=None if plain is None else _number(plain.get(group), place, asked.outputs[place]),
                whole=_number(whole.get(group), place, asked.outputs[place]),
                kept=_number(kept.get(group), place, asked.outputs[place]),
                draws=tuple(_number(draw.get(group), place, None) for draw in draws),
            )
            for place in shown
        )
        for group in groups
    ]
    return Rehearsal(
        names=tuple(asked.outputs[place].name for place in keys),
        columns=tuple(asked.outputs[place].name for place in shown),
        keys=tuple(key for key, _ in groups),
        numbers=tuple(numbers),
        on=_words(known),
        rows={name: each.num_rows for name, each in world.rows.items()},
        learned=tuple(dict.fromkeys(release for each in known.values() for release in each.releases)),
        cost=cost_of(quoted.price.event),
        notes=tuple(_notes(asked, plain, known)),
        beyond=None if plain is None else len(plain.keys() - set(groups)),
    )


def _groups(asked: Asked, measurement: Measurement, keys: Sequence[int]) -> dict[Group, tuple[Cell, ...]]:
    """The rows of a reading by their groups."""
    return _grouped(Reading(asked=asked, measurement=measurement).rows, keys)


def _grouped(rows: Iterable[tuple[Cell, ...]], keys: Sequence[int]) -> dict[Group, tuple[Cell, ...]]:
    seen: Counter[Key] = Counter()
    found = {}
    for row in rows:
        key = tuple(_same(row[place]) for place in keys)
        found[key, seen[key]] = row
        seen[key] += 1
    return found


def _plain(
    asked: Asked, rows: Mapping[str, Any], keys: Sequence[int], like: Mapping[Group, Any]
) -> dict[Group, tuple[Cell, ...]] | None:
    """What plain SQL says, by groups; None where its keys are others altogether, as of a column that is cut into bins.

    None, too, where groups look alike: which is which plain SQL does not say.
    """
    found = plain_rows(asked.text, rows)
    if found is None or any(turn for _, turn in like):
        return None
    groups = _grouped(found, keys)
    known = [group for group, row in like.items() if None not in group[0] and _counts(row, keys)]
    met = [group for group in known if group in groups]
    return groups if 2 * len(met) >= len(known) else None


def _counts(row: Sequence[Cell], keys: Sequence[int]) -> bool:
    """Whether there is anything in a group: a number that is not 0."""
    return any(cell for place, cell in enumerate(row) if place not in keys)


def _same(cell: Cell) -> Cell:
    """One spelling for numbers and days, so that keys of two engines meet."""
    if isinstance(cell, str):
        return cell.removesuffix(" 00:00:00")
    return int(cell) if isinstance(cell, float) and math.isfinite(cell) and cell == int(cell) else cell


def _is_key(output: Output) -> bool:
    return output.key is not None or output.grouping is not None


def _number(row: Sequence[Cell] | None, place: int, output: Output | None) -> float | None:
    """A number of a row. A group that is not there has no rows: its counts and sums are 0, where that is asked."""
    if row is None:
        return 0 if output is not None and output.plain is not None else None
    cell = row[place]
    if cell is None and output is not None and output.plain is not None:
        return 0  # in SQL the sum of nothing is NULL
    return cell if isinstance(cell, int | float) and not isinstance(cell, bool) else None


def _less(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return None
    found = one - other
    if isinstance(found, int):
        return found
    return 0.0 if abs(found) <= _DUST * max(abs(one), abs(other)) else float(f"{found:.9g}")


def _size(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.sqrt(math.fsum(value * value for value in known) / len(known)) if known else None


def _words(known: Mapping[str, Learned]) -> str:
    if not known:
        return "rows that are made up from the declaration alone"
    return "; ".join(f"{name}: {each.words}" for name, each in known.items())


def _notes(asked: Asked, plain: object, known: Mapping[str, Learned]) -> list[str]:
    """What a reader of a rehearsal must not forget."""
    told = ["how many rows the real table has, and how its values are spread, may be quite different"]
    if plain is None:
        told.append("plain SQL groups or computes this otherwise, so only noise and truncation can be told")
    if known:
        told.append(
            "releases know declared rows alone: what bounds and limits take from the real ones they cannot tell"
        )
    if asked.having is not None or asked.limit is not None or asked.order:
        told.append("all groups are compared, whatever HAVING, ORDER BY and LIMIT would pick")
    return told
