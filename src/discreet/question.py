"""A question of a project: priced free by `explain`, paid and answered by `ask`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet import exact, notebook
from discreet.answers import afford, quoting
from discreet.answers import sql as answers
from discreet.answers.explain import explain
from discreet.answers.quoting import Wish
from discreet.answers.reconcile.residual import beside, helps, known_words, suffices
from discreet.answers.reconcile.telling import tell
from discreet.plan.price import confidence_of
from discreet.release import Release
from discreet.sql.asked import Asked

if TYPE_CHECKING:
    from discreet.api import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question that can be answered: price it free with `explain`, or pay with `ask`."""

    project: Project
    asked: Asked
    #: The last explanation or answer, for a notebook to show.
    _told: list[Explanation | Release] = field(default_factory=list, init=False, repr=False, compare=False)

    def explain(
        self,
        *,
        epsilon: object = None,
        within: object = None,
        confidence: object = "0.95",
        delta: object = None,
    ) -> Explanation:
        """Sensitivity with its reasons, noise, expected error and price. Free; touches no data."""
        wish = wish_of(epsilon, within, confidence, delta)
        project = self.project
        guarantee = project.guarantee(self.asked.table)
        asked, version = self.asked, project.known_version(self.asked.table)
        curator, ledger = project.curator, project.ledger
        known = answers.stored(asked, wish, version=version, curator=curator, reads=self._reads)
        told = None if known is not None else tell(asked, version=version, curator=curator, reads=self._reads)
        enough = told is not None and suffices(told, wish, version=version, guarantee=guarantee, ledger=ledger)
        helping = told if told is not None and not enough and helps(told, wish) else None
        quoted = quoting.quote(asked, wish, version=version, guarantee=guarantee, ledger=ledger, told=helping)
        if known is None and not enough and not quoted.decision.accepted:
            raise afford.refusal(quoted, wish, ledger)
        shown = told if enough else beside(helping, quoted.price, wish)
        found = Explanation(
            data=explain(quoted, known, confidence=wish.confidence, ledger=ledger, told=shown, enough=enough)
        )
        self._told[:] = [found]
        return found

    def ask(
        self,
        *,
        epsilon: object = None,
        within: object = None,
        confidence: object = "0.95",
        delta: object = None,
        analyst: str | None = None,
        fresh: bool = False,
        key: str | None = None,
    ) -> Release:
        """Charge the ledger and answer; a repeat returns the stored answer, free. `key`: see `Ledger.charge`."""
        wish = wish_of(epsilon, within, confidence, delta)
        asker = self.project.asker(analyst, key)
        asked, versions = self.project.about(self.asked)
        found = answers.ask(
            asked,
            wish,
            versions=versions,
            guarantee=self.project.guarantee(versions[0].table),
            curator=self.project.curator,
            asker=asker,
            fresh=fresh,
            reads=self._reads,
        )
        self._told[:] = [found]
        return found

    def _reads(self, text: str) -> Asked:
        """A statement, read as this project's questions are."""
        return self.project.sql(text).asked

    def __repr__(self) -> str:
        return f"<Question about {self.asked.table}: {in_a_line(self.asked.text)}>"

    def _repr_html_(self) -> str:
        """The question in a notebook, with its price where one was told. Free: it explains and asks nothing."""
        return notebook.face(lambda: face(self.asked.text, self._told), lambda: repr(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What a question would cost, and why. `data` is what `--json` prints."""

    data: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    @property
    def price(self) -> str:
        """What it costs, in words."""
        cost, told = self.data["cost"], self.data["told"]
        if told is not None and told["enough"]:
            return f"nothing: {known_words(told)}"
        if self.data["stored"] is not None:
            return f"nothing: it is answered already, by release {self.data['stored']['release']}"
        price = f"rho {cost['rho']}" if cost["epsilon"] is None else f"epsilon {cost['epsilon']}"
        return price + (f", delta {cost['delta']}" if cost["delta"] else "")

    @property
    def widths(self) -> list[tuple[str, float]]:
        """How wrong the columns may be, where that is known; of a stored answer how wrong that one is, at most."""
        stored = self.data["stored"]
        if stored is not None:
            return [] if stored["plus_minus"] is None else [("the stored numbers", stored["plus_minus"])]
        return [(each["column"], each["plus_minus"]) for each in self.data["noise"] if each["plus_minus"] is not None]

    def __str__(self) -> str:
        parts = [*self._parts(), ("runs", self.data["engine_sql"])]
        return "\n".join(f"{name:10}" + said.replace("\n", "\n" + " " * 10) for name, said in parts)

    def _parts(self) -> Iterator[tuple[str, str]]:
        """What there is to say, line by line, but for the SQL."""
        data, told = self.data, self.data["told"]
        after, left = data["spent_after"]["epsilon"], data["remaining_after"]["epsilon"]
        yield "costs", f"{self.price}; after it {after} is spent, {left} remains"
        if told is not None and not told["enough"]:
            yield "known", known_words(told)
        yield "noise", "\n".join([*data["steps"], f"({data['because']})"])
        if told is None and self.widths:
            sure = f"{100 * data['confidence']:g}%"
            yield "error", "\n".join(f"{name} within {width:,g} at {sure}" for name, width in self.widths)
        yield "touches", data["region"]
        yield "because", "\n".join(dict.fromkeys(line for part in self._sensitivities() for line in part["because"]))

    def _sensitivities(self) -> list[dict[str, Any]]:
        return self.data["parts"] or [self.data["sensitivity"]]

    def _repr_html_(self) -> str:
        """The explanation in a notebook."""
        return notebook.face(self._face, lambda: str(self))

    def _face(self) -> Iterator[str]:
        yield notebook.listed(self._parts())
        yield notebook.folded("the SQL that would run", self.data["engine_sql"])


def in_a_line(text: str) -> str:
    """A question's text, as short as a name."""
    said = " ".join(text.split())
    return said if len(said) <= 80 else said[:79] + "…"


def face(text: str, told: Sequence[Explanation | Release]) -> Iterator[str]:
    """A question in a notebook; `told`: its last explanation or answer, if there was one."""
    yield notebook.quoted(text)
    if not told:
        yield notebook.quiet("Not priced yet: .explain(epsilon=0.5) or .explain(within=10) does, free. .ask(…) pays.")
        return
    last = told[-1]
    if isinstance(last, Release):
        yield notebook.line(f"It was asked, and answered by release {last.id}: {last.price}.")
        return
    yield notebook.line(f"When it was explained, it would have cost {last.price}.")
    widths = [] if last.data["told"] is not None else last.widths
    if widths:
        shown = ", ".join(f"{in_a_line(name)} ± {width:,g}" for name, width in widths[:8])
        more = f", and {len(widths) - 8} more" if len(widths) > 8 else ""
        yield notebook.line(f"Noise at {100 * last.data['confidence']:g}%: {shown}{more}.")
    yield notebook.quiet("Nothing is charged until .ask(…).")


def wish_of(epsilon: object, within: object, confidence: object, delta: object = None) -> Wish:
    """What was wished for, checked."""
    return Wish(
        epsilon=None if epsilon is None else exact.positive(epsilon, name="epsilon", most=exact.MAX_QUESTION_EPSILON),
        within=None if within is None else exact.number(within, name="within"),
        confidence=confidence_of(confidence),
        delta=None if delta is None else exact.probability(delta, name="delta"),
    )
