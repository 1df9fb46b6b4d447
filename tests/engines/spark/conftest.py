"""Spark for the tests beside this file."""

from engines.spark.server import spark_engine  # noqa: F401
