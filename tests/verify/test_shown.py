"""What is shown beside noisy numbers: keys, intervals, rows, files. All but four of these once came out as `proved`."""

import csv
import io
import json
import math

import pytest

from discreet.bundle import bundle_files
from verify.conftest import state_in
from verify.forger import csv_of, forged, opened, store, stored
from verify.forging import signed_again, verdicts, worst

#: Bundles are made once for all tests of this folder, by whichever comes first.


def undiscovered(documents):
    """The step that discovers keys is left out of what is stored, charged and proved: its epsilon and delta are gone."""
    plan, (told,) = documents["plan"], documents["proof"]["measured"].values()
    own = stored(plan)
    own["parts"] = [part for part in own["parts"] if part["kind"] != "keys"]
    left = [event for event in own["event"]["events"] if event["kind"] not in ("threshold", "top-k")]
    own["event"] = plan["event"] = left[0] if len(left) == 1 else {"kind": "together", "events": left}
    store(plan, own)
    told[:] = [step | {"part": turn} for turn, step in enumerate(told[1:])]


def rediscovered(documents):
    """A discovering step for a question that has no keys to discover: a place for whatever text one likes."""
    plan, (told,) = documents["plan"], documents["proof"]["measured"].values()
    own = stored(plan)
    part = {"kind": "keys", "keys": [["Smith has it"]], "answers": None, "noisy": [], "law": None, "threshold": 10**6}
    own["parts"].append(part | {"cut": False})
    store(plan, own)
    told.append({"part": 1})


def appended(documents):
    """Five hundred rows of text in a table of keys alone."""
    (table,) = documents["data"]["tables"]
    width = len(table["columns"])
    table["rows"] += [[f"secret {turn} {place}" for place in range(width)] for turn in range(500)]
    table["intervals"] += [[None] * width] * 500


def repeated(documents):
    """The keys that were found, so often as somebody has them."""
    (table,) = documents["data"]["tables"]
    table["rows"], table["intervals"] = table["rows"] * 163, table["intervals"] * 163


def no_numbers(documents):
    """A table that is said to show noisy numbers and shows none may then have any rows."""
    appended(documents)
    rows = len(documents["data"]["tables"][0]["rows"])
    documents["proof"]["shown"] = [{"columns": [], "cells": [[0, turn] for turn in range(rows)]}]


def keys_in(table):
    return [place for place, column in enumerate(table["columns"]) if column["kind"] == "key"]


def key(change, turn=0, column=0):
    """Another key in all rows that have the same one."""

    def changed(documents):
        (table,) = documents["data"]["tables"]
        place = keys_in(table)[column]
        old = table["rows"][turn][place]
        for row in table["rows"]:
            row[place] = change(old) if row[place] == old else row[place]

    return changed


def key_of_one_row(value, turn=-1):
    def changed(documents):
        (table,) = documents["data"]["tables"]
        table["rows"][turn][keys_in(table)[0]] = value

    return changed


def scaled(documents):
    """Keys that are numbers, all times an exact count."""
    (table,) = documents["data"]["tables"]
    place = next(place for place in keys_in(table) if type(table["rows"][0][place]) in (int, float))
    for row in table["rows"]:
        row[place] = None if row[place] is None else row[place] * 163


def ends(value):
    """The exact number between the ends of a noisy one."""

    def changed(documents):
        (table,) = documents["data"]["tables"]
        noisy = next(place for place, column in enumerate(table["columns"]) if column["kind"] != "key")
        table["intervals"][0][noisy] = value(table["intervals"][0][noisy])

    return changed


def last_place(documents):
    """The lowest bit of every end of a sum of decimals."""
    (table,) = documents["data"]["tables"]
    for row in table["intervals"]:
        row[-1] = [math.nextafter(row[-1][0], math.inf), row[-1][1]]


def end_of_a_key(documents):
    (table,) = documents["data"]["tables"]
    table["intervals"][0][keys_in(table)[0]] = [163, 163]


def in_part(**fields):
    """Something more in a stored part, which all readers of plan.json see."""

    def changed(documents):
        own = stored(documents["plan"])
        own["parts"][0] |= fields
        store(documents["plan"], own)

    return changed


