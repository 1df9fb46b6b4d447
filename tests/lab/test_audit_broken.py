"""What is installed stands; the same with one fault is caught."""

import pytest

from discreet.lab.audit.suite import audit
from discreet.lab.audit.targets import every
from lab.broken import FAULTS

#: A build that keeps its claims fails this file less than once in a million runs: four quick audits at this doubt.
DOUBT = 1e-7


@pytest.mark.parametrize("kind", ["mechanisms", "sql", "local", "synth"])
def test_what_is_installed_stands(kind):
    targets = [target for target in every() if target.kind == kind and target.quick]
    report = audit(targets=targets, quick=True, confidence=1 - DOUBT)
    assert [line.target.name for line in report.caught] == []
    for line in report.lines:  # an audit that sees nothing would pass everything
        if line.target.method == "samples" and line.target.name in TELLING:
            assert line.lower > line.target.epsilon / 2, line.target.name


TELLING = {
    "laplace: one cell",
    "laplace: a large value",
    "laplace: a large scale",
    "local response: two answers",
    "local hashing: two answers",
    "local duchi: two answers",
    "local piecewise: two answers",
}


def test_names_are_one_of_a_kind():
    names = [target.name for target in every()]
    assert len(set(names)) == len(names)
    assert {name for _, name, _ in FAULTS} <= set(names)
    assert len({fault for fault, _, _ in FAULTS}) >= 20


@pytest.mark.parametrize(
    ("fault", "name", "samples"), FAULTS, ids=[f"{fault.__name__}-{name.split(':')[0]}" for fault, name, _ in FAULTS]
)
def test_a_fault_is_caught(fault, name, samples, monkeypatch):
    fault(monkeypatch)
    report = audit([name], samples=samples, confidence=1 - DOUBT)
    assert all("cannot be made" not in line.verdict for line in report.lines)
    assert report.caught, [(line.found.p_value, line.lower) for line in report.lines]
