"""Every attack of the lab by its verb: what it breaks, what withstands it, and where it lies.

Each names a function without arguments that attacks generated data and returns `Evidence`. Modules are imported when
their attack is run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from discreet.lab.evidence import DOUBT, Evidence, best_under, clopper_pearson, percent

#: Where an attack that was also tried on a protected release says how that ended.
PROTECTED = "protected"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackEntry:
    """An attack: its verb, what a reader calls it, what falls to it, what withstands it, and `module:function`.

    `held`: where its details say how often it succeeds against what withstands it; nothing where it was not tried.
    `allowed`: how often it may succeed there; the evidence's own bound where nothing is said.
    """

    name: str
    title: str
    falls: str
    stands: str
    where: str
    protected_path: tuple[str | int, ...] = ()
    allowed: float | None = None

    def run(self) -> Evidence:
        """Attack generated data."""
        module, _, function = self.where.partition(":")
        evidence = getattr(import_module(module), function)()
        if not isinstance(evidence, Evidence):
            raise TypeError(f"{self.where} returned no evidence")
        return evidence

    def protected_success(self, evidence: Evidence) -> float | None:
        """How often the attack succeeds against what withstands it, if that was tried."""
        detail: Any = evidence.details if self.protected_path else None
        try:
            for key in self.protected_path:
                detail = detail[key]
        except (KeyError, IndexError):
            return None
        return None if detail is None else float(detail)

    def allowed_success(self, evidence: Evidence) -> float | None:
        """How often it may succeed against what should stand; what stands may have a bound of its own."""
        usual = self.allowed if self.allowed is not None else evidence.bound
        allowed = evidence.details.get(PROTECTED, {}).get("allowed", usual)
        return None if allowed is None else float(allowed)

    def falls_too(self, evidence: Evidence) -> bool:
        """Whether the attack surely does better against what should stand than it may."""
        share = self.protected_success(evidence)
        allowed, n = self.allowed_success(evidence), evidence.details.get(PROTECTED, {}).get("n", evidence.n)
        if share is None or allowed is None or not n:
            return False
        return clopper_pearson(round(share * n), n, 1 - DOUBT)[0] > allowed

    def outsiders(self, evidence: Evidence) -> float | None:
        """How often the attack is right about people who are not in what withstands it, if that was tried."""
        share = evidence.details.get(PROTECTED, {}).get("outsiders")
        return None if share is None else float(share)


def _entry(
    name: str,
    title: str,
    *,
    falls: str,
    stands: str,
    where: str,
    protected_path: tuple[str | int, ...] = (),
    allowed: float | None = None,
) -> AttackEntry:
    where = f"discreet.lab.{where}"
    return AttackEntry(
        name=name, title=title, falls=falls, stands=stands, where=where, protected_path=protected_path, allowed=allowed
    )


ATTACKS: tuple[AttackEntry, ...] = (
    _entry(
        "linkage",
        "Linkage",
        falls="a file without names, if a list with names exists",
        stands="noisy counts: no row is published",
        where="attacks.protected_demos:linkage",
        protected_path=(PROTECTED, "success"),
    ),
    _entry(
        "ratings",
        "Sparse records",
        falls="ratings published with a number instead of a name",
        stands="statistics over many users, with noise",
        where="attacks.protected_demos:ratings",
        protected_path=(PROTECTED, "success"),
    ),
    _entry(
        "sampling",
        "Sampling",
        falls="a small sample, published unchanged, for the people in it",
        stands="noise added to the sample",
        where="attacks.protected_demos:sampling",
        protected_path=(PROTECTED, "success"),
    ),
    _entry(
        "homogeneity",
        "Homogeneity",
        falls="k-anonymous classes where everybody has the same secret",
        stands="noise that hides any one person's secret",
        where="attacks.protected_demos:homogeneity",
        protected_path=(PROTECTED, "success"),
    ),
    _entry(
        "background",
        "Background knowledge",
        falls="l-diverse classes, if the attacker can rule out a value",
        stands="a guarantee that holds whatever the attacker knows",
        where="attacks.protected_demos:background",
        protected_path=(PROTECTED, "success"),
    ),
    _entry(
        "minimality",
        "Minimality",
        falls="tables made no coarser than necessary, by a known rule",
        stands="methods that spend budget for every choice they make",
        where="attacks.protected_demos:minimality",
        protected_path=(PROTECTED, "success"),
    ),
    _entry(
        "intersection",
        "Intersection",
        falls="two k-anonymous tables about the same people",
        stands="one ledger that adds up all losses",
        where="attacks.protected_demos:intersection",
        protected_path=(PROTECTED, "success"),
    ),
    _entry(
        "differencing",
        "Differencing",
        falls="exact counts with and without one person",
        stands="a budget that every different query is charged to",
        where="attacks.differencing:demo",
        protected_path=("servers", -1, "success"),
    ),
    _entry(
        "averaging",
        "Averaging",
        falls="new noise for the same query, without limit",
        stands="stored answers, and a ledger that refuses at the limit",
        where="attacks.averaging:demo",
        protected_path=("servers", -1, "success"),
    ),
    _entry(
        "reconstruction",
        "Reconstruction",
        falls="many answers, each with too little noise",
        stands="noise that grows with the number of answers",
        where="attacks.reconstruction:demo",
        protected_path=("curve", "epsilon_1", 0),
        allowed=best_under(1.0),
    ),
    _entry(
        "census",
        "Census tables",
        falls="exact tables about seven people, with some cells suppressed",
        stands="noisy tables, which fit no block of people, or very many",
        where="attacks.protected_demos:census",
        protected_path=(PROTECTED, "success"),
    ),
    _entry(
        "auditing",
        "Query auditing",
        falls="refusals that depend on the data",
        stands="refusals that anybody could have predicted",
        where="query_auditing:demo",
        protected_path=("simulatable", "success"),
        allowed=0.5,
    ),
    _entry(
        "floats",
        "Floating point",
        falls="Laplace noise from floating-point numbers",
        stands="exact integer noise",
        where="registry:floats",
        protected_path=("discreet",),
    ),
    _entry(
        "synthetic",
        "Synthetic data",
        falls="synthetic rows that are close to real ones",
        stands="a model fitted under differential privacy",
        where="attacks.synthetic:demo",
        protected_path=("releases", "Discreet, epsilon 1", "membership inference", "success"),
        allowed=best_under(1.0),
    ),
    _entry(
        "network",
        "Networks",
        falls="exact numbers of links: is Alice in the network, are Alice and Bob connected",
        stands="noise that hides any one link, or any one person with all links",
        where="attacks.network:demo",
        protected_path=("servers", -1, "success"),
        allowed=best_under(1.0),
    ),
)


def floats() -> Evidence:
    """The support test on numpy's noise and, beside it, on Discreet's."""
    from discreet.lab.attacks import floats as lab

    evidence = lab.demo()
    ours = lab.floats(lab.sampler_of("discreet"), values=(0, 1), scale=10.0, n=evidence.n, name="discreet")
    sentence = (
        f"On Discreet's integer noise, the same test guesses the value right {percent(ours.success)} of the time."
    )
    return replace(
        evidence,
        seconds=evidence.seconds + ours.seconds,
        story=(*evidence.story, sentence),
        details={**evidence.details, "discreet": ours.success},
    )
