"""Work: how long one privacy unit can keep an engine busy, from the plan and public facts alone.

How long a question runs is seen by whoever asks it: on the time grid of a console, and by a deadline. A question that
does much work for one unit and little for the others would show whether that unit is there, at any epsilon. So a
question is refused where one unit could add more work than a small part of a tick. The refusal looks at the plan, the
declared limits and the public tables, never at rows: it is the same on an empty copy, on every engine, and free.

Guarantee: let D and D' differ by one unit. An engine that evaluates each operator of the question's SQL at most once
    for each row of the SELECT that names it, and takes no longer for one operator than the constants below say, takes
    at most `unit_work` nanoseconds of processor time more on D than on D'.
Because: a unit owns at most `reach.rows` rows of each relation (plan/query_sensitivity), whatever WHERE keeps of them,
    and every expression of a SELECT is evaluated on rows of that SELECT: those after its joins, at the most. No join
    makes the bound on rows smaller, so that at the top of a block bounds those at each of its nodes. A text has at most
    MOST_TEXT characters. A public table is read or hashed at most once for each join of each step. Steps run one
    after the other. The rest is a sum.

The constants are measured on DuckDB and PostgreSQL by benchmarks/bench_work.py; each is the slower engine's, rounded
up. (A job of Spark takes seconds, in which so little is not seen.) What one unit changes in others' work (a page that
is read or skipped, caches, memory) is not in it: SECURITY.md names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from discreet.errors import Refused
from discreet.plan import like_pattern
from discreet.plan.cell_statistics import DistinctCount, Inner, PersonCount, PersonMean, RowCount, Statistic, Sum
from discreet.plan.cells import Axis
from discreet.plan.expression_facts import LITERALS
from discreet.plan.expressions import (
    Code,
    Expression,
    Length,
    Like,
    Lower,
    Member,
    Over,
    Predicate,
    Substr,
    TextCode,
    Trim,
    Upper,
    Words,
    children,
    leaves,
)
from discreet.plan.inquiry import Inquiry
from discreet.plan.predicate import TRUE
from discreet.plan.query_sensitivity import reach
from discreet.plan.relation import Filter, JoinPerson, JoinPublic, LimitGroups, PerPerson, Plan, Scan
from discreet.schema.column import MOST_TEXT
from discreet.schema.schema import Schema

#: What one unit may add to the work of a question: two fifths of a console's tick of 250 ms.
MOST_WORK_NS = 100_000_000

#: An operator on one row among many, and on a row that is alone in its batch: an engine that works on batches of rows
#: begins each batch anew. So many rows of a unit are taken to lie in batches of their own; further ones share them.
ROW_NS = 50
ALONE_NS = 1_000
MOST_ALONE = 1_000

#: One character of a text, where it is searched or copied, and where its letters are changed by a table.
CHARACTER_NS = 5
LETTER_NS = 1_000

#: What the first row costs: to make room for an operator's results, for groups, for values of one count(DISTINCT …).
FIRST_NS = 40_000
GROUPS_NS = 1_000_000
DISTINCT_NS = 3_000_000

#: A row of a public table that is read, or entered into a hash table.
PUBLIC_NS = 1_000

#: Operators' worth of work: to match a row in a join, to remember a value of count(DISTINCT …), to bring out a group.
_MATCH = 5
_REMEMBER = 10
_GROUP = 10
#: How often a text is copied, hashed and compared where a row is given its place among a person's rows.
_COPIES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class RowWork:
    """Work on one row: operators, values that are copied, characters that are searched, letters that are changed.

    On the first row alone: rooms made for groups, and for the values of a count(DISTINCT …).
    """

    operators: int = 0
    copied: int = 0
    characters: int = 0
    letters: int = 0
    groups: int = 0
    distincts: int = 0

    def __add__(self, other: RowWork) -> RowWork:
        return RowWork(
            operators=self.operators + other.operators,
            copied=self.copied + other.copied,
            characters=self.characters + other.characters,
            letters=self.letters + other.letters,
            groups=self.groups + other.groups,
            distincts=self.distincts + other.distincts,
        )

    def times(self, number: int) -> RowWork:
        """The same, so many times over on each row."""
        return sum([self] * number, RowWork())

    def on(self, rows: int) -> int:
        """Nanoseconds on so many rows."""
        handled = self.operators + self.copied
        row = handled * ROW_NS + self.characters * CHARACTER_NS + self.letters * LETTER_NS
        alone = min(rows, MOST_ALONE) * handled * ALONE_NS
        first = self.operators * FIRST_NS + self.groups * GROUPS_NS + self.distincts * DISTINCT_NS
        return rows * row + alone + first


#: To bring out a row's group, and to make room for groups.
_GROUPED = RowWork(operators=_GROUP, groups=1)

#: To bring a row to its place among a person's rows: it is sorted in, and compared with some twenty others.
_PLACED = RowWork(operators=2, characters=400, groups=1)

#: To count the keys of a person, and to find their weight among some eighty.
_WEIGHED = RowWork(operators=_GROUP, characters=1_000, groups=2)


def total_work(parts: Iterable[RowWork]) -> RowWork:
    """All of them together."""
    return sum(parts, RowWork())


def expression_work(expression: Expression) -> RowWork:
    """The work of one evaluation.

    `size` counts operators as the SQL has them, an operand that is written twice twice over.
    """
    return RowWork(operators=expression.size) + _inside(expression)


def _inside(node: Expression) -> RowWork:
    """What `size` leaves out: the characters of texts, and the conditions of CASE in full."""
    inner_work = _text_work(node)
    for part in children(node):
        inner_work += predicate_work(part) if isinstance(part, Predicate) else _inside(part)
    return inner_work.times(node.copies) if isinstance(node, Over) else inner_work


def _text_work(node: Expression) -> RowWork:
    """What one operator does with the characters of its text: a pattern is tried at each of them."""
    match node:
        case Lower() | Upper():
            return RowWork(letters=MOST_TEXT)
        case Like(pattern=written):
            parts = like_pattern.wildcard_runs(like_pattern.tokens(written, escape="\\") or [])
            return RowWork(characters=MOST_TEXT * (1 + max(len(part) for part in parts)))
        case Trim(characters=characters):
            return RowWork(characters=MOST_TEXT * (1 + len(characters)))
        case TextCode() | Substr() | Length():
            return RowWork(characters=MOST_TEXT)
        case _:
            return RowWork()


def predicate_work(predicate: Predicate) -> RowWork:
    """The work of deciding a condition: its SQL names what it tests once for each run of values, and once for NULL.

    Single values stand in one list.
    """
    condition_work = RowWork()
    for leaf in leaves(predicate):
        points = sum(_is_point(low, high) for low, high in leaf.allowed.runs)
        named = max(1, len(leaf.allowed.runs) - points + (points > 0) + leaf.allowed.null)
        of = RowWork(operators=1) if isinstance(leaf, Member) else expression_work(leaf.of)
        condition_work += of.times(named) + RowWork(operators=named + points // LITERALS)
    return condition_work


def _is_point(low: object, high: object) -> bool:
    return high == low + 1 if isinstance(low, int) else isinstance(low, str) and high == low + "\0"


def _axis_work(axis: Axis) -> RowWork:
    """A key is tested for its bounds, and its cell is computed, or searched among the edges."""
    search = len(axis.edges).bit_length()
    return expression_work(axis.of).times(4 + search) + RowWork(operators=6 + search)


def _statistic_work(statistic: Statistic | Inner, others: int) -> RowWork:
    """The work of counting one row in. With a FILTER, or DISTINCT, an engine copies the row of all `others`."""
    copied = isinstance(statistic, DistinctCount | PersonCount) or statistic.where != TRUE
    filter_work = predicate_work(statistic.where) + RowWork(operators=2, copied=others if copied else 0)
    match statistic:
        case RowCount():
            return filter_work
        case PersonCount():
            return filter_work + RowWork(operators=_REMEMBER, distincts=1)
        case DistinctCount(of=of):
            text = MOST_TEXT if isinstance(of, Words) else 0
            return filter_work + expression_work(of) + RowWork(operators=_REMEMBER, characters=text, distincts=1)
        case Sum(of=of) | PersonMean(of=of):
            return filter_work + expression_work(of).times(2)
        case _:
            return filter_work + expression_work(statistic.of)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """A SELECT, as far as its WHERE: `row` is done on each of its rows, `below_ns` before there are any."""

    row: RowWork
    below_ns: int


def _block(plan: Plan, schemas: Mapping[str, Schema]) -> _Block:
    match plan:
        case Scan():
            return _Block(row=RowWork(operators=1), below_ns=0)
        case Filter(source=source, where=where):
            inner = _block(source, schemas)
            return _Block(row=inner.row + predicate_work(where), below_ns=inner.below_ns)
        case JoinPublic(source=source, on=on, size=size):
            inner = _block(source, schemas)
            keys = total_work(expression_work(left) for left, _ in on)
            row = inner.row + keys.times(2) + RowWork(operators=_MATCH)
            return _Block(row=row, below_ns=inner.below_ns + size * PUBLIC_NS)
        case JoinPerson(source=source, other=other, columns=columns):
            inner = _block(source, schemas)
            theirs = _block(other, schemas)
            picked = theirs.row + total_work(expression_work(of) for _, of in columns)
            below = inner.below_ns + theirs.below_ns + picked.on(reach(other, schemas).rows)
            # What is computed there may be computed after the join, on each row; a stored column is only brought along.
            computed = [of for _, of in columns if not isinstance(of, Code | TextCode)]
            made = theirs.row + total_work(expression_work(of) for of in computed)
            return _Block(row=inner.row + made + RowWork(operators=2 * _MATCH), below_ns=below)
        case PerPerson(source=source, keys=keys, values=values):
            inner = _block(source, schemas)
            row = inner.row + total_work(expression_work(of) for _, of in keys) + _GROUPED
            row += total_work(_statistic_work(value, len(values)) for _, value in values)
            return _Block(row=RowWork(operators=1), below_ns=inner.below_ns + row.on(reach(source, schemas).rows))
        case LimitGroups(source=source):
            inner = _block(source, schemas)
            row = inner.row + _limit_work(plan)
            return _Block(row=RowWork(operators=1), below_ns=inner.below_ns + row.on(reach(source, schemas).rows))
        case _:
            assert_never(plan)


def _limit_work(plan: LimitGroups) -> RowWork:
    """Of one row: its group, a hash of that and one of the row, and its places among the person's groups and rows.

    A column may be a text: it is copied and hashed, and compared where rows are equal or sorted. Where rows are sorted
    those of a person lie together.
    """
    row = total_work(_axis_work(axis) for axis in plan.axes) + total_work(expression_work(key) for key in plan.keys)
    row += RowWork(operators=_MATCH)
    if plan.groups is not None:
        row += _hash_work(len(plan.axes) + len(plan.keys)) + _PLACED
        row += RowWork(characters=_COPIES * MOST_TEXT).times(len(plan.keys))
    if plan.rows is not None:
        row += _PLACED + (_hash_work(1 + len(plan.columns)) + _PLACED if plan.columns else RowWork())
        row += RowWork(characters=_COPIES * MOST_TEXT).times(len(plan.columns))
    return row


def _hash_work(parts: int) -> RowWork:
    """To write the parts of a hash one after another, and to hash them."""
    return RowWork(operators=5 + 3 * parts)


def unit_work(inquiry: Inquiry, schemas: Mapping[str, Schema]) -> int:
    """The most nanoseconds of processor time that one unit can add to a question."""
    rows = reach(inquiry.plan, schemas).rows
    block = _block(inquiry.plan, schemas)
    keys = total_work(expression_work(key) for key in inquiry.keys)
    key_match = keys.times(2) + RowWork(operators=_MATCH if inquiry.keys else 0)
    discovery = keys + _GROUPED + RowWork(operators=_GROUP, distincts=1) + (_WEIGHED if rows > 1 else RowWork())
    steps: list[RowWork] = [discovery] if inquiry.keys else []
    for axes in inquiry.sets:
        groups = key_match + total_work(_axis_work(axis) for axis in axes)
        groups += _GROUPED if axes or inquiry.keys else RowWork(groups=1)
        if inquiry.statistics:
            steps.append(groups + _statistics_work(inquiry.statistics))
        steps += [
            groups + _axis_work(quantile.axis) + _statistics_work([RowCount(where=quantile.where)])
            for quantile in inquiry.quantiles
        ]
    return sum(block.below_ns + (block.row + step).on(rows) for step in steps)


def _statistics_work(statistics: Sequence[Statistic]) -> RowWork:
    return total_work(_statistic_work(statistic, len(statistics)) for statistic in statistics)


def check_work(inquiry: Inquiry, schemas: Mapping[str, Schema]) -> None:
    """Refuse a question to which one unit could add so much work that its running time tells of that unit."""
    work = unit_work(inquiry, schemas)
    if work <= MOST_WORK_NS:
        return
    plan = inquiry.plan
    unit = "row" if next(iter(schemas.values())).unit.is_row else "person"
    rows = reach(plan, schemas).rows
    raise Refused(
        f"one {unit} could add {_shown(work)} of computing to this query ({rows:,} row{'s' * (rows != 1)}); the "
        f"limit is {_shown(MOST_WORK_NS)}, because the running time would reveal who is in the table",
        hint=_hint_for_less_work(plan, schemas),
    )


def _hint_for_less_work(plan: Plan, schemas: Mapping[str, Schema]) -> str:
    """What makes the work of one unit smaller, by what makes it large."""
    node, widest, hint = plan, 1, "use fewer or simpler expressions, split the query, or lower rows_per_person"
    while not isinstance(node, Scan):
        if isinstance(node, JoinPublic) and 2 * node.size * PUBLIC_NS > MOST_WORK_NS:
            return (
                f"{node.table!r} has {node.size:,} rows; join only those you need: "
                f"JOIN (SELECT … FROM {node.table} WHERE …)"
            )
        below = reach(node.source, schemas).rows
        grown = reach(node, schemas).rows // max(1, below)
        if isinstance(node, JoinPublic | JoinPerson) and grown > widest:
            widest = grown
            hint = (
                f"one row joins up to {node.fan_out:,} rows of {node.table!r}: join on a column with unique values, "
                "or reduce the table to one row per value"
                if isinstance(node, JoinPublic)
                else "group by person before you join: JOIN (SELECT person, count(*) … GROUP BY person)"
            )
        node = node.source
    return hint


def _shown(nanoseconds: int) -> str:
    seconds = nanoseconds / 10**9 if nanoseconds < 10**18 else nanoseconds // 10**9
    return f"{seconds:,.1f} s" if nanoseconds >= 10**9 else f"{nanoseconds // 10**6} ms"
