"""Erasing persons from a declared table in a lake. No version changes: stored answers and their losses stay.

Guarantee: after `erase` no file of the table's folder holds a row or the tag of these persons; whenever it breaks off,
    the table is whole, old or new, and a second run finishes the work.
Because: both parts are written anew beside the old ones, and the manifest takes them over at once, if it is still the
    one that was read, and if as many rows and persons lie there as are to stay; of this machine's processes one at a
    time erases from a table. What no manifest names is swept
    away at the end of every run, also of one that finds nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from discreet.engines.keyed_hashes import TAG_BYTES
from discreet.engines.spark.broadcast_table import broadcast_frame
from discreet.engines.spark.lake import LakeManifest, LakeTable
from discreet.engines.spark.session import SparkSession
from discreet.errors import DiscreetError, UsageError


def erase(session: Callable[[], SparkSession], table: LakeTable, tags: Collection[bytes]) -> int:
    """Rewrite a declared table without the persons of these tags; how many they were."""
    if table.manifest() is None:
        return 0
    try:
        with table.making() as mark:
            manifest = (
                table.whole_manifest()
            )  # of nobody else's making any more; a damaged one would be made whole by us
            if manifest.persons is None:
                raise UsageError("a table whose privacy unit is a row has no people to erase")
            return _without(session(), table, manifest, list(tags), mark)
    except (DiscreetError, OSError):
        raise
    except Exception:
        raise UsageError(
            "Spark could not erase from the declared table", hint="try again: nothing is half done"
        ) from None


def _without(session: SparkSession, table: LakeTable, manifest: LakeManifest, tags: list[bytes], mark: str) -> int:
    import pyarrow as pa

    tag_table = pa.table({"tag": pa.array([tag for tag in tags if len(tag) == TAG_BYTES], pa.binary())})
    persons, rows = table.persons(session, manifest), table.rows(session, manifest)
    erased = persons.join(broadcast_frame(session, tag_table).distinct().hint("broadcast"), "tag").select("number")
    many = int(erased.count())
    if not many:
        return 0
    numbers = _numbers(session, erased)
    names = [f"c{place}" for place in range(len(manifest.columns))]
    kept = rows.toDF(*names, "person").join(numbers.toDF("person"), "person", "left_anti")
    exact_kept, exact_persons = int(kept.count()), int(persons.count()) - many
    kept.select(*names, "person").write.parquet(f"{table.folder}/rows-{mark}")
    persons.join(numbers, "number", "left_anti").select("number", "tag", "rows").write.parquet(
        f"{table.folder}/persons-{mark}"
    )
    after = LakeManifest(
        columns=manifest.columns, rows=table.part(f"rows-{mark}"), persons=table.part(f"persons-{mark}")
    )
    written = (table.rows(session, after).count(), table.persons(session, after).count())
    if written != (exact_kept, exact_persons):
        raise UsageError(
            "Spark could not write what is left of the declared table",
            hint="nothing is half done: try again when every executor sees the folder of declared tables",
        )
    table.commit(after, after=manifest)
    return many


def _numbers(session: SparkSession, erased: Any) -> Any:
    """The numbers of those who go: few, and fixed from here on."""
    return broadcast_frame(session, erased.toArrow())
