"""Constraints hold in every row that comes out: rare values kept together, adaptive bins, NULL, whatever is given."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.schema.column import CategoryColumn, MomentColumn, NumberColumn
from discreet.synth import fit_task
from discreet.synth import model_contents as model_file
from discreet.synth.attribute import Attribute, attribute_of
from discreet.synth.cell_decoder import NULL, draw_codes
from discreet.synth.code_spans import CodeSpan, cells_of
from discreet.synth.constraints import PublicConstraints
from discreet.synth.constraints_file import read_constraint_file, read_constraints
from discreet.synth.known_counts import KnownCounts
from discreet.synth.model import Model
from discreet.synth.row_repair import broken_rows
from discreet.synth.rules import ColumnOrder, Dependency, StructuralZero
from synth.worlds import CITIES, CLINIC, CLINIC_RULES, clinic_lines, elsewhere, fit, keeps_clinic_rules, open_project
from tiers import size

# ---- on small attributes, against every combination of codes


def random_attribute(name, random):
    """Fine cells of one or more codes, some kept together, perhaps with NULL among them."""
    edges = np.unique(random.integers(0, 12, size=random.integers(2, 7)))
    edges = edges if len(edges) > 1 else np.array([0, 3])
    null = bool(random.integers(2))
    fine = len(edges) - 1 + null
    groups = np.unique(random.integers(0, fine, size=fine), return_inverse=True)[1]
    weights = random.integers(0, 3, size=fine).astype(float)
    column = NumberColumn(name=name, type="integer", low=int(edges[0]), high=int(edges[-1]) - 1)
    return Attribute(column=column, edges=tuple(edges.tolist()), null=null, groups=groups, weights=weights)


def all_codes(attribute):
    return [*range(attribute.edges[0], attribute.edges[-1]), *([NULL] if attribute.null else [])]


def random_span(random):
    chosen = np.flatnonzero(random.integers(2, size=12))
    return CodeSpan.of([(int(code), int(code)) for code in chosen], null=bool(random.integers(2)))


def random_rule(kind, names, random):
    if kind == "zero":
        return StructuralZero(where=tuple((name, random_span(random)) for name in names))
    if kind == "order":
        return ColumnOrder(
            low=names[0], high=names[1], low_scale=int(random.integers(1, 4)), high_scale=int(random.integers(1, 4))
        )
    sources = sorted({NULL} | set(range(12)) if random.integers(2) else set(random.integers(0, 12, size=6).tolist()))
    images = [NULL if random.integers(8) == 0 else int(random.integers(0, 12)) for _ in sources]
    return Dependency(source=names[0], target=names[1], codes=tuple(sources), images=tuple(images))


@pytest.mark.parametrize("kind", ["zero", "dependency", "order"])
def test_one_rule_on_cells_and_on_rows(kind):
    """A combination of cells is allowed if some codes in it keep the rule; every row in one is then mended, in its cells."""
    tried = mended = 0
    for seed in range(size(20, 120)):
        random = np.random.default_rng(seed)
        names = ["a", "b", "c"][: random.integers(1, 4)] if kind == "zero" else ["a", "b"]
        attributes = [random_attribute(name, random) for name in names]
        rule = random_rule(kind, names, random)
        told = PublicConstraints(
            **{"zeros" if kind == "zero" else "dependencies" if kind == "dependency" else "orders": (rule,)}
        )
        ((axes, allowed),) = told.on(attributes, 100.0).allowed
        assert axes == tuple(range(len(names)))
        rows = np.array(list(itertools.product(*map(all_codes, attributes))), dtype=np.int64).T
        found = dict(zip(names, rows, strict=True))
        cells = tuple(cells_of(attribute, found[attribute.name]) for attribute in attributes)
        possible = np.zeros(allowed.shape, dtype=bool)
        possible[tuple(axis[~slow_broken(rule, found)] for axis in cells)] = True
        assert np.array_equal(allowed, possible), seed
        assert np.array_equal(rule.broken(found), slow_broken(rule, found)), seed
        kept, broken = told.repair_rows(found, attributes, random)
        for attribute, before in zip(attributes, cells, strict=True):
            assert np.array_equal(cells_of(attribute, kept[attribute.name]), before)
        assert np.array_equal(broken, ~allowed[cells]), seed  # all that can be mended is
        assert np.array_equal(slow_broken(rule, kept), broken), seed
        whole = ~slow_broken(rule, found)
        for name in names:
            assert np.array_equal(kept[name][whole], found[name][whole])  # rows that keep the rule stay as they are
        tried += rows.shape[1]
        mended += int((~whole & ~broken).sum())
    assert tried > size(500, 3000) and mended > size(50, 300)


def slow_broken(rule, rows):
    """The rule in plain Python."""
    result = []
    for values in zip(*rows.values(), strict=True):
        row = dict(zip(rows, map(int, values), strict=True))
        match rule:
            case StructuralZero(where=where):
                result.append(all(
                    span.null if row[name] == NULL else any(low <= row[name] <= high for low, high in span.intervals)
                    for name, span in where
                ))  # fmt: skip
            case Dependency(codes=sources, images=images):
                known = dict(zip(sources, images, strict=True))
                result.append(row[rule.source] in known and known[row[rule.source]] != row[rule.target])
            case ColumnOrder():
                low, high = row[rule.low], row[rule.high]
                result.append(NULL not in (low, high) and low * rule.low_scale > high * rule.high_scale)
    return np.array(result)


def test_several_rules_at_once_are_kept_or_told():
    mended = 0
    for seed in range(size(6, 15)):
        random = np.random.default_rng(seed)
        attributes = [random_attribute(name, random) for name in "abcd"]
        told = PublicConstraints(
            zeros=(random_rule("zero", ["a", "c"], random), random_rule("zero", ["b", "d"], random)),
            dependencies=(random_rule("dependency", ["c", "d"], random),),
            orders=(ColumnOrder(low="a", high="b"), ColumnOrder(low="b", high="c")),
        )
        cells = [random.integers(0, attribute.size, size=200) for attribute in attributes]
        rows = {each.name: draw_codes(each, own, random) for each, own in zip(attributes, cells, strict=True)}
        kept, broken = told.repair_rows(rows, attributes, random, fixed={"d"})
        assert np.array_equal(broken_rows(told.rules, kept), broken)
        assert np.array_equal(kept["d"], rows["d"])
        for attribute, own in zip(attributes, cells, strict=True):
            assert np.array_equal(cells_of(attribute, kept[attribute.name]), own)
        mended += int((broken_rows(told.rules, rows) & ~broken).sum())
    assert mended > 100


def test_known_counts_come_out_whatever_is_kept_together():
    """Six values, four of them in one cell: given out in three batches, each comes out as often as it must."""
    column = CategoryColumn(name="a", values=tuple("uvwxyz"))
    attribute = Attribute(column=column, edges=tuple(range(7)), null=False, groups=np.array([0, 1, 2, 2, 2, 2]))
    known = KnownCounts(columns=("a",), codes=tuple((code,) for code in range(6)), counts=(10, 20, 1, 2, 0, 7))
    assert known.table({"a": attribute}).tolist() == [10, 20, 10]
    from discreet.synth.known_counts import RemainingCounts

    left = RemainingCounts(known, {"a": attribute})
    random = np.random.default_rng(1)
    cells = random.permutation([0] * 10 + [1] * 20 + [2] * 10)
    found = np.concatenate([left.give([part], random)["a"] for part in np.split(cells, [7, 30])])
    assert Counter(found.tolist()) == {0: 10, 1: 20, 2: 1, 3: 2, 5: 7}


# ---- end to end


@pytest.fixture(scope="module", params=["independent", "mst"])
def clinic(request):
    with elsewhere() as folder:
        project = open_project(folder, CLINIC, clinic_lines())
        yield fit(project, kind=request.param, constraints=CLINIC_RULES, epsilon="3")


@pytest.mark.noisy
@pytest.mark.thin(2)
@pytest.mark.parametrize("n", [0, 1, 17, 3000, 8000])
def test_every_row_of_a_sample_keeps_them(clinic, n):
    sizes = {attribute.name: attribute.size for attribute in clinic.attributes}
    assert sizes["city"] < len(CITIES) and 3 < sizes["admission"] <= 33  # rare values and bins are there
    table = clinic.sample(n, seed=n)
    assert table.num_rows == n and keeps_clinic_rules(table)
    if n == 3000:
        assert Counter(table["sex"].to_pylist()) == {"F": 1500, "M": 1500}
    if n == 8000:
        rare = table.to_pandas().groupby("city").size()
        assert len(rare) > sizes["city"]  # rare values come out apart


@pytest.mark.thin(4)
@pytest.mark.parametrize(
    "given",
    [
        {"age": 15},
        {"country": "land 3"},
        {"city": "city 50"},
        {"discharge": "2015-01-03"},
        {"admission": None, "sex": "F"},
    ],
)
def test_what_is_given_keeps_them_too(clinic, given):
    table = clinic.sample(2000, given=given, seed=1)
    assert keeps_clinic_rules(table)
    for name, value in given.items():
        assert {str(each) for each in table[name].to_pylist()} == {str(value)}


def test_what_contradicts_a_constraint_is_refused(clinic):
    with pytest.raises(UsageError, match=r"no row with the given values|break a constraint"):
        clinic.sample(10, given={"age": 3, "marital": "married"}, seed=1)
    with pytest.raises(UsageError, match=r"no row with the given values|break a constraint"):
        clinic.sample(10, given={"city": "city 50", "country": "land 3"}, seed=1)


def test_whole_cells_that_are_ruled_out_have_no_mass(clinic):
    found = clinic.project(["age", "marital"])
    young = [
        place
        for place, label in enumerate(found.labels[0])
        if label is not None and int(str(label).split(" to ")[-1]) <= 15
    ]
    wed = [place for place, label in enumerate(found.labels[1]) if label in ("married", "divorced")]
    assert young and wed
    assert found.counts[np.ix_(young, wed)].max() == 0
    assert found.counts.sum() == pytest.approx(3000)
    assert clinic.project(["sex"]).counts == pytest.approx([1500, 1500], rel=1e-9)


@pytest.mark.deep
def test_totals_in_parts_and_of_rare_values(monkeypatch):
    """Counts of all 60 cities, most of them rare, come out exactly, part by part, with the country each must have."""
    monkeypatch.setattr(model_file, "AT_ONCE", 250)
    with elsewhere() as folder:
        lines = clinic_lines(900)
        cities = Counter(line.split(",")[2] for line in lines)
        rules = CLINIC_RULES | {"totals": [
            {"column": "city", "counts": cities}, {"columns": ["sex", "marital"], "counts": crossed(lines)},
        ]}  # fmt: skip
        model = fit(open_project(folder, CLINIC, lines), constraints=rules, epsilon="0.5")
        assert model.total == 900 and model.rows(None) == 900
        table = model.sample(seed=4)
        assert keeps_clinic_rules(table)
        assert Counter(table["city"].to_pylist()) == cities
        pairs = zip(table["sex"].to_pylist(), table["marital"].to_pylist(), strict=True)
        assert sorted([*key, count] for key, count in Counter(pairs).items()) == crossed(lines)
        other = model.sample(400, seed=4)  # another number of rows: in proportion, and the rules hold
        assert other.num_rows == 400 and keeps_clinic_rules(other)


def crossed(lines):
    fields = [line.split(",") for line in lines]
    return sorted([*key, count] for key, count in Counter((each[6], each[1]) for each in fields).items())


def test_dates_and_decimals_on_other_grids_are_ordered(tmp_path):
    columns = {
        "day": 'type = "date"\nlow = 2020-01-01\nhigh = 2020-12-31',
        "until": 'type = "timestamp"\nlow = 2020-01-01\nhigh = 2021-01-01',
        "low": 'type = "decimal"\nlow = 0\nhigh = 10\nstep = 0.25',
        "high": 'type = "decimal"\nlow = 0\nhigh = 10\nstep = 0.1',
    }
    random = np.random.default_rng(2)
    day = np.datetime64("2020-01-01")
    lines = []
    for _ in range(800):
        start, low = random.integers(0, 364), random.integers(0, 40) / 4
        lines.append(
            f"{day + start},{np.datetime64(day + start, 's') + random.integers(0, 86400)},{low},{min(10, low + 0.3)}"
        )
    model = fit(
        open_project(tmp_path, columns, lines), constraints={"orders": [["day", "until"], ["low", "high"]]}, epsilon="5"
    )
    rows = model.sample(5000, seed=1).to_pandas()
    both = rows["day"].notna() & rows["until"].notna()
    assert (rows["day"][both].astype("datetime64[us]") <= rows["until"][both]).all()
    both = rows["low"].notna() & rows["high"].notna()
    assert both.sum() > 4000 and (rows["low"][both] <= rows["high"][both]).all()


# ---- as they are written

COLUMNS = (
    NumberColumn(name="age", type="integer", low=0, high=99),
    NumberColumn(name="cost", type="decimal", step=Fraction(1, 100)),
    MomentColumn(name="Day", type="date", low=0, high=20000),
    CategoryColumn(name="sex", values=("F", "M"), closed=True),
    CategoryColumn(name="job", values=("cook", "nurse", "1")),
)


def test_values_are_written_as_people_write_them():
    found = read_constraints(
        {
            "zeros": [
                {"age": {"to": 15}, "job": [{"null": True}, "nurse"]},
                {"AGE": [3, "90 to 95"], "day": "1970-01-02 to 1970-01-05"},
                {"cost": 0.25},
            ],
            "rows": 7,
        },
        COLUMNS,
    )
    assert found.zeros[0].where == (("age", CodeSpan.of([(-(2**62), 15)])), ("job", CodeSpan.of([(1, 1)], null=True)))
    assert found.zeros[1].where == (("age", CodeSpan.of([(3, 3), (90, 95)])), ("Day", CodeSpan.of([(1, 4)])))
    assert found.zeros[2].where == (("cost", CodeSpan.of([(25, 25)])),)
    assert found.on([], 3.0).total == 7
    assert PublicConstraints.from_saved(found.to_data()) == found


def test_files_of_constraints(tmp_path):
    (tmp_path / "jobs.csv").write_text("job,sex,more\ncook,F,1\nnurse,M,2\n,F,3\n")
    text = """
