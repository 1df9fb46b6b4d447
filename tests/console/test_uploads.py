"""Uploads: where a file lands, what it may be called, how large it may be, and who may send one."""

import os
import stat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.forms_of_tables import HEADERS, upload, words
from console.house import world
from discreet.console import uploads
from discreet.errors import UsageError
from tiers import examples

ROWS = b"id,age\n1,20\n2,30\n"


@pytest.fixture
def clinic(tmp_path):
    made = world(tmp_path / "clinic", largest_upload=100_000)
    yield made
    made.house.close()


@pytest.fixture
def owner(clinic):
    return clinic.browser("owner")


def files(clinic):
    """All that lies in the project folder, but for its ledger."""
    found = [path for path in clinic.folder.rglob("*") if ".discreet" not in path.parts and path.is_file()]
    return {str(path.relative_to(clinic.folder)) for path in found}


def test_a_file_lands_in_sources_and_only_its_owner_reads_it(clinic, owner):
    found = upload(owner, "people.csv", ROWS)
    assert found.json() == {"source": "sources/people.csv", "to": "/admin/tables/new?source=sources%2Fpeople.csv"}
    path = clinic.folder / "sources" / "people.csv"
    assert path.read_bytes() == ROWS and stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("../../outside.csv", "outside.csv"),
        ("/etc/cron.d/job", "job"),
        ("..\\..\\windows.csv", "windows.csv"),
        ("discreet.toml", "discreet.toml"),  # beside the others, not over ours
        ("a'b\"; drop.csv", "a_b_drop.csv"),
        ("<img src=x onerror=alert(1)>.csv", "img_src_x_onerror_alert_1.csv"),
        (".hidden", "hidden"),
        ("", "file"),
        ("x" * 400 + ".csv", "x" * 80 + ".csv"),
        ("*.csv", "file.csv"),
        ("a\u202egnp.exe", "agnp.exe"),
        ("nul\x00byte.csv", "nul_byte.csv"),
        ("parts[1].csv.gz", "parts_1.csv.gz"),
    ],
)
def test_no_name_leads_out_of_the_folder(clinic, owner, name, stored):
    before = files(clinic)
    toml = (clinic.folder / "discreet.toml").read_text()
    assert upload(owner, name, ROWS).json()["source"] == f"sources/{stored}"
    assert files(clinic) - before == {f"sources/{stored}"}
    assert (clinic.folder / "discreet.toml").read_text() == toml


@given(st.text(max_size=120))
@settings(max_examples=examples(200), deadline=None)
def test_every_name_is_plain(name):
    plain = uploads.plain_name(name)
    assert plain and not plain.startswith(".") and len(plain) < 110
    assert all(sign.isascii() and (sign.isalnum() or sign in "._") for sign in plain)
    assert plain == uploads.plain_name(plain)


def test_nothing_is_overwritten(clinic, owner):
    names = [upload(owner, "people.csv", ROWS + f"{n},1\n".encode()).json()["source"] for n in range(3)]
    assert names == ["sources/people.csv", "sources/people_2.csv", "sources/people_3.csv"]
    assert (clinic.folder / names[0]).read_bytes() == ROWS + b"0,1\n"


def test_a_file_that_is_too_large_leaves_nothing(clinic, owner):
    for content in (b"x" * 100_001, iter([b"x" * 60_000, b"x" * 60_000])):  # told beforehand, and found out on the way
        found = upload(owner, "big.csv", content)
        assert found.status_code == 413 and "at most 0 MB" in words(found)
    assert upload(owner, "fits.csv", b"x" * 100_000).status_code == 200
    assert {path for path in files(clinic) if path.startswith("sources")} == {"sources/fits.csv"}


def test_an_empty_file_is_told(clinic, owner):
    found = upload(owner, "empty.csv", b"")
    assert found.status_code == 400 and found.json()["error"] == "The file is empty."
    assert not {path for path in files(clinic) if path.startswith("sources")}


