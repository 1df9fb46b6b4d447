"""A table whose names and values would run in a browser that took them for marks."""

RUNS = '<img src=x onerror="alert(1)">'
ENDS = "</script><script>alert(2)</script>"


def add(folder):
    """Declare it beside the others; the console reads the file again."""
    rows = [f'{n},"{RUNS.replace(chr(34), chr(34) * 2)}",{n % 9}' for n in range(40)]
    (folder / "hostile.csv").write_text("\n".join(["id,word,size", *rows]) + "\n")
    quoted = ", ".join(f"'{each}'" for each in (RUNS, ENDS))
    told = f"""
[tables.hostile]
source = "hostile.csv"
person = "id"
rows_per_person = 1
budget = {{ epsilon = 50, delta = 1e-6 }}
[tables.hostile.columns.word]
type = "category"
values = [{quoted}]
[tables.hostile.columns.size]
type = "integer"
low = 0
high = 9
"""
    path = folder / "discreet.toml"
    path.write_text(path.read_text() + told)


def tame(text):
    """Whether nothing of it stands in a page as a mark."""
    return "<img src=x" not in text and "<script>alert" not in text
