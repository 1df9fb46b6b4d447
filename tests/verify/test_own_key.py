"""A forger who holds a key signs one bundle of each kind that says something false: none is proved."""

import importlib
import json

import pytest

from discreet.bundle import bundle_files
from verify.conftest import state_in
from verify.forger import csv_of, forged, opened, rules, store, stored
from verify.forging import checker, signed_again, verdicts, worst
from verify.test_contents import contents_of, with_contents

EVERY = {"every": []}
AGE = {"column": "age"}


def in_program(files, change, contents=None):
    """A program's bundle with other contents, whose digests fit, and other documents; all that was drawn is shown."""
    if contents is not None:
        told = contents_of(files)
        contents(told)
        files = with_contents(files, told)
    documents = opened(files)
    if "answers" in documents["proof"]:
        documents["proof"]["answers"] = []  # no statement is shown
    change(documents)
    plan, data = documents["plan"], documents["data"]
    drawn = {int(name.rpartition(".")[2]): json.loads(each) for name, each in plan["payloads"].items() if "." in name}
    checker()
    lists = importlib.import_module("shown").noisy_lists
    rows = [
        [step, part, place, value]
        for step, each in sorted(drawn.items())
        for part, values in enumerate(lists(each))
        for place, value in enumerate(values)
    ]
    data["tables"] = [data["tables"][-1] | {"rows": rows, "intervals": [[None] * 4] * len(rows)}]
    texts = {f"{name}.json": json.dumps(each).encode() for name, each in documents.items()}
    few = {name: content for name, content in files.items() if not name.startswith("data-")}
    return signed_again(few | texts | csv_of(data))


def in_step(number, change):
    def changed(documents):
        plan = documents["plan"]
        name = f"{plan['release']}.{number}"
        plan["payloads"][name] = json.dumps(change(json.loads(plan["payloads"][name])))

    return changed


def extra(documents):
    """Exact numbers among the noisy ones: no event belongs to them."""
    in_step(
        1, lambda told: [*told, [163, 99]] if isinstance(told, list) else told | {"noisy": [[*told["noisy"][0], 163]]}
    )(documents)


def ladder(documents):
    """A floor that no width was drawn for, and a decay that costs next to nothing."""
    _, measured = rules()
    plan = documents["plan"]
    of = {"climbed": ["triangles"], "of": {"ends": ["from", "to"], "directed": False, "keys": "0" * 64}, "floor": 10**6}
    event = {"kind": "ladder", "decay": "1/1000000", "floor": 10**6, "step": 1}
    for part in ("plan", "proof"):
        steps = documents[part]["steps"]
        steps[0]["event"]["events"][1]["scale"] = "401/100"
        steps.append({"number": 2, "of": measured.digest(of), "event": event})
    plan["payloads"][f"{plan['release']}.2"] = json.dumps({"noisy": [274], "of": of})


def of_persons(contents):
    """What is cut are columns of rows; what is added up are persons, of whom there are fewer."""
    for told in contents:
        told["added"] = {"plan": {"roster": "stays", "version": 1}, "statistic": ["rows", EVERY]}


def a_third(documents):
    for part in ("plan", "proof"):
        for step in documents[part]["steps"]:
            step["event"]["l1"] //= 3


def same(_):
    pass


def unread(contents):
    for told in contents:
        if "persons" in told:
            told["persons"]["exact"] = 163


def everywhere(kind, change):
    """A change of each content of a kind."""

    def changed(contents):
        assert any(kind in told for told in contents)
        for told in contents:
            if kind in told:
                change(told)

    return changed


def of_nobody(told):
    del told["persons"]


def summary(**more):
    """Other members in what is stored under the release."""

    def changed(documents):
        store(documents["plan"], stored(documents["plan"]) | more)

    return changed


def shaped(documents):
    own = stored(documents["plan"])
    own["shape"] |= {"unit": "node", "limit": 3}
    store(documents["plan"], own)


LOG = {"scan": "log", "version": 1}