def longer_keys(documents):
    own = stored(documents["plan"])
    for each in own["parts"][0]["keys"]:
        each.append("exactly 163")
    store(documents["plan"], own)


def beside(*path, name="exact"):
    """A number under a name that tables do not have, or under one where it is always 0."""

    def changed(documents):
        held = documents["data"]
        for step in path:
            held = held[step]
        held[name] = 163

    return changed


def bins_outside(documents):
    own = stored(documents["plan"])
    part = next(part for part in own["parts"] if part["kind"] == "bins")
    part["noisy"][0][1] = 10**6 + 163
    store(documents["plan"], own)


OBJECT = {"name": "Smith", "has": ["it"]}
#: The bundle, the lie, the line that tells, and what it says; two where that hangs on which rows the noise shows.
LIES = {
    "keys that no step discovered": ("rows: discovered sums", undiscovered, "sensitivity", "broken"),
    "of the most common": ("persons: top", undiscovered, "sensitivity", "broken"),
    "keys that nobody asked for": ("rows: count", rediscovered, "sensitivity", "broken"),
    "rows of text": ("rows: distinct", appended, "numbers", "broken"),
    "rows of two texts": ("persons: texts alone", appended, "numbers", "broken"),
    "rows that come often": ("persons: texts alone", repeated, "numbers", "broken"),
    "rows without numbers": ("rows: distinct", no_numbers, "numbers", "broken"),
    "a text behind a value": ("persons: constant", key(lambda old: f"{old} (exactly 163)"), "numbers", "open"),
    "in one row alone": ("persons: having", key_of_one_row("a (exactly 163)", turn=0), "numbers", "broken open"),
    "an object": ("rows: histogram", key(lambda _: OBJECT), "tables", "broken"),
    "a list": ("rows: discovered", key(lambda _: [1, 2]), "tables", "broken"),
    "a discovered text": ("rows: discovered", key(lambda old: f"{old} 163"), "numbers", "broken"),
    "one of two discovered texts": ("persons: texts", key(lambda old: f"{old} 163"), "numbers", "open"),
    "one of the most common": ("persons: top", key(lambda _: "Smith"), "numbers", "broken"),
    "a discovered text alone": ("rows: distinct", key(lambda _: "Smith"), "numbers", "broken"),
    "a date": ("persons: dates", key(lambda old: f"{old} 16:03"), "numbers", "open"),
    "another date": ("persons: dates", key_of_one_row("2033-01-01", turn=3), "numbers", "open"),
    "a month": ("persons: months", key(lambda _: "1985-01-01 00:00:00"), "numbers", "open"),
    "a bin": ("persons: bins", key(lambda _: "[0, 163)"), "numbers", "open"),
    "numbers times a number": ("persons: tens", scaled, "numbers", "open"),
    "months times a number": ("persons: month and year", scaled, "numbers", "open"),
    "a truth": ("persons: truths", key(lambda _: 163), "numbers", "open"),
    "a key of a row that sums over it": ("persons: rollup", key_of_one_row("exactly 163"), "numbers", "broken"),
    "another key of it": ("persons: rollup", key_of_one_row("a"), "numbers", "broken"),
    "a key of a join": ("persons: person join", key(lambda _: "Smith"), "numbers", "open"),
    "exact ends": ("rows: count", ends(lambda _: [163, 163]), "numbers", "broken"),
    "one exact end": ("persons: constant", ends(lambda told: [told[0] - 3, told[1]]), "numbers", "broken"),
    "an end of one more": ("rows: count", ends(lambda told: [told[0] + 1, told[1]]), "numbers", "broken"),
    "an end of one less": ("rows: histogram", ends(lambda told: [told[0], told[1] - 1]), "numbers", "broken"),
    "digits in an end": ("rows: count", ends(lambda told: [told[0] + 0.163, told[1] + 0.4711]), "numbers", "broken"),
    "an end as a float": ("rows: count", ends(lambda told: [float(told[0]), told[1]]), "numbers", "broken"),
    "the last place of an end": ("persons: rollup", last_place, "numbers", "broken"),
    "a low end of one found": ("rows: discovered", ends(lambda told: [told[0] + 1, told[1]]), "numbers", "broken"),
    "no ends": ("rows: histogram", ends(lambda _: None), "numbers", "broken"),
    "texts as ends": ("rows: count", ends(lambda _: ["exactly", "163"]), "numbers", "broken"),
    "ends of discovered numbers": ("rows: discovered", ends(lambda told: [told[0], told[1] + 5]), "numbers", "broken"),
    "ends of a key": ("rows: histogram", end_of_a_key, "tables", "broken"),
    "counts beside keys": ("rows: discovered sums", in_part(noisy=[163]), "sensitivity", "broken"),
    "more in a part": ("rows: count", in_part(exact=163), "documents", "broken"),
    "a part of no kind": ("rows: count", in_part(kind="told"), "documents", "broken"),
    "keys of more parts": ("rows: discovered", longer_keys, "sensitivity", "broken"),
    "more in data.json": ("rows: count", beside(), "tables", "broken"),
    "more in a table": ("rows: count", beside("tables", 0), "tables", "broken"),
    "more in a column": ("rows: count", beside("tables", 0, "columns", 0), "tables", "broken"),
    "a number where numbers end": ("rows: count", beside("tables", 0, "columns", 0, name="least"), "tables", "broken"),
    "a quantile in no bin": ("rows: quantile", bins_outside, "sensitivity", "broken"),
}


