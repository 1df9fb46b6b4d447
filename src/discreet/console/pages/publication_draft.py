"""What a publication's form suggests: words from the release itself, the rest from the last card of the same owners."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.bundle.content import BundleContent
from discreet.console.pages.bundle_cache import FIELDS, content_with_card
from discreet.console.people.clock import day
from discreet.console.people.publications import Publication
from discreet.console.request_context import RequestContext
from discreet.errors import DiscreetError

#: What stays the same from one card to the next: who is responsible, where, and what else there is to read.
_LASTING = ("intended_use", "curators", "region", "sector", "sources", "registry_authors", "justification")


def suggested_fields(context: RequestContext, release: str) -> tuple[dict[str, str], str]:
    """The fields of a release that is not published yet, and a sentence that says where they are from."""
    try:
        content, _ = content_with_card(context, release, {})
    except DiscreetError:  # said again, with its reason, where somebody publishes it
        return dict.fromkeys(FIELDS, ""), ""
    last = _last_publication(context, content.table)
    lasting = {name: text for name, text in last.fields.items() if name in _LASTING} if last is not None else {}
    fields = {
        "name": _name(content),
        "description": _description(content),
        "publication_date": day(context.people.clock()),
        **lasting,
    }
    source = "The name and the description come from the query"
    more = f", other fields from the card of {last.fields.get('name') or last.release}" if last and lasting else ""
    return {name: fields.get(name, "") for name in FIELDS}, f"{source}{more}."


def _last_publication(context: RequestContext, table: str) -> Publication | None:
    """The newest publication about a table; of any other, where there is none."""
    answers, charges = context.handle.project.ledger.state.answers, context.handle.project.ledger.state.charges
    readable = [each for each in context.people.published.all() if each.release in answers and each.fields]
    same = [each for each in readable if charges[each.release].table == table]
    usable = same or readable
    return usable[-1] if usable else None


def _columns(content: BundleContent) -> tuple[list[str], list[str]]:
    """The names of the keys and of the numbers of the first table."""
    columns = content.sheets[0].to_data()["columns"] if content.sheets else []
    keys = [each["name"] for each in columns if each["kind"] == "key"]
    return keys, [each["name"] for each in columns if each["kind"] != "key"]


def _name(content: BundleContent) -> str:
    keys, _ = _columns(content)
    table = f"{content.table[:1].upper()}{content.table[1:]}"
    return f"{table} by {_listed(keys)}" if keys else f"{table}: totals"


def _description(content: BundleContent) -> str:
    keys, numbers = _columns(content)
    groups = f", for each {_listed(keys)}" if keys else ""
    numbers_words = f" ({_listed(numbers)})" if numbers else ""
    return (
        f"Noisy numbers{numbers_words} of {content.table}{groups}. The noise protects each {content.unit} in the data."
    )


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def preview_json(context: RequestContext, release: str, form_texts: Mapping[str, str]) -> dict[str, Any] | None:
    """The card as these fields would make it; None where they are wrong."""
    try:
        content, card = content_with_card(context, release, form_texts)
    except DiscreetError:
        return None
    return {
        "name": content.about.name,
        "description": content.about.description,
        "missing": [FIELDS[name][0].lower() for name in content.about.missing_fields],
        "card": dict(card["deployment"]),
    }
