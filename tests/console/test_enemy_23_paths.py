"""No field of a form makes the console read a file that a path could not name."""

import pytest

from console.forms_of_tables import digest_of, fields_of, upload, words
from console.house import world

pytestmark = pytest.mark.usefixtures("patient")
SECRET = "zebra,giraffe\n1,2\n"
AT = "/admin/tables/new?source=sources%2Fstays.csv"


@pytest.fixture
def clinic(tmp_path):
    (tmp_path / "outside.csv").write_text(SECRET)
    made = world(tmp_path / "clinic")
    yield made
    made.house.close()


@pytest.fixture
def owner(clinic):
    found = clinic.browser("owner")
    assert upload(found, "stays.csv", b"a,b\n1,2\n").status_code == 200
    return found


def test_an_engine_is_no_way_around_the_folder(owner, tmp_path):
    """An engine of this machine reads what is on it, and DuckDB, written out, is the usual one."""
    file = str(tmp_path / "outside.csv")
    for engine in ("duckdb", " duckdb ", "spark://local", "sc://localhost", "spark://local?declared=/tmp"):
        for outside in (file, f"file://{file}", f"FILE:{file}", f"csv.`{file}`", "../outside.csv"):
            told = owner.get("/admin/tables/new", params={"source": outside, "engine": engine})
            assert told.status_code == 400 and "zebra" not in told.text, (engine, outside)
            if outside == file:
                assert "not in the project folder" in words(told)
            told = owner.post("/admin/tables/new", {"source": outside, "engine": engine, "act": "fill"})
            assert told.status_code == 400 and "zebra" not in told.text, (engine, outside)


def test_further_settings_have_no_field_of_their_own(clinic, owner, tmp_path):
    new, old = fields_of(owner.get(AT).text), fields_of(owner.get("/admin/tables/edit?table=visits").text)
    for key in ("source", "engine", "budget", "population", "public", "columns", "sheet"):
        line = f'{key} = "{tmp_path / "outside.csv"}"'
        told = owner.post("/admin/tables/new", new | {"whose": "row", "epsilon": "1", "more": line, "act": "preview"})
        assert told.status_code == 400 and "zebra" not in told.text and f"{key} has a field of its own" in words(told)
        told = owner.post("/admin/tables/edit", old | {"table": "visits", "more": line, "act": "preview"})
        assert told.status_code == 400 and f"{key} has a field of its own" in words(told)


def test_a_correction_does_not_lead_elsewhere(clinic, owner, tmp_path):
    form = fields_of(owner.get("/admin/tables/edit?table=visits").text) | {"table": "visits"}
    form["more"] = f'source = "{tmp_path / "outside.csv"}"'
    looked = owner.post("/admin/tables/edit", form | {"act": "preview"})
    if looked.status_code == 200:
        owner.post("/admin/tables/edit", form | {"act": "write", "shown": digest_of(looked)})
    assert "zebra" not in owner.get("/admin/tables/edit?table=visits").text
    assert "outside" not in (clinic.folder / "discreet.toml").read_text()
