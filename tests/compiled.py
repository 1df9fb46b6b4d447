"""In a new clone each worker compiles its share of the package and the tests, and not all of it.

Workers collect the same files in the same order: side by side, each would find nothing compiled yet. Nothing hangs on
this: a file that is missed here is compiled when it is imported.
"""

from __future__ import annotations

import compileall
from fnmatch import fnmatch
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "tests", "manual", "verify")


def compile_share(config: pytest.Config) -> int:
    """Compile what this worker of xdist is to compile; how many files of tests that were. The asserts of tests are
    rewritten, as pytest does it when it imports them.
    """
    worker = getattr(config, "workerinput", None)
    if worker is None:
        return 0
    files = [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))]
    rewritten = 0
    for file in files[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
        if has_rewritten_asserts(file, config):
            rewritten += compile_test(file, config)
        else:
            compileall.compile_file(file, quiet=2)
    return rewritten


def has_rewritten_asserts(file: Path, config: pytest.Config) -> bool:
    return file.name == "conftest.py" or any(fnmatch(file.name, each) for each in config.getini("python_files"))


def compile_test(file: Path, config: pytest.Config) -> bool:
    """Write the file that pytest looks for, unless there is one of the same source."""
    target = rewrite.get_cache_dir(file) / f"{file.stem}{rewrite.PYC_TAIL}"
    if rewrite._read_pyc(file, target) is not None or not rewrite.try_makedirs(target.parent):
        return False
    source_hash, code = rewrite._rewrite_test(file, config)
    return rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, source_hash, target)
