"""Numbers that an insider leaves unpaid: the bundle is made and signed by the product's own code, and must not hold."""

import json
from dataclasses import replace

import pytest

from bundle.forged import judged, made, with_payloads
from bundle.test_members import in_plan
from bundle.test_members import judged as judged_files
from discreet import exact
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.threshold import delta_of


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(tmp_path_factory.mktemp("state")))
        yield made(tmp_path_factory.mktemp("project") / "p")


def part_of(data, release, kind):
    return next(part for part in data[release]["parts"] if part["kind"] == kind)


def as_answers(data, release):
    """The noise of keys on numbers that one person moves three times as far, or 300 times."""
    keys, cells = (part_of(data, release, kind) for kind in ("keys", "cells"))
    event = data[release]["event"]["events"][0]
    law = {"kind": "discrete-laplace", "scale": event["scale"]}
    noisy = [max(keys["threshold"], value) for value in cells["noisy"][0]]
    data[release] |= {"parts": [keys | {"answers": 0, "law": law, "noisy": noisy}], "event": event}


def one_more_measurement(data, release):
    """A measurement that nobody charged."""
    own = data[release]
    data["r-aaaaaaaaaaaaaaaa"] = own | {
        "id": "r-aaaaaaaaaaaaaaaa",
        "parts": [own["parts"][0] | {"noisy": [[163, 137]]}],
    }


def one_more_step(data, release):
    data[f"{release}.1"] = [163, 137]


def more_keys(data, release):
    """Keys that no choice chose."""
    part = part_of(data, release, "keys")
    part["keys"] += [[f"word {number}"] for number in range(50)]
    for cells in [part for part in data[release]["parts"] if part["kind"] == "cells"]:
        cells["noisy"] = [vector + [0] * 50 for vector in cells["noisy"]]


def wider_key(data, release):
    part = part_of(data, release, "keys")
    part["keys"][0] = [*part["keys"][0], "exactly 163"]


def same_key(data, release):
    part = part_of(data, release, "keys")
    part["keys"] = [part["keys"][0]] * 2


def list_as_key(data, release):
    part_of(data, release, "keys")["keys"][0] = [["exactly", "163"]]


def in_part(kind, **given):
    def change(data, release):
        part_of(data, release, kind).update(given)

    return change


def one_more_vector(data, release):
    part_of(data, release, "cells")["noisy"].append([163, 137])


def one_more_law(data, release):
    part_of(data, release, "cells")["laws"].append({"kind": "discrete-laplace", "scale": "163/1"})


def no_statistics(data, release):
    own = data[release]
    own["parts"].append(own["parts"][0] | {"statistics": [], "noisy": [], "laws": [], "place": 163})


def no_statistics_and_numbers(data, release):
    own = data[release]
    own["parts"].append(own["parts"][0] | {"statistics": [], "noisy": [[163, 137]], "laws": []})


def earlier(data, release):
    return next(own for name, own in data.items() if name != release)


def earlier_text(data, release):
    earlier(data, release)["text"] = "exactly 163"


def earlier_also(data, release):
    earlier(data, release)["also"] = ["exactly 163"]


FORGED = {
    "count(*) as numbers of persons": ("rows of a town", as_answers),
    "a sum as numbers of persons": ("sum of a town", as_answers),
    "a measurement more": ("count", one_more_measurement),
    "a step more": ("count", one_more_step),
    "keys more": ("most common", more_keys),
    "a wider key": ("keys", wider_key),
    "most common keys were cut": ("most common", in_part("keys", cut=True)),
    "cut is an object": ("keys", in_part("keys", cut={"exactly": 163})),
    "a vector more": ("count", one_more_vector),
    "a law more": ("count", one_more_law),
    "no statistics": ("count", no_statistics),
    "numbers of no statistics": ("count", no_statistics_and_numbers),
    "the text of an earlier one": ("again", earlier_text),
    "the earlier ones of an earlier one": ("again", earlier_also),
}


@pytest.mark.parametrize("name", FORGED)
def test_what_nobody_charged(name, contents, tmp_path):
    kind, change = FORGED[name]
    state, verdict, failing = judged(with_payloads(contents[kind], change), tmp_path / "lie")
    assert (state, verdict) == ("fails", "broken"), failing


