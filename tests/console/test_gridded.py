"""Which requests can pay, by hand: their answers leave on the time grid. A route that is in neither list fails here."""

from discreet.console.routes import route_table

#: What can charge a ledger, and so count; and the login, whose time would tell which names are known.
GRIDDED = {
    ("POST", "/ask"),
    ("POST", "/a/{release}/again"),
    ("POST", "/api/v1/query"),
    ("POST", "/api/v1/releases/{release}/again"),
    ("POST", "/synth/new"),
    ("POST", "/synth/{release}/compare"),
    ("POST", "/tables/new/histogram"),
    ("POST", "/tables/new/ranges"),
    ("POST", "/tables/new/marginals"),
    ("POST", "/tables/new/publish"),
    ("POST", "/tables/new/network"),
    ("POST", "/api/v1/graph"),
    ("POST", "/login"),
    # What makes a version or erases from one: how long it takes tells of rows, though only owners send it.
    ("POST", "/admin/tables/new"),
    ("POST", "/admin/tables/edit"),
    ("POST", "/admin/tables/refresh"),
    ("POST", "/admin/tables/forget"),
    ("POST", "/admin/tables/budget"),
    ("POST", "/admin/tables/describe"),
}

#: What reads no private table: prices, stops, which come on the grid of what they stop, and acts of people about people.
FREE = {
    ("POST", "/a/{release}/notes"),
    ("POST", "/ask/history/forget"),
    ("POST", "/ask/price"),
    ("POST", "/ask/build"),
    ("POST", "/ask/cancel"),
    ("POST", "/budget/requests"),
    ("POST", "/budget/requests/{number}/approve"),
    ("POST", "/budget/requests/{number}/decline"),
    ("POST", "/budget/grant"),
    ("POST", "/log/verify"),
    ("POST", "/a/{release}/publish"),
    ("POST", "/r/{release}/publish"),
    ("POST", "/r/{release}/withdraw"),
    ("POST", "/jobs/{job}/stop"),
    ("POST", "/admin/tables/underway/{work}/stop"),
    ("POST", "/synth/underway/{work}/stop"),
    ("POST", "/tables/underway/{work}/stop"),
    ("POST", "/survey/new"),
    ("POST", "/survey/{survey}/close"),
    ("POST", "/survey/{survey}/tokens"),
    ("POST", "/lab"),
    ("POST", "/lab/{attack}"),
    ("POST", "/logout"),
    ("POST", "/setup/{link}"),
    ("POST", "/me/password"),
    ("POST", "/me/tokens"),
    ("POST", "/me/tokens/{number}/revoke"),
    ("POST", "/me/sessions/end"),
    ("POST", "/admin/people"),
    ("POST", "/admin/people/{number}/password"),
    ("POST", "/admin/people/{number}/role"),
    ("POST", "/admin/people/{number}/analyst"),
    ("POST", "/admin/people/{number}/disable"),
    ("POST", "/admin/people/{number}/enable"),
    ("POST", "/admin/people/{number}/end"),
    ("POST", "/admin/tokens/{number}/revoke"),
    ("POST", "/admin/tables/upload"),
    ("POST", "/admin/tables/remove"),
    ("POST", "/admin/tables/retire"),
    ("POST", "/admin/tables/discard"),
    ("POST", "/admin/tables/describe/declare"),
    ("POST", "/admin/analysts"),
    ("POST", "/api/v1/explain"),
    ("POST", "/api/v1/graph/plan"),
    ("POST", "/api/v1/tokens"),
    ("DELETE", "/api/v1/tokens/{number}"),
    ("DELETE", "/api/v1/jobs/{job}"),
    ("POST", "/api/v1/requests"),
}


def test_every_request_that_is_not_a_look_is_listed_and_what_can_pay_is_gridded():
    found = {(route.method, route.path): route.gridded for route in route_table() if route.method != "GET"}
    assert set(found) == GRIDDED | FREE and not GRIDDED & FREE
    assert {route for route, gridded in found.items() if gridded} == GRIDDED


def test_no_look_is_gridded_or_pays():
    """A GET that charged could be made by an image on another site."""
    assert not [route for route in route_table() if route.method == "GET" and route.gridded]
