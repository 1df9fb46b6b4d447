"""Labels of codes on every surface: terminal, notebook, JSON, files, pages, charts, bundles; and SQL keeps the codes."""

import csv
import json
import sys
from dataclasses import replace
from fractions import Fraction

import pytest

import discreet
from clinic import make, run, say
from console.house import world
from discreet.bundle import bundle_files
from discreet.bundle.card_page import card_cell
from discreet.bundle.sheet import Sheet
from discreet.bundle.verification import verify
from discreet.console.jobs import range_tables
from discreet.console.pages import release_view
from discreet.errors import Refused
from discreet.release import ReleaseColumn
from discreet.synth.inspect.model_report import inspect_model
from tables.publish import census
from verify import world as checker

COUNT = "SELECT sex, count(*) AS n FROM patients GROUP BY sex"
LABELS = 'labels = { F = "woman <b>", M = "man" }\n'


def labelled(text):
    return text.replace('values = ["F", "M"]\n', f'values = ["F", "M"]\n{LABELS}')


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "labels"
    folder.mkdir()
    make(folder, budget="{ epsilon = 5000 }")
    (folder / "discreet.toml").write_text(labelled((folder / "discreet.toml").read_text()))
    return folder


@pytest.fixture
def release(folder):
    return discreet.open(folder).sql(COUNT).ask(epsilon=1000)


def test_the_terminal_and_str_show_labels(folder, release, capsys):
    _, out, _ = say(capsys, folder, "query", COUNT, "--epsilon", "1000")
    assert "woman <b>" in out and "\nman " in out
    assert "woman <b>  500 ± 0" in str(release)
    _, out, _ = say(capsys, folder, "histogram", "patients", "sex", "--epsilon", "1000")
    assert "woman <b>" in out and "\nman " in out


def test_a_notebook_shows_labels(release):
    assert "woman &lt;b&gt;" in release._repr_html_() and ">man<" in release._repr_html_()


def test_json_and_files_keep_the_codes(folder, release, capsys, tmp_path):
    _, data, _ = run(capsys, folder, "query", COUNT, "--epsilon", "1000", "-o", str(tmp_path / "rows.csv"))
    assert data["columns"][0] == {"name": "sex", "kind": "key", "labels": {"F": "woman <b>", "M": "man"}}
    assert data["rows"] == [["F", 500], ["M", 500]]
    assert [row[0] for row in csv.reader((tmp_path / "rows.csv").read_text().splitlines())] == ["sex", "F", "M"]
    assert release.to_arrow().column("sex").to_pylist() == ["F", "M"]
    assert "labels" not in data["columns"][1]


def test_derived_answers_and_totals_have_labels(folder):
    project = discreet.open(folder)
    project.sql("SELECT sex, smoker, count(*) AS n FROM patients GROUP BY sex, smoker").ask(epsilon=1000)
    derived = project.sql(COUNT).ask(epsilon=1)
    assert derived.derived and derived.cell_text(0, 0) == "woman <b>"
    rolled = project.sql("SELECT sex, count(*) AS n FROM patients GROUP BY ROLLUP (sex)").ask(epsilon=1000)
    assert "woman <b>" in [rolled.cell_text(row, 0) for row in range(3)] and None in [row[0] for row in rolled.rows]


def test_other_expressions_have_none(folder):
    project = discreet.open(folder)
    for key in ("upper(sex)", "CASE WHEN sex = 'F' THEN 'F' ELSE 'x' END"):
        query = project.sql(f"SELECT {key} AS k, count(*) AS n FROM patients GROUP BY k")
        assert "F" in [row[0] for row in query.ask(epsilon=100).rows]


@pytest.mark.parametrize("condition", ["sex = 'man'", "sex IN ('Man', 'F')", "sex <> 'MAN'"])
def test_a_comparison_with_a_label_names_the_code(folder, condition):
    with pytest.raises(Refused) as caught:
        discreet.open(folder).sql(f"SELECT count(*) FROM patients WHERE {condition}")
    assert caught.value.hint == "write 'M', which has this label"


