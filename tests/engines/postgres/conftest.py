"""The server, and the engine on it."""

from engines.postgres.server import postgres_address, postgres_engine

__all__ = ["postgres_address", "postgres_engine"]
