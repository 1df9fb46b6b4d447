"""Faces in a notebook: self-contained and escaped, free, and never an exception."""

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clinic
import discreet
from discreet.graph.model.graph_model import GraphModel
from discreet.lab.evidence import Evidence
from discreet.present import notebook
from discreet.project.budget import BudgetStatus
from discreet.project.project import Project
from discreet.project.question import Explanation
from discreet.project.remote import Remote, RemoteQuestion
from discreet.release import ReleaseColumn, Spending
from discreet.synth.inspect.marginal_verdicts import judge_marginals
from discreet.synth.inspect.model_evidence import ModelEvidence as Measured
from discreet.synth.model import Model, ModelCard

HOSTILE = '<script>alert(1)</script>" onload=x &amp; {{x}} <style>'
COUNT = "SELECT disease, count(*) AS n FROM patients GROUP BY disease"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A clinic whose budget holds everything that is asked here."""
    found = clinic.make(tmp_path_factory.mktemp("clinic"), budget="{ epsilon = 10000 }")
    assert found.ledger  # opened now, while its anchor is where the module's worlds keep theirs
    return found


@pytest.fixture(scope="module")
def release(project):
    return project.sql(COUNT).ask(epsilon=50)


@pytest.fixture(scope="module")
def model(project):
    return project.synthesize("patients", epsilon=50, model="mst", columns=["age", "sex", "disease"])


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    folder = tmp_path_factory.mktemp("network")
    (folder / "friends.csv").write_text("from,to\n" + "".join(f"{n},{(n * 7 + 1) % 200}\n" for n in range(200)))
    found = discreet.init(folder, epsilon=1000)
    found.add(folder / "friends.csv")
    return found.graph("friends").synth(epsilon=100)


def evidence(**changes):
    told = {"attack": "a", "success": 0.9, "chance": 0.5, "n": 100, "seconds": 1.0, "interval": (0.8, 0.95)}
    return Evidence(**{**told, **changes})


def budget(**changes):
    paid, left = (
        Spending(epsilon=Fraction(1, 3), delta=Fraction(0)),
        Spending(epsilon=Fraction(2, 3), delta=Fraction(0)),
    )
    told = {
        "population": "patients",
        "limit": Spending(epsilon=Fraction(1), delta=Fraction(0)),
        "spent": paid,
        "remaining": left,
        "events": 3,
        "by_analyst": {},
        "accounting": "either",
        "counts": 7,
        "largest_question": Fraction(2, 3),
    }
    return BudgetStatus(**{**told, **changes})


def read(html):
    """The face as a tree, after what holds for all: one element, nothing that runs, nothing from outside."""
    tree = ElementTree.fromstring(html)
    assert tree.tag == "div" and tree.get("class") == "discreet"
    known = {
        "div",
        "style",
        "p",
        "pre",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "span",
        "svg",
        "rect",
        "path",
        "title",
        "details",
        "summary",
    }
    plain = {"class", "scope", "width", "height", "viewBox", "role", "x", "y", "rx", "d"}
    for each in tree.iter():
        assert each.tag in known and set(each.attrib) <= plain, each.tag
    assert not re.search(r"url\(|@import|://", html)
    html.encode("utf-8")
    return tree


def text(tree):
    return "\n".join("".join(each.itertext()) for each in tree if each.tag != "style")


def rows(tree):
    return [["".join(cell.itertext()) for cell in row] for row in tree.iter("tr")]


def test_a_release_shows_numbers_with_their_noise_and_what_they_cost(release):
    tree = read(release._repr_html_())
    head, *body = rows(tree)
    assert [cell for cell in head if cell] == ["disease", "n"]
    assert [row[0] for row in body] == ["allergy", "flu", "measles", "mumps", "NULL"]
    assert all(row[1] == release.cell_text(place, 1) and " ± " in row[1] for place, row in enumerate(body))
    assert "± 95% confidence interval of the added noise, per number." in text(
        tree
    ) and f"Release {release.id} of patients, version 1" in text(tree)
    assert "cost epsilon 50; epsilon 50 spent" in text(tree)
    assert len(list(tree.iter("svg"))) == 5  # each number is drawn


def test_numbers_no_larger_than_their_noise_are_grey_and_others_are_not(project):
    found = project.sql("SELECT age < 50 AS young, count(*) AS n FROM patients GROUP BY 1").ask(epsilon=2)
    rest = tuple((key, 0 if key is None else n) for key, n in found.rows)
    tree = read(replace(found, rows=rest)._repr_html_())
    grey = {row[0].text: "discreet-drowned" in row[1].get("class") for row in tree.find("table/tbody")}
    assert grey == {"true": False, "false": False, "NULL": True}
    faint = {row[0].text: row[2].find("svg/rect").get("class") == "discreet-faint" for row in tree.find("table/tbody")}
    assert faint == grey
    assert "Grey below the noise: treat as unknown." in text(tree)
    assert "grey" not in text(
        read(replace(found, rows=found.rows[:2], read_intervals=lambda _: found.interval()[:2])._repr_html_())
    )


def test_a_stored_answer_is_free_and_says_so(project, release):
    assert "stored answer: free (it cost epsilon 50)" in text(read(project.sql(COUNT).ask(epsilon=1)._repr_html_()))
    assert "derived answer, free" in text(read(replace(release, derived=True)._repr_html_()))


def test_many_rows_are_cut_and_counted(project):
    tree = read(project.histogram("patients", "age").ask(epsilon=50)._repr_html_())
    assert len(tree.find("table/tbody")) == notebook.MOST_ROWS
    assert "… and 81 more rows" in text(tree)


def test_a_question_shows_its_price_only_once_it_was_explained(project):
    question = project.sql("SELECT sex, count(*) AS n FROM patients GROUP BY sex")
    assert "Not priced yet" in text(read(question._repr_html_()))
    question.explain(epsilon="0.5")
    tree = read(question._repr_html_())
    assert "would have cost epsilon 0.5." in text(tree) and "Noise at 95% confidence: n ± 6." in text(tree)
    assert tree.find("pre").text == question.query.text
    question.explain(epsilon=2)
    assert "would have cost epsilon 2." in text(read(question._repr_html_()))  # the last one


def test_a_question_that_was_asked_says_what_it_cost(tmp_path):
    question = clinic.make(tmp_path, budget="{ epsilon = 10 }").sql(
        "SELECT smoker, count(*) AS n FROM patients GROUP BY smoker"
    )
    question.explain(epsilon=2)
    release = question.ask(epsilon=2)
    told = text(read(question._repr_html_()))
    assert f"Answered by release {release.id}: cost epsilon 2." in told
    assert "would have cost" not in told and "Nothing is charged" not in told
    question.ask(epsilon=1)
    assert "stored answer: free (it cost epsilon 2)." in text(read(question._repr_html_()))


def test_of_a_stored_answer_its_own_noise_is_shown(tmp_path):
    question = clinic.make(tmp_path, budget="{ epsilon = 10 }").sql("SELECT count(*) AS n FROM patients")
    release = question.ask(epsilon=1)
    explained = question.explain(epsilon="0.1")  # alone it would be ± 30
    told = text(read(question._repr_html_()))
    assert f"cost nothing: release {release.id} already answers it." in told
    assert "Noise at 95% confidence: the stored numbers ± 3." in told and "± 30" not in told
    assert "error     the stored numbers within 3 at 95%" in str(explained)


def test_long_texts_are_cut_wherever_they_stand(project):
    long = "<&" * 10_000_000
    question = project.sql(COUNT)
    data = question.explain(epsilon=60, confidence="0.9").data | {"stored": None, "told": None, "region": long}
    noise = [{**each, "column": long, "plus_minus": 6.0} for each in data["noise"]]
    hostile = Explanation(data={**data, "noise": noise})
    question._last_shown[:] = [hostile]
    assert "… ± 6." in text(read(question._repr_html_()))
    faces = [question._repr_html_(), hostile._repr_html_()]
    parts = [
        notebook.line,
        notebook.small_print,
        notebook.head,
        notebook.code_block,
        lambda said: notebook.meter(0.5, said),
    ]
    faces += [part(long) for part in parts] + [notebook.definition_table([(long, long)])]
    faces += [notebook.notebook_html(lambda: iter([1]), lambda: long)]  # type: ignore[list-item]
    assert max(map(len, faces)) < 100_000


def test_an_explanation_says_all_that_its_text_says(project):
    told = project.sql(COUNT).explain(epsilon=3)
    said = " ".join("".join(read(told._repr_html_()).itertext()).split())
    for line in str(told).splitlines():
        assert " ".join(line[10:].split()) in said
    assert str(told).startswith("costs     ") and "\nruns      SELECT" in str(told)


def test_looking_is_free_and_asks_nothing(tmp_path, monkeypatch):
    found = clinic.make(tmp_path)
    question = found.sql(COUNT)
    before = clinic.rows_of_ledger(tmp_path)
    with monkeypatch.context() as patch:
        for name in ("guarantee", "version", "peek_version", "asker", "settle_query", "sql", "stored_statement_reader"):
            patch.setattr(Project, name, lambda *_, name=name, **__: pytest.fail(f"{name} was called"))
        assert "Not priced yet" in question._repr_html_() and "SELECT" in repr(question)
    release = question.ask(epsilon="0.5")
    faces = [release, question, found.budget(), found.synthesize("patients", epsilon="0.1")]
    after = clinic.rows_of_ledger(tmp_path)
    for each in faces:
        read(each._repr_html_())
        assert each._repr_html_() == each._repr_html_()
    assert clinic.rows_of_ledger(tmp_path) == after > before


def test_a_question_to_a_server_sends_nothing():
    question = Remote(transport=None).sql(f"SELECT count(*) FROM t WHERE x = '{HOSTILE}'")
    tree = read(question._repr_html_())
    assert HOSTILE in text(tree) and "Not priced yet" in text(tree)
    assert len(repr(question)) < 120


def test_a_question_to_a_server_shows_what_it_was_told(project, release):
    sent = []
    told = {"stored": None, "told": None, "cost": {"epsilon": 3, "delta": 0}}
    explained = project.sql(COUNT).explain(epsilon=3).data | told
    transport = SimpleNamespace(send=lambda *said: sent.append(said) or explained)
    paid = SimpleNamespace(
        transport=transport, send_paid=lambda *said: sent.append(said) or replace(release, id=HOSTILE)
    )
    question = RemoteQuestion(remote=paid, text=COUNT)
    assert "Not priced yet" in text(read(question._repr_html_()))
    question.explain(epsilon=3)
    assert "would have cost epsilon 3." in text(read(question._repr_html_()))
    question.ask(epsilon=50)
    assert f"Answered by release {HOSTILE}: cost epsilon 50." in text(read(question._repr_html_()))
    assert len(sent) == 2


def test_a_budget_is_a_bar_rounded_to_the_safe_side():
    tree = read(budget(by_analyst={HOSTILE: Spending(epsilon=Fraction(1, 3), delta=Fraction(0))})._repr_html_())
    assert "epsilon 0.333334 of 1 spent, 0.666666 remaining; about 7 more counts of the whole table at ±50." in text(
        tree
    )
    _, filled = tree.find("svg").findall("rect")
    assert filled.get("width") == "133.3"
    assert [HOSTILE, "0.333334"] in rows(tree)
    assert "pure differential privacy" in text(tree)
    nothing = Spending(epsilon=None, delta=Fraction(0))
    assert "epsilon ? of 1 spent" in text(read(budget(spent=nothing)._repr_html_()))


def test_a_model_says_what_it_is_good_for(model):
    tree = read(model._repr_html_())
    assert re.search(r"mst model of patients: about [\d,]+ rows, epsilon 50", text(tree))
    head, *body = rows(tree)
    assert head == ["tables of", "good", "partly", "poor", "unknown"]
    assert [(row[0], sum(map(int, row[1:]))) for row in body] == [("single columns", 3), ("pairs", 3), ("triples", 1)]
    assert re.search("Good: (age|disease|sex)", text(tree)) and model.card.release in text(tree)
    judged = judge_marginals(Measured(model)).judged
    for row, size in zip(body, (1, 2, 3), strict=True):
        found = [each.verdict for each in judged if len(each.columns) == size]
        assert list(map(int, row[1:])) == [found.count(each) for each in ("good", "partly", "poor", "unknown")]


def test_of_many_good_tables_a_few_are_named(model, monkeypatch):
    good = [" × ".join(each.columns) for each in judge_marginals(Measured(model)).judged if each.verdict == "good"]
    assert len(good) > 1
    for most, said in ((len(good), ", ".join(good)), (1, f"{good[0]}, and {len(good) - 1} more")):
        monkeypatch.setattr("discreet.synth.model_notebook.NAMED", most)
        assert f"Good: {said}\n" in text(read(model._repr_html_()))


def test_a_wide_model_and_an_empty_one_are_drawn_at_once(model, monkeypatch):
    monkeypatch.setattr("discreet.synth.model_notebook.MOST_TABLES", 6)
    monkeypatch.setattr(
        "discreet.synth.model_notebook.judge_marginals", lambda _: pytest.fail("all tables were judged")
    )
    assert "3 columns are modelled" in text(read(model._repr_html_()))
    monkeypatch.undo()
    monkeypatch.setattr("discreet.synth.model_notebook.judge_marginals", lambda _: SimpleNamespace(judged=()))
    for columns, wide in ((13, False), (14, True)):  # 377 tables of up to three columns, 469
        many = replace(model, attributes=(model.attributes * 5)[:columns])
        assert (f"{columns} columns are modelled" in text(read(many._repr_html_()))) == wide
    card = ModelCard(kind="random", table=HOSTILE, version=1, unit="row", warnings=(HOSTILE,))
    bare = replace(model, measured=(), card=card)
    assert "say nothing about the data" in text(read(bare._repr_html_())) and HOSTILE in text(read(bare._repr_html_()))


def test_a_model_of_a_network_has_a_face(network):
    assert isinstance(network, GraphModel)
    assert f"{network.edges:,} edges" in text(read(network._repr_html_())) and len(repr(network)) < 120


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "Significantly better than chance."),
        ({"bound": 0.95}, "Not significantly better than the claimed guarantee, at this n."),
        ({"bound": 0.6}, "Significantly better than the claimed guarantee."),
        ({"judged": False}, "this cannot be judged"),
        ({"n": 0}, "there were no cases to try"),
        ({"attack": HOSTILE, "story": (HOSTILE,)}, HOSTILE),
    ],
)
def test_evidence_stands_beside_chance_and_bound(changes, said):
    tree = read(evidence(**changes)._repr_html_())
    assert said in text(tree)
    verdict = re.search("Significantly better|significantly better", text(tree))
    assert (verdict is not None) == (changes.get("judged", True) and changes.get("n", 1) > 0)
    shares = {row[0]: row[1] for row in rows(tree)[1:]}
    wanted = {"success": "90.0%", "chance": "50.0%"} | (
        {"most allowed by the claim": f"{changes.get('bound', 0):.1%}"} if "bound" in changes else {}
    )
    assert shares == ({} if changes.get("n") == 0 else wanted)


def test_hostile_names_and_values_are_words(release):
    columns = (ReleaseColumn(name=HOSTILE, kind="key"), ReleaseColumn(name="<b>\x1b[2J\ud800\u202en", kind="noisy"))
    keys = (HOSTILE, "a\x00b", "\ud83d", "</td></table>", "x" * 5000)
    bad = replace(
        release,
        table=HOSTILE,
        columns=columns,
        rows=tuple((key, row[1]) for key, row in zip(keys, release.rows, strict=True)),
        warnings=(HOSTILE,),
    )
    tree = read(bad._repr_html_())
    head, first, *rest = rows(tree)
    assert head[:2] == [HOSTILE, "<b>\ufffd[2J\ufffd\ufffdn"] and first[0] == HOSTILE
    assert [row[0] for row in rest] == ["a\ufffdb", "\ufffd", "</td></table>", "x" * 200 + "…"]
    assert text(tree).count(HOSTILE) == 4


PARTS = {
    "head": notebook.head,
    "line": notebook.line,
    "quiet": notebook.small_print,
    "quoted": notebook.code_block,
    "title": lambda said: notebook.collapsible_code(said, ""),
    "folded": lambda said: notebook.collapsible_code("", said),
    "name": lambda said: notebook.definition_table([(said, "")]),
    "listed": lambda said: notebook.definition_table([("", said)]),
    "column": lambda said: notebook.table([said], []),
    "cell": lambda said: notebook.table([""], [[notebook.NotebookCell(text=said)]]),
    "number": lambda said: notebook.table([""], [[notebook.NotebookCell(text=f"1 {said}", number=True)]]),
    "meter": lambda said: notebook.meter(0.5, said),
}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_every_part_of_a_face_takes_texts_as_words(part):
    tree = read(notebook.notebook_html(lambda: [part(HOSTILE)], lambda: ""))
    assert HOSTILE in text(tree)


def hostile(data):
    """The same with every text hostile."""
    if isinstance(data, dict):
        return {name: hostile(value) for name, value in data.items()}
    return [hostile(each) for each in data] if isinstance(data, list) else HOSTILE if isinstance(data, str) else data


def test_whoever_is_named_in_a_face_is_words(project, release, model, network):
    """Names of tables, columns, analysts and servers come from others, in whichever face they stand."""
    explained = project.sql(COUNT).explain(epsilon=60).data | {"stored": None, "told": None}
    card = replace(model.card, kind=HOSTILE, table=HOSTILE, release=HOSTILE, warnings=(HOSTILE,))
    attributes = tuple(replace(each, column=replace(each.column, name=HOSTILE)) for each in model.attributes)
    question = project.sql(f"SELECT count(*) AS n FROM patients WHERE note = '{HOSTILE}'")
    priced, stored = (RemoteQuestion(remote=Remote(transport=None), text=COUNT) for _ in range(2))
    priced._last_shown.append(Explanation(data=hostile(explained)))
    stored._last_shown.append(Explanation(data=explained | {"stored": {"release": HOSTILE, "plus_minus": 3.0}}))
    faces = {
        "question": (question, 1),
        "priced question": (priced, 1),
        "stored answer": (stored, 1),
        "explanation": (Explanation(data=hostile(explained)), 5),
        "release": (replace(release, id=HOSTILE, table=HOSTILE, warnings=(HOSTILE,)), 3),
        "budget": (budget(population=HOSTILE, notes=(HOSTILE, HOSTILE)), 3),
        "model": (replace(model, card=card, attributes=attributes), 5),
        "network": (
            replace(network, card=replace(network.card, table=HOSTILE, release=HOSTILE, warnings=(HOSTILE,))),
            3,
        ),
        "evidence": (evidence(attack=HOSTILE, story=(HOSTILE,)), 2),
        "no evidence": (evidence(attack=HOSTILE, n=0), 1),
    }
    for name, (each, times) in faces.items():
        assert text(read(each._repr_html_())).count(HOSTILE) >= times, name


@pytest.mark.parametrize(
    "drawn", [(float("nan"), 0.0, 1.0), (0.0, float("-inf"), 1.0), (1e308, -1e308, 1e308), (0.0, 0.0, 0.0)]
)
def test_what_cannot_be_drawn_is_not(drawn):
    cell = notebook.NotebookCell(text="1", number=True, plotted=drawn)
    assert "<svg" not in notebook.table(["n"], [[cell], [cell]])


def test_a_face_never_raises(release):
    def broken(*_):
        raise RuntimeError("secret")

    face = replace(release, read_intervals=broken)._repr_html_()
    assert face == f"<pre>{notebook.escape_text(repr(release))}</pre>"
    assert notebook.notebook_html(broken, broken) == "<pre>there is nothing to show</pre>"
    assert notebook.notebook_html(lambda: iter([1]), lambda: "<x>") == "<pre>&lt;x&gt;</pre>"  # type: ignore[list-item]


def test_plain_reprs_are_short(project, release, model):
    found = [release, project.sql(COUNT), project.sql(f"{COUNT} HAVING {' AND '.join(['count(*) > 1'] * 40)}")]
    for each in (*found, project.budget(), model, evidence()):
        assert len(repr(each)) < 140 and "\n" not in repr(each) and repr(each).startswith("<")
    assert repr(budget()) == "<Budget of patients: epsilon 0.333334 of 1 spent, 0.666666 remaining>"


def test_colours_follow_the_notebook_light_or_dark(release):
    style = read(release._repr_html_()).find("style").text
    assert "prefers-color-scheme: dark" in style and "data-jp-theme-light=false" in style and ".vscode-dark" in style


#: XML, in which the faces are read here, has no word for the others; HTML does.
LETTERS = st.text(st.characters(exclude_characters="\ufffe\uffff\r"))


@given(LETTERS)
def test_words_come_out_as_they_went_in_but_for_what_cannot_be_seen(said):
    seen = ElementTree.fromstring(f"<p title='{notebook.escape_text(said)}'>{notebook.escape_text(said)}</p>")
    assert len(seen.text or "") == len(said)
    assert all(shown in (letter, "\ufffd") for shown, letter in zip(seen.text or "", said, strict=True))
    json.dumps(notebook.escape_text(said)).encode("utf-8")


@given(st.lists(st.tuples(LETTERS, st.floats(), st.floats(), st.floats(), st.booleans()), max_size=5), LETTERS)
def test_any_table_is_well_formed(given_rows, head):
    cells = [
        [notebook.NotebookCell(text=said, number=flag, below_noise=flag, plotted=(value, low, high))]
        for said, value, low, high, flag in given_rows
    ]
    tree = read(notebook.notebook_html(lambda: [notebook.table([head], cells)], lambda: ""))
    assert len(tree.find("table/tbody") if cells else []) == len(cells)


def test_a_number_below_the_noise_does_not_set_the_scale_of_a_column():
    """The interval of an empty group once left the others a line of a pixel."""
    numbers = [(100.0, 92.0, 108.0, False)] * 3
    cells = [
        [notebook.NotebookCell(text="1", number=True, below_noise=lost, plotted=(value, low, high))]
        for value, low, high, lost in [*numbers, (30.0, -5000.0, 5000.0, True)]
    ]
    drawn = list(read(notebook.notebook_html(lambda: [notebook.table(["n"], cells)], lambda: "")).iter("svg"))
    assert all(float(each.find("rect").get("width")) > 100 for each in drawn[:3])
    assert [each.find("path").get("d").count("l") for each in drawn] == [0, 0, 0, 4], "an arrow at both ends"


def test_models_that_were_saved_have_the_same_face(model, tmp_path):
    model.save(tmp_path / "model.json")
    assert Model.load(tmp_path / "model.json")._repr_html_() == model._repr_html_()
