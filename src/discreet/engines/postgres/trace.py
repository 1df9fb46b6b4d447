"""By what a table of the server's is known again, whatever it is called and however the server is reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discreet.engines.engine import SourceTrace
from discreet.engines.postgres.postgres_source import PostgresSource, fetch_rows
from discreet.engines.postgres.session import PostgresSession

#: What a relation has to do with others: 'read' is itself and what a (materialized) view reads, 'heir' what those
#: inherit to, partitions among them, 'parent' what any of these inherits from. Rules for writing read nothing.
_REACHED = """
WITH RECURSIVE reading AS (
  SELECT DISTINCT r.ev_class, d.refobjid
  FROM pg_rewrite AS r JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
  WHERE r.ev_type = '1' AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> r.ev_class
), reached AS (
  SELECT $1::oid AS oid, 'read' AS how
  UNION
  SELECT found.oid, found.how FROM reached, LATERAL (
    SELECT refobjid AS oid, 'read' AS how FROM reading WHERE ev_class = reached.oid AND reached.how <> 'parent'
    UNION ALL
    SELECT inhrelid, 'heir' FROM pg_inherits WHERE inhparent = reached.oid AND reached.how <> 'parent'
    UNION ALL
    SELECT inhparent, 'parent' FROM pg_inherits WHERE inhrelid = reached.oid
  ) AS found
)
SELECT c.oid::bigint, c.relkind::text, reached.how, ARRAY(SELECT refobjid::bigint FROM reading WHERE ev_class = c.oid),
  concat_ws(' ', c.relfilenode, pg_relation_size(c.oid), pg_stat_get_tuples_inserted(c.oid),
    pg_stat_get_tuples_updated(c.oid), pg_stat_get_tuples_deleted(c.oid))
FROM reached JOIN pg_class AS c USING (oid)
ORDER BY c.oid
"""
_DATABASE = """
SELECT oid::text, has_function_privilege('pg_control_system()', 'EXECUTE')
FROM pg_database WHERE datname = current_database()
"""


def trace(session: PostgresSession, source: PostgresSource) -> SourceTrace:
    """The same: by the server's own number, the database's and the table's; and those of its parents and heirs.

    Parents count: a table that becomes an heir after its parent was declared is in the parent's next version.
    A materialized view of one table is that table, as a link is the file that it points to. One of several is a source
    of its own: the others may be lists that many look up. State: the files that hold the rows, their sizes, and
    how many rows were ever inserted, updated and deleted (which the server knows some seconds late).
    """
    ((database, allowed),) = fetch_rows(session, _DATABASE)
    if allowed:
        ((server,),) = fetch_rows(session, "SELECT system_identifier::text FROM pg_control_system()")
    else:  # taken from PUBLIC here: by its address, of which there may be several
        server = f"{session.connection.info.host}:{session.connection.info.port}"
    related = fetch_rows(session, _REACHED, [source.oid])
    heirs = {oid for oid, _, how, _, _ in related if how == "heir"}
    tops = {oid for oid, kind, how, _, _ in related if how == "read" and kind in ("r", "p", "f")} - heirs
    relation_oids = {oid for oid, *_ in related}
    if len(tops) > 1:
        relation_oids = _alone(source.oid, {oid: reads for oid, _, _, reads, _ in related})
    states = {oid: state for oid, _, how, _, state in related if how != "parent"}
    return SourceTrace(
        same=tuple(f"postgresql {server} {database} {oid}" for oid in sorted(relation_oids)),
        state="; ".join(f"{oid} {state}" for oid, state in sorted(states.items())),
    )


def _alone(oid: int, reads: Mapping[int, Sequence[int]]) -> set[int]:
    """A view, and what it reads as long as that is one relation alone: a view of a view is that view."""
    relation_oids = {oid}
    while len(reads[oid]) == 1:
        (oid,) = reads[oid]
        relation_oids.add(oid)
    return relation_oids
