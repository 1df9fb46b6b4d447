"""Messages: one sentence for the command line, Python and the console; laws over all that the source says."""

import ast
import copy
import inspect
import pickle
import re
from functools import cache
from pathlib import Path

import pytest
import typer

import discreet
from discreet.cli.main import app
from discreet.errors import METHODS, Command, Flag, Message, Refused, Statement, UsageError, pieces_of
from discreet.project.project import Project

SOURCE = Path(discreet.__file__).parent
#: A flag or a command, as the command line spells it. What CSS calls `--name` is neither.
SPELLED = re.compile(r"(?<![\w-])(?<!var\()--[a-z](?![\w-]*:(?! ))|(?<!\.)\bdiscreet [a-z]")
#: What a file must hold to hold any of it, however its strings are cut: others are not parsed.
CONCERNED = re.compile(r"--|discreet[ \"']|Flag\(|Command\(")
#: Text that is no message, by file (in a folder, any text): what the ledger stores, what formats and connections are called,
#: pages that show commands or their style, a flag of another program.
NO_MESSAGES = {
    "errors.py": "bounds --report",
    "answers/bounds/bias.py": "discreet bounds | --report",
    "answers/bounds/bounds_purchase.py": "discreet bounds ",
    "answers/repeats.py": "discreet bounds ",
    "bundle/card_page.py": "discreet release verify",
    "console/pages/hazards.py": "discreet bounds TABLE --report",
    "console/pages/lessons/": ".*",
    "engines/spark/spark_connect.py": "--driver-java-options",
    "graph/model/graph_model.py": "discreet graph model",
    "lab/report.py": "discreet attack |--[a-z]+:",
    "ledger/postgres_ledger.py": "discreet ledger",
    "ledger/postgres_tables.py": "discreet ledger ",
    "project/declaration.py": "--engine",
    "synth/model_document.py": "discreet model",
}


@pytest.mark.parametrize(
    ("message", "command_line", "python"),
    [
        (Message(Flag("epsilon", 0.1), ", or ", Flag("within", 50)), "--epsilon 0.1, or --within 50", "epsilon=0.1, or within=50"),
        (Message("a smaller ", Flag("delta")), "a smaller --delta", "a smaller delta"),
        (Message(Flag("rows-per-person"), " needs a person"), "--rows-per-person needs a person", "rows_per_person needs a person"),
        (Message("start over with ", Flag("fresh", True)), "start over with --fresh", "start over with fresh=True"),
        (Message("see it with ", Flag("report", True, python="project.bias")), "see it with --report", "see it with project.bias"),
        (Message(Flag("person", "COLUMN")), "--person COLUMN", "person=COLUMN"),
        (Message(Flag("quasi", ("zip", "age"))), "--quasi zip,age", 'quasi=["zip", "age"]'),
        (Message(Flag("method", "squares")), "--method squares", 'method="squares"'),
        (Message("run ", Command("refresh", 'a "b"')), "run discreet refresh 'a \"b\"'", 'run project.refresh("a \\"b\\"")'),
        (Message("run ", Command("refresh"), " to make one"), "run discreet refresh to make one", "run project.refresh to make one"),
        (Message(Command("ledger acknowledge")), "discreet ledger acknowledge", "project.acknowledge()"),
        (Message(Command("ledger restore", "FILE")), "discreet ledger restore FILE", "discreet ledger restore FILE"),
        (Message(Command("forget", "visits", "PERSON")), "discreet forget visits PERSON", 'project.forget("visits", [PERSON])'),
        (Message(Command("bounds", "visits", Flag("report", True))), "discreet bounds visits --report", 'project.bias("visits")'),
        (
            Message(Command("synth fit", "TABLE", Flag("epsilon", 1), Flag("output", "MODEL", short="o"))),
            "discreet synth fit TABLE --epsilon 1 -o MODEL",
            "discreet synth fit TABLE --epsilon 1 -o MODEL",
        ),
        (
            Message(Command("query", Flag("fresh", True), Statement("SELECT 1"))),
            'discreet query --fresh "SELECT 1"',
            'discreet query --fresh "SELECT 1"',
        ),
        (Message("group it: ", Statement("SELECT count(*) FROM t")), "group it: SELECT count(*) FROM t", "group it: SELECT count(*) FROM t"),
        (Message("a table {} of --names", " discreet as ever"), "a table {} of --names discreet as ever", "a table {} of --names discreet as ever"),
    ],
)  # fmt: skip
def test_a_message_in_each_manner(message, command_line, python):
    assert message == command_line
    error = UsageError("no", hint=message)
    assert error.command_line_text() == f"no\n  try: {command_line}"
    assert str(error) == f"no\n  try: {python}"


def test_a_reason_is_a_message_too_and_others_are_shown_as_they_are():
    assert str(UsageError(Message(Flag("within"), " must be above 0"))) == "within must be above 0"
    assert (
        str(UsageError("the text --epsilon 1", hint="of somebody: --within 2"))
        == "the text --epsilon 1\n  try: of somebody: --within 2"
    )


def test_messages_are_put_together_piece_by_piece():
    inner = Message("run ", Command("refresh", "visits"))
    outer = Message("first ", inner, "; then ", "")
    assert outer == "first run discreet refresh visits; then " and outer.pieces[2] == Command("refresh", "visits")
    assert pieces_of("plain") == ("plain",)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_a_copy_keeps_its_pieces(copied):
    message = Message("use ", Flag("epsilon", 1), " or ", Command("refresh", "t"))
    assert copied(message) == message and copied(message).pieces == message.pieces


