"""The facade: a project folder, its questions and its budget.

One class of many short methods, one for each verb; what they do lies in answers, declaring, versions and the curator.

clinic = discreet.open("clinic/")
release = clinic.sql("select disease, count(*) n from patients group by disease").ask(epsilon=0.5)
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from discreet import standing
from discreet.accounting.guarantee import Guarantee
from discreet.answers import bounds as bounding
from discreet.answers import sql as answers
from discreet.answers.batch import ask_batch
from discreet.answers.sql import Asker
from discreet.curator import Curator, Version
from discreet.declaring import propose
from discreet.engines.engine import Making
from discreet.engines.engines import Engines
from discreet.errors import UsageError, no_release
from discreet.folder import ledger_path, make, nearest, refuse_state_inside
from discreet.invariant import edited_places
from discreet.ledger import repair
from discreet.ledger.ledger import Ledger
from discreet.ledger.where import Where
from discreet.publishing import Publishing
from discreet.question import Question, wish_of
from discreet.recall import Recalled, read_back, recalled, repeatable
from discreet.release import Release
from discreet.schema.address import DEFAULT
from discreet.schema.edit import add_table, set_keys
from discreet.schema.file import NAME, read_file
from discreet.schema.network import refuse_rows
from discreet.schema.schema import Table, closest
from discreet.sql.asked import Asked
from discreet.sql.read import read, read_batch
from discreet.standing import Standing, budget_of
from discreet.versions import Forgotten, Versions

if TYPE_CHECKING:
    from discreet.sql.catalog import PublicTable

__all__ = ["Forgotten", "Project", "Question", "Standing"]

#: A question that counts longer than this is stopped; it stays charged.
DEADLINE_S = 600.0


class Project(Publishing):
    """A folder with a discreet.toml, a ledger and declared tables."""

    def __init__(self, folder: Path, *, deadline_s: float = DEADLINE_S) -> None:
        self.folder = folder
        self.deadline_s = deadline_s
        self.file = read_file(folder / NAME)

    @staticmethod
    def find(path: str | PathLike[str]) -> Project:
        """The nearest project at or above `path`."""
        return Project(nearest(path))

    @staticmethod
    def make(path: str | PathLike[str], *, epsilon: object = None, delta: object = None) -> Project:
        """Write a new discreet.toml and an empty ledger; refuses to overwrite."""
        return Project(make(path, epsilon=epsilon, delta=delta))

    @cached_property
    def ledger_path(self) -> Where:
        """Where the ledger lies."""
        return ledger_path(self.folder, self.file)

    @cached_property
    def ledger(self) -> Ledger:
        """The open ledger, verified."""
        refuse_state_inside(self.folder)
        return Ledger.open(self.ledger_path)

    @cached_property
    def curator(self) -> Curator:
        """The kernel over this project's ledger and engine."""
        return Curator(
            ledger=self.ledger, engine=Engines(deadline_s=self.deadline_s), folder=self.folder / ".discreet" / "tables"
        )

    @cached_property
    def versions(self) -> Versions:
        """The versions of the declared tables."""
        return Versions(folder=self.folder, file=self.file, curator=self.curator)

    def reread(self) -> Project:
        """The project as its file is now, over the same ledger and engine."""
        found = Project(self.folder, deadline_s=self.deadline_s)
        if found.ledger_path != self.ledger_path:
            raise UsageError(f"{NAME} names another ledger than the one in use", hint="start again")
        found.__dict__.update(ledger=self.ledger, curator=self.curator)
        return found

    def _read_anew(self) -> None:
        """After the file was written to."""
        self.file = read_file(self.folder / NAME)
        self.__dict__.pop("versions", None)

    def sql(self, text: str) -> Question:
        """A question in SQL. Reading it is free; a refusal says what and where."""
        return Question(project=self, asked=read(text, self.versions.catalog()))

    def batch(
        self,
        text: str,
        *,
        epsilon: object = None,
        within: object = None,
        confidence: object = "0.95",
        delta: object = None,
        analyst: str | None = None,
        key: str | None = None,
    ) -> list[Release]:
        """Answer several statements as one plan, for one epsilon in all. Charged all or not at all."""
        wish, asker = wish_of(epsilon, within, confidence, delta), self.asker(analyst, key)
        asked = read_batch(text, self.versions.catalog())
        if not asked:
            raise UsageError("there is no question in the batch")
        asked, made = self.versions.settled(asked, lambda: read_batch(text, self.versions.catalog()))
        known = {(version.table, version.number): version for versions in made for version in versions}
        return ask_batch(
            asked,
            wish,
            versions=lambda each: [known[scan.table, scan.version] for scan in each.tables],
            guarantee=self.guarantee,
            curator=self.curator,
            asker=asker,
        )

    def about(self, asked: Asked) -> tuple[Asked, list[Version]]:
        """A question as read against versions that exist, and those versions; first ones are made where none is.

        Codes mean what a version's own schema says.
        """
        (settled,), (versions,) = self.versions.settled([asked], lambda: [read(asked.text, self.versions.catalog())])
        return settled, versions

    def asker(self, analyst: str | None, key: str | None = None) -> Asker:
        """Who asks, and their quota. Where the file names analysts, whoever asks must be one of them.

        `key`: a digest of the request; see `Ledger.charge`.
        """
        known = self.file.analysts
        name = next((name for name in known if name.casefold() == (analyst or "").casefold()), analyst)
        if known and name not in known:
            raise UsageError(
                f"{NAME} gives analysts quotas, and "
                + ("nobody is named as asking" if analyst is None else f"{analyst[:60]!r} is none of them"),
                hint="--analyst NAME, with a name that has an [analysts.NAME]; "
                f"the owner adds one for everybody who asks, and for themselves; {closest(analyst or '', known)}",
            )
        return Asker(name=name, quota=known.get(name or ""), key=key)

    def again(
        self,
        release: str,
        *,
        epsilon: object,
        confidence: object = "0.95",
        analyst: str | None = None,
        key: str | None = None,
    ) -> Release:
        """Measure an earlier question of this project once more and read both answers together. Charged."""
        asker = self.asker(analyst, key)
        charge = self.ledger.refresh().charges.get(release)
        if charge is None:
            raise no_release(release)
        text = repeatable(release, versions=self.versions)
        version = self.version(charge.table)
        asked, versions = self.about(read(text, self.versions.catalog()))
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
            asker=asker,
        )

    def release(self, release: str, *, confidence: object = None, statement: int = 1, within: object = None) -> Release:
        """An SQL answer of this project, of any version, read back from the ledger. Free; its cost is what was paid.

        `statement`: which one of a batch, from 1. `within`: the width that it was asked for; where only the rest of it
        was bought, it is read together with the others. Releases of other kinds are refused, with what they are.
        """
        return read_back(release, versions=self.versions, confidence=confidence, statement=statement, within=within)

    def recalled(self, release: str) -> Recalled:
        """What the ledger says of a release of any kind: what it is, whose, of what, and what it cost. Free."""
        return recalled(release, ledger=self.ledger)

    def add(
        self,
        source: str | PathLike[str],
        *,
        name: str | None = None,
        person: str | None = None,
        rows_per_person: int | None = None,
        ends: tuple[str, str] | None = None,
        epsilon: object = None,
        delta: object = None,
        public: bool = False,
        population: str | None = None,
        engine: str = DEFAULT,
    ) -> Table:
        """Declare a table: propose names and types for its columns and write them into discreet.toml.

        The proposal is for the owner. From then on the file, not the data, says what a column is; bounds
        and categories are never proposed, for they would be read from data.
        """
        wanted, settings, columns = propose(
            os.fspath(source),
            name=name,
            person=person,
            rows_per_person=rows_per_person,
            ends=ends,
            budget=budget_of(epsilon, delta),
            public=public,
            population=population,
            file=self.file,
            folder=self.folder,
            engine=self.curator.engine,
            check=self.versions.refuse_second_budget,
            address=engine,
        )
        add_table(self.folder / NAME, wanted, settings, columns)
        self._read_anew()
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
        table = self.private(name)
        wanted = bounding.wishes(table, self.file.raw[table.name], self.known_version(name), columns, terms)
        version = self.version(name)
        found = bounding.buy(wanted, terms, version=version, guarantee=self.guarantee(name), curator=self.curator)
        set_keys(self.folder / NAME, table.name, *found.written())
        self._read_anew()
        return found

    def bias(
        self, name: str, columns: Sequence[str] = (), *, epsilon: object, cells: object = 50, for_epsilon: object = 1
    ) -> bounding.Bias:
        """What rows_per_person and the bounds take away, estimated privately, beside the noise. Charged."""
        terms = bounding.Terms.of(epsilon=epsilon, cells=cells, for_epsilon=for_epsilon)
        judged = bounding.judged(self.private(name), self.known_version(name), columns)
        version = self.version(name)
        return bounding.estimate(judged, terms, version=version, guarantee=self.guarantee(name), curator=self.curator)

    def public(self, name: str) -> PublicTable:
        """A declared table that is public, to be read."""
        read = self.versions.catalog()[self.table(name).name].public
        if read is None:
            raise UsageError(f"{name!r} is not public", hint="declare it with public = true, if it is")
        return read()

    def private(self, name: str) -> Table:
        """A declared table that is not public."""
        table = self.table(name)
        if table.public:
            raise UsageError(
                f"{table.name!r} is public: what it holds can be read off it", hint="declare what is there"
            )
        return table

    def refresh(self, name: str) -> tuple[int, Making]:
        """Make a new version of a declared table from its source. An act of the owner."""
        return self.versions.refresh(name)

    def edited_places(self, name: str) -> list[str]:
        """The public tables that exact totals of a table were published by, and that have been edited since."""
        return edited_places(self.ledger, self.table(name).name, self.public)

    def forget(self, name: str, person: Sequence[str]) -> Forgotten:
        """Erase a person from every version of a table and of those reached through it. An act of the owner."""
        return self.versions.forget(name, person)

    def table(self, name: str) -> Table:
        """A declared table by name, capitals or not."""
        return self.file.table(name)

    def held(self, name: str) -> Table:
        """A declared table as the ledger has it: an edit of its population or unit is nothing until a refresh."""
        return self.versions.held(self.table(name))

    def version(self, name: str) -> Version:
        """The newest version of a table; the first one is made when it is first needed. Refuses networks with ends.

        Every verb comes by here, or by `known_version`, before it charges; graph statistics alone take
        `versions.newest`, for they know what a network keeps.
        """
        self.known_version(name)
        return self.versions.newest(name)

    def known_version(self, name: str) -> Version:
        """The version that questions are read against: the newest, else what the first one would be; see `version`."""
        found = self.versions.known(name)
        refuse_rows(found.schema)
        return found

    def guarantee(self, name: str) -> Guarantee:
        """The limit of a table's population: as the ledger holds it, else as declared."""
        return standing.guarantee(self.held(name), self.ledger)

    def budget(self, name: str | None = None) -> Standing:
        """Where the budget of a table's population stands; of the only private table where none is named."""
        private = [table.name for table in self.file.tables.values() if not table.public]
        if name is None and len(private) != 1:
            raise UsageError("which table?", hint=closest("", private) or "declare a table first")
        table = self.table(name if name is not None else private[0])
        if table.public:
            raise UsageError(f"{table.name!r} is public and has no budget")
        return standing.standing(self.held(table.name), self.ledger)

    def grant(self, name: str, *, epsilon: object, delta: object = None) -> Guarantee:
        """Raise the limit of a table's population to `epsilon` (and `delta`). An act of the owner."""
        return standing.grant(self.held(name), self.ledger, epsilon=epsilon, delta=delta)

    def holds(self, path: Path) -> bool:
        """Whether a file belongs to the project: its declaration, a source, or anything beside the ledger."""
        target, own = path.resolve(), (self.folder / ".discreet").resolve()
        files = [path.resolve() for path in (self.folder / NAME, self.ledger_path) if isinstance(path, Path)]
        return target in (*files, own) or own in target.parents or self.versions.made_from(target)

    def verify(self) -> repair.Report:
        """Verify the whole ledger from the disk."""
        return repair.verify(self.ledger_path)

    def acknowledge(self) -> repair.Repaired:
        """Unlock after a detected rollback or repeated failures; what was forgotten is charged anew."""
        return repair.acknowledge(self.ledger_path)

    def adopt(self, state: str | PathLike[str] | None = None, *, alone: bool = False) -> repair.Repaired:
        """Take a ledger to this machine, with its state folder or, at the price of the whole budget, without.

        `alone`: shuts out every other machine that shares it.
        """
        return repair.adopt(self.ledger_path, None if state is None else Path(state), alone=alone)

    def source_changed(self, name: str) -> bool:
        """Whether the source is not what the newest version was made from. For the owner's eyes only."""
        return self.versions.source_changed(name)

    def warnings(self, name: str) -> list[str]:
        """Where discreet.toml and the ledger differ. Public facts: nothing here is read from data."""
        return self.versions.warnings(name)
