"""Where a table's rows come from on Spark: Parquet files, a folder of them, a Delta table's folder, a catalog's table.

The files are listed once; that list, with sizes and times, is the snapshot. They are read by name, each by the types
that were found, and if the list differs in the end, nothing is made. A folder's name adds no column. CSV is not
read here: Spark would guess at it, row by row. Messages are for the owner; they name files and columns, never a cell.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from discreet.engines.engine import SourceTrace
from discreet.engines.file_kind import KIND_WORDS, file_kind
from discreet.engines.header import Header
from discreet.engines.spark.broadcast_table import empty_frame
from discreet.engines.spark.delta import live_files
from discreet.engines.spark.lake_store import DiskStore, FileEntry, LakeStore, is_local, local_path, store_of, with_root
from discreet.engines.spark.session import SparkSession
from discreet.engines.spark.spark_columns import SparkColumn, column_of_arrow, column_of_spark
from discreet.engines.spark.spark_connect import is_remote
from discreet.engines.spark.table_logs import refuse_log_managed
from discreet.errors import DiscreetError, SchemaError, UsageError

_TABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*){0,2}")
_FILES = (".parquet", ".pq", ".csv")
_GLOB = re.compile(r"([\\{}\[\]*?])")

#: Dates are those of the calendar that the file's own numbers count in.
_OPTIONS = {"datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED", "mergeSchema": "false"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkSource(Header):
    """A source as it was found: its columns, and its files, or its name in the catalog."""

    spark_columns: tuple[SparkColumn, ...]
    files: tuple[FileEntry, ...]
    #: Lists the files again.
    listed: Callable[[], tuple[FileEntry, ...]]
    table: str | None = None

    def frame(self, session: SparkSession, places: Sequence[int]) -> Any:
        """The rows, with the columns of these places as c0, c1, ... by their places."""
        names = [f"c{place}" for place in places]
        if self.table is not None:
            whole = session.table(self.table)
            return whole.toDF(*(f"c{place}" for place in range(len(self.names)))).select(*names)
        fields = [
            {"name": self.names[place], "type": self.spark_columns[place].type, "nullable": True, "metadata": {}}
            for place in places
        ]
        return read_files(session, [entry.path for entry in self.files], fields).toDF(*names)

    def trace(self) -> SourceTrace:
        """By what it is known again."""
        return trace_of_files(self.files)

    def check_unchanged(self) -> None:
        """Whatever was read until now was one snapshot: no file came, went or was written to since it was found."""
        if self.listed() != self.files:
            raise UsageError(f"{self.shown} changed while it was read", hint="try again when nothing writes to it")


def trace_of_files(files: Sequence[FileEntry]) -> SourceTrace:
    """The sizes and times of files, and the files themselves where they are this machine's; elsewhere their names.

    Guarantee: a table of the catalog, its folder and its files, on this engine or another, are one source.
    Because: what is compared are the files, whatever they were found by.
    """
    if all(is_local(entry.path) and Path(local_path(entry.path)).exists() for entry in files):
        here = tuple(Path(local_path(entry.path)) for entry in files)
        return SourceTrace(same=tuple(f"{entry.size} {entry.time}" for entry in files), files=here)
    state = "\n".join(f"{entry.path} {entry.size} {entry.time}" for entry in files)
    return SourceTrace(same=tuple(entry.path for entry in files), state=state)


def read_files(session: SparkSession, files: Sequence[str], fields: list[dict[str, Any]]) -> Any:
    """Parquet files by name, with these columns and no others."""
    from pyspark.sql.types import StructType

    struct = StructType.fromJson({"type": "struct", "fields": fields})
    if not files:
        return empty_frame(session, {field.name: field.dataType.simpleString() for field in struct.fields})
    return session.read.schema(struct).options(**_OPTIONS).parquet(*(_GLOB.sub(r"\\\1", file) for file in files))


def find(source: str, *, folder: Path, session: Callable[[], SparkSession]) -> SparkSource:
    """The source as the owner wrote it; a path is relative to `folder`. Spark is started where it has to be asked."""
    try:
        if "://" in source and not source.startswith("file:"):
            return _elsewhere(source, session())
        files = _local(source, folder)
        if files is not None:
            return _parquet(source, files)
        if _TABLE.fullmatch(source) and not source.endswith(_FILES):
            return _catalog(source, session())
    except DiscreetError:
        raise
    except OSError as problem:
        raise UsageError(f"{source} cannot be read: {problem.strerror or 'it is damaged'}") from None
    except Exception:  # Spark's own may quote what it read
        raise UsageError(
            f"{source} cannot be read by Spark", hint="check that it exists and that Spark is allowed to read it"
        ) from None
    raise UsageError(f"there is no file {source}", hint="paths are relative to the folder of discreet.toml")


def trace_here(source: str, *, folder: Path) -> SourceTrace:
    """By what files of this machine are known again, without any Spark; nothing where a source names none."""
    try:
        files = None if "://" in source and not source.startswith("file:") else _local(source, folder)
        return SourceTrace(same=()) if files is None else trace_of_files(files())
    except (DiscreetError, OSError):
        return SourceTrace(same=())


def _local(source: str, folder: Path) -> Callable[[], tuple[FileEntry, ...]] | None:
    """How the files of a source on this machine are listed; None where there are none."""
    path = folder / source.removeprefix("file://")
    if path.is_dir():
        if (path / "_delta_log").is_dir():
            return lambda: _delta(DiskStore(), str(path.absolute()), shown=source)
        inside = str(path.absolute())
        return lambda: _plain(
            (entry for entry in DiskStore().files(inside) if _is_data(entry.path, path)), shown=source
        )
    if path.exists():
        return lambda: _plain(filter(None, [DiskStore().entry(str(path.absolute()))]), shown=source)
    if not glob.has_magic(source):
        return None
    pattern = str(Path(glob.escape(str(folder))) / source)

    def listed() -> tuple[FileEntry, ...]:
        paths = sorted({str(Path(name).absolute()) for name in glob.glob(pattern, recursive=True)})
        entries = (DiskStore().entry(name) for name in paths if Path(name).is_file())
        return _plain(filter(None, entries), shown=source)

    return listed if listed() else None


def _plain(files: Iterable[FileEntry], *, shown: str) -> tuple[FileEntry, ...]:
    """Files of this machine that no log rules over."""
    entries = tuple(files)
    refuse_log_managed(DiskStore(), entries, shown=shown)
    return entries


def _delta(store: LakeStore, root: str, *, shown: str) -> tuple[FileEntry, ...]:
    """The files of a Delta table, by its log; its root must not lie in another table."""
    refuse_log_managed(store, [FileEntry(root, 0, 0)], shown=shown)
    return tuple(live_files(store, root, shown=shown))


def _is_data(path: str, folder: Path) -> bool:
    """What Spark itself takes for data: nothing under a name that begins with a dot or an underscore."""
    return not any(part.startswith((".", "_")) for part in Path(path).relative_to(folder.absolute()).parts)


def _parquet(source: str, listed: Callable[[], tuple[FileEntry, ...]]) -> SparkSource:
    """Files of this machine: every footer is read, since Spark would make NULL of a column that one of them lacks."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    files = listed()
    if not files:
        raise UsageError(f"{source} contains no Parquet file", hint="an empty table is a Parquet file without rows")
    first: Any = None
    for entry in files:
        name = Path(entry.path).name
        with open(entry.path, "rb") as stream:
            if stream.read(4) != b"PAR1":
                kind = KIND_WORDS[file_kind(Path(entry.path))]
                raise UsageError(
                    f"{name} is not a Parquet file; Spark cannot read {kind} files",
                    hint=f"convert it to Parquet, or use the duckdb engine for {kind} files",
                )
        try:
            with pq.ParquetFile(entry.path) as file:
                footer = file.schema_arrow.remove_metadata(), _old_timestamps(file)
        except pa.ArrowException:
            raise UsageError(f"{source} cannot be read as Parquet") from None
        first = first or footer
        if not footer[0].equals(first[0]) or footer[1] != first[1]:
            raise SchemaError(
                f"{source}: {name} and {Path(files[0].path).name} do not have the same columns and types",
                hint="give them the same columns and types, or declare two tables",
            )
    schema, old = first
    readings = tuple(
        column_of_arrow(field.type, shown=str(field.type), old_timestamp=field.name in old) for field in schema
    )
    types = tuple(each.shown for each in readings)
    return SparkSource(
        shown=source, names=tuple(schema.names), types=types, spark_columns=readings, files=files, listed=listed
    )


