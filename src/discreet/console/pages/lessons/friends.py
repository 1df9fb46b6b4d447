"""Networks: is Alice in it, and are Alice and Bob connected?"""

from __future__ import annotations

from fractions import Fraction

from discreet.console.pages.lessons.lesson import Figure, Lesson, LessonQuestion
from discreet.lab.attacks.floats import discreet_laplace
from discreet.lab.attacks.network.graphs import random_town
from discreet.lab.evidence import best_under, percent
from discreet.mechanisms.laplace import DiscreteLaplace

#: A generated town; how many links a person may have; and Alice's.
PEOPLE, LINKS, LIMIT = 300, 900, 16
EPSILON = Fraction(1)
#: Of how many links people are counted that have at least so many.
DEGREES = (1, 2, 4, 6, 8, 10, 12)
#: How far a link, and a person, move all these counts together: two people, or oneself and one count of each friend.
DEGREE_SCALES = (2, len(DEGREES) + LIMIT)


def make() -> Lesson:
    """Two facts, two ways to protect; and the degrees of a generated town."""
    return Lesson(
        name="friends",
        title="Networks",
        lead="The number of links looks harmless, but it reveals who knows whom, and who is in the network.",
        paragraphs=(
            "A network of calls, friends or patients and doctors is published as a few numbers: its links, how many "
            "people have at least a given number of links, its triangles. Two facts must stay hidden: that "
            "Alice and Bob are "
            "connected, and that Alice is in the network at all.",
            "An attacker who knows everything else subtracts. If the number of links is one more than expected, Alice "
            f"and Bob are connected; if it is {LIMIT} more, Alice is there with her {LIMIT} links.",
            "The defence begins with a decision: is one link protected, or one person with all links? One link "
            "moves the "
            "number of links by 1, a person by as many as they have. Noise that is large enough for one link "
            f"hides links, but it does not hide Alice: {LIMIT} links are far more than noise of scale 1.",
            "To protect persons, the number of links that one person can have must be limited, and the noise scaled to "
            f"the limit. At epsilon 1 the best guess is then right {percent(_best_guess(LIMIT, LIMIT))} of the "
            "time, and "
            f"no attacker exceeds {percent(best_under(1.0))}. The numbers get {LIMIT} times noisier. "
            "In a large network, this noise is still small.",
        ),
        figures=(_guesses(), _degrees()),
        verb="discreet attack network --tale alice",
        to="/lab/network",
        there="Run the attack in the lab",
        task="Ask whether Alice is there while a link is protected, then while a person is. What does a lower limit "
        "on links hide, and what does it lose?",
        question=LessonQuestion(
            text="Nobody in a network has more than 20 links, and persons are protected. The number of links is "
            "published "
            "for epsilon 0.5. What is the scale of its noise?",
            answer=40,
            solution="One person moves the number of links by at most 20. The scale is the sensitivity divided by "
            "epsilon: "
            "20 / 0.5 = 40. If only links were protected, it would be 1 / 0.5 = 2.",
        ),
        play={"people": 15},
    )


def _best_guess(moved: int, scale: int) -> float:
    """How often the likelier of two numbers is right, which differ by so much and have this noise."""
    law = DiscreteLaplace(scale=scale / EPSILON)
    reach = 40 * scale + moved
    masses = [float(law.mass(k)) for k in range(-reach, reach + moved + 1)]
    shifted = [0.0] * moved + masses
    return sum(map(max, [*masses, *([0.0] * moved)], shifted)) / 2


def _guesses() -> Figure:
    cases = (
        ("Bob", "Are Alice and Bob connected?", 1),
        ("Alice", f"Is Alice, with {LIMIT} links, there?", LIMIT),
    )
    bars, rows = [], []
    for short, title, moved in cases:
        link, person = _best_guess(moved, 1), _best_guess(moved, LIMIT)
        rows.append((title, "100%", percent(link), percent(person)))
        for how, share in (("exact", 1.0), ("noise for a link", link), ("noise for a person", person)):
            bars.append({"label": f"{short}: {how}", "value": 100 * share, "text": percent(share)})
    return Figure(
        chart={
            "chart": "bars",
            "title": "How often the best attacker guesses right from the number of links",
            "bars": bars,
        },
        caption="The attacker knows all the rest, and each fact is true half of the time: 50% is blind guessing. "
        f"Epsilon 1 allows {percent(best_under(1.0))}, for the facts that it protects.",
        columns=("question", "exact numbers", "a link is protected", "a person is protected"),
        rows=tuple(rows),
    )


def _degrees() -> Figure:
    """Degrees of the town: a link moves two of these numbers by 1, a person their own and one for each friend."""
    exact = random_town(PEOPLE, LINKS, most=LIMIT).at_least(DEGREES)
    link_scale, person_scale = DEGREE_SCALES
    columns = {
        name: [int(count + noise) for count, noise in zip(exact, discreet_laplace(0, scale, len(exact)), strict=True)]
        for name, scale in (("a link", float(link_scale)), ("a person", float(person_scale)))
    }
    series = [
        {"name": name, "points": [{"x": k, "value": value} for k, value in zip(DEGREES, values, strict=True)]}
        for name, values in (("exact", exact), *((f"{name} is protected", each) for name, each in columns.items()))
    ]
    return Figure(
        chart={
            "chart": "lines",
            "title": "People with at least so many links",
            "series": series,
            "across": "links",
            "up": "people",
        },
        caption=f"A generated town of {PEOPLE} people in which nobody has more than {LIMIT} links, at epsilon 1 for "
        "all of "
        f"these numbers together. The noise has scale {link_scale} for a link and {person_scale} for a person.",
        columns=("at least so many links", "exact", "a link is protected", "a person is protected"),
        rows=tuple(zip(DEGREES, exact, *columns.values(), strict=True)),
    )
