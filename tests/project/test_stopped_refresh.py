"""A stop at any step of a refresh: the version before stays in use, nothing is left, nothing is charged.

`LateStop` is pulled when it is looked at for the n-th time, so every place that looks is tried, without a clock.
"""

import gzip
import itertools
import json
import os
import threading

import pytest

import discreet
import made_tables
from discreet.console.jobs.owner_reports import refresh_report
from discreet.engines import duckdb_declared_table, duckdb_person_table, fingerprint, stop_signal, table_file, unpacking
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.stop_signal import MakingStopped, Stopped, StopSignal, stoppable_by, until_stopped
from discreet.errors import LedgerFault, UsageError
from discreet.kernel import curator
from discreet.kernel import version as version_module
from discreet.ledger.ledger import Ledger
from discreet.project.versions import Versions

COUNT = "SELECT count(*) AS n FROM visits"


class LateStop(StopSignal):
    """Pulled when it is looked at for the n-th time."""

    def __init__(self, last):
        super().__init__()
        self.looks, self.last = 0, last

    @property
    def is_requested(self):
        self.looks += 1
        if self.looks >= self.last:
            self._pulled.set()
        return self._pulled.is_set()


def rows(first, last):
    return "pid,age\n" + "".join(f"p{row % 9},{row}\n" for row in range(first, last))


def write_rows(folder, turn):
    (folder / "visits.csv").write_text(rows(0, 20 + 10 * turn))
    return {"files": folder / "visits.csv"}


def write_persons(folder, turn):
    return write_rows(folder, turn) | {"person": "pid", "rows_per_person": 2}


def write_growing(folder, turn):
    for part in range(turn + 1):
        (folder / f"visits-{part}.csv").write_text(rows(20 * part, 20 * part + 20))
    return {"files": str(folder / "visits-*.csv"), "person": "pid", "rows_per_person": 2}


def write_growing_rows(folder, turn):
    return {"files": write_growing(folder, turn)["files"]}


def write_packed(folder, turn):
    (folder / "visits.csv.gz").write_bytes(gzip.compress(rows(0, 20 + 10 * turn).encode()))
    return {"files": folder / "visits.csv.gz", "person": "pid", "rows_per_person": 2}


def write_json(folder, turn):
    lines = [json.dumps({"pid": f"p{row % 9}", "age": row}) for row in range(20 + 10 * turn)]
    (folder / "visits.jsonl").write_text("\n".join(lines) + "\n")
    return {"files": folder / "visits.jsonl", "person": "pid", "rows_per_person": 2}


def write_illegible(folder, turn):
    """One id is no UTF-8, so the table is made again from a mended copy."""
    text = rows(0, 20 + 10 * turn).encode() + b"\xff\xfe,7\n"
    (folder / "visits.csv").write_bytes(text)
    return {"files": folder / "visits.csv", "person": "pid", "rows_per_person": 2}


def write_edges(folder, turn):
    edges = [f"p{row},p{(row + 1 + turn) % 20}" for row in range(20)]
    (folder / "visits.csv").write_text("one,other\n" + "\n".join(edges) + "\n")
    return {"files": folder / "visits.csv", "ends": ("one", "other")}


WRITERS = [write_rows, write_persons, write_growing, write_growing_rows, write_packed, write_json, write_illegible]
#: Of which there is one file for each version, and no side file.
ROWS = (write_rows, write_growing_rows)


def made(folder, write=write_persons):
    """A project with version 1 of `visits`, and another source by now."""
    folder.mkdir(exist_ok=True)
    project = discreet.init(folder)
    how = write(folder, 0)
    project.add(how.pop("files"), name="visits", epsilon=3, **how)
    project.refresh("visits")
    write(folder, 1)
    return project


def stored(project):
    """All that lies beside the ledger, with its content; side files, hidden ones and folders too."""
    tables = project.folder / ".discreet/tables"
    return {
        path.relative_to(tables).as_posix(): path.read_bytes() if path.is_file() else None for path in tables.rglob("*")
    }


def files_of_versions(project):
    return [name for name in stored(project) if name.endswith(".parquet")]


