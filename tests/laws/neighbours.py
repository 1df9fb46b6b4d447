"""The law of neighbours, exactly: no noise, no sampling, the real engine, the real reader and the real price.

D' is D without one privacy unit, and its rows in another order. For each step of a question's price, the
vectors that noise would be added to must differ by no more than the step claims, and not at all where the unit lies
outside the region that is charged. And the engine means what the reference means.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from discreet.accounting import events
from discreet.accounting.region import Region
from discreet.answers.refine import AnswerReading
from discreet.engines.engine import Engine, TableLocations
from discreet.engines.keyed_hashes import person_tag
from discreet.engines.memory import MemoryEngine
from discreet.engines.public_table_loader import load_public_table
from discreet.engines.table_file import PERSON
from discreet.engines.table_location import TableLocation
from discreet.kernel.curator import Curator
from discreet.kernel.measurement import Measurement
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.quantile import QuantileChoice
from discreet.mechanisms.rank_choice import RankChoice
from discreet.mechanisms.topk import TopKChoice
from discreet.mechanisms.weighted_threshold import WeightedThreshold
from discreet.plan.cells import DiscoveredAxis
from discreet.plan.price import ChooseBin, Discover, Measure, Price, price
from discreet.plan.relation import base
from discreet.sql.catalog import CatalogTable
from discreet.sql.parsed_query import ParsedQuery
from discreet.sql.query_parser import parse_query
from engines.conformance.grounds import Disk, Ground, contents, declared
from engines.persons_tables import TAG_KEY
from laws.worlds import POPULATION, Source, World

EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)
NORMS = ("l0", "l1", "l2_squared", "linf")


@dataclass(frozen=True, kw_only=True)
class Declared:
    """The declared tables of one of two neighbours."""

    ground: Ground
    files: Mapping[str, TableLocation]

    @property
    def engine(self) -> Engine:
        return self.ground.engine

    @staticmethod
    def make(sources: Mapping[str, Source], ground: Ground) -> "Declared":
        """Lay the sources and declare them."""
        laid = {name: replace(source.table, source=ground.lay(source.file, name)) for name, source in sources.items()}
        files = {}
        for name, source in sources.items():
            path = tuple(laid[step.name] for step in source.path)
            _, files[name] = declared(ground, laid[name], path)
        return Declared(ground=ground, files=files)

    def rows(self, table: str) -> tuple[Counter, dict[bytes, int]]:
        """The declared rows under the tags of their persons, and how many rows everybody has."""
        return contents(self.ground, self.files[table], persons=PERSON in self._columns(table))

    def _columns(self, table: str) -> set[str]:
        return {name for row in self.ground.stored(self.files[table])[:1] for name in row}

    def tables(self, asked: ParsedQuery) -> TableLocations:
        return TableLocations(files={scan: self.files[scan.table] for scan in asked.tables}, publics=asked.publics)

    def records(self, table: str, person: tuple[str, ...]) -> list[dict]:
        """The declared rows of a person."""
        tag = person_tag(person, TAG_KEY)
        numbers = {row["number"] for row in self.ground.side(self.files[table]) if row["tag"] == tag}
        return [row for row in self.ground.stored(self.files[table]) if row[PERSON] in numbers]

    def forget(self) -> None:
        """Take the tables away."""
        for place in self.files.values():
            self.engine.drop(place)


def catalog_of(world: World, folder: Path) -> dict[str, CatalogTable]:
    """What questions may name: the same for both neighbours."""
    known = {name: CatalogTable(schema=source.schema, population=POPULATION) for name, source in world.sources.items()}
    for name, source in world.publics.items():
        source.write(folder)
        loaded = load_public_table(source.table, folder=folder, engine=MemoryEngine())
        known[name] = CatalogTable(schema=source.schema, public=lambda loaded=loaded: loaded)
    return known


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two neighbours, declared, and what may be asked about them; the first of them as the reference has it, too."""

    world: World
    catalog: Mapping[str, CatalogTable]
    whole: Declared
    less: Declared
    reference: Declared
    unit: Mapping[str, list[dict]]

    @staticmethod
    def make(world: World, folder: Path, engine: Engine | Ground, *, both: bool = True) -> "Pair":
        """`engine`: one of files, or the ground of any. Not `both`: only the whole is declared, for `packed`."""
        ground = engine if hasattr(engine, "lay") else Disk(name="files", engine=engine, folder=folder)
        catalog = catalog_of(world, folder)
        whole = Declared.make(world.sources, ground)
        if world.person is None:
            (source,) = world.sources.values()
            alone = Declared.make({"visits": replace(source, rows=(world.row,))}, ground)
            unit = {"visits": ground.stored(alone.files["visits"])}
            alone.forget()
        else:
            unit = {name: whole.records(name, world.person) for name in world.sources}
        reference = Declared.make(world.sources, Disk(name="memory", engine=MemoryEngine(), folder=folder))
        for name in world.sources:
            assert whole.rows(name) == reference.rows(name), f"the engine and the reference declare another {name}"
        less = Declared.make(world.neighbour(), ground) if both else whole
        return Pair(world=world, catalog=catalog, whole=whole, less=less, reference=reference, unit=unit)

    def forget(self) -> None:
        for side in (self.whole, self.less, self.reference):
            side.forget()


