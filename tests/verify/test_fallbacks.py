"""`coalesce` of numbers: which argument a group takes follows from noisy numbers, and no other one passes for it."""

import importlib
import json
from fractions import Fraction

import pytest

from discreet.answers.answer_block import AnswerBlock
from discreet.bundle import bundle_files
from discreet.plan import formula
from verify import world
from verify.conftest import state_in
from verify.forger import forged, stored
from verify.forging import checker, signed_again, verdicts
from verify.test_computed import nearer, table_of

#: The hospital has no ward of NULL: a group of nobody, whose averages are not known.
ASKED = {
    "average": "SELECT ward, coalesce(avg(cost), 7) AS a FROM visits GROUP BY ward",
    "averages": "SELECT ward, coalesce(avg(cost), avg(weight)) AS a FROM visits GROUP BY ward",
    "ratio": "SELECT ward, coalesce(100.0 * count_if(weight > 90) / nullif(count(*), 0), 0) AS p FROM visits GROUP BY ward",
    "sums": "SELECT sex, coalesce(count(*), 0) AS n, coalesce(sum(cost), 0) AS s FROM visits GROUP BY sex",
    "around": "SELECT ward, 100 * coalesce(avg(cost), 2) AS b, coalesce(avg(weight), 7) + coalesce(avg(cost), 1) AS c FROM visits GROUP BY ward",
    "spread": "SELECT ward, coalesce(stddev(weight), 0) AS d FROM visits GROUP BY ward",
    "sets": "SELECT sex, ward, coalesce(avg(cost), 0) AS a FROM visits GROUP BY ROLLUP (sex, ward) HAVING coalesce(avg(cost), 0) > 1",
    "none": "SELECT ward, avg(cost) AS a FROM visits WHERE cost < 48 GROUP BY ward",
}  # fmt: skip


@pytest.fixture(scope="module", params=["pure", "zcdp"])
def made(request, tmp_path_factory):
    """Each with so little noise that only the group of nobody is not known."""
    with pytest.MonkeyPatch.context() as patch, state_in(tmp_path_factory.mktemp("state") / "here"):
        if request.param == "zcdp":
            budget = "budget = { epsilon = 900.0, delta = 1e-4 }"
            patch.setattr(world, "HOSPITAL", world.HOSPITAL.replace(budget, f'{budget}\naccounting = "zcdp"'))
        project = world.persons_project(tmp_path_factory.mktemp("project") / "p")
        epsilon = 20 if request.param == "pure" else 4
        releases = {name: project.sql(text).ask(epsilon=epsilon).id for name, text in ASKED.items()}
        yield {name: bundle_files.make_bundle(project, release) for name, release in releases.items()}


@pytest.mark.parametrize("name", ASKED)
def test_it_is_proved(name, made):
    assert set(verdicts(made[name]).values()) == {"proved"}


@pytest.mark.parametrize("epsilon", [0.02, 0.3, 1])
def test_it_is_proved_at_any_noise(epsilon, tmp_path):
    """Where intervals reach most of the bounds either argument may be taken, and the product takes one of them."""
    with state_in(tmp_path / "state"):
        project = world.persons_project(tmp_path / "p")
        for name in ("average", "averages", "sums", "around", "spread"):
            files = bundle_files.make_bundle(project, project.sql(ASKED[name]).ask(epsilon=epsilon).id)
            assert set(verdicts(files).values()) == {"proved"}, name


def place_of(table, is_known):
    """The first row of a ward, or that of none."""
    return next(turn for turn, row in enumerate(table["rows"]) if (row[0] is not None) == is_known)


def cell(value, *, is_known):
    """Another number in a row of which something is known, or in one of nobody; of the true one and its half width."""

    def changed(documents):
        table = table_of(documents)
        row, ends = (table[part][place_of(table, is_known)] for part in ("rows", "intervals"))
        row[-1] = value(row[-1], (ends[-1][1] - ends[-1][0]) / 2) if callable(value) else value

    return changed


def interval(times):
    def changed(documents):
        table = table_of(documents)
        ends = table["intervals"][place_of(table, is_known=True)]
        low, high = ends[-1]
        ends[-1] = [round((low + high) / 2 + sign * times * (high - low) / 2, 3) for sign in (-1, 1)]

    return changed


