"""/lab: every attack beside what withstands it, on generated people, run when somebody asks."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from discreet.console.answer import Answer, Grid, Missing, Page, Redirect
from discreet.console.laboratory.anonymity import measured
from discreet.console.laboratory.bench import Bench, Key, Trial
from discreet.console.laboratory.choices import CHOICES, chosen
from discreet.console.laboratory.words import SHOWS
from discreet.console.routes import Route
from discreet.console.visit import Visit
from discreet.lab.evidence import percent, sureness
from discreet.lab.registry import ATTACKS, Listed

#: Results are of generated people: everybody sees the same, and they are gone with the server.
BENCH = Bench()
#: How long a visit waits for what it started, before it is shown that it runs.
PATIENCE_S = 1.0


def index(visit: Visit) -> Answer:
    """All attacks side by side, with what was found so far."""
    found = [_line(listed, BENCH.look(_usual(listed))) for listed in ATTACKS]
    head = ("attack", "state", "success", "protected", "chance", "bound")
    grid = Grid(columns=head, rows=[[each[word] for word in head] for each in found])
    running = any(each["state"] in ("waiting", "running") for each in found)
    return Page(template="lab.html", data={"attacks": found, "running": running, "anonymity": measured()}, table=grid)


def show(visit: Visit) -> Answer:
    """One attack, with what is chosen about it."""
    listed = _listed(visit)
    wanted = chosen(listed.name, visit.asked)
    trial = BENCH.look(Key.of(listed.name, wanted))
    told = _line(listed, trial)
    data = {
        **told,
        "shows": list(SHOWS[listed.name]),
        "choices": [
            {"name": each.name, "words": each.words, "values": list(each.values), "chosen": wanted[each.name]}
            for each in CHOICES.get(listed.name, ())
        ],
        "found": _found(trial),
        "facts": {"columns": ["what", "value"], "rows": _facts(trial)},
    }
    grid = Grid(columns=("what", "value"), rows=data["facts"]["rows"])
    return Page(template="lab_attack.html", data=data, table=grid)


def run(visit: Visit) -> Answer:
    """Put an attack in line, and show where it stands."""
    listed = _listed(visit)
    wanted = chosen(listed.name, visit.field)
    key = Key.of(listed.name, wanted)
    BENCH.start([key], limit_s=visit.settings.deadline_s, again=visit.field("again") == "yes")
    BENCH.wait(key, PATIENCE_S)
    query = f"?{urlencode(wanted)}" if wanted else ""
    return Redirect(to=f"/lab/{listed.name}{query}#found")


def run_all(visit: Visit) -> Answer:
    """Put every attack in line that was not run yet."""
    BENCH.start([_usual(listed) for listed in ATTACKS], limit_s=visit.settings.deadline_s)
    return Redirect(to="/lab")


def _listed(visit: Visit) -> Listed:
    found = next((each for each in ATTACKS if each.name == visit.params["attack"]), None)
    if found is None:
        raise Missing
    return found


def _usual(listed: Listed) -> Key:
    return Key.of(listed.name, chosen(listed.name, lambda _, usual: usual))


def _line(listed: Listed, trial: Trial) -> dict[str, Any]:
    """An attack in the table of all: shares are None where they are not known."""
    found = trial.found
    return {
        "attack": listed.name,
        "title": listed.title,
        "falls": listed.falls,
        "stands": listed.stands,
        "state": trial.state,
        "why": trial.problem,
        "success": found.get("success"),
        "protected": found.get("protected"),
        "chance": found.get("chance"),
        "bound": found.get("allowed"),
        "breaks": found.get("breaks"),
        "falls_too": found.get("falls_too"),
        "chart": _chart(listed, trial),
    }


def _chart(listed: Listed, trial: Trial) -> dict[str, Any] | None:
    """Success without and with protection, beside chance and what the guarantee allows; in percent."""
    if trial.state != "done":
        return None
    words = (("unprotected", "success"), ("protected", "protected"), ("chance", "chance"), ("at most", "allowed"))
    bars = [
        {"label": word, "value": 100 * trial.found[key], "text": percent(trial.found[key])}
        for word, key in words
        if trial.found.get(key) is not None
    ]
    return {"chart": "bars", "title": f"{listed.title}: how often it succeeds, in percent", "bars": bars}


def _found(trial: Trial) -> dict[str, Any] | None:
    """What was found, and its picture, which this package drew."""
    if trial.state != "done":
        return None
    return {**trial.found, "picture": Markup(trial.found["picture"])}  # noqa: S704


def _facts(trial: Trial) -> list[list[str]]:
    """The evidence in words and numbers."""
    if trial.state != "done":
        return []
    found = trial.found
    low, high = found["confidence_interval"]
    told = {
        "success without protection": percent(found["success"]),
        f"between, at {sureness(found['confidence'])}": f"{percent(low)} to {percent(high)}",
        "by chance": percent(found["chance"]),
        "success with protection": _share(found["protected"], "not tried: nothing is released that could be attacked"),
        "the most that the guarantee allows": _share(found["allowed"], "no claim"),
        "tried on": f"{found['n']:,}",
        "CPU seconds": f"{found['seconds']:.2f}",
    }
    return [[what, value] for what, value in told.items()]


def _share(value: float | None, otherwise: str) -> str:
    return otherwise if value is None else percent(value)


ROUTES = (
    Route(method="GET", path="/lab", handler=index, role="analyst"),
    Route(method="POST", path="/lab", handler=run_all, role="analyst"),
    Route(method="GET", path="/lab/{attack}", handler=show, role="analyst"),
    Route(method="POST", path="/lab/{attack}", handler=run, role="analyst"),
)