def test_who_may_not_send_is_told_before_the_file_comes(clinic, owner):
    """Not a byte of it is stored: without the form's token, for another role, and for nobody."""
    for browser, csrf, status in (
        (owner, "wrong", 403),
        (owner, "", 403),
        (clinic.browser("analyst"), None, 403),
        (clinic.browser("public"), None, 401),
    ):
        more = {} if csrf is None else {"x-csrf": csrf}
        assert upload(browser, "x.csv", ROWS, **more).status_code == status
    token = {**HEADERS, "authorization": f"Bearer {clinic.token('owner')}"}
    assert clinic.client().post("/admin/tables/upload", content=ROWS, headers=token).status_code == 401
    assert upload(owner, "x.csv", ROWS, origin="https://evil.example").status_code == 403
    assert not (clinic.folder / "sources").exists()


def test_without_scripts_the_form_says_that_nothing_was_sent(owner):
    told = owner.get("/admin/tables/new?file=people.csv")
    assert told.status_code == 400 and "uploading needs JavaScript" in words(told)
    assert "Uploading needs JavaScript" in owner.text("/admin/tables/new")


def test_a_link_in_place_of_the_folder_is_refused(clinic, owner, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (clinic.folder / "sources").symlink_to(tmp_path / "elsewhere")
    assert upload(owner, "x.csv", ROWS).status_code == 409
    assert os.listdir(tmp_path / "elsewhere") == []


def test_files_without_a_table_are_listed_and_deleted(clinic, owner):
    upload(owner, "people.csv", ROWS)
    assert [each["source"] for each in owner.get("/admin/tables.json").json()["unused"]] == ["sources/people.csv"]
    for wrong in ("patients.csv", "sources/../patients.csv", "sources/none.csv", ""):
        assert owner.post("/admin/tables/discard", {"source": wrong}).status_code == 400
    assert owner.post("/admin/tables/discard", {"source": "sources/people.csv"}).status_code == 303
    assert not (clinic.folder / "sources" / "people.csv").exists() and (clinic.folder / "patients.csv").exists()


def test_what_never_came_whole_is_swept_up(clinic, owner):
    left = clinic.folder / "sources" / ".coming-0"
    left.parent.mkdir(mode=0o700)
    left.write_bytes(ROWS)
    upload(owner, "x.csv", ROWS)
    assert left.exists()  # it may still be coming
    os.utime(left, (0, 0))
    upload(owner, "x.csv", ROWS)
    assert not left.exists() and not list(left.parent.glob(".coming-*"))


@pytest.mark.parametrize(
    "path", ["../secret.csv", "/etc/passwd", ".discreet/ledger.db", "../*.csv", "~/x", "link.csv", ""]
)
def test_a_path_outside_of_the_project_is_not_read(clinic, owner, path):
    """A file's first line would be shown as names of columns."""
    (clinic.folder.parent / "secret.csv").write_text("password,is\nhunter,2\n")
    (clinic.folder / "link.csv").symlink_to(clinic.folder.parent / "secret.csv")
    told = owner.get("/admin/tables/new", params={"source": path})
    assert "password" not in words(told).replace("must not contain a password", "") and "hunter" not in told.text
    assert told.status_code == (400 if path else 200)


def test_a_folder_that_the_server_allows_is_read(tmp_path):
    folder = tmp_path / "project"
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "a.csv").write_text("id,x\n1,2\n")
    folder.mkdir()
    allowed = {"project": folder, "folders": (tmp_path / "lake",)}
    assert uploads.allowed_source(str(tmp_path / "lake" / "a.csv"), **allowed)
    assert uploads.allowed_source("../lake/*.csv", **allowed)
    with pytest.raises(UsageError, match="not in the project folder"):
        uploads.allowed_source(str(tmp_path / "lake" / "a.csv"), project=folder, folders=())
