"""Synthetic data: what a model keeps of two columns, and what it loses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.console.pages.lessons.lesson import Figure, Lesson, LessonQuestion
from discreet.lab.attacks.floats import discreet_laplace
from discreet.lab.evidence import percent
from discreet.lab.worlds.town import town

PEOPLE, EPSILON = 2_000, 1.0
AGES, HOURS = ("18 to 35", "36 to 50", "51 to 66", "over 66"), ("under 12", "12 to 29", "30 to 39", "40 or more")
_AGE_EDGES, _HOUR_EDGES = (36, 51, 67), (12, 30, 40)

Counts = NDArray[np.float64]


def make() -> Lesson:
    """A generated town's ages and hours of work: as they are, column by column, and as a pair."""
    real = _exact_counts()
    alone, pair = _independent_model(real), _pair_model(real)
    # One depth of colour for all three, so that they can be compared.
    most = 100 * float(real.max() / real.sum())
    return Lesson(
        name="synthetic",
        title="Synthetic data",
        lead="Rows of people who do not exist, sampled from a model that was fitted to noisy counts.",
        paragraphs=(
            "To make synthetic data, count, add noise to the counts, fit a model to the noisy counts, and sample rows "
            "from the model. After the noise is added, nothing reads the data again, so the rows cost no more than "
            "the counts did, however many you sample.",
            "A model of each column alone knows how many people are old and how many work little. It does not know "
            "that old people work less. A model that counted the pair knows that as well, but still knows "
            "nothing about any third column.",
            "More cells are not free: each has the same noise and fewer people. With few people or a small "
            "epsilon, the pair is below the noise, and the simple model is closer to the truth. Models such as MST "
            "choose which pairs are worth counting, and pay for that choice as well.",
            "Synthetic does not mean private. Rows that were copied and jittered are synthetic, and the lab finds the "
            "people in them. The noise on the counts is what protects people.",
        ),
        figures=(
            _map(real, "The generated town", "Exact counts of 2,000 generated people.", most=most),
            _map(
                alone,
                "Each column alone",
                f"Two counts of epsilon 0.5: {_misplaced_share(real, alone)} of people are misplaced.",
                most=most,
            ),
            _map(
                pair,
                "The pair",
                f"One count of epsilon 1: {_misplaced_share(real, pair)} of people are misplaced.",
                most=most,
            ),
        ),
        verb="discreet synth fit patients --epsilon 1 -o model.json",
        to="/synth",
        there="Make synthetic data from your tables",
        task="At epsilon 0.1, from how many people on is it better to count the pair?",
        question=LessonQuestion(
            text="A model was fitted for epsilon 1. You sample 1,000 rows today and 9,000 tomorrow. How much epsilon "
            "do all 10,000 rows cost together?",
            answer=1,
            solution="Epsilon 1. The rows are computed from the noisy counts alone, so they are post-processing, and "
            "free.",
        ),
    )


def _exact_counts() -> Counts:
    """How many have each pair of age and hours."""
    people = town(PEOPLE)
    ages = np.digitize(people["age"].to_numpy(), _AGE_EDGES)
    hours = np.digitize(people["hours"].to_numpy(), _HOUR_EDGES)
    counts = np.zeros((len(AGES), len(HOURS)))
    np.add.at(counts, (ages, hours), 1)
    return counts


def _noisy_shares(exact: Counts, epsilon: float) -> Counts:
    """Counts with noise, as shares. What is below zero is zero, and no true total is read."""
    noise = discreet_laplace(0, 1 / epsilon, exact.size).reshape(exact.shape)
    counts = np.clip(exact + noise, 0, None)
    shares: Counts = counts / max(counts.sum(), 1.0)
    return shares


def _independent_model(real: Counts) -> Counts:
    """Ages and hours as if neither knew of the other. A person is in both counts: half of epsilon is for each."""
    return np.outer(_noisy_shares(real.sum(axis=1), EPSILON / 2), _noisy_shares(real.sum(axis=0), EPSILON / 2))


def _pair_model(real: Counts) -> Counts:
    return _noisy_shares(real, EPSILON)


def _misplaced_share(real: Counts, shares: Counts) -> str:
    """Half the sum of differences: the share of people that would have to move."""
    return percent(float(np.abs(real / real.sum() - shares / max(shares.sum(), 1e-9)).sum() / 2))


def _map(counts: Counts, title: str, caption: str, *, most: float) -> Figure:
    shares = counts / max(counts.sum(), 1e-9)
    cells: list[dict[str, Any]] = [
        {"row": age, "column": hours, "value": round(100 * float(shares[row, column]), 1)}
        for row, age in enumerate(AGES)
        for column, hours in enumerate(HOURS)
    ]
    return Figure(
        chart={
            "chart": "heatmap",
            "title": f"{title}: age and hours of work, percent of people",
            "cells": cells,
            "rows": "age",
            "columns": "hours per week",
            "most": most,
        },
        caption=f"{title}. {caption}",
        columns=("age", *HOURS),
        rows=tuple(
            (age, *(round(100 * float(share), 1) for share in row)) for age, row in zip(AGES, shares, strict=True)
        ),
    )
