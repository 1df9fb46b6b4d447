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
    return signed_again(files | texts | csv_of(data))


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
}


@pytest.mark.parametrize("title", PROGRAMS)
def test_programs(title, programs):
    name, *lie = PROGRAMS[title]
    assert worst(programs[name]) == "proved"
    assert verdicts(in_program(programs[name], *lie))["sensitivity"] == "broken"


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
