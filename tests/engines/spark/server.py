"""One Spark for all tests of a process: two tasks at once, small shuffles, and what its Java says in a file.

Mark tests that use it `spark_tests`: they run in one worker, and the first of them waits for Java to start. Without Java they
fail: `./do test` installs it.
"""

import json
import os
import tempfile
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines.spark import session as session_module
from discreet.engines.spark.spark_engine import SparkEngine
from discreet.engines.table_file import PERSON

ADDRESS = "spark://local"

# Tests run each plan once or twice: what a compiler for hot code makes of it is never used, and takes half of the time.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

#: Java's loggers as an owner may have them, with somewhere to write to: that nothing is written is then our doing.
VOICED = """
status = off
appender.voice.type = Console
appender.voice.name = voice
appender.voice.target = SYSTEM_ERR
appender.voice.layout.type = PatternLayout
appender.voice.layout.pattern = %m%n%ex
rootLogger.level = off
rootLogger.appenderRef.voice.ref = voice
"""

#: For `pytestmark`. Java takes most of a minute of a processor to get warm: the fast tier keeps one job, in
#: engines/conformance/test_questions.
spark_tests = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(1800), pytest.mark.deep]


@cache
def log() -> Path:
    """What Java has written to its standard error."""
    return Path(tempfile.mkdtemp(prefix="discreet-spark-")) / "java.log"


@cache
def engine() -> SparkEngine:
    """The engine, started."""
    found = SparkEngine(ADDRESS, deadline_s=120.0, threads=2, memory_mb=1024)
    start(found)
    return found


def start(found: SparkEngine):
    """Start its session. What its Java says goes to a file, not to nowhere, so that it can be searched."""
    log().touch()
    session_module.JAVA_STDERR = str(log())
    settings = log().with_name("log4j2.properties")
    settings.write_text(VOICED)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("LOG4J_CONFIGURATION_FILE", settings.as_uri())
        session = found.session()
    session.conf.set("spark.sql.shuffle.partitions", "4")
    return session


@pytest.fixture
def spark_engine() -> SparkEngine:
    start(engine())  # the same one, unless a test has killed it
    return engine()


def load(rows, folder: Path, name: str = "source", *, files: int = 2) -> str:
    """Rows (a list of dicts, or an Arrow table) as a folder of so many Parquet files; what to write as the source."""
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows)
    place = folder / name
    place.mkdir(parents=True)
    cuts = [turn * table.num_rows // files for turn in range(files + 1)]
    for turn in range(files):
        pq.write_table(table.slice(cuts[turn], cuts[turn + 1] - cuts[turn]), place / f"part-{turn}.parquet")
    return name


def stored(place) -> list[dict]:
    """The rows of a declared table, read without Spark."""
    told = json.loads((Path(place.folder) / "manifest.json").read_text())
    names = [name for name, _ in told["columns"]] + ([PERSON] if told["persons"] else [])
    return _read(place, "rows").rename_columns(names).to_pylist()


def side(place) -> list[dict]:
    """The persons of a declared table: number, tag, rows."""
    return _read(place, "persons").to_pylist()


def _read(place, part: str) -> pa.Table:
    folder, files = json.loads((Path(place.folder) / "manifest.json").read_text())[part]
    return pa.concat_tables(pq.read_table(Path(place.folder) / folder / name, partitioning=None) for name, _ in files)
