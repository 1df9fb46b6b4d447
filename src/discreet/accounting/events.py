"""Events: what happened, in mathematics.

A promise: the meaning of an event, once stored, never changes. A kind is added, never altered;
a ledger with an unknown kind is refused, because its cost is unknown. An event says what was
*done* (noise of this law on a query of that sensitivity); what it costs follows from it.

Each loss holds for neighbours that differ by one privacy unit added or removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, assert_never

from discreet import exact
from discreet.accounting import renyi
from discreet.accounting.renyi import ORDERS
from discreet.errors import LedgerFault


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What one event costs: pure epsilon (None: no bound), zCDP rho, delta for keys, and a Rényi divergence at each of
    `ORDERS`, by default what the other two imply: at most epsilon, and at most order * rho.

    These are what it adds in each arm of the filters. For most events each is also a bound by itself. The epsilon of a
    refinement is only the difference to what was paid before, and implies no bound at an order.
    """

    epsilon: Fraction | None
    rho: Fraction
    delta: Fraction = Fraction(0)
    orders: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        if (self.epsilon is not None and self.epsilon <= 0) or self.rho <= 0 or not 0 <= self.delta < 1:
            raise ValueError(f"a loss must be positive: {self}")
        curve = self.orders or _implied_orders(self.epsilon, self.rho)
        if len(curve) != len(ORDERS) or min(curve) <= 0:
            raise ValueError(f"a loss must be positive at every order: {self}")
        object.__setattr__(self, "orders", tuple(map(min, curve, _implied_orders(None, self.rho))))


