"""What a project publishes: histograms, ranges, marginals, tables, streams, and answers that agree. Part of `api`.

Short methods, one for each verb; what they do lies in `tables` and `answers`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import TYPE_CHECKING

from discreet.accounting.guarantee import Guarantee
from discreet.answers.sql import Asker
from discreet.curator import Curator, Version
from discreet.errors import UsageError
from discreet.question import Question
from discreet.schema.schema import Table, closest

if TYPE_CHECKING:
    from discreet.tables.ranges.reading import Ranges
    from discreet.tables.ranges.release import Quote as RangesQuote


class Publishing(ABC):
    """The verbs of a project that publish tables; `Project` has the rest."""

    @property
    @abstractmethod
    def curator(self) -> Curator: ...

    @abstractmethod
    def sql(self, text: str) -> Question: ...

    @abstractmethod
    def private(self, name: str) -> Table: ...

    @abstractmethod
    def asker(self, analyst: str | None) -> Asker: ...

    @abstractmethod
    def version(self, name: str) -> Version: ...

    @abstractmethod
    def known_version(self, name: str) -> Version: ...

    @abstractmethod
    def guarantee(self, name: str) -> Guarantee: ...

    def histogram(self, name: str, *columns: str) -> Question:
        """How many rows have each value, or each combination of values, of some columns: a question to be asked."""
        if not columns:
            raise UsageError("a histogram needs a column", hint="project.histogram('patients', 'age')")
        keys = ", ".join(f'"{self._column(name, column)}"' for column in columns)
        return self.sql(f'SELECT {keys}, count(*) AS "{_free("rows", columns)}" FROM "{name}" GROUP BY {keys}')

    def _column(self, table: str, column: str) -> str:
        known = [each.name for each in self.private(table).schema.columns]
        if column.lower() not in [name.lower() for name in known] or '"' in column:
            raise UsageError(f"table {table!r} has no column {column[:60]!r}", hint=closest(column, known))
        return column

    def ranges(
        self,
        name: str,
        column: str,
        *,
        epsilon: object = None,
        delta: object = None,
        ranges: Iterable[tuple[object, object]] | str | PathLike[str] | None = None,
        strategy: str = "best",
        seconds: object = 1,
        only: bool = False,
        analyst: str | None = None,
        fresh: bool = False,
    ) -> Ranges:
        """The intervals and quantiles of a column: one release, charged once and read for ever.

        Without an epsilon a stored release is read, free. `ranges`: those to answer first, pairs or a CSV file. `only`:
        plan for them alone: they come out more exact, and nothing else can be read.
        """
        from discreet.tables.ranges.release import Wanted, release
        from discreet.tables.reserving import Terms

        asker = self.asker(analyst)
        wanted = Wanted.of(column, ranges, strategy, seconds, only)
        return release(
            wanted,
            None if epsilon is None else Terms.of(epsilon, delta),
            version=self.version(self.private(name).name),
            guarantee=self.guarantee(name),
            curator=self.curator,
            asker=asker,
            fresh=fresh,
        )

    def plan_ranges(
        self,
        name: str,
        column: str,
        *,
        epsilon: object,
        delta: object = None,
        ranges: Iterable[tuple[object, object]] | str | PathLike[str] | None = None,
        strategy: str = "best",
        seconds: object = 1,
        only: bool = False,
    ) -> RangesQuote:
        """How exact a release of ranges would be, and by which strategy. Free: no data is looked at."""
        from discreet.tables.ranges.release import Wanted, quote
        from discreet.tables.reserving import Terms

        wanted = Wanted.of(column, ranges, strategy, seconds, only)
        version = self.known_version(self.private(name).name)
        terms = Terms.of(epsilon, delta)
        return quote(wanted, terms, version=version, guarantee=self.guarantee(name), curator=self.curator)


def _free(name: str, taken: Sequence[str]) -> str:
    """A name that no column has."""
    return name if name not in [each.lower() for each in taken] else _free(f"{name}_", taken)
