"""The respondent's device: one report for one answer, whatever happens, and what all of them have cost."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import BudgetExceeded, LedgerFault, UsageError
from discreet.surveys.device import device_store
from discreet.surveys.device import respondent_device as device_module
from discreet.surveys.device.respondent_device import Device
from discreet.surveys.protocols.fragment_puzzle import FragmentPuzzle
from discreet.surveys.protocols.grid_numbers import Duchi
from discreet.surveys.protocols.local_hash import LocalHashing
from discreet.surveys.protocols.prefix_words import PrefixWords
from discreet.surveys.protocols.randomized_response import RandomizedResponse
from discreet.surveys.protocols.rappor import Rappor
from discreet.surveys.protocols.several_questions import Sampled, Split
from discreet.surveys.protocols.sketch import CountMeanSketch, HadamardSketch

DRINKS = RandomizedResponse(["yes", "no"], epsilon="1.1")
#: Its reports hold 64 random bits of their own: two draws are never alike.
MANY = LocalHashing([str(code) for code in range(100)], epsilon="2")


@pytest.fixture
def device(tmp_path: Path) -> Device:
    return Device(tmp_path / "phone")


@pytest.mark.deep
def test_a_thousand_reports_of_one_answer_are_one_report(device: Device) -> None:
    reports = [device.answer("drinks", MANY, "7") for _ in range(1000)]
    assert _learns_no_more_than_one_report(reports)
    assert [report.repeated for report in reports] == [False] + [True] * 999
    assert {report.lifetime for report in reports} == {MANY.epsilon}


def _learns_no_more_than_one_report(reports: list[Any]) -> bool:
    """What is sent again can be computed from what was sent first, so it tells nothing more."""
    return len({report.report for report in reports}) == 1 and len({report.id for report in reports}) == 1


def test_a_device_that_draws_again_is_caught(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_module, "_find_report", lambda store, place: None)
    monkeypatch.setattr(
        device_store, "SCHEMA", [each.replace("PRIMARY KEY CHECK (l", "CHECK (l") for each in device_store.SCHEMA]
    )
    assert not _learns_no_more_than_one_report([device.answer("drinks", MANY, "7") for _ in range(10)])


def test_averaging_finds_out_those_whose_device_draws_again_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The majority of many reports: of one kept report it is wrong as often as that is; of new ones never."""
    kept = RandomizedResponse(["yes", "no"], epsilon="1")
    wrong = sum(_majority(Device(tmp_path / f"{person}"), kept, times=3) != b"\x00" for person in range(60))
    assert wrong >= 2  # a lie has probability 0.269: fewer than 2 of 60 in one run of six million
    monkeypatch.setattr(
        device_module, "keyed_hash", lambda key, *parts: os.urandom(32) if parts[0] == "answer" else key
    )
    again = RandomizedResponse(["yes", "no"], epsilon="2")
    assert _majority(Device(tmp_path / "again"), again, times=41) == b"\x00"  # else once in ten million runs


def _majority(device: Device, coins: RandomizedResponse, *, times: int) -> bytes:
    reports = [device.answer("drinks", coins, "yes").report for _ in range(times)]
    return max(set(reports), key=reports.count)


def test_another_answer_survey_or_randomizer_is_another_report_and_counts(device: Device) -> None:
    first = device.answer("drinks", MANY, "7")
    other = device.answer("drinks", MANY, "8")
    assert other.report != first.report and other.id == first.id and not other.repeated
    assert other.lifetime == other.period == 2 * MANY.epsilon
    elsewhere = device.answer("smokes", MANY, "7")
    assert elsewhere.report != first.report and elsewhere.id != first.id and elsewhere.lifetime == 3 * MANY.epsilon
    finer = LocalHashing(MANY.choices, epsilon="2.5")
    assert device.answer("drinks", finer, "7").lifetime == 3 * MANY.epsilon + finer.epsilon
    back = device.answer("drinks", MANY, "7")
    assert back.report == first.report and back.repeated and back.lifetime == 3 * MANY.epsilon + finer.epsilon


