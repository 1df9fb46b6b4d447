"""Best estimates of ranges and batches: what the product makes is proved, and no other number passes for one."""

import importlib
import json
import math
from collections import Counter
from fractions import Fraction

import pytest

from discreet.answers.workload.grid_answers import GridAnswers
from discreet.bundle import bundle_files, sheet
from discreet.inference.linear.solver_interface import Solver
from discreet.inference.linear.solvers import WoodburySolver
from verify import world
from verify.conftest import state_in
from verify.forger import forged, store, stored
from verify.forging import checker, signed_again, verdicts

#: Bundles are made once for all tests of this folder, by whichever comes first.

HONEST = ["ranges", "binary", "identity", "ranges of persons", "ranges by groups", "batch of persons", "batch of cells", "batch of sets", "one statement", "gaussian batch"]  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_best_estimates_are_proved(name, programs):
    assert set(verdicts(programs[name]).values()) == {"proved"}


def tables_of(documents):
    return documents["data"]["tables"][:-1]


def number(change, *, turn=0, row=0, ends=False):
    """Another number of a table, or other ends, by the number and its half width."""

    def changed(documents):
        table = tables_of(documents)[turn]
        low, high = table["intervals"][row][-1]
        if ends:
            table["intervals"][row][-1] = list(sheet._outward(change(low, high), None))
        else:
            table["rows"][row][-1] = change(table["rows"][row][-1], (high - low) / 2)

    return changed


def digit(shown, half):
    """The next number with as many digits: in the last one of two that the noise leaves, or of four, in ranges."""
    unit = 10.0 ** (math.floor(math.log10(half)) - 1)
    return round(shown + unit, 12)


def finer(shown, half):
    return round(shown + 10.0 ** (math.floor(math.log10(half)) - 2), 12)


def times(factor):
    return lambda low, high: (
        (low + high) / 2 - factor * (high - low) / 2,
        (low + high) / 2 + factor * (high - low) / 2,
    )


def shifted(low, high):
    return low + (high - low) / 10, high + (high - low) / 10


def other_rows(documents):
    """The least and the largest number of all tables exchanged, with their intervals."""
    places = [(table, row) for table in tables_of(documents) for row in range(len(table["rows"]))]
    (first, one), *_, (last, two) = sorted(places, key=lambda each: each[0]["rows"][each[1]][-1])
    for part in ("rows", "intervals"):
        first[part][one][-1], last[part][two][-1] = last[part][two][-1], first[part][one][-1]


def other_groups(documents):
    table = tables_of(documents)[0]
    half = len(table["rows"]) // 4
    for one, two in zip(table["rows"][:half], table["rows"][half : 2 * half], strict=True):
        one[0], two[0] = two[0], one[0]


def other_bins(documents):
    """Ranges that begin where others do."""
    table = tables_of(documents)[0]
    for place in (0, 1):
        one, two = table["rows"][:2]
        one[-3 + place], two[-3 + place] = two[-3 + place], one[-3 + place]


def other_condition(documents):
    """A statement that is said to have asked for other rows, whose cells there are."""
    first, second = documents["proof"]["answers"][:2]
    first["question"]["plan"] = second["question"]["plan"]


def other_statement(documents):
    """The table of one statement as that of another."""
    one, two = documents["proof"]["answers"][:2]
    one["statement"], two["statement"] = two["statement"], one["statement"]


def twice(documents):
    documents["proof"]["answers"][1]["statement"] = documents["proof"]["answers"][0]["statement"]


def unread(*inside):
    """An exact number under a name that nobody reads, in what the proof says of a statement."""

    def changed(documents):
        told = documents["proof"]["answers"][0]
        for name in inside:
            told = told[name]
        told["exact"] = 163

    return changed


def bounded(documents):
    """Exact numbers as the bounds of a column."""
    tables_of(documents)[0]["columns"][-1]["bounds"] = [163, 164]


