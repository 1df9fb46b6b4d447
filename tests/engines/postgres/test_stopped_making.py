"""The making of a version on a PostgreSQL server is stopped there, at every step and inside a statement."""

import threading

import psycopg
import pytest

from discreet.engines.postgres import postgres_engine as module
from discreet.engines.stop_signal import MakingStopped, StopSignal, stoppable_by
from engines.postgres.test_killed import lying, made, named
from project.test_stopped_refresh import LateStop


@pytest.fixture
def project(tmp_path, postgres_address):
    return made(tmp_path / "project", postgres_address)


def test_a_stop_at_every_look_leaves_no_table(project, postgres_address):
    before, last, version = named(project), 0, 1
    while version == 1:
        last += 1
        with stoppable_by(LateStop(last)):
            try:
                version, _ = project.refresh("visits", force=True)
            except MakingStopped as problem:
                assert problem.reason.endswith("version 1 is still in use")
                assert lying(postgres_address, project) == named(project) == before, last
    assert version == 2 and last > 6
    assert lying(postgres_address, project) == named(project) and len(named(project)) == 2
    assert project.verify().sound


def test_the_server_stops_what_it_does(project, postgres_address, monkeypatch):
    before, begun, stop = named(project), threading.Event(), StopSignal()

    def slow(session, *given, **how):
        begun.set()
        session.connection.execute("SELECT pg_sleep(571)")

    def pull():
        assert begun.wait(60)
        stop.request()

    thread = threading.Thread(target=pull)
    thread.start()
    with monkeypatch.context() as patch:
        patch.setattr(module.making, "declare", slow)
        with stoppable_by(stop), pytest.raises(MakingStopped):
            project.refresh("visits", force=True)
    thread.join()
    assert lying(postgres_address, project) == named(project) == before
    with psycopg.connect(postgres_address) as raw:
        still = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%%pg_sleep(571)%%'"
        running = 1
        while running:  # ends when the server has noticed; only a hang goes on
            (running,) = raw.execute(still + " AND pid <> pg_backend_pid()").fetchone()
    assert project.refresh("visits", force=True)[0] == 2


def test_a_stop_after_the_servers_commit_drops_the_table(project, postgres_address, monkeypatch):
    """The ledger has not entered it; what drops it is stopped by nothing."""
    before, stop = named(project), StopSignal()
    vacuum = module.relations.vacuum

    def pulled(*given):
        stop.request()
        return vacuum(*given)

    monkeypatch.setattr(module.relations, "vacuum", pulled)
    with stoppable_by(stop), pytest.raises(MakingStopped):
        project.refresh("visits", force=True)
    assert lying(postgres_address, project) == named(project) == before
