"""`./do bench all`: one that fails is reported and the rest go on; peers that cannot be made are dashes."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import job
import peer
import pytest
from job import Benchmark
from records import BELOW_LIMITS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _adopts_nobody(monkeypatch):
    """Adopting cannot be undone: a process of tests that did it would wait for the servers of other tests."""
    monkeypatch.setattr(job, "adopt_orphans", lambda: None)


def bench(folder, name, text):
    (folder / f"bench_{name}.py").write_text(text)
    return Benchmark(name=name, limit_s=60, quick_s=60)


def test_a_failing_benchmark_is_reported_and_the_rest_go_on(tmp_path):
    mark = tmp_path / "ran"
    listed = [
        bench(tmp_path, "bad", "raise SystemExit(7)"),
        bench(tmp_path, "worse", "import nothing_of_that_name"),
        bench(tmp_path, "below", f"raise SystemExit({BELOW_LIMITS})"),
        bench(tmp_path, "last", f"import sys; open({str(mark)!r}, 'w').write(' '.join(sys.argv[1:]))"),
    ]
    endings = job.run_all(listed, quick=True, folder=tmp_path)
    assert [(ending.name, ending.good) for ending in endings] == [
        ("bad", False),
        ("worse", False),
        ("below", False),
        ("last", True),
    ]
    assert "FAILED, exit code 7" in str(endings[0]) and "FAILED" in str(endings[1])
    assert "missed limits" in str(endings[2]) and "FAILED" not in str(endings[2])
    assert mark.read_text() == "--quick"


def test_one_that_hangs_is_stopped_with_all_that_it_started(monkeypatch, tmp_path):
    """The benchmark's own child holds the end of a pipe, too: reading it ends when, and only when, both are gone."""
    read, write = os.pipe()
    os.set_inheritable(write, True)
    monkeypatch.setattr(job.subprocess, "Popen", partial(subprocess.Popen, close_fds=False))
    waits = "import time; time.sleep(600)"
    script = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {waits!r}], close_fds=False); {waits}"
    slow = replace(bench(tmp_path, "slow", script), quick_s=1.0)
    (ending,) = job.run_all([slow], quick=True, folder=tmp_path)
    os.close(write)
    assert not ending.good and "not finished after 1 s" in str(ending)
    with os.fdopen(read, "rb") as pipe:
        assert pipe.read() == b""


def test_what_measures_time_runs_alone_and_the_others_side_by_side(tmp_path, monkeypatch):
    """Those side by side wait for each other: one after the other, they would not end."""
    monkeypatch.setattr(job.os, "cpu_count", lambda: 2)
    log = tmp_path / "log"
    write = f"log = open({str(log)!r}, 'a'); name = __file__[-4:-3]"
    met = f"list(pathlib.Path({str(tmp_path)!r}).glob('met-*'))"
    alone = f"import pathlib, time; {write}; log.write(name); log.flush(); time.sleep(0.5); log.write('!' if {met} else name)"
    meets = (
        f"import pathlib, time\nhere = pathlib.Path({str(tmp_path)!r})\n(here / ('met-' + __file__[-4:-3])).touch()\n"
        "while len(list(here.glob('met-*'))) < 2: time.sleep(0.01)\n"
    )
    endings = job.run_all(
        [
            replace(bench(tmp_path, "x", meets), alone=False),
            bench(tmp_path, "a", alone),
            replace(bench(tmp_path, "y", meets), alone=False),
            bench(tmp_path, "b", alone),
        ],
        quick=True,
        folder=tmp_path,
    )
    assert log.read_text() == "aabb"
    assert [ending.name for ending in endings[:2]] == ["a", "b"] and {e.name for e in endings[2:]} == {"x", "y"}
    assert all(ending.good for ending in endings)


def test_what_has_no_quick_form_is_left_out_of_a_quick_run(tmp_path):
    bench(tmp_path, "long", "raise SystemExit(1)")
    assert job.run_all([Benchmark(name="long", limit_s=60)], quick=True, folder=tmp_path) == []


@pytest.mark.parametrize(("good", "code"), [(True, 0), (False, 1)])
def test_the_exit_code_says_whether_all_is_well(good, code, tmp_path, monkeypatch, capsys):
    ending = job.Ending(name="sql", told="done" if good else "FAILED, exit code 7", good=good, wall_s=1, cpu_s=2)
    monkeypatch.setattr(job, "run_all", lambda benchmarks, quick, ended: [ending])
    monkeypatch.setattr(job, "summarize", lambda quick: job.HERE / "RESULTS.md")
    assert job.main(["--quick"]) == code
    assert "sql" in capsys.readouterr().out


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A page, records and the state of a run, in a folder of the test's own."""
    monkeypatch.setattr("results.RESULTS", tmp_path / "RESULTS.md")
    monkeypatch.setattr("records.HERE", tmp_path)
    monkeypatch.setattr(job, "STATE", tmp_path / "state" / "run.json")
    monkeypatch.setattr(job, "summarize", lambda quick: job.HERE / "RESULTS.md")
    (tmp_path / "records").mkdir()
    return tmp_path


def test_a_full_run_begins_with_an_empty_page(results, monkeypatch):
    (results / "RESULTS.md").write_text("<!-- old -->\n## old\n<!-- /old -->\n")
    (results / "records" / "old.json").write_text("{}")
    monkeypatch.setattr(job, "ALL", [bench(results, "new", "")])
    monkeypatch.setattr(job, "run_all", partial(job.run_all, folder=results))
    assert job.main([]) == 0
    page = (results / "RESULTS.md").read_text()
    assert "## old" not in page and not list((results / "records").iterdir())
    assert "## run" in page and re.search(r"\| new \| done \| \d+ \| \d+ \| (\d+%)? \|", page)


