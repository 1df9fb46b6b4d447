"""Attacks on synthetic tables: they see a copy, do not cry wolf, and count what brute force counts.

The worlds and the attacks are seeded, so nothing here hangs on luck, but for Discreet's own noise.
"""

import datetime
import math

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import UsageError
from discreet.lab.attacks.synthetic import (
    attack,
    code_tables,
    demo,
    density_ratio,
    discreet_publisher,
    distances,
    inference,
    multivariate,
    shadow,
    univariate,
)
from discreet.lab.attacks.synthetic.attack_suite import run_attacks
from discreet.lab.attacks.synthetic.control import ControlledRate, SuccessRate, allowed_share
from discreet.lab.attacks.synthetic.generator_comparison import _jittered_releases, _rarest_person
from discreet.lab.attacks.synthetic.membership import threshold
from discreet.lab.attacks.synthetic.predicates import ANY, AT_LEAST, AT_MOST, EQUAL, of_one_column, of_several_columns
from discreet.lab.attacks.synthetic.row_distance import nearest_distances
from discreet.lab.evidence import best_under
from discreet.lab.registry import ATTACKS
from discreet.lab.worlds.town import COLUMNS, independent_columns, jittered, town
from discreet.project.project import Project
from tiers import size

ALL = {
    "membership inference",
    "attribute inference",
    "singling out, one column",
    "singling out, several columns",
    "nearest record",
}


def halves(people, seed=1):
    everybody = town(2 * people, seed=seed)
    return everybody.slice(0, people), everybody.slice(people)


def odd_table(rows=60, seed=3):
    """Names with spaces and quotes, NULLs, a constant, nothing at all, one different value in each row, nested ones."""
    chance = np.random.default_rng(seed)
    number = [None if chance.random() < 0.2 else float(chance.integers(0, 40)) for _ in range(rows)]
    return pa.table(
        {
            "petal length (cm)": number,
            'it\'s "quoted"; drop table': chance.choice(["a'b", 'c"d', "e f", ""], rows),
            "constant": ["same"] * rows,
            "nothing": pa.nulls(rows),
            "id": [f"secret-{chance.integers(10**12)}" for _ in range(rows)],
            "not a number": [math.nan if value is None else value for value in number],
            "day": [datetime.date(2020, 1, 1) + datetime.timedelta(int(chance.integers(9))) for _ in range(rows)],
            "list": pa.array([[int(chance.integers(3))] for _ in range(rows)]),
            "yes": pa.array(chance.random(rows) < 0.5),
        }
    )


def test_a_copy_is_seen_by_every_attack():
    original, control = halves(400)
    found = attack(original, original, control)
    assert set(found.details["leaks"]) == ALL == set(found.details["attacks"])
    assert found.breaks
    told = found.details["attacks"]
    assert told["membership inference"]["success"] > 0.95
    assert told["singling out, several columns"]["success"] == 1
    assert told["nearest record"]["details"]["copies"]["original"]["share"] == 1
    assert found.picture().startswith("<svg")


def test_a_jittered_copy_is_seen_too():
    original, control = halves(400)
    assert set(attack(original, jittered(original), control).details["leaks"]) >= ALL - {
        "singling out, several columns"
    }


def test_fresh_people_and_independent_columns_are_not_accused():
    """Each suite is wrong at most once in 20: 30 suites of honest tables, and five accusations would be far too many.

    (Of 12 suites in the fast tier three.)
    """
    accused = 0
    for seed in range(size(6, 15)):
        everybody = town(900, seed=100 + seed)
        original, control, others = (everybody.slice(start, 300) for start in (0, 300, 600))
        for honest in (others, independent_columns(others)):
            accused += bool(attack(original, honest, control, attacks=120, seed=seed).details["leaks"])
    assert accused < size(3, 5)


def test_guesses_are_judged_on_people_that_were_not_learned_from():
    """A threshold that is judged where it was learned looks better than a coin; 3,000 guesses about fresh people do not."""
    right = []
    for seed in range(25):
        everybody = town(600, seed=300 + seed)
        original, control, others = (everybody.slice(start, 200) for start in (0, 200, 400))
        right.append(density_ratio(code_tables(original, others, control), attacks=120, seed=seed).success)
    assert np.mean(right) < 0.52


