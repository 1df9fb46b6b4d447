"""Small networks for tests: folders with declared tables of edges, and draws without a ledger."""

import discreet
from discreet.mechanisms.bits import system

TEXT = 'type = "text"'


def columns(table, **kinds):
    return "".join(f"[tables.{table}.columns.{name}]\n{kind}\n" for name, kind in kinds.items())


EDGES = columns("friends", **{"from": TEXT, "to": TEXT})
PEOPLE = '[tables.people]\nsource = "people.csv"\npublic = true\n' + columns("people", id=TEXT, colour=TEXT)

#: A ring of 30 with chords; every second one is red, one knows nobody.
NODES = [(f"p{place}", "red" if place % 2 else "blue") for place in range(31)]
LINKS = sorted({tuple(sorted((place, (place + step) % 30))) for place in range(30) for step in (1, 2, 5)})


def write(path, header, rows):
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")


def edges(links=LINKS):
    return [(f"p{one}", f"p{other}") for one, other in links]


def make(
    folder, *, toml=EDGES, extra="", rows=None, nodes=NODES, people=PEOPLE, budget="{ epsilon = 400, delta = 1e-6 }"
):
    """A project with `friends`, whose rows are edges, and public `people`."""
    folder.mkdir(exist_ok=True)
    write(folder / "friends.csv", "from,to", edges() if rows is None else rows)
    write(folder / "people.csv", "id,colour", nodes)
    head = f'[tables.friends]\nsource = "friends.csv"\nbudget = {budget}\n{extra}\n'
    (folder / "discreet.toml").write_text(head + toml + people)
    return discreet.init(folder)


def make_persons(folder, *, limit="rows_per_person = 8", rows=None, nodes=NODES, each=1, more=""):
    """A project with `ties`, whose persons are protected with all their edges, and `members`, the persons.

    `each`: how many rows a member has.
    """
    folder.mkdir(exist_ok=True)
    write(folder / "ties.csv", "from,to", edges() if rows is None else rows)
    write(folder / "members.csv", "id,colour", [row for row in nodes for _ in range(each)])
    (folder / "discreet.toml").write_text(
        f"""
[populations.all]
budget = {{ epsilon = 400, delta = 1e-6 }}
[tables.ties]
source = "ties.csv"
ends = ["from", "to"]
{limit}
population = "all"
[tables.members]
source = "members.csv"
person = "id"
rows_per_person = {each}
population = "all"
[tables.members.columns.colour]
{TEXT}
{more}"""
    )
    project = discreet.init(folder)
    project.refresh("ties")
    return project


class Bare:
    """Draws as `steps.Drawing` does, from an exact network in hand and without a ledger; for laws alone."""

    def __init__(self, graph, event, *, limit=None, persons=0):
        self.graph, self.event, self.persons_there, self.chosen = graph, event, persons, limit
        self.bits = system()
        self.steps = self

    def limit(self, limits):
        return self.chosen

    def choice(self, share):
        from discreet.kernel.program import choice_epsilon

        return choice_epsilon(self.event, share)

    def measured(self, parts):
        found = [statistic.apply(self.graph) for statistic, _ in parts]
        return [exact + law.draw(exact.size, bits=self.bits) for exact, (_, law) in zip(found, parts, strict=True)]

    def persons(self, law):
        return self.persons_there + int(law.draw(1, bits=self.bits)[0])

    def climbed(self, count, ladder):
        return ladder.choose(count.apply(self.graph), bits=self.bits)[0]
