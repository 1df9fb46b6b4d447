"""Caveats: what an answer is not, beside its noise. From the declaration and the question alone, never from data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from discreet.errors import Command, Flag, Message
from discreet.ledger.ledger import Ledger
from discreet.plan.column_reads import columns_named, columns_read, nodes_used
from discreet.plan.expressions import Greatest, Least, walk
from discreet.plan.relation import LimitGroups
from discreet.present.cell_text import NULL
from discreet.schema.column import CategoryColumn, Label, MomentColumn, NumberColumn
from discreet.schema.schema import Schema
from discreet.sql.parsed_query import ParsedQuery

#: On every answer of a practice project.
PRACTICE = "this is a practice project, for generated or public data: its budget can be reset, so it protects nobody"

#: So many columns are named in a sentence.
_NAMED = 8


def caveats(query: ParsedQuery, *, left_out: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """What a reader should know of truncation, clamping and NULL. The noise intervals do not speak of it.

    left_out: what the limit on rows leaves out of a table, where that has been bought.
    """
    read, nulls = columns_read(query.inquiry, query.schemas), columns_named(query.inquiry)
    return [
        *declared_table_caveats(query.schemas, read, nulls=nulls, left_out=left_out),
        *_group_limits(query),
        *_nulls(query),
    ]


def _group_limits(query: ParsedQuery) -> list[str]:
    """What a limit on the groups of a person leaves out."""
    plan = query.inquiry.plan
    if not isinstance(plan, LimitGroups):
        return []
    limits = [] if plan.groups is None else [f"in at most {plan.groups:,} group{'s' * (plan.groups > 1)}"]
    limits += [] if plan.rows is None else [f"with at most {plan.rows:,} row{'s' * (plan.rows > 1)} in each group"]
    return [f"each person counts {', '.join(limits)}; other rows are left out, so groups are too small"]


def declared_table_caveats(
    schemas: Mapping[str, Schema],
    read: Sequence[tuple[str, str]],
    *,
    nulls: Sequence[tuple[str, str]] = (),
    left_out: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """What the numbers describe: the table as it is declared, with the limits that these columns are read under.

    `read`: the columns, as table and name, whose values matter; `nulls`: those of which it matters what is NULL.
    """
    limits = [
        f"at most {f'{schema.unit.rows:,} rows' if schema.unit.rows > 1 else 'one row'} per person"
        + ("" if len(schemas) == 1 else f" of {table}")
        + (f" ({left_out[table]})" if table in left_out else "")
        for table, schema in schemas.items()
        if not schema.unit.is_row
    ]
    places = dict.fromkeys((*read, *nulls))
    bounds = [words for place in places if (words := _limit(schemas, place, by_value=place in read))]
    more = [f"{len(bounds) - _NAMED:,} more columns with bounds or lists of values"] if len(bounds) > _NAMED else []
    parts = [*limits, *bounds[:_NAMED], *more]
    truncated = [
        table
        for table, schema in schemas.items()
        if not schema.unit.is_row and schema.unit.rows > 1 and table not in left_out
    ]
    reports: list[str | Command] = []
    for table in truncated:
        reports += [" and " if reports else "; ", Command("bounds", table, Flag("report", True), Flag("epsilon", 0.1))]
    hint = [*reports, " estimates what that leaves out"] if reports else []
    return [Message(f"numbers and intervals describe the declared table: {', '.join(parts)}", *hint)] if parts else []


def _limit(schemas: Mapping[str, Schema], place: tuple[str, str], *, by_value: bool) -> str:
    """What the declaration does to a column, in a few words; nothing where it is not limited."""
    table, name = place
    column = schemas[table].column(name) if table in schemas else None
    called = name if len(schemas) == 1 else f"{table}.{name}"
    match column:
        case NumberColumn() | MomentColumn() if by_value:
            low, high = (None if end is None else _number(column.label(end)) for end in (column.low, column.high))
            if low is not None and high is not None:
                return f"{called} within {low}..{high}"
            return f"{called} at least {low}" if low is not None else f"{called} at most {high}" if high else ""
        case CategoryColumn(values=values, other=other, closed=closed):
            instead = other if other is not None else values[0] if closed else None
            return f"other values of {called} are {NULL if instead is None else repr(instead)}"
        case _:
            return ""


def _number(label: Label) -> str:
    return f"{label:,}" if isinstance(label, int | float) else str(label)


def practice_caveats(ledger: Ledger) -> list[str]:
    """What every answer of a practice project says."""
    return [PRACTICE] if ledger.state.practice else []


def ledger_caveats(ledger: Ledger, population: str) -> list[str]:
    """What the ledger says of everything that is released about a population: practice, and exact totals."""
    account = ledger.state.accounts.get(population)
    if account is None or not account.invariant:
        return practice_caveats(ledger)
    return [
        *practice_caveats(ledger),
        "exact totals of these people were published: whether a person is in the table is not protected, only their "
        "attributes are, and every charge, old and new, counts double",
    ]


def _nulls(query: ParsedQuery) -> list[str]:
    """least and greatest skip NULL, so that where one argument is missing the other is taken."""
    words = {
        type(part).__name__.lower(): None
        for _, node in nodes_used(query.inquiry)
        for part in walk(node)
        if isinstance(part, Least | Greatest) and not part.null and any(each.null for each in part.parts)
    }
    written = query.text.lower()  # ln and exp are made of them, too
    return [
        f"{word} skips NULL: if an argument is NULL, the others are used; WHERE … IS NOT NULL leaves such rows out"
        for word in words
        if word in written
    ]
