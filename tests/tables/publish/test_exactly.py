"""Exact totals on the real engine: the owner's to give away, of all rows, the same for every plan, told before charged."""

import json
from fractions import Fraction

import pytest

import discreet
from clinic import say
from discreet.engines.duckdb import DuckDBEngine
from discreet.errors import BudgetExceeded, LedgerFault, LedgerLocked, QueryFailed, Refused, SchemaError, UsageError
from discreet.kernel.exact_totals import ExactTotals, publish_exact_totals
from discreet.kernel.project_session import open_session
from discreet.ledger.charge_request import Asker
from discreet.mechanisms.strategy.node_tables import NodeStrategy
from discreet.tables.publish import publication_measurement, publication_offer
from discreet.tables.publish import publish as publishing
from discreet.tables.publish.layout import lay_out, with_levels
from discreet.tables.publish.permitted_totals import totals_of
from discreet.tables.publish.plan_file import PlanLevel
from discreet.tables.publish.publication_card import card_data, card_page
from tables.publish.census import EXACT, PLACES, PLAN, exact_table, make, people, plan
from tables.publish.test_publish import as_rows, check_adds_up, run

STATES = 'invariants = ["state"]\n' + PLAN
COLUMN = 'table = "people"\nattributes = ["sex"]\n[hierarchy]\ncolumn = "block"\n'


def test_a_version_takes_over_what_the_owner_declares(tmp_path):
    assert make(tmp_path, extra=EXACT).version("people").schema.invariants == ("block",)


@pytest.mark.parametrize("delta", ["3.75e-7", 0])
def test_exact_totals_are_exact_and_kept_at_every_level_above(tmp_path, delta):
    project, rows = make(tmp_path, extra=EXACT), people()
    made = run(project, 'invariants = ["county"]\n' + PLAN, delta=delta)
    assert [each.population for each in project.ledger.state.invariants.values()] == ["people"]
    stated = card_data(made, [])["guarantee"]  # counted double: neighbours change one
    assert (
        2 <= stated["epsilon"] < 2.2 and abs(stated["epsilon"] - float(project.budget("people").spent.epsilon)) < 1e-6
    )
    check_adds_up(made)
    truth = {(state, county): 0 for state, county, _ in [*PLACES, (None, None, None)]}
    for key, count in exact_table(rows).items():
        truth[key[:2]] += count
    found = as_rows(made.totals("county"))
    assert {key: row["count"] for key, row in found.items()} == truth
    assert all(row["low"] == row["estimate"] == row["high"] == row["count"] for row in found.values())
    (nation,) = made.totals("nation").to_pylist()
    assert nation["low"] == nation["high"] == len(rows) and nation["standard_error"] == 0
    assert made.total == len(rows)
    for row in as_rows(made.table("county")).values():
        assert row["standard_error"] > 0
    again = run(project, 'invariants = ["county"]\n' + PLAN, delta=delta)
    assert again.cached and len(project.ledger.state.invariants) == 1
    assert (again.refined.counts[-1] == made.refined.counts[-1]).all()
    made.write(tmp_path / "out")
    card = json.loads((tmp_path / "out" / "card.json").read_text())
    assert not card["guarantee"]["presence_protected"] and "presence is not protected" in card["exact"][0]


def test_exact_totals_are_refused_where_history_has_no_room(tmp_path):
    project = make(tmp_path, budget="{ epsilon = 1.5 }", extra=EXACT)
    run(project)
    with pytest.raises(BudgetExceeded):
        run(project, 'invariants = ["state"]\n' + PLAN, epsilon="0.1")
    assert not project.ledger.state.invariants and project.budget("people").events == 1


