"""Recheck a release bundle without Discreet: python verify/check_bundle.py FOLDER [--key FINGERPRINT] [--json]

Every line is `proved`, `open` (it cannot be checked here, and the text says why) or `broken`. Exit codes: 0, everything
is proved; 1, something is open; 2, something is broken; 3, this is not a bundle. Needs only the standard library.
README.md says what no checker can prove, docs/proofs/bundles.md why each rule is sound.
"""

import hashlib
import json
import re
import sys
from collections.abc import Callable
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from io import TextIOWrapper
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))  # an isolated interpreter does not look beside its script
from batches import check_batch, check_ranges
from contents import NETWORKS, check_condition, check_contents, formatted
from ed25519 import signed
from measured import Steps, as_text, divergences, implied, loss, question_digest, ratio, unpacked
from members import check_payload, check_plan, check_question, check_step, check_told
from networks import check_ladders
from programs import check_declared_tables
from relation import TRUE, Broken, Open, Relation, column, listed, persons, same, text, unit, whole
from shown import Tables, as_drawn, formed, written

MARK, MOST_FILES, MOST_BYTES, MOST_TEXT = b"discreet release bundle 1\n", 2000, 2**28, 2**26
#: Two ways to turn rho into an epsilon may differ by less than this. Up to this epsilon of a choice of the most common
#: keys twice its delta covers people who change: ln 2, nearly.
CLOSELY, SAFE = Fraction(999, 1000), Fraction(69, 100)
#: A line of card.yaml: a plain name, a text or a number. In other forms a name could be spelled in two ways.
CARD = re.compile(r' *(?:[a-z_]+:(?: (?:"(?:[^"\\]|\\.)*"|[0-9.e+-]+))?|- "(?:[^"\\]|\\.)*")')
#: What stands for the text of what no SQL asked for.
TITLES = {"model": "synthetic data", "publish": "tables that add up"}
NOT_PROVED = (
    "No checker can prove that the noise was drawn from the stated distribution, that the data was true, that nothing "
    "else was released about these people, or that the key is the publisher's: compare its fingerprint with one that "
    "the publisher gave you. Which rows are shown and in which order, data.parquet, card.html and chart.svg are signed "
    "but not recomputed here. Of the query only the selected columns are read, and not its conditions; card.yaml and "
    "texts in the plan are for people."
)


