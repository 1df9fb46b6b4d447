"""Forgeries with which an auditor once got `proved` from the checker, or kept it busy: each is seen now."""

import copy
import importlib
import json
import random
import subprocess
import sys
import time
from fractions import Fraction

import pytest

import clinic
from discreet.accounting.zcdp_conversion import rho_from_epsilon
from discreet.bundle import bundle_files
from tiers import size
from verify import world
from verify.conftest import state_in
from verify.forger import derived, forged, opened, rules, store, stored
from verify.forging import checker, signed_again, verdicts, worst

#: Bundles are made once for all tests of this folder, by whichever comes first.

EVERY = {"every": []}
AGE, SEX, WARD = {"column": "age"}, {"column": "sex"}, {"column": "ward"}
VISITS, STAYS = {"scan": "visits", "version": 1}, {"scan": "stays", "version": 1}


def test_a_forger_who_changes_nothing_is_believed(bundles):
    for name in ("rows: count", "rows: discovered", "persons: person join"):
        assert worst(forged(bundles[name], lambda _: None)) == "proved"


# Numbers that were never noised.


def exact_key(documents):
    """The count itself, in a column that is said to be a key."""
    table = documents["data"]["tables"][0]
    table["columns"][0]["kind"], table["rows"] = "key", [[123456]]
    documents["proof"]["shown"] = [None]


def exact_table(documents):
    """A second table, of keys alone."""
    table = {"columns": [{"name": "exact", "kind": "key"}], "rows": [[5]], "intervals": [[None]]}
    documents["data"]["tables"].append(table)
    documents["proof"]["shown"].append(None)


def longer_row(documents):
    """A number behind the last column."""
    documents["data"]["tables"][0]["rows"][0].append(123456)


@pytest.mark.parametrize(
    ("lie", "more"), [(exact_key, []), (exact_table, ["data-2.csv", "data-2.parquet"]), (longer_row, [])]
)
def test_exact_numbers_are_not_keys(lie, more, bundles):
    assert verdicts(forged(bundles["rows: count"] | dict.fromkeys(more, b""), lie))["numbers"] == "broken"


@pytest.mark.parametrize("name", ["rows: count", "rows: histogram"])
@pytest.mark.parametrize("place", [0, -1])
def test_an_exact_number_is_not_proved_by_the_name_of_a_noisy_one(name, place, bundles):
    """A second column, called like the measured one, before or behind all others."""

    def twice(documents):
        (table,), (told,) = documents["data"]["tables"], documents["proof"]["shown"]
        own = table["columns"][-1]
        assert own["kind"] != "key"
        width = len(table["columns"])
        for part, value in [(table["columns"], own), *((row, 123456) for row in table["rows"])]:
            part.insert(0 if place == 0 else width, value)
        for row in table["intervals"]:
            row.insert(0 if place == 0 else width, None)
        for column in told["columns"]:
            column[0] += place == 0

    assert verdicts(forged(bundles[name], twice))["numbers"] == "open"


@pytest.mark.parametrize("place", [0, 1])
def test_a_column_is_one_thing(place, bundles):
    """The measured numbers again, in a column of keys; and a column that is told of twice."""

    def again(documents):
        (table,), (told,) = documents["data"]["tables"], documents["proof"]["shown"]
        assert [each["kind"] == "key" for each in table["columns"]] == [True, False]
        for row in table["rows"]:
            row[place] = row[1]
        told["columns"].append([place, *told["columns"][0][1:]])

    assert verdicts(forged(bundles["rows: discovered"], again))["numbers"] == "broken"


@pytest.mark.parametrize("name", ["rows: histogram", "persons: count", "rows: discovered sums", "persons: constant"])
def test_no_two_rows_have_the_same_keys(name, bundles):
    def repeated(documents):
        (table,) = documents["data"]["tables"]
        for place, column in enumerate(table["columns"]):
            if column["kind"] == "key":
                table["rows"][1][place] = table["rows"][0][place]

    assert verdicts(bundles[name])["numbers"] == "proved"
    assert verdicts(forged(bundles[name], repeated))["numbers"] == "broken"


