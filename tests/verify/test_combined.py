"""Numbers that are combined from several measurements of one query: proved, and no other combination passes for one."""

import functools
import importlib
import json
import math
import operator
import random
from fractions import Fraction

import numpy as np
import pytest

from discreet.answers import refine
from discreet.answers.refine import AnswerReading
from discreet.bundle import bundle_files
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.noise_combination import CombinedNoise, inverse_variance_weights
from discreet.plan.formula import uncertainty
from verify import world
from verify.conftest import state_in
from verify.forger import forged, store, stored
from verify.forging import checker, signed_again, verdicts
from verify.test_computed import nearer, table_of

#: Of each a text, and the epsilons of its measurements. Rows are of the clinic, persons of the hospital.
ROWS = {
    "count": ("SELECT count(*) AS n FROM patients WHERE age > 20", ("0.004", "0.002")),
    "groups": (
        "SELECT sex, count(*) AS n, sum(age) AS s, avg(age) AS a FROM patients GROUP BY sex ORDER BY n DESC",
        ("0.5", "0.25", "0.125"),
    ),
    "nearly without noise": ("SELECT count(*) AS n, sum(age) AS s FROM patients WHERE age > 22", (12, 11)),
}
PERSONS = {
    "multiples": (
        "SELECT ward, sum(cost) / 10 AS s, count(*) * 3 AS k FROM visits GROUP BY ward HAVING count(*) > 100 ORDER BY k DESC",
        (2, 1),
    ),
    "spreads": ("SELECT stddev(weight) AS d, corr(cost, weight) AS r, sum(cost) / count(*) AS q FROM visits", (20, 15)),
    "median beside": (
        "SELECT sex, median(cost) AS m, count(*) AS n, avg(weight) AS a FROM visits GROUP BY sex",
        (1, "0.5"),
    ),
    "fallback": ("SELECT ward, coalesce(avg(cost), 3) AS a FROM visits GROUP BY ward", (1, 1)),
}
ZCDP = {"gaussian": ROWS["groups"], "gaussian sets": ("SELECT sex, smoker, count(*) AS n, avg(age) AS a FROM patients GROUP BY CUBE (sex, smoker)", (1, "0.5"))}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The bundle of the last measurement of each, made again with noise of its own, and not refined."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.answers.more_precise.refined_quote", lambda *_, **__: None)
        found = {}
        for asked, project_of, more in (
            (ROWS, world.rows_project, {}),
            (PERSONS, world.persons_project, {}),
            (ZCDP, world.rows_project, {"extra": 'accounting = "zcdp"'}),
        ):
            with state_in(tmp_path_factory.mktemp("state") / "here"):
                project = project_of(tmp_path_factory.mktemp("project") / "p", **more)
                found |= {
                    name: bundle_files.make_bundle(project, again(project, *told)) for name, told in asked.items()
                }
        yield found


def again(project, text, epsilons):
    release = project.sql(text).ask(epsilon=epsilons[0])
    for epsilon in epsilons[1:]:
        release = project.again(release.id, epsilon=epsilon)
    return release.id


@pytest.mark.parametrize("name", [*ROWS, *PERSONS, *ZCDP])
def test_it_is_proved(name, made):
    plan, (told,) = json.loads(made[name]["plan.json"]), json.loads(made[name]["proof.json"])["shown"]
    also = json.loads(plan["payloads"][plan["release"]])["also"]
    assert also and told["combined"] == [plan["release"], *also]
    assert set(verdicts(made[name]).values()) == {"proved"}


def cell(column, change):
    """Another number in the first row of a column, by the number and its half width."""

    def changed(documents):
        table = table_of(documents)
        value, (low, high) = table["rows"][0][column], table["intervals"][0][column]
        table["rows"][0][column] = change(value, (high - low) / 2)

    return changed


