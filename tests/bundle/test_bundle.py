"""Bundles: made of what was released, the same bytes every time, and every changed byte is seen."""

import io
import json
import os
import random
import shutil
import zipfile
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from xml.etree import ElementTree

import pyarrow.csv
import pyarrow.parquet
import pytest
import yaml as pyyaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import clinic
import discreet
from discreet.accounting import events
from discreet.bundle import bundle_files, manifest, proof, signing_key
from discreet.bundle.about import NOT_STATED, About
from discreet.bundle.card_page import card_cell
from discreet.bundle.claims import claims_of, claims_of_event, loss_of, parameters
from discreet.bundle.content import commitment, content_of
from discreet.bundle.sheet import Sheet
from discreet.bundle.sheet_chart import chart_of
from discreet.bundle.signing_key import Signer
from discreet.bundle.verification import verify
from discreet.errors import LedgerFault, UsageError
from discreet.present import charts
from discreet.release import ReleaseColumn
from discreet.synth.model_folder import save_in_project
from tiers import size

SQL = "SELECT disease, count(*) AS n, avg(age) AS a FROM patients GROUP BY disease"
FILES = {
    "card.html",
    "card.yaml",
    "chart.svg",
    "data.csv",
    "data.json",
    "data.parquet",
    "manifest.json",
    "plan.json",
    "proof.json",
}
HOSTILE = "<script>alert(1)</script>\"': &amp; \\ - #{x}\U0001f600"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A project with one answer, and the files of its bundle."""
    with pytest.MonkeyPatch.context() as patch:
        state = tmp_path_factory.mktemp("state")
        patch.setenv("DISCREET_STATE", str(state))
        project = clinic.make(tmp_path_factory.mktemp("project"), budget="{ epsilon = 9.0, delta = 1e-6 }")
        release = project.sql(SQL).ask(epsilon=0.5)
        yield project, release, bundle_files.make_bundle(project, release.id, About(name="Diseases")), state


@pytest.fixture
def state(made, monkeypatch):
    monkeypatch.setenv("DISCREET_STATE", str(made[3]))


def written(files, folder):
    bundle_files.write(files, folder)
    return folder


def problems(report):
    return [check.name for check in report.checks if check.holds is False]


def test_a_bundle_is_whole_and_says_one_thing(made, tmp_path, state):
    project, release, files, _ = made
    assert set(files) == FILES
    report = verify(written(files, tmp_path / "out"))
    assert report.sound and report.release == release.id
    assert [(check.name, check.holds) for check in report.checks] == [
        (name, True) for name in ("whole", "signed", "cost", "unit", "limit", "proof", "noise", "data", "card")
    ]
    rows = pyarrow.parquet.read_table(io.BytesIO(files["data.parquet"])).to_pylist()
    assert [(row["disease"], row["n"], row["a"]) for row in rows] == [tuple(row) for row in release.rows]
    assert pyarrow.csv.read_csv(io.BytesIO(files["data.csv"])).num_rows == len(release)
    data = json.loads(files["data.json"])
    assert data["tables"][0]["rows"] == [list(row) for row in release.rows]
    for shown, own in zip(data["tables"][0]["intervals"], release.to_data()["intervals"], strict=True):
        assert shown[:2] == own[:2]  # of the average it has three digits of the half width, and holds the whole one
        (low, high), (least, most) = shown[2], own[2]
        far = (most - least) / 200
        assert least - far <= low <= least and most <= high <= most + far
    assert verify(tmp_path / "out", project=project).checks[-1].holds is True


def test_the_same_release_gives_the_same_bytes(made, state):
    project, release, files, _ = made
    project.sql("SELECT count(*) FROM patients WHERE age < 40").ask(epsilon=0.1)  # the ledger goes on
    again = bundle_files.make_bundle(discreet.open(project.folder), release.id, About(name="Diseases"))
    assert again == files
    assert bundle_files.archive(again, name="x") == bundle_files.archive(files, name="x")


def test_every_changed_byte_is_seen(made, tmp_path):
    """A byte in every file, at many places: flipped, taken out, put in."""
    files, chance = made[2], random.Random(9)
    for name, content in files.items():
        places = {0, len(content) - 1, *chance.sample(range(len(content)), size(4, 12))}
        if name == "manifest.json":
            places |= {place for place in range(len(content)) if place % size(15, 3) == 0}
        for place in sorted(places):
            flipped = bytes([content[place] ^ (1 << chance.randrange(8))])
            for part in (flipped, b"", content[place : place + 1] * 2):
                changed = content[:place] + part + content[place + 1 :]
                folder = tmp_path / "out"
                bundle_files.write(files | {name: changed}, folder)
                assert not verify(folder).sound, (name, place, part)
                shutil.rmtree(folder)


def test_files_that_are_missing_or_too_many(made, tmp_path):
    files = made[2]
    for name in FILES - {"manifest.json"}:
        few = {key: value for key, value in files.items() if key != name}
        assert problems(verify(written(few, tmp_path / f"no-{name}"))) == ["whole"]
    assert problems(verify(written(files | {"more.txt": b"x"}, tmp_path / "more"))) == ["whole"]
    words = verify(written(files | {"\x1b[2Jx": b"x"}, tmp_path / "escape")).checks[0].words
    assert "?[2Jx" in words and "\x1b" not in words
    folder = written(files, tmp_path / "inner")
    (folder / "folder").mkdir()
    assert problems(verify(folder)) == ["whole"]
    folder = written(files, tmp_path / "link")
    (folder / "data.csv").unlink()
    (tmp_path / "elsewhere.csv").write_bytes(files["data.csv"])
    (folder / "data.csv").symlink_to(tmp_path / "elsewhere.csv")
    assert problems(verify(folder)) == ["whole"]
    for nothing in (tmp_path / "nothing", tmp_path / "elsewhere.csv", tmp_path):
        with pytest.raises(UsageError):
            verify(nothing)


def signed_again(files, **changed):
    """What somebody with a key of their own could make of a bundle."""
    files = {**files, **changed}
    told = manifest.read(files["manifest.json"]).manifest
    digests = {name: manifest.digest(content) for name, content in files.items() if name != "manifest.json"}
    body = manifest.BundleManifest(
        release=told.release, discreet=told.discreet, files=digests, claims=told.claims, ledger=told.ledger
    )
    return files | {"manifest.json": body.sign(Signer.load_or_make())}


@pytest.mark.parametrize("name", ["exact.csv", "data-2.csv", "data-1.csv", "notes.html"])
def test_a_file_that_no_bundle_has_fails_even_signed(name, made, tmp_path):
    report = verify(written(signed_again(made[2], **{name: b"ill: Mr Smith"}), tmp_path / "out"))
    assert problems(report) == ["data"]
    assert verify(written(signed_again(made[2]), tmp_path / "own")).sound


def older(files):
    """The bundle as it was made before bundles had proofs: format 1."""
    plan = json.loads(files["plan.json"])
    del plan["steps"]
    written = (json.dumps(plan, ensure_ascii=False, sort_keys=True, indent=1) + "\n").encode()
    files = {name: content for name, content in files.items() if name != "proof.json"} | {"plan.json": written}
    told = manifest.read(files["manifest.json"]).manifest
    digests = {name: manifest.digest(content) for name, content in files.items() if name != "manifest.json"}
    return files | {"manifest.json": replace(told, format=1, files=digests).sign(Signer.load_or_make())}


def test_a_bundle_from_before_proofs_is_still_good(made, tmp_path, state):
    project, _, files, _ = made
    folder = written(older(files), tmp_path / "out")
    report = verify(folder)
    assert report.sound and report.open == () and "proof" not in [check.name for check in report.checks]
    assert verify(folder, project=project).checks[-1].holds is True
    told = manifest.read(files["manifest.json"]).manifest
    newer = {name: content for name, content in files.items() if name != "proof.json"}
    digests = {name: digest for name, digest in told.files.items() if name != "proof.json"}
    newer["manifest.json"] = replace(told, files=digests).sign(Signer.load_or_make())
    assert problems(verify(written(newer, tmp_path / "taken out"))) == ["proof"]


def test_a_bundle_that_does_not_say_which_numbers_are_never_negative_is_still_good(made, tmp_path, state):
    """Those of earlier builds. What a bundle does say about it must be so."""
    project, release, _, _ = made
    content = content_of(project, release.id)
    (sheet,) = content.sheets
    assert {column.least for column in sheet.columns} >= {0}

    def saying(leasts):
        columns = tuple(replace(column, least=least) for column, least in zip(sheet.columns, leasts, strict=True))
        files = bundle_files.signed_files(
            replace(content, sheets=(replace(sheet, columns=columns),)), Signer.load_or_make()
        )
        return verify(written(files, tmp_path / str(hash(leasts))))

    assert saying((None,) * len(sheet.columns)).sound
    assert problems(saying((0,) * len(sheet.columns))) == ["data"]


def test_another_key_is_told_apart(made, tmp_path):
    files = made[2]
    own = verify(written(files, tmp_path / "own")).fingerprint
    forged = signed_again(files)  # by the key of this test's own state folder
    report = verify(written(forged, tmp_path / "forged"))
    assert report.sound and report.fingerprint != own
    assert problems(verify(tmp_path / "forged", key=own)) == ["signed"]
    assert verify(tmp_path / "own", key=own).sound


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        ("data.csv", b"allergy", b"Allergy", "data"),
        ("data.json", b'"allergy"', b'"Allergy"', "data"),
        ("card.yaml", b"epsilon: 0.5", b"epsilon: 0.1", "card"),
        ("card.html", b'id="claim-epsilon">0.5', b'id="claim-epsilon">0.1', "card"),
        ("plan.json", b'"scale": "1000/83"', b'"scale": "2000/83"', "cost"),
        ("plan.json", b'"doubled": false', b'"doubled": true', "cost"),
        ("plan.json", b'"high": 99', b'"high": 98', "data"),
        ("plan.json", b'"high": 99', b'"high": 98', "proof"),
        ("proof.json", b'"l1": 1', b'"l1": 2', "proof"),
        ("proof.json", b'"rho"', b'"Rho"', "proof"),
    ],
)
def test_a_bundle_that_contradicts_itself_fails_even_signed(made, tmp_path, name, old, new, problem):
    files = made[2]
    assert old in files[name]
    forged = signed_again(files, **{name: files[name].replace(old, new, 1)})
    assert problem in problems(verify(written(forged, tmp_path / "out")))


def test_numbers_that_were_not_measured_fail_even_in_all_three_files(made, tmp_path):
    """Whoever changes a released number everywhere, and signs, is caught by the stored measurement."""
    project, release, _, _ = made
    content = content_of(project, release.id)
    sheet = content.sheets[0]
    row = (*sheet.rows[0][:1], sheet.rows[0][1] + 1, *sheet.rows[0][2:])
    lied = replace(sheet, rows=(row, *sheet.rows[1:]))
    changed = bundle_files.signed_files(replace(content, sheets=(lied,)), Signer.load_or_make())
    assert problems(verify(written(changed, tmp_path / "out"))) == ["data"]


def test_the_ledger_at_hand_says_more(made, tmp_path, state):
    project, release, files, _ = made
    told = manifest.read(files["manifest.json"]).manifest
    lie = files["proof.json"].replace(f'"row": {told.ledger["row"]}'.encode(), b'"row": 3')
    wrong = manifest.BundleManifest(
        release=told.release,
        discreet=told.discreet,
        files=dict(told.files) | {"proof.json": manifest.digest(lie)},
        claims=told.claims,
        ledger={**told.ledger, "row": 3},
    ).sign(Signer.load_or_make())
    folder = written(files | {"proof.json": lie, "manifest.json": wrong}, tmp_path / "out")
    assert verify(folder).sound
    assert problems(verify(folder, project=project)) == ["ledger"]
    entry = list(project.ledger.entries())[told.ledger["row"] - 1]
    assert commitment(project.ledger, release.id, entry.digest) == told.ledger["commitment"]


def test_no_time_and_no_digest_of_a_row_is_in_a_bundle(made):
    """A row's digest would tell its time, to whoever tries all times; and times tell how long a count took."""
    project, _, files, _ = made
    whole = b"".join(files.values())
    for entry in project.ledger.entries():
        assert entry.digest.encode() not in whole and entry.time.encode() not in whole
        assert entry.time[:19].encode() not in whole
    assert str(project.folder).encode() not in whole and b"patients.csv" not in whole


