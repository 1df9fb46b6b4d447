"""Which charges are answered under themselves when their process has died, and which are not."""

import os
import threading
from contextlib import contextmanager
from fractions import Fraction

import pytest

import discreet
from clinic import make, run, write_rows
from console.house import ORIGIN, clinic
from discreet.accounting.events import GaussianEvent, LaplaceEvent
from discreet.console.jobs.query_request import QueryRequest
from discreet.console.jobs.query_service import AnswerLost, QueryService
from discreet.console.people.people import People
from discreet.console.project_handle import ProjectHandle
from discreet.console.settings import Settings
from discreet.console.visitor import Visitor
from discreet.engines.stop_signal import StopSignal, stoppable_by
from discreet.errors import BudgetExceeded, LedgerFault, QueryFailed
from discreet.kernel.curator import Curator
from discreet.kernel.measurement import Measurement
from discreet.ledger.charge_lock import ChargeLock
from discreet.ledger.ledger import Ledger

GROUPS = "select age, disease, count(*) from patients group by age, disease"
COUNT = "select count(*) from patients"
ANN = Visitor(role="analyst", name="ann", analyst="ann", via="token")


class Killed(BaseException):
    """What no code sees: a process that ends here."""


class KilledThread(Exception):
    """The same in a thread of a server, which must end for its caller to go on."""


@contextmanager
def killed(owner=Ledger, name="store", problem=Killed):
    """What asks inside dies at that call: nothing is entered any more, and the system lets go of its lock."""

    def dies(*arguments, **named):
        raise problem

    def let_go(self, id_, *, is_over):
        end(self, id_, is_over=False)

    end = Ledger.end_answer
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, dies)
        patch.setattr(Ledger, "end_answer", let_go)
        with pytest.raises(problem):
            yield


def charges(project):
    return list(project.ledger.refresh().charges)


def is_resumed(release):
    return any("charged earlier" in warning for warning in release.warnings)


@pytest.fixture
def project(tmp_path):
    made = make(tmp_path, budget="{ epsilon = 10, delta = 1e-6 }")
    made.version("patients")
    return made


@pytest.mark.parametrize("point", [(Ledger, "store"), (Curator, "draw")])
@pytest.mark.parametrize("fresh", [False, True])
def test_what_was_killed_is_answered_free_and_says_so(project, point, fresh):
    with killed(*point):
        project.sql(COUNT).ask(epsilon="0.5")
    spent = project.budget("patients").spent
    release = project.sql("SELECT COUNT(*) AS n FROM patients").ask(epsilon="0.5", fresh=fresh)
    assert [release.id] == charges(project)
    assert is_resumed(release) and not release.cached
    assert (release.cost.budget, release.spent) == (0, spent)
    again = project.sql(COUNT).ask(epsilon="0.5")
    assert again.cached and not is_resumed(again) and again.rows == release.rows
    project.sql(COUNT).ask(epsilon="0.5", fresh=True)
    assert len(charges(project)) == 2, "a charge is used once"
    assert not any((project.ledger._answering_folder).iterdir())


def test_it_is_the_same_in_every_part_or_it_is_charged(project):
    asks = [
        lambda: project.sql("select count(*) from patients where age > 1").ask(epsilon="0.5"),
        lambda: project.sql(COUNT).ask(epsilon="0.25", fresh=True),
        lambda: project.sql(COUNT).ask(epsilon="0.5", analyst="ann", fresh=True),
    ]
    with killed():
        project.sql(COUNT).ask(epsilon="0.5")
    for number, ask in enumerate(asks):
        assert not is_resumed(ask()), number
    assert len(charges(project)) == 4


def test_another_version_is_charged(project):
    with killed():
        project.sql(COUNT).ask(epsilon="0.5")
    write_rows(project.folder / "patients.csv", [])
    project.refresh("patients")
    assert not is_resumed(project.sql(COUNT).ask(epsilon="0.5"))


@pytest.mark.parametrize("fault", ["engine", "late", "stop", "interrupt"])
def test_what_failed_or_was_stopped_stays_paid(project, monkeypatch, fault):
    problem = KeyboardInterrupt if fault == "interrupt" else ValueError

    def draw(*arguments):
        raise problem

    stop = StopSignal()
    with monkeypatch.context() as patch, stoppable_by(stop):
        if fault == "stop":
            patch.setattr("discreet.engines.stop_signal.check_stop", stop.request)
        if fault == "late":
            real = Ledger.fail
            patch.setattr(Ledger, "fail", lambda self, id_, **why: real(self, id_, late=True))
        patch.setattr(Curator, "draw", draw)
        with pytest.raises(KeyboardInterrupt if fault == "interrupt" else QueryFailed):
            project.sql(COUNT).ask(epsilon="0.5")
    assert not is_resumed(project.sql(COUNT).ask(epsilon="0.5"))
    assert len(charges(project)) == 2


