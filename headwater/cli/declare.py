"""`headwater declare`: declare lineage that no producer reports."""

import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from headwater.api import routes
from headwater.cli.answer_source import AnswerSource, open_answer_source, selected_server
from headwater.cli.errors import warn
from headwater.cli.options import Data, DeprecatedTo, Json, Key, RunningServer, example_text
from headwater.cli.printing import list_table, print_value
from headwater.common.errors import Retry, WrongSetting
from headwater.common.server_address import LOCAL
from headwater.operations.settings import load_settings
from headwater.questions import definitions

if TYPE_CHECKING:
    from headwater.governance.declarations.declaration import Declaration
    from headwater.governance.declarations.events import ActiveDeclaration
    from headwater.governance.declarations.file import DeclarationFile


app = typer.Typer()

_TIMEOUT_S = 30.0
_POLL_INTERVAL_S = 0.2
_COLUMNS = ("declaration", "did", "jobs", "datasets", "collection", "since")


@app.command(epilog=example_text("headwater", "declare", "lineage/crm.yml"))
def declare(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE|FOLDER...", help="Declaration files, or folders of them.")
    ] = None,
    withdraw: Annotated[
        list[str] | None, typer.Option(help="Withdraw the declaration of this name; repeatable.")
    ] = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="Withdraw declarations of the given folders whose files no longer exist.")
    ] = False,
    from_powerbi: Annotated[
        bool,
        typer.Option("--from-powerbi", help="Read Power BI files: a scan result, or CSV of semantic link."),
    ] = False,
    workspace: Annotated[str | None, typer.Option(help="For CSV files: workspace of the semantic model.")] = None,
    model: Annotated[str | None, typer.Option(help="For CSV files: name of the semantic model.")] = None,
    write: Annotated[
        Path | None, typer.Option(help="Write the declarations as YAML files to this folder and send nothing.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the changes without sending them.")] = False,
    server: RunningServer = None,
    to: DeprecatedTo = None,
    key: Key = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Declare lineage that no producer reports. Sends only what changed. Without files, list the declarations."""
    from headwater.governance.declarations.events import check_conflicts, events_to_declare, events_to_withdraw
    from headwater.index.api_changes import current_event_time

    wanted = _read_declarations(paths or [], prune=prune, powerbi=(workspace, model) if from_powerbi else None)
    if write is not None:
        return _write_yaml_files(write, wanted, as_json)
    server = server or to
    url = None if data else selected_server(server, data) or LOCAL
    with open_answer_source(url, key, data) as source:
        known = _current_declarations(source)
        if not wanted and not withdraw and not prune:
            return _print_rows("Declared", [_declaration_row(each, "stands") for each in known.values()], as_json)
        check_conflicts([each.declaration for each in wanted], known)
        to_withdraw = _select_withdrawn(
            known, withdraw or [], wanted, {*(path.resolve().name for path in paths or [])} if prune else set()
        )
        now = current_event_time()
        rows, events = [], []
        for _, each, collection in wanted:
            sent = events_to_declare(each, known.get(each.name), collection, now)
            did = "declared" if each.name not in known else "changed" if sent else "unchanged"
            rows.append({"declaration": each.name, "did": did, "jobs": len(each.jobs), "datasets": len(each.datasets)})
            events += sent
        for each_known in to_withdraw:
            events += events_to_withdraw(each_known, now)
            rows.append(_declaration_row(each_known, "withdrawn"))
        if events and not dry_run:
            _send_events([json.dumps(event).encode() for event in events], url, key, data, source)
        return _print_rows("Would be declared" if dry_run else "Declared", rows, as_json, events=len(events))


class GivenDeclaration(NamedTuple):
    """A declaration to be sent. file: its parsed file; collection: the name of its folder, empty for a single file."""

    file: "DeclarationFile"
    declaration: "Declaration"
    collection: str


def _read_declarations(
    paths: Sequence[Path], *, prune: bool, powerbi: tuple[str | None, str | None] | None
) -> list[GivenDeclaration]:
    from headwater.governance.declarations.declaration import resolve_declaration
    from headwater.governance.declarations.file import read_declaration_file

    if powerbi is not None:
        from headwater.governance.declarations.powerbi.declaration import read_powerbi

        read = [(str(path), _read_file(path)) for each in paths for path in _list_files(each, (".json", ".csv"))]
        return [
            GivenDeclaration(each, resolve_declaration(each, ""), "")
            for each in read_powerbi(read, powerbi[0], powerbi[1], warn)
        ]
    if prune and not all(path.is_dir() for path in paths or [Path("/nowhere")]):
        raise WrongSetting(
            "--prune compares declarations with a folder, but none is given. Run `headwater declare FOLDER --prune`."
        )
    found = []
    for path in paths:
        collection = path.resolve().name if path.is_dir() else ""
        for file in _list_files(path, (".yml", ".yaml")):
            parsed = read_declaration_file(_read_file(file), str(file))
            found.append(GivenDeclaration(parsed, resolve_declaration(parsed, file.stem), collection))
    return found


def _list_files(path: Path, endings: tuple[str, ...]) -> list[Path]:
    if path.is_dir():
        return sorted(each for each in path.rglob("*") if each.suffix.lower() in endings and each.is_file())
    return [path]


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise WrongSetting(f"Cannot read {path}: {error.strerror}. Name an existing file or folder.") from error


def _select_withdrawn(
    known: "dict[str, ActiveDeclaration]", names: Sequence[str], wanted: Sequence[GivenDeclaration], folders: set[str]
) -> "list[ActiveDeclaration]":
    """Return the active declarations to withdraw.

    These are the declarations with the given names, and all declarations of the given folders without a file in
    `wanted`.
    """
    unknown = [name for name in names if name not in known]
    if unknown:
        existing = ", ".join(map(repr, sorted(known)[:20])) or "none"
        raise WrongSetting(f"There is no declaration {unknown[0]!r}. Use the name of one of these: {existing}.")
    declared = {each.declaration.name for each in wanted}
    both = declared & {*names}
    if both:
        raise WrongSetting(f"{min(both)!r} is both declared by a file and named by --withdraw. Remove one of the two.")
    return [
        each for name, each in known.items() if name in names or (each.collection in folders and name not in declared)
    ]


def _current_declarations(source: AnswerSource) -> "dict[str, ActiveDeclaration]":
    """Return the declarations in force, by name."""
    from headwater.governance.declarations.events import FACET, active_declarations

    items: list[Any] = []
    asked = {"entity": "job", "name": FACET, "limit": "1000"}
    while True:
        page = source.ask(definitions.facets, asked)
        items += page["items"]
        if not page["next"]:
            return active_declarations(items)
        asked["cursor"] = page["next"]


def _send_events(
    bodies: list[bytes], url: str | None, key: str | None, data: Path | None, source: AnswerSource
) -> None:
    """Send events, and wait until answers include them."""
    from headwater.operations.local.ingest import ingest_offline, send_bodies

    if url is None:
        ingest_offline(load_settings({"data": data})[0], bodies)
        return
    outcome = send_bodies(bodies, url, key, progress=False)
    if outcome["refused"]:
        raise WrongSetting(
            f"The server rejected {outcome['refused']} of {outcome['sent']} events: "
            f"{' '.join(outcome['reasons'][:3])} Use a key with the roles read and write for the namespace `headwater` "
            "and the namespaces of these jobs and datasets."
        )
    _wait_until_visible(lambda: float(source.ask(routes.freshness, {})["seconds"]))


def _wait_until_visible(age_s: Callable[[], float]) -> None:
    """Wait until answers include the sent events. age_s: age of the oldest event that answers do not include."""
    sent = time.monotonic()
    while (age := age_s()) and age > time.monotonic() - sent:
        if time.monotonic() - sent > _TIMEOUT_S:
            raise Retry(
                "The events are stored, but answers do not include them yet, because the index is behind. Ask again in "
                "a moment."
            )
        time.sleep(_POLL_INTERVAL_S)


def _write_yaml_files(folder: Path, wanted: Sequence[GivenDeclaration], as_json: bool) -> None:
    """Write declarations as YAML files, which the user can correct and keep."""
    import yaml

    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for each in wanted:
        name = re.sub(r"[^\w.-]+", "_", each.declaration.name).strip("_") + ".yml"
        content = {"version": 1, "name": each.declaration.name}
        content |= each.file.model_dump(by_alias=True, exclude_defaults=True, exclude={"version", "name"})
        (folder / name).write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120), "utf-8")
        rows.append({"declaration": each.declaration.name, "did": f"written to {folder / name}"})
    _print_rows("Written", rows, as_json)


def _declaration_row(each: "ActiveDeclaration", did: str) -> dict[str, Any]:
    counts = {"jobs": len(each.jobs), "datasets": len(each.datasets)}
    return {"declaration": each.declaration, "did": did, **counts, "collection": each.collection, "since": each.since}


def _print_rows(title: str, rows: list[dict[str, Any]], as_json: bool, **more: Any) -> None:
    found = {**more, "items": rows, "totalCount": len(rows), "truncated": False}
    print_value(found, as_json, lambda: list_table(title, found, _COLUMNS))
    sys.exit(0)