def test_the_card_is_the_registrys(made):
    card = pyyaml.safe_load(made[2]["card.yaml"])
    deployment = card["deployment"]
    assert list(card) == ["url_slug", "status", "tier", "deployment"]
    assert list(deployment) == [
        "product", "dp_flavor", "privacy_loss", "model", "accounting", "implementation", "resources",
    ]  # fmt: skip
    assert deployment["dp_flavor"]["name"] == "Pure DP"
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 0.5}
    assert "adding or removing one row" in deployment["privacy_loss"]["privacy_unit_description"]
    assert deployment["product"]["name"] == "Diseases"
    assert deployment["product"]["intended_use"] == NOT_STATED
    assert "discrete Laplace noise with scale" in deployment["implementation"]["mechanisms"]


def test_a_grant_changes_what_the_card_says(made, tmp_path, state):
    project, release, files, _ = made
    assert b"(epsilon 9, delta 1e-06)" in files["card.yaml"]
    discreet.open(project.folder).grant("patients", epsilon=10)
    after = bundle_files.make_bundle(discreet.open(project.folder), release.id)
    assert b"(epsilon 10, delta 1e-06)" in after["card.yaml"]


def test_claims_double_where_exact_totals_were_published():
    event = events.ComposedEvent(
        events=(
            events.LaplaceEvent(scale=Fraction(10), l1=1),
            events.ThresholdEvent(scale=Fraction(5), l1=1, delta=Fraction(1, 8)),
        )
    )
    loss = loss_of(event, doubled=True)
    plain = events.loss(event)
    assert (loss.epsilon, loss.rho, loss.delta) == (2 * plain.epsilon, 4 * plain.rho, 2 * plain.delta)
    told = claims_of(release="r", kind="answer", table="t", version=1, unit="one row", event=event, doubled=True)
    assert told["variant"] == "Approximate DP" and parameters(told) == {"epsilon": 0.6, "delta": 0.25}
    gaussian = events.GaussianEvent(sigma2=Fraction(2), l2_squared=1)
    told = claims_of(release="r", kind="answer", table="t", version=1, unit="one row", event=gaussian, doubled=False)
    assert told["variant"] == "Zero-concentrated DP" and parameters(told) == {"rho": 0.25}


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.links = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src", "action") or name.startswith("on")]


