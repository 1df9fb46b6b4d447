"""What a question would cost and how wrong its answer would be, for a page; or why it is refused, and where. Free."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from discreet.answers.afford import refusal as exceeded
from discreet.answers.explain import explain
from discreet.answers.quoting import quote
from discreet.api import Project
from discreet.console import wording
from discreet.console.asking.asking import Asking
from discreet.console.asking.released import finite
from discreet.console.asking.wanted import Wanted
from discreet.console.refusing import problem_of, refusal
from discreet.errors import BudgetExceeded, DiscreetError, Refused
from discreet.question import wish_of
from discreet.sql.read import read_batch
from discreet.sql.text import statements

#: A statement in a hint: from its first word to the hint's end.
_STATEMENT = re.compile(r"\b(?:SELECT|WITH)\b.*", re.IGNORECASE | re.DOTALL)
#: A wish in a hint, as the command line spells it.
_WISH = re.compile(r"--(epsilon|within) ([0-9.e-]+)")
_FLAG = re.compile(r"--(epsilon|within)\b")


def priced(wanted: Wanted, project: Project, asking: Asking, *, analyst: str | None) -> dict[str, Any]:
    """The price of a question, in numbers and in sentences; a refusal with its place and what to try."""
    try:
        found = (_batch if wanted.kind == "batch" else _single)(wanted, project, asking)
        return {"accepted": True, **found, "confirm": _confirm(found, analyst)}
    except DiscreetError as problem:
        return {"accepted": False, "problem": trouble(problem, wanted.text, project)}


def _confirm(found: Mapping[str, Any], analyst: str | None) -> str:
    """What a click will do, before it is done."""
    if found["free"]:
        return f"Asking costs nothing: {found['free']}."
    after = found["remaining_after"]
    left = "" if after is None else f" After it {after['words']} is left."
    who = analyst or "nobody named"
    return f"Asking costs {found['cost']['words']}, of the budget of {found['whose']}, charged to {who}.{left}"


def _single(wanted: Wanted, project: Project, asking: Asking) -> dict[str, Any]:
    data = finite(_anew(wanted, project) if wanted.fresh else asking.explain(wanted).data)
    table = project.sql(wanted.text).asked.table
    return {
        "cost": _words(data["cost"]),
        "free": _free(data),
        "repeat": None if data["stored"] is None else data["stored"]["release"],
        "spent_after": _words(data["spent_after"]),
        "remaining_after": _words(data["remaining_after"]),
        "whose": project.known_version(table).population,
        "errors": _errors(data),
        "known": _known(data["told"]),
        "steps": data["steps"],
        "because": data["because"],
        "region": data["region"],
        "parts": data["parts"] or [{"statistic": "the choice", "share": 1.0, **data["sensitivity"]}],
        "cells": data["cells"],
        "gaussian": any("Gaussian" in (each["mechanism"] or "") for each in data["noise"]),
        "engine_sql": data["engine_sql"],
        "statements": 1,
    }


def _anew(wanted: Wanted, project: Project) -> dict[str, Any]:
    """What a new draw costs, whatever is stored or follows from other answers."""
    asked = project.sql(wanted.text).asked
    wish = wish_of(wanted.epsilon, wanted.within, wanted.confidence, wanted.delta)
    version, ledger = project.known_version(asked.table), project.ledger
    quoted = quote(asked, wish, version=version, guarantee=project.guarantee(asked.table), ledger=ledger)
    if not quoted.decision.accepted:
        raise exceeded(quoted, wish, ledger)
    return explain(quoted, None, confidence=wish.confidence, ledger=ledger)


def _batch(wanted: Wanted, project: Project, asking: Asking) -> dict[str, Any]:
    """Of several statements: together they cost one epsilon, or, each within a width, at most what each would alone."""
    asked = read_batch(wanted.text, project.versions.catalog())
    told = []
    if wanted.within is not None:
        for text in statements(wanted.text):
            alone = Wanted(text=text, within=wanted.within, confidence=wanted.confidence, delta=wanted.delta)
            told.append(finite(asking.explain(alone).data))
        most = sum(each["cost"]["epsilon"] or 0.0 for each in told)
        cost = {"epsilon": most, "words": f"at most epsilon {most:.6g} in all"}
    else:
        cost = {"epsilon": float(wanted.epsilon or 0), "words": f"at most epsilon {wanted.epsilon} in all"}
    return {
        "cost": cost,
        "free": "",
        "repeat": None,
        "spent_after": None,
        "remaining_after": None,
        "whose": ", ".join(dict.fromkeys(project.known_version(each.table).population for each in asked)),
        "errors": [_error(each, told[0]["confidence"]) for data in told for each in data["noise"]],
        "known": "",
        "steps": [],
        "because": "what statements measure alike is measured once; what touches different people costs the most of it",
        "region": "",
        "parts": [],
        "cells": None,
        "gaussian": False,
        "engine_sql": "",
        "statements": len(asked),
    }


def _words(cost: Mapping[str, Any]) -> dict[str, Any]:
    """A cost with its sentence; delta is always said."""
    epsilon = f"rho {cost['rho']:.6g}" if cost["epsilon"] is None else f"epsilon {cost['epsilon']:.6g}"
    return {**cost, "words": f"{epsilon}, delta {cost['delta']:.6g}"}


def _free(data: Mapping[str, Any]) -> str:
    """Why it costs nothing, where it does."""
    if data["stored"] is not None:
        return f"it is answered already, by release {data['stored']['release']}, and a repeat is free"
    if data["told"] is not None and data["told"]["enough"]:
        return f"it follows from {', '.join(data['told']['releases'][:5])}, which were paid for"
    return ""


def _known(told: Mapping[str, Any] | None) -> str:
    if told is None or told["enough"]:
        return ""
    return f"earlier answers tell it within {told['plus_minus']:,.4g} already; only the rest is bought"


def _errors(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """How wrong the columns may be; of a stored answer how wrong it is."""
    stored = data["stored"]
    if stored is None or stored["plus_minus"] is None:
        return [_error(each, data["confidence"]) for each in data["noise"]]
    often = f"{100 * data['confidence']:g} times in 100"
    words = f"the stored numbers: plus or minus {stored['plus_minus']:,.6g} or less, {often}"
    return [{"column": "", "plus_minus": stored["plus_minus"], "words": words}]


def _error(noise: Mapping[str, Any], confidence: float) -> dict[str, Any]:
    """How wrong a column may be by its noise."""
    often = f"{100 * confidence:g} times in 100"
    if noise["plus_minus"] is not None:
        words = f"{noise['column']}: plus or minus {noise['plus_minus']:,.6g} or less, {often}"
    elif noise.get("ranks") is not None:
        words = f"{noise['column']}: at most {noise['ranks']:,.4g} rows from its rank, {often}"
    else:
        words = f"{noise['column']}: how wrong it is depends on the data, and comes with the answer"
    return {"column": noise["column"], "plus_minus": noise["plus_minus"], "words": words}


def trouble(problem: Exception, text: str, project: Project) -> dict[str, Any]:
    """An error beside the editor: its place in the whole text, and what can be taken from its hint."""
    found = refusal(problem_of(problem))
    start = None
    if isinstance(problem, Refused):
        start = _start(problem, text)
        found["line"] = text.count("\n", 0, start) + 1
        found["column"] = start - text.rfind("\n", 0, start)
    found["hint"] = wording.plain(_FLAG.sub(lambda flag: _WISHES[flag[1]], problem_of(problem).hint))
    return {**found, "start": start, "status": problem_of(problem).status, "offers": _offers(problem, project)}


def _start(problem: Refused, text: str) -> int:
    """Where in the text a refusal points. Of a batch it knows its own statement alone."""
    before = max(0, text.find(problem.sql)) if problem.sql else 0
    lines = problem.sql.split("\n")[: problem.line - 1]
    return min(len(text), before + sum(len(line) + 1 for line in lines) + problem.column - 1)


def _offers(problem: Exception, project: Project) -> list[dict[str, str]]:
    """What a hint holds that can be taken as it is: a statement that would be answered, or another wish."""
    if not isinstance(problem, DiscreetError):
        return []
    found = _STATEMENT.search(problem.hint)
    if found is not None and isinstance(problem, Refused) and _passes(found[0], project):
        return [{"take": f"sql {found[0].strip()}", "words": "Use this question"}]
    wish = _WISH.search(problem.hint)
    if wish is not None and isinstance(problem, BudgetExceeded):
        value = wish[2].rstrip(".")
        return [{"take": f"{wish[1]} {value}", "words": f"Use {_WISHES[wish[1]]} {value}"}]
    return []


_WISHES = {"epsilon": "epsilon", "within": "plus or minus"}


def _passes(text: str, project: Project) -> bool:
    try:
        project.sql(text.strip())
    except DiscreetError:
        return False
    return True
