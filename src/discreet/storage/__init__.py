"""SQLite and PostgreSQL: how a database is opened. Knows neither data nor budgets."""
