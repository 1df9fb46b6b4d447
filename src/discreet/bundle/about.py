"""What only people know about a release. Everything else on a card comes from the ledger and the declarations."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from discreet.errors import UsageError
from discreet.schema.toml_file import read_toml, refuse_unknown_keys

#: What stands on a card where nobody said anything. It is not the same as "none".
NOT_STATED = "not stated"

#: The longest text, in letters, and the most lines of a list.
MOST_LETTERS = 4000
MOST_LINES = 50

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_LISTS = frozenset({"curators", "registry_authors"})


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The human fields of a card; empty where nothing was told."""

    name: str = ""
    description: str = ""
    intended_use: str = ""
    curators: tuple[str, ...] = ()
    region: str = ""
    sector: str = ""
    publication_date: str = ""
    sources: str = ""
    registry_authors: tuple[str, ...] = ()
    justification: str = ""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in _LISTS and len(value) > MOST_LINES:
                raise UsageError(f"{field.name} can have at most {MOST_LINES} entries")
            for text in value if field.name in _LISTS else (value,):
                _check(text, name=field.name)
        if self.publication_date and not _DATE.fullmatch(self.publication_date):
            raise UsageError("publication_date must be a date such as 2026-03-01")

    def to_data(self) -> dict[str, Any]:
        """The fields as JSON data."""
        return {
            field.name: list(getattr(self, field.name)) if field.name in _LISTS else getattr(self, field.name)
            for field in fields(self)
        }

    @property
    def missing_fields(self) -> tuple[str, ...]:
        """The fields for which the card says that nothing was told. It knows a day of publication by itself."""
        return tuple(
            field.name for field in fields(self) if field.name != "publication_date" and not getattr(self, field.name)
        )

    def product(self, *, data_product_type: str, day: str) -> dict[str, Any]:
        """What a card says of the product, in the registry's keys. `day`: of publication, where no other is stated."""
        return {
            "name": self.name or NOT_STATED,
            "data_curators": list(self.curators) or [NOT_STATED],
            "intended_use": self.intended_use or NOT_STATED,
            "data_product_type": data_product_type,
            "data_product_region": self.region or NOT_STATED,
            "description": self.description or NOT_STATED,
            "publication_date": self.publication_date or day,
            "data_product_sector": self.sector or NOT_STATED,
        }

    @property
    def resources(self) -> dict[str, Any]:
        """What a card says of its sources and authors, in the registry's keys."""
        return {
            "sources": self.sources or NOT_STATED,
            "registry_authors": list(self.registry_authors) or [NOT_STATED],
        }

    @staticmethod
    def from_data(data: object) -> About:
        """The fields that `to_data` wrote, or a person did. An unknown one is refused: it would be lost."""
        names = {field.name for field in fields(About)}
        table = refuse_unknown_keys(data, names, where="the information about a release")
        return About(**{name: _value(name, value) for name, value in table.items()})

    @staticmethod
    def from_flags(file: Path | None, **flags: str | None) -> About:
        """The fields of a file, and those that were given one by one, which count more."""
        given = {name: value for name, value in flags.items() if value is not None}
        file_fields = About() if file is None else About.read(file)
        return About.from_data({**file_fields.to_data(), **given})

    def completed(self, *, name: str, curators: tuple[str, ...]) -> About:
        """With these where nothing is stated."""
        return replace(self, name=self.name or name, curators=self.curators or curators)

    @staticmethod
    def read(path: Path) -> About:
        """The fields in a TOML file."""
        return About.from_data(read_toml(path))


def _value(name: str, value: object) -> Any:
    if name in _LISTS:
        if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
            raise UsageError(f"{name} must be a list of names", hint=f'{name} = ["…"]')
        return tuple(value)
    return str(value) if name == "publication_date" else value


def _check(text: object, *, name: str) -> None:
    if not isinstance(text, str) or len(text) > MOST_LETTERS:
        raise UsageError(f"{name} must be a text of at most {MOST_LETTERS:,} characters")
    if any(not (letter.isprintable() or letter in "\n\t") for letter in text):
        raise UsageError(f"{name} contains a character that cannot be printed")
