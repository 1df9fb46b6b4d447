"""Bundles that somebody with a key of their own has changed, and signed again."""

import hashlib
import importlib.util
import json
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from verify import world

MARK = b"discreet release bundle 1\n"
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def signed(public, message, signature):
    """Stands for the checker's own verification, which takes thirty times as long."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def checker():
    """The checker as a module, so that thousands of forgeries can be tried in one process. Its own verification of
    signatures is tested in test_ed25519.py, and in all bundles that are checked as they are meant to be.
    """
    if "check_bundle" not in sys.modules:
        spec = importlib.util.spec_from_file_location("check_bundle", world.CHECKER)
        module = importlib.util.module_from_spec(spec)
        path = sys.path[:]
        sys.modules["check_bundle"] = module
        spec.loader.exec_module(module)
        sys.path[:] = path
        module.signed = signed
    return sys.modules["check_bundle"]


def signed_again(files, manifest=lambda told: told, **documents):
    """The files with other documents (`plan`, `proof`: functions of their data), digests and a signature that hold."""
    files = dict(files)
    for name, change in documents.items():
        files[f"{name}.json"] = json.dumps(change(json.loads(files[f"{name}.json"]))).encode()
    told = manifest(json.loads(files["manifest.json"]))
    told["files"] = {name: hashlib.sha256(files[name]).hexdigest() for name in files if name != "manifest.json"}
    body = {name: value for name, value in told.items() if name != "signature"}
    body["key"] = KEY.public_key().public_bytes_raw().hex()
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    signature = KEY.sign(MARK + text.encode()).hex()
    return files | {"manifest.json": json.dumps(body | {"signature": signature}).encode()}


def verdicts(files):
    """What the checker says of files: name to verdict."""
    return {name: verdict for verdict, name, _ in checker().checked(files).found}


def worst(files):
    found = set(verdicts(files).values())
    return "broken" if "broken" in found else "open" if "open" in found else "proved"


def others(value):
    """What a leaf could be changed to: more favourable, less favourable, and of another kind."""
    if isinstance(value, bool):
        return [not value, None]
    if isinstance(value, int):
        return [value + 1, value - 1, value * 2 or 7, str(value)]
    if value is None:
        return [0, 1, "x"]
    left, stroke, right = value.partition("/")
    if stroke and left.lstrip("-").isdigit():
        return [f"{2 * int(left)}/{right}" if int(left) else "1/7", f"{left}/{2 * int(right)}", int(left)]
    return [value + "x", value[1:], 3]


def changes(data, path=()):
    """Every change of one leaf, and every part taken out, as (path, changed data); of long lists only some places."""
    if not isinstance(data, dict | list):
        yield from (((*path, other), other) for other in others(data))
        return
    for key in data if isinstance(data, dict) else sorted({*range(min(len(data), 4)), len(data) // 2, len(data) - 1}):
        if isinstance(data, list) and not 0 <= key < len(data):
            continue
        fewer = data.copy()
        del fewer[key]
        yield (*path, key, "taken out"), fewer
        for inner, changed in changes(data[key], (*path, key)):
            whole = data.copy()
            whole[key] = changed
            yield inner, whole