def stopped_everywhere(project, unchanged):
    """Stop a refresh at its first look, its second, and so on, until one is not reached; how many there are."""
    last, version = 0, 1
    while version == 1:
        last += 1
        stop = LateStop(last)
        fingerprint._digest_at.cache_clear()  # each turn looks at the same places
        unpacking._measure_at.cache_clear()
        made_tables._made.clear()
        before = stored(project), len(list(project.ledger.entries()))
        with stoppable_by(stop):
            try:
                version, _ = project.refresh("visits")
            except MakingStopped as problem:
                assert problem.reason == "stopped, so no new version of 'visits' was made; version 1 is still in use"
                assert (stored(project), len(list(project.ledger.entries()))) == before, last
                unchanged()
    assert (version, stop.looks) == (2, last - 1)
    return last - 1


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
def test_a_stop_at_every_look_leaves_the_version_before(tmp_path, write):
    project = made(tmp_path, write)
    before = project.sql(COUNT).ask(epsilon="0.5").rows

    def unchanged():
        assert project.sql(COUNT).ask(epsilon="0.5").rows == before
        assert project.version("visits").number == 1
        assert project.budget("visits").spent.epsilon == 0.5

    assert stopped_everywhere(project, unchanged) >= 7
    assert project.verify().sound
    assert len(files_of_versions(project)) == (2 if write in ROWS else 4)
    assert project.sql(COUNT).ask(epsilon="0.5").rows and project.budget("visits").spent.epsilon == 1.0


def test_a_network_is_stopped_at_every_look(tmp_path):
    project = made(tmp_path, write_edges)
    assert stopped_everywhere(project, lambda: None) >= 7
    assert project.verify().sound and len(files_of_versions(project)) == 4


def test_a_first_version_is_stopped_too(tmp_path):
    write_persons(tmp_path, 0)
    project = discreet.init(tmp_path)
    project.add(tmp_path / "visits.csv", name="visits", epsilon=3, person="pid", rows_per_person=2)
    stop = LateStop(4)
    with stoppable_by(stop), pytest.raises(MakingStopped) as stopped:
        project.refresh("visits")
    assert stopped.value.reason == "stopped, so no new version of 'visits' was made; it has none yet"
    assert stored(project) == {} and "visits" not in project.ledger.refresh().versions
    assert project.refresh("visits")[0] == 1


#: No row of it ever comes, and it does not end: a refresh of it ends by an interrupt alone.
ENDLESS = "(SELECT 'p' || range AS c0, '1' AS c1 FROM range(1000000000000) WHERE sqrt(range) < 0)"


@pytest.mark.parametrize("write", [write_rows, write_persons], ids=lambda write: write.__name__)
def test_a_statement_that_runs_is_interrupted(tmp_path, monkeypatch, write):
    how = write(tmp_path, 0)
    project = discreet.init(tmp_path)
    project.add(how.pop("files"), name="visits", epsilon=3, **how)
    stop, begun = StopSignal(), threading.Event()

    def pull():
        assert begun.wait(60)
        stop.request()

    thread = threading.Thread(target=pull)
    thread.start()
    run = duckdb_declared_table.retry_single_threaded

    def beginning(source, act):
        def begin(rows):
            begun.set()
            return act(rows)

        return run(source, begin)

    monkeypatch.setattr(duckdb_declared_table, "source_sql", lambda source, **how: ENDLESS)
    monkeypatch.setattr(duckdb_declared_table, "retry_single_threaded", beginning)
    monkeypatch.setattr(duckdb_person_table, "retry_single_threaded", beginning)
    with stoppable_by(stop), pytest.raises(MakingStopped):
        project.refresh("visits")
    thread.join()
    assert [name for name in stored(project) if "key" not in name] == []
    assert project.verify().sound


def test_a_stop_while_the_version_is_entered_comes_too_late(tmp_path, monkeypatch):
    project, stop = made(tmp_path), StopSignal()
    add_version = Ledger.add_version

    def pulled(self, *given, **how):
        stop.request()
        return add_version(self, *given, **how)

    monkeypatch.setattr(Ledger, "add_version", pulled)
    with stoppable_by(stop):
        version, making = project.refresh("visits")
    assert version == 2 and making is not None and stop.is_requested
    assert project.verify().sound and len(files_of_versions(project)) == 4
    assert project.sql(COUNT).ask(epsilon="0.5").rows


class Broken(Exception):
    """Raised where nobody expects it."""


def break_after_commit(monkeypatch, problem):
    """Whatever is entered is entered, and then something breaks."""
    add_version = Ledger.add_version

    def entered(self, *given, **how):
        add_version(self, *given, **how)
        raise problem

    monkeypatch.setattr(Ledger, "add_version", entered)


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), LedgerFault("the anchor is gone"), Broken()], ids=repr)
def test_a_version_that_was_entered_keeps_its_table(tmp_path, monkeypatch, problem):
    project = made(tmp_path)
    with monkeypatch.context() as patch:
        break_after_commit(patch, problem)
        with pytest.raises(type(problem)):
            project.refresh("visits")
    assert project.version("visits").number == 2 and len(files_of_versions(project)) == 4
    assert project.sql(COUNT).ask(epsilon="0.5").rows


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), LedgerFault("no space is left"), Broken()], ids=repr)
def test_one_that_was_not_entered_loses_it(tmp_path, monkeypatch, problem):
    project = made(tmp_path)
    before = stored(project)

    def refused(self, *given, **how):
        raise problem

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "add_version", refused)
        with pytest.raises(type(problem)):
            project.refresh("visits")
    assert stored(project) == before and project.version("visits").number == 1


