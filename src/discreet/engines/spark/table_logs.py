"""Folders that a log rules over: which of their files hold the table's rows now is said there, not by the folder.

A file of such a table, read by its own name, by a glob or from a folder above, may hold people who were deleted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

from discreet.engines.spark.lake_store import FileEntry, LakeStore, is_local, local_path
from discreet.errors import UsageError

#: What lies in the root of a table: of Delta's and of Hudi's.
_LOGS = {"_delta_log": "Delta", ".hoodie": "Hudi", "_hudi": "Hudi"}

#: How the files end that lie in the folder `metadata` of an Iceberg table.
_ICEBERG = (".metadata.json", ".metadata.json.gz", ".gz.metadata.json", "version-hint.text")


def refuse_log_managed(store: LakeStore, files: Iterable[FileEntry], *, shown: str) -> None:
    """Refuse files that lie under the root of a table with a log, however deep, by their names and through links."""
    for folder in sorted({above for entry in files for above in _above(entry.path)}):
        if rules := _log_format(store, folder):
            raise UsageError(
                f"{shown} contains files of a table in {rules} format, whose log says which of them are current",
                hint="name the Delta table's own folder, or export the table to Parquet",
            )


def _above(path: str) -> Iterator[str]:
    """All folders that a file lies in, up to the root of its store."""
    if is_local(path):
        for whole in {os.path.normpath(local_path(path)), os.path.realpath(local_path(path))}:
            while whole != (whole := os.path.dirname(whole)):
                yield whole
        return
    scheme, _, rest = path.partition("://")
    while "/" in rest:
        rest = rest.rpartition("/")[0]
        if rest:
            yield f"{scheme}://{rest}"


def _log_format(store: LakeStore, folder: str) -> str:
    """Whose log lies in a folder; nothing where there is none, or where a store lets us not look (a bucket's root)."""
    with suppress(*(() if is_local(folder) else (Exception,))):
        for name, rules in _LOGS.items():
            if store.entry(f"{folder}/{name}") is not None:
                return rules
        inside = store.files(f"{folder}/metadata") if store.entry(f"{folder}/metadata") is not None else []
        if any(entry.path.endswith(_ICEBERG) for entry in inside):
            return "Iceberg"
    return ""
