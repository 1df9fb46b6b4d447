"""Questions asked of DuckDB, remembered, and asked again of Spark: a job costs Spark the same for one as for thirty."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.engines.dense_cells import dense_cells
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.table_file import PERSON, persons_file
from discreet.plan.cell_statistics import Sum
from discreet.plan.cells import Cells
from discreet.plan.expressions import Words
from discreet.sql.emitter import Emitter
from discreet.sql.spark_dialect import SparkDialect
from discreet.sql.sql_writer import PLACE, SqlTableNames, SqlWriter, key_name

DIALECT = SparkDialect()

#: Questions in one job.
PACKED = 10


@dataclass(frozen=True, kw_only=True)
class Question:
    """What writes its SQL for Spark, the columns that it brings, and how DuckDB's answer reads."""

    write: Callable[[], str]
    columns: tuple[str, ...]
    cells: Cells | None
    answer: object


class Packed(DuckDBEngine):
    """An engine for tests: DuckDB, which the law compares with the reference, and a list of what was asked."""

    def __init__(self):
        super().__init__(threads=1)
        self.asked: list[Question] = []
        self.views: dict[str, pa.Table] = {}
        self._known: dict[object, str] = {}

    def count(self, cells, region, *, tables):
        exact = super().count(cells, region, tables=tables)
        columns = ["cell"]
        for place, statistic in enumerate(cells.statistics):
            columns += [f"high{place}", f"low{place}"] if isinstance(statistic, Sum) else [f"s{place}"]
        writer = self._writer(tables, cells.discovered_axis)
        answer = [values.tolist() for values in exact.exact_values]
        self._remember(lambda: writer.count(cells, region), columns, answer, cells=cells)
        if cells.axes and cells.discovered_axis is None and not tables.publics:
            self._places(cells, region, tables)
        return exact

    def keys(self, plan, keys, region, *, persons, tables, weights=None):
        exact = super().keys(plan, keys, region, persons=persons, tables=tables, weights=weights)
        columns = [*(f"k{place}" for place in range(len(keys))), "persons" if weights is None else "weight"]
        writer = self._writer(tables)
        told = [
            (*map(_shown, key), str(many))
            for key, many in zip(exact.exact_keys, exact.exact_persons.tolist(), strict=True)
        ]
        self._remember(
            lambda: writer.keys(plan, keys, region, persons=persons, weights=weights), columns, _sorted(told)
        )
        return exact

    def _places(self, cells, region, tables):
        coded = super().coded(cells.plan, cells.axes, region, tables=tables)
        writer = self._writer(tables)
        columns = [f"p{place}" for place in range(len(cells.axes))]
        rows = zip(*(column.tolist() for column in coded.exact_columns), strict=True)
        told = [tuple(map(_shown, row)) for row in rows]
        self._remember(lambda: writer.places(cells.plan, cells.axes, region), columns, _sorted(told))

    def _remember(self, write, columns, answer, *, cells=None):
        write()  # its tables are read now: their files will be gone
        self.asked.append(Question(write=write, columns=tuple(columns), cells=cells, answer=answer))

    def check(self, session) -> int:
        """Ask Spark everything. How many questions there were."""
        sqls = [each.write() for each in self.asked]
        session.conf.set("spark.sql.optimizer.excludedRules", _FOLDING)
        try:
            for name, rows in self.views.items():
                session.createDataFrame(rows).createOrReplaceTempView(name)
            for start in range(0, len(self.asked), PACKED):
                _check(session, self.asked[start : start + PACKED], sqls[start : start + PACKED])
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

        names = SqlTableNames(
            scan=scan,
            persons=lambda scan: self._file(persons_file(tables.file(scan))),
            public=lambda join: self._once(id(tables.publics[join.place]), lambda: tables.publics[join.place]),
            discovered_keys=self._once(id(found), lambda: _keys(found)) if found else "found",
        )
        return SqlWriter(emitter=Emitter(dialect=DIALECT), names=names)

    def _file(self, file):
        return self._once(file, lambda: pq.read_table(file, partitioning=None))

    def _once(self, key, rows):
        """What a table is called, which is read the first time."""
        if key not in self._known:
            self._known[key] = f"packed_{len(self.views)}"
            self.views[self._known[key]] = rows()
        return self._known[key]


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


def _check(session, questions, sqls):
    """Many questions in one job: each row says whose it is."""
    told = [
        f"SELECT {number} AS question, array({', '.join(f'CAST({name} AS STRING)' for name in each.columns)}) AS numbers"
        f" FROM ({sql})"
        for number, (each, sql) in enumerate(zip(questions, sqls, strict=True))
    ]
    found = session.sql("\nUNION ALL\n".join(told)).toArrow().to_pydict()
    rows = [[] for _ in questions]
    for number, numbers in zip(found["question"], found["numbers"], strict=True):
        rows[number].append(tuple(numbers))
    for each, sql, own in zip(questions, sqls, rows, strict=True):
        got = _sorted(own) if each.cells is None else _cells(each, own)
        assert got == each.answer, f"Spark and DuckDB differ in\n{sql}"


def _cells(question, rows):
    columns = {
        name: np.array([int(row[place]) for row in rows], dtype=np.int64) for place, name in enumerate(question.columns)
    }
    return [values.tolist() for values in dense_cells(columns, question.cells)]


def _shown(key):
    return None if key is None else str(key)


def _sorted(rows):
    return sorted(rows, key=lambda row: [(each is None, each or "") for each in row])
