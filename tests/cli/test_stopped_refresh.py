"""Ctrl-C during `discreet refresh`: a real SIGINT, wherever the making is just then, leaves nothing half made."""

import os
import signal
import subprocess
import sys
import time

import pytest

import discreet

#: Every step of a making, as what a process replaces before it runs `refresh`: at it, somebody presses Ctrl-C.
STEPS = {
    "engine": "discreet.engines.duckdb.DuckDBEngine.declare",
    "copy": "discreet.engines.parquet_writer.write_parquet",
    "group": "discreet.engines.duckdb_person_table._DuckDBPersonTable._group",
    "side file": "discreet.engines.duckdb_person_table.write_persons",
    "rows": "discreet.engines.duckdb_person_table._DuckDBPersonTable.write",
    "in time": "discreet.kernel.curator.check_in_time",
}
#: Steps at which the version is entered, or was.
LATE = {"enter": "discreet.ledger.ledger.Ledger.add_version"}
AFTER = {"report": "discreet.cli.owner_verbs.cause_notes"}

PRESSED = """
import importlib, os, signal, sys
module, _, name = {step!r}.rpartition(".")
try:
    owner = importlib.import_module(module)
except ModuleNotFoundError:
    module, _, kind = module.rpartition(".")
    owner = getattr(importlib.import_module(module), kind)
act = getattr(owner, name)

def pressed(*given, **how):
    for _ in range({times}):
        os.kill(os.getpid(), signal.SIGINT)
    return act(*given, **how)

setattr(owner, name, pressed)
for each in [module for key, module in sys.modules.items() if key.startswith("discreet")]:  # by its name elsewhere
    if getattr(each, name, None) is act:
        setattr(each, name, pressed)
from discreet.cli.main import call
sys.exit(call(["refresh", "visits", "--project", {project!r}]))
"""

ENDLESS = """
import sys
from discreet.engines import duckdb_declared_table
duckdb_declared_table.source_sql = lambda source, **how: (
    "(SELECT 'p' || range AS c0, '1' AS c1 FROM range(1000000000000) WHERE sqrt(range) < 0)"
)
from discreet.cli.main import call
sys.exit(call(["refresh", "visits", "--project", {project!r}]))
"""


@pytest.fixture
def project(tmp_path):
    """Version 1 of `visits`, and other rows by now."""
    source = tmp_path / "visits.csv"
    source.write_text("pid,age\n" + "".join(f"p{row % 9},{row}\n" for row in range(20)))
    made = discreet.init(tmp_path)
    made.add(source, name="visits", person="pid", rows_per_person=2, epsilon=3)
    made.refresh("visits")
    source.write_text("pid,age\n" + "".join(f"p{row % 9},{row}\n" for row in range(30)))
    return made


def stored(project):
    tables = project.folder / ".discreet/tables"
    return {path.name: path.read_bytes() for path in tables.iterdir()}


def press(project, step, *, times=1):
    code = PRESSED.format(step=step, times=times, project=str(project.folder))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=False)


def newest(project):
    reopened = discreet.open(project.folder)
    assert reopened.verify().sound
    return reopened.version("visits").number


@pytest.mark.thin(3)
@pytest.mark.parametrize("step", STEPS)
def test_ctrl_c_leaves_the_version_before(project, step):
    before = stored(project)
    done = press(project, STEPS[step])
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.splitlines()[-1] == "stopped, so no new version of 'visits' was made; version 1 is still in use"
    assert "Traceback" not in done.stderr
    assert stored(project) == before and newest(project) == 1
    assert discreet.open(project.folder).refresh("visits")[0] == 2


def test_ctrl_c_while_the_version_is_entered_comes_too_late(project):
    done = press(project, LATE["enter"])
    assert done.returncode == 0 and "Traceback" not in done.stderr
    assert "Ctrl-C came too late: version 2 of 'visits' was made and is in use" in done.stderr
    assert "version 2" in done.stdout
    assert newest(project) == 2


@pytest.mark.deep
def test_ctrl_c_after_the_version_was_entered_says_that_it_stands(project):
    done = press(project, AFTER["report"])
    assert done.returncode == 130 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-2:] == ["version 2 of 'visits' was made and is in use", "stopped"]
    assert newest(project) == 2


@pytest.mark.deep
def test_a_second_ctrl_c_breaks_off_at_once(project):
    """Where it does, the table's own clean-up runs as it always did."""
    before = stored(project)
    done = press(project, STEPS["rows"], times=2)
    assert done.returncode == 130 and "Traceback" not in done.stderr
    assert stored(project) == before and newest(project) == 1


def test_ctrl_c_inside_a_statement_that_does_not_end(project):
    before, tables = stored(project), project.folder / ".discreet/tables"
    code = ENDLESS.format(project=str(project.folder))
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, env=os.environ)
    try:
        until = time.monotonic() + 200
        while not list(tables.glob(".making.*")) and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=200)
    finally:
        process.kill()
    assert process.returncode == 130
    assert stderr.splitlines()[-1] == "stopped, so no new version of 'visits' was made; version 1 is still in use"
    assert stored(project) == before and newest(project) == 1
