"""The facade: a project folder, its queries and its budget.

One class, and so one file, of many short methods, one for each verb; what they do lies in answers, declaration,
versions, publications and the curator.

clinic = discreet.open("clinic/")
release = clinic.sql("select disease, count(*) n from patients group by disease").ask(epsilon=0.5)
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.accounting.guarantee import Guarantee
from discreet.engines.engine import DeclarationOutcome
from discreet.engines.engine_registry import EngineRegistry
from discreet.errors import Flag, Message, ProjectError, UsageError, no_release
from discreet.kernel.curator import Curator, Version
from discreet.kernel.exact_totals import edited_places
from discreet.kernel.project_session import Session, open_session
from discreet.ledger import repair
from discreet.ledger.charge_request import UNNAMED, Asker
from discreet.ledger.ledger import Ledger
from discreet.ledger.ledger_location import LedgerLocation
from discreet.project import budget, publications
from discreet.project.budget import BudgetStatus, budget_of
from discreet.project.code_book import CodeBook
from discreet.project.declaration import (
    DeclaredTables,
    TableWish,
    check_draft,
    draft_table,
    once_each_population,
)
from discreet.project.folder import (
    ledger_path,
    make_project_folder,
    nearest_project_folder,
    refuse_other_mark,
    refuse_state_inside,
)
from discreet.project.short_years import with_last_years
from discreet.project.table_draft import TableDraft
from discreet.project.version_erasure import ErasureReport
from discreet.project.versions import RemovalReport, Versions
from discreet.release import Release
from discreet.schema.address import DEFAULT
from discreet.schema.column import type_name
from discreet.schema.edge_table import refuse_edge_table
from discreet.schema.project_file import NAME, read_file, read_project
from discreet.schema.schema import Table, closest_name_hint
from discreet.schema.source_layout import UNDECLARED, SourceLayout
from discreet.schema.toml_edit import set_keys, text_with_table, text_without_table, write
from discreet.schema.toml_file import parse_toml, read_text
from discreet.sql.parsed_query import ParsedQuery

if TYPE_CHECKING:
    from discreet.answers import bounds as bounding
    from discreet.answers.repeats import Reads
    from discreet.project.explained_batch import BatchExplanation
    from discreet.project.question import Question
    from discreet.project.recall import RecalledRelease
    from discreet.sql.catalog import PublicTable
    from discreet.tables.description.description import Description

__all__ = ["BudgetStatus", "ErasureReport", "Project", "RemovalReport"]

#: A question that counts longer than this is stopped; it stays charged.
DEADLINE_S = 600.0


class Project:
    """A folder with a discreet.toml, a ledger and declared tables."""

    def __init__(self, folder: Path, *, deadline_s: float = DEADLINE_S) -> None:
        self.folder = folder
        self.deadline_s = deadline_s
        self.file = read_file(folder / NAME)

    def __repr__(self) -> str:
        listed = ", ".join(self.file.tables) or "no tables yet"
        return f"<Project {self.folder}: {listed}>"

    @staticmethod
    def find(path: str | PathLike[str]) -> Project:
        """The nearest project at or above `path`."""
        return Project(nearest_project_folder(path))

    @staticmethod
    def make(
        path: str | PathLike[str], *, epsilon: object = None, delta: object = None, practice: bool = False
    ) -> Project:
        """Create discreet.toml and an empty ledger. Refuses to overwrite."""
        return Project(make_project_folder(path, epsilon=epsilon, delta=delta, practice=practice))

    @cached_property
    def ledger_path(self) -> LedgerLocation:
        """Where the ledger is."""
        return ledger_path(self.folder, self.file)

    @cached_property
    def ledger(self) -> Ledger:
        """The open ledger, verified."""
        refuse_state_inside(self.folder)
        ledger = Ledger.open(self.ledger_path)
        refuse_other_mark(self.file, ledger)
        return ledger

    @cached_property
    def curator(self) -> Curator:
        """The kernel over this project's ledger and engine."""
        return Curator(
            ledger=self.ledger,
            engine=EngineRegistry(deadline_s=self.deadline_s),
            folder=self.folder / ".discreet" / "tables",
        )

    @cached_property
    def versions(self) -> Versions:
        """The versions of the declared tables."""
        return Versions(folder=self.folder, file=self.file, curator=self.curator)

    def reread(self) -> Project:
        """The project with discreet.toml read again, on the same ledger and engine."""
        reread_project = Project(self.folder, deadline_s=self.deadline_s)
        if reread_project.ledger_path != self.ledger_path:
            raise UsageError(f"{NAME} names another ledger than the one in use", hint="restart the program")
        reread_project.__dict__.update(ledger=self.ledger, curator=self.curator)
        return reread_project

    def _reload_file(self) -> None:
        """After the file was written to."""
        self.file = read_file(self.folder / NAME)
        self.__dict__.pop("versions", None)

    def sql(self, text: str, *, groups_per_person: object = None, rows_per_person_per_group: object = None) -> Question:
        """Parse an SQL query. Free: `ask` charges it. A refusal names the part of the query at fault.

        `groups_per_person`, `rows_per_person_per_group`: the rows of one person count in at most so many groups, and so
        many in each. They become comments of the text.
        """
        # With the parser and all that answers, which what asks nothing need not load.
        from discreet.project.question import Question
        from discreet.sql.group_limits import with_limits
        from discreet.sql.query_parser import parse_query

        text = with_limits(text, groups=groups_per_person, rows=rows_per_person_per_group)
        query = self.versions.query_cache.parse(text, self.versions.catalog(), parse=parse_query)
        return Question(project=self, query=query)

    def stored_statement_reader(self) -> Reads:
        """How the statements of stored answers are read: all against one catalog, of when the first is read."""
        from discreet.sql.query_parser import parse_query

        catalog = cache(self.versions.catalog)  # most answers need none
        return lambda text: parse_query(text, catalog(), was_accepted=True)

    def batch(
        self,
        text: str,
        *,
        epsilon: object = None,
        within: object = None,
        confidence: object = "0.95",
        delta: object = None,
        weights: object = None,
        analyst: str | None = None,
        key: str | None = None,
    ) -> list[Release]:
        """Answer several queries together, for one epsilon in total. Either all are charged or none.

        They are planned as one workload where that makes the errors of the batch smaller: the answers then agree with
        each other. `weights`: how much a squared error of each query matters, such as [1, 3, 1]; a comment
        `-- weight: 3` before a query says the same.
        """
        from discreet.answers.batch import ask_batch
        from discreet.answers.workload.statement_notes import statement_weights
        from discreet.project.question import query_session, wish_of
        from discreet.sql.query_parser import parse_batch

        wish, asker = wish_of(epsilon, within, confidence, delta), self.asker(analyst, key)
        queries = parse_batch(text, self.versions.catalog())
        if not queries:
            raise UsageError("the batch contains no query")
        weighed = statement_weights([query.text for query in queries], weights)
        queries, made = self.versions.settle_queries(queries, lambda: parse_batch(text, self.versions.catalog()))
        version_of = {(version.table, version.number): version for versions in made for version in versions}

        def session_of(query: ParsedQuery) -> Session:
            return query_session(self, [version_of[scan.table, scan.version] for scan in query.tables], asker)

        return ask_batch(queries, wish, session_of, weights=weighed)

    def explain_batch(
        self,
        text: str,
        *,
        epsilon: object = None,
        within: object = None,
        confidence: object = "0.95",
        delta: object = None,
        weights: object = None,
    ) -> BatchExplanation:
        """What several queries would cost together, how they are measured, and the error of each. Free.

        `weights`: see `batch`.
        """
        from discreet.answers.batch_explanation import explain_batch
        from discreet.answers.workload.statement_notes import statement_weights
        from discreet.project.explained_batch import BatchExplanation
        from discreet.project.question import query_session, wish_of
        from discreet.sql.query_parser import parse_batch

        wish = wish_of(epsilon, within, confidence, delta)
        queries = parse_batch(text, self.versions.catalog())
        if not queries:
            raise UsageError("the batch contains no query")
        weighed = statement_weights([query.text for query in queries], weights)

        def session_of(query: ParsedQuery) -> Session:
            return query_session(self, [self.peek_version(scan.table) for scan in query.tables], UNNAMED)

        return BatchExplanation(data=explain_batch(queries, wish, session_of, weights=weighed))

    def settle_query(self, query: ParsedQuery) -> tuple[ParsedQuery, list[Version]]:
        """A question as read against versions that exist, and those versions; first ones are made where none is.

        Codes mean what a version's own schema says.
        """
        from discreet.sql.query_parser import parse_query

        (settled,), (versions,) = self.versions.settle_queries(
            [query], lambda: [parse_query(query.text, self.versions.catalog())]
        )
        return settled, versions

    def asker(self, analyst: str | None, key: str | None = None) -> Asker:
        """The analyst who asks, and their quota. If discreet.toml names analysts, it must be one of them.

        `key`: a digest of the request; see `Ledger.charge`.
        """
        quotas = self.file.analysts
        name = next((name for name in quotas if name.casefold() == (analyst or "").casefold()), analyst)
        if quotas and name not in quotas:
            raise UsageError(
                f"{NAME} sets quotas for analysts, but "
                + ("no analyst was named" if analyst is None else f"{analyst[:60]!r} is not one of them"),
                hint=Message(
                    Flag("analyst", "NAME"),
                    ", where NAME has a section [analysts.NAME]; "
                    "the owner adds one for each analyst, and for themselves; ",
                    closest_name_hint(analyst or "", quotas),
                ),
            )
        return Asker(name=name, quota=quotas.get(name or ""), key=key)

    def again(
        self,
        release: str,
        *,
        epsilon: object = None,
        within: object = None,
        confidence: object = "0.95",
        analyst: str | None = None,
        key: str | None = None,
    ) -> Release:
        """Make an earlier answer more precise: spend so much more `epsilon` on it, or just enough to be `within` ±.

        Charged: only the difference to what was paid, or a new measurement that is combined with the earlier one,
        whichever costs the budget less (docs/proofs/instalments.md).
        """
        from discreet.answers.sql import again, ask
        from discreet.project.question import query_session, wish_of
        from discreet.project.recall import repeatable_statement
        from discreet.sql.query_parser import parse_query

        asker = self.asker(analyst, key)
        charge = self.ledger.refresh().charges.get(release)
        if charge is None:
            raise no_release(release)
        text = repeatable_statement(release, versions=self.versions)
        version = self.version(charge.table)
        query, versions = self.settle_query(parse_query(text, self.versions.catalog()))
        if version.number != charge.version or query.inquiry.question() != charge.question:
            raise UsageError(
                f"release {release} is about version {charge.version} of {charge.table!r}, which is not the newest",
                hint="run the query on the newest version",
            )
        session, wish = query_session(self, versions, asker), wish_of(epsilon, within, confidence)
        if within is not None:
            return ask(query, wish, session, fresh=False, reads=self.stored_statement_reader())
        return again(query, release, wish, session)

    def release(self, release: str, *, confidence: object = None, statement: int = 1, within: object = None) -> Release:
        """Read an SQL answer of this project back from the ledger, for any version. Free; `cost` is what was charged.

        `statement`: which query of a batch, from 1. `within`: the precision that was asked for; if only the missing
        precision was charged, the answer is combined with the earlier ones. Releases of other kinds are refused.
        """
        from discreet.project.recall import read_back

        return read_back(release, versions=self.versions, confidence=confidence, statement=statement, within=within)

    def recall(self, release: str) -> RecalledRelease:
        """What the ledger knows about a release of any kind: its kind, its analyst, its table and its cost. Free."""
        from discreet.project.recall import recall_release

        return recall_release(release, ledger=self.ledger)

    def add(
        self,
        source: str | PathLike[str] | object,
        *,
        name: str | None = None,
        person: str | Mapping[str, str] | None = None,
        rows_per_person: int | None = None,
        ends: tuple[str, str] | None = None,
        epsilon: object = None,
        delta: object = None,
        public: bool = False,
        population: str | None = None,
        engine: str = DEFAULT,
        layout: SourceLayout | None = None,
        codebook: str | PathLike[str] | CodeBook | None = None,
    ) -> Table:
        """Declare a table: propose names and types for its columns and write them into discreet.toml.

        `source`: files, a table of an engine, or a data frame (pandas, polars, Arrow), which needs a `name` and is kept
        in the project's folder as Parquet. `layout`: how the files are laid out; what it leaves out is detected.

        The owner may edit the proposal. From then on discreet.toml, not the data, defines the columns. Bounds and
        categories are never proposed, because they would be read from the data; a code book, which is public, says
        them (docs/guides/declaring.md). `person`: the column that identifies the person of each row, or {"through":
        "visits", "on": "visit"} where rows refer to rows of another table.
        """
        if not isinstance(source, str | PathLike):
            from discreet.project.frame_source import stored_frame

            with stored_frame(source, name=name, folder=self.folder) as file:
                return self.add(
                    file, name=name, person=person, rows_per_person=rows_per_person, ends=ends, epsilon=epsilon,
                    delta=delta, public=public, population=population, codebook=codebook,
                )  # fmt: skip
        draft = self.draft(
            source, name=name, person=person, rows_per_person=rows_per_person, ends=ends, epsilon=epsilon,
            delta=delta, public=public, population=population, engine=engine, layout=layout, codebook=codebook,
            look=False,
        )  # fmt: skip
        return self.add_draft(draft)

    def draft(
        self,
        source: str | PathLike[str],
        *,
        name: str | None = None,
        person: str | Mapping[str, str] | None = None,
        rows_per_person: int | None = None,
        ends: tuple[str, str] | None = None,
        epsilon: object = None,
        delta: object = None,
        public: bool = False,
        population: str | None = None,
        engine: str = DEFAULT,
        layout: SourceLayout | None = None,
        codebook: str | PathLike[str] | CodeBook | None = None,
        look: bool = True,
    ) -> TableDraft:
        """What `add` would declare, to look at and to change first: `draft.replace`, `draft.toml`, `add_draft`.

        For the owner: types are read from the first rows, and with `look` also which columns repeat. Nothing is
        written.
        """
        wish = TableWish(
            source=os.fspath(source),
            name=name,
            person=person,
            rows_per_person=rows_per_person,
            ends=ends,
            budget=budget_of(epsilon, delta),
            public=public,
            population=population,
            address=engine,
            layout=layout or UNDECLARED,
            looks_for_persons=look,
        )
        return draft_table(wish, self._declared_tables(), codebook=codebook)

    def add_draft(self, draft: TableDraft) -> Table:
        """Write a draft into discreet.toml. Refused, and nothing is written, where it does not hold together."""
        write(self.folder / NAME, self.draft_text(draft))
        self._reload_file()
        return self.table(draft.name)

    def draft_text(self, draft: TableDraft) -> str:
        """All of discreet.toml, as `add_draft` would write it. Refused where it does not hold together."""
        check_draft(draft, self._declared_tables())
        text = text_with_table(
            self.folder / NAME,
            draft.name,
            draft.settings,
            with_last_years(draft.declared_columns),
            populations=draft.population_settings,
        )
        read_project(parse_toml(text, name=NAME, error=ProjectError))
        return text

    def add_drafts(self, drafts: Iterable[TableDraft]) -> list[Table]:
        """Write several drafts into discreet.toml: all of them, or none."""
        before = read_text(self.folder / NAME)
        try:
            return [self.add_draft(draft) for draft in once_each_population(drafts)]
        except BaseException:
            write(self.folder / NAME, before)
            self._reload_file()
            raise

    def _declared_tables(self) -> DeclaredTables:
        return DeclaredTables(
            file=self.file,
            folder=self.folder,
            engine=self.curator.engine,
            check=self.versions.refuse_second_budget,
        )

    def bounds(
        self,
        name: str,
        columns: Sequence[str] = (),
        *,
        epsilon: object,
        delta: object = None,
        cells: object = 50,
        for_epsilon: object = 1,
    ) -> bounding.BoughtBounds:
        """Measure rows_per_person, bounds and values that are not declared; write them into discreet.toml. Charged.

        `cells` and `for_epsilon`: rows_per_person is chosen for counts by `cells` groups at that epsilon.
        `columns`: the columns to measure; without it, everything that is missing and needs no name.
        Call `refresh` to apply the result.
        """
        from discreet.answers import bounds as bounding

        terms = bounding.BoundsTerms.of(epsilon=epsilon, delta=delta, cells=cells, for_epsilon=for_epsilon)
        table = self.private(name)
        missing = bounding.find_missing_bounds(
            table, self.file.raw[table.name], self.peek_version(name), columns, terms
        )
        bought = bounding.buy_bounds(missing, terms, open_session(self, name, UNNAMED))
        set_keys(self.folder / NAME, table.name, *bought.toml_settings())
        self._reload_file()
        return bought

    def bias(
        self, name: str, columns: Sequence[str] = (), *, epsilon: object, cells: object = 50, for_epsilon: object = 1
    ) -> bounding.Bias:
        """Estimate privately how much rows_per_person and the bounds leave out, compared with the noise. Charged."""
        from discreet.answers import bounds as bounding

        terms = bounding.BoundsTerms.of(epsilon=epsilon, cells=cells, for_epsilon=for_epsilon)
        scope = bounding.bias_scope(self.private(name), self.peek_version(name), columns)
        return bounding.estimate_bias(scope, terms, open_session(self, name, UNNAMED))

    def declare_described(self, description: Description) -> list[str]:
        """Write what a description found, and discreet.toml does not declare, into it; return the names of the columns.

        Bounds are rounded outward and marked with the epsilon they were measured for. Call `refresh` to apply them.
        """
        from discreet.tables.description.description_declaration import undeclared_settings

        table = self.private(description.table)
        types = {each.name: type_name(each.column) for each in description.columns}
        declared = self.file.raw[table.name]["columns"]
        columns = undeclared_settings(description.settings, types, table=table, declared=declared)
        if columns:
            set_keys(self.folder / NAME, table.name, {}, columns)
            self._reload_file()
        return list(columns)

    # The verbs that publish: each is a function of `publications`, whose first argument is the project.
    histogram = publications.histogram
    ranges = publications.ranges
    plan_ranges = publications.plan_ranges
    marginals = publications.marginals
    plan_marginals = publications.plan_marginals
    describe = publications.describe
    describe_plan = publications.describe_plan
    publish = publications.publish
    plan_publish = publications.plan_publish
    stream = publications.stream
    reconcile = publications.reconcile
    synthesize = publications.synthesize
    graph = publications.graph
    compare = publications.compare

    def public(self, name: str) -> PublicTable:
        """Read a declared public table."""
        read = self.versions.catalog()[self.table(name).name].public
        if read is None:
            raise UsageError(f"{name!r} is not public", hint="if it is public, declare it with public = true")
        return read()

    def private(self, name: str) -> Table:
        """A declared table that is not public."""
        table = self.table(name)
        if table.public:
            raise UsageError(
                f"{table.name!r} is public: its values can be read directly", hint="declare the values you find there"
            )
        return table

    def refresh(self, name: str, *, force: bool = False) -> tuple[int, DeclarationOutcome | None]:
        """Make a new version of a declared table from its source; return its number and what was made. For the owner.

        If neither the source nor the declaration has changed, no version is made: the number is that of the newest
        one, and the second value is None. `force=True` makes one in any case, from all of the source.
        """
        return self.versions.refresh(name, force=force)

    def is_up_to_date(self, name: str) -> bool | None:
        """Whether neither source nor declaration of a table has changed; None if unknown. For the owner only."""
        return self.versions.changes.is_up_to_date(name)

    def remove(self, name: str) -> RemovalReport:
        """Remove a table before the first answer about its people: its declaration, its versions and their files.

        Its source stays. Refused once something was released about its people. For the owner.
        """
        table = self.versions.removable_table(name)
        text = text_without_table(self.folder / NAME, table) if table in self.file.tables else None
        report = self.versions.remove_versions(table)
        if text is not None:
            write(self.folder / NAME, text)
            self._reload_file()
        return report

    def retire(self, name: str) -> RemovalReport:
        """Take a table about which something was released out of use: its declaration and the files of its versions.

        What was released stays readable, and what was spent stays spent: declared again, the same people have what is
        left of their budget. Its source stays. For the owner.
        """
        table = self.versions.retirable_table(name)
        text = text_without_table(self.folder / NAME, table)
        write(self.folder / NAME, text)  # first: no question comes to files that are gone
        report = self.versions.retire_versions(table)
        self._reload_file()
        return report

    def edited_places(self, name: str) -> list[str]:
        """The public tables that exact totals of a table were grouped by and that were edited since."""
        return edited_places(self.ledger, self.table(name).name, self.public)

    def forget(self, name: str, person: Sequence[str]) -> ErasureReport:
        """Erase a person from every version of a table and of the tables reached through it. For the owner."""
        return self.versions.erasure.forget(name, person)

    def table(self, name: str) -> Table:
        """A declared table by name, ignoring case."""
        return self.file.table(name)

    @property
    def tables(self) -> dict[str, Table]:
        """The declared tables by name."""
        return dict(self.file.tables)

    @property
    def releases(self) -> list[RecalledRelease]:
        """All releases, newest first, without their numbers: `release` reads one back. Free."""
        from discreet.project.recall import recall_releases

        return list(recall_releases(list(reversed(self.ledger.refresh().charges)), ledger=self.ledger))

    def ledger_table(self, name: str) -> Table:
        """A declared table as the ledger has it: an edit of its population or person has no effect until `refresh`."""
        return self.versions.records.ledger_table(self.table(name))

    def version(self, name: str) -> Version:
        """The newest version of a table; the first one is made when it is first needed. Refuses tables with ends.

        Every verb comes by here, or by `peek_version`, before it charges; graph statistics alone take
        `versions.newest`, for they know what a network keeps.
        """
        self.peek_version(name)
        return self.versions.newest(name)

    def peek_version(self, name: str) -> Version:
        """The version that queries are parsed against: the newest, or what the first would be. See `version`."""
        version = self.versions.peek(name)
        refuse_edge_table(version.schema)
        return version

    def guarantee(self, name: str) -> Guarantee:
        """The limit of a table's population: as the ledger has it, or else as declared."""
        return budget.guarantee(self.ledger_table(name), self.ledger)

    def budget(self, name: str | None = None) -> BudgetStatus:
        """The budget of a table's population: limit, spent and remaining. `name` is optional with one private table."""
        private = [table.name for table in self.file.tables.values() if not table.public]
        if name is None and len(private) != 1:
            raise UsageError("which table?", hint=closest_name_hint("", private) or "declare a table first")
        table = self.table(name if name is not None else private[0])
        if table.public:
            raise UsageError(f"{table.name!r} is public and has no budget")
        return budget.budget_status(self.ledger_table(table.name), self.ledger)

    def grant(self, name: str, *, epsilon: object, delta: object = None) -> Guarantee:
        """Raise the limit of a table's population to `epsilon` (and `delta`). For the owner."""
        return budget.grant(self.ledger_table(name), self.ledger, epsilon=epsilon, delta=delta)

    def owns_file(self, path: Path) -> bool:
        """Whether a file belongs to the project: its declaration, a source, or anything beside the ledger."""
        target, own = path.resolve(), (self.folder / ".discreet").resolve()
        files = [path.resolve() for path in (self.folder / NAME, self.ledger_path) if isinstance(path, Path)]
        return target in (*files, own) or own in target.parents or self.versions.changes.is_source_file(target)

    def verify(self) -> repair.LedgerVerification:
        """Verify the whole ledger from disk."""
        return repair.verify(self.ledger_path)

    def acknowledge(self) -> repair.RepairOutcome:
        """Unlock the ledger after a rollback or repeated failures. What the ledger lost is charged again."""
        return repair.acknowledge(self.ledger_path)

    def adopt(self, state: str | PathLike[str] | None = None, *, alone: bool = False) -> repair.RepairOutcome:
        """Use a ledger on this machine, with its state folder or, at the cost of the whole budget, without it.

        `alone`: lock out every other machine that shares the ledger.
        """
        return repair.adopt(self.ledger_path, None if state is None else Path(state), alone=alone)

    def source_changed(self, name: str) -> bool:
        """Whether the source has changed since the newest version was made. For the owner only."""
        return self.versions.changes.source_changed(name)

    def changed_sources(self, names: Collection[str]) -> list[str] | None:
        """Which of these tables have files that changed since their newest version; None if unknown. For the owner."""
        return self.versions.changes.changed_sources(names)

    def warnings(self, name: str) -> list[str]:
        """Where discreet.toml and the ledger differ. These are public facts: no data is read."""
        return self.versions.differences.warnings(name)
