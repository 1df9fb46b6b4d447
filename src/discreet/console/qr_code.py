"""Addresses as QR codes, drawn as SVG that stands in the page itself: no picture is loaded from anywhere."""

from __future__ import annotations

from markupsafe import Markup

#: The empty margin that readers of codes need, in squares.
_MARGIN = 4


def qr_svg(address: str) -> Markup:
    """An address as a QR code, black on white whatever the colours of the page are."""
    import segno

    code = segno.make(address, error="m", micro=False)
    matrix = tuple(code.matrix)
    size = len(matrix) + 2 * _MARGIN
    squares = "".join(
        f"M{_MARGIN + column} {_MARGIN + row}h{length}v1h-{length}z"
        for row, cells in enumerate(matrix)
        for column, length in _dark_runs(cells)
    )
    return Markup(
        '<svg class="qr-code" viewBox="0 0 {size} {size}" role="img" aria-label="QR code of the address beside it"'
        ' shape-rendering="crispEdges"><rect width="{size}" height="{size}" fill="#fff"/>'
        '<path fill="#000" d="{squares}"/></svg>'
    ).format(size=size, squares=squares)


def _dark_runs(cells: bytearray) -> list[tuple[int, int]]:
    """Where dark squares begin in a line, and how many there are beside each other.

    >>> _dark_runs(bytearray([1, 1, 0, 1]))
    [(0, 2), (3, 1)]
    """
    runs: list[tuple[int, int]] = []
    for column, dark in enumerate(cells):
        if not dark:
            continue
        if runs and sum(runs[-1]) == column:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((column, 1))
    return runs
