"""Batches cut into cells on every engine: each number of each statement is the sum of its cells, joins included."""

import pytest

from discreet.accounting.region import Region
from discreet.answers.workload.batch_cells import cut_cells
from discreet.engines.engine import TableLocations
from discreet.engines.memory import MemoryEngine
from discreet.engines.public_table_loader import load_public_table
from discreet.inference.reconcile import ColumnDomains
from discreet.plan.cells import Cells
from discreet.schema.schema import Table
from discreet.sql.catalog import CatalogTable
from discreet.sql.query_parser import parse_query
from engines.conformance.agreeing import agree
from engines.conformance.hospital import REGIONS, REGIONS_SCHEMA, hospital

#: In cells, all of them: rows of persons, NULL keys, bins, joins on the person and with a public table, rows per person.
BATCH = (
    "SELECT count(*), count(age), count(*) FILTER (WHERE flag), sum(age), sum(years) FILTER (WHERE sex = 'F') FROM visits",
    "SELECT sex, flag, count(*) FROM visits WHERE age BETWEEN 2 AND 9 GROUP BY ROLLUP (sex, flag)",
    "SELECT CASE WHEN age < 3 THEN 'low' WHEN age < 8 THEN 'middle' ELSE 'high' END AS band, count(*) FROM visits GROUP BY band",
    "SELECT years, count(*) FROM visits WHERE sex IS NULL OR age = 4 GROUP BY years",
    "SELECT count(*) FROM visits WHERE day BETWEEN '2020-01-05' AND '2020-03-01'",
    "SELECT ward, state, count(*), sum(ward) FROM beds GROUP BY CUBE (ward, state)",
    "SELECT count(*) FROM beds WHERE ward > 2 OR (load IS NULL AND state = 'free')",
    "SELECT kind, count(*), sum(b.amount) FROM visits v LEFT JOIN bills b ON v.pid = b.pid GROUP BY kind",
    "SELECT count(*), sum(b.amount) FROM visits v LEFT JOIN bills b ON v.pid = b.pid WHERE b.paid AND v.age > 3",
    "SELECT v.sex, count(*), sum(v.age) FROM visits v JOIN regions r ON v.age = r.age WHERE v.flag GROUP BY v.sex",
    "SELECT count(*) FROM visits v JOIN regions r ON v.age = r.age WHERE v.years > 2",
    "SELECT count(*), sum(v.years) FROM visits v LEFT JOIN regions r ON v.age = r.age WHERE r.people > 3",
    "SELECT count(*) FROM visits v LEFT JOIN regions r ON v.age = r.age WHERE r.people IS NULL OR v.flag",
    "SELECT n, count(*), sum(n) FROM (SELECT pid, count(*) n FROM visits GROUP BY pid) q WHERE n < 4 GROUP BY n",
    "SELECT count(*) FROM (SELECT pid, count(*) n FROM visits GROUP BY pid) q WHERE n > 1",
)  # fmt: skip
#: Measured by themselves.
ALONE = (
    "SELECT avg(age) FROM visits",
    "SELECT median(age), count(*) FROM visits",
    "SELECT count(DISTINCT pid) FROM visits",
    "SELECT count(DISTINCT sort) FROM visits",
    "SELECT note, count(*) FROM visits GROUP BY note",
    "SELECT count(*) FROM visits WHERE note = 'a'",
    "SELECT count(*) FROM visits WHERE age > years",
    "SELECT count(*) - count(age) FROM visits",
    "SELECT count(*) FROM visits WHERE open > 3",
    "SELECT sex, count(*) FROM visits GROUP BY sex HAVING count(*) > 3",
)


@pytest.mark.parametrize("state", ["full", "bare"])
def test_cells_add_up(reference, light_ground, state):
    tables = hospital(state)
    places = {name: agree(reference, light_ground, each)[1] for name, each in tables.items()}
    source = reference.lay(REGIONS, "regions")
    public = Table(schema=REGIONS_SCHEMA, source=source, population="people", budget=None, public=True)
    loaded = load_public_table(public, folder=reference.folder, engine=MemoryEngine())
    catalog = {name: CatalogTable(schema=each.schema, population="people") for name, each in tables.items()}
    catalog["regions"] = CatalogTable(schema=REGIONS_SCHEMA, public=lambda: loaded)
    queries = [parse_query(text, catalog) for text in (*BATCH, *ALONE)]
    cut = cut_cells(queries, ColumnDomains())
    assert cut.alone == tuple(range(len(BATCH), len(queries)))

    def count(query, plan, axes, statistic):
        files = TableLocations(files={scan: places[scan.table] for scan in query.tables}, publics=query.publics)
        cells = Cells(plan=plan, axes=axes, statistics=(statistic,))
        return light_ground.engine.count(cells, Region.whole(), tables=files).exact_values[0]

    seen = 0
    for grid in cut.grids:
        exact = count(queries[grid.numbers[0].statement], grid.plan, grid.axes, grid.statistic)
        apart = {}
        for number in grid.numbers:
            query, one = queries[number.statement], (number.statement, number.place, number.index)
            if one not in apart:
                axes, statistic = query.inquiry.sets[number.place], query.inquiry.statistics[number.index]
                apart[one] = count(query, query.inquiry.plan, axes, statistic)
            assert int(exact[number.cells].sum()) == int(apart[one][number.cell]), query.text
            seen += 1
    assert seen > 80