@pytest.mark.parametrize("name", ["rows: count", "rows: sum"])
def test_a_chosen_multiple_is_not_proved(name, bundles):
    """The noisy number times exact / noisy is the exact one."""

    def chosen(documents):
        place, statistic, _ = documents["proof"]["shown"][0]["columns"][0]
        (part,) = stored(documents["plan"])["parts"]
        noisy = part["noisy"][part["statistics"].index(statistic)][0]
        times = Fraction(noisy - 3, noisy)
        documents["proof"]["shown"][0]["columns"][0][2] = f"{times.numerator}/{times.denominator}"
        (table,) = documents["data"]["tables"]
        table["rows"][0][place] = float(noisy - 3)
        table["intervals"][0][place] = [float(end * times) for end in table["intervals"][0][place]]

    assert verdicts(forged(bundles[name], chosen))["numbers"] != "proved"


def nearby(noisy):
    """A number within the noise that no rounding gives: where the exact one may lie."""
    return int(noisy) + (7 if int(noisy) % 10 != 3 else 8)


@pytest.mark.parametrize("lie", [nearby, lambda noisy: 0, lambda noisy: 10**30])
@pytest.mark.parametrize("column", [0, 1])
def test_a_number_is_rounded_to_one_power_of_ten_within_its_noise(column, lie, bundles):
    def other(documents):
        place, statistic, times = documents["proof"]["shown"][0]["columns"][column]
        (part,) = stored(documents["plan"])["parts"]
        number = part["statistics"].index(statistic)
        noisy = part["noisy"][number][0] * Fraction(times)
        assert Fraction(part["laws"][number]["scale"]) * Fraction(times) > 99 and noisy > 1000
        documents["data"]["tables"][0]["rows"][0][place] = lie(noisy)

    assert verdicts(bundles["rows: sum"])["numbers"] == "proved"
    assert verdicts(forged(bundles["rows: sum"], other))["numbers"] == "broken"


def test_what_was_measured_before_and_is_stored_here_is_charged(projects, monkeypatch):
    monkeypatch.setattr("discreet.answers.more_precise.refined_quote", lambda *_, **__: None)  # independent noise, then
    project, _, state = projects
    with state_in(state):
        first = project.sql("SELECT count(*) AS n FROM patients WHERE age > 21").ask(epsilon=0.5)
        files = bundle_files.make_bundle(project, project.again(first.id, epsilon=0.25).id)

    def forgotten(documents, *, kept):
        plan, proof = documents["plan"], documents["proof"]
        own = stored(plan) | {"also": []}
        store(plan, own)
        del proof["measured"][first.id]
        proof["shown"] = [{"columns": [[0, 0, "1/1"]], "cells": None}]
        (part,) = own["parts"]
        ((noisy,),), (law,) = part["noisy"], part["laws"]
        (far,) = importlib.import_module("widths").half_widths(law, Fraction(1, 20))
        documents["data"]["tables"][0] |= {"rows": [[noisy]], "intervals": [[[noisy - far, noisy + far]]]}
        if not kept:
            del plan["payloads"][first.id]

    # Without its payload this is the bundle of a release of 0.25 alone, and just that is claimed.
    assert worst(forged(files, lambda documents: forgotten(documents, kept=False))) == "proved"
    assert verdicts(forged(files, lambda documents: forgotten(documents, kept=True)))["sensitivity"] == "broken"


# A plan whose derivation forgets something.


def hospital(bundles):
    """The question and the schemas of the join on the person: 4 visits, 3 stays, 12 rows."""
    documents = opened(bundles["persons: person join"])
    question, schemas = documents["proof"]["question"], documents["plan"]["schemas"]
    assert derived(question, schemas).rows == 12
    return question, schemas


