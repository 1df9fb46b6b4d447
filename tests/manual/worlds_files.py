"""Files as people have them: with titles, in Windows' letters, in workbooks, in parts."""

import sqlite3
from pathlib import Path


def messy_files(folder: Path) -> None:
    """A practice project, and beside it ages.csv, stays.xlsx, visits.jsonl, lab.sqlite and two parts of a year."""
    import discreet

    discreet.init(folder, epsilon=5)
    rows = [(place, 20 + place % 60, ("Zürich", "Genève")[place % 2]) for place in range(200)]
    text = "".join(f"{number};{age};{city}\r\n" for number, age, city in rows)
    (folder / "ages.csv").write_bytes(("Übersicht 2026\r\n\r\nid;age;city\r\n" + text).encode("cp1252"))
    lines = [f'{{"id": {number}, "age": {age}, "city": "{city}"}}\n' for number, age, city in rows]
    (folder / "visits.jsonl").write_text("".join(lines), encoding="utf-8")
    for part, names in ((1, "day,ward,beds"), (2, "beds,day,ward,note")):
        first = {"day": "2026-01-02", "ward": "north", "beds": "7", "note": "closed on Sunday"}
        row = ",".join(first[name] for name in names.split(","))
        (folder / f"beds-{part}.csv").write_text(f"{names}\n{row}\n")
    with sqlite3.connect(folder / "lab.sqlite") as connection:
        connection.execute("CREATE TABLE samples (sample, value)")
        connection.execute("CREATE TABLE devices (device)")
        connection.executemany("INSERT INTO samples VALUES (?, ?)", [(number, age / 10) for number, age, _ in rows])
    connection.close()
    _workbook(folder / "stays.xlsx", rows)


def _workbook(file: Path, rows: list[tuple[int, int, str]]) -> None:
    import xlsxwriter

    book = xlsxwriter.Workbook(file)
    sheet = book.add_worksheet("Stays 2026")
    sheet.write(0, 0, "All stays of the year")
    for place, row in enumerate([("patient", "nights", "town"), *rows], start=2):
        sheet.write_row(place, 0, row)
    book.close()
