"""Statistics of networks for programs: a plan, free, and the measurement, which is paid once."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from discreet.console.jobs import network_statistics, release_store
from discreet.console.jobs.job_queue import Progress, job_queue_of
from discreet.console.jobs.release_json import without_infinities
from discreet.console.request_context import RequestContext
from discreet.console.responses import HandlerResponse, JsonData, RequestDenied

_AREA = "tables"
#: A program waits so long for its statistics; then it is told to come again.
PATIENCE_S = 60.0


def plan(context: RequestContext) -> HandlerResponse:
    """What statistics would cost, and how precise they would be."""
    wish = network_statistics.checked(context.body.to_wish())
    with job_queue_of(context).pricing_turn(context.visitor):
        quoted = network_statistics.quote_statistics(context.handle.project, wish)
    return JsonData(data=without_infinities(quoted))


def measure(context: RequestContext) -> HandlerResponse:
    """Measure, and pay, or read what is stored: what `discreet graph stats --json` prints.

    It is a job like those of the pages, so that the same limits hold. Sent again it costs nothing, and needs no key.
    """
    wish, project = network_statistics.checked(context.body.to_wish()), context.handle.project
    analyst = context.visitor.analyst
    made: dict[str, Any] = {}

    def act(tell: Progress) -> str:
        tell("measuring", 0.1)
        made.update(network_statistics.measure_statistics(project, wish, analyst=analyst))
        return network_statistics.page_of(made["release"])

    digest = hashlib.sha256(json.dumps(["network", wish, "api"], sort_keys=True).encode()).hexdigest()
    job_queue = job_queue_of(context)
    job = job_queue.start(context.visitor, act, area=_AREA, words=f"network of {wish['table']}", key=digest)
    if not job_queue.is_over_within(job, PATIENCE_S):
        raise RequestDenied(
            "The statistics are still being measured. Send the same request again later: it is paid once.",
            status=409,
            wait_s=5.0,
        )
    job.outcome()  # or the error
    if not made:  # another request of the same person began it: now it is stored
        made.update(network_statistics.measure_statistics(project, wish, analyst=analyst))
    return JsonData(data=without_infinities(release_store.to_json(made)))