def table_of_rows(documents):
    """A table more of the same people, which says nothing of persons: each of its rows is a unit."""
    plan = documents["plan"]
    columns = {"nights": {"type": "integer", "low": 0, "high": 30}}
    population = plan["schemas"][plan["table"]]["population"]
    plan["schemas"]["log"] = {"version": 1, "population": population, "declared": {"columns": columns}}


def grid_of_rows(documents):
    """A statement of a batch that names it; the noise is for one row."""
    table_of_rows(documents)
    plan = documents["plan"]
    own = stored(plan)
    own["texts"].append("SELECT count(*) FROM log")
    plan["text"] = "\n;\n".join(own["texts"])
    store(plan, own)
    for part in ("plan", "proof"):
        documents[part]["steps"][0]["event"]["l1"] = 1


def rows_of_log(contents):
    contents[0]["added"] = {"plan": LOG, "statistic": ["rows", EVERY]}
    contents[0]["axes"][0][0] = {"column": "nights"}


INQUIRY = {"keys": [], "plan": LOG, "quantiles": [], "sets": [[]], "statistics": [["rows", EVERY]], "top": None}


def question_of_rows(documents):
    """A model's first question is one of that table."""
    table_of_rows(documents)
    plan = documents["plan"]
    plan["text"] += ", log"
    store(plan, stored(plan) | {"tables": ["log"], "table_versions": [1]})
    event = {"kind": "laplace", "scale": "100/1", "l1": 1}
    part = {"kind": "cells", "place": 0, "statistics": [0], "noisy": [[163]]}
    part["laws"] = [{"kind": "discrete-laplace", "scale": "100/1"}]
    own = {"id": plan["release"], "text": "", "also": [], "event": event, "parts": [part]}
    plan["payloads"][f"{plan['release']}.1"] = json.dumps(own)
    for each in ("plan", "proof"):
        documents[each]["steps"][0]["event"] = event


def asks_of_log(contents):
    assert "inquiry" in contents[0]
    contents[0] = {"run": rules()[1].question_digest(INQUIRY), "inquiry": INQUIRY}


def grid_of_nothing(contents):
    """What is added up is not said, and the columns are of the declared table."""
    del contents[0]["added"]
    contents[0]["axes"][0][0] = {"column": "cost"}


def four_rows(documents):
    for part in ("plan", "proof"):
        documents[part]["steps"][0]["event"]["l1"] = 4


def in_no_cell(place):
    """Cells that are put together are in none by another number than -1: a row in them would move nothing."""

    def moved(groups):
        return [place if group == 0 else group for group in groups]

    def documents(told):
        own = stored(told["plan"])
        strategy = own["grids"][0]["strategy"]
        strategy["groups"] = moved(strategy["groups"])
        store(told["plan"], own)

    def contents(told):
        told[0]["linear"][0][1] = moved(told[0]["linear"][0][1])

    return documents, contents


def wrapped(documents):
    """A ladder on a floor that no width was drawn for, in an event of several."""
    plan = documents["plan"]
    of = {"climbed": ["triangles"], "of": {"ends": ["from", "to"], "directed": False, "keys": None}, "floor": 10**6}
    event = {"kind": "ladder", "decay": "1/1000000", "floor": 10**6, "step": 1}
    own = stored(plan)
    for name in ("triangles", "wedges"):
        del own["shape"]["shares"][name]
    store(plan, own)
    step = {"number": 2, "of": rules()[1].digest(of), "event": {"kind": "together", "events": [event]}}
    for part in ("plan", "proof"):
        documents[part]["steps"][1:] = [step]
    plan["payloads"][f"{plan['release']}.2"] = json.dumps({"noisy": [274], "of": of})
    del plan["payloads"][f"{plan['release']}.3"]


VISITS = {"scan": "visits", "version": 1}
#: Where a person has more rows than in the declared table, or of which nothing says how many.
OTHER_ROWS = {
    "joined with themselves": {"person": VISITS, "outer": False, "columns": [], "of": VISITS},
    "of persons": {"per-person": [], "by": [], "of": VISITS},
    "of another version": {"filter": EVERY, "of": VISITS | {"version": 2}},
}


