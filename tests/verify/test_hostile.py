"""A bundle comes from anybody: whatever its files hold, the checker says a sentence and ends."""

import base64
import importlib
import json
import random
import zlib

import pytest

from verify import world
from verify.forging import checker, signed_again, verdicts

#: Bundles are made once for all tests of this folder, by whichever comes first.


def deep(levels):
    return '{"of":' * levels + "1" + "}" * levels


@pytest.mark.thin(6)
@pytest.mark.parametrize(
    "content",
    [
        b"", b"[]", b"{}", b"null", b"\xff\xfe", b"{" * 100_000, deep(50_000).encode(), b'{"files": 3}', b"9" * 10_000,
        b'{"files": {}, "files": {}}', b'{"format": NaN}', b'{"files": {}, "key": "zz", "signature": "zz"}',
    ],
)  # fmt: skip
def test_a_strange_manifest(content, tmp_path):
    (tmp_path / "manifest.json").write_bytes(content)
    assert world.recheck(tmp_path).returncode in (2, 3)


def test_no_bundle(tmp_path):
    (tmp_path / "file").write_text("x")
    for where in (tmp_path, tmp_path / "file", tmp_path / "nothing"):
        done = world.recheck(where)
        assert done.returncode == 3 and done.stdout == "" and "this is not a bundle" in done.stderr
    assert world.recheck(tmp_path, "--more").returncode == 3


@pytest.mark.parametrize("name", ["plan.json", "proof.json", "data.json", "card.yaml"])
@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b'{"a":1,"a":1}', deep(50_000).encode(), b"[NaN]"])
def test_strange_documents_that_are_signed(name, content, bundles):
    found = verdicts(signed_again(bundles["rows: sum"] | {name: content}))
    assert "broken" in found.values()


@pytest.mark.parametrize("name", ["plan", "proof", "data"])
def test_a_name_that_comes_twice_or_no_number_is_refused_where_all_else_is_right(name, bundles):
    """The last of two is the true one, which most readers take; others take the first."""
    content = bundles["rows: sum"][f"{name}.json"]
    assert "broken" not in verdicts(signed_again(bundles["rows: sum"])).values()
    first = {"plan": b'"event"', "proof": b'"total"', "data": b'"tables"'}[name]
    for more in (first + b": 1,", b'"more": NaN,', b'"more": -Infinity,'):
        twice = content.replace(b"{", b"{" + more, 1)
        assert verdicts(signed_again(bundles["rows: sum"] | {f"{name}.json": twice}))["documents"] == "broken"


def test_a_manifest_has_no_name_twice(bundles, tmp_path):
    folder = world.written(bundles["rows: sum"], tmp_path / "out")
    assert world.recheck(folder).returncode == 0
    told = (folder / "manifest.json").read_bytes()
    (folder / "manifest.json").write_bytes(told.replace(b"{", b'{"claims": {"epsilon": "1/100"},', 1))
    assert world.recheck(folder).returncode == 3


def test_what_is_stored_has_no_name_twice(bundles):
    def twice(plan):
        plan["payloads"][plan["release"]] = plan["payloads"][plan["release"]].replace("{", '{"event": 1,', 1)
        return plan

    assert verdicts(signed_again(bundles["rows: sum"], plan=twice))["documents"] == "broken"


def test_files_that_are_missing_changed_or_too_many(bundles, tmp_path):
    files = bundles["rows: count"]
    for name in files:
        few = world.written({key: value for key, value in files.items() if key != name}, tmp_path / f"no {name}")
        assert world.recheck(few).returncode == (3 if name == "manifest.json" else 2)
    assert verdicts(files | {"more.txt": b"x"})["files"] == "broken"
    assert verdicts(files | {"data.csv": files["data.csv"] + b" "}) == {"files": "broken"}
    folder = world.written(files, tmp_path / "link")
    (folder / "data.csv").rename(tmp_path / "data.csv")
    assert world.recheck(folder).returncode == 2
    (folder / "data.csv").symlink_to(tmp_path / "data.csv")  # the same bytes, as long as somebody leaves them there
    assert world.recheck(folder).returncode == 2


@pytest.mark.parametrize(
    "name", ["exact.csv", "data-2.csv", "data-1.csv", "data.json.bak", "\x1b[2J.txt", ".card.yaml"]
)
def test_files_that_are_signed_and_of_no_bundle(name, bundles):
    found = verdicts(signed_again(bundles["rows: count"] | {name: b"ill: Mr Smith"}))
    assert found == {"files": "proved", "signature": "proved", "documents": "broken"}


def test_a_file_that_is_missing_from_what_is_signed(bundles):
    files = bundles["rows: count"]
    for name in ("data.csv", "data.parquet", "card.html", "data.json", "proof.json"):
        few = {key: value for key, value in files.items() if key != name}
        assert verdicts(signed_again(few))["documents"] == "broken"
    assert verdicts(signed_again({key: value for key, value in files.items() if key != "chart.svg"})) == verdicts(files)


def test_whatever_stands_in_a_document_gives_a_sentence(bundles, monkeypatch):
    """Leaves and branches exchanged for what does not belong there, many at a time: never an exception."""
    monkeypatch.setattr(checker(), "signed", lambda *_: True)
    chance = random.Random(11)
    strange = [None, True, -1, 0, 10**400, 1.5, "", "1/0", "x" * 5000, [], {}, [[]], {"kind": "together", "events": []}]

    def mixed(data):
        if chance.random() < 0.02:
            return chance.choice(strange)
        if isinstance(data, dict):
            return {key: mixed(value) for key, value in data.items()}
        return [mixed(each) for each in data] if isinstance(data, list) else data

    for name in ("rows: sum", "rows: quantiles", "rows: discovered", "persons: person join", "persons: top"):
        for _ in range(30):
            document = chance.choice(["plan", "proof", "data"])
            found = verdicts(signed_again(bundles[name], **{document: mixed}))
            assert set(found.values()) <= {"proved", "open", "broken"}


def test_a_strategy_that_unpacks_to_very_much_is_left():
    checker()
    measured, relation = importlib.import_module("measured"), importlib.import_module("relation")
    strategies = importlib.import_module("strategies")
    bomb = {"type": "<i1", "data": base64.b64encode(zlib.compress(bytes(2**24))).decode()}
    with pytest.raises(relation.Open):
        measured.numbers(bomb)
    for strange in (b"not compressed", zlib.compress(bytes(3)), zlib.compress(bytes(8)) + b"163"):
        with pytest.raises(relation.Broken):
            measured.numbers({"type": "<i8", "data": base64.b64encode(strange).decode()})
    with pytest.raises(relation.Open):
        strategies.norms({"kind": "identity", "size": 10**12})
    with pytest.raises(relation.Open):
        strategies.norms({"kind": "product", "factors": [{"kind": "identity", "size": 10**5}] * 3})


def test_json_says_the_same(bundles, tmp_path):
    folder = world.written(bundles["persons: words"], tmp_path / "out")
    told = json.loads(world.recheck(folder, "--json").stdout)
    assert told["exit"] == 1 and [each["name"] for each in told["checks"] if each["verdict"] == "open"] == ["numbers"]
    assert "noise was drawn" in told["not_proved"]
