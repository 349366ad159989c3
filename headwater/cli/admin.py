"""Commands for the data folder and its access: `backup`, `restore`, `forget`, `log` and `keys`."""

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from headwater.api import identity_routes
from headwater.cli.answer_source import DataFolder
from headwater.cli.options import Data, Json, example_text
from headwater.cli.printing import list_printer, list_table, pairs_printer, pairs_table, print_value
from headwater.cli.question_commands import add_command
from headwater.common.errors import WrongSetting
from headwater.operations.settings import load_settings

app = typer.Typer()

_FORGET_EXAMPLE = ("forget", "--namespace", "s3://lake", "--dataset", "landing/customers", "--dry-run")
_KEY_COLUMNS = ("id", "name", "owner", "roles", "namespaces", "made", "expires", "last_used", "kept")


@app.command(epilog=example_text("headwater", "backup", "/mnt/backups/2026-11-23"))
def backup(
    dest: Annotated[Path, typer.Argument(help="New folder, preferably on another disk.")],
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Back up log and lake consistently while Headwater runs. Contains every event acknowledged before the start."""
    from headwater.operations.backup import back_up

    found = back_up(load_settings({"data": data})[0], dest)
    print_value(found, as_json, lambda: pairs_table("Backup", found))


@app.command(epilog=example_text("headwater", "restore", "/mnt/backups/2026-11-23"))
def restore(
    src: Annotated[Path, typer.Argument(help="Folder of the backup.")],
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Restore a backup into an empty data folder. If the backup is incomplete, list what is missing and stop."""
    from headwater.operations.restore import restore_backup as run

    found = run(load_settings({"data": data})[0], src)
    print_value(found, as_json, lambda: pairs_table("Restored", found))


@app.command(epilog=example_text("headwater", *_FORGET_EXAMPLE))
def forget(
    dataset: Annotated[str | None, typer.Option(help="Name of a dataset; requires --namespace.")] = None,
    namespace: Annotated[
        str | None, typer.Option(help="Namespace of the dataset. Without --dataset, erase the whole namespace.")
    ] = None,
    run: Annotated[str | None, typer.Option(help="Id of a run.")] = None,
    text: Annotated[str | None, typer.Option(help="Text of 4 characters or more, such as an e-mail address.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be erased, and change nothing.")] = False,
    stopped: Annotated[
        bool, typer.Option("--stopped", help="For a remote lake: confirm that you stopped all its writers.")
    ] = False,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Erase the data of a dataset, run or person from log, lake and index, and write a receipt. Stop Headwater first.

    Deletes every event that contains the data. Then searches all files, and exits with 1 if it still finds the data.
    """
    from headwater.operations.erasure.request import ForgetRequest
    from headwater.operations.erasure.search import ForgetTarget, NameTarget, TextTarget
    from headwater.operations.runtime.index import open_rules

    settings = load_settings({"data": data})[0]
    asked = [each is not None for each in (namespace, run, text)]
    if sum(asked) != 1 or (dataset and not namespace) or len(text or run or "long") < 4:
        raise WrongSetting(
            "Use exactly one of --namespace NAMESPACE [--dataset NAME], --run ID and --text TEXT; 4 characters or more."
        )
    wanted: ForgetTarget
    if namespace is not None:
        wanted = NameTarget(namespace, dataset, open_rules(settings).current_rules().names.canonical)
    else:
        wanted = TextTarget("run" if run else "text", run or text or "")
    request = ForgetRequest(settings, wanted)
    found = request.dry_run() if dry_run else request.forget(stopped=stopped)
    print_value(
        found, as_json, lambda: pairs_table("Would be forgotten" if dry_run else "Forgotten", _forget_summary(found))
    )
    sys.exit(1 if found.get("proof", {}).get("found") else 0)


def _forget_summary(found: dict[str, Any]) -> dict[str, Any]:
    counts = {name: count for name, count in found["found"].items() if count} or {"nothing": "was found"}
    if proof := found.get("proof"):
        counts |= {"receipt": found["id"], "by": found["by"], "left in": f"{proof['found']} of {proof['files']} files"}
        counts |= {"such as": "\n".join(proof["in"])} if proof["found"] else {}
    return {**counts, "not reached": "; ".join(found["left"])}


log_app = typer.Typer(help="Show the event log, or start a new epoch of it.", no_args_is_help=True)


@log_app.command("show")
def log_show(data: Data = None, as_json: Json = False) -> None:
    """Show each partition: oldest and newest sequence number, watermark of the lake, and bytes on disk."""
    from headwater.api.audit import log_state

    folder = DataFolder(data)
    found = log_state(folder.log_readers(), folder.bronze)
    columns = ("partition", "head", "tail", "passed", "pending", "bytes")
    print_value(found, as_json, lambda: list_table(f"Event log {found['incarnation']}", found, columns))


@log_app.command("new-epoch")
def log_new_epoch(
    data: Data = None,
    route: Annotated[
        Literal["parser", "function", "spark"], typer.Option(help="The writer of the lake from now on.")
    ] = "parser",
    as_json: Json = False,
) -> None:
    """Start a new epoch after the log was deleted or restored, or to change the writer. Stop the current writer first.

    The writer parses the whole log again. It counts events that the lake already contains as duplicates.
    """
    from headwater.lake.ownership import ROUTES
    from headwater.operations.local.log_epochs import begin_epoch

    found = begin_epoch(load_settings({"data": data})[0], ROUTES[route])
    print_value(found, as_json, lambda: pairs_table("New epoch", found))


keys_app = typer.Typer(
    name="keys", help="Keys of producers and readers: create, list, assign, revoke.", no_args_is_help=True
)


add_command(keys_app, identity_routes.add_key, pairs_printer("Save `key` now: it cannot be shown again"))
add_command(keys_app, identity_routes.keys, list_printer("Keys", _KEY_COLUMNS))
add_command(keys_app, identity_routes.revoke_key, list_printer("Revoked", _KEY_COLUMNS))
add_command(
    keys_app, identity_routes.assign_key, list_printer("Assigned", (*_KEY_COLUMNS, "owner_issuer", "owner_subject"))
)