def test_hostile_names_and_texts_stay_texts(tmp_path):
    """In a table's, a column's and a category's name, in the question, and in all that people tell."""
    columns = f"""
[tables.p.columns]
x = {{ type = "category", values = [{json.dumps(HOSTILE, ensure_ascii=False)}, "b"] }}
"""
    folder = tmp_path / "p"
    discreet.init(folder)
    (folder / "p.csv").write_text(f'x\n"{HOSTILE.replace(chr(34), chr(34) * 2)}"\nb\n')
    text = (folder / "discreet.toml").read_text()
    text += f'\n[tables.p]\nsource = "p.csv"\nbudget = {{ epsilon = 3.0 }}\n{columns}'
    (folder / "discreet.toml").write_text(text)
    project = discreet.open(folder)
    name = HOSTILE.replace('"', '""')
    release = project.sql(f'SELECT x AS "{name}", count(*) AS "n{name}" FROM p GROUP BY x').ask(epsilon=1)
    told = About(**{
        field: (HOSTILE,) if field in ("curators", "registry_authors") else HOSTILE
        for field in About().to_data()
        if field != "publication_date"
    })  # fmt: skip
    files = bundle_files.make_bundle(project, release.id, told)
    assert verify(written(files, tmp_path / "out")).sound
    card = pyyaml.safe_load(files["card.yaml"])
    assert card["deployment"]["product"]["name"] == HOSTILE
    assert card["deployment"]["resources"]["registry_authors"] == [HOSTILE]
    for page in ("card.html", "chart.svg"):
        tags = Tags()
        tags.feed(files[page].decode())
        assert "script" not in tags.tags and tags.links == []
        assert b"<script" not in files[page]
    assert json.loads(files["data.json"])["tables"][0]["columns"][0]["name"] == HOSTILE


