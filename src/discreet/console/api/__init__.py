"""The HTTP API under /api/v1: its models, its document, and the files that it gives.

    models          bodies and answers, checked and described by the same classes
    operations      a route's entry in the document: its parameters, statuses and files
    openapi         the OpenAPI document, made from the routes and the models
    release_files   a release as CSV and as Parquet

Handlers are in handlers.py. Programs come with a token; no cookie opens anything here.
"""
