"""What a budget still holds: hints for a question that is refused, and how many more counts there are."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

from discreet import exact
from discreet.accounting import events
from discreet.accounting.events import Event, GaussianEvent, LaplaceEvent, Loss
from discreet.accounting.filter import Cost, Decision
from discreet.accounting.guarantee import FilterLimits
from discreet.answers.largest_question import largest_question as largest_question
from discreet.answers.more_precise import EarlierAnswer
from discreet.answers.query_quote import QueryQuote, QueryWish, account_of, budget_cost, quote, width_of
from discreet.errors import BudgetExceeded, Command, Flag, Message, UsageError
from discreet.ledger.account import Account, RemainingByArm
from discreet.ledger.charge_request import UNNAMED, Asker
from discreet.ledger.ledger import Ledger
from discreet.ledger.refusal import charge_refusal as exceeded
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.plan.price import Law, cheapest_epsilon
from discreet.schema.privacy_unit import PrivacyUnit

#: What remains is of no use where it is less than one in so many of what was requested, or of the whole limit.
LEAST_USEFUL = 100

#: What to do where nothing useful remains.
MORE = "ask the owner to grant more"

#: Where 5% of a Laplace law, and of a normal one, lie beyond: in scales. They only say where a search begins.
LOG_20, NORMAL_95 = math.log(20), 1.959964


def budget_refusal(
    quoted: QueryQuote, wish: QueryWish, ledger: Ledger, *, earlier: EarlierAnswer | None = None
) -> BudgetExceeded:
    """The refusal of a question that the budget does not hold, as a charge would give it."""
    account, cost = account_of(quoted, ledger), Cost.of(events.loss(quoted.price.event))
    error = exceeded(account, cost, quoted.decision, budget_cost(quoted, ledger))
    smaller_delta = Message("a smaller ", Flag("delta"))
    error.hint = smaller_delta if error.binding == "keys" else affordable_hint(quoted, wish, ledger, earlier=earlier)
    return error


def affordable_hint(
    quoted: QueryQuote,
    wish: QueryWish,
    ledger: Ledger,
    *,
    asker: Asker = UNNAMED,
    earlier: EarlierAnswer | None = None,
) -> str:
    """A hint: what the same question could still get, if anything, within the budget and the asker's quota.

    `earlier`: its stored answer. The same query would only return that; `again` makes it more precise.
    """
    version = quoted.version
    room = ledger.remaining_by_arm(version.population, guarantee=quoted.guarantee)
    quota = quota_left(account_of(quoted, ledger), asker)
    cheaper: dict[int, QueryQuote] = {}

    def fits(millionths: int) -> bool:
        smaller = QueryWish(epsilon=Fraction(millionths, 10**6), confidence=wish.confidence, delta=wish.delta)
        try:
            tried = (
                earlier.quote(smaller)
                if earlier is not None
                else quote(
                    quoted.query, smaller, version=version, guarantee=quoted.guarantee, ledger=ledger, booking=False
                )
            )
        except UsageError:  # noise so large that nobody draws it
            return False
        if not tried.decision.accepted or (quota is not None and budget_cost(tried, ledger) > quota):
            return False
        cheaper[millionths] = tried
        return True

    requested = min(quoted.price.epsilon, account_of(quoted, ledger).guarantee.epsilon)
    most = int(min(quoted.price.epsilon, exact.MAX_QUESTION_EPSILON) * 10**6)
    millionths = largest_that_fits(fits, near=int(largest_question(room) * 10**6), most=most)
    if not millionths:
        return f"no budget remains for this query; {MORE}" if quota is None else SMALL_QUOTA
    fitting = Fraction(millionths, 10**6)
    if fitting * LEAST_USEFUL < requested:
        return f"no useful budget remains for this query (at most epsilon {exact.show(fitting)}); {MORE}"
    if earlier is not None:
        return _again_hint(earlier, cheaper[millionths], wish, fitting, asker=asker)
    widths = [width_of(cheaper[millionths].price, output, wish.confidence) for output in quoted.query.outputs]
    width = max((each for each in widths if each is not None), default=None)
    width_text = "" if width is None else f"; each number within ±{exact.show(width, up=True)}"
    fitted = "budget" if quota is None else "budget and the quota"
    return Message(Flag("epsilon", exact.show(fitting)), f" (this fits the remaining {fitted}{width_text})")


def _again_hint(
    earlier: EarlierAnswer, fitting: QueryQuote, wish: QueryWish, epsilon: Fraction, *, asker: Asker
) -> str:
    """A hint: the `again` that still fits, with the ± that it gives; none where nobody would see a difference."""
    release = earlier.measurement.id
    before, after = earlier.plus_minus(wish.confidence), earlier.plus_minus_after(fitting, wish.confidence)
    if after is not None and after == before:
        return f"what remains would not make release {release} visibly more precise than ±{before}; {MORE}"
    flags = [Flag("epsilon", exact.show(epsilon))]
    flags += [Flag("confidence", exact.show(wish.confidence))] if wish.confidence != Fraction(95, 100) else []
    flags += [Flag("analyst", asker.name)] if asker.name is not None else []
    fitted = "budget" if asker.quota is None else "budget and the quota"
    width_text = "" if after is None else f"; each number within ±{after} instead of ±{before}"
    return Message(Command("again", release, *flags), f" (this fits the remaining {fitted}{width_text})")


def largest_that_fits(fits: Callable[[int], bool], *, near: int, most: int) -> int:
    """The largest number up to `most` that fits, to within a thousand, searched from `near`; 0 if none does.

    It is a number that `exact.show` shows without rounding it.
    """
    low = _as_shown(min(near, most))
    if low and not fits(low):
        low, most = 0, low
    while low < most:
        middle = _as_shown((low + most + 1) // 2)
        if most - low <= 1000 or middle <= low:  # near enough
            break
        low, most = (middle, most) if fits(middle) else (low, middle - 1)
    return low


def _as_shown(millionths: int) -> int:
    return int(Fraction(exact.show(Fraction(millionths, 10**6))) * 10**6)


#: The hint where a quota is used up.
SMALL_QUOTA = "ask the owner to grant more or to raise the quota"


def quota_left(account: Account, asker: Asker) -> Fraction | None:
    """What remains of an analyst's quota; None if they have none."""
    if asker.quota is None:
        return None
    return Fraction(0) if account.payers_unknown else max(Fraction(0), asker.quota - account.paid_by(asker.name))