def test_a_question_that_is_stopped_in_its_tables_first_version_says_so(tmp_path):
    write_persons(tmp_path, 0)
    project = discreet.init(tmp_path)
    project.add(tmp_path / "visits.csv", name="visits", epsilon=3, person="pid", rows_per_person=2)
    project = discreet.open(tmp_path)
    for last in itertools.count(1):
        fingerprint._digest_at.cache_clear()
        with stoppable_by(LateStop(last)):
            try:
                version = project.version("visits")
            except Stopped as problem:
                assert problem.reason == "stopped before anything was charged"
                assert files_of_versions(project) == [] and "visits" not in project.ledger.refresh().versions
            else:
                assert version.number == 1 and last > 5
                return


def test_what_may_not_be_stopped_is_not(tmp_path):
    stop = StopSignal()
    stop.request()
    with stoppable_by(stop):
        with stop_signal.unstoppable():
            stop_signal.check_stop()
            assert list(until_stopped([1, 2])) == [1, 2]
            with stop_signal.interrupting(pytest.fail), stop_signal.orderly():
                assert not stop.is_orderly
        with stop_signal.orderly():
            assert stop.is_orderly
        assert not stop.is_orderly
        with pytest.raises(Stopped):
            list(until_stopped([1]))


def test_planted_a_half_made_table_that_stays_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(version_module, "is_entered", lambda name, *, ledger: True)
    with pytest.raises(AssertionError):
        stopped_everywhere(made(tmp_path), lambda: None)


def test_planted_a_table_that_goes_with_its_version_entered_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(version_module, "is_entered", lambda name, *, ledger: False)
    with pytest.raises((AssertionError, LedgerFault)):
        test_a_version_that_was_entered_keeps_its_table(tmp_path, monkeypatch, Broken())


def test_planted_a_version_that_is_entered_after_the_stop_is_seen(tmp_path, monkeypatch):
    project = made(tmp_path)
    looked = stopped_everywhere(made(tmp_path / "other"), lambda: None)
    make = Versions._make

    def unstopped(self, *given, **how):
        with stop_signal.unstoppable():
            return make(self, *given, **how)

    monkeypatch.setattr(Versions, "_make", unstopped)
    stop = LateStop(looked)
    with stoppable_by(stop):
        assert project.refresh("visits")[0] == 2, "the stop was missed"


@pytest.mark.parametrize("moment", ["the table has its name", "the working folder goes"])
@pytest.mark.parametrize("write", [write_rows, write_persons], ids=lambda write: write.__name__)
def test_a_keyboard_that_breaks_off_a_first_version_leaves_no_file(tmp_path, monkeypatch, write, moment):
    """Also just when the table is whole and no version names it yet."""
    how = write(tmp_path, 0)
    discreet.init(tmp_path).add(how.pop("files"), name="visits", epsilon=3, **how)
    project, met = discreet.open(tmp_path), []

    def breaking(act, is_met):
        def broken(*given, **rest):
            act(*given, **rest)
            if is_met(*given):
                met.append(given)
                raise KeyboardInterrupt

        return broken

    def is_table(_, target):
        return target.suffix == ".parquet" and ".persons" not in target.name

    with monkeypatch.context() as patch:
        if moment == "the table has its name":
            patch.setattr(table_file.os, "replace", breaking(os.replace, is_table))
        else:
            patch.setattr(DuckDBEngine, "declare", breaking(DuckDBEngine.declare, lambda *_: True))
        with pytest.raises(KeyboardInterrupt):
            project.sql(COUNT).ask(epsilon="0.5")
    assert met and files_of_versions(project) == [] and "visits" not in project.ledger.refresh().versions
    assert project.verify().sound and project.sql(COUNT).ask(epsilon="0.5").rows


