"""What a query closes: drafts and models of the same person that the budget allows now, and no more after it. Free."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from urllib.parse import quote as quote_path

from discreet import exact
from discreet.accounting import events
from discreet.accounting.filter import Cost
from discreet.accounting.region import Region
from discreet.answers.query_quote import QueryQuote, quote
from discreet.console.jobs.query_request import QueryRequest
from discreet.console.pages.column_precision import at_column_precision
from discreet.console.pages.home import shorten
from discreet.console.pages.query_drafts import QueryDraft
from discreet.errors import DiscreetError
from discreet.kernel.version import Version
from discreet.ledger.records import PlannedCharge
from discreet.project.project import Project
from discreet.project.question import wish_of
from discreet.project.recall import RecalledRelease, recall_releases

#: So many models of a person are looked at, the newest first, among so many releases.
_MODELS, _LATEST = 5, 200


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterCharge:
    """Something that a person may want next. `to`: its page."""

    words: str
    to: str
    charge: PlannedCharge

    def data(self) -> dict[str, str]:
        """As JSON."""
        return {"words": self.words, "to": self.to}


def closed_by(
    query_request: QueryRequest,
    project: Project,
    *,
    left: float,
    analyst: str | None,
    drafts: Sequence[tuple[str, QueryDraft]],
) -> list[dict[str, str]]:
    """Which drafts, and which models of this analyst on new data, the budget allows now and not after a new draw.

    left: the epsilon that remains after it. What costs no more is not looked at: it fits by plain addition.
    """
    first = _planned(query_request, project)
    priced = (_draft(project, query_request, name, draft, left=left) for name, draft in drafts)
    models = _models(project, first.population, analyst=analyst, left=left)
    later = [each for each in (*priced, *models) if each is not None and each.charge.population == first.population]
    if not later:
        return []
    guarantee = project.guarantee(first.table)
    closed = project.ledger.closed_by(first, [each.charge for each in later], guarantee=guarantee)
    return [each.data() for each, is_closed in zip(later, closed, strict=True) if is_closed]


def _quoted(query_request: QueryRequest, project: Project) -> tuple[QueryQuote, Version]:
    query = project.sql(query_request.text).query
    version = project.peek_version(query.table)
    numbers = query_request.epsilon, query_request.within, query_request.confidence, query_request.delta
    wish, guarantee = wish_of(*numbers), project.guarantee(query.table)
    return quote(query, wish, version=version, guarantee=guarantee, ledger=project.ledger), version


def _planned(query_request: QueryRequest, project: Project) -> PlannedCharge:
    return _charge(*_quoted(query_request, project))


def _charge(quoted: QueryQuote, version: Version) -> PlannedCharge:
    return PlannedCharge(
        population=version.population,
        table=version.table,
        version=version.number,
        region=quoted.price.region,
        cost=Cost.of(events.loss(quoted.price.event)),
    )


def _draft(
    project: Project, query_request: QueryRequest, name: str, draft: QueryDraft, *, left: float
) -> LaterCharge | None:
    """A draft as a charge; None where it is the query itself, no query, free, helped by earlier answers, or no dearer
    than what is left. A width costs what it is priced at; where that is known only when steps are drawn, it is none.
    """
    try:
        other = draft.to_query_request()
        if other.kind != "query" or other.text == query_request.text:
            return None
        if other.epsilon is not None and exact.number(other.epsilon, name="epsilon") <= Fraction(left):
            return None
        other = at_column_precision(other, draft.column, project)
        quoted, version = _quoted(other, project)
        if quoted.price.epsilon <= Fraction(left):
            return None
        data = other.explain(project).data
        if data["stored"] is not None or data["told"] is not None or data["already_charged"]:
            return None
        epsilon = draft.epsilon if draft.by == "epsilon" else exact.show(quoted.price.epsilon, up=True)
        words = f"your draft \u201c{shorten(draft.sql)}\u201d, epsilon {epsilon}"
        return LaterCharge(words=words, to=f"/ask/draft/{quote_path(name, safe='')}", charge=_charge(quoted, version))
    except DiscreetError:
        return None


def _models(project: Project, population: str, *, analyst: str | None, left: float) -> Iterator[LaterCharge]:
    """The newest models of an analyst, fitted again on the next version: on their own version that is free."""
    state = project.ledger.state
    newest = [state.charges[id_] for id_ in itertools.islice(reversed(list(state.reservations)), _LATEST)]
    ids = [
        charge.id
        for charge in newest
        if charge.population == population and charge.analyst == analyst and charge.price > Fraction(left)
    ]
    models = (each for each in recall_releases(ids, ledger=project.ledger) if each.kind == "model")
    for each in itertools.islice(models, _MODELS):
        yield _model(each, state.next_version(each.charge.table))


def _model(recalled_release: RecalledRelease, version: int) -> LaterCharge:
    charge = recalled_release.charge
    planned = PlannedCharge(
        population=charge.population, table=charge.table, version=version, region=Region.whole(), cost=charge.cost
    )
    words = f"a model like {charge.id} on new data, epsilon {exact.show(charge.price, up=True)}"
    return LaterCharge(words=words, to=f"/synth/{quote_path(charge.id, safe='')}", charge=planned)
