"""SQLite and PostgreSQL: how a database is opened, set up and read back, and what its errors mean.

Knows neither data nor budgets.
"""
