"""Purchases of a precision, simulated: the steps, laws and readings of real queries, without ledger and engine.

Exact cells are counted once by the engine and kept; noise is drawn by the curator as ever.
"""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import SimpleNamespace

from discreet.answers.instalments import _refining
from discreet.answers.precision_answer import INTERVAL_SHARE_OF_STEPS
from discreet.answers.precision_steps import PrecisionPurchase, cap_of
from discreet.answers.query_quote import QueryWish, quote_with_law
from discreet.answers.refine import AnswerReading
from discreet.answers.wished_precision import precision_of
from discreet.kernel.curator import Curator
from discreet.kernel.measurement import Measurement
from discreet.mechanisms.bits import system
from discreet.rehearse.rehearsal_world import EMPTY_LEDGER


@dataclass
class Market:
    """Sells steps of one query over a project's table, as often as wished, for nothing."""

    project: object
    text: str
    gaussian: bool = False
    refining: bool = True
    kept: dict = field(default_factory=dict)
    stored: dict = field(default_factory=dict)
    prices: dict = field(default_factory=dict)
    drawn: int = 0
    bits: object = None

    def __post_init__(self):
        self.query, self.versions = self.project.settle_query(self.project.sql(self.text).query)
        self.guarantee = self.project.guarantee(self.query.table)
        engine = SimpleNamespace(count=self._count)
        engine.at = lambda address: engine
        ledger = SimpleNamespace(answer=lambda id_: self.stored[id_].to_text())
        bits = system() if self.bits is None else self.bits
        self.curator = Curator(ledger=ledger, engine=engine, folder=None, _bits=bits)

    def _count(self, cells, region, *, tables):
        name = repr(cells)
        if name not in self.kept:
            real = self.project.curator
            self.kept[name] = real.engine.at(tables.engine).count(cells, region, tables=tables)
        return self.kept[name]

    def price(self, epsilon, confidence):
        name = epsilon, confidence
        if name not in self.prices:
            wish = QueryWish(epsilon=epsilon, confidence=confidence, interval_share=INTERVAL_SHARE_OF_STEPS)
            quoted = quote_with_law(
                self.query, wish, self.versions[0], self.guarantee, EMPTY_LEDGER, gaussian=self.gaussian
            )
            self.prices[name] = quoted.price
        return self.prices[name]

    def can_refine(self, release):
        return self.refining and not self.gaussian

    def cost(self, step):
        return step.epsilon

    def buy(self, step):
        price = self.price(step.epsilon, step.confidence)
        if step.refines is not None:
            price = _refining(price, self.stored[step.refines])
            assert price is not None
        tables = self.project.curator.tables(price, self.versions, self.query.publics)
        parts, event = self.curator.draw(price, tables)
        self.drawn += 1
        measurement = Measurement(id=f"r-{self.drawn}", text=self.text, parts=parts, event=event)
        self.stored[measurement.id] = measurement
        return AnswerReading(query=self.query, measurement=measurement)

    def buy_precision(self, within, **more):
        """One purchase; what was stored before is forgotten."""
        self.stored.clear()
        precision = precision_of(within, **more)
        cap = cap_of(precision, self.guarantee.epsilon)
        purchase = PrecisionPurchase(query=self.query, precision=precision, seller=self, cap=cap)
        return precision, purchase.run()

    def covers(self, within, exact, *, level=None, **more):
        """Whether a purchase reached its precision, and whether its interval holds the exact number."""
        precision, taken = self.buy_precision(within, **more)
        last = taken.steps[-1]
        ((*_, ends),) = last.intervals(precision.confidence if level is None else level, precision.confidence)
        low, high = ends if ends is not None else (float("-inf"), float("inf"))
        slack = 1e-9 * (abs(exact) + 1)
        return taken, low - slack <= exact <= high + slack


def cost_of(taken):
    """What a purchase took: a step that refines pays the difference."""
    return float(sum((each.epsilon for each in taken.steps), start=Fraction(0)))


def alone(step):
    """A step without the look that it refines."""
    return replace(step, refines=None)
