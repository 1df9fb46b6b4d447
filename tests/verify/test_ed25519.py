"""Signatures: the vectors of RFC 8032, what cryptography signs, and every spelling that must be refused."""

import importlib
import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from verify import world
from verify.forging import checker, signed_again

#: Bundles are made once for all tests of this folder, by whichever comes first.


@pytest.fixture(scope="module")
def ed25519():
    checker()
    return importlib.import_module("ed25519")


#: Key, message, signature: section 7.1, tests 1 to 3.
VECTORS = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
]


@pytest.mark.parametrize(("key", "message", "signature"), VECTORS)
def test_the_vectors_of_the_standard(key, message, signature, ed25519):
    key, message, signature = map(bytes.fromhex, (key, message, signature))
    assert ed25519.signed(key, message, signature)
    assert not ed25519.signed(key, message + b"x", signature)
    for place in range(0, 64, 7):
        flipped = bytearray(signature)
        flipped[place] ^= 1
        assert not ed25519.signed(key, message, bytes(flipped))
    for place in range(0, 32, 5):
        flipped = bytearray(key)
        flipped[place] ^= 1
        assert not ed25519.signed(bytes(flipped), message, signature)
    assert not ed25519.signed(key, message, signature[:-1]) and not ed25519.signed(key[:-1], message, signature)


def test_what_cryptography_signs(ed25519):
    for number in range(5):
        key = Ed25519PrivateKey.from_private_bytes(bytes([number] * 32))
        public, message = key.public_key().public_bytes_raw(), bytes(range(number * 20))
        assert ed25519.signed(public, message, key.sign(message))
        assert not ed25519.signed(public, message, key.sign(message + b" "))


def test_a_signature_has_one_spelling(ed25519):
    """S + order is the same equation: whoever takes it lets anybody change a signature that holds."""
    key, message, signature = (bytes.fromhex(part) for part in VECTORS[1])
    scalar = int.from_bytes(signature[32:], "little") + ed25519.ORDER
    assert not ed25519.signed(key, message, signature[:32] + scalar.to_bytes(32, "little"))


@pytest.mark.parametrize(
    "key",
    [
        "01" + "00" * 31,  # the neutral point
        "ec" + "ff" * 30 + "7f",  # of order 2
        "00" * 32,  # of order 4
        "01" + "00" * 30 + "80",  # minus zero
        "ee" + "ff" * 30 + "7f",  # y = 1, written as P + 1
        "02" + "00" * 31,  # on no curve
    ],
)
def test_keys_for_which_anybody_could_sign_are_refused(key, ed25519):
    """With a key of small order R = S B holds for some messages whoever wrote them."""
    public = bytes.fromhex(key)
    for scalar in range(4):
        mark = ed25519.encode(ed25519.times(scalar, ed25519.BASE)) + scalar.to_bytes(32, "little")
        assert not any(ed25519.signed(public, bytes([message]), mark) for message in range(4))


def test_a_point_has_one_spelling(ed25519):
    """Of the 19 numbers from P on, each spells a y that is written without it; and of x = 0 there is no negative."""
    known = [y for y in range(19) if ed25519.decode(y.to_bytes(32, "little"))]
    assert len(known) > 5
    for y in known:
        assert ed25519.decode((y + ed25519.P).to_bytes(32, "little")) is None
    for y in (1, ed25519.P - 1):
        assert ed25519.decode(y.to_bytes(32, "little"))
        assert ed25519.decode((y | 1 << 255).to_bytes(32, "little")) is None


def test_a_bundle_of_another_key(bundles, tmp_path):
    own = world.written(bundles["rows: count"], tmp_path / "own")
    forged = world.written(signed_again(bundles["rows: count"]), tmp_path / "forged")
    said = world.recheck(own).stdout.splitlines()[1]
    key = said.split()[-1]
    assert "SOME key" in said and len(key) == 64
    assert world.recheck(own, "--key", key).returncode == 0
    assert world.recheck(own, "--key", key.upper()).returncode == 0
    assert world.recheck(forged).returncode == 0
    done = world.recheck(forged, "--key", key)
    assert done.returncode == 2 and "another key" in done.stdout
    assert world.recheck(own, "--key", "12").returncode == 3
    manifest = json.loads((own / "manifest.json").read_text())
    mark = manifest["signature"]
    (own / "manifest.json").write_text(json.dumps(manifest | {"signature": f"{int(mark[0], 16) ^ 1:x}{mark[1:]}"}))
    done = world.recheck(own)
    assert done.returncode == 2 and done.stdout.splitlines()[1].startswith("broken")