@dataclass(kw_only=True)
class Law:
    """Checks questions on pairs of neighbours and remembers what it has seen. Not `weigh`: no keys are weighed."""

    seen: Counter = field(default_factory=Counter)
    weigh: bool = True

    def ask(self, pair: Pair, text: str, *, gaussian: bool = False) -> Price:
        """Every step of one question on both neighbours. Raises what the reader raises, and AssertionError."""
        asked = parse_query(text, pair.catalog)
        found = priced(asked, gaussian=gaussian, weigh=self.weigh)
        self.check(found, pair, asked, gaussian=gaussian)
        return found

    def check(self, found: Price, pair: Pair, asked: ParsedQuery, *, gaussian: bool = False) -> None:
        """Every step of a price on both neighbours."""
        self._affordable(found, gaussian=gaussian)
        outside = self._outside(found, pair)
        self.seen["outside" if outside else "inside"] += 1
        keys: DiscoveredAxis | None = None
        lost: list[Loss] = []
        for step in found.steps:
            if isinstance(step, Discover):
                keys, loss = self._discover(step, found, pair, asked, outside=outside)
                lost.append(loss)
            elif isinstance(step, Measure):
                lost += self._measure(step, found, pair, asked, keys, outside=outside)
            else:
                lost += self._choose(step, found, pair, asked, keys, outside=outside)
        spent = sum(loss.rho if gaussian else loss.epsilon for loss in lost)
        limit = EPSILON**2 / 2 if gaussian else EPSILON
        assert spent <= limit, f"the steps together lose {float(spent)}"
        self.seen["whole loss"] += spent == limit

    def _affordable(self, found: Price, *, gaussian: bool) -> None:
        """The event that is charged is worth no more than was asked for."""
        loss = events.loss(found.event)
        assert loss.delta <= (DELTA if found.inquiry.keys else 0)
        assert loss.rho <= EPSILON**2 / 2
        assert gaussian or (loss.epsilon is not None and loss.epsilon <= EPSILON)

    def _outside(self, found: Price, pair: Pair) -> bool:
        """Whether the unit lies outside the region, judged by each of its declared rows: then nothing may change."""
        table = base(found.inquiry.plan).table
        inside = {record in found.region for record in pair.unit[table]}
        assert len(inside) <= 1, "a unit is half inside the region"
        return True not in inside

    def _measure(
        self, step: Measure, found: Price, pair: Pair, asked: ParsedQuery, keys, *, outside: bool
    ) -> list["Loss"]:
        vectors = self._vectors(step, found, pair, asked, keys)
        lost = []
        for statistic, moves, law, one, two in zip(step.cells.statistics, step.moves, step.laws, *vectors, strict=True):
            moved = norms(one, two)
            kind = f"{type(statistic).__name__} {'row' if pair.world.person is None else 'person'}"
            for norm in NORMS:
                most = getattr(moves, norm)
                assert moved[norm] <= most, f"{norm} of {statistic} is {moved[norm]}, above {most}"
                self.seen[f"{kind} {norm}"] += moved[norm] == most
            assert not (outside and moved["l0"]), "a unit outside the region changed a cell"
            if isinstance(law, DiscreteLaplace):
                lost.append(Loss.pure(moved["l1"] / law.scale))
            else:
                lost.append(Loss(epsilon=Fraction(10**9), rho=moved["l2_squared"] / (2 * law.sigma2)))
        return lost

    def _vectors(self, step: Measure | ChooseBin, found: Price, pair: Pair, asked: ParsedQuery, keys):
        """The exact vectors of a step on both neighbours; on the first, as the reference has them."""
        cells = replace(step.cells, discovered_axis=keys)
        sides = []
        for side in (pair.whole, pair.less):
            exact = side.engine.count(cells, found.region, tables=side.tables(asked)).exact_values
            assert len(exact) == len(cells.statistics) and all(values.shape == (cells.size,) for values in exact)
            sides.append([values.astype(object) for values in exact])
        tables = pair.reference.tables(asked)
        reference = MemoryEngine().count(cells, Region.whole(), tables=tables).exact_values
        for statistic, one, two in zip(cells.statistics, sides[0], reference, strict=True):
            assert one.tolist() == two.tolist(), f"the engine and the reference differ in {statistic}"
        return sides

    def _discover(
        self, step: Discover, found: Price, pair: Pair, asked: ParsedQuery, *, outside: bool
    ) -> tuple[DiscoveredAxis, "Loss"]:
        sides = []
        for side in (pair.whole, pair.less):
            known = side.engine.keys(
                step.plan,
                step.keys,
                found.region,
                persons=step.persons,
                tables=side.tables(asked),
                **({} if step.weights is None else {"weights": step.weights}),
            )
            assert len(set(known.exact_keys)) == len(known.exact_keys)
            sides.append(dict(zip(known.exact_keys, known.exact_persons.tolist(), strict=True)))
        whole, less = sides
        reference = MemoryEngine().keys(
            step.plan,
            step.keys,
            Region.whole(),
            persons=step.persons,
            tables=pair.reference.tables(asked),
            weights=step.weights,
        )
        assert list(whole.items()) == list(zip(reference.exact_keys, reference.exact_persons.tolist(), strict=True))
        moved = [abs(whole.get(key, 0) - less.get(key, 0)) for key in {*whole, *less}]
        most = step.mechanism.keys_per_person
        if isinstance(step.mechanism, WeightedThreshold):
            known = DiscoveredAxis(of=step.keys, keys=tuple(dict.fromkeys([*whole, *less])))
            return known, self._weighed(step.mechanism, [each for each in moved if each], outside=outside)
        assert max(moved, default=0) <= 1, "a unit counts more than once under a key"
        assert most is not None and sum(moved) <= most, f"a unit is in {sum(moved)} keys, not {most}"
        assert not (outside and any(moved)), "a unit outside the region changed a key"
        self.seen["keys"] += sum(moved) == most
        self.seen["several keys"] += sum(moved) == most > 1
        known = DiscoveredAxis(of=step.keys, keys=tuple(dict.fromkeys([*whole, *less])))
        if isinstance(step.mechanism, TopKChoice):
            each, many = step.mechanism.epsilon, step.mechanism.k
            return known, Loss(epsilon=many * each, rho=many * each**2 / 8)
        return known, Loss.pure(sum(moved) / step.mechanism.noise.scale)

    def _weighed(self, mechanism: WeightedThreshold, moved: list[int], *, outside: bool) -> "Loss":
        """A unit adds one weight to each of its keys, that of their number; all of them together are one unit's."""
        assert not (outside and moved), "a unit outside the region changed a key"
        assert len(moved) <= mechanism.keys_per_person, f"a unit is in {len(moved)} keys"
        length = sum(each**2 for each in moved)
        assert length <= mechanism.event().l2_squared, f"the weights of a unit are {length} long"
        assert {*moved} <= {weight for _, weight in mechanism.weights} and len({*moved}) <= 1, "a unit of two weights"
        self.seen["weighted keys"] += len(moved) == mechanism.keys_per_person
        epsilon = mechanism.epsilon if mechanism.epsilon is not None else Fraction(10**9)
        return Loss(epsilon=epsilon, rho=length / (2 * mechanism.noise.sigma2))

    def _choose(
        self, step: ChooseBin, found: Price, pair: Pair, asked: ParsedQuery, keys, *, outside: bool
    ) -> list["Loss"]:
        """The choices in all groups are one: their scores together move by no more than the mechanism says."""
        (one,), (two,) = self._vectors(step, found, pair, asked, keys)
        mechanism = step.mechanism
        assert not (outside and (one != two).any()), "a unit outside the region changed a quantile's rows"
        lines = zip(one.reshape(-1, mechanism.bins), two.reshape(-1, mechanism.bins), strict=True)
        moving = [lines_ for lines_ in lines if (lines_[0] != lines_[1]).any()]
        lost = []
        for scores, choice in _scorings(mechanism):
            moved = sum(int(abs(scores(left) - scores(right)).max()) for left, right in moving)
            assert moved <= choice.sensitivity, f"scores move by {moved}, above {choice.sensitivity}"
            self.seen["quantile"] += moved == choice.sensitivity
            self.seen["quantile of several rows"] += moved == choice.sensitivity and mechanism.rows > 1
            epsilon = choice.epsilon * moved / choice.sensitivity
            lost.append(Loss(epsilon=epsilon, rho=epsilon**2 / 8))
        return lost


