"""What is kept beside a key: the answer itself, or where the ledger has it, letter for letter."""

import json

import pytest

from console.house import world
from discreet.console.jobs import stored_results
from discreet.console.jobs.query_request import QueryRequest
from discreet.console.jobs.release_json import release_data

BY_WARD = "SELECT ward, count(*) AS n FROM patients GROUP BY ward"
BY_SEX = "SELECT sex, count(*) AS n FROM patients GROUP BY sex"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keeping")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(folder / "state"))
        made = world(folder / "clinic")
        yield made.house.handle.project
    made.house.close()


@pytest.fixture(autouse=True)
def _everything_is_long(monkeypatch):
    monkeypatch.setattr(stored_results, "LONGEST", 0)


def wanted(sql, **more):
    return QueryRequest(text=sql, epsilon="1", **more)


def test_a_short_answer_is_kept_as_it_is(project, monkeypatch):
    monkeypatch.setattr(stored_results, "LONGEST", 1 << 20)
    data = release_data(project.sql(BY_WARD).ask(epsilon=1))
    assert json.loads(stored_results.encode_releases([data], wanted(BY_WARD), project)) == [data]


def test_a_long_answer_is_kept_as_its_place_and_read_as_it_was(project):
    data = release_data(project.sql(BY_WARD).ask(epsilon=1))
    text = stored_results.encode_releases([data], wanted(BY_WARD), project)
    (told,) = json.loads(text)
    assert (
        set(told) == {"read"}
        and told["read"]["statement"] == 1
        and not {"rows", "intervals"} & set(told["read"]["told"])
    )
    project.sql("SELECT count(*) FROM visits").ask(epsilon=1)  # what is left is less now, and was told as it was then
    assert stored_results.decode_releases(text, project) == [data]


def test_the_statement_of_a_batch_is_found(project):
    batch = [
        release_data(each)
        for each in project.batch(f"{BY_SEX}; SELECT sex, avg(age) AS years FROM patients GROUP BY sex", epsilon=3)
    ]
    assert len({each["release"] for each in batch}) == 1
    text = stored_results.encode_releases(batch, wanted("both"), project)
    assert [each["read"]["statement"] for each in json.loads(text)] == [1, 2]
    assert stored_results.decode_releases(text, project) == batch


def test_the_confidence_is_that_of_the_wish(project):
    data = release_data(project.sql(BY_WARD).ask(epsilon=1, confidence="0.5"))
    (told,) = json.loads(stored_results.encode_releases([data], wanted(BY_WARD, confidence="0.5"), project))
    assert told["read"]["confidence"] == "0.5"
    # At another confidence the ledger reads other intervals: then the whole answer is kept.
    assert json.loads(stored_results.encode_releases([data], wanted(BY_WARD), project)) == [data]


@pytest.mark.parametrize("altered", [{"rows": []}, {"release": "r-none"}, {"release": "d-000000000000"}])
def test_what_the_ledger_does_not_read_so_is_kept_whole(project, altered):
    data = release_data(project.sql(BY_WARD).ask(epsilon=1)) | altered
    assert json.loads(stored_results.encode_releases([data], wanted(BY_WARD), project)) == [data]