def _old_timestamps(file: Any) -> frozenset[str]:
    """The columns that hold INT96."""
    columns = [file.schema.column(place) for place in range(len(file.schema))]
    return frozenset(column.path for column in columns if column.physical_type == "INT96")


def _elsewhere(source: str, session: SparkSession) -> SparkSource:
    """Files that only Spark can reach: their columns are those that all of them have together."""

    def listed() -> tuple[FileEntry, ...]:
        store, root = store_of(session, source, shown=source), source.rstrip("/")
        if not _GLOB.search(source) and store.files(f"{root}/_delta_log"):
            return _delta(store, root, shown=source)
        entries = _listed(session, [with_root(source)])
        refuse_log_managed(store, entries, shown=source)
        return entries

    files = listed()
    if not files:
        raise UsageError(f"there is no Parquet file at {source}")
    paths = [_GLOB.sub(r"\\\1", entry.path) for entry in files]
    try:
        schema = session.read.options(**{**_OPTIONS, "mergeSchema": "true"}).parquet(*paths).schema
    except Exception:  # Spark's own: it names a file, or its columns, in pages of Java
        raise UsageError(
            f"Spark cannot read the columns of {source}",
            hint="every file there must be Parquet, Spark must be allowed to read it, and no column may have two types",
        ) from None
    return _of_schema(source, schema, files=files, listed=listed)


