"""Which emoji do people use, and which new words, if no device may tell?

A count-mean sketch counts things that nobody listed beforehand: devices send noisy bits of a hash, and at home any
emoji can be looked up afterwards. Words that nobody even thought of are found letter by letter, by devices that each
report a noisy beginning of their word. The salt, which is public, decides which words share places: so the 95% of an
interval is over salts, too, and every survey takes its own.
"""

import random
import secrets
from collections import Counter

from discreet.local import CountMeanSketch, PrefixWords


def emoji(people: int) -> None:
    chance = random.Random(5)  # made-up people may be seeded; their noise never is
    typed = chance.choices("😂❤🎉🙂🤖", [50, 25, 15, 9, 1], k=people)
    sketch = CountMeanSketch(epsilon=4, functions=64, wide=256, salt=secrets.token_hex(8))
    reports = sketch.randomize_all(typed)  # as if each came from a device of its own
    print(f"{len(reports):,} reports of {sketch.width} bytes at epsilon {float(sketch.epsilon):.4f}")
    found, exactly = sketch.estimate(reports, ["😂", "❤", "🎉", "🙂", "🤖", "🦄"]), Counter(typed)
    for label, (low, high) in found.interval(0.95).items():
        share = exactly[label] / people
        print(f"{label}  {found.shares[label]:7.2%}  ({low:.2%} to {high:.2%})  exactly {share:.2%}")


def new_words(people: int) -> None:
    chance = random.Random(6)
    letters = "abcdefghijklmnopqrstuvwxyz"
    rare = ["".join(chance.choices(letters, k=6)) for _ in range(1000)]
    typed = chance.choices(["yolo", "selfie", "brexit"], [5, 3, 2], k=people // 2)
    typed += chance.choices(rare, k=people - len(typed))
    finder = PrefixWords(epsilon=4, length=6, alphabet=letters, salt=secrets.token_hex(8))
    found = finder.estimate(finder.randomize_all(typed))
    print("words that nobody listed:")
    for word, share in sorted(found.shares.items(), key=lambda each: -each[1]):
        print(f"{word:8} {share:7.2%}  exactly {typed.count(word) / people:.2%}")


if __name__ == "__main__":
    emoji(20_000)
    new_words(200_000)
