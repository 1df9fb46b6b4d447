"""/lab: every attack beside what withstands it, on generated people, run when somebody asks."""

from __future__ import annotations

from functools import cache
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from discreet.console.jobs.attack_queue import AttackQueue, Trial, TrialKey
from discreet.console.pages.attack_descriptions import ATTACK_DESCRIPTIONS, CHOICES, read_choices
from discreet.console.request_context import RequestContext
from discreet.console.responses import HandlerResponse, NotFound, Page, PageTable, Redirect
from discreet.console.routes import Route
from discreet.lab.anonymize import AnonymityReport, anonymize, check
from discreet.lab.attacks import homogeneity
from discreet.lab.evidence import confidence_text, percent
from discreet.lab.registry import ATTACKS, AttackEntry
from discreet.lab.worlds import wards

#: Results are of generated people: everybody sees the same, and they are gone with the server.
ATTACK_QUEUE = AttackQueue()
#: How long a visit waits for what it started, before it is shown that it runs.
PATIENCE_S = 1.0

#: The table of patients is made k-anonymous for these k.
KS = (2, 5, 20)


def index(context: RequestContext) -> HandlerResponse:
    """All attacks side by side, with what was found so far."""
    lines = [_line(listed, ATTACK_QUEUE.current_trial(_default_key(listed))) for listed in ATTACKS]
    head = ("attack", "state", "success", "protected", "chance", "bound")
    grid = PageTable(columns=head, rows=[[each[word] for word in head] for each in lines])
    running = any(each["state"] in ("waiting", "running") for each in lines)
    return Page(
        template="lab.html",
        data={"attacks": lines, "running": running, "chart": _overview(lines), "anonymity": anonymity_lines()},
        table=grid,
    )


def show(context: RequestContext) -> HandlerResponse:
    """One attack, with what is chosen about it."""
    listed = _listed(context)
    choices = read_choices(listed.name, context.query_text)
    trial = ATTACK_QUEUE.current_trial(TrialKey.of(listed.name, choices))
    line = _line(listed, trial)
    data = {
        **line,
        "shows": list(ATTACK_DESCRIPTIONS[listed.name]),
        "choices": [
            {"name": each.name, "words": each.words, "values": list(each.values), "chosen": choices[each.name]}
            for each in CHOICES.get(listed.name, ())
        ],
        "found": _evidence_with_picture(trial),
        "facts": {"columns": ["what", "value"], "rows": _facts(trial)},
    }
    grid = PageTable(columns=("what", "value"), rows=data["facts"]["rows"])
    return Page(template="lab_attack.html", data=data, table=grid)


def run(context: RequestContext) -> HandlerResponse:
    """Put an attack in line, and show where it stands."""
    listed = _listed(context)
    choices = read_choices(listed.name, context.field)
    key = TrialKey.of(listed.name, choices)
    _start(context, [key], again=context.field("again") == "yes")
    ATTACK_QUEUE.wait(key, PATIENCE_S)
    return Redirect(to=f"{trial_path(key)}#found")


def trial_path(key: TrialKey) -> str:
    """The page of an attack with what was chosen about it."""
    return f"/lab/{key.attack}{f'?{urlencode(key.chosen)}' if key.chosen else ''}"


def run_all(context: RequestContext) -> HandlerResponse:
    """Put every attack in line that was not run yet."""
    _start(context, [_default_key(listed) for listed in ATTACKS])
    return Redirect(to="/lab")


def _start(context: RequestContext, keys: list[TrialKey], *, again: bool = False) -> None:
    person, made = context.visitor.name or "", int(context.people.clock())
    ATTACK_QUEUE.start(keys, limit_s=context.settings.deadline_s, again=again, person=person, made=made)


def _listed(context: RequestContext) -> AttackEntry:
    attack = next((each for each in ATTACKS if each.name == context.params["attack"]), None)
    if attack is None:
        raise NotFound
    return attack


def _default_key(listed: AttackEntry) -> TrialKey:
    return TrialKey.of(listed.name, read_choices(listed.name, lambda _, usual: usual))


