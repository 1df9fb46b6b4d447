"""Auditing as the notes have it: SQL sums over public columns, what denials tell, and why bits are hard to audit."""

import itertools
import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.cli.main import call
from discreet.errors import DiscreetError, UsageError
from discreet.lab import query_auditing
from discreet.lab.query_auditing import sql_audit
from discreet.lab.query_auditing.boolean_auditor import settle_bits
from discreet.lab.query_auditing.denial import BitAuditor
from discreet.lab.query_auditing.hard_formula import HUB, HardFormula, audit_formula
from discreet.lab.query_auditing.sum_auditor import Elimination

NAMES = ["Anna", "Ben", "Carla", "Dora", "Emil", "Freddie"]
EMPLOYEES = pa.table(
    {
        "name": NAMES,
        "age": [29, 34, 36, 41, 52, 58],
        "salary": [3100, 2900, 4200, 5100, 4800, 3900],
        "bonus": [0, 0, 1, 1, 1, 0],
    }
)
NOTES = "select sum(salary) from Employees where age > 35"


def audit(*texts, kind="sum", table=EMPLOYEES):
    return query_auditing.audit_sql(query_auditing.read_sums(table, texts), kind=kind)


def test_the_sum_of_the_notes():
    """A question is the set of people that it touches; the next one would tell Carla's salary."""
    sums = query_auditing.read_sums(EMPLOYEES, NOTES)
    assert sums.secret == "salary" and sums.names(0) == NAMES[2:] and sums.queries.answers == (18_000,)
    found = audit(
        NOTES, NOTES.replace("35", "40"), "SELECT sum(e.Salary) AS s FROM employees e", f"{NOTES} OR age < 35"
    )
    verdicts = [(each["verdict"], each["reveals"]) for each in found.details["questions"]]
    assert verdicts == [("answer", []), ("deny", ["Carla"]), ("answer", []), ("nothing new", [])]
    assert found.success == 0 and "would tell the number of Carla" in found.story[1]
    assert found.picture().startswith("<svg") and "at most 5 ever can be" in found.story[-1]


