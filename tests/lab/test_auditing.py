"""Query auditing, held against exact arithmetic and against all tables there are."""

import sys
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.lab import query_auditing
from discreet.lab.query_auditing import boolean_auditor, denial, query_file, sum_auditor
from tiers import size


def rank(rows):
    """The rank over the rationals, by plain elimination with Fractions."""
    rows, found = [[Fraction(int(cell)) for cell in row] for row in rows], 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((row for row in rows[found:] if row[column]), None)
        if pivot is None:
            continue
        rows.remove(pivot)
        rows.insert(found, pivot)
        for place, row in enumerate(rows):
            if place != found and row[column]:
                factor = row[column] / pivot[column]
                rows[place] = [one - factor * other for one, other in zip(row, pivot, strict=True)]
        found += 1
    return found


def told(rows, people):
    rows = [list(row) for row in rows]
    size = rank(rows)
    return [person for person in range(people) if rank([*rows, [place == person for place in range(people)]]) == size]


@pytest.mark.thin(10)
@pytest.mark.parametrize("seed", range(25))
def test_the_sum_auditor_agrees_with_exact_arithmetic(seed):
    chance = np.random.default_rng(seed)
    people = int(chance.integers(1, 8))
    asked = chance.random((9, people)) < chance.uniform(0.2, 0.9)
    auditor, answered = sum_auditor.SumAuditor(people), []
    for question in asked:
        if rank([*answered, question]) == rank(answered):
            want = "nothing new"
        else:
            want = "deny" if told([*answered, question], people) else "answer"
        assert auditor.ask(question) == want
        if want == "answer":
            answered.append(question)
    exposed, first = sum_auditor.exposed_by_all_answers(asked)
    assert exposed == told(asked, people)
    assert first == next((place for place in range(9) if told(asked[: place + 1], people)), None)


def test_many_people_and_questions_keep_everybodys_number():
    asked = np.random.default_rng(7).random((400, 200)) < 0.5
    found = query_auditing.audit_sums(asked)
    assert (found["answered"], found["denied"], found["exposed_if_all_answered"]) == (199, 201, 200)
    auditor = sum_auditor.SumAuditor(200, prime=2_147_483_647)  # the largest prime: nothing overflows
    assert [auditor.ask(question) for question in asked].count("answer") == 199
    assert auditor.span.exposed() == []


def test_a_small_prime_would_be_wrong():
    """Why the prime is large and drawn: modulo 2 the sums of three pairs look dependent."""
    pairs = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], dtype=bool)
    assert [sum_auditor.SumAuditor(3).ask(pair) for pair in pairs[:1]] == ["answer"]
    careful, careless = sum_auditor.SumAuditor(3), sum_auditor.SumAuditor(3, prime=2)
    assert [careful.ask(pair) for pair in pairs] == ["answer", "answer", "deny"]
    assert [careless.ask(pair) for pair in pairs] == ["answer", "answer", "nothing new"]


def test_primes():
    sieve = [number for number in range(3, 2_000, 2) if all(number % other for other in range(3, number, 2))]
    assert [number for number in range(9, 2_000, 2) if sum_auditor._is_prime(number)] == [
        each for each in sieve if each > 8
    ]
    drawn = {sum_auditor.random_prime() for _ in range(20)}
    assert len(drawn) > 15 and all(sum_auditor.LEAST_PRIME < each < sum_auditor.MOST_PRIME for each in drawn)
    assert all(pow(3, each - 1, each) == 1 for each in drawn)


@pytest.mark.thin(10)
@pytest.mark.parametrize("seed", range(30))
def test_the_boolean_audit_agrees_with_all_tables(seed):
    chance = np.random.default_rng(seed)
    people = int(chance.integers(1, 10))
    bits = chance.random(people) < 0.5
    asked = chance.random((int(chance.integers(1, people + 2)), people)) < chance.uniform(0.2, 0.9)
    answers = (asked & bits).sum(axis=1)
    tables = (np.arange(1 << people)[:, None] >> np.arange(people) & 1).astype(bool)
    fit = tables[((tables[:, None, :] & asked).sum(axis=2) == answers).all(axis=1)]
    want = {person: bool(fit[0, person]) for person in range(people) if len(set(fit[:, person].tolist())) == 1}
    assert boolean_auditor.settle_bits(asked, answers.tolist()) == want


def test_contradictions_are_named():
    asked = query_auditing.parse("# counts\nanna, ben = 1\nben, carla = 0\n\ncarla, dora = 2\nanna, dora, emil = 3")
    with pytest.raises(UsageError, match=r"lines 3, 5 contradict"):
        query_auditing.attack(asked, kind="boolean")
    with pytest.raises(UsageError, match="count in line 1"):
        query_auditing.attack(query_auditing.parse("anna, ben = 3"), kind="boolean")


def test_a_boolean_audit_that_takes_too_long_says_so():
    chance = np.random.default_rng(1)
    asked = chance.random((20, 60)) < 0.5
    with pytest.raises(UsageError, match="in time"):
        boolean_auditor.settle_bits(asked, (asked & (chance.random(60) < 0.5)).sum(axis=1).tolist(), timeout_s=0.0)


@pytest.mark.deep
def test_its_solver_is_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    with pytest.raises(UsageError, match="needs OR-tools"):
        query_auditing.attack(query_auditing.parse("anna = 1"), kind="boolean")
    assert query_auditing.demo(people=5, queries=5).details["boolean_growth"] == []