def test_a_failure_that_could_not_be_entered_stays_paid(project, monkeypatch):
    def broken(*arguments, **named):
        raise LedgerFault("broken")

    with monkeypatch.context() as patch:
        patch.setattr(Curator, "draw", broken)
        patch.setattr(Ledger, "fail", broken)
        with pytest.raises(LedgerFault):
            project.sql(COUNT).ask(epsilon="0.5")
    assert not is_resumed(project.sql(COUNT).ask(epsilon="0.5"))


def test_an_answer_that_could_not_be_stored_is_drawn_again(project, monkeypatch):
    def broken(*arguments, **named):
        raise LedgerFault("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "store", broken)
        with pytest.raises(LedgerFault):
            project.sql(COUNT).ask(epsilon="0.5")
    assert is_resumed(project.sql(COUNT).ask(epsilon="0.5"))


def slow_and_fast(project, meanwhile):
    """Two releases of one question: one waits after its draw until `meanwhile` has asked."""
    drawn, go_on, releases = threading.Event(), threading.Event(), []
    real = Curator.draw

    def draw(self, *arguments):
        parts = real(self, *arguments)
        if threading.current_thread().name == "slow":
            drawn.set()
            assert go_on.wait(120)
        return parts

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Curator, "draw", draw)
        slow = threading.Thread(
            target=lambda: releases.append(project.sql(GROUPS).ask(epsilon="0.01", fresh=True)), name="slow"
        )
        slow.start()
        assert drawn.wait(120)
        fast = meanwhile()
        go_on.set()
        slow.join()
    return releases[0], fast


def test_who_is_slow_keeps_its_charge(project):
    other = discreet.open(project.folder)
    slow, fast = slow_and_fast(project, lambda: other.sql(GROUPS).ask(epsilon="0.01"))
    assert slow.id != fast.id
    assert not is_resumed(fast) and not is_resumed(slow)
    assert slow.rows != fast.rows


def take_without_lock(folder, id_):
    return ChargeLock(path=folder / id_, descriptor=os.open(os.devnull, os.O_RDWR), is_resumed=True)


def test_even_without_locks_one_answer_leaves_under_a_charge(project, monkeypatch):
    """The second wall: what is shown is what was stored first, also to the one who was slower."""
    monkeypatch.setattr(ChargeLock, "take", staticmethod(take_without_lock))
    other = discreet.open(project.folder)
    slow, fast = slow_and_fast(project, lambda: other.sql(GROUPS).ask(epsilon="0.01"))
    assert slow.id == fast.id, "the mutant: the lock is what keeps them apart"
    assert slow.rows == fast.rows


def test_who_shows_its_own_draw_is_caught(project, monkeypatch):
    """The mutant of the second wall, as it was written before: what was drawn is shown, not what was stored."""
    monkeypatch.setattr(ChargeLock, "take", staticmethod(take_without_lock))
    drawn = {}

    def from_text(text):
        return drawn.get(threading.current_thread().name) or real_from(text)

    def to_text(self):
        drawn[threading.current_thread().name] = self
        return real_to(self)

    real_from, real_to = Measurement.from_text, Measurement.to_text
    monkeypatch.setattr(Measurement, "from_text", staticmethod(from_text))
    monkeypatch.setattr(Measurement, "to_text", to_text)
    other = discreet.open(project.folder)
    slow, fast = slow_and_fast(project, lambda: other.sql(GROUPS).ask(epsilon="0.01"))
    assert slow.id == fast.id
    assert slow.rows != fast.rows


def test_a_charge_of_another_machine_or_of_a_copied_history_is_not_resumed(project):
    with killed():
        project.sql(COUNT).ask(epsilon="0.5")
    (file,) = project.ledger._answering_folder.iterdir()
    file.unlink()
    assert not is_resumed(project.sql(COUNT).ask(epsilon="0.5"))


def test_a_rolled_back_ledger_resumes_nothing(project):
    """An answer that it forgot may have been seen. The lock's file is put back, as if that had been forgotten, too."""
    ledger = project.folder / ".discreet" / "ledger.db"
    with killed():
        project.sql(COUNT).ask(epsilon="0.5")
    (file,) = project.ledger._answering_folder.iterdir()
    project.ledger.close()
    before = {path: path.read_bytes() for path in ledger.parent.glob("ledger.db*")}
    seen = discreet.open(project.folder).sql(COUNT).ask(epsilon="0.5")
    assert is_resumed(seen)
    for path in ledger.parent.glob("ledger.db*"):
        path.unlink()
    for path, data in before.items():
        path.write_bytes(data)
    file.touch()
    restored = discreet.open(project.folder)
    restored.acknowledge()
    release = discreet.open(project.folder).sql(COUNT).ask(epsilon="0.5")
    assert not is_resumed(release)
    assert release.id != seen.id