def join(**more):
    return {"person": STAYS, "outer": False, "columns": [], "of": VISITS} | more


def per_person(by, numbers):
    return {"per-person": numbers, "by": by, "of": VISITS}


TWO_THINGS = {
    "a filter that is a join": join(filter=EVERY),
    "a join that is a grouping": join(**{"per-person": [], "by": []}),
    "a scan with a filter": join(person=STAYS | {"filter": EVERY}),
    "a filter with more parts": {"filter": EVERY, "of": VISITS, "scan": "visits"},
    "a brought column named like a constant one": join(columns=[["sex", {"column": "nights"}]]),
    "a column brought twice": join(columns=[["k", {"column": "nights"}], ["k", {"whole": [1]}]]),
    "two keys of one name": per_person([["k", SEX], ["k", WARD]], []),
    "a key and a number of one name": per_person([["k", WARD]], [["k", ["rows", EVERY]]]),
}


@pytest.mark.parametrize("strange", TWO_THINGS.values(), ids=TWO_THINGS)
def test_nothing_in_a_relation_is_two_things(strange, bundles):
    question, schemas = hospital(bundles)
    with pytest.raises(rules()[0].Broken, match="two things"):
        derived(question | {"plan": strange}, schemas)


def test_a_scan_has_no_other_parts(bundles):
    question, schemas = hospital(bundles)
    with pytest.raises(rules()[0].Open):
        derived(question | {"plan": VISITS | {"more": 1}}, schemas)


def test_what_a_join_brings_is_of_the_other_side(bundles):
    """Its bounds and whether it is constant are those of the joined table; a column that it has not, it cannot bring."""
    question, schemas = hospital(bundles)
    found = derived(question | {"plan": join(columns=[["k", {"column": "nights"}]])}, schemas)
    assert found.known["k"] == (0, 30, True) and "k" not in found.constant
    for own in ("cost", "sex"):
        with pytest.raises(LookupError):
            derived(question | {"plan": join(columns=[["k", {"column": own}]])}, schemas)


@pytest.mark.parametrize("edges", [[0, 5001, 0, 5001], [0, 0, 5], [5], [0, 1.5, 2]])
def test_bins_lie_one_after_another(edges, bundles):
    """A row that lies in several cells would move more of them than it has rows."""
    documents = opened(bundles["persons: count"])
    question, plan = documents["proof"]["question"], documents["plan"]
    relation, measured = rules()
    question["sets"] = [[[WARD, edges, False]]]
    steps = measured.Steps(question, derived(question, plan["schemas"]))
    with pytest.raises(relation.Broken):
        steps.groups(0)
    question["sets"] = [[[WARD, [0, 1, 5], False]]]
    assert measured.Steps(question, derived(question, plan["schemas"])).groups(0) == 2


@pytest.mark.parametrize(
    "expression",
    [
        {"plus": [AGE, AGE, {"times": [AGE, AGE]}]}, {"times": [AGE, AGE, AGE]}, {"whole": [1, AGE]}, {"null": [AGE]},
        {"absolute": [AGE, {"times": [AGE, AGE]}]}, {"over": [AGE, {"whole": [10]}, "up"]}, {"length": [AGE, AGE]},
        {"over": [AGE, {"whole": [10]}]}, {"remainder": [AGE]}, {"lookup": [AGE, [1, 2, 3], 0, AGE]}, {"root": [AGE, AGE]}, {"bitlength": []},
    ],
)  # fmt: skip
def test_expressions_have_the_arguments_that_their_bounds_are_of(expression):
    relation, _ = rules()
    known = {"age": (0, 2, False)}
    for right in (
        {"plus": [AGE, AGE]},
        {"over": [AGE, {"whole": [10]}, "down"]},
        {"lookup": [AGE, [1, 2, 3], 0]},
        {"root": [AGE]},
    ):
        relation.derive(right, known)
    with pytest.raises(relation.Broken, match=r"missing arguments|rounding"):
        relation.derive(expression, known)


