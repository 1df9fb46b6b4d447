"""Models of persons as pages tell them: what a fit would cost, which are kept, and which questions they answer well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from discreet.accounting.events import ReservationEvent
from discreet.console.jobs import release_store
from discreet.console.jobs.model_fit import PERSONS_MODEL, Quoted, expected_error, histogram_json, page_table
from discreet.console.responses import PageTable
from discreet.project.project import Project
from discreet.schema.address import engine_kind
from discreet.synth.fit_request import PERSONS, FitRequest
from discreet.synth.inspect import inspect_any
from discreet.synth.model_folder import PERSONS_ENDING
from discreet.synth.persons.model_loading import load_any
from discreet.synth.persons.person_fit import RECORDS, check_fit, has_several_rows
from discreet.synth.persons.person_model import PersonModel
from discreet.synth.persons.tables_model import PersonTablesModel


def has_persons(project: Project, name: str) -> bool:
    """Whether a model of persons can be fitted to a table, by its declaration."""
    table = project.table(name)
    return has_several_rows(table.schema) and engine_kind(table.engine) != "spark"


def quote_persons(project: Project, name: str, request: FitRequest, quoted: Quoted) -> dict[str, Any]:
    """What a fit of persons would be. Free: reads public facts alone."""
    check_fit(request, project.peek_version(name))
    return {
        "model": PERSONS,
        "because": f"{PERSONS_MODEL['words']}; {quoted.noise}" if quoted.noise else PERSONS_MODEL["words"],
        "expected": _expected_error(quoted.event, columns=len(quoted.columns)),
    }


def _expected_error(event: ReservationEvent, *, columns: int) -> dict[str, Any]:
    """How exact single columns of first rows would be: a person counts once there, whatever rows there are."""
    return expected_error(event, share=RECORDS * Fraction(1, 3 * (columns + 1)), most_rows=1)


def person_files(project: Path) -> dict[str, Path]:
    """The models of persons that a project keeps, by release."""
    files = sorted((project / ".discreet" / "models").glob(f"*{PERSONS_ENDING}"))
    return {path.name.removesuffix(PERSONS_ENDING): path for path in files}


def find_person_model(project: Path, name: str) -> StoredPersonModel | None:
    """A kept model of persons and what is said of it."""
    path = person_files(project).get(name)
    return None if path is None else _load_model(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _load_model(path: Path, _: int) -> StoredPersonModel | None:
    """Read and judged once, for a judgement takes a while; the second argument is the file's time."""
    model = load_any(path)
    if not isinstance(model, PersonModel | PersonTablesModel):
        return None
    return StoredPersonModel(path=path, model=model, report=release_store.to_json(inspect_any(model).to_data()))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPersonModel:
    """A kept model of persons. `report`: all that is free to say about it, as plain data."""

    path: Path
    model: PersonModel | PersonTablesModel
    report: dict[str, Any]

    @property
    def name(self) -> str:
        return self.path.name.removesuffix(PERSONS_ENDING)

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that rows come out of."""
        return self.model.tables if isinstance(self.model, PersonTablesModel) else (self.model.card.table,)

    def page(self) -> dict[str, Any]:
        """What its page tells."""
        reports = self.report["tables"] if isinstance(self.model, PersonTablesModel) else [self.report]
        return {
            "name": self.name,
            "file": self.path.name,
            "report": self.report,
            "tables": list(self.tables),
            "persons": round(self.model.total),
            "constant": [] if isinstance(self.model, PersonTablesModel) else list(self.model.constants),
            "parts": [
                {
                    "table": each["card"]["table"],
                    "report": each,
                    "pictures": [histogram_json(one) for one in each["columns"]],
                    "returns": [histogram_json(one) for one in each["returns"]],
                }
                for each in reports
            ],
        }

    def grid(self) -> PageTable:
        """The questions about persons."""
        names = ("table", "question", "of", "share", "measured", "plus_minus", "verdict")
        reports = self.report["tables"] if isinstance(self.model, PersonTablesModel) else [self.report]
        rows = [[each.get(name) for name in names] for own in reports for each in own["person_questions"]]
        return PageTable(columns=names, rows=rows)

    def sample(self, persons: int, given: Mapping[str, object], *, table: str, seed: int, written: bool) -> PageTable:
        """The rows of sampled persons in one of its tables; the same seed gives the same persons in each."""
        if isinstance(self.model, PersonTablesModel):
            rows, columns = self.model.sample(persons, given=given, seed=seed)[table], self.model.table_columns[table]
        else:
            rows, columns = self.model.sample(persons, given=given, seed=seed), self.model.columns
        return page_table(rows, columns if written else ())
