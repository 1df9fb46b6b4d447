"""One attack in a process of its own, which can be ended: `python -m discreet.console.laboratory.trial NAME [JSON]`.

It writes one line of JSON. Its standard input stays open for as long as somebody waits for it.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from discreet.errors import DiscreetError
from discreet.lab.evidence import Evidence, best_under
from discreet.lab.pictures import COLOURS
from discreet.lab.registry import ATTACKS, Listed

#: Other work of the machine goes first.
_NICE = 10


def run(name: str, chosen: Mapping[str, str]) -> dict[str, Any]:
    """The attack on generated people: without protection, and with it where that is tried."""
    listed = next(each for each in ATTACKS if each.name == name)
    if "epsilon" in chosen and listed.allowed is not None:
        listed = replace(listed, allowed=best_under(float(chosen["epsilon"])))
    found = _found(listed, chosen)
    protected = _protected(listed, found)
    return {
        **found.to_data(),
        "confidence": found.confidence,
        "story": [sentence.strip() for sentence in (*found.story, *protected.pop("more"))],
        **protected,
        "picture": "" if found.picture is None else repainted(found.picture()),
    }


def _found(listed: Listed, chosen: Mapping[str, str]) -> Evidence:
    """The evidence, with what was chosen."""
    match listed.name:
        case "sampling":
            from discreet.lab import sampling

            return sampling.demo(share=float(chosen["share"]))
        case "differencing":
            from discreet.lab import differencing

            return differencing.attack(tale=chosen["tale"], epsilon=chosen["epsilon"])
        case "averaging":
            from discreet.lab import averaging

            return averaging.attack(repeats=int(chosen["repeats"]), epsilon=chosen["epsilon"])
        case "reconstruction":
            from discreet.lab import reconstruction

            people = int(chosen["people"])
            queries = people * int(chosen["questions"])
            return reconstruction.attack(people=people, queries=queries, noise=float(chosen["noise"]))
        case _:
            return listed.run()


def _protected(listed: Listed, found: Evidence) -> dict[str, Any]:
    """How often the same attack succeeds where there is protection, and how often it may.

    None where there is nothing to attack: no row is released.
    """
    if listed.name == "census":
        return _noised()
    told: dict[str, Any] = {"protected": listed.withstood(found), "falls_too": listed.falls_too(found), "more": []}
    if listed.name == "synthetic":
        # Beside the strongest attack on the copy stands the same attack on ours, not another one.
        ours = found.details["releases"][listed.held[1]].get(found.details["strongest"])
        if ours is not None:
            return {**told, "protected": ours["success"], "allowed": ours["bound"]}
    return {**told, "allowed": listed.allowed if listed.allowed is not None else found.bound}


def _noised() -> dict[str, Any]:
    """The census block, published again under epsilon 1; chance and bound are of another game, and told in words."""
    from discreet.lab import census

    noisy = census.attack(census.seven(), epsilon=1, seconds=10.0)
    return {"protected": noisy.success, "allowed": None, "falls_too": noisy.breaks, "more": list(noisy.story)}


def repainted(svg: str) -> str:
    """A picture of the lab in the colours of the page: without its own style, which a page here would refuse."""
    svg = re.sub(r"<style>.*?</style>", "", svg, flags=re.DOTALL)
    for place, colour in enumerate(COLOURS):
        svg = re.sub(rf'(fill|stroke)="{colour}"', rf'\1="var(--chart-{place})"', svg)
    return svg.replace("<svg ", '<svg class="picture" ', 1)


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
        told = run(sys.argv[1], json.loads(sys.argv[2]) if len(sys.argv) > 2 else {})
    except DiscreetError as problem:
        told = {"error": problem.reason, "hint": problem.hint}
    print(json.dumps(told, allow_nan=False), flush=True)


if __name__ == "__main__":
    main()
