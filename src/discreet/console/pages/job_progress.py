"""The page that tells how far a fit or a table is, and the form that stops it; the same for every area."""

from __future__ import annotations

from discreet.console import forms
from discreet.console.jobs.job_queue import BackgroundJob, job_queue_of
from discreet.console.request_context import RequestContext
from discreet.console.responses import HandlerResponse, NotFound, Page, Redirect
from discreet.console.routes import Route
from discreet.console.visitor import Role
from discreet.errors import DiscreetError


def routes(area: str, *, role: Role = "analyst", stoppable: bool = True) -> tuple[Route, ...]:
    """An area's two routes; one where its works are not stopped."""

    def find(context: RequestContext) -> BackgroundJob:
        job = job_queue_of(context).find(context.params["work"], context.visitor)
        if job.area != area:
            raise NotFound
        return job

    def show(context: RequestContext) -> HandlerResponse:
        job = find(context)
        progress = job_queue_of(context).job_json(job)
        trouble = None
        if progress["state"] in ("failed", "stopped"):
            try:
                job.outcome()
            except DiscreetError as problem:  # anything else is a defect, and goes to the log
                trouble, _ = forms.form_error(problem)
        return Page(template="tables_work.html", data={**progress, "trouble": trouble, "stoppable": stoppable})

    def stop(context: RequestContext) -> HandlerResponse:
        job = find(context)
        job_queue_of(context).stop(job)
        return Redirect(to=f"/{area}/underway/{job.id}")

    look = Route(method="GET", path=f"/{area}/underway/{{work}}", handler=show, role=role)
    end = Route(method="POST", path=f"/{area}/underway/{{work}}/stop", handler=stop, role=role)
    return (look, end) if stoppable else (look,)