def interval(column, times, rows=None):
    """Intervals so many times as long, of all rows or of some."""

    def changed(documents):
        for row in table_of(documents)["intervals"][:rows]:
            low, high = row[column]
            middle, far = (low + high) / 2, times * (high - low) / 2
            row[column] = [middle - far, middle + far]

    return changed


def last_place(documents):
    row = table_of(documents)["intervals"][0]
    row[-1] = [math.nextafter(row[-1][0], math.inf), row[-1][1]]


def by_weights(weigh, times=1.0):
    """The first number and its interval as some weights make them, times so much; `weigh`: of the laws."""

    def changed(documents):
        table, plan = table_of(documents), documents["plan"]
        (own,) = documents["proof"]["shown"]
        (place, statistic, factor), *_ = own["columns"]
        _, group = (own["cells"] or [[0, 0]])[0]
        drawn = []
        for id_ in (plan["release"], *stored(plan)["also"]):
            (part,) = [each for each in json.loads(plan["payloads"][id_])["parts"] if each["kind"] == "cells"]
            turn = part["statistics"].index(statistic)
            law = DiscreteLaplace(scale=Fraction(part["laws"][turn]["scale"]))
            drawn.append((part["noisy"][turn][group], law))
        laws = [law for _, law in drawn]
        weights = weigh(laws)
        first, *more = [float(weight) * noisy for weight, (noisy, _) in zip(weights, drawn, strict=True)]
        value = functools.reduce(operator.add, more, first)
        both = CombinedNoise(parts=tuple(zip(weights, laws, strict=True)))
        far = float(f"{times * both.half_width(Fraction(95, 100)):.3e}")
        assert factor == "1/1"
        table["rows"][0][place] = round(value, 1 - math.floor(math.log10(far)))
        table["intervals"][0][place] = [value - far, value + far]

    return changed


def told(value):
    """Other measurements that are said to be combined; `value`: of the true ones."""

    def changed(documents):
        (own,) = documents["proof"]["shown"]
        own["combined"] = value(own["combined"])
        if not own["combined"]:
            del own["combined"]

    return changed


def used_twice(documents):
    own = stored(documents["plan"])
    own["also"] = own["also"] * 2
    store(documents["plan"], own)


def wider_before(documents):
    """An earlier measurement that is said to have more noise, so that it weighs less: in its law and its event."""
    plan, proof = documents["plan"], documents["proof"]
    (id_,) = stored(plan)["also"]
    before = json.loads(plan["payloads"][id_])
    before["parts"][0]["laws"][0]["scale"] = "9/1"
    plan["payloads"][id_] = json.dumps(before)
    proof["measured"][id_][0]["law"]["scale"] = "9/1"


def equal(laws):
    return [Fraction(1, len(laws)) for _ in laws]


def first(laws):
    return [Fraction(place == 0) for place in range(len(laws))]


