"""What each attack shows, in three sentences."""

from __future__ import annotations

ATTACK_DESCRIPTIONS: dict[str, tuple[str, str, str]] = {
    "linkage": (
        "Names were taken out of a hospital's file, but ZIP code, birth date and sex stayed in it.",
        "A voter list has names and the same three columns, and most people have a combination that nobody else has.",
        "Counts with noise protect people: no rows are released that could be matched.",
    ),
    "ratings": (
        "A film service published ratings under numbers instead of names.",
        "A few ratings that a person mentioned, even if some are wrong, identify their record among thousands.",
        "Records with many columns about each person are useful, and recognisable for the same reason.",
    ),
    "sampling": (
        "Only one person in a hundred was published, and nobody knows who.",
        "This does not protect the people in the sample: most of them are unique among everybody.",
        "Sampling lowers the average risk, but not the risk of those who were drawn.",
    ),
    "homogeneity": (
        "Everybody is hidden among at least four others who look alike: the table is 5-anonymous.",
        "In many of these groups everybody has the same condition, so the group hides nothing.",
        "A guarantee about groups is not a guarantee about a person.",
    ),
    "background": (
        "In every group there are at least three different conditions.",
        "Somebody who can rule out two of them for a person knows the third.",
        "Differential privacy holds whatever an attacker knows already; this protection depends on it.",
    ),
    "minimality": (
        "A table was made just as coarse as its rule demands, and no coarser.",
        "A reader who knows the rule sees where it had to act, and this reveals more than the rule allows.",
        "How a table was made is part of what is released, unless its choices are made under noise and paid for.",
    ),
    "intersection": (
        "Two hospitals each published an anonymous table, each of them safe on its own.",
        "A person who went to both is in one group of each table, and few values are in both groups.",
        "Such guarantees do not compose. Losses of differential privacy add up, and a ledger can count them.",
    ),
    "differencing": (
        "Two exact counts that differ in one person reveal that person's secret.",
        "Noise alone is not enough if anybody can ask as many pairs of counts as they like.",
        "A ledger that charges every different query stops the attack before much is known.",
    ),
    "averaging": (
        "The same query is asked again and again, with new noise each time.",
        "The noise averages out, and the secret remains.",
        "Discreet repeats its stored answer for free, and charges every new draw until nothing is left.",
    ),
    "reconstruction": (
        "A server answers thousands of counts, each of them a little wrong.",
        "Together the answers are a system of equations, and its solution is everybody's secret.",
        "Only noise that grows with the number of answers withstands this attack. A budget makes sure of that.",
    ),
    "census": (
        "A statistical office published exact tables about seven people, and left the small cells out.",
        "A solver tries all sets of people that fit the tables: only one is left.",
        "When the tables are published with noise, no set of people fits them, or very many do.",
    ),
    "auditing": (
        "A server refuses each query whose answer would reveal somebody's value.",
        "It looks at the data to decide, so its refusals reveal what its answers do not.",
        "A refusal must depend only on the queries and on public facts, as it does here.",
    ),
    "floats": (
        "The noise has the right distribution, but is made of floating-point numbers, as in many libraries.",
        "Some outputs can come from only one input, and one such output is often enough to know the input.",
        "Discreet's noise is drawn on whole numbers by whole-number arithmetic, and has no such gaps.",
    ),
    "synthetic": (
        "Three synthetic tables were made of the same people: a jittered copy, independent columns, and Discreet's.",
        "In the copy, people can be found again, although no row of it is real.",
        "A model that is fitted to noisy counts withstands the same attacks, as far as its epsilon guarantees.",
    ),
    "network": (
        "Somebody published the number of links between each pair of places.",
        "If only one person lives in each of two places, that number says whether these two know each other.",
        "Noise that hides any one link also hides this one. To hide a person, the noise must hide all of their links.",
    ),
}
