"""Every leaf of a plan, and of what is stored in it, changed alone: the bundle fails, or the leaf is named below."""

import copy
import json
import re
from dataclasses import replace
from itertools import islice

import pytest

from bundle.forged import made, style_of
from discreet.bundle import bundle_files, manifest
from discreet.bundle.signing_key import Signer
from discreet.bundle.verification import verify
from tiers import size
from verify.forging import worst

#: What the owner says, and nothing was measured by: bounds and values of columns that the release does not read. Of a
#: model also those that it does read, the words that were found, and its name: what it was fitted to is not here.
OWNER = r"schemas/visits/(population|declared/columns/\w+/(low|high|values(/\d+)?))"
HERE = re.compile(rf"{OWNER}|payloads/model/model|payloads/model\.\d/parts/0/keys/\d/0")
#: The independent checker reads no texts for people, and computes no averages, ranges, marginals and models anew. Its
#: report names those as open, so a noisy number or a found word in them can be another one.
PEOPLE = r"text|payloads/answer/text|explanation(/\d)?|warnings(/\d)?|about/\w+|unit_changes"
NUMBERS = (
    r"payloads/(answer|r-\w+)/parts/0/noisy/\d/\d|payloads/answer/parts/0/keys/\d/0|payloads/\w+\.\d/\d/\d"
    r"|payloads/ranges/(adaptive|column|edges(/\d)?|expected_rmse|mean_variance|name|only|words|strategy/(kind|size))"
    r"|payloads/marginals/parts/0/\d(/\d)?"
)
THERE = re.compile(rf"{HERE.pattern}|{PEOPLE}|{NUMBERS}")
KINDS = ["count", "keys", "again", "ranges", "marginals", "model"]


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(tmp_path_factory.mktemp("state")))
        yield made(tmp_path_factory.mktemp("project") / "p")


def leaves(data, path=()):
    """Every place; of long lists the first two."""
    if path:
        yield path, data
    if isinstance(data, dict | list):
        for key in list(data) if isinstance(data, dict) else range(min(len(data), 2)):
            yield from leaves(data[key], (*path, key))


def others(value):
    """What it could be instead; an empty list is what a list without anything is."""
    yield {"exactly": 163}
    yield "exactly 163"
    if isinstance(value, int):
        yield value + 123457
    if isinstance(value, list):
        yield [*value, "exactly 163"]


def forgeries(content):
    """The name of each place, and the files with another value there."""
    files = bundle_files.signed_files(content, Signer.load_or_make())
    plan = json.loads(files["plan.json"])
    styles = {name: style_of(text) for name, text in plan["payloads"].items()}
    plan["payloads"] = {name: json.loads(text) for name, text in plan["payloads"].items()}
    told = manifest.read(files["manifest.json"]).manifest
    for path, value in leaves(plan):
        for other in others(value):
            forged = copy.deepcopy(plan)
            inner = forged
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = other
            if path[0] == "payloads" and len(path) == 1:
                continue
            forged["payloads"] = {name: json.dumps(each, **styles[name]) for name, each in forged["payloads"].items()}
            changed = files | {"plan.json": bundle_files.plan_file(forged)}
            digests = told.files | {"plan.json": manifest.digest(changed["plan.json"])}
            named = "/".join(map(str, path)).replace(content.release, content.kind)
            yield named, other, changed | {"manifest.json": replace(told, files=digests).sign(Signer.load_or_make())}


def holding(content, folder):
    """Places that can be changed, for either verifier, and no check fails. In the fast tier one forgery in three."""
    here, there = set(), set()
    for number, (name, _, files) in enumerate(islice(forgeries(content), 0, None, size(3, 1))):
        bundle_files.write(files, folder / str(number))
        if verify(folder / str(number)).state != "fails":
            here.add(name)
        if worst(files) != "broken":
            there.add(name)
    return here, there


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "model" else pytest.mark.deep) for name in KINDS]
)
def test_every_leaf(name, contents, tmp_path):
    here, there = holding(contents[name], tmp_path)
    assert not [each for each in here if not HERE.fullmatch(each)]
    assert not [each for each in there if not THERE.fullmatch(each)]