@pytest.mark.parametrize(
    "statistic", [["rows", EVERY, 1000], ["persons", EVERY, AGE], ["distinct", AGE], ["sum", AGE, 0, 1, EVERY, 1000]]
)
def test_statistics_have_no_other_parts(statistic):
    relation, measured = rules()
    terms = {"low": 0, "high": 9} if statistic[0] == "sum" else None
    with pytest.raises(relation.Broken, match="missing members"):
        measured.moves(statistic, 1, 1, terms)


def test_what_a_public_table_brings_is_constant_only_if_each_row_meets_one(bundles):
    """Who meets two public rows has both of what they bring, however constant the key is."""
    _, schemas = hospital(bundles)
    node = {"public": ["wards", "0"], "columns": ["floor"], "on": [[SEX, SEX]], "of": VISITS}

    def constant(fan_out, key=SEX):
        told = {"table": "wards", "content": "0", "fan_out": fan_out, "columns": {}}
        return derived({"plan": node | {"on": [[key, key]]}}, schemas, [told]).constant

    assert "floor" in constant(0) and "floor" in constant(1)
    assert "floor" not in constant(2) and "floor" not in constant(1, WARD)


def test_every_event_belongs_to_numbers(bundles):
    """An event too many: nobody says what was drawn by it."""
    documents = opened(bundles["persons: count"])
    plan, question = documents["plan"], documents["proof"]["question"]
    relation, measured = rules()
    steps = measured.Steps(question, derived(question, plan["schemas"]))
    one = stored(plan)
    assert len(steps.of(one, [{}])) == 1
    one["event"] = {"kind": "together", "events": [one["event"], copy.deepcopy(one["event"])]}
    with pytest.raises(relation.Broken, match="without a drawn number"):
        steps.of(one, [{}])


@pytest.mark.thin(6)
@pytest.mark.parametrize("name", ["rows: discovered", "persons: towns", "persons: top", "persons: people of towns"])
@pytest.mark.parametrize("times", [Fraction(1, 2), Fraction(2), 1 - Fraction(1, 10**12)])
def test_the_delta_of_keys_follows_from_how_they_were_found(name, times, bundles):
    """Another delta in the charge, in what is stored, in the proof and in the claims."""

    def charged(documents):
        event = documents["plan"]["event"]
        (told,) = [each["delta"] for each in event.get("events", [event]) if "delta" in each]
        wanted = Fraction(told) * times
        for part in ("plan", "proof"):
            text = json.dumps(documents[part])
            assert told in text
            documents[part] = json.loads(text.replace(told, f"{wanted.numerator}/{wanted.denominator}"))

    found = verdicts(forged(bundles[name], charged))
    assert found["sensitivity"] == "broken" and found["losses"] == found["claims"] == "proved"


@pytest.mark.parametrize("step", [-1, 1])
def test_a_threshold_that_everybody_says_must_be_the_one_that_was_paid_for(step, bundles):
    def moved(documents):
        plan, (told,) = documents["plan"], documents["proof"]["measured"].values()
        own = stored(plan)
        own["parts"][0]["threshold"] += step
        told[0]["threshold"] += step
        store(plan, own)

    assert verdicts(forged(bundles["rows: discovered"], moved))["sensitivity"] == "broken"


def with_choices(data, change):
    """The same with other choices wherever a quantile was chosen."""
    if isinstance(data, list):
        return [with_choices(each, change) for each in data]
    if not isinstance(data, dict):
        return data
    if data.get("kind") == "together" and {each["kind"] for each in data["events"]} == {"permute-and-flip"}:
        return data | {"events": change(data["events"])}
    return {name: with_choices(each, change) for name, each in data.items()}


