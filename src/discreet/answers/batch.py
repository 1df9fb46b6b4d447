"""Several questions as one plan: what they measure alike is measured once, and what touches different people
costs the most that one person loses, not the sum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet import exact
from discreet.accounting import events
from discreet.accounting.filter import Cost
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.overlap import Overlap
from discreet.accounting.region import Region
from discreet.answers.afford import refusal
from discreet.answers.quoting import Wish, account_of, quote
from discreet.answers.refine import Reading
from discreet.answers.releasing import released
from discreet.answers.repeats import BETWEEN
from discreet.answers.sql import Asker, measured, stored
from discreet.curator import Curator, Version
from discreet.engines.stopping import halfway
from discreet.errors import UsageError
from discreet.ledger.refusal import check_quota
from discreet.plan.price import region_of
from discreet.release import Release
from discreet.sql.asked import Asked

#: Nodes of the search for the person whom a batch touches most.
_NODES = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Questions by what they measure: those with one inquiry are readings of one measurement.

    One that names the same in another order is a group of its own, which finds the other's answer stored.
    """

    groups: tuple[tuple[Asked, ...], ...]

    @staticmethod
    def of(asked: Sequence[Asked]) -> Batch:
        groups: dict[str, list[Asked]] = {}
        for each in asked:
            groups.setdefault(repr(each.inquiry.to_data()), []).append(each)
        return Batch(groups=tuple(tuple(group) for group in groups.values()))

    def whole(self, group: tuple[Asked, ...]) -> Asked:
        """One question that asks for all that a group asks for."""
        outputs = tuple(output for each in group for output in each.outputs)
        having = next((each.having for each in group if each.having is not None), None)
        return replace(group[0], text=BETWEEN.join(each.text for each in group), outputs=outputs, having=having)

    def epsilons(self, total: Fraction) -> list[Fraction]:
        """What each group may spend so that nobody loses more than `total`.

        Weighed by how much a group measures, then raised together until the person whom the batch touches
        most loses `total`.
        """
        weights = [_weight(self.whole(group)) for group in self.groups]
        shares = [total * weight / sum(weights) for weight in weights]
        tables: dict[object, Overlap] = {}
        for group, share in zip(self.groups, shares, strict=True):
            region = region_of(group[0].inquiry, group[0].reach)
            overlap = tables.setdefault(group[0].tables[0], Overlap())
            overlap.add(region, pure=exact.units_up(share, exact.EPSILON_UNITS), rho=1)
        fullest = sum(overlap.largest(Region.whole(), arm="pure", nodes=_NODES).upper for overlap in tables.values())
        rise = max(Fraction(1), total * exact.EPSILON_UNITS / fullest)
        return [Fraction(exact.units_down(share * rise, 10**9), 10**9) for share in shares]


def _weight(asked: Asked) -> Fraction:
    """How much of a batch's epsilon a group gets: in proportion to need^(1/3), summed over what it measures."""
    inquiry = asked.inquiry
    found = sum(float(asked.needs.get(index, 1)) ** (1 / 3) for index in range(len(inquiry.statistics)))
    found = (found + len(inquiry.quantiles) + bool(inquiry.keys)) * len(inquiry.sets)
    return Fraction(max(1, round(100 * found)), 100)


def ask_batch(
    asked: Sequence[Asked],
    wish: Wish,
    *,
    versions: Callable[[Asked], list[Version]],
    guarantee: Callable[[str], Guarantee],
    curator: Curator,
    asker: Asker,
) -> list[Release]:
    """Answer a batch; in the order of its statements. Nothing is charged unless the budget surely holds all of it."""
    batch = Batch.of(asked)
    wishes = [
        replace(wish, epsilon=epsilon, within=None) if wish.epsilon is not None else wish
        for epsilon in (batch.epsilons(wish.epsilon) if wish.epsilon is not None else [Fraction(1)] * len(batch.groups))
    ]
    _check_room(batch, wishes, wish, versions=versions, guarantee=guarantee, curator=curator, asker=asker)
    found: dict[int, Release] = {}
    paid = False
    for number, (group, each) in enumerate(zip(batch.groups, wishes, strict=True)):
        whole, made = batch.whole(group), versions(group[0])
        known = stored(whole, each, version=made[0], curator=curator)
        own = replace(asker, key=None if asker.key is None else f"{asker.key}.{number}")
        if known is not None:
            measurement = known.measurement
        else:
            with halfway(paid):
                measurement = measured(
                    whole, each, versions=made, guarantee=guarantee(made[0].table), curator=curator, asker=own
                )
            paid = True
        for turn, question in enumerate(group):
            reading = Reading(asked=question, measurement=measurement, others=() if known is None else known.others)
            release = released(
                reading, each, version=made[0], ledger=curator.ledger, cached=known is not None or turn > 0
            )
            found[id(question)] = release
    return [found[id(question)] for question in asked]


def _check_room(
    batch: Batch,
    wishes: list[Wish],
    wish: Wish,
    *,
    versions: Callable[[Asked], list[Version]],
    guarantee: Callable[[str], Guarantee],
    curator: Curator,
    asker: Asker,
) -> None:
    """Refuse, before anything is charged, a batch that the budget may not hold in full."""
    needed: dict[str, Fraction] = {}
    deltas: dict[str, int] = {}
    for group, each in zip(batch.groups, wishes, strict=True):
        whole, made = batch.whole(group), versions(group[0])
        if stored(whole, each, version=made[0], curator=curator) is not None:
            continue
        limit = guarantee(made[0].table)
        quoted = quote(whole, each, version=made[0], guarantee=limit, ledger=curator.ledger)
        if not quoted.decision.accepted:
            raise refusal(quoted, each, curator.ledger)
        needed[made[0].population] = needed.get(made[0].population, Fraction(0)) + quoted.price.epsilon
        account = account_of(quoted, curator.ledger)
        delta = Cost.of(events.loss(quoted.price.event)).delta
        deltas[account.name] = deltas.get(account.name, account.delta) + delta
        if deltas[account.name] > limit.limits.delta_keys:
            raise UsageError(
                f"the batch needs more delta for its keys than {account.name!r} has left",
                hint="ask its statements one by one, or with a smaller --delta",
            )
        if asker.quota is not None:
            check_quota(account, asker.name, needed=needed[account.name], quota=asker.quota)
    for group in batch.groups:
        version = versions(group[0])[0]
        limit = guarantee(version.table)
        most = wish.epsilon if wish.epsilon is not None else needed.get(version.population, Fraction(0))
        room = curator.ledger.room(version.population, guarantee=limit)
        pure = Fraction(room.pure, exact.EPSILON_UNITS) if limit.limits.pure is not None else Fraction(0)
        rho = Fraction(room.rho, exact.RHO_UNITS) if limit.limits.rho is not None else Fraction(0)
        if needed.get(version.population) and most > pure and most**2 / 2 > rho:
            raise UsageError(
                f"the batch may cost epsilon {exact.show(most, up=True)}, "
                f"and {version.population!r} does not surely have that",
                hint="ask its statements one by one, or with a smaller --epsilon",
            )
