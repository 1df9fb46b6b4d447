"""Ask people who trust nobody: two coins on their own side make every answer deniable.

Tails on the first coin: the truth. Heads: whatever the second coin says. One answer says little about whoever gave it
(epsilon is ln 3), ten thousand of them say much about all: with a share `a` of "yes", about 2a - 1/2 hold it. That is
unbiased, so it may leave 0 to 1 where few answer; the interval says how far the coins can have moved it.
"""

import random

from discreet.local import RandomizedResponse


def main() -> None:
    chance = random.Random(4)  # made-up people may be seeded; their coins never are
    truth = ["yes" if chance.random() < 0.3 else "no" for _ in range(10_000)]

    coins = RandomizedResponse.two_coins(("yes", "no"))
    reports = [coins.randomize(answer) for answer in truth]  # on each device: all that leaves it
    print("epsilon of each answer:", round(float(coins.epsilon), 4))

    found = coins.estimate(reports)  # at home, from the reports alone
    low, high = found.interval(0.95)["yes"]
    print(f"estimated: {found.shares['yes']:.4f}, between {low:.4f} and {high:.4f}")
    print(f"exactly:   {truth.count('yes') / len(truth):.4f}")

    sent = {"yes": b"\x00", "no": b"\x01"}  # choices travel by their number
    said = reports.count(sent["yes"]) / len(reports)
    print(f"by hand:   {2 * said - 1 / 2:.4f}, for {said:.1%} said yes")
    lied = sum(report != sent[answer] for report, answer in zip(reports, truth, strict=True))
    print(f"{lied / len(truth):.1%} of all answers were not the truth, and nobody knows whose")
    print(f"100 liars could have moved the share by at most {found.moved_by(100):.3f}")


if __name__ == "__main__":
    main()
