"""A model of a network: what it holds, what it can be asked, and its file. Noisy values and public facts alone.

A file may have been written by anybody: every field is checked, and what does not fit together is one sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import exact
from discreet.errors import Command, DiscreetError, Flag, Message, UsageError
from discreet.graph.graph_card import is_plain, plain
from discreet.graph.model.block_model_fit import FittedNetwork, fit_network
from discreet.graph.model.graph_sampler import SampledGraph, sample_graph
from discreet.graph.model.network_measurements import NetworkMeasurements, NoisyNumbers
from discreet.kernel.measurement import law_from_data, law_to_data
from discreet.present import notebook
from discreet.synth import archive
from discreet.synth.archive import DocumentArrays
from discreet.synth.model_file import check_format

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.graph.model.rumours import RumourSpread

NAME = "discreet graph model"
FORMAT = 1

#: More thresholds, or longer words, are in no file of ours. Words that are shown are shorter than values of data.
_MOST_THRESHOLDS = 1024
_MOST_LETTERS = 10_000
_MOST_SHOWN = 1000
_MOST_WARNINGS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphModelCard:
    """Where a model comes from and what it cost. `repeat`: it was measured before, and is free now."""

    table: str
    version: int
    release: str
    epsilon: Fraction | None
    rho: Fraction
    repeat: bool = False
    warnings: tuple[str, ...] = ()

    def cost(self) -> dict[str, float | None]:
        """What was paid for it, once."""
        epsilon = None if self.epsilon is None else exact.as_float(self.epsilon, up=True)
        return {"epsilon": epsilon, "rho": exact.as_float(self.rho, up=True), "delta": 0.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphModel:
    """A degree-corrected block model. Whatever is drawn from it is free."""

    card: GraphModelCard
    measured: NetworkMeasurements
    fitted: FittedNetwork = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fitted", fit_network(self.measured))

    @property
    def nodes(self) -> int:
        return self.fitted.nodes

    @property
    def edges(self) -> int:
        return int(self.fitted.edges.sum())

    @property
    def warnings(self) -> list[str]:
        """What a reader of anything that is drawn should know."""
        warning_lines = [*self.card.warnings]
        if self.measured.limit is not None:
            warning_lines.append(
                f"at most {self.measured.limit:,} edges per person were counted: the model has fewer edges than the "
                "network, and rumours spread more slowly in it"
            )
        if self.edges < 10 * self.measured.edges.sd * len(self.measured.edges.values) ** 0.5:
            warning_lines.append("the noise is about as large as the network: the model says little about it")
        return warning_lines

    def graph(self, seed: int | None = None) -> SampledGraph:
        """Sample one graph. `seed`: get the same graph again. This is safe, because a sample is post-processing."""
        return sample_graph(self.fitted, np.random.default_rng(checked_seed(seed)))

    def sample(self, seed: int | None = None) -> pa.Table:
        """Sample one graph and return its edges as an Arrow table: node numbers, and their blocks if there are any."""
        import pyarrow as pa

        drawn = self.graph(seed)
        ends = np.sort(drawn.ends, axis=0)
        ends = ends[:, np.lexsort(ends[::-1])]
        columns: dict[str, Any] = {"from": ends[0] + 1, "to": ends[1] + 1}
        if self.measured.by is not None:
            words = pa.array([None if label is None else str(label) for label in self.measured.labels], pa.string())
            for name, own in zip(("from", "to"), ends, strict=True):
                columns[f"{name}_{self.measured.by}"] = words.take(pa.array(drawn.blocks[own]))
        return pa.table(columns)

    def spread(
        self,
        *,
        seeds: object = 10,
        rate: object = "0.1",
        reach: object = "0.5",
        runs: object = 20,
        seed: int | None = None,
        progress: Callable[[str, float], None] | None = None,
    ) -> RumourSpread:
        """Estimate how fast a rumour spreads from `seeds` random nodes, with a confidence interval. Free.

        rate: the probability that an edge passes the rumour on, in each step. reach: the share of nodes to wait for.
        runs: the number of graphs used for the interval, each with its own noise; 39 give 95%. seed: get the same
        result again.
        """
        from discreet.graph.model.rumours import RumourSettings, spread

        settings = RumourSettings.of(seeds=seeds, rate=rate, reach=reach, runs=runs)
        if not self.nodes:
            raise UsageError(
                "the model has no nodes, because the noise is too large, so no rumour can spread",
                hint="use a model of a larger network, or one with a larger epsilon",
            )
        return spread(self, settings, np.random.default_rng(checked_seed(seed)), progress=progress)

    def __repr__(self) -> str:
        return f"<GraphModel of {self.card.table}: {self.nodes:,} nodes, {self.edges:,} edges>"

    def _repr_html_(self) -> str:
        """The model in a notebook."""
        return notebook.notebook_html(self._notebook_parts, lambda: repr(self))

    def _notebook_parts(self) -> Iterator[str]:
        yield notebook.head(f"Model of the network {self.card.table}")
        yield notebook.line(
            f"About {self.nodes:,} nodes and {self.edges:,} edges. Sampling graphs and rumours from it is free."
        )
        paid = f"rho {exact.show(self.card.rho, up=True)}"
        if self.card.epsilon is not None:
            paid = f"epsilon {exact.show(self.card.epsilon, up=True)}"
        yield notebook.small_print(f"Cost: {paid}, once. Release {self.card.release}, version {self.card.version}.")
        for warning in self.warnings:
            yield notebook.small_print(f"note: {warning}")

    def save(self, path: str | Path) -> None:
        """Write the model as JSON, whole or not at all. Only a model is overwritten."""
        place = Path(path)
        if place.exists() and not _is_model(place):
            raise UsageError(f"{place.name} already exists and is not a model", hint="choose another name")
        archive.write(place, self.to_data(), DocumentArrays(None))

    @staticmethod
    def load(path: str | Path) -> GraphModel:
        """The model that `save` wrote; one sentence where the file is none."""
        place = Path(path)
        try:
            document, _ = archive.read(place)
            return _model_of(document, place)
        except UsageError:
            raise
        except KeyError as problem:
            why = f"the key {problem} is missing"
        except DiscreetError as problem:
            why = problem.reason
        except (ValueError, TypeError, AttributeError, IndexError, ArithmeticError) as problem:
            why = str(problem)
        raise UsageError(
            f"{place.name} is not a model of a network: {plain(why[:200])}",
            hint=Message(
                Command(
                    "graph synth",
                    "TABLE",
                    Flag("epsilon", 1),
                    Flag("output", "edges.csv", short="o"),
                    Flag("model", "MODEL"),
                )
            ),
        )

    def to_data(self) -> dict[str, Any]:
        """All of it, as plain data."""
        card, measurements = self.card, self.measured
        return {
            "format": NAME,
            "version": FORMAT,
            "card": {
                "table": card.table,
                "version": card.version,
                "release": card.release,
                "epsilon": None if card.epsilon is None else exact.write(card.epsilon),
                "rho": exact.write(card.rho),
                "warnings": list(card.warnings),
            },
            "unit": measurements.unit,
            "limit": measurements.limit,
            "thresholds": list(measurements.thresholds),
            "coarse": list(measurements.coarse),
            "by": measurements.by,
            "labels": list(measurements.labels),
            "sizes": None if measurements.sizes is None else list(measurements.sizes),
            "noisy": {name: _noisy_data(getattr(measurements, name)) for name in _NOISY},
        }


#: The noisy parts of a model.
_NOISY = ("degrees", "edges", "by_block", "persons")


def checked_seed(seed: int | None) -> int | None:
    if seed is not None and (type(seed) is not int or seed < 0):
        raise UsageError(f"the seed must be a whole number, 0 or more, got {str(seed)[:40]!r}")
    return seed


def _noisy_data(noisy: NoisyNumbers | None) -> dict[str, Any] | None:
    return None if noisy is None else {"values": list(noisy.values), "law": law_to_data(noisy.law)}


def _model_of(data: Any, place: Path) -> GraphModel:
    check_format(data, place, name=NAME, newest=FORMAT)
    noisy = {name: _noisy_of(data["noisy"][name]) for name in _NOISY}
    degrees, edges = noisy["degrees"], noisy["edges"]
    unit = data["unit"]
    if degrees is None or edges is None or unit not in ("edge", "node"):
        raise ValueError("its unit, degrees or edges are missing")
    measured = NetworkMeasurements(
        unit=unit,
        thresholds=_wholes(data["thresholds"]),
        degrees=degrees,
        edges=edges,
        labels=tuple(_label(label) for label in _listed(data["labels"])),
        by=None if data["by"] is None else _text(data["by"]),
        sizes=None if data["sizes"] is None else _wholes(data["sizes"]),
        coarse=_wholes(data["coarse"]),
        by_block=noisy["by_block"],
        persons=noisy["persons"],
        limit=None if data["limit"] is None else _whole(data["limit"]),
    )
    return GraphModel(card=_card_of(data["card"]), measured=measured)


def _card_of(data: Any) -> GraphModelCard:
    return GraphModelCard(
        table=_text(data["table"]),
        version=_whole(data["version"]),
        release=_text(data["release"]),
        epsilon=None if data["epsilon"] is None else exact.read(data["epsilon"]),
        rho=exact.read(data["rho"]),
        repeat=True,
        warnings=tuple(_text(warning) for warning in _listed(data["warnings"], most=_MOST_WARNINGS)),
    )


def _noisy_of(data: Any) -> NoisyNumbers | None:
    if data is None:
        return None
    return NoisyNumbers(
        values=tuple(_whole(value) for value in _listed(data["values"], most=2**22)), law=law_from_data(data["law"])
    )


def _listed(data: Any, *, most: int = _MOST_THRESHOLDS) -> list[Any]:
    if not isinstance(data, list) or len(data) > most:
        raise ValueError("a list is missing, or too long")
    return data


def _wholes(data: Any) -> tuple[int, ...]:
    return tuple(_whole(value) for value in _listed(data))


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise ValueError("a number is not a whole number")
    return value


def _text(value: Any) -> str:
    """A text that is shown to people: nothing in it may command their terminal."""
    if not isinstance(value, str) or len(value) > _MOST_SHOWN:
        raise ValueError("a text value is missing, or too long")
    if not is_plain(value):
        raise ValueError("a text value contains control characters")
    return value


def _label(value: Any) -> Any:
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and isfinite(value)):
        return value
    if not isinstance(value, str) or len(value) > _MOST_LETTERS:
        raise ValueError("a label has the wrong type, or is too long")
    value.encode()  # half a character is no text that could be written
    return value


def _is_model(place: Path) -> bool:
    try:
        document, _ = archive.read(place)
    except (ValueError, UsageError):
        return False
    return isinstance(document, dict) and document.get("format") == NAME