CHOICES = {
    "one is cheaper": lambda told: [*told[:2], told[2] | {"epsilon": "1/1000000"}],
    "one is left out": lambda told: told[:2],
    "one is of another kind": lambda told: [told[0] | {"kind": "exponential"}, *told[1:]],
    "noise beside them": lambda told: [*told, {"kind": "laplace", "scale": "1000000/1", "l1": 1}],
}


@pytest.mark.parametrize("change", CHOICES.values(), ids=CHOICES)
def test_a_quantile_is_one_choice_or_three(change, bundles):
    def chosen(documents):
        plan, proof = documents["plan"], documents["proof"]
        own = with_choices(stored(plan), change)
        assert own != stored(plan)
        plan["event"] = own["event"]
        store(plan, own)
        proof["measured"] = with_choices(proof["measured"], change)

    found = verdicts(forged(bundles["rows: quantiles"], chosen))
    assert found["sensitivity"] == "broken" and found["losses"] == found["claims"] == "proved"


def test_a_quantile_without_an_interval_has_no_room_for_more(projects):
    """It is proved as it is made; ends that say something nobody paid for are broken, to both checkers."""
    rows, _, state = projects
    with state_in(state):
        median = rows.sql("select sex, median(age) m from patients group by sex")
        files = bundle_files.make_bundle(rows, median.ask(epsilon=1, interval=False).id)
    assert "broken" not in verdicts(files).values()

    def with_ends(documents):
        own = stored(documents["plan"])
        own["parts"][0]["noisy"][0][0] += 1 if own["parts"][0]["noisy"][0][0] == 0 else -1
        store(documents["plan"], own)

    assert "broken" in verdicts(forged(files, with_ends)).values()


# Claims, cards, limits.


def test_the_version_is_the_one_whose_schema_is_here(bundles):
    found = verdicts(forged(bundles["rows: count"], lambda documents: documents["plan"].update(version=99)))
    assert found["unit"] == "broken" and found["claims"] == "proved"


def test_exact_totals_count_double(bundles):
    def told(documents):
        documents["plan"]["invariants"] = ["rows in all"]

    assert verdicts(forged(bundles["rows: count"], told))["losses"] == "broken"


def flow(card):
    """Another reader finds the cost in braces; the block that this one looks for is somewhere else."""
    block = "    privacy_parameters:\n      epsilon: 1.0\n"
    assert block in card
    return card.replace(block, "    privacy_parameters: {epsilon: 0.001}\n").replace(
        "  model:\n", f"  more:\n{block}  model:\n"
    )


def other_unit(card):
    return card.replace('privacy_unit: "one row"', 'privacy_unit: "all rows of one person"')


@pytest.mark.parametrize("lie", [flow, other_unit])
def test_a_card_that_says_something_else(lie, bundles):
    files = bundles["rows: count"]
    assert lie(files["card.yaml"].decode()) != files["card.yaml"].decode()
    assert verdicts(forged(files, lambda _: None, card=lie))["claims"] == "broken"


def limited(files, *, spent, **limit):
    def change(documents):
        documents["plan"]["guarantee"] |= limit
        documents["plan"]["spent"] = spent

    return verdicts(forged(files, change))["ledger"]


def test_a_delta_beyond_that_of_keys_is_not_within_the_limit(bundles):
    files = bundles["rows: discovered"]
    assert limited(files, spent="1/1") == "proved"
    assert limited(files, spent="1/1", delta="1/1000", delta_keys=f"1/{10**30}") == "open"


def test_what_is_spent_lies_within_the_limit(bundles):
    files = bundles["rows: count"]
    assert opened(files)["plan"]["guarantee"]["epsilon"] == "900/1"
    assert limited(files, spent="900/1") == "proved"
    for spent in ("901/1", "-1/1"):
        assert limited(files, spent=spent) == "broken"
    assert limited(files, spent="1/1", delta="1/1000000", delta_keys="1/1000") == "broken"


