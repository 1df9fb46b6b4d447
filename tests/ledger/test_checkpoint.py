"""Checkpoints: a long ledger opens from one as it would whole, and one that is wrong is seen and left aside."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting.events import ReservationEvent
from discreet.errors import BudgetExceeded, LedgerFault, LedgerTampered
from discreet.ledger import chain_reader, checkpoint, repair
from discreet.ledger.anchor import Anchor
from discreet.ledger.chain import canonical_json
from discreet.ledger.charge_request import Asker, ChargeRequest
from discreet.ledger.digest_list import DigestList
from discreet.ledger.entry_index import EntryIndex, IndexedLists, StoredEntries, append_value
from discreet.ledger.ledger import Ledger
from discreet.ledger.refusal import DuplicateCharge
from discreet.ledger.sqlite_ledger import SqliteLedgerStore
from discreet.ledger.state import LedgerState
from ledger.ledgers import WHOLE, ask, guarantee, laplace, make, people
from ledger.test_edits import tampering


def request(event: object, question: str, **more: object) -> ChargeRequest:
    return ChargeRequest(
        population="patients",
        table="patients",
        version=1,
        region=WHOLE,
        event=event,
        question=question,
        price="1",
        **more,
    )


def live(ledger: Ledger) -> None:
    """One of each kind of thing that a state keeps."""
    for number in range(6):
        charge = ask(ledger, laplace("0.01"), region=people(number % 2), question=f"q{number % 4}", analyst="ann")
        if number != 3:
            ledger.store(charge.id, f"answer {number}")
    ledger.fail(ask(ledger, laplace("0.01")).id, late=True)
    ledger.charge(request(laplace("0.01"), "keyed", asker=Asker(name="bob", key="k" * 20)))
    reservation = ledger.charge(
        request(ReservationEvent(epsilon=Fraction(1, 10), rho=Fraction(1, 200), delta=Fraction(0)), "program")
    )
    step = ledger.step(reservation.id, laplace("0.01"), of="marginal")
    ledger.store(step.id, "a step")
    stream = {"name": "visits", "count": 3, "of": {"what": "counts"}}
    rows = ledger.charge(request(laplace("0.01"), "stream", stream=stream))
    ledger.append_stream_row(rows.id, number=1, owner_file="x", payload="a row")
    ledger.declare("others", guarantee(1, 0, "pure"))
    ledger.grant("patients", guarantee(4))


@pytest.fixture
def long(path: Path, state_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ledger with a checkpoint, and entries after it; whoever opens it whole is counted."""
    make(path).close()
    with Ledger.open(path) as ledger:
        live(ledger)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "ROWS", 1)
        Ledger.open(path).close()
    with Ledger.open(path) as ledger:
        ask(ledger, laplace("0.01"), question="q1")
        ledger.store(ask(ledger, laplace("0.01"), question="q1").id, "later")
    return path


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The entries of each ledger that was read whole."""
    read: list[int] = []
    load = chain_reader.load

    def counted(*arguments: object, **named: object) -> LedgerState:
        state = load(*arguments, **named)
        read.append(state.seq)
        return state

    monkeypatch.setattr(chain_reader, "load", counted)
    return read


def place(state_folder: Path) -> Path:
    return next(state_folder.glob("*/checkpoint"))


def rewrite(state_folder: Path, change: object) -> None:
    """Change the JSON of a checkpoint, and sign it again, as whoever has the key can."""
    file = place(state_folder)
    anchor = Anchor.at(file.parent)
    head, _, content = file.read_bytes().split(b"\n", 2)
    header = json.loads(head)
    text, rest = content[: header["sizes"][0]].decode(), content[header["sizes"][0] :]
    text = change(text)
    content = text.encode() + rest
    header["sizes"][0], header["content"] = len(text), hashlib.sha256(content).hexdigest()
    line = canonical_json(header)
    file.write_bytes(f"{line}\n{checkpoint._mac(anchor, line)}\n".encode() + content)


def facts(state: LedgerState) -> dict[str, object]:
    return {each.name: getattr(state, each.name) for each in fields(state) if each.name not in ("indexed", "stored")}


def test_it_opens_as_it_would_whole(long: Path, whole: list[int], state_folder: Path):
    with Ledger.open(long) as short:
        assert whole == []
        assert short.state.indexed > 20
        place(state_folder).unlink()
        with Ledger.open(long) as read:
            assert len(whole) == 1 and read.state.stored is None
            one, other = facts(short.state), facts(read.state)
            for account in [*one["accounts"].values(), *other["accounts"].values()]:
                for key in account.segments:
                    account._read_charges(key)
                    account.segments[key].overlap = str(account.segments[key].overlap._events)
            for name in one:
                assert one[name] == other[name], name
            assert list(one["charges"]) == list(other["charges"]) and list(one["answers"]) == list(other["answers"])
            assert short.state.totals() == read.state.totals()


def test_what_was_charged_before_is_answered_and_refused_as_before(long: Path, whole: list[int]):
    with Ledger.open(long) as ledger:
        first, *_ = ledger.find("patients", 1, "q1")
        assert ledger.answer(first) == "answer 1"
        assert len(ledger.find("patients", 1, "q1")) == 3
        assert ledger.state.charges[first].question == "q1"
        assert first in ledger.state.charges and "r-" + "a" * 16 not in ledger.state.charges
        with pytest.raises(DuplicateCharge):
            ledger.charge(request(laplace("0.01"), "keyed", asker=Asker(name="bob", key="k" * 20)))
        left = ledger.account_status("patients").remaining.epsilon
        with pytest.raises(BudgetExceeded):
            ask(ledger, laplace(left + Fraction(1, 10**9)))
        ask(ledger, laplace(left))
        with pytest.raises(BudgetExceeded):
            ask(ledger, laplace(Fraction(1, 10**6)))
        assert whole == []
        assert ledger.verify().sound


def test_it_goes_on_from_one_to_the_next(
    long: Path, whole: list[int], state_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    """The indexes of the next are what the whole chain gives: `verify` compares them byte for byte."""
    monkeypatch.setattr(checkpoint, "ROWS", 1)
    before = place(state_folder).read_bytes()
    with Ledger.open(long) as ledger:
        ask(ledger, laplace("0.01"))
    Ledger.open(long).close()
    assert whole == [] and place(state_folder).read_bytes() != before
    monkeypatch.setattr(chain_reader, "MOST_IN_MEMORY", 3)
    assert repair.verify(long).sound
    assert len(whole) == 1


@pytest.mark.parametrize("at", [10, 200, -1])
def test_a_changed_byte_of_it_is_left_aside(long: Path, whole: list[int], state_folder: Path, at: int):
    raw = bytearray(place(state_folder).read_bytes())
    raw[at] ^= 1
    place(state_folder).write_bytes(raw)
    with Ledger.open(long) as ledger:
        assert len(whole) == 1
        assert ledger.verify().sound


def test_totals_that_are_too_small_and_signed_are_seen(long: Path, whole: list[int], state_folder: Path):
    """The tables and the head say otherwise, so the ledger is read whole; and `verify` says what is wrong."""
    with Ledger.open(long) as ledger:
        spent = ledger.account_status("patients").spent
        (segment,) = ledger.state.accounts["patients"].segments.values()
        pure = segment.balance.pure
    rewrite(state_folder, lambda text: text.replace(str(pure - 2 * 10**7), "7"))
    with Ledger.open(long) as ledger:
        assert len(whole) == 1
        assert ledger.account_status("patients").spent == spent
    report = repair.verify(long)
    assert not report.sound and "checkpoint" in report.problem


def test_what_only_the_fold_knows_is_seen_by_verify(long: Path, whole: list[int], state_folder: Path):
    """A signed checkpoint that forgot who paid: no table beside the chain and no head has it."""
    rewrite(state_folder, lambda text: text.replace('"ann"', '"eve"'))
    report = repair.verify(long)
    assert not report.sound and "checkpoint" in report.problem
    place(state_folder).unlink()
    assert repair.verify(long).sound


def test_an_old_entry_that_was_changed_decides_nothing_and_is_seen_where_it_is_read(long: Path, whole: list[int]):
    with Ledger.open(long) as ledger:
        spent, (first, *_) = ledger.account_status("patients").spent, ledger.find("patients", 1, "q0")
        seq = ledger.state.charges[first].seq
    with tampering(long) as raw:
        raw.execute("UPDATE entries SET body = replace(body, '\"ann\"', '\"eve\"') WHERE seq = ?", (seq,))
    with Ledger.open(long) as ledger:
        assert whole == []
        assert ledger.account_status("patients").spent == spent
        with pytest.raises(LedgerTampered) as caught:
            ledger.state.charges[first]
        assert caught.value.row == seq
        with pytest.raises(LedgerTampered):
            list(ledger.entries())
        assert len(list(ledger.entries(after=seq))) == ledger.state.seq - seq
    report = repair.verify(long)
    assert not report.sound and report.row == seq


@pytest.mark.parametrize("table", ["entries", "charges", "segments"])
def test_an_edit_after_it_is_seen_at_once(long: Path, table: str):
    edits = {
        "entries": "UPDATE entries SET body = body || ' ' WHERE seq = (SELECT max(seq) FROM entries)",
        "charges": "UPDATE charges SET analyst = 'eve' WHERE seq = (SELECT max(seq) FROM charges)",
        "segments": "UPDATE segments SET rho_sum = rho_sum + 1",
    }
    with tampering(long) as raw:
        raw.execute(edits[table])
    with pytest.raises(LedgerFault):
        Ledger.open(long)


def test_a_rollback_to_before_it_is_seen(long: Path, whole: list[int]):
    with tampering(long) as raw:
        raw.execute("DELETE FROM entries WHERE seq > 5")
    with pytest.raises(LedgerFault):
        Ledger.open(long)


def test_another_programs_checkpoint_is_left_aside(long: Path, whole: list[int], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("discreet.ledger.checkpoint.VERSION", "99")
    Ledger.open(long).close()
    assert len(whole) == 1


def test_a_small_ledger_has_none(path: Path, state_folder: Path):
    make(path).close()
    Ledger.open(path).close()
    assert not list(state_folder.glob("*/checkpoint*"))


def test_only_the_owner_can_read_it(long: Path, state_folder: Path):
    assert place(state_folder).stat().st_mode & 0o777 == 0o600
    assert not list(state_folder.glob("*/*.new"))


def test_a_long_fold_is_the_same_by_pieces(long: Path, monkeypatch: pytest.MonkeyPatch, state_folder: Path):
    place(state_folder).unlink()
    with Ledger.open(long) as ledger:
        expected = facts(ledger.state)
    monkeypatch.setattr(chain_reader, "MOST_IN_MEMORY", 4)
    with Ledger.open(long) as ledger:
        assert ledger.state.indexed > 20
        for name in ("charges", "answers", "questions", "charge_of_key", "digests", "unfinished", "reservations"):
            assert facts(ledger.state)[name] == expected[name], name


class Killed(BaseException):
    """What `kill -9` is for whoever writes a checkpoint."""


def kill_at_checkpoint(number: int, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Open a ledger in pieces of four entries, and die after so many checkpoints."""
    written = []

    def write_and_die(anchor: Anchor, state: LedgerState, source: object, *, since: int) -> None:
        write(anchor, state, source, since=since)
        written.append(state.seq)
        if len(written) == number:
            raise Killed

    write = checkpoint.write_checkpoint
    with monkeypatch.context() as patch:
        patch.setattr(chain_reader, "MOST_IN_MEMORY", 4)
        patch.setattr(checkpoint, "write_checkpoint", write_and_die)
        with pytest.raises(Killed):
            Ledger.open(path)
    assert written == sorted(set(written)), "an opening went back"


