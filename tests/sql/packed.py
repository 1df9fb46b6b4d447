"""Questions asked of DuckDB, remembered, and asked again of Spark: a job costs Spark the same for one as for thirty."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.engines.dense import dense
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.stored import PERSON, persons_file
from discreet.plan.cells import Cells
from discreet.plan.expressions import Words
from discreet.plan.statistics import Sum
from discreet.sql.emit import Emitter
from discreet.sql.spark import Spark
from discreet.sql.write import PLACE, Names, Writer, key_name

DIALECT = Spark()

#: Questions in one job.
PACKED = 30


@dataclass(frozen=True, kw_only=True)
class Question:
    """SQL for Spark, the columns that it brings, and how DuckDB's answer reads."""

    sql: str
    columns: tuple[str, ...]
    cells: Cells | None
    answer: object


class Packed:
    """An engine for tests: DuckDB, which the law compares with the reference, and a list of what was asked."""

    def __init__(self):
        self._duckdb = DuckDBEngine(threads=1)
        self.declare = self._duckdb.declare
        self.asked: list[Question] = []
        self.views: dict[str, pa.Table] = {}
        self._known: dict[object, str] = {}

    def count(self, cells, region, *, tables):
        exact = self._duckdb.count(cells, region, tables=tables)
        columns = ["cell"]
        for place, statistic in enumerate(cells.statistics):
            columns += [f"high{place}", f"low{place}"] if isinstance(statistic, Sum) else [f"s{place}"]
        sql = self._writer(tables, cells.found).count(cells, region)
        answer = [values.tolist() for values in exact.exact_values]
        self.asked.append(Question(sql=sql, columns=tuple(columns), cells=cells, answer=answer))
        if cells.axes and cells.found is None and not tables.publics:
            self._coded(cells, region, tables)
        return exact

    def keys(self, plan, keys, region, *, persons, tables):
        exact = self._duckdb.keys(plan, keys, region, persons=persons, tables=tables)
        columns = (*(f"k{place}" for place in range(len(keys))), "persons")
        sql = self._writer(tables).keys(plan, keys, region, persons=persons)
        told = [
            (*map(_shown, key), str(many))
            for key, many in zip(exact.exact_keys, exact.exact_persons.tolist(), strict=True)
        ]
        self.asked.append(Question(sql=sql, columns=columns, cells=None, answer=_sorted(told)))
        return exact

    def _coded(self, cells, region, tables):
        coded = self._duckdb.coded(cells.plan, cells.axes, region, tables=tables)
        sql = self._writer(tables).places(cells.plan, cells.axes, region)
        columns = tuple(f"p{place}" for place in range(len(cells.axes)))
        rows = zip(*(column.tolist() for column in coded.exact_columns), strict=True)
        told = [tuple(map(_shown, row)) for row in rows]
        self.asked.append(Question(sql=sql, columns=columns, cells=None, answer=_sorted(told)))

    def check(self, session) -> int:
        """Ask Spark everything. How many questions there were."""
        session.conf.set("spark.sql.optimizer.excludedRules", _FOLDING)
        try:
            for name, rows in self.views.items():
                session.createDataFrame(rows).createOrReplaceTempView(name)
            for start in range(0, len(self.asked), PACKED):
                _check(session, self.asked[start : start + PACKED])
        finally:
            session.conf.unset("spark.sql.optimizer.excludedRules")
            for name in self.views:
                session.catalog.dropTempView(name)
        return len(self.asked)

    def _writer(self, tables, found=None):
        def scan(scan):
            if scan.roster:
                beside = self._file(persons_file(tables.file(scan)))
                return f"(SELECT number AS {DIALECT.identifier(PERSON)}, `rows` FROM {beside}) AS roster"
            return self._file(tables.file(scan))

        names = Names(
            scan=scan,
            persons=lambda scan: self._file(persons_file(tables.file(scan))),
            public=lambda join: self._view(tables.publics[join.place]),
            found=self._view(_keys(found)) if found else "found",
        )
        return Writer(emitter=Emitter(dialect=DIALECT), names=names)

    def _file(self, file):
        if file not in self._known:
            self._known[file] = self._view(pq.read_table(file, partitioning=None))
        return self._known[file]

    def _view(self, rows):
        name = f"packed_{len(self.views)}"
        self.views[name] = rows
        return name


#: With it Spark would compute a small table's rows while it plans, by other code than it runs on large ones.
_FOLDING = "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"


def _keys(found):
    columns = {
        key_name(place): pa.array(
            [key[place] for key in found.keys], type=pa.string() if isinstance(of, Words) else pa.int64()
        )
        for place, of in enumerate(found.of)
    }
    return pa.table({**columns, PLACE: pa.array(range(found.size), type=pa.int64())})


def _check(session, questions):
    """Many questions in one job: each row says whose it is."""
    told = [
        f"SELECT {number} AS question, array({', '.join(f'CAST({name} AS STRING)' for name in each.columns)}) AS numbers"
        f" FROM ({each.sql})"
        for number, each in enumerate(questions)
    ]
    found = session.sql("\nUNION ALL\n".join(told)).toArrow().to_pydict()
    rows = [[] for _ in questions]
    for number, numbers in zip(found["question"], found["numbers"], strict=True):
        rows[number].append(tuple(numbers))
    for each, own in zip(questions, rows, strict=True):
        got = _sorted(own) if each.cells is None else _cells(each, own)
        assert got == each.answer, f"Spark and DuckDB differ in\n{each.sql}"


def _cells(question, rows):
    columns = {
        name: np.array([int(row[place]) for row in rows], dtype=np.int64) for place, name in enumerate(question.columns)
    }
    return [values.tolist() for values in dense(columns, question.cells)]


def _shown(key):
    return None if key is None else str(key)


def _sorted(rows):
    return sorted(rows, key=lambda row: [(each is None, each or "") for each in row])
