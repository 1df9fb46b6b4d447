"""discreet.toml: the owner's word on what the data is. Read here, and only here, into Tables.

The same mapping, as JSON, is what the ledger keeps as a version's schema, so there is one reader.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from discreet import exact
from discreet.errors import Command, Message, ProjectError, SchemaError, UsageError
from discreet.schema.address import DEFAULT, check_address
from discreet.schema.category_labels import read_labels
from discreet.schema.column import (
    BooleanColumn,
    CategoryColumn,
    Column,
    MomentColumn,
    NumberColumn,
    TextColumn,
    moment_code,
)
from discreet.schema.edge_table import check_network, read_ends_unit
from discreet.schema.grid_step import STORED_STEP, with_steps
from discreet.schema.person_path import path_of
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Budget, Schema, Table, check_invariants, closest_name_hint, read_invariants
from discreet.schema.source_layout import LAYOUT_KEYS, read_layout
from discreet.schema.toml_file import mapping, read_toml, refuse_unknown_keys
from discreet.schema.value_format import (
    FORMAT_KEYS,
    INHERITED_KEYS,
    inherited_settings,
    read_boolean_format,
    read_moment_format,
    read_null,
    read_number_format,
    with_inherited,
)

NAME = "discreet.toml"
DEFAULT_LEDGER = "sqlite:///.discreet/ledger.db"

#: More bins than this are no longer bins, and would have to be written out.
MOST_BINS = 10_000

#: No limit on groups or rows is larger.
MOST_LIMIT = 10**9

_BUDGET = {"epsilon", "delta", "delta_keys"}
_TABLE = {
    "source", "engine", "budget", "accounting", "person", "rows_per_person", "rows_per_person_measured", "public",
    "groups_per_person", "rows_per_person_per_group", "public_persons",
    "population", "columns", "invariants", "ends", "directed", *LAYOUT_KEYS, *INHERITED_KEYS,
}  # fmt: skip
_ORDERED = {"type", "low", "high", "bins", "edges", "closed", "constant", "measured"}
_KEYS = {
    "integer": _ORDERED | FORMAT_KEYS["integer"],
    "decimal": _ORDERED | FORMAT_KEYS["decimal"] | {"step"},
    "date": _ORDERED | FORMAT_KEYS["date"],
    "timestamp": _ORDERED | FORMAT_KEYS["timestamp"],
    "boolean": {"type", "closed", "constant"} | FORMAT_KEYS["boolean"],
    "category": {"type", "values", "labels", "other", "closed", "constant", "measured"} | FORMAT_KEYS["category"],
    "text": {"type", "constant"} | FORMAT_KEYS["text"],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFile:
    """What discreet.toml says. `raw` holds each table's own mapping, for the ledger.

    `budget`: the one of tables that declare none.
    """

    ledger: str
    practice: bool
    populations: frozenset[str]
    analysts: Mapping[str, Fraction]
    tables: Mapping[str, Table]
    raw: Mapping[str, Mapping[str, Any]]
    budget: Budget | None = None

    def table(self, name: str) -> Table:
        """A declared table by name, capitals or not."""
        for table_name, table in self.tables.items():
            if table_name.lower() == name.lower():
                return table
        hint = closest_name_hint(name, self.tables) or (
            "" if self.tables else Message("run ", Command("add", "FILE"), " to declare one")
        )
        raise UsageError(f"there is no declared table {name[:60]!r}", hint=hint)


def read_file(path: Path) -> ProjectFile:
    """Read discreet.toml; one clear sentence where it is wrong."""
    missing = ProjectError(f"there is no {NAME} here", hint=Message("run ", Command("init"), " to create one"))
    return read_project(read_toml(path, error=ProjectError, missing=missing))


def read_project(data: Mapping[str, Any]) -> ProjectFile:
    """A parsed discreet.toml as a ProjectFile."""
    refuse_unknown_keys(data, {"project", "tables", "populations", "analysts"}, where=NAME, error=SchemaError)
    project_keys = {"ledger", "budget", "practice"}
    project = refuse_unknown_keys(data.get("project", {}), project_keys, where="[project]", error=SchemaError)
    populations = mapping(data.get("populations", {}), where="[populations]", error=SchemaError)
    analysts = mapping(data.get("analysts", {}), where="[analysts]", error=SchemaError)
    quotas = _quotas(analysts)
    raw = mapping(data.get("tables", {}), where="[tables]", error=SchemaError)
    tables = {}
    for name, table in raw.items():
        tables[name] = read_table(name, with_steps(table), populations=populations, inherited=project.get("budget"))
    _check_units(tables)
    if len({name.lower() for name in tables}) != len(tables):
        raise SchemaError("two tables have the same name")
    _check_paths(tables)
    check_invariants(tables)
    ledger = project.get("ledger", DEFAULT_LEDGER)
    if not isinstance(ledger, str):
        raise SchemaError("[project] ledger must be text", hint=f'ledger = "{DEFAULT_LEDGER}"')
    return ProjectFile(
        ledger=ledger,
        practice=_flag(project, "practice", where="[project]"),
        populations=frozenset(populations),
        analysts=quotas,
        tables=tables,
        raw=raw,
        budget=_inherited_budget(project),
    )


def _inherited_budget(project: Mapping[str, Any]) -> Budget | None:
    """The budget of tables that declare none. A wrong one is refused where a table inherits it."""
    try:
        return _budget_of("project", {}, {}, project.get("budget"))[1]
    except SchemaError:
        return None


def _quotas(analysts: Mapping[str, Any]) -> dict[str, Fraction]:
    """What each analyst may pay in all. Capitals make no other analyst, or they would make another quota."""
    quotas: dict[str, Fraction] = {}
    for name, quota in analysts.items():
        where = f"[analysts.{name}]"
        if any(name.casefold() == earlier_name.casefold() for earlier_name in quotas):
            raise SchemaError(f"{where} is declared twice; names ignore case", hint="keep one")
        refuse_unknown_keys(quota, {"epsilon"}, where=where, error=SchemaError)
        quotas[name] = exact.positive(quota.get("epsilon"), name=f"{where} epsilon", most=exact.MAX_BUDGET_EPSILON)
    return quotas


def _check_paths(tables: Mapping[str, Table]) -> None:
    """A table that goes through another reaches a person of its population."""
    for table in tables.values():
        try:
            path_of(table, tables)
        except SchemaError as problem:
            hint = problem.hint or f'person = {{ through = "TABLE", on = "COLUMN" }} in [tables.{table.name}]'
            raise SchemaError(f"{NAME}, [tables.{table.name}] person: {problem.reason}", hint=hint) from None


def _check_units(tables: Mapping[str, Table]) -> None:
    """One guarantee for a population: its tables all protect persons, or all rows."""
    for table in tables.values():
        for other in tables.values():
            mixed = table.schema.unit.is_row and not other.schema.unit.is_row
            if mixed and table.population == other.population and not table.public and not other.public:
                raise SchemaError(
                    f"population {table.population!r} protects persons in {other.name!r} but rows in {table.name!r}",
                    hint=f"declare person in {table.name!r} too, or give it its own population",
                )


def read_table(name: str, data: Any, *, populations: Mapping[str, Any] | None = None, inherited: Any = None) -> Table:
    """One [tables.NAME] mapping as a Table: as the ledger holds it, or from discreet.toml `with_steps`."""
    where = f"[tables.{name}]"
    if name in ("", ".", ".."):  # a browser drops these from a path, whatever their spelling
        raise SchemaError(f"a table cannot be called {name!r}: its page would have no URL", hint="use letters")
    data = refuse_unknown_keys(data, _TABLE, where=where, error=SchemaError)
    source = data.get("source")
    if not isinstance(source, str) or not 0 < len(source) <= 1000 or not source.isprintable():
        raise SchemaError(f"{where} needs a source", hint='source = "patients.csv"')
    columns = mapping(data.get("columns", {}), where=f"{where} columns", error=SchemaError)
    null, inherited_by_columns = read_null(data, where=where), inherited_settings(data)
    read_number_format(data, where=where)  # refuses what makes no sense, whatever columns there are
    schema = Schema(
        table=name,
        columns=tuple(
            read_column(column, column_settings, where=where, inherited=inherited_by_columns)
            for column, column_settings in columns.items()
        ),
        unit=_unit(data, where=where),
        invariants=read_invariants(data.get("invariants", []), columns, where=where),
        directed=_flag(data, "directed", where=where),
        groups=_limit(data, "groups_per_person", where=where),
        group_rows=_limit(data, "rows_per_person_per_group", where=where),
        public_persons=_limit(data, "public_persons", where=where),
    )
    population, budget = _budget_of(name, data, populations or {}, inherited)
    public = _flag(data, "public", where=where)
    if public and ("budget" in data or "population" in data):
        raise SchemaError(f"{where} is public and has a budget", hint="remove one of the two")
    if public and schema.invariants:
        raise SchemaError(f"{where} is public and has invariants", hint="remove one of the two")
    engine = check_address(data.get("engine", DEFAULT), where=f"{where} engine")
    table = Table(
        schema=schema,
        source=source,
        engine=engine,
        public=public,
        population=population,
        budget=budget,
        layout=read_layout(data, where=where),
        null=null,
    )
    check_network(table, where=where)
    return table


def _budget_of(
    name: str, data: Mapping[str, Any], populations: Mapping[str, Any], inherited: Any
) -> tuple[str, Budget | None]:
    where = f"[tables.{name}]"
    population = data.get("population", name)
    if not isinstance(population, str) or not population:
        raise SchemaError(f"{where} population must be a name")
    if "population" in data:
        if "budget" in data:
            raise SchemaError(
                f"{where} names a population and has a budget", hint="remove it: the budget belongs to the population"
            )
        if population not in populations:
            raise SchemaError(
                f"{where} population = {population!r} is not declared",
                hint=f"add [populations.{population}] budget",
            )
        where = f"[populations.{population}]"
        data = refuse_unknown_keys(populations[population], {"budget", "accounting"}, where=where, error=SchemaError)
    budget_settings = data.get("budget", inherited)
    if budget_settings is None:
        return population, None
    budget_settings = refuse_unknown_keys(budget_settings, _BUDGET, where=f"{where} budget", error=SchemaError)
    try:
        return population, Budget(
            epsilon=exact.positive(
                budget_settings.get("epsilon"), name=f"{where} budget epsilon", most=exact.MAX_BUDGET_EPSILON
            ),
            delta=exact.probability(budget_settings.get("delta", 0), name=f"{where} budget delta"),
            delta_keys=None
            if "delta_keys" not in budget_settings
            else exact.probability(budget_settings["delta_keys"], name=f"{where} budget delta_keys"),
            accounting=str(data["accounting"]) if "accounting" in data else None,
        )
    except UsageError as problem:
        raise SchemaError(problem.reason, hint="budget = { epsilon = 3.0, delta = 1e-6 }") from None


def _limit(data: Mapping[str, Any], key: str, *, where: str) -> int | None:
    """A whole number from 1 on, where it is declared."""
    limit = data.get(key)
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or not 0 < limit <= MOST_LIMIT):
        raise SchemaError(f"{where} {key} must be a whole number from 1", hint=f"{key} = 5")
    return limit


def _unit(data: Mapping[str, Any], *, where: str) -> PrivacyUnit:
    rows = data.get("rows_per_person", 1)
    if not isinstance(rows, int) or isinstance(rows, bool):
        raise SchemaError(f"{where} rows_per_person must be a whole number")
    _measured(data, "rows_per_person_measured", where=where)
    try:
        unit = _person(data.get("person"), rows) if "ends" not in data else read_ends_unit(data)
        unit.check_columns(data.get("columns", {}))
    except SchemaError as problem:
        raise SchemaError(f"{where} {problem.reason}", hint=problem.hint) from None
    return unit


def _person(person: Any, rows: int) -> PrivacyUnit:
    match person:
        case None:
            return PrivacyUnit(rows=rows)
        case {"through": str() as through, "on": on, **rest} if through and not rest:
            return PrivacyUnit(through=through, on=_names(on), rows=rows)
        case _:
            return PrivacyUnit(person=_names(person), rows=rows)


def _names(value: Any) -> tuple[str, ...]:
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str) and name for name in names):
        raise SchemaError("person must name a column", hint='person = "patient_id", or a list for a composite id')
    return tuple(names)


def read_column(name: str, data: Any, *, where: str, inherited: Mapping[str, Any] | None = None) -> Column:
    """One column mapping as a Column. `inherited`: what its table says of the cells of all columns."""
    where = f"{where[:-1]}.columns.{name}]"
    data = mapping(data, where=where, error=SchemaError)
    type_ = data.get("type")
    if not isinstance(type_, str) or type_ not in _KEYS:
        raise SchemaError(f"{where} type {type_!r} is not known", hint=f"one of: {', '.join(_KEYS)}")
    refuse_unknown_keys(data, _KEYS[type_], where=where, error=SchemaError)
    data = with_inherited(data, inherited or {})
    null = read_null(data, where=where)
    _measured(data, "measured", where=where)
    constant = _flag(data, "constant", where=where)
    match type_:
        case "integer" | "decimal":
            return replace(_number(name, type_, data, constant=constant, where=where), null=null)
        case "date" | "timestamp":
            return replace(_moment(name, type_, data, constant=constant, where=where), null=null)
        case "boolean":
            return BooleanColumn(
                name=name,
                closed=_flag(data, "closed", where=where),
                constant=constant,
                format=read_boolean_format(data, where=where),
                null=null,
            )
        case "category":
            values = data.get("values")
            if not isinstance(values, list) or not all(isinstance(value, str | int | bool) for value in values):
                raise SchemaError(f"{where} values must be a list of texts", hint='values = ["a", "b"]')
            other = data.get("other")
            words = tuple(_word(value) for value in values)
            return CategoryColumn(
                name=name,
                values=words,
                labels=read_labels(data.get("labels"), words, where=where),
                other=None if other is None else _word(other),
                closed=_flag(data, "closed", where=where),
                constant=constant,
                null=null,
            )
        case _:
            return TextColumn(name=name, constant=constant, null=null)


def _word(value: Any) -> str:
    """A category as text; a TOML boolean by its SQL spelling."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _number(
    name: str, type_: Literal["integer", "decimal"], data: Mapping[str, Any], *, constant: bool, where: str
) -> NumberColumn:
    step = exact.number(data.get("step", 1 if type_ == "integer" else STORED_STEP), name=f"{where} step")
    if step <= 0:
        raise SchemaError(f"{where} step must be above 0", hint="step = 0.01")

    def code(key: str) -> int | None:
        return None if key not in data else _on_grid(exact.number(data[key], name=f"{where} {key}"), step, where)

    low, high = code("low"), code("high")
    raw_edges = data.get("edges")
    if raw_edges is not None:
        _list(raw_edges, where=f"{where} edges")
        raw_edges = [_on_grid(exact.number(edge, name=f"{where} edge"), step, where) for edge in raw_edges]
    edges = _edges(data, low, high, raw_edges, where=where)
    number_format = read_number_format(data, where=where)
    return NumberColumn(
        name=name,
        type=type_,
        step=step,
        low=low,
        high=high,
        edges=edges,
        constant=constant,
        closed=_flag(data, "closed", where=where),
        format=number_format,
    )


