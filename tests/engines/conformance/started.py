"""PostgreSQL and Spark, started when a test first asks for one, and stopped when no test is left."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest

from discreet.engines.postgres.postgres_engine import PostgresEngine
from engines.conformance.grounds import Ground, Server, Shore
from engines.postgres import server as postgres
from engines.spark import server as spark
from engines.spark.server import spark_tests
from postgres_versions import VERSIONS, version_server

_SPARK = pytest.param("spark", marks=spark_tests)

#: Those that make a small table in no time.
QUICK = [pytest.param(name) for name in ("duckdb", "postgres")]
#: Other versions of PostgreSQL than that of the tests' own server.
_OLDER = [pytest.param(f"postgres{version}", marks=pytest.mark.versions) for version in VERSIONS]
#: The engines that are compared with the reference. Spark's tests share a worker, and so one Java.
GROUNDS = [*QUICK, *_OLDER, _SPARK]
#: The same where Spark would take long for what its other tests see, too: it is for `./do fuzz`.
LIGHT = [*QUICK, *_OLDER, pytest.param("spark", marks=[*spark_tests, pytest.mark.fuzz, pytest.mark.timeout(1800)])]


@contextmanager
def started(folders: pytest.TempPathFactory) -> Iterator[Callable[[str, Path], Ground]]:
    """A function that makes a ground of a started engine."""
    with ExitStack() as stack:
        known: dict[str, Callable[[Path], Ground]] = {}
        starts = {"postgres": _postgres, "spark": _spark}
        starts |= {f"postgres{version}": partial(_postgres, version=version) for version in VERSIONS}

        def ground(name: str, folder: Path) -> Ground:
            if name not in known:
                known[name] = starts[name](stack)
            return known[name](folder)

        yield ground


def _postgres(stack: ExitStack, version: int | None = None) -> Callable[[Path], Ground]:
    address = postgres.started() if version is None else stack.enter_context(version_server(version))
    engine = PostgresEngine(address)
    stack.callback(engine.close)
    return lambda folder: Server(name="postgres", engine=engine, folder=folder, address=address)


def _spark(stack: ExitStack) -> Callable[[Path], Ground]:
    engine = spark.engine()
    return lambda folder: Shore(name="spark", engine=engine, folder=folder)
