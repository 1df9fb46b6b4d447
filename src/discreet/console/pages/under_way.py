"""The page that tells how far a fit or a table is, and the form that stops it; the same for every area."""

from __future__ import annotations

from discreet.console import forms
from discreet.console.answer import Answer, Missing, Page, Redirect
from discreet.console.routes import Route
from discreet.console.visit import Visit
from discreet.console.works import Work, works_of
from discreet.errors import DiscreetError


def routes(area: str) -> tuple[Route, ...]:
    """An area's two routes."""

    def find(visit: Visit) -> Work:
        work = works_of(visit).find(visit.params["work"], visit.visitor)
        if work.area != area:
            raise Missing
        return work

    def show(visit: Visit) -> Answer:
        work = find(visit)
        told = works_of(visit).told(work)
        trouble = None
        if told["state"] in ("failed", "stopped"):
            try:
                work.outcome()
            except DiscreetError as problem:  # anything else is a defect, and goes to the log
                trouble, _ = forms.trouble(problem)
        return Page(template="tables_work.html", data={**told, "trouble": trouble})

    def stop(visit: Visit) -> Answer:
        work = find(visit)
        works_of(visit).stop(work)
        return Redirect(to=f"/{area}/underway/{work.id}")

    return (
        Route(method="GET", path=f"/{area}/underway/{{work}}", handler=show, role="analyst"),
        Route(method="POST", path=f"/{area}/underway/{{work}}/stop", handler=stop, role="analyst"),
    )