@pytest.mark.parametrize("title", [*OTHER_ROWS, "nothing"])
def test_ranges_count_rows_of_the_declared_table(title, programs):
    """The relation whose digest their steps have is in the proof: a digest alone may stand for any rows."""
    files, own = programs["ranges by groups"], OTHER_ROWS.get(title)
    digest = "1" * 64 if own is None else rules()[1].digest(own)

    def counted(documents):
        store(documents["plan"], stored(documents["plan"]) | {"meaning": digest})
        if own is not None:
            documents["proof"]["rows"] = own

    lie = in_program(files, counted, everywhere("rows", lambda told: told.update(rows=digest)))
    assert verdicts(lie)["sensitivity"] == "broken"


def test_ranges_without_their_condition_stay_open(programs):
    """As versions before wrote them."""

    def silent(documents):
        del documents["proof"]["rows"]

    assert verdicts(in_program(programs["ranges by groups"], silent))["sensitivity"] == "open"


def titled(documents):
    documents["plan"]["text"] = "exactly 163"


EXACT = {"exact": 163}
WEIGHTS = {"kind": "diagonal", "weights": [163, 99]}
PROGRAMS = {
    "marginals: numbers without noise": ("marginals", extra),
    "publication: numbers without noise": ("publication of persons", extra),
    "publication: a strategy beside it": (
        "publication of persons",
        in_step(1, lambda told: told | {"beside": WEIGHTS}),
    ),
    "network: a strategy beside it": ("network", in_step(2, lambda told: told | {"beside": WEIGHTS})),
    "adaptive ranges: a strategy beside it": (
        "adaptive of persons",
        in_step(1, lambda told: told | {"beside": WEIGHTS}),
    ),
    "adaptive ranges: something else": (
        "adaptive of persons",
        in_step(1, lambda told: told | {"of": {"exact": 163}}),
    ),
    "adaptive ranges: rows of persons": ("adaptive of persons", a_third, of_persons),
    "adaptive ranges: rows that nobody reads": (
        "adaptive of persons",
        same,
        lambda told: told[0].update(rows={"exact": 163}),
    ),
    "model: what is made of persons": ("persons in time", same, unread),
    "model: surer": ("whole persons", in_step(1, lambda told: told | {"surer": 163})),
    "model of a network: a ladder": ("model of a network", ladder),
    "batch: rows that are units": ("batch of persons", grid_of_rows, rows_of_log),
    "batch: nothing said of its rows": ("batch of persons", four_rows, grid_of_nothing),
    "batch: a condition that nobody reads": (
        "batch of persons",
        same,
        everywhere("added", lambda told: told["added"]["statistic"].__setitem__(-1, EXACT)),
    ),
    "batch: cells in none, before": ("batch of persons", *in_no_cell(-2)),
    "batch: cells in none, behind": ("batch of persons", *in_no_cell(4)),
    "batch: other statements": ("batch of persons", titled),
    "model: rows that are units": ("whole persons", question_of_rows, asks_of_log),
    "model: persons that nobody reads": (
        "whole persons",
        same,
        everywhere("persons", lambda told: told["persons"].update(codes=[EXACT])),
    ),
    "model: a column of persons that is none": (
        "whole persons",
        same,
        everywhere("persons", lambda told: told["persons"]["columns"][0].update(of="exactly 163")),
    ),
    "model: facts of nobody": ("persons in time", same, everywhere("changes", of_nobody)),
    "model: a choice of what nobody reads": (
        "persons in time",
        same,
        everywhere("choose", lambda told: told.update(choose=[[EXACT]] * len(told["choose"]))),
    ),
    "model: a choice of other columns": (
        "persons in time",
        same,
        everywhere("choose", lambda told: told.update(choose=[[163]] * len(told["choose"]))),
    ),
    "model: other words": ("whole persons", titled),
    "model: a name that is more": ("whole persons", summary(model="exactly 163")),
    "publication: numbers as names": ("publication of persons", summary(levels=[163])),
    "network: numbers as statistics": ("network", summary(statistics=[163])),
    "ranges: a number as a column": ("ranges by groups", summary(by=[163])),
    "comparison: distances of what nobody reads": (
        "comparison",
        same,
        everywhere(
            "distances", lambda told: told.update(distances=[[EXACT] * len(each) for each in told["distances"]])
        ),
    ),
    "description: axes that nobody reads": (
        "description of persons",
        same,
        everywhere("measure", lambda told: told["axes"][0].__setitem__(0, EXACT)),
    ),
    "description: other columns": ("description of persons", summary(columns=163)),
    "ranges: other rows": ("ranges by groups", same, everywhere("rows", lambda told: told.update(rows="1" * 64))),
    "ranges: rows of a condition that nobody said": (
        "adaptive of persons",
        same,
        everywhere("linear", lambda told: told.update(rows="1" * 64)),
    ),
    "ranges: a strategy that is none": (
        "adaptive of persons",
        same,
        lambda told: told[0]["linear"][0][1].__setitem__(0, "exactly 163"),
    ),
    "ranges: a price that is a text": (
        "adaptive of persons",
        same,
        lambda told: told[0]["linear"][0].__setitem__(2, "163"),
    ),
    "ranges: rows of no condition": ("adaptive of persons", lambda documents: documents["proof"].update(rows=EXACT)),
    "batch: an answer that nobody reads": (
        "batch of persons",
        lambda documents: documents["proof"].update(answers=[EXACT]),
    ),
    "ranges: another column": ("ranges by groups", summary(column="cost")),
    "ranges: other groups": ("ranges by groups", summary(by=["sex"])),
    "network: nodes as units": ("network", summary(unit="node")),
    "network: the shape of nodes": ("network", shaped),
    "network: a ladder in an event of several": ("network", wrapped),
    "network: one threshold again and again": (
        "network",
        same,
        everywhere(
            "network", lambda told: told["network"][1][1].__setitem__(slice(None), [5] * len(told["network"][1][1]))
        ),
    ),
    "network: thresholds that are texts": (
        "network",
        same,
        everywhere("network", lambda told: told["network"][1][1].__setitem__(0, "1")),
    ),
    "network: what nobody reads": ("network", same, everywhere("network", lambda told: told["of"].update(EXACT))),
    "network: an argument that nobody reads": (
        "network",
        same,
        everywhere("network", lambda told: told["network"][1].__setitem__(4, EXACT)),
    ),
}