def _implied_orders(epsilon: Fraction | None, rho: Fraction) -> tuple[Fraction, ...]:
    """What a pure bound and a zCDP bound imply at each of `ORDERS`."""
    return tuple(order * rho if epsilon is None else min(epsilon, order * rho) for order in ORDERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceEvent:
    """Discrete Laplace noise of `scale` on integers whose l1 distance is at most `l1`.

    Loss: epsilon = l1 / scale, since the mass at k and k + d differs by at most exp(|d| / scale);
    rho = epsilon^2 / 2 (Bun and Steinke 2016, proposition 1.4); at a Rényi order its own curve.
    """

    scale: Fraction
    l1: int

    def __post_init__(self) -> None:
        if self.scale <= 0 or self.l1 < 1:
            raise ValueError(f"not a Laplace event: {self}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RefinedEvent:
    """Integers that were released with discrete Laplace noise of scale `earlier`, released again with noise of the
    smaller `scale`, drawn so that the earlier noise is the new noise plus independent noise. Each release only once.

    Loss: epsilon = l1 / scale - l1 / earlier, since both answers together lose l1 / scale; rho = (l1 / scale)^2 / 2 and
    at a Rényi order what the second answer loses at most, given the first (docs/proofs/instalments.md).
    """

    earlier: Fraction
    scale: Fraction
    l1: int

    def __post_init__(self) -> None:
        if not 0 < self.scale < self.earlier or self.l1 < 1:
            raise ValueError(f"not a refinement: {self}")


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianEvent:
    """Discrete Gaussian noise of parameter `sigma2` on integers whose squared l2 distance is at most `l2_squared`.

    Loss: rho = l2^2 / (2 sigma^2) (Canonne, Kamath and Steinke 2020, theorem 14); no pure bound.
    """

    sigma2: Fraction
    l2_squared: int

    def __post_init__(self) -> None:
        if self.sigma2 <= 0 or self.l2_squared < 1:
            raise ValueError(f"not a Gaussian event: {self}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialEvent:
    """A choice by the exponential mechanism: P(i) proportional to exp(epsilon * score_i / (2 sensitivity)).

    Loss: epsilon; rho = epsilon^2 / 8, since its privacy loss has range epsilon (Cesar and Rogers 2021).
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise ValueError(f"not an exponential event: {self}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PermuteAndFlipEvent:
    """A choice by permute-and-flip (McKenna and Sheldon 2020). Loss: epsilon; rho = epsilon^2 / 2."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise ValueError(f"not a permute-and-flip event: {self}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderEvent:
    """A whole number drawn by a ladder: each rung further out weighs exp(-decay) of the one before, rungs are at least
    `floor` wide, and between neighbours a number's rung moves by at most 1 and the width of rungs by at most `step`.

    Loss: epsilon = decay + x (6 + x) / (6 + 4 x), x = step / (floor + step (1 / decay - 1/2) + decay / 2), which is
    below decay + step / floor; rho = decay^2 / 2, since its privacy loss has range 2 decay (docs/proofs/ladders.md).
    """

    decay: Fraction
    step: int
    floor: int

    def __post_init__(self) -> None:
        if self.decay <= 0 or not 1 <= self.step <= self.floor:
            raise ValueError(f"not a ladder event: {self}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdEvent:
    """Keys found by a threshold: discrete Laplace of `scale` on each key's count of persons, shown above
    a threshold; a person moves counts by at most `l1` in total and `delta` bounds the chance that any
    key which is there through one person alone shows.

    Loss: (l1 / scale, delta).
    """

    scale: Fraction
    l1: int
    delta: Fraction

    def __post_init__(self) -> None:
        if self.scale <= 0 or self.l1 < 1 or not 0 < self.delta < 1:
            raise ValueError(f"not a threshold event: {self}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopKEvent:
    """The most common keys, found by up to `choices` exponential choices of `epsilon` each among keys that exist
    and a stop; `delta` bounds the weight, against the stop, of keys that one person brings in or drives out.

    Loss: (choices * epsilon, delta); rho = choices * epsilon^2 / 8 (docs/proofs/topk.md).
    """

    choices: int
    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        if self.choices < 1 or self.epsilon <= 0 or not 0 < self.delta < 1:
            raise ValueError(f"not a top-k event: {self}")


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedThresholdEvent:
    """Keys found by a threshold on weights: each person's weight is split over that person's keys, so that all weights
    together move by at most `l2_squared` in squared length, with discrete Gaussian noise of `sigma2` on each. `delta`
    bounds the chance that any key which is there through one person alone shows, and `noise_delta`, a part of it, what
    the noise lacks to be epsilon-DP; it is 0 where there is no `epsilon`.

    Loss: (epsilon, delta), where there is an epsilon; rho = l2^2 / (2 sigma^2), with delta (docs/proofs/groups.md).
    """

    sigma2: Fraction
    l2_squared: int
    epsilon: Fraction | None
    delta: Fraction
    noise_delta: Fraction

    def __post_init__(self) -> None:
        if self.sigma2 <= 0 or self.l2_squared < 1 or not 0 <= self.noise_delta < self.delta < 1:
            raise ValueError(f"not a weighted threshold event: {self}")
        if (self.epsilon is None) != (self.noise_delta == 0) or (self.epsilon is not None and self.epsilon <= 0):
            raise ValueError(f"not a weighted threshold event: {self}")


@dataclass(frozen=True, slots=True, kw_only=True)
class GapEvent:
    """Losses that a rolled-back ledger forgot, charged anew as a bound. `epsilon` None: no pure bound."""

    epsilon: Fraction | None
    rho: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        if (self.epsilon is not None and self.epsilon <= 0) or self.rho <= 0 or not 0 <= self.delta < 1:
            raise ValueError(f"not a gap: {self}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgottenEvent:
    """As `GapEvent`, with a bound at each of `ORDERS` as well; the kind that is written now."""

    epsilon: Fraction | None
    rho: Fraction
    delta: Fraction
    orders: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        Loss(epsilon=self.epsilon, rho=self.rho, delta=self.delta, orders=self.orders)
        if len(self.orders) != len(ORDERS):
            raise ValueError(f"not a gap: {self}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationEvent:
    """A guarantee set aside for a program whose steps are chosen as it goes; together they lose at most this.

    With `epsilon` the steps' pure losses add up to at most it, and rho is epsilon^2 / 2; without, their rhos add
    up to at most `rho`. Either holds also where a step is chosen by what earlier ones said (docs/proofs/filters.md).
    """

    epsilon: Fraction | None
    rho: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        if self.rho <= 0 or not 0 <= self.delta < 1:
            raise ValueError(f"not a reservation: {self}")
        if self.epsilon is not None and (self.epsilon <= 0 or self.rho != self.epsilon**2 / 2):
            raise ValueError(f"not a pure reservation: {self}")

    def holds(self, losses: list[Loss]) -> bool:
        """Whether steps of these losses stay within it."""
        if sum((loss.delta for loss in losses if loss.delta), Fraction(0)) > self.delta:
            return False
        if self.epsilon is None:
            return sum((loss.rho for loss in losses), Fraction(0)) <= self.rho
        pure = [loss.epsilon for loss in losses]
        return None not in pure and sum((each or Fraction(0) for each in pure), Fraction(0)) <= self.epsilon


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedEvent:
    """Several events on the same people, paid as one. Losses add."""

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        if not self.events:
            raise ValueError("a together event must contain events")


def compose(parts: Sequence[Event]) -> Event:
    """Several events as one; a single one as it is."""
    return parts[0] if len(parts) == 1 else ComposedEvent(events=tuple(parts))


def parts(event: Event) -> tuple[Event, ...]:
    """The events that one is composed of; itself, where it is not."""
    return event.events if isinstance(event, ComposedEvent) else (event,)


def refinement_of(earlier: Event, scales: Sequence[Fraction]) -> Event | None:
    """The event that refines an earlier one, with noise of these smaller scales; None if the earlier one is not Laplace
    noise alone.
    """
    parts = earlier.events if isinstance(earlier, ComposedEvent) else (earlier,)
    if len(parts) != len(scales):
        return None
    refined: list[Event] = []
    for part, scale in zip(parts, scales, strict=True):
        if not isinstance(part, LaplaceEvent | RefinedEvent) or scale >= part.scale:
            return None
        refined.append(RefinedEvent(earlier=part.scale, scale=scale, l1=part.l1))
    return compose(refined)


def is_refinement(event: Event) -> bool:
    """Whether an event refines an earlier answer."""
    return isinstance(event, RefinedEvent) or (
        isinstance(event, ComposedEvent) and any(is_refinement(part) for part in event.events)
    )


def by_itself(event: Event) -> Event:
    """The event of an answer's noise alone, whatever was paid before: for a refinement, Laplace noise of its scale.

    Because: the earlier answer is the refined one plus independent noise, so it tells nothing more.
    """
    match event:
        case RefinedEvent(scale=scale, l1=l1):
            return LaplaceEvent(scale=scale, l1=l1)
        case ComposedEvent(events=parts):
            return ComposedEvent(events=tuple(by_itself(part) for part in parts))
        case _:
            return event


Event = (
    LaplaceEvent
    | RefinedEvent
    | GaussianEvent
    | ExponentialEvent
    | PermuteAndFlipEvent
    | LadderEvent
    | ThresholdEvent
    | TopKEvent
    | WeightedThresholdEvent
    | GapEvent
    | ForgottenEvent
    | ReservationEvent
    | ComposedEvent
)


@lru_cache(maxsize=4096)
def loss(event: Event) -> Loss:
    """The cost of an event: epsilon, rho and delta exact, the orders as proved bounds.

    Remembered: the rounds of a fit repeat the same events.

    >>> cost = loss(LaplaceEvent(scale=Fraction(10), l1=1))
    >>> cost.epsilon, cost.rho, [exact.show(order, digits=3, up=True) for order in cost.orders]
    (Fraction(1, 10), Fraction(1, 200), ['0.0368', '0.0724', '0.091', '0.0971'])
    """
    match event:
        case LaplaceEvent(scale=scale, l1=l1):
            return _laplace(scale, l1)
        case RefinedEvent(earlier=earlier, scale=scale, l1=l1):
            return Loss(
                epsilon=l1 / scale - l1 / earlier,
                rho=(l1 / scale) ** 2 / 2,
                orders=tuple(renyi.refined_loss(earlier, scale, l1, order) for order in ORDERS),
            )
        case GaussianEvent(sigma2=sigma2, l2_squared=l2_squared):
            return Loss(epsilon=None, rho=Fraction(l2_squared) / (2 * sigma2))
        case ExponentialEvent(epsilon=epsilon):
            return Loss(epsilon=epsilon, rho=epsilon**2 / 8, orders=_curve(epsilon))
        case PermuteAndFlipEvent(epsilon=epsilon):
            return _pure(epsilon)
        case LadderEvent(decay=decay, step=step, floor=floor):
            epsilon = ladder_epsilon(decay, step, floor)
            return Loss(epsilon=epsilon, rho=decay**2 / 2, orders=_curve(epsilon))
        case ThresholdEvent(scale=scale, l1=l1, delta=delta):
            return _laplace(scale, l1, delta)
        case TopKEvent(choices=choices, epsilon=epsilon, delta=delta):
            orders = tuple(
                choices * min(each, order * epsilon**2 / 8) for each, order in zip(_curve(epsilon), ORDERS, strict=True)
            )
            return Loss(epsilon=choices * epsilon, rho=choices * epsilon**2 / 8, delta=delta, orders=orders)
        case WeightedThresholdEvent(sigma2=sigma2, l2_squared=l2_squared, epsilon=gap, delta=delta):
            orders = () if gap is None else _curve(gap)
            return Loss(epsilon=gap, rho=Fraction(l2_squared) / (2 * sigma2), delta=delta, orders=orders)
        case GapEvent(epsilon=gap, rho=rho, delta=delta):
            return Loss(epsilon=gap, rho=rho, delta=delta)
        case ForgottenEvent(epsilon=gap, rho=rho, delta=delta, orders=orders):
            return Loss(epsilon=gap, rho=rho, delta=delta, orders=orders)
        case ReservationEvent(epsilon=None, rho=rho, delta=delta):
            return Loss(epsilon=None, rho=rho, delta=delta)
        case ReservationEvent(epsilon=epsilon, rho=rho, delta=delta):
            assert epsilon is not None
            return Loss(epsilon=epsilon, rho=rho, delta=delta, orders=_curve(epsilon))
        case ComposedEvent(events=events):
            return _sum([loss(part) for part in events])
        case _:
            assert_never(event)


def ladder_epsilon(decay: Fraction, step: int, floor: int) -> Fraction:
    """The epsilon of a ladder: one rung, and what the sum of all weights changes by. It rises with the decay.

    Because: with q = 1 / (e^decay - 1) that sum changes by a factor of at most 1 + step / (floor + step q + 1 / (2 q));
    q >= 1 / decay - 1/2 and 1 / q >= decay; and ln(1 + x) <= x (6 + x) / (6 + 4 x) (docs/proofs/ladders.md).

    >>> ladder_epsilon(Fraction(1, 2), 1, 10)
    Fraction(8147, 14006)
    """
    change = step / (floor + step * (1 / decay - Fraction(1, 2)) + decay / 2)
    return decay + change * (6 + change) / (6 + 4 * change)


def _pure(epsilon: Fraction) -> Loss:
    return Loss(epsilon=epsilon, rho=epsilon**2 / 2, orders=_curve(epsilon))


def _curve(epsilon: Fraction) -> tuple[Fraction, ...]:
    return tuple(min(epsilon, renyi.pure_loss(epsilon, order)) for order in ORDERS)


def _laplace(scale: Fraction, l1: int, delta: Fraction = Fraction(0)) -> Loss:
    epsilon = Fraction(l1) / scale
    orders = tuple(min(epsilon, renyi.laplace_loss(scale, l1, order)) for order in ORDERS)
    return Loss(epsilon=epsilon, rho=epsilon**2 / 2, delta=delta, orders=orders)


def _sum(parts: list[Loss]) -> Loss:
    pure = [part.epsilon for part in parts]
    return Loss(
        epsilon=None if None in pure else sum((part for part in pure if part is not None), Fraction(0)),
        rho=sum((part.rho for part in parts), Fraction(0)),
        delta=sum((part.delta for part in parts), Fraction(0)),
        orders=tuple(sum(each, Fraction(0)) for each in zip(*(part.orders for part in parts), strict=True)),
    )


_KINDS: dict[str, type[Any]] = {
    "laplace": LaplaceEvent,
    "refined": RefinedEvent,
    "gaussian": GaussianEvent,
    "exponential": ExponentialEvent,
    "permute-and-flip": PermuteAndFlipEvent,
    "ladder": LadderEvent,
    "threshold": ThresholdEvent,
    "top-k": TopKEvent,
    "weighted-threshold": WeightedThresholdEvent,
    "gap": GapEvent,
    "forgotten": ForgottenEvent,
    "reserved": ReservationEvent,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def to_data(event: Event) -> dict[str, Any]:
    """An event as JSON data, Fractions as text."""
    if isinstance(event, ComposedEvent):
        return {"kind": "together", "events": [to_data(part) for part in event.events]}
    fields = {name: getattr(event, name) for name in event.__slots__}
    return {"kind": _NAMES[type(event)]} | {name: _written(value) for name, value in fields.items()}


def _written(value: Fraction | int | tuple[Fraction, ...] | None) -> Any:
    if isinstance(value, tuple):
        return [exact.write(part) for part in value]
    return exact.write(value) if isinstance(value, Fraction) else value


def from_data(data: object) -> Event:
    """The event that `to_data` wrote. An unknown kind or a strange field is refused."""
    if not isinstance(data, dict):
        raise LedgerFault(f"this is not an event: {str(data)[:60]!r}")
    kind = data.get("kind")
    if kind == "together":
        if set(data) != {"kind", "events"}:
            raise LedgerFault("a together event is not valid")
        return ComposedEvent(events=tuple(from_data(part) for part in data["events"]))
    if kind not in _KINDS:
        raise LedgerFault(f"unknown event kind {str(kind)[:40]!r}", hint="upgrade: a newer version wrote this ledger")
    fields = {name: _field(value) for name, value in data.items() if name != "kind"}
    try:
        event: Event = _KINDS[kind](**fields)
    except (TypeError, ValueError) as problem:
        raise LedgerFault(f"a {kind} event is not valid") from problem
    return event


def _field(value: object) -> Fraction | int | tuple[Fraction, ...] | None:
    if isinstance(value, list):
        return tuple(_ratio(part) for part in value)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    return _ratio(value)


def _ratio(value: object) -> Fraction:
    try:
        return exact.read(value)
    except ValueError as problem:
        raise LedgerFault("a field of an event is not an exact number") from problem
