"""The files that make up a Delta table now, from its log. Read as plain Parquet it would bring back deleted people.

Only tables whose rows are those of whole files are read: deletion vectors, columns under other names than their own,
and columns that are in no file (partitions) are refused, as is whatever the log asks of a reader that is unknown here.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote

from discreet.engines.spark.lake_store import FileEntry, LakeStore
from discreet.errors import UsageError

#: What a log may ask of its readers: kinds of columns, and what only writers care for. Two are looked at below.
_SUPPORTED_FEATURES = {"timestampNtz", "vacuumProtocolCheck", "deletionVectors", "columnMapping"}

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10}))?\.parquet")


def live_files(store: LakeStore, folder: str, *, shown: str) -> list[FileEntry]:
    """The files of the last version, by name."""
    live: dict[tuple[str, Any], dict[str, Any]] = {}
    state: dict[str, Any] = {}
    for action in _actions(store, folder, shown=shown):
        if action.get("add"):
            live[_key(folder, action["add"])] = action["add"]
        elif action.get("remove"):
            live.pop(_key(folder, action["remove"]), None)
        else:
            state |= {key: action[key] for key in ("protocol", "metaData") if action.get(key)}
    _check(state, live.values(), shown=shown)
    entries = [store.entry(path) for path in sorted(path for path, _ in live)]
    if None in entries:
        raise UsageError(f"{shown}: a file that the table's log lists is missing", hint="check whether it was vacuumed")
    return [entry for entry in entries if entry is not None]


def _key(folder: str, file_action: dict[str, Any]) -> tuple[str, Any]:
    """What a line of the log speaks of: a file, with the rows that a vector leaves of it.

    A commit may add what is left of a file before it takes the whole one away: by the path alone it would be lost.
    """
    path, vector = unquote(file_action["path"]), file_action.get("deletionVector")
    path = path if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:|/", path) else f"{folder}/{path}"
    return path, json.dumps(
        {key: value for key, value in vector.items() if value is not None}, sort_keys=True
    ) if vector else ""


def _actions(store: LakeStore, folder: str, *, shown: str) -> Iterator[dict[str, Any]]:
    """What the log says, from its last whole checkpoint on, in order."""
    names = {entry.path.rsplit("/", 1)[-1]: entry.path for entry in store.files(f"{folder}/_delta_log")}
    start, parts = _checkpoint(names)
    for part in parts:
        yield from _rows(store.read(names[part]) or b"")
    commits = {int(match[1]): name for name in names if (match := _COMMIT.fullmatch(name))}
    last = max(commits, default=-1)
    newest = max((int(match[1]) for name in names if (match := _CHECKPOINT.fullmatch(name))), default=-1)
    if newest > max(start, last):
        raise UsageError(f"{shown}: a part of the Delta table's checkpoint {newest} is missing")
    for number in range(start + 1, last + 1):
        if number not in commits:
            raise UsageError(f"{shown}: version {number} is missing from the log of the Delta table")
        for line in (store.read(names[commits[number]]) or b"").splitlines():
            if line.strip():
                yield json.loads(line)


def _checkpoint(names: Iterable[str]) -> tuple[int, list[str]]:
    """The newest checkpoint that is whole, and its files; -1 and none where there is none."""
    parts_by_checkpoint: dict[tuple[int, int], list[str]] = {}
    for name in names:
        if match := _CHECKPOINT.fullmatch(name):
            parts_by_checkpoint.setdefault((int(match[1]), int(match[3] or 1)), []).append(name)
    whole = {number: sorted(parts) for (number, many), parts in parts_by_checkpoint.items() if len(parts) == many}
    return max(whole.items(), default=(-1, []))


def _rows(content: bytes) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq

    columns = ["add", "remove", "protocol", "metaData"]
    return [dict(row) for row in pq.read_table(io.BytesIO(content), columns=columns).to_pylist()]


def _check(state: dict[str, Any], live: Iterable[dict[str, Any]], *, shown: str) -> None:
    protocol, table = state.get("protocol") or {}, state.get("metaData") or {}
    if not protocol or not table:
        raise UsageError(f"{shown}: the log of the Delta table does not state its columns and its version")
    features = set(protocol.get("readerFeatures") or ())
    settings = dict(table.get("configuration") or {})
    if int(protocol.get("minReaderVersion") or 1) > 3 or features - _SUPPORTED_FEATURES:
        _refuse(shown, "needs a reader feature that is not supported")
    if any(each.get("deletionVector") for each in live):
        _refuse(shown, "uses deletion vectors", hint="run REORG TABLE … APPLY (PURGE) to remove them")
    if settings.get("delta.columnMapping.mode", "none") != "none":
        _refuse(shown, "uses column mapping: its columns have other names in its files")
    if table.get("partitionColumns"):
        _refuse(shown, "stores partition columns in folder names")


def _refuse(shown: str, why: str, *, hint: str = "export the table to Parquet, or to a table without this") -> None:
    raise UsageError(f"{shown} is a Delta table that {why}", hint=hint)