def _line(listed: AttackEntry, trial: Trial) -> dict[str, Any]:
    """An attack in the table of all: shares are None where they are not known."""
    evidence = trial.evidence
    return {
        "attack": listed.name,
        "title": listed.title,
        "falls": listed.falls,
        "stands": listed.stands,
        "state": trial.state,
        "why": trial.problem,
        "success": evidence.get("success"),
        "protected": evidence.get("protected"),
        "chance": evidence.get("chance"),
        "bound": evidence.get("allowed"),
        "breaks": evidence.get("breaks"),
        "falls_too": evidence.get("falls_too"),
        "chart": _chart(listed, trial),
    }


def _overview(lines: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Every attack that was run: how often it succeeds without and with protection; from its own evidence."""
    names = {"first": "success", "second": "protected", "chance": "chance", "bound": "bound"}
    pairs = [
        {"label": each["title"]} | {bar: None if each[key] is None else 100 * each[key] for bar, key in names.items()}
        for each in lines
        if each["state"] == "done"
    ]
    if not pairs:
        return None
    words = ["unprotected", "protected", "by chance", "at most, by the guarantee"]
    return {"chart": "paired_bars", "title": "How often attacks succeed, in percent", "names": words, "pairs": pairs}


def _chart(listed: AttackEntry, trial: Trial) -> dict[str, Any] | None:
    """Success without and with protection, beside chance and what the guarantee allows; in percent."""
    if trial.state != "done":
        return None
    words = (("unprotected", "success"), ("protected", "protected"), ("chance", "chance"), ("at most", "allowed"))
    bars = [
        {"label": word, "value": 100 * trial.evidence[key], "text": percent(trial.evidence[key])}
        for word, key in words
        if trial.evidence.get(key) is not None
    ]
    return {"chart": "bars", "title": f"{listed.title}: how often it succeeds, in percent", "bars": bars}


def _evidence_with_picture(trial: Trial) -> dict[str, Any] | None:
    """What was found, and its picture, which this package drew."""
    if trial.state != "done":
        return None
    return {**trial.evidence, "picture": Markup(trial.evidence["picture"])}  # noqa: S704


def _facts(trial: Trial) -> list[list[str]]:
    """The evidence in words and numbers."""
    if trial.state != "done":
        return []
    evidence = trial.evidence
    low, high = evidence["confidence_interval"]
    facts = {
        "success without protection": percent(evidence["success"]),
        f"confidence interval, {confidence_text(evidence['confidence'])}": f"{percent(low)} to {percent(high)}",
        "by chance": percent(evidence["chance"]),
        "success with protection": _share(
            evidence["protected"], "not tried: nothing is released that could be attacked"
        ),
        "at most, by the guarantee": _share(evidence["allowed"], "no guarantee"),
        "tried on": f"{evidence['n']:,}",
        "CPU seconds": f"{evidence['seconds']:.2f}",
    }
    return [[what, value] for what, value in facts.items()]


def _share(value: float | None, otherwise: str) -> str:
    return otherwise if value is None else percent(value)


@cache
def anonymity_lines() -> list[dict[str, Any]]:
    """The table as it is, and made k-anonymous for a few k. The people and the method are always the same."""
    people = wards.patients()
    lines = [_anonymity_line("original", check(people, quasi=wards.QUASI, sensitive=[wards.SENSITIVE]), people)]
    for k in KS:
        made = anonymize(people, quasi=wards.QUASI, sensitive=[wards.SENSITIVE], k=k)
        lines.append(_anonymity_line(f"made {k}-anonymous", made.after, made.table))
    return lines


def _anonymity_line(name: str, report: AnonymityReport, table: Any) -> dict[str, Any]:
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


ROUTES = (
    Route(method="GET", path="/lab", handler=index, role="analyst"),
    Route(method="POST", path="/lab", handler=run_all, role="analyst"),
    Route(method="GET", path="/lab/{attack}", handler=show, role="analyst"),
    Route(method="POST", path="/lab/{attack}", handler=run, role="analyst"),
)