def test_letters_that_cannot_be_seen_are_marks_on_the_card(made, state):
    """Else a name could turn the direction of what stands beside it."""
    project = discreet.open(made[0].folder)
    release = project.sql('SELECT sex AS "a\u202eb", count(*) AS n FROM patients GROUP BY sex').ask(epsilon=0.1)
    page = bundle_files.make_bundle(project, release.id, About(description="two\nlines"))["card.html"].decode()
    assert '<th scope="col">a\ufffdb</th>' in page and "two\nlines" in page and "\u202e" not in page


def test_batches_have_a_sheet_for_each_statement(made, tmp_path, state):
    project = discreet.open(made[0].folder)
    answers = project.batch(
        "SELECT sex, count(*) n FROM patients GROUP BY sex; SELECT sex, avg(age) a FROM patients GROUP BY sex",
        epsilon=1,
    )
    files = bundle_files.make_bundle(project, answers[0].id)
    assert {"data.csv", "data-2.csv", "data-2.parquet"} <= set(files)
    assert verify(written(files, tmp_path / "out")).sound
    sheets = content_of(project, answers[0].id).sheets
    assert [sheet.rows for sheet in sheets] == [answer.rows for answer in answers]


@pytest.fixture
def independent(monkeypatch):
    """No refinements: as where they cost more, or rows were erased."""
    monkeypatch.setattr("discreet.answers.more_precise.refined_quote", lambda *_, **__: None)


@pytest.mark.usefixtures("independent")
def test_a_second_measurement_goes_along(made, tmp_path, state):
    project, release, _, _ = made
    project = discreet.open(project.folder)
    both = project.again(release.id, epsilon=0.5)
    files = bundle_files.make_bundle(project, both.id)
    assert verify(written(files, tmp_path / "out"), project=project).sound
    assert content_of(project, both.id).sheets[0].rows == both.rows
    assert release.id in json.loads(files["plan.json"])["payloads"]


@pytest.mark.usefixtures("independent")
def test_a_proof_of_an_earlier_build_still_follows(made, tmp_path, state):
    """It told neither what is combined nor `coalesce`; a proof that tells part of a table is none."""
    project = discreet.open(made[0].folder)
    text = "SELECT sex, count(*) AS n, coalesce(avg(age), 0) AS a FROM patients WHERE age < 61 GROUP BY sex"
    first = project.sql(text).ask(epsilon=1)
    both = project.again(first.id, epsilon=1)
    for release in (first, both):
        files = bundle_files.make_bundle(project, release.id)
        told = json.loads(files["proof.json"])
        assert set(told["shown"][0]) == {"columns", "cells", "formulas"} | ({"combined"} if release is both else set())
        columns = {name: told["shown"][0][name] for name in ("columns", "cells")}
        earlier, other = (None, columns) if release is both else (columns, columns | {"columns": []})
        for shown, holds in ((earlier, True), (other, False)):
            again = signed_again(files, **{"proof.json": proof.proof_bytes(told | {"shown": [shown]})})
            folder = written(again, tmp_path / f"{release.id} {holds}")
            assert verify(folder).sound == verify(folder, project=project).sound == holds


