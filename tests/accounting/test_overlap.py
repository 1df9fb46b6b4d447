"""The overlap against small worlds whose every cell is looked at, and mutants that this must catch."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from accounting.workloads import Charge, Clinic, SmallWorlds, World, clique, grid, random_boxes, telling
from discreet.accounting import overlap, relaxation, worst_record_search
from discreet.accounting import region_grid as grids
from discreet.accounting.overlap import Bound, Overlap
from discreet.accounting.region import NOT_NULL, ONLY_NULL, Box, Region, ValueSet, hull
from discreet.exact import UNBOUNDED
from tiers import size

MANY = 10**6
ARMS = ("pure", "rho", "third")


def history(charges) -> Overlap:
    found = Overlap()
    for charge in charges:
        found.add(charge.region, [charge.pure, charge.rho, charge.third])
    return found


def box(**sides) -> Region:
    return Region.of([Box(sides)])


def load(charges, record, arm: str) -> int:
    return sum(getattr(charge, arm) for charge in charges if record in charge.region)


def typed(record):
    """Nothing need tell the overlap that a column is text; then any value of it is written as 0."""
    return {column: "" if column[0] == "t" and value == 0 else value for column, value in record.items()}


def check(world: World, source: random.Random) -> None:
    """Everything that an Overlap claims about a small world, against all of its points."""
    found = history(world.charges)
    truth = {arm: world.loads(arm) for arm in ARMS}
    for arm, loads in truth.items():
        most = min(UNBOUNDED, max(loads, default=0))
        check_largest(found, world.question, arm, most)
        for limit in (most - source.randint(0, 1), source.randint(0, max(1, min(most, 10**10)))):
            check_limits(found, world, truth, {arm: min(UNBOUNDED - 1, limit)})
    if truth["pure"].size:
        some = {arm: source.choice(list(loads)) - source.randint(0, 1) for arm, loads in truth.items()}
        check_limits(found, world, truth, {arm: min(UNBOUNDED - 1, limit) for arm, limit in some.items()})


def check_largest(found: Overlap, question: Region, arm: str, most: int) -> None:
    solved = found.largest(question, arm=ARMS.index(arm), nodes=MANY)
    assert solved.lower == solved.upper == most
    for nodes in (0, 2):
        stopped = found.largest(question, arm=ARMS.index(arm), nodes=nodes)
        assert stopped.lower <= most <= stopped.upper
        assert stopped.nodes <= nodes


def check_limits(found: Overlap, world: World, truth: dict[str, np.ndarray], limits: dict[str, int]) -> None:
    over = any(all(record) for record in zip(*(truth[arm] > limit for arm, limit in limits.items()), strict=True))
    arms = [limits.get(arm) for arm in ARMS]
    verdict = found.within(world.question, arms, nodes=MANY)
    assert verdict.within == (not over)
    assert (verdict.witness is None) == verdict.within
    stopped = found.within(world.question, arms, nodes=2)
    assert not (stopped.within and over)
    for witness in (verdict.witness, stopped.witness):
        if witness is not None:
            witness = typed(witness)
            assert witness in world.question
            assert all(load(world.charges, witness, arm) > limit for arm, limit in limits.items())


def check_many(seed: int, count: int) -> None:
    worlds, source = SmallWorlds(seed), random.Random(seed)
    for _ in range(count):
        check(worlds.world(), source)


def check_dense(seed: int) -> int:
    """A hundred events over five columns, every pair pulling its own way. Returns the nodes that one answer took."""
    source, nodes = random.Random(seed), []
    for make in (grid, clique):
        charges = tuple(
            Charge(region=charge.region, pure=source.randint(1, 9), rho=source.randint(1, 9))
            for charge in make(100, seed, columns=5, size=4)
        )
        values = telling([charge.region for charge in charges], [f"c{number}" for number in range(5)])
        check(World(charges=charges, question=Region.whole(), values=values), source)
        nodes.append(history(charges).largest(Region.whole(), arm=0, nodes=MANY).nodes)
    return min(nodes)


@pytest.mark.thin(2)
@pytest.mark.parametrize("seed", range(4))
def test_small_worlds(seed):
    check_many(seed, size(20, 150))


def test_dense_worlds():
    assert max(check_dense(seed) for seed in range(size(2, 6))) > 10


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(100, 116))
def test_many_small_worlds(seed):
    check_many(seed, 1000)


@pytest.mark.fuzz
def test_many_dense_worlds():
    for seed in range(100, 200):
        check_dense(seed)


def test_the_arm_that_holds_may_differ_from_record_to_record():
    men, women = box(sex=ValueSet.of([1])), box(sex=ValueSet.of([0]))
    found = Overlap()
    found.add(men, [UNBOUNDED, 10])
    found.add(women, [300, 50])
    assert found.within(Region.whole(), [300, 10]).within
    assert not found.within(Region.whole(), [300, None]).within
    assert not found.within(Region.whole(), [None, 10]).within
    assert found.within(Region.whole(), [299, 10]).witness == {"sex": 0}
    assert found.within(Region.whole(), [300, 9]).witness == {"sex": 1}


# Mutants: each bug is planted and the checker has to see it.


def cut_null(self, region):
    keep = INSIDE(self, region)
    keep[self.shape().first[:-1]] = False
    return keep


def only_allowed_cells_with_their_start(cuts, allowed):
    keep = TOUCHED(cuts, allowed)
    keep[1:-1] &= ~np.roll(keep, 1)[1:-1]
    return keep


def forget_the_rest(problem, arm):
    return np.floor(arm.weights[problem.piece] * arm.shares).astype(np.int64)


def peaks_at_the_wrong_edge(problem):
    ends = np.zeros(len(problem.cell) + 1, dtype=bool)
    ends[problem.stop] = ends[problem.first] = True
    return ends[:-1]


def forget_the_last_cell(self, problem, bounds, keep, root):
    keep[np.flatnonzero(keep)[-1]] = False
    BRANCH(self, problem, bounds, keep, root)


def push_with_too_low_a_bound(self, part):
    part.bounds = tuple(bound - 1 for bound in part.bounds)
    PUSH(self, part)


def worth_by_half(self, problem, bounds):
    keep = np.ones(len(problem.cell), dtype=bool)
    for bound, limit in zip(bounds, self.limits, strict=True):
        keep &= 2 * (bound.load - bound.top[problem.owner]) > limit - bound.total
    return keep


BRANCH, PUSH = worst_record_search._Search._branch, worst_record_search._Search.push
INSIDE, TOUCHED = grids.RegionGrid.inside, grids._touched
MUTANTS = {
    "NULL is nobody": (grids.RegionGrid, "inside", cut_null),
    "a cell is touched only at its start": (grids, "_touched", only_allowed_cells_with_their_start),
    "a union is its hull": (overlap, "disjoint", lambda region: [hull(region.boxes)] if region.boxes else []),
    "a union's boxes count twice": (overlap, "disjoint", lambda region: list(region.boxes)),
    "a region is its first box": (overlap, "disjoint", lambda region: list(region.boxes[:1])),
    "parts do not add up": (relaxation, "split", forget_the_rest),
    "the limit may be passed by one unit": (
        relaxation.ArmWeights,
        "reach",
        lambda arm, limit: arm.floor(limit) + arm.unit,
    ),
    "loads are round whatever the constant": (
        relaxation.ArmWeights,
        "floor",
        lambda arm, bound: bound - bound % arm.unit,
    ),
    "at the limit is over": (
        worst_record_search._Search,
        "_over",
        lambda self, loads: all(a >= b for a, b in zip(loads, self.limits, strict=True)),
    ),
    "over in one arm is over": (
        worst_record_search._Search,
        "_over",
        lambda self, loads: any(a > b for a, b in zip(loads, self.limits, strict=True)),
    ),
    "a neighbour outdoes too easily": (worst_record_search, "peaks", peaks_at_the_wrong_edge),
    "the last cell of a column is forgotten": (worst_record_search._Search, "_branch", forget_the_last_cell),
    "a child's bound is that of its cell alone": (worst_record_search._Search, "push", push_with_too_low_a_bound),
    "cells are dropped too soon": (worst_record_search._Search, "_worth", worth_by_half),
}


SHARED_MUTANTS = {
    "a record of one event is in all": ("shared_boxes", lambda shared, boxes: tuple(boxes)),
    "a new event changes nothing": ("shared_boxes", lambda shared, boxes: tuple(shared)),
    "nobody is somebody": ("is_possible", lambda box: True),
}


def check_hard(worlds: int = size(40, 150)) -> None:
    check_many(1, worlds)
    check_dense(0)


@pytest.fixture
def _no_climbing(monkeypatch):
    """Good records come late, so that an answer hangs on the bounds; and every answer is looked for."""
    monkeypatch.setattr(overlap, "shared_boxes", lambda shared, boxes: ())
    monkeypatch.setattr(worst_record_search, "climb", lambda problem, weights, point: problem.first[:-1])


@pytest.mark.usefixtures("_no_climbing")
def test_answers_do_not_hang_on_the_climb():
    check_hard(size(20, 150))


@pytest.mark.usefixtures("_no_climbing")
@pytest.mark.parametrize("name", MUTANTS)
def test_the_checker_sees_a_planted_bug(name, monkeypatch):
    place, attribute, bug = MUTANTS[name]
    monkeypatch.setattr(place, attribute, bug)
    with pytest.raises(AssertionError):
        check_hard()


@pytest.mark.parametrize("name", SHARED_MUTANTS)
def test_the_checker_sees_a_wrong_record_that_is_in_every_event(name, monkeypatch):
    attribute, bug = SHARED_MUTANTS[name]
    monkeypatch.setattr(overlap, attribute, bug)
    with pytest.raises(AssertionError):
        check_hard()


def test_a_record_in_every_event_needs_no_search(monkeypatch):
    monkeypatch.setattr(overlap, "search", None)
    found, ages = Overlap(), [ValueSet.interval(20, 60), ValueSet.interval(30, None), ValueSet.interval(None, 50)]
    for allowed in ages:
        found.add(box(age=allowed), [3, 4, 5])
    assert found.largest(box(age=ValueSet.of([30, 90])), arm=0).upper == 9
    assert found.upper_bounds(box(age=ValueSet.interval(40, None)), [1, 2]) == [12, 15]
    assert found.copy().largest(box(sex=ValueSet.of([1])), arm=2).lower == 15
    with pytest.raises(TypeError):  # nobody of these ages is in all: that is looked for
        found.largest(box(age=ValueSet.interval(50, None)), arm=0)


def test_dropping_cells_that_are_no_peak_is_what_saves_nodes(monkeypatch):
    """A pruning that never fires would pass every test above."""
    charges = random_boxes(100, 1)
    with_peaks = history(charges).largest(Region.whole(), arm=0, nodes=MANY)
    monkeypatch.setattr(worst_record_search, "peaks", lambda problem: np.ones(len(problem.cell), dtype=bool))
    without = history(charges).largest(Region.whole(), arm=0, nodes=MANY)
    assert with_peaks.upper == without.upper
    assert with_peaks.nodes < without.nodes


def test_a_large_node_counts_as_several(monkeypatch):
    found = history(random_boxes(100, 1))
    once = found.largest(Region.whole(), arm=0, nodes=1)
    monkeypatch.setattr(worst_record_search, "LARGE", 100)
    several = found.largest(Region.whole(), arm=0, nodes=1)
    assert (once.nodes, several.nodes) == (1, 4)
    assert once.upper == several.upper


def small_problem() -> relaxation.RelaxationProblem:
    charges = random_boxes(20, 1)
    axis = grids.RegionGrid()
    for number, charge in enumerate(charges):
        axis.add(charge.region.boxes, event=number)
    return relaxation.whole_problem(axis.shape(), [np.array([charge.pure for charge in charges])])


def test_no_share_dies_however_many_the_steps(monkeypatch):
    """A share of 0 would leave nothing to go on with when the piece's other sides vanish."""
    problem, shares = small_problem(), []
    step = relaxation._step
    monkeypatch.setattr(relaxation, "_step", lambda *given: shares.append(step(*given)) or shares[-1])
    best = relaxation.tighten(problem, 0, steps=3000, enough=0)
    assert len(shares) == 3000
    assert 0 < shares[-1].min() < 1e-9
    assert np.allclose(np.bincount(problem.piece, shares[-1]), 1)
    assert relaxation.relax(best, 0).total < relaxation.relax(problem, 0).total