@pytest.mark.parametrize("title", PROGRAMS)
def test_programs(title, programs):
    name, *lie = PROGRAMS[title]
    assert worst(in_program(programs[name], same)) == "proved"  # only what was drawn: no estimates, no sampled rows
    found = verdicts(in_program(programs[name], *lie))
    assert found.get("sensitivity", found["documents"]) == "broken"


# Answers.


def measured_again(documents):
    """The proof of a question that was changed, as the rules derive it."""
    relation, measured = rules()
    plan, proof = documents["plan"], documents["proof"]
    own = relation.Relation(proof["question"]["plan"], plan["schemas"], iter(()), 1)
    proof["relation"] = own.facts
    proof["measured"] = {plan["release"]: measured.Steps(proof["question"], own).of(stored(plan), [{}] * 9)}


def asks(statistics):
    def changed(documents):
        documents["proof"]["question"]["statistics"] = statistics
        measured_again(documents)

    return changed


def says(words):
    def changed(documents):
        documents["plan"]["text"] = words
        store(documents["plan"], stored(documents["plan"]) | {"text": words})

    return changed


def exchanged(documents):
    for row in documents["data"]["tables"][0]["rows"]:
        row[0], row[1] = row[1], row[0]


def upside_down(documents):
    """A number of rows by a sum, where the text says a sum by a number of rows: the proof alone, and the words."""
    words = documents["plan"]["text"].replace("sum(age) / count(*)", "count(*) / sum(age)")
    says(words)(documents)