def test_a_first_opening_that_is_killed_goes_on(
    long: Path, whole: list[int], state_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    """Each opening dies after one piece, and none reads the chain whole again."""
    place(state_folder).unlink()
    with Ledger.open(long) as ledger:
        expected = facts(ledger.state)
    whole.clear()
    for piece in range(1, 4):
        kill_at_checkpoint(1, long, monkeypatch)
        header = json.loads(place(state_folder).read_bytes().split(b"\n")[0])
        assert header["seq"] == 4 * piece
        assert whole == []
    with Ledger.open(long) as ledger:
        assert whole == [] and ledger.state.seq == len(expected["digests"])
        for name in ("charges", "answers", "questions", "charge_of_key", "digests", "unfinished", "reservations"):
            assert facts(ledger.state)[name] == expected[name], name
        assert ledger.verify().sound


@pytest.mark.parametrize("table", ["entries", "charges", "answers"])
def test_an_edit_after_a_killed_opening_is_seen_by_the_next(
    long: Path, whole: list[int], state_folder: Path, monkeypatch: pytest.MonkeyPatch, table: str
):
    place(state_folder).unlink()
    kill_at_checkpoint(2, long, monkeypatch)
    edits = {
        "entries": "UPDATE entries SET body = body || ' ' WHERE seq = 20",
        "charges": "UPDATE charges SET analyst = 'eve' WHERE seq = (SELECT max(seq) FROM charges)",
        "answers": "DELETE FROM answers WHERE rowid = (SELECT max(rowid) FROM answers)",
    }
    with tampering(long) as raw:
        raw.execute(edits[table])
    with pytest.raises(LedgerFault):
        Ledger.open(long)


def test_a_list_that_grows_reads_nothing():
    """The tenth answer to a question costs what the first did: a million entries are folded in linear time."""

    class Unreadable:
        def span(self, first: int, last: int) -> list[object]:
            raise AssertionError("an entry was read")

    index = EntryIndex().merge([(["t", 1, "q"], seq) for seq in range(1, 10)])
    lists = IndexedLists(
        index, StoredEntries(Unreadable(), []), key_of=lambda entry: ("t", 1, "q"), value_of=lambda _: []
    )
    for number in range(5):
        append_value(lists, ("t", 1, "q"), f"r-{number}")
    with pytest.raises(AssertionError, match="was read"):
        lists["t", 1, "q"]


@pytest.mark.parametrize("table", ["charges", "answers"])
def test_a_row_too_many_or_too_few_is_seen_by_sums(long: Path, table: str):
    with tampering(long) as raw:
        raw.execute(f"DELETE FROM {table} WHERE rowid = (SELECT min(rowid) FROM {table})")
    report = repair.verify(long)
    assert not report.sound and report.row is not None


def test_an_index_says_where_every_key_stands():
    pairs = [(f"k{number % 50}", number + 1) for number in range(200)]
    index = EntryIndex().merge(pairs[:120]).merge(pairs[120:], without=["k7"])
    assert index.seqs("k3") == [4, 54, 104, 154]
    assert index.seqs("k7") == [158]
    assert index.seqs("none") == []
    assert index.all_seqs() == sorted(seq for key, seq in pairs if key != "k7" or seq > 120)


def test_digests_are_as_a_list_of_them():
    digests = [f"{number:064x}" for number in range(5)]
    packed = DigestList()
    for digest in digests:
        packed.append(digest)
    assert packed == digests and list(packed) == digests and packed[-1] == digests[-1] and packed[1:3] == digests[1:3]
    with pytest.raises(ValueError, match="not a digest"):
        packed.append("ab")
    with pytest.raises(IndexError):
        packed[5]


def test_a_store_reads_some_entries(long: Path):
    store = SqliteLedgerStore.open(long)
    assert [entry.seq for entry in store.span(2, 4)] == [2, 3, 4]
    store.close()
