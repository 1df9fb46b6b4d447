"""Programs: steps within a reservation, replayed and never drawn twice, on the real engine."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import discreet
from discreet.accounting.events import ReservationEvent
from discreet.accounting.region import Region
from discreet.errors import LedgerFault, QueryFailed
from discreet.kernel.binned_table import BinnedTable, Candidate, moves_of_distances
from discreet.kernel.person_table import WEIGHT, step_moves
from discreet.kernel.program import Program
from discreet.ledger.charge_request import ChargeRequest
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.strategy.strategy import IdentityStrategy, MatrixStrategy
from discreet.synth.attribute import attribute_of
from synth.worlds import PEOPLE, open_project

LINES = [f"{n % 60},{'FM'[n % 2]}" for n in range(600)]
BUDGET = "{ epsilon = 9, delta = 1e-6 }"
RHO = ReservationEvent(epsilon=None, rho=Fraction(1, 2), delta=Fraction(0))
PURE = ReservationEvent(epsilon=Fraction(1), rho=Fraction(1, 2), delta=Fraction(0))


@pytest.fixture
def project(tmp_path):
    return open_project(tmp_path, PEOPLE, LINES, budget=BUDGET)


def with_persons(folder, more):
    """The same rows, each of another person, and more lines; five rows a person."""
    folder.mkdir()
    lines = [f"{line},p{number}" for number, line in enumerate(LINES)] + more
    table = 'person = "who"\nrows_per_person = 5'
    return open_project(folder, PEOPLE | {"who": None}, lines, budget=BUDGET, table=table)


def start(project, event=RHO, question="fit") -> Program:
    version = project.version("people")
    ledger = project.ledger
    held = ledger.find_reservation("people", version.number, question)
    if held is None:
        id_ = ledger.charge(
            ChargeRequest(
                population=version.population,
                table="people",
                version=version.number,
                region=Region.whole(),
                event=event,
                question=question,
                price=1,
            )
        ).id
    else:
        id_ = held.id
    return Program(project.curator, version, id_)


def cut_of(program):
    schema = program.version.schema
    return BinnedTable(program, tuple(attribute_of(column).axis() for column in schema.columns))


def exact(cut, places):
    return cut._count(places)


def test_what_is_cut_is_what_is_there(project):
    cut = cut_of(start(project))
    assert exact(cut, (0,)).tolist() == [200, 200, 200, 0]
    assert exact(cut, (1,)).tolist() == [300, 300]
    assert exact(cut, (1, 0)).reshape(2, 4).sum(axis=1).tolist() == [300, 300]
    assert exact(cut, ()).tolist() == [600]
    groups = (np.array([0, 1, 0, 1]), np.array([0, 0]))
    assert exact(cut.merged(groups), (0,)).tolist() == [400, 200]
    assert cut.merged(groups).sizes == (2, 1)
    assert exact(cut.merged(groups).regrouped((np.array([0, 0, 1, 1]), np.array([0, 1]))), (0, 1)).tolist() == [
        *(200, 200),
        *(100, 100),
    ]


def test_a_person_moves_marginals_by_their_rows(tmp_path):
    """Exact neighbours on the real engine: with and without a person of many rows."""
    counts = []
    for rows in (0, 50):
        program = start(with_persons(tmp_path / str(rows), [f"{n % 3 * 25},F,x" for n in range(rows)]))
        cut = cut_of(program)
        assert (program.moves.l0, program.moves.l1, program.moves.l2_squared) == (5, 5, 25)
        coarser = cut.merged((np.array([0, 1, 0, 1]), np.array([0, 0]))).regrouped(
            (np.array([0, 0, 1, 1]), np.array([0, 1]))
        )
        counts.append([*(exact(cut, places) for places in ((), (0,), (1,), (0, 1))), exact(coarser, (0, 1))])
    moved = [after - before for before, after in zip(*counts, strict=True)]
    assert [int(np.abs(each).sum()) for each in moved] == [5, 5, 5, 5, 5]  # the bound is attained
    assert max(int((each**2).sum()) for each in moved) == 25


def test_a_person_moves_scores_and_distances_by_no_more_than_is_paid_for(tmp_path, monkeypatch):
    """Exact neighbours: the choice's own sensitivity bounds what a person of many rows moves, and is attained."""
    sets, zeros = [(0,), (1,), (0, 1)], {(0,): 4, (1,): 2, (0, 1): 8}
    seen, scores, sums = [], [], []
    for rows in (0, 50):
        project = with_persons(tmp_path / str(rows), ["30,F,x"] * rows)
        program = start(project, PURE)
        cut = cut_of(program)
        known = type(project.curator).choose

        def choose(self, mechanism, exact_scores, known=known):
            seen.append(mechanism.sensitivity)
            scores.append(exact_scores)
            return known(self, mechanism, exact_scores)

        monkeypatch.setattr(type(project.curator), "choose", choose)
        weighted = [
            (own, Candidate(estimate=np.zeros(zeros[own], dtype=np.int64), weight=place + 1, penalty=0))
            for place, own in enumerate(sets)
        ]
        cut.choose(sets, lambda found=weighted: found, epsilon=Fraction(1, 9), most_weight=3)
        monkeypatch.undo()
        sums.append([cut._distance(own, np.zeros(zeros[own], dtype=np.int64), 1024) for own in sets])
    moved = np.abs(scores[1] - scores[0])
    assert seen == [15, 15] and moved.max() == 15
    distances = [abs(after - before) for before, after in zip(*sums, strict=True)]
    assert distances == [5 * 1024] * 3 == [moves_of_distances(5, [1], 1024).l1] * 3


