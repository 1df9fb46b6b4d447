"""One attack in a process of its own, which can be ended: `python -m discreet.console.jobs.attack_trial NAME [JSON]`.

It writes one line of JSON. Its standard input stays open for as long as somebody waits for it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from discreet.console.console_text import console_text
from discreet.errors import DiscreetError
from discreet.lab.evidence import Evidence, best_under
from discreet.lab.pictures import inline_picture
from discreet.lab.registry import ATTACKS, AttackEntry

#: Other work of the machine goes first.
_NICE = 10


def run(name: str, chosen: Mapping[str, str]) -> dict[str, Any]:
    """The attack on generated people: without protection, and with it where that is tried."""
    listed = next(each for each in ATTACKS if each.name == name)
    if "epsilon" in chosen and listed.allowed is not None:
        listed = replace(listed, allowed=best_under(float(chosen["epsilon"])))
    evidence = _run_attack(listed, chosen)
    protected = _protected_evidence(listed, evidence)
    return {
        **evidence.to_data(),
        "confidence": evidence.confidence,
        "story": [sentence.strip() for sentence in (*evidence.story, *protected.pop("more"))],
        **protected,
        "picture": "" if evidence.picture is None else inline_picture(evidence.picture()),
    }


def _run_attack(listed: AttackEntry, chosen: Mapping[str, str]) -> Evidence:
    """The evidence, with what was chosen."""
    match listed.name:
        case "sampling":
            from discreet.lab.attacks import sampling

            return sampling.demo(share=float(chosen["share"]))
        case "differencing":
            from discreet.lab.attacks import differencing

            return differencing.attack(tale=chosen["tale"], epsilon=chosen["epsilon"])
        case "averaging":
            from discreet.lab.attacks import averaging

            return averaging.attack(repeats=int(chosen["repeats"]), epsilon=chosen["epsilon"])
        case "reconstruction":
            from discreet.lab.attacks import reconstruction

            people = int(chosen["people"])
            queries = people * int(chosen["questions"])
            return reconstruction.attack(people=people, queries=queries, noise=float(chosen["noise"]))
        case _:
            return listed.run()


def _protected_evidence(listed: AttackEntry, evidence: Evidence) -> dict[str, Any]:
    """How often the same attack succeeds where there is protection, and how often it may.

    None where there is nothing to attack: no row is released.
    """
    if listed.name == "census":
        return _census_with_noise()
    protected: dict[str, Any] = {
        "protected": listed.protected_success(evidence),
        "falls_too": listed.falls_too(evidence),
        "more": [],
    }
    if listed.name == "synthetic":
        # Beside the strongest attack on the copy stands the same attack on ours, not another one.
        ours = evidence.details["releases"][listed.protected_path[1]].get(evidence.details["strongest"])
        if ours is not None:
            return {**protected, "protected": ours["success"], "allowed": ours["bound"]}
    return {**protected, "allowed": listed.allowed_success(evidence)}


def _census_with_noise() -> dict[str, Any]:
    """The census block, published again under epsilon 1; chance and bound are of another game, and told in words."""
    from discreet.lab.attacks import census

    noisy = census.attack(census.seven_people(), epsilon=1, seconds=10.0)
    return {"protected": noisy.success, "allowed": None, "falls_too": noisy.breaks, "more": list(noisy.story)}


def _leave_with_the_server() -> None:
    """End when nobody waits any more: then standard input is closed."""
    while os.read(0, 1):  # not through sys.stdin, whose lock would be held at the end
        pass
    os._exit(1)


def main() -> None:
    """Read what is wanted, and write what was found, or why not."""
    os.nice(_NICE)
    threading.Thread(target=_leave_with_the_server, daemon=True).start()
    try:
        output = run(sys.argv[1], json.loads(sys.argv[2]) if len(sys.argv) > 2 else {})
    except DiscreetError as problem:
        output = {"error": console_text(problem.reason), "hint": console_text(problem.hint)}
    print(json.dumps(output, allow_nan=False), flush=True)


if __name__ == "__main__":
    main()
