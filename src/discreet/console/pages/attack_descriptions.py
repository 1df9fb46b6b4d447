"""What each attack shows, in three sentences."""

from __future__ import annotations

ATTACK_DESCRIPTIONS: dict[str, tuple[str, str, str]] = {
    "linkage": (
        "Names were taken out of a hospital's file, but ZIP code, birth date and sex stayed in it.",
        "A voter list has the same three columns beside names, and most people are alone with their three.",
        "What protects is to release counts with noise: there is no row left that could be matched.",
    ),
    "ratings": (
        "A film service published ratings under numbers instead of names.",
        "A few ratings that somebody mentioned, some of them wrong, single out their record among thousands.",
        "What makes records useful, many columns about each person, is what makes them recognisable.",
    ),
    "sampling": (
        "Only one person in a hundred was published, and nobody knows who.",
        "For those who are in the sample it protects nothing: most of them are unique among everybody.",
        "Sampling lowers the average risk, and that is no comfort to the ones who were drawn.",
    ),
    "homogeneity": (
        "Everybody is hidden among at least four others who look alike: the table is 5-anonymous.",
        "In many of these groups everybody has the same condition, so that hiding in the group hides nothing.",
        "A promise about groups is no promise about a person.",
    ),
    "background": (
        "In every group there are at least three different conditions.",
        "Somebody who can rule out two of them for a person they know has the third.",
        "Differential privacy holds whatever an attacker knows already; this protection depends on it.",
    ),
    "minimality": (
        "A table was made just as coarse as its rule demands, and no coarser.",
        "Whoever knows the rule sees where it had to act, and that tells more than the rule allows.",
        "How a table was made is part of what is released, unless its choices are made under noise and paid for.",
    ),
    "intersection": (
        "Two hospitals each published an anonymous table, each of them safe on its own.",
        "People who went to both are in one group here and one group there, and few values are in both.",
        "Such promises do not add up; losses of differential privacy do, and a ledger can count them.",
    ),
    "differencing": (
        "Two honest counts that differ in one person tell that person's secret.",
        "Noise alone is not enough where as many pairs can be asked as anybody likes.",
        "A ledger that counts every different question ends the game while little is known.",
    ),
    "averaging": (
        "The same question, asked again and again, has new noise each time.",
        "The noise averages away, and what stays is the secret.",
        "Discreet repeats its stored answer for free, and charges every new draw until nothing is left.",
    ),
    "reconstruction": (
        "A server answers thousands of counts, each of them a little wrong.",
        "All answers together are equations, and their solution is everybody's secret.",
        "Only noise that grows with the number of answers withstands, and that is what a budget sees to.",
    ),
    "census": (
        "A statistical office published exact tables about seven people, and left the small cells out.",
        "A solver goes through all people that fit the tables: only one way is left.",
        "Published again with noise, no people fit the tables, or very many do.",
    ),
    "auditing": (
        "A server refuses each question whose answer would give somebody away.",
        "It looks at the data to decide that, and so its refusals tell what its answers do not.",
        "A refusal must depend on the questions and on public facts alone, as it does here.",
    ),
    "floats": (
        "Noise of the right law, made of floating-point numbers as many libraries make it.",
        "Some outputs can come from one input only, and a single one is often enough to know it.",
        "Discreet's noise is drawn on whole numbers by whole-number arithmetic, and has no such gaps.",
    ),
    "synthetic": (
        "Three synthetic tables were made of the same people: a jittered copy, columns apart, and Discreet's.",
        "In the copy people are found again, although no row of it is real.",
        "A model that was fitted to noisy counts holds against the same attacks, as far as its epsilon promises.",
    ),
    "network": (
        "Somebody published how many links there are between each two places.",
        "Where one person lives in each of two places, that number says whether they know each other.",
        "Noise that hides any one link hides this one, too; and to hide a person, noise that hides all of theirs.",
    ),
}
