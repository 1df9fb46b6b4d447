"""The application: pages and their twins, refusals, headers, what never leaves."""

import pytest

from console.house import ORIGIN, world


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    made = world(tmp_path_factory.mktemp("app") / "clinic")
    yield made
    made.house.close()


def test_the_first_page_tells_tables_and_budgets(clinic):
    words = clinic.browser("analyst").text("/")
    assert "patients" in words and "visits" in words and "wards public Nothing is protected" in words
    assert "epsilon 100" in words and "delta 1e-06" in words


def test_every_page_has_its_twins(clinic):
    browser = clinic.browser("analyst")
    told = browser.get("/index.json").json()
    assert [each["name"] for each in told["tables"]] == ["patients", "visits", "wards"]
    assert browser.get("/index.csv").text.startswith("table,public,population,version\npatients,false,people,0\n")
    columns = browser.get("/d/patients.json").json()["columns"]
    assert columns[1] == {
        "name": "disease",
        "type": "category",
        "domain": "",
        "values": ["flu", "mumps", "gout"],
        "more_values": 0,
        "constant": False,
        "closed": False,
        "measured_for": None,
        "origin": "declared",
    }


def test_a_token_reads_pages_too(clinic):
    client = clinic.client()
    told = client.get("/d/visits.json", headers={"authorization": f"Bearer {clinic.token()}"})
    assert told.status_code == 200 and told.json()["name"] == "visits"
    assert client.get("/d/visits.json", headers={"authorization": "Bearer dsc_nobody"}).status_code == 401


def test_nobody_is_led_to_the_login_and_programs_are_told(clinic):
    client = clinic.client()
    sent = client.get("/d/patients")
    assert (sent.status_code, sent.headers["location"]) == (303, "/login?next=/d/patients")
    told = client.get("/d/patients.json").json()
    assert (told["error"], told["code"]) == ("Please log in first.", 2) and "a token, created on /me" in told["hint"]


def test_what_is_not_there_is_told_as_a_page_and_as_json(clinic):
    browser = clinic.browser("analyst")
    assert browser.get("/d/nothing").status_code == 404
    assert browser.get("/nowhere").status_code == 404
    assert browser.get("/d/nothing.json").json()["error"] == "There is nothing here."


def test_another_host_is_refused(clinic):
    found = clinic.browser("owner").get("/", headers={"host": "evil.example"})
    assert found.status_code == 421


def test_the_file_is_read_again_when_it_changes(tmp_path):
    made = world(tmp_path / "clinic")
    browser, file = made.browser("owner"), made.folder / "discreet.toml"
    text = file.read_text()
    file.write_text(text.replace("[tables.wards]", "[tables.places]").replace("tables.wards.", "tables.places."))
    assert "places" in browser.text("/")
    file.write_text(text.replace("high = 100", "high = -100"))
    words = browser.text("/")
    assert "discreet.toml has an error" in words and "places" in words
    assert "has an error" not in made.browser("analyst").text("/")
    made.house.close()


def test_headers_are_strict(clinic):
    for path in ("/", "/login", "/assets/style.css", "/nowhere", "/index.json"):
        headers = clinic.browser("owner").get(path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"


def test_a_jump_finds_tables_releases_and_pages(clinic):
    browser = clinic.browser("analyst")
    assert browser.get("/jump?to=Patients").headers["location"] == "/d/patients"
    assert browser.get("/jump?to=budget").headers["location"] == "/budget"
    assert "table visits" in browser.text("/jump?to=visi")
    assert ORIGIN not in browser.get("/jump?to=//evil.example").headers.get("location", "")
    assert browser.get("/jump?to=//evil.example").status_code == 200


def test_a_slash_at_the_end_leads_nowhere_and_never_to_another_host(clinic):
    """A redirect before the guard would repeat whatever host the request named."""
    found = clinic.client().get("/learn/", headers={"host": "evil.example"})
    assert found.status_code == 421 and "location" not in found.headers
    assert clinic.client().get("/learn/").status_code == 404