@dataclass(frozen=True, kw_only=True)
class Loss:
    """What one step can lose on a pair of neighbours, by how far they lie apart."""

    epsilon: Fraction
    rho: Fraction

    @staticmethod
    def pure(epsilon: Fraction) -> "Loss":
        return Loss(epsilon=epsilon, rho=epsilon**2 / 2)


def _scorings(mechanism: QuantileChoice | RankChoice) -> list[tuple[Callable, ExponentialMechanism]]:
    """The scores that a choice goes by, up to what is added to all of them alike, and the mechanism that chooses."""
    if isinstance(mechanism, RankChoice):
        a, b = mechanism.fraction.numerator, mechanism.fraction.denominator
        fine = mechanism.mechanism.sensitivity // (mechanism.rows * b)
        return [(lambda line: mechanism.scores(line) + (b - 2 * a) * fine * int(line.sum()), mechanism.mechanism)]
    shifts = ((0, mechanism.estimate), (mechanism.margin, mechanism.end), (-mechanism.margin, mechanism.end))
    return [(lambda line, shift=shift: mechanism.scores(line, shift), choice) for shift, choice in shifts]


def priced(asked: ParsedQuery, *, gaussian: bool = False, weigh: bool = True) -> Price:
    """The price of a question, as `query_quote` makes it."""
    terms = {"epsilon": EPSILON, "gaussian": gaussian, "delta": DELTA, "weigh_keys": weigh}
    return price(asked.inquiry, asked.reach, needs=asked.needs, **terms)


