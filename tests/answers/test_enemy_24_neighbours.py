"""An enemy's own law of neighbours: what every mechanism is given on a project, and after a person has left it.

Nothing of `laws` is used. Mechanisms add no noise and remember what they were given; the losses of all draws of a
question, on the two tables, must stay within what was asked for.
"""

import csv
import random
from fractions import Fraction

import numpy as np
import pytest

import discreet
from discreet.answers.workload import batch_quote
from discreet.errors import DiscreetError
from discreet.kernel.program import AddedRows
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.quantile import QuantileChoice
from discreet.mechanisms.weighted_threshold import UNIT, WeightedThreshold
from tiers import size

DECLARED = """
[populations.c]
budget = { epsilon = 900000, delta = 1e-2 }
[tables.o]
source = "o.csv"
population = "c"
person = "who"
rows_per_person = 5
[tables.o.columns]
city = { type = "category", values = ["a", "b", "c"] }
sex = { type = "category", values = ["F", "M"], constant = true, closed = true }
age = { type = "integer", low = 10, high = 19, constant = true }
x = { type = "integer", low = -7, high = 4 }
note = { type = "text" }
[tables.p]
source = "p.csv"
population = "c"
person = "who"
rows_per_person = 3
[tables.p.columns]
fee = { type = "integer", low = -2, high = 3 }
[tables.pub]
source = "pub.csv"
public = true
[tables.pub.columns]
name = { type = "text" }
w = { type = "integer" }
"""
FROM = ["o", "o", "o JOIN p ON o.who = p.who", "o LEFT JOIN p ON o.who = p.who", "o LEFT JOIN pub ON o.city = pub.name"]
SUMS = ["count(*)", "sum(o.x)", "count(o.x)", "sum(abs(o.x))"]
OTHERS = [*SUMS, "avg(o.x)", "median(o.x)", "count(DISTINCT o.x)", "count(DISTINCT o.who)"]


class People:
    """Persons with up to eight rows, some of them outside the declaration, and one who leaves: `gone`."""

    def __init__(self, folder, seed, accounting="renyi"):
        self.random, self.folder = random.Random(seed), folder
        draw, self.rows = self.random, {"o": [], "p": []}
        for person in range(8):
            sex, age = draw.choice("FM"), draw.choice(["", *range(10, 20)])
            for _ in range(draw.randint(1, 8)):
                row = (draw.choice(["a", "b", "c", "", "z"]), sex, age, draw.choice(["", -7, *range(-9, 6)]))
                self.rows["o"].append((f"w{person}", *row, draw.choice("uvw")))
            self.rows["p"] += [(f"w{person}", draw.choice(["", *range(-2, 4)])) for _ in range(draw.randint(0, 5))]
        self._write("pub", ["name", "w"], [("a", 3), ("b", -1), ("b", 2), ("z", 1)])
        (folder / "discreet.toml").write_text(
            DECLARED.replace("[tables.o]", f'accounting = "{accounting}"\n[tables.o]')
        )
        self._save("nobody")
        self.project = discreet.init(folder)
        self.gone = f"w{draw.randrange(8)}"
        self.own = next(row for row in self.rows["o"] if row[0] == self.gone)

    def _write(self, name, names, rows):
        with (self.folder / f"{name}.csv").open("w", newline="") as stream:
            csv.writer(stream).writerows([names, *rows])

    def _save(self, without):
        self._write("o", ["who", "city", "sex", "age", "x", "note"], [r for r in self.rows["o"] if r[0] != without])
        self._write("p", ["who", "fee"], [row for row in self.rows["p"] if row[0] != without])

    def leave(self):
        self._save(self.gone)
        self.project = discreet.open(self.folder)
        for name in self.rows:
            self.project.refresh(name, force=True)

    def condition(self):
        draw = self.random
        return draw.choice(
            [
                f"o.age {draw.choice(['<', '>='])} {draw.randint(12, 18)}",
                f"o.city IN ('{draw.choice('ab')}', 'c')",
                f"o.x BETWEEN {draw.randint(-7, -1)} AND {draw.randint(0, 4)}",
                "o.city IS NULL",
                f"NOT (o.sex = '{draw.choice('FM')}' AND o.age > 14)",
            ]
        )

    def statement(self, source, sums, *, keys=None, where=None):
        draw = self.random
        keys = draw.sample(["o.city", "o.sex", "o.age"], draw.choice([0, 1, 2])) if keys is None else keys
        columns = [f"{draw.choice(sums)} AS c{number}" for number in range(draw.choice([1, 2]))]
        by = f" GROUP BY {draw.choice(['ROLLUP (%s)', '%s']) % ', '.join(keys)}" if keys else ""
        where = where or (self.condition() if draw.random() < 0.7 else "o.sex IS NOT NULL")
        return f"SELECT {', '.join([*keys, *columns])} FROM {source} WHERE {where}{by}"

    def batch(self, where=None):
        source = self.random.choice(FROM)
        return ";\n".join(self.statement(source, SUMS, where=where) for _ in range(size(4, 6)))

    def limited(self):
        draw = self.random
        keys = draw.sample(["o.city", "o.x", "o.age"], draw.choice([1, 2]))
        limits = [
            f"-- groups per person: {draw.randint(1, 3)}\n",
            f"-- rows per person per group: {draw.randint(1, 2)}\n",
        ]
        picked = "".join(draw.sample(limits, draw.choice([1, 2])))
        return picked + self.statement(draw.choice(FROM), OTHERS, keys=keys)


