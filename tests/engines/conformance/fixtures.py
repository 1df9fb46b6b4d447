"""The engines of a suite, for a conftest to import: `ground` is each of them in turn, `reference` the one that they must agree with."""

import pytest

from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.memory import MemoryEngine
from engines.conformance.grounds import Disk
from engines.conformance.started import GROUNDS, LIGHT, QUICK, started


@pytest.fixture(scope="session")
def _started(tmp_path_factory):
    """Engines that take long to start, once for all."""
    with started(tmp_path_factory) as found:
        yield found


@pytest.fixture(scope="module")
def reference(tmp_path_factory, quick_files):
    return Disk(name="memory", engine=MemoryEngine(), folder=tmp_path_factory.mktemp("reference"))


@pytest.fixture(scope="module", params=GROUNDS)
def ground(request, tmp_path_factory, quick_files):
    yield from _ground(request, tmp_path_factory)


@pytest.fixture(scope="module", params=QUICK)
def quick_ground(request, tmp_path_factory, quick_files):
    """Those that make a small table in no time."""
    yield from _ground(request, tmp_path_factory)


@pytest.fixture(scope="module", params=LIGHT)
def light_ground(request, tmp_path_factory, quick_files):
    """All of them; Spark at length only."""
    yield from _ground(request, tmp_path_factory)


@pytest.fixture(scope="module", params=["memory", *LIGHT])
def any_ground(request, tmp_path_factory, quick_files):
    """The same, and the reference: for what is said by example."""
    yield from _ground(request, tmp_path_factory)


def _ground(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "memory":
        yield Disk(name="memory", engine=MemoryEngine(), folder=folder)
    elif request.param == "duckdb":
        engine = DuckDBEngine(threads=1)
        yield Disk(name="duckdb", engine=engine, folder=folder)
        engine.close()
    else:
        yield request.getfixturevalue("_started")(request.param, folder)
