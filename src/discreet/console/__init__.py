"""The console: a server for owners, analysts and the public, in a browser.

    settings   what the one who starts it says
    desk       the project as its file is now
    people     who there is, their passwords, sessions and tokens
    asking     questions that run, their limits, keys and time grid
    guard      who comes, and whether they may
    routes     the one table of routes and roles
    pages      handlers: a visit in, an answer out
    app        the web application over all of these

It presents and keeps order; it draws no noise, reads no data and writes no SQL.
"""
