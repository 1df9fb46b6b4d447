"""Models as pages tell them: what a fit would cost, which models are kept, and what a model is good for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from discreet import exact
from discreet.accounting.events import ReservationEvent
from discreet.console import forms
from discreet.console.console_text import console_texts
from discreet.console.jobs import release_store
from discreet.console.responses import PageTable
from discreet.kernel.program import noise_sd
from discreet.kernel.project_session import quote_session
from discreet.project.project import Project
from discreet.schema.column import Column
from discreet.synth.attribute_discovery import undeclared_columns
from discreet.synth.fit_request import PERSONS, FitRequest
from discreet.synth.inspect import inspect_model, inspect_two_models
from discreet.synth.inspect.model_comparison import Comparison
from discreet.synth.inspect.model_evidence import NEAR
from discreet.synth.inspect.two_models_page import both_facts
from discreet.synth.model import Model
from discreet.synth.model_choice import choose_model
from discreet.synth.model_folder import PERSONS_ENDING
from discreet.synth.persons.person_model import PersonModel
from discreet.synth.persons.tables_model import PersonTablesModel
from discreet.synth.synthesis import choose_noise, modelled_columns, possible_reservations, reservation
from discreet.synth.written_values import written_rows

#: The models that can be asked for, and what each is.
MODELS = (
    {"name": "auto", "words": "the most accurate model that fits in the given time"},
    {"name": "aim", "words": "chooses, step by step, which columns to measure together"},
    {"name": "mst", "words": "measures a tree of pairs of columns"},
    {"name": "privbayes", "words": "models each column from a few others before it (correlated, in DataSynthesizer)"},
    {"name": "independent", "words": "models each column by itself"},
    {"name": "random", "words": "rows of the declared types alone; says nothing about the data and costs nothing"},
)
#: The model that only tables whose persons have several rows can have.
PERSONS_MODEL = {
    "name": PERSONS,
    "words": "whole persons with all their rows in order, where one person has several rows in the table",
}
#: Simple questions of a column that are shown as examples.
_EXAMPLES = 2


def fit_wish(texts: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """What a form, or an address, says about a fit."""

    def one(name: str) -> str:
        return texts.get(name, ("",))[0].strip()

    return {
        "table": one("table"),
        "model": one("model") or "auto",
        "epsilon": forms.number_text(one("epsilon"), "epsilon"),
        "delta": forms.number_text(one("delta"), "delta"),
        "columns": sorted({name for name in texts.get("columns", ()) if name}),
    }


def _fit_request(wish: Mapping[str, Any]) -> FitRequest:
    return FitRequest.of(
        epsilon=wish["epsilon"], delta=wish["delta"], kind=wish["model"], columns=wish["columns"] or None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Quoted:
    """What is known of a fit before it is paid: its columns, what is reserved, and why with this noise."""

    columns: Sequence[Column]
    event: ReservationEvent
    noise: str


#: What a quote says of a fit of persons.
QuotePersons = Callable[[Project, str, FitRequest, Quoted], dict[str, Any]]


def quote_fit(project: Project, wish: Mapping[str, Any], *, quote_persons: QuotePersons) -> dict[str, Any]:
    """What a fit would cost, which model it would be and why. Free: reads public facts alone."""
    name, fit_request = project.private(wish["table"]).name, _fit_request(wish)
    version, guarantee = project.peek_version(name), project.guarantee(name)
    columns = modelled_columns(version, fit_request.columns)
    names = [column.name for column in columns]
    if fit_request.kind == "random":
        return {"model": "random", "because": "", "columns": names, "price": None, "warnings": [], "buys": []}
    keys = reservation(guarantee, fit_request, texts=True).delta > 0
    needs = undeclared_columns(columns, keys=keys)
    prices = possible_reservations(guarantee, fit_request, texts=bool(needs.texts))
    event, noise = choose_noise(prices, quote_session(project, name), columns=len(columns))
    assert fit_request.epsilon is not None
    quoted = Quoted(columns=columns, event=event, noise=noise)
    model = (
        quote_persons(project, name, fit_request, quoted) | {"warnings": []}
        if fit_request.kind == PERSONS
        else _quote_rows(fit_request, quoted, most_rows=version.schema.unit.rows)
    )
    delta = fit_request.delta if fit_request.delta is not None else guarantee.delta_rho or guarantee.keys
    return {
        **model,
        "columns": names,
        "price": forms.price_json(project, name, event),
        "guarantee": {
            "epsilon": exact.as_float(fit_request.epsilon, up=True),
            "delta": exact.as_float(delta if event.epsilon is None else event.delta, up=True),
        },
        "buys": [*needs.numbers, *needs.texts],
    }


def _quote_rows(request: FitRequest, quoted: Quoted, *, most_rows: int) -> dict[str, Any]:
    """Which model of rows it would be and why, and how exact; and what to warn of.

    About a third of a price measures the columns one by one (`synth/model_choice`).
    """
    choice = choose_model(request, quoted.columns, quoted.event, most_rows=most_rows)
    share = Fraction(1, 3 * len(quoted.columns))
    return {
        "model": choice.kind,
        "because": f"{choice.because}; {quoted.noise}" if quoted.noise else choice.because,
        "expected": expected_error(quoted.event, share=share, most_rows=most_rows),
        "warnings": console_texts(choice.warnings),
    }


def expected_error(event: ReservationEvent, *, share: Fraction, most_rows: int) -> dict[str, Any]:
    """How exact single columns would be, by the price alone: what no model can do much better than.

    `share`: of the price, for one column. A count is good where it is expected within `NEAR` of the truth, so it must
    be that much larger than its noise.
    """
    sd = noise_sd(event, most_rows=most_rows, share=share)
    return {"plus_minus": 1.96 * sd, "good_from": 1.96 * sd / NEAR, "near": NEAR}


def fit_model(
    project: Project, wish: Mapping[str, Any], *, analyst: str | None, progress: Any
) -> Model | PersonModel | PersonTablesModel:
    """Fit, and pay, or find the fit that is there. Of rows, unless persons are asked for."""
    return project.synthesize(
        wish["table"],
        epsilon=wish["epsilon"],
        delta=wish["delta"],
        model=wish["model"],
        columns=wish["columns"] or None,
        analyst=analyst,
        progress=progress,
        rows_only=wish["model"] != PERSONS,
    )


def model_files(project: Path) -> dict[str, Path]:
    """The models of rows that a project keeps, by name."""
    files = sorted((project / ".discreet" / "models").glob("*.npz"))
    return {path.stem: path for path in files if not path.name.endswith(PERSONS_ENDING)}


def find_model(project: Path, name: str) -> StoredModel | None:
    """A kept model and what is said of it."""
    path = model_files(project).get(name)
    return None if path is None else _load_model(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _load_model(path: Path, _: int) -> StoredModel:
    """Read and judged once, for a judgement takes a while; the second argument is the file's time."""
    model = Model.load(path)
    return StoredModel(path=path, model=model, report=release_store.to_json(inspect_model(model).to_data()))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredModel:
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
            "simple": [_column_verdict(each) for each in self.report["questions"]],
            "pictures": [histogram_json(each) for each in self.report["histograms"]],
            "dependence": dependence_json(self.report["dependences"]),
        }

    def grid(self) -> PageTable:
        """The judged tables."""
        names = ("columns", "cells", "measured", "near_share", "expected_distance", "verdict")
        rows = [
            [" × ".join(each["columns"]), *(each[name] for name in names[1:])]
            for each in self.report["marginals"]["judged"]
        ]
        return PageTable(columns=names, rows=rows)

    def sample(self, rows: int, given: Mapping[str, object], *, written: bool) -> PageTable:
        """Rows of it; `written`: as the table's columns are declared to be written."""
        return page_table(self.model.sample(rows, given=given), self.model.columns if written else ())


