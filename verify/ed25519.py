"""Ed25519 signatures (RFC 8032), verification only, in whole numbers. Strict: one signature has one spelling.

Refused beyond the equation S B = R + h A: numbers that are not reduced, points that are not written in the one
canonical way, and keys of small order, for which anybody could sign. Nothing here is secret, so it may take its time.
"""

import hashlib

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT = pow(2, (P - 1) // 4, P)

Point = tuple[int, int, int, int]  # X, Y, Z, T with x = X/Z, y = Y/Z, x y = T/Z
NEUTRAL: Point = (0, 1, 1, 0)


def add(one: Point, two: Point) -> Point:
    """The sum of two points, by the complete formulas of RFC 8032, section 5.1.4."""
    a, b = (one[1] - one[0]) * (two[1] - two[0]) % P, (one[1] + one[0]) * (two[1] + two[0]) % P
    c, d = 2 * one[3] * two[3] * D % P, 2 * one[2] * two[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(number: int, point: Point) -> Point:
    """A point added to itself so many times."""
    found = NEUTRAL
    while number:
        found = add(found, point) if number & 1 else found
        point, number = add(point, point), number >> 1
    return found


def decode(raw: bytes) -> Point | None:
    """The point that 32 bytes spell; None where they spell none, or not in the canonical way."""
    y, sign = int.from_bytes(raw, "little") & (1 << 255) - 1, raw[31] >> 7
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * ROOT % P
    if x * x % P != square or (x == 0 and sign):
        return None
    x = x if x & 1 == sign else P - x
    return x, y, 1, x * y % P


def encode(point: Point) -> bytes:
    """The one spelling of a point."""
    inverse = pow(point[2], P - 2, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


BASE = decode((4 * pow(5, P - 2, P) % P).to_bytes(32, "little")) or NEUTRAL


def signed(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the key signed the message."""
    if len(public) != 32 or len(signature) != 64:
        return False
    key, scalar = decode(public), int.from_bytes(signature[32:], "little")
    if key is None or scalar >= ORDER or encode(times(8, key)) == encode(NEUTRAL):
        return False
    mixed = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % ORDER
    minus = (P - key[0], key[1], 1, P - key[3])
    return encode(add(times(scalar, BASE), times(mixed, minus))) == signature[:32]
