"""What an auditor broke, kept as tests."""

from __future__ import annotations

import os
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting.events import ThresholdEvent
from discreet.accounting.guarantee import Guarantee
from discreet.errors import BudgetExceeded, LedgerFault, UsageError
from discreet.ledger import anchor, repair
from discreet.ledger.ledger import Ledger
from ledger.ledgers import ask, copy_ledger, guarantee, laplace, make, people


def spend_all(path: Path) -> int:
    spent = 0
    with Ledger.open(path) as ledger:
        try:
            while True:
                ask(ledger, laplace(1), region=people(1))
                spent += 1
        except BudgetExceeded:
            return spent


@pytest.mark.parametrize("stale", [True, False])
def test_a_power_cut_that_keeps_another_historys_digests_charges_no_less(
    tmp_path: Path, state_folder: Path, stale: bool
):
    """Two histories, a restored copy of each in turn, and digests that belong to the wrong one."""
    path, limit = tmp_path / "p" / "ledger.db", 6
    make(path, guarantee(limit)).close()
    copy_ledger(path, tmp_path / "old.db")
    with Ledger.open(path) as ledger:
        for group in range(1, 5):
            ask(ledger, laplace(1), region=people(group))
    lost = 1
    copy_ledger(path, tmp_path / "b.db")
    digests = next(state_folder.glob("*/digests"))
    before = digests.read_bytes()
    copy_ledger(tmp_path / "old.db", path)
    repair.acknowledge(path)
    with Ledger.open(path) as ledger:
        for _ in range(4):
            ask(ledger, laplace(1), region=people(1))
            lost += 1
    if stale:
        digests.write_bytes(before)
    copy_ledger(tmp_path / "b.db", path)
    repair.acknowledge(path)
    assert lost + spend_all(path) <= limit


def test_a_rollback_does_not_forget_whose_table_it_was(tmp_path: Path):
    path = tmp_path / "p" / "ledger.db"
    Ledger.create(path).close()
    copy_ledger(path, tmp_path / "old.db")
    with Ledger.open(path) as ledger:
        ledger.declare("patients", guarantee(1))
        ledger.add_version("patients", population="patients", schema={}, source={})
        ask(ledger, laplace(1))
    copy_ledger(tmp_path / "old.db", path)
    repair.acknowledge(path)
    with Ledger.open(path) as ledger:
        ledger.declare("others", guarantee(1))
        with pytest.raises(UsageError, match="another population"):
            ledger.add_version("patients", population="others", schema={}, source={})


def test_a_handed_over_state_folder_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first, second = tmp_path / "one", tmp_path / "two"
    monkeypatch.setenv("DISCREET_STATE", str(first))
    path, copy = tmp_path / "p" / "ledger.db", tmp_path / "q" / "ledger.db"
    make(path, guarantee(1)).close()
    copy.parent.mkdir()
    copy_ledger(path, copy)
    monkeypatch.setenv("DISCREET_STATE", str(second))
    repair.adopt(copy, first)
    assert spend_all(copy) == 1
    monkeypatch.setenv("DISCREET_STATE", str(first))
    with pytest.raises(LedgerFault):
        spend_all(path)


def test_a_moved_ledger_is_missed_where_it_went(tmp_path: Path):
    path, moved = tmp_path / "p" / "ledger.db", tmp_path / "q" / "ledger.db"
    make(path, guarantee(1)).close()
    shutil.move(path.parent, moved.parent)
    assert spend_all(moved) == 1
    shutil.rmtree(moved.parent)
    with pytest.raises(LedgerFault, match="is gone"):
        Ledger.create(moved)
    Ledger.create(path).close()  # where it was before, nothing is missing


def test_deltas_that_add_up_to_one_can_be_acknowledged(tmp_path: Path):
    path = tmp_path / "p" / "ledger.db"
    make(path, Guarantee(epsilon=Fraction(3), delta=Fraction(9, 10), delta_keys=Fraction(9, 10))).close()
    copy_ledger(path, tmp_path / "a.db")
    with Ledger.open(path) as ledger:
        ask(ledger, ThresholdEvent(scale=Fraction(10), l1=1, delta=Fraction(6, 10)))
    copy_ledger(path, tmp_path / "b.db")
    for name in "abab":
        copy_ledger(tmp_path / f"{name}.db", path)
        repair.acknowledge(path)
        with Ledger.open(path) as ledger:
            assert ledger.account_status("patients").remaining.delta >= 0


def test_the_anchor_is_forced_to_disk_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Digests, then the new head, then its name, then the folder: each synced before the next."""
    path = tmp_path / "p" / "ledger.db"
    seen: list[str] = []
    with make(path) as ledger:
        real_sync, real_replace, real_folder = os.fsync, os.replace, anchor._sync_folder

        def sync(descriptor: int) -> None:
            seen.append(f"sync {Path(os.readlink(f'/proc/self/fd/{descriptor}')).name}")
            real_sync(descriptor)

        def replace(old: Path, new: Path) -> None:
            seen.append(f"replace {Path(new).name}")
            real_replace(old, new)

        def folder(place: Path) -> None:
            seen.append("folder")
            real_folder(place)

        monkeypatch.setattr(anchor.os, "fsync", sync)
        monkeypatch.setattr(anchor.os, "replace", replace)
        monkeypatch.setattr(anchor, "_sync_folder", folder)
        ask(ledger, laplace("0.1"))
        monkeypatch.undo()
    wanted = ["sync digests", "sync head.json.new", "replace head.json", "folder"]
    assert [act for act in seen if act in wanted] == wanted
