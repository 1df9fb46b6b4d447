from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from discreet.errors import LedgerFault
from discreet.ledger import anchor as module
from discreet.ledger.anchor import Anchor, AnchorMissing, Head

ID = "abcdefgh234567ab"
DIGESTS = [f"{number:064x}" for number in range(1, 40)]


def head(seq: int = 1) -> Head:
    return Head(seq=seq, digest=DIGESTS[seq - 1], since=1, totals={"populations": {}, "versions": {}})


@pytest.fixture
def anchor(state_folder: Path) -> Anchor:
    made = Anchor.make(ID)
    made.write(head(), DIGESTS[:1], stored_count=0)
    return made


def test_what_is_written_is_read(anchor: Anchor):
    anchor.write(head(3), DIGESTS[:3], stored_count=1)
    assert Anchor.find(ID).read() == head(3)
    assert Anchor.find(ID).key == anchor.key


def test_only_the_owner_can_read_it(anchor: Anchor):
    with anchor.lock():
        pass
    assert anchor.folder.stat().st_mode & 0o777 == 0o700
    assert {path.name: path.stat().st_mode & 0o777 for path in anchor.folder.iterdir()} == {
        "key": 0o600, "head.json": 0o600, "digests": 0o600, "lock": 0o600, "next": 0o600,
    }  # fmt: skip


def test_two_keys_are_never_the_same(state_folder: Path):
    assert Anchor.make("a" * 16).key != Anchor.make("b" * 16).key


@pytest.mark.parametrize("ledger", ["", "../../etc", "a" * 15, "A" * 16, "a" * 15 + "/"])
def test_an_id_that_is_no_id_names_no_folder(ledger: str):
    with pytest.raises(LedgerFault):
        Anchor.folder_of(ledger)


def test_a_missing_folder_says_what_to_do(state_folder: Path):
    with pytest.raises(AnchorMissing, match="no state folder") as caught:
        Anchor.find(ID)
    assert "adopt" in caught.value.hint


def test_every_changed_byte_of_the_head_is_seen(anchor: Anchor):
    place = anchor.folder / "head.json"
    good = place.read_bytes()
    for at in range(len(good)):
        place.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        with pytest.raises(AnchorMissing, match="damaged"):
            Anchor.find(ID)
    place.write_bytes(good)
    Anchor.find(ID)


def test_a_head_that_was_read_is_read_again_where_its_bytes_are_others(anchor: Anchor):
    """One anchor reads all the time: what others write is seen, and what is changed or gone is, too."""
    assert anchor.read() is anchor.read()
    Anchor.find(ID).write(head(2), DIGESTS[:2], stored_count=1)
    assert anchor.read() == head(2)
    place = anchor.folder / "head.json"
    good = place.read_bytes()
    place.write_bytes(good.replace(b'"seq":2', b'"seq":3'))
    with pytest.raises(AnchorMissing, match="damaged"):
        anchor.read()
    place.unlink()
    with pytest.raises(AnchorMissing):
        anchor.read()


@pytest.mark.parametrize("planted", [lambda self: self._last_head[1], lambda self: head()])
def test_a_head_that_is_out_of_date_is_caught(anchor: Anchor, monkeypatch: pytest.MonkeyPatch, planted):
    anchor.read()
    monkeypatch.setattr(Anchor, "read", planted)
    with pytest.raises(BaseException):
        test_a_head_that_was_read_is_read_again_where_its_bytes_are_others(anchor)


@pytest.mark.parametrize("name", ["key", "head.json"])
def test_a_missing_or_cut_file_is_seen(anchor: Anchor, name: str):
    place = anchor.folder / name
    place.write_bytes(place.read_bytes()[:-1] if name == "key" else b"")
    with pytest.raises(AnchorMissing):
        Anchor.find(ID)
    place.unlink()
    with pytest.raises(AnchorMissing):
        Anchor.find(ID)


def test_an_entrys_mac_is_no_heads(anchor: Anchor):
    from discreet.ledger.chain import mac

    body = (anchor.folder / "head.json").read_text().splitlines()[0]
    (anchor.folder / "head.json").write_text(f"{body}\n{mac(anchor.key, body)}\n")
    with pytest.raises(AnchorMissing):
        Anchor.find(ID)


@pytest.mark.parametrize("shared", [0, 1, 2, 7, 20, 38, 39])
def test_where_two_histories_part(anchor: Anchor, shared: int):
    anchor.write(head(39), DIGESTS, stored_count=1)
    other = DIGESTS[:shared] + [f"{number:064x}" for number in range(1000, 1000 + 39 - shared)]
    assert anchor.count_common_entries(other) == shared
    assert anchor.count_common_entries(other[: shared // 2]) == shared // 2


def test_digests_that_are_not_the_heads_own_prove_nothing(anchor: Anchor):
    anchor.write(head(39), DIGESTS, stored_count=1)
    other = (anchor.folder / "digests").read_bytes()
    os.truncate(anchor.folder / "digests", 32 * 10 + 5)
    assert anchor.count_common_entries(DIGESTS) == 0
    anchor.write(Head(seq=6, digest="f" * 64, since=1, totals={}), [*DIGESTS[:5], "f" * 64], stored_count=5)
    (anchor.folder / "digests").write_bytes(other)  # a power cut that kept another history's digests
    assert anchor.count_common_entries(DIGESTS) == 0
    anchor.write(head(39), DIGESTS, stored_count=38)
    assert anchor.count_common_entries(DIGESTS) == 39
    (anchor.folder / "digests").unlink()
    assert anchor.count_common_entries(DIGESTS) == 0


def test_a_history_that_was_parted_from_is_overwritten(anchor: Anchor):
    anchor.write(head(39), DIGESTS, stored_count=1)
    other = [*DIGESTS[:5], "f" * 64]
    anchor.write(Head(seq=6, digest="f" * 64, since=1, totals={}), other, stored_count=5)
    assert anchor.count_common_entries(DIGESTS) == 5
    assert anchor.count_common_entries(other) == 6


def test_one_holder_at_a_time(anchor: Anchor):
    inside, order = threading.Event(), []

    def second() -> None:
        inside.wait(10)
        with Anchor.find(ID).lock():
            order.append("second")

    thread = threading.Thread(target=second)
    thread.start()
    with anchor.lock():
        inside.set()
        thread.join(0.1)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]


def test_whoever_waits_is_not_overtaken_by_one_that_comes_again(anchor: Anchor):
    """A process that charges without a pause held the lock hundreds of times while another one waited for it once."""
    turns, over = list[float](), threading.Event()

    def again_and_again() -> None:
        while not over.is_set():
            with anchor.lock():
                turns.append(time.monotonic())
                time.sleep(0.002)

    thread = threading.Thread(target=again_and_again)
    thread.start()
    overtaken = 0
    for _ in range(20):
        before = len(turns)
        with anchor.lock():
            overtaken += len(turns) - before
        time.sleep(0.002)  # the other one has the lock again
    over.set()
    thread.join()
    assert overtaken <= 20 * 10


def test_a_lock_that_is_never_let_go_is_given_up(anchor: Anchor, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "WAIT_S", 0.05)
    with anchor.lock(), pytest.raises(LedgerFault, match="does not release it"), Anchor.find(ID).lock():
        pytest.fail("two holders")


def test_a_failed_write_leaves_the_old_head(anchor: Anchor, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LedgerFault, match="no space left"):
        anchor.write(head(2), DIGESTS[:2], stored_count=1)
    monkeypatch.undo()
    assert anchor.read() == head(1)
