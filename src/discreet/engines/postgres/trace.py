"""By what a table of the server's is known again, whatever it is called and however the server is reached."""

from __future__ import annotations

from discreet.engines.engine import Trace
from discreet.engines.postgres.session import Session
from discreet.engines.postgres.source import Source, rows

#: The tables that a relation's rows come from: itself, what it inherits to, and, of a view, what it reads.
_BASES = """
WITH RECURSIVE reached AS (
  SELECT $1::oid AS oid
  UNION
  SELECT found.oid FROM reached, LATERAL (
    SELECT i.inhrelid AS oid FROM pg_inherits AS i WHERE i.inhparent = reached.oid
    UNION ALL
    SELECT d.refobjid FROM pg_rewrite AS r JOIN pg_depend AS d ON d.objid = r.oid
    WHERE r.ev_class = reached.oid AND d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass
  ) AS found
)
SELECT c.oid::bigint, c.relkind::text, c.relispartition,
  concat_ws(' ', c.relfilenode, pg_relation_size(c.oid), pg_stat_get_tuples_inserted(c.oid),
    pg_stat_get_tuples_updated(c.oid), pg_stat_get_tuples_deleted(c.oid))
FROM reached JOIN pg_class AS c USING (oid)
ORDER BY c.oid
"""
_DATABASE = """
SELECT oid::text, has_function_privilege('pg_control_system()', 'EXECUTE')
FROM pg_database WHERE datname = current_database()
"""


def trace(session: Session, source: Source) -> Trace:
    """The same: by the server's own number, the database's and the table's; and its partitions' or children's.

    A view of one table is that table, as a link is the file that it points to. One of several is a source of its own:
    the others may be lists that many views look up. State: the file that holds the rows, its size, and how many
    rows were ever inserted, updated and deleted (which the server knows some seconds late).
    """
    ((database, allowed),) = rows(session, _DATABASE)
    if allowed:
        ((server,),) = rows(session, "SELECT system_identifier::text FROM pg_control_system()")
    else:  # taken from PUBLIC here: by its address, of which there may be several
        server = f"{session.connection.info.host}:{session.connection.info.port}"
    found = rows(session, _BASES, [source.oid])
    tops = [oid for oid, kind, part, _ in found if kind in ("r", "p", "f") and not part]
    known = {oid for oid, *_ in found} if len(tops) <= 1 else {source.oid}
    return Trace(
        same=tuple(f"postgresql {server} {database} {oid}" for oid in sorted(known)),
        state="; ".join(f"{oid} {state}" for oid, _, _, state in found),
    )