def _moment(
    name: str, type_: Literal["date", "timestamp"], data: Mapping[str, Any], *, constant: bool, where: str
) -> MomentColumn:
    def code(value: Any) -> int:
        try:
            return math.floor(moment_code(value, type_))
        except ValueError:
            raise SchemaError(f"{where} {value!r} is not a {type_}", hint="write 2026-01-31") from None

    low = code(data["low"]) if "low" in data else None
    high = code(data["high"]) if "high" in data else None
    raw_edges = data.get("edges")
    if raw_edges is not None:
        _list(raw_edges, where=f"{where} edges")
        raw_edges = [code(edge) for edge in raw_edges]
    edges = _edges(data, low, high, raw_edges, where=where)
    closed = _flag(data, "closed", where=where)
    column = MomentColumn(name=name, type=type_, low=low, high=high, edges=edges, constant=constant, closed=closed)
    last_year = None if high is None else int(str(column.label(high))[:4])
    return replace(column, format=read_moment_format(data, last_year=last_year, where=where))


def _on_grid(value: Fraction, step: Fraction, where: str) -> int:
    steps = value / step
    if steps.denominator != 1:
        raise SchemaError(
            f"{where} {exact.show(value)} is not a whole number of steps of {exact.show(step)}",
            hint="choose bounds and edges on the grid",
        )
    return int(steps)


