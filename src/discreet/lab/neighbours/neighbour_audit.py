"""The exact neighbour test on an owner's own declaration and questions. Free: no row of anybody is read.

Tables are made from the declaration alone, the same ones for the same number of a try: more tries are other tables
beside these.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Literal

from sqlglot import exp

from discreet.errors import Command, DiscreetError, Flag, Message, Refused, UsageError
from discreet.lab.neighbours.engine_address import open_site
from discreet.lab.neighbours.engine_site import EngineSite
from discreet.lab.neighbours.generated_values import Literals
from discreet.lab.neighbours.generated_world import MOST_ROWS, WorldMaker
from discreet.lab.neighbours.neighbour_law import NeighbourLaw, price_of
from discreet.lab.neighbours.neighbour_pair import NeighbourViolation, Pair
from discreet.lab.neighbours.question_report import NeighbourReport, QuestionReport, RefusedQuestion, Violation
from discreet.lab.neighbours.source_rows import Row, World
from discreet.rehearse.rehearsal_rows import declared_tables
from discreet.schema.address import DEFAULT
from discreet.schema.column import Column
from discreet.schema.edge_table import refuse_edge_table
from discreet.schema.person_path import path_of
from discreet.schema.schema import Table
from discreet.schema.source_layout import UNDECLARED
from discreet.sql.catalog import Catalog
from discreet.sql.parsed_query import ParsedQuery
from discreet.sql.query_parser import parse_query
from discreet.sql.query_text import parse_statement, split_statements

if TYPE_CHECKING:
    from discreet.project.project import Project

#: So many pairs of tables are tried for each question.
TRIES = 50
MOST_TRIES = 100_000
MOST_QUESTIONS = 500
#: A pair that breaks a claim is made smaller by so many attempts.
_SHRINKING = 30
#: Of four tries one has a unit with all numbers high, one low, one is as loud in another way, and one is any.
_ENDS: dict[int, Literal["low", "high", ""]] = {1: "high", 2: "low"}
#: So often a unit is also changed, which tells no more than adding and removing one, and takes time.
_CHANGED = 4


def audit(
    project: Project,
    *,
    table: str,
    questions: str | Sequence[str],
    tries: int = TRIES,
    engine: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> NeighbourReport:
    """Try questions about a declared table on generated neighbours, before noise. Free: nothing private is read.

    `questions`: SQL, several statements in one text or one in each. `engine`: duckdb, memory or an address; by default
    where the table lives. `progress`: is told the number of each try. A question that is refused is reported, and the
    others are tried; if all are refused, the first refusal is raised.
    """
    if not 1 <= tries <= MOST_TRIES:
        raise UsageError(
            f"the number of tries must be 1 to {MOST_TRIES:,}, not {tries:,}", hint=Message(Flag("tries", TRIES))
        )
    world = _AuditedTables.of(project, table, _statements(questions))
    address = engine or project.private(table).engine
    with tempfile.TemporaryDirectory(prefix="discreet-neighbours-") as name:
        folder = Path(name)
        with open_site(address, folder) as site:
            tester = _Tester(tables=world, site=site, folder=folder)
            for number in range(1, tries + 1):
                if progress is not None:
                    progress(number)
                if not tester.run_try(number):
                    break
    return NeighbourReport(
        table=world.name,
        engine=_engine_name(address),
        unit=str(world.tables[world.name].schema.unit),
        tries=tries,
        questions=tuple(tester.reports),
        refused=world.refused,
        notes=world.notes(),
    )


def _engine_name(address: str) -> str:
    """What kind of engine it is: an address names hosts and people."""
    return address.partition("://")[0]


def _statements(questions: str | Sequence[str]) -> list[str]:
    texts = [questions] if isinstance(questions, str) else list(questions)
    statements = [each for text in texts for each in split_statements(text)]
    if not statements:
        raise UsageError("there is no question", hint="write one SQL statement, or several with a ; between them")
    if len(statements) > MOST_QUESTIONS:
        raise UsageError(f"at most {MOST_QUESTIONS} questions can be tried at once, not {len(statements):,}")
    return statements


@dataclass(frozen=True, kw_only=True)
class _AuditedTables:
    """The table that is audited, with all tables that the questions need."""

    name: str
    tables: Mapping[str, Table]
    catalog: Catalog
    queries: tuple[ParsedQuery, ...]
    literals: Literals
    refused: tuple[RefusedQuestion, ...] = ()

    @staticmethod
    def of(project: Project, name: str, statements: Sequence[str]) -> _AuditedTables:
        name = project.private(name).name
        refuse_edge_table(project.table(name).schema)
        declared, catalog = declared_tables(project)
        plain = {each: _without_formats(table) for each, table in declared.items() if not table.public}
        catalog = {
            each: replace(entry, schema=plain[each].schema) if each in plain else entry
            for each, entry in catalog.items()
        }
        queries, refusals = [], {}
        for number, text in enumerate(statements, start=1):
            try:
                query = parse_query(text, catalog)
                _check_table(number, query, name)
                price_of(query, gaussian=False)
                queries.append(query)
            except (Refused, UsageError) as problem:
                refusals[number] = problem
        if not queries:
            raise next(iter(refusals.values()))
        needed: dict[str, Table] = {}
        for each in [scan.table for query in queries for scan in query.tables]:
            needed |= {step.name: step for step in (plain[each], *path_of(plain[each], plain))}
        return _AuditedTables(
            name=name,
            tables=needed,
            catalog=catalog,
            queries=tuple(queries),
            literals=_literals([query.text for query in queries]),
            refused=tuple(
                RefusedQuestion(number=number, text=statements[number - 1], reason=str(problem))
                for number, problem in refusals.items()
            ),
        )

    def notes(self) -> tuple[str, ...]:
        """What the tables cannot show."""
        many = [table for table in self.tables.values() if table.schema.unit.rows > MOST_ROWS]
        return tuple(
            f"{table.name!r} has rows_per_person = {table.schema.unit.rows:,}, and a generated person has at most "
            f"{MOST_ROWS} rows: the largest change cannot be seen"
            for table in many
        )


def _check_table(number: int, query: ParsedQuery, name: str) -> None:
    names = [scan.table for scan in query.tables]
    if name not in names:
        raise UsageError(
            f"question {number} is about {names[0]!r}, not about {name!r}",
            hint=Message(Command("audit neighbours", Flag("table", names[0]))),
        )


def _without_formats(table: Table) -> Table:
    """The declaration of the same values in files of ours: how an owner's file spells them does not matter here."""
    schema = replace(table.schema, columns=tuple(_without_format(column) for column in table.schema.columns))
    return replace(table, schema=schema, engine=DEFAULT, layout=UNDECLARED, null=None)


