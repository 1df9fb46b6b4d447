"""Which files of tests run first, and which in one worker, so that two workers end together.

A worker takes the next file when it has nearly done its last one: a long file that is taken late is waited for. And each
worker that meets a test of Spark starts a Java of its own, which takes half a minute of a processor until it is warm: all
of these files go to one worker, as one piece of work, before everything else.

Nothing hangs on this list being complete or true: a file that is missing here runs in its turn.
"""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling

#: Files, and folders of files, that ask the one Spark of a process.
SPARK = (
    "tests/engines/spark/",
    "tests/sql/test_spark.py",
    "tests/cli/test_engines.py",
    "tests/laws/test_errors_engines.py",
    "tests/engines/conformance/test_questions.py",
    "tests/engines/conformance/test_values.py",
)

#: The longest of the others, by seconds of a processor, longest first.
LONG = (
    "tests/manual/test_pages_lab.py",
    "tests/manual/test_pages_how_to.py",
    "tests/manual/test_pages_concepts.py",
    "tests/manual/test_pages.py",
    "tests/laws/test_neighbours.py",
    "tests/lab/test_audit_broken.py",
    "tests/laws/test_audit.py",
    "tests/lab/test_synthetic.py",
    "tests/ledger/test_edits.py",
    "tests/tables/stream/test_law.py",
    "tests/ledger/test_machine.py",
    "tests/console/api/test_crash.py",
    "tests/console/test_serve.py",
    "tests/synth/test_constraints.py",
)


def place(file: str) -> int:
    """Where in the suite a file runs: Spark's, then the long ones, then the others in the order that they come in."""
    if file.startswith(SPARK):
        return 0
    return 1 + LONG.index(file) if file in LONG else 1 + len(LONG)


class Scheduling(LoadFileScheduling):
    """A file is one piece of work, and Spark's files together are one."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        if file.startswith(SPARK) or "spark.md" in nodeid:
            return "spark"
        return file
