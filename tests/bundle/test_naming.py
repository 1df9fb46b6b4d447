"""Charts of numbers as they were drawn: each bar is named by what it counts, and counts what its name says."""

import itertools
import json
from collections import Counter
from xml.etree import ElementTree

import pytest

import clinic
import discreet
from discreet.bundle import bundle_files
from discreet.bundle.answer_replay import schema_of
from discreet.bundle.content import content_of
from discreet.bundle.number_names import _fit_names, names_of, with_names
from discreet.bundle.sheet_chart import room_of
from discreet.bundle.verification import verify
from discreet.graph.graph_shape import thresholds
from discreet.present.charts.bar import Bar
from discreet.present.charts.bars import MOST
from discreet.present.charts.bars import bars as draw
from discreet.present.charts.bars import label_width as room_beside
from graph.friends import LINKS, NODES, make_persons
from graph.friends import make as make_friends
from tables.publish.census import PLAN, exact_table, people, plan
from tables.publish.census import make as make_census

#: Noise of this price is 0 but for once in far more than a million times.
SURE = 300
SVG = "{http://www.w3.org/2000/svg}"


def names(project, release):
    content = content_of(project, release)
    schema = schema_of(content.table, content.schemas)
    sheet = content.sheets[-1]
    found = names_of(content.kind, content.payloads, content.release, schema, room=room_of(sheet))
    return sheet, found.lists


def counts(project, release):
    """What the chart draws: names and numbers. Every list that has names has one for each of its numbers."""
    sheet, found = names(project, release)
    sizes = Counter((step, part) for step, part, _, _ in sheet.rows)
    assert found and all(len(own) == sizes[where] for where, own in found.items())
    rows = with_names(sheet, found).rows
    assert len(dict(rows)) == len(rows)
    return dict(rows)


def bars(project, release):
    """What the bars of the bundle's chart are said to be."""
    return said(bundle_files.make_bundle(project, release)["chart.svg"].decode())


def said(chart):
    groups = ElementTree.fromstring(chart).iter(f"{SVG}g")
    return [group.find(f"{SVG}title").text for group in groups if group.find(f"{SVG}title") is not None]


def seen(chart):
    """The labels that are read beside the bars; the lines of one with a space between them."""
    groups = [group.findall(f"{SVG}text") for group in ElementTree.fromstring(chart).iter(f"{SVG}g")]
    labels = [[each.text for each in texts if "chart-label" in each.get("class", "")] for texts in groups]
    return [" ".join(lines) for lines in labels if lines]


def notes(chart):
    """What stands above the bars."""
    texts = ElementTree.fromstring(chart).findall(f"{SVG}text")
    return " ".join(each.text for each in texts if each.get("class") == "chart-quiet")


#: No two cells have the same number of rows.
UNEVEN = [
    [place, sex, disease, smoker, "n"]
    for number, (sex, disease, smoker) in enumerate(itertools.product("FM", ["flu", "mumps", ""], ["true", ""]))
    for place in range(number + 1)
]


@pytest.fixture
def patients(tmp_path):
    return clinic.make(tmp_path / "p", rows=UNEVEN, budget="{ epsilon = 9000, delta = 1e-6 }")


def test_marginals_are_named_by_columns_and_values(patients, tmp_path):
    release = patients.marginals("patients", ["disease", "sex", "smoker"], order=3, exactly=True, epsilon=SURE).release
    wanted = Counter((disease or "NULL", sex, smoker or "NULL") for _, sex, disease, smoker, _ in UNEVEN)
    found = counts(patients, release)
    assert len(found) == 5 * 2 * 3 and len(set(wanted.values())) == len(wanted)
    for cell, value in found.items():  # three columns are too wide for a chart: they are told by their values
        assert value == wanted[tuple(cell.split(", "))]
    release = patients.marginals("patients", ["disease", "sex"], order=2, exactly=True, epsilon=SURE).release
    wanted = Counter(f"disease = {disease or 'NULL'}, sex = {sex}" for _, sex, disease, _, _ in UNEVEN)
    assert {cell: value for cell, value in counts(patients, release).items() if value} == wanted
    assert f"disease = mumps, sex = M: {wanted['disease = mumps, sex = M']}" in bars(patients, release)
    bundle_files.write(bundle_files.make_bundle(patients, release), tmp_path / "out")
    for report in (verify(tmp_path / "out"), verify(tmp_path / "out", project=patients)):
        assert report.sound and report.open == (), report


