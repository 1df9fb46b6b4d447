"""The unit is for good: once something was released about a population, its tables identify people as they did."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.errors import UsageError
from discreet.ledger import owner_acts, repair
from discreet.ledger.charge_request import ChargeRequest
from discreet.ledger.ledger import Ledger
from discreet.schema.person_identity import naming_of
from ledger.ledgers import WHOLE, ask, guarantee, laplace

VISIT, PATIENT = {"person": "visit_id"}, {"person": "patient_id", "rows_per_person": 20}


def opened(path: Path, **tables: dict) -> Ledger:
    ledger = Ledger.create(path)
    ledger.declare("people", guarantee(3), unit="person")
    for name, schema in tables.items():
        version(ledger, schema, table=name)
    return ledger


def version(ledger: Ledger, schema: dict, *, table: str = "visits", **source: object) -> int:
    return ledger.add_version(table, population="people", schema=schema, source=dict(source))


def question(ledger: Ledger, number: int = 1, *, table: str = "visits", epsilon: str = "1") -> None:
    ask(ledger, laplace(epsilon), population="people", table=table, version=number)


def test_the_person_changes_freely_before_the_first_charge_and_never_after(path: Path):
    with opened(path, visits=VISIT) as ledger:
        assert version(ledger, PATIENT) == 2
        question(ledger, 2)
        for other in (VISIT, {}, {"person": ["patient_id", "clinic"]}, {"ends": ["patient_id", "visit_id"]}):
            with pytest.raises(UsageError, match=r"'visits' identifies people by patient_id\. Answers about"):
                version(ledger, other)
        assert version(ledger, {"person": "patient_id", "rows_per_person": 500}) == 3  # a raised limit is no other unit
        question(ledger, 3)
    with Ledger.open(path) as ledger:
        assert ledger.state.protected_units["people"].changes == []
    assert repair.verify(path).sound


def test_what_was_corrected_must_be_made_anew_before_it_is_asked(path: Path):
    """A version by the old person, of this table or of another one, is not read any more."""
    with opened(path, visits=VISIT, stays=VISIT) as ledger:
        version(ledger, PATIENT)
        for table in ("visits", "stays"):
            with pytest.raises(UsageError, match=f"version 1 of '{table}' identifies people by visit_id") as caught:
                question(ledger, table=table)
            assert caught.value.hint == f"ask the owner to run discreet refresh {table}"
        with pytest.raises(UsageError, match="version 1 of 'stays'"):  # joined, not asked
            ledger.charge(ChargeRequest(
                population="people", table="visits", version=2, region=WHOLE, event=laplace("1"), question="q",
                price=1, reads=[("stays", 1)],
            ))  # fmt: skip
        with pytest.raises(UsageError, match="version 1 of 'stays'"):
            ledger.declare_invariant("stays", 1, words="exact totals of sex")
        question(ledger, 2)
        version(ledger, PATIENT, table="stays")
        question(ledger, 2, table="stays")


def test_two_processes_make_one_source_into_two_kinds_of_person_or_two_budgets(path: Path):
    """Both looked before either was entered: the ledger itself compares sealed files, under its lock."""
    with opened(path) as ledger:
        version(ledger, VISIT, files=["sealed"])
        with pytest.raises(UsageError, match="'again' and 'visits' have the same source"):
            version(ledger, PATIENT, table="again", files=["other", "sealed"])
        with pytest.raises(UsageError, match="have the same source"):
            version(ledger, ITEMS, table="items", files=["items"], reached=[ORDERS], way=[{"files": ["sealed"]}])
        assert version(ledger, VISIT, table="again", files=["sealed"]) == 1
        ledger.declare("others", guarantee(3), unit="person")
        with pytest.raises(UsageError, match="has the same source as 'visits', which is in population 'people'"):
            ledger.add_version("else", population="others", schema=VISIT, source={"files": ["sealed"]})


def test_somebody_forgotten_settles_it_too(path: Path):
    """Under other columns their tombstone would know nobody."""
    with opened(path, visits=VISIT) as ledger:
        ledger.forget(["visits"], bytes(16), key="mark")
        with pytest.raises(UsageError, match="so this cannot change"):
            version(ledger, PATIENT)


def test_an_exact_total_settles_it_too(path: Path):
    with opened(path, visits=VISIT) as ledger:
        ledger.declare_invariant("visits", 1, words="exact totals of sex")
        with pytest.raises(UsageError, match="so this cannot change"):
            version(ledger, PATIENT)


ORDERS = {"table": "orders", "person": ["customer"], "through": None, "on": []}
ITEMS = {"person": {"through": "orders", "on": "order_id"}}


def test_the_way_to_a_person_is_part_of_the_unit(path: Path):
    with opened(path) as ledger:
        version(ledger, ITEMS, table="items", reached=[ORDERS])
        question(ledger, table="items")
        for other in ({"person": ["invoice"]}, {"on": ["x"], "through": "more", "person": []}):
            with pytest.raises(UsageError, match=r"order_id, which leads to customer of 'orders'\. Answers about"):
                version(ledger, ITEMS, table="items", reached=[ORDERS | other])
        with pytest.raises(UsageError, match="'items' identifies people by order_id"):
            version(ledger, {"person": {"through": "orders", "on": "parcel"}}, table="items", reached=[ORDERS])
        with pytest.raises(UsageError, match=r"'orders' identifies people by customer\. Answers about"):
            version(ledger, {"person": "invoice"}, table="orders")
        assert version(ledger, {"person": "customer"}, table="orders") == 1
        assert version(ledger, ITEMS, table="items", reached=[ORDERS]) == 2


def test_nor_may_a_new_table_take_another_way_through_a_known_one(path: Path):
    with opened(path, orders={"person": "customer"}) as ledger:
        question(ledger, table="orders")
        with pytest.raises(UsageError, match=r"'orders' identifies people by customer\. Answers about"):
            version(ledger, ITEMS, table="items", reached=[ORDERS | {"person": ["invoice"]}])
        assert version(ledger, ITEMS, table="items", reached=[ORDERS]) == 1


def test_the_kind_of_a_naming_column_is_part_of_the_unit(path: Path):
    """'007' and '7' are two persons of text, and one number."""
    with opened(path) as ledger:
        version(ledger, VISIT, kinds=[["text"]])
        question(ledger)
        with pytest.raises(UsageError, match=r"visit_id \(text\)\. Answers about"):
            version(ledger, VISIT, kinds=[["integer"]])
        assert version(ledger, VISIT, kinds=[["text"]]) == 2


def test_a_row_becomes_a_person_before_the_first_charge_alone(path: Path):
    with Ledger.create(path) as ledger:
        ledger.declare("people", guarantee(3))
        version(ledger, {})
        ledger.declare("people", guarantee(3), unit="person")
        with pytest.raises(UsageError, match="version 1 of 'visits' identifies people by each row"):
            question(ledger)
        version(ledger, PATIENT)
        question(ledger, 2)
        with pytest.raises(
            UsageError, match=r"protects each person\. Answers about it were released, so this cannot change"
        ):
            ledger.declare("people", guarantee(3), unit="row")
    with Ledger.open(path) as ledger:
        assert ledger.state.units == {"people": "person"}


def test_a_restored_ledger_knows_whom_it_had_promised(path: Path, copies):
    """A copy from before the correction would let visits be asked again, one by one."""
    with opened(path, visits=VISIT):
        pass
    copies.take("old")
    with Ledger.open(path) as ledger:
        version(ledger, PATIENT)
        question(ledger, 2)
    copies.restore_ledger("old")
    repair.acknowledge(path)
    for _ in range(2):
        with Ledger.open(path) as ledger:
            with pytest.raises(UsageError, match=r"identifies people by patient_id\. Answers about"):
                version(ledger, VISIT)
            with pytest.raises(UsageError, match="version 1 of 'visits' identifies people by visit_id"):
                question(ledger)
    assert repair.verify(path).sound


def test_a_restored_ledger_of_rows_knows_that_persons_were_promised(path: Path, copies):
    with Ledger.create(path) as ledger:
        ledger.declare("people", guarantee(3))
        version(ledger, {})
    copies.take("old")
    with Ledger.open(path) as ledger:
        ledger.declare("people", guarantee(3), unit="person")
        version(ledger, PATIENT)
        question(ledger, 2)
    copies.restore_ledger("old")
    repair.acknowledge(path)
    with Ledger.open(path) as ledger:
        assert ledger.state.units == {"people": "person"}
        with pytest.raises(UsageError, match="so this cannot change"):
            ledger.declare("people", guarantee(3), unit="row")
        with pytest.raises(UsageError, match="version 1 of 'visits' identifies people by each row"):
            question(ledger)


def test_a_ledger_in_which_an_older_program_let_it_change_is_read_and_says_so(path: Path, monkeypatch):
    with opened(path, visits=VISIT) as ledger, monkeypatch.context() as patch:
        patch.setattr(owner_acts, "refuse_other_naming", lambda *_: None)
        question(ledger)
        version(ledger, PATIENT)
        question(ledger, 2, epsilon="0.5")
    with Ledger.open(path) as ledger:
        (change,) = ledger.state.protected_units["people"].changes
        assert change == "'visits' identified people by visit_id, and with version 2 of 'visits' by patient_id"
        with pytest.raises(UsageError, match=r"identifies people by patient_id\. Answers about"):
            version(ledger, VISIT)


def test_a_population_is_not_declared_twice_but_to_correct_its_unit(path: Path):
    with Ledger.create(path) as ledger:
        ledger.declare("p", guarantee(3))
        ledger.declare("p", guarantee(3))
        assert ledger.state.seq == 2
        ledger.declare("p", guarantee(3), unit="person")
        assert (ledger.state.seq, ledger.state.units) == (3, {"p": "person"})
        with pytest.raises(UsageError, match="with another budget"):
            ledger.declare("p", guarantee(4), unit="row")


def test_namings_of_old_declarations():
    way = [{"table": "a", "person": ["x"], "through": None, "on": []}]
    assert naming_of("t", {"person": {"through": "a", "on": ["k"]}}, {"reached": way})[1:] == way
    assert naming_of("t", {"ends": ["x", "y"]}, {"kinds": [["text", "text"]]}) == [
        {"table": "t", "ends": ["x", "y"], "kinds": ["text", "text"]}
    ]
