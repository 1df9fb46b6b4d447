"""What a project publishes: histograms, ranges, marginals, tables, streams, models, answers that agree. Part of `api`.

Short methods, one for each verb; what they do lies in `tables`, `synth` and `answers`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet import exact
from discreet.accounting.guarantee import Guarantee
from discreet.answers.sql import Asker
from discreet.errors import UsageError
from discreet.kernel.curator import Curator, Version
from discreet.project.question import Question
from discreet.schema.project_file import ProjectFile
from discreet.schema.schema import Table, closest_name_hint
from discreet.sql.dialect import identifier

if TYPE_CHECKING:
    from discreet.answers.reconcile.agreement import Agreement
    from discreet.graph.project_network import Network
    from discreet.project.versions import Versions
    from discreet.sql.catalog import PublicTable
    from discreet.synth.inspect.model_comparison import Comparison
    from discreet.synth.model import Model
    from discreet.tables.marginals.marginals_release import MarginalsRelease
    from discreet.tables.marginals.marginals_request import MarginalsQuote
    from discreet.tables.publish.publish import PublicationQuote as PublishQuote
    from discreet.tables.publish.published_tables import PublishedTables
    from discreet.tables.ranges.range_answers import Ranges
    from discreet.tables.ranges.ranges_release import RangesQuote as RangesQuote
    from discreet.tables.stream.stream import TableStream


class ProjectPublications(ABC):
    """The verbs of a project that publish tables and models; `Project` has the rest."""

    file: ProjectFile

    @abstractmethod
    def table(self, name: str) -> Table: ...

    @property
    @abstractmethod
    def curator(self) -> Curator: ...

    @property
    @abstractmethod
    def versions(self) -> Versions: ...

    @abstractmethod
    def sql(self, text: str) -> Question: ...

    @abstractmethod
    def private(self, name: str) -> Table: ...

    @abstractmethod
    def public(self, name: str) -> PublicTable: ...

    @abstractmethod
    def asker(self, analyst: str | None) -> Asker: ...

    @abstractmethod
    def version(self, name: str) -> Version: ...

    @abstractmethod
    def peek_version(self, name: str) -> Version: ...

    @abstractmethod
    def guarantee(self, name: str) -> Guarantee: ...

    def histogram(self, name: str, *columns: str) -> Question:
        """A query that counts the rows with each value, or each combination of values, of some columns."""
        if not columns:
            raise UsageError("a histogram needs a column", hint="project.histogram('patients', 'age')")
        keys = ", ".join(identifier(self._column(name, column)) for column in columns)
        counted = identifier(_unused_name("rows", columns))
        return self.sql(f"SELECT {keys}, count(*) AS {counted} FROM {identifier(name)} GROUP BY {keys}")

    def _column(self, table: str, column: str) -> str:
        self.peek_version(self.private(table).name)  # refuses a table of which nothing can be counted
        column_names = [each.name for each in self.private(table).schema.columns]
        if column.lower() not in [name.lower() for name in column_names]:
            raise UsageError(
                f"table {table!r} has no column {column[:60]!r}", hint=closest_name_hint(column, column_names)
            )
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
        """Counts of all ranges of a column, and its quantiles: one release, charged once; reading it is free.

        Without an epsilon, a stored release is read, free. `ranges`: the most important ranges, as pairs or a CSV file.
        `only`: measure these ranges alone; they are more precise, but no others can be read.
        """
        from discreet.tables.ranges.ranges_release import RangesRequest, release
        from discreet.tables.table_reservation import ReservationTerms

        asker = self.asker(analyst)
        request = RangesRequest.of(column, ranges, strategy, seconds, only)
        return release(
            request,
            None if epsilon is None else ReservationTerms.of(epsilon, delta),
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
        """How precise a release of ranges would be, and its strategy. Free: no data is read."""
        from discreet.tables.ranges.ranges_release import RangesRequest, quote
        from discreet.tables.table_reservation import ReservationTerms

        request = RangesRequest.of(column, ranges, strategy, seconds, only)
        version = self.peek_version(self.private(name).name)
        terms = ReservationTerms.of(epsilon, delta)
        return quote(request, terms, version=version, guarantee=self.guarantee(name), curator=self.curator)

    def marginals(
        self,
        name: str,
        columns: Sequence[str] = (),
        *,
        epsilon: object,
        delta: object = None,
        confidence: object = "0.95",
        analyst: str | None = None,
        fresh: bool = False,
        **wish: Any,
    ) -> MarginalsRelease:
        """All marginals of up to `order` columns (2 by default), consistent with each other. Charged once.

        `columns`: by default all whose values are declared. `wish`: order, exactly, tables (names, or names to
        weights), objective; see `tables.marginals.marginals_request.MarginalsRequest`. A repeat is free.
        """
        from discreet.tables.marginals.marginals_request import MarginalsRequest, release_requested
        from discreet.tables.table_reservation import ReservationTerms

        asker = self.asker(analyst)
        request, terms = MarginalsRequest.of(columns, **wish), ReservationTerms.of(epsilon, delta)
        declared = [column.name for column in self.private(name).schema.columns]
        return release_requested(
            request,
            terms,
            version=self.version(name),
            guarantee=self.guarantee(name),
            curator=self.curator,
            asker=asker,
            declared=declared,
            confidence=confidence,
            fresh=fresh,
        )

    def plan_marginals(
        self, name: str, columns: Sequence[str] = (), *, epsilon: object, delta: object = None, **wish: Any
    ) -> MarginalsQuote:
        """What marginals would cost and how precise they would be. Free."""
        from discreet.tables.marginals.marginals_request import MarginalsRequest, quote_marginals
        from discreet.tables.table_reservation import ReservationTerms

        request, terms = MarginalsRequest.of(columns, **wish), ReservationTerms.of(epsilon, delta)
        declared = [column.name for column in self.private(name).schema.columns]
        version, guarantee = self.peek_version(name), self.guarantee(name)
        return quote_marginals(
            request, terms, version=version, guarantee=guarantee, curator=self.curator, declared=declared
        )

    def publish(
        self,
        plan: str | PathLike[str] | Mapping[str, Any],
        *,
        epsilon: object,
        delta: object = None,
        to: str | PathLike[str] | None = None,
        confidence: object = "0.95",
        analyst: str | None = None,
        fresh: bool = False,
        force: bool = False,
        progress: Callable[[str, float], None] | None = None,
    ) -> PublishedTables:
        """Publish tables of places and attributes that add up exactly. Charged once; a repeat of the plan is free."""
        from discreet.tables.publish.publish import no_progress, plan_of, publish
        from discreet.tables.publish.published_tables import check_folder

        asker, publication_plan = self.asker(analyst), plan_of(plan)
        name = self.private(publication_plan.table).name
        if to is not None:
            check_folder(Path(to), force=force)
        publication = publish(
            publication_plan,
            epsilon=epsilon,
            delta=delta,
            version=self.version(name),
            guarantee=self.guarantee(name),
            curator=self.curator,
            asker=asker,
            publics=self.public,
            confidence=confidence,
            fresh=fresh,
            progress=progress or no_progress,
        )
        if to is not None:
            publication.write(to, force=force)
        return publication

    def plan_publish(
        self, plan: str | PathLike[str] | Mapping[str, Any], *, epsilon: object, delta: object = None
    ) -> PublishQuote:
        """What a plan would cost and how precise it would be. Free."""
        from discreet.tables.publish.publish import plan_of, quote

        publication_plan = plan_of(plan)
        name = self.private(publication_plan.table).name
        return quote(
            publication_plan,
            epsilon=epsilon,
            delta=delta,
            version=self.peek_version(name),
            guarantee=self.guarantee(name),
            curator=self.curator,
            publics=self.public,
        )

    def stream(
        self,
        name: str,
        stream: str,
        *,
        epsilon: object = None,
        delta: object = None,
        horizon: object = None,
        contributions: object = None,
        analyst: str | None = None,
    ) -> TableStream:
        """Totals of a table, step by step. With an epsilon, start and charge a stream; else open the existing one."""
        from discreet.tables.stream import project_streams

        return project_streams.stream(
            self,
            name,
            stream,
            epsilon=epsilon,
            delta=delta,
            horizon=horizon,
            contributions=contributions,
            analyst=analyst,
        )[0]

    def reconcile(self, name: str, releases: Sequence[str] = (), *, whole: bool = False) -> Agreement:
        """Make the released answers of a table, or some of them, consistent with each other. Free: no data is read."""
        from discreet.answers.reconcile.agreement import agree

        return agree(
            self.peek_version(self.private(name).name),
            curator=self.curator,
            reads=lambda text: self.sql(text).query,
            only=releases,
            wholes=whole,
        )

    def synthesize(
        self,
        name: str,
        *,
        epsilon: object = None,
        delta: object = None,
        model: str = "auto",
        columns: Sequence[str] | None = None,
        constraints: Mapping[str, Any] | str | PathLike[str] | None = None,
        analyst: str | None = None,
        fresh: bool = False,
        public: str | None = None,
        progress: Callable[[str, float], None] | None = None,
        **more: Any,
    ) -> Model:
        """Fit a model of a table. Sampling rows from it is free. Charged once; a repeat of the same fit is free.

        `public`: a public table with the same columns; mst selects its marginals from it, free. `more`: degree,
        seconds, model_mb, workload, rows, weights, marginals, adjacent; see `synth.fit_request.FitRequest`.
        """
        from discreet.synth.fit_request import FitRequest, constraints_of, refuse_options
        from discreet.synth.fit_task import no_progress
        from discreet.synth.synthesis import synthesize

        asker = self.asker(analyst)
        self.private(name)
        parsed_constraints = constraints_of(constraints, self.peek_version(name).schema)
        refuse_options(more)
        request = FitRequest.of(
            epsilon=epsilon,
            delta=delta,
            kind=model,
            columns=columns,
            constraints=parsed_constraints,
            public=public,
            fresh=fresh,
            **more,
        )
        return synthesize(
            request,
            version=self.version(name),
            guarantee=self.guarantee(name),
            curator=self.curator,
            asker=asker,
            order=[column.name for column in self.table(name).schema.columns],
            public=None if public is None else self.public(public),
            progress=progress or no_progress,
        )

    def graph(
        self,
        name: str,
        *,
        ends: Sequence[str] | None = None,
        nodes: str | None = None,
        key: str | None = None,
        by: str | None = None,
    ) -> Network:
        """The network of a table of edges, for graph statistics. Free: it reads public facts only.

        `ends`: the columns of the two ends, if they are not declared and not called from and to. `nodes`: the table of
        the nodes, with their `key` and an attribute to group edges `by`.
        """
        from discreet.graph.project_network import network

        return network(self, name, ends=ends, nodes=nodes, key=key, by=by)

    def compare(
        self, model: Model, *, epsilon: object, delta: object = None, analyst: str | None = None, fresh: bool = False
    ) -> Comparison:
        """Measure privately how far a model's pairs of columns are from the table it was fitted to. Charged."""
        from discreet.synth.inspect.model_comparison import compare

        asker = self.asker(analyst)
        name = self.private(model.card.table).name
        rho_delta = self.guarantee(name).delta_rho if delta is None else exact.probability(delta, name="delta")
        return compare(
            model,
            epsilon=exact.positive(epsilon, name="epsilon", most=exact.MAX_QUESTION_EPSILON),
            delta=rho_delta,
            version=self.version(name),
            curator=self.curator,
            asker=asker,
            fresh=fresh,
        )


def _unused_name(name: str, taken: Sequence[str]) -> str:
    """A name that no column has."""
    return name if name not in [each.lower() for each in taken] else _unused_name(f"{name}_", taken)
