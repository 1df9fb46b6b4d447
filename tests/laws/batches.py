"""The law of neighbours for batches: every step that a batch takes, by the real planner and the real program."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import SimpleNamespace

import numpy as np

from discreet.accounting import events
from discreet.accounting.region import Region
from discreet.answers.query_quote import QueryWish
from discreet.answers.workload.batch_measurement import take_steps
from discreet.answers.workload.batch_quote import BatchQuote, plan_batch
from discreet.answers.workload.stored_batch import StoredBatch
from discreet.engines.engine import TableLocations
from discreet.kernel.program import Program
from discreet.kernel.version import Version
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.plan.price import Measure, event_of
from discreet.plan.relation import base, scans
from discreet.sql.parsed_query import ParsedQuery
from discreet.sql.query_parser import parse_batch
from laws.neighbours import DELTA, EPSILON, Law, Pair, norms
from laws.worlds import POPULATION


@dataclass(frozen=True, kw_only=True)
class Side:
    """The curator of one of two neighbours: adds no noise, and remembers what it would have been added to."""

    declared: object
    drawn: list = field(default_factory=list)

    @property
    def engine(self):
        return SimpleNamespace(at=lambda address: self.declared.engine)

    def locate_tables(self, version_of_scan, publics):
        return TableLocations(
            files={scan: self.declared.files[scan.table] for scan in version_of_scan}, publics=publics
        )

    def add_noise(self, law, exact_values, moves):
        self.drawn.append((law, exact_values, moves))
        return exact_values, event_of(law, moves)


class Steps(Program):
    """The steps of a batch on one side, without a ledger. What is measured by itself is checked as a question."""

    def __init__(self, side: Side, versions: Sequence[Version], region, event) -> None:
        self.version, *joined = versions
        self._joined, self._region, self._event = tuple(joined), region, event
        self._side, self._spent, self.shares, self.lone = side, [], {}, []

    def step(self, of, event, draw, *, word="measuring"):
        drawn, happened = draw(self._side)
        assert happened == event, "what was drawn is not what is charged"
        self._spent.append(events.loss(event))
        return drawn

    def run(self, price, *, publics=None):
        self._spent.append(events.loss(price.event))
        self.lone.append(price)


@dataclass(kw_only=True)
class BatchLaw:
    """Checks batches on pairs of neighbours and remembers what it has seen. `counts_everybody` is a planted bug."""

    counts_everybody: bool = False
    seen: Counter = field(default_factory=Counter)

    def ask(self, pair: Pair, texts: Sequence[str], *, gaussian: bool = False) -> BatchQuote | None:
        """Every step of a batch on both neighbours; None where it is not planned as one."""
        queries = parse_batch(";\n".join(texts), pair.catalog)
        versions = [
            Version(
                table=name, number=scan.version, population=POPULATION, schema=pair.world.sources[name].schema, file=""
            )
            for name, scan in {scan.table: scan for query in queries for scan in query.tables}.items()
        ]
        quoted = plan_batch(
            queries, QueryWish(epsilon=EPSILON, delta=DELTA), lambda query: _session(versions[0], gaussian=gaussian)
        )
        if quoted is None:
            self.seen["split"] += 1
            return None
        stored = StoredBatch.from_text(StoredBatch.of(quoted, queries).to_text())
        sides = []
        for declared in (pair.whole, pair.less):
            side = Side(declared=declared)
            region = Region.whole() if self.counts_everybody else stored.region
            steps = Steps(side, versions, region, quoted.event)
            take_steps(steps, stored, queries, quoted.event)
            assert quoted.event.holds(steps._spent), "the steps lose more than was reserved"
            sides.append((side, steps))
        self._moved(quoted, pair, queries, sides, gaussian=gaussian)
        self._same_numbers(stored, quoted, pair, sides[0][0])
        for price in sides[0][1].lone:
            asked = next(query for query in queries if query.inquiry.plan == price.inquiry.plan)
            Law().check(price, pair, asked, gaussian=gaussian)
            self.seen["lone"] += 1
        self.seen["batches"] += 1
        return quoted

    def _moved(self, quoted, pair, queries: Sequence[ParsedQuery], sides, *, gaussian: bool) -> None:
        """No grid moves further than is paid for, and not at all by a unit outside the region that is charged."""
        table = base(queries[0].inquiry.plan).table
        inside = {record in quoted.region for record in pair.unit[table]}
        assert len(inside) <= 1, "a unit is half inside the region"
        outside = True not in inside
        self.seen["outside" if outside else "inside"] += 1
        spent = Fraction(0)
        for (law, one, moves), (_, two, _), grid in zip(
            sides[0][0].drawn, sides[1][0].drawn, quoted.grids, strict=True
        ):
            moved = norms(one, two)
            for norm in ("l1", "l2_squared"):
                most = getattr(moves, norm)
                assert moved[norm] <= most, f"{norm} of a grid is {moved[norm]}, above {most}"
                self.seen[f"{type(grid.added.statistic).__name__} {norm}"] += moved[norm] == most
            assert not (outside and moved["l0"]), "a unit outside the region changed a number"
            if isinstance(law, DiscreteLaplace):
                spent += moved["l1"] / law.scale
            else:
                spent += moved["l2_squared"] / (2 * law.sigma2)
            self.seen["joined"] += len(scans(grid.added.plan)) > 1
        assert spent <= (EPSILON**2 / 2 if gaussian else EPSILON), f"the grids together lose {float(spent)}"

    def _same_numbers(self, stored: StoredBatch, quoted: BatchQuote, pair: Pair, side: Side) -> None:
        """Without noise a batch says what its statements say alone."""
        exact = {}
        for place in quoted.groups:
            price = quoted.apart[place]
            whole = quoted.batch.whole(quoted.batch.groups[place])
            for number, step in enumerate(step for step in price.steps if isinstance(step, Measure)):
                counted = pair.whole.engine.count(
                    step.cells, price.region, tables=pair.whole.tables(whole)
                ).exact_values
                for index, values in zip(range(len(whole.inquiry.statistics)), counted, strict=False):
                    exact[place, number, index] = values
        for grid, (_, rows, _) in zip(stored.grids, side.drawn, strict=True):
            values = grid.answers.answers(np.asarray(rows))
            for number, value in zip(grid.numbers, values.tolist(), strict=True):
                alone = int(exact[number.statement, number.place, number.index][number.cell])
                assert abs(value - alone) <= 1e-6 * max(1, abs(alone)), f"a batch says {value}, alone it is {alone}"
                self.seen["numbers"] += 1


def _session(version: Version, *, gaussian: bool):
    accepted = SimpleNamespace(accepted=True, arm="rho" if gaussian else "pure")
    guarantee = SimpleNamespace(accounting="zcdp" if gaussian else "either", limits=SimpleNamespace(rho=1), keys=DELTA)
    return SimpleNamespace(
        version=version, guarantee=guarantee, preview=lambda *_, **__: accepted, epsilon_moved=lambda _: EPSILON
    )