def tree(change):
    """Another formula in the proof."""

    def changed(documents):
        (own,) = documents["proof"]["shown"]
        own["formulas"][-1][1] = change(own["formulas"][-1][1])

    return changed


#: The bundle, the lie, and the line that tells.
LIES = {
    "the last argument where the first is known": ("average", cell(7.0, is_known=True), "numbers"),
    "the first argument where it is hidden": ("average", cell(24.5, is_known=False), "numbers"),
    "a number of nobody": ("average", cell(163.0, is_known=False), "numbers"),
    "nothing, where there is a number": ("average", cell(None, is_known=True), "numbers"),
    "nothing, where another number is taken": ("average", cell(None, is_known=False), "numbers"),
    "a digit": ("average", cell(nearer, is_known=True), "numbers"),
    "all digits": ("average", cell(lambda value, half: value + half / 1e4, is_known=True), "numbers"),
    "a shorter interval": ("average", interval(0.9), "numbers"),
    "a longer interval": ("average", interval(1.4), "numbers"),
    "arguments exchanged": ("averages", tree(lambda told: [told[0], *told[:0:-1]]), "numbers"),
    "the first argument alone": ("average", tree(lambda told: told[1]), "numbers"),
    "the last argument alone": ("averages", tree(lambda told: told[-1]), "numbers"),
    "a digit of a ratio": ("ratio", cell(lambda value, half: value + half / 1e4, is_known=True), "numbers"),
    "the last argument for a ratio": ("ratio", cell(0.0, is_known=True), "numbers"),
    "another number for a ratio of nobody": ("ratio", cell(163.0, is_known=False), "numbers"),
    "a digit of a sum": ("sums", cell(nearer, is_known=True), "numbers"),
    "a shorter interval of a sum": ("sums", interval(0.9), "numbers"),
    "the last argument for a sum": ("sums", cell(0.0, is_known=True), "numbers"),
    "a digit of two": ("around", cell(nearer, is_known=True), "numbers"),
    "a number of nobody for two": ("around", cell(163.0, is_known=False), "numbers"),
    "a digit of a deviation": ("spread", cell(nearer, is_known=True), "numbers"),
    "a coalesce that the text has not": ("none", tree(lambda told: ["coalesce", told, ["number", "48/1"]]), "names"),
    "a coalesce of a number's own": ("none", tree(lambda told: ["coalesce", told]), "names"),
}


@pytest.mark.parametrize("title", LIES)
def test_no_other_argument_passes(title, made):
    name, lie, line = LIES[title]
    assert set(verdicts(forged(made[name], lambda _: None)).values()) == {"proved"}
    assert verdicts(forged(made[name], lie))[line] == "broken"


def another_number(documents):
    """A number of nobody, in the table and in the proof: as if the query named it."""
    cell(163.0, is_known=False)(documents)
    tree(lambda told: [*told[:-1], ["number", "163/1"]])(documents)


def other_arguments(documents):
    """Arguments in another order, with numbers and bounds that follow."""
    tree(lambda told: [told[0], *told[:0:-1]])(documents)


@pytest.mark.parametrize(("name", "lie"), [("average", another_number), ("averages", other_arguments)])
def test_what_the_text_does_not_say_is_not_proved(name, lie, made):
    found = verdicts(forged(made[name], lie))
    assert "proved" not in (found["numbers"], found["names"]), found


#: What a checker would miss that forgets a rule: the lie, the rule's module and name, and what it would be.
FORGOTTEN = {
    "a number of nobody for two": ("computed", "Group", "is_shown", lambda *_: True),
    "a shorter interval": ("computed", "Group", "fits", lambda *_: True),
    "the first argument where it is hidden": ("computed", "Group", "hidden", lambda *_: (False, False)),
    "a coalesce that the text has not": ("selected", "Spoken", "compare", lambda *_: None),
}