@pytest.mark.parametrize(("name", "lie", "line", "verdict"), LIES.values(), ids=LIES)
def test_nothing_stands_beside_the_noise(name, lie, line, verdict, bundles, honest):
    assert honest(name)[line] == "proved"
    assert verdicts(forged(bundles[name], lie))[line] in verdict.split()


def test_a_text_in_a_batch(projects):
    """The second table of one release."""
    project, _, state = projects
    with state_in(state):
        grouped = "SELECT smoker, {} FROM patients WHERE age > 44 GROUP BY smoker;"
        released = project.batch(grouped.format("count(*) AS n") + grouped.format("sum(age) AS s"), epsilon=1)
        files = bundle_files.make_bundle(project, released[0].id)
    assert worst(forged(files, lambda _: None)) == "proved"

    def lie(documents):
        documents["data"]["tables"][1]["rows"][0][0] = "exactly 163"

    assert verdicts(forged(files, lie))["numbers"] == "open"


def exact(content, number):
    lines = list(csv.reader(io.StringIO(content.decode(), newline="")))
    lines[1][-1] = number
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(lines)
    return stream.getvalue().encode()


@pytest.mark.thin(8)
@pytest.mark.parametrize("name", ["rows: histogram", "persons: texts", "rows: average", "rows: discovered"])
@pytest.mark.parametrize("lie", ["a number", "a row", "a column", "a name"])
def test_a_csv_file_that_holds_something_else(name, lie, bundles):
    files, told = bundles[name], bundles[name]["data.csv"]
    assert verdicts(files)["tables"] == "proved" and csv_of(opened(files)["data"])["data.csv"] == told
    head, _, rest = told.partition(b"\n")
    other = {
        "a number": exact(told, "163"),
        "a row": told + b"exactly,163\n",
        "a column": told.replace(b"\n", b",163\n"),
        "a name": head + b" (163)\n" + rest,
    }[lie]
    assert verdicts(signed_again(files | {"data.csv": other}))["tables"] == "broken"


def test_texts_that_csv_must_quote(bundles):
    """A formula, quotes, commas and line breaks: they are what they were, in every form."""
    rows = json.loads(bundles["persons: texts"]["data.json"])["tables"][0]["rows"]
    assert {row[0] for row in rows} == {'=1+1,"q"', "two\nlines ✓"}
    assert set(verdicts(bundles["persons: texts"]).values()) == {"proved"}


def test_labels_that_only_the_text_says_stay_open(bundles):
    found = verdicts(bundles["persons: words"])
    assert found["numbers"] == "open" and {*found.values()} == {"proved", "open"}
