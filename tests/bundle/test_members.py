"""Bundles that hold more than is read of them, made and signed by an insider with the product's own code."""

import base64
import io
import json
from dataclasses import replace
from fractions import Fraction

import pyarrow.parquet
import pytest

from bundle.test_noise import PROGRAMS, SQL, contents  # noqa: F401 - a fixture
from discreet.accounting import events
from discreet.bundle import bundle_files, manifest
from discreet.bundle.signing_key import Signer
from discreet.bundle.verification import verify
from discreet.errors import LedgerFault
from discreet.kernel.measurement import Measurement
from discreet.mechanisms.laplace import DiscreteLaplace
from verify.forging import worst

SIGN = {"sort_keys": True, "separators": (",", ":")}


def judged(files, folder):
    """What either verifier says, and the words of what fails here."""
    bundle_files.write(files, folder)
    report = verify(folder)
    return report.state, worst(files), " ".join(check.words for check in report.checks if check.holds is False)


def signed(files):
    told = manifest.read(files["manifest.json"]).manifest
    digests = {name: manifest.digest(files[name]) for name in sorted(files) if name != "manifest.json"}
    return files | {"manifest.json": replace(told, files=digests).sign(Signer.load_or_make())}


def in_plan(change):
    """The plan after a change, and all else as it was, written as Discreet writes it."""

    def lie(content):
        files = bundle_files.signed_files(content, Signer.load_or_make())
        plan = json.loads(files["plan.json"])
        change(plan)
        return signed(files | {"plan.json": bundle_files.plan_file(plan)})

    return lie


def in_payload(number, change):
    """What a release stores, or one of its steps; all that follows is made anew by the product's own code."""

    def lie(content):
        name = f"{content.release}.{number}" if number else content.release
        data = change(json.loads(content.payloads[name]))
        text = json.dumps(data, **({} if not number and "text" not in data else {"separators": (",", ":")}))
        return bundle_files.signed_files(
            replace(content, payloads={**content.payloads, name: text}), Signer.load_or_make()
        )

    return lie


def in_file(name, change):
    def lie(content):
        files = bundle_files.signed_files(content, Signer.load_or_make())
        return signed(files | {name: change(files[name])})

    return lie


def with_note(content):
    """A Parquet file of the same table, with a text beside it."""
    table = pyarrow.parquet.read_table(io.BytesIO(content)).replace_schema_metadata({"exact": "163"})
    stream = io.BytesIO()
    pyarrow.parquet.write_table(table, stream)
    return stream.getvalue()


def exact(data):
    return data | {"exact": 163}


def in_part(data):
    return data | {"parts": [exact(part) for part in data["parts"]]}


def in_law(data):
    (part, *rest) = data["parts"]
    return data | {"parts": [part | {"laws": [exact(law) for law in part["laws"]]}, *rest]}


def packed(data):
    """Something behind packed numbers, whatever they are."""
    told = base64.b64encode(base64.b64decode("eJxjYGBgAAAABAAB") + b"163").decode()
    return data | {"noisy": [{"type": "<i4", "data": told}]}


def labelled(plan):
    data = json.loads(plan["payloads"][plan["release"]])
    data["called"]["labels"][0][0] = exact({})
    plan["payloads"][plan["release"]] = json.dumps(data)