def test_a_run_that_was_stopped_is_continued_and_what_failed_runs_again(results, monkeypatch):
    ran = results / "ran"
    tells = f"open({str(ran)!r}, 'a').write(__file__[-8:-3] + ' ')"
    listed = [bench(results, "first", tells), bench(results, "fails", f"{tells}; raise SystemExit(7)")]
    monkeypatch.setattr(job, "run_all", partial(job.run_all, folder=results))
    monkeypatch.setattr(job, "ALL", listed)
    assert job.main([]) == 1
    monkeypatch.setattr(job, "ALL", [*listed, bench(results, "third", tells)])
    assert job.main(["--continue"]) == 1
    assert ran.read_text().split() == ["first", "fails", "fails", "third"]
    page = (results / "RESULTS.md").read_text()
    assert page.count("| first |") == page.count("| fails |") == page.count("| third |") == 1
    assert job.main([]) == 1, "without the flag, all of it"
    assert ran.read_text().split()[4:] == ["first", "fails", "third"]


def test_each_has_its_own_cpu_seconds_and_others_theirs(tmp_path, monkeypatch):
    works = "import time\nwhile time.process_time() < 0.6: pass"
    both = [replace(bench(tmp_path, name, text), alone=False) for name, text in (("works", works), ("rests", ""))]
    cpu_s = {ending.name: ending.cpu_s for ending in job.run_all(both, quick=True, folder=tmp_path)}
    assert cpu_s["works"] >= 0.6 and cpu_s["rests"] < 0.5


def test_other_work_is_what_is_left_of_the_cores(monkeypatch):
    cores = iter([50.0, 58.0])
    monkeypatch.setattr(job, "busy_s", lambda: next(cores))
    monkeypatch.setattr(job.os, "cpu_count", lambda: 2)
    clock = iter([100.0, 110.0])
    monkeypatch.setattr(job.time, "monotonic", lambda: next(clock, 110.0))
    own = iter([1.0, 4.0])
    monkeypatch.setattr(job, "_children_s", lambda: next(own))
    started = job.Started([sys.executable, "-c", ""], "quiet", 60.0, alone=True)
    started._process.wait()
    ending = started.ending()
    assert ending is not None and ending.others == 0.25, "of 8 seconds 3 were its own: 5 of 2 x 10 were others'"


def test_what_a_server_worked_counts_although_its_benchmark_did_not_wait_for_it(tmp_path):
    """In a process of its own: adopting cannot be undone."""
    server = "import time\nwhile time.process_time() < 0.6: pass"
    name = bench(
        tmp_path, "serves", f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {server!r}])"
    ).name
    script = (
        "import pathlib, sys\nimport job\nif sys.argv[1] == 'adopt': job.adopt_orphans()\n"
        f"served = job.Benchmark(name={name!r}, limit_s=60, quick_s=60)\n"
        f"print(job.run_all([served], quick=True, folder=pathlib.Path({str(tmp_path)!r}))[0].cpu_s)"
    )

    def cpu_s(word):
        words = [sys.executable, "-c", script, word]
        return float(subprocess.run(words, cwd=ROOT / "benchmarks", capture_output=True, text=True, check=True).stdout)

    assert cpu_s("adopt") >= 0.6 > cpu_s("leave")


def test_every_benchmark_is_in_the_list():
    """And those that the comparison names have a quick form."""
    files = {path.stem.removeprefix("bench_") for path in (ROOT / "benchmarks").glob("bench_*.py")}
    assert {each.name for each in job.ALL} == files
    quick = {each.name for each in job.ALL if each.quick_s is not None}
    assert {"noise", "sql", "tables", "local", "synth", "lab", "ledger", "scale"} <= quick


def test_a_peer_that_is_not_here_is_a_dash_with_its_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(peer, "ENVIRONMENTS", tmp_path)
    with pytest.raises(peer.Silent, match="not made"):
        peer.ask("opendp", "opendp_noise.py", {})
    (tmp_path / "opendp.reason").write_text("cannot be installed here: no wheel\n")
    with pytest.raises(peer.Silent) as why:
        peer.ask("opendp", "opendp_noise.py", {})
    dash = peer.silent("opendp", "noise", "Laplace", why.value)
    assert (dash.outcome, dash.reason) == ("cannot", "cannot be installed here: no wheel")
    assert dash.cpu_s is None and dash.version


def test_a_peer_that_breaks_or_hangs_is_told_from_one_that_cannot():
    def outcome(script, limit_s=60.0):
        with pytest.raises(peer.Silent) as why:
            peer.told([sys.executable, "-c", script], {}, limit_s=limit_s)
        return why.value.outcome, why.value.reason

    assert outcome("raise ValueError('no such law')") == ("failed", "ValueError: no such law")
    assert outcome("print('no JSON')")[0] == "failed"
    assert outcome("import time; time.sleep(600)", limit_s=0.3)[0] == "timed out"


@pytest.mark.parametrize("name", sorted(peer.TITLES))
def test_every_peer_is_pinned(name):
    lock = (peer.LOCKS / f"{name}.txt").read_text()
    wish = (peer.LOCKS / f"{name}.in").read_text().splitlines()[0]
    package = re.sub(r"\[.*\]", "", wish.partition("==")[0]).lower().replace("_", "-")
    assert f"{package}=={peer.version(name)} " in lock
