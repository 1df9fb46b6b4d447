"""How a release is cited: a sentence, and BibTeX. Public facts of the ledger."""

from __future__ import annotations

import re
from typing import Any

from discreet import exact
from discreet.project.recall import RecalledRelease

#: Letters that mean something to BibTeX.
_SPECIAL = re.compile(r"[\\{}$&#^_~%]")
_SPELT = {"\\": r"\textbackslash ", "^": r"\^{}", "~": r"\~{}"}


def citation(recalled_release: RecalledRelease, *, origin: str) -> dict[str, Any]:
    """The release as text and as BibTeX. `origin`: where the console is reached."""
    charge = recalled_release.charge
    day, where = charge.time[:10], f"{origin}/r/{recalled_release.id}"
    cost = _cost(recalled_release)
    title = f"Release {recalled_release.id}: {recalled_release.words} of table {charge.table}, version {charge.version}"
    sentence = (
        f"Release {recalled_release.id}: {recalled_release.words}. Table {charge.table!r}, version {charge.version}, "
        f"{day}. "
        f"Differentially private at {cost}. Made with Discreet. {where} (if published)"
    )
    lines = [
        f"@misc{{discreet-{re.sub('[^a-zA-Z0-9-]', '', recalled_release.id)},",
        f"  title = {{{_plain(title)}}},",
        f"  year = {{{day[:4]}}},",
        f"  note = {{{_plain(f'Differentially private at {cost}; measured {day} with Discreet')}}},",
        f"  howpublished = {{\\url{{{where}}}}},",
        "}",
    ]
    return {"text": sentence, "bibtex": "\n".join(lines)}


def _cost(recalled_release: RecalledRelease) -> str:
    cost = recalled_release.cost
    delta = f"delta {exact.show(cost.delta, up=True)}"
    if cost.epsilon is not None:
        return f"epsilon {exact.show(cost.epsilon, up=True)}, {delta}"
    return f"rho {exact.show(cost.rho or cost.delta, up=True)} (zero-concentrated), {delta}"


def _plain(text: str) -> str:
    """Without what BibTeX would read as its own."""
    return _SPECIAL.sub(
        lambda special: {"\\": r"\textbackslash ", "^": r"\^{}", "~": r"\~{}"}.get(special[0], f"\\{special[0]}"), text
    )