def test_pages_of_a_release_show_labels_and_the_checker_agrees(folder, release, tmp_path):
    target = checker.written(bundle_files.make_bundle(discreet.open(folder), release.id), tmp_path / "bundle")
    texts = {
        path.name: path.read_text() for path in target.iterdir() if path.suffix in (".html", ".svg", ".csv", ".json")
    }
    assert any("woman &lt;b&gt;" in text for name, text in texts.items() if name.endswith(".svg"))
    assert any("woman &lt;b&gt;" in text for name, text in texts.items() if name.endswith(".html"))
    assert "woman" not in texts["data.csv"]
    done = checker.recheck(target)
    assert done.returncode == 0, done.stdout
    data = json.loads(texts["data.json"])
    assert data["tables"][0]["columns"][0]["labels"] == {"F": "woman <b>", "M": "man"}


def test_a_cell_of_a_release_page_is_a_label(release):
    sheet = Sheet.of(release.columns, release.rows, release.intervals)
    assert [card_cell(sheet, row, 0).text for row in range(2)] == ["woman <b>", "man"]


def test_a_forged_label_is_caught(folder, release):
    """The checker refuses labels that the declaration does not have: the two cannot be swapped."""
    declared = {"F": "woman <b>", "M": "man"}
    columns = [{"name": "sex", "kind": "key", "labels": declared}, {"name": "n", "kind": "noisy"}]
    data = {"release": "r", "confidence": 0.95, "tables": [{"columns": columns, "rows": [], "intervals": []}]}
    sys.path.insert(0, str(checker.CHECKER.parent))
    try:
        from relation import Broken
        from shown import formed

        assert formed(data, "r", Fraction(95, 100), [declared], public=False)
        for forged in ({"F": "man", "M": "woman <b>"}, {}, ["x"], {"F": 1}):
            columns[0]["labels"] = forged
            with pytest.raises(Broken, match="unknown or missing members"):
                formed(data, "r", Fraction(95, 100), [declared], public=False)
    finally:
        sys.path.remove(str(checker.CHECKER.parent))


def test_the_console_shows_labels(tmp_path):
    made = world(tmp_path / "clinic")
    file = made.folder / "discreet.toml"
    file.write_text(labelled(file.read_text()))
    try:
        release = made.house.handle.project.sql(COUNT).ask(epsilon=50, analyst="ann")
        page = made.browser("analyst").text(f"/a/{release.id}")
        assert page.count("woman &lt;b&gt;") >= 2 and "woman <b>" not in page  # the table and the chart
        data = made.browser("analyst").get(f"/a/{release.id}.json").json()
        assert data["rows"][0][0] == "F" and data["columns"][0]["labels"]["F"] == "woman <b>"
        assert made.browser("analyst").get(f"/a/{release.id}.csv").text.splitlines()[1].startswith("F,")
    finally:
        made.house.close()


def test_the_charts_and_tables_of_a_page_show_labels_and_files_do_not():
    data = {
        "columns": [{"name": "sex", "kind": "key", "labels": {"1": "man"}}, {"name": "n", "kind": "noisy"}],
        "rows": [["1", 5], ["2", 6], [None, 0]],
        "intervals": [[None, [4, 6]], [None, [5, 7]], [None, [-1, 1]]],
    }
    assert [row[0]["text"] for row in release_view.page_sheet(data)["cells"]] == ["man", "2", "NULL"]
    assert [bar["label"] for bar in release_view.release_chart(data)["bars"]] == ["man", "2", None]
    assert release_view.file_table(data).rows[0][0] == "1" and data["rows"][0][0] == "1"