def test_nothing_is_declared_for_tables_that_do_not_fit(tmp_path):
    """History would fit twice, these tables would not: a declaration without its tables would double all for nothing."""
    project = make(tmp_path, budget="{ epsilon = 1.5 }", extra=EXACT)
    text = 'invariants = ["state"]\n' + PLAN
    with pytest.raises(BudgetExceeded, match="counts double"):
        run(project, text, epsilon=1)
    assert not project.ledger.state.invariants and project.budget("people").events == 0
    told = publishing.plan_of(plan(project.folder, text))
    session = open_session(project, "people", Asker())
    for epsilon, room in (("0.75", True), ("0.76", False)):
        quoted = publishing.quote(told, session, epsilon=epsilon, delta=None, publics=project.public)
        assert quoted.fits == room
    run(project, text, epsilon="0.75")
    assert project.budget("people").spent.epsilon == Fraction(3, 2)


def test_no_exact_number_is_read_without_invariants(tmp_path, monkeypatch):
    monkeypatch.setattr(
        publication_measurement, "publish_exact_totals", lambda *given, **more: pytest.fail("an exact total was read")
    )
    run(make(tmp_path))


LEFT_OUT = [
    PLAN + '[[zeros]]\nsex = "M"\n',
    PLAN + '[[zeros]]\nblock = "AAa10"\n',
    PLAN + '[[rules]]\nif = { sex = "F" }\nthen = { age = "15 to 99" }\n',
    PLAN + "elsewhere = false\n",
]


@pytest.mark.thin(2)
@pytest.mark.parametrize("text", LEFT_OUT)
def test_a_plan_that_leaves_rows_out_has_no_exact_totals(tmp_path, text):
    """Else two such plans differ by the exact number of some kind of people, and estimates are biased."""
    project = make(tmp_path, extra=EXACT)
    with pytest.raises(Refused, match="invariants cannot be combined with"):
        run(project, 'invariants = ["state"]\n' + text)
    assert not project.ledger.refresh().invariants and project.budget("people").events == 0
    run(project, text)  # it is the two together


def test_every_plan_reads_the_same_totals(tmp_path, monkeypatch):
    """One set for a column and level, whatever else a plan says; what is stored is not counted again."""
    project = make(tmp_path, extra=EXACT)
    first = run(project, STATES)
    monkeypatch.setattr(
        publication_measurement, "publish_exact_totals", not_counting(publication_measurement.publish_exact_totals)
    )
    other = PLAN.replace('["sex", "age"]', '["work"]').replace('"nation"', '"country"')
    second = run(project, 'invariants = ["state"]\n' + other.replace('"state", "county", "block"', '"state", "block"'))
    assert second.release != first.release and len(project.ledger.state.invariants) == 1
    assert second.noisy.totals.tolist() == first.noisy.totals.tolist()
    assert run(project, STATES).cached


def not_counting(known):
    """The same, where counting is a fault."""

    def again(curator, *given, **more):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(curator.engine), "count", lambda *given, **more: pytest.fail("counted again"))
            return known(curator, *given, **more)

    return again


def test_places_stand_in_one_order_whatever_lies_above_them(tmp_path):
    make(tmp_path, extra=EXACT)
    states = {"a1": "X", "a2": "Y", "a3": "X", "b1": "Y", "b2": "X"}  # so that states part counties that stand together
    listed = "".join(f"{states[county]},{county},{block}\n" for _, county, block in PLACES)
    (tmp_path / "places.csv").write_text("state,county,block\n" + listed)
    project = discreet.open(tmp_path)
    found = []
    for levels in ('"state", "county", "block"', '"county", "block"'):
        told = publishing.plan_of(plan(tmp_path, PLAN.replace('"state", "county", "block"', levels)))
        layout = lay_out(told, project.version("people"), project.public)
        counted, rank = totals_of(layout.places, layout.levels.index("county"))
        found.append(counted.places.tolist())
        assert sorted(rank.tolist()) == list(range(6))
    assert found[0] == found[1]


