"""The JavaScript client against Python: the same bytes in, the same report out, for every protocol."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import playwright
import pytest

import discreet
from discreet.errors import UsageError
from discreet.surveys.protocols.grid_numbers import Duchi
from discreet.surveys.protocols.hadamard import HadamardResponse
from discreet.surveys.protocols.interval_tree import Tree
from discreet.surveys.protocols.laplace_record import LaplaceRecord
from discreet.surveys.protocols.local_hash import FastHashing, LocalHashing
from discreet.surveys.protocols.prefix_words import PrefixWords
from discreet.surveys.protocols.protocol_registry import PROTOCOL_CLASSES
from discreet.surveys.protocols.randomized_response import RandomizedResponse
from discreet.surveys.protocols.randomizer import Randomizer
from discreet.surveys.protocols.rappor import Rappor
from discreet.surveys.protocols.sketch import CountMeanSketch
from discreet.surveys.protocols.window_mechanism import Hybrid, Piecewise
from surveys.protocols import make_vectors
from surveys.protocols.every import law
from surveys.protocols.make_vectors import FRUIT, LISTS, MANY, YES_NO, Recorder, answers, randomize, randomizers, ties
from tiers import size

NODE = Path(playwright.__file__).parent / "driver" / "node"
RUNNER = Path(__file__).with_name("client.mjs")
CLIENT = Path(discreet.__file__).parent / "surveys" / "device" / "client" / "discreet-local.js"
#: Random tapes for each protocol, shared among its randomizers.
TAPES = size(400, 2_000)


@cache
def runner() -> subprocess.Popen[str]:
    """The one process of client.mjs. It ends with the input that this process gives it."""
    return subprocess.Popen([NODE, RUNNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")


def run(job: str, document: Any, client: Path = CLIENT) -> Any:
    """One job of client.mjs."""
    lines = runner()
    assert lines.stdin is not None and lines.stdout is not None
    lines.stdin.write(json.dumps({"job": job, "client": client.as_uri(), "document": document}) + "\n")
    lines.stdin.flush()
    said = json.loads(lines.stdout.readline())
    assert "fault" not in said, said
    return said["answer"]


def same(groups: list[dict[str, Any]]) -> None:
    """The client makes each report from its tape, and uses the tape up."""
    for group, made in zip(groups, run("reports", groups), strict=True):
        for case, found in zip(group["reports"], made, strict=True):
            assert found == {"report": case["report"], "left": 0}, (group["parameters"], case)


def test_the_vectors_are_those_of_today() -> None:
    assert make_vectors.HERE.read_text(encoding="utf-8") == make_vectors.text(), (
        "run tests/surveys/protocols/make_vectors.py"
    )


def test_the_client_makes_every_vector() -> None:
    same(json.loads(make_vectors.HERE.read_text(encoding="utf-8"))["vectors"])


def by_protocol() -> dict[str, list[Randomizer]]:
    found: dict[str, list[Randomizer]] = {}
    for randomizer in randomizers():
        found.setdefault(randomizer.protocol, []).append(randomizer)
    return found


PROTOCOLS = by_protocol()
#: Protocols that have no respondent's page: programs take part in them, through Python.
PROGRAMS = {"sampled", "split", "puzzle"}


def test_the_client_speaks_every_protocol_but_those_for_programs() -> None:
    assert set(PROTOCOLS) | PROGRAMS == set(PROTOCOL_CLASSES) and not set(PROTOCOLS) & PROGRAMS


@pytest.mark.thin(10)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_random_tapes_make_the_same_reports(protocol: str) -> None:
    each = -(-TAPES // len(PROTOCOLS[protocol]))
    same([fresh(randomizer, each) for randomizer in PROTOCOLS[protocol]])


def fresh(randomizer: Randomizer, many: int, *, seeded: bool = False) -> dict[str, Any]:
    """So many reports from new bytes (or from the same ones each time), every other one with ties among them."""
    values = answers(randomizer)
    cases = []
    for number in range(many):
        seed = str(number) if seeded else os.urandom(16).hex()
        recorder = Recorder(seed, ties(randomizer) if number % 2 else b"")
        report = randomize(randomizer, value := values[number % len(values)], recorder)
        cases.append({"value": value, "tape": recorder.tape.hex(), "report": report.hex()})
    return {"parameters": randomizer.parameters(), "reports": cases}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_client_computes_the_epsilon_itself(protocol: str) -> None:
    documents = [randomizer.parameters() for randomizer in PROTOCOLS[protocol]]
    for randomizer, found in zip(PROTOCOLS[protocol], run("epsilons", documents), strict=True):
        assert found["epsilon"] == pytest.approx(float(randomizer.epsilon), rel=1e-8)


def tampered() -> list[tuple[str, dict[str, Any]]]:
    """Documents of a survey that asks for more than it says, or for what nobody knows."""
    found: list[tuple[str, dict[str, Any]]] = []
    for kinds in PROTOCOLS.values():
        honest = kinds[0].parameters()
        cheap = {"epsilon": "1/1000", "costs": "1/1000"}
        found.append(("claims", {**honest, **cheap}))
        found.append(("more than", {**honest, "epsilon": "1000/1", "costs": "1000/1"}))
        found.append(("asked for", {**honest, "costs": "20/1"}))
        found.append(("cannot be read", {**honest, "costs": "1"}))
        found.append(("length of", {**honest, "width": honest["width"] + 1}))
        found.append(("do not match", {**honest, "numbers": {**honest["numbers"], "more": 1}}))
        found.append(("do not match", {**honest, "numbers": {}}))
        for name, number in honest["numbers"].items():
            for wrong in (-1, 0.5, None, "1", 2**60):
                found.append(("", {**honest, "numbers": {**honest["numbers"], name: wrong}}))
                for inner in number if isinstance(number, dict) else ():
                    spoilt = {**honest["numbers"], name: {**number, inner: wrong}}
                    found.append(("", {**honest, "numbers": spoilt}))
    honest = PROTOCOLS["response"][0].parameters()
    found.append(("does not support", {**honest, "protocol": "nothing"}))
    found.append(("does not support", {**honest, "protocol": "constructor"}))
    found.append(("not texts", {**honest, "options": {"choices": "ab"}}))
    found.append(("not texts", {**honest, "options": {"choices": ["", "b"]}}))
    found.append(("twice", {**honest, "options": {"choices": ["a", "a"]}}))
    found.append(("number of choices", {**honest, "options": {"choices": ["a", "b", "c"]}}))
    # The least lie that still costs what it claims, less one.
    found.append(("claims", {**honest, "numbers": {**honest["numbers"], "lie": honest["numbers"]["lie"] - 2**14}}))
    return found


def test_a_survey_that_does_not_fit_is_refused() -> None:
    cases = tampered()
    for (words, document), found in zip(cases, run("epsilons", [document for _, document in cases]), strict=True):
        assert words in found.get("refused", "not refused"), document


def small(kind: Any) -> Any:
    """One whose every report can be listed."""
    match kind.protocol:
        case "fast-hashing":
            return kind(FRUIT, epsilon="1.5", functions=3)
        case "basic-rappor":
            return kind(FRUIT[:2], epsilon="1.5")
    return kind(FRUIT, epsilon="1.5")


#: Local hashing has too many functions to list, and shares its chances with fast hashing.
LISTABLE = [kind for kind in LISTS if kind.protocol != "hashing"]


@pytest.mark.parametrize("kind", LISTABLE, ids=lambda kind: kind.protocol)
def test_the_chances_that_a_respondent_is_shown_are_the_law(kind: Any) -> None:
    made = small(kind)
    cases, expected = [], []
    for value in made.choices:
        for report, chance in law(made, value).items():
            cases.append({"parameters": made.parameters(), "value": value, "report": report.hex()})
            expected.append(float(chance))
    assert run("chances", cases) == pytest.approx(expected)


@pytest.mark.parametrize("kind", LISTS, ids=lambda kind: kind.protocol)
def test_what_a_report_is_said_to_name_is_what_it_counts_for(kind: Any) -> None:
    more = {"functions": 100} if kind.protocol == "fast-hashing" else {}
    made = kind(MANY, epsilon="2", **more)
    reports = made.randomize_all(MANY[: size(40, 100)])
    cases = [{"parameters": made.parameters(), "report": report.tobytes().hex()} for report in reports]
    for report, found in zip(reports, run("supported", cases), strict=True):
        supports = made.supports(report.reshape(1, -1))
        counted = supports[0] if supports.ndim == 2 else supports  # Hadamard response has a second row, its blocks
        assert found == [MANY[code] for code in counted.nonzero()[0]]


def test_hashes_are_the_standard_ones() -> None:
    messages = [(os.urandom(32), os.urandom(size)) for size in [*range(130), 1000]]
    cases = [{"key": key.hex(), "message": message.hex()} for key, message in messages]
    for (key, message), found in zip(messages, run("hashes", cases), strict=True):
        assert found["sha256"] == hashlib.sha256(message).hexdigest()
        assert found["hmac"] == hmac.digest(key, message, "sha256").hex()


def survey(name: str = "s1", epsilon: str = "1.1", choices: list[str] = YES_NO) -> dict[str, Any]:
    made = type(PROTOCOLS["unary"][0])(choices, epsilon=epsilon)  # type: ignore[call-arg]
    return {"survey": name, "randomizer": made.parameters()}


#: So many choices that two draws of one report are equal once in far more than a million times.
LONG = [f"choice {place}" for place in range(400)]


def test_a_reload_sends_the_same_bytes() -> None:
    asked = survey(choices=LONG)
    first, *again = run("device", {"steps": [{"survey": asked, "value": "choice 7"}] * size(100, 1_000)})["answers"]
    assert not first["repeated"] and all(answer["repeated"] for answer in again)
    assert {answer["report"] for answer in again} == {first["report"]}
    assert {answer["id"] for answer in again} == {first["id"]}
    assert {answer["lifetime"] for answer in again} == {first["lifetime"]} == {first["epsilon"]}


def test_a_report_is_stored_before_it_is_shown_and_the_answer_is_not() -> None:
    found = run("device", {"steps": [{"survey": survey(choices=LONG), "value": "choice 7"}]})
    stored = json.dumps(found["stored"])
    assert found["answers"][0]["written"] == 2  # the key and the report
    assert found["answers"][0]["report"] in stored and "choice" not in stored


def test_each_distinct_answer_costs_and_the_person_keeps_one_id() -> None:
    one, two = survey("s1", "1", LONG), survey("s2", "2", LONG)
    steps = [(one, "choice 1"), (one, "choice 2"), (one, "choice 1"), (two, "choice 1")]
    found = run("device", {"steps": [{"survey": asked, "value": value} for asked, value in steps]})["answers"]
    assert [round(answer["lifetime"], 6) for answer in found] == pytest.approx([1, 2, 2, 4], abs=1e-5)
    ids = [answer["id"] for answer in found]
    assert ids[0] == ids[1] == ids[2] != ids[3]
    assert all(len(bytes.fromhex(name)) == 16 for name in ids)
    assert len({answer["report"] for answer in found}) == 3


def test_what_cannot_be_remembered_or_afforded_is_refused() -> None:
    step = {"survey": survey(), "value": "yes"}
    for broken in ("throws", "forgets"):
        found = run("device", {"steps": [step], "broken": broken})
        assert "does not let the page store" in found["answers"][0]["refused"] and not found["stored"]
    steps = [step, {**step, "value": "no"}, step]
    first, second, third = run("device", {"steps": steps, "lifetime": 2})["answers"]
    assert "2.2" in second["refused"] and third["report"] == first["report"]


def test_a_survey_that_changes_its_numbers_is_a_new_question() -> None:
    steps = [{"survey": survey("s", epsilon, LONG), "value": "choice 1"} for epsilon in ("1", "2", "1")]
    first, second, third = run("device", {"steps": steps})["answers"]
    assert first["report"] == third["report"] != second["report"]
    assert third["lifetime"] == pytest.approx(3, abs=1e-5)


def test_an_answer_that_is_none_is_refused() -> None:
    for kinds in PROTOCOLS.values():
        steps = [
            {"survey": {"survey": "s", "randomizer": kinds[0].parameters()}, "value": value}
            for value in (None, "", "\ud800", {}, 3.3e99)
        ]
        for answer in run("device", {"steps": steps})["answers"]:
            assert "refused" in answer


# Documents that could be honest, and are not


def changed(randomizer: Randomizer, *, numbers: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """A document with some of its numbers, or fields, changed."""
    found = json.loads(json.dumps(randomizer.parameters()))
    return {**found, "numbers": {**found["numbers"], **(numbers or {})}, **fields}


def optioned(randomizer: Randomizer, **options: Any) -> dict[str, Any]:
    found = randomizer.parameters()
    return {**found, "options": {**found["options"], **options}}


def costlier() -> list[tuple[str, dict[str, Any]]]:
    """Numbers that fit each other and cost, by a part in ten million, more than is claimed; and numbers that cost
    no more and do not fit what the options say."""
    found: list[tuple[str, dict[str, Any]]] = []
    coins = {"lie": -1, "other": -1, "without": -1, "out": -1, "first": -1}
    for kinds in PROTOCOLS.values():
        for made in kinds:
            for name, sign in coins.items():
                heads = made.numbers().get(name)
                if isinstance(heads, int) and made.protocol != "duchi":
                    less = max(heads // 10**6, 1) * sign
                    words = "fair" if made.protocol == "two-coins" else "claims"
                    found.append((words, changed(made, numbers={name: heads + less})))
    tiny = RandomizedResponse(YES_NO, epsilon="1e-6")
    found.append(("claims", changed(tiny, numbers={"lie": tiny.lie.heads - 1})))
    rappor = Rappor(epsilon="4", once="2", wide=32)
    zero = rappor.layers.zero.heads
    found.append(("single", changed(rappor, numbers={"zero": zero - zero // 10**6})))
    found.append(("single", optioned(rappor, once="1999999/1000000")))
    found.append(("filters", optioned(rappor, cohorts=64)))
    found.append(("filters", optioned(rappor, functions=2)))
    found.append(("size of", optioned(CountMeanSketch(epsilon=2), wide=2048)))
    found.append(("number of hash functions", optioned(FastHashing(FRUIT, epsilon=1, functions=8), functions=9)))
    hashing = LocalHashing(FRUIT, epsilon="1")
    found.append(("hash does not fit", changed(hashing, numbers={"kept": hashing.kept - 1})))
    found.append(("number of steps", changed(Duchi(low=0, high=4, step=1, epsilon=1), numbers=_duchi(5))))
    hadamard = HadamardResponse(FRUIT, epsilon="1")
    for length in (hadamard.length * 3 // 2, 4):
        numbers = {"length": length, "blocks": 1, "without": hadamard.without.sides - 1}
        found.append(("blocks do not fit", changed(hadamard, numbers=numbers)))
    hybrid = Hybrid(low=0, high=4, step=1, epsilon="2")
    window = hybrid.numbers()["window"]
    sharper = {"window": {**window, "out": window["out"] - window["out"] // 10**6}}
    found.append(("claims", changed(hybrid, numbers=sharper)))
    found.extend(costlier_trees_and_words())
    wide = CountMeanSketch(epsilon=2, wide=1 << 16)
    long = {"numbers": {**wide.numbers(), "wide": 1 << 17}, "options": {**wide.options(), "wide": 1 << 17}}
    found.append(("longer", {**wide.parameters(), **long, "width": 1 + (1 << 14)}))
    return found


def costlier_trees_and_words() -> list[tuple[str, dict[str, Any]]]:
    """Of Laplace noise, trees and beginnings of words."""
    laplace = LaplaceRecord(low=0, high=4, step=1, epsilon="0.5")
    assert laplace.numbers() == {"steps": 4, "scale": "8/1", "far": 320}
    found = [("claims", changed(laplace, numbers={"scale": "7999999/1000000", "far": 320}))]
    found += [("fit its scale", changed(laplace, numbers={"far": far})) for far in (319, 321)]
    found += [("lowest", changed(laplace, numbers={"scale": "16/2"}))]
    found += [("out of range", changed(laplace, numbers={"scale": f"{10**12 + 1}/1"}))]
    tree = Tree(low=0, high=99, step=1, epsilon="1", fanout=3)
    levels = tree.numbers()["levels"]
    for level in levels:
        name = "lie" if level["protocol"] == "response" else "other"
        numbers = {**level["numbers"], name: level["numbers"][name] - level["numbers"][name] // 10**6}
        sharper = [{**each, **({"numbers": numbers} if each is level else {})} for each in levels]
        found.append(("claims", changed(tree, numbers={"levels": sharper})))
        shorter = [{**each, "width": each["width"] + (each is level)} for each in levels]
        found.append(("length of", changed(tree, numbers={"levels": shorter})))
    found.append(("levels", changed(tree, numbers={"levels": levels[1:]})))
    found.append(("tree", optioned(tree, fanout=4)))
    found.append(("tree", optioned(tree, oracle="subset")))
    found.append(("cannot be read", optioned(tree, oracle="hashing")))
    words = PrefixWords(epsilon=2, length=8, alphabet="ab")
    found.append(("fit its words", changed(words, numbers={"cuts": [5, 8]})))
    found.append(("out of range", optioned(words, groups=9)))
    found.append(("alphabet", optioned(words, alphabet="a\0")))
    return found


def _duchi(steps: int) -> dict[str, Any]:
    made = Duchi(low=0, high=steps, step=1, epsilon=1)
    return {"steps": made.steps, "first": made.first, "slope": made.slope}


def test_a_survey_that_costs_a_little_more_or_contradicts_itself_is_refused() -> None:
    cases = costlier()
    assert len(cases) > 60
    for (words, document), found in zip(cases, run("epsilons", [document for _, document in cases]), strict=True):
        assert words in found.get("refused", "not refused"), document


def test_a_document_has_one_text() -> None:
    """Unknown fields, ratios not in lowest terms and numbers written otherwise are refused: each would be new coins."""
    made, number = PROTOCOLS["response"][0], Duchi(low=0, high=4, step=1, epsilon=1)
    cases = [("unknown fields", {**made.parameters(), "junk": 1})]
    cases += [("options", optioned(each, junk=1)) for kinds in PROTOCOLS.values() for each in kinds[:1]]
    cases += [("options", optioned(each, planes=5)) for kinds in PROTOCOLS.values() for each in kinds[:1]]
    cases += [("lowest", {**made.parameters(), field: "22/20"}) for field in ("epsilon", "costs")]
    cases += [("cannot be read", {**made.parameters(), "epsilon": text}) for text in ("011/10", "1.1", "-1/1", "1/0")]
    cases += [("grid", optioned(number, low=low)) for low in ("0.0", "-0", "00", 0, ["0"], "0e0", " 0")]
    for (words, document), found in zip(cases, run("epsilons", [document for _, document in cases]), strict=True):
        assert words in found.get("refused", "not refused"), document


SPELLED = ["1e0", " 3", "+3", "3.", "  .5", "1e-1000", "0x1", "\u0967", "", "-0", "0e999", "1\n", "\ufeff1", "\x1c1", "\x851",
           "\u20031", "1\u00a0", "Infinity", "4.0000001", "1_0", "3,5", "00003", "1d0", True, None, [1], 2.5, 1e-7]  # fmt: skip


def test_both_sides_read_the_same_numbers() -> None:
    made = Duchi(low=0, high=4, step=1, epsilon=1)
    found = run("canonical", [{"parameters": made.parameters(), "value": value} for value in SPELLED])
    for value, said in zip(SPELLED, found, strict=True):
        try:
            expected: Any = str(made.code(value))
        except UsageError:
            assert "refused" in said, value
        else:
            assert said == expected, value


#: Faults that a client could have: what is written, and what would be written instead.
MUTANTS = [
    ("drawn[index] < byte", "drawn[index] <= byte"),
    ("&& below > 0) still", "&& below >= 0) still"),
    ("Math.ceil(count / 8)", "Math.floor(count / 8) + 1"),
    ("getBigUint64(8 * index, true)", "getBigUint64(8 * index, false)"),
    ("found[lane] >= bound", "found[lane] > bound"),
    ("truthful ? code : Number(!second)", "truthful ? code : Number(second)"),
    ("place + 1 + wholeBelow(many - 1, source)", "place + wholeBelow(many, source)"),
    ("bits[place] = !bits[place];", "bits[place] = true;"),
    ("held[code] = !without;", "held[code] = true;"),
    ("elsewhere < begin ?", "elsewhere <= begin ?"),
    ("place < start ? place", "place <= start ? place"),
    ("2n * (found - low) + step", "2n * (found - low)"),
    ('word.normalize("NFC")', "word"),
    ("(bit ? one[place] : zero[place])", "(bit ? zero[place] : one[place])"),
    ("this.window.outputs + this.bit.noised", "this.bit.noised"),
    ("(low + t * high) / s", "(low + t * high + 1n) / s"),
    ("if (negative && size === 0n) continue;", ""),
    ("flipped % 2n === 1n", "flipped % 2n === 0n"),
    ("this.levels.length - 1 - level", "this.levels.length - level"),
    ("counted ? this.counting : this.finding", "this.finding"),
    ("counted ? this.length : this.cuts[group]", "this.length"),
]
#: So few outputs that each is drawn often: both sides of every edge are seen.
EDGED = [
    HadamardResponse(FRUIT, epsilon="3", planes=1),
    Piecewise(low=0, high=4, step=1, epsilon="1", slide=1, planes=1),
]


@cache
def edged_groups() -> list[Any]:
    groups: list[Any] = json.loads(make_vectors.HERE.read_text(encoding="utf-8"))["vectors"]
    return groups + [fresh(randomizer, 500, seeded=True) for randomizer in EDGED]


@pytest.mark.parametrize(("right", "wrong"), MUTANTS)
def test_a_faulty_client_does_not_make_the_vectors(tmp_path: Path, right: str, wrong: str) -> None:
    source = CLIENT.read_text(encoding="utf-8")
    assert right in source
    faulty = tmp_path / "faulty.mjs"
    faulty.write_text(source.replace(right, wrong), encoding="utf-8")
    groups = edged_groups()
    made = [found for group in run("reports", groups, faulty) for found in group]
    expected = [{"report": case["report"], "left": 0} for group in groups for case in group["reports"]]
    assert made != expected
