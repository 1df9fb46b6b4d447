"""Restoring gives no analyst anything back: what they paid is kept beside the ledger, and counted again."""

from __future__ import annotations

import itertools
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.errors import BudgetExceeded
from discreet.ledger import repair
from discreet.ledger.anchor import Anchor
from discreet.ledger.backup import backup, restore
from discreet.ledger.ledger import Ledger
from discreet.ledger.ledger_location import DatabaseAddress
from discreet.ledger.refusal import check_quota
from ledger.ledgers import ask, copy_folder, copy_ledger, gaussian, guarantee, laplace, make, people
from tiers import examples

QUOTA = Fraction(10)
NAMES = ("ann", "Ann", "bob", "zoé")
PRICES = ("0.1", "0.25", "1/3", "1e-9", "0.7000000001")
_numbers = itertools.count()


def left_of(ledger: Ledger, *populations: str) -> dict[tuple[str, str], Fraction]:
    """What each analyst could still pay, by asking what is refused."""
    found = {}
    for name, population in itertools.product(NAMES, populations or ("patients",)):
        account = ledger.refresh().account(population)
        try:
            check_quota(account, name, needed=QUOTA * 2, quota=QUOTA)
        except BudgetExceeded as refused:
            known = Fraction(0) if account.payers_unknown else max(Fraction(0), QUOTA - account.paid_by(name))
            assert Fraction(refused.remaining["epsilon"]) <= known
            found[name, population] = known
    return found


def lose(path: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def never_more(before: dict[tuple[str, str], Fraction], after: dict[tuple[str, str], Fraction]) -> None:
    assert set(before) == set(after)
    assert all(after[key] <= before[key] for key in before), (before, after)


def test_a_quota_that_was_used_up_stays_so(path: Path, tmp_path: Path):
    with make(path, guarantee(30)) as ledger:
        ask(ledger, laplace("0.1"), price="0.1", analyst="bob")
        backup(path, tmp_path / "copy.db")
        ask(ledger, laplace("1"), price="1", analyst="ann")
    lose(path)
    restore(path, tmp_path / "copy.db")
    with Ledger.open(path) as ledger:
        assert ledger.account_status("patients").by_analyst == {"bob": Fraction("0.1"), "ann": 1}
        with pytest.raises(BudgetExceeded, match="0 remaining of a quota of 1") as caught:
            check_quota(ledger.state.account("patients"), "ANN", needed=Fraction(1, 10**9), quota=Fraction(1))
        assert caught.value.binding == "quota"
        assert ledger.verify().sound


def test_an_old_anchor_opens_and_knows_nobody(path: Path, tmp_path: Path):
    """Written before payments were kept: whoever paid, every quota counts as used up until the owner makes a grant."""
    with make(path, guarantee(30)) as ledger:
        backup(path, tmp_path / "copy.db")
        ask(ledger, laplace("1"), price="1", analyst="ann")
        anchor, digests = ledger._journal.anchor, ledger.state.digests
        forget_payers(anchor, digests)
    with Ledger.open(path) as ledger:
        assert left_of(ledger)["ann", "patients"] == 9
        forget_payers(anchor, digests)
    lose(path)
    restore(path, tmp_path / "copy.db")
    with Ledger.open(path) as ledger:
        assert set(left_of(ledger).values()) == {0}
        ask(ledger, laplace("1"), analyst="nobody with a quota")
        with pytest.raises(BudgetExceeded, match="until the owner makes a grant"):
            check_quota(ledger.state.account("patients"), "ann", needed=Fraction(1), quota=QUOTA)
    lose(path)
    restore(path, tmp_path / "copy.db")  # the row that said so is forgotten; the anchor has seen it
    with Ledger.open(path) as ledger:
        assert set(left_of(ledger).values()) == {0}
        ledger.grant("patients", guarantee(40))
        assert left_of(ledger)["ann", "patients"] == 10


def test_histories_that_parted_add_up(path: Path, tmp_path: Path, state_folder: Path):
    """Ann paid 1 in each of two copies of a ledger; whichever is gone on with, she has paid 2."""
    make(path, guarantee(30)).close()
    copy_ledger(path, tmp_path / "ledger.db")
    copy_folder(state_folder, tmp_path / "kept")
    with Ledger.open(path) as ledger:
        ask(ledger, laplace("1"), price="1", analyst="ann")
    copy_folder(state_folder, tmp_path / "seen")
    copy_ledger(tmp_path / "ledger.db", path)
    copy_folder(tmp_path / "kept", state_folder)
    with Ledger.open(path) as ledger:
        ask(ledger, laplace("1"), price="1", analyst="ann")
    copy_folder(tmp_path / "seen", state_folder)
    repair.acknowledge(path)
    with Ledger.open(path) as ledger:
        assert ledger.account_status("patients").by_analyst == {"ann": 2}


def forget_payers(anchor: Anchor, digests: list[str]) -> None:
    head = anchor.read()
    totals = {**head.totals, "populations": dict(head.totals["populations"])}
    for name, told in totals["populations"].items():
        totals["populations"][name] = {key: value for key, value in told.items() if key != "paid"}
    anchor.write(replace(head, totals=totals), digests, stored_count=len(digests))


def test_a_lost_state_folder_uses_every_quota_up(path: Path, tmp_path: Path, state_folder: Path):
    with make(path, guarantee(30)) as ledger:
        backup(path, tmp_path / "copy.db")
        ask(ledger, laplace("1"), price="1", analyst="ann")
    shutil.rmtree(state_folder)
    lose(path)
    restore(path, tmp_path / "copy.db", lost=True)
    with Ledger.open(path) as ledger:
        assert set(left_of(ledger).values()) == {0}
        ledger.grant("patients", guarantee(40))
        assert set(left_of(ledger).values()) == {10}


def test_postgres_keeps_it_too(address: DatabaseAddress, tmp_path: Path):
    """A ledger in PostgreSQL whose rows went back in time."""
    with make(address, guarantee(30)) as ledger:
        copy_ledger(address, tmp_path / "rows")
        ask(ledger, laplace("1"), price="1", analyst="ann")
        before = left_of(ledger)
    copy_ledger(tmp_path / "rows", address)
    repair.acknowledge(address)
    with Ledger.open(address) as ledger:
        never_more(before, left_of(ledger))
        assert ledger.account_status("patients").by_analyst == {"ann": 1}


ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.sampled_from((*NAMES, None)), st.sampled_from(PRICES), st.booleans()),
        st.tuples(st.just("backup"), st.just(None), st.just(""), st.just(False)),
        st.tuples(st.just("restore"), st.just(None), st.just(""), st.booleans()),
        st.tuples(st.just("acknowledge"), st.just(None), st.just(""), st.just(False)),
        st.tuples(st.just("adopt"), st.just(None), st.just(""), st.just(False)),
    ),
    min_size=3,
    max_size=9,
)


