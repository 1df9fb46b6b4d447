"""A life on the whole path: open the project, ask fresh questions, say each answer, until killed.

Arguments: the folder, and perhaps `die`: between the charge of its first question and the answer.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import duckdb  # noqa: F401 - a question imports these at their first use: once by the nursery, not by each life
import sqlglot.dialects.duckdb  # noqa: F401

import discreet.answers.sql
import discreet.engines.duckdb
import discreet.project.project
import discreet.project.question
from crash.harness import say
from discreet.errors import BudgetExceeded
from discreet.ledger.ledger import Ledger

QUESTIONS = [
    "select count(*) from patients where sex = 'F'",
    "select disease, count(*) from patients group by disease",
    "select sex, smoker, count(*) from patients where age > 30 group by sex, smoker",
]


def live(arguments: list[str], ready: Callable[[], None]) -> None:
    folder, *options = arguments
    project = discreet.project.project.Project(Path(folder))
    if options == ["die"]:
        Ledger.store = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    for number in itertools.count():
        if number == 1:
            ready()  # the engine is warm: from here on a question takes some hundredths of a second
        question = project.sql(QUESTIONS[number % len(QUESTIONS)])
        with contextlib.suppress(BudgetExceeded):
            release = question.ask(epsilon="0.01", fresh=True)
            say(f"{release.id} {json.dumps([row[-1] for row in release.rows])}")
