"""A description that an owner buys: its plan is free, its price is paid once, and what it found is written as shown."""

import json
import tomllib

import pytest

import discreet
from console.forms_of_tables import digest_of, words
from console.house import world
from discreet.console.jobs import release_store

pytestmark = pytest.mark.usefixtures("patient")

ROWS = 2_003
TABLE = """
[tables.stays]
source = "stays.csv"
budget = { epsilon = 100, delta = 1e-6 }
[tables.stays.columns.nights]
type = "integer"
[tables.stays.columns.town]
type = "text"
[tables.stays.columns.meal]
type = "category"
values = ["b", "h"]
closed = true
labels = { b = "Breakfast", h = "Half board" }
"""
WISH = {"table": "stays", "epsilon": "60", "delta": ""}
AT = "/admin/tables/describe?table=stays&epsilon=60"


@pytest.fixture
def clinic(tmp_path):
    folder = tmp_path / "clinic"
    made = world(folder)
    lines = [f"{n % 14},{('Bern', 'Genf', 'Chur')[n % 3]},{'bh'[n % 5 == 0]}" for n in range(ROWS)]
    (folder / "stays.csv").write_text("\n".join(["nights,town,meal", *lines]) + "\n")
    (folder / "discreet.toml").write_text((folder / "discreet.toml").read_text() + TABLE)
    yield made
    made.house.close()


@pytest.fixture
def owner(clinic):
    return clinic.browser("owner")


def charges(clinic):
    return len(discreet.open(clinic.folder).ledger.refresh().charges)


def bought(owner, **wish):
    """Pay, and say where the description stands."""
    to = owner.post("/admin/tables/describe", WISH | wish).headers["location"]
    assert to.startswith("/tables/r"), to
    return to


def test_the_plan_is_free_and_says_price_precision_and_rows(clinic, owner):
    found = owner.get(f"{AT}".replace("describe?", "describe.json?")).json()
    project = discreet.open(clinic.folder)
    planned = project.describe_plan("stays", epsilon="60").to_data()
    assert found["quote"]["rows_needed"] == planned["rows_needed"] > 0
    assert [each["plus_minus"] for each in found["quote"]["columns"]] == [
        each["plus_minus"] for each in planned["columns"]
    ]
    assert found["quote"]["price"]["fits"] and found["quote"]["price"]["cost"]["budget"] <= 60
    told = words(owner.get(AT))
    assert f"It needs about {planned['rows_needed']:,} rows" in told and "common words, found with noise" in told
    assert "Pay epsilon" in told and charges(clinic) == 0


def test_it_is_bought_once_and_read_for_ever(clinic, owner):
    to = bought(owner)
    assert bought(owner) == to and charges(clinic) == 1
    found = owner.get(f"{to}.json").json()["found"]
    assert abs(found["rows"]["value"] - ROWS) < 100 and found["persons"] is None
    nights, town, meal = found["shown"]
    assert nights["facts"]["Bounds"].endswith("(found with noise)") and len(nights["quantiles"]) == 5
    assert {line[0] for line in town["lines"]} == {"Bern", "Chur", "Genf"}
    assert [line[0] for line in meal["lines"]] == ["Breakfast", "Half board"]  # the most common first, by its label
    assert " at most 0.0%" not in nights["facts"]["NULL"] and "%" in nights["facts"]["NULL"]
    shown = words(owner.get(to))
    assert "Description of stays" in shown and "Half board" in shown and "Write these bounds and words" in shown
    rows = owner.get(f"{to}/download?format=csv").text.splitlines()
    assert rows[0] == "column,measure,label,value,low,high" and any(row.startswith("meal,cell,b,") for row in rows)
    assert to in owner.get("/tables").text and to in owner.get("/admin/tables/describe?table=stays").text


def test_analysts_read_it_and_change_nothing(clinic, owner):
    """It is a release like any other: its noisy numbers are for whoever reads releases."""
    to, ann = bought(owner), clinic.browser("analyst")
    release = to.rpartition("/")[2]
    assert ann.get(to).status_code == 200 and "Write these" not in ann.get(to).text
    assert to in ann.get("/tables").text and f'href="{to}"' in ann.get(f"/a/{release}").text
    assert clinic.browser("public").get(to).status_code in (303, 401)
    before = (clinic.folder / "discreet.toml").read_text()
    assert ann.get(AT).status_code == 403 and ann.post("/admin/tables/describe", WISH).status_code == 403
    assert ann.post("/admin/tables/describe/declare", {"release": release}).status_code == 403
    assert (clinic.folder / "discreet.toml").read_text() == before