def hidden(documents):
    table = documents["data"]["tables"][0]
    table["rows"][0][1] = table["intervals"][0][1] = None


def in_other_units(documents):
    """A key of a declared column, a hundred times what it is."""
    for row in documents["data"]["tables"][0]["rows"]:
        row[0] = None if row[0] is None else int(row[0] * 100)


def most_common(documents):
    documents["proof"]["question"]["top"] = 163


def overlapping(documents):
    """The bins of a quantile: a row that lies in several has several ranks."""
    edges = documents["proof"]["question"]["quantiles"][0][0][1]
    edges[1:-1] = reversed(edges[1:-1])


def asks_of(change):
    def changed(documents):
        change(documents["proof"]["question"]["plan"])

    return changed


def other_persons(documents):
    """The joined table's rows belong to persons by two columns: one of this table's has several of them."""
    told = documents["plan"]["schemas"]["stays"]
    told["declared"]["person"] = ["id", "turn"]
    told["persons"][0] |= {"person": ["id", "turn"], "kinds": ["text", "integer"]}


def twins(name):
    def changed(documents):
        columns = documents["plan"]["schemas"]["visits"]["declared"]["columns"]
        columns[name] = columns["weight"]

    return changed


def stored_words(documents):
    store(documents["plan"], stored(documents["plan"]) | {"text": "exactly 163"})


def of_one_table(documents):
    words = documents["plan"]["text"].replace(
        " LEFT JOIN (SELECT id, count(nights) AS n FROM stays GROUP BY id) t ON v.id = t.id", ""
    )
    says(words)(documents)


ROWS_OF_AGE = ["rows", ["age", [[0, 5]], False]]
OF_AGE = [["sum", AGE, 49, 1, EVERY], ["rows", EVERY]]
ANSWERS = {
    "a ratio upside down": ("rows: ratio", upside_down, "names"),
    "persons as rows": ("persons: count", asks([["persons", EVERY]]), "names"),
    "rows as persons": ("persons: distinct", asks([["rows", EVERY], ["distinct", {"column": "cost"}, EVERY]]), "names"),
    "rows as different values": (
        "persons: distinct",
        asks([["rows", EVERY], ["rows", ["cost", [[0, 5001]], False]]]),
        "names",
    ),
    "all rows as those with a value": (
        "persons: count",
        says("SELECT ward, count(cost) AS n FROM visits GROUP BY ward"),
        "names",
    ),
    "an average over some rows": ("rows: average", asks([ROWS_OF_AGE, *OF_AGE]), "numbers"),
    "an average over NULLs": ("rows: average", asks([["rows", ["age", [[0, 100]], True]], *OF_AGE]), "numbers"),
    "an average that is left out": ("rows: average", hidden, "numbers"),
    "months as years": ("persons: month and year", exchanged, "names"),
    "another column by its name": (
        "persons: called otherwise",
        says("SELECT avg(x.cost) AS a FROM (SELECT id, weight AS cost FROM visits WHERE weight > 6) AS x"),
        "names",
    ),
    "another key by its name": (
        "persons: count",
        says("SELECT ward, count(*) AS n FROM (SELECT sex AS ward FROM visits) GROUP BY ward"),
        "names",
    ),
    "bins of a quantile that overlap": ("rows: quantile", overlapping, "sensitivity"),
    "a limit that orders rows by nothing": (
        "persons: limited",
        asks_of(lambda plan: plan.update(columns=[])),
        "sensitivity",
    ),
    "a limit that orders rows by what is not counted": (
        "persons: limited",
        asks_of(lambda plan: plan["columns"].append("163")),
        "sensitivity",
    ),
    "a number per person that nobody reads": (
        "persons: per person",
        asks_of(lambda plan: plan["per-person"][1][1].insert(2, 163)),
        "sensitivity",
    ),
    "a join that is neither": ("persons: person join", asks_of(lambda plan: plan.update(outer=163)), "sensitivity"),
    "a condition on another table": (
        "persons: capitals",
        asks_of(lambda plan: plan.update(filter=["nights", [[0, 5]], False])),
        "sensitivity",
    ),
    "a join with other persons": ("persons: person join", other_persons, "unit"),
    "other words where they are stored": ("rows: count", stored_words, "sensitivity"),
    "a public table that is none": ("rows: count", lambda told: told["plan"].update(publics=True), "sensitivity"),
    "a join that the text does not name": ("persons: brought", of_one_table, "names"),
    "two columns of one name": ("persons: bins", twins("WEIGHT"), "documents"),
    "a column that identifies people": ("persons: bins", twins("id"), "documents"),
    "a column that is called as those of joins are": ("persons: bins", twins("discreet:1.weight"), "documents"),
    "the most common of no keys": ("rows: count", most_common, "documents"),
}