def test_a_report_is_one_that_the_randomizer_makes(device: Device) -> None:
    found = device.answer("drinks", MANY, "7")
    assert MANY.estimate([found.report]).n == 1
    assert len(found.id) == 32 and set(found.id) <= set("0123456789abcdef") and found.epsilon == MANY.epsilon


def test_two_devices_have_nothing_in_common(tmp_path: Path) -> None:
    one, two = (Device(tmp_path / name).answer("drinks", MANY, "7") for name in "ab")
    assert one.id != two.id and one.report != two.report


def test_one_answer_in_two_spellings_is_one_answer(device: Device) -> None:
    height = Duchi(low="0.5", high="2.5", step="0.01", epsilon=1)
    for value in (1.5, "1.5", "1.50", Fraction(3, 2), "1.5000001"):
        assert device.answer("height", height, value).lifetime == height.epsilon
    both = Split({"a": lambda epsilon: RandomizedResponse(["yes", "no"], epsilon=epsilon),
                  "h": lambda epsilon: Duchi(low=0, high=9, step=1, epsilon=epsilon)}, epsilon=1)  # fmt: skip
    first = device.answer("both", both, {"a": "yes", "h": 3})
    assert device.answer("both", both, {"h": "3.0", "a": "yes"}).repeated
    assert not device.answer("both", both, {"h": "4", "a": "yes"}).repeated and not first.repeated


# --- limits


def test_a_limit_of_donations_in_a_period(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    monkeypatch.setattr(device_module.time, "time", lambda: now)
    for survey in ("a", "b"):
        device.answer(survey, DRINKS, "yes", limit=2)
    with pytest.raises(BudgetExceeded) as refused:
        device.answer("c", DRINKS, "yes", limit=2)
    assert "it costs epsilon 1.1" in refused.value.reason
    assert (
        "of the last day cost 2.2" in refused.value.reason and "all reports of this device 2.2" in refused.value.reason
    )
    assert device.answer("a", DRINKS, "yes", limit=2).repeated  # what was sent already may be sent again
    now += 86_401
    third = device.answer("c", DRINKS, "yes", limit=2)
    assert third.period == DRINKS.epsilon and third.lifetime == 3 * DRINKS.epsilon
    now -= 200_000  # a clock that is set back makes no room
    with pytest.raises(BudgetExceeded):
        device.answer("d", DRINKS, "yes", limit=3, period=timedelta(hours=2))


def test_a_limit_for_the_lifetime_counts_each_distinct_answer_once(device: Device) -> None:
    for _ in range(5):
        device.answer("a", DRINKS, "yes", lifetime="2.5")
    device.answer("a", DRINKS, "no", lifetime="2.5")
    with pytest.raises(BudgetExceeded) as refused:
        device.answer("b", DRINKS, "yes", lifetime="2.5")
    assert "lifetime limit of epsilon 2.5" in refused.value.reason and "it costs epsilon 1.1" in refused.value.reason
    assert refused.value.needed["epsilon"] == "1.1" and refused.value.remaining["epsilon"] == "0.3"
    assert device.answer("a", DRINKS, "no").lifetime == 2 * DRINKS.epsilon  # the refusal was free


def test_a_lifetime_limit_can_be_used_up_exactly(device: Device) -> None:
    for survey in "abc":
        device.answer(survey, DRINKS, "yes", lifetime=3 * DRINKS.epsilon)
    with pytest.raises(BudgetExceeded):
        device.answer("d", DRINKS, "yes", lifetime=4 * DRINKS.epsilon - Fraction(1, 10**15))


@pytest.mark.parametrize(
    "wrong", [{"limit": 0}, {"limit": "2"}, {"lifetime": 0}, {"lifetime": "nan"}, {"period": timedelta(0)}]
)
def test_a_limit_of_no_sense_is_refused(device: Device, wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        device.answer("a", DRINKS, "yes", **wrong)


def test_an_answer_outside_the_domain_costs_nothing(device: Device) -> None:
    for value in ("maybe", None, 3):
        with pytest.raises(UsageError):
            device.answer("a", DRINKS, value)
    assert device.answer("a", DRINKS, "yes").lifetime == DRINKS.epsilon


# --- what is on disk


def test_files_are_for_their_owner_and_hold_no_answer(device: Device) -> None:
    old = os.umask(0)
    try:
        device.answer("a-survey-about-drinks", RandomizedResponse(["absolutely", "never"], epsilon=1), "absolutely")
    finally:
        os.umask(old)
    for file in device.folder.iterdir():
        assert file.stat().st_mode & 0o777 == 0o600
        assert b"absolutely" not in file.read_bytes() and b"drinks" not in file.read_bytes()
    assert device.folder.stat().st_mode & 0o777 == 0o700
    assert len((device.folder / "device.key").read_bytes()) == 32


def test_a_lost_or_foreign_key_or_store_is_refused(device: Device, tmp_path: Path) -> None:
    device.answer("a", DRINKS, "yes")
    key, store = device.folder / "device.key", device.folder / "device.sqlite"
    kept = key.read_bytes()
    for content in (kept[:-1], os.urandom(32)):
        key.write_bytes(content)
        with pytest.raises(LedgerFault, match="key"):
            device.answer("a", DRINKS, "yes")
    key.unlink()
    with pytest.raises(LedgerFault, match="key is missing"):
        device.answer("a", DRINKS, "yes")
    key.write_bytes(kept)
    assert device.answer("a", DRINKS, "yes").repeated
    store.unlink()
    with pytest.raises(LedgerFault, match="stored reports are missing"):
        device.answer("a", DRINKS, "yes")
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerFault):
        Device(tmp_path / "file").answer("a", DRINKS, "yes")
    store.write_bytes(b"not a database" * 100)
    with pytest.raises(LedgerFault, match="store cannot be used"):
        device.answer("a", DRINKS, "yes")


#: A device in a process of its own, which prints its report; {} is where it dies.
CHILD = """
import os, signal, sys
from pathlib import Path
from discreet.surveys.device import respondent_device as device, device_store as keeping
from discreet.surveys.protocols.local_hash import LocalHashing
def die(*args, **kwargs):
    os.kill(os.getpid(), signal.SIGKILL)
{}
many = LocalHashing([str(code) for code in range(100)], epsilon="2")
found = device.Device(Path(sys.argv[1])).answer("drinks", many, "7")
print(found.id, found.report.hex(), found.repeated)
"""


def _child(folder: Path, dies: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD.replace("{}", dies), str(folder)], stdout=subprocess.PIPE, text=True
    )