def test_a_smaller_control_only_makes_accusations_harder():
    everybody = town(700, seed=9)
    original, control, others = everybody.slice(0, 300), everybody.slice(300, 100), everybody.slice(400)
    held = code_tables(original, original, control)
    found = multivariate(held)
    full = multivariate(code_tables(original, original, everybody.slice(300, 300)))
    assert found.success == full.success == 1
    assert found.breaks and full.breaks
    assert found.chance > full.chance  # a bound on luck, not luck itself
    assert not multivariate(code_tables(original, others, control)).breaks


def test_without_a_control_luck_is_taken_at_its_most():
    original, _ = halves(200)
    found = attack(original, original)
    assert set(found.details["attacks"]) == ALL - {"membership inference", "nearest record"}
    assert found.details["attacks"]["singling out, several columns"]["chance"] == pytest.approx(1 / math.e, abs=0.01)
    assert "--control" in found.story[-1]
    assert set(found.details["leaks"]) == set(found.details["attacks"]) - {"attribute inference"}


def linked(people, seed):
    """Ward follows from job for nine in ten, of everybody."""
    chance = np.random.default_rng(seed)
    job = chance.integers(0, 5, people)
    ward = np.where(chance.random(people) < 0.9, job, chance.integers(0, 5, people))
    return pa.table({"job": [f"j{each}" for each in job], "ward": [f"w{each}" for each in ward]})


def test_attribute_inference_is_not_judged_without_a_control():
    """A harmless table of other people lets wards be guessed, far beyond the commonest one."""
    found = attack(linked(800, 1), linked(800, 2))
    guess = found.details["attacks"]["attribute inference"]
    assert guess["success"] > 0.8 and guess["confidence_interval"][0] > guess["chance"]
    assert guess["breaks"] is None and found.details["not_judged"] == ["attribute inference"]
    assert found.details["leaks"] == [] and not found.breaks
    assert found.to_data()["breaks"] is None  # nothing else could be tried on these columns
    told = " ".join(found.lines())
    assert "cannot be judged" in told and "strongest" not in told and "No attack is" not in told
    aged = [linked(800, seed).append_column("age", town(800, seed=seed)["age"]) for seed in (1, 2)]
    found = attack(*aged)
    assert "singling" in found.details["strongest"] and "singling" in found.details["shown"]  # guesses come after these
    held = inference(code_tables(linked(800, 1), linked(800, 2), linked(800, 3)))
    assert held.judged and not held.breaks and held.to_data()["breaks"] is False


def test_a_claim_bounds_guesses_by_those_about_other_people():
    """Exchanging two people is two steps; the bound is what a mechanism of that strength reaches, and no more."""
    assert allowed_share(0.3, 0.0) == 0.3
    step = math.exp(2 * 0.5)
    assert allowed_share(0.1, 0.5) == pytest.approx(0.1 * step) and allowed_share(0.9, 0.5) == pytest.approx(
        1 - 0.1 / step
    )
    assert allowed_share(best_under(0.4), 0.0) == best_under(0.4)
    wrong = 1 - best_under(1.0)  # a bit told through a mechanism of 1, by people who differ by two steps of 1/2
    assert allowed_share(wrong, 0.5) == pytest.approx(best_under(1.0))
    assert allowed_share(0.1, 0.5, 0.01) == pytest.approx(0.1 * step + 0.01 * (1 + math.exp(0.5)))
    assert allowed_share(0.1, 800.0, 0.5) == 1.0
    original, control = halves(400)
    copied = inference(code_tables(original, original, control), epsilon=0.2)
    assert copied.breaks and copied.chance < copied.bound < copied.interval[0]
    assert not inference(code_tables(original, original, control), epsilon=8.0).breaks
    other = town(400, seed=8)
    assert not inference(code_tables(original, other, control), epsilon=0.2).breaks


