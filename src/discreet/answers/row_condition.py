"""A condition on the rows of one table, as people write it after WHERE: what a release of tables counts."""

from __future__ import annotations

import re
from dataclasses import dataclass

from discreet.accounting.region import Region
from discreet.errors import UsageError
from discreet.kernel.program import step_digest
from discreet.plan import relation
from discreet.plan.cell_statistics import RowCount
from discreet.plan.relation import Filter, Plan, Scan
from discreet.sql.dialect import identifier
from discreet.sql.parsed_query import ParsedQuery

#: A longer condition is no condition that people write.
_LONGEST = 10_000

#: Brackets, and what holds none: texts, quoted names and comments.
_SIGNS = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n\r]*|/\*.*?\*/|[()]""", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCondition:
    """The text of a condition, and the rows that satisfy it. `region`: nobody outside it has such a row."""

    text: str
    plan: Plan
    region: Region

    @property
    def meaning(self) -> str:
        """A digest of what the condition says: two spellings of one condition may share it."""
        return step_digest(relation.to_data(self.plan))


def condition_statement(table: str, condition: str) -> str:
    """The statement that counts the rows of a condition."""
    return f"SELECT count(*) FROM {identifier(table)} WHERE {bracketed(condition)}"


def bracketed(condition: str) -> str:
    """A condition in brackets, so that it stays one: the line's end closes a comment."""
    if not isinstance(condition, str) or not condition.strip():
        raise UsageError("a condition must be text, as after WHERE", hint="where=\"sex = 'F' and age >= 18\"")
    if len(condition) > _LONGEST:
        raise UsageError(f"a condition can have at most {_LONGEST:,} characters")
    depth = 0
    for sign in re.findall(_SIGNS, condition):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if depth < 0:
            break
    if depth:
        raise UsageError(
            "the brackets of a condition must match, and none may close what it did not open",
            hint="where=\"(sex = 'F' or age < 18) and age > 5\"",
        )
    return f"({condition.strip()}\n)"


def row_condition(query: ParsedQuery, condition: str) -> RowCondition:
    """The condition of a statement that `condition_statement` wrote. Refuses what is not about single rows.

    Guarantee: `plan` keeps or leaves each row of the declared table by that row alone, so that a person has no more
        rows in it than in the table.
    """
    inquiry, plan = query.inquiry, query.inquiry.plan
    while isinstance(plan, Filter):
        plan = plan.source
    plain = inquiry.statistics == (RowCount(),) and inquiry.sets == ((),) and not inquiry.keys and not inquiry.quantiles
    if not plain or not isinstance(plan, Scan) or plan.roster:
        raise UsageError(
            "a condition must be about the columns of the table itself", hint="without a subquery or another table"
        )
    return RowCondition(text=condition.strip(), plan=inquiry.plan, region=query.reach.region)