def less_noise(documents):
    """Half of the noise in every step, which moves half as far; laws and events agree."""
    for part in ("plan", "proof"):
        for step in documents[part]["steps"]:
            for event in step["event"].get("events", [step["event"]]):
                event["l1"] = max(1, event["l1"] // 2) if event["l1"] > 1 else 2
    assert documents["plan"]["steps"] == documents["proof"]["steps"]


def narrower_law(documents):
    """A law of half the noise beside the numbers, and intervals half as long."""
    plan = documents["plan"]
    own = stored(plan)
    for law in [own["law"]] if "law" in own else [grid["law"] for grid in own["grids"]]:
        whole, part = law["scale"].split("/")
        law["scale"] = f"{int(whole) // 2}/{part}" if int(whole) % 2 == 0 else f"{whole}/{2 * int(part)}"
    store(plan, own)
    for table in tables_of(documents):
        for row in table["intervals"]:
            row[-1] = list(sheet._outward(times(0.5)(*row[-1]), None))


def narrower_strategy(documents):
    """Another strategy beside the numbers than was measured."""
    own = stored(documents["plan"])
    own["strategy"] = {"kind": "identity", "size": own["edges"][-1]}
    store(documents["plan"], own)


#: The bundle, the lie and the line that tells.
LIES = {
    "a digit of a range": ("ranges", number(finer), "numbers"),
    "a digit of a range in a tree": ("binary", number(finer, row=7), "numbers"),
    "a digit more": ("binary", number(lambda shown, half: shown + half / 1e6), "numbers"),
    "a shorter interval of a range": ("ranges", number(times(0.9), ends=True), "numbers"),
    "a longer interval of a range": ("binary", number(times(1.3), ends=True), "numbers"),
    "an interval beside a range": ("ranges", number(shifted, ends=True), "numbers"),
    "ranges exchanged": ("ranges", other_rows, "numbers"),
    "groups of ranges exchanged": ("ranges by groups", other_groups, "numbers"),
    "bins exchanged": ("ranges", other_bins, "numbers"),
    "ranges of less noise": ("ranges of persons", less_noise, "sensitivity"),
    "ranges of a narrower law": ("ranges", narrower_law, "sensitivity"),
    "ranges of another strategy": ("binary", narrower_strategy, "numbers"),
    "a digit of a batch": ("batch of cells", number(digit), "numbers"),
    "a digit of a set": ("batch of sets", number(digit, row=3), "numbers"),
    "a digit of one statement": ("one statement", number(digit), "numbers"),
    "a shorter interval of a batch": ("batch of cells", number(times(0.9), ends=True), "numbers"),
    "a longer interval of a batch": ("batch of sets", number(times(1.3), ends=True, row=2), "numbers"),
    "an interval beside a number": ("gaussian batch", number(shifted, ends=True), "numbers"),
    "a shorter gaussian interval": ("gaussian batch", number(times(0.9), ends=True), "numbers"),
    "groups of a batch exchanged": ("batch of cells", other_rows, "numbers"),
    "a statement of other rows": ("batch of cells", other_condition, "numbers"),
    "statements exchanged": ("batch of cells", other_statement, "numbers"),
    "a statement twice": ("batch of cells", twice, "numbers"),
    "a statement with more members": ("batch of cells", unread(), "documents"),
    "a question with more members": ("batch of cells", unread("question"), "documents"),
    "a table with more members": ("batch of cells", unread("shown"), "documents"),
    "bounds of a best estimate": ("batch of cells", bounded, "numbers"),
    "bounds of a range": ("ranges", bounded, "numbers"),
    "a batch of less noise": ("batch of persons", less_noise, "sensitivity"),
    "a batch of a narrower law": ("batch of sets", narrower_law, "sensitivity"),
    "an interval of a lone average": ("batch of persons", number(times(0.5), turn=4, ends=True), "numbers"),
}  # fmt: skip


@pytest.mark.parametrize("title", LIES)
def test_no_other_number_passes_for_a_best_estimate(title, programs):
    name, lie, line = LIES[title]
    assert verdicts(programs[name])[line] == "proved"
    assert verdicts(forged(programs[name], lie))[line] == "broken"


def test_a_law_is_inverted_as_it_is():
    """Sums of equal weights have a law that is known: of many draws a normal one, of one draw its own."""
    checker()
    beyond = __import__("ends").beyond
    gaussian, laplace = (
        {"kind": "discrete-gaussian", "sigma2": "10000/1"},
        {"kind": "discrete-laplace", "scale": "100/1"},
    )
    for many in (3, 16, 100):
        chance = beyond([(1 / math.sqrt(many), gaussian)] * many, 196.0)
        assert abs(chance - math.erfc(1.96 / math.sqrt(2))) < 0.001
    exact = math.exp(-5) * (1 + 5 * 5 / 8 + 5**2 / 8)  # of three Laplace variables
    assert abs(beyond([(1.0, laplace)] * 3, 500.0) - exact) < 0.002
    assert beyond([(1.0, laplace)] * 3, -1.0) == 1.0
    mixed = [(1.0, gaussian), (1.0, gaussian), (1e-5, laplace)]
    assert abs(beyond(mixed, 300.0) - math.erfc(3 / 2)) < 0.001


def test_a_quotient_beyond_its_bounds_is_as_unsure_as_at_the_nearest():
    """5,000 / 100 where no quotient is above 10: the noise is moved until 10 fits, and the interval begins there."""
    checker()
    ends, law = __import__("ends"), {"kind": "discrete-laplace", "scale": "10/1"}
    forms = tuple(Counter({number: Fraction(1)}) for number in (0, 1))
    quotient = ends.Inverted(forms, {0: (5000.0, law), 1: (100.0, law)}.get, [0.0, 10.0])
    low, high = (quotient.edge(end, 0.05, 1.0, 0.0) for end in (0.0, 10.0))
    assert high == 10 and 0 < low < 10
    assert abs(ends.beyond([(1.0, law), (low, law)], (10 - low) * 100) - 0.05) < 0.002


def only_single_cells(patch):
    """Ranges as their own noisy number, whatever the other lines say."""
    patch.setattr(WoodburySolver, "fit", lambda self, noisy: noisy[: len(self._weights)] / self._weights)


def half_as_wide(patch):
    for kind in (Solver, WoodburySolver):
        true = kind.half_widths
        patch.setattr(kind, "half_widths", lambda self, *more, true=true: true(self, *more) / 2)


def doubled_numbers(patch):
    true = GridAnswers.answers
    patch.setattr(GridAnswers, "answers", lambda self, noisy: 2 * true(self, noisy))


MUTANTS = [
    (only_single_cells, "ranges"),
    (half_as_wide, "ranges"),
    (doubled_numbers, "batch of cells"),
]


@pytest.mark.parametrize(("mutant", "name"), MUTANTS, ids=lambda each: getattr(each, "__name__", each))
def test_what_a_wrong_solver_makes_is_seen(mutant, name, tmp_path, monkeypatch):
    with state_in(tmp_path / "state"):
        project = world.rows_project(tmp_path / "p")
        release = world.ESTIMATES[name](project)
        mutant(monkeypatch)
        assert verdicts(bundle_files.make_bundle(project, release))["numbers"] == "broken"


def test_who_says_less_has_less_proved(programs):
    """A batch whose proof does not say what its statements ask for is one of an older version."""

    def silent(proof):
        del proof["answers"]
        return proof

    assert verdicts(signed_again(programs["batch of cells"], proof=silent))["numbers"] == "open"


def test_many_best_estimates_are_open(programs, monkeypatch):
    checker()
    monkeypatch.setattr(__import__("estimates"), "MOST_WORK", 1000)
    assert verdicts(programs["binary"])["numbers"] == "open"
    assert json.loads(programs["binary"]["plan.json"])["kind"] == "ranges"


def test_an_interval_without_width_is_of_noise_that_nearly_never_is():
    """At an epsilon of hundreds: a number is itself, and its interval, too, if noise is there in a case of 20 at most."""
    estimates = importlib.import_module("estimates")
    strategy = {"kind": "identity", "size": 3}
    law = {"kind": "discrete-laplace", "scale": "1/1000"}
    still = estimates.LeastSquares(strategy, law)
    weights = still.weights(frozenset([1]))
    for shown, ends, is_right in ((7.0, (7.0, 7.0), True), (8.0, (8.0, 8.0), False), (7.0, (7.0, 7.5), False)):
        assert still.fits(shown, ends, 7.0, weights, places=4) is is_right
    loud = estimates.LeastSquares(strategy, law | {"scale": "1/2"})
    assert not loud.fits(7.0, (7.0, 7.0), 7.0, weights, places=4)
    assert not still.fits(1e-6, (1e-6, 1e-6), 0.0, [0.0, 0.0, 0.0], places=4)