def test_a_claim_bounds_nearest_records_by_two_steps():
    original, control = halves(400)
    held = code_tables(original, original, control)
    assert distances(held).bound is None
    found = distances(held, epsilon=0.5, delta=0.01)
    assert found.breaks and found.bound == best_under(1.0, 0.01 * (1 + math.exp(0.5)))
    assert not distances(held, epsilon=5.0).breaks


def test_odd_columns_are_attacked_like_others():
    table = odd_table()
    other = odd_table(seed=4)
    found = attack(table, table, other, attacks=60)
    assert set(found.details["leaks"]) == ALL
    assert found.details["columns"] == table.column_names
    by_column = found.details["attacks"]["singling out, several columns"]["details"]["by_column"]
    assert 'it\'s "quoted"; drop table' in by_column
    assert not {"constant", "nothing"} & set(by_column)  # they can isolate nobody
    one = found.details["attacks"]["singling out, one column"]["details"]["by_column"]
    assert set(one) > {"id"}  # one column with many values does not stand for all
    assert "secret-" not in str(found.story) + str(found.details) + str(by_column) + str(one)  # nobody's value is told


def test_tables_whose_types_differ_meet():
    whole = pa.table({"n": [1, 2, 3, None], "t": ["1", "2", "x", None]})
    parts = pa.table({"n": [1.0, 2.5, 3.0, math.nan], "t": pa.array([1.0, 2.0, None, 4.5])})
    held = code_tables(whole, parts)
    assert held.ordered == (True, False)
    assert held.original[0].tolist() == [1, 2, 4, 0] and held.synthetic[0].tolist() == [1, 3, 4, 0]
    assert held.original[1, :2].tolist() == held.synthetic[1, :2].tolist()  # 1 and 1.0 are the same
    assert held.original[1, 3] == held.synthetic[1, 2] == 0


def test_long_numbers_are_not_blurred():
    held = code_tables(pa.table({"id": [2**60, 2**60 + 1]}), pa.table({"id": [2**60 + 1, 2**60 + 2]}))
    assert held.original[0].tolist() == [1, 2] and held.synthetic[0].tolist() == [2, 3]


def holds(kind, code, limit):
    return {ANY: True, EQUAL: code == limit, AT_MOST: 0 < code <= limit, AT_LEAST: code >= limit}[kind]


@pytest.mark.parametrize("seed", range(4))
def test_conditions_count_what_brute_force_counts(seed):
    held = code_tables(odd_table(40, seed), odd_table(50, seed + 10))
    generator = np.random.default_rng(seed)
    several = of_several_columns(held, np.arange(50), generator, most=6)
    assert len(several) > 10
    for conditions in (several, *of_one_column(held)):
        for table in (held.original, held.synthetic):
            brute = [
                sum(all(map(holds, kinds, row, limits)) for row in table.T.tolist())
                for kinds, limits in zip(conditions.kinds.tolist(), conditions.codes.tolist(), strict=True)
            ]
            assert conditions.counts(table).tolist() == brute
        assert (conditions.counts(held.synthetic) == 1).all()
    assert ((several.kinds != ANY).sum(axis=1) > 1).all()
    told = set(map(tuple, np.hstack([several.kinds, np.where(several.kinds == ANY, 0, several.codes)]).tolist()))
    assert len(told) == len(several)
    assert {EQUAL, AT_MOST, AT_LEAST} <= set(several.kinds.ravel().tolist())


def test_distances_are_those_of_the_definition():
    table = odd_table(30)
    held = code_tables(table, odd_table(20, 5))

    def far(column, one, other):
        if one == other:
            return 0.0
        if not held.ordered[column] or 0 in (one, other):
            return 1.0
        return 0.5 + 0.5 * abs(float(held.places[column][one]) - float(held.places[column][other]))

    brute = [
        min(sum(map(far, range(9), own, row)) for row in held.synthetic.T.tolist()) for own in held.original.T.tolist()
    ]
    assert nearest_distances(held, held.original, held.synthetic) == pytest.approx(brute, abs=1e-5)