@pytest.mark.usefixtures("independent")
def test_what_a_second_measurement_is_read_with_is_in_its_loss(made, tmp_path, state):
    """Its numbers come from both charges, and so does what the card says of them."""
    project = discreet.open(made[0].folder)
    first = project.sql("SELECT count(*) AS n FROM patients WHERE age < 30").ask(epsilon=1)
    both = project.again(first.id, epsilon="0.01")
    third = project.again(both.id, epsilon="0.01")
    for release, epsilon in ((first, 1), (both, 1.01), (third, 1.02)):
        files = bundle_files.make_bundle(project, release.id)
        card = pyyaml.safe_load(files["card.yaml"])["deployment"]
        assert card["privacy_loss"]["privacy_parameters"] == {"epsilon": pytest.approx(epsilon, rel=0.01)}
        assert card["privacy_loss"]["privacy_parameters"]["epsilon"] >= sum(
            each.cost.epsilon for each in (first, both, third) if each.id in json.loads(files["plan.json"])["payloads"]
        )
        assert ("all of them together" in str(card)) == (release is not first)
        assert verify(written(files, tmp_path / release.id), project=project).sound
    own = content_of(project, both.id)
    lie = replace(own, payloads={both.id: own.payloads[both.id].replace(first.id, "")})
    small = {**own.claims, **claims_of_event(own.event, doubled=False)}
    for forged in (
        signed_again(files_claiming(bundle_files.signed_files(own, Signer.load_or_make()), small)),
        bundle_files.signed_files(
            replace(lie, payloads=lie.payloads | {"": own.payloads[first.id]}), Signer.load_or_make()
        ),
    ):
        folder = written(forged, tmp_path / f"forged{len(list(tmp_path.iterdir()))}")
        assert not verify(folder, project=project).sound
    assert problems(verify(tmp_path / "forged3")) == ["cost", "card"]


def files_claiming(files, claims):
    """The files with other claims in the manifest."""
    told = replace(manifest.read(files["manifest.json"]).manifest, claims=claims)
    return files | {"manifest.json": told.sign(Signer.load_or_make())}


def stranger():
    return Signer(Ed25519PrivateKey.generate())


def test_a_stranger_with_numbers_of_their_own_is_told_beside_the_project(made, tmp_path, state, monkeypatch):
    """Whatever Discreet the bundle says it was made by."""
    project, release, _, _ = made
    true = content_of(project, release.id)
    sheet = true.sheets[0]
    lie = replace(true, sheets=(replace(sheet, rows=tuple((row[0], 666, row[2]) for row in sheet.rows)),))
    for version in ("9.9", discreet.__version__):
        monkeypatch.setattr(bundle_files, "VERSION", version)
        folder = written(bundle_files.signed_files(lie, stranger()), tmp_path / f"stranger {version}")
        assert problems(verify(folder, project=project)) == ["signed"]
        theirs = verify(folder)
        assert theirs.sound == (version == "9.9") and not theirs.expected
        assert theirs.open == (("proof", "noise", "data") if version == "9.9" else ())
        folder = written(bundle_files.signed_files(lie, Signer.load_or_make()), tmp_path / f"own {version}")
        assert not verify(folder, project=project).sound
        honest = written(bundle_files.signed_files(true, Signer.load_or_make()), tmp_path / f"honest {version}")
        report = verify(honest, project=project)
        assert report.sound and report.open == () and report.expected and report.checks[-1].name == "ledger"


@pytest.mark.parametrize(
    "lie",
    [
        {"unit_words": "one household of at most 10 people"},
        {"doubled": True},
        {"guarantee": 1},
        {"spent": Fraction(1, 1000)},
        {"text": "SELECT 1"},
        {"schemas": {}},
        {"warnings": ("none",)},
        {"invariants": ("rows",)},
        {"day": "2020-01-01"},
        {"as_of": 1},
        {"publics": ("wards",)},
        {"version": 2},
    ],
)
def test_nothing_but_what_the_ledger_tells_passes_beside_the_project(made, tmp_path, state, lie, monkeypatch):
    """Even under the right key, and whichever Discreet it names: everything in a bundle is told anew by the ledger."""
    project, release, _, _ = made
    true = content_of(project, release.id, About(name="N"))
    assert verify(
        written(bundle_files.signed_files(true, Signer.load_or_make()), tmp_path / "true"), project=project
    ).sound
    if "guarantee" in lie:
        lie = {"guarantee": replace(true.guarantee, epsilon=true.guarantee.epsilon / 1000)}
    if "schemas" in lie:
        other = json.loads(json.dumps(dict(true.schemas)).replace("99", "98"))
        assert other != true.schemas
        lie = {"schemas": other}
    other = () if "warnings" in lie else ("9.9",)  # another may word them otherwise
    for version in size(other or (discreet.__version__,), (discreet.__version__, *other)):
        monkeypatch.setattr(bundle_files, "VERSION", version)
        forged = bundle_files.signed_files(replace(true, **lie), Signer.load_or_make())
        assert not verify(written(forged, tmp_path / f"lie {version}"), project=project).sound


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("card.html", b"are not trusted", b"are trusted"),
        ("card.html", b"</main>", b"<p>exact: flu 200</p></main>"),
        ("card.yaml", b"are not trusted", b"are trusted"),
        ("chart.svg", b"flu", b"AIDS"),
        ("chart.svg", b"</svg>", b"<text>exact: flu 200</text></svg>"),
    ],
)
def test_cards_and_chart_follow_from_plan_and_data(made, tmp_path, state, name, old, new):
    """With the project and without it."""
    project, _, files, _ = made
    assert old in files[name]
    folder = written(signed_again(files, **{name: files[name].replace(old, new)}), tmp_path / "out")
    for report in (verify(folder), verify(folder, project=project)):
        assert problems(report) == ["card"] and report.checks[-1].words.endswith(f": {name}")


def test_a_bundle_without_its_chart_is_seen(made, tmp_path, state):
    few = {name: content for name, content in made[2].items() if name != "chart.svg"}
    assert problems(verify(written(signed_again(few), tmp_path / "out"))) == ["card"]


