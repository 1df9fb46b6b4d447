"""A page for every table, whatever the owner calls it; and twins of every page."""

import csv
import io
import re
from urllib.parse import quote

import pytest

from console.house import world
from discreet.console.routes import route_table

NAMES = ("patients.json", "a/b", "c/d.csv", "new.csv", "x y", "...", "q?x#y", "50%")
TABLE = """
[tables."{name}"]
source = "patients.csv"
population = "people"
person = "id"
rows_per_person = 1
[tables."{name}".columns.{column}]
type = "integer"
low = 0
high = 77
"""


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    made = world(tmp_path_factory.mktemp("names") / "clinic")
    file = made.folder / "discreet.toml"
    more = [TABLE.format(name=name, column=f"own{number}") for number, name in enumerate(NAMES)]
    file.write_text("".join([file.read_text(), *more]))
    yield made
    made.house.close()


#: Each letter that is strange in an address, once; another of the same kind is deep.
SECOND = {1, 3, 4}


@pytest.mark.parametrize(
    "number", [pytest.param(n, marks=[pytest.mark.deep] if n in SECOND else []) for n in range(len(NAMES))]
)
def test_a_table_has_its_page_and_twins(clinic, number):
    browser, name = clinic.browser("analyst"), NAMES[number]
    address = f"/d/{quote(name, safe='')}"
    assert f'href="{address}"' in browser.get("/").text
    assert browser.get("/jump", params={"to": name}).headers["location"] == address
    page = browser.get(address)
    assert page.headers["content-type"].startswith("text/html") and f"own{number}" in page.text
    assert browser.get(f"{address}.json").json()["name"] == name
    assert f"own{number},integer" in browser.get(f"{address}.csv").text
    made_up = re.findall(r'href="(/ask/rows/[^"]+\.csv)"', page.text)
    assert all(browser.get(each).text.startswith(("own", "id")) for each in made_up)
    assert browser.get(f"/ask/rows/{quote(name, safe='')}.csv").status_code == 200


def test_a_twin_of_a_shorter_name_is_still_one(clinic):
    browser = clinic.browser("analyst")
    assert browser.get("/d/visits.json").json()["name"] == "visits"
    assert browser.get("/d/patients.csv").text.startswith("column,type,")
    assert browser.get("/d/none.json").json()["error"] == "There is nothing here."
    assert browser.get("/d/none/such").status_code == 404
    assert clinic.client().get("/d/patients.json").status_code == 401  # nobody learns that there is such a name


@pytest.mark.thin(2)
@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_no_address_can_hold_is_refused(tmp_path, name):
    made = world(tmp_path / "clinic")
    file = made.folder / "discreet.toml"
    file.write_text(file.read_text() + TABLE.format(name=name, column="age"))
    assert "a table cannot be called" in made.browser("owner").text("/")
    made.house.close()


PAGES = [route for route in route_table() if route.method == "GET" and not route.api and route.twins]
PLAIN = sorted({route.path for route in PAGES if "{" not in route.path})


@pytest.mark.thin(5)
@pytest.mark.parametrize("path", PLAIN)
def test_every_page_has_a_csv(clinic, path):
    stem = "/index" if path == "/" else path
    found = clinic.browser("owner").get(f"{stem}.csv")
    assert found.status_code == 200 and found.headers["content-type"].startswith("text/csv")
    head, *rows = csv.reader(io.StringIO(found.text))
    assert head and all(len(row) == len(head) for row in rows)


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    ("path", "head"),
    [
        ("/jobs.csv", "job,kind,words,person,state,made,epsilon,to"),
        ("/jump.csv?to=visi", "to,words\n/d/visits,table visits"),
        ("/api.csv", "method,path,role,lines,keyed\nPOST,/api/v1/explain,analyst"),
        ("/tables/reconcile.csv", "release,column,number,value"),
        ("/ask.csv?epsilon=0.5", "name,value\ndraft.sql,"),
        ("/survey/new.csv?question=Why", "name,value\nwish.question,Why\n"),
    ],
)
def test_what_the_csv_of_some_says(clinic, path, head):
    assert clinic.browser("owner").get(path).text.startswith(head)


def test_a_twin_leads_to_a_twin(clinic):
    nobody = clinic.client()
    for end in ("json", "csv"):
        assert nobody.get(f"/index.{end}").headers["location"] == f"/r.{end}"
        assert nobody.get(f"/r.{end}").status_code == 200
    assert nobody.get("/").headers["location"] == "/r"
    analyst = clinic.browser("analyst")
    assert analyst.get("/jump.json?to=visits").headers["location"] == "/d/visits.json"
