"""Makes the declared table of persons with many rows, on Spark: the steps of `engines.duckdb_person_table`, in its SQL.

    group the source by person -> rank the rows of those who need it -> write them with the others' -> count

Guarantee: a person's rows in the declared table depend on that person's rows of the source, the declaration
    and the keys alone; each person has at most `rows_per_person` of them, equal in every constant column.
Because: as in `engines.duckdb_person_table`. What is ranked is in an order of values that differ, or rows are equal, so
    that a task that runs twice makes the same rows. A person's number is a name: it is given once, written down before
    anything is joined to it, and no two persons' are the same, for it is the number of a task and of a row of that
    task's. It is given last, by the tasks that write: of two attempts one is kept, and nothing is made of the other's.
    What was written is counted where it lies: every row that has a person has one who is written down.

The keys of the hashes are columns of a table of one row. A literal or a parameter would stand in plans.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from discreet.engines.declared_table_sql import RowSelection
from discreet.engines.dominant_person import find_dominant_person
from discreet.engines.duckdb_person_path import PersonPath
from discreet.engines.engine import DeclarationOutcome
from discreet.engines.ownership import Ownership
from discreet.engines.spark.broadcast_table import broadcast_frame
from discreet.engines.spark.declared_table import (
    PreparedSource,
    count_for_owner,
    declaration_outcome,
    prepare_source,
    rows_lost,
    stored_types,
    temporary_views,
    translate_spark_errors,
    views,
    write,
)
from discreet.engines.spark.keyed_hash_sql import digest_sql, secret_sql, tag_sql
from discreet.engines.spark.lake import LakeManifest, LakeTable
from discreet.engines.spark.lake_store import escape_glob
from discreet.engines.spark.session import SparkSession
from discreet.engines.spark.spark_person_path import build_person_path, link_tables
from discreet.engines.spark.spark_source import SparkSource
from discreet.schema.column import TextColumn

_PERSONS, _KEYS, _FORGOTTEN = "discreet_persons", "discreet_keys", "discreet_forgotten"
_SECRETS = "discreet_secrets"


def declare_persons(
    session: SparkSession, ownership: Ownership, chain: tuple[SparkSource, ...], *, target: LakeTable
) -> DeclarationOutcome:
    """Make the declared table of the first source of `chain` at `target`, and the persons' part."""
    prepared = prepare_source(session, ownership.schema, chain[0])
    reached = build_person_path(ownership, chain)
    own = [chain[0].place(name) for name in (ownership.person if len(chain) == 1 else ownership.unit.on)]
    with (
        translate_spark_errors(chain[0]),
        target.making() as mark,
        views(prepared, further=own),
        link_tables(session, ownership, chain),
    ):
        owned = _SparkPersonTable(prepared=prepared, ownership=ownership, reach=reached, target=target, mark=mark)
        with owned.grouped():
            making = owned.write()
            for source in chain:
                source.check_unchanged()
            target.commit(owned.manifest())
    return making


