"""Columns of COPY's binary format, however it is cut into pieces; and nothing else is taken for whole numbers."""

import struct

import pytest

from discreet.engines.postgres import binary

HEAD = b"PGCOPY\n\xff\r\n\0" + bytes(8)
ROWS = [(place % 7, -place, place * 10**10) for place in range(50)]


def sent(rows=ROWS, *, end=b"\xff\xff", head=HEAD):
    body = b"".join(struct.pack(">hihiiiq", 3, 2, a, 4, b, 8, c) for a, b, c in rows)
    return head + body + end


def read(pieces):
    parts = binary.columns(pieces, [">i2", ">i4", ">i8"])
    return list(zip(*([number for part in column for number in part.tolist()] for column in parts), strict=True))


@pytest.mark.parametrize("size", [1, 3, 25, 26, 27, 100, 5000])
@pytest.mark.parametrize("at_once", [1, 30, 200, 1 << 22])
def test_pieces(monkeypatch, size, at_once):
    monkeypatch.setattr(binary, "_AT_ONCE", at_once)
    whole = sent()
    assert read([whole[start : start + size] for start in range(0, len(whole), size)]) == ROWS


def test_no_rows():
    assert read([sent([])]) == []


@pytest.mark.parametrize(
    "strange",
    [
        sent(end=b""),
        sent()[:-5],
        sent(head=b"PGCOPY\n\xff\r\n\0" + b"\0\1\0\0" + bytes(4)),
        HEAD + struct.pack(">hihii", 3, 2, 1, 4, 1) + struct.pack(">iq", -1, 0) + b"\xff\xff",
        HEAD + struct.pack(">hihiiiq", 4, 2, 1, 4, 1, 8, 1) + b"\xff\xff",
        b"",
    ],
    ids=["no end", "broken off", "another format", "NULL", "four fields", "nothing"],
)
def test_anything_else_is_refused(strange):
    with pytest.raises(ValueError, match="server"):
        read([strange])
