"""A network of a project: what can be asked of it. Checks what is said of it by public facts alone, free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from discreet.errors import Flag, Message, Refused, UsageError
from discreet.graph.edge_ends import Declaration, ends_of
from discreet.graph.graph_shape import shape_of
from discreet.graph.graph_source import GraphSource
from discreet.graph.private_trait import PrivateTrait, RowLabels
from discreet.graph.public_nodes import PublicNodes, public_nodes
from discreet.graph.statistics_release import GraphStats
from discreet.graph.statistics_request import GraphQuote, GraphRequest, quote, release
from discreet.kernel.curator import Version
from discreet.kernel.project_session import ProjectTables, Session
from discreet.ledger.charge_request import UNNAMED, Asker
from discreet.tables.table_reservation import ReservationTerms

if TYPE_CHECKING:
    from discreet.graph.model.graph_model import GraphModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The network of a declared table. Making one is free, and reads nothing but the declaration and public nodes.

    ends: its columns of ends; None where the table is declared with `ends`. declared: what the declaration says of
    them; a version that is declared otherwise is not asked. nodes: public ones. counted: the name of the private table
    whose persons are the nodes. trait: its column that sorts them; or, of rows, what they say of
    their ends.
    """

    project: ProjectTables
    table: str
    ends: tuple[str, str] | None
    declared: Declaration
    nodes: PublicNodes | None = None
    counted: str | None = None
    trait: PrivateTrait | RowLabels | None = None

    def stats(
        self,
        *,
        epsilon: object,
        delta: object = None,
        only: str | Sequence[str] | None = None,
        fresh: bool = False,
        analyst: str | None = None,
    ) -> GraphStats:
        """Nodes, edges, degrees and more, each with an interval. Charged once; the same question again is free.

        `only`: names of what is wanted, which gets all of the epsilon.
        """
        project, terms = self.project, ReservationTerms.of(epsilon, delta)
        asker = project.asker(analyst)
        self.plan(epsilon=epsilon, delta=delta, only=only)  # what cannot be is refused before a first version is made
        version = project.versions.newest(self.table)
        request = self.request(version, only, counted=self._counted_version(version))
        return release(request, terms, self._session(version, asker), fresh=fresh)

    def plan(self, *, epsilon: object, delta: object = None, only: str | Sequence[str] | None = None) -> GraphQuote:
        """What statistics would cost, and how exact they would be. Free: no edge is looked at."""
        terms, version = ReservationTerms.of(epsilon, delta), self._known_version()
        return quote(self.request(version, only), terms.event(self._session(version, UNNAMED)))

    def synth(
        self, *, epsilon: object, delta: object = None, fresh: bool = False, analyst: str | None = None
    ) -> GraphModel:
        """A model of the network, from which graphs are sampled for ever. Charged once; the same again is free."""
        from discreet.graph.model.model_measurement import measure_model
        from discreet.graph.model.recipe import recipe_of

        project, terms = self.project, ReservationTerms.of(epsilon, delta)
        asker = project.asker(analyst)
        if self.trait is not None:
            raise Refused(
                "a model of a network has no blocks by a private attribute",
                hint=Message("leave ", Flag("by"), " out: then the model has one block"),
            )
        recipe_of(self.source(self._known_version()), self.nodes, counted=self.counted is not None)
        version = project.versions.newest(self.table)
        return measure_model(
            self.source(version),
            self.nodes,
            terms,
            self._session(version, asker),
            counted=self._counted_version(version),
            fresh=fresh,
        )

    def source(self, version: Version) -> GraphSource:
        """How the network of a version is read; refuses one that is declared otherwise, before any charge."""
        if Declaration.of(version, self.ends) != self.declared:
            raise UsageError("the table was refreshed with a different declaration", hint="open the network again")
        ends_of(version, self.ends)  # it may lie elsewhere by now
        keys = None if self.nodes is None else self.nodes.keys
        return GraphSource(version=version, ends=self.ends, directed=version.schema.directed, keys=keys)

    def request(
        self, version: Version, only: str | Sequence[str] | None, *, counted: Version | None = None
    ) -> GraphRequest:
        """What is asked of a version; refuses what cannot be."""
        source = self.source(version)
        shape = shape_of(only, source, self.nodes, counted=self.counted is not None, trait=self.trait)
        if not {"mixing", "homophily"} & set(shape.shares):
            return GraphRequest(shape=shape, source=source, nodes=self.nodes, counted=counted)
        if isinstance(self.trait, RowLabels):
            self.trait.check(version)
            source = replace(source, labels=self.trait.columns)
        elif self.trait is not None and counted is not None:
            self.trait.check(counted)
            source = replace(source, trait=(counted, self.trait.column))
        return GraphRequest(shape=shape, source=source, nodes=self.nodes, counted=counted)

    def _session(self, version: Version, asker: Asker) -> Session:
        project = self.project
        guarantee = project.guarantee(self.table)
        return Session(version=version, guarantee=guarantee, curator=project.curator, asker=asker)

    def _known_version(self) -> Version:
        return self.project.versions.peek(self.table)

    def _counted_version(self, version: Version) -> Version | None:
        if self.counted is None:
            return None
        counted = self.project.version(self.counted)
        _check_counted(counted, version)  # it, too, may have been refreshed
        return counted


