"""Bundles of models: the numbers that they were fitted to, a page that people can read, what rho means in epsilon."""

import csv
import io
import json
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser

import numpy as np
import pytest

import clinic
from discreet.accounting.zcdp_conversion import epsilon_from_rho
from discreet.bundle import bundle_files, manifest
from discreet.bundle.card_page import claims_on_page
from discreet.bundle.content import content_of
from discreet.bundle.number_sheets import noisy_number_sheets
from discreet.bundle.signing_key import Signer
from discreet.bundle.verification import verify
from discreet.mechanisms.packed_integers import pack_integers
from discreet.synth.model_folder import save_in_project
from synth.worlds import fit, open_project
from verify.forging import checker, worst

KINDS = ("independent", "privbayes", "mst", "aim")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A project with a model of each kind."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(tmp_path_factory.mktemp("state")))
        project = clinic.make(tmp_path_factory.mktemp("project"), budget="{ epsilon = 90.0, delta = 1e-4 }")
        found = {}
        for kind in KINDS:
            model = project.synthesize("patients", epsilon=1, model=kind, columns=["sex", "smoker", "disease"])
            save_in_project(project.folder, model)
            found[kind] = model.card.release
        yield project, found


class Tables(HTMLParser):
    """How many rows of data each table of a page has."""

    def __init__(self, page):
        super().__init__()
        self.rows, self._in_body = [], False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self._in_body = tag == "tbody" or (self._in_body and tag != "table")
        if tag == "tbody":
            self.rows.append(0)
        if tag == "tr" and self._in_body:
            self.rows[-1] += 1


def drawn(ledger, release):
    """Every list of numbers that the steps of a fit store, read without the code under test."""
    ids = [id_ for id_ in ledger.refresh().answers if id_.startswith(f"{release}.")]
    for id_ in sorted(ids, key=lambda each: int(each.rpartition(".")[2])):
        stored = json.loads(ledger.answer(id_))
        for part, values in enumerate(stored if isinstance(stored, list) else []):  # else a choice
            for place, value in enumerate(values):
                yield int(id_.rpartition(".")[2]), part, place, value


@pytest.mark.thin(2)
@pytest.mark.parametrize("kind", KINDS)
def test_the_numbers_that_a_model_was_fitted_to_are_in_its_bundle(kind, world, tmp_path):
    project, models = world
    files = bundle_files.make_bundle(project, models[kind])
    wanted = [list(each) for each in drawn(project.ledger, models[kind])]
    assert len(wanted) >= 10
    sampled, measured = json.loads(files["data.json"])["tables"]
    assert measured["rows"] == wanted and len(sampled["rows"]) > 100
    rows = list(csv.reader(io.StringIO(files["data-2.csv"].decode())))
    assert rows == [["step", "part", "place", "value"], *([str(cell) for cell in row] for row in wanted)]
    bundle_files.write(files, tmp_path / "out")
    left = ("data",) if kind == "independent" else ("noise", "data")  # what choices were scored by is not in it
    assert (report := verify(tmp_path / "out")).sound and report.open == left
    beside = verify(tmp_path / "out", project=project)
    assert beside.sound and beside.open == left[:-1] and beside.state == ("not checked" if left[:-1] else "holds")


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_of_a_model_shows_a_few_rows_and_no_chart_of_them(kind, world):
    project, models = world
    files = bundle_files.make_bundle(project, models[kind])
    assert "chart.svg" not in files and "<svg" not in files["card.html"].decode()
    sampled, measured = Tables(files["card.html"].decode()).rows
    assert sampled == 10 and 10 <= measured <= 100


def test_no_model_has_a_chart(world, tmp_path):
    """Whichever Discreet is said to have made it."""
    project, models = world
    files = bundle_files.make_bundle(project, models["mst"]) | {
        "chart.svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>"
    }
    told = manifest.read(files["manifest.json"]).manifest
    digests = {name: manifest.digest(content) for name, content in files.items() if name != "manifest.json"}
    for version in (told.discreet, "0.0.9"):
        signed = replace(told, discreet=version, files=digests).sign(Signer.load_or_make())
        bundle_files.write(files | {"manifest.json": signed}, tmp_path / version)
        wrong = [check.words for check in verify(tmp_path / version).checks if check.holds is False]
        assert wrong[:1] == ["unexpected files: chart.svg"]


def test_a_model_that_is_kept_no_more_has_its_numbers_alone(world):
    project, models = world
    path = project.folder / ".discreet" / "models" / f"{models['mst']}.npz"
    content = path.read_bytes()
    path.unlink()
    try:
        files = bundle_files.make_bundle(project, models["mst"])
    finally:
        path.write_bytes(content)
    assert "data-2.csv" not in files and len(Tables(files["card.html"].decode()).rows) == 1
    (measured,) = json.loads(files["data.json"])["tables"]
    assert measured["rows"] == [list(each) for each in drawn(project.ledger, models["mst"])]