def test_honest_ones_hold(contents, tmp_path):
    for number, content in enumerate(contents.values()):
        state, verdict, failing = judged(with_payloads(content, lambda data, release: None), tmp_path / str(number))
        assert state == "holds" and verdict != "broken", (content.kind, failing)


@pytest.mark.parametrize("change", [same_key, list_as_key])
def test_keys_that_no_table_shows(change, contents, tmp_path):
    """No tables can be made of these: the measurement is refused for itself."""
    content = contents["most common"]
    data = json.loads(content.payloads[content.release])
    change({content.release: data}, content.release)
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    state, verdict, failing = judged(replace(content, payloads={content.release: text}), tmp_path / "lie")
    assert (state, verdict) == ("fails", "broken") and failing != ["data"], failing


def test_keys_of_a_model_as_of_one_row(contents, tmp_path):
    """Words differ over the rows of a person; another column, of towns, does not."""
    content = contents["model"]
    towns, words = (json.loads(json.dumps(step)) for step in content.steps[:2])
    assert (towns["event"]["l1"], words["event"]["l1"]) == (1, 3)
    name = f"{content.release}.2"
    drawn = json.loads(content.payloads[name])
    law = DiscreteLaplace(scale=exact.read(words["event"]["scale"]))
    delta = delta_of(law, keys_per_person=1, threshold=drawn["parts"][0]["threshold"])
    words["event"] |= {"l1": 1, "delta": exact.write(delta)}
    payloads = {**content.payloads, name: json.dumps(drawn | {"event": words["event"]}, separators=(",", ":"))}
    for of in (words["of"], "0" * 64):
        lie = replace(content, payloads=payloads, steps=(towns, words | {"of": of}, *content.steps[2:]))
        assert judged(lie, tmp_path / of[:4])[:2] == ("fails", "broken")


def one_more_statistic(data):
    data["parts"][0]["statistics"].append(0)


def read_with_itself(data):
    data["also"] = [data["id"]]


@pytest.mark.parametrize("change", [one_more_statistic, read_with_itself])
def test_a_measurement_that_makes_no_sense(change, contents, tmp_path):
    """It fails, and ends in no error."""
    content = contents["count"]
    data = json.loads(content.payloads[content.release])
    change(data)
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    lie = replace(content, payloads={content.release: text})
    assert judged(lie, tmp_path / "lie")[:2] == ("fails", "broken")


STEP = {"number": 1, "of": "0" * 64, "event": {"kind": "laplace", "scale": "1/1", "l1": 1}}
OTHER = {
    "version": 163,
    "population": "visits",
    "declared": {"person": "id"},
    "persons": [{"table": "other", "person": ["id"], "through": None, "on": [], "kinds": ["text"]}],
}
PLANS = {
    "steps of an answer": lambda plan: plan.update(steps=[STEP]),
    "an accounting": lambda plan: plan["schemas"]["visits"]["declared"].update(accounting="exactly 163"),
    "a budget": lambda plan: plan["schemas"]["visits"]["declared"].update(budget={"epsilon": {"exactly": 163}}),
    "a measured number": lambda plan: plan["schemas"]["visits"]["declared"].update(rows_per_person_measured=["163"]),
    "a measured column": lambda plan: plan["schemas"]["visits"]["declared"]["columns"]["sex"].update(measured="x"),
    "a public table": lambda plan: plan["schemas"]["visits"]["declared"].update(public={"exactly": 163}),
    "directions": lambda plan: plan["schemas"]["visits"]["declared"].update(directed=["163"]),
    "exact totals": lambda plan: plan["schemas"]["visits"]["declared"].update(invariants=["count(*) = 163"]),
    "a table that nothing reads": lambda plan: plan["schemas"].update(other=OTHER),
    "a day": lambda plan: plan.update(day="9999-99-99"),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_that_says_more(name, contents, tmp_path):
    """All else is as it was; the cards do not say what is changed here."""
    files = in_plan(PLANS[name])(contents["count"])
    assert judged_files(files, tmp_path / "lie")[:2] == ("fails", "broken")