def test_a_public_table_that_moves_places_buys_no_second_set(tmp_path):
    project = make(tmp_path, extra=EXACT)
    run(project, STATES)
    events = project.budget("people").events
    text = (tmp_path / "places.csv").read_text()
    (tmp_path / "places.csv").write_text(text.replace("AA,a1,AAa10", "BB,a1,AAa10"))
    with pytest.raises(Refused, match="has moved places since"):
        run(discreet.open(tmp_path), STATES)
    assert project.budget("people").events == events


def test_the_owner_is_warned_of_edited_places_at_refresh(tmp_path, capsys):
    """Another version may have totals of its own, by places that are others: the two can differ by one person."""
    project = make(tmp_path, extra=EXACT)
    run(project, STATES)
    assert project.edited_places("people") == []
    text = (tmp_path / "places.csv").read_text()
    head, *rows = text.splitlines()
    (tmp_path / "places.csv").write_text("\n".join([head, *reversed(rows)]) + "\n")
    assert discreet.open(tmp_path).edited_places("people") == [], "the same places in another order"
    code, _, notes = say(capsys, tmp_path, "refresh", "people")
    assert (code, "has changed since exact totals" in notes) == (0, False)
    (tmp_path / "places.csv").write_text(text.replace("AA,a1,AAa10", "BB,a1,AAa10"))
    code, _, notes = say(capsys, tmp_path, "refresh", "people")
    assert code == 0
    assert "note: 'places' has changed since exact totals of 'people' were published with it." in notes
    assert "can reveal where one person lives" in notes
    (tmp_path / "places.csv").unlink()
    assert discreet.open(tmp_path).edited_places("people") == ["places"]


DECLARED = {
    "*": [],
    "block > places.state": ["state"],
    "block > places.county": ["county"],
    "block": ["state", "county", "block"],
    "sex": [],
}


@pytest.mark.thin(2)
@pytest.mark.parametrize("declared", DECLARED)
def test_only_what_the_owner_declares_can_be_exact(tmp_path, declared):
    project = make(tmp_path, extra=f'invariants = ["{declared}"]\n')
    for level in ("nation", "state", "county", "block"):
        text = f'invariants = ["{level}"]\n' + PLAN
        if level == "nation" or level in DECLARED[declared]:
            project.plan_publish(plan(tmp_path, text), epsilon=1)
        else:
            with pytest.raises(Refused, match="only the data owner can publish exact totals") as problem:
                run(project, text)
            assert f'["block > places.{level}"]' in problem.value.hint and "counts double" in problem.value.hint
    assert not project.ledger.refresh().invariants and project.budget("people").events == 0


def test_without_a_declaration_nothing_is_exact(tmp_path):
    project = make(tmp_path)
    for level in ("nation", "state"):
        with pytest.raises(Refused, match="not declared"):
            run(project, f'invariants = ["{level}"]\n' + PLAN)
    cells = 'table = "people"\ninvariants = ["age"]\n[hierarchy]\ncolumns = ["block", "sex", "work", "age"]\n'
    with pytest.raises(Refused, match="not declared"):
        run(project, cells)
    assert not project.ledger.refresh().invariants


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("declared", "text"),
    [
        # a level is what it is made of, not what a plan calls it
        ("block > 2", 'levels = ["state", "block"]\nprefix = [4]\n'),
        ("block > places.state", 'levels = ["state", "block"]\nprefix = [2]\n'),
        ("block > places.county", 'levels = ["county"]\n'),
        ("sex", 'levels = ["sex", "block"]\nprefix = [2]\n'),
    ],
)
def test_another_level_of_the_same_name_is_not_declared(tmp_path, declared, text):
    project = make(tmp_path, extra=f'invariants = ["{declared}"]\n')
    level = text.split('"')[1]
    with pytest.raises(Refused, match="not declared"):
        run(project, f'invariants = ["{level}"]\n' + COLUMN.replace('["sex"]', "[]") + text)