def test_every_form_in_which_a_step_stores_numbers_is_read():
    many = np.arange(-50, 50)
    payloads = {
        "r": '{"kind": "model"}',
        "r.1": json.dumps([pack_integers(many), [7, 8]]),
        "r.2": "3",
        "r.3": "[5, -6]",
        "r.4": json.dumps({"noisy": [pack_integers(many), [9]], "beside": [1, 2]}),
        "r.5": json.dumps({"parts": [{"kind": "cells", "noisy": [[1, 2], [3]]}, {"kind": "choice", "place": 4}]}),
        "r.6": '{"chosen": 4}',
        "r.7": "[]",
        "other.1": "[[4]]",
    }
    (found,) = noisy_number_sheets(payloads, "r")
    lists = {}
    for step, part, _, value in found.rows:
        lists.setdefault((step, part), []).append(value)
    line = many.tolist()
    assert lists == {
        (1, 0): line, (1, 1): [7, 8], (3, 0): [5, -6], (4, 0): line, (4, 1): [9], (5, 0): [1, 2], (5, 1): [3],
    }  # fmt: skip


def test_a_rho_is_told_in_epsilon_first(world):
    """By words alone: what programs read is rho, as before."""
    project, models = world
    content = content_of(project, models["aim"])
    page = bundle_files.unsigned_files(content)["card.html"].decode()
    said = claims_on_page(page)
    assert said["variant"] == "Zero-concentrated DP" and set(said["parameters"]) == {"rho"}
    rho, delta = Fraction(content.claims["rho"]), content.guarantee.delta_rho
    epsilon = epsilon_from_rho(rho, delta)
    assert Fraction(99, 100) < epsilon <= 1 and delta == Fraction(3, 80000)  # what was asked for
    words = (
        "In other words: this release alone is at most epsilon 1 with delta 3.75e-05. All releases ever made about "
        "these people, including this one, together stay within epsilon 90 with delta 0.0001."
    )
    assert words in page and page.index(words) < page.index("claim-variant")


def test_a_pure_release_needs_no_other_words(tmp_path):
    project = clinic.make(tmp_path / "p", budget="{ epsilon = 9.0, delta = 1e-6 }")
    release = project.sql("SELECT sex, count(*) AS n FROM patients GROUP BY sex").ask(epsilon=0.5)
    files = bundle_files.make_bundle(project, release.id)
    assert "In other words" not in files["card.html"].decode() and "chart.svg" in files


@pytest.mark.thin(2)
@pytest.mark.parametrize("budget", ["{ epsilon = 90 }", "{ epsilon = 90, delta = 1e-5 }"], ids=["pure", "delta"])
@pytest.mark.parametrize("person", ["", 'person = "id"\nrows_per_person = 3'], ids=["rows", "persons"])
def test_a_model_of_columns_that_nobody_declared_is_sound(budget, person, tmp_path):
    """Its bounds were found by magnitudes and choices; `verify` called the magnitudes, and so the bundle, wrong."""
    (tmp_path / "project").mkdir()
    columns = {"id": None, "age": 'type = "integer"', "word": 'type = "text"'}
    lines = [f"p{number // 2},{number},{'ab'[number % 2]}" for number in range(60)]
    project = open_project(tmp_path / "project", columns, lines, budget=budget, table=person)
    model = fit(project, columns=("age", "word"))
    files = bundle_files.make_bundle(project, model.card.release)
    bundle_files.write(files, tmp_path / "out")
    assert (report := verify(tmp_path / "out")).sound and "noise" in report.open
    assert worst(files) == "proved", [each for each in checker().checked(files).found if each[0] == "broken"]

    def another_noise(part):
        part["laws"][0] = {"kind": "discrete-laplace", "scale": "1/7"}

    def one_more(part):
        part["laws"].append(part["laws"][0])
        part["noisy"].append(part["noisy"][0])

    content = content_of(project, model.card.release)
    first = f"{model.card.release}.1"
    for lie, check in ((another_noise, "noise"), (one_more, "cost")):
        stored = json.loads(content.payloads[first])
        lie(stored["parts"][0])
        forged = replace(content, payloads={**content.payloads, first: json.dumps(stored)})
        bundle_files.write(bundle_files.signed_files(forged, Signer.load_or_make()), tmp_path / lie.__name__)
        wrong = {each.name for each in verify(tmp_path / lie.__name__).checks if each.holds is False}
        assert wrong == {check}