def test_a_budget_that_the_killed_charge_used_up_is_enough(tmp_path):
    project = make(tmp_path, budget="{ epsilon = 1 }")
    project.version("patients")
    with killed():
        project.sql(COUNT).ask(epsilon=1)
    with pytest.raises(BudgetExceeded):
        project.sql(COUNT).ask(epsilon="0.5")
    assert is_resumed(project.sql(COUNT).ask(epsilon=1))


def test_the_law_is_that_of_the_charge(tmp_path):
    """After the charge itself Gaussian noise would be cheaper; what was charged is Laplace noise, and is drawn."""
    project = make(tmp_path, budget="{ epsilon = 2, delta = 0.1 }")
    project.version("patients")
    for _ in range(9):
        project.sql(COUNT).ask(epsilon="0.2", fresh=True)
    with killed():
        project.sql(COUNT).ask(epsilon="0.2", fresh=True)
    assert isinstance(
        project.sql("select count(*) from patients where age >= 0").ask(epsilon="0.001").event, GaussianEvent
    )
    release = project.sql(COUNT).ask(epsilon="0.2", fresh=True)
    assert is_resumed(release)
    assert isinstance(release.event, LaplaceEvent)


@pytest.mark.parametrize("store_number", [1, 2])
def test_a_batch_that_is_one_workload_goes_on_where_it_was_killed(tmp_path, store_number):
    """Before its plan was stored, or before its numbers were."""
    project = make(tmp_path, budget="{ epsilon = 1 }")
    project.version("patients")
    text = f"{COUNT}; select disease, count(*) from patients group by disease"
    real, stored = Ledger.store, []

    def store(self, *arguments):
        stored.append(arguments)
        if len(stored) == store_number:
            raise Killed
        return real(self, *arguments)

    with killed(Ledger, "is_locked"), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "store", store)
        project.batch(text, epsilon=1)
    (paid,) = charges(project)
    first, second = project.batch(text, epsilon=1)
    assert is_resumed(first) and is_resumed(second) and first.id == second.id == paid
    assert charges(project) == [paid]
    assert [release.cached for release in project.batch(text, epsilon=1)] == [True, True]


def test_a_batch_that_is_split_goes_on_where_it_was_killed(tmp_path):
    project = make(tmp_path, budget="{ epsilon = 1 }")
    project.version("patients")
    text = f"{COUNT}; select disease, avg(age) from patients group by disease"
    real, stored = Ledger.store, []

    def store(self, *arguments):
        stored.append(arguments)
        if len(stored) == 2:
            raise Killed
        return real(self, *arguments)

    with killed(Ledger, "is_locked"), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "store", store)
        project.batch(text, epsilon=1)
    paid = charges(project)
    assert len(paid) == 2
    first, second = project.batch(text, epsilon=1)
    assert (first.cached, is_resumed(second)) == (True, True)
    assert charges(project) == paid


def test_bounds_go_on_where_they_were_killed(tmp_path):
    columns = '[tables.patients.columns.age]\ntype = "integer"\n'
    project = make(tmp_path, budget="{ epsilon = 1.3 }", columns=columns)
    project.version("patients")
    with killed():
        project.bounds("patients", ["age"], epsilon="1.2")
    (paid,) = charges(project)
    bought = project.bounds("patients", ["age"], epsilon="1.2")
    assert paid in project.ledger.refresh().answers
    assert bought.cost.epsilon < Fraction("1.2"), "the rest"
    assert project.budget("patients").spent.epsilon <= Fraction("1.2") + Fraction(1, 10**6)


def test_the_command_line_says_it(project, capsys):
    with killed():
        project.sql(COUNT).ask(epsilon="0.5")
    code, data, _ = run(capsys, project.folder, "query", COUNT, "--epsilon", "0.5")
    assert (code, data["cost"]["budget"], data["cached"]) == (0, 0, False)
    assert any("uses that charge, so nothing more was charged" in warning for warning in data["warnings"])


