"""What is published can be read and checked by everybody; everything else is not there."""

import io
import json
import zipfile

import pyarrow.parquet
import pytest
import yaml

from console.house import world
from discreet.bundle.verification import verify
from discreet.console.pages import bundle_cache

HOSTILE = "<script>alert(1)</script>\"'{{ 7 * 7 }}"
FIELDS = {"name": "Diseases", "description": "By disease", "curators": "The clinic\nThe town\n", "sector": "Health"}


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(tmp_path_factory.mktemp("state")))
        made = world(tmp_path_factory.mktemp("published") / "clinic")
        yield made
        made.house.close()


@pytest.fixture
def state(clinic, monkeypatch):
    """The state folder that the clinic was made with."""
    folder = clinic.house.handle.project.ledger._journal.anchor.folder.parent
    monkeypatch.setenv("DISCREET_STATE", str(folder))


pytestmark = pytest.mark.usefixtures("state")


def ask(clinic, sql="SELECT disease, count(*) AS n FROM patients GROUP BY disease", epsilon=0.5):
    return clinic.house.handle.project.sql(sql).ask(epsilon=epsilon, analyst="ann")


def publish(clinic, release, **fields):
    sent = clinic.browser("owner").post(f"/r/{release.id}/publish", {**FIELDS, **fields})
    assert (sent.status_code, sent.headers["location"]) == (303, f"/r/{release.id}")


def test_published_is_read_logged_out_and_the_rest_is_not_there(clinic, tmp_path):
    release = ask(clinic)
    other = ask(clinic, "SELECT sex, count(*) AS n FROM patients GROUP BY sex")
    nobody = clinic.browser("public")
    unknown = nobody.get("/r/r-aaaaaaaaaaaaaaaa")
    for id_ in (release.id, other.id):
        for tail in ("", ".json", ".csv", ".zip", "/files/data.csv"):
            found = nobody.get(f"/r/{id_}{tail}")
            assert found.status_code == 404
            assert found.text.replace(id_, "r-aaaaaaaaaaaaaaaa") == nobody.get(f"/r/r-aaaaaaaaaaaaaaaa{tail}").text
    assert unknown.status_code == 404
    publish(clinic, release)
    assert nobody.get(f"/r/{other.id}").status_code == 404
    words = nobody.text(f"/r/{release.id}")
    assert "Diseases" in words and "Pure DP, epsilon 0.5" in words and "not stated" in words
    told = nobody.get(f"/r/{release.id}.json").json()
    assert told["tables"][0]["rows"] == [list(row) for row in release.rows]
    assert told["card"]["product"]["data_curators"] == ["The clinic", "The town"]
    assert nobody.get(f"/r/{release.id}.csv").text.startswith("disease,n,n_low,n_high\n")
    assert "Diseases" in nobody.text("/r") and other.id not in nobody.get("/r").text
    assert [each["release"] for each in nobody.get("/r.json").json()["published"]] == [release.id]
    packed = nobody.get(f"/r/{release.id}.zip")
    (tmp_path / "bundle.zip").write_bytes(packed.content)
    report = verify(tmp_path / "bundle.zip", key=told["key"], project=clinic.house.handle.project)
    assert report.sound and all(check.holds for check in report.checks)
    names = set(zipfile.ZipFile(io.BytesIO(packed.content)).namelist())
    assert names == {f"{release.id}/{name}" for name in told["files"]}
    parquet = nobody.get(f"/r/{release.id}/files/data.parquet")
    assert pyarrow.parquet.read_table(io.BytesIO(parquet.content)).num_rows == len(release)
    card = yaml.safe_load(nobody.get(f"/r/{release.id}/files/card.yaml").text)
    assert card["deployment"]["product"]["name"] == "Diseases"
    for strange in ("nothing.csv", "..%2Fdiscreet.toml", "key"):
        assert nobody.get(f"/r/{release.id}/files/{strange}").status_code == 404
    clinic.browser("owner").post(f"/r/{release.id}/withdraw")
    assert nobody.get(f"/r/{release.id}").status_code == 404 and nobody.get("/r.json").json()["published"] == []


def test_only_owners_publish(clinic):
    release = ask(clinic)
    for role, status in (("public", 401), ("analyst", 403)):
        browser = clinic.browser(role)
        for path in (f"/r/{release.id}/publish", f"/a/{release.id}/publish", f"/r/{release.id}/withdraw"):
            assert browser.post(path, FIELDS).status_code == status
        assert browser.get(f"/r/{release.id}/publish").status_code in (303, 403)
    owner = clinic.browser("owner")
    sent = owner.post(f"/a/{release.id}/publish")
    assert sent.headers["location"] == f"/r/{release.id}/publish"
    assert clinic.browser("public").get(f"/r/{release.id}").status_code == 404  # only the form publishes
    assert "cannot take back" in owner.text(f"/r/{release.id}/publish")
    assert owner.post("/r/r-aaaaaaaaaaaaaaaa/publish", FIELDS).status_code == 404


