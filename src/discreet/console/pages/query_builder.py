"""A query from choices, for people who write no SQL: a table, a measure, groups and conditions. It writes SQL, no more.

What may be chosen comes from declarations alone. The SQL that is written is parsed, priced and charged like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from discreet import exact
from discreet.console.pages.vocabulary import quoted_name
from discreet.errors import DiscreetError, UsageError
from discreet.project.project import Project
from discreet.schema.column import BooleanColumn, CategoryColumn, Column, MomentColumn, NumberColumn, TextColumn
from discreet.schema.schema import Table, closest_name_hint
from discreet.sql.dialect import text_literal
from discreet.tables.ranges.ruler_cut import width_of

#: What can be measured: its name in the form, its words, whether it needs a column, and the name of its number.
MEASURES = (
    {"name": "rows", "words": "how many rows", "column": False},
    {"name": "people", "words": "how many people", "column": False},
    {"name": "sum", "words": "the sum of", "column": True},
    {"name": "avg", "words": "the average of", "column": True},
    {"name": "median", "words": "the median of", "column": True},
    {"name": "min", "words": "the smallest (0.5% quantile) of", "column": True},
    {"name": "max", "words": "the largest (99.5% quantile) of", "column": True},
    {"name": "stddev", "words": "the standard deviation of", "column": True},
)
_NUMBER_NAMES = {"avg": "average", "sum": "total", "min": "smallest", "max": "largest"}

#: How a column is compared: what the form says, and SQL.
COMPARISONS = (
    {"name": "eq", "words": "is", "sql": "="},
    {"name": "ne", "words": "is not", "sql": "<>"},
    {"name": "ge", "words": "is at least", "sql": ">="},
    {"name": "le", "words": "is at most", "sql": "<="},
    {"name": "gt", "words": "is above", "sql": ">"},
    {"name": "lt", "words": "is below", "sql": "<"},
    {"name": "missing", "words": "is missing", "sql": "IS NULL"},
    {"name": "present", "words": "is not missing", "sql": "IS NOT NULL"},
)
_PERIODS = ("year", "quarter", "month", "week")
#: Groups and conditions that the form has room for.
GROUPS, FILTERS = 2, 3
#: A number is cut into about so many steps.
_STEPS = 10

_NUMBER = re.compile(r"[-+]?[0-9]{1,18}(\.[0-9]{1,12})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryFilter:
    """A condition: a column, a comparison and what is typed beside it."""

    column: str = ""
    comparison: str = "eq"
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryChoices:
    """What is chosen in the form. groups: each "each NAME", "steps NAME" or a period and a name."""

    table: str = ""
    measure: str = "rows"
    column: str = ""
    groups: tuple[str, ...] = ()
    filters: tuple[QueryFilter, ...] = ()

    def data(self) -> dict[str, Any]:
        """The same for a template, with room for more groups and conditions."""
        more = [asdict(QueryFilter())] * (FILTERS - len(self.filters))
        filters = [*map(asdict, self.filters), *more]
        return {**asdict(self), "groups": [*self.groups, *[""] * (GROUPS - len(self.groups))], "filters": filters}


def choices_of(fields: Mapping[str, Sequence[str]]) -> QueryChoices:
    """What a form says. Its rows of conditions come as three lists of the same length."""

    def text(name: str, default: str = "") -> str:
        return next(iter(fields.get(name, ())), default)[:400]

    columns = fields.get("build_filter", ())[:FILTERS]
    comparisons, values = (fields.get(name, ()) for name in ("build_comparison", "build_value"))
    if not len(columns) <= len(comparisons) == len(values):
        columns = ()
    return QueryChoices(
        table=text("build_table"),
        measure=text("build_measure", "rows"),
        column=text("build_column"),
        groups=tuple(each for each in fields.get("build_group", ())[:GROUPS] if each),
        filters=tuple(
            QueryFilter(column=column, comparison=comparison, value=value.strip()[:400])
            for column, comparison, value in zip(columns, comparisons, values, strict=False)
            if column
        ),
    )


def build_sql(project: Project, choices: QueryChoices) -> str:
    """The query that somebody chose; refused where a choice does not fit the table."""
    table = next((each for each in project.file.tables.values() if each.name == choices.table), None)
    if table is None:
        raise UsageError("choose a table")
    groups = [_group(table, each) for each in dict.fromkeys(choices.groups)]
    number = _measure(table, choices, taken=[name for _, name in groups])
    outputs = [*(text if text == name else f"{text} AS {name}" for text, name in groups), number]
    lines = [f"SELECT {', '.join(outputs)}", f"FROM {quoted_name(table.name)}"]
    if choices.filters:
        lines.append(f"WHERE {(chr(10) + '  AND ').join(_condition(table, each) for each in choices.filters)}")
    if groups:
        lines.append(f"GROUP BY {', '.join(text for text, _ in groups)}")
    return "\n".join(lines)


def measured_columns(table: Table) -> list[str]:
    """Columns that have a sum and an average: numbers with bounds, and booleans, whose average is a share."""
    return [column.name for column in table.schema.columns if isinstance(column, BooleanColumn) or _is_bounded(column)]


def group_choices(table: Table) -> list[dict[str, str]]:
    """How the rows of a table can be grouped."""
    choices = []
    for column in table.schema.columns:
        if isinstance(column, MomentColumn):
            choices += [
                {"value": f"{period} {column.name}", "words": f"{column.name}, by {period}"} for period in _PERIODS
            ]
        elif (width := _step(column)) is not None:
            choices.append({"value": f"steps {column.name}", "words": f"{column.name}, in steps of {width}"})
        choices.append({"value": f"each {column.name}", "words": _each_words(column)})
    return choices


def form_data(project: Project, table_name: str) -> dict[str, Any]:
    """What the form shows. table_name: the table that it begins with, or none."""
    tables = [table for table in project.file.tables.values() if not table.public]
    first = next((table for table in tables if table.name.lower() == table_name.lower()), tables[0] if tables else None)
    offered = [
        {
            "name": table.name,
            "measured": measured_columns(table),
            "groups": group_choices(table),
            "columns": [column.name for column in table.schema.columns],
        }
        for table in tables
    ]
    return {
        "tables": offered,
        "table": "" if first is None else first.name,
        "measures": MEASURES,
        "comparisons": COMPARISONS,
    }


def snippets(project: Project, table: Table) -> list[dict[str, str]]:
    """A few queries about a private table, to begin with."""
    if table.public:
        return []
    columns = table.schema.columns
    group = next((f"each {each.name}" for each in columns if isinstance(each, CategoryColumn | BooleanColumn)), "")
    moment = next((f"month {each.name}" for each in columns if isinstance(each, MomentColumn)), "")
    number = next((each.name for each in columns if _is_bounded(each)), "")
    wishes: list[tuple[str, dict[str, Any]]] = [("How many rows", {})]
    wishes += [(f"How many by {group[5:]}", {"groups": (group,)})] if group else []
    wishes += [(f"How many by month of {moment[6:]}", {"groups": (moment,)})] if moment else []
    wishes += [(f"Average {number}", {"measure": "avg", "column": number})] if number else []
    wishes += [(f"Median {number}", {"measure": "median", "column": number})] if number else []
    if group and number:
        wishes.append((f"Average {number} by {group[5:]}", {"measure": "avg", "column": number, "groups": (group,)}))
    return list(_written(project, table, wishes))


def _written(
    project: Project, table: Table, wishes: Iterable[tuple[str, Mapping[str, Any]]]
) -> Iterable[dict[str, str]]:
    for words, wish in wishes:
        try:
            yield {"words": words, "sql": build_sql(project, QueryChoices(table=table.name, **wish))}
        except DiscreetError:
            continue


def _column(table: Table, name: str) -> Column:
    column = next((each for each in table.schema.columns if each.name == name), None)
    if column is None:
        names = [each.name for each in table.schema.columns]
        problem = f"table {table.name!r} has no column {name[:60]!r}" if name else "choose a column"
        raise UsageError(problem, hint=closest_name_hint(name, names))
    return column


def _is_bounded(column: Column) -> bool:
    return isinstance(column, NumberColumn) and column.low is not None and column.high is not None


def _step(column: Column) -> str | None:
    """How wide steps of a number are; None where it is no number with bounds, has few values, or bins of its own."""
    if not isinstance(column, NumberColumn) or column.low is None or column.high is None or column.edges is not None:
        return None
    if column.high - column.low <= 2 * _STEPS:
        return None
    width = width_of(column, bins=_STEPS + 2)
    return None if width is None else exact.show(width) if not isinstance(width, str) else width


def _each_words(column: Column) -> str:
    match column:
        case NumberColumn() if column.edges is not None:
            return f"{column.name}, in its declared bins"
        case TextColumn():
            return f"{column.name} (values that many people share; needs a delta)"
        case CategoryColumn() | BooleanColumn():
            return column.name
        case _:
            return f"{column.name}, each value"


def _group(table: Table, choice: str) -> tuple[str, str]:
    """The SQL of a group, and its name."""
    how, _, column_name = choice.partition(" ")
    column = _column(table, column_name)
    own = quoted_name(column.name)
    if how == "each":
        return own, own
    if how == "steps" and (width := _step(column)) is not None:
        return f"floor({own} / {width}) * {width}", quoted_name(f"{column.name}_from")
    if how in _PERIODS and isinstance(column, MomentColumn):
        return f"date_trunc('{how}', {own})", quoted_name(f"{column.name}_{how}")
    raise UsageError(f"{column.name!r} cannot be grouped like this")


def _measure(table: Table, choices: QueryChoices, *, taken: Sequence[str]) -> str:
    unit = table.schema.unit
    match choices.measure:
        case "rows":
            return f"count(*) AS {_free_name('n', table, taken)}"
        case "people":
            person = "*" if unit.is_row or not unit.person else f"DISTINCT {quoted_name(unit.person[0])}"
            return f"count({person}) AS {_free_name('people', table, taken)}"
    if choices.measure not in {each["name"] for each in MEASURES}:
        raise UsageError("choose what to measure")
    column = _column(table, choices.column)
    if column.name not in measured_columns(table):
        raise UsageError(
            f"{column.name!r} has no sum and no average", hint="choose a column of numbers with declared bounds"
        )
    if isinstance(column, BooleanColumn) and choices.measure not in ("avg", "sum"):
        raise UsageError(f"{column.name!r} is true or false", hint="its average is the share of rows that are true")
    number = f"{_NUMBER_NAMES.get(choices.measure, choices.measure)}_{column.name}"
    return f"{choices.measure}({quoted_name(column.name)}) AS {_free_name(number, table, taken)}"


def _free_name(name: str, table: Table, taken: Sequence[str]) -> str:
    """A name for a number that no column has."""
    others = {each.name.lower() for each in table.schema.columns} | {each.strip('"').lower() for each in taken}
    while name.lower() in others:
        name += "_"
    return quoted_name(name)


def _condition(table: Table, chosen: QueryFilter) -> str:
    column = _column(table, chosen.column)
    comparison = next((each["sql"] for each in COMPARISONS if each["name"] == chosen.comparison), None)
    if comparison is None:
        raise UsageError("choose a comparison")
    if comparison.startswith("IS"):
        return f"{quoted_name(column.name)} {comparison}"
    return f"{quoted_name(column.name)} {comparison} {_literal(column, chosen.value)}"


def _literal(column: Column, value: str) -> str:
    """What was typed, as this column is compared with it."""
    if not value:
        raise UsageError(f"write a value beside {column.name!r}")
    match column:
        case NumberColumn():
            plain = value.replace(",", "")
            if not _NUMBER.fullmatch(plain):
                raise UsageError(f"{column.name!r} is compared with a number, such as 10 or 2.5")
            return plain
        case BooleanColumn():
            if value.lower() not in ("true", "false", "yes", "no"):
                raise UsageError(f"{column.name!r} is compared with true or false")
            return "true" if value.lower() in ("true", "yes") else "false"
        case MomentColumn():
            try:
                datetime.fromisoformat(value)
            except ValueError:
                raise UsageError(f"{column.name!r} is compared with a date, such as 2026-01-31") from None
            return text_literal(value)
        case CategoryColumn():
            codes = [code for code, label in column.labels if label.lower() == value.lower()]
            return text_literal(codes[0] if len(codes) == 1 and value not in column.values else value)
        case _:
            return text_literal(value)
