"""Correlations, regressions, calendar fields, quotients of a subquery's columns and roots: proved, and no lie passes."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.bundle import bundle_files, sheet
from discreet.plan.formula import aggregate_formulas
from verify import world
from verify.conftest import state_in
from verify.forger import forged, store, stored
from verify.forging import verdicts
from verify.test_computed import ends, nearer, number, other_text, shown

PER_PERSON = "(SELECT id, sum(cost) AS s, count(*) AS n FROM visits GROUP BY id)"
ASKED = {
    "correlation": "SELECT corr(cost, weight) AS c FROM visits",
    "covariances": "SELECT covar_samp(cost, weight) AS s, covar_pop(cost, weight) AS c FROM visits WHERE cost < 45",
    "line": "SELECT regr_r2(cost, weight) AS r, regr_intercept(cost, weight) AS i, regr_slope(cost, weight) AS s FROM visits",
    "calendar": "SELECT sum(year(day)) AS y, avg(extract(month FROM seen)) AS m FROM visits WHERE cost < 44",
    "weeks": "SELECT avg(extract(week FROM day)) AS w FROM visits WHERE cost < 43",
    "quotient": f"SELECT avg(s / n) AS q FROM {PER_PERSON}",
    "quotient of sums": f"SELECT sum(s) / sum(n) AS q FROM {PER_PERSON}",
    "mean of means": "SELECT avg(a) AS q FROM (SELECT id, avg(cost) AS a FROM visits GROUP BY id)",
    "two means": "SELECT avg(cost) * avg(weight) AS x FROM visits WHERE cost < 40",
    "a mean that is cut": "SELECT least(avg(cost), 5) AS l, greatest(sum(cost) / count(*), 1) AS g FROM visits WHERE cost < 39",
    "root": "SELECT sqrt(sum(weight) / nullif(count(*), 0)) AS r FROM visits WHERE cost < 42",
    "decimals": "SELECT sum(cost) / count(*) AS q, (sum(cost) + sum(weight)) / count(*) AS r FROM visits WHERE cost < 41",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    with state_in(tmp_path_factory.mktemp("state") / "here"):
        project = world.persons_project(tmp_path_factory.mktemp("persons") / "p")
        releases = {name: project.sql(text).ask(epsilon=40).id for name, text in ASKED.items()}
        yield {name: bundle_files.make_bundle(project, release) for name, release in releases.items()}


@pytest.mark.parametrize("name", ASKED)
def test_it_is_proved(name, made):
    assert set(verdicts(made[name]).values()) == {"proved"}
    assert None not in [cell for table in json.loads(made[name]["data.json"])["tables"] for cell in table["rows"][0]]


def roles(documents):
    """The sums of the two columns exchanged."""
    (told,) = documents["proof"]["shown"]
    tree = told["formulas"][-1][1]
    tree[2], tree[4] = tree[4], tree[2]


def less_noise(documents):
    """Half of the noise on each vector, which is said to move half as far."""
    plan, proof = documents["plan"], documents["proof"]
    own = stored(plan)
    for step in proof["measured"][plan["release"]]:
        step["event"]["l1"] = max(1, step["event"]["l1"] // 2)
        step["l1"] = max(1, step["l1"] // 2)
    events = [step["event"] for step in proof["measured"][plan["release"]]]
    plan["event"] = own["event"] = {"kind": "together", "events": events} if "events" in plan["event"] else events[0]
    store(plan, own)


def fewer_months(documents):
    """Months that are said to go up to 6, so that the sum moves half as far."""
    documents["proof"]["measured"][documents["plan"]["release"]][0]["terms"]["high"] = 6


def wider_grid(documents):
    """A quotient in steps of 1, as if nothing were divided."""
    (told,) = documents["proof"]["shown"]
    told["formulas"][0][1][-1] = "1/7"


def a_hundredfold(documents):
    """A sum that is told as a hundred times what it is, in units that its column does not have."""
    (told,), (table,) = documents["proof"]["shown"], documents["data"]["tables"]
    _, above, below = told["formulas"][0][1]
    _, (_, size), (_, summed) = above
    told["formulas"][0][1] = ["/", ["sum", summed, f"{100 * Fraction(size)}" + "/1"], below]
    low, high = table["intervals"][0][0]
    table["intervals"][0][0] = list(sheet._outward((100 * low, 100 * high), None))
    table["rows"][0][0] = round(100 * table["rows"][0][0], 6)


LIES = {
    "a sum a hundred times too large": ("decimals", a_hundredfold, "numbers"),
    "another correlation": ("correlation", number(nearer), "numbers"),
    "a shorter interval of a correlation": ("correlation", ends(0.85), "numbers"),
    "a longer interval of a correlation": ("correlation", ends(1.5), "numbers"),
    "a correlation of less noise": ("correlation", less_noise, "sensitivity"),
    "a correlation that is a covariance": ("correlation", shown(0, "formulas", lambda tree: ["covar_pop", *tree[1:3], tree[4], *tree[6:]]), "numbers"),
    "another covariance": ("covariances", number(nearer), "numbers"),
    "a shorter interval of a covariance": ("covariances", ends(0.85), "numbers"),
    "a covariance of less noise": ("covariances", less_noise, "sensitivity"),
    "a covariance in other units": ("covariances", shown(1, "formulas", lambda tree: [*tree[:-1], "1/1"]), "numbers"),
    "a sample that is a population": ("covariances", shown(0, "formulas", lambda tree: ["covar_pop", *tree[1:]]), "numbers"),
    "covariances exchanged in the text": ("covariances", other_text("SELECT covar_pop(cost, weight) AS s, covar_samp(cost, weight) AS c FROM visits WHERE cost < 45"), "names"),
    "another slope": ("line", number(nearer), "numbers"),
    "a shorter interval of a slope": ("line", ends(0.85), "numbers"),
    "a slope of less noise": ("line", less_noise, "sensitivity"),
    "a slope of exchanged columns": ("line", roles, "numbers"),
    "another intercept": ("line", number(nearer, column=1), "numbers"),
    "another month": ("calendar", number(nearer), "numbers"),
    "a sum of years and one": ("calendar", number(lambda value, _: value + 10, column=0), "numbers"),
    "months of less noise": ("calendar", less_noise, "sensitivity"),
    "fewer months": ("calendar", fewer_months, "sensitivity"),
    "another week": ("weeks", number(nearer), "numbers"),
    "a shorter interval of weeks": ("weeks", ends(0.9), "numbers"),
    "another quotient": ("quotient", number(nearer), "numbers"),
    "a quotient of less noise": ("quotient", less_noise, "sensitivity"),
    "a shorter interval of a quotient": ("quotient", ends(0.9), "numbers"),
    "another quotient of sums": ("quotient of sums", number(nearer), "numbers"),
    "a shorter interval of a quotient of sums": ("quotient of sums", ends(0.9), "numbers"),
    "a quotient of sums of less noise": ("quotient of sums", less_noise, "sensitivity"),
    "another mean of means": ("mean of means", number(nearer), "numbers"),
    "a shorter interval of a mean of means": ("mean of means", ends(0.9), "numbers"),
    "means of less noise": ("mean of means", less_noise, "sensitivity"),
    "another root": ("root", number(nearer), "numbers"),
    "a shorter interval of a root": ("root", ends(0.85), "numbers"),
    "a longer interval of a root": ("root", ends(8), "numbers"),
    "another number of decimals": ("decimals", number(nearer), "numbers"),
    "a shorter interval of three numbers": ("decimals", ends(0.85), "numbers"),
}  # fmt: skip


@pytest.mark.parametrize("title", LIES)
def test_a_lie_is_seen(title, made):
    name, lie, line = LIES[title]
    assert verdicts(forged(made[name], lie))[line] == "broken"


#: What no rule contradicts for sure, and none proves.
UNSURE = {
    "a slope the other way round": ("line", other_text(ASKED["line"].replace("cost, weight", "weight, cost")), "names"),
    "a quotient in other units": ("quotient", wider_grid, "numbers"),
    "a quotient of other sums": ("quotient of sums", other_text(f"SELECT sum(n) / sum(s) AS q FROM {PER_PERSON}"), "names"),
}  # fmt: skip


@pytest.mark.parametrize("title", UNSURE)
def test_what_the_text_says_otherwise_is_not_proved(title, made):
    name, lie, line = UNSURE[title]
    assert verdicts(forged(made[name], lie))[line] != "proved"


def products_alone(patch):
    """E(xy) for E(xy) - E(x) E(y), but not where it is told."""
    true = aggregate_formulas._joint
    forget = lambda *cells: replace(true(*cells), operator="+")  # noqa: E731
    patch.setattr(aggregate_formulas, "_joint", forget)


MUTANTS = {products_alone: "SELECT covar_pop(cost, weight) AS c FROM visits WHERE cost < 39"}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_what_a_wrong_discreet_computes_is_seen(mutant, tmp_path, monkeypatch):
    with state_in(tmp_path / "state"):
        project = world.persons_project(tmp_path / "p")
        mutant(monkeypatch)
        release = project.sql(MUTANTS[mutant]).ask(epsilon=41)
        assert verdicts(bundle_files.make_bundle(project, release.id))["numbers"] == "broken"