rows = 3
orders = [["age", "cost"]]
[[zeros]]
age = "0 to 15"
Day = 1970-01-02
[[dependencies]]
from = "job"
to = "sex"
table = "jobs.csv"
"""
    (tmp_path / "facts.toml").write_text(text)
    found = read_constraint_file(tmp_path / "facts.toml", COLUMNS)
    assert found.dependencies == (Dependency(source="job", target="sex", codes=(NULL, 0, 1), images=(0, 0, 1)),)
    assert found.orders == (ColumnOrder(low="age", high="cost", low_scale=100, high_scale=1),)
    assert found.zeros[0].where[1] == ("Day", CodeSpan.of([(1, 1)]))
    (tmp_path / "facts.json").write_text('{"rows": 3, "zeros": [{"job": null, "sex": "F"}]}')
    assert read_constraint_file(tmp_path / "facts.json", COLUMNS).zeros[0].where[0] == (
        "job",
        CodeSpan.of([], null=True),
    )
    for content, why in (
        (b"rows = ", "facts.toml is not valid TOML"),
        (b"\xff", "not UTF-8"),
        (b"rows = -1", "facts.toml: rows"),
    ):
        (tmp_path / "facts.toml").write_bytes(content)
        with pytest.raises(UsageError, match=why):
            read_constraint_file(tmp_path / "facts.toml", COLUMNS)
    with pytest.raises(UsageError, match="there is no file"):
        read_constraint_file(tmp_path / "none.toml", COLUMNS)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ([], "must be a table"),
        ({"zeroes": []}, "unknown key 'zeroes'"),
        ({"zeros": {}}, "zeros must be a list"),
        ({"zeros": [{}]}, "would rule out every row"),
        ({"zeros": [{"aeg": 1}]}, "no column 'aeg'"),
        ({"zeros": [{"age": 1, "Age": 2}]}, "twice"),
        ({"zeros": [{"age": []}]}, "no value"),
        ({"zeros": [{"age": 100}]}, "'100' is not a value of column 'age'"),
        ({"zeros": [{"age": "old"}]}, "'old' is not a value of column 'age'"),
        ({"zeros": [{"age": "9 to 3"}]}, "not a range"),
        ({"zeros": [{"age": {"above": 3}}]}, "not a value of column 'age'"),
        ({"zeros": [{"age": float("nan")}]}, "plain finite number"),
        ({"zeros": [{"sex": "X"}]}, "'X' is not a value of column 'sex'"),
        ({"zeros": [{"sex": None}]}, "never NULL"),
        ({"zeros": [{"Day": "1969-01-01"}]}, "not a value of column 'Day'"),
        ({"orders": ["age"]}, "at least two columns"),
        ({"orders": [["age", "age"]]}, "twice"),
        ({"orders": [["age", "sex"]]}, "cannot be ordered"),
        ({"orders": [["age", "Day"]]}, "cannot be ordered"),
        ({"dependencies": [{"from": "job", "to": "sex"}]}, "one of map, pairs and table"),
        ({"dependencies": [{"from": "job", "to": "job", "map": {"cook": "cook"}}]}, "itself"),
        ({"dependencies": [{"from": "job", "to": "sex", "map": {}}]}, "names no value"),
        ({"dependencies": [{"from": "job", "to": "sex", "map": {"cook": "X"}}]}, "'X' is not a value of column 'sex'"),
        ({"dependencies": [{"from": "job", "to": "sex", "pairs": [["cook", "F"], ["cook", "M"]]}]}, "two values"),
        ({"dependencies": [{"from": "job", "to": "sex", "pairs": [["cook"]]}]}, "two-value lists"),
        ({"dependencies": [{"from": "job", "to": "sex", "table": "x.csv"}]}, "CSV file"),
        ({"totals": [{"counts": {}}]}, "column or columns"),
        ({"totals": [{"column": "sex", "counts": {"F": -1}}]}, "whole number"),
        ({"totals": [{"column": "sex", "counts": {"F": 1.5}}]}, "whole number"),
        ({"totals": [{"column": "sex", "counts": [["F"]]}]}, "2 entries"),
        ({"totals": [{"columns": ["sex", "job"], "counts": {"F": 1}}]}, "list of rows"),
        ({"totals": [{"column": "sex", "counts": {"F": 1}}], "rows": 2}, "sum to 1, not to 2"),
        ({"totals": [{"column": "sex", "counts": {"F": 1}}, {"column": "job", "counts": {"cook": 2}}]}, "sum to 2"),
        ({"totals": [{"column": "sex", "counts": [["F", 1], ["F", 2]]}]}, "each combination exactly once"),
        ({"rows": 1.5}, "rows must be"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_one_sentence(data, why):
    with pytest.raises(UsageError, match=why) as caught:
        read_constraints(data, COLUMNS, where="facts.toml")
    assert "facts.toml" in str(caught.value) or "sum to" in why


def test_a_constraint_on_too_many_cells_is_refused_before_a_table_is_made():
    names = [f"column {number}" for number in range(9)]
    attributes = [attribute_of(NumberColumn(name=name, type="integer", low=0, high=199)) for name in names]
    zero = PublicConstraints(zeros=(StructuralZero(where=tuple((name, CodeSpan.of([(0, 1)])) for name in names)),))
    known = PublicConstraints(totals=(KnownCounts(columns=tuple(names), codes=((0,) * 9,), counts=(5,)),))
    for told in (zero, known):
        with pytest.raises(UsageError, match="spans more than"):
            told.on(attributes, 5.0)


def test_orders_that_can_never_hold_are_refused():
    late = replace(COLUMNS[0], name="late", low=50, high=60)
    early = replace(COLUMNS[0], name="early", low=0, high=10)
    with pytest.raises(UsageError, match="never be in order"):
        read_constraints({"orders": [["late", "early"]]}, [late, early])


def test_columns_of_text_and_columns_left_out(tmp_path):
    columns = {"age": CLINIC["age"], "sex": CLINIC["sex"], "note": 'type = "text"'}
    project = open_project(tmp_path, columns, [f"{n % 50},{'FM'[n % 2]},n{n}" for n in range(200)])
    with pytest.raises(UsageError, match="'note' is text"):
        fit(project, constraints={"zeros": [{"note": "n1"}]})
    rules = {"zeros": [{"age": "0 to 9", "sex": "F"}], "orders": []}
    # It binds nothing, as sex does not come out. (40 of 200 rows are below 10: no noise of this epsilon hides them.)
    model = fit(project, epsilon="60", constraints=rules, columns=("age",))
    assert min(each for each in model.sample(2000, seed=1)["age"].to_pylist() if each is not None) < 10


@pytest.mark.thin(2)
@pytest.mark.parametrize("kind", ["independent", "mst", "aim", "privbayes"])
def test_what_is_ruled_out_is_so_from_the_first_fit_on(tmp_path, kind, monkeypatch):
    """Also between two steps: what a choice compares the table with knows of it."""
    seen, known = [], fit_task.fit

    def spy(sizes, measurements, total, **named):
        found = known(sizes, measurements, total, **named)
        seen.append(float(found.calibrated.project([1, 2])[0, 0]))  # columns stand by name: age, job, sex
        return found

    monkeypatch.setattr(fit_task, "fit", spy)
    columns = {
        "job": 'type = "category"\nvalues = ["cook", "nurse"]\nclosed = true',
        "sex": CLINIC["sex"],
        "age": CLINIC["age"],
    }
    lines = [f"{('cook', 'nurse')[n % 2]},{'MF'[n % 3 == 0]},{n % 80}" for n in range(600)]
    told = {"zeros": [{"job": "cook", "sex": "F"}]}
    model = fit(open_project(tmp_path, columns, lines), kind=kind, constraints=told, epsilon="5")
    assert [attribute.name for attribute in model.attributes] == ["age", "job", "sex"]
    assert set(seen) == {0.0} and len(seen) >= (1 if kind == "independent" else 2)
    assert model.project(["job", "sex"]).counts[0, 0] == 0


def test_a_random_model_keeps_what_is_public(tmp_path):
    """It says nothing about the data, and no less of what is told: its rows broke every constraint before."""
    project = open_project(tmp_path, CLINIC, clinic_lines(5))
    spent = project.budget("people").spent
    model = fit(project, kind="random", constraints=CLINIC_RULES)
    model.save(tmp_path / "model.json")
    for each in (model, Model.load(tmp_path / "model.json")):
        rows = each.sample(3000, seed=1)
        assert keeps_clinic_rules(rows) and rows["sex"].to_pylist().count("F") == 1500
    assert rows.num_rows == round(model.total) == 3000 and project.budget("people").spent == spent
    ages = rows.to_pandas()["age"]
    assert abs((ages < 50).mean() - 0.5) < 0.1  # values are even, although constraints cut some cells
    with pytest.raises(UsageError):
        fit(project, kind="random", constraints={"zeros": [{"sex": ["F", "M"]}]})