def shown_as_known(documents):
    """In the group of nobody the average of its noisy numbers, moved to the nearer bound."""
    table, (own,) = table_of(documents), documents["proof"]["shown"]
    plan, (_, total, rows, step) = documents["plan"], own["formulas"][-1][1][1]
    (part,) = [each for each in stored(plan)["parts"] if each["kind"] == "cells"]
    row = place_of(table, is_known=False)
    group = row if own["cells"] is None else own["cells"][row][1]
    above, below = (part["noisy"][part["statistics"].index(number)][group] for number in (total, rows))
    asked = sorted(
        documents["proof"]["question"]["statistics"],
        key=lambda each: json.dumps(each, sort_keys=True, separators=(",", ":")),
    )
    _, _, centre, grain, _ = asked[total]
    mean = float(Fraction(step)) * (centre + grain * above / max(below, 1))
    table["rows"][row][-1] = min(max(round(mean, 0), 0.0), 50.0)


@pytest.mark.parametrize("title", FORGOTTEN)
def test_each_rule_is_needed(title, made, monkeypatch):
    checker()
    module, kind, name, forgetful = FORGOTTEN[title]
    bundle, lie, line = LIES[title]
    monkeypatch.setattr(getattr(importlib.import_module(module), kind), name, forgetful)
    lie = shown_as_known if title.startswith("the first") else lie
    assert verdicts(forged(made[bundle], lie))[line] == "proved"


def hidden_numbers_are_taken(patch):
    """The first argument, whatever its noise."""
    true = formula.choose_argument
    patch.setattr(
        formula, "choose_argument", lambda call, unknown, value: true(call, lambda of: 0 * value(of) > 0, value)
    )


def the_last_is_taken(patch):
    true = formula.choose_argument
    patch.setattr(
        formula, "choose_argument", lambda call, unknown, value: true(call, lambda of: value(of) == value(of), value)
    )


def shorter_intervals(patch):
    true = AnswerBlock._noise_interval
    patch.setattr(AnswerBlock, "_noise_interval", lambda self, of, level: true(self, of, level - (1 - level)))


MUTANTS = [hidden_numbers_are_taken, the_last_is_taken, shorter_intervals]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_what_a_wrong_discreet_takes_is_seen(mutant, tmp_path, monkeypatch):
    with state_in(tmp_path / "state"):
        project = world.persons_project(tmp_path / "p")
        release = project.sql(ASKED["average"]).ask(epsilon=20).id
        assert set(verdicts(bundle_files.make_bundle(project, release)).values()) == {"proved"}
        mutant(monkeypatch)
        assert verdicts(bundle_files.make_bundle(project, release))["numbers"] == "broken"


def test_an_older_bundle_stays_open(made):
    """Its proof does not tell formulas with `coalesce`."""
    found = verdicts(signed_again(made["average"], proof=lambda proof: proof | {"shown": [None]}))
    assert {name for name, verdict in found.items() if verdict != "proved"} == {"numbers", "names"}
    assert {found["numbers"], found["names"]} == {"open"}


def test_coalesce_inside_of_coalesce_stays_open(tmp_path):
    with state_in(tmp_path / "state"):
        project = world.persons_project(tmp_path / "p")
        text = "SELECT coalesce(coalesce(avg(cost), 1), 2) AS a FROM visits"
        found = verdicts(bundle_files.make_bundle(project, project.sql(text).ask(epsilon=1).id))
    assert {name for name, verdict in found.items() if verdict != "proved"} == {"numbers"}


def test_a_number_at_an_end_stays_open(tmp_path):
    """The hull of a ratio and a number far away is so wide that the ratio is rounded beyond it, and moved to its end."""
    with state_in(tmp_path / "state"):
        project = world.persons_project(tmp_path / "p")
        text = "SELECT coalesce(ln(sum(cost)), 1) AS a FROM visits"
        files = bundle_files.make_bundle(project, project.sql(text).ask(epsilon=20).id)
    ((shown,),), (((low, high),),) = (
        json.loads(files["data.json"])["tables"][0][part] for part in ("rows", "intervals")
    )
    assert low == 1.0 and high - shown < 0.02 and len(repr(shown)) > 12
    assert {name: verdict for name, verdict in verdicts(files).items() if verdict != "proved"} == {"numbers": "open"}
