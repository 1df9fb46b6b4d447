"""Models as pages tell them: what a fit would cost, which models are kept, and what a model is good for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from discreet import exact
from discreet.accounting.events import Reserved
from discreet.api import Project
from discreet.console import forms, kept
from discreet.console.answer import Grid
from discreet.program import noise_sd
from discreet.synth.choosing import chosen
from discreet.synth.describe import needs_of
from discreet.synth.fit import reservation, wanted_columns
from discreet.synth.inspect import inspected
from discreet.synth.inspect.compare import Comparison
from discreet.synth.inspect.evidence import NEAR
from discreet.synth.model import Model
from discreet.synth.wanted import Wanted

#: The models that can be asked for, and what each is.
MODELS = (
    {"name": "auto", "words": "the most exact one that there is time for"},
    {"name": "aim", "words": "chooses, step by step, which columns to measure together"},
    {"name": "mst", "words": "a tree of pairs of columns"},
    {"name": "privbayes", "words": "each column from a few others before it"},
    {"name": "independent", "words": "each column by itself"},
    {"name": "random", "words": "rows of the declared types alone; says nothing about the data and costs nothing"},
)
#: Simple questions of a column that are shown as examples.
_EXAMPLES = 2


def wish_of(texts: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """What a form, or an address, says about a fit."""

    def one(name: str) -> str:
        return texts.get(name, ("",))[0].strip()

    return {
        "table": one("table"),
        "model": one("model") or "auto",
        "epsilon": forms.number(one("epsilon"), "epsilon"),
        "delta": forms.number(one("delta"), "delta"),
        "columns": sorted({name for name in texts.get("columns", ()) if name}),
    }


def _wanted(wish: Mapping[str, Any]) -> Wanted:
    return Wanted.of(epsilon=wish["epsilon"], delta=wish["delta"], kind=wish["model"], columns=wish["columns"] or None)


def quoted(project: Project, wish: Mapping[str, Any]) -> dict[str, Any]:
    """What a fit would cost, which model it would be and why. Free: reads public facts alone."""
    name, wanted = project.private(wish["table"]).name, _wanted(wish)
    version, guarantee = project.known_version(name), project.guarantee(name)
    columns = wanted_columns(version, wanted.columns)
    names = [column.name for column in columns]
    if wanted.kind == "random":
        return {"model": "random", "because": "", "columns": names, "price": None, "warnings": [], "buys": []}
    keys = reservation(guarantee, wanted, texts=True).delta > 0
    needs = needs_of(columns, keys=keys)
    event = reservation(guarantee, wanted, texts=bool(needs.texts))
    choice = chosen(wanted, columns, event, most_rows=version.schema.unit.rows)
    assert wanted.epsilon is not None
    delta = wanted.delta if wanted.delta is not None else guarantee.delta_rho or guarantee.keys
    return {
        "model": choice.kind,
        "because": choice.because,
        "columns": names,
        "price": forms.price(project, name, event),
        "expected": _expected(event, columns=len(names), most_rows=version.schema.unit.rows),
        "guarantee": {
            "epsilon": exact.as_float(wanted.epsilon, up=True),
            "delta": exact.as_float(delta, up=True),
        },
        "warnings": list(choice.warnings),
        "buys": [*needs.numbers, *needs.texts],
    }


def _expected(event: Reserved, *, columns: int, most_rows: int) -> dict[str, Any]:
    """How exact single columns would be, by the price alone: what no model can do much better than.

    About a third of a price measures the columns one by one (`synth/choosing`). A count is good where it is expected
    within `NEAR` of the truth, so it must be that much larger than its noise.
    """
    sd = noise_sd(event, most_rows=most_rows, share=Fraction(1, 3 * columns))
    return {"plus_minus": 1.96 * sd, "good_from": 1.96 * sd / NEAR, "near": NEAR}


def fitted(project: Project, wish: Mapping[str, Any], *, analyst: str | None, progress: Any) -> Model:
    """Fit, and pay, or find the fit that is there."""
    return project.synthesize(
        wish["table"],
        epsilon=wish["epsilon"],
        delta=wish["delta"],
        model=wish["model"],
        columns=wish["columns"] or None,
        analyst=analyst,
        progress=progress,
    )


def files(project: Path) -> dict[str, Path]:
    """The models that a project keeps, by name."""
    return {path.stem: path for path in sorted((project / ".discreet" / "models").glob("*.npz"))}


def find(project: Path, name: str) -> Found | None:
    """A kept model and what is said of it."""
    path = files(project).get(name)
    return None if path is None else _found(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _found(path: Path, _: int) -> Found:
    """Read and judged once, for a judgement takes a while; the second argument is the file's time."""
    model = Model.load(path)
    return Found(path=path, model=model, report=kept.plain(inspected(model).to_data()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A kept model. `report`: all that is free to say about it, as plain data."""

    path: Path
    model: Model
    report: dict[str, Any]

    @property
    def name(self) -> str:
        return self.path.stem

    def page(self) -> dict[str, Any]:
        """What its page tells."""
        judged = self.report["marginals"]["judged"]
        return {
            "name": self.name,
            "report": self.report,
            "columns": [column.name for column in self.model.columns],
            "rows": round(self.model.total),
            "verdicts": {
                verdict: [each for each in judged if each["verdict"] == verdict]
                for verdict in ("good", "partly", "poor", "unknown")
            },
            "simple": [_simple(each) for each in self.report["questions"]],
            "pictures": [_histogram(each) for each in self.report["histograms"]],
            "dependence": _dependence(self.report["dependences"]),
        }

    def grid(self) -> Grid:
        """The judged tables."""
        names = ("columns", "cells", "measured", "near_share", "expected_distance", "verdict")
        rows = [
            [" × ".join(each["columns"]), *(each[name] for name in names[1:])]
            for each in self.report["marginals"]["judged"]
        ]
        return Grid(columns=names, rows=rows)

    def sample(self, rows: int, given: Mapping[str, object]) -> Grid:
        """Rows of it."""
        found = self.model.sample(rows, given=given)
        columns = [found.column(name).to_pylist() for name in found.column_names]
        return Grid(columns=found.column_names, rows=list(zip(*columns, strict=True)))


def _simple(told: Mapping[str, Any]) -> dict[str, Any]:
    """The simple questions of a column: how many are good, and an example or two of either sort."""
    good = [each for each in told["predicates"] if each["good"]]
    bad = [each for each in told["predicates"] if not each["good"]]
    rarest = sorted(good, key=lambda each: each["count"])
    commonest = sorted(bad, key=lambda each: -each["count"])
    return {
        "column": told["column"],
        "least": told["least"],
        "good": len(good),
        "all": len(told["predicates"]),
        "such_as": rarest[:_EXAMPLES],
        "not_such_as": commonest[:_EXAMPLES],
    }


def _histogram(told: Mapping[str, Any]) -> dict[str, Any]:
    """A column's chart: bars are the model, their intervals what was measured, give or take its noise."""
    bars, rows = [], []
    for cell in told["order"]:
        label, count = told["labels"][cell], told["counts"][cell]
        low = high = None
        if told["noisy_counts"] is not None:
            middle, half = told["noisy_counts"][cell], told["plus_minus"][cell]
            low, high = round(middle - half, 1), round(middle + half, 1)
        bars.append({"label": label, "value": count, "low": low, "high": high, "text": f"{count:,.0f}"})
        rows.append([label, round(count, 1), low, high])
    return {
        "column": told["name"],
        "null_share": told["null_share"],
        "measured": told["noisy_counts"] is not None,
        "chart": {"chart": "bars", "title": f"{told['name']}: rows in the model", "bars": bars},
        "table": {
            "caption": f"{told['name']}: rows in the model, and between what was measured with its noise",
            "columns": [told["name"], "model", "measured from", "measured to"],
            "rows": rows,
        },
    }


def _dependence(told: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """How far columns tell of each other, as a heat map; None for a single column."""
    if not told:
        return None
    cells = [
        {"row": one, "column": other, "value": each["strength"]}
        for each in told
        for one, other in (tuple(each["columns"]), tuple(reversed(each["columns"])))
    ]
    strongest = sorted(told, key=lambda each: -(each["strength"] or 0.0))
    return {
        "chart": {"chart": "heatmap", "title": "Dependence of columns in the model", "cells": cells},
        "table": {
            "caption": "Dependence: 0 where columns are independent, 1 where one decides the other",
            "columns": ["columns", "dependence", "measured together"],
            "rows": [[" × ".join(each["columns"]), each["strength"], each["measured"]] for each in strongest],
        },
    }


def keep_comparison(project: Path, model: str, told: Comparison) -> None:
    """Keep a comparison with a model: each under its own release, for each was paid."""
    kept.keep(project, f"{model}.compared.{told.release}", compared(told))


def comparisons(project: Path, model: str) -> list[dict[str, Any]]:
    """What was paid to know of a model, by release."""
    names = sorted(path.stem for path in kept.folder_of(project).glob("*.json"))
    told = (kept.find(project, name) for name in names if name.startswith(f"{model}.compared."))
    return [each for each in told if each is not None]


def compared(told: Comparison) -> dict[str, Any]:
    """A comparison with the real table, as plain data."""
    lines = {
        f"the mean of {told.pairs:,} pairs of columns": told.mean,
        "those measured together": told.measured,
        "those never measured together": told.others,
        f"the worst pair, as far as noise lets it be found: {' × '.join(told.worst)}": told.worst_distance,
    }
    return {
        "release": told.release,
        "epsilon": exact.as_float(told.epsilon, up=True),
        "delta": exact.as_float(told.delta, up=True),
        "rho": None if told.rho is None else exact.as_float(told.rho, up=True),
        "worst": list(told.worst),
        "lines": [
            {"words": words, "value": each.noisy_value, "low": each.low, "high": each.high}
            for words, each in lines.items()
            if each is not None
        ],
    }