def test_the_form_keeps_what_was_told_and_tells_what_is_wrong(clinic):
    release = ask(clinic)
    owner = clinic.browser("owner")
    wrong = owner.post(f"/r/{release.id}/publish", {**FIELDS, "publication_date": "soon", "name": "Kept"})
    assert wrong.status_code == 400 and "2026-03-01" in wrong.text and 'value="Kept"' in wrong.text
    assert clinic.house.people.published.find(release.id) is None
    publish(clinic, release, name="First")
    publish(clinic, release, name="Second")
    assert "Second" in clinic.browser("public").text(f"/r/{release.id}")
    assert 'value="Second"' in owner.get(f"/r/{release.id}/publish").text
    owner.post(f"/r/{release.id}/withdraw")


def test_hostile_texts_stay_texts(clinic):
    name = HOSTILE.replace('"', '""')
    release = ask(clinic, f'SELECT disease AS "{name}", count(*) AS "n{name}" FROM patients WHERE age < 50 GROUP BY 1')
    publish(clinic, release, **dict.fromkeys(FIELDS, HOSTILE), justification=HOSTILE, sources=HOSTILE)
    nobody = clinic.browser("public")
    for path in ("/r", f"/r/{release.id}", f"/r/{release.id}/files/card.html", f"/r/{release.id}/files/chart.svg"):
        text = nobody.get(path).text
        assert "<script>alert" not in text and "49" not in text.partition("alert(1)")[2][:40]
    told = nobody.get(f"/r/{release.id}.json").json()
    assert told["name"] == HOSTILE and told["tables"][0]["columns"][0]["name"] == HOSTILE
    assert nobody.get(f"/r/{release.id}/files/card.html").headers["content-disposition"].startswith("attachment")
    clinic.browser("owner").post(f"/r/{release.id}/withdraw")


def test_a_grant_shows_on_the_card(clinic):
    release = ask(clinic)
    publish(clinic, release)
    nobody, project = clinic.browser("public"), clinic.house.handle.project
    before = nobody.get(f"/r/{release.id}/files/manifest.json").content
    ask(clinic, "SELECT count(*) FROM patients WHERE age < 31", epsilon=0.1)
    assert nobody.get(f"/r/{release.id}/files/manifest.json").content == before  # the ledger goes on; the card stays
    project.grant("patients", epsilon=project.guarantee("patients").epsilon + 1)
    after = nobody.get(f"/r/{release.id}/files/card.yaml").text
    assert "epsilon 101, delta 1e-06" in after
    clinic.browser("owner").post(f"/r/{release.id}/withdraw")


@pytest.mark.deep
def test_batches_and_models_can_be_published(clinic):
    project = clinic.house.handle.project
    batch = project.batch(
        "SELECT sex, count(*) n FROM patients GROUP BY sex; SELECT sex, avg(age) a FROM patients GROUP BY sex",
        epsilon=0.5,
        analyst="ann",
    )
    ranges = project.ranges("patients", "age", epsilon=0.5, seconds=0.1, analyst="ann")
    for id_ in (batch[0].id, ranges.release):
        assert clinic.browser("owner").post(f"/r/{id_}/publish", FIELDS).status_code == 303
    nobody = clinic.browser("public")
    assert len(nobody.get(f"/r/{batch[0].id}.json").json()["tables"]) == 2
    assert "Table 2" in nobody.text(f"/r/{batch[0].id}")
    assert "reservation" in nobody.text(f"/r/{ranges.release}")
    for id_ in (batch[0].id, ranges.release):
        clinic.browser("owner").post(f"/r/{id_}/withdraw")


def test_a_second_measurement_is_published_with_the_first_or_not_at_all(clinic, monkeypatch):
    """Its bundle holds the earlier noisy cells: the owner says so for each release by name."""
    monkeypatch.setattr("discreet.answers.more_precise.refined_quote", lambda *_, **__: None)  # independent noise, then
    project, owner, nobody = clinic.house.handle.project, clinic.browser("owner"), clinic.browser("public")
    first = ask(clinic, "SELECT disease, count(*) AS n FROM patients WHERE ward = 'w1' GROUP BY disease", epsilon=0.5)
    both = project.again(first.id, epsilon="0.05", analyst="ann")
    third = project.again(both.id, epsilon="0.05", analyst="ann")
    form = owner.get(f"/r/{third.id}/publish").text
    assert f'value="{first.id}"' in form and f'value="{both.id}"' in form
    for ticked in ([], [first.id], ["yes"], [third.id]):
        refused = owner.post(f"/r/{third.id}/publish", {**FIELDS, "also": ticked})
        assert refused.status_code == 400 and "which are not published" in refused.text and both.id in refused.text
        assert [nobody.get(f"/r/{each.id}").status_code for each in (first, both, third)] == [404] * 3
    assert owner.post(f"/r/{both.id}/publish", {**FIELDS, "also": [first.id]}).status_code == 303
    assert [nobody.get(f"/r/{each.id}").status_code for each in (first, both, third)] == [200, 200, 404]
    told = nobody.get(f"/r/{both.id}.json").json()
    assert told["parameters"]["epsilon"] == pytest.approx(0.55, rel=0.02) and told["parameters"]["epsilon"] >= 0.55
    assert told["card"]["privacy_loss"]["privacy_parameters"] == told["parameters"]
    assert f"{told['parameters']['epsilon']:.3f}"[:4] in nobody.text("/r")
    publish(clinic, third, also=[])  # what it shows is published: there is nothing to tick
    owner.post(f"/r/{both.id}/withdraw")
    assert [nobody.get(f"/r/{each.id}").status_code for each in (first, both, third)] == [200, 404, 404]
    owner.post(f"/r/{first.id}/withdraw")


