"""Whom a release protects and within which limit: whether a plan says one thing about it. Nothing here reads data.

unit    the declared unit, the columns that identify people, one population, the version that was asked
limit   exact totals double losses, what is spent lies within the limit, and covers this release
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

from discreet import exact
from discreet.accounting import events
from discreet.accounting.filter import Cost
from discreet.accounting.guarantee import Guarantee
from discreet.bundle.answer_replay import schema_of
from discreet.bundle.claims import combined_event, loss_of
from discreet.bundle.verification_report import BundleCheck
from discreet.engines.header import KNOWN_KINDS
from discreet.schema.person_identity import KINDS, differ, naming_of

_STEP = {"table", "person", "through", "on", "ends", KINDS}
_VERSION = {"version", "population", "declared"}
_LEDGER = {"ledger", "row", "commitment", "as_of"}

#: How the name of a practice project's ledger begins in a bundle.
PRACTICE_MARK = "practice-"

_KIND = re.compile(r"[a-z_]{0,30}", re.ASCII)

#: By how much two ways to convert rho may differ.
_CLOSE = Fraction(999, 1000)


class _Fails(Exception):
    """The plan contradicts itself."""


class _Undecided(Exception):
    """The plan does not say enough."""


def check_unit(plan: Mapping[str, Any]) -> BundleCheck:
    """Whether the unit of privacy is the declared one, and the same throughout."""
    return _run_check("unit", lambda: _unit(plan))


def check_limit(plan: Mapping[str, Any], ledger: Mapping[str, Any]) -> BundleCheck:
    """Whether what is said of the limit and of the ledger can be so. `ledger`: as the manifest has it."""
    return _run_check("limit", lambda: _limit(plan, ledger))


def _run_check(name: Any, one: Any) -> BundleCheck:
    try:
        return BundleCheck(name=name, holds=True, words=one())
    except _Undecided as problem:
        return BundleCheck(name=name, holds=None, words=f"not checked: {problem}")
    except _Fails as problem:
        return BundleCheck(name=name, holds=False, words=str(problem))


def _unit(plan: Mapping[str, Any]) -> str:
    schemas, own = plan["schemas"], plan["schemas"][plan["table"]]
    unit = schema_of(plan["table"], schemas).unit
    if plan["privacy_unit"] != str(unit):
        raise _Fails("the privacy unit is not the declared one")
    if type(plan["version"]) is not int or plan["version"] != own["version"]:
        raise _Fails("the version is not the one whose declaration is in the bundle")
    if len({version["population"] for version in schemas.values()}) != 1:
        raise _Fails("the tables belong to several populations")
    ways = [_has_path_to_person(table, version) for table, version in schemas.items()]
    if plan.get("unit_changes"):
        raise _Undecided("the columns that identify people were changed after a release: no single limit holds")
    if not all(ways):
        raise _Undecided("this older bundle does not say which columns identify people")
    return f"{unit}, at most {unit.rows:,} in the declared table"


def _has_path_to_person(table: str, version: Mapping[str, Any]) -> bool:
    """Whether the way from a table to its persons is here. It must begin with what the table declares."""
    steps, declared = version.get("persons", []), naming_of(table, version["declared"], {})
    if set(version) - {"persons"} != _VERSION or any(set(step) - _STEP for step in steps):
        raise _Fails("a version of a table has missing or unknown members")
    for step in steps:
        _check_kinds(step)
    if not steps:
        return not declared
    if differ(declared, steps[:1]):
        raise _Fails("the columns that identify people are not the declared ones")
    if any(str(here.get("through")).lower() != there["table"].lower() for here, there in pairwise(steps)):
        raise _Fails("the path from a table to its persons has a gap")
    last = steps[-1]
    if last.get("through") is not None and len(steps) > 1:
        raise _Fails("the path from a table to its persons does not end at a person column")
    return last.get("through") is None


def _check_kinds(step: Mapping[str, Any]) -> None:
    """What the columns hold that identify people: a word for each."""
    names = [*step.get("ends", ()), *step.get("person", ()), *step.get("on", ())]
    kinds = step.get(KINDS, ["text"] * len(names))  # an older version has none
    if not isinstance(kinds, list) or len(kinds) != len(names):
        raise _Fails("the number of types differs from the number of columns that identify people")
    for kind in kinds:
        if not isinstance(kind, str) or not _KIND.fullmatch(kind):
            raise _Fails(f"a column that identifies people has the type {str(kind)[:40]!r}, which is not a type")
        if kind not in KNOWN_KINDS:
            raise _Undecided(f"a column that identifies people has a type that this version does not know: {kind}")


def _limit(plan: Mapping[str, Any], ledger: Mapping[str, Any]) -> str:
    limit, spent = Guarantee.from_data(plan["guarantee"]), exact.read(plan["spent"])
    if set(plan["guarantee"]) != set(limit.to_data()):
        raise _Fails("the limit has missing or unknown members")
    _check_row(plan["as_of"], ledger)
    if type(plan["doubled"]) is not bool or (plan["invariants"] and not plan["doubled"]):
        raise _Fails("exact totals are published, but losses do not count double")
    if not 0 <= spent <= limit.epsilon:
        raise _Fails("more than the limit is spent")
    event = combined_event(events.from_data(plan["event"]), plan["release"], plan["payloads"])
    loss, limits = loss_of(event, doubled=plan["doubled"]), limit.limits
    cost = Cost.of(loss)
    fits = any(most is not None and each <= most for each, most in zip(cost.arms, limits.arms, strict=True))
    if loss.delta > limit.keys or not fits:
        raise _Undecided("this release alone exceeds the limit: that is allowed only if it can contain no one")
    orders = None if plan["doubled"] else cost.orders
    implied = limit.implied_epsilon(pure=cost.pure, rho=cost.rho, orders=orders)
    if spent < min(limit.epsilon, limit.epsilon if implied is None else implied) * _CLOSE:
        raise _Undecided("less is spent than this release loses: a release is free only if it can contain no one")
    if ledger["ledger"].startswith(PRACTICE_MARK):
        raise _Undecided("this is a practice project: its budget can be reset, so its limit protects nobody")
    return f"epsilon {exact.show(spent, up=True)} of {exact.show(limit.epsilon)} is spent"


def _check_row(as_of: Any, ledger: Mapping[str, Any]) -> None:
    """The ledger's row, and the last row that is told of."""
    rows = ledger.get("row"), ledger.get("as_of")
    if set(ledger) != _LEDGER or any(type(row) is not int for row in rows) or as_of != rows[1]:
        raise _Fails("the ledger entry has missing or unknown members")
    if not 1 <= ledger["row"] <= ledger["as_of"] or not re.fullmatch("[0-9a-f]{64}", ledger["commitment"]):
        raise _Fails("the number or the commitment of the ledger entry is not valid")
    if not re.fullmatch("[A-Za-z0-9-]{1,64}", ledger["ledger"]):
        raise _Fails("the ledger has no valid name")
