"""The command line. Tables for people, `--json` for programs; exit status 0 well, 1 answered no, 2 usage, 3 failed."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from msgspec import to_builtins
from typer.completion import completion_init, get_completion_script  # type: ignore[attr-defined]  # public all the same
from typer.core import TyperGroup

from headwater.api import api_routes
from headwater.cli import (
    backup_commands,
    contract_commands,
    declare_command,
    fabric_command,
    forget_command,
    ingest_command,
    keys_commands,
    lineage_commands,
    reconcile_command,
    replay_command,
    sinks_commands,
    spark_commands,
    watch_command,
)
from headwater.cli.asking import address_asked, asking, print_answer
from headwater.cli.data_folder import DataFolder
from headwater.cli.failing import say_failure, warn
from headwater.cli.printing import Given, any_answer, listed, pairs, show, table
from headwater.cli.question_commands import (
    BUILD,
    FEED,
    LOOK,
    OPERATE,
    Data,
    Json,
    Key,
    Server,
    Wide,
    command,
    example,
    option,
    other_commands,
)
from headwater.cli.server_answers import LOCAL, asked_server
from headwater.durations import seconds
from headwater.errors import HeadwaterError
from headwater.extras import extra
from headwater.questions import declared
from headwater.questions.declaring import read_as
from headwater.questions.parameters import At
from headwater.runtime.private import keep_private
from headwater.settings import Settings, load_settings
from headwater.storage_faults import on_disk

NAME, COMPLETE = "headwater", "_HEADWATER_COMPLETE"


class ByUse(TyperGroup):
    """Commands in the order of what they are for, questions first."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of commands."""
        panels = [LOOK, OPERATE, FEED, BUILD]
        panel = {name: getattr(each, "rich_help_panel", None) for name, each in self.commands.items()}
        return sorted(super().list_commands(ctx), key=lambda name: panels.index(panel.get(name) or BUILD))


