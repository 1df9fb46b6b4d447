"""OVER (…): which groups of an answer a window holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from discreet.errors import Refused
from discreet.plan.formula import GroupWindow

_FORMS = (
    "sum(count(*)) OVER (), sum(count(*)) OVER (PARTITION BY a ORDER BY b), lag(count(*)) OVER (ORDER BY a), "
    "lead(count(*)) OVER (ORDER BY a)"
)
#: No window reaches further.
_MOST_PLACES = 10**6


class MakeRefusal(Protocol):
    """How a refusal that points at a node is made."""

    def __call__(self, reason: str, *, at: exp.Expr | tuple[int, int] | None = None, hint: str = "") -> Refused: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowReader:
    """Reads the window of sum, lag and lead. `key`: which key an expression is; `keys`: how many there are."""

    refusal: MakeRefusal
    key: Callable[[exp.Expr], int]
    keys: int

    def read(self, node: exp.Window) -> GroupWindow:
        """The groups of a window function."""
        function = node.this
        if not isinstance(function, exp.Sum | exp.Lag | exp.Lead):
            raise self.refusal("only sum, lag and lead can be window functions", at=node, hint=_FORMS)
        if node.args.get("alias") is not None or node.args.get("first") is not None:
            raise self.refusal("a window must be written in full after OVER", at=node, hint=_FORMS)
        if isinstance(function.this, exp.Distinct) or function.this is None:
            raise self.refusal("this form of the window function is not supported", at=node, hint=_FORMS)
        partition = tuple(dict.fromkeys(self.key(part) for part in node.args.get("partition_by") or ()))
        clause = node.args.get("order")
        order = tuple(self._ordered(part) for part in (clause.expressions if clause else ()))
        if order and len({*partition, *(key for key, _ in order)}) < self.keys:
            raise self.refusal(
                "ORDER BY of a window must name every key that is not in its PARTITION BY", at=node, hint=_FORMS
            )
        first, last = self._ends(node, has_order=bool(order))
        return GroupWindow(partition=partition, order=order, first=first, last=last)

    def _ordered(self, part: exp.Ordered) -> tuple[int, bool]:
        if part.args.get("nulls_first"):
            raise self.refusal("NULLS FIRST is not supported in a window", at=part, hint="NULL is the last key")
        return self.key(part.this), bool(part.args.get("desc"))

    def _ends(self, node: exp.Window, *, has_order: bool) -> tuple[int | None, int | None]:
        """From how many groups after this one to how many."""
        function, spec = node.this, node.args.get("spec")
        if isinstance(function, exp.Sum):
            if spec is None:
                return (None, 0) if has_order else (None, None)
            return self._frame(node, spec, has_order=has_order)
        if spec is not None or not has_order:
            raise self.refusal("lag and lead need ORDER BY, and take no frame", at=node, hint=_FORMS)
        if function.args.get("default") is not None:
            raise self.refusal("a default is not supported here", at=node, hint="coalesce(lag(count(*)) OVER (…), 0)")
        offset = function.args.get("offset")
        places = 1 if offset is None else self._whole(offset, node)
        if places == 0:
            raise self.refusal("lag and lead take a distance from 1 on", at=node)
        away = -places if isinstance(function, exp.Lag) else places
        return away, away

    def _frame(self, node: exp.Window, spec: exp.WindowSpec, *, has_order: bool) -> tuple[int | None, int | None]:
        ends = [self._end(spec.args.get(name), spec.args.get(f"{name}_side"), node) for name in ("start", "end")]
        first, last = ends
        sides = [(spec.args.get(f"{name}_side") or "").upper() for name in ("start", "end")]
        if (first is None and sides[0] == "FOLLOWING") or (last is None and sides[1] == "PRECEDING"):
            raise self.refusal("this frame is not supported", at=node, hint=_FORMS)
        if spec.args.get("kind", "").upper() != "ROWS" and ends not in ([None, 0], [None, None], [0, None]):
            raise self.refusal(
                "a frame counts groups: write ROWS", at=node, hint="ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"
            )
        if (first is not None and last is not None and first > last) or (not has_order and ends != [None, None]):
            raise self.refusal("this frame is not supported", at=node, hint=_FORMS)
        return first, last

    def _end(self, value: exp.Expr | str | None, side: str | None, node: exp.Window) -> int | None:
        if isinstance(value, str) or value is None:
            return None if value is not None and value.upper() == "UNBOUNDED" else 0
        places = self._whole(value, node)
        return -places if (side or "").upper() == "PRECEDING" else places

    def _whole(self, value: exp.Expr, node: exp.Window) -> int:
        text = str(value.this) if isinstance(value, exp.Literal) and not value.is_string else ""
        if not text.isdigit() or len(text) > 9 or int(text) > _MOST_PLACES:
            raise self.refusal("a window is counted in whole groups", at=node, hint=_FORMS)
        return int(text)
