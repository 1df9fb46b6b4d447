"""SQL sums of one confidential column over public ones, as the sets of people that they touch.

`select sum(salary) from employees where age > 35`: names and ages are public, salaries are not. Who is in the sum is
worked out from the public columns alone; the confidential one is taken out before the condition is looked at.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from discreet.errors import Flag, Message, UsageError
from discreet.lab.query_auditing.query_file import AuditedQueries
from discreet.lab.query_auditing.sum_auditor import MOST_PEOPLE
from discreet.rehearse.plain_sql import DEADLINE_S, seal_connection
from discreet.schema.schema import closest_name_hint
from discreet.sql.query_text import parse_statement, split_statements

FORM = "select sum(salary) from employees where age > 35"
MOST_QUERIES = 2_000
#: The number of a row, among the public columns.
_ROW = "discreet:row"


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlSums:
    """Sums as they were asked, the column that they sum, and whom each touches."""

    texts: tuple[str, ...]
    secret: str
    queries: AuditedQueries
    is_bits: bool = False

    def names(self, place: int) -> list[str]:
        """The people in one of the sums."""
        return [self.queries.people[person] for person in np.flatnonzero(self.queries.questions[place])]


def read_sums(table: pa.Table, statements: str | Sequence[str], *, name: str | None = None) -> SqlSums:
    """Parse SQL sums and find whom they touch. `name`: the column that names people; else "name", else numbers."""
    texts = [statements] if isinstance(statements, str) else list(statements)
    texts = [each for text in texts for each in split_statements(text)]
    if not texts:
        raise UsageError("there is no question", hint=FORM)
    if len(texts) > MOST_QUERIES:
        raise UsageError(f"at most {MOST_QUERIES:,} sums can be audited, not {len(texts):,}")
    if table.num_rows > MOST_PEOPLE:
        raise UsageError(f"a sum auditor supports 1 to {MOST_PEOPLE:,} people, not {table.num_rows:,}")
    sums = [_parse_sum(number, text) for number, text in enumerate(texts, start=1)]
    secret = _secret_column(sums, table)
    _check_numbers(table, secret)
    questions = _touched(table, secret, [condition for _, condition in sums])
    return SqlSums(
        texts=tuple(" ".join(text.split()) for text in texts),
        secret=secret,
        queries=AuditedQueries(
            people=_people(table, name, secret),
            questions=questions,
            answers=_answers(table, secret, questions),
            lines=tuple(range(1, len(texts) + 1)),
        ),
        is_bits=all(isinstance(cell, bool | int) and cell in (0, 1) for cell in table[secret].to_pylist()),
    )


def _parse_sum(number: int, text: str) -> tuple[str, exp.Expr | None]:
    """The summed column and the condition of one question."""
    _, tree = parse_statement(text)
    outputs = tree.expressions if isinstance(tree, exp.Select) else []
    inner = outputs[0].unalias() if len(outputs) == 1 else None
    parts = {key for key, value in tree.args.items() if value}
    if not isinstance(inner, exp.Sum) or not isinstance(inner.this, exp.Column):
        raise UsageError(f"question {number} is not one sum of one column", hint=FORM)
    if more := parts - {"expressions", "from", "from_", "where", "kind"}:
        shown = sorted(more)[0].rstrip("_").replace("joins", "join")
        raise UsageError(f"question {number} has more than a WHERE: {shown}", hint=f"ask one sum at a time: {FORM}")
    where = tree.args.get("where")
    condition = None if where is None else where.this
    if condition is not None and condition.find(exp.Select, exp.Subquery, exp.AggFunc, exp.Window) is not None:
        raise UsageError(f"question {number} has a condition that is not about single people", hint=FORM)
    return str(inner.this.name), condition


def _secret_column(sums: Sequence[tuple[str, exp.Expr | None]], table: pa.Table) -> str:
    """The one column that all questions sum; no condition may name it."""
    columns = {name.lower(): name for name in table.column_names}
    for number, (summed, condition) in enumerate(sums, start=1):
        named = [summed, *([] if condition is None else [each.name for each in condition.find_all(exp.Column)])]
        for each in named:
            if each.lower() not in columns:
                raise UsageError(
                    f"question {number} names {each[:60]!r}, which is not a column of the table",
                    hint=closest_name_hint(each, table.column_names),
                )
        if summed.lower() != sums[0][0].lower():
            raise UsageError(
                f"question {number} sums {summed!r}, and the first one {sums[0][0]!r}",
                hint="audit one column at a time",
            )
        if summed.lower() in [each.lower() for each in named[1:]]:
            raise UsageError(
                f"question {number} has a condition on {summed!r}, which is confidential: only its owner could tell "
                "whom it touches",
                hint="use public columns in WHERE",
            )
    return str(columns[sums[0][0].lower()])


def _check_numbers(table: pa.Table, secret: str) -> None:
    """A sum is of numbers. It leaves out empty cells, so their people would not be in it as the audit assumes."""
    kind = table.schema.field(secret).type
    is_number = any(
        test(kind) for test in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    )
    if not is_number:
        raise UsageError(f"{secret[:60]!r} is not a column of numbers, so it has no sum", hint=FORM)
    if table[secret].null_count:
        raise UsageError(
            f"{secret[:60]!r} has empty cells, which a sum leaves out",
            hint="fill them in, or leave out the rows of these people",
        )


def _touched(table: pa.Table, secret: str, conditions: Sequence[exp.Expr | None]) -> NDArray[np.bool_]:
    """Whom each condition holds for, by the public columns."""
    public = table.drop_columns([secret]).append_column(_ROW, pa.array(range(table.num_rows)))
    questions = np.zeros((len(conditions), table.num_rows), dtype=np.bool_)
    connection = duckdb.connect(":memory:", config={"temp_directory": ""})
    timer = threading.Timer(DEADLINE_S, connection.interrupt)
    try:
        seal_connection(connection, {"people": public})
        timer.start()
        for place, condition in enumerate(conditions):
            questions[place, _rows(connection, condition)] = True
    except (duckdb.Error, RuntimeError):
        raise UsageError(
            "a condition cannot be evaluated on the public columns", hint=f"compare columns with values: {FORM}"
        ) from None
    finally:
        timer.cancel()
        connection.close()
    return questions


def _rows(connection: Any, condition: exp.Expr | None) -> list[int]:
    where = ""
    if condition is not None:
        plain = condition.copy()
        for column in plain.find_all(exp.Column):
            column.set("table", None)  # e.age: there is one table
        where = f" WHERE {plain.sql(dialect='duckdb')}"
    return [int(row) for (row,) in connection.execute(f'SELECT "{_ROW}" FROM people{where}').fetchall()]


def _people(table: pa.Table, name: str | None, secret: str) -> tuple[str, ...]:
    """What people are called: each by another name."""
    column = next((each for each in table.column_names if each.lower() == (name or "name").lower()), None)
    if name is not None and (column is None or column == secret):
        raise UsageError(
            f"there is no public column {name[:60]!r}",
            hint=Message(Flag("name", "COLUMN"), ", the one that names people"),
        )
    if column is None:
        return tuple(f"row {number}" for number in range(1, table.num_rows + 1))
    names = [str(cell) for cell in table[column].to_pylist()]
    counts: dict[str, int] = {}
    people = []
    for each in names:
        counts[each] = counts.get(each, 0) + 1
        people.append(each if counts[each] == 1 else f"{each} ({counts[each]})")
    return tuple(people)


def _answers(table: pa.Table, secret: str, questions: NDArray[np.bool_]) -> tuple[int | None, ...]:
    """The exact sums where the column holds whole numbers; None where it does not."""
    cells = table[secret].to_pylist()
    if not all(isinstance(cell, bool | int) for cell in cells):
        return (None,) * len(questions)
    return tuple(sum(int(cells[person]) for person in np.flatnonzero(question)) for question in questions)