app = typer.Typer(
    cls=ByUse,
    help="Headwater takes OpenLineage events in, loses none, and answers column questions from open Delta tables.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    epilog="Example: `headwater impact silver/customers email --server http://127.0.0.1:5000`",
)
log_app = typer.Typer(help="Look at the event log, or begin a new epoch of it.", no_args_is_help=True)
app.add_typer(log_app, name="log", rich_help_panel=BUILD)
app.add_typer(backup_commands.app)
app.add_typer(declare_command.app)
app.add_typer(contract_commands.app, rich_help_panel=LOOK)
app.add_typer(forget_command.app)
app.add_typer(ingest_command.app)
app.add_typer(lineage_commands.app)
app.add_typer(reconcile_command.app)
app.add_typer(replay_command.app)
app.add_typer(watch_command.app)
app.add_typer(spark_commands.app, name="spark", rich_help_panel=BUILD)
app.add_typer(fabric_command.app, name="fabric", rich_help_panel=BUILD)
app.add_typer(sinks_commands.app, rich_help_panel=FEED)
app.add_typer(keys_commands.app, rich_help_panel=BUILD)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line. arguments: default are the process's.

    Our own errors become one line on standard error and status 3; with `--json` it is the body of a refusal.
    """
    given = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in given
    keep_private()
    try:
        with on_disk("go on"):
            completion_init()
            sys.exit(app(given, prog_name=NAME, complete_var=COMPLETE, standalone_mode=not as_json))
    except HeadwaterError as error:
        say_failure(error, as_json)
        sys.exit(3)
    except typer.TyperException as error:  # only with --json: wrong use of the command line
        say_failure(error, as_json)
        sys.exit(error.exit_code)


def _say_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        sys.stdout.write(f"headwater {version('headwater')}\n")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print it and end.")]


@app.callback()
def _options(version: Version = False) -> None:
    pass


@app.command(rich_help_panel=BUILD, epilog=example("headwater", "up", "--data", "./headwater-data", "--port", "5000"))
def up(
    data: Data = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; default 5000, 0 picks a free one.")] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on; default 127.0.0.1.")] = None,
    tick: Annotated[str | None, typer.Option(help="Least time between two commits, such as 1s or 250ms.")] = None,
) -> None:
    """Run receiver, parser and API in the foreground, until Ctrl-C."""
    from headwater.local.up import up as run

    overrides = {"data": data, "port": port, "host": host, "tick_s": seconds(tick) if tick else None}
    sys.exit(run(_settings(overrides)))


@app.command(rich_help_panel=FEED, epilog=example("headwater", "send", "events.ndjson"))
def send(
    files: Annotated[list[Path], typer.Argument(help="NDJSON, one document or an array; plain or gzip.")],
    to: Annotated[str, typer.Option("--to", envvar="HEADWATER_URL", help="Address of a running Headwater.")] = LOCAL,
    key: Annotated[str | None, typer.Option(envvar="HEADWATER_KEY", help="Key with the role write.")] = None,
    as_json: Json = False,
) -> None:
    """Send events from files, however often they were sent; prints what was taken and refused. See also `ingest`."""
    from headwater.local.send import send_files

    outcome = send_files(files, to, key, progress=not as_json)
    show(outcome, as_json, lambda: pairs("Sent", outcome))
    sys.exit(1 if outcome["refused"] else 0)


def _audit(found: Any, as_json: bool, given: Given) -> None:
    flat = {**found, **{f"index: {name}": value for name, value in found["index"].items()}}
    del flat["index"]
    any_answer("Audit")(found if as_json else flat, as_json, given)
    sys.exit(0 if found["balanced"] else 1)


command(app, api_routes.audit, _audit, also="Status 1 if not.")
_EVENTS = ("received_at", "event_kind", "event_type", "job_namespace", "job_name", "run_id", "flags")
command(app, api_routes.events, listed("Events", _EVENTS))


@app.command(rich_help_panel=OPERATE, epilog=example("headwater", "rejected", "--since", "2026-03-01"))
def rejected(
    index: Annotated[bool, typer.Option("--index", help="List what is stored, but the index could not take.")] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Send them again to a running Headwater.")] = False,
    to: Annotated[str | None, typer.Option("--to", help="Where to send them, if not to --server.")] = None,
    since: Annotated[str | None, option(api_routes.rejected, "since")] = None,
    limit: Annotated[int, option(api_routes.rejected, "limit")] = 100,
    server: Server = None,
    key: Key = None,
    data: Data = None,
    _wide: Wide = False,
    as_json: Json = False,
) -> None:
    """List what was acknowledged but could not be stored, and why; or send it again."""
    from headwater.local.send import send_bodies

    question, title, columns = _REJECTED[index]
    with asking(server, key, data) as source:
        found = source.ask(question, {"since": since or "", "limit": str(limit)})
        if not retry or index:
            print_answer(source, question, found, lambda found: listed(title, columns)(found, as_json, {}))
            return
        bodies = [item["body"].encode() for item in found["items"] if item["body"]]
        to = to or asked_server(server) or LOCAL
        outcome = send_bodies(bodies, to, key, progress=not as_json)
        if isinstance(source, DataFolder):
            source.record("rejected retry", to, detail=f"{len(bodies)} sent, {outcome['refused']} refused")
    show(outcome, as_json, lambda: pairs("Sent again", outcome))
    sys.exit(1 if outcome["refused"] else 0)


_REJECTED = {
    False: (
        api_routes.rejected, "Rejected",
        ("received_at", "sequence", "to_sequence", "reason", "field", "message", "origin"),
    ),
    True: (
        api_routes.set_aside, "Set aside",
        ("received_at", "event_id", "partition", "sequence", "set_aside_at", "reason", "message"),
    ),
}  # fmt: skip
"""What is asked without and with --index."""


@app.command(rich_help_panel=FEED, epilog=example("headwater", "validate", "events.ndjson"))
def validate(
    files: Annotated[list[Path], typer.Argument(help="Files of events: NDJSON, one document or an array.")],
    infos: Annotated[bool, typer.Option("--infos", help="Also show what is only remarkable.")] = False,
    as_json: Json = False,
) -> None:
    """Check events and facets against the published schemas, offline. Status 1 if any is not valid."""
    from headwater.events.file_validation import validate_file

    items = []
    checked = invalid = 0
    for path in files:
        for event in validate_file(path):
            checked += 1
            invalid += not event.is_valid
            shown = [problem for problem in event.problems if infos or problem.severity == "error"]
            items += [{"file": str(path), "line": event.line, **asdict(problem)} for problem in shown]
    found = {"checked": checked, "invalid": invalid, "items": items}
    show(found, as_json, lambda: table(f"{checked} events checked, {invalid} not valid", found, _PROBLEM))
    sys.exit(1 if invalid else 0)


_PROBLEM = ("file", "line", "path", "message")


@app.command(rich_help_panel=LOOK, epilog=example("headwater", "names", "s3a://lake", "/silver/customers/"))
def names(
    namespace: Annotated[str, typer.Argument(help="Namespace of a dataset, as a producer wrote it.")],
    name: Annotated[str, typer.Argument(help="Name of the dataset.")],
    at: Annotated[str | None, option(declared.names, "at")] = None,
    server: Server = None,
    key: Key = None,
    data: Data = None,
    _wide: Wide = False,
    as_json: Json = False,
) -> None:
    """Explain which dataset a name means, and which rule did what. Broken files of rules are named on stderr."""
    from headwater.questions.name_meaning import explain_name
    from headwater.runtime.indexes import open_rules

    if address_asked(server, data):
        with asking(server, key, data) as source:
            found = source.ask(declared.names, {"namespace": namespace, "name": name, "at": at or ""})
            problems = source.ask(declared.rules, {})["problems"]
    else:
        files = open_rules(_settings({"data": data}))
        at_us = read_as(At, "at", at)
        found = to_builtins(explain_name(files.current().names, namespace, name, at_us=at_us, bind=_bindings(data)))
        problems = files.problems
    for problem in problems:
        warn(problem)
    show({**found, "problems": problems}, as_json, lambda: table("Names", found, _STEP))


def _bindings(data: Path | None) -> Any:
    """Return what explains bindings; where there is no lake yet, nothing is bound."""
    from headwater.questions.name_meaning import unbound
    from headwater.runtime.folders import existing_folder
    from headwater.runtime.indexes import open_view_opener

    settings = _settings({"data": data})
    try:
        return open_view_opener(settings, existing_folder(settings)).bindings
    except HeadwaterError:
        return unbound


_STEP = ("rule", "namespace", "name", "why")
other_commands(app, api_routes.ROUTES)


@app.command(rich_help_panel=LOOK, epilog=example("headwater", "mcp", "--server", "http://127.0.0.1:5000"))
def mcp(
    server: Annotated[
        str | None, typer.Option(help=f"Address of a running Headwater; or HEADWATER_URL; {LOCAL}.")
    ] = None,
    key: Key = None,
) -> None:
    """Answer agents over the Model Context Protocol, on standard input and output. Needs headwater[agents]."""
    with extra("agents"):
        from headwater.cli.agents import serve
    serve(asked_server(server) or LOCAL, key)


@app.command(rich_help_panel=BUILD, epilog=example("headwater", "check"))
def check(data: Data = None, as_json: Json = False) -> None:
    """Print the effective settings and where each came from; secrets are not shown."""
    settings, sources = load_settings({"data": data})
    values = settings.model_dump(mode="json")
    items = [{"setting": name, "value": values[name], "from": sources[name]} for name in values]
    show({"items": items}, as_json, lambda: table("Settings", {"items": items}, ("setting", "value", "from")))


@app.command(rich_help_panel=BUILD, epilog=example("headwater", "completion", "bash"))
def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="The shell that shall complete.")],
) -> None:
    """Print what makes a shell complete commands and options: `source <(headwater completion bash)`."""
    sys.stdout.write(get_completion_script(prog_name=NAME, complete_var=COMPLETE, shell=shell) + "\n")


@log_app.command("show")
def log_show(data: Data = None, as_json: Json = False) -> None:
    """Print, per partition, first and newest sequence number, what the lake has passed, and bytes on disk."""
    from headwater.api.operation_lists import log_state

    folder = DataFolder(data)
    found = log_state(folder.readers(), folder.bronze)
    columns = ("partition", "head", "tail", "passed", "pending", "bytes")
    show(found, as_json, lambda: table(f"Event log {found['incarnation']}", found, columns))


@log_app.command("new-epoch")
def log_new_epoch(
    data: Data = None,
    route: Annotated[
        Literal["parser", "function", "spark"], typer.Option(help="What feeds the lake from now on.")
    ] = "parser",
    as_json: Json = False,
) -> None:
    """Go on with a log that was deleted or restored behind its lake, or by another route. Stop what feeds it first.

    Everything in the log is parsed again; what the lake already has is recognised and counted as duplicate.
    """
    from headwater.lake.ownership import ROUTES
    from headwater.local.log_epochs import begin_epoch

    found = begin_epoch(_settings({"data": data}), ROUTES[route])
    show(found, as_json, lambda: pairs("New epoch", found))


def _settings(overrides: dict[str, Any]) -> Settings:
    return load_settings(overrides)[0]