@pytest.fixture
def given(monkeypatch):
    """What mechanisms were given."""
    log = []

    def silent(kind):
        def release(self, exact, *, bits, **norms):
            log.append((self, np.array(exact, dtype=object), norms))
            return exact, self.event(**norms)

        monkeypatch.setattr(kind, "add_noise", release)

    def shown(self, exact, *, bits):
        log.append((self, np.array(exact, dtype=object), {}))
        return np.arange(len(exact)), exact, self.event()

    real = QuantileChoice.choose

    def choose(self, exact, *, bits):
        log.append((self, np.array(exact, dtype=object), {}))
        return real(self, exact, bits=bits)

    monkeypatch.setattr(batch_quote, "_SECONDS", 0.02)  # how good a plan is does not matter here
    silent(DiscreteLaplace)
    silent(DiscreteGaussian)
    monkeypatch.setattr(WeightedThreshold, "discover", shown)
    monkeypatch.setattr(QuantileChoice, "choose", choose)
    return log


def ask(project, given, text, epsilon):
    """All that mechanisms were given for a question or a batch; a refusal is the same on both tables."""
    given.clear()
    try:
        if ";" in text:
            project.batch(text, epsilon=epsilon)
        else:
            project.sql(text).ask(epsilon=epsilon, delta="1e-6")
    except DiscreetError as refusal:
        return str(refusal)
    return list(given)


def lost(one, two):
    """The epsilon that two runs tell apart; every draw within its own sensitivity."""
    total = Fraction(0)
    for (mechanism, before, norms), (other, after, _) in zip(one, two, strict=True):
        assert mechanism == other and before.shape == after.shape
        moved = sum(abs(int(each)) for each in (before - after).ravel())
        if isinstance(mechanism, WeightedThreshold):
            assert sum(int(each) ** 2 for each in before - after) <= UNIT**2
            total += mechanism.epsilon if moved else 0
        elif isinstance(mechanism, QuantileChoice):
            total += mechanism.epsilon * Fraction(moved, mechanism.rows)
        else:
            assert moved <= norms["l1"]
            total += moved / mechanism.scale
    return total


def lost_rho(one, two):
    """The rho of Gaussian noise that two runs tell apart; every draw within its own sensitivity."""
    total = Fraction(0)
    for (mechanism, before, norms), (other, after, _) in zip(one, two, strict=True):
        assert mechanism == other and before.shape == after.shape and isinstance(mechanism, DiscreteGaussian)
        moved = sum(int(each) ** 2 for each in (before - after).ravel())
        assert moved <= norms["l2_squared"]
        total += moved / (2 * mechanism.sigma2)
    return total


def losses(people, given, texts, epsilon, lost=lost):
    first = [ask(people.project, given, text, epsilon) for text in texts]
    people.leave()
    second = [ask(people.project, given, text, epsilon) for text in texts]
    for text, one, two in zip(texts, first, second, strict=True):
        if isinstance(one, str):
            assert one == two
            continue
        yield text, lost(one, two)


@pytest.mark.parametrize("seed", range(size(1, 20)))
def test_nobody_loses_more_than_was_asked_for(tmp_path, given, seed):
    people = People(tmp_path, seed)
    texts = [people.batch(), *(people.limited() for _ in range(size(2, 4)))]
    seen = [loss for _, loss in losses(people, given, texts, 1)]
    assert any(seen) and all(loss <= 1 for loss in seen)


@pytest.mark.parametrize("seed", range(size(1, 10)))
def test_who_is_in_no_statement_of_a_batch_moves_nothing(tmp_path, given, seed):
    people = People(tmp_path, seed)
    other = "M" if people.own[2] == "F" else "F"
    texts = [people.batch(where=f"o.sex = '{other}'")]
    seen = [loss for _, loss in losses(people, given, texts, 3)]
    assert seen and not any(seen)


@pytest.mark.parametrize("seed", range(size(1, 10)))
def test_batches_with_gaussian_noise(tmp_path, given, seed):
    people = People(tmp_path, seed, "zcdp")
    seen = [rho for _, rho in losses(people, given, [people.batch() for _ in range(size(1, 3))], 1, lost_rho)]
    assert any(seen) and all(rho <= Fraction(1, 2) for rho in seen)


@pytest.mark.deep
def test_a_planted_bug_is_caught_with_gaussian_noise(tmp_path, given, monkeypatch):
    """A batch that takes a person to have a third of the rows."""
    whole = AddedRows.most_added
    monkeypatch.setattr(AddedRows, "most_added", lambda self, schemas: max(1, whole(self, schemas) // 3))
    people = People(tmp_path, 1, "zcdp")
    with pytest.raises(AssertionError):
        assert all(rho <= Fraction(1, 2) for _, rho in losses(people, given, [people.batch()], 1, lost_rho))


def test_a_planted_bug_is_caught(tmp_path, given, monkeypatch):
    """A batch that takes a person to have a quarter of the rows."""
    whole = AddedRows.most_added
    monkeypatch.setattr(AddedRows, "most_added", lambda self, schemas: max(1, whole(self, schemas) // 4))
    people = People(tmp_path, 1)
    with pytest.raises(AssertionError):
        assert all(loss <= 1 for _, loss in losses(people, given, [people.batch()], 1))
