"""What is installed stands; the same with one fault is caught."""

import pytest

from discreet.lab.privacy_audit import synthesizers
from discreet.lab.privacy_audit.audit_suite import audit
from discreet.lab.privacy_audit.target_list import all_targets
from discreet.lab.privacy_audit.targets import QUICK_SAMPLES
from lab import broken, broken_programs, broken_questions
from tiers import DEEP, size

FAULTS = [*broken.FAULTS, *broken_questions.FAULTS, *broken_programs.FAULTS]

#: A build that keeps its claims fails this file less than once in a million runs: a dozen quick audits at this doubt.
DOUBT = 5e-8

QUICK = [target for target in all_targets() if target.quick]
AT_ONCE = size(5, 10)


@pytest.fixture(autouse=True)
def _few_games(monkeypatch):
    """In the fast tier 25 fits of a model, not 60: all of them read right would have a chance of 1 in 2,500."""
    if not DEEP:
        monkeypatch.setattr(synthesizers, "GAMES", 25)


@pytest.mark.thin(3)
@pytest.mark.parametrize("start", range(0, len(QUICK), AT_ONCE), ids=lambda start: QUICK[start].name)
def test_what_is_installed_stands(start):
    """With few samples in the fast tier, and a sixth of the claims: the faults below measure nearly every other one."""
    report = audit(targets=QUICK[start : start + AT_ONCE], samples=size(200, QUICK_SAMPLES), confidence=1 - DOUBT)
    assert report.passed, [(line.target.name, line.verdict) for line in (*report.caught, *report.unmeasured)]
    for line in report.lines:  # an audit that sees nothing would pass everything
        if DEEP and line.target.name in TELLING:
            least = 2 if line.target.method == "samples" else 3  # one run is one run
            assert line.lower > line.target.epsilon / least, line.target.name


TELLING = {
    "laplace: one cell",
    "laplace: a large value",
    "laplace: a large scale",
    "local response: two answers",
    "local hashing: two answers",
    "local duchi: two answers",
    "local piecewise: two answers",
    "sql distinct: a person with two values",
    "sql join: a public table",
    "sql join: a person's other table",
    "sql groups: persons summed up first",
    "sql regions: a person in two of them",
    "synth measure: a person with too many rows",
    "synth measure: a pair of columns",
}


def test_names_are_one_of_a_kind():
    names = [target.name for target in all_targets()]
    assert len(set(names)) == len(names) and set(names) >= TELLING
    assert {name for _, name, _ in FAULTS} <= set(names)
    assert len({fault for fault, _, _ in FAULTS}) >= 40


def cases():
    """Every fault once in the fast tier; in the deep one by every claim that must fail of it."""
    seen = set()
    for fault, name, samples in FAULTS:
        marks = [pytest.mark.deep] if fault in seen else []
        yield pytest.param(fault, name, samples, id=f"{fault.__name__}-{name}", marks=marks)
        seen.add(fault)


@pytest.mark.parametrize(("fault", "name", "samples"), list(cases()))
def test_a_fault_is_caught(fault, name, samples, monkeypatch):
    fault(monkeypatch)
    doubt = 1e-3 if name.startswith("synth independent:") and not DEEP else DOUBT
    report = audit([name], samples=samples, confidence=1 - doubt)
    assert not report.unmeasured and all("cannot be constructed" not in line.verdict for line in report.lines)
    assert report.caught, [(line.outcome.p_value, line.lower) for line in report.lines]
