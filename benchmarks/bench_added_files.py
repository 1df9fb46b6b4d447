"""A refresh after files were added: what it costs beside one that reads everything.

10 million visits in Parquet (`scale_data`), then 100,000 more in a file of their own; `refresh` builds on the version
before, `refresh --force` reads all of it. Each in a process of its own, CPU of all its threads. `--quick`: 200,000 visits
and 2,000 more.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
import scale_data
import scale_project
from records import Record, ours, write
from results import write_section

ROWS, ADDED = 10_000_000, 100_000
QUICK_ROWS, QUICK_ADDED = 200_000, 2_000

REFRESH = """
import json, sys, time
import discreet
project = discreet.open(sys.argv[1])
cpu, wall = time.process_time(), time.perf_counter()
outcome = project.refresh("visits", force=sys.argv[2] == "force")[1]
print(json.dumps({
    "cpu": time.process_time() - cpu,
    "wall": time.perf_counter() - wall,
    # Not ru_maxrss, which begins with that of the process before.
    "mib": next(int(line.split()[1]) / 1024 for line in open("/proc/self/status") if line.startswith("VmHWM")),
    "added": outcome.exact_added,
    "rows": outcome.exact_rows,
}))
"""
#: What a unit is, and how many rows of a person are kept.
CASES = {
    "each row a person": ("row", 0),
    "persons with at most 20 rows (nobody has more)": ("person", 20),
    "persons with at most 10 rows (half of the rows are ranked)": ("person", 10),
}


def refresh(folder: Path, how: str) -> dict[str, float]:
    """What one refresh took."""
    output = subprocess.check_output([sys.executable, "-c", REFRESH, str(folder), how], text=True)
    return json.loads(output.splitlines()[-1])


def grow(data: scale_data.Data, added: int, turn: int) -> None:
    """One more file of visits, of people who have some already."""
    table = scale_data._visits(data.rows + turn * scale_data._CHUNK, added, data.rows)
    pq.write_table(table, data.visits / f"part-{100 + turn}.parquet")


def case(folder: Path, data: scale_data.Data, unit: scale_project.Unit, limit: int) -> list[dict[str, float]]:
    """The first version, one that builds on it, and one that is made anew."""
    for file in data.visits.glob("part-1*.parquet"):
        file.unlink()
    scale_project.write(
        folder, data, unit=unit, engine="duckdb", source=lambda name: f"{data.visits.parent}/{name}/*.parquet"
    )
    toml = folder / "discreet.toml"
    toml.write_text(toml.read_text().replace("rows_per_person = 10", f"rows_per_person = {limit}"))
    return [refresh(folder, "force"), refresh_grown(folder, data), refresh(folder, "force")]


def refresh_grown(folder: Path, data: scale_data.Data) -> dict[str, float]:
    grow(data, QUICK_ADDED if data.rows == QUICK_ROWS else ADDED, 0)
    figures = refresh(folder, "build on")
    assert figures["added"], "it was made anew"
    return figures


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    rows, added = (QUICK_ROWS, QUICK_ADDED) if quick else (ROWS, ADDED)
    lines, records = [], list[Record]()
    with tempfile.TemporaryDirectory() as name:
        data = scale_data.make(Path(name) / "data", rows)
        for number, (words, (unit, limit)) in enumerate(CASES.items()):
            first, grown, whole = case(Path(name) / f"project-{number}", data, unit, limit)
            assert grown["rows"] == whole["rows"], "a version that builds on another differs"
            figures = [
                f"{first['cpu']:.1f}",
                f"{grown['cpu']:.1f}",
                f"{whole['cpu']:.1f}",
                f"{whole['cpu'] / grown['cpu']:.1f}",
            ]
            lines.append(f"| {words} | {' | '.join(figures)} | {grown['mib']:.0f} | {whole['mib']:.0f} |")
            records.append(
                ours(
                    "added_files",
                    f"refresh after {added:,} rows were added, {words}",
                    cpu_s=grown["cpu"],
                    peak_mib=grown["mib"],
                )
            )
    text = f"""
{rows:,} visits in Parquet, then {added:,} more in another file. CPU s of all threads; peak MiB of the process.

| | first | after the file was added | all of it anew | times | MiB | MiB, anew |
|---|---:|---:|---:|---:|---:|---:|
{chr(10).join(lines)}
"""
    print(text)
    write_section("added_files", text, quick=quick)
    write("added_files", records, quick=quick)


if __name__ == "__main__":
    main()
