"""The console: a server for owners, analysts and the public, in a browser.

    settings         what the person who starts it sets
    project_handle   the project as its file is now
    people           accounts, their passwords, sessions and tokens
    jobs             queries and other work that runs: limits, keys and the time grid
    guard            who sends a request, and whether they may
    routes           the one table of routes and roles
    pages            handlers: a request context in, a response out
    app              the web application over all of these

It presents and keeps order; it draws no noise, reads no data and writes no SQL.
"""