def test_a_denied_pair_is_equal():
    for bits in ([0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 0]):
        auditor = denial.BitAuditor(bits=np.array(bits, dtype=bool), simulatable=False)
        assert (auditor.ask([0, 1]) is None) == (bits[0] == bits[1])


def test_no_answer_of_either_auditor_settles_a_bit():
    """They keep their promise to the letter; the careless one's denials break it."""
    chance = np.random.default_rng(2)
    for simulatable in (False, True):
        for _ in range(20):
            auditor = denial.BitAuditor(bits=chance.random(7) < 0.5, simulatable=simulatable)
            for _ in range(10):
                auditor.ask(np.flatnonzero(chance.random(7) < 0.5).tolist() or [0])
                ever, always = np.bitwise_or.reduce(auditor.fitting), np.bitwise_and.reduce(auditor.fitting)
                assert (ever, always) == (127, 0)


@pytest.mark.deep
def test_denials_tell_and_simulatable_ones_do_not():
    chance = np.random.default_rng()
    right, answered, _ = denial.play_denial_contest(500, 12, simulatable=False, chance=chance)
    assert right > 470 and answered > 0  # 0.5% of tables leave no three to ask about: 1 in 400 stays open
    right, answered, denied = denial.play_denial_contest(500, 12, simulatable=True, chance=chance)
    assert (answered, denied) == (0, 500 * 11)
    assert abs(right - 250) < 62  # 5.5 standard deviations


def test_a_simulatable_auditor_decides_without_the_data():
    """Same questions, other secrets, same verdicts."""
    verdicts = []
    for bits in ([0] * 6, [1, 0, 1, 1, 0, 0]):
        auditor = denial.BitAuditor(bits=np.array(bits, dtype=bool), simulatable=True)
        verdicts.append([auditor.ask(asked) is None for asked in ([0, 1], [2, 3, 4], [0, 1, 2, 3, 4, 5])])
    assert verdicts[0] == verdicts[1]


def test_the_demonstration(monkeypatch):
    monkeypatch.setattr(
        query_auditing.auditor_attack, "SIZES", (6, 8, 10)
    )  # the page of all attacks has them as they are
    found = query_auditing.demo(people=size(30, 60), queries=size(50, 100))
    assert found.breaks and found.success > 0.95
    assert found.details["sums"]["verdicts"].count("answer") == size(29, 59)
    points = found.details["boolean_growth"]
    assert [point["people"] for point in points] == [6, 8, 10]
    assert found.picture().startswith("<svg")


def test_own_questions():
    found = query_auditing.attack(query_auditing.parse("anna, ben, carla\nben, carla  # all but Anna\nanna, dora"))
    assert (found.success, found.n) == (0.5, 4)
    assert found.details["told"] == ["anna", "dora"] and found.details["first_that_tells"] == 2
    assert [each["verdict"] for each in found.details["verdicts"]] == ["answer", "deny", "answer"]
    bits = query_auditing.attack(query_auditing.parse("anna, ben = 2\nben, carla, dora = 2"), kind="boolean")
    assert bits.details["told"] == {"anna": True, "ben": True}
    assert bits.picture().startswith("<svg")


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "no query"), ("anna,,ben", "nobody"), ("anna, anna", "twice"), ("anna = x", "whole"), ("= 3", "nobody")],
)
def test_lines_that_are_no_question(text, message):
    with pytest.raises(UsageError, match=message):
        query_auditing.parse(text)


def test_wrong_wishes():
    with pytest.raises(UsageError, match="no answer"):
        query_auditing.attack(query_auditing.parse("anna, ben = 1\nanna"), kind="boolean")
    with pytest.raises(UsageError, match="no kind"):
        query_auditing.attack(query_auditing.parse("anna, ben"), kind="max")
    with pytest.raises(UsageError, match="at most 60"):
        query_auditing.attack(
            query_auditing.parse(", ".join(f"p{number}" for number in range(61)) + " = 3"), kind="boolean"
        )
    with pytest.raises(UsageError, match="1 to 5,000"):
        query_auditing.demo(people=6_000)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a, b = 1\na, b = 2", "lines 1 and 2"),
        ("a, b = 1\nc, d = 9\nb, c = 3\na, c = 2\na, b, c = 4", "lines 1, 3, 4 and 5"),
    ],
)
def test_sums_that_no_numbers_give_are_refused_with_their_lines(text, lines):
    with pytest.raises(UsageError, match=f"{lines} contradict"):
        query_auditing.attack(query_file.parse(text))


def test_sums_that_numbers_give_are_not_refused():
    chance = np.random.default_rng()
    questions = chance.random((60, 20)) < 0.5
    answers = (questions @ chance.integers(-(10**6), 10**6, 20)).tolist()
    assert sum_auditor.conflicting_questions(questions, answers) == []
    answers[59] += 1
    assert 59 in sum_auditor.conflicting_questions(questions, answers)


def test_a_file_without_a_question_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no line of the file is a query"):
        query_file.parse("some words\nand more words")
    (tmp_path / "people.csv").write_text("name,age\nanna,31\n")
    with pytest.raises(UsageError, match="none of its lines is a query"):
        query_file.read(tmp_path / "people.csv")