@pytest.mark.parametrize("part", [{"warnings": ["exact: flu 200"]}, {"text": "exact: flu 200"}])
def test_what_a_card_says_is_not_taken_from_words_of_the_plan(made, tmp_path, state, part):
    """Warnings and titles follow from what is stored: a signer who changes plan and page alike is seen."""
    project, release, _, _ = made
    lie = replace(content_of(project, release.id), **{name: tuple(told) if isinstance(told, list) else told
                                                      for name, told in part.items()})  # fmt: skip
    files = bundle_files.signed_files(lie, Signer.load_or_make())
    assert b"exact: flu 200" in files["card.html"]
    assert problems(verify(written(files, tmp_path / "out"))) == ["card"]


def by_another(files, version="0.0.9"):
    """The same files, had they been made by another Discreet, and signed again."""
    told = manifest.read(files["manifest.json"]).manifest
    digests = {name: manifest.digest(content) for name, content in files.items() if name != "manifest.json"}
    return files | {"manifest.json": replace(told, discreet=version, files=digests).sign(Signer.load_or_make())}


def test_what_another_discreet_computed_otherwise_stays_open(tmp_path):
    """Counts rounded otherwise are not broken, whether the project is at hand or not."""
    project = clinic.make(tmp_path / "p", budget="{ epsilon = 9.0, delta = 1e-6 }")
    counts = content_of(
        project, project.sql("SELECT sex, count(*) AS n FROM patients GROUP BY sex").ask(epsilon=0.01).id
    )
    (sheet,) = counts.sheets
    rounded = replace(sheet, rows=tuple((row[0], row[1] + 10) for row in sheet.rows))
    files = bundle_files.signed_files(replace(counts, sheets=(rounded,)), Signer.load_or_make())
    assert "data" in problems(verify(written(files, tmp_path / "same")))
    folder = written(by_another(files), tmp_path / "other")
    assert verify(folder).sound and verify(folder).open == ("proof", "noise", "data")
    report = verify(folder, project=project)
    assert report.sound and report.open == ("proof", "noise", "data", "ledger")
    assert "another version of Discreet computed the numbers" in report.checks[-1].words


def test_numbers_as_they_were_drawn_are_the_same_whoever_computed(tmp_path):
    project = clinic.make(tmp_path / "p", budget="{ epsilon = 9.0, delta = 1e-6 }")
    counts = project.sql("SELECT sex, count(*) AS n FROM patients GROUP BY sex").ask(epsilon=1).id
    marginals = project.marginals("patients", ["sex", "disease"], epsilon=1).release
    for number, content in enumerate((content_of(project, counts), content_of(project, marginals))):
        alike = written(
            by_another(bundle_files.signed_files(content, Signer.load_or_make())), tmp_path / f"alike {number}"
        )
        assert verify(alike, project=project).sound and verify(alike, project=project).open == ()
    (drawn,) = content.sheets
    fewer = replace(content, sheets=(replace(drawn, rows=drawn.rows[:-1], intervals=drawn.intervals[:-1]),))
    assert problems(
        verify(written(by_another(bundle_files.signed_files(fewer, Signer.load_or_make())), tmp_path / "fewer"))
    ) == ["data"]


def test_numbers_beyond_the_noise_are_no_other_rounding(tmp_path):
    """Nor is a word. A number as it was drawn that is another one is seen without the project, too."""
    project = clinic.make(tmp_path / "p", budget="{ epsilon = 9.0, delta = 1e-6 }")
    counts = content_of(
        project, project.sql("SELECT sex, count(*) AS n FROM patients GROUP BY sex").ask(epsilon=0.01).id
    )
    marginals = content_of(project, project.marginals("patients", ["sex", "disease"], epsilon=1).release)
    for number, (content, lie, seen) in enumerate(
        (
            (counts, lambda told: told + 9999, "ledger"),
            (counts, lambda told: "many", "ledger"),
            (marginals, lambda told: told + 1, "data"),
        )
    ):
        (sheet,) = content.sheets
        rows = tuple((*row[:-1], lie(row[-1])) for row in sheet.rows)
        files = bundle_files.signed_files(replace(content, sheets=(replace(sheet, rows=rows),)), Signer.load_or_make())
        folder = written(by_another(files), tmp_path / f"other {number}")
        assert problems(verify(folder, project=project)) == [seen]
        assert verify(folder).sound == (seen == "ledger")


def test_what_was_true_before_an_exact_total_is_told_as_open(tmp_path):
    project = clinic.make(tmp_path / "p", budget="{ epsilon = 9.0, delta = 1e-6 }")
    release = project.sql("SELECT count(*) AS n FROM patients").ask(epsilon=1)
    old = written(bundle_files.make_bundle(project, release.id), tmp_path / "old")
    assert verify(old, project=project).open == ()
    project.ledger.declare_invariant("patients", 1, words="rows in all")
    report = verify(old, project=project)
    assert report.sound and report.open == ("ledger",) and "changed since" in report.checks[-1].words
    new = verify(written(bundle_files.make_bundle(project, release.id), tmp_path / "new"), project=project)
    assert new.sound and new.open == ()
    lie = replace(content_of(project, release.id), doubled=False, invariants=())
    assert not verify(
        written(bundle_files.signed_files(lie, Signer.load_or_make()), tmp_path / "lie"), project=project
    ).sound


