"""Bundles of many questions, made once."""

import contextlib
import os

import pytest

from discreet.bundle import make
from verify import world


@contextlib.contextmanager
def state_in(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(folder))
        yield


@pytest.fixture(scope="session")
def projects(tmp_path_factory):
    """Two projects: of rows, and of persons with many rows."""
    with state_in(tmp_path_factory.mktemp("state") / "here"):
        found = world.rows_project(tmp_path_factory.mktemp("rows") / "p")
        yield found, world.persons_project(tmp_path_factory.mktemp("persons") / "p"), os.environ["DISCREET_STATE"]


@pytest.fixture(scope="session")
def bundles(projects):
    """The files of the bundle of every question, by its name."""
    rows, persons, state = projects
    with state_in(state):
        asked = {f"rows: {name}": (rows, text) for name, text in world.ROWS.items()}
        asked |= {f"persons: {name}": (persons, text) for name, text in world.PERSONS.items()}
        asked |= {"persons: public": (persons, world.PUBLIC)}
        found = {}
        for name, (project, text) in asked.items():
            release = project.sql(text).ask(epsilon=1)
            found[name] = make.bundle(project, release.id)
        return found