def network(
    project: ProjectTables,
    name: str,
    *,
    ends: Sequence[str] | None = None,
    nodes: str | None = None,
    key: str | None = None,
    by: str | None = None,
    edges_per_node: int | None = None,
) -> Network:
    """The network of a project's table, in the words of Python or of the command line, checked."""
    table = project.private(name).name
    version = project.versions.peek(table)
    end_columns = ends_of(version, None if ends is None else _pair(ends))
    declared = Declaration.of(version, end_columns)
    labels = None
    if by is not None and "," in by and end_columns is not None:
        labels, by = RowLabels.of(version, by, edges_per_node), None
    elif edges_per_node is not None:
        raise UsageError(
            "a limit of edges per node is only for groups that the rows of edges state",
            hint=Message(Flag("by", ("from_group", "to_group")), " ", Flag("edges-per-node", 10)),
        )
    if nodes is None:
        _refuse_without_nodes(key=key, by=by)
        return Network(project=project, table=table, ends=end_columns, declared=declared, trait=labels)
    if end_columns is None:
        _refuse_key_of_persons(key)
        counted = _counted(project, version, nodes)
        trait = None if by is None else PrivateTrait.of(project.peek_version(counted), by)
        return Network(project=project, table=table, ends=None, declared=declared, counted=counted, trait=trait)
    other = project.table(nodes)
    if not other.public:
        raise Refused(
            f"{other.name!r} is not public, but under edge privacy the nodes are: only their links are protected",
            hint=Message("declare it with public = true, if everyone may know it; or leave ", Flag("nodes"), " out"),
        )
    end = version.schema.column(end_columns[0])
    assert end is not None
    public = public_nodes(project.public(other.name), end, end_columns, key=key, by=by)
    return Network(project=project, table=table, ends=end_columns, declared=declared, nodes=public, trait=labels)


def _pair(ends: Sequence[str]) -> tuple[str, str]:
    names = [part.strip() for part in ends.split(",")] if isinstance(ends, str) else list(ends)
    if len(names) != 2 or not all(isinstance(name, str) and name for name in names):
        raise UsageError("an edge has two ends", hint=Message(Flag("ends", ("from", "to"))))
    return names[0], names[1]


def _refuse_without_nodes(**given: str | None) -> None:
    for name, value in given.items():
        if value is not None:
            raise UsageError(
                f"--{name} needs a table of nodes", hint=Message(Flag("nodes", "NODES"), " ", Flag(name, "COLUMN"))
            )


def _refuse_key_of_persons(key: str | None) -> None:
    if key is not None:
        raise UsageError(
            "the key of a private table of nodes is its person column", hint=Message("leave ", Flag("key"), " out")
        )


def _counted(project: ProjectTables, version: Version, nodes: str) -> str:
    """A private table of the same population, whose persons are the nodes."""
    other = project.table(nodes)
    if other.public:
        raise Refused(
            f"{other.name!r} is public, but under node privacy it is protected who the nodes are",
            hint=Message(
                "leave ", Flag("nodes"), " out; or leave ends out of the table's declaration to protect single edges"
            ),
        )
    _check_counted(project.peek_version(other.name), version)
    return other.name


def _check_counted(counted: Version, version: Version) -> None:
    if counted.population != version.population:
        raise UsageError(
            f"{counted.table!r} belongs to population {counted.population!r}, but {version.table!r} to "
            f"{version.population!r}",
            hint="declare the same population for tables about the same people; they share its budget",
        )
    if not counted.schema.unit.person:
        raise UsageError(
            f"{counted.table!r} declares no person column", hint=f'person = "id" in [tables.{counted.table}]'
        )
