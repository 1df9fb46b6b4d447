"""The registry of attacks, and the page of what they found."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib import import_module

import pytest

from discreet.cli.attacks.all_attacks import _lines
from discreet.lab import pictures
from discreet.lab.evidence import Evidence, percent
from discreet.lab.registry import ATTACKS
from discreet.lab.report import page, verdict
from lab import demos

NAMES = [
    *("linkage", "ratings", "sampling", "homogeneity", "background", "minimality", "intersection", "differencing"),
    *("averaging", "reconstruction", "census", "auditing", "floats", "synthetic", "network"),
]


def found(success=0.9, **more):
    more = {"chance": 0.5, "n": 100, "seconds": 1.0, "interval": (success - 0.05, success + 0.05), **more}
    return Evidence(attack="example", success=success, **more)


def test_every_subject_is_listed_once():
    assert [listed.name for listed in ATTACKS] == NAMES


@pytest.mark.parametrize("listed", ATTACKS, ids=lambda listed: listed.name)
def test_every_attack_exists_and_is_a_verb(listed):
    from discreet.cli.attacks import attack_app

    module, _, function = listed.where.partition(":")
    assert callable(getattr(import_module(module), function))
    verbs = {command.name or command.callback.__name__ for command in attack_app.registered_commands}
    assert listed.name in verbs


#: Shown in the fast tier by their own tests.
SHOWN = {"auditing", "differencing", "network"}


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    "listed",
    [
        pytest.param(each, id=each.name, marks=pytest.mark.deep if each.name in SHOWN else ())
        for each in ATTACKS
        if each.protected_path and each.name != "synthetic"
    ],
)
def test_what_stands_was_tried(listed):
    """Where an attack is said to have been tried on what withstands it, the share is there, and near chance."""
    evidence = demos.shown(listed.name)
    assert evidence.breaks
    if "protected" in evidence.details:  # judged beside people who are not in it
        assert listed.protected_success(evidence) < evidence.success
    else:
        assert listed.protected_success(evidence) < 0.75 < evidence.success
    assert not listed.falls_too(evidence)


def test_every_attack_has_a_number_for_what_withstands_it():
    assert all(listed.protected_path for listed in ATTACKS)


@pytest.mark.parametrize("listed", [each for each in ATTACKS if each.protected_path], ids=lambda listed: listed.name)
def test_what_should_stand_and_does_not_is_said(listed):
    """The share is put where the attack tells it, just above and far above what is allowed."""
    allowed = listed.allowed or 0.525
    for share, falls in ((allowed - 0.01, False), (allowed + 0.001, False), (0.99, True)):
        details = share
        for key in reversed(listed.protected_path):
            details = [details] if isinstance(key, int) else {key: details}
        found = Evidence(
            attack=listed.name,
            success=1.0,
            chance=0.5,
            bound=0.525,
            n=1000,
            seconds=0.1,
            interval=(0.99, 1.0),
            details=details,
        )
        assert listed.protected_success(found) == share
        assert listed.falls_too(found) is falls
        assert ("ALSO BROKEN" in "".join(_lines([(listed, found)], []))) is falls
        assert ("also broken" in page([(listed, found)], version="0")) is falls


def test_what_is_no_evidence_is_refused():
    with pytest.raises(TypeError, match="no evidence"):
        replace(ATTACKS[0], where="builtins:dict").run()


class Outside(HTMLParser):
    """What a page would fetch."""

    def __init__(self):
        super().__init__()
        self.fetched, self.ids, self.links = [], [], []

    def handle_starttag(self, tag, attributes):
        told = dict(attributes)
        self.ids.append(told.get("id"))
        self.fetched += [tag] * (tag in {"script", "link", "img", "iframe", "object", "embed"})
        self.fetched += [told[name] for name in ("src", "srcset", "data", "xlink:href") if name in told]
        if tag == "a":
            self.links.append(told["href"])


def test_the_page_needs_nothing_else_and_holds_every_attack():
    def picture():
        return pictures.bars("<title>", {"one & two": 0.5}, marks={"chance": 0.5})

    evidence = found(story=("A <b>bold</b> tale.",), picture=picture, bound=0.7)
    text = page([(listed, evidence) for listed in ATTACKS], version="1.2.3")
    seen = Outside()
    seen.feed(text)
    assert not seen.fetched
    assert "url(" not in text and "@import" not in text
    assert {f"#{name}" for name in NAMES} == set(seen.links) and set(NAMES) <= set(seen.ids)
    assert "<b>bold</b>" not in text and "&lt;b&gt;bold" in text
    assert len(re.findall("<svg", text)) == len(NAMES)
    assert text.count("<style>") == 1  # a picture's own would reach the whole page
    assert "prefers-color-scheme: dark" in text and "width=device-width" in text and "@media print" in text
    assert f"{len(NAMES)} of them do significantly better" in text


def test_the_verdict_holds_success_against_chance_and_bound():
    assert verdict(found(0.9)) == "falls"
    assert verdict(found(0.52)) == "stands"
    assert verdict(found(0.7, bound=0.73)) == "stands"
    assert percent(0.5) == "50.0%"


def test_a_confidence_is_never_rounded_to_certainty():
    sure = replace(found(0.9), confidence=0.9975)
    assert "at 99.75%" in sure.lines()[0]
    assert "99.75% confidence interval" in page([(ATTACKS[0], sure)], version="1")


def test_an_interval_without_width_is_called_exact():
    assert "(exactly, n = 100)" in found(0.9, interval=(0.9, 0.9)).lines()[0]


def test_names_of_marks_stand_apart_and_beside_the_drawing():
    drawn = pictures.bars("t", {"a long name+of columns": 1.0, "b": 0.5}, marks={"chance": 0.5, "bound": 0.51})
    places = re.findall(r'<text x="([0-9.]+)" y="([0-9.]+)"[^>]*>(?:chance|bound) ', drawn)
    (left, first), (_, second) = ((float(x), float(y)) for x, y in places)
    assert abs(first - second) >= 14
    rights = [float(x) + float(width) for x, width in re.findall(r'<rect x="([0-9.]+)"[^>]*? width="([0-9.]+)"', drawn)]
    assert max(rights) < left