def test_the_rewrite_of_a_refusal_is_a_statement(tmp_path):
    from clinic import make

    with pytest.raises(Refused) as caught:
        make(tmp_path).sql("select sex from patients")
    assert pieces_of(caught.value.hint) == (Statement("SELECT sex, count(*) from patients GROUP BY sex"),)


# --- Laws over the source.


def texts(nodes, among):
    """The string literals that are no docstrings."""
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in among:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node


def hints(nodes):
    for node in nodes:
        if isinstance(node, ast.keyword) and node.arg == "hint":
            yield from ast.walk(node.value)


def spelled_out(path, nodes):
    """Where a message names a flag or a command in plain text. The command line may, but for its hints."""
    among = hints(nodes) if path.startswith("cli/") else nodes
    allowed = next((text for name, text in NO_MESSAGES.items() if path.startswith(name)), None)
    return [
        f"{path}:{node.lineno}"
        for node in texts(nodes, among)
        if SPELLED.search(node.value if allowed is None else re.sub(allowed, "", node.value))
    ]


def nodes_of(source):
    return list(ast.walk(ast.parse(source)))


@cache
def read_package():
    """What the laws look at, by one reading of the package: flags and commands that are spelled out, and all calls of
    `Flag` and `Command`, each with its place.
    """
    spelled, called = [], []
    for file in sorted(SOURCE.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if not CONCERNED.search(text):
            continue
        path, nodes = file.relative_to(SOURCE).as_posix(), nodes_of(text)
        spelled += spelled_out(path, nodes)
        called += [
            (f"{path}:{node.lineno}", node)
            for node in nodes
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Flag", "Command")
        ]
    return spelled, called


def test_no_message_spells_a_flag_or_a_command():
    assert read_package()[0] == []


@pytest.mark.parametrize(
    ("path", "source", "lines"),
    [
        ("answers/sql.py", 'raise UsageError("no", hint="use --epsilon 1")', 1),
        ("answers/sql.py", 'raise UsageError(f"--within needs {x}")', 1),
        ("answers/sql.py", 'return Message("then run discreet refresh ", table)', 1),
        ("answers/sql.py", 'def f():\n    """As `discreet query --fresh`."""', 0),
        ("present/a.py", 'STYLE = "p{color:var(--ink)} .x{--ink:#000}"', 0),
        ("cli/main.py", 'print("next: discreet add FILE")', 0),
        ("cli/main.py", 'raise UsageError("--x", hint="leave --x out")', 1),
        ("synth/model_document.py", 'FORMAT = "discreet model"', 0),
    ],
)
def test_the_law_sees_what_is_spelled_out(path, source, lines):
    assert len(spelled_out(path, nodes_of(source))) == lines


@cache
def verbs():
    """The options of each verb, by its name."""
    known = {}

    def walk(command, words):
        if hasattr(command, "commands"):
            known[" ".join(words)] = {"--help"}
            for name, inner in command.commands.items():
                walk(inner, [*words, name])
        else:
            known[" ".join(words)] = {"--help", *(text for option in command.params for text in option.opts)}

    walk(typer.main.get_command(app), [])
    return known


def verb_of(text, known):
    """The verb that a command begins with: of `budget grant`, as long as grant is a word of budget, `budget`."""
    return next(
        (verb for verb in (text, text.split()[0]) if verb in known and (" " not in text or known[verb] != {"--help"})),
        None,
    )


def calls(name):
    return ((place, node) for place, node in read_package()[1] if node.func.id == name)


def constant(node):
    return node.value if isinstance(node, ast.Constant) else None


def option(node):
    return next(
        (f"-{constant(each.value)}" for each in node.keywords if each.arg == "short"), f"--{constant(node.args[0])}"
    )


def test_every_flag_that_a_message_names_is_one():
    options = set().union(*verbs().values())
    named = [(place, option(node)) for place, node in calls("Flag") if constant(node.args[0]) is not None]
    assert len(named) > 150 and [each for each in named if each[1] not in options] == []


def test_every_command_that_a_message_names_is_one_with_its_flags():
    known, wrong = verbs(), []
    for place, node in calls("Command"):
        if (text := constant(node.args[0])) is None:
            continue
        verb = verb_of(text, known)
        flags = {
            option(each) for each in node.args if isinstance(each, ast.Call) and getattr(each.func, "id", "") == "Flag"
        }
        wrong += [(place, text)] if verb is None else [(place, text, flag) for flag in flags - known[verb]]
    assert wrong == []


def parameters(command):
    """Those of the call that stands for a command."""
    owner, method = METHODS[command][0].split(".")
    return inspect.signature(getattr({"project": Project, "discreet": discreet}[owner], method)).parameters


def test_every_call_that_stands_for_a_command_is_one():
    known = verbs()
    for command, (_, single) in METHODS.items():
        assert verb_of(command.removesuffix(" --report"), known) is not None
        assert len([name for name in parameters(command) if name != "self"]) >= single


def test_the_flags_of_such_a_command_are_arguments_of_its_call():
    wrong, seen = [], 0
    for place, node in calls("Command"):
        flags = [each for each in node.args if isinstance(each, ast.Call) and getattr(each.func, "id", "") == "Flag"]
        switches = [constant(each.args[0]) for each in flags if len(each.args) > 1 and constant(each.args[1]) is True]
        command = " --".join(map(str, [constant(node.args[0]), *switches]))
        if command not in METHODS or any(option(each).startswith("-o") for each in flags):
            continue
        given = {constant(each.args[0]).replace("-", "_") for each in flags} - set(switches)
        wrong += [(place, command, name) for name in given - set(parameters(command))]
        seen += 1
    assert seen > 40 and wrong == []
