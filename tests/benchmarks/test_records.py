"""Records of the benchmarks: what may stand in one, and that a file of them says the same again."""

import dataclasses

import pytest
import records
from records import Machine, Record, Run

MACHINE = Machine(processor="made up", cores=2, memory_gib=16.0, python="3.11.7")


def record(**more):
    told = {"benchmark": "noise", "case": "Laplace", "system": "Discreet", "version": "0.1.0", "cpu_s": 0.25}
    return Record(**{**told, **more})


def test_a_file_of_records_says_the_same_again():
    run = Run(
        benchmark="noise",
        day="2026-11-16",
        machine=MACHINE,
        records=(
            record(peak_mib=12.5, error=0.0, error_name="of counts", uncertainty=0.1),
            record(system="OpenDP", cpu_s=0.0),
            record(system="numpy", yardstick=True),
            record(system="ARX", cpu_s=None, outcome="cannot", reason='a Java program: "–" | nothing'),
            record(system="slow", cpu_s=None, outcome="timed out", reason="not finished after 5 s"),
        ),
        missed=("Laplace took 0.3 s, more than 0.06",),
    )
    assert records.of_text(records.to_text(run)) == run
    assert len(records.to_text(run).splitlines()) == 2 + len(run.records) + 1  # a record a line


def test_a_file_forgets_no_field():
    """Whatever a field holds, the file tells it: a new one is not lost on the way."""
    values = {"benchmark": "noise", "outcome": "answered", "reason": ""}
    kinds = {"str": "word", "float | None": 1.5, "float": 0.5, "bool": True}
    for field in dataclasses.fields(Record):
        values.setdefault(field.name, kinds.get(field.type))
    full = Record(**values)
    run = Run(benchmark="noise", day="2026-11-16", machine=MACHINE, records=(full,))
    assert records.of_text(records.to_text(run)).records[0] == full


@pytest.mark.parametrize(
    "wrong",
    [
        {"cpu_s": None},
        {"cpu_s": float("nan")},
        {"cpu_s": -1.0},
        {"error": 0.5},
        {"reason": "none needed"},
        {"outcome": "cannot", "reason": "no such law"},
        {"outcome": "failed", "cpu_s": None},
        {"outcome": "won"},
        {"case": ""},
    ],
    ids=str,
)
def test_records_are_valid_from_birth(wrong):
    with pytest.raises(ValueError):
        record(**wrong)


def test_quick_records_never_stand_over_full_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "HERE", tmp_path)
    monkeypatch.setattr(records, "QUICK", tmp_path / ".quick")
    records.write("noise", [record()])
    records.write("noise", [record(cpu_s=9.0)], missed=["all"], quick=True)
    assert records.read_all()[0].records[0].cpu_s == 0.25
    assert records.read_all(quick=True)[0].records[0].cpu_s == 9.0
    assert records.read_all(quick=True)[0].missed == ("all",)
    with pytest.raises(ValueError, match="not all records"):
        records.write("sql", [record()])


def test_the_machine_is_told_without_its_name():
    import platform

    told = str(records.this_machine())
    assert "cores" in told and "GiB" in told
    assert platform.node() not in told.split() and platform.release() not in told
