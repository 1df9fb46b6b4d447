"""A refinement is of the same rows: what was asked while a person was still being erased is not refined afterwards."""

import csv

import pytest

import discreet
from discreet.accounting.events import is_refinement

COUNT = "SELECT count(*) AS n FROM visits"
DECLARED = """
[tables.visits]
source = "visits.csv"
budget = { epsilon = 30 }
person = "who"
rows_per_person = 5
[tables.visits.columns.age]
type = "integer"
low = 0
high = 99
"""


@pytest.fixture
def project(tmp_path):
    discreet.init(tmp_path)
    with (tmp_path / "visits.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["who", "age"])
        writer.writerows((f"p{number % 60}", number % 100) for number in range(300))
    (tmp_path / "discreet.toml").write_text((tmp_path / "discreet.toml").read_text() + DECLARED)
    made = discreet.open(tmp_path)
    made.refresh("visits")
    return made


class Killed(BaseException):
    """The process dies here."""


def die(*_, **__):
    raise Killed


def is_refined(project, first):
    return is_refinement(project.again(first.id, epsilon="0.5").event)


def test_an_erasure_that_was_killed_and_run_again(project, monkeypatch):
    """The tombstone was there, the rows were not gone: asked between, the answer is about other rows than later."""
    with monkeypatch.context() as patch:
        patch.setattr("discreet.kernel.erasure.erase_from_stream_counts", die)
        with pytest.raises(Killed):
            project.forget("visits", ["p1"])
    first = project.sql(COUNT).ask(epsilon="0.5")  # counts the five visits of p1
    assert project.forget("visits", ["p1"]).exact_versions == 1
    assert not is_refined(project, first)


def test_a_question_while_a_person_is_being_erased(project, monkeypatch):
    asked = []

    def ask_then_erase(*_, **__):
        asked.append(discreet.open(project.folder).sql(COUNT).ask(epsilon="0.5"))

    with monkeypatch.context() as patch:
        patch.setattr("discreet.kernel.erasure.erase_from_stream_counts", ask_then_erase)
        project.forget("visits", ["p1"])
    assert not is_refined(project, asked[0])


def test_killed_after_the_rows_were_erased(project, monkeypatch):
    """Asked between tombstone and erasure, and nothing was said after it: still not refined."""
    asked = []
    first_step = "discreet.kernel.erasure.erase_from_stream_counts"
    with monkeypatch.context() as patch:
        patch.setattr(first_step, lambda *_, **__: asked.append(project.sql(COUNT).ask(epsilon="0.5")))
        patch.setattr("discreet.project.version_erasure.VersionErasure.drop_orphaned_tables", die)
        patch.setattr("discreet.ledger.ledger.Ledger.end_forget", die, raising=False)
        with pytest.raises(Killed):
            project.forget("visits", ["p1"])
    assert not is_refined(discreet.open(project.folder), asked[0])


def test_after_an_erasure_new_answers_are_refined_again(project):
    project.forget("visits", ["p1"])
    assert is_refined(project, project.sql(COUNT).ask(epsilon="0.5"))
    project.forget("visits", ["p1"])
    assert is_refined(project, project.sql(f"{COUNT} WHERE age > 7").ask(epsilon="0.5"))
