"""The card of a survey: what its devices lose and who is trusted, in the form of the OpenDP deployments registry.

It is made of the survey's definition, which every respondent's device has as well: nothing here looks at a report.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet import exact
from discreet.storage.program_version import VERSION
from discreet.surveys.collector.results import takes_words
from discreet.surveys.collector.survey_definition import Survey
from discreet.surveys.protocols.choice_randomizer import ChoiceRandomizer
from discreet.surveys.protocols.collection_periods import FRESH, CollectionPeriods, PeriodLoss
from discreet.surveys.protocols.grid_numbers import GridRandomizer
from discreet.surveys.protocols.randomizer import Randomizer
from discreet.surveys.protocols.rappor import BasicRappor, Rappor

#: More choices than this are counted, and not listed.
MOST_CHOICES = 20


def card_of_survey(
    survey: Survey, *, product: Mapping[str, Any], resources: Mapping[str, Any], justification: str
) -> dict[str, Any]:
    """The card as data: the keys are the registry's. What only people know is given.

    Guarantee: without periods, `privacy_parameters.epsilon` is at least the loss of an answer, however often it is
        sent; with periods, of all that one device ever sends to this survey. If the device follows the protocol.
    Because: without periods an answer is one report, which is sent again as it is (but for RAPPOR, whose `epsilon` is
        for all of them), and costs `randomizer.epsilon`; with periods it is `CollectionPeriods.loss(...).survey`
        (docs/proofs/collection.md). Numbers are rounded up.
    """
    return {
        "url_slug": survey.id,
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "product": dict(product),
            "dp_flavor": {
                "name": "Pure DP",
                "data_domain": _domain(survey.randomizer),
                "unprotected_quantities": "; ".join(_unprotected(survey)),
            },
            "privacy_loss": _loss(survey),
            "model": _model(survey),
            "accounting": _accounting(survey),
            "implementation": _implementation(survey, justification),
            "resources": dict(resources),
        },
    }


def _domain(randomizer: Randomizer) -> str:
    match randomizer:
        case ChoiceRandomizer() if len(randomizer.choices) <= MOST_CHOICES:
            return f"One of {len(randomizer.choices)} choices: {', '.join(randomizer.choices)}."
        case ChoiceRandomizer():
            return f"One of {len(randomizer.choices):,} declared choices."
        case GridRandomizer():
            low, high, step = (exact.show(each) for each in (randomizer.low, randomizer.high, randomizer.step))
            return f"A number from {low} to {high}, rounded to steps of {step}."
    return "Any word." if takes_words(randomizer) else "Any word that the protocol can send."


def _unprotected(survey: Survey) -> list[str]:
    """What the collector sees of a device whatever it answers."""
    seen = ["that a device answered, and when"]
    if survey.periods is not None:
        seen = [f"that a device donated, how often, and in which {survey.periods.every}"]
        if survey.periods.coins != FRESH:
            seen.append("that an answer is another than before, and often that reports are from one device")
    if survey.token:
        seen.append("which enrolment token came with a report")
    return seen


def _loss(survey: Survey) -> dict[str, Any]:
    periods, randomizer = survey.periods, survey.randomizer
    description = (
        "What a device sends is compared for any two answers of its respondent. Whether a device takes part is not "
        "protected. Somebody who answers on several devices loses the sum."
    )
    if periods is None:
        epsilon = exact.as_float(randomizer.epsilon, up=True)
        return {
            "privacy_unit": "one device's answer",
            "privacy_unit_description": description,
            "privacy_parameters": {"epsilon": epsilon},
            "privacy_parameters_description": "The loss of an answer, however often it is sent. Somebody who changes "
            "their answer and sends it as well loses as much again; it is not counted. Delta is 0.",
        }
    loss = periods.loss(randomizer)
    return {
        "privacy_unit": f"all answers of one device over {_all_periods(periods)}",
        "privacy_unit_description": f"{description} Two histories of answers are compared that donate in the same "
        f"{periods.every}s{'' if periods.coins == FRESH else ', and repeat an earlier answer at the same times'}.",
        "privacy_parameters": {
            "epsilon": exact.as_float(loss.survey, up=True),
            "epsilon_per_donation": exact.as_float(loss.donation, up=True),
            f"epsilon_per_{periods.every}": exact.as_float(loss.period, up=True),
            "epsilon_if_the_answer_never_changes": exact.as_float(loss.unchanged, up=True),
        },
        "privacy_parameters_description": _over_time(periods, loss),
    }


def _over_time(periods: CollectionPeriods, loss: PeriodLoss) -> str:
    donation, period, total, unchanged = (
        exact.show(each, up=True) for each in (loss.donation, loss.period, loss.survey, loss.unchanged)
    )
    whole = _all_periods(periods)
    per = f"Epsilon {donation} for each donation, at most {period} {periods.one_period}"
    if periods.coins == FRESH:
        return f"{per} and {total} over {whole}. Delta is 0."
    stays = f"{unchanged} while the answer stays the same and at most {total} if it changes"
    return f"{per}; over {whole}, {stays}. Delta is 0."


def _all_periods(periods: CollectionPeriods) -> str:
    return f"{periods.periods:,} {periods.every}{'' if periods.periods == 1 else 's'}"


def _model(survey: Survey) -> dict[str, Any]:
    periods = survey.periods
    once = {
        "release_type": "One release",
        "release_type_description": "One report of each device is counted. Estimates may be "
        "published as often as wanted: they are computed from reports that are private already.",
        "data_source_type": "Dynamic",
        "data_source_type_description": "Reports arrive until the survey is closed.",
    }
    again = {} if periods is None else {
        "release_type": "Many releases",
        "release_type_description": f"Every {periods.every} for {_all_periods(periods)} from {periods.begin_text(1)} "
        f"(UTC); a device makes at most {periods.donations:,} donation{'' if periods.donations == 1 else 's'} "
        f"{periods.one_period}, and refuses more.",
        "data_source_type_description": f"A report belongs to one {periods.every}, and is taken in it and in the next "
        "one.",
    }  # fmt: skip
    return {
        "model_name": "Local",
        "model_name_description": "Each device adds noise to its answer before it sends it. No other machine ever has "
        "an answer without noise.",
        "actors": "The collector is not trusted: it, its administrators, whoever sees the network or the store, "
        "analysts and readers may be malicious and collude. A respondent trusts their own device and the program that "
        "adds the noise. Devices are not trusted with the estimates: fake reports distort them, and cannot weaken the "
        "protection of others.",
        **once,
        **again,
        "access_type": "Non-interactive",
        "access_type_description": "Estimates are made from stored reports; no query reaches a device.",
    }


def _accounting(survey: Survey) -> dict[str, Any]:
    periods = survey.periods
    if periods is None:
        composition = "An answer that is given again is sent as the same report. Different answers add up."
    elif periods.coins == FRESH:
        composition = (
            "Each donation has noise of its own, and losses add up: epsilon of one donation times the donations of a "
            f"{periods.every} times the {periods.every}s."
        )
    else:
        kept = "bits are" if isinstance(survey.randomizer, Rappor | BasicRappor) else "report is"
        composition = (
            f"Noise is memoized: an answer is randomized once, and the same {kept} used whenever the answer is given "
            "again, so that all of its reports together cost its epsilon once. Each different answer costs its own."
        )
    return {
        "post_processing": f"Estimates and intervals use only reports, at least {survey.minimum:,} of them"
        f"{'' if periods is None else f' in {periods.one_period}'}. Estimates are unbiased, so they can lie outside "
        "their bounds.",
        "composition": f"{composition} The device keeps the account, on its own disk, before it shows or sends a "
        "report; a respondent can limit what it loses to all surveys together.",
    }


def _implementation(survey: Survey, justification: str) -> dict[str, Any]:
    randomizer = survey.randomizer
    size = f"{survey.report_width:,} byte{'' if survey.report_width == 1 else 's'}"
    mechanism = f"Protocol {randomizer.protocol}, {size} a report"
    if isinstance(randomizer, ChoiceRandomizer):
        own, other = (f"{float(chance):.6g}" for chance in randomizer.chances)
        mechanism += f"; a report supports the respondent's choice with probability {own}, another with at most {other}"
    if isinstance(randomizer, Rappor | BasicRappor):
        mechanism += f"; a single report costs epsilon {exact.show(randomizer.once, up=True)}"
    return {
        "pre_processing_eda_hyperparameter_tuning": "The device refuses what is no answer, before a coin is flipped. "
        "The protocol was chosen before any answer, by the kind of answer, epsilon and an expected number of "
        "respondents.",
        "mechanisms": f"{mechanism}. Discreet {VERSION}: coins are flipped by exact arithmetic over whole numbers, "
        "with randomness from the operating system, in the browser from the browser. Epsilon is computed from the "
        "coins as they are flipped, rounded up.",
        "justification": justification,
    }
