"""A forger with a key: changes documents, makes all that follows fit by the checker's own rules, and signs."""

import contextlib
import importlib
import json
import re
from decimal import ROUND_CEILING, Context, Decimal

from discreet.bundle import sheet
from verify.forging import checker, signed_again

NAMES = ("plan", "proof", "data", "manifest")


def rules():
    """The checker's own modules, which a forger reads like everybody: relation, measured."""
    checker()
    return importlib.import_module("relation"), importlib.import_module("measured")


def opened(files):
    """The documents of a bundle."""
    return {name: json.loads(files[f"{name}.json"]) for name in NAMES}


def stored(plan):
    """What is stored under the release itself."""
    return json.loads(plan["payloads"][plan["release"]])


def store(plan, payload):
    plan["payloads"][plan["release"]] = json.dumps(payload)


def forged(files, change, *, card=lambda text: text):
    """The bundle after `change` of its documents: digests, losses, claims, cards and the signature fit again."""
    documents = opened(files)
    change(documents)
    text = files["card.yaml"].decode()
    if documents["plan"]["kind"] == "answer":
        text = _on_the_card(text, *_fitted(documents))
    lie = card(text)
    contents = {f"{name}.json": json.dumps(documents[name]).encode() for name in NAMES}
    contents |= csv_of(documents["data"])
    return signed_again(files | contents | {"card.yaml": lie.encode()})


def csv_of(data):
    """The tables once more as CSV, of those that are tables: a forger forgets nothing."""
    found = {}
    for turn, table in enumerate(data["tables"]):
        with contextlib.suppress(ValueError):
            found[f"data{f'-{turn + 1}' if turn else ''}.csv"] = sheet.to_csv(sheet.Sheet.from_data(table))
    return found


def derived(question, schemas, publics=()):
    """The relation of a question, as the checker derives it."""
    relation, _ = rules()
    return relation.Relation(question["plan"], schemas, iter(publics), 1)


def _fitted(documents):
    """Digest, losses, totals and claims as they follow from the plan; returns the total and its variant."""
    plan, proof, manifest = documents["plan"], documents["proof"], documents["manifest"]
    _, measured = rules()
    own, asked = stored(plan), proof["question"]
    own["event"] = plan["event"]
    store(plan, own)
    plan["question"] = measured.question_digest(asked)
    events = {plan["release"]: plan["event"]}
    events |= {one: json.loads(plan["payloads"][one])["event"] for one in own["also"]}
    proof["losses"] = {name: measured.as_text(measured.loss(event)) for name, event in events.items()}
    epsilon, rho, delta = measured.loss({"kind": "together", "events": list(events.values())})
    if plan["doubled"]:
        epsilon, rho, delta = None if epsilon is None else 2 * epsilon, 4 * rho, 2 * delta
    proof["total"] = measured.as_text((epsilon, rho, delta))
    proof |= {"doubled": plan["doubled"], "spent": plan["spent"], "limit": plan["guarantee"]}
    variant = "Zero-concentrated DP" if epsilon is None else "Approximate DP" if delta else "Pure DP"
    claims = {name: plan[name] for name in ("release", "kind", "table", "version", "privacy_unit")}
    neighbours = "change one" if plan["doubled"] else "add or remove one"
    manifest["claims"] = claims | proof["total"] | {"variant": variant, "neighbours": neighbours}
    return {"rho" if epsilon is None else "epsilon": epsilon or rho} | ({"delta": delta} if delta else {}), variant


def _on_the_card(text, parameters, variant):
    up = Context(prec=10, rounding=ROUND_CEILING)
    lines = "".join(
        f"      {name}: {float(up.divide(Decimal(each.numerator), Decimal(each.denominator)))!r}\n"
        for name, each in parameters.items()
    )
    text = re.sub(r"(    privacy_parameters:\n)(?: +[a-z]+: [0-9.e+-]+\n)+", lambda found: found[1] + lines, text)
    return re.sub(r'(dp_flavor:\n +name: ").*(")', lambda found: found[1] + variant + found[2], text)
