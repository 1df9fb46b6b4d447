"""Which page of the manual explains a page of the console: one table, by the route."""

from __future__ import annotations

import re
from functools import cache

#: By the path in the table of routes: a page of the manual, and perhaps its section.
HELP = {
    "/": "console#home-and-the-menu",
    "/d": "console#home-and-the-menu",
    "/jump": "console#home-and-the-menu",
    "/jobs": "console#jobs",
    "/ask/history": "console#ask",
    "/d/{table:path}": "guides/declaring",
    "/ask": "console#ask",
    "/ask/draft/{draft}": "console#ask",
    "/ask/answer/{key}": "concepts/noise",
    "/a": "releases",
    "/a/{release}": "concepts/noise",
    "/a/{release}/beside": "concepts/noise",
    "/budget": "concepts/budgets",
    "/log": "ledger",
    "/r": "releases",
    "/r/{release}": "releases#what-a-check-proves",
    "/r/{release}/publish": "releases#what-people-state",
    "/synth": "how-to/synthetic-partner",
    "/synth/new": "how-to/synthetic-partner",
    "/synth/underway/{work}": "how-to/synthetic-partner",
    "/synth/{release}": "utility",
    "/synth/{release}/beside": "utility",
    "/tables": "tables/planning",
    "/tables/new/histogram": "tables/planning",
    "/tables/new/ranges": "tables/ranges",
    "/tables/new/marginals": "tables/marginals",
    "/tables/new/publish": "tables/publish",
    "/tables/new/network": "graphs#asking",
    "/tables/underway/{work}": "tables/planning",
    "/tables/reconcile": "tables/reconcile",
    "/tables/{release}": "tables/planning",
    "/survey": "how-to/survey",
    "/survey/new": "how-to/survey#make-the-surveys",
    "/survey/{survey}": "how-to/survey#read-the-estimates",
    "/survey/{survey}/sheet": "how-to/survey#let-the-others-answer",
    "/lab": "lab/README",
    "/lab/{attack}": "lab/README",
    "/learn": "notes#lessons",
    "/learn/teacher": "notes#lessons",
    "/learn/{lesson}": "notes#lessons",
    "/help": "index",
    "/help/{page:path}": "index",
    "/login": "console#who-may-do-what",
    "/setup/{link}": "console#start-it",
    "/me": "console#programs",
    "/api": "api",
    "/admin": "console#who-may-do-what",
    "/admin/tokens": "console#programs",
    "/admin/denials": "console#logs",
    "/admin/routes": "console#who-may-do-what",
    "/admin/tables": "console#tables-for-owners",
    "/admin/tables/new": "console#tables-for-owners",
    "/admin/tables/edit": "guides/declaring",
    "/admin/tables/underway/{work}": "console#tables-for-owners",
    "/admin/tables/describe": "guides/describe",
    "/admin/table/{table:path}": "console#tables-for-owners",
    "/admin/analysts": "concepts/budgets",
}
#: Where a page is none of the table, such as an error.
DEFAULT = "console"


def help_address(path: str) -> str:
    """The address of the help for an address of the console.

    >>> help_address("/a/r-abc"), help_address("/tables/new/ranges"), help_address("/nothing/here")
    ('/help/concepts/noise', '/help/tables/ranges', '/help/console')
    """
    return f"/help/{next((page for pattern, page in _patterns() if pattern.fullmatch(path)), DEFAULT)}"


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """The table's paths as patterns, those without names first: /tables/reconcile is no release."""
    ordered = sorted(HELP.items(), key=lambda entry: entry[0].count("{"))
    return tuple((re.compile(_pattern(path)), page) for path, page in ordered)


def _pattern(path: str) -> str:
    parts = re.split(r"(\{[a-z_]+(?::path)?\})", path)
    return "".join(
        (".+" if part.endswith(":path}") else "[^/]+") if part.startswith("{") else re.escape(part) for part in parts
    )