@pytest.mark.parametrize("title", ANSWERS)
def test_answers(title, bundles, honest):
    name, lie, line = ANSWERS[title]
    assert set(honest(name).values()) == {"proved"}
    assert verdicts(forged(bundles[name], lie))[line] in ("open", "broken")


def test_units_are_those_of_the_columns(projects):
    """Of sums of several columns and of keys: neither is shown a hundred times as large as it is."""
    _, persons, state = projects
    texts = [
        "SELECT sum(cost + 1) AS s FROM visits",
        "SELECT cost, count(*) AS n FROM visits WHERE cost IN (1, 2.25) GROUP BY cost",
    ]
    with state_in(state):
        sums, keys = (bundle_files.make_bundle(persons, persons.sql(text).ask(epsilon=1).id) for text in texts)
    assert worst(sums) == worst(keys) == "proved"

    def larger(documents):
        checker()
        widths = importlib.import_module("widths")
        own = stored(documents["plan"])["parts"][0]
        ((noisy,),), (law,) = own["noisy"], own["laws"]
        documents["proof"]["shown"][0]["columns"][0][2] = "1/1"
        (value,), (far, *_) = widths.whole_numbers(noisy, law), widths.half_widths(law, widths.DIGITS_AT)
        table = documents["data"]["tables"][0]
        table["rows"][0][0], table["intervals"][0][0] = value, [noisy - far, noisy + far]

    assert verdicts(forged(sums, larger))["numbers"] != "proved"
    assert verdicts(forged(keys, in_other_units))["numbers"] != "proved"


def test_a_limit_holds_for_groups_by_all_of_its_bins(bundles):
    """One row of each person in each bin of a finer axis of the same column is several in one of a coarser."""
    relation, measured = rules()
    schemas = opened(bundles["persons: limited"])["plan"]["schemas"]
    coarse, fine = ([{"column": "weight"}, edges, True] for edges in ([0, 201], [*range(202)]))
    inner = {
        "limit": [None, 1],
        "axes": [coarse, fine],
        "keys": [],
        "columns": [],
        "of": {"scan": "visits", "version": 1},
    }
    asked = {
        "plan": inner,
        "sets": [[coarse]],
        "statistics": [["rows", EVERY]],
        "quantiles": [],
        "keys": [],
        "top": None,
    }
    steps = measured.Steps(asked, relation.Relation(inner, schemas, iter(()), 1))
    part = {"kind": "cells", "place": 0, "statistics": [0], "noisy": [[1, 2]]}
    for l1, verdict in ((2, pytest.raises(relation.Broken)), (4, None)):
        stored_ = {
            "parts": [part | {"laws": [{"kind": "discrete-laplace", "scale": "9/1"}]}],
            "event": {"kind": "laplace", "scale": "9/1", "l1": l1},
        }
        if verdict is None:
            assert steps.of(stored_, [{}])[0]["l1"] == 4
        else:
            with verdict:
                steps.of(stored_, [{}])