def test_a_project_with_another_ledger_says_nothing_of_the_numbers_and_wants_the_key_named(made, tmp_path, state):
    files = made[2]
    folder = written(files, tmp_path / "out")
    other = clinic.make(tmp_path / "p")
    key = verify(folder).fingerprint
    report = verify(folder, key=key, project=other)
    assert report.sound and report.open == () and report.checks[-1].name == "card"
    forged = written(bundle_files.signed_files(content_of(made[0], made[1].id), stranger()), tmp_path / "forged")
    assert problems(verify(forged, project=other)) == ["signed"]


def test_an_older_version_can_still_be_bundled(tmp_path):
    project = clinic.make(tmp_path / "p")
    release = project.sql(SQL).ask(epsilon=0.5)
    (tmp_path / "p" / "discreet.toml").write_text(
        (tmp_path / "p" / "discreet.toml").read_text().replace("high = 99", "high = 50")
    )
    project = discreet.open(tmp_path / "p")
    project.refresh("patients")
    files = bundle_files.make_bundle(project, release.id)
    assert verify(written(files, tmp_path / "out")).sound
    assert content_of(project, release.id).sheets[0].rows == release.rows


@pytest.mark.deep
def test_ranges_marginals_and_models(made, tmp_path, state):
    project = discreet.open(made[0].folder)
    project.histogram("patients", "sex").ask(epsilon=0.2)
    read = project.ranges("patients", "age", epsilon=0.3, seconds=0.1)
    ranges = read.release
    cells = content_of(project, ranges).sheets[0]
    assert [column.name for column in cells.columns] == ["low", "high", "rows"] and len(cells.rows) == 100
    assert cells.rows[30] == (30, 30, read.between(30, 30).value)
    assert cells.intervals[30][2] == read.between(30, 30).interval
    marginals = project.marginals("patients", ["sex", "disease"], epsilon=0.3).release
    model = project.synthesize("patients", epsilon=1, model="independent", columns=["sex", "disease"])
    save_in_project(project.folder, model)
    for number, id_ in enumerate((ranges, marginals, model.card.release)):
        files = bundle_files.make_bundle(project, id_)
        report = verify(written(files, tmp_path / str(number)), project=project)
        assert report.sound, report
        assert bundle_files.make_bundle(project, id_) == files
    card = pyyaml.safe_load(files["card.yaml"])
    assert card["deployment"]["product"]["data_product_type"] == "Synthetic data"
    assert set(json.loads(files["data.json"])["tables"][0]["rows"][0]) <= {"F", "M", *clinic_diseases(), None}


def clinic_diseases():
    return {"allergy", "flu", "measles", "mumps"}


def test_public_tables_are_not_carried_along_and_that_is_said(tmp_path):
    project = clinic.make(tmp_path / "p")
    (tmp_path / "p" / "wards.csv").write_text("disease,ward\nflu,north\nmumps,south\n")
    text = (tmp_path / "p" / "discreet.toml").read_text()
    text += (
        '\n[tables.wards]\nsource = "wards.csv"\npublic = true\n'
        '[tables.wards.columns]\ndisease = { type = "category", values = ["allergy", "flu", "measles", "mumps"] }\n'
        'ward = { type = "category", values = ["north", "south"] }\n'
    )
    (tmp_path / "p" / "discreet.toml").write_text(text)
    project = discreet.open(tmp_path / "p")
    release = project.sql(
        "SELECT ward, count(*) n FROM patients JOIN wards ON patients.disease = wards.disease GROUP BY ward"
    ).ask(epsilon=0.5)
    files = bundle_files.make_bundle(project, release.id)
    report = verify(written(files, tmp_path / "out"))
    assert report.sound and [check.holds for check in report.checks if check.name == "data"] == [None]
    changed = signed_again(files, **{"card.html": files["card.html"].replace(b"are not trusted", b"are trusted")})
    report = verify(written(changed, tmp_path / "changed"), project=project)  # only the ledger can tell what it says
    assert problems(report) == ["ledger"] and "card.html" in report.checks[-1].words


def test_archives_are_checked_as_folders_are(made, tmp_path):
    files = made[2]
    packed = tmp_path / "bundle.zip"
    packed.write_bytes(bundle_files.archive(files, name="bundle"))
    assert verify(packed).sound
    with zipfile.ZipFile(packed, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("bundle/data.csv", b"other")
    assert problems(verify(packed)) == ["whole"]
    (tmp_path / "bad.zip").write_bytes(b"PK\x03\x04 and nothing else")
    with pytest.raises(UsageError):
        verify(tmp_path / "bad.zip")


def test_the_key_is_made_once_and_belongs_to_its_owner(tmp_path, state_folder):
    first = Signer.load_or_make()
    assert Signer.load_or_make().public == first.public
    path = signing_key.key_path()
    assert state_folder in path.parents and path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [each.name for each in path.parent.iterdir()] == ["key"]
    assert signing_key.is_signed_by(b"x", signature=first.sign(b"x"), public=first.public)
    assert not signing_key.is_signed_by(b"y", signature=first.sign(b"x"), public=first.public)
    assert signing_key.read_fingerprint(signing_key.fingerprint(first.public).upper()) == signing_key.fingerprint(
        first.public
    )
    with pytest.raises(UsageError):
        signing_key.read_fingerprint(signing_key.fingerprint(first.public)[:32])
    path.write_bytes(b"short")
    with pytest.raises(LedgerFault):
        Signer.load_or_make()


def test_the_state_folder_is_never_the_projects(tmp_path, monkeypatch):
    project = clinic.make(tmp_path / "p")
    release = project.sql("SELECT count(*) FROM patients").ask(epsilon=0.1)
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "p" / "state"))
    with pytest.raises(UsageError):
        bundle_files.make_bundle(project, release.id)
    assert not (tmp_path / "p" / "state").exists()