def test_killed_between_the_store_and_the_return_it_sends_the_same_bytes(device: Device) -> None:
    child = _child(device.folder, "device.Donation = die")
    child.communicate()
    assert child.returncode == -signal.SIGKILL
    with sqlite3.connect(device.folder / "device.sqlite") as store:
        (report,) = store.execute("SELECT report FROM donations").fetchone()
    store.close()
    found = device.answer("drinks", MANY, "7")
    assert found.repeated and found.report == report


@pytest.mark.thin(1)
@pytest.mark.parametrize("where", ["device.system = die", "keeping._write_new_key = die", "device.keyed_hash = die"])
def test_killed_before_anything_is_stored_it_starts_again(device: Device, where: str) -> None:
    device.folder.mkdir()
    child = _child(device.folder, where)
    child.communicate()
    assert child.returncode == -signal.SIGKILL
    found = device.answer("drinks", MANY, "7")
    assert not found.repeated and found.lifetime == MANY.epsilon


def test_nobody_looks_while_another_is_between_looking_and_storing(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = device_module._find_report

    def slowly(store: sqlite3.Connection, place: bytes) -> bytes | None:
        found = look(store, place)
        time.sleep(0.2)
        return found

    device.answer("other", MANY, "7")
    monkeypatch.setattr(device_module, "_find_report", slowly)
    with ThreadPoolExecutor(4) as threads:
        said = list(threads.map(lambda _: device.answer("drinks", MANY, "7"), range(4)))
    assert _learns_no_more_than_one_report(said)
    assert sum(not each.repeated for each in said) == 1


def test_processes_that_answer_at_once_send_the_same_bytes(device: Device) -> None:
    children = [_child(device.folder) for _ in range(4)]
    said = [child.communicate()[0].split() for child in children]
    assert [child.returncode for child in children] == [0] * 4
    assert len({(id_, report) for id_, report, _ in said}) == 1
    assert sorted(repeated for _, _, repeated in said) == ["False"] + ["True"] * 3
    assert device.answer("drinks", MANY, "7").lifetime == MANY.epsilon


# --- what is noised is what is known again


@pytest.mark.parametrize("kind", [CountMeanSketch, HadamardSketch, Rappor, PrefixWords, FragmentPuzzle])
def test_one_word_in_many_spellings_is_drawn_once(device: Device, kind: Any) -> None:
    made = kind(epsilon=2)
    said = [device.answer("word", made, unicodedata.normalize(form, "\u00e9t\u00e9")) for form in ("NFC", "NFD", "NFC")]
    assert _learns_no_more_than_one_report(said) and len({each.lifetime for each in said}) == 1
    assert [each.repeated for each in said] == [False, True, True]
    assert device.answer("word", made, "ete").lifetime == 2 * said[0].lifetime


def test_an_answer_that_is_none_is_never_charged_whichever_question_is_drawn(device: Device) -> None:
    made = Sampled(
        {"a": lambda epsilon: RandomizedResponse(["yes", "no"], epsilon=epsilon), "w": CountMeanSketch}, epsilon=1
    )
    for survey in range(30):
        with pytest.raises(UsageError):
            device.answer(f"s{survey}", made, {"a": "yes", "w": "x" * 2000})
    assert not device.folder.exists()


# --- the key and the store


def test_a_store_that_was_emptied_beside_its_key_is_a_fault(device: Device) -> None:
    first = device.answer("drinks", MANY, "7")
    store = device.folder / "device.sqlite"
    full = store.read_bytes()
    for content in (b"", None):
        if content is None:
            with sqlite3.connect(store) as emptied:
                emptied.execute("DROP TABLE owner")
            emptied.close()
        else:
            store.write_bytes(content)
        with pytest.raises(LedgerFault, match="stored reports are missing"):
            device.answer("drinks", MANY, "7")
        store.write_bytes(full)
    assert device.answer("drinks", MANY, "7").report == first.report


@pytest.mark.parametrize("where", ["os.rename = die; keeping.Path.rename = die", "keeping._read_key = die"])
def test_killed_between_the_proof_and_the_name_of_the_key_it_goes_on_with_that_key(device: Device, where: str) -> None:
    device.folder.mkdir()
    child = _child(device.folder, where)
    child.communicate()
    assert child.returncode == -signal.SIGKILL and not (device.folder / "device.key").exists()
    aside = (device.folder / "device.new").read_bytes()
    assert not device.answer("drinks", MANY, "7").repeated
    assert (device.folder / "device.key").read_bytes() == aside and not (device.folder / "device.new").exists()


def test_what_is_written_is_synced_before_it_gets_its_name(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    sync, rename = os.fsync, Path.rename

    def synced(descriptor: int) -> None:
        done.append(f"sync {Path(os.readlink(f'/proc/self/fd/{descriptor}')).name}")
        sync(descriptor)

    def renamed(self: Path, target: Path) -> Path:
        done.append(f"rename {self.name} {target.name}")
        return rename(self, target)

    monkeypatch.setattr(device_store.os, "fsync", synced)
    monkeypatch.setattr(Path, "rename", renamed)
    device.answer("drinks", MANY, "7")
    folder, above = device.folder.name, device.folder.parent.name
    wanted = [f"sync {above}", "sync device.new", f"sync {folder}", "rename device.new device.key", f"sync {folder}"]
    assert done == wanted


def test_a_commit_survives_a_power_cut(tmp_path: Path) -> None:
    (tmp_path / "store").touch()
    store = device_store.connect_durably(tmp_path / "store")
    assert [store.execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "fullfsync")] == [3, 1]
    store.close()


def test_no_two_lists_of_words_have_one_hash() -> None:
    lists = [("a", "bc"), ("ab", "c"), ("abc",), ("abc", ""), ("", "abc"), ("a", "b", "c")]
    assert len({device_store.keyed_hash(bytes(32), *words) for words in lists}) == len(lists)
