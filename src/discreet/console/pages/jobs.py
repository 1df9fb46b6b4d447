"""Jobs: everything of mine that takes a while, wherever it was started; what runs, what has ended, and what it cost.

Queries, fits, tables, descriptions and versions run in `JobRunner`s; attacks, which read nobody's data, on the lab's
bench. All of them are in memory: after a restart the list is empty, and what was answered is among the answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.console.error_responses import error_report_of, page_problem
from discreet.console.jobs.attack_queue import Trial, TrialKey
from discreet.console.jobs.job_queue import BackgroundJob, job_queue_of
from discreet.console.jobs.query_job import QueryJob
from discreet.console.pages import job_progress, lab
from discreet.console.people.clock import iso_time
from discreet.console.request_context import RequestContext
from discreet.console.responses import HandlerResponse, NotFound, Page, PageTable, Redirect
from discreet.console.routes import Route
from discreet.lab.registry import ATTACKS

#: So many that have ended are listed, the newest first.
LISTED = 100
#: So many letters of a query name it.
_LONGEST = 200
#: What a job is called, by where it was started.
_KINDS = {"synth": "model", "tables": "statistics", "admin/tables": "table"}
#: States of all kinds of jobs, in one set of words.
_STATES = {"open": "running", "answered": "done", "waiting": "waiting", "running": "running"}


def show(context: RequestContext) -> HandlerResponse:
    """My jobs; for an owner of the data, everybody's."""
    lines = [*_background_jobs(context), *_queries(context), *_attacks(context)]
    lines.sort(key=lambda line: line["made"], reverse=True)
    is_open = [line["state"] in ("running", "waiting") for line in lines]
    data = {
        "open": [line for line, running in zip(lines, is_open, strict=True) if running],
        "ended": [line for line, running in zip(lines, is_open, strict=True) if not running][:LISTED],
    }
    names = ("job", "kind", "words", "person", "state", "made", "epsilon", "to")
    rows = [[each[name] for name in names] for part in data.values() for each in part]
    return Page(template="jobs.html", data=data, table=PageTable(columns=names, rows=rows))


def _background_jobs(context: RequestContext) -> list[dict[str, Any]]:
    queue = job_queue_of(context)
    return [_background_line(context, job, queue.job_json(job)) for job in queue.visible_jobs(context.visitor)]


def _background_line(context: RequestContext, job: BackgroundJob, progress: dict[str, Any]) -> dict[str, Any]:
    return _line(
        context,
        {
            "job": job.id,
            "kind": _KINDS.get(job.area, job.area),
            "words": job.words,
            "person": job.person,
            "step": progress["step"],
            "share": progress["share"],
            "stopping": job.stopping,
            "stoppable": progress["stoppable"],
            "to": progress["to"],
            "page": f"/{job.area}/underway/{job.id}",
        },
        state=progress["state"],
        made=job.made,
        charges=progress["charges"],
        problem=job.problem,
    )


def _queries(context: RequestContext) -> list[dict[str, Any]]:
    return [_query_line(context, job, state) for job, state in context.queries.visible_jobs(context.visitor)]


def _query_line(context: RequestContext, job: QueryJob, state: str) -> dict[str, Any]:
    text = " ".join(job.query_request.text[: 20 * _LONGEST].split())
    words = f"make {text} more precise" if job.query_request.kind == "again" else text
    can_read = job.person == context.visitor.name or job.to.startswith("/a/")
    return _line(
        context,
        {
            "job": job.id,
            "kind": "batch" if job.query_request.kind == "batch" else "query",
            "words": words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…",
            "person": job.person,
            "stopping": job.stopping,
            "to": job.to if state == QueryJob.done and can_read else None,
        },
        state=state,
        made=job.made,
        charges=job.charges if state != "open" else [],
        problem=job.problem,
    )


def _attacks(context: RequestContext) -> list[dict[str, Any]]:
    """Attacks that this person started."""
    mine = [
        (key, trial)
        for key, trial in lab.ATTACK_QUEUE.trials()
        if context.visitor.may("owner") or trial.person == context.visitor.name
    ]
    return [_attack_line(context, key, trial) for key, trial in mine]


def _attack_line(context: RequestContext, key: TrialKey, trial: Trial) -> dict[str, Any]:
    title = next((each.title for each in ATTACKS if each.name == key.attack), key.attack)
    to = lab.trial_path(key)
    return _line(
        context,
        {
            "job": key.id,
            "kind": "attack",
            "words": title,
            "person": trial.person,
            "to": to if trial.state == "done" else None,
            "page": to,
            "sentence": trial.problem,
        },
        state=trial.state,
        made=trial.made,
    )


def _line(
    context: RequestContext,
    facts: dict[str, Any],
    *,
    state: str,
    made: int,
    charges: Sequence[str] = (),
    problem: Exception | None = None,
) -> dict[str, Any]:
    """A job in the list. facts: what differs from kind to kind."""
    charged = job_progress.charged_json(context.handle.project, charges)
    failed = state in ("failed", "stopped") and problem is not None
    trouble = page_problem(error_report_of(problem)) if failed and problem is not None else None
    usual = {"step": "", "share": None, "stopping": False, "stoppable": True, "page": None, "sentence": ""}
    return {
        **usual,
        **facts,
        "too_late": facts.get("stopping", False) and _STATES.get(state, state) == "done",
        "state": _STATES.get(state, state),
        "made": iso_time(made),
        "charged": charged,
        "epsilon": charged["epsilon"],
        "problem": trouble,
    }


def stop(context: RequestContext) -> HandlerResponse:
    """Stop a job at its next tick. What was charged stays charged."""
    id_ = context.params["job"]
    match id_[:2]:
        case "w-":
            job = job_queue_of(context).find(id_, context.visitor)
            job_progress.check_stoppable(job)
            job_queue_of(context).stop(job)
        case "j-":
            context.queries.cancel(id_, context.visitor)
        case _:
            _stop_attack(context, id_)
    return Redirect(to="/jobs")


def _stop_attack(context: RequestContext, id_: str) -> None:
    for key, trial in lab.ATTACK_QUEUE.trials():
        if key.id == id_ and (context.visitor.may("owner") or trial.person == context.visitor.name):
            lab.ATTACK_QUEUE.stop(key)
            return
    raise NotFound


ROUTES = (
    Route(method="GET", path="/jobs", handler=show, role="analyst"),
    Route(method="POST", path="/jobs/{job}/stop", handler=stop, role="analyst"),
)
