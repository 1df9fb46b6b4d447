"""The console does not stumble over a release that has no page of its own."""

from console.house import ORIGIN, Passwords, Settings, World, open_state
from graph.friends import make, make_persons


def opened(folder):
    house, setup = open_state(folder, Settings(origin=ORIGIN, grid_ms=1), log=folder.parent / "console.log")
    house.people.passwords = Passwords(memory_kib=64, passes=1)
    return World(house=house, folder=folder, setup=setup)


def test_a_release_of_statistics_is_listed_and_opens(tmp_path):
    make(tmp_path / "friends")
    world = opened(tmp_path / "friends")
    made = world.house.handle.project.graph("friends", nodes="people").stats(epsilon=1)
    browser = world.browser("owner")
    assert "Statistics of a network" in browser.text(f"/a/{made.release}")
    for page in ("/a", "/log", "/budget", "/d/friends", "/", f"/r/{made.release}"):
        assert browser.get(page).status_code in (200, 404), page
    assert made.release in browser.text("/a") or "statistics of a network" in browser.text("/a")
    world.house.close()


def test_a_table_of_persons_and_its_releases_are_shown(tmp_path):
    make_persons(tmp_path / "ties")
    world = opened(tmp_path / "ties")
    made = world.house.handle.project.graph("ties").stats(epsilon=1)
    browser = world.browser("owner")
    assert "Statistics of a network" in browser.text(f"/a/{made.release}")
    for page in ("/a", "/log", "/budget", "/d/ties", "/"):
        assert browser.get(page).status_code == 200, page
    world.house.close()