def page_table(rows: Any, columns: Sequence[Column]) -> PageTable:
    """Sampled rows as a table; values of these columns as they are declared to be written."""
    shown = written_rows(rows, columns)
    values = [shown.column(name).to_pylist() for name in shown.column_names]
    return PageTable(columns=shown.column_names, rows=list(zip(*values, strict=True)))


def _column_verdict(questions: Mapping[str, Any]) -> dict[str, Any]:
    """The simple questions of a column: how many are good, and an example or two of either sort."""
    good = [each for each in questions["predicates"] if each["good"]]
    bad = [each for each in questions["predicates"] if not each["good"]]
    rarest = sorted(good, key=lambda each: each["count"])
    commonest = sorted(bad, key=lambda each: -each["count"])
    return {
        "column": questions["column"],
        "least": questions["least"],
        "good": len(good),
        "all": len(questions["predicates"]),
        "such_as": rarest[:_EXAMPLES],
        "not_such_as": commonest[:_EXAMPLES],
    }


def histogram_json(histogram: Mapping[str, Any]) -> dict[str, Any]:
    """A column as a drawing and a table: bars are the model, dots what was measured, give or take its noise."""
    rows = []
    for cell in histogram["order"]:
        label, count = histogram["labels"][cell], histogram["counts"][cell]
        low = high = None
        if histogram["noisy_counts"] is not None:
            middle, half = histogram["noisy_counts"][cell], histogram["plus_minus"][cell]
            low, high = round(middle - half, 1), round(middle + half, 1)
        rows.append([label, round(count, 1), low, high])
    return {
        "column": histogram["name"],
        "null_share": histogram["null_share"],
        "measured": histogram["noisy_counts"] is not None,
        "histogram": histogram,
        "table": {
            "caption": f"{histogram['name']}: rows in the model, and the interval that was measured with noise",
            "columns": [histogram["name"], "model", "measured from", "measured to"],
            "rows": rows,
        },
    }


