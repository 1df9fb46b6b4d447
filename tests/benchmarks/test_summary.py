"""The summary: a dash is never a win, a loss of ours is listed, what chance makes up is a draw."""

from xml.etree import ElementTree

import plots
import pytest
import results
import summary
from records import Machine, Record, Run

MACHINE = Machine(processor="made up", cores=2, memory_gib=16.0, python="3.11.7")


def record(system="Discreet", case="counts", **more):
    told = {"benchmark": "sql", "case": case, "system": system, "version": "1"}
    figures = {"cpu_s": 1.0} if "outcome" not in more else {}
    return Record(**{**told, **figures, **more})


def run(*given, missed=()):
    return Run(benchmark="sql", day="2026-11-16", machine=MACHINE, records=given, missed=missed)


def silent(system="OpenDP", outcome="cannot", **more):
    return record(system, outcome=outcome, reason="has no | such thing", **more)


@pytest.mark.parametrize("outcome", ["cannot", "failed", "timed out"])
def test_a_dash_is_never_a_win(outcome):
    alone = run(record(), silent(outcome=outcome))
    assert summary.compare(alone.records, "cpu_s").result == "alone"
    text = summary.text_of([alone])
    assert "won" not in text.split("### sql")[1]
    assert "| [sql](#sql) | 1 | – | – | – | 1 |" in text
    assert f"- OpenDP, {outcome}: has no / such thing (sql: counts)" in text


def test_a_loss_is_listed_by_how_much_and_against_whom():
    text = summary.text_of([run(record(cpu_s=3.0), record("OpenDP", cpu_s=2.0), record("SmartNoise", cpu_s=9.0))])
    losses = text.split("### Where Discreet loses")[1].split("###")[0]
    assert losses.strip() == "- sql, counts: CPU 3 CPU s, where OpenDP has 2 (1.5x)"
    assert "**3 : 2, lost 1.5x (OpenDP)**" in text
    assert "| [sql](#sql) | 1 | 0 / 0 / 1 | – | – | 0 |" in text


def test_discreet_that_does_not_answer_is_listed_as_a_loss():
    text = summary.text_of([run(silent("Discreet", "failed"), record("OpenDP"))])
    losses = text.split("### Where Discreet loses")[1].split("###")[0]
    assert losses.strip() == "- sql, counts: no answer (failed: has no / such thing)"


def test_a_win_is_told_against_the_best_of_the_others():
    found = summary.compare([record(cpu_s=0.5), record("a", cpu_s=5.0), record("b", cpu_s=2.0)], "cpu_s")
    assert (found.result, found.rival, found.times) == ("won", "b", 4.0)
    assert summary.compare([record("a"), record("b")], "cpu_s") is None


def test_a_yardstick_wins_and_loses_nothing():
    given = [record(cpu_s=3.0), record("raw DuckDB", cpu_s=1.0, yardstick=True)]
    assert summary.compare(given, "cpu_s").result == "alone"
    assert "Nowhere in these cases." in summary.text_of([run(*given)])


def test_what_is_close_is_a_draw():
    def result(measure, own, other, **more):
        named = {"error_name": "of counts"} if measure == "error" else {}
        given = [record(**{measure: own}, **named, **more), record("a", **{measure: other}, **named, **more)]
        return summary.compare(given, measure).result

    assert result("cpu_s", 1.0, 1.05) == "draw" and result("cpu_s", 1.0, 1.2) == "won"
    assert result("error", 1.3, 1.0) == "lost" and result("error", 1.3, 1.0, uncertainty=0.15) == "draw"
    assert result("error", 1.5, 1.0, uncertainty=0.15) == "lost"
    assert result("peak_mib", 3.9, 0.0) == "draw"  # less than an allocator takes at a time
    assert result("peak_mib", 12.0, 0.0) == "lost"


def test_missed_limits_versions_and_machines_are_told():
    text = summary.text_of([run(record(), record("OpenDP"), missed=("Q1 took 2 s, not 1",))])
    assert "- sql: Q1 took 2 s, not 1" in text
    assert "Discreet 1, OpenDP 1." in text
    assert "- sql: 2026-11-16, made up, 2 cores, 16 GiB, Python 3.11.7" in text


def test_the_summary_stands_first_and_sections_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "RESULTS", tmp_path / "RESULTS.md")
    results.write_section("sql", "old figures")
    results.write_section("noise", "their figures")
    results.write_summary("## Summary\n\nfirst")
    results.write_section("sql", "new figures")
    results.write_summary("## Summary\n\nsecond")
    text = (tmp_path / "RESULTS.md").read_text()
    assert text.index("second") < text.index("new figures") < text.index("their figures")
    assert "first" not in text and "old figures" not in text and text.count("# Figures") == 1


def test_a_picture_holds_every_figure_and_a_dash_for_none(tmp_path, monkeypatch):
    monkeypatch.setattr(plots, "HERE", tmp_path)
    given = [run(record(cpu_s=0.01), record("OpenDP", cpu_s=10.0), silent("SmartNoise"))]
    more = run(record(case="sums"), silent(case="sums"), record("SmartNoise", case="sums"))
    given[0] = run(*given[0].records, *more.records)
    assert plots.write_all(given) == ["sql"]
    root = ElementTree.fromstring((tmp_path / "plots" / "sql.svg").read_text())
    said = [each.text for each in root.iter("{http://www.w3.org/2000/svg}title")]
    assert (
        "OpenDP, counts: 10" in said and "SmartNoise, counts: no figure" in said and "OpenDP, sums: no figure" in said
    )


def test_without_a_rival_there_is_no_picture():
    assert plots.of_run(run(record(), silent())) == ""
