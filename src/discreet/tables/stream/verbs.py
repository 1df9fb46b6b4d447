"""What a project says of streams: the few functions that `api` and the command line call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import UsageError
from discreet.tables.stream import opening
from discreet.tables.stream.opening import Plan, Wanted
from discreet.tables.stream.stream import Source, Stream, find, start

if TYPE_CHECKING:
    from discreet.publishing import Publishing


def source_of(project: Publishing, table: str) -> Source:
    """A private table of a project, for streams to follow."""
    found = project.table(table)
    if found.public:
        raise UsageError(f"{found.name!r} is public: what it holds can be read off it")
    return Source(
        table=found.name,
        curator=project.curator,
        newest=lambda: project.version(found.name),
        guarantee=lambda: project.guarantee(found.name),
        asker=project.asker,
    )


def stream(
    project: Publishing,
    table: str,
    name: str,
    *,
    epsilon: object = None,
    delta: object = None,
    horizon: object = None,
    contributions: object = None,
    analyst: str | None = None,
) -> tuple[Stream, bool]:
    """The stream of a name; started, and charged once for its whole horizon, where an epsilon is given.

    And whether it was there: starting the very same one again finds it, free.
    """
    source = source_of(project, table)
    if epsilon is None:
        if (delta, horizon, contributions) != (None, None, None):
            raise UsageError("a stream is started with an epsilon", hint="--epsilon 1 --horizon 365")
        return find(source, name, analyst=analyst), True
    asker = project.asker(analyst)
    wanted = Wanted.of(name, epsilon=epsilon, delta=delta, horizon=horizon, contributions=contributions)
    version = project.known_version(table)
    if not version.file:  # refuse before a first version is made
        opening.planned(wanted, version, project.guarantee(table), project.curator)
    return start(source, wanted, asker=asker)


def plan_stream(
    project: Publishing,
    table: str,
    name: str,
    *,
    epsilon: object,
    delta: object = None,
    horizon: object = None,
    contributions: object = None,
) -> Plan:
    """What a stream would draw, and how good that would be. Free."""
    source_of(project, table)
    wanted = Wanted.of(name, epsilon=epsilon, delta=delta, horizon=horizon, contributions=contributions)
    return opening.planned(wanted, project.known_version(table), project.guarantee(table), project.curator)


def streams(project: Publishing, table: str) -> list[Stream]:
    """The streams of a table, the oldest first; of one name the newest."""
    source = source_of(project, table)
    return [find(source, name) for name in source.names()]