def test_a_rho_is_compared_with_a_limit_by_its_conversion(tmp_path):
    """A rho of 1/2 is an epsilon of 5.22 at a delta of 1e-6: not within a limit of 5, though 1/2 is below 5."""
    with state_in(tmp_path / "state"):
        budget = "{ epsilon = 50.0, delta = 1e-4 }"
        project = clinic.make(tmp_path / "p", budget=budget, extra='accounting = "zcdp"')
        files = bundle_files.make_bundle(project, project.sql("SELECT count(*) AS n FROM patients").ask(epsilon=1).id)
    assert opened(files)["proof"]["total"]["rho"] == "1/2"
    for epsilon, verdict in (("53/10", "proved"), ("26/5", "open"), ("1/2", "open")):
        limit = {"epsilon": epsilon, "delta": "1/500000", "delta_keys": "1/1000000"}
        assert limited(files, spent=epsilon, **limit) == verdict
    assert limited(files, spent="50/1", delta="1/1000000", delta_keys="1/1000000") == "open"


def test_the_conversion_is_the_one_that_the_ledger_uses():
    _, measured = rules()
    for epsilon, delta in ((1, 10**6), (50, 20_000), (900, 20_000), (Fraction(1, 100), 10**9)):
        rho = rho_from_epsilon(Fraction(epsilon), Fraction(1, delta))
        assert measured.converted(rho, Fraction(1, delta)) <= epsilon
        assert measured.converted(rho * Fraction(10_001, 10_000), Fraction(1, delta)) > epsilon


def test_what_is_spent_is_no_less_than_this_release(tmp_path):
    """Where all rows are asked for; else it may be about nobody, and stays open."""
    with state_in(tmp_path / "state"):
        project = clinic.make(tmp_path / "p", budget="{ epsilon = 50.0 }")
        texts = ("SELECT count(*) AS n FROM patients", "SELECT count(*) AS n FROM patients WHERE age > 30")
        everybody, some = (bundle_files.make_bundle(project, project.sql(text).ask(epsilon=1).id) for text in texts)
    assert worst(everybody) == worst(some) == "proved"
    assert limited(everybody, spent="1/1") == "proved"
    assert limited(everybody, spent="999/1000") == "broken"
    assert limited(some, spent="999/1000") == "open"


@pytest.mark.parametrize("accounting", ["either", "zcdp", "pure"])
def test_nothing_spent_is_not_what_a_release_costs(accounting, tmp_path):
    """By any accounting, of a count, of groups, of sums and quantiles, and of keys that were discovered."""
    with state_in(tmp_path / "state"):
        budget = "{ epsilon = 50.0, delta = 1e-4 }"
        project = clinic.make(tmp_path / "p", budget=budget, extra=f'accounting = "{accounting}"')
        grouped = "SELECT sex, {} AS n FROM patients GROUP BY sex"
        texts = ["SELECT count(*) AS n FROM patients", "SELECT note, count(*) AS n FROM patients GROUP BY note"]
        texts += [grouped.format(of) for of in size(("median(age)",), ("count(*)", "sum(age)", "median(age)"))]
        asked = [bundle_files.make_bundle(project, project.sql(text).ask(epsilon=1).id) for text in texts]
    assert {verdicts(files)["ledger"] for files in asked} == {"proved"}
    for files in asked:
        own = Fraction(opened(files)["plan"]["spent"])
        assert limited(files, spent="0/1") == limited(files, spent="1/10000") == "broken"
        assert limited(files, spent=f"{own.numerator}/{own.denominator}") == "proved"


@pytest.mark.parametrize(
    "lie", [{"row": 0}, {"row": 10**6}, {"row": "1"}, {"row": True}, {"commitment": "0" * 63}, {"commitment": "X" * 64}]
)
def test_the_ledgers_row_is_among_those_that_are_told_of(lie, bundles):
    def elsewhere(documents):
        documents["manifest"]["ledger"] |= lie
        documents["proof"]["ledger"] = documents["manifest"]["ledger"]

    assert verdicts(forged(bundles["rows: count"], elsewhere))["ledger"] == "broken"