def _listed(session: SparkSession, paths: Sequence[str]) -> tuple[FileEntry, ...]:
    """Files as Spark lists them, at any address that it knows."""
    reader = session.read.format("binaryFile").option("recursiveFileLookup", "true")
    file_table = (
        reader.load(list(paths)).selectExpr("path", "length", "unix_micros(modificationTime) AS time").toArrow()
    )
    entries = sorted(FileEntry(row["path"], row["length"], row["time"]) for row in file_table.to_pylist())
    return tuple(entry for entry in entries if not entry.path.rsplit("/", 1)[-1].startswith(("_", ".")))


def _catalog(source: str, session: SparkSession) -> SparkSource:
    """A table of Spark's catalog, where it is made of files."""
    if not session.catalog.tableExists(source):
        raise UsageError(f"there is no file and no table {source}", hint="name a file, or a table of Spark's catalog")
    if session.catalog.getTable(source).tableType in ("VIEW", "TEMPORARY"):
        raise UsageError(f"{source} is a view: its expressions may fail on a row", hint="name its table")
    provider = _provider(source, session)
    if provider != "parquet":
        raise UsageError(
            f"{source} is stored as {provider}; only Parquet tables of the catalog can be read",
            hint="name a Delta table by its folder; export others to Parquet",
        )

    def listed() -> tuple[FileEntry, ...]:
        session.catalog.refreshTable(source)
        entries = _of_table(session, sorted(session.table(source).inputFiles()))
        if all(is_local(entry.path) for entry in entries) or not is_remote(session):  # else nobody lets us look
            for entry in entries[:1]:
                refuse_log_managed(store_of(session, entry.path, shown=source), entries, shown=source)
        return entries

    return _of_schema(source, session.table(source).schema, files=listed(), listed=listed, table=source)


def _of_table(session: SparkSession, files: Sequence[str]) -> tuple[FileEntry, ...]:
    """The files of a table: as this machine has them where it does, so that they are the same by any other name."""
    if not files:
        return ()
    here = [DiskStore().entry(file) for file in files if is_local(file)]
    if len(here) == len(files) and None not in here:
        return tuple(entry for entry in here if entry is not None)
    return _listed(session, [_GLOB.sub(r"\\\1", unquote(file)) for file in files])


def _provider(source: str, session: SparkSession) -> str:
    """By what Spark reads a table: a database's rows have no files, and CSV's and JSON's can take others with them."""
    name = ".".join(f"`{part}`" for part in source.split("."))
    rows = [(row[0], row[1]) for row in session.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()]
    starts = [place for place, (key, _) in enumerate(rows) if key == "# Detailed Table Information"]
    table_facts = (
        dict(reversed(rows[starts[-1] :])) if starts else {}
    )  # a column may have any name; the table's are last
    return str(table_facts.get("Provider", "an unknown kind")).lower()


def _of_schema(
    source: str,
    schema: Any,
    *,
    files: tuple[FileEntry, ...],
    listed: Callable[[], tuple[FileEntry, ...]],
    table: str | None = None,
) -> SparkSource:
    readings = tuple(column_of_spark(field) for field in schema.fields)
    names, types = tuple(field.name for field in schema.fields), tuple(each.shown for each in readings)
    return SparkSource(
        shown=source, names=names, types=types, spark_columns=readings, files=files, listed=listed, table=table
    )