def dependence_json(dependences: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """How far columns tell of each other, as measured and in the model, as two heat maps; None for a single column."""
    if not dependences:
        return None
    strongest = sorted(dependences, key=lambda each: -(each["strength"] or 0.0))
    numbers = [each[name] or 0.0 for each in dependences for name in ("strength", "noisy_strength")]
    return {
        "chart": _heat_map(dependences, "strength", "Dependence of columns in the model", most=max(numbers)),
        "noisy_chart": _heat_map(dependences, "noisy_strength", "Dependence of columns as measured", most=max(numbers)),
        "table": {
            "caption": "Dependence: 0 if two columns are independent, 1 if one determines the other",
            "columns": ["columns", "in the model", "measured with noise", "measured together"],
            "rows": [
                [" × ".join(each["columns"]), each["strength"], each["noisy_strength"], each["measured"]]
                for each in strongest
            ],
        },
    }


def _heat_map(dependences: Sequence[Mapping[str, Any]], name: str, title: str, *, most: float) -> dict[str, Any]:
    """A number of each pair, on both sides of the diagonal, struck where noise alone would show as much."""
    cells = [
        {
            "row": one,
            "column": other,
            "value": each[name],
            "drowned": each["below_noise"],
        }
        for each in dependences
        for one, other in (tuple(each["columns"]), tuple(reversed(each["columns"])))
    ]
    order = list(dict.fromkeys(column for each in dependences for column in each["columns"]))
    cells += [{"row": column, "column": column, "value": None, "drowned": False} for column in order]
    cells.sort(key=lambda cell: (order.index(cell["row"]), order.index(cell["column"])))
    return {"chart": "heatmap", "title": title, "cells": cells, "most": most}


def beside_json(first: StoredModel, second: StoredModel) -> dict[str, Any]:
    """Two kept models: the facts of both, and what both have of each column, pair and network."""
    models = (first, second)
    two_models = inspect_two_models(first.model, second.model, names=(first.name, second.name))
    pictures = [{each["name"]: histogram_json(each) for each in model.report["histograms"]} for model in models]
    return {
        "names": [model.name for model in models],
        "facts": [{"words": words, "texts": texts} for words, texts in both_facts(two_models.reports).items()],
        "columns": [
            {
                "column": each.column,
                "distance": each.distance,
                "pictures": [own[each.column] for own in pictures],
            }
            for each in two_models.differences
        ],
        "dependences": [dependence_json(model.report["dependences"]) for model in models],
        "graphs": [model.report["graph"] for model in models],
    }


def store_comparison(project: Path, model: str, comparison: Comparison) -> None:
    """Keep a comparison with a model: each under its own release, for each was paid."""
    release_store.store_release(project, f"{model}.compared.{comparison.release}", comparison_json(comparison))


def stored_comparisons(project: Path, model: str) -> list[dict[str, Any]]:
    """What was paid to know of a model, by release."""
    names = sorted(path.stem for path in release_store.release_folder(project).glob("*.json"))
    comparisons_found = (
        release_store.find_release(project, name) for name in names if name.startswith(f"{model}.compared.")
    )
    return [each for each in comparisons_found if each is not None]


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """A comparison with the real table, as plain data."""
    lines = {
        f"mean of {comparison.pairs:,} pairs of columns": comparison.mean,
        "pairs that were measured together": comparison.measured,
        "pairs that were never measured together": comparison.others,
        f"the worst pair, as far as the noise shows: {' × '.join(comparison.worst)}": comparison.worst_distance,
        **{f"{each.column} by itself": each.distance for each in comparison.columns},
    }
    return {
        "release": comparison.release,
        "epsilon": exact.as_float(comparison.epsilon, up=True),
        "delta": exact.as_float(comparison.delta, up=True),
        "rho": None if comparison.rho is None else exact.as_float(comparison.rho, up=True),
        "worst": list(comparison.worst),
        "lines": [
            {"words": words, "value": each.noisy_value, "low": each.low, "high": each.high}
            for words, each in lines.items()
            if each is not None
        ],
    }
