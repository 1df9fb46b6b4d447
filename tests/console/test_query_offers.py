"""Did you mean: a slip is put right by one click, from the declarations, and only where that helps."""

import pytest

from console.house import world
from discreet.console.pages.query_offers import offers, refusal_offset
from discreet.errors import Refused
from discreet.sql.query_parser import parse_batch


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    made = world(tmp_path_factory.mktemp("offers") / "clinic")
    yield made.house.handle.project
    made.house.close()


def offered(project, text):
    with pytest.raises(Refused) as caught:
        parse_batch(text, project.versions.catalog())
    return [each["take"] for each in offers(caught.value, text, refusal_offset(caught.value, text), project)]


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("SELECT avg(agee) AS a FROM patients", "SELECT avg(age) AS a FROM patients"),
        ("SELECT count(*) AS n FROM patient", "SELECT count(*) AS n FROM patients"),
        ("SELECT cout(*) AS n FROM patients", "SELECT count(*) AS n FROM patients"),
        ("SELCT count(*) AS n FROM patients", "SELECT count(*) AS n FROM patients"),
        (
            "SELECT count(*) AS n FROM patients WHERE disease = 'flo'",
            "SELECT count(*) AS n FROM patients WHERE disease = 'flu'",
        ),
        # Everywhere at once, and nowhere inside of texts.
        (
            "SELECT ilness, count(*) AS ilness_ FROM patients GROUP BY ilness".replace("ilness", "diseas"),
            "SELECT disease, count(*) AS diseas_ FROM patients GROUP BY disease",
        ),
        (
            "SELECT count(*) AS n FROM patients; SELECT avg(cots) AS c FROM visits",
            "SELECT count(*) AS n FROM patients; SELECT avg(cost) AS c FROM visits",
        ),
    ],
)
def test_a_slip_is_put_right(project, slip, meant):
    assert offered(project, slip)[0] == f"sql {meant}"


@pytest.mark.parametrize(
    "text",
    [
        # A word of SQL is not a slip; nor is a name whose place moves because it stands before, too.
        "SELECT count(*) AS n FROM patients LIMIT 10",
        "SELECT agf, count(*) AS n FROM patients GROUP BY agf",
    ],
)
def test_what_is_no_slip_or_is_refused_again_at_once_is_not_offered(project, text):
    for take in offered(project, text):
        parse_batch(take.removeprefix("sql "), project.versions.catalog())


@pytest.mark.parametrize("text", ["SELECT avg(zzzzzz) AS a FROM patients", "SELECT * FROM patients WHERE", "SELECT 1"])
def test_nothing_is_offered_that_does_not_help(project, text):
    for take in offered(project, text):
        parse_batch(take.removeprefix("sql "), project.versions.catalog())
    assert len(offered(project, text)) <= 1
