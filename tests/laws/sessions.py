"""What somebody may ask of a project in one sitting, from a seed: answers, batches, refinements, ranges, models and more.

Two tables of persons with dates, which groups by several periods cut in several ways at once.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import combinations
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest import mock

import discreet
from discreet.engines import person_keys

DECLARED = """
[populations.c]
budget = {budget}
accounting = "{accounting}"
[tables.visits]
source = "visits.csv"
population = "c"
person = "who"
rows_per_person = 6
[tables.visits.columns]
day = {{ type = "date", low = 2023-11-20, high = 2024-06-30 }}
ward = {{ type = "category", values = ["a", "b", "c"] }}
sex = {{ type = "category", values = ["F", "M"], constant = true, closed = true }}
age = {{ type = "integer", low = 10, high = 19, constant = true }}
cost = {{ type = "integer", low = -7, high = 24 }}
note = {{ type = "text" }}
[tables.bills]
source = "bills.csv"
population = "c"
person = "who"
rows_per_person = 3
[tables.bills.columns]
due = {{ type = "date", low = 2024-01-01, high = 2024-02-29 }}
fee = {{ type = "integer", low = -2, high = 3 }}
[tables.shifts]
source = "shifts.csv"
population = "c"
person = "who"
rows_per_person = 2
[tables.shifts.columns]
hours = {{ type = "integer" }}
[tables.homes]
source = "homes.csv"
population = "c"
person = "who"
[tables.homes.columns]
town = {{ type = "category", values = ["n", "s"] }}
[tables.ties]
source = "ties.csv"
population = "c"
ends = ["from", "to"]
rows_per_person = 3
[tables.wards]
source = "wards.csv"
public = true
[tables.wards.columns]
name = {{ type = "text" }}
beds = {{ type = "integer" }}
"""
HEADS = {"visits": ["who", "day", "ward", "sex", "age", "cost", "note"], "bills": ["who", "due", "fee"], "ties": ["from", "to"], "homes": ["who", "town"],
         "shifts": ["who", "hours"]}  # fmt: skip
WARDS = [("a", 3), ("b", -1), ("b", 2), ("z", 1)]
#: Budgets that no session exhausts, by the accounting that is checked.
BUDGETS = {
    "pure": "{ epsilon = 1000 }",
    "zcdp": "{ epsilon = 90000, delta = 1e-2 }",
    "renyi": "{ epsilon = 90000, delta = 1e-2 }",
}
FIRST = date(2023, 11, 20)
PERIODS = ("year", "quarter", "month", "week")


@dataclass(kw_only=True)
class People:
    """Persons with up to eight rows, and one of them, who may be gone: as a rule with as many as count, in few periods or many."""

    random: Random
    gone: str = "p0"
    rows: dict[str, list[tuple[Any, ...]]] = field(default_factory=lambda: {name: [] for name in HEADS})
    #: The values that do not change, as regions have them.
    record: dict[str, int | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for person in range(7):
            self._add(f"p{person}", is_loud=person == 0 and self.random.random() < 0.8)
        pairs = [(f"p{one}", f"p{other}") for one, other in combinations(range(7), 2)]
        share = self.random.choice([0.2, 0.5, 0.8])
        self.rows["ties"] += [pair for pair in pairs if self.random.random() < share]

    def _add(self, who: str, *, is_loud: bool) -> None:
        draw = self.random
        sex, age = draw.choice("FM"), draw.choice([None, *range(10, 20)])
        if who == self.gone:
            self.record = {"sex": "FM".index(sex), "age": age}
        count = 6 if is_loud else draw.randint(1, 8)
        first, apart = FIRST + timedelta(draw.randrange(50)), draw.choice([0, 1, 7, 31, 31])
        days = [first + timedelta(apart * turn) for turn in range(count)]
        costs = [draw.choice([None, -7, 24, *range(-9, 26)]) for _ in days]
        if is_loud and draw.random() < 0.5:
            costs = draw.sample(range(-7, 25, 4), count)
        missing = 0.0 if is_loud and draw.random() < 0.7 else 0.1
        for day, cost in zip(days, costs, strict=True):
            shown = None if draw.random() < missing else day
            self.rows["visits"].append(
                (who, shown, draw.choice(["a", "a", "b", "c", None, "z"]), sex, age, cost, draw.choice("uvw"))
            )
        self.rows["homes"] += [(who, draw.choice("nns"))] * draw.choice([0, 1, 1])
        self.rows["shifts"] += [(who, draw.choice([None, 2, 40])) for _ in range(draw.randint(0, 4))]
        for _ in range(3 if is_loud else draw.randint(0, 4)):
            due = date(2024, 1, 1) + timedelta(draw.randrange(60))
            self.rows["bills"].append((who, draw.choice([None, due, due]), draw.choice([None, *range(-2, 4)])))

    def write(self, folder: Path, without: str | None) -> None:
        """Their tables; in an order of its own where somebody is missing."""
        for name, rows in self.rows.items():
            kept = [row for row in rows if without is None or without not in row[:2]]
            Random(f"{len(rows)} {without}").shuffle(kept)
            _write(folder / f"{name}.csv", HEADS[name], kept)
        _write(folder / "wards.csv", ["name", "beds"], WARDS)

    def grow(self, draw: Random) -> None:
        """Another row of somebody, and somebody new."""
        for who in (self.gone, draw.choice(["p1", "p2"]), f"p{len(self.rows['visits']) + 90}"):
            day, age = FIRST + timedelta(draw.randrange(200)), self.record["age"]
            sex = "FM"[self.record["sex"] or 0] if who == self.gone else "F"
            self.rows["visits"].append((who, day, "b", sex, age, draw.randrange(-7, 25), "u"))


def _write(path: Path, head: list[str], rows: list[tuple[Any, ...]]) -> None:
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([head, *(["" if each is None else each for each in row] for row in rows)])


@dataclass(kw_only=True)
class Sitting:
    """The acts of a session on one project; the same seed makes the same acts, and they see nothing but what is shown."""

    project: discreet.Project
    people: People
    without: str | None
    random: Random
    accounting: str
    answers: list[str] = field(default_factory=list)
    streams: int = 0

    @property
    def has_delta(self) -> bool:
        return self.accounting != "pure"

    def act(self, name: str) -> str:
        """Do something, or ask a statement, and return all that is shown of it."""
        if name.split()[0] in ("SELECT", "--"):
            return str(self._ask(name))
        return str(getattr(self, f"_{name}")())

    # Statements

    def statement(self) -> str:
        draw = self.random
        limits = [
            f"-- groups per person: {draw.randint(1, 3)}\n",
            f"-- rows per person per group: {draw.randint(1, 2)}\n",
        ]
        hints = "".join(draw.sample(limits, draw.choice([0, 0, 1, 1, 2])))
        source, columns = draw.choice(SOURCES)
        keys = self._keys(columns)
        group = self._group(len(keys), alone="v.note" in keys)
        shares = ["count(*) / sum(count(*)) OVER ()"] * ("(" not in group and "v.note" not in keys)
        outputs = [*(f"{key} AS k{place}" for place, key in enumerate(keys)), *self._numbers(columns, shares)]
        where = f" WHERE {self._condition()}" if draw.random() < 0.5 else ""
        if not keys:
            hints = hints if "groups" not in hints else ""
        return f"{hints}SELECT {', '.join(outputs)} FROM {source}{where}{group}"

    def _keys(self, columns: str) -> list[str]:
        """Most often several periods of one date, or several bins of one number."""
        draw = self.random
        periods = [f"date_trunc('{each}', v.day)" for each in PERIODS]
        bins = [f"floor(v.cost / {width}) * {width}" for width in (4, 8, 16)]
        others = ["v.ward", "v.sex", "v.age", "extract(dow FROM v.day)", "v.cost > 3"]
        if self.has_delta and draw.random() < 0.15:
            others.append("v.note")
        kinds = draw.choice([[periods], [periods], [bins], [periods, others], [bins, others], [others], []])
        if "b." in columns and draw.random() < 0.5:
            kinds = [[f"date_trunc('{each}', b.due)" for each in ("year", "month", "week")], *kinds[:1]]
        keys: list[str] = []
        for kind in kinds:
            keys += draw.sample(kind, draw.randint(1, 2))
        return keys[:3]

    def _group(self, keys: int, *, alone: bool) -> str:
        """`alone`: keys of which one is discovered have no other form."""
        listed = ", ".join(f"k{place}" for place in range(keys))
        if not keys or alone:
            return f" GROUP BY {listed}" if keys else ""
        sets = ", ".join([*(f"(k{place})" for place in range(keys)), f"({listed})", "()"][1:])
        forms = [listed, f"ROLLUP ({listed})", f"ROLLUP ({listed})", f"CUBE ({listed})", f"GROUPING SETS ({sets})"]
        return f" GROUP BY {self.random.choice(forms)}"

    def _numbers(self, columns: str, shares: list[str]) -> list[str]:
        draw = self.random
        of = draw.choice(["v.cost", "abs(v.cost)", "v.age", *(["b.fee"] * ("b." in columns))])
        forms = ["count(*)", "count(*)", "count(*)", f"sum({of})", f"sum({of})", f"count({of})", f"avg({of})", "count(DISTINCT v.who)",
                 f"count(DISTINCT {of})", f"median({of})", f"stddev({of})", f"count(*) FILTER (WHERE {self._condition()})", *shares]  # fmt: skip
        return [f"{each} AS n{place}" for place, each in enumerate(draw.sample(forms, draw.choice([1, 1, 2])))]

    def _condition(self) -> str:
        draw = self.random
        forms = [
            f"v.age {draw.choice(['<', '>='])} {draw.randint(12, 18)}",
            f"v.sex = '{draw.choice('FM')}'",
            f"v.ward IN ('{draw.choice('ab')}', 'c')",
            f"v.day >= DATE '2024-01-{draw.randint(1, 28):02d}'",
            f"v.cost BETWEEN {draw.randint(-7, 3)} AND {draw.randint(4, 24)}",
            "v.ward IS NULL",
        ]
        return draw.choice(forms)

    # Acts

    def _epsilon(self) -> str:
        return self.random.choice(["0.25", "1", "3"])

    def _query(self) -> Any:
        return self._ask(self.statement())

    def _ask(self, text: str) -> Any:
        question = self.project.sql(text)
        answer = question.ask(epsilon=self._epsilon(), delta="1e-6" if question.query.inquiry.keys else None)
        return self._shown(answer)

    def _within(self) -> Any:
        """To a precision: from what was answered before, as far as that goes."""
        draw = self.random
        key = draw.choice(["date_trunc('month', v.day)", "date_trunc('year', v.day)", "v.sex", "v.ward"])
        text = draw.choice(
            [f"SELECT {key} AS k0, count(*) AS n FROM visits AS v GROUP BY k0", "SELECT count(*) AS n FROM visits AS v"]
        )
        return self._shown(self.project.sql(text).ask(within=draw.choice([4, 9, 20])))

    def _again(self) -> Any:
        if not self.answers:
            return None
        return self._shown(self.project.again(self.random.choice(self.answers), epsilon=self._epsilon()))

    def _batch(self) -> Any:
        """Statements of one table and a few forms, as are planned together."""
        texts = [self.statement() for _ in range(self.random.randint(2, 4))]
        kept = [text for text in texts if "note" not in text]
        return [self._shown(each, kept=False) for each in self.project.batch(";\n".join(kept), epsilon=self._epsilon())]

    def _reconcile(self) -> Any:
        return self.project.reconcile("visits", whole=self.random.random() < 0.5).to_data()

    def _ranges(self) -> Any:
        draw = self.random
        column = draw.choice(["cost", "day", "age"])
        by = draw.choice([(), ("sex",), ("ward",)])
        width = {"cost": draw.choice([None, 4]), "day": draw.choice(["month", "week"]), "age": None}[column]
        more: dict[str, Any] = {"by": by} if by else {}
        if draw.random() < 0.3:
            more["where"] = self._condition().replace("v.", "")
        if width:
            more["width"] = width
        made = self.project.ranges("visits", column, epsilon=self._epsilon(), seconds=0.05, **more)
        return made.to_data(quantiles=["0.5", "0.9"], whole=True)

    def _marginals(self) -> Any:
        names = self.random.sample(["ward", "sex", "age"], self.random.choice([2, 3]))
        return self.project.marginals("visits", names, epsilon=self._epsilon(), order=2).to_data()

    def _describe(self) -> Any:
        return self.project.describe(self.random.choice(["visits", "bills"]), epsilon=self._epsilon()).to_data()

    def _publish(self) -> Any:
        plan = {"table": "visits", "attributes": ["ward"], "hierarchy": {"columns": ["sex", "age"]}}
        made = self.project.publish(plan, epsilon=self._epsilon())
        return [(made.table(level).to_pylist(), made.totals(level).to_pylist()) for level in made.levels]

    def _fit(self) -> Any:
        if self.random.random() < 0.3:  # three tables, with the rows of a person in each
            sampled = self.project.synthesize(["homes", "visits", "bills"], epsilon=self._epsilon()).sample(4, seed=1)
            return {name: table.to_pylist() for name, table in sampled.items()}
        columns = self.random.sample(["day", "ward", "sex", "cost"], 2)
        model = self.project.synthesize("visits", epsilon=self._epsilon(), columns=columns)
        return model.sample(9, seed=1).to_pylist()

    def _network(self) -> Any:
        """All edges of somebody are gone together."""
        network, delta = self.project.graph("ties", nodes="visits"), "1e-6" if self.has_delta else None
        if self.random.random() < 0.3:
            return network.synth(epsilon=self._epsilon(), delta=delta).sample(seed=1).to_pylist()
        only = self.random.choice([None, "edges", "nodes", "degrees"])
        return network.stats(epsilon=self._epsilon(), delta=delta, only=only).to_data()

    def _stream(self) -> Any:
        """A stream's first step, or its next."""
        terms = (
            {}
            if self.streams
            else {"epsilon": self._epsilon(), "horizon": 4, "contributions": self.random.randint(1, 6)}
        )
        self.streams += 1
        return self.project.stream("visits", "arrivals", **terms).next().to_text()

    def _bias(self) -> Any:
        return self.project.bias("visits", epsilon=self._epsilon())

    def _bounds(self) -> Any:
        """Bounds of a column without any, which the next version has."""
        self.project.bounds("shifts", ["hours"], epsilon=self._epsilon())
        self.project.refresh("shifts")
        return (self.project.folder / "discreet.toml").read_text()

    def _grow(self) -> None:
        """An act of the owner: nothing is shown."""
        self.people.grow(self.random)
        self.people.write(self.project.folder, self.without)
        self.project.refresh("visits", force=True)

    def _forget(self) -> None:
        """Somebody else's rows are erased; nothing is shown."""
        self.project.forget("visits", [self.random.choice(["p3", "p4"])])

    def _shown(self, release: Any, *, kept: bool = True) -> Any:
        if kept:
            self.answers.append(release.id)
        return [release.to_data(best=True), str(release), release._repr_html_(), repr(self.project.budget("visits"))]


SOURCES = [
    ("visits AS v", "v."),
    ("visits AS v", "v."),
    ("visits AS v", "v."),
    ("visits AS v JOIN bills AS b ON v.who = b.who", "v. b."),
    ("visits AS v LEFT JOIN bills AS b ON v.who = b.who", "v. b."),
    ("visits AS v LEFT JOIN wards AS w ON v.ward = w.name", "v."),
]
SAME_KEYS = SimpleNamespace(token_hex=lambda size: "ab" * size)


def sit(people: People, folder: Path, accounting: str, *, without: str | None, random: Random) -> Sitting:
    """A project of the people; the same persons have the same tags in each."""
    folder.mkdir()
    people.write(folder, without)
    (folder / "discreet.toml").write_text(DECLARED.format(budget=BUDGETS[accounting], accounting=accounting))
    discreet.init(folder)
    project = discreet.open(folder)
    with mock.patch.object(person_keys, "secrets", SAME_KEYS):
        for name in people.rows:
            project.refresh(name)
    return Sitting(project=project, people=people, without=without, random=random, accounting=accounting)
