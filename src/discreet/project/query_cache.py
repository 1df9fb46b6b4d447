"""Queries that were read, kept by their texts: a text that is priced and then asked is parsed and planned once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from discreet.sql.catalog import Catalog, CatalogTable, PublicTable
from discreet.sql.parsed_query import ParsedQuery

#: So many texts are kept, the newest.
_MOST_KEPT = 64


@dataclass(frozen=True, slots=True)
class _ReadQuery:
    query: ParsedQuery
    catalog: Catalog

    def is_read_against(self, catalog: Catalog) -> bool:
        """Whether this catalog says the same, by the very schemas, as the one that the text was read against."""
        return self.catalog.keys() == catalog.keys() and all(
            old.schema is catalog[name].schema
            and (old.version, old.population) == (catalog[name].version, catalog[name].population)
            for name, old in self.catalog.items()
        )


class QueryCache:
    """What texts were read as. A text that reads the rows of a public table is read anew each time.

    Guarantee: `parse` returns what `parse` of the same text and catalog returns.
    Because: parsing looks at the text, and of a catalog at schemas, versions, populations and what `public` returns.
        The first three are compared, and a text whose parsing called `public` is not kept. Nothing changes a query
        that was read.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read: dict[str, _ReadQuery] = {}

    def parse(self, text: str, catalog: Catalog, *, parse: Callable[[str, Catalog], ParsedQuery]) -> ParsedQuery:
        """The query of a text. Refusals are not kept."""
        with self._lock:
            kept = self._read.get(text)
        if kept is not None and kept.is_read_against(catalog):
            return kept.query
        read_tables: list[str] = []
        query = parse(text, {name: _noting(name, table, read_tables) for name, table in catalog.items()})
        if not read_tables:
            with self._lock:
                self._read.pop(text, None)
                self._read[text] = _ReadQuery(query, catalog)
                while len(self._read) > _MOST_KEPT:
                    del self._read[next(iter(self._read))]
        return query


def _noting(name: str, table: CatalogTable, read_tables: list[str]) -> CatalogTable:
    """The same table; that its rows were read is noted."""
    read_rows = table.public
    if read_rows is None:
        return table

    def public() -> PublicTable:
        read_tables.append(name)
        return read_rows()

    return replace(table, public=public)
