"""`discreet release`: `write` a release as files to check, `verify` them, show its `card` or the `key`."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import discreet
from discreet.cli import terminal
from discreet.cli.flags import (
    HERE,
    CardAboutFile,
    CardDescription,
    CardIntendedUse,
    CardName,
    Folder,
    Ignored,
    Json,
)
from discreet.cli.verb_app import DefaultVerbGroup, VerbApp
from discreet.errors import Command, LedgerFault, Message, ProjectError, UsageError

if TYPE_CHECKING:
    from discreet.bundle.about import About
    from discreet.bundle.verification_report import VerificationReport
    from discreet.project.project import Project

#: Nothing in a bundle is wrong, and not all of it could be checked. As `verify/check_bundle.py` has it.
NOT_CHECKED = 1


release_app = VerbApp(
    cls=DefaultVerbGroup,
    no_args_is_help=True,
    subcommand_metavar="[write] RELEASE -o FOLDER | card RELEASE | verify BUNDLE | key",
    help="Write a release as a bundle, or verify one. `discreet release r-…` is short for `release write r-…`.",
)


ReleaseId = Annotated[str, typer.Argument(help="A release: r-…")]


@release_app.command(short_help="Write a release as a bundle that anybody can check.")
def write(
    release: ReleaseId,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="New folder for the bundle.")] = None,
    name: CardName = None,
    description: CardDescription = None,
    intended_use: CardIntendedUse = None,
    about: CardAboutFile = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Write a release as a bundle that anybody can check with `release verify BUNDLE`. Free."""
    if output is None:
        raise UsageError("say which folder to write the bundle to", hint="-o FOLDER")
    from discreet.bundle.about import About

    about_release = About.from_flags(about, name=name, description=description, intended_use=intended_use)
    _write(release, output, about_release, project, as_json=as_json)


@release_app.command(short_help="Show a release's card for the registry of deployments.")
def card(
    release: ReleaseId,
    name: CardName = None,
    description: CardDescription = None,
    intended_use: CardIntendedUse = None,
    about: CardAboutFile = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Show the card of any release as the OpenDP registry of deployments asks for it. Free, and not signed."""
    from discreet.bundle import card_yaml
    from discreet.bundle.about import About
    from discreet.bundle.content import content_of
    from discreet.bundle.registry_card import card_of
    from discreet.surveys.collector.survey_definition import is_survey_id

    if is_survey_id(release):
        raise UsageError(
            f"{release} is the id of a survey, not of a release.",
            hint=Message(Command("survey card", release), " shows its card"),
        )
    about_release = About.from_flags(about, name=name, description=description, intended_use=intended_use)
    shown = card_of(content_of(discreet.open(project), release, about_release))
    terminal.print_result(shown, card_yaml.write(shown).splitlines(), as_json=as_json)


@release_app.command(short_help="Check a bundle; no project is needed.")
def verify(
    bundle: Annotated[Path, typer.Argument(help="A bundle: a folder or a ZIP file.")],
    key: Annotated[str | None, typer.Option("--key", help="The fingerprint that you expect.")] = None,
    accept_open: Annotated[
        bool, typer.Option("--accept-open", help="Accept a bundle even if a part could not be checked.")
    ] = False,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Check a bundle. Inside a project, also compare it with the project's ledger."""
    from discreet.bundle import verification
    from discreet.bundle.signing_key import read_fingerprint
    from discreet.ledger.anchor import AnchorMissing

    expected = None if key is None else read_fingerprint(key)
    try:
        opened_project = _nearest_project(project)
    except AnchorMissing as problem:  # it says nothing about the bundle, which can be checked without it
        report = _without_ledger(verification.verify(bundle, key=expected), problem)
    else:
        if opened_project is None:
            report = verification.verify(bundle, key=expected)
        else:
            with closing(opened_project.ledger):
                report = verification.verify(bundle, key=expected, project=opened_project)
    terminal.print_result(report.to_data(), _report_lines(report, accept_open=accept_open), as_json=as_json)
    if not report.sound:
        raise typer.Exit(5)
    if report.open and not accept_open:
        raise typer.Exit(NOT_CHECKED)


@release_app.command()
def key(project: Ignored = HERE, as_json: Json = False) -> None:
    """Show the public key that signs bundles, and its fingerprint."""
    from discreet.bundle.signing_key import Signer, fingerprint

    public = Signer.load_or_make().public
    lines = [f"public key   {public}", f"fingerprint  {fingerprint(public)}"]
    lines.append("send readers the fingerprint separately from the bundle")
    terminal.print_result({"public_key": public, "fingerprint": fingerprint(public)}, lines, as_json=as_json)


def _write(id_: str, to: Path, about: About, project: Path, *, as_json: bool) -> None:
    from discreet.bundle import bundle_files
    from discreet.bundle.about import NOT_STATED
    from discreet.bundle.signing_key import Signer, fingerprint

    opened_project = discreet.open(project)
    if opened_project.owns_file(to):
        raise UsageError(f"{str(to)!r} belongs to the project", hint="choose another folder with -o")
    files = bundle_files.make_bundle(opened_project, id_, about)
    bundle_files.write(files, to)
    also = opened_project.recall(id_).also
    mark = fingerprint(Signer.load_or_make().public)
    open_fields = list(about.missing_fields)
    lines = [f"wrote {len(files)} files to {to}", f"signed by {mark}"]
    if also:
        lines.append(f"it also shows the noisy numbers of {', '.join(also)}, which it is combined with")
    if open_fields:
        lines.append(f"the card says {NOT_STATED!r} for {', '.join(open_fields)}; state them with --about FILE.toml")
    data = {"release": id_, "folder": str(to), "files": sorted(files), "key": mark, "not_told": open_fields}
    data["also"] = list(also)
    terminal.print_result(data, lines, as_json=as_json)


def _nearest_project(project: Path) -> Project | None:
    """The project at hand, if there is one. One that cannot be opened is told, not passed over."""
    from discreet.project.folder import nearest_project_folder

    try:
        nearest_project_folder(project)
    except ProjectError:
        return None
    opened_project = discreet.open(project)
    assert opened_project.ledger  # opened now, so that a fault of it is told apart from one of the bundle
    return opened_project


def _without_ledger(report: VerificationReport, problem: LedgerFault) -> VerificationReport:
    """With the ledger left open: there is one, and this machine cannot compare it."""
    from discreet.bundle.verification_report import BundleCheck

    check = BundleCheck(name="ledger", holds=None, words=f"it was not compared: {problem.reason}")
    return replace(report, checks=(*report.checks, check))


def _report_lines(report: VerificationReport, *, accept_open: bool) -> list[str]:
    from discreet.bundle.verification_report import DOES_NOT_PROVE, PROVES

    marks = {True: "holds ", False: "FAILS ", None: "open  "}
    lines = [f"{marks[check.holds]} {check.name:7} {check.words}" for check in report.checks]
    if not report.sound:
        return [*lines, "do not trust this bundle"]
    lines += [f"this proves that {PROVES}", f"it does not prove {DOES_NOT_PROVE}"]
    ends = []
    if not report.expected:
        ends.append(
            f"signed by SOME key, and anybody can have a key: compare {report.fingerprint} with the publisher's"
        )
    if report.open:
        taken = "accepted by --accept-open" if accept_open else "do not rely on it, or accept it with --accept-open"
        ends.append(f"not everything could be checked ({', '.join(report.open)}): {taken}")
    return [*lines, "; ".join(ends)] if ends else lines