def rational_rank(rows):
    rows = [[Fraction(int(cell)) for cell in row] for row in rows]
    rank = 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((place for place in range(rank, len(rows)) if rows[place][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for place in range(len(rows)):
            if place != rank and rows[place][column]:
                factor = rows[place][column] / rows[rank][column]
                rows[place] = [one - factor * two for one, two in zip(rows[place], rows[rank], strict=True)]
        rank += 1
    return rank


def test_verdicts_are_those_of_exact_linear_algebra():
    """Random conditions; denied just if a unit vector comes into the span of what was answered."""
    chance = np.random.default_rng(5)
    texts = [
        f"select sum(salary) from t where age {sign} {age} and name <> '{name}'"
        for sign, age, name in zip(
            chance.choice(["<", ">", "<>"], 25), chance.integers(28, 60, 25), chance.choice(NAMES, 25), strict=True
        )
    ]
    sums = query_auditing.read_sums(EMPLOYEES, texts)
    found = query_auditing.audit_sql(sums).details["questions"]
    answered = []
    for question, line in zip(sums.queries.questions, found, strict=True):
        trial = [*answered, question]
        rank = rational_rank(trial)
        told = [name for name, unit in zip(NAMES, np.eye(6), strict=True) if rational_rank([*trial, unit]) == rank]
        assert (line["verdict"] == "deny") is bool(told) and line["reveals"] == told
        answered = answered if told else trial
    assert {"deny", "answer"} <= {line["verdict"] for line in found}


PAIRS = [
    "select sum(bonus) from t where name in ('Dora', 'Emil')",
    "select sum(bonus) from t where age > 50",
    "select sum(bonus) from t where name in ('Anna', 'Dora', 'Emil')",
]


def test_what_denials_tell():
    """Dora and Emil are denied, so they are equal; a harmless count then gives four people away."""
    found = audit(*PAIRS, kind="boolean")
    assert [line["verdict"] for line in found.details["questions"]] == ["deny", "answer", "answer"]
    assert found.details["told"] == ["Anna", "Dora", "Emil", "Freddie"] and found.success == 4 / 6
    assert "would tell the bit of Dora, Emil" in found.story[0] and "Answers and denials together" in found.story[-1]


def test_bits_against_all_tables():
    """The auditor is the careless one, and what is told is what all tables with the same transcript share."""
    chance = np.random.default_rng(7)
    for _ in range(12):
        bits = chance.integers(0, 2, 5)
        questions = [np.flatnonzero(chance.random(5) < 0.6).tolist() or [0] for _ in range(5)]

        def transcript(values, questions=questions):
            auditor = BitAuditor(bits=np.array(values, dtype=bool), simulatable=False)
            return [auditor.ask(question) for question in questions]

        same = [values for values in itertools.product((0, 1), repeat=5) if transcript(values) == transcript(bits)]
        told = [place for place in range(5) if len({values[place] for values in same}) == 1]
        table = pa.table({"id": list(range(5)), "bit": bits.tolist()})
        texts = [f"select sum(bit) from t where id in ({', '.join(map(str, each))})" for each in questions]
        found = audit(*texts, kind="boolean", table=table)
        assert found.details["told"] == [f"row {place + 1}" for place in told]
        denied = [answer is None for answer in transcript(bits)]
        assert [line["verdict"] == "deny" for line in found.details["questions"]] == denied


def test_an_auditor_that_forgets_is_caught(monkeypatch):
    """The check can fail: an auditor that adds nothing up answers what tells Carla's salary."""
    monkeypatch.setattr(Elimination, "exposes", lambda self, left: False)
    found = audit(NOTES, NOTES.replace("35", "40"))
    assert found.details["questions"][1]["verdict"] == "answer"  # what test_the_sum_of_the_notes refuses


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no question"),
        ("select count(*) from t", "not one sum"),
        ("select sum(salary), sum(age) from t", "not one sum"),
        ("select sum(salary * 2) from t", "not one sum"),
        ("drop table t", "not one sum"),
        ("select sum(salary) from t group by age", "more than a WHERE: group"),
        ("select sum(salary) from t join u using (name)", "more than a WHERE: join"),
        ("select sum(salary) from t where salary > 3000", "confidential"),
        ("select sum(salary) from t where pay > 3000", "'pay', which is not a column"),
        ("select sum(salary) from t; select sum(age) from t", "question 2 sums 'age'"),
        ("select sum(salary) from t where age > (select 3)", "not about single people"),
        ("select sum(salary) from t where age > 'x'", "cannot be evaluated"),
        ("select sum(salary) from t where exists(from read_csv('/etc/passwd'))", "question|condition|SQL"),
    ],
)
def test_what_is_no_sum(text, message):
    with pytest.raises(DiscreetError, match=message):
        audit(text)


def test_other_wrong_wishes():
    with pytest.raises(UsageError, match="no kind"):
        audit(NOTES, kind="max")
    with pytest.raises(UsageError, match="not a column of bits"):
        audit(NOTES, kind="boolean")
    with pytest.raises(UsageError, match="at most 16"):
        audit("select sum(b) from t", kind="boolean", table=pa.table({"b": [0] * 17}))
    with pytest.raises(UsageError, match="no public column"):
        query_auditing.read_sums(EMPLOYEES, NOTES, name="who")
    with pytest.raises(UsageError, match="1 to 5,000"):
        audit("select sum(b) from t", table=pa.table({"b": [0] * 5001}))
    with pytest.raises(UsageError, match="'b' has empty cells"):
        audit("select sum(b) from t", table=pa.table({"b": [0.5, None]}))
    with pytest.raises(UsageError, match="'name' is not a column of numbers"):
        audit("select sum(name) from t")
    assert sql_audit.audit_sql(query_auditing.read_sums(pa.table({"b": [0.5, 2.0]}), "select sum(b) from t")).n == 2


@pytest.mark.parametrize(
    ("text", "met"), [("a b c; a b d; a c d; b c d", False), ("a b c; b c d", True), ("x y z", True)]
)
def test_the_gadget_is_what_it_says(text, met):
    """The hub's bit is told just if the formula cannot be met: by an audit of the counts that knows no formula."""
    formula = HardFormula.parse(text)
    queries = formula.queries
    fits = [
        bits
        for bits in itertools.product((0, 1), repeat=len(queries.people))
        if all(np.array(bits) @ question == 1 for question in queries.questions)
    ]
    hubs = {bits[-1] for bits in fits}
    assert hubs == ({0, 1} if met else {1}) and queries.people[-1] == HUB
    found = audit_formula(text)
    assert found.success == (not met) and (found.details["met_by"] is not None) is met
    picture = found.picture()
    assert picture.startswith("<svg") and picture.count("<polygon") == len(formula.threes)
    assert picture.count("<circle") == len(queries.people)


def test_the_gadget_by_the_solver():
    pytest.importorskip("ortools")
    queries = HardFormula.parse("a b c; a b d; a c d; b c d").queries
    assert settle_bits(queries.questions, [1] * 4)[4] is True


def test_random_formulas_against_the_audit():
    chance = np.random.default_rng(3)
    seen = set()
    for _ in range(40):
        threes = [" ".join(chance.choice(list("abcde"), 3, replace=False)) for _ in range(5)]
        formula = HardFormula.parse("; ".join(threes))
        questions = formula.queries.questions
        tables = np.array(list(itertools.product((0, 1), repeat=questions.shape[1])))
        fitting = tables[(tables @ questions.T == 1).all(axis=1)]
        assert (formula.solution is None) is bool(fitting[:, -1].all())
        seen.add(formula.solution is None)
    assert seen == {True, False}


@pytest.mark.parametrize("text", ["", "a b", "a a b", "a b c d", "a b hub", "a b <c>", "; ".join(["a b c"] * 41)])
def test_what_is_no_formula(text):
    with pytest.raises(UsageError):
        audit_formula(text)


def test_the_verb(tmp_path, capsys):
    rows = ["name,age,salary", *(f"{name},{30 + place},{1000 * place}" for place, name in enumerate(NAMES))]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    (tmp_path / "q.sql").write_text("select sum(salary) from t where age > 31;")
    words = ["attack", "auditing", str(tmp_path / "t.csv"), "--question", "select sum(salary) from t"]
    assert call([*words, "--questions", str(tmp_path / "q.sql"), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [len(each["people"]) for each in data["details"]["questions"]] == [6, 4] and data["details"]["denied"] == 0
    assert call(["attack", "auditing", "--formula", "a b c", "-o", str(tmp_path / "g.svg")]) == 0
    assert (tmp_path / "g.svg").read_text().startswith("<svg")
    capsys.readouterr()
    for wrong in (
        ["--question", "select 1"],
        ["--name", "x"],
        ["--formula", "a b c", "--kind", "sum"],
        [*words[2:], "--n", "4"],
    ):
        assert call(["attack", "auditing", *wrong]) == 2
        assert capsys.readouterr().err.startswith("UsageError")
    assert call([*words, "--questions", str(tmp_path / "none.sql")]) == 2