#: The bundle, the lie, and the line that tells.
LIES = {
    "other weights": ("count", by_weights(equal), "numbers"),
    "other weights of a group": ("groups", by_weights(equal), "numbers"),
    "a measurement left out": ("count", by_weights(first), "numbers"),
    "one left out, and told so": ("count", lambda documents: (by_weights(first)(documents), told(lambda ids: ids[:1])(documents)), "numbers"),
    "nothing told": ("count", told(lambda ids: []), "numbers"),
    "one told twice": ("groups", told(lambda ids: [*ids, ids[-1]]), "numbers"),
    "told in another order": ("groups", told(lambda ids: ids[::-1]), "numbers"),
    "one used twice": ("count", used_twice, "documents"),
    "more noise before": ("count", wider_before, "sensitivity"),
    "a digit of a count": ("count", cell(0, nearer), "numbers"),
    "a digit of a sum": ("groups", cell(2, nearer), "numbers"),
    "a digit of an average": ("groups", cell(3, nearer), "numbers"),
    "a digit of a gaussian count": ("gaussian", cell(1, nearer), "numbers"),
    "a digit of a multiple": ("multiples", cell(1, nearer), "numbers"),
    "a digit of a deviation": ("spreads", cell(0, nearer), "numbers"),
    "an exact number": ("count", cell(0, lambda value, _: int(value)), "numbers"),
    "all digits": ("count", cell(0, lambda value, half: value + half / 1e4), "numbers"),
    "a shorter interval of a count": ("count", by_weights(inverse_variance_weights, 0.9), "numbers"),
    "a shorter one with other digits": ("count", interval(0, 0.9), "numbers"),
    "a longer interval of a count": ("count", interval(0, 1.4), "numbers"),
    "a shorter interval of a sum": ("groups", interval(2, 0.9), "numbers"),
    "a shorter interval of a multiple": ("multiples", interval(2, 0.9), "numbers"),
    "a shorter interval of a gaussian count": ("gaussian", interval(1, 0.9), "numbers"),
    "a longer interval of a gaussian count": ("gaussian", interval(1, 1.2), "numbers"),
    "a digit of one interval alone": ("groups", interval(1, 1.001, rows=1), "numbers"),
    "the last place of an end": ("count", last_place, "numbers"),
    "no interval": ("count", lambda documents: table_of(documents)["intervals"].__setitem__(0, [None]), "numbers"),
}  # fmt: skip


@pytest.mark.parametrize("title", LIES)
def test_no_other_number_passes_for_a_combined_one(title, made):
    name, lie, line = LIES[title]
    assert set(verdicts(forged(made[name], lambda _: None)).values()) == {"proved"}
    assert verdicts(forged(made[name], lie))[line] == "broken"


@pytest.mark.parametrize(("times", "name"), [(0.9, "groups"), (1.4, "groups"), (0.9, "gaussian")])
def test_nor_another_interval_of_an_average(times, name, made):
    def lie(documents):
        row = table_of(documents)["intervals"][0]
        low, high = row[-1]
        row[-1] = [round((low + high) / 2 + sign * times * (high - low) / 2, 2) for sign in (-1, 1)]

    assert verdicts(forged(made[name], lie))["numbers"] == "broken"


#: What a checker would miss that forgets a rule: the lie, the rule's module and name, and what it would be.
FORGOTTEN = {
    "a shorter interval of a count": ("shown", "is_as_wide", lambda *_: True),
    "other weights": ("shown", "variance", lambda _: 1.0),
}


@pytest.mark.parametrize("title", FORGOTTEN)
def test_each_rule_is_needed(title, made, monkeypatch):
    checker()
    module, name, forgetful = FORGOTTEN[title]
    monkeypatch.setattr(importlib.import_module(module), name, forgetful)
    bundle, lie, line = LIES[title]
    assert verdicts(forged(made[bundle], lie))[line] == "proved"


def equal_weights(patch):
    patch.setattr(refine, "inverse_variance_weights", lambda laws: tuple(Fraction(1, len(laws)) for _ in laws))


def the_last_alone(patch):
    true = AnswerReading._add

    def add(self, block, part):
        object.__setattr__(self, "others", ())
        true(self, block, part)

    patch.setattr(AnswerReading, "_add", add)


def one_twice(patch):
    true = AnswerReading._add

    def add(self, block, part):
        own = self.others
        object.__setattr__(self, "others", own * 2)
        true(self, block, part)
        object.__setattr__(self, "others", own)

    patch.setattr(AnswerReading, "_add", add)


def narrower(patch):
    true = CombinedNoise.half_width
    uncertainty._width.cache_clear()
    patch.setattr(CombinedNoise, "half_width", lambda self, confidence: 0.88 * true(self, confidence))