@given(ACTS)
@settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_no_act_of_repair_raises_what_an_analyst_has_left(tmp_path: Path, state_folder: Path, acts):
    """Random histories of questions, backups, restores, rollbacks that are acknowledged, and moves to other machines."""
    folder = tmp_path / f"world{next(_numbers)}"
    path, copies = folder / "ledger.db", []
    folder.mkdir()
    with make(path, guarantee(1000, "1e-6")) as ledger:
        ledger.declare("visitors", guarantee(1000, "1e-6"))
        ledger.add_version("visits", population="visitors", schema={"a": 1}, source={"file": "y.csv"})
    for act, name, price, other in acts:
        with Ledger.open(path) as ledger:
            if act == "ask":
                table, population = ("visits", "visitors") if other else ("patients", "patients")
                event = gaussian("1/100") if price == "0.25" else laplace("0.1")
                where = {"table": table, "population": population, "region": people(1)}
                ask(ledger, event, price=price if "/" not in price else Fraction(price), analyst=name, **where)
                continue
            before = left_of(ledger, "patients", "visitors")
        repaired(act, path, copies, folder, state_folder, last=other)
        with Ledger.open(path) as ledger:
            never_more(before, left_of(ledger, "patients", "visitors"))


def repaired(act: str, path: Path, copies: list[Path], folder: Path, state_folder: Path, *, last: bool) -> None:
    if act == "backup":
        copies.append(folder / f"copy{len(copies)}.db")
        backup(path, copies[-1])
    elif act == "adopt":
        kept = folder / f"kept{next(_numbers)}"
        copy_folder(state_folder, kept)
        shutil.rmtree(state_folder)
        repair.adopt(path, kept)
    elif copies:
        lose(path)
        if act == "restore":
            restore(path, copies[-1 if last else 0])
        else:
            shutil.copyfile(copies[0], path)
            repair.acknowledge(path)