def test_what_people_tell_is_checked(tmp_path):
    (tmp_path / "about.toml").write_text('name = "N"\ncurators = ["A", "B"]\npublication_date = 2026-03-01\n')
    told = About.read(tmp_path / "about.toml")
    assert (told.name, told.curators, told.publication_date) == ("N", ("A", "B"), "2026-03-01")
    assert About.from_data(told.to_data()) == told
    for bad in ({"nam": "x"}, {"name": 3}, {"curators": "x"}, {"name": "\x07"}, {"publication_date": "soon"}, [1]):
        with pytest.raises(UsageError):
            About.from_data(bad)
    with pytest.raises(UsageError):
        About(description="x" * 5000)


def test_unknown_releases(made, state):
    with pytest.raises(UsageError, match="no release"):
        bundle_files.make_bundle(made[0], "r-nothing")


def test_a_full_folder_is_not_written_to(made, tmp_path):
    (tmp_path / "mine").write_text("x")
    with pytest.raises(UsageError, match="not empty"):
        bundle_files.write(made[2], tmp_path)
    assert os.listdir(tmp_path) == ["mine"]


def test_a_chart_draws_what_the_sheet_holds():
    columns = (ReleaseColumn(name="a", kind="key"), ReleaseColumn(name="b", kind="key"))
    number = ReleaseColumn(name="n", kind="noisy")
    rows = (("x", None, 10), ("y", True, 2), ("z", 1, None), ("w", 1, 10**400))
    ends = ((None, None, (5, 15)), (None, None, (-8, 12)), (None, None, None), (None, None, None))
    text = chart_of(Sheet(columns=(*columns, number), rows=rows, intervals=ends), title="T")
    root = ElementTree.fromstring(text)
    kinds = [each.get("class", "") for each in root.iter("{http://www.w3.org/2000/svg}rect")]
    assert kinds == ["chart-bar", "chart-bar chart-drowned"]
    assert "T: n" in text and "x, NULL" in text and "y, true" in text and "w, 1" not in text
    assert "z, 1: – (the noise is too large to show it)" in text
    assert text == chart_of(Sheet(columns=(*columns, number), rows=rows, intervals=ends), title="T")
    none = chart_of(Sheet(columns=columns, rows=(("x", "y"),), intervals=((None, None),)), title="T")
    assert "There is nothing to show" in none and ElementTree.fromstring(none) is not None


def test_a_chart_of_many_ordered_rows_is_in_the_order_of_the_column():
    """Of 112 ages the 40 largest were once drawn."""
    columns = (ReleaseColumn(name="age", kind="key"), ReleaseColumn(name="n", kind="noisy"))

    def chart(keys):
        rows = tuple((key, 100 + place) for place, key in enumerate(keys))
        ends = tuple((None, (value - 5, value + 5)) for _, value in rows)
        return str(chart_of(Sheet(columns=columns, rows=rows, intervals=ends), title="T"))

    text = chart([*range(111, -1, -1), None])
    places = [text.index(f"<title>{age}: ") for age in range(112)]
    assert places == sorted(places) and "chart-step" in text and "more" not in text and ">NULL</text>" in text
    assert "chart-step" not in chart(range(40)) and "chart-step" not in chart([f"w{place}" for place in range(50)])
    assert "… 10 more" in chart([f"w{place}" for place in range(50)])
    styled = charts.standalone_svg(charts.bars([], title="t"))
    assert ".chart-step{" in styled and ".chart-noise{" in styled and ".chart-beyond{" in styled


def test_an_average_that_says_nothing_is_grey_on_the_card_and_in_the_chart():
    """By the same rule as everywhere: its interval is all that is declared."""
    for bounds, grey in (((0.0, 110.0), True), (None, False)):
        columns = (ReleaseColumn(name="k", kind="key"), ReleaseColumn(name="a", kind="derived", bounds=bounds))
        rows, intervals = [("x", 110.0), ("y", 60.0)], [(None, (0.0, 110.0)), (None, (55.0, 65.0))]
        sheet = Sheet.from_data(json.loads(json.dumps(Sheet.of(columns, rows, intervals).to_data())))
        cells = [card_cell(sheet, row, 1) for row in (0, 1)]
        assert ["drowned" in each.class_ for each in cells] == [grey, False]
        assert ("chart-bar chart-drowned" in chart_of(sheet, title="t")) == grey