def test_first_letters_can_be_declared(tmp_path):
    project = make(tmp_path, extra='invariants = ["Block>2"]\n')
    made = run(project, 'invariants = ["s"]\n' + COLUMN + 'levels = ["s", "b"]\nprefix = [2]\n')
    truth = sum(row[0].startswith("AA") for row in people())
    assert as_rows(made.totals("s"))[("AA",)]["count"] == truth
    (declared,) = project.ledger.state.invariants.values()
    assert declared.words == "exact totals of block > 2"


def test_combinations_of_declared_columns_are_not_declared(tmp_path):
    project = make(tmp_path, extra='invariants = ["sex", "work"]\n')
    text = 'table = "people"\n[hierarchy]\ncolumns = ["sex", "work"]\n'
    with pytest.raises(Refused, match="within each level above"):
        run(project, 'invariants = ["work"]\n' + text)
    run(project, 'invariants = ["sex"]\n' + text)


def test_an_edit_counts_when_the_owner_refreshes(tmp_path):
    project = make(tmp_path)
    run(project)
    file = tmp_path / "discreet.toml"
    file.write_text(file.read_text().replace('source = "people.csv"\n', 'source = "people.csv"\n' + EXACT))
    project = discreet.open(tmp_path)
    with pytest.raises(Refused, match="not declared"):
        run(project, STATES)
    project.refresh("people", force=True)
    run(project, STATES)


def entries(project):
    return [entry.kind for entry in project.ledger.entries()]


def test_the_ledger_is_told_then_charged_and_only_then_is_anything_counted(tmp_path, monkeypatch):
    project = make(tmp_path, extra=EXACT)
    project.version("people")
    seen, known = [], DuckDBEngine.count

    def count(self, *given, **more):
        seen.append(entries(project))
        return known(self, *given, **more)

    monkeypatch.setattr(DuckDBEngine, "count", count)
    run(project, STATES)
    assert len(seen) == 2 and all({"invariant", "charge", "step"} <= set(each) for each in seen)
    told = entries(project)
    assert told.index("invariant") < told.index("charge") < told.index("step")


def test_nothing_is_declared_that_could_not_be_charged(tmp_path):
    """A locked table, a quota, an analyst without a name that can be written: all refused before the ledger is told."""
    project = make(tmp_path, extra=EXACT)
    told = publishing.plan_of(plan(tmp_path, STATES))

    def ask(asker):
        publishing.publish(
            told,
            open_session(project, "people", asker),
            epsilon="0.5",
            delta=None,
            publics=project.public,
        )

    for asker in (Asker(name="mallory", quota=Fraction(1, 1000)), Asker(name="mal\nory")):
        with pytest.raises((BudgetExceeded, UsageError)):
            ask(asker)
    for number in range(3):
        id_ = project.sql(f"select count(*) from people where age > {number}").ask(epsilon="0.01").id
        project.ledger.fail(id_)
    with pytest.raises(LedgerLocked):
        ask(Asker())
    assert not project.ledger.refresh().invariants


def test_a_total_that_cannot_be_counted_is_a_failure(tmp_path, monkeypatch):
    project = make(tmp_path, extra=EXACT)
    project.version("people")
    calls, known = [], DuckDBEngine.count

    def count(self, *given, **more):
        calls.append(1)
        if len(calls) == 2:
            raise ValueError("quotes a cell")
        return known(self, *given, **more)

    monkeypatch.setattr(DuckDBEngine, "count", count)
    with pytest.raises(QueryFailed) as problem:
        run(project, STATES)
    assert "quotes" not in str(problem.value) and project.ledger.refresh().failures == {"people": 1}


def test_totals_are_read_only_of_what_was_declared(tmp_path):
    """An id of another version is no declaration of this one."""
    project = make(tmp_path, extra=EXACT)
    old = project.version("people")
    id_ = project.ledger.declare_invariant("people", old.number, words="totals")
    project.refresh("people", force=True)
    new = project.version("people")
    release = project.sql("select count(*) from people").ask(epsilon="0.1").id
    layout = lay_out(publishing.plan_of(plan(tmp_path)), new, project.public)
    counted, _ = totals_of(layout.places, 1)
    totals = ExactTotals(axes=layout.places.axes, totals=counted)
    assert isinstance(counted, NodeStrategy) and new.number != old.number
    for version, given in ((new, id_), (old, "i-nothing")):
        with pytest.raises(LedgerFault, match="not declared"):
            publish_exact_totals(project.curator, version, totals, id_=given, release=release)
    assert publish_exact_totals(project.curator, old, totals, id_=id_, release=release).sum() == len(people())