def read(content: bytes) -> Any:
    """JSON data without NaN and without a name that comes twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) != len(pairs):
            raise ValueError("a name that comes twice")
        return dict(pairs)

    return json.loads(content.decode("utf-8"), object_pairs_hook=once, parse_constant=int)  # no word is a number


def files_in(folder: Path) -> dict[str, bytes | None]:
    """The files of a folder, of a sane size; None for what is no plain file."""
    paths = sorted(folder.iterdir())
    if len(paths) > MOST_FILES or sum(path.lstat().st_size for path in paths) > MOST_BYTES:
        raise OSError("it is too large for a bundle")
    return {path.name: path.read_bytes() if path.is_file() and not path.is_symlink() else None for path in paths}


class Bundle:
    """The files of a bundle, and what was found of them."""

    def __init__(self, files: dict[str, Any]) -> None:
        self.files, self.manifest = files, read(files["manifest.json"])
        unread: Any = None
        self.plan = self.proof = self.orders = self.shown_ = unread
        self.total: Any = (None, Fraction(0), Fraction(0))
        self.known: Any = {}
        self.measured: list[Any] = []
        self.found: list[tuple[str, str, str]] = []

    def check(self, name: str, one: Callable[[], str]) -> bool:
        """One line of the report. Whatever a file makes a rule stumble over is that file's fault."""
        try:
            verdict, words = "proved", one()
        except (Open, Broken) as problem:
            verdict, words = type(problem).__name__.lower(), str(problem)
        except Exception:
            verdict, words = "broken", "something is missing or has the wrong type"
        self.found.append((verdict, name, "".join(each if each.isprintable() else "?" for each in words[:300])))
        return verdict != "broken"

    def whole(self) -> str:
        told = self.manifest["files"]
        if None in self.files.values() or set(told) != set(self.files) - {"manifest.json"}:
            raise Broken("the folder does not contain exactly the files of the manifest")
        for name, wanted in told.items():
            if hashlib.sha256(self.files[name]).hexdigest() != wanted:
                raise Broken(f"{name} is not the file that was signed")
        return f"{len(told)} files, all with the right digest"

    def signature(self, key: str | None) -> str:
        body = {name: value for name, value in self.manifest.items() if name != "signature"}
        public, mark = bytes.fromhex(body["key"]), bytes.fromhex(self.manifest["signature"])
        fingerprint = hashlib.sha256(public).hexdigest()
        if not signed(public, MARK + text(body).encode(), mark):
            raise Broken("the signature is not valid")
        if key is not None and fingerprint != key:
            raise Broken(f"signed by another key: {fingerprint}")
        return f"signed by {'the given key' if key else 'SOME key, with the fingerprint'} {fingerprint}"

    def documents(self) -> str:
        if self.manifest["format"] == 1:
            raise Open("a bundle of format 1 contains no proof: nothing more can be derived")
        self.plan, self.proof = read(self.files["plan.json"]), read(self.files["proof.json"])
        same([self.manifest["format"], self.proof["format"]], [2, 1], "a format")
        told = {"format", "release", "discreet", "files", "claims", "ledger", "key", "signature"}
        if set(self.manifest) != told or set(self.manifest["ledger"]) != {"ledger", "row", "commitment", "as_of"}:
            raise Broken("the manifest has unknown or missing members")
        if not re.fullmatch(r"\d+(\.\d+){1,3}[a-z0-9.+-]{0,20}", self.manifest["discreet"], re.ASCII):
            raise Broken("the manifest does not say which version of Discreet wrote it")
        for name, told in (("release", self.manifest["release"]), ("kind", self.manifest["claims"]["kind"])):
            same([self.proof[name], self.plan[name]], [told, told], f"the {name}")
        named = {"format", "release", "kind", "unit", "losses", "total", "doubled", "limit", "spent", "ledger"}
        answer = {"question", "publics", "relation", "measured", "shown"}
        more = {"ranges": {"contents", "rows"}, "batch": {"contents", "answers"}}
        more |= {"marginals": {"axes"}, "publish": {"axes"}}
        named |= answer if self.plan["kind"] == "answer" else {"steps"}
        if set(self.proof) - more.get(self.plan["kind"], set()) != named:
            raise Broken("the proof has unknown or missing members")
        tables = range(1, len(read(self.files["data.json"])["tables"]) + 1)
        known = {f"data{f'-{number}' if number > 1 else ''}.{end}" for number in tables for end in ("csv", "parquet")}
        known |= {"card.html", "card.yaml", "data.json", "plan.json", "proof.json"}
        chart = set() if self.plan["kind"] == "model" else {"chart.svg"}
        if set(self.manifest["files"]) - chart != known:
            raise Broken("the bundle has other files than its tables need")
        self.members()
        return f"plan and proof of {self.plan['release']}"

    def members(self) -> None:
        """No object that is read has a member that nobody reads."""
        check_plan(self.plan)
        answer, release = self.plan["kind"] == "answer", self.plan["release"]
        for name in self.plan["payloads"]:
            if answer or name == release:
                check_payload(self.plan["kind"], self.payload(name))
            else:
                check_step(self.payload(name))
        if answer:
            check_question(self.proof["question"])
        check_told(self.proof)
        if "rows" in self.proof and "meaning" not in self.payload(release):
            raise Broken("the rows of a condition, which the release does not have")

    def payload(self, name: str) -> Any:
        return read(self.plan["payloads"][name].encode())

    def unit(self) -> str:
        plan, schemas = self.plan, self.plan["schemas"]
        own, declared = schemas[plan["table"]], schemas[plan["table"]]["declared"]
        (is_row, rows), person = unit(declared, of_network=True), declared.get("person", [])
        words = "one row" if is_row else f"all rows of one {' + '.join(listed(person))}"
        if isinstance(person, dict):
            words = f"all rows of one person of {person['through']}"
        if "ends" in declared:
            words = "all edges of one person"
        named = [persons(table, told) for table, told in schemas.items() if "persons" in told]
        if len({len(told["persons"][-1].get("person", "1")) for told in schemas.values() if "persons" in told}) > 1:
            raise (Open if "ends" in declared else Broken)("the persons of one table are not those of another")
        same(self.proof["unit"], {"is": words, "rows": rows, "persons": own.get("persons", [])}, "the privacy unit")
        if plan.get("unit_changes"):
            raise Open("the columns that identify people were changed after a release: no single limit holds")
        same([plan["privacy_unit"], plan["version"]], [words, own["version"]], "the unit or version in the plan")
        if len({told["population"] for told in schemas.values()}) != 1:
            raise Broken("the tables belong to several populations")
        lacks = [each for each in schemas.values() if "person" in each["declared"] and "persons" not in each]
        if lacks or (not is_row and not own.get("persons")):
            raise Open("an older bundle, which does not say which columns identify people")
        most = "" if "ends" in declared else f", at most {rows} in the declared table"
        return f"{words}{most}{''.join(named)}"

    def question(self) -> str:
        """The digest of the question, which the ledger was charged for, is that of the plan that is derived from."""
        same(self.plan["question"], question_digest(self.proof["question"]), "the digest of the query")
        return "the relation and statistics below are the ones whose digest was charged"

    def derived(self) -> str:
        """The relation and every vector, derived; a count of a person's rows is known to be above 0, or not used so."""
        try:
            return self.derived_with(1)
        except Broken:
            return self.derived_with(0)

    def derived_with(self, fewest: int) -> str:
        publics, proof = iter(self.proof["publics"]), self.proof
        relation = Relation(proof["question"]["plan"], self.plan["schemas"], publics, fewest)
        self.known = relation.known
        if next(publics, None) is not None or relation.facts[0]["table"] != self.plan["table"]:
            raise Broken("facts about a table that the query does not name")
        same(proof["relation"], relation.facts, "how a privacy unit enters the relation")
        own = self.payload(self.plan["release"])
        ids = [self.plan["release"], *own["also"]]
        same([own["text"], bool(proof["publics"])], [self.plan["text"], self.plan["publics"]], "the text of the query")
        same(sorted(proof["measured"]), sorted(ids), "the list of measurements")
        same(sorted(self.plan["payloads"]), sorted(ids), "the list of stored payloads")
        read_ = {told["table"] for told in relation.facts if told["node"] in ("scan", "roster")}
        same(sorted(self.plan["schemas"]), sorted(read_), "the list of declared tables")
        steps = Steps(proof["question"], relation)
        for one in ids:
            stored = self.payload(one)
            same([stored["id"], stored["text"]], [one, own["text"]], "a measurement that this one is combined with")
            if not set(stored.get("also", [])) <= set(own["also"]):
                raise Broken("an earlier measurement was combined with one that is not in the bundle")
            measured = proof["measured"][one]
            same(measured, steps.of(stored, measured), "a sensitivity, a noise distribution or an event")
        if proof["publics"]:
            names = ", ".join(str(told["table"]) for told in proof["publics"])
            raise Open(f"everything follows if the public table {names}, not in the bundle, is as the proof states")
        return f"at most {relation.rows} rows per unit; sensitivity and noise of every vector are as the proof states"

    def steps(self) -> str:
        """A program's steps stay within what it reserved; how far each moves is derived where its strategy is kept."""
        events, plan = [step["event"] for step in self.plan["steps"]], self.plan
        same(self.proof["steps"], plan["steps"], "the list of steps")
        same(self.payload(plan["release"]).get("steps", len(events)), len(events), "the number of steps")
        drawn = {f"{plan['release']}.{number}" for number in range(1, len(events) + 1)}
        if plan["event"]["kind"] != "reserved" or set(plan["payloads"]) - {plan["release"]} != drawn:
            raise Open("releases of this kind cannot be derived here: only the losses are checked")
        epsilon, rho, delta = loss(plan["event"])
        spent = loss({"kind": "together", "events": events})
        pure = epsilon is None or (spent[0] is not None and spent[0] <= epsilon)
        if not pure or spent[1] > rho or spent[2] > delta:
            raise Broken("the steps lose more than was reserved")
        within = f"{len(events)} steps lose no more than was reserved"
        values = [self.payload(f"{plan['release']}.{number}") for number in range(1, len(events) + 1)]
        stored = self.payload(plan["release"])
        named = " ".join(stored.get("texts", [])).lower()  # of the tables that a batch joins its statements speak
        joined = stored.get("tables", []) if plan["kind"] == "model" else []
        title = f"{TITLES.get(plan['kind'], plan['kind'])} of {', '.join((plan['table'], *joined))}"
        same(plan["text"], "\n;\n".join(stored.get("texts", [title])), "the text of what was released")
        if plan["kind"] == "description":
            same(stored["columns"], len(plan["schemas"][plan["table"]]["declared"].get("columns", {})), "its columns")
        same([plan["schemas"][name]["version"] for name in joined], stored.get("table_versions", []), "the versions")
        known = {plan["table"], stored.get("counted"), *joined}
        if {name for name in plan["schemas"] if name.lower() not in named} - known:
            raise Broken("the bundle declares a table that the release does not read")
        contents: Any = None
        if "contents" in stored or "contents" in self.proof:
            packed = stored.get("contents")
            contents = formatted(unpacked(packed, MOST_TEXT, Broken).decode() if packed else self.proof["contents"])
        elif plan["kind"] in NETWORKS and all("of" in each for each in values):
            contents = [each["of"] for each in values]
        if plan["kind"] == "graph":
            check_ladders(stored["shape"], events, values, plan["event"])
        if "axes" in self.proof:
            rows = unit(plan["schemas"][plan["table"]]["declared"])[1]
            return f"{within}; {check_declared_tables(plan, stored, values, self.proof['axes'], rows)}"
        if contents is None:
            raise Open(f"{within}; what they measured is not here: an older bundle, or one that joins a public table")
        if "meaning" in stored and "rows" not in self.proof:
            raise Open(f"{within}; the condition on their rows is not here: an older bundle")
        if "rows" in self.proof:
            check_condition(plan, self.proof["rows"], stored["meaning"])
        words = f"{within}; {check_contents(plan, contents, values, stored)}"
        self.measured = list(zip(contents, values, events, strict=True))
        return words

    def losses(self) -> str:
        plan, proof, stored = self.plan, self.proof, self.payload(self.plan["release"])
        if plan["kind"] == "answer":
            same(stored["event"], plan["event"], "the event of the charge")
        parts = {plan["release"]: plan["event"]}
        parts |= {one: self.payload(one)["event"] for one in stored.get("also", ())}
        same(proof["losses"], {name: as_text(loss(event)) for name, event in parts.items()}, "the loss of an event")
        same([proof["doubled"], type(plan["doubled"]) is bool], [plan["doubled"], True], "whether losses count double")
        every = {"kind": "together", "events": list(parts.values())}
        epsilon, rho, delta = loss(every)
        if plan["doubled"]:
            most = 1 - Fraction(1, 10**18)
            epsilon, rho, delta = None if epsilon is None else 2 * epsilon, 4 * rho, min(most, 2 * delta)
        if plan["invariants"] and not plan["doubled"]:
            raise Broken("exact totals are published, but losses do not count double")
        self.total = epsilon, rho, delta
        self.orders = None if plan["doubled"] else divergences(every)
        same(proof["total"], as_text(self.total), "the total loss")
        told = [*parts.values(), *(step["event"] for step in plan["steps"] or ())]
        parted = [part for each in told for part in each.get("events", [each])]
        if plan["doubled"] and any(each["kind"] == "top-k" and ratio(each["epsilon"]) > SAFE for each in parted):
            raise Open("the most common keys were chosen at an epsilon whose delta more than doubles for a change")
        return ", ".join(f"{name} {value}" for name, value in proof["total"].items() if value is not None)

    def claims(self) -> str:
        plan, (epsilon, rho, delta) = self.plan, self.total
        variant = "Zero-concentrated DP" if epsilon is None else "Approximate DP" if delta else "Pure DP"
        neighbours = "change one" if plan["doubled"] else "add or remove one"
        wanted = {name: plan[name] for name in ("release", "kind", "table", "version", "privacy_unit")}
        wanted |= as_text(self.total) | {"variant": variant, "neighbours": neighbours}
        same(self.manifest["claims"], wanted, "what the manifest claims")
        names = ({"rho": rho} if epsilon is None else {"epsilon": epsilon}) | ({"delta": delta} if delta else {})
        up = Context(prec=10, rounding=ROUND_CEILING)
        shown = {
            name: float(up.divide(Decimal(each.numerator), Decimal(each.denominator))) for name, each in names.items()
        }
        card = self.files["card.yaml"].decode()
        if not all(map(CARD.fullmatch, card.removesuffix("\n").split("\n"))):
            raise Broken("card.yaml is not written as Discreet writes it")
        blocks = re.findall(r"^ +privacy_parameters:\n((?: +[a-z]+: [0-9.e+-]+\n)+)", card, re.M)
        told = [[(name, float(value)) for name, value in re.findall(" +(.*): (.*)\n", each)] for each in blocks]
        same(len(re.findall(r"privacy_parameters(?!_description)", card)), 1, "how often card.yaml states the cost")
        units = re.findall(r'^    privacy_unit: "(.*)"$', card, re.M)
        same(units, [plan["privacy_unit"]], "the privacy unit on card.yaml")
        same(list(map(sorted, told)), [sorted(map(list, shown.items()))], "the cost on card.yaml")
        same(re.findall(r'^ +dp_flavor:\n +name: "(.*)"$', card, re.M), [variant], "the variant on card.yaml")
        return f"manifest and card.yaml claim exactly this: {variant}, neighbours {neighbours}"

    def tables(self) -> str:
        """data.json is tables and nothing else, and data.csv holds the same."""
        data = read(self.files["data.json"])
        declared = [told["declared"].get("columns", {}) for told in self.plan["schemas"].values()]
        labels = [each["labels"] for columns in declared for each in columns.values() if each.get("labels")]
        public = self.plan["kind"] == "answer" and bool(self.proof["publics"])
        found = formed(data, self.plan["release"], ratio(self.plan["confidence"]), labels, public=public)
        for turn, table in enumerate(found):
            written(table, self.files[f"data{f'-{turn + 1}' if turn else ''}.csv"])
        return f"{len(found)} in data.json, each with the same values as CSV"

    def shown(self) -> str:
        """Numbers that are a multiple of one noisy number are just that, keys are declared or stored ones."""
        tables, plan = read(self.files["data.json"])["tables"], self.plan
        own = self.payload(plan["release"])
        self.shown_ = Tables(tables, self.proof, plan, own, self.known, *map(self.payload, own["also"]))
        return str(self.shown_.check())

    def somebody(self) -> bool:
        """Whether there can be a person in all that is measured, so that it counts in full in the worst case.

        There is one where all rows of the declared table are asked for, under no condition, and groups are by columns
        whose groups are all that a value of the column can be in.
        """
        if self.plan["kind"] != "answer":
            return False
        asked = self.proof["question"]
        if set(asked["plan"]) != {"scan", "version"}:
            return False
        told = self.plan["schemas"][asked["plan"]["scan"]]["declared"].get("columns", {})
        for of, edges, null in [axis for axes in asked["sets"] for axis in axes]:
            low, high, _ = column(told[of["column"]]) if of.get("column") in told else (None, None, True)
            if null is not True and (low is None or high is None or edges[0] > low or edges[-1] <= high):
                return False
        named = all(key.get("column") in told for key in asked["keys"])
        return named and all(each[-1] == TRUE for each in [*asked["statistics"], *asked["quantiles"]])

    def least(self) -> Fraction:
        """What is spent at least, by the accounting of the limit, if there can be a person in this release."""
        implied = [each if each == self.total[0] else each * CLOSELY for each in self.implied()]
        return min([ratio(self.plan["guarantee"]["epsilon"]), *implied])

    def implied(self) -> list[Fraction]:
        """The epsilons that this release implies by itself, by each arm of the accounting that takes it."""
        limit = self.plan["guarantee"]
        left = ratio(limit["delta"]) - ratio(limit["delta_keys"])
        return implied(limit["accounting"], self.total, self.orders, left)

    def drawn(self) -> str:
        """The last table of what is no answer is every number that was drawn; those before it follow from these."""
        *others, last = read(self.files["data.json"])["tables"]
        names = {name: name.rpartition(".")[2] if "." in name else "0" for name in self.plan["payloads"]}
        as_drawn(last, {int(number): self.payload(name) for name, number in names.items()})
        kind, stored = self.plan["kind"], self.payload(self.plan["release"])
        drawn = "the last table is every noisy number as it was drawn"
        if kind == "model" and others:
            raise Open(f"{drawn}; the rows before it are sampled from a model that is not in the bundle")
        if others and (not self.measured or (kind == "batch" and "answers" not in self.proof)):
            raise Open(f"{drawn}; an older bundle, or one that joins a public table, does not say what others estimate")
        if kind == "batch":
            check_batch(others, self.plan, stored, self.proof["answers"], self.measured)
        elif others:
            ((content, values, _),) = self.measured
            declared = self.plan["schemas"][self.plan["table"]]["declared"]["columns"]
            check_ranges(others, stored, content, values, declared)
        return f"{drawn}{', and others show what follows from these' if others else ''}"

    def ledger(self) -> str:
        told, plan, limit = self.manifest["ledger"], self.plan, self.plan["guarantee"]
        positions = [self.proof[name] for name in ("ledger", "limit", "spent")]
        same(positions, [told, limit, plan["spent"]], "a position in the budget")
        same(told["as_of"], plan["as_of"], "the last ledger row")
        if not 1 <= whole(told["row"]) <= whole(told["as_of"]) or not re.fullmatch("[0-9a-f]{64}", told["commitment"]):
            raise Broken("the ledger row is not one of the rows covered, or its commitment is not valid")
        if not re.fullmatch("[A-Za-z0-9-]{1,64}", told["ledger"]):
            raise Broken("the ledger has no name")
        if self.total[2] > ratio(limit["delta_keys"]):
            raise Open("the delta of this release alone exceeds the limit: allowed only if no person can be in it")
        spent, most = ratio(plan["spent"]), ratio(limit["epsilon"])
        left = ratio(limit["delta"]) - ratio(limit["delta_keys"])  # to convert rho with
        if not 0 <= spent <= most or left < 0:
            raise Broken("more is spent than the limit allows")
        if spent < self.least():
            if self.somebody():
                raise Broken("less is spent than this release loses by itself")
            raise Open("less is spent than this release loses: a release is free only if no person can be in it")
        if not any(each <= most for each in self.implied()):
            raise Open("this release alone exceeds the limit: allowed only if no person can be in it")
        if told["ledger"].startswith("practice-"):
            raise Open("this is a practice project: its budget can be reset, so its limit protects nobody")
        return f"row {told['row']} of ledger {told['ledger']}, as of row {told['as_of']}; spent is within the limit"