@pytest.mark.parametrize("mutant", [equal_weights, the_last_alone, one_twice, narrower], ids=lambda each: each.__name__)
def test_what_a_wrong_discreet_combines_is_seen(mutant, tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.answers.more_precise.refined_quote", lambda *_, **__: None)
    with state_in(tmp_path / "state"):
        project = world.rows_project(tmp_path / "p")
        release = again(project, "SELECT sex, count(*) AS n, sum(age) AS s FROM patients GROUP BY sex", ("0.5", "0.25"))
        assert set(verdicts(bundle_files.make_bundle(project, release)).values()) == {"proved"}
        mutant(monkeypatch)
        assert verdicts(bundle_files.make_bundle(project, release))["numbers"] == "broken"
    uncertainty._width.cache_clear()


def test_an_older_bundle_stays_open(made):
    """Its proof tells nothing of what is combined."""

    def silent(proof):
        return proof | {"shown": [None]}

    found = verdicts(signed_again(made["groups"], proof=silent))
    assert {name for name, verdict in found.items() if verdict != "proved"} == {"numbers", "names"}
    assert {found["numbers"], found["names"]} == {"open"}


def laws_of(rng, many):
    for _ in range(many):
        size = Fraction(rng.randrange(1, 10**6), rng.choice([10, 1000, 100_000]))
        laplace = rng.random() < 0.5
        law = DiscreteLaplace(scale=size) if laplace else DiscreteGaussian(sigma2=size)
        text = f"{size.numerator}/{size.denominator}"
        data = {"kind": "discrete-laplace", "scale": text} if laplace else {"kind": "discrete-gaussian", "sigma2": text}
        yield law, data


@pytest.mark.parametrize("many", [2, 3, 7])
def test_numbers_and_weights_are_those_of_discreet(many):
    """To the last place of every float, of laws of all sizes."""
    checker()
    combined, rng = importlib.import_module("shown").combined, random.Random(many)
    for groups in (1, 2, 40):
        laws, told = zip(*laws_of(rng, many), strict=True)
        noisy = [[rng.randrange(-(10**9), 10**9) for _ in range(groups)] for _ in laws]
        weights = inverse_variance_weights(laws)
        pairs = zip(weights, noisy, strict=True)
        wanted = np.sum([float(weight) * np.array(own, dtype=np.float64) for weight, own in pairs], axis=0)
        values, law, _ = combined([[own, each] for own, each in zip(noisy, told, strict=True)])
        assert values == wanted.tolist() and [weight for weight, _ in law["parts"]] == [float(each) for each in weights]


def test_more_than_seven_are_open():
    checker()
    law = {"kind": "discrete-laplace", "scale": "2/1"}
    with pytest.raises(importlib.import_module("relation").Open):
        importlib.import_module("shown").combined([[[1], law]] * 8)


@pytest.mark.parametrize("many", [2, 5])
def test_half_widths_are_those_of_discreet(many):
    """Of several noises together, from nearly none to very much; a tenth shorter or two thirds longer is another one."""
    checker()
    ends, rng = importlib.import_module("ends"), random.Random(many)
    for size in ("1/5", "1/1", "7/2", "40/1", "5000/1"):
        for kind, make in (
            ("laplace", DiscreteLaplace(scale=Fraction(size))),
            ("gaussian", DiscreteGaussian(sigma2=Fraction(size) ** 2)),
        ):
            named = {"scale": size} if kind == "laplace" else {"sigma2": f"{Fraction(size) ** 2}"}
            if kind == "gaussian" and "/" not in named["sigma2"]:
                named["sigma2"] += "/1"
            shares = [rng.random() for _ in range(many)]
            weights = [Fraction(round(10**6 * each / sum(shares)), 10**6) for each in shares]
            far = CombinedNoise(parts=tuple((weight, make) for weight in weights)).half_width(Fraction(95, 100))
            noise = [(float(weight), {"kind": f"discrete-{kind}", **named}) for weight in weights]
            assert ends.is_as_wide(noise, far, ends.coarse(noise), 0.0), (size, kind)
            if far > 3:
                assert not ends.is_as_wide(noise, 0.9 * far, ends.coarse(noise), 0.0)
                assert not ends.is_as_wide(noise, 1.67 * far, ends.coarse(noise), 0.0)