def test_a_past_that_does_not_fit_twice_says_what_helps(tmp_path):
    project = make(tmp_path, budget="{ epsilon = 1.5 }", extra=EXACT)
    run(project)
    with pytest.raises(BudgetExceeded) as problem:
        run(project, STATES, epsilon="0.01")
    assert "no epsilon is small enough" in problem.value.hint and "budget grant" in problem.value.hint


def test_another_planner_reads_back_what_was_bought(tmp_path, monkeypatch):
    """The plan leaves open which levels are measured; what was chosen then stands, and is not paid for twice."""
    project = make(tmp_path)
    first = run(project)
    spent = project.budget("people").spent
    other = {"nation": PlanLevel(share=Fraction(0)), "state": PlanLevel(share=Fraction(3))}
    monkeypatch.setattr(publication_offer, "choose_levels", lambda layout, price: with_levels(layout, other))
    again = run(discreet.open(tmp_path))
    assert again.cached and again.release == first.release and project.budget("people").spent == spent
    assert [[query.share for query in level] for level in again.layout.queries] == [
        [query.share for query in level] for level in first.layout.queries
    ]
    assert all((one == same).all() for one, same in zip(first.refined.counts, again.refined.counts, strict=True))
    fresh = run(project, fresh=True)
    assert not fresh.layout.queries[0] and run(project).release == fresh.release
    monkeypatch.undo()
    assert not run(project).layout.queries[0]  # the newest of the same plan, as it was measured


def test_what_comes_after_exact_totals_says_what_it_costs(tmp_path):
    project = make(tmp_path, extra=EXACT)
    run(project, STATES, epsilon="0.5")
    made = run(project, epsilon="0.5")
    data = card_data(made, [])
    assert not data["guarantee"]["presence_protected"] and data["guarantee"]["epsilon"] >= 1
    assert "published before: every charge counts double" in data["exact"][0]
    quoted = project.plan_publish(plan(tmp_path), epsilon="0.5").to_data()
    assert quoted["guarantee"] == data["guarantee"] and quoted["exact"] == data["exact"]


def test_the_card_explains_itself(tmp_path):
    project = make(tmp_path, extra=EXACT)
    for text, says in ((PLAN, "without one row"), (STATES, "one row had other values")):
        page = card_page(card_data(run(project, text), []))
        assert says in page and "95% confidence" in page and 'class="scroll"' in page and "scroll sideways" in page


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ('"block"', "must be a list of names"),
        ("[1]", "must be a list of names"),
        ('["street"]', "'street', which is not a declared column"),
        ('["* > 2"]', "not a declared column"),
        ('["block >"]', "does not say what"),
        ('["block > state"]', "does not say what"),
        ('["block > 0"]', "does not say what"),
        ('["block", "Block"]', "twice"),
        ('["block > places.parish"]', "'places.parish', which is not a column of a public table"),
        ('["block > people.sex"]', "which is not a column of a public table"),
    ],
)
def test_a_declaration_that_makes_no_sense_is_refused(tmp_path, declared, says):
    with pytest.raises(SchemaError, match=says):
        make(tmp_path, extra=f"invariants = {declared}\n")


def test_a_public_table_has_nothing_to_give_away(tmp_path):
    make(tmp_path)
    file = tmp_path / "discreet.toml"
    file.write_text(file.read_text().replace('source = "places.csv"\n', 'source = "places.csv"\ninvariants = ["*"]\n'))
    with pytest.raises(SchemaError, match="is public and has invariants"):
        discreet.open(tmp_path)
