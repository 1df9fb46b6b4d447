"""Waiting for the disk is tested once; the many small tables of these tests need not do it."""

import os
from types import SimpleNamespace

import duckdb
import pytest

from discreet.engines import parquet_writer


@pytest.fixture(scope="module")
def quick_files():
    """Nor do they need a new database for each file that is written: a cursor of one sees nothing of another's."""
    made, here = (
        duckdb.connect(":memory:", config={"threads": 1, "memory_limit": "512MB", "temp_directory": ""}),
        os.getpid(),
    )

    def connected(name, *, config):
        return made.cursor() if os.getpid() == here else duckdb.connect(name, config=config)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        patch.setattr(parquet_writer, "duckdb", SimpleNamespace(connect=connected, Error=duckdb.Error))
        yield
    made.close()