def test_two_processes_draw_each_step_once(project):
    one, other = start(project), start(discreet.open(project.folder))
    first = cut_of(one).measure([(0,)], [one.law(Fraction(1, 4))])
    second = cut_of(other).measure([(0,)], [other.law(Fraction(1, 4))])
    assert first[0].tolist() == second[0].tolist()
    for program in (other, one):
        cut_of(program).measure([(1,)], [program.law(Fraction(1, 4))])
    assert len(project.ledger.reservation(one.id).steps) == 2


def test_a_reservation_serves_its_own_table(project):
    held = start(project)
    strange = replace(held.version, table="others")
    with pytest.raises(LedgerFault, match="was not reserved for"):
        Program(project.curator, strange, held.id)


@pytest.mark.parametrize("event", [RHO, PURE])
def test_shares_are_exact_and_add_up_to_all(project, event):
    program = start(project, event)
    cut = cut_of(program)
    cut.measure([(0,), (1,)], [program.law(Fraction(1, 7)), program.law(Fraction(2, 7))])
    assert program.share_left == Fraction(4, 7)
    chosen = cut.choose(
        [(0,), (1,)], lambda: candidates((4, 2)), epsilon=program.choice_epsilon(Fraction(1, 7)), most_weight=1
    )
    assert chosen in (0, 1)
    assert Fraction(3, 7) <= program.share_left < Fraction(3, 7) + Fraction(1, 10**6)
    cut.measure([(0, 1)], [program.law(program.share_left)])
    assert program.share_left == 0
    spent = [step.loss for step in project.ledger.reservation(program.id).steps]
    total = sum(each.epsilon for each in spent) if event is PURE else sum(each.rho for each in spent)
    assert total == (event.epsilon if event is PURE else event.rho)


def candidates(sizes, weight=1):
    return [
        ((place,), Candidate(estimate=np.zeros(size, dtype=np.int64), weight=weight, penalty=0))
        for place, size in enumerate(sizes)
    ]


def test_the_same_program_again_draws_nothing(project):
    def run():
        program = start(project)
        cut = cut_of(program)
        one = cut.measure([(0,)], [program.law(Fraction(1, 2))])
        two = cut.choose([(0,), (1,)], lambda: candidates((4, 2)), epsilon=Fraction(1, 2), most_weight=1)
        return [values.tolist() for values in one], two, program

    noisy, chosen, program = run()
    rows = project.ledger.state.seq
    spent = project.budget("people")
    for _ in range(3):
        again, same, other = run()
        assert (again, same, other.id) == (noisy, chosen, program.id)
    assert project.ledger.state.seq == rows
    assert project.budget("people") == spent


def test_another_program_under_the_same_reservation_is_refused(project):
    program = start(project)
    cut_of(program).measure([(0,)], [program.law(Fraction(1, 2))])
    other = start(project)
    with pytest.raises(LedgerFault, match="is not the step"):
        cut_of(other).measure([(1,)], [other.law(Fraction(1, 2))])
    with pytest.raises(LedgerFault, match="is not the step"):
        cut_of(other).measure([(0,)], [other.law(Fraction(1, 3))])


SWAPPED = MatrixStrategy(np.array([[0, 1], [1, 0]]))


def whole_table(program, strategy):
    axes = (attribute_of(program.version.schema.column("sex")).axis(),)
    return program.linear(axes, [(strategy, program.law(Fraction(1, 2)))])[0]


def one_marginal(program, strategy):
    return cut_of(program).linear([(1,)], [(strategy, program.law(Fraction(1, 2)))])[0]


