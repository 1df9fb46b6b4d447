"""The anonymity of generated patients: k, l and t before and after anonymizing, and what is left of the risk."""

from __future__ import annotations

from functools import cache
from typing import Any

from discreet.lab.anonymize import AnonymityReport, anonymize, check
from discreet.lab.attacks import homogeneity
from discreet.lab.worlds import wards

KS = (2, 5, 20)


@cache
def anonymity_lines() -> list[dict[str, Any]]:
    """The table as it is, and made k-anonymous for a few k. The people and the method are always the same."""
    people = wards.patients()
    lines = [_line("original", check(people, quasi=wards.QUASI, sensitive=[wards.SENSITIVE]), people)]
    for k in KS:
        made = anonymize(people, quasi=wards.QUASI, sensitive=[wards.SENSITIVE], k=k)
        lines.append(_line(f"made {k}-anonymous", made.after, made.table))
    return lines


def _line(name: str, report: AnonymityReport, table: Any) -> dict[str, Any]:
    attacked = homogeneity.homogeneity(table, quasi=wards.QUASI, sensitive=wards.SENSITIVE)
    return {
        "name": name,
        "k": report.k,
        "l": report.l,
        "t": report.t,
        "classes": report.classes,
        "rows": report.rows,
        "unique_share": report.unique_share,
        "known_for_certain": attacked.success,
        "guessed": float(attacked.details["guessed_with"]),
    }
