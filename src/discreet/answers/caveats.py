"""Caveats: what an answer is not, beside its noise. From the declaration and the question alone, never from data."""

from __future__ import annotations

from discreet.ledger.ledger import Ledger
from discreet.plan.expressions import Greatest, Least, walk
from discreet.plan.reads import columns_read, uses
from discreet.schema.column import Moment, Number
from discreet.sql.asked import Asked


def caveats(asked: Asked) -> list[str]:
    """What a reader should know of truncation, clamping and NULL. The noise intervals do not speak of it."""
    return [*_truncation(asked), *_clamping(asked), *_nulls(asked)]


def _truncation(asked: Asked) -> list[str]:
    told = []
    for table, schema in asked.schemas.items():
        if not schema.unit.is_row:
            whose = "" if len(asked.schemas) == 1 else f" of {table}"
            told.append(limited(schema.unit.rows, whose, table))
    return told


def limited(rows: int, whose: str, table: str) -> str:
    """Where the limit is one row it is mostly so because nobody has more: that is said shortly, but said."""
    if rows == 1:
        return f"a person counts with at most one row{whose}; any others are left out"
    return (
        f"a person counts with at most {rows:,} rows{whose}; what lies beyond is left out, "
        f"and discreet bounds {table} --report estimates how much"
    )


def doubled(ledger: Ledger, population: str) -> list[str]:
    """What it means that an exact total of these people was published; nothing where none was."""
    account = ledger.state.accounts.get(population)
    if account is None or not account.invariant:
        return []
    return [
        "exact totals of these people were published: whether somebody is there is not protected, only what they are "
        "like, and every charge, old and new, counts double"
    ]


def _clamping(asked: Asked) -> list[str]:
    """Wherever the value of a bounded column is read: summed, compared, counted as different, or as a key."""
    names = []
    for table, name in columns_read(asked.inquiry, asked.schemas):
        column = asked.schemas[table].column(name) if table in asked.schemas else None
        if isinstance(column, Number | Moment) and (column.low is not None or column.high is not None):
            names.append(name if len(asked.schemas) == 1 else f"{table}.{name}")
    if not names:
        return []
    return [f"what lies beyond the declared bounds of {_listed(names)} counts as the bound"]


def _nulls(asked: Asked) -> list[str]:
    """least and greatest skip NULL, so that where one argument is missing the other is taken."""
    words = {
        type(part).__name__.lower(): None
        for _, node in uses(asked.inquiry)
        for part in walk(node)
        if isinstance(part, Least | Greatest) and not part.null and any(each.null for each in part.parts)
    }
    return [
        f"{word} skips NULL: where an argument is NULL the others are taken; WHERE … IS NOT NULL leaves such rows out"
        for word in words
    ]


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