@pytest.mark.parametrize("measure", [whole_table, one_marginal])
def test_another_strategy_that_moves_as_far_is_another_step(project, measure):
    """What was drawn for one must not be read as what the other measures: here, women as men."""
    assert IdentityStrategy(2).sensitivity(1) == SWAPPED.sensitivity(1)
    drawn = measure(start(project), IdentityStrategy(2))
    with pytest.raises(LedgerFault, match="is not the step"):
        measure(start(project), SWAPPED)
    assert measure(start(project), IdentityStrategy(2)).tolist() == drawn.tolist()


def test_linear_steps_move_as_far_as_the_program_says(tmp_path):
    """A program whose rows weigh more than one has the noise for that."""
    program = start(with_persons(tmp_path / "heavy", []))
    assert program.moves.l1 == program.version.schema.unit.rows == 5
    program.moves = step_moves(5)
    seen = []

    class Recorded(IdentityStrategy):
        def sensitivity(self, rows):
            seen.append(rows)
            return super().sensitivity(rows)

    cut_of(program).linear([(1,)], [(Recorded(2), program.law(Fraction(1, 2)))])
    assert seen == [WEIGHT] and program.share_left == Fraction(1, 2)


def test_what_raises_ends_the_program_with_one_sentence(project):
    program = start(project)

    def broken():
        raise RuntimeError("the exact count is 200")

    with pytest.raises(QueryFailed) as caught:
        cut_of(program).choose([(0,)], broken, epsilon=Fraction(1, 2), most_weight=1)
    assert "200" not in str(caught.value)
    assert caught.value.__cause__ is None
    with pytest.raises(LedgerFault, match="no further step"):
        cut_of(program).measure([(0,)], [program.law(Fraction(1, 2))])


@pytest.mark.parametrize(
    "candidate",
    [
        Candidate(estimate=np.zeros(4, dtype=np.int64), weight=2, penalty=0),  # moves twice as far as was said
        Candidate(estimate=np.zeros(4), weight=1, penalty=0),
        Candidate(estimate=np.zeros(1, dtype=np.int64), weight=1, penalty=0),
    ],
)
def test_a_score_that_could_move_further_is_not_used(project, candidate):
    program = start(project)
    with pytest.raises(QueryFailed):
        cut_of(program).choose([(0,)], lambda: [((0,), candidate)], epsilon=Fraction(1, 2), most_weight=1)


def test_a_choice_prefers_what_is_far_off_and_only_what_fits(project):
    program = start(project, PURE)
    cut = cut_of(program)
    near = Candidate(estimate=exact(cut, (1,)), weight=1, penalty=0)
    far = Candidate(estimate=np.zeros(4, dtype=np.int64), weight=1, penalty=0)
    epsilon = Fraction(1, 4)  # exp(-600 / 8): a wrong choice once in 10^32 runs
    assert cut.choose([(1,), (0,)], lambda: [((0,), far), ((1,), near)], epsilon=epsilon, most_weight=1) == 1
    fitting = cut.choose(
        [(1,), (0,)], lambda: [((0,), far), ((1,), near)], epsilon=epsilon, most_weight=1, fits=lambda place: place == 0
    )
    assert fitting == 0
    told = Candidate(estimate=np.zeros(4, dtype=np.int64), weight=1, penalty=10_000)
    assert cut.choose([(1,), (0,)], lambda: [((1,), near), ((0,), told)], epsilon=epsilon, most_weight=1) == 0


def test_exact_rows_cannot_be_printed_or_sent(project):
    import pickle

    cut = cut_of(start(project))
    rows = cut._rows()
    assert "exact cells" in repr(rows)
    with pytest.raises(TypeError, match="do not leave"):
        pickle.dumps(rows)


def test_stored_steps_hold_noisy_values(project, monkeypatch):
    """A mutant without noise is seen: the stored step would be the exact one."""
    program = start(project)
    cut = cut_of(program)
    law = program.law(Fraction(1, 10**6))  # sd 1,000: equal by chance about once in 10^12 runs
    (noisy,) = cut.measure([(0,)], [law])
    stored = json.loads(project.ledger.answer(f"{program.id}.1"))
    assert stored == [noisy.tolist()]
    assert noisy.tolist() != exact(cut, (0,)).tolist()


def test_noise_other_than_charged_is_caught(project, monkeypatch):
    program = start(project)
    cut = cut_of(program)
    known = type(project.curator).add_noise
    monkeypatch.setattr(
        type(project.curator),
        "add_noise",
        lambda self, law, values, moves: known(self, DiscreteLaplace(scale=Fraction(1)), values, moves),
    )
    with pytest.raises(LedgerFault, match="not the noise charged"):
        cut.measure([(0,)], [program.law(Fraction(1, 2))])