# How it is called.


def test_a_key_without_a_value_is_no_key(bundles, tmp_path):
    folder = world.written(bundles["rows: count"], tmp_path / "out")
    assert world.recheck(folder).returncode == 0
    for words in (["--key"], ["--key", ""]):
        done = world.recheck(folder, *words)
        assert done.returncode == 3 and done.stdout == ""


def test_a_name_that_the_terminal_has_no_letters_for(bundles, tmp_path):
    def greek(documents):
        columns = documents["data"]["tables"][0]["columns"]
        next(each for each in columns if each["kind"] == "key")["name"] = "\N{GREEK SMALL LETTER ALPHA}"

    folder = world.written(forged(bundles["persons: words"], greek), tmp_path / "out")
    done = subprocess.run(
        [sys.executable, "-S", str(world.CHECKER), str(folder)],
        capture_output=True,
        text=True,
        env={"PYTHONIOENCODING": "ascii", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 1 and "\\u03b1" in done.stdout and not done.stderr


# Hostile numbers.


def many_rows(documents):
    """One minus the chance of a key, to the power of 10^9."""
    plan = documents["plan"]
    plan["schemas"]["visits"]["declared"]["rows_per_person"] = 10**9
    documents["proof"]["unit"]["rows"] = 10**9
    for each in documents["proof"]["relation"]:
        each["rows"] = 10**9
    thresholds(plan, scale="1/1", l1=10**9, threshold=2)


def negative_scale(documents):
    thresholds(documents["plan"], scale="-1/1", threshold=9 * 10**8)


def thresholds(plan, *, threshold, **event):
    own = stored(plan)
    events = own["event"]["events"] if own["event"]["kind"] == "together" else [own["event"]]
    next(each for each in events if each["kind"] == "threshold").update(event)
    keys = next(part for part in own["parts"] if part["kind"] == "keys")
    keys["threshold"] = threshold
    if keys["law"]:
        keys["law"]["scale"] = event["scale"]
    plan["event"] = own["event"]
    store(plan, own)


def long_events(documents):
    """Five hundred ratios that have no denominator in common."""
    chance = random.Random(1)
    events = [{"kind": "exponential", "epsilon": f"1/{chance.getrandbits(6500) | 1}"} for _ in range(500)]
    plan = documents["plan"]
    plan["event"] = {"kind": "together", "events": events}
    store(plan, stored(plan) | {"event": plan["event"]})


def nested_squares(documents):
    square = {"whole": [int("9" * 4000)]}
    for _ in range(10):
        square = {"times": [square, square]}
    documents["proof"]["question"]["statistics"][0][1] = square


HOSTILE = [
    ("persons: people of towns", many_rows, "broken"),
    ("rows: discovered", negative_scale, "broken"),
    ("rows: count", long_events, "broken"),
    ("rows: sum", nested_squares, "broken"),
]


@pytest.mark.parametrize(("name", "change", "verdict"), HOSTILE, ids=[each[1].__name__ for each in HOSTILE])
def test_a_hostile_bundle_ends_with_a_sentence(name, change, verdict, bundles):
    """In seconds of CPU, where it once did not end, or was wrong; a minute is far beyond what a slow machine needs."""
    documents = opened(bundles[name])
    change(documents)
    files = signed_again(bundles[name] | {f"{each}.json": json.dumps(documents[each]).encode() for each in documents})
    began = time.process_time()
    found = {name: (verdict, words) for verdict, name, words in checker().checked(files).found}
    assert time.process_time() - began < 60
    assert found["sensitivity"][0] == verdict and found["sensitivity"][1]


def test_a_tower_of_strategies_is_left():
    relation, _ = rules()
    one = {"kind": "identity", "size": 2_000_000}
    with pytest.raises(relation.Open):
        importlib.import_module("strategies").norms({"kind": "stack", "parts": [one] * 3000})
