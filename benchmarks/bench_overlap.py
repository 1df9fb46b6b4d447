"""How long a charge waits for the overlap: fixed histories, a filter in the loop, worst cases. CPU time."""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path

from results import write_section

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from accounting.workloads import Charge, Clinic, clique, grid, random_boxes
from discreet.accounting.events import GaussianEvent, LaplaceEvent, loss
from discreet.accounting.filter import Cost, Decision, Segment, decide
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.overlap import Overlap, Verdict
from discreet.accounting.region import Region
from discreet.exact import UNBOUNDED

NODES = 1024
#: How much the first values of a category are preferred: as people ask, and nearly evenly, which is harder.
SKEWS = {"popular": 0.7, "even": 0.2}
LIMIT = 5 * 10**8
JOINT_RHO = 65 * 10**8


class Watch:
    """CPU milliseconds of some calls, the nodes they took, and how they ended."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.nodes: list[int] = []
        self.ends: Counter[str] = Counter()

    def decide(self, ask: Callable[[], Verdict]) -> Verdict:
        start = time.process_time()
        verdict = ask()
        self.times.append(1000 * (time.process_time() - start))
        self.nodes.append(verdict.nodes)
        self.ends["within" if verdict.within else "stopped" if verdict.witness is None else "over"] += 1
        return verdict

    def row(self) -> str:
        ordered = sorted(self.times)
        at = [ordered[int(share * (len(ordered) - 1))] for share in (0.5, 0.95, 1.0)]
        ends = " / ".join(str(self.ends[end]) for end in ("within", "over", "stopped"))
        return f"{' / '.join(f'{ms:.1f}' for ms in at)} | {max(self.nodes)} | {ends}"


def history(charges: Iterable[Charge]) -> Overlap:
    found = Overlap()
    for charge in charges:
        found.add(charge.region, [charge.pure, charge.rho])
    return found


def fixed(kind: str, events: int) -> Iterable[str]:
    """60 questions to each of three histories, the budget at a share of the true maximum."""
    for share in (100, 95, 80):
        watch = Watch()
        for seed in (1, 2, 3):
            clinic = Clinic(seed, skew=SKEWS[kind])
            found = history(clinic.charges(events))
            limit = found.largest(Region.whole(), arm=0, nodes=NODES).upper * share // 100
            for charge in clinic.charges(60):
                watch.decide(lambda c=charge: found.within(c.region, [limit - c.pure, None], nodes=NODES))
        yield f"| {kind} | {events:,} | {share}% | {watch.row()} |"


def arms_loop(kind: str, events: int, seed: int, accounting: str) -> str:
    """The same with the ledger's own costs and limits at delta 1e-6: decide in all arms, bound what is booked, append."""
    watch, segments, booked = Watch(), {}, 0
    limits = Guarantee(epsilon=Fraction(1, 2), delta=Fraction(1, 10**6), accounting=accounting).limits
    for number, charge in enumerate(Clinic(seed, skew=SKEWS[kind]).charges(events)):
        epsilon, rho = Fraction(charge.pure, 10**9), Fraction(charge.rho, 10**12)
        law = (
            GaussianEvent(sigma2=1 / (2 * rho), l2_squared=1)
            if number % 10 == 9
            else LaplaceEvent(scale=1 / epsilon, l1=1)
        )
        cost = Cost.of(loss(law))
        verdict = watch.decide(
            lambda r=charge.region, c=cost: _Decided(
                decide(segments, "t", region=r, cost=c, delta_spent=0, limits=limits)
            )
        )
        if verdict.within:
            booked += 1
            segments.setdefault("t", Segment()).book(charge.region, cost, verdict.decision.balance)
    name = {"renyi": "six arms", "either": "two arms"}[accounting]
    return f"| {kind} | {events:,} | {seed} | {name}, with booking | {watch.row()} | |"


class _Decided:
    """A decision as a verdict."""

    def __init__(self, decision: Decision) -> None:
        self.decision, self.within, self.witness, self.nodes = decision, decision.accepted, {}, decision.nodes


