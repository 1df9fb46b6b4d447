"""The optional parts of an installation: a verb that needs one says in one line how to install it."""

from __future__ import annotations

from importlib.util import find_spec

from discreet.errors import MissingPackage

#: What each extra of pyproject.toml brings, by the names that are imported.
EXTRAS = {
    "console": ("argon2", "markdown_it", "pydantic", "segno", "starlette", "uvicorn"),
    "survey": ("starlette", "uvicorn"),
}


def require_extra(extra: str, *, verb: str) -> None:
    """Refuse a verb whose extra is not installed."""
    missing = [name for name in EXTRAS[extra] if find_spec(name) is None]
    if missing:
        raise MissingPackage(
            f"discreet {verb} needs packages that are not installed: {', '.join(missing)}",
            hint=f"pip install 'discreet[{extra}]'",
        )