@pytest.mark.parametrize("key", ["k", "another"])
def test_a_retry_at_the_console_is_answered_under_its_charge(tmp_path, key):
    clinic(tmp_path / "clinic", epsilon="10")

    def ask(key, who=ANN, text=COUNT, **more):
        handle = ProjectHandle(tmp_path / "clinic", deadline_s=30)
        people, settings = People.of(tmp_path / "clinic"), Settings(origin=ORIGIN, grid_ms=50)
        service = QueryService(handle=handle, people=people, settings=settings)
        return service.ask(QueryRequest(text=text, epsilon="0.1", fresh=True, **more), who, key=key).releases

    project = discreet.open(tmp_path / "clinic")
    project.version("patients")
    with killed(problem=KilledThread):
        ask("k")
    if key == "another":  # the charge waits for its own key, so that two keys have two answers
        (other,) = ask(key)
        assert other["release"] != charges(project)[0]
    for _ in range(2):
        (release,) = ask("k")
        assert release["release"] == charges(project)[0]
    assert len(charges(project)) == (2 if key == "another" else 1)


def test_a_retry_at_the_console_of_what_failed_is_not(tmp_path, monkeypatch):
    clinic(tmp_path / "clinic", epsilon="10")
    handle = ProjectHandle(tmp_path / "clinic", deadline_s=30)
    people, settings = People.of(tmp_path / "clinic"), Settings(origin=ORIGIN, grid_ms=50)
    service = QueryService(handle=handle, people=people, settings=settings)
    handle.project.version("patients")
    with monkeypatch.context() as patch:
        patch.setattr(Curator, "draw", lambda *arguments: 1 / 0)
        with pytest.raises(QueryFailed):
            service.ask(QueryRequest(text=COUNT, epsilon="0.1"), ANN, key="k")
    with pytest.raises(AnswerLost):
        service.ask(QueryRequest(text=COUNT, epsilon="0.1"), ANN, key="k")
    assert len(charges(handle.project)) == 1


@pytest.mark.parametrize("point", [(Ledger, "store"), (Curator, "draw")])
@pytest.mark.parametrize("wish", [{"epsilon": "0.5"}, {"within": 2}])
def test_a_refinement_that_was_killed_is_finished_as_that_refinement(project, point, wish):
    first = project.sql(COUNT).ask(epsilon="0.5")
    with killed(*point):
        project.again(first.id, **wish)
    spent = project.budget("patients").spent
    release = project.again(first.id, **wish)
    assert is_resumed(release) and release.id == charges(project)[-1] and len(charges(project)) == 2
    assert project.budget("patients").spent == spent
    assert project.ledger.state.refinements.refined_by == {first.id: release.id}
    project.again(first.id, epsilon="0.5")  # and goes on from there
    assert len(charges(project)) == 3


def test_a_refinement_that_was_killed_before_rows_were_erased_is_not_finished(project):
    first = project.sql(COUNT).ask(epsilon="0.5")
    with killed():
        project.again(first.id, epsilon="0.5")
    project.ledger.forget(["patients"], bytes(16), key="mark")
    release = project.again(first.id, epsilon="0.5")
    assert not is_resumed(release) and len(charges(project)) == 3


def test_another_wish_does_not_finish_a_refinement(project):
    first = project.sql(COUNT).ask(epsilon="0.5")
    with killed():
        project.again(first.id, epsilon="0.5")
    release = project.again(first.id, epsilon="0.4")
    assert not is_resumed(release) and len(charges(project)) == 3
    assert project.recall(release.id).also == (first.id,)  # independent noise: the first is refined by what was killed


@pytest.mark.parametrize("text", [COUNT, GROUPS])
def test_explain_says_that_what_was_killed_is_charged_already(tmp_path, text):
    """The rest of the budget would not hold it a second time; `explain` and `ask` say the same."""
    project = make(tmp_path, budget="{ epsilon = 1 }")
    project.version("patients")
    with killed():
        project.sql(text).ask(epsilon="0.9")
    spent = project.budget("patients").spent.epsilon
    explanation = project.sql(text).explain(epsilon="0.9")
    assert explanation["already_charged"] and explanation["cost"]["epsilon"] == 0
    assert explanation["spent_after"]["epsilon"] == float(spent)
    assert explanation.price.startswith("nothing: it was charged earlier")
    with pytest.raises(BudgetExceeded):
        project.sql(text).explain(epsilon="0.8")
    assert is_resumed(project.sql(text).ask(epsilon="0.9"))
    assert not project.sql(text).explain(epsilon="0.9")["already_charged"]


def test_a_killed_again_does_not_speak_of_two_charges(project):
    first = project.sql(COUNT).ask(epsilon="0.5")
    with killed():
        project.again(first.id, epsilon="0.5")
    second = project.again(first.id, epsilon="0.5")
    assert is_resumed(second) and f"this makes release {first.id} more precise" in second.warnings
    assert not any("the difference was charged" in warning for warning in second.warnings)
