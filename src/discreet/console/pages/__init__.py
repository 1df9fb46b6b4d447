"""The areas of the console: each file has its handlers and its ROUTES."""