def test_the_threshold_is_the_best_there_is():
    generator = np.random.default_rng(0)
    for _ in range(50):
        members, others = generator.integers(0, 6, 12) + 1.0, generator.integers(0, 6, 12) * 1.0
        best = max(
            (members >= limit).sum() + (others < limit).sum() for limit in [*members, *others, math.inf, -math.inf]
        )
        limit = threshold(members, others)
        assert (members >= limit).sum() + (others < limit).sum() == best
    assert threshold(np.zeros(3), np.ones(5)) == math.inf  # always no


def excess(successes, others):
    rates = [SuccessRate(successes=number, n=1000) for number in (successes, others)]
    return ControlledRate(success=rates[0], control=rates[1], confidence=0.95).excess()


def test_the_interval_of_a_difference_holds():
    low, high = excess(600, 400)
    assert 0 < low < 0.2 < high
    assert excess(430, 400)[0] < 0
    assert SuccessRate(successes=0, n=0).interval(0.95) == (0.0, 1.0)
    bounded = SuccessRate(successes=20, n=100, times=3.0, most=0.4)
    assert bounded.share == 0.4 and bounded.interval(0.95)[1] == 0.4


def test_a_secret_and_what_is_known_can_be_named():
    original, control = halves(300)
    held = code_tables(original, original, control)
    copied = inference(held, secret="illness", known_columns=["age", "income", "ward"])
    assert copied.success > 0.9 > 0.6 > copied.chance
    assert list(copied.details["by_column"]) == ["illness"]
    assert copied.details["known"] == ["age", "income", "ward"]
    little = inference(held, secret="illness", known_columns=["sex"])
    assert not little.breaks


def test_what_holds_for_everybody_is_no_leak():
    """One column follows from another for all people: it is guessed, of the control as of the original."""
    chance = np.random.default_rng(5)
    one = [pa.table({"x": x, "y": x * 3 % 7}) for x in (chance.integers(0, 7, 200) for _ in range(3))]
    found = inference(code_tables(*one), secret="y")
    assert found.success == found.chance == 1 and not found.breaks


def test_a_secret_is_never_among_the_known():
    chance = np.random.default_rng(6)
    tables = [pa.table({"x": [1] * 200, "y": chance.integers(0, 7, 200)}) for _ in range(3)]
    assert inference(code_tables(*tables)).success < 0.8  # x is always right, y one time in seven


def test_ties_are_halved():
    same = pa.table({"x": [1, 1, 1, 1], "y": ["a", "a", "a", "a"]})
    assert distances(code_tables(same, same, same)).success == 0.5


def test_columns_take_turns():
    found = univariate(code_tables(*[odd_table()] * 3), attacks=4)
    assert found.n == 4 and len(found.details["by_column"]) >= 3
    one = pa.table({"id": list(range(50))})
    assert multivariate(code_tables(one, one)) is None  # there are no two columns


def test_a_claim_is_held_against_membership():
    original, control = halves(300)
    found = attack(original, original, control, epsilon=1.0)
    assert found.details["shown"] == "membership inference"
    assert found.bound == best_under(1.0) and found.breaks
    assert not attack(original, control, town(300, seed=77), epsilon=1.0).breaks


def test_tiny_tables_do_not_fail():
    original, control = halves(4)
    found = run_attacks(code_tables(original.slice(0, 2), original.slice(0, 2), control))
    assert found and not any(each.breaks for each in found if each.chance == 0.5)
    one = pa.table({"a": [1]})
    assert not attack(one, one).breaks  # one person of one is isolated by anything


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda t: attack(t, pa.table({"z": [1]})), "no column in common"),
        (lambda t: attack(t, t.slice(0, 0)), "synthetic table has no rows"),
        (lambda t: attack(t, t, secret="agee"), "do not share a column 'agee'"),
        (lambda t: attack(t, t, secret="age", known_columns=["age"]), "cannot also be a known column"),
        (lambda t: attack(t, t, epsilon=1.0), "needs a control"),
        (lambda t: attack(t, t, attacks=0), "at least 1"),
        (lambda t: density_ratio(code_tables(t, t)), "needs a control"),
        (lambda t: attack(pa.table({"n": pa.nulls(3)}), pa.table({"n": pa.nulls(3)})), "cannot be attacked"),
        (lambda t: shadow(lambda rows: iter([]), t, target=40), "row 40 is not"),
        (
            lambda t: shadow(lambda rows: (rows for _ in range(3)), t, target=0, releases=5),
            "made 3 synthetic tables",
        ),
    ],
)
def test_what_cannot_be_attacked_is_said(call, said):
    with pytest.raises(UsageError, match=said):
        call(town(20))


