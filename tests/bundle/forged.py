"""Bundles of persons with three rows each, and what an insider with the product's own code makes of them."""

import csv
import json
import random
from dataclasses import replace

import discreet
from discreet.accounting import events
from discreet.bundle import answer_replay, bundle_files
from discreet.bundle.content import content_of
from discreet.bundle.signing_key import Signer
from discreet.bundle.verification import _derivation, verify
from verify.forging import worst

DECLARED = """
[tables.visits]
source = "visits.csv"
person = "id"
rows_per_person = 3
budget = { epsilon = 900.0, delta = 1e-3 }
columns.sex = { type = "category", values = ["F", "M"] }
columns.ward = { type = "category", values = ["a", "b"] }
columns.age = { type = "integer", low = 0, high = 99 }
columns.town = { type = "text", constant = true }
columns.word = { type = "text" }

[tables.stays]
source = "visits.csv"
person = "id"
budget = { epsilon = 900.0, delta = 1e-3 }
columns.sex = { type = "category", values = ["F", "M"] }
"""
SQL = {
    "count": "SELECT sex, count(*) AS n FROM visits GROUP BY sex",
    "rows of a town": "SELECT town, count(*) AS n FROM visits GROUP BY town",
    "sum of a town": "SELECT town, sum(age) AS s FROM visits GROUP BY town",
    "keys": "SELECT word, sex, count(DISTINCT id) AS k, sum(age) AS s FROM visits GROUP BY word, sex",
    "most common": "SELECT word FROM visits GROUP BY word ORDER BY count(DISTINCT id) DESC LIMIT 1",
    "median": "SELECT sex, median(age) AS m FROM visits GROUP BY sex",
}
COMPACT = {"sort_keys": True, "separators": (",", ":")}


def made(folder):
    """What bundles of several kinds tell."""
    rng = random.Random(1)
    folder.mkdir(parents=True)
    with (folder / "visits.csv").open("w", newline="") as stream:
        rows = [
            [
                f"p{each // 2}",
                rng.choice("FM"),
                rng.choice("ab"),
                rng.randrange(100),
                "tu"[each // 2 % 2],
                "vw"[each % 2],
            ]
            for each in range(600)
        ]
        csv.writer(stream).writerows([["id", "sex", "ward", "age", "town", "word"], *rows])
    (folder / "discreet.toml").write_text(DECLARED)
    project = discreet.init(folder)
    found = {name: project.sql(text).ask(epsilon=5).id for name, text in SQL.items()}
    found["again"] = project.again(
        project.sql("SELECT ward, count(*) FROM visits GROUP BY ward").ask(epsilon=1).id, epsilon=1
    ).id
    found["ranges"] = project.ranges("visits", "age", epsilon=1, strategy="identity").release
    found["marginals"] = project.marginals("visits", ["sex", "ward"], epsilon=1).release
    model = project.synthesize("visits", epsilon=5, columns=["sex", "word", "town"], model="independent")
    found["model"] = model.card.release
    return {name: content_of(project, release) for name, release in found.items()}


def with_payloads(content, change):
    """The content after a change of what is stored (name to data), with tables and a derivation that follow."""
    styles = {name: style_of(text) for name, text in content.payloads.items()}
    data = {name: json.loads(text) for name, text in content.payloads.items()}
    change(data, content.release)
    payloads = {name: json.dumps(each, **styles.get(name, COMPACT)) for name, each in data.items()}
    own = data[content.release]
    event = events.from_data(own["event"]) if "event" in own else content.event
    return with_tables(replace(content, payloads=payloads, event=event))


def with_tables(content):
    if content.kind != "answer":
        return content
    catalog = answer_replay.catalog_of(content.schemas)
    sheets = answer_replay.sheets_of(
        content.release, content.payloads, catalog, question=content.question, confidence=content.confidence
    )
    content = replace(content, sheets=sheets)
    return replace(content, derivation=_derivation(content.to_plan()))


def judged(content, folder):
    """What either verifier says of the bundle, and which checks of `release verify` fail."""
    files = bundle_files.signed_files(content, Signer.load_or_make())
    bundle_files.write(files, folder)
    report = verify(folder)
    return report.state, worst(files), [check.name for check in report.checks if check.holds is False]


def style_of(text):
    data = json.loads(text)
    ways = ({}, {"separators": (",", ":")}, COMPACT)
    return next(way for way in reversed(ways) if json.dumps(data, **way) == text)