def test_no_row_of_the_ledger_tells_its_time(clinic):
    release = ask(clinic)
    publish(clinic, release)
    nobody = clinic.browser("public")
    told = json.dumps(nobody.get(f"/r/{release.id}.json").json()) + nobody.get(f"/r/{release.id}").text
    for entry in clinic.house.handle.project.ledger.entries():
        assert entry.time[11:19] not in told and entry.digest not in told
    clinic.browser("owner").post(f"/r/{release.id}/withdraw")


def test_the_form_suggests_what_is_known_and_shows_the_card_before_it_is_published(clinic):
    first = ask(clinic, "SELECT sex, ward, count(*) AS n FROM patients GROUP BY sex, ward")
    publish(clinic, first, name="Wards", curators="The suggesting clinic", region="Nowhere")
    release = ask(clinic, "SELECT disease, count(*) AS n, avg(age) AS mean FROM patients GROUP BY disease", epsilon=1)
    owner = clinic.browser("owner")
    told = owner.get(f"/r/{release.id}/publish").text
    assert 'value="Patients by disease"' in told and "Noisy numbers (n and mean) of patients, for each disease." in told
    assert told.count("The suggesting clinic") == 2 and "other fields from the card of Wards" in told
    card = owner.post(f"/r/{release.id}/publish", {"name": "Try <me>", "act": "preview"})
    assert card.status_code == 200 and "Try &lt;me&gt;" in card.text.partition('id="preview"')[2]
    assert "not stated" in card.text and clinic.house.people.published.find(release.id) is None
    wrong = owner.post(f"/r/{release.id}/publish", {"publication_date": "soon", "act": "preview"})
    assert wrong.status_code == 400 and "cannot be shown until" in wrong.text
    assert clinic.browser("analyst").post(f"/r/{release.id}/publish", {"act": "preview"}).status_code == 403
    owner.post(f"/r/{release.id}/publish", {"name": "Once"})
    kept = owner.get(f"/r/{release.id}/publish").text
    assert 'value="Once"' in kept and "The suggesting clinic" not in kept


def test_forms_read_a_release_once_and_anew_after_a_grant(clinic, monkeypatch):
    """What is kept between two looks at a form is the release's alone: no other's, and no fields that somebody typed."""
    project, cache, read = clinic.house.handle.project, bundle_cache.BundleCache(), []
    content_of = bundle_cache.content_of
    monkeypatch.setattr(bundle_cache, "MOST_CONTENTS", 2)
    monkeypatch.setattr(bundle_cache, "content_of", lambda *given: read.append(given[1]) or content_of(*given))
    usual = clinic.house.handle.singleton
    mine = {bundle_cache.BundleCache: cache}
    monkeypatch.setattr(clinic.house.handle, "singleton", lambda kind, make: mine.get(kind) or usual(kind, make))
    releases = [ask(clinic, f"SELECT count(*) AS n FROM patients WHERE age < {age}", epsilon=0.1) for age in (21, 31)]
    owner = clinic.browser("owner")

    def form(release, **typed):
        path = f"/r/{release.id}/publish"
        return (owner.post(path, {**typed, "act": "preview"}) if typed else owner.get(path)).text

    for release in (*releases, *releases):
        assert release.id in form(release) and form(release, name="A typed name").count("A typed name") > 1
        assert "A typed name" not in form(release)
    assert read == [each.id for each in releases]
    contents = [cache.content(project, each.id) for each in releases]
    assert [each.release for each in contents] == [each.id for each in releases] and contents[0].about.name == ""
    project.grant("patients", epsilon=project.guarantee("patients").epsilon + 1)
    guarantees = [cache.content(project, releases[0].id).guarantee, contents[0].guarantee]
    assert guarantees[0].epsilon == guarantees[1].epsilon + 1
    assert len(cache._contents) == 2
