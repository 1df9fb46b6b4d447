"""What a project says of streams: the few functions that `api` and the command line call."""

from __future__ import annotations

from discreet.errors import Flag, Message, UsageError
from discreet.kernel.project_session import ProjectTables, quote_session
from discreet.tables.stream import stream_plan
from discreet.tables.stream.stream import StreamSource, TableStream, find, start
from discreet.tables.stream.stream_plan import StreamPlan, StreamRequest


def source_of(project: ProjectTables, table: str) -> StreamSource:
    """A private table of a project, for streams to follow."""
    declared_table = project.table(table)
    if declared_table.public:
        raise UsageError(f"{declared_table.name!r} is a public table: read it directly, it needs no stream")
    return StreamSource(
        table=declared_table.name,
        curator=project.curator,
        newest=lambda: project.version(declared_table.name),
        guarantee=lambda: project.guarantee(declared_table.name),
        asker=project.asker,
    )


def stream(
    project: ProjectTables,
    table: str,
    name: str,
    *,
    epsilon: object = None,
    delta: object = None,
    horizon: object = None,
    contributions: object = None,
    analyst: str | None = None,
) -> tuple[TableStream, bool]:
    """The stream of a name; started, and charged once for its whole horizon, where an epsilon is given.

    And whether it was there: starting the very same one again finds it, free.
    """
    source = source_of(project, table)
    if epsilon is None:
        if (delta, horizon, contributions) != (None, None, None):
            raise UsageError(
                "a new stream needs an epsilon", hint=Message(Flag("epsilon", 1), " ", Flag("horizon", 365))
            )
        return find(source, name, analyst=analyst), True
    asker = project.asker(analyst)
    request = StreamRequest.of(name, epsilon=epsilon, delta=delta, horizon=horizon, contributions=contributions)
    version = project.peek_version(table)
    if not version.file:  # refuse before a first version is made
        stream_plan.choose_plan(request, quote_session(project, table))
    return start(source, request, asker=asker)


def plan_stream(
    project: ProjectTables,
    table: str,
    name: str,
    *,
    epsilon: object,
    delta: object = None,
    horizon: object = None,
    contributions: object = None,
) -> StreamPlan:
    """What a stream would draw, and how good that would be. Free."""
    source_of(project, table)
    request = StreamRequest.of(name, epsilon=epsilon, delta=delta, horizon=horizon, contributions=contributions)
    return stream_plan.choose_plan(request, quote_session(project, table))


def streams(project: ProjectTables, table: str) -> list[TableStream]:
    """The streams of a table, the oldest first; of one name the newest."""
    source = source_of(project, table)
    return [find(source, name) for name in source.names()]
