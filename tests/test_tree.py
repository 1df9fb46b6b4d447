"""The tree: locks without addresses, nothing of a machine in it, a light import, an executable errand-runner."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LOCKS = sorted([*(ROOT / "locks").glob("*.lock"), *(ROOT / "benchmarks" / "peers").glob("*.txt")])


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_locks_hold_names_versions_and_hashes_only(lock):
    text = lock.read_text()
    assert "://" not in text
    assert "--index" not in text and "--find-links" not in text
    for block in re.split(r"\n(?=\S)", text.strip()):
        assert re.match(r"[\w.\[\]-]+==\S+ (; .*)?\\\n\s+--hash=sha256:", block), block[:80]


def tracked():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.split("\0") if listed.returncode == 0 else []
    return [ROOT / name for name in names if name]


def test_no_registry_address_in_the_tree():
    pattern = re.compile(r"//[a-z0-9.-]*(" + "|".join(["py" + "pi", "python" + "hosted", "npm" + "js"]) + ")")
    for path in tracked():
        if path.is_file() and path.suffix not in {".png", ".parquet"}:
            assert not pattern.search(path.read_text(encoding="utf-8", errors="replace")), path


def test_nothing_of_a_machine_in_the_tree():
    """Logs are not kept, and no text names a home folder or the folder that somebody worked in."""
    home = re.compile(
        "/(?:" + "|".join(["ro" + "ot", "wo" + "rk", "o" + "pt", "home/(?!ann/)[a-z]+", "Use" + "rs/[A-Za-z]+"]) + ")/"
    )
    for path in tracked():
        assert path.suffix != ".log", path
        if path.is_file() and path.suffix not in {".png", ".parquet"}:
            assert not home.search(path.read_text(encoding="utf-8", errors="replace")), path


def test_errand_runner_is_executable_and_standard_library_only():
    errands = ROOT / "do"
    assert os.access(errands, os.X_OK)
    imported = re.findall(r"^(?:from|import) (\w+)", errands.read_text(), re.MULTILINE)
    assert all(name in sys.stdlib_module_names for name in imported)


def test_import_is_light():
    """No heavy library loads with `import discreet`; timing is left to the benchmarks."""
    script = "import sys, discreet; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    heavy = {"numpy", "duckdb", "pyarrow", "sqlglot", "pandas", "polars", "scipy", "rich", "typer", "cryptography"}
    assert not heavy & set(done.stdout.split())


def test_curator_stays_small_enough_to_believe():
    assert len((ROOT / "src" / "discreet" / "kernel" / "curator.py").read_text().splitlines()) < 300
