"""Whether the noise of a release was made for its unit of privacy: derived from what a bundle holds, and compared.

    answer            every vector, by the relation that it is counted from and the law stored beside it
    ranges, marginals every step taken again, with the stored strategy or parts, for the declared rows of a person
    description       every step taken again, by the declaration and what was drawn before it
    batch             every step taken again, with the stored strategies, for what a unit adds to the relation
    publish           every table counts a row once, so a person moves it by their rows
    model             so does every table that it was fitted to; what a choice was scored by is not in a bundle
    graph             every part, by the shape that is stored and how far a unit moves it

Nothing here reads data, and nothing is believed but the declaration and what was drawn. A kind for which nothing can be
derived is not checked, and says so.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from discreet import exact
from discreet.accounting import events
from discreet.accounting.events import (
    Event,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    PermuteAndFlipEvent,
    ReservationEvent,
    ThresholdEvent,
    TopKEvent,
    WeightedThresholdEvent,
)
from discreet.bundle.answer_replay import catalog_of, schema_of
from discreet.bundle.batch_replay import KIND as BATCH
from discreet.bundle.batch_replay import batch_queries, replay_batch
from discreet.bundle.networks import KINDS as NETWORKS
from discreet.bundle.networks import counted_of
from discreet.bundle.program_replay import ProgramReplay, ReplayMismatch
from discreet.bundle.verification_report import BundleCheck
from discreet.errors import DiscreetError
from discreet.graph.expected_events import expected_events
from discreet.graph.private_trait import declared_labels
from discreet.kernel.person_table import WEIGHT
from discreet.kernel.program import content_digest, step_digest, unpack_contents
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.threshold import delta_of
from discreet.mechanisms.topk import delta_of as topk_delta
from discreet.mechanisms.weighted_threshold import is_covered
from discreet.plan.cell_statistics import PersonCount, RowCount, statistic_data
from discreet.plan.expressions import TextCode
from discreet.plan.inquiry import Inquiry
from discreet.plan.relation import Scan
from discreet.schema.column import TextColumn
from discreet.schema.schema import Schema
from discreet.synth.fit_request import PERSONS
from discreet.tables.description.description_release import repeat_description
from discreet.tables.marginals.marginals_release import repeat_measurement
from discreet.tables.ranges.ranges_release import is_self_consistent, read_or_measure, stored_ruler

#: Of each kind of noise, what says how large it is, and how far what it is added to moves.
_NOISE = {"laplace": ("scale", "l1"), "gaussian": ("sigma2", "l2_squared")}


#: How keys are discovered.
_KEYS = ("threshold", "weighted-threshold", "top-k")

_COMPACT: dict[str, Any] = {"sort_keys": True, "separators": (",", ":")}


class _NotChecked(Exception):
    """The bundle does not hold what it would take."""


def check_noise(plan: Mapping[str, Any], derivation: Mapping[str, Any] | None) -> BundleCheck:
    """Whether every event of a release is noise of its law on numbers that one unit moves so far.

    `derivation`: of an answer to SQL, as its proof has it.

    Guarantee: where it holds, each event's sensitivity is that of the declared unit for what the bundle says was
        measured, and the steps of a program lose no more than its charge.
    """
    try:
        words = _check_program(plan) if derivation is None else _check_answer(derivation, plan)
    except ReplayMismatch as problem:
        return BundleCheck(name="noise", holds=False, words=str(problem))
    except _NotChecked as problem:
        return BundleCheck(name="noise", holds=None, words=f"not checked: {problem}")
    return BundleCheck(name="noise", holds=True, words=words)


def _check_answer(derivation: Mapping[str, Any], plan: Mapping[str, Any]) -> str:
    """Every vector of an answer: the law and the event beside it are those of the sensitivity that was derived."""
    question = derivation["question"]
    for stored in _measurements(derivation, plan):
        steps = derivation["measured"][stored["id"]]
        if sum(step["kind"] in _KEYS for step in steps) != bool(question["keys"]):
            raise ReplayMismatch("the release shows keys that no step discovered, or that were discovered twice")
        for step in steps:
            _check_answer_step(step, question["top"], doubled=plan["doubled"])
            if step["kind"] in _KEYS:
                part = stored["parts"][step["part"]]
                _check_keys(part, step["event"], width=len(question["keys"]))
                _check_counted(part["answers"], derivation)
    return "every event has enough noise for the declared privacy unit"


def _measurements(derivation: Mapping[str, Any], plan: Mapping[str, Any]) -> list[Any]:
    """What is stored under an answer: itself and earlier measurements of the same text, all of them charged."""
    release, payloads = plan["release"], plan["payloads"]
    own = json.loads(payloads[release])
    ids = [release, *own.get("also", ())]
    if len(set(ids)) < len(ids) or {*ids} != {*payloads} or {*ids} != {*derivation["measured"]}:
        raise ReplayMismatch("the bundle stores something that was not charged")
    stored = [json.loads(payloads[id_]) for id_ in ids]
    for id_, each in zip(ids, stored, strict=True):
        if (each["id"], each["text"]) != (id_, own["text"]) or not {*each.get("also", ())} <= {*own.get("also", ())}:
            raise ReplayMismatch("an earlier measurement is about something else")
        if sum(len(part.get("statistics", "1")) for part in each["parts"]) != len(derivation["measured"][id_]):
            raise ReplayMismatch("the bundle stores numbers that no step drew")
    read = {node["table"] for node in derivation["relation"] if node["node"] in ("scan", "roster")}
    if {*plan["schemas"]} != read:
        raise ReplayMismatch("the bundle declares a table that the query does not read")
    return stored


def _check_counted(answers: int | None, derivation: Mapping[str, Any]) -> None:
    """Noisy numbers that passed a threshold are of persons, which a unit moves by one; of rows, where it has one."""
    if answers is None:
        return
    statistics = sorted(derivation["question"]["statistics"], key=lambda each: json.dumps(each, **_COMPACT))
    alone = derivation["relation"][-1]["rows"] == 1
    counted = [statistic_data(each) for each in ((PersonCount(), RowCount()) if alone else (PersonCount(),))]
    if not 0 <= answers < len(statistics) or statistics[answers] not in counted:
        raise ReplayMismatch(
            "the counts of discovered keys are not counts of persons, so one privacy unit changes them more"
        )


def _check_answer_step(step: Mapping[str, Any], top: int | None, *, doubled: bool) -> None:
    event = step["event"]
    match step["kind"]:
        case "noise":
            law: Mapping[str, Any] = step["law"]
            drawn = "laplace" if event["kind"] == "refined" else event["kind"]
            size, moved = _NOISE.get(drawn, ("", ""))
            if law["kind"] != f"discrete-{drawn}" or event.get(size) != law.get(size):
                raise ReplayMismatch("an event names another noise distribution than the one that was drawn from")
            if not moved or event[moved] != step[moved]:
                raise ReplayMismatch("an event has too little noise for the declared privacy unit")
        case "quantile":
            _check_quantile([events.from_data(part) for part in event.get("events", ())])
        case "threshold":
            _check_threshold(events.from_data(event), step["threshold"], step["touched"])
        case "weighted-threshold":
            _check_weighted_threshold(events.from_data(event), step["threshold"], step["touched"])
        case _:
            if step["margin"] is None or event["choices"] != top:
                raise ReplayMismatch("the delta of the most common keys does not follow from any margin")
            if doubled:
                _check_changed(events.from_data(event), step)


def _check_changed(event: Event, step: Mapping[str, Any]) -> None:
    """Where exact totals are published, neighbours change one person: earlier versions charged less than that costs."""
    assert isinstance(event, TopKEvent)
    strangers = min(step["touched"], step["candidates"])
    if event.delta < topk_delta(event.epsilon, margin=step["margin"], strangers=strangers):
        raise ReplayMismatch("an exact total is published, and twice the delta of the most common keys is too little")


def _check_quantile(choices: list[Event]) -> None:
    """The choice of an estimate, and those of the two ends of its interval if it has one; all of one kind."""
    kinds = {type(choice) for choice in choices}
    is_valid = len(choices) in (1, 3) and kinds in ({ExponentialEvent}, {PermuteAndFlipEvent})
    if not is_valid or choices[1:2] != choices[2:]:
        raise ReplayMismatch("a quantile must be one choice, or one and two equal ones for the ends of its interval")


def _check_threshold(event: Event, threshold: int | None, touched: int) -> None:
    """Keys by a threshold: one person is in so many of them, and delta follows from that."""
    if not isinstance(event, ThresholdEvent) or threshold is None:
        raise ReplayMismatch("keys were discovered without a threshold")
    expected_delta = delta_of(DiscreteLaplace(scale=event.scale), keys_per_person=touched, threshold=threshold)
    if event.l1 != touched or event.delta != expected_delta:
        raise ReplayMismatch("a threshold is too low for the number of rows that a person can have")


def _check_weighted_threshold(event: Event, threshold: int | None, touched: int) -> None:
    """Keys by a threshold of weights: one person is in so many of them, and delta follows from that."""
    if not isinstance(event, WeightedThresholdEvent) or threshold is None:
        raise ReplayMismatch("keys were discovered without a threshold")
    if not is_covered(event, keys_per_person=touched, threshold=threshold):
        raise ReplayMismatch("a threshold is too low for the number of rows that a person can have")


def _check_keys(part: Mapping[str, Any], event: Mapping[str, Any], *, width: int) -> None:
    """Keys as they are stored: each noisy number reached its threshold, and choices of keys tell no numbers."""
    if any(len(key) != width for key in part["keys"]):
        raise ReplayMismatch("a discovered key does not have the columns of the query's keys")
    if event["kind"] == "weighted-threshold":
        if part["noisy"] or [part[name] for name in ("answers", "law")] != [None] * 2:
            raise ReplayMismatch("keys discovered by weights must not store numbers")
        return
    if event["kind"] != "threshold":
        if len(part["keys"]) > event["choices"]:
            raise ReplayMismatch("more of the most common keys are shown than were chosen")
        if part["noisy"] or part.get("cut") or [part[name] for name in ("answers", "law", "threshold")] != [None] * 3:
            raise ReplayMismatch("choices of the most common keys must not store numbers")
        return
    answers, noisy = part["answers"], part["noisy"]
    law = None if answers is None else {"kind": "discrete-laplace", "scale": event["scale"]}
    if part["law"] != law or len(noisy) != (0 if answers is None else len(part["keys"])):
        raise ReplayMismatch("the counts of discovered keys are not those that the threshold was applied to")
    if any(each < part["threshold"] for each in noisy):
        raise ReplayMismatch("the release shows a key whose noisy count is below its threshold")


def _check_program(plan: Mapping[str, Any]) -> str:
    """A reservation and its steps."""
    kind, event = str(plan["kind"]), events.from_data(plan["event"])
    stored = json.loads(plan["payloads"][plan["release"]])
    counted = counted_of(stored) if kind in NETWORKS else None
    joined = list(stored.get("tables", ())) if kind == "model" else []
    if kind != BATCH and {*plan["schemas"]} != {plan["table"], *joined, *(() if counted is None else counted[:1])}:
        raise ReplayMismatch("the bundle declares a table that the release does not read")
    if joined and [plan["schemas"][table]["version"] for table in joined] != stored["table_versions"]:
        raise ReplayMismatch("the bundle declares another version of a table than the release reads")
    taken = [events.from_data(step["event"]) for step in plan.get("steps", ())]
    if not isinstance(event, ReservationEvent) or not taken:
        raise _NotChecked(f"the sensitivity of the measurements is not derived for a release of kind {kind!r}")
    if not event.holds([events.loss(each) for each in taken]):
        raise ReplayMismatch("the steps lose more than was reserved")
    schema, release, payloads = schema_of(plan["table"], plan["schemas"]), plan["release"], plan["payloads"]
    numbers = range(1, len(taken) + 1)
    steps = [json.loads(payloads[f"{release}.{number}"]) for number in numbers]
    if set(payloads) != {release, *(f"{release}.{number}" for number in numbers)}:
        raise ReplayMismatch("the bundle stores something that no step drew")
    _check_contents(plan, stored, steps)
    if kind == BATCH:
        queries = batch_queries(payloads, release, catalog_of(plan["schemas"]))
        return replay_batch(plan, ProgramReplay(plan, schema, event), event, queries)
    if kind in ("ranges", "marginals", "description"):
        return _replay_steps(kind, ProgramReplay(plan, schema, event), json.loads(payloads[release]))
    if kind in NETWORKS:
        beside = None if counted is None else schema_of(counted[0], plan["schemas"])
        _check_groups(json.loads(payloads[release]), schema, beside)
        return _check_network(json.loads(payloads[release]), event, schema, taken, steps)
    if kind == "publish":
        if len(taken) != 1:
            raise ReplayMismatch("a publication must have exactly one step")
        _check_tables(taken[0], steps[0]["noisy"], schema.unit.rows)
        tables = len(parts_of(taken[0]))
        return f"one privacy unit changes each of {tables:,} tables by at most its {schema.unit.rows:,} rows"
    if kind == "model" and json.loads(payloads[release])["model"] == PERSONS:
        _check_persons(taken, steps, schema.unit.rows)
        raise _NotChecked("every step has noise for whole persons; what each of them counts is not in a bundle")
    if kind == "model":
        return _check_model(plan, taken, steps, schema)
    if kind == "comparison":
        _check_distances(taken, schema.unit.rows)
    raise _NotChecked(f"the sensitivity of the measurements is not derived for a release of kind {kind!r}")


def _check_contents(plan: Mapping[str, Any], stored: Mapping[str, Any], drawn: Sequence[Any]) -> None:
    """What a release says its steps measured has the digests that were charged. Earlier versions did not say it."""
    digests = [step["of"] for step in plan["steps"]]
    try:
        if "contents" in stored and [content_digest(each) for each in unpack_contents(stored["contents"])] != digests:
            raise ReplayMismatch("the steps measured something other than the release says")
        for each, digest in zip(drawn, digests, strict=True):
            if isinstance(each, Mapping) and "of" in each and step_digest(each["of"]) != digest:
                raise ReplayMismatch("a step measured something other than it says")
    except (ValueError, LookupError, TypeError, zlib.error) as problem:
        raise ReplayMismatch("what the steps measured cannot be read") from problem


def step_contents(plan: Mapping[str, Any]) -> str | None:
    """What the steps of ranges and batches measured, as text: of others their releases store it, or nobody knows it.

    None where the steps do not follow from the plan: then a checker has their digests alone.
    """
    kind, event = str(plan["kind"]), events.from_data(plan["event"])
    if kind not in ("ranges", BATCH) or not isinstance(event, ReservationEvent):
        return None
    payloads, release = plan["payloads"], plan["release"]
    program = ProgramReplay(plan, schema_of(plan["table"], plan["schemas"]), event)
    try:
        if kind == BATCH:
            queries = batch_queries(payloads, release, catalog_of(plan["schemas"]))
            replay_batch(plan, program, event, queries)
        else:
            _replay_steps(kind, program, json.loads(payloads[release]))
    except (ReplayMismatch, DiscreetError, ValueError, LookupError, TypeError):
        return None
    return program.content_text()


def _replay_steps(kind: str, program: ProgramReplay, stored: dict[str, Any]) -> str:
    """What holds all that its steps are made by: every one is made again, but for the draw."""
    schema = program.version.schema
    if kind == "ranges":
        column = schema.column(stored["column"])
        if column is None:
            raise ReplayMismatch("the ranges are of a column that is not declared")
        ruler = stored_ruler(stored, column)
        program.condition = stored.get("meaning")
        if not is_self_consistent(stored, ruler):
            raise ReplayMismatch("the description of the ranges' strategy does not follow from the strategy")
        read_or_measure(program, stored, ruler)
    elif kind == "description":
        own = {name: each for name, each in stored.items() if name != "contents"}
        if own != {"kind": kind, "steps": len(program.stored_steps), "columns": len(schema.columns)}:
            raise ReplayMismatch("the description is of other columns, or has another number of steps")
        repeat_description(program)
    else:
        repeat_measurement(program, stored)
    program.end()
    rows = schema.unit.rows
    return f"every step was derived again for privacy units of {rows:,} rows: its measurement, noise and event"


def _check_groups(stored: Mapping[str, Any], schema: Schema, beside: Schema | None) -> None:
    """Groups of a private attribute are all those that are declared: a person moves a number for each of them."""
    shape = stored.get("shape", {})
    is_labelled = shape.get("labelled", False)
    owner = schema if is_labelled else beside
    if not {"mixing", "homophily"} & {*shape.get("shares", ())} or not (is_labelled or shape["unit"] == "node"):
        return
    groups = None if owner is None else declared_labels(owner, str(shape["by"]), labelled=is_labelled)
    if groups is None or list(groups) != shape["labels"]:
        raise ReplayMismatch("the groups of the network are not those that its table declares")


def _check_network(
    stored: Mapping[str, Any], event: ReservationEvent, schema: Schema, taken: Sequence[Event], steps: Sequence[Any]
) -> str:
    unit = "node" if schema.unit.ends else "edge"
    request = stored["shape"] if "shape" in stored else stored["recipe"]
    limit = schema.unit.limit if unit == "node" else None
    if request["unit"] != unit or request["limit"] != limit or not (schema.unit.ends or schema.unit.is_row):
        raise ReplayMismatch("the network has another privacy unit than the declared one")
    chosen = int(steps[0]["chosen"]) if "limit" in request["shares"] else None
    if list(taken) != expected_events(stored, event, chosen=chosen, steps=steps):
        raise ReplayMismatch("an event has too little noise for the declared privacy unit")
    return f"every event has enough noise for one {unit}"


def parts_of(event: Event) -> tuple[Event, ...]:
    """The events of one step."""
    return event.events if isinstance(event, events.ComposedEvent) else (event,)


def _check_tables(event: Event, noisy: Sequence[Any], rows: int) -> None:
    """A step that measures tables in each of which a row is counted once: a unit moves each by its rows."""
    drawn = parts_of(event)
    if len(drawn) != len(noisy):
        raise ReplayMismatch("the number of tables differs from the number of events")
    for each in drawn:
        match each:
            case LaplaceEvent(l1=moved):
                most = rows
            case GaussianEvent(l2_squared=moved):
                most = rows**2
            case _:
                raise ReplayMismatch("a table was measured without noise")
        if moved != most:
            raise ReplayMismatch(f"the noise is for units of fewer rows than the {rows:,} that the table allows")


def _check_distances(taken: Sequence[Event], rows: int) -> None:
    """Distances of tables from a model: each row of a unit moves one by the same whole number, whichever that is."""
    for each in (part for event in taken for part in parts_of(event)):
        l1 = each.l1 if isinstance(each, LaplaceEvent) else 0
        l2_squared = each.l2_squared if isinstance(each, GaussianEvent) else 0
        if l1 % rows or l2_squared % rows**2:
            raise ReplayMismatch(f"the noise is for units of fewer rows than the {rows:,} that the table allows")


def _check_model(plan: Mapping[str, Any], taken: Sequence[Event], steps: Sequence[Any], schema: Schema) -> str:
    """The steps of a fit: tables, keys that were found, choices, and the magnitudes that these choose from."""
    rows, choices, searches = schema.unit.rows, 0, 0
    texts = _texts(schema, int(plan["version"]))
    for planned, event, drawn in zip(plan["steps"], taken, steps, strict=True):
        if isinstance(drawn, Mapping):
            _check_run(drawn, plan["release"], planned["event"])
        if isinstance(drawn, list):
            _check_tables(event, drawn, rows)
        elif isinstance(event, ThresholdEvent | WeightedThresholdEvent):
            if planned["of"] not in texts:
                raise ReplayMismatch("keys were discovered in something that is not a declared text column")
            (part,) = drawn["parts"]
            check = _check_threshold if isinstance(event, ThresholdEvent) else _check_weighted_threshold
            check(event, part["threshold"], 1 if texts[planned["of"]].constant else rows)
            _check_keys(part, events.to_data(event), width=1)
            if part["answers"] is not None:
                raise ReplayMismatch("the keys that a model was fitted to must not store numbers")
        elif all(isinstance(each, ExponentialEvent) for each in parts_of(event)):
            choices += 1
        elif {part["kind"] for part in drawn["parts"]} == {"cells"}:
            searches += 1
            _check_magnitudes(event, drawn["parts"])
        else:
            raise ReplayMismatch("a step is neither a table, nor a discovery of keys, nor a choice")
    if choices or searches:
        magnitudes = f"; {searches:,} found magnitudes of numbers, of which it does not say whose" if searches else ""
        raise _NotChecked(
            f"{len(taken) - choices - searches:,} steps have noise for privacy units of {rows:,} rows; {choices:,} are "
            f"choices, and a bundle does not contain their scores{magnitudes}"
        )
    return f"every step has noise for privacy units of {rows:,} rows"


def _check_magnitudes(event: Event, parts: Sequence[Mapping[str, Any]]) -> None:
    """Histograms of undeclared numbers: a unit is counted once in each, by a row or by an end of its rows."""
    drawn = parts_of(event)
    laws = [law for part in parts for law, _ in zip(part["laws"], part["noisy"], strict=True)]
    if len(drawn) != len(laws):
        raise ReplayMismatch("the number of tables differs from the number of events")
    for each, law in zip(drawn, laws, strict=True):
        match each:
            case LaplaceEvent(l1=1, scale=scale):
                expected = {"kind": "discrete-laplace", "scale": exact.write(scale)}
            case GaussianEvent(l2_squared=1, sigma2=sigma2):
                expected = {"kind": "discrete-gaussian", "sigma2": exact.write(sigma2)}
            case _:
                raise ReplayMismatch("magnitudes were measured with noise for something other than one unit")
        if law != expected:
            raise ReplayMismatch("an event names another noise distribution than the one that was drawn from")


def _check_persons(taken: Sequence[Event], steps: Sequence[Any], rows: int) -> None:
    """The steps of a model of persons: a person adds 1 to a table of records, WEIGHT to one of weighted rows, at most
    its rows to one of rows, and 1 to each of several numbers of persons."""
    for event, drawn in zip(taken, steps, strict=True):
        facts = [len(drawn)] if isinstance(drawn, list) else []
        for part in parts_of(event):
            match part:
                case LaplaceEvent(l1=moved):
                    allowed = [1, rows, WEIGHT, *facts]
                case GaussianEvent(l2_squared=moved):
                    allowed = [1, rows**2, WEIGHT**2, *facts]
                case _:
                    continue
            if moved not in allowed:
                raise ReplayMismatch("the noise of a step is for less than one person")


def _texts(schema: Schema, version: int) -> dict[str, TextColumn]:
    """The columns of text, by the digest that a step which finds their values has."""
    scan = Scan(table=schema.table, version=version)
    columns = [column for column in schema.columns if isinstance(column, TextColumn)]
    inquiries = [Inquiry(plan=scan, sets=((),), statistics=(), keys=(TextCode(column.name),)) for column in columns]
    return {step_digest({"run": each.question()}): column for each, column in zip(inquiries, columns, strict=True)}


def _check_run(drawn: Mapping[str, Any], release: str, event: Mapping[str, Any]) -> None:
    """What a step stores that ran an inquiry: the release's own, and of the event that was charged."""
    if (drawn["id"], drawn["text"], drawn.get("also", [])) != (release, "", []) or drawn["event"] != event:
        raise ReplayMismatch("a step stores something other than what was charged")
