"""A project folder as Python sees it: queries, budgets, declarations, versions, and the same over HTTP."""
