"""The card: a release in the form of the OpenDP deployments registry, tiers 1 to 3.

What the ledger and the declarations know is filled in; what only people know is given by them, or says "not stated".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet import exact
from discreet.accounting.zcdp_conversion import epsilon_from_rho
from discreet.bundle.about import NOT_STATED
from discreet.bundle.answer_replay import schema_of
from discreet.bundle.claims import ZCDP, parameters
from discreet.bundle.content import BundleContent, explain_event
from discreet.bundle.networks import EdgeLimit, limit_of
from discreet.schema.person_identity import describe
from discreet.storage.program_version import VERSION

_PRODUCTS = {"model": "Synthetic data"}
_FILTERS = {
    "renyi": "A pure filter, a zCDP filter and Rényi filters of four orders at once; for every person, one must hold",
    "either": "A pure filter and a zCDP filter at once; for every person, one of the two must hold",
    "pure": "A filter that sums pure losses",
    "zcdp": "A filter that sums zCDP losses",
}


def card_of(content: BundleContent) -> dict[str, Any]:
    """The card as data: the keys are the registry's."""
    return {
        "url_slug": content.release,
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "product": content.about.product(
                data_product_type=_PRODUCTS.get(content.kind, "Summary statistics"), day=content.day
            ),
            "dp_flavor": _flavor(content),
            "privacy_loss": _loss(content),
            "model": _model(content),
            "accounting": _accounting(content),
            "implementation": _implementation(content),
            "resources": content.about.resources,
        },
    }


def claims_on_card(card: Mapping[str, Any]) -> dict[str, Any]:
    """What a card says of the claims, to be compared with a manifest's."""
    deployment = card["deployment"]
    loss = deployment["privacy_loss"]
    return {
        "release": card["url_slug"],
        "variant": deployment["dp_flavor"]["name"],
        "privacy_unit": loss["privacy_unit"],
        "parameters": loss["privacy_parameters"],
    }


def claims_expected_on_card(claims: Mapping[str, Any]) -> dict[str, Any]:
    """What a card must say, by a manifest's claims."""
    return {
        "release": claims["release"],
        "variant": claims["variant"],
        "privacy_unit": claims["privacy_unit"],
        "parameters": parameters(claims),
    }


def _flavor(content: BundleContent) -> dict[str, Any]:
    order = sorted(content.schemas, key=lambda table: (table != content.table, table))  # whoever tells of them
    schemas = {table: content.schemas[table] for table in order}
    tables = ", ".join(
        f"{table} (version {each['version']}: {_columns(each['declared'])})" for table, each in schemas.items()
    )
    return {
        "name": content.claims["variant"],
        "data_domain": f"All tables with the declared columns: {tables}. The owner declared types, bounds and values, "
        "or they were measured at a privacy loss that the ledger counts.",
        "unprotected_quantities": "; ".join(_unprotected(content)) or "none",
    }


def _columns(declared: Mapping[str, Any]) -> str:
    if "ends" in declared:
        return f"the ends {' and '.join(declared['ends'])}"
    return ", ".join(declared.get("columns", {})) or "none"


def _unprotected(content: BundleContent) -> list[str]:
    """What the guarantee does not speak of: totals that were published exactly, and tables that are public."""
    exactly = list(content.invariants) or ["exact totals of these people"] if content.doubled else []
    return [*exactly, *(f"everything in the public table {name}" for name in content.publics)]


def _loss(content: BundleContent) -> dict[str, Any]:
    claims, guarantee = content.claims, content.guarantee
    whole = f"epsilon {exact.show(guarantee.epsilon)}, delta {exact.show(guarantee.delta)}"
    return {
        "privacy_unit": claims["privacy_unit"],
        "privacy_unit_description": _adjacency(content),
        "privacy_parameters": parameters(claims),
        "privacy_parameters_description": f"{_own(content)} {_always(content, f'({whole})')}, the limit at entry "
        f"{content.as_of} of the ledger. Up to then, in the worst case over people, epsilon "
        f"{exact.show(content.spent, up=True)} was spent. If the limit is raised later, a further filter is added.",
    }


def _always(content: BundleContent, limit: str) -> str:
    """What the limit promises; nothing to one person whose unit was changed after something was released."""
    if content.unit_changes:
        return (
            f"No single limit holds for all releases about these people: {'; '.join(content.unit_changes)}, after an "
            f"earlier release. The releases of each privacy unit alone stay within {limit}"
        )
    return f"All releases ever made about these people, including this one, together stay within {limit}"


def rho_in_words(content: BundleContent) -> str:
    """What a release in rho means in the numbers that people know; empty where it has an epsilon of its own.

    Guarantee: what is shown is (epsilon, delta)-differentially private with the numbers that are said.
    Because: rho-zCDP implies (`epsilon_from_rho`(rho, delta'), delta')-DP for every delta' above 0, and thresholds add
        their own delta. delta' is what the population sets aside for this; where it sets none aside there is no rho.
    """
    claims, guarantee = content.claims, content.guarantee
    if claims["variant"] != ZCDP:
        return ""
    limit = f"epsilon {exact.show(guarantee.epsilon)} with delta {exact.show(guarantee.delta)}"
    always = _always(content, limit)
    if not guarantee.delta_rho:
        return f"In other words: {always}."
    epsilon = epsilon_from_rho(exact.read(claims["rho"]), guarantee.delta_rho)
    delta = guarantee.delta_rho + exact.read(claims["delta"])
    alone = f"at most epsilon {exact.show(epsilon, up=True)} with delta {exact.show(delta, up=True)}"
    return f"In other words: this release alone is {alone}. {always}."