def _edges(
    data: Mapping[str, Any], low: int | None, high: int | None, raw_edges: list[int] | None, *, where: str
) -> tuple[int, ...] | None:
    """The cuts of a column in codes: as told, or `bins` of nearly equal width."""
    bins = data.get("bins")
    if bins is not None and raw_edges is not None:
        raise SchemaError(f"{where} has both bins and edges", hint="keep one")
    if bins is None and raw_edges is None:
        return None
    if low is None or high is None:
        raise SchemaError(f"{where} bins need low and high")
    if raw_edges is not None:
        if len(raw_edges) < 2 or raw_edges[0] != low or raw_edges[-1] != high:
            raise SchemaError(f"{where} edges must begin at low and end at high")
        return (*raw_edges[:-1], high + 1)
    size = high - low + 1
    most = min(size, MOST_BINS)
    if not isinstance(bins, int) or isinstance(bins, bool) or not 1 <= bins <= most:
        raise SchemaError(f"{where} bins must be a whole number from 1 to {most}")
    return tuple(low + place * size // bins for place in range(bins + 1))


def _measured(data: Mapping[str, Any], key: str, *, where: str) -> None:
    """The epsilon that something was measured for: a note for people, and a number."""
    if key in data:
        try:
            exact.positive(data[key], name=f"{where} {key}", most=exact.MAX_BUDGET_EPSILON)
        except UsageError as problem:
            raise SchemaError(
                problem.reason, hint=Message(Command("bounds"), " writes it; you can remove it")
            ) from None


def _list(data: Any, *, where: str) -> None:
    if not isinstance(data, list):
        raise SchemaError(f"{where} must be a list")


def _flag(data: Mapping[str, Any], key: str, *, where: str) -> bool:
    flag = data.get(key, False)
    if not isinstance(flag, bool):
        raise SchemaError(f"{where} {key} must be true or false")
    return flag


def plain(value: Any) -> Any:
    """A TOML value as JSON data that `read_table` takes back the same way."""
    match value:
        case Fraction():
            return str(exact.show(value, digits=40)) if value.denominator > 1 else int(value)
        case Mapping():
            return {key: plain(part) for key, part in value.items()}
        case list():
            return [plain(part) for part in value]
        case datetime() | date():
            return value.isoformat()
        case _:
            return value
