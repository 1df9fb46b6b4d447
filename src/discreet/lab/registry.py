"""Every attack of the lab by its verb: what it breaks, what withstands it, and where it lies.

Each names a function without arguments that attacks generated data and returns `Evidence`. Modules are imported when
their attack is run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from discreet.lab.evidence import Evidence, best_under, clopper_pearson, percent

#: A run that says that what should stand has fallen is wrong less often than this.
DOUBT = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """An attack: its verb, what a reader calls it, what falls to it, what withstands it, and `module:function`.

    `held`: where its details say how often it succeeds against what withstands it; nothing where it was not tried.
    `allowed`: how often it may succeed there; the evidence's own bound where nothing is said.
    """

    name: str
    title: str
    falls: str
    stands: str
    where: str
    held: tuple[str | int, ...] = ()
    allowed: float | None = None

    def run(self) -> Evidence:
        """Attack generated data."""
        module, _, function = self.where.partition(":")
        found = getattr(import_module(module), function)()
        if not isinstance(found, Evidence):
            raise TypeError(f"{self.where} returned no evidence")
        return found

    def withstood(self, found: Evidence) -> float | None:
        """How often the attack succeeds against what withstands it, if that was tried."""
        told: Any = found.details if self.held else None
        try:
            for key in self.held:
                told = told[key]
        except (KeyError, IndexError):
            return None
        return None if told is None else float(told)

    def falls_too(self, found: Evidence) -> bool:
        """Whether the attack surely does better against what should stand than it may."""
        share = self.withstood(found)
        allowed = self.allowed if self.allowed is not None else found.bound
        if share is None or allowed is None:
            return False
        return clopper_pearson(round(share * found.n), found.n, 1 - DOUBT)[0] > allowed


def _listed(
    name: str,
    title: str,
    *,
    falls: str,
    stands: str,
    where: str,
    held: tuple[str | int, ...] = (),
    allowed: float | None = None,
) -> Listed:
    where = f"discreet.lab.{where}"
    return Listed(name=name, title=title, falls=falls, stands=stands, where=where, held=held, allowed=allowed)


ATTACKS: tuple[Listed, ...] = (
    _listed(
        "linkage",
        "Linkage",
        falls="a file without names, beside a list with them",
        stands="noisy counts: no row leaves the house",
        where="linkage:demo",
    ),
    _listed(
        "ratings",
        "Sparse records",
        falls="ratings under a number instead of a name",
        stands="statistics over many users, with noise",
        where="ratings:demo",
    ),
    _listed(
        "sampling",
        "Sampling",
        falls="a small sample, published as it is, for those who are in it",
        stands="noise on top of the sample",
        where="sampling:demo",
    ),
    _listed(
        "homogeneity",
        "Homogeneity",
        falls="k-anonymous classes in which everybody has the same secret",
        stands="noise that hides any one person's secret",
        where="homogeneity:demo",
    ),
    _listed(
        "background",
        "Background knowledge",
        falls="diverse classes, for whoever can rule a value out",
        stands="a guarantee that holds whatever the attacker knows",
        where="background:demo",
    ),
    _listed(
        "minimality",
        "Minimality",
        falls="tables that were made no coarser than needed, by a known rule",
        stands="methods whose every choice is paid for",
        where="minimality:demo",
    ),
    _listed(
        "intersection",
        "Intersection",
        falls="two tables about the same people, each k-anonymous",
        stands="losses that add up in one ledger",
        where="intersection:demo",
    ),
    _listed(
        "differencing",
        "Differencing",
        falls="exact counts with and without one person",
        stands="a budget that counts every different question",
        where="differencing:demo",
        held=("servers", -1, "success"),
    ),
    _listed(
        "averaging",
        "Averaging",
        falls="new noise for the same question, for ever",
        stands="stored answers, and a ledger that refuses",
        where="averaging:demo",
        held=("servers", -1, "success"),
    ),
    _listed(
        "reconstruction",
        "Reconstruction",
        falls="many answers, each with too little noise",
        stands="noise that grows with the number of answers",
        where="reconstruction:demo",
        held=("curve", "epsilon_1", 0),
        allowed=best_under(1.0),
    ),
    _listed(
        "census",
        "Census tables",
        falls="exact tables about seven people, some cells suppressed",
        stands="noisy tables: no people fit them, or very many do",
        where="census:demo",
    ),
    _listed(
        "auditing",
        "Query auditing",
        falls="refusals that hang on the data",
        stands="refusals that anybody could have foretold",
        where="auditing:demo",
        held=("simulatable", "success"),
        allowed=0.5,
    ),
    _listed(
        "floats",
        "Floating point",
        falls="Laplace noise from floating-point numbers",
        stands="exact integer noise",
        where="registry:floats",
        held=("discreet",),
    ),
    _listed(
        "synthetic",
        "Synthetic data",
        falls="synthetic rows that remember real ones",
        stands="a model fitted under differential privacy",
        where="synthetic:demo",
        held=("releases", "Discreet, epsilon 1", "membership inference", "success"),
        allowed=best_under(1.0),
    ),
    _listed(
        "network",
        "Networks",
        falls="exact links between places, where one person lives alone",
        stands="noise that hides any one link, or any one person with all links",
        where="network:demo",
        held=("servers", -1, "success"),
        allowed=best_under(1.0),
    ),
)


def floats() -> Evidence:
    """The support test on numpy's noise and, beside it, on Discreet's."""
    from discreet.lab import floats as lab

    found = lab.demo()
    ours = lab.floats(lab.sampler_of("discreet"), values=(0, 1), scale=10.0, n=found.n, name="discreet")
    told = f"On Discreet's integer noise the same test names the value {percent(ours.success)} of the time."
    return replace(
        found,
        seconds=found.seconds + ours.seconds,
        story=(*found.story, told),
        details={**found.details, "discreet": ours.success},
    )
