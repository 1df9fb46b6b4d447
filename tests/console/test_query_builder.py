"""Queries from choices: every one that the form offers is accepted, what does not fit is refused, text stays text."""

import re

import pytest

from console.house import world
from discreet.console.pages.query_builder import (
    COMPARISONS,
    MEASURES,
    QueryChoices,
    QueryFilter,
    build_sql,
    choices_of,
    group_choices,
    measured_columns,
    snippets,
)
from discreet.errors import UsageError

FORM = {"by": "epsilon", "epsilon": "0.5", "confidence": "0.95", "key": "k" * 20, "sql": "what was typed before"}


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    made = world(tmp_path_factory.mktemp("builder") / "clinic")
    yield made
    made.house.close()


@pytest.fixture(scope="module")
def project(clinic):
    return clinic.house.handle.project


def test_every_choice_is_a_query_that_is_accepted(project):
    written = set()
    for table in project.file.tables.values():
        for snippet in snippets(project, table):
            project.sql(snippet["sql"])
        if table.public:
            continue
        for group in group_choices(table):
            for measure in MEASURES:
                for column in measured_columns(table) if measure["column"] else [""]:
                    choices = QueryChoices(
                        table=table.name, measure=measure["name"], column=column, groups=(group["value"],)
                    )
                    written.add(build_sql(project, choices))
    assert len(written) > 60
    for text in written:
        project.sql(text)


@pytest.mark.parametrize("comparison", [each["name"] for each in COMPARISONS])
def test_every_comparison_is_accepted(project, comparison):
    values = {"age": "40", "disease": "gout", "cost": "2", "day": "2026-02-01"}
    for table in ("patients", "visits"):
        for column in (each.name for each in project.table(table).schema.columns if each.name in values):
            wanted = QueryFilter(column=column, comparison=comparison, value=values[column])
            project.sql(build_sql(project, QueryChoices(table=table, filters=(wanted,))))


def test_the_query_is_laid_out_as_people_write_it(project):
    choices = choices_of(
        {
            "build_table": ("visits",),
            "build_measure": ("people",),
            "build_group": ("month day", ""),
            "build_filter": ("cost", "", "day"),
            "build_comparison": ("ge", "eq", "lt"),
            "build_value": ("10", "", "2026-06-01"),
        }
    )
    assert build_sql(project, choices) == (
        "SELECT date_trunc('month', day) AS day_month, count(DISTINCT id) AS people\n"
        "FROM visits\n"
        "WHERE cost >= 10\n  AND day < '2026-06-01'\n"
        "GROUP BY date_trunc('month', day)"
    )


@pytest.mark.parametrize(
    ("choices", "reason"),
    [
        (QueryChoices(table="nowhere"), "choose a table"),
        (QueryChoices(table="patients", measure="sum"), "choose a column"),
        (QueryChoices(table="patients", measure="sum", column="disease"), "no sum"),
        (QueryChoices(table="patients", measure="evil(", column="age"), "what to measure"),
        (QueryChoices(table="patients", groups=("month age",)), "cannot be grouped"),
        (QueryChoices(table="patients", groups=("each cost",)), "no column 'cost'"),
        (QueryChoices(table="patients", filters=(QueryFilter(column="age", value="1 or 1=1"),)), "a number"),
        (QueryChoices(table="patients", filters=(QueryFilter(column="age", value="１２"),)), "a number"),
        (QueryChoices(table="patients", filters=(QueryFilter(column="age"),)), "write a value"),
        (QueryChoices(table="patients", filters=(QueryFilter(column="age", comparison="; --"),)), "a comparison"),
        (QueryChoices(table="visits", filters=(QueryFilter(column="day", value="soon"),)), "a date"),
    ],
)
def test_what_does_not_fit_is_refused(project, choices, reason):
    with pytest.raises(UsageError, match=reason):
        build_sql(project, choices)


def test_text_stays_text(project):
    evil = "x' OR sex = 'F"
    text = build_sql(project, QueryChoices(table="patients", filters=(QueryFilter(column="disease", value=evil),)))
    assert text.endswith("disease = 'x'' OR sex = ''F'")


def test_the_form_works_without_scripts(clinic):
    browser = clinic.browser("analyst")
    chosen = {"build_table": "visits", "build_measure": "sum", "build_column": "cost", "build_group": "quarter day"}
    sent = browser.post("/ask", {**FORM, **chosen, "act": "build"})
    assert sent.status_code == 303 and "SELECT" not in sent.headers["location"]
    shown = browser.get(sent.headers["location"])
    assert re.search(r"sum\(cost\) AS total_cost\nFROM visits\nGROUP BY date_trunc.*</textarea>", shown.text)
    assert '<option value="sum" data-column selected>' in shown.text and "Remaining afterwards" in shown.text
    wrong = browser.get(
        browser.post("/ask", {**FORM, **chosen, "build_column": "", "act": "build"}).headers["location"]
    )
    assert wrong.status_code == 400 and "Choose a column" in wrong.text and "what was typed before" in wrong.text


def test_the_script_gets_the_sql_or_the_reason(clinic):
    browser = clinic.browser("analyst")
    assert browser.post("/ask/build", {"build_table": "visits"}).json() == {
        "sql": "SELECT count(*) AS n\nFROM visits",
        "problem": None,
    }
    told = browser.post("/ask/build", {"build_table": "wards"}).json()  # public: nothing is asked of it alone
    assert told["sql"] is not None or told["problem"]["error"]
    assert browser.post("/ask/build", {"build_table": "nowhere"}).json()["problem"]["error"] == "Choose a table."


def test_words_to_click_in(clinic):
    shown = clinic.browser("analyst").get("/ask").text
    assert 'data-put="disease"' in shown and "category: flu, mumps, gout" in shown and "integer, 0 to 100" in shown
    assert "Average age by disease" in shown