def test_contrasts_count_nothing_and_are_not_drawn(patients):
    release = patients.marginals("patients", ["disease", "sex"], epsilon=SURE, delta="1e-6").release
    sheet, found = names(patients, release)
    assert found == {(1, 0): ["total"]} and len(sheet.rows) > 5
    assert len(bars(patients, release)) == 1 and bars(patients, release)[0].startswith("total: ")


def test_the_plan_of_marginals_holds_no_numbers(patients):
    """Which columns a part is of was once told as if it had been measured."""
    release = patients.marginals("patients", ["disease", "sex"], epsilon=SURE).release
    sheet, _ = names(patients, release)
    assert {row[0] for row in sheet.rows} == {1}
    drawn = json.loads(patients.ledger.answer(f"{release}.1"))
    assert [value for *_, value in sheet.rows] == [value for values in drawn for value in values]


def test_publications_are_named_by_places_and_attributes(tmp_path):
    project = make_census(tmp_path / "p", budget="{ epsilon = 9000.0, delta = 1e-6 }")
    release = project.publish(plan(tmp_path, PLAN), epsilon=SURE, delta=0, to=tmp_path / "out").release
    wanted, labels = Counter(), {0: "[0, 15)", 1: "[15, 65)", 2: "[65, 99]", None: "NULL"}
    level = len(names(project, release)[1][1, 0][0].split(", ")) - 3  # how many levels of places it names
    for (*places, sex, age), count in exact_table(people()).items():
        wanted[", ".join([*(str(place or "NULL") for place in places[:level]), sex, labels[age]])] += count
    found = counts(project, release)
    assert sum(found.values()) == len(people())
    assert {cell: value for cell, value in found.items() if value} == wanted


@pytest.mark.parametrize(
    ("queries", "wanted"),
    [
        ('["total"]', {"state = AA", "state = BB", "state = NULL"}),
        ('[["sex"], "total"]', {f"state = {state}, sex = {sex}" for state in ("AA", "BB", "NULL") for sex in "FM"}),
    ],
)
def test_a_query_is_named_by_what_it_tells_apart(queries, wanted, tmp_path):
    project = make_census(tmp_path / "p", budget="{ epsilon = 9000.0, delta = 1e-6 }")
    levels = f"[levels.nation]\nshare = 0\n[levels.state]\nqueries = {queries}\nshare = 1\n[levels.county]\nshare = 0\n"
    release = project.publish(plan(tmp_path, PLAN + levels), epsilon=SURE, delta=0, to=tmp_path / "out").release
    found = counts(project, release)
    assert set(found) == wanted
    exact = Counter()
    for (state, *_, sex, _), count in exact_table(people()).items():
        exact[f"state = {state or 'NULL'}" + (f", sex = {sex}" if "sex" in queries else "")] += count
    assert found == {name: exact[name] for name in wanted}


def test_cells_that_cannot_be_have_no_name(tmp_path):
    rows = people() + [row for row in people(100) if row[1] == "F"]
    project = make_census(tmp_path / "p", rows=rows, budget="{ epsilon = 9000.0, delta = 1e-6 }")
    text = PLAN.replace('["sex", "age"]', '["sex", "work"]') + '[[zeros]]\nsex = "F"\nwork = true\n'
    text += "".join(f"[levels.{level}]\nshare = {int(level == 'nation')}\n" for level in ("nation", "state", "county"))
    release = project.publish(plan(tmp_path, text), epsilon=SURE, delta=0, to=tmp_path / "out").release
    wanted = Counter(f"sex = {sex}, work = {work}" for _, sex, _, work in rows)
    del wanted["sex = F, work = true"]
    assert counts(project, release) == wanted and len(set(wanted.values())) == 3


def degrees(links):
    return Counter(itertools.chain(*links))


