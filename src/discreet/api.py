"""The facade: a project folder, its questions and its budget.

One class of many short methods, one for each verb; what they do lies in answers, declaring and the curator.

clinic = discreet.open("clinic/")
release = clinic.sql("select disease, count(*) n from patients group by disease").ask(epsilon=0.5)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from os import PathLike
from pathlib import Path

from discreet import exact
from discreet.accounting.guarantee import Accounting, Guarantee
from discreet.answers import afford, quoting
from discreet.answers import bounds as bounding
from discreet.answers import sql as answers
from discreet.answers.batch import ask_batch
from discreet.answers.sql import Asker
from discreet.curator import Curator, Version
from discreet.declaring import propose, refuse_second_budget, shares
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.engine import Making
from discreet.engines.fingerprint import fingerprint
from discreet.engines.person_keys import MARK
from discreet.engines.public import load
from discreet.engines.source import find
from discreet.errors import ProjectError, SchemaError, UsageError
from discreet.ledger import repair
from discreet.ledger.account import Account
from discreet.ledger.ledger import Ledger
from discreet.ledger.place import state_root
from discreet.ledger.records import Version as Held
from discreet.question import Question, wish_of
from discreet.release import Release, Spending
from discreet.schema.edit import add_table, set_keys, write
from discreet.schema.file import DEFAULT_LEDGER, NAME, ProjectFile, plain, read_file, read_table
from discreet.schema.path import path_of
from discreet.schema.schema import Budget, Schema, Table, closest
from discreet.sql.asked import Asked
from discreet.sql.catalog import Known, PublicTable
from discreet.sql.read import read, read_batch
from discreet.sql.text import statements

__all__ = ["Project", "Question", "Standing"]

#: A question that counts longer than this is stopped; it stays charged.
DEADLINE_S = 600.0

#: What of a table's declaration a version keeps: the rest (budget, population) belongs to the ledger.
_VERSIONED = ("source", "engine", "person", "rows_per_person", "columns")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a population's budget stands. The guarantee is the limit; `spent` is bookkeeping."""

    population: str
    limit: Spending
    spent: Spending
    remaining: Spending
    events: int
    by_analyst: Mapping[str, Spending]
    accounting: str
    counts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What forgetting a person erased. Exact: for the owner only."""

    tables: tuple[str, ...]
    exact_versions: int


class Project:
    """A folder with a discreet.toml, a ledger and declared tables."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file: ProjectFile = read_file(folder / NAME)
        self._publics: dict[str, tuple[object, PublicTable]] = {}
        self._schemas: dict[tuple[str, int, str], Schema] = {}

    @staticmethod
    def find(path: str | PathLike[str]) -> Project:
        """The nearest project at or above `path`."""
        start = Path(path).resolve()
        if not start.exists():
            raise ProjectError(f"there is no folder {str(path)!r}")
        for folder in (start, *start.parents):
            if (folder / NAME).is_file():
                return Project(folder)
        raise ProjectError(f"there is no {NAME} here or above", hint="discreet init makes one")

    @staticmethod
    def make(path: str | PathLike[str], *, epsilon: object = None, delta: object = None) -> Project:
        """Write a new discreet.toml and an empty ledger; refuses to overwrite."""
        folder = Path(path)
        if (folder / NAME).exists():
            return Project._complete(Project(folder.resolve()))
        if (folder / ".discreet" / "ledger.db").exists():
            raise ProjectError(f"there is a ledger here but no {NAME}", hint=f"bring {NAME} back; a ledger is for ever")
        text = f'[project]\nledger = "{DEFAULT_LEDGER}"\n'
        if (budget := _budget(epsilon, delta)) is not None:
            text += _budget_line(budget) + "\n"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write(folder / NAME, text)
        except OSError as problem:
            raise ProjectError(f"cannot write {NAME} in {str(path)!r}: {problem.strerror}") from None
        project = Project(folder.resolve())
        try:
            return Project._complete(project)
        except BaseException:
            (folder / NAME).unlink()
            raise

    @staticmethod
    def _complete(project: Project) -> Project:
        """Make the ledger of a project that has none yet."""
        if project.ledger_path.exists():
            raise ProjectError(f"there is a {NAME} here already", hint="discreet add FILE declares a table")
        project._refuse_state_inside()
        Ledger.create(project.ledger_path).close()
        ignore = project.ledger_path.parent / ".gitignore"
        if ignore.parent.name == ".discreet" and not ignore.exists():
            ignore.write_text("*\n")  # copies of private tables lie here
        return project

    @cached_property
    def ledger_path(self) -> Path:
        """Where the ledger lies."""
        prefix = "sqlite:///"
        if not self.file.ledger.startswith(prefix):
            raise ProjectError(
                f"[project] ledger = {self.file.ledger[:40]!r} is not known",
                hint=f'ledger = "{DEFAULT_LEDGER}"',
            )
        return self.folder / self.file.ledger.removeprefix(prefix)

    @cached_property
    def ledger(self) -> Ledger:
        """The open ledger, verified."""
        self._refuse_state_inside()
        return Ledger.open(self.ledger_path)

    def _refuse_state_inside(self) -> None:
        """The key and the head lie outside the project, or restoring its folder would restore the budget unseen."""
        state = state_root()
        if not state.is_absolute() or self.folder.resolve() in (state.resolve(), *state.resolve().parents):
            raise ProjectError(
                "the state folder lies inside the project folder",
                hint="set DISCREET_STATE to an absolute path outside it, or keep the project in a folder of its own",
            )

    @cached_property
    def curator(self) -> Curator:
        """The kernel over this project's ledger and engine."""
        return Curator(
            ledger=self.ledger, engine=DuckDBEngine(deadline_s=DEADLINE_S), folder=self.folder / ".discreet" / "tables"
        )

    def sql(self, text: str) -> Question:
        """A question in SQL. Reading it is free; a refusal says what and where."""
        return Question(project=self, asked=read(text, self._catalog()))

    def batch(
        self,
        text: str,
        *,
        epsilon: object = None,
        within: object = None,
        confidence: object = "0.95",
        delta: object = None,
        analyst: str | None = None,
    ) -> list[Release]:
        """Answer several statements as one plan, for one epsilon in all. Charged all or not at all."""
        wish = wish_of(epsilon, within, confidence, delta)
        asked = read_batch(text, self._catalog())
        if not asked:
            raise UsageError("there is no question in the batch")
        made = [[self.version(scan.table) for scan in each.tables] for each in asked]
        while not all(map(_read_against, asked, made)):
            asked = read_batch(text, self._catalog())
            made = [[self.version(scan.table) for scan in each.tables] for each in asked]
        known = {(version.table, version.number): version for versions in made for version in versions}
        return ask_batch(
            asked,
            wish,
            versions=lambda each: [known[scan.table, scan.version] for scan in each.tables],
            guarantee=self.guarantee,
            curator=self.curator,
            asker=self.asker(analyst),
        )

    def _catalog(self) -> dict[str, Known]:
        """What questions may name, as it stands now: the newest versions, else the declarations."""
        self.ledger.refresh()
        return {name: self._known(table) for name, table in self.file.tables.items()}

    def _known(self, table: Table) -> Known:
        if table.public:
            return Known(schema=table.schema, public=lambda: self._public(table))
        version = self.known_version(table.name)
        return Known(schema=version.schema, version=version.number, population=version.population)

    def _public(self, table: Table) -> PublicTable:
        """A public table, read; read anew only when its files have changed."""
        files = find(table.source, folder=self.folder).files
        stamp = tuple((str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files)
        known = self._publics.get(table.name)
        if known is None or known[0] != stamp:
            known = self._publics[table.name] = (stamp, load(table, folder=self.folder))
        return known[1]

    def about(self, asked: Asked) -> tuple[Asked, list[Version]]:
        """A question as read against versions that exist, and those versions; first ones are made where none is.

        Codes mean what a version's own schema says.
        """
        self.ledger.refresh()
        versions = [self.version(scan.table) for scan in asked.tables]
        while not _read_against(asked, versions):
            asked = read(asked.text, self._catalog())
            versions = [self.version(scan.table) for scan in asked.tables]
        return asked, versions

    def asker(self, analyst: str | None) -> Asker:
        """An analyst with their quota, where the file gives them one."""
        return Asker(name=analyst, quota=None if analyst is None else self.file.analysts.get(analyst))

    def again(
        self, release: str, *, epsilon: object, confidence: object = "0.95", analyst: str | None = None
    ) -> Release:
        """Measure an earlier question of this project once more and read both answers together. Charged."""
        charge = self.ledger.refresh().charges.get(release)
        if charge is None:
            raise UsageError(f"there is no release {release[:60]!r}", hint="discreet ledger show lists them")
        if len(statements(self.curator.stored(release).text)) != 1:
            raise UsageError(f"release {release} is of a batch", hint="ask its statement by itself, then again")
        version = self.version(charge.table)
        asked, versions = self.about(read(self.curator.stored(release).text, self._catalog()))
        if version.number != charge.version or asked.inquiry.question() != charge.question:
            raise UsageError(
                f"release {release} is about version {charge.version} of {charge.table!r}, which is not the newest",
                hint="ask the question anew",
            )
        return answers.again(
            asked,
            release,
            wish_of(epsilon, None, confidence),
            versions=versions,
            guarantee=self.guarantee(version.table),
            curator=self.curator,
            asker=self.asker(analyst),
        )

    def add(
        self,
        source: str | PathLike[str],
        *,
        name: str | None = None,
        person: str | None = None,
        rows_per_person: int | None = None,
        epsilon: object = None,
        delta: object = None,
        public: bool = False,
        population: str | None = None,
    ) -> Table:
        """Declare a table: propose names and types for its columns and write them into discreet.toml.

        The proposal is for the owner. From then on the file, not the data, says what a column is; bounds
        and categories are never proposed, for they would be read from data.
        """
        wanted, settings, columns = propose(
            Path(source),
            name=name,
            person=person,
            rows_per_person=rows_per_person,
            budget=_budget(epsilon, delta),
            public=public,
            population=population,
            file=self.file,
            folder=self.folder,
            engine=self.curator.engine,
        )
        add_table(self.folder / NAME, wanted, settings, columns)
        self.file = read_file(self.folder / NAME)
        return self.table(wanted)

    def bounds(
        self,
        name: str,
        columns: Sequence[str] = (),
        *,
        epsilon: object,
        delta: object = None,
        cells: object = 50,
        for_epsilon: object = 1,
    ) -> bounding.Bought:
        """Buy rows_per_person, bounds and values that are not declared, and write them into discreet.toml. Charged.

        `cells` and `for_epsilon` say what for: rows_per_person fits counts by so many groups at that epsilon.
        `refresh` applies what was found. `columns`: else all that is missing and can be found without a name.
        """
        terms = bounding.Terms.of(epsilon=epsilon, delta=delta, cells=cells, for_epsilon=for_epsilon)
        table = self._private(name)
        wanted = bounding.wishes(table, self.file.raw[table.name], self.known_version(name), columns, terms)
        version = self.version(name)
        found = bounding.buy(wanted, terms, version=version, guarantee=self.guarantee(name), curator=self.curator)
        set_keys(self.folder / NAME, table.name, *found.written())
        self.file = read_file(self.folder / NAME)
        return found

    def bias(
        self, name: str, columns: Sequence[str] = (), *, epsilon: object, cells: object = 50, for_epsilon: object = 1
    ) -> bounding.Bias:
        """What rows_per_person and the bounds take away, estimated privately, beside the noise. Charged."""
        terms = bounding.Terms.of(epsilon=epsilon, cells=cells, for_epsilon=for_epsilon)
        judged = bounding.judged(self._private(name), self.known_version(name), columns)
        version = self.version(name)
        return bounding.estimate(judged, terms, version=version, guarantee=self.guarantee(name), curator=self.curator)

    def _private(self, name: str) -> Table:
        table = self.table(name)
        if table.public:
            raise UsageError(
                f"{table.name!r} is public: what it holds can be read off it", hint="declare what is there"
            )
        return table

    def refresh(self, name: str) -> tuple[int, Making]:
        """Make a new version of a declared table from its source. An act of the owner."""
        making = self._make(name)
        return self.version(name).number, making

    def _make(self, name: str, *, number: int | None = None) -> Making:
        table = self.table(name)
        if table.public:
            raise UsageError(f"{table.name!r} is public and is read directly", hint="only private tables have versions")
        refuse_second_budget(table, folder=self.folder, versions=self.ledger.refresh().versions, seal=self.ledger.seal)
        schema = {key: plain(self.file.raw[table.name][key]) for key in _VERSIONED if key in self.file.raw[table.name]}
        return self.curator.make(
            table,
            schema=schema,
            source=fingerprint(table.source, folder=self.folder, seal=self.ledger.seal),
            base=self.folder,
            guarantee=self.guarantee(name),
            number=number,
            path=path_of(table, self.file.tables),
        )

    def _make_first(self, table: Table) -> None:
        """Make the first version inside somebody's question (version 1, or the next after a rollback).

        What the header and the declaration say is told in detail. What a row says is not: it is for the
        owner, and for `refresh`. A question must not fail in a way that tells of one person.
        """
        number = self.ledger.next_version(table.name)
        found = find(table.source, folder=self.folder)
        for column in table.schema.columns:
            found.place(column.name)
        self._declared(table)
        refuse_second_budget(table, folder=self.folder, versions=self.ledger.refresh().versions, seal=self.ledger.seal)
        try:
            self._make(table.name, number=number)
        except UsageError:
            if self._held(table) is None:  # else another process was first, and made the same
                raise UsageError(
                    f"table {table.name!r} could not be made from its source",
                    hint=f"the owner runs discreet refresh {table.name}, which says why",
                ) from None

    def forget(self, name: str, person: Sequence[str]) -> Forgotten:
        """Erase a person from every version of a table and of the tables that reach their persons through it.

        An act of the owner. Versions, stored answers and losses stay; a tombstone survives refresh.
        """
        table = self.table(name)
        if table.schema.unit.is_row:
            raise UsageError(
                f"{table.name!r} protects rows, which have no person to forget",
                hint="take the row out of the source, and refresh",
            )
        if not table.schema.unit.person:
            raise UsageError(
                f"{table.name!r} reaches its persons through {table.schema.unit.through!r}",
                hint=f"discreet forget {table.schema.unit.through} PERSON",
            )
        if len(person) != len(table.schema.unit.person):
            raise UsageError(f"a person of {table.name!r} is {' and '.join(table.schema.unit.person)}")
        reached = [
            other.name
            for other in self.file.tables.values()
            if other.name != table.name and table.name in (step.name for step in path_of(other, self.file.tables))
        ]
        if table.name not in self.ledger.refresh().versions:
            raise UsageError(
                f"{table.name!r} has no version yet, so there is nobody to forget",
                hint=f"discreet refresh {table.name}",
            )
        tables = (table.name, *reached)
        return Forgotten(tables=tables, exact_versions=self.curator.forget(tuple(person), tables))

    def table(self, name: str) -> Table:
        """A declared table by name, capitals or not."""
        for known, table in self.file.tables.items():
            if known.lower() == name.lower():
                return table
        raise UsageError(f"there is no declared table {name[:60]!r}", hint=closest(name, self.file.tables))

    def version(self, name: str) -> Version:
        """The newest version of a table; the first one is made when it is first needed."""
        table = self.table(name)
        if self._held(table) is None:
            self._make_first(table)
        found = self._version(table)
        assert found is not None
        return found

    def guarantee(self, name: str) -> Guarantee:
        """The limit of a table's population: as the ledger holds it, else as declared."""
        table = self.table(name)
        account = self.ledger.state.accounts.get(table.population)
        return self._declared(table) if account is None else account.guarantee

    def budget(self, name: str | None = None) -> Standing:
        """Where the budget of a table's population stands; of the only private table where none is named."""
        private = [table.name for table in self.file.tables.values() if not table.public]
        if name is None and len(private) != 1:
            raise UsageError("which table?", hint=closest("", private) or "declare a table first")
        table = self.table(name if name is not None else private[0])
        if table.public:
            raise UsageError(f"{table.name!r} is public and has no budget")
        if table.population not in self.ledger.refresh().accounts:
            account = Account(name=table.population, guarantee=self._declared(table))
            found, limits, room = account.standing(), account.limits, account.room()
        else:
            found, room = self.ledger.standing(table.population), self.ledger.room(table.population)
            limits = self.ledger.limits(table.population)
        return Standing(
            population=table.population,
            limit=quoting.spending(found.limit),
            spent=quoting.spending(found.spent),
            remaining=quoting.spending(found.remaining),
            events=found.charges,
            by_analyst={who: Spending(epsilon=paid, delta=Fraction(0)) for who, paid in found.by_analyst.items()},
            accounting=self.guarantee(table.name).accounting,
            counts=afford.counts_left(limits, room, width=50, rows=table.schema.unit.rows),
        )

    def grant(self, name: str, *, epsilon: object, delta: object = None) -> Guarantee:
        """Raise the limit of a table's population to `epsilon` (and `delta`). An act of the owner."""
        table = self.table(name)
        old = self.guarantee(name)
        self.ledger.declare(table.population, old, unit="row" if table.schema.unit.is_row else "person")
        new_delta = old.delta if delta is None else exact.probability(delta, name="delta")
        keys = old.keys if old.delta == 0 else old.keys * new_delta / old.delta
        raised = Guarantee(
            epsilon=exact.positive(epsilon, name="epsilon", most=exact.MAX_BUDGET_EPSILON),
            delta=new_delta,
            delta_keys=None if old.delta == 0 else keys,
            accounting=old.accounting,
        )
        self.ledger.grant(table.population, raised)
        return raised

    def holds(self, path: Path) -> bool:
        """Whether a file belongs to the project: its declaration, a source, or anything beside the ledger."""
        target, own = path.resolve(), (self.folder / ".discreet").resolve()
        if target in ((self.folder / NAME).resolve(), self.ledger_path.resolve(), own) or own in target.parents:
            return True
        sources = [table.source for table in self.file.tables.values()]
        return target.exists() and any(shares(source, self.folder, [target]) for source in sources)

    def verify(self) -> repair.Report:
        """Verify the whole ledger from the disk."""
        return repair.verify(self.ledger_path)

    def acknowledge(self) -> repair.Repaired:
        """Unlock after a detected rollback or repeated failures; what was forgotten is charged anew."""
        return repair.acknowledge(self.ledger_path)

    def adopt(self, state: str | PathLike[str] | None = None) -> repair.Repaired:
        """Take a ledger to this machine, with its state folder or, at the price of the whole budget, without."""
        return repair.adopt(self.ledger_path, None if state is None else Path(state))

    def source_changed(self, name: str) -> bool:
        """Whether the source is not what the newest version was made from. For the owner's eyes only."""
        table = self.table(name)
        self.ledger.refresh()
        held = self._held(table)
        now = fingerprint(table.source, folder=self.folder, seal=self.ledger.seal)
        return held is not None and {key: held.source[key] for key in held.source if key != MARK} != now

    def warnings(self, name: str) -> list[str]:
        """Where discreet.toml and the ledger differ. Public facts: nothing here is read from data."""
        table = self.table(name)
        self.ledger.refresh()
        held = self._held(table)
        if held is None:
            return []
        told = []
        raw = self.file.raw[table.name]
        if held.schema != {key: plain(raw[key]) for key in _VERSIONED if key in raw}:
            told.append(f"{NAME} has changed since version {held.number}; `discreet refresh {table.name}` applies it")
        if table.budget is not None and self.guarantee(name).to_data() != self._declared(table).to_data():
            limit = exact.show(self.guarantee(name).epsilon)
            told.append(
                f"the ledger's limit for {table.population!r} holds, epsilon {limit}; "
                f"{NAME} says {exact.show(table.budget.epsilon)}: correct the file, or `discreet budget grant` more"
            )
        return told

    def known_version(self, name: str) -> Version:
        """The version that questions are read against: the newest, else what the first one would be."""
        table = self.table(name)
        return self._version(table) or Version(
            table=table.name, number=1, population=table.population, schema=table.schema, file=""
        )

    def _held(self, table: Table) -> Held | None:
        """The newest version that the ledger knows."""
        versions = self.ledger.state.versions.get(table.name)
        return versions[max(versions)] if versions else None

    def _version(self, table: Table) -> Version | None:
        held = self._held(table)
        if held is None:
            return None
        key = (table.name, held.number, held.time)
        if key not in self._schemas:
            self._schemas[key] = read_table(table.name, held.schema).schema
        schema = self._schemas[key]
        return Version(table=table.name, number=held.number, population=held.population, schema=schema, file=held.file)

    def _declared(self, table: Table) -> Guarantee:
        if table.budget is None:
            raise SchemaError(
                f"table {table.name!r} has no budget",
                hint="budget = { epsilon = 3.0, delta = 1e-6 } under its source",
            )
        budget = table.budget
        accounting: Accounting = budget.accounting  # type: ignore[assignment]
        return Guarantee(
            epsilon=budget.epsilon, delta=budget.delta, delta_keys=budget.delta_keys, accounting=accounting
        )


def _read_against(asked: Asked, versions: Sequence[Version]) -> bool:
    """Whether a question was read against these versions: their numbers, and the schemas that they have."""
    return all(
        (scan.table, scan.version) == (version.table, version.number) and asked.schemas[scan.table] == version.schema
        for scan, version in zip(asked.tables, versions, strict=True)
    )


def _budget(epsilon: object, delta: object) -> Budget | None:
    if epsilon is None and delta is not None:
        raise UsageError("a delta needs an epsilon", hint="--epsilon 3 --delta 1e-6")
    if epsilon is None:
        return None
    return Budget(
        epsilon=exact.positive(epsilon, name="epsilon", most=exact.MAX_BUDGET_EPSILON),
        delta=exact.probability(0 if delta is None else delta, name="delta"),
    )


def _budget_line(budget: Budget) -> str:
    epsilon, delta = (exact.show(part, digits=40) for part in (budget.epsilon, budget.delta))
    return f"budget = {{ epsilon = {epsilon}, delta = {delta} }}"