def _own(content: BundleContent) -> str:
    whose = "The parameters are for this release alone"
    if content.also:
        whose = (
            "The numbers are computed from this release and from earlier measurements of the same query "
            f"({', '.join(content.also)}); the parameters are for all of them together"
        )
    if content.claims["variant"] != ZCDP:
        return f"{whose}."
    return f"{whose}; there is no pure epsilon. rho is a price in the budget below, which converts it."


def _adjacency(content: BundleContent) -> str:
    unit, bound = content.unit_words, _bound(content)
    if content.doubled:
        return (
            f"Two tables are neighbours if they differ by a change of {unit} and have the same exact totals. Whether a "
            f"person is in the table is not protected.{_identified(content)}{bound}"
        )
    return (
        f"Two tables are neighbours if adding or removing {unit} turns one into the other. The number of privacy units "
        f"is not public.{_identified(content)}{bound}"
    )


def _identified(content: BundleContent) -> str:
    """By which columns people are identified, in the release's own table first. The ledger keeps it, for good."""
    order = sorted(content.schemas, key=lambda table: (table != content.table, table))
    named = [(table, content.schemas[table].get("persons")) for table in order]
    words = [f"in {table!r} by {describe(naming)}" for table, naming in named if naming]
    return f" People are identified {', '.join(words)}." if words else ""


def _bound(content: BundleContent) -> str:
    """With how much a person counts, and where else than in the release's own table."""
    if _has_ends(content):
        limit, others = _limit(content), [table for table in content.schemas if table != content.table]
        beside = f" A person's rows in {', '.join(others)} belong to the privacy unit too." if others else ""
        return beside if limit is None else f"{beside} Each person contributes at most {limit}."
    rows = content.schemas[content.table]["declared"].get("rows_per_person")
    most = "one row" if rows == 1 else f"{rows} rows"
    return "" if content.unit == "row" or rows is None else f" Each person contributes at most {most}."


def _has_ends(content: BundleContent) -> bool:
    return bool(schema_of(content.table, content.schemas).unit.ends)


def _limit(content: BundleContent) -> EdgeLimit | None:
    return limit_of(content.kind, content.release, content.payloads)


def _model(content: BundleContent) -> dict[str, Any]:
    return {
        "model_name": "Central",
        "model_name_description": "The owner holds the data; one curator counts, adds noise and keeps the ledger.",
        "actors": "The owner and the machine's administrator are trusted with the data. Analysts are not: they may be "
        "malicious and collude. Readers of this release are not trusted.",
        "release_type": "Many releases",
        "release_type_description": "All queries about a population share one budget, which is never renewed.",
        "data_source_type": "Static",
        "data_source_type_description": f"Version {content.version} of the table. A new version is a public act of the "
        "owner, and losses add up across versions.",
        "access_type": "Interactive",
        "access_type_description": "One limit holds for all analysts together, so collusion gains nothing. Quotas only "
        "divide that limit.",
    }


def _accounting(content: BundleContent) -> dict[str, Any]:
    after = "Least squares, rounding, ratios, sorting and confidence intervals use only noisy numbers."
    return {
        "post_processing": after if content.kind != "model" else f"{after} Rows are sampled from a fitted model.",
        "composition": f"{_FILTERS[content.guarantee.accounting]}, for fully adaptive queries. Queries "
        "about disjoint people cost their maximum. Every charge is stored durably before data is read, in an "
        "append-only ledger chained by hashes. Nothing is refunded.",
    }


def _implementation(content: BundleContent) -> dict[str, Any]:
    done = "; ".join(explain_event(content.combined_event, person=content.unit))
    return {
        "pre_processing_eda_hyperparameter_tuning": _before_noise(content),
        "mechanisms": f"{done[0].upper()}{done[1:]}. Discreet {VERSION}: exact samplers over whole numbers and "
        "fractions, with randomness from the operating system; noise is never mixed with floating-point numbers. "
        "Counting reads the declared table, with functions that cannot fail on a row. Timing: the server sends answers "
        "on a time grid; the command line does not.",
        "justification": content.about.justification or NOT_STATED,
    }


def _before_noise(content: BundleContent) -> str:
    """What is done to the data. Edges are cut when they are counted, rows of persons when a version is made."""
    if not _has_ends(content):
        return (
            "Before any query, columns are clamped to their declared bounds, categories to their declared values, and "
            "persons are truncated to their limit of rows, by the declaration alone. Measurements to choose bounds are "
            "charged to the same ledger."
        )
    read = (
        "Rows are read as edges between the declared ends, by the declaration alone. Rows that repeat an edge count "
        "once; rows from a node to itself are not counted. A version keeps all edges of a person."
    )
    limit = _limit(content)
    if limit is None:
        return f"{read} This release counts no edges."
    by = "chosen by the exponential mechanism as part of this release's loss" if limit.chosen else "by the declaration"
    return (
        f"{read} A limit per person is applied when a query counts: edges are taken in the order of a keyed hash, and "
        f"kept while both ends are below the limit. Here the limit was {limit}, {by}."
    )