def test_what_no_reader_reads_is_broken_and_ends_with_a_sentence(bundles, programs):
    """Arguments that are no expressions, conditions about other columns, a table that is no CSV, numbers beyond 64 bits."""
    relation, _ = rules()
    known = {"age": (0, 99, True)}
    for expression in ({"greatest": [[AGE, 10**6]]}, {"least": [AGE, AGE]}, {"plus": [[AGE, AGE], 5]}):
        with pytest.raises(relation.Broken):
            relation.derive(expression, known)
    for test in ({"test": [AGE, [[[0, {"column": "sex"}]], False]]}, ["age", [[0, 9]], {"column": "sex"}]):
        with pytest.raises(relation.Broken):
            relation.tested(test)
    assert verdicts(signed_again(bundles["rows: count"] | {"data.csv": b'"a"b,"\n'}))["tables"] == "broken"

    def large(documents):
        own = stored(documents["plan"]) | {"strategy": {"kind": "diagonal", "weights": [2**70]}}
        store(documents["plan"], own)

    assert verdicts(in_program(programs["adaptive of persons"], large))["sensitivity"] == "broken"


def test_a_condition_is_no_expression():
    """Its columns would be those of nothing: a key that changes within a person would count as constant."""
    relation, _ = rules()
    test = ["ward", [[0, 1]], False]
    for strange in (
        {"every": [test]},
        {"some": [test]},
        {"test": [AGE, test[1:]]},
        {"first": [[test]]},
        {"plus": [AGE, test]},
        {"least": [[]]},
    ):
        with pytest.raises(relation.Broken):
            relation.columns(strange)
        with pytest.raises(relation.Broken):
            relation.derive(strange, {"age": (0, 9, False), "ward": (0, 2, True)})
    assert relation.columns({"part": ["month", AGE]}) == relation.columns({"lower": [AGE]}) == {"age"}


@pytest.mark.parametrize("size", [0, -1])
def test_a_mean_of_a_person_has_a_grid(size):
    """By a negative one its least value would be its largest, and whatever is divided by it would be nothing."""
    relation, _ = rules()
    declared = {"person": "id", "rows_per_person": 4, "columns": {"age": {"type": "integer", "low": 1, "high": 99}}}
    scan = {"scan": "t", "version": 1}
    for grid, right in ((100, True), (size, False)):
        node = {"per-person": [["m", ["mean", AGE, grid, EVERY]]], "by": [], "of": scan}
        schemas = {"t": {"version": 1, "declared": declared}}
        if right:
            assert relation.Relation(node, schemas, iter(()), 1).known["m"] == (100, 9900, True)
        else:
            with pytest.raises(relation.Broken):
                relation.Relation(node, schemas, iter(()), 1)


@pytest.mark.parametrize(
    "lie",
    [
        lambda card: card.replace("  model:\n", '    "privacy\\x5fparameters":\n      epsilon: 0.001\n  model:\n', 1),
        lambda card: card + "---\ndeployment: {privacy_loss: {epsilon: 0.001}}\n",
        lambda card: card.replace("      epsilon: 1.0\n", "      epsilon: 0.001\n      epsilon: 1.0\n"),
    ],
)
def test_a_card_has_one_spelling(lie, bundles):
    files = bundles["rows: count"]
    assert lie(files["card.yaml"].decode()) != files["card.yaml"].decode()
    assert verdicts(forged(files, lambda _: None, card=lie))["claims"] == "broken"


def test_a_limit_on_rows_of_a_month_is_none_on_those_of_a_year(projects):
    """Both are bins of one column: with a row in each of four months a person has four in a year."""
    _, persons, state = projects
    words = (
        "-- rows per person per group: 1\nSELECT date_trunc('year', day) AS y, date_trunc('month', day) AS m, "
        "count(*) AS n FROM visits GROUP BY ROLLUP (y, m)"
    )
    with state_in(state):
        files = bundle_files.make_bundle(persons, persons.sql(words).ask(epsilon=1).id)
    (steps,) = opened(files)["proof"]["measured"].values()
    assert [(step["l1"], step["linf"]) for step in steps] == [(4, 1), (4, 4), (4, 4)]
    assert verdicts(files)["sensitivity"] == "proved"
