"""The page that tells how far a fit or a table is, and the form that stops it; the same for every area."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.console import forms
from discreet.console.jobs.job_queue import BackgroundJob, job_queue_of
from discreet.console.request_context import RequestContext
from discreet.console.responses import HandlerResponse, NotFound, Page, Redirect, RequestDenied
from discreet.console.routes import Route
from discreet.console.visitor import Role
from discreet.errors import DiscreetError
from discreet.project.project import Project


def routes(area: str, *, role: Role = "analyst") -> tuple[Route, ...]:
    """An area's two routes."""

    def find(context: RequestContext) -> BackgroundJob:
        job = job_queue_of(context).find(context.params["work"], context.visitor)
        if job.area != area:
            raise NotFound
        return job

    def show(context: RequestContext) -> HandlerResponse:
        job = find(context)
        progress = job_queue_of(context).job_json(job)
        charged = charged_json(context.handle.project, progress["charges"])
        trouble = None
        if progress["state"] in ("failed", "stopped"):
            try:
                job.outcome()
            except DiscreetError as problem:  # anything else is a defect, and goes to the log
                trouble, _ = forms.form_error(problem)
        return Page(template="tables_work.html", data={**progress, "charged": charged, "trouble": trouble})

    def stop(context: RequestContext) -> HandlerResponse:
        job = find(context)
        check_stoppable(job)
        job_queue_of(context).stop(job)
        return Redirect(to=f"/{area}/underway/{job.id}")

    look = Route(method="GET", path=f"/{area}/underway/{{work}}", handler=show, role=role)
    end = Route(method="POST", path=f"/{area}/underway/{{work}}/stop", handler=stop, role=role)
    return look, end


def check_stoppable(job: BackgroundJob) -> None:
    """Refuse to stop what must not be left halfway."""
    if job.stop_terms is None:
        raise RequestDenied("This job cannot be stopped: an erasure must not be left halfway.", status=409)


def charged_json(project: Project, ids: Sequence[str]) -> dict[str, Any]:
    """What a job that has ended was charged as, and what that cost the budget. An id that is not there was refused."""
    charges = project.ledger.refresh().charges if ids else {}
    made = [charges[each] for each in dict.fromkeys(ids) if each in charges]
    moved = sum((each.moved for each in made), Fraction(0))
    return {
        "releases": [{"release": each.id, "answered": each.id in project.ledger.state.answers} for each in made],
        "epsilon": exact.as_float(moved, up=True),
        "words": f"epsilon {exact.show(moved, up=True)}" if made else "nothing",
    }
