"""A question of a project: priced free by `explain`, paid and answered by `ask`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet import exact
from discreet.answers import sql as answers
from discreet.answers.sql import Wish
from discreet.curator import Version
from discreet.errors import UsageError
from discreet.plan.price import confidence_of
from discreet.release import Release
from discreet.schema.file import NAME
from discreet.schema.schema import Schema
from discreet.sql.read import Asked, read

if TYPE_CHECKING:
    from discreet.api import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question that can be answered: price it free with `explain`, or pay with `ask`."""

    project: Project
    asked: Asked
    schemas: Mapping[str, Schema]

    def _about(self, version: Version) -> Asked:
        """The question as read against this version: codes mean what its own schema says."""
        if self.schemas[version.table] == version.schema:
            return self.asked
        return read(self.asked.text, {version.table: version.schema})

    def explain(self, *, epsilon: object = None, within: object = None, confidence: object = "0.95") -> Explanation:
        """Sensitivity with its reasons, noise, expected error and price. Free; touches no data."""
        wish = _wish(epsilon, within, confidence)
        project, name = self.project, self.asked.cells.table
        table = project.table(name)
        guarantee = project.guarantee(name)
        version = project._version(table) or Version(
            table=table.name, number=1, population=table.population, schema=table.schema, file=""
        )
        asked = self._about(version)
        quoted = answers.quote(asked, wish, version=version, guarantee=guarantee, ledger=project.ledger)
        known = answers.stored(asked, wish, version=version, curator=project.curator)
        if known is None and not quoted.decision.accepted:
            raise answers.refusal(quoted, wish, project.ledger)
        return Explanation(data=answers.explain(quoted, known, confidence=wish.confidence, ledger=project.ledger))

    def ask(
        self,
        *,
        epsilon: object = None,
        within: object = None,
        confidence: object = "0.95",
        analyst: str | None = None,
        fresh: bool = False,
    ) -> Release:
        """Charge the ledger and answer; a repeat returns the stored answer, free."""
        wish = _wish(epsilon, within, confidence)
        version = self.project.version(self.asked.cells.table)
        if analyst in self.project.file.analysts:
            raise UsageError(
                f"analyst {analyst!r} has a quota in {NAME}, and quotas are not enforced yet",
                hint="take the quota away until they are",
            )
        return answers.ask(
            self._about(version),
            wish,
            version=version,
            guarantee=self.project.guarantee(version.table),
            curator=self.project.curator,
            analyst=analyst,
            fresh=fresh,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What a question would cost, and why. `data` is what `--json` prints."""

    data: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    def __str__(self) -> str:
        noise = self.data["noise"][0]
        cost = self.data["cost"]
        price = f"rho {cost['rho']}" if cost["epsilon"] is None else f"epsilon {cost['epsilon']}"
        if self.data["stored"] is not None:
            price = f"nothing: it is answered already, within {self.data['stored']['plus_minus']}"
        lines = [
            f"costs     {price}; after it {self.data['spent_after']['epsilon']} is spent, "
            f"{self.data['remaining_after']['epsilon']} remains",
            f"noise     {noise['mechanism']}, scale {noise['scale']}: each of {self.data['cells']} cells within "
            f"{noise['plus_minus']} at {self.data['confidence']:.0%} ({noise['because']})",
            f"touches   {self.data['region']}",
            "because   " + "\n          ".join(self.data["sensitivity"]["because"]),
            "runs      " + self.data["engine_sql"].replace("\n", "\n          "),
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


def _wish(epsilon: object, within: object, confidence: object) -> Wish:
    return Wish(
        epsilon=None if epsilon is None else exact.positive(epsilon, name="epsilon", most=exact.MAX_QUESTION_EPSILON),
        within=None if within is None else exact.number(within, name="within"),
        confidence=confidence_of(confidence),
    )
