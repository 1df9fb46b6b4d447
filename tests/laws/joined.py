"""Random questions with joins in every form: conditions beside the equalities, public subqueries, joins of joins."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from laws.questions import PRIVATE, Asker, From
from laws.scalars import Name, Scalars, quoted


class JoinAsker(Asker):
    """An asker that joins nearly always."""

    _joins = 0

    def _from(self) -> From:
        chance = self.random.random()
        if chance < 0.5:
            return self._public()
        if chance < 0.7 and self.world.person is not None:
            return self._on_the_person()
        return super()._from()

    def _public(self) -> From:
        forms = [self._table, self._table, self._subquery, self._public]
        if self.world.person is not None:
            forms += [self._on_the_person, self._per_person]
        return self._with_public(self.random.choice(forms)())

    def _theirs(self, alias: str) -> tuple[Name, ...]:
        third = self.world.publics["regions"].schema.columns[2].name
        return (
            Name(sql=f"{alias}.sort", kind="category", words=("flu",)),
            Name(sql=f"{alias}.age", kind="integer", low=Fraction(0), high=Fraction(7)),
            Name(sql=f"{alias}.{quoted(third)}", kind="category", words=("north", "south")),
            Name(sql=f"{alias}.people", kind="integer", low=Fraction(-9), high=Fraction(50)),
        )

    def _with_public(self, inner: From) -> From:
        keys = [name for name in inner.names if name.kind in ("category", "integer", "text")]
        if not keys or inner.text.count("JOIN") > 3:
            return inner
        self._joins += 1
        alias = f"r{self._joins}"
        theirs = self._theirs(alias)
        word = self.random.choice(["JOIN", "JOIN", "LEFT JOIN"])
        picked = [self.random.choice(keys) for _ in range(self.random.choice([1, 1, 2]))]
        equal = [f"{name.sql} = {alias}.{'age' if name.kind == 'integer' else 'sort'}" for name in picked]
        on = [*equal, *self._beside(inner.names, theirs, word)]
        self.random.shuffle(on)
        source, before = self._regions(alias, theirs, inner.before)
        bare = {name.sql.split(".", 1)[1].strip('"') for name in theirs}
        own = tuple(name for name in inner.names if "." in name.sql or name.sql.strip('"') not in bare)
        return From(
            text=f"{inner.text} {word} {source} ON {' AND '.join(on)}",
            names=(*(own or inner.names), *theirs),
            person=inner.person,
            before=before,
        )

    def _beside(self, mine: tuple[Name, ...], theirs: tuple[Name, ...], word: str) -> list[str]:
        """Conditions beside the equalities: on the joined side alone, and, in a plain join, on both."""
        found = []
        if self.random.random() < 0.6:
            found.append(f"({Scalars(self.random, theirs).condition(self.random.choice([0, 1, 2]))})")
        if word == "JOIN" and self.random.random() < 0.5:
            found.append(f"({Scalars(self.random, (*mine, *theirs)).condition(self.random.choice([0, 1]))})")
        return found

    def _regions(self, alias: str, theirs: tuple[Name, ...], before: str) -> tuple[str, str]:
        """The public table itself, or a subquery or WITH that picks columns and rows of it."""
        if self.random.random() < 0.4:
            return f"regions AS {alias}", before
        third = quoted(self.world.publics["regions"].schema.columns[2].name)
        listed = self.random.choice(
            ["*", f"sort, age, {third}, people", f"people AS age, sort, {third}, age AS people"]
        )
        plain = tuple(replace(name, sql=name.sql.split(".", 1)[1]) for name in theirs)
        where = f" WHERE {Scalars(self.random, plain).condition(1)}" if self.random.random() < 0.6 else ""
        body = f"(SELECT {listed} FROM regions{where})"
        if self.random.random() < 0.3 and not before:
            return f"pw AS {alias}", f"WITH pw AS {body} "
        return f"{body} AS {alias}", before

    def _on_the_person(self) -> From:
        left = self._table("t", self.random.choice(PRIVATE))
        forms = [lambda: self._table("u", self.random.choice(PRIVATE)), self._per_person, self._subquery, self._wrapped]
        right = self.random.choice(forms)()
        if not left.person or len(left.person) != len(right.person) or right.person[0].startswith("t."):
            return left
        alias = right.person[0].split(".")[0]
        word = self.random.choice(["JOIN", "JOIN", "LEFT JOIN"])
        mine, theirs = _qualified("t", left), _qualified(alias, right)
        on = [f"{one} = {two}" for one, two in zip(left.person, right.person, strict=True)]
        on += self._beside(mine, theirs, word)
        self.random.shuffle(on)
        return From(
            text=f"{left.text} {word} {right.text} ON {' AND '.join(on)}", names=(*mine, *theirs), person=left.person
        )

    def _wrapped(self) -> From:
        """A subquery that joins a public table."""
        inner = self._with_public(self._table("t", self.random.choice(PRIVATE)))
        if inner.before:
            return self._table("u", "bills")
        self._scalars = Scalars(self.random, inner.names)
        made = [self._computed(place) for place in range(3)]
        listed = [f"{name.sql} AS {alias.sql}" for name, alias in made]
        listed += [f"{part} AS {part.split('.')[1]}" for part in inner.person]
        return From(
            text=f"(SELECT {', '.join(listed)} FROM {inner.text}) AS q",
            names=tuple(alias for _, alias in made),
            person=tuple(f"q.{part.split('.')[1]}" for part in inner.person),
        )


def _qualified(alias: str, side: From) -> tuple[Name, ...]:
    return tuple(
        name if name.sql.startswith(f"{alias}.") else replace(name, sql=f"{alias}.{name.sql}") for name in side.names
    )
