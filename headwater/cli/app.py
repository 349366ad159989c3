"""The complete command line: commands of the modules, commands of the declared questions, and shell completion."""

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from msgspec import to_builtins
from typer.completion import get_completion_script  # type: ignore[attr-defined]  # public all the same

from headwater.api import routes
from headwater.cli import (
    admin,
    connect,
    contract,
    declare,
    doctor,
    events,
    fabric,
    ingest,
    lineage,
    plan,
    reconcile,
    replay,
    show_files,
    sinks,
    spark,
    watch,
)
from headwater.cli.answer_source import open_answer_source, selected_server
from headwater.cli.base_app import COMPLETE, NAME, base_app
from headwater.cli.errors import warn
from headwater.cli.options import Data, Json, Key, RunningServer, Server, add_table_options, example_text
from headwater.cli.printing import list_table, print_value
from headwater.cli.question_commands import AllCommands, add_remaining_commands, parameter_option
from headwater.cli.server_client import server_or_local
from headwater.common.errors import HeadwaterError
from headwater.common.extras import require_extra
from headwater.operations.settings import Settings, load_settings
from headwater.questions import definitions
from headwater.questions.declaring import parse_as
from headwater.questions.parameters import At

app = base_app(AllCommands)
app.add_typer(events.app)
app.add_typer(
    admin.log_app,
    name="log",
)
app.add_typer(admin.app)
for each in (connect, declare, doctor, ingest, lineage, plan, reconcile, replay, show_files, watch):
    app.add_typer(each.app)
app.add_typer(
    contract.app,
)
app.add_typer(
    spark.app,
    name="spark",
)
app.add_typer(
    fabric.app,
    name="fabric",
)
app.add_typer(
    sinks.app,
)
app.add_typer(
    admin.keys_app,
)


@app.command(epilog=example_text("headwater", "names", "s3a://lake", "/silver/customers/"))
def names(
    namespace: Annotated[str, typer.Argument(help="Namespace of a dataset or job, as the producer sent it.")],
    name: Annotated[str, typer.Argument(help="Name of the dataset or job.")],
    at: Annotated[str | None, parameter_option(definitions.names, "at")] = None,
    job: Annotated[bool, typer.Option("--job", help="Explain the name of a job.")] = False,
    producer: Annotated[str | None, parameter_option(definitions.names, "producer")] = None,
    job_namespace: Annotated[str | None, parameter_option(definitions.names, "job_namespace")] = None,
    server: Server = None,
    key: Key = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Explain which dataset or job a name refers to, rule by rule. Invalid rule files are reported on stderr."""
    from headwater.operations.runtime.index import open_rules
    from headwater.questions.names import NamingEvent, explain_job, explain_name

    if selected_server(server, data):
        with open_answer_source(server, key, data) as source:
            asked = {"namespace": namespace, "name": name, "at": at or ""} | ({"job": "true"} if job else {})
            event = {"producer": producer, "jobNamespace": job_namespace}
            asked |= {each: text for each, text in event.items() if text is not None}
            found = source.ask(definitions.names, asked)
            problems = source.ask(definitions.rules, {})["problems"]
    else:
        files = open_rules(_load_settings({"data": data}))
        at_us = parse_as(At, "at", at)
        rules = files.current_rules().names
        if job:
            found = to_builtins(explain_job(rules, namespace, name))
        else:
            event_of = NamingEvent(producer, job_namespace)
            found = to_builtins(
                explain_name(rules, namespace, name, at_us=at_us, bind=_open_binding_lookup(data), event=event_of)
            )
        problems = files.problems
    for problem in problems:
        warn(problem)
    print_value({**found, "problems": problems}, as_json, lambda: list_table("Names", found, _STEP))


def _open_binding_lookup(data: Path | None) -> Any:
    """Return the lookup of symlinks and renames in the lake. Without a lake, the lookup finds none."""
    from headwater.operations.runtime.data_folder import require_data_folder
    from headwater.operations.runtime.index import open_view_opener
    from headwater.questions.names import no_bindings

    settings = _load_settings({"data": data})
    try:
        return open_view_opener(settings, require_data_folder(settings)).resolution_steps
    except HeadwaterError:
        return no_bindings


_STEP = ("rule", "namespace", "name", "why")
add_remaining_commands(app, routes.ROUTES)


@app.command(epilog=example_text("headwater", "mcp", "--server", "http://127.0.0.1:5000"))
def mcp(
    server: RunningServer = None,
    key: Key = None,
) -> None:
    """Serve agents over the Model Context Protocol on standard input and output. Requires headwater[agents]."""
    with require_extra("agents"):
        from headwater.cli.agents.mcp_server import serve
    serve(server_or_local(server), key)


@app.command(epilog=example_text("headwater", "completion", "bash"))
def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="Your shell.")],
) -> None:
    """Print the completion script of a shell. Activate it with `source <(headwater completion bash)`."""
    sys.stdout.write(get_completion_script(prog_name=NAME, complete_var=COMPLETE, shell=shell) + "\n")


def _load_settings(overrides: dict[str, Any]) -> Settings:
    return load_settings(overrides)[0]


add_table_options(app)