def test_statistics_of_a_network_are_named(tmp_path):
    links = [link for link in LINKS if link[0] % 3 or link[1] % 2]
    rows = [(f"p{one}", f"p{other}") for one, other in links]
    project = make_friends(tmp_path / "p", rows=rows, budget="{ epsilon = 90000, delta = 0 }")
    found = counts(project, project.graph("friends", nodes="people", by="colour").stats(epsilon=1000).release)
    reached = degrees(links).values()
    colours = [sorted((NODES[one][1], NODES[other][1])) for one, other in links]
    for degree in thresholds(len(NODES) - 1):
        assert found.pop(f"degree {degree} or more") == sum(each >= degree for each in reached)
    for one, other in (("blue", "blue"), ("blue", "red"), ("red", "red")):
        assert found.pop(f"edges {one} and {other}") == colours.count([one, other])
    knows = {node: {one + other - node for one, other in links if node in (one, other)} for node in range(31)}
    assert found.pop("edges") == len(links)
    assert found.pop("wedges") == sum(each * (each - 1) // 2 for each in reached)
    assert found.pop("triangles") == sum(len(knows[one] & knows[other]) for one, other in links) // 3
    assert found.pop("two largest degrees") == sum(sorted(reached)[-2:])
    shared = [len(knows[one] & knows[other]) for one, other in itertools.combinations(range(31), 2)]
    assert found.pop("most neighbours shared") == max(shared)
    assert found == {}


def test_a_model_of_a_network_is_named(tmp_path):
    project = make_friends(
        tmp_path / "p", rows=[("p0", "p1"), ("p0", "p2"), ("p0", "p4")], budget="{ epsilon = 90000 }"
    )
    release = project.graph("friends", nodes="people", by="colour").synth(epsilon=1000).card.release
    found = counts(project, release)
    assert found["degree 1 or more"] == 4 and found["degree 3 or more"] == 1 and found["degree 4 or more"] == 0
    assert found["colour = blue, degree 1 or more"] == 3 and found["colour = blue, degree 3 or more"] == 1
    assert found["colour = red, degree 1 or more"] == 1 and found["colour = red, degree 2 or more"] == 0
    assert (found["edges blue and blue"], found["edges blue and red"], found["edges red and red"]) == (2, 1, 0)
    assert len(bars(project, release)) == MOST and "edges blue and red: 1" in bars(project, release)


@pytest.mark.thin(1)
@pytest.mark.parametrize("limit", ["rows_per_person = 8", ""])
def test_persons_are_counted_after_the_rest_and_after_a_limit_is_chosen(limit, tmp_path):
    project = make_persons(tmp_path / "p", limit=limit)
    net = project.graph("ties", nodes="members")
    for release in (net.stats(epsilon=180).release, net.synth(epsilon=180).card.release):
        found = counts(project, release)
        assert abs(found["persons"] - len(NODES)) < 20 and abs(found["edges"] - len(LINKS)) < 60
        assert names(project, release)[1][2 + (not limit), 0] == ["persons"]


def test_directed_edges_are_named_by_their_ends(tmp_path):
    rows = [("p0", "p1"), ("p2", "p1"), ("p3", "p1")]  # blue to red twice, red to red
    project = make_friends(tmp_path / "p", rows=rows, extra="directed = true", budget="{ epsilon = 90000 }")
    net = project.graph("friends", nodes="people", by="colour")
    found = counts(project, net.stats(epsilon=1000, only="mixing,degrees").release)
    ends = {name: value for name, value in found.items() if name.startswith("edges")}
    assert ends == {"edges blue to blue": 0, "edges blue to red": 2, "edges red to blue": 0, "edges red to red": 1}
    assert found["out-degree 1 or more"] == 3 and found["in-degree 1 or more"] == 1
    assert found["out-degree 3 or more"] == 0 and found["in-degree 3 or more"] == 1


@pytest.mark.deep
def test_releases_that_were_stored_without_names_are_drawn_as_they_are(patients, tmp_path, monkeypatch):
    from discreet.bundle import content

    known = content._payloads

    def older(ledger, release):
        found = known(ledger, release)
        told = json.loads(found[release])
        return {**found, release: json.dumps({name: told[name] for name in told if name not in ("columns", "called")})}

    census = make_census(tmp_path / "c")
    published = census.publish(plan(tmp_path, PLAN), epsilon=1, to=tmp_path / "out").release
    marginals = patients.marginals("patients", ["disease", "sex"], epsilon=SURE).release
    monkeypatch.setattr(content, "_payloads", older)
    for project, release in ((discreet.open(census.folder), published), (patients, marginals)):
        assert names(project, release)[1] == {}
        assert bars(project, release)[0].startswith("1, 0, 0: ")


def test_a_publication_of_too_many_numbers_has_no_names(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "discreet.tables.publish.publication_measurement.MOST_NAMED", 7
    )  # less than 8 cells of the nation
    project = make_census(tmp_path / "p")
    release = project.publish(plan(tmp_path, PLAN), epsilon=1, to=tmp_path / "out").release
    assert names(project, release)[1] == {} and bars(project, release)


def survey(folder, columns, rows):
    """A project of one table of declared columns."""
    project = discreet.init(folder)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    (folder / "s.csv").write_text("\n".join(lines) + "\n")
    declared = "".join(f"[tables.s.columns.{name}]\n{told}\n" for name, told in columns.items())
    text = (folder / "discreet.toml").read_text()
    budget = "budget = { epsilon = 90000, delta = 1e-6 }"
    (folder / "discreet.toml").write_text(f'{text}\n[tables.s]\nsource = "s.csv"\n{budget}\n{declared}')
    return discreet.open(project.folder)


def test_tables_of_one_chart_are_told_apart_where_one_of_them_is_too_wide(tmp_path):
    """Bars of different columns once had one name, `7`: one wide value took the columns' names from all."""
    number, wide = 'type = "integer"\nlow = 0\nhigh = 10', [letter * 40 for letter in "abc"]
    columns = {
        "pain_before_treatment": number,
        "pain_after_treatment": number,
        "the_department_of_the_hospital": f'type = "category"\nvalues = {json.dumps(wide)}\nclosed = true',
    }
    rows = [(5 + row % 5, row % 3, wide[row % 7 % 3]) for row in range(1000)]
    project = survey(tmp_path, columns, rows)
    release = project.marginals("s", list(columns), order=1, exactly=True, epsilon=SURE).release
    found = counts(project, release)
    for place, column in enumerate(list(columns)[:2]):
        exact = Counter(row[place] for row in rows)
        assert all(found[f"{column} = {value}"] == exact[value] for value in range(11))
    exact = Counter(row[2] for row in rows)
    cut = {name: value for name, value in found.items() if name.startswith("t")}
    assert {name.split("… = ")[1]: value for name, value in cut.items()} == exact
    chart = bundle_files.make_bundle(project, release)["chart.svg"].decode()
    labels = seen(chart)
    assert len(set(labels)) == len(labels) == 27 and "by " not in notes(chart)
    assert [label[:9] for label in labels if label[0] == "t"] == ["t… = aaaa", "t… = bbbb", "t… = cccc"]
    assert [label.replace(" ", "") for label in labels] == [name.replace(" ", "") for name in found], "wrapped, not cut"


@pytest.mark.parametrize("asked", [("again", "friends"), ("friends", "again")])
def test_columns_that_names_leave_out_stand_above_in_the_order_of_values(asked, tmp_path):
    """Values stand in the order of the version's columns, whatever order was asked."""
    full = {"friends": "recommends_to_all_friends", "again": "would_come_again_to_here"}
    columns = dict.fromkeys(full.values(), 'type = "category"\nvalues = ["yes", "no"]\nclosed = true')
    rows = [("yes" if row % 10 < 9 else "no", "yes" if row % 10 < 5 else "no") for row in range(1000)]
    project = survey(tmp_path, columns, rows)
    release = project.marginals("s", [full[each] for each in asked], order=2, exactly=True, epsilon=SURE).release
    chart = bundle_files.make_bundle(project, release)["chart.svg"].decode()
    assert notes(chart).startswith("by ")
    order = notes(chart).removeprefix("by ").split(", ")
    assert sorted(order) == sorted(columns)
    wanted = Counter(tuple(dict(zip(columns, row, strict=True))[name] for name in order) for row in rows)
    assert {tuple(name.split(", ")): value for name, value in counts(project, release).items() if value} == wanted
    assert f"{', '.join(order)}: value" in ElementTree.fromstring(chart).find(f"{SVG}title").text
    assert set(seen(chart)) == {"yes, yes", "yes, no", "no, yes", "no, no"}


def test_a_text_that_looks_like_null_is_quoted(tmp_path):
    columns = {"answer": 'type = "category"\nvalues = ["NULL", "x"]', "other": 'type = "boolean"'}
    rows = [("NULL", "true")] * 30 + [("x", "")] * 20 + [("", "true")] * 7
    project = survey(tmp_path, columns, rows)
    release = project.marginals("s", ["answer"], order=1, exactly=True, epsilon=SURE).release
    assert counts(project, release) == {'answer = "NULL"': 30, "answer = x": 20, "answer = NULL": 7}
    assert len(set(seen(bundle_files.make_bundle(project, release)["chart.svg"].decode()))) == 3


def test_marginals_of_one_ordered_column_are_steps_in_its_order(tmp_path):
    ages = 'type = "integer"\nlow = 0\nhigh = 60'
    codes = f'type = "category"\nvalues = {json.dumps([str(code) for code in range(61)])}\nclosed = true'
    rows = [(row % 40, row % 61) for row in range(2000)]
    project = survey(tmp_path / "p", {"age": ages, "code": codes}, rows)
    release = project.marginals("s", ["age"], order=1, exactly=True, epsilon=SURE).release
    chart = bundle_files.make_bundle(project, release)["chart.svg"].decode()
    assert [each.partition(":")[0] for each in said(chart)] == [*(f"age = {age}" for age in range(61)), "NULL"]
    assert 'class="chart-step"' in chart and " more" not in chart
    bundle_files.write(bundle_files.make_bundle(project, release), tmp_path / "out")
    for report in (verify(tmp_path / "out"), verify(tmp_path / "out", project=project)):
        assert report.sound and report.open == (), report
    release = project.marginals("s", ["code"], order=1, exactly=True, epsilon=SURE).release
    chart = bundle_files.make_bundle(project, release)["chart.svg"].decode()
    assert 'class="chart-step"' not in chart and "… 21 more" in chart, "codes are no numbers"


@pytest.mark.parametrize("number", [52, 45_210, -12_345_678, 1_234_567_890_123])
@pytest.mark.parametrize("column", ["highest_degree", "degree_of_school", "d", "highest_school_degree_of_the_parents"])
def test_names_have_the_room_that_numbers_leave_them(column, number):
    """Labels of 230 units were cut where numbers are wide, and read alike."""
    cells = {(1, 0): [((column, degree), ("sex", sex)) for degree in ("prim", "sec") for sex in "FM"]}
    values = [number + place for place in range(4)]
    room = room_beside([Bar(label="", value=value) for value in values])
    for lists in (cells, cells | {(1, 1): [(("sex", sex),) for sex in "FM"]}):
        found = _fit_names(lists, room)
        labels = [name for where in lists for name in found.lists[where]]
        given = [Bar(label=label, value=value) for label, value in zip(labels, values * 2, strict=False)]
        shown = seen(str(draw(given, title="t", name="c", note=found.note)))
        assert shown == labels and len(set(labels)) == len(labels)  # nothing is cut by the chart
        assert found.note in ("", f"by {column}, sex") and (found.note == "") == (" = " in labels[0])
        assert len(lists) == 1 or labels[-1] == "sex = M"


def test_columns_are_cut_only_as_far_as_they_stay_apart():
    cells = {(1, 0): [(("income_before", "x" * 12),)], (1, 1): [(("income_behind", "y"),)], (1, 2): [(("rooms", 1),)]}
    narrow = _fit_names(cells, 142.0).lists
    assert narrow == {(1, 0): ["income_bef… = xxxxxxxxxxxx"], (1, 1): ["income_behind = y"], (1, 2): ["rooms = 1"]}
    assert _fit_names({(1, 0): [(("a", "x" * 90),)], (1, 1): [(("b", "x"),)]}, 142.0).lists[1, 0] == [f"a = {'x' * 90}"]


def test_labels_that_read_alike_are_numbered():
    given = [Bar(label=f"{'x' * 160}{place}", value=place) for place in range(3)] + [Bar(label="other", value=9)]
    shown = seen(str(draw(given, title="t", name="c")))
    assert [each[-5:] for each in shown] == ["… (1)", "… (2)", "… (3)", "other"]
    spaced = [
        Bar(label="a b", value=1),
        Bar(label="a  b", value=2),
        Bar(label="NULL", value=3),
        Bar(label=None, value=4),
    ]
    assert seen(str(draw(spaced, title="t", name="c"))) == ["a b (1)", "a b (2)", "NULL", "NULL"]  # one is slanted
