"""Sessions on two neighbouring projects: the second is handed what the mechanisms of the first drew.

Nothing of the planner is used, and nothing of `discreet.lab`. What a mechanism was given on the two projects lies so far
apart, and that is what somebody who sees all its output learns at most; the losses of all draws together must be no more
than was charged to whom they are about. And given the same draws all that anybody sees must be the same to the last byte.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np

from discreet.accounting import events
from discreet.accounting.events import Loss
from discreet.accounting.region import Region
from discreet.kernel.curator import Curator
from discreet.ledger.ledger import Ledger
from discreet.mechanisms.exponential import ExponentialMechanism, PermuteAndFlipMechanism
from discreet.mechanisms.floored_ladder import FlooredLadder
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.refinement import Refinement
from discreet.mechanisms.weighted_threshold import UNIT, WeightedThreshold

#: More than any budget: what no pure epsilon bounds.
ENDLESS = Fraction(10**9)


@dataclass(frozen=True, kw_only=True)
class Draw:
    """What a mechanism was given and what it drew. `parameters`: what it was given beside the data; the same on the other project."""

    mechanism: Any
    parameters: tuple[Any, ...]
    exact: Any
    output: Any


@dataclass(frozen=True, kw_only=True)
class PaidDraw:
    """How much a draw tells of who is gone."""

    epsilon: Fraction
    rho: Fraction


NOTHING = PaidDraw(epsilon=Fraction(0), rho=Fraction(0))


@dataclass(kw_only=True)
class Tape:
    """The draws and the charges of one session. With `earlier`, its mechanisms draw what those of the earlier one drew."""

    earlier: Tape | None = None
    draws: list[Draw] = field(default_factory=list)
    charges: list[tuple[str, Region, Loss]] = field(default_factory=list)
    losses: list[PaidDraw] = field(default_factory=list)
    depth: int = 0
    #: What a check raised inside a draw: whoever draws hides it.
    problems: list[AssertionError] = field(default_factory=list)

    @contextmanager
    def running(self):
        """Every draw and charge of what is done now is kept. Raises what the checks say."""
        with ExitStack() as stack:
            for kind, name in (
                (DiscreteLaplace, "add_noise"),
                (DiscreteGaussian, "add_noise"),
                (Refinement, "add_noise"),
                (ExponentialMechanism, "choose"),
                (PermuteAndFlipMechanism, "choose"),
                (FlooredLadder, "choose"),
            ):
                stack.enter_context(mock.patch.object(kind, name, self._watched(getattr(kind, name))))
            stack.enter_context(mock.patch.object(Curator, "_discover", self._discovering(Curator._discover)))
            stack.enter_context(mock.patch.object(Ledger, "charge", self._charging(Ledger.charge)))
            try:
                yield
            finally:
                if self.problems:
                    raise self.problems[0]

    def _keeping(self, draw: Callable[..., Any]) -> Callable[..., Any]:
        def kept(*given: Any, **named: Any) -> Any:
            try:
                return draw(*given, **named)
            except AssertionError as problem:
                self.problems.append(problem)
                raise

        return kept

    def _charging(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def charge(ledger: Ledger, request: Any) -> Any:
            before = ledger.refresh().seq
            made = real(ledger, request)
            if made.seq > before:  # else a reservation that goes on
                self.charges.append((request.table, request.region, events.loss(request.event)))
            return made

        return charge

    def _watched(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def draw(mechanism: Any, exact: Any, *others: Any, bits: Any, **norms: Any) -> Any:
            if self.depth:
                return real(mechanism, exact, *others, bits=bits, **norms)
            parameters = (*(tuple(map(int, other.ravel())) for other in others), *sorted(norms.items()))
            if self.earlier is None:
                output, event = real(mechanism, exact, *others, bits=bits, **norms)
            else:
                output, event = self._output(mechanism, parameters).output, mechanism.event(**norms)
            self._keep(
                Draw(mechanism=mechanism, parameters=parameters, exact=np.array(exact, dtype=object), output=output)
            )
            return output, event

        return self._keeping(draw)

    def _discovering(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def discover(curator: Curator, step: Any, price: Any, tables: Any) -> Any:
            groups = curator.engine.at(tables.engine).keys(
                step.plan, step.keys, price.region, persons=step.persons, tables=tables, weights=step.weights
            )
            exact = dict(zip(groups.exact_keys, groups.exact_persons.tolist(), strict=True))
            if self.earlier is None:
                self.depth += 1
                output = real(curator, step, price, tables)
                self.depth -= 1
            else:
                output = self._output(step.mechanism, (step.keys,)).output
            self._keep(Draw(mechanism=step.mechanism, parameters=(step.keys,), exact=exact, output=output))
            return output

        return self._keeping(discover)

    def _output(self, mechanism: Any, parameters: tuple[Any, ...]) -> Draw:
        assert self.earlier is not None
        assert len(self.draws) < len(self.earlier.draws), "one project draws where the other does not"
        one = self.earlier.draws[len(self.draws)]
        assert (one.mechanism, one.parameters) == (mechanism, parameters), "how noise is drawn follows from exact data"
        return one

    def _keep(self, draw: Draw) -> None:
        if self.earlier is not None:
            self.losses.append(loss_between(self.earlier.draws[len(self.draws)], draw))
        self.draws.append(draw)
        if isinstance(draw.mechanism, Refinement):
            self._check_refined(draw)

    def _check_refined(self, draw: Draw) -> None:
        """What is refined are numbers that were released, and no more often than they were."""
        own, exact = draw.parameters[0], draw.exact.ravel().tolist()
        arrays = [each for each in self.draws if isinstance(each.output, np.ndarray)]
        alike = [each for each in arrays if each.exact.ravel().tolist() == exact]
        released = [each for each in alike if each is not draw and tuple(map(int, each.output.ravel())) == own]
        refined = [each for each in alike if isinstance(each.mechanism, Refinement) and each.parameters[0] == own]
        assert len(refined) <= len(released), "numbers are refined that were not released, or twice"


def loss_between(one: Draw, other: Draw) -> PaidDraw:
    """What a draw tells at most of which of two inputs it was made from."""
    mechanism = one.mechanism
    if isinstance(one.exact, dict):
        return _loss_of_keys(mechanism, one.exact, other.exact)
    assert one.exact.shape == other.exact.shape, "how many numbers there are follows from exact data"
    change = [abs(int(each)) for each in (one.exact - other.exact).ravel()]
    for norm, moved in (("l1", sum(change)), ("l2_squared", sum(each**2 for each in change))):
        most = dict(each for each in one.parameters if each[:1] == (norm,)).get(norm, moved)
        assert moved <= most, f"{norm} of what is drawn is {moved}, above {most}"
    if isinstance(mechanism, DiscreteGaussian):
        rho = sum(each**2 for each in change) / (2 * mechanism.sigma2)
        return PaidDraw(epsilon=ENDLESS if rho else Fraction(0), rho=rho)
    if isinstance(mechanism, DiscreteLaplace):
        return _laplace(change, 1 / mechanism.scale)
    if isinstance(mechanism, Refinement):
        whole, paid = (_laplace(change, 1 / law.scale) for law in (mechanism.law, mechanism.earlier))
        return PaidDraw(epsilon=whole.epsilon - paid.epsilon, rho=whole.rho - paid.rho)
    if isinstance(mechanism, FlooredLadder):
        cost = events.loss(mechanism.event())
        (value, width), (value_2, width_2) = one.exact, other.exact
        assert abs(value - value_2) <= min(width, width_2) and abs(width - width_2) <= mechanism.step
        return PaidDraw(epsilon=cost.epsilon, rho=cost.rho) if any(change) else NOTHING
    # What is added to all scores alike changes nothing, so half of how far they differ in counts, up and down.
    far = (one.exact - other.exact).ravel()
    epsilon = mechanism.epsilon * Fraction(int(far.max()) - int(far.min())) / (2 * mechanism.sensitivity)
    assert epsilon <= mechanism.epsilon, f"scores move by more than {mechanism.sensitivity}"
    return PaidDraw(epsilon=epsilon, rho=epsilon**2 / (2 if isinstance(mechanism, PermuteAndFlipMechanism) else 8))


def _laplace(change: list[int], rate: Fraction) -> PaidDraw:
    return PaidDraw(epsilon=sum(change) * rate, rho=sum(each**2 for each in change) * rate**2 / 2)


def _loss_of_keys(mechanism: Any, one: dict[Any, int], other: dict[Any, int]) -> PaidDraw:
    """Of keys that both projects have; one that a person alone brings shows with the chance delta."""
    assert set(other) <= set(one), "who leaves brings a key"
    change = [one[key] - other.get(key, 0) for key in one]
    assert min(change, default=0) >= 0, "who leaves adds to a key"
    if not any(change):
        return NOTHING
    common = [each for each, key in zip(change, one, strict=True) if key in other]
    if isinstance(mechanism, WeightedThreshold):
        assert sum(each**2 for each in change) <= UNIT**2, "the weights of a person are too long"
        rho = Fraction(sum(each**2 for each in common)) / (2 * mechanism.noise.sigma2)
        return PaidDraw(epsilon=mechanism.epsilon or ENDLESS, rho=rho)
    assert max(change, default=0) <= 1, "a person counts twice under a key"
    most = mechanism.keys_per_person
    assert most is None or sum(change) <= most, "a person is in too many keys"
    if hasattr(mechanism, "noise"):
        return _laplace(common, 1 / mechanism.noise.scale)
    return PaidDraw(epsilon=mechanism.k * mechanism.epsilon, rho=mechanism.k * mechanism.epsilon**2 / 8)