def test_columns_that_are_not_shared_are_told():
    original, control = halves(60)
    found = attack(original, original.drop_columns(["age"]), control, attacks=50)
    assert found.details["left_out"] == ["age"]
    assert "age" in found.story[-1]


def test_shadow_models_win_against_a_copy_and_not_beyond_epsilon_against_discreet():
    """At a confidence where a correct build fails less than once in a million; the same game catches the copy."""
    small = town(60)
    target, surely = _rarest_person(small), 1 - 1e-6
    leaky = shadow(_jittered_releases, small, target=target, releases=100, epsilon=1.0, confidence=surely)
    assert leaky.breaks
    ours = discreet_publisher(table="town", columns=COLUMNS, epsilon=1.0, model="independent")
    found = shadow(ours, small, target=target, releases=size(4, 32), epsilon=1.0, confidence=surely)
    assert found.bound == pytest.approx(math.e / (1 + math.e))
    assert not found.breaks


def test_the_publisher_leaves_nothing_behind(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = dict(__import__("os").environ)
    fits, fit = [], Project.synthesize
    monkeypatch.setattr(Project, "synthesize", lambda *told, **more: fits.append(fit(*told, **more)) or fits[-1])
    releases = discreet_publisher(table="town", columns=COLUMNS, epsilon=2.0, model="mst")(town(80))
    one, two = next(releases), next(releases)
    assert one.column_names == town(1).column_names
    assert not one.equals(two)
    assert fits[0].card.release != fits[1].card.release  # fitted anew, and charged
    assert dict(__import__("os").environ) == before
    releases.close()
    assert not list(tmp_path.iterdir())


@pytest.mark.deep
def test_the_demo_tells_the_three_apart():
    found = demo(people=300, attacks=150, releases=2)
    assert found.attack == "synthetic" and found.breaks
    leaks = found.details["leaks"]
    assert len(leaks["jittered copy"]) >= 4
    assert leaks["independent"] == []
    assert set(found.details["releases"]) == {"jittered copy", "independent", "Discreet, epsilon 1"}
    assert found.details["shadow"]["Discreet, epsilon 1"]["bound"] == best_under(1.0)
    assert "Discreet" in found.picture()
    (listed,) = (each for each in ATTACKS if each.name == "synthetic")
    assert listed.protected_success(found) < 0.9


def test_under_a_claim_the_evidence_is_of_an_attack_that_breaks_something():
    """A copy with one cell changed in each row stays within epsilon 8, and still lets people be singled out."""
    everybody = town(1200)
    original, others = everybody.slice(0, 600), everybody.slice(600)
    found = attack(original, jittered(original, seed=1), others, epsilon=8.0)
    attacks = found.details["attacks"]
    bounded = {name for name, told in attacks.items() if told["bound"] is not None}
    assert bounded == ALL - {"singling out, one column", "singling out, several columns"}
    assert not any(attacks[name]["breaks"] for name in bounded)
    assert found.breaks and attacks[found.details["shown"]]["breaks"]
    best = max(attacks, key=lambda name: attacks[name]["confidence_interval"][0] - attacks[name]["chance"])
    assert found.details["strongest"] == best
    told = " ".join(found.story)
    assert "Within the limit that epsilon sets" in told and "Singling out is compared with luck only" in told
    assert "the most that the claim allows" in found.picture()
