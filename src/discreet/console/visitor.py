"""Who comes: a role, a name, and what they came with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Role = Literal["public", "analyst", "owner"]
#: Each may do what those before it may.
ROLES: tuple[Role, ...] = ("public", "analyst", "owner")


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Who comes. `analyst`: under which name their questions are charged. `csrf`: what their forms must carry.

    `token`: the number of the token that they came with. must_change: their password was chosen by somebody else, and
    they may do nothing but change it.
    """

    role: Role = "public"
    name: str | None = None
    analyst: str | None = None
    via: Literal["none", "session", "token"] = "none"
    csrf: str = field(default="", repr=False)
    token: int | None = None
    must_change: bool = False

    def may(self, role: Role) -> bool:
        """Whether what needs `role` is allowed to this visitor."""
        return ROLES.index(self.role) >= ROLES.index(role)
