"""Local protocols: randomizers, their laws, and estimates from reports."""