def largest_count(
    room: RemainingByArm, preview: Callable[[Event], Decision], *, gaussian: bool = False, rows: int = 1
) -> Fraction:
    """The largest epsilon of one more count of everybody, to a millionth: it is granted, and a millionth more is not.

    Because: `largest_question` is granted; above it the ledger is asked (`preview`), because where nobody has lost most
        in every arm, more may be granted than plain addition shows.
    """

    def fits(millionths: int) -> bool:
        epsilon = Fraction(millionths, 10**6)
        if epsilon > exact.MAX_QUESTION_EPSILON:
            return False
        noise: Event = LaplaceEvent(scale=rows / epsilon, l1=rows)
        if gaussian:
            noise = GaussianEvent(sigma2=rows**2 / epsilon**2, l2_squared=rows**2)
        return preview(noise).accepted

    low, step = int(largest_question(room) * 10**6), 1
    while fits(low + step):
        low, step = low + step, 2 * step
    while step > 1:
        step //= 2
        low += step if fits(low + step) else 0
    return Fraction(low, 10**6)


def counts_within_50(unit: PrivacyUnit, limits: FilterLimits, room: RemainingByArm) -> int:
    """About how many more counts at plus or minus 50 there are; of persons, in a network without a limit on edges."""
    rows = unit.limit or 1 if unit.ends else unit.rows
    try:
        return counts_left(limits, room, width=50, rows=rows)
    except UsageError:  # one person alone moves a count so far that none is so exact
        return 0


def counts_left(limits: FilterLimits, room: RemainingByArm, *, width: int, rows: int = 1) -> int:
    """How many more counts of everybody, each within `width` at 95%, the budget holds."""
    rooms = (room.pure, room.rho, *room.orders)
    numbers = [0]
    for gaussian in (False, True):
        if gaussian and limits.rho is None:
            continue
        epsilon = epsilon_of_a_count(rows, width, gaussian=gaussian)
        each = Cost.of(
            Loss(epsilon=None, rho=epsilon**2 / 2)
            if gaussian
            else events.loss(LaplaceEvent(scale=rows / epsilon, l1=rows))
        )
        numbers += [
            left // loss for limit, left, loss in zip(limits.arms, rooms, each.arms, strict=True) if limit is not None
        ]
    return max(numbers)


@cache
def epsilon_of_a_count(rows: int, width: int, *, gaussian: bool) -> Fraction:
    """The cheapest epsilon of a count that is within `width` at 95%, where a person has at most `rows` rows.

    >>> epsilon_of_a_count(1, 50, gaussian=False), epsilon_of_a_count(1, 50, gaussian=True)
    (Fraction(59313, 1000000), Fraction(9703, 250000))
    """

    def within(epsilon: Fraction) -> bool:
        try:
            law: Law = (
                DiscreteGaussian(sigma2=rows**2 / epsilon**2) if gaussian else DiscreteLaplace(scale=rows / epsilon)
            )
        except UsageError:
            return False
        return law.tail(width) <= Fraction(5, 100)

    # Of the continuous law, half a step farther out: ln 20 and the normal quantile.
    near = rows * (NORMAL_95 if gaussian else LOG_20) / (width + 0.5)
    return cheapest_epsilon(within, width=Fraction(width), near=near)
