"""The editor's bundle: the file that was built, its licence beside it, nothing from elsewhere, kept by browsers."""

import hashlib
import json
import re
from pathlib import Path

from discreet.console import render

ROOT = Path(__file__).parents[2]
STATIC = render.HERE / "static"


def test_the_bundle_is_the_one_that_the_recipe_makes():
    bundle = (STATIC / "codemirror.js").read_bytes()
    assert hashlib.sha256(bundle).hexdigest() in (ROOT / "manual" / "editor" / "README.md").read_text()
    banner = bundle.split(b"\n", 1)[0].decode()
    about = json.loads((ROOT / "manual" / "editor" / "package.json").read_text())
    for name, version in about["dependencies"].items():
        assert f"{name} {version}" in banner
    licence = (STATIC / "codemirror.txt").read_text()
    packages = re.findall(r"([@\w/-]+) \d+\.\d+\.\d+", banner)
    assert len(packages) > 10 and all(name in licence for name in packages)
    assert licence.count("Permission is hereby granted, free of charge") == 1 + licence.count("-" * 80)


def test_the_bundle_speaks_to_nobody():
    text = (STATIC / "codemirror.js").read_text()
    assert not re.search(r"\bfetch\(|XMLHttpRequest|WebSocket|sendBeacon|\bimport\(|\beval\(|new Function\b", text)
    assert set(re.findall(r"https?://[^\"'`\s)]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert not list(re.finditer(r"resolved|registry", (ROOT / "manual" / "editor" / "package-lock.json").read_text()))
