"""A table that could be declared: what `add` would write into discreet.toml, to look at and to change first.

draft = project.draft("visits.csv")
draft = draft.replace(settings={"person": "patient_id", "rows_per_person": 12}, columns={"notes": None})
print(draft.toml())
project.add_draft(draft)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.errors import UsageError
from discreet.schema.schema import closest_name_hint
from discreet.schema.toml_edit import table_text


def table_name_of(source: str) -> str:
    """A table's name from its file's: letters, digits and underscores.

    >>> table_name_of("Visits 2024.csv")
    'visits_2024'
    """
    name = "".join(letter if letter.isalnum() else "_" for letter in source.split(".")[0]).strip("_").lower()
    return name if name and not name[0].isdigit() else f"table_{name}".rstrip("_")


@dataclass(frozen=True, slots=True)
class PersonCandidate:
    """A column that may say whose row it is, and why: by its name, or by what was read from the data.

    `is_likely`: its name says so, without a doubt.
    """

    column: str
    why: str
    is_from_data: bool = False
    is_likely: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDraft:
    """A table as it would be declared. Nothing is written before `Project.add_draft`.

    `settings`: the keys of [tables.NAME], as discreet.toml has them: source, person, budget and so on. `columns`: every
    column that is proposed, the one of the person included; `declared_columns` are those that would be written.
    `read_from_data`: what was proposed by looking at rows, in sentences for the owner. `public_facts`: what was taken
    from a code book or said by flags. `source_columns`: all columns of the source, in its order. `new_population`: the
    budget of the table's population, where that is declared with it.
    """

    name: str
    settings: Mapping[str, Any]
    columns: Mapping[str, Mapping[str, Any]]
    source_columns: tuple[str, ...]
    person_candidates: tuple[PersonCandidate, ...] = ()
    read_from_data: tuple[str, ...] = ()
    public_facts: tuple[str, ...] = ()
    new_population: Mapping[str, Any] | None = None

    @property
    def population_settings(self) -> dict[str, dict[str, Any]]:
        """The population that would be written with the table, by its name; none where it is declared already."""
        name = self.settings.get("population")
        return {} if self.new_population is None or name is None else {name: {"budget": self.new_population}}

    @property
    def identity_columns(self) -> tuple[str, ...]:
        """The columns that say whose row it is; they cannot be declared as well."""
        person = self.settings.get("person")
        return tuple(person) if isinstance(person, list) else (person,) if isinstance(person, str) else ()

    @property
    def declared_columns(self) -> dict[str, dict[str, Any]]:
        """The columns that would be written: not the one of the person, and none of edges."""
        if "ends" in self.settings:
            return {}  # of an edge nothing but its ends can be asked
        persons = {name.lower() for name in self.identity_columns}
        return {name: dict(column) for name, column in self.columns.items() if name.lower() not in persons}

    def replace(
        self,
        *,
        name: str | None = None,
        settings: Mapping[str, Any] | None = None,
        columns: Mapping[str, Mapping[str, Any] | None] | None = None,
    ) -> TableDraft:
        """The draft with some settings and columns changed; None as a value leaves one out.

        The settings that are given for a column replace all that it had.
        """
        changed_settings = {**self.settings, **(settings or {})}
        changed_columns: dict[str, Mapping[str, Any] | None] = dict(self.columns)
        for column, column_settings in (columns or {}).items():
            if column not in self.source_columns:
                raise UsageError(
                    f"there is no column {column[:60]!r} in the source",
                    hint=closest_name_hint(column, self.source_columns),
                )
            changed_columns[column] = column_settings
        return dataclasses.replace(
            self,
            name=self.name if name is None else name,
            settings={key: value for key, value in changed_settings.items() if value is not None},
            columns={
                column: changed
                for column in self.source_columns
                if (changed := changed_columns.get(column)) is not None
            },
        )

    def toml(self) -> str:
        """The text that would be added to discreet.toml."""
        return table_text(self.name, self.settings, self.declared_columns, populations=self.population_settings)