def checked(files: dict[str, Any], key: str | None = None) -> Bundle:
    """Every check in its order; content is read only where digests and signature hold."""
    bundle = Bundle(files)
    whole_ = bundle.check("files", bundle.whole) and bundle.check("signature", lambda: bundle.signature(key))
    if not whole_ or not bundle.check("documents", bundle.documents) or bundle.proof is None:
        return bundle
    bundle.check("unit", bundle.unit)
    answer = bundle.plan["kind"] == "answer"
    if answer:
        bundle.check("question", bundle.question)
    bundle.check("sensitivity", bundle.derived if answer else bundle.steps)
    bundle.check("tables", bundle.tables)
    bundle.check("numbers", bundle.shown if answer else bundle.drawn)
    if bundle.shown_ is not None:
        bundle.check("names", bundle.shown_.names)
    if bundle.check("losses", bundle.losses):
        bundle.check("claims", bundle.claims)
        bundle.check("ledger", bundle.ledger)
    return bundle


def main(words: list[str]) -> int:
    if "--help" in words or "-h" in words:
        print(__doc__.strip())
        return 0
    if isinstance(sys.stdout, TextIOWrapper):  # a name that this terminal has no letters for is still told
        sys.stdout.reconfigure(errors="backslashreplace")
    as_json = "--json" in words
    words = [word for word in words if word != "--json"]
    if words[-1:] == ["--key"]:  # else an empty variable would take the check away
        words = []
    key = words.pop(words.index("--key") + 1).lower().replace(":", "") if "--key" in words[:-1] else None
    words = [word for word in words if word != "--key"]
    if len(words) != 1 or (key is not None and not re.fullmatch("[0-9a-f]{64}", key)):
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 3
    try:
        bundle = checked(files_in(Path(words[0])), key)
    except Exception:
        print("this is not a bundle: a folder with a readable manifest.json", file=sys.stderr)
        return 3
    verdicts = {verdict for verdict, _, _ in bundle.found}
    code = 2 if "broken" in verdicts else 1 if "open" in verdicts else 0
    if as_json:
        lines = [{"verdict": verdict, "name": name, "words": told} for verdict, name, told in bundle.found]
        print(json.dumps({"exit": code, "checks": lines, "not_proved": NOT_PROVED}, indent=1))
    else:
        print("\n".join(f"{verdict:7} {name:12} {told}" for verdict, name, told in bundle.found), NOT_PROVED, sep="\n")
        if code == 2:
            print("do not trust this bundle: the checks marked as broken fail")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