def loop(kind: str, events: int, seed: int, *, joint: bool) -> str:
    """Start empty, a budget of 0.5, charge in order what is within. Every tenth is a Gaussian if both arms count."""
    watch, found, accepted, plain, spent = Watch(), Overlap(), 0, 0, 0
    for number, charge in enumerate(Clinic(seed, skew=SKEWS[kind]).charges(events)):
        gaussian = joint and number % 10 == 9
        pure = None if gaussian else LIMIT - charge.pure
        rho = JOINT_RHO - charge.rho if joint else None
        verdict = watch.decide(lambda c=charge, p=pure, r=rho: found.within(c.region, [p, r], nodes=NODES))
        if verdict.within:
            accepted += 1
            found.add(charge.region, [UNBOUNDED if gaussian else charge.pure, charge.rho])
        if spent + charge.pure <= LIMIT:
            spent += charge.pure
            plain += 1
    arms = "pure or rho" if joint else "pure"
    return f"| {kind} | {events:,} | {seed} | {arms} | {watch.row()} | {plain} |"


def worst(make: Callable[[int, int], list[Charge]], events: int) -> str:
    """The maximum of three hard histories within the node limit, and 8 questions each at the best value known."""
    watch, gaps, seconds = Watch(), [], 0.0
    for seed in (1, 2, 3):
        found = history(make(events, seed))
        start = time.process_time()
        bound = found.largest(Region.whole(), arm=0, nodes=NODES)
        seconds += time.process_time() - start
        gaps.append(100 * (bound.upper - bound.lower) / bound.lower)
        for charge in make(8, seed + 1000):
            watch.decide(lambda c=charge: found.within(c.region, [bound.lower - c.pure, None], nodes=NODES))
    shown = " / ".join(f"{gap:.1f}%" for gap in gaps)
    return f"| {make.__name__} | {events:,} | {seconds / 3:.2f} | {shown} | {watch.row()} |"


def small(events: int) -> str:
    """One charge on a small history, all of it: decide, tighten both bookings, append."""
    times, source = [], random.Random(1)
    for seed in range(40):
        charges = Clinic(seed).charges(events + 1)
        found = history(charges[:-1])
        last = charges[-1]
        limit = found.largest(Region.whole(), arm=0).upper
        start = time.process_time()
        found.within(last.region, [limit - last.pure - source.randint(0, 1), None])
        decided = time.process_time()
        found.largest(last.region, arm=0)
        found.largest(last.region, arm=1)
        found.add(last.region, [last.pure, last.rho])
        times.append((1000 * (decided - start), 1000 * (time.process_time() - start)))
    decision, charge = (sorted(column) for column in zip(*times, strict=True))
    return f"| {events} | {decision[20]:.1f} / {decision[-1]:.1f} | {charge[20]:.1f} / {charge[-1]:.1f} |"


def table(title: str, heads: str, rows: Iterable[str]) -> str:
    lines = [title, "", heads, "|" + "---|" * (heads.count("|") - 1)]
    print("\n".join(lines))
    for row in rows:
        print(row, flush=True)
        lines.append(row)
    print()
    return "\n".join(lines)


TAIL = "ms median / p95 / worst | most nodes | within / over / stopped |"


def main() -> None:
    parts = [
        table(
            f"Decisions on fixed histories over ten columns, node limit {NODES}; the budget is a share of the true "
            "maximum (`popular`: values as people ask for them; `even`: nearly uniform, harder). CPU milliseconds.",
            f"| values | events | budget | {TAIL}",
            (row for kind in SKEWS for events in (100, 500, 2000, 10_000) for row in fixed(kind, events)),
        ),
        table(
            "A filter in the loop: start empty, budget epsilon 0.5, charge in order. `plain` is what addition accepts.",
            f"| values | questions | seed | arms | {TAIL} plain |",
            (
                loop(kind, events, seed, joint=joint)
                for kind in SKEWS
                for events, seed in ((600, 1), (1000, 1), (1000, 2), (2500, 1))
                for joint in (False, True)
                if not (joint and events == 2500)
            ),
        ),
        table(
            "The ledger's own rule in the loop, every tenth question a Gaussian: two arms against six, each decision with the "
            "bounds that are booked.",
            f"| values | questions | seed | arms | {TAIL} |",
            (
                arms_loop(kind, 1000, seed, accounting)
                for kind in SKEWS
                for seed in (1, 2)
                for accounting in ("either", "renyi")
            ),
        ),
        table(
            "Worst cases: no corner of the space stands out. The maximum within the node limit and its gap for three "
            "seeds, then decisions at the best value known.",
            f"| workload | events | maximum, s | gap | {TAIL}",
            (worst(make, events) for make in (random_boxes, grid, clique) for events in (100, 300, 500)),
        ),
        table(
            "Small histories, ms median / worst: the decision, and the whole charge (decide, bound both arms, append).",
            "| events | decision | charge |",
            (small(events) for events in (1, 10, 50, 200)),
        ),
    ]
    write_section("overlap", "\n\n".join(parts))


if __name__ == "__main__":
    main()