@dataclass(frozen=True, slots=True, kw_only=True)
class _SparkPersonTable:
    """The source's rows and their persons: who is reached, and the steps in order."""

    prepared: PreparedSource
    ownership: Ownership
    reach: PersonPath
    target: LakeTable
    mark: str

    @property
    def session(self) -> SparkSession:
        return self.prepared.session

    def manifest(self) -> LakeManifest:
        rows, persons = self.target.part(f"rows-{self.mark}"), self.target.part(f"persons-{self.mark}")
        return LakeManifest(columns=stored_types(self.ownership.schema), rows=rows, persons=persons)

    @contextmanager
    def grouped(self) -> Iterator[None]:
        """Everybody who has a row, written down: number, tag, rows, whether forgotten, whether to be ranked."""
        import pyarrow as pa

        keys = pa.table({"tag_key": pa.array([self.ownership.tag_key]), "row_key": pa.array([self.ownership.key])})
        gone = pa.table({"tag": pa.array(sorted(self.ownership.forgotten), pa.binary())})
        frames = {_KEYS: broadcast_frame(self.session, keys), _FORGOTTEN: broadcast_frame(self.session, gone)}
        work = f"{self.target.folder}/work-{self.mark}"
        with temporary_views(self.session, frames):
            self.session.sql(self._group_sql()).write.parquet(work)
            frame = self.session.read.parquet(escape_glob(work))
            with temporary_views(self.session, {_PERSONS: frame}):
                yield

    def _group_sql(self) -> str:
        limit, constants = self.ownership.unit.rows, self.ownership.constants
        listed = ", ".join(self.reach.names)
        apart = " OR ".join([f"count(*) > {limit}", *(_disagree(f"stored_{place}") for place in constants)])
        selection = RowSelection(
            joins=self.reach.joins,
            beside=self.reach.key_columns(),
            where=self.reach.has_person_sql(),
            places=constants,
            with_counts=False,
        )
        coded = self.prepared.select(selection)
        tag = tag_sql((part.text for part in self.reach.key_of("persons")), key="tag_key")
        secret = secret_sql((part.text for part in self.reach.key_of("persons")), key="row_key")
        return f"""SELECT *, monotonically_increasing_id() AS number FROM (
          SELECT tagged.*, gone.tag IS NOT NULL AS forgotten FROM (
            SELECT persons.*, {tag} AS tag, CASE WHEN apart THEN {secret} END AS secret FROM (
              SELECT {listed}, count(*) AS rows, {apart} AS apart FROM ({coded}) GROUP BY {listed}
            ) AS persons CROSS JOIN {_KEYS}
          ) AS tagged LEFT JOIN {_FORGOTTEN} AS gone ON tagged.tag = gone.tag
        )"""

    def write(self) -> DeclarationOutcome:
        """The declared table and its persons; what the owner is told, from what was written and from the source."""
        session, limit = self.session, self.ownership.unit.rows
        columns = len(self.ownership.schema.columns)
        rows = session.sql(f"{self._others_sql()}\nUNION ALL\n{self._ranked_sql()}")
        write(rows, self.target, f"rows-{self.mark}", columns=columns, beside=["person"])
        session.sql(f"SELECT number, tag, rows FROM {_PERSONS} WHERE NOT forgotten").write.parquet(
            f"{self.target.folder}/persons-{self.mark}"
        )
        counts = f"count(*), coalesce(sum(least(rows, {limit})), 0), coalesce(sum(rows), 0)"
        [totals] = session.sql(f"SELECT {counts} FROM {_PERSONS} WHERE NOT forgotten").collect()
        exact_persons, exact_rows, exact_all = (int(each) for each in totals)
        manifest = self.manifest()
        if self.target.rows(session, manifest).count() != exact_rows:
            raise ValueError("the number of rows written does not match the rows of the persons: this is a defect")
        beside = {"owned": self.reach.has_person_sql(), "numbered": "p.number IS NOT NULL"}
        coded = self._coded(join="LEFT JOIN", beside=beside, where="p.forgotten IS NOT TRUE", with_counts=True)
        further = {"owned": "count_if(owned)", "numbered": "count_if(numbered)"}
        owner_counts = count_for_owner(self.prepared, coded, further=further)
        written = self.target.persons(session, manifest).count()
        if (owner_counts["owned"], owner_counts["numbered"], written) != (exact_all, exact_all, exact_persons):
            raise rows_lost(self.prepared.source.shown)
        return declaration_outcome(
            self.ownership.schema,
            owner_counts,
            exact_rows=exact_rows,
            exact_truncated=exact_all - exact_rows,
            exact_without_person=owner_counts["rows"] - exact_all,
            exact_persons=exact_persons,
            exact_dominant=find_dominant_person(self._first(), persons=exact_persons, rows=exact_all),
        )

    def _first(self) -> tuple[list[str], int] | None:
        """Who has the most rows, and how many."""
        texts = [part.text for part in self.reach.key_of(_PERSONS)]
        listed = ", ".join(f"{text} AS text_{place}" for place, text in enumerate(texts))
        order = ", ".join(f"text_{place}" for place in range(len(texts)))
        sql = f"SELECT rows, {listed} FROM {_PERSONS} WHERE NOT forgotten ORDER BY rows DESC, {order} LIMIT 1"
        top_rows = self.session.sql(sql).collect()
        return ([str(text) for text in top_rows[0][1:]], int(top_rows[0][0])) if top_rows else None

    def _others_sql(self) -> str:
        """The rows of those who keep all of theirs, as they are."""
        listed = ", ".join(["person", *self._stored()])
        coded = self._coded(join="JOIN", beside={"person": "p.number"}, where="NOT p.apart AND NOT p.forgotten")
        return f"SELECT {listed} FROM ({coded})"

    def _ranked_sql(self) -> str:
        """The rows that are kept of those who have too many, or who disagree with themselves."""
        stored = self._stored()
        digest = digest_sql("secret", stored, "occurrence")
        constants = self.ownership.constants
        kept = [
            f"first_value({name}) OVER ranked AS {name}" if place in constants else name
            for place, name in enumerate(stored)
        ]
        listed = ", ".join(["person", *stored])
        beside = {"person": "p.number", "secret": "p.secret"}
        coded = self._coded(join="JOIN", beside=beside, where="p.apart AND NOT p.forgotten")
        return f"""SELECT {listed} FROM (
          SELECT person, {", ".join(kept)}, row_number() OVER ranked AS place FROM (
            SELECT {listed}, {digest} AS digest FROM (
              SELECT *, row_number() OVER (PARTITION BY {listed} ORDER BY person) AS occurrence FROM ({coded})
            )
          )
          WINDOW ranked AS (PARTITION BY person ORDER BY digest)
        ) WHERE place <= {self.ownership.unit.rows}"""

    def _stored(self) -> dict[str, bool]:
        """The stored columns, and whether they are texts."""
        return {
            f"stored_{place}": isinstance(column, TextColumn)
            for place, column in enumerate(self.ownership.schema.columns)
        }

    def _coded(self, *, join: str, beside: dict[str, str], where: str, with_counts: bool = False) -> str:
        """The source's rows in codes, joined to persons by their keys."""
        joins = [*self.reach.joins, f"{join} {_PERSONS} AS p ON {self.reach.same_person_sql('p')}"]
        return self.prepared.select(RowSelection(joins=joins, beside=beside, where=where, with_counts=with_counts))


def _disagree(value: str) -> str:
    """Whether a person's rows differ in a column; one NULL among values differs."""
    return f"min({value}) IS DISTINCT FROM max({value}) OR count({value}) NOT IN (0, count(*))"