def test_what_is_kept_is_what_was_released(clinic, owner):
    """All that the console keeps and shows of numbers is in the release, which is noisy; what is hidden has no value."""
    to = bought(owner, epsilon="0.05")
    made = discreet.open(clinic.folder).describe("stays", epsilon="0.05")
    released = release_store.to_json(made.to_data())
    kept = json.loads((clinic.folder / ".discreet" / "released" / f"{made.release}.json").read_text())
    same = {name: part for name, part in kept.items() if name not in ("kind", "labels", "found", "notes")}
    assert same == {name: part for name, part in released.items() if name not in ("cost", "cached", "notes")}
    numbers = [
        each for column in kept["columns"] for each in (column["nulls"], column["others"], *column["cells"]) if each
    ]
    hidden = [each for each in numbers if each["below_noise"]]
    assert hidden and {each["value"] for each in hidden} == {None} and "below noise" in owner.get(to).text


def test_what_was_found_is_written_as_it_was_shown(clinic, owner):
    release = bought(owner).rpartition("/")[2]
    before = (clinic.folder / "discreet.toml").read_text()
    looked = owner.post("/admin/tables/describe/declare", {"release": release})
    assert "Bern" in words(looked) and (clinic.folder / "discreet.toml").read_text() == before
    wrong = owner.post("/admin/tables/describe/declare", {"release": release, "shown": "0" * 64})
    assert wrong.status_code == 200 and (clinic.folder / "discreet.toml").read_text() == before
    led = owner.post("/admin/tables/describe/declare", {"release": release, "shown": digest_of(looked)})
    assert led.headers["location"] == "/admin/table/stays"
    columns = tomllib.loads((clinic.folder / "discreet.toml").read_text())["tables"]["stays"]["columns"]
    assert columns["town"]["type"] == "category" and columns["town"]["values"] == ["Bern", "Chur", "Genf"]
    assert columns["nights"]["low"] <= 0 and columns["nights"]["high"] >= 13 and columns["nights"]["measured"] > 0
    assert "measured" not in columns["meal"]
    assert "Refresh" in owner.text("/admin/table/stays")
    # Nothing is left to write, and the page says nothing of it.
    assert "Write these" not in owner.get(f"/tables/{release}").text
    again = owner.post("/admin/tables/describe/declare", {"release": release})
    assert again.status_code == 303 and charges(clinic) == 1
    owner.post("/admin/tables/refresh", {"table": "stays"})
    assert owner.get(f"/tables/{release}").status_code == 200  # read for ever, also of an older version


def test_a_column_of_another_type_by_now_is_left_alone(clinic, owner):
    release = bought(owner).rpartition("/")[2]
    path = clinic.folder / "discreet.toml"
    path.write_text(path.read_text().replace('nights]\ntype = "integer"', 'nights]\ntype = "text"'))
    looked = owner.post("/admin/tables/describe/declare", {"release": release})
    assert "Bern" in words(looked) and "low =" not in words(looked)


@pytest.mark.parametrize(
    ("wish", "status"),
    [
        ({"epsilon": ""}, 400),
        ({"epsilon": "x"}, 400),
        ({"epsilon": "500"}, 402),
        ({"table": "none"}, 404),
        ({"table": "wards"}, 404),
    ],
)
def test_what_cannot_be_is_told_and_costs_nothing(clinic, owner, wish, status):
    told = owner.post("/admin/tables/describe", WISH | wish)
    assert told.status_code == status and charges(clinic) == 0, words(told)[:500]
    assert status == 404 or 'role="alert"' in told.text


def test_one_that_was_bought_elsewhere_says_so(clinic, owner):
    made = discreet.open(clinic.folder).describe("stays", epsilon="60")
    assert "This was measured elsewhere" in words(owner.get(f"/tables/{made.release}"))
    assert bought(owner) == f"/tables/{made.release}" and charges(clinic) == 1
    assert "Half board" in words(owner.get(f"/tables/{made.release}"))
