"""Rumours in a model: how long until half of the nodes know, with an interval for noise and for chance.

Some graphs are drawn from the model as it was fitted: they tell the time. The others are drawn from models that were
fitted to noise drawn anew upon the fitted numbers, as if the network had been measured another time, and one rumour
goes round in each: from the earliest to the latest of these reaches the interval. It speaks of noise and of chance; not
of what a block model leaves out of a network, such as triangles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.errors import Flag, Message, UsageError
from discreet.graph.model.block_model_fit import FittedNetwork, fit_network, simulate_measurements
from discreet.graph.model.graph_sampler import sample_graph
from discreet.graph.model.network_measurements import NetworkMeasurements
from discreet.graph.model.rumour_spread import AdjacencyList, RumourHistory, spread_rumour

#: How many rumours go round in each graph of the model as it was fitted. They tell a mean, and no confidence.
RUMOURS = 10

#: For so many graphs with noise of their own there is one of the model as it was fitted; but never fewer than two.
_TO_ONE = 5

#: What is wanted of an interval, where there are rumours enough for it: 39 are.
CONFIDENCE = Fraction(95, 100)

_MOST_RUNS = 10_000
_LEAST_RATE = Fraction(1, 10**6)

#: In how many steps a curve is told.
_POINTS = 24


class SampledModel(Protocol):
    """What of a model of a network rumours need."""

    @property
    def nodes(self) -> int: ...

    @property
    def edges(self) -> int: ...

    @property
    def measured(self) -> NetworkMeasurements: ...

    @property
    def fitted(self) -> FittedNetwork: ...

    @property
    def warnings(self) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RumourSettings:
    """What is asked: seeds, the chance of each edge in each step, and the share to wait for.

    runs: how many graphs are measured anew, for the interval; 39 make it one of 95%.
    """

    seeds: int
    rate: float
    reach: float
    runs: int

    @staticmethod
    def of(*, seeds: object, rate: object, reach: object, runs: object) -> RumourSettings:
        """The same in the words of the command line or of Python, checked."""
        chance = exact.number(rate, name="rate")
        share = exact.number(reach, name="reach")
        if chance != 0 and not _LEAST_RATE <= chance <= 1:
            raise UsageError(f"rate must be 0, or from {exact.show(_LEAST_RATE)} to 1, got {exact.show(chance)}")
        if not 0 < share <= 1:
            raise UsageError(
                f"reach must be above 0 and at most 1, got {exact.show(share)}",
                hint=Message(Flag("reach", 0.5), " is half"),
            )
        return RumourSettings(
            seeds=_count(seeds, "seeds", most=10**9),
            rate=float(chance),
            reach=float(share),
            runs=_count(runs, "runs", most=_MOST_RUNS, least=2),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RumourSpread:
    """How fast a rumour travels. time: the mean number of steps until `reach` know; None where most never get there.

    interval: where the time of one rumour lies, with `confidence`; its end is None where a rumour may never get there.
    arrived: the share of rumours that do. curve: for some steps the mean share of nodes that know, and the least and
    most of all rumours.
    """

    settings: RumourSettings
    nodes: int
    edges: int
    time: float | None
    interval: tuple[float | None, float | None]
    confidence: float
    arrived: float
    curve: tuple[tuple[int, float, float, float], ...]
    warnings: tuple[str, ...] = ()

    def to_data(self) -> dict[str, Any]:
        return {
            "nodes": self.nodes,
            "edges": self.edges,
            "seeds": self.settings.seeds,
            "rate": self.settings.rate,
            "reach": self.settings.reach,
            "runs": self.settings.runs,
            "time": self.time,
            "interval": list(self.interval),
            "confidence": self.confidence,
            "arrived": self.arrived,
            "curve": [{"step": step, "share": share, "interval": [low, high]} for step, share, low, high in self.curve],
            "sentence": self.sentence,
            "warnings": list(self.warnings),
        }

    @property
    def sentence(self) -> str:
        """The answer in words."""
        whom = f"{100 * self.settings.reach:g}% of {self.nodes:,} nodes"
        if self.time is None:
            why = (
                "at rate 0 no edge passes it on"
                if not self.settings.rate
                else "no path leads from its seeds to the others"
            )
            most = max((share for _, share, _, _ in self.curve), default=0.0)
            return f"A rumour does not reach {whom}: it stops at about {100 * most:.3g}% ({why})."
        low, high = ("never" if end is None else f"{end:g}" for end in self.interval)
        text = f"A rumour reaches {whom} after {self.time:.3g} steps (between {low} and {high}"
        text += f" with {100 * self.confidence:.3g}% confidence)."
        missing = 1 - self.arrived
        return text + (f" {100 * missing:.3g}% of the rumours never reach that share." if missing else "")


def spread(
    model: SampledModel,
    settings: RumourSettings,
    generator: np.random.Generator,
    *,
    progress: Callable[[str, float], None] | None = None,
) -> RumourSpread:
    """Rumours in graphs of a model, as it is and measured anew."""
    if settings.seeds > model.nodes:
        raise UsageError(
            f"the model has {model.nodes:,} nodes, so a rumour cannot start from {settings.seeds:,}",
            hint=Message("fewer ", Flag("seeds"), ", or a model of a larger network"),
        )
    drawing = _GraphSampler(model=model, settings=settings, generator=generator)
    as_fitted = max(2, settings.runs // _TO_ONE)
    rumours: list[RumourHistory] = []
    times: list[float] = []
    anew_times: list[float] = []
    for run in range(as_fitted + settings.runs):
        if run < as_fitted:
            neighbours = drawing.as_fitted()
            histories = [drawing.rumour(neighbours) for _ in range(RUMOURS)]
            rumours.extend(each for each, _ in histories)
            times.extend(time for _, time in histories)
        else:
            # One and no more: several of a graph share its noise, and would pass for more measurements than there are.
            anew_times.append(drawing.rumour(drawing.anew())[1])
        if progress is not None:
            progress("spreading", (run + 1) / (as_fitted + settings.runs))
    arrived = [time for time in times if math.isfinite(time)]
    time = float(np.mean(arrived)) if 2 * len(arrived) >= len(times) else None
    low, high, confidence = _interval(anew_times, time)
    return RumourSpread(
        settings=settings,
        nodes=model.nodes,
        edges=model.edges,
        time=time,
        interval=(low, high),
        confidence=confidence,
        arrived=len(arrived) / len(times),
        curve=_curve(rumours, model.nodes),
        warnings=tuple(model.warnings),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _GraphSampler:
    """Graphs of a model, and rumours in them."""

    model: SampledModel
    settings: RumourSettings
    generator: np.random.Generator

    def as_fitted(self) -> AdjacencyList:
        return AdjacencyList.of(sample_graph(self.model.fitted, self.generator))

    def anew(self) -> AdjacencyList:
        """A graph of what would be fitted had the network been measured another time."""
        again = fit_network(simulate_measurements(self.model.measured, self.model.fitted, self.generator))
        return AdjacencyList.of(sample_graph(again, self.generator))

    def rumour(self, neighbours: AdjacencyList) -> tuple[RumourHistory, float]:
        """One rumour, and the step in which enough know it."""
        seeds = min(self.settings.seeds, neighbours.nodes)
        history = spread_rumour(neighbours, seeds=seeds, rate=self.settings.rate, generator=self.generator)
        enough = max(1.0, self.settings.reach * neighbours.nodes)  # where noise leaves nobody, nobody gets to know
        return history, history.time_to(enough)


def _interval(times: list[float], around: float | None = None) -> tuple[float | None, float | None, float]:
    """An interval that the next time of the same kind lies in, and how surely: by the ranks of those there are.

    `around`: a time that is not to lie outside.

    Because: where all of them and the next are drawn alike and independently, each is as likely to have any rank; so
        the next one is before the r-th of n, or after the r-th from the end, with a chance of r / (n + 1) each at most.
    """
    ordered, ranks = sorted(times), len(times) + 1
    rank = max(1, math.floor(ranks * (1 - CONFIDENCE) / 2))
    low, high = ordered[rank - 1], ordered[-rank]
    if around is not None:
        low, high = min(low, around), max(high, around)
    confidence = 1000 * (ranks - 2 * rank) // ranks / 1000  # rounded down
    return (low if math.isfinite(low) else None), (high if math.isfinite(high) else None), confidence


def _curve(rumours: list[RumourHistory], nodes: int) -> tuple[tuple[int, float, float, float], ...]:
    """Shares of nodes that know it, at steps spread evenly until most that ever hear it have."""
    last = int(np.median([each.time_to(0.99 * each.informed[-1]) for each in rumours])) + 1
    steps: NDArray[np.int64] = np.unique(np.linspace(0, last, min(_POINTS, last + 1)).astype(np.int64))
    shares = np.array([each.at(steps) for each in rumours]) / nodes
    rows = zip(steps.tolist(), shares.mean(axis=0), shares.min(axis=0), shares.max(axis=0), strict=True)
    return tuple(
        (step, round(float(mean), 6), round(float(low), 6), round(float(high), 6)) for step, mean, low, high in rows
    )


def _count(value: object, name: str, *, most: int, least: int = 1) -> int:
    number = exact.number(value, name=name)
    if number.denominator != 1 or not least <= number <= most:
        raise UsageError(f"{name} must be a whole number from {least} to {most:,}, got {exact.show(number)}")
    return int(number)