def _without_format(column: Column) -> Column:
    settings: dict[str, Any] = {name: None for name in ("format", "null") if hasattr(column, name)}
    return replace(column, **settings)


def _literals(statements: Sequence[str]) -> Literals:
    """The numbers and texts that questions name."""
    numbers: list[Fraction] = []
    texts: list[str] = []
    for text in statements:
        _, tree = parse_statement(text)
        for literal in tree.find_all(exp.Literal):
            if literal.is_string:
                texts.append(str(literal.this))
                continue
            try:
                number = Fraction(str(literal.this))
            except (ValueError, ZeroDivisionError):
                continue
            numbers += [number, -number] if abs(number) < 2**60 else []
    return Literals(numbers=tuple(dict.fromkeys(numbers)), texts=tuple(dict.fromkeys(texts)))


class _Tester:
    """Tries all questions on one pair after another."""

    def __init__(self, *, tables: _AuditedTables, site: EngineSite, folder: Path) -> None:
        self._tables, self._site, self._folder = tables, site, folder
        self.reports = [QuestionReport(text=query.text) for query in tables.queries]
        self._priced = [
            {gaussian: self._price(query, gaussian=gaussian) for gaussian in (False, True)} for query in tables.queries
        ]

    @staticmethod
    def _price(query: ParsedQuery, *, gaussian: bool) -> Any:
        try:
            return price_of(query, gaussian=gaussian)
        except Refused:
            if not gaussian:
                raise
            return None

    def run_try(self, number: int) -> bool:
        """One generated pair, for each question that still holds; whether there is one left."""
        gaussian = number % 2 == 0
        world = self._world(number)
        try:
            pair = self._pair(world, changed=number % _CHANGED == 1)
        except NeighbourViolation as problem:  # the engine declares other rows than the reference
            for report in self.reports:
                report.violation = report.violation or Violation.of(world, problem.reason)
            return False
        for place, report in enumerate(self.reports):
            if report.holds:
                self._ask(place, report, pair, world, gaussian=gaussian)
        pair.forget()
        return any(report.holds for report in self.reports)

    def _world(self, number: int) -> World:
        random = Random(f"neighbours {number}")  # noqa: S311  # made-up rows protect nobody
        texts = getattr(self._site, "texts", False)
        return WorldMaker(
            tables=self._tables.tables,
            random=random,
            literals=self._tables.literals,
            loud=number % 4 != 0,
            texts=texts,
            end=_ENDS.get(number % 4, ""),
        ).make()

    def _pair(self, world: World, *, changed: bool = False) -> Pair:
        return Pair.make(world, self._folder, self._site, catalog=self._tables.catalog, changed=changed)

    def _ask(self, place: int, report: QuestionReport, pair: Pair, world: World, *, gaussian: bool) -> None:
        priced = self._priced[place][gaussian]
        gaussian = gaussian and priced is not None
        priced = priced or self._priced[place][False]
        query = self._tables.queries[place]
        law = NeighbourLaw(watch=report.add)
        report.pairs += 1
        try:
            law.check(priced, pair, query, gaussian=gaussian)
            report.changed_pairs += pair.changed is not None
            law.check_changed(priced, pair, query)
        except NeighbourViolation as problem:
            smaller, reason = self._shrunk(world, place, gaussian=gaussian)
            report.violation = Violation.of(smaller, reason or problem.reason)

    def _shrunk(self, world: World, place: int, *, gaussian: bool) -> tuple[World, str]:
        """The pair with fewer rows on which the claim still fails, and how; no reason where it holds on its own."""
        alone = _without_others(world)
        reason = self._fault(alone, place, gaussian=gaussian)
        world = alone if reason else world
        attempts = 0
        for name in world.sources:
            for row in reversed(world.sources[name].rows):
                attempts += 1
                smaller = _without_row(world, name, row)
                if attempts > _SHRINKING or smaller is None:
                    continue
                if fault := self._fault(smaller, place, gaussian=gaussian):
                    world, reason = smaller, fault
        return world, reason or self._fault(world, place, gaussian=gaussian)

    def _fault(self, world: World, place: int, *, gaussian: bool) -> str:
        """What is wrong with a question on a pair; nothing where its claim holds."""
        priced = self._priced[place][gaussian]
        try:
            pair = self._pair(world)
        except (NeighbourViolation, DiscreetError):
            return ""
        try:
            NeighbourLaw().check(priced, pair, self._tables.queries[place], gaussian=gaussian)
        except NeighbourViolation as problem:
            return problem.reason
        finally:
            pair.forget()
        return ""


def _without_others(world: World) -> World:
    """The unit alone: what both sides have goes."""
    sources = {}
    for name, source in world.sources.items():
        own = Counter(map(repr, source.rows)) - Counter(map(repr, world.without[name]))
        rows = []
        for row in source.rows:
            if own[repr(row)] > 0:
                own[repr(row)] -= 1
                rows.append(row)
        sources[name] = replace(source, rows=tuple(rows))
    return replace(world, sources=sources, without=dict.fromkeys(world.without, ()))


def _without_row(world: World, name: str, row: Row) -> World | None:
    """The pair without one row, on both sides where both have it; None where it is the unit itself."""
    source = world.sources[name]
    if world.person is None and row is world.row:
        return None
    kept, without = list(source.rows), list(world.without[name])
    kept.remove(row)
    if row in without:
        without.remove(row)
    sources = dict(world.sources) | {name: replace(source, rows=tuple(kept))}
    return replace(world, sources=sources, without=dict(world.without) | {name: tuple(without)})
