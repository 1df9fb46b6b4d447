"""Bundles of many questions, made once."""

import contextlib
import functools
import os

import pytest

from discreet.answers.workload import batch_quote
from discreet.bundle import bundle_files
from graph import friends
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
    """Bundles of what takes steps from a reservation, each with its projects to itself."""
    return Programs(tmp_path_factory)


#: Releases of the clinic that take steps from a reservation: each returns its id.
OF_ROWS = {
    "ranges": lambda project: project.ranges("patients", "age", epsilon=0.5).release,
    "binary": lambda project: project.ranges("patients", "age", epsilon=0.25, strategy="binary").release,
    "identity": lambda project: project.ranges("patients", "age", epsilon=0.25, strategy="identity").release,
    "adaptive": lambda project: project.ranges("patients", "age", epsilon=0.25, strategy="adaptive").release,
    "marginals": lambda project: project.marginals("patients", ["sex", "disease"], epsilon=0.5).release,
    "description": lambda project: project.describe("patients", epsilon=1).release,
    "model": lambda project: (
        project.synthesize("patients", epsilon=1, columns=["sex", "smoker", "disease", "age"]).card.release
    ),
}


OF_ROWS |= {name: make for name, make in world.ESTIMATES.items() if name != "ranges"}
OF_ROWS["gaussian batch"] = world.ESTIMATES["batch of cells"]


#: Releases of a network, whose edges are units.
NETWORKS = {
    "network": lambda project: project.graph("friends", nodes="people", by="colour").stats(epsilon=1).release,
    "model of a network": lambda project: project.graph("friends").synth(epsilon=1).card.release,
}


class Programs(dict):
    """Each made when a test first wants it, in a project of its own: what is spent decides on the noise."""

    def __init__(self, factory):
        super().__init__()
        self.factory = factory

    def __missing__(self, name):
        folder = self.factory.mktemp("program") / "p"
        with state_in(self.factory.mktemp("state") / "here"):
            if name in NETWORKS:
                project, release = friends.make(folder), NETWORKS[name]
            elif name in OF_ROWS:
                more = {"extra": 'accounting = "zcdp"'} if name == "gaussian batch" else {}
                project, release = world.rows_project(folder, **more), OF_ROWS[name]
            elif name == "undeclared":
                project, release = world.undeclared_project(folder), world.PROGRAMS["all columns"]
            else:
                project, release = world.persons_project(folder), world.PROGRAMS[name]
            self[name] = bundle_files.make_bundle(project, release(project))
        return self[name]