KINDS = {"kinds": ["F exactly 163"]}
#: The bundle, the lie, and what the failing check names.
LIES = {
    "the plan": ("count", in_plan(lambda plan: plan.update(exact=163)), "'exact'"),
    "the plan of ranges": ("ranges", in_plan(lambda plan: plan.update(exact=163)), "'exact'"),
    "the plan of marginals": ("marginals", in_plan(lambda plan: plan.update(exact=163)), "'exact'"),
    "the plan of a publication": ("publish", in_plan(lambda plan: plan.update(exact=163)), "'exact'"),
    "the plan of a model": ("independent", in_plan(lambda plan: plan.update(exact=163)), "'exact'"),
    "a step": ("ranges", in_plan(lambda plan: plan["steps"][0].update(exact=163)), "'exact'"),
    "a limit": ("count", in_plan(lambda plan: plan["guarantee"].update(exact=163)), "the limit"),
    "kinds": ("count", in_plan(lambda plan: plan["schemas"]["visits"]["persons"][0].update(KINDS)), "163"),
    "a declaration": ("count", in_plan(lambda plan: plan["schemas"]["visits"]["declared"].update(exact=1)), "plan"),
    "a warning": ("count", in_plan(lambda plan: plan.update(warnings=[163])), "warnings"),
    "a together": ("keys and quantiles", in_plan(lambda plan: plan["event"].update(exact=163)), "event"),
    "what an answer stores": ("count", in_payload(0, exact), "'exact'"),
    "a part": ("count", in_payload(0, in_part), "'exact'"),
    "a law": ("count", in_payload(0, in_law), "'exact'"),
    "what ranges store": ("ranges", in_payload(0, exact), "'exact'"),
    "a law of ranges": ("ranges", in_payload(0, lambda data: data | {"law": exact(data["law"])}), "'exact'"),
    "a strategy": ("ranges", in_payload(0, lambda data: data | {"strategy": exact(data["strategy"])}), "'exact'"),
    "beside ranges": ("ranges", in_payload(1, lambda data: data | {"beside": {"exact": 163}}), "strategy"),
    "a step of ranges": ("ranges", in_payload(1, exact), "'exact'"),
    "behind packed numbers": ("ranges", in_payload(1, packed), "packed"),
    "what marginals store": ("marginals", in_payload(0, exact), "'exact'"),
    "a step of marginals": ("marginals", in_payload(1, lambda data: [*data, exact({})]), "'exact'"),
    "what a publication stores": ("publish", in_payload(0, exact), "'exact'"),
    "the cells of a publication": (
        "publish", in_payload(0, lambda data: data | {"called": exact(data["called"])}), "'exact'"
    ),
    "what a model stores": ("independent", in_payload(0, exact), "'exact'"),
    "a step of a model": ("independent", in_payload(1, lambda data: [*data, {"exact": 163}]), "'exact'"),
    "a text in a step": ("independent", in_payload(1, lambda data: [*data, "exactly 163"]), "whole number"),
    "an object in a list": ("ranges", in_payload(0, lambda data: data | {"edges": [exact({})]}), "'exact'"),
    "a label of a publication": ("publish", in_plan(labelled), "'exact'"),
    "another text of the plan": ("count", in_plan(lambda plan: plan.update(text=plan["text"] + " -- F 163")), "text"),
    "another explanation": ("sum", in_plan(lambda plan: plan.update(explanation=["F 163"])), "explanation"),
    "another warning": ("marginals", in_plan(lambda plan: plan.update(warnings=["F 163"])), "warnings"),
    "a title of ranges": ("ranges", in_plan(lambda plan: plan.update(text="F 163")), "text"),
    "a confidence": ("count", in_plan(lambda plan: plan.update(confidence="950163/1000000")), "confidence"),
    "data.json": ("count", in_file("data.json", lambda data: data.replace(b"{", b'{"exact": 163,', 1)), "data.json"),
    "spaces of the plan": ("count", in_file("plan.json", lambda data: data + b" " * 163), "format"),
    "a name twice": ("count", in_file("plan.json", lambda data: data.replace(b"{", b'{"text": "163",', 1)), "format"),
    "Parquet": ("count", in_file("data.parquet", with_note), "data.parquet"),
}  # fmt: skip
#: What the checker in verify/ does not compare: how files are spelled, Parquet, and texts for people.
NOT_READ = (
    "spaces of the plan", "Parquet", "another text of the plan", "another explanation", "another warning",
    "a title of ranges",
)  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_an_unknown_member_fails_and_is_named(name, contents, tmp_path):  # noqa: F811
    of, lie, named = LIES[name]
    state, checker, words = judged(lie(contents[of]), tmp_path / "out")
    assert state == "fails" and named in words, words
    assert checker == "broken" or name in NOT_READ


@pytest.mark.thin(6)
@pytest.mark.parametrize("name", [*SQL, *PROGRAMS])
def test_what_is_honest_has_no_unknown_member(name, contents, tmp_path):  # noqa: F811
    state, checker, words = judged(bundle_files.signed_files(contents[name], Signer.load_or_make()), tmp_path / "out")
    assert state != "fails" and checker != "broken" and not words


def test_a_measurement_of_an_older_program_is_read():
    """Members that came later may be missing; no other one may be there."""
    law = DiscreteLaplace(scale=Fraction(1))
    own = Measurement(id="r-1", text="", parts=(), event=law.event(l1=1))
    data = json.loads(own.to_text())
    del data["also"]
    assert Measurement.from_text(json.dumps(data)) == own
    with pytest.raises(LedgerFault, match="'exact'"):
        Measurement.from_text(json.dumps(exact(data)))


def test_a_together_event_has_no_other_member():
    parts = events.ComposedEvent(events=(DiscreteLaplace(scale=Fraction(1)).event(l1=1),) * 2)
    assert events.from_data(events.to_data(parts)) == parts
    with pytest.raises(LedgerFault):
        events.from_data(exact(events.to_data(parts)))


def test_an_event_that_is_none_is_a_failing_check(contents, tmp_path):  # noqa: F811
    """And no fault of a ledger, which there is none of here: the report says so, and the exit code is 5."""
    for turn, (name, change) in enumerate({
        "count": lambda plan: plan["event"].update(l1="many"),
        "sum": lambda plan: plan.update(event={"kind": "newer"}),
        "ranges": lambda plan: plan["steps"][0].update(event=[]),
        "keys": lambda plan: plan["payloads"].update({plan["release"]: '{"event":{"kind":"laplace"}}'}),
    }.items()):  # fmt: skip
        state, _, words = judged(in_plan(change)(contents[name]), tmp_path / str(turn))
        assert state == "fails" and "the event was not written by Discreet" in words