def test_marginals_show_labels_and_keep_the_codes(folder, capsys, tmp_path):
    words = ("marginals", "patients", "sex", "smoker", "--epsilon", "1000")
    _, out, _ = say(capsys, folder, *words, "-o", str(tmp_path / "tables"))
    assert "woman <b>" in out and "\nman " in out
    _, data, _ = run(capsys, folder, *words)
    by_columns = {tuple(each["columns"]): each for each in data["marginals"]}
    assert by_columns["sex",]["labels"] == {"sex": {"F": "woman <b>", "M": "man"}}
    assert [row[0] for row in by_columns["sex",]["rows"]] == ["F", "M"] and "labels" not in by_columns["smoker",]
    assert not any("woman" in file.read_text() for file in (tmp_path / "tables").glob("*.csv"))


def test_ranges_by_groups_show_labels_and_keep_the_codes(folder, capsys, tmp_path):
    words = ("ranges", "patients", "age", "--by", "sex", "--between", "0..49", "--quantile", "0.5", "--epsilon", "1000")
    _, out, _ = say(capsys, folder, *words)
    assert "woman <b>" in out and "of the rows with sex man are at or below" in out
    _, data, _ = run(capsys, folder, *words, "-o", str(tmp_path / "rows.csv"))
    assert data["labels"] == {"sex": {"F": "woman <b>", "M": "man"}} and [row[0] for row in data["rows"]] == ["F", "M"]
    assert "woman" not in (tmp_path / "rows.csv").read_text()
    page = range_tables._page(data, from_=data["release"])
    assert [line[0] for line in page["lines"]] == ["woman <b>, 0 to 49", "man, 0 to 49"]
    target = checker.written(bundle_files.make_bundle(discreet.open(folder), data["release"]), tmp_path / "bundle")
    assert json.loads((target / "data.json").read_text())["tables"][0]["columns"][0]["labels"]["M"] == "man"
    done = checker.recheck(target)
    assert "proved  numbers" in done.stdout and "broken" not in done.stdout.lower(), done.stdout
    assert verify(target).sound


def test_a_bundle_of_before_without_labels_still_agrees():
    """And one with other labels does not."""
    rows, intervals = [("F", 5)], [(None, None)]
    labelled_column = ReleaseColumn(name="sex", kind="key", labels=(("F", "woman"),))
    numbers = ReleaseColumn(name="n", kind="derived", least=0)
    made = Sheet.of((labelled_column, numbers), rows, intervals)
    for old in ((replace(labelled_column, labels=()), numbers), (labelled_column, replace(numbers, least=None))):
        assert Sheet.of(old, rows, intervals).agrees(made)
    forged = replace(labelled_column, labels=(("F", "man"),))
    assert not Sheet.of((forged, numbers), rows, intervals).agrees(made)


def test_published_tables_have_a_column_of_labels(tmp_path):
    project = census.make(tmp_path / "census")
    file = project.folder / "discreet.toml"
    file.write_text(labelled(file.read_text()))
    made = discreet.open(project.folder).publish(census.plan(project.folder), epsilon=5, to=tmp_path / "out")
    table = made.table(made.levels[-1]).to_pylist()
    assert {(row["sex"], row["sex_label"]) for row in table} == {("F", "woman <b>"), ("M", "man")}
    assert "sex_label" in (tmp_path / "out" / f"{made.levels[-1]}.csv").read_text().splitlines()[0]
    assert json.loads((tmp_path / "out" / "card.json").read_text())["columns"]["sex_label"] == "what sex is called"


@pytest.mark.parametrize("kind", ["independent", "mst"])
def test_models_keep_labels_and_pages_show_them(folder, tmp_path, kind):
    project = discreet.open(folder)
    model = project.synthesize("patients", columns=["sex", "smoker", "disease"], epsilon=100, model=kind)
    model.save(tmp_path / "model.npz")
    loaded = discreet.load(tmp_path / "model.npz")
    for each in (model, loaded):
        page = inspect_model(each).page()
        assert "woman &lt;b&gt;" in page and "woman <b>" not in page
        [own] = [histogram for histogram in inspect_model(each).histograms if histogram.name == "sex"]
        assert (own.labels, own.shown_labels) == (("F", "M"), ("woman <b>", "man"))
    assert set(loaded.sample(50, seed=1).column("sex").to_pylist()) <= {"F", "M"}
