"""Cells over one declared table of rows, and their exact counts, for tests."""

from discreet.accounting.region import Region
from discreet.engines.engine import TableLocations
from discreet.plan.cell_statistics import RowCount
from discreet.plan.cells import Cells
from discreet.plan.expressions import Over, Times, Whole
from discreet.plan.predicate import TRUE
from discreet.plan.predicate import region as region_of
from discreet.plan.relation import Filter, Scan, scans
from discreet.sql.group_keys import axis_of
from discreet.sql.typed_expression import TypedExpression, column_expression


def asked(table="people", where=TRUE, axes=(), statistics=(RowCount(),)):
    """Cells of a table, filtered and grouped."""
    scan = Scan(table=table, version=1)
    plan = scan if where == TRUE else Filter(source=scan, where=where)
    return Cells(plan=plan, axes=tuple(axes), statistics=tuple(statistics))


def region(cells):
    """The region of cells over a table of rows."""
    return region_of(cells.plan.where) if isinstance(cells.plan, Filter) else Region.whole()


def counted(engine, cells, file):
    """The exact vectors, one for each statistic."""
    tables = TableLocations(files=dict.fromkeys(scans(cells.plan), file))
    return engine.count(cells, region(cells), tables=tables).exact_values


def width_axis(column, width):
    """floor(x / width) * width, in codes."""
    found = column_expression(column)
    return axis_of(TypedExpression(Times(Over(found.expression, Whole(width)), Whole(width)), found.kind))


def typed(**types):
    """What an engine proposes where it proposes types alone."""
    return {name: {"type": type_} for name, type_ in types.items()}