def answered(pair: Pair, text: str, *, gaussian: bool = False) -> list[tuple]:
    """The answers to a question on both neighbours, as they are stored, read and shown. Whatever the noise, nothing fails."""
    asked = parse_query(text, pair.catalog)
    found = priced(asked, gaussian=gaussian)
    shown = []
    for side in (pair.whole, pair.less):
        curator = Curator(ledger=None, engine=side.engine, folder=Path())
        parts, event = curator.draw(found, side.tables(asked))
        assert event == found.event, "what was drawn is not what is charged"
        stored = Measurement(id="r-1", text=text, parts=parts, event=event).to_text()
        reading = AnswerReading(query=asked, measurement=Measurement.from_text(stored))
        intervals = reading.intervals(Fraction(95, 100))
        assert len(reading.rows) == len(intervals)
        kinds = [output.key is None and output.grouping is None for output in asked.outputs]
        shown.append(
            tuple(tuple("#" if noisy else cell for cell, noisy in zip(row, kinds, strict=True)) for row in reading.rows)
        )
    if not found.inquiry.keys and asked.having is None and not asked.order:
        assert shown[0] == shown[1], "what is shown beside the numbers is public"
    return shown


def norms(one: np.ndarray, two: np.ndarray) -> dict[str, int]:
    """How far two exact vectors lie apart."""
    change = [abs(int(left) - int(right)) for left, right in zip(one, two, strict=True) if left != right]
    return {
        "l0": len(change),
        "l1": sum(change),
        "l2_squared": sum(each**2 for each in change),
        "linf": max(change, default=0),
    }