def test_a_keyboard_only_pulls_the_stop_of_a_first_version(tmp_path, monkeypatch):
    """In a question, too, the making looks for the stop itself."""
    how = write_persons(tmp_path, 0)
    discreet.init(tmp_path).add(how.pop("files"), name="visits", epsilon=3, **how)
    project, stop, make = discreet.open(tmp_path), StopSignal(), Versions._make

    def pulled(self, *given, **rest):
        assert stop.is_orderly
        stop.request()
        return make(self, *given, **rest)

    monkeypatch.setattr(Versions, "_make", pulled)
    with stoppable_by(stop), pytest.raises(Stopped):
        project.sql(COUNT).ask(epsilon="0.5")
    assert not stop.is_orderly and files_of_versions(project) == []


def test_a_stop_while_the_source_is_compared_says_that_no_version_was_made(tmp_path):
    """Whoever refreshes looks before whether anything changed, which reads files that were touched."""
    project = made(tmp_path)
    os.utime(write_persons(tmp_path, 0)["files"])
    for last in itertools.count(1):
        fingerprint._digest_at.cache_clear()
        with stoppable_by(LateStop(last)):
            try:
                refresh_report(project, "visits", force=False)
            except MakingStopped as problem:
                assert problem.reason == "stopped, so no new version of 'visits' was made; version 1 is still in use"
            else:
                assert last > 2
                return


def moved(folder, write=write_persons):
    """A project whose file puts `visits` into another population since version 1."""
    made(folder, write)
    text = (folder / "discreet.toml").read_text()
    limit = "budget = {epsilon = 3, delta = 0}\n"
    assert limit in text
    text = text.replace(limit, "").replace("[tables.visits]\n", '[tables.visits]\npopulation = "other"\n', 1)
    (folder / "discreet.toml").write_text(f"{text}\n[populations.other]\n{limit}")
    return discreet.open(folder)


@pytest.mark.parametrize("write", [write_rows, write_persons], ids=lambda write: write.__name__)
def test_a_stop_before_a_table_is_in_another_population_leaves_its_version(tmp_path, write):
    """The version in use gives way when the new one is entered, and not before it is made."""
    project = moved(tmp_path, write)

    def unchanged():
        state = project.ledger.refresh()
        assert state.population_of_table["visits"] == "visits" and "other" not in state.accounts
        assert project.verify().sound

    assert stopped_everywhere(project, unchanged) >= 7
    state = project.ledger.refresh()
    assert state.population_of_table["visits"] == "other" and list(state.versions["visits"]) == [2]
    assert len(files_of_versions(project)) == (1 if write in ROWS else 2) and project.verify().sound
    assert project.sql(COUNT).ask(epsilon="0.5").rows and project.budget("visits").spent.epsilon == 0.5


def test_a_failure_before_a_table_is_in_another_population_leaves_its_version(tmp_path):
    project = moved(tmp_path)
    before = stored(project)
    with (tmp_path / "visits.csv").open("a") as file:
        file.write("p1,2,3,4\n")
    with pytest.raises(UsageError, match="fields"):
        project.refresh("visits")
    assert stored(project) == before and list(project.ledger.refresh().versions["visits"]) == [1]


def test_a_table_that_is_asked_meanwhile_stays_in_its_population(tmp_path, monkeypatch):
    project, remove = moved(tmp_path), Ledger.remove_table
    before, asking = stored(project), made_asker(tmp_path)

    def asked(self, name):
        asking()
        return remove(self, name)

    monkeypatch.setattr(Ledger, "remove_table", asked)
    with pytest.raises(UsageError, match="cannot be removed"):
        project.refresh("visits")
    assert stored(project) == before and project.verify().sound
    assert project.ledger.refresh().population_of_table["visits"] == "visits"


def test_two_processes_that_put_a_table_into_another_population_both_make_a_version(tmp_path, monkeypatch):
    project, confirm = moved(tmp_path), version_module.check_in_time
    other, turns = discreet.open(tmp_path), []

    def second(name):
        confirm(name)
        turns.append(name)
        if len(turns) == 1:
            assert other.refresh("visits", force=True)[0] == 2

    monkeypatch.setattr(curator, "check_in_time", second)
    assert project.refresh("visits")[0] == 3 and len(turns) == 2
    assert list(project.ledger.refresh().versions["visits"]) == [2, 3] and project.verify().sound
    assert len(files_of_versions(project)) == 4


def made_asker(folder):
    """Another process, whose project is as it was before the file changed, asks a query."""
    text = (folder / "discreet.toml").read_text()
    (folder / "discreet.toml").write_text(
        text.replace('population = "other"\n', "").replace("populations.other", "populations.visits")
    )
    other = discreet.open(folder)
    (folder / "discreet.toml").write_text(text)
    return lambda: other.sql(COUNT).ask(epsilon="0.5")