def test_a_split_that_does_not_add_up_is_an_error():
    problem = small_problem()
    arm = problem.arms[0]
    parts = relaxation.split(problem, arm)
    assert (np.bincount(problem.piece, parts) == arm.weights).all()
    too_much = relaxation.ArmWeights(constant=0, weights=arm.weights, shares=arm.shares * 1.1, unit=1)
    with pytest.raises(ArithmeticError):
        relaxation.split(problem, too_much)


# The lecture's four queries.

LECTURE = {
    "all": (Region.whole(), 500),
    "male": (box(sex=ValueSet.of([1])), 200),
    "female": (box(sex=ValueSet.of([0])), 250),
    "older": (box(age=ValueSet.interval(21, None)), 250),
}


@pytest.mark.parametrize("order", list(itertools.permutations(LECTURE)))
def test_the_lectures_queries_cost_one_in_any_order(order):
    found, asked = Overlap(), []
    for name in order:
        region, loss = LECTURE[name]
        found.add(region, [loss, loss**2 // 2])
        asked.append(name)
        sex = max(LECTURE[name][1] if name in asked else 0 for name in ("male", "female"))
        spent = sex + sum(LECTURE[name][1] for name in ("all", "older") if name in asked)
        bound = found.largest(Region.whole(), arm=0)
        assert bound.lower == bound.upper == spent
    assert bound.upper == 1000
    men = found.largest(LECTURE["male"][0], arm=0)
    assert men.lower == men.upper == 950


# Edges.


def test_an_empty_history_and_a_region_of_nobody():
    found = Overlap()
    assert found.largest(Region.whole(), arm=0) == Bound(lower=0, upper=0, nodes=0)
    assert found.within(Region.whole(), [0, None]).within
    found.add(Region.whole(), [5, 5])
    assert found.largest(Region(()), arm=0).upper == 0
    assert found.within(Region(()), [0, 0]).within
    nobody = box(name=ValueSet.interval(None, ""))
    assert found.largest(nobody, arm=0).upper == 0
    assert found.within(nobody, [0, 0]).within


def test_a_history_of_the_whole_table_only():
    found = Overlap()
    found.add(Region.whole(), [3, 4])
    found.add(Region.whole(), [3, 4])
    for region in (Region.whole(), box(age=ValueSet.of([3]), name=ValueSet.of(["x"]))):
        assert found.largest(region, arm=1) == Bound(lower=8, upper=8, nodes=0)
        assert found.within(region, [6, None]).within
        verdict = found.within(region, [5, 7])
        assert not verdict.within
        assert verdict.witness in region


def test_a_charge_on_nobody_costs_nobody():
    found = Overlap()
    found.add(Region(()), [7, 7])
    assert found.largest(Region.whole(), arm=0) == Bound(lower=0, upper=0, nodes=1)
    assert found.within(Region.whole(), [0, None]).within


def test_no_room_at_all_is_over():
    found = Overlap()
    found.add(box(age=ValueSet.of([3])), [7, 7])
    for limit in (-1, -(10**30)):
        verdict = found.within(box(age=ValueSet.of([5])), [limit, None])
        assert not verdict.within
        assert verdict.witness == {"age": 5}


def test_a_decision_needs_a_limit_and_losses_are_not_negative():
    with pytest.raises(ValueError, match="needs a limit"):
        Overlap().within(Region.whole(), [None, None])
    with pytest.raises(ValueError, match="negative"):
        Overlap().add(Region.whole(), [-1, 0])


def test_null_is_a_person_too():
    found = Overlap()
    found.add(box(age=ValueSet.of([3])), [7, 7])
    found.add(box(age=ONLY_NULL), [9, 9])
    found.add(box(age=NOT_NULL), [1, 1])
    assert found.largest(Region.whole(), arm=0).upper == 9
    assert found.largest(box(age=NOT_NULL), arm=0).upper == 8
    assert found.within(Region.whole(), [8, None]).witness == {"age": None}


def test_a_question_cuts_no_cell_yet_is_asked_exactly():
    found = Overlap()
    found.add(box(age=ValueSet.interval(10, 20)), [7, 7])
    assert found.largest(box(age=ValueSet.interval(5, 10)), arm=0).upper == 0
    assert found.largest(box(age=ValueSet.interval(5, 11)), arm=0).lower == 7
    assert found.within(box(age=ValueSet.interval(19, 90)), [6, None]).witness == {"age": 19}


def test_a_repeated_region_is_one_event():
    one, many = Overlap(), Overlap()
    region = box(age=ValueSet.interval(10, 20), sex=ValueSet.of([1]))
    one.add(region, [700, 300])
    for _ in range(100):
        many.add(region, [7, 3])
    assert many._losses == one._losses
    assert many.largest(Region.whole(), arm=0) == one.largest(Region.whole(), arm=0)


def test_a_copy_goes_its_own_way():
    charges = Clinic(1).charges(40)
    found = history(charges[:20])
    before = found.largest(Region.whole(), arm=0, nodes=MANY)
    twin = found.copy()
    for charge in charges[20:]:
        twin.add(charge.region, [charge.pure, charge.rho, charge.third])
    assert found.largest(Region.whole(), arm=0, nodes=MANY) == before
    fresh = history(charges).largest(Region.whole(), arm=0, nodes=MANY)
    assert twin.largest(Region.whole(), arm=0, nodes=MANY) == fresh
    assert fresh.upper > before.upper


def test_a_union_of_too_many_pieces_is_only_ever_widened(monkeypatch):
    monkeypatch.setattr(grids, "MOST_PIECES", 3)
    worlds = SmallWorlds(9)
    widened = 0
    for _ in range(size(60, 200)):
        world = worlds.world()
        most = min(UNBOUNDED, max(world.loads("pure"), default=0))
        bound = history(world.charges).largest(world.question, arm=0, nodes=MANY)
        assert bound.upper >= most
        widened += bound.upper > most
    assert widened


def test_an_unbounded_loss_ends_the_pure_arm_for_those_it_touches_alone():
    found = Overlap()
    men, women = box(sex=ValueSet.of([1])), box(sex=ValueSet.of([0]))
    found.add(men, [UNBOUNDED, 5])
    found.add(men, [UNBOUNDED, 5])
    found.add(women, [300, 2])
    assert found.largest(Region.whole(), arm=0).lower == UNBOUNDED
    assert found.largest(Region.whole(), arm=0).upper == UNBOUNDED
    assert found.largest(women, arm=0).upper == 300
    assert not found.within(men, [UNBOUNDED, None]).within


def test_losses_too_large_for_64_bits_stay_safe():
    """Sums beyond 2^62 are counted in coarser units: brackets and verdicts hold, exactness may not."""
    worlds, source, coarse = SmallWorlds(21), random.Random(21), 0
    for _ in range(size(60, 150)):
        world = worlds.world()
        huge = tuple(
            Charge(region=charge.region, pure=source.randrange(UNBOUNDED), rho=source.randrange(UNBOUNDED))
            for charge in world.charges
        )
        world = World(charges=huge, question=world.question, values=world.values)
        loads = world.loads("rho")
        most = max(loads, default=0)
        found = history(huge)
        coarse += found._weights(1, UNBOUNDED)[1] > 0
        bound = found.largest(world.question, arm=1, nodes=MANY)
        assert bound.lower <= min(most, UNBOUNDED) <= bound.upper
        assert bound.upper - bound.lower <= 13 * 2**8
        limit = source.choice([most - 1, most, most + 13 * 2**8])
        verdict = found.within(world.question, [None, limit], nodes=MANY)
        over = min(limit, UNBOUNDED - 1) < most
        assert not (verdict.within and over)
        assert (verdict.witness is None) or over
        assert verdict.within or limit < most + 13 * 2**8 or most >= UNBOUNDED
    assert coarse > size(8, 20)


# Larger histories.


@pytest.mark.parametrize("make", [grid, clique, random_boxes])
def test_a_stopped_search_brackets_the_solved_one(make):
    found = history(make(60, 5))
    solved = found.largest(Region.whole(), arm=0, nodes=MANY)
    assert solved.lower == solved.upper
    bounds = [found.largest(Region.whole(), arm=0, nodes=nodes) for nodes in (0, 1, 3, 10, 30, 100)]
    assert all(bound.lower <= solved.lower <= bound.upper for bound in bounds)
    assert bounds[0].upper == sum(charge.pure for charge in make(60, 5))
    assert bounds[1].upper < bounds[0].upper


def test_a_filter_in_the_loop_never_goes_over_and_beats_addition():
    """A budget filled up charge by charge: the witness of each refusal is over, what is accepted never is."""
    limit, found, accepted = 300 * 10**6, Overlap(), []
    source = random.Random(4)
    for charge in Clinic(4, skew=0.2).charges(200):
        verdict = found.within(charge.region, [limit - charge.pure, None])
        assert verdict.within != (verdict.witness is not None)
        if verdict.within:
            accepted.append(charge)
            found.add(charge.region, [charge.pure, charge.rho])
        else:
            assert verdict.witness in charge.region
            assert load(accepted, verdict.witness, "pure") + charge.pure > limit
    most = found.largest(Region.whole(), arm=0, nodes=MANY)
    assert most.lower == most.upper <= limit
    assert sum(charge.pure for charge in accepted) > 3 * limit
    for charge in source.sample(accepted, 20):
        inside = found.largest(charge.region, arm=0, nodes=MANY)
        assert charge.pure <= inside.upper <= most.upper


SCRIPT = """
from accounting.workloads import Clinic, UNBOUNDED
from discreet.accounting.overlap import Overlap
found = Overlap()
for number, charge in enumerate(Clinic(7, skew=0.2).charges({charges})):
    limits = [3 * 10**8 - charge.pure, 35 * 10**8 - charge.rho]
    verdict = found.within(charge.region, limits, nodes=64)
    print(verdict.within, verdict.witness, verdict.nodes, found.largest(charge.region, arm=1, nodes=8))
    if verdict.within:
        found.add(charge.region, [UNBOUNDED if number % 10 == 9 else charge.pure, charge.rho])
"""


def test_the_same_answers_whatever_the_hash_seed():
    tests = Path(__file__).resolve().parent.parent
    told = set()
    for seed in size(("0", "1"), ("0", "1", "20261115")):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(tests)}
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT.format(charges=size(70, 150))],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        told.add(run.stdout)
    assert len(told) == 1
    assert {"True", "False"} <= set(told.pop().split())
