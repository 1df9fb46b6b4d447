"""Bundles of many questions, made once."""

import contextlib
import functools
import os

import pytest

from discreet.answers.workload import batch_quote
from discreet.bundle import bundle_files
from verify import world
from verify.forger import forged
from verify.forging import verdicts


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
    asked = {f"rows: {name}": (rows, text) for name, text in world.ROWS.items()}
    asked |= {f"persons: {name}": (persons, text) for name, text in world.PERSONS.items()}
    asked |= {"persons: public": (persons, world.PUBLIC)}
    return Bundles(asked, state)


class Bundles(dict):
    """Each made when a test first wants it: the fast tier wants a third of them."""

    def __init__(self, asked, state):
        super().__init__()
        self.asked, self.state = asked, state

    def __missing__(self, name):
        project, text = self.asked[name]
        # Statements of many numbers may be measured as one workload; these are looked at where they are single cells.
        with state_in(self.state), pytest.MonkeyPatch.context() as patch:
            patch.setattr(batch_quote, "SINGLE_GAIN", 0)
            self[name] = bundle_files.make_bundle(project, project.sql(text).ask(epsilon=1).id)
        return self[name]


@pytest.fixture(scope="session")
def honest(bundles):
    """The verdicts of each bundle without a lie, signed again."""
    return functools.cache(lambda name: verdicts(forged(bundles[name], lambda _: None)))


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """Bundles of what takes steps from a reservation, of projects of their own: what is spent decides on the noise."""
    with state_in(tmp_path_factory.mktemp("state") / "here"):
        rows = world.rows_project(tmp_path_factory.mktemp("rows") / "p")
        persons = world.persons_project(tmp_path_factory.mktemp("persons") / "p")
        found = {
            "ranges": (rows, rows.ranges("patients", "age", epsilon=0.5).release),
            "ranges of persons": (persons, persons.ranges("stays", "nights", epsilon=0.5).release),
            "binary": (rows, rows.ranges("patients", "age", epsilon=0.25, strategy="binary").release),
            "identity": (rows, rows.ranges("patients", "age", epsilon=0.25, strategy="identity", fresh=True).release),
            "adaptive": (rows, rows.ranges("patients", "age", epsilon=0.25, strategy="adaptive", fresh=True).release),
            "marginals": (rows, rows.marginals("patients", ["sex", "disease"], epsilon=0.5).release),
        }
        plan = persons.folder / "plan.toml"
        plan.write_text('table = "visits"\nattributes = ["sex"]\n[hierarchy]\ncolumns = ["ward"]\n')
        found |= {
            "adaptive of persons": (persons, persons.ranges("stays", "nights", epsilon=1, strategy="adaptive").release),
            "marginals of persons": (persons, persons.marginals("visits", ["ward", "weight"], epsilon=0.5).release),
            "publication of persons": (persons, persons.publish(plan, epsilon=1).release),
            "model of persons": (
                persons,
                persons.synthesize("visits", epsilon=1, columns=["sex", "town"], rows_only=True).card.release,
            ),
            "whole persons": (persons, persons.synthesize("visits", epsilon=1, columns=["sex", "town"]).card.release),
            "description": (rows, rows.describe("patients", epsilon=1).release),
            "description of persons": (persons, persons.describe("visits", epsilon=1).release),
            "model": (
                rows,
                rows.synthesize("patients", epsilon=1, columns=["sex", "smoker", "disease", "age"]).card.release,
            ),
        }
        return {name: bundle_files.make_bundle(project, id_) for name, (project, id_) in found.items()}
