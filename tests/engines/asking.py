"""Cells over one declared table of rows, and their exact counts, for tests."""

from discreet.accounting.region import Region
from discreet.engines.engine import Tables
from discreet.plan.cells import Cells
from discreet.plan.expressions import Over, Times, Whole
from discreet.plan.predicate import TRUE
from discreet.plan.predicate import region as region_of
from discreet.plan.relation import Filter, Scan, scans
from discreet.plan.statistics import Rows
from discreet.sql.keys import axis_of
from discreet.sql.typed import Typed, typed


def asked(table="people", where=TRUE, axes=(), statistics=(Rows(),)):
    """Cells of a table, filtered and grouped."""
    scan = Scan(table=table, version=1)
    plan = scan if where == TRUE else Filter(source=scan, where=where)
    return Cells(plan=plan, axes=tuple(axes), statistics=tuple(statistics))


def region(cells):
    """The region of cells over a table of rows."""
    return region_of(cells.plan.where) if isinstance(cells.plan, Filter) else Region.whole()


def counted(engine, cells, file):
    """The exact vectors, one for each statistic."""
    tables = Tables(files=dict.fromkeys(scans(cells.plan), file))
    return engine.count(cells, region(cells), tables=tables).exact_values


def width_axis(column, width):
    """floor(x / width) * width, in codes."""
    found = typed(column)
    return axis_of(Typed(Times(Over(found.expression, Whole(width)), Whole(width)), found.kind))
