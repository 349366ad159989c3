"""`headwater declare`: lineage that nobody sees."""

import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from headwater.api import api_routes
from headwater.cli.asking import AnswerSource, address_asked, asking
from headwater.cli.failing import warn
from headwater.cli.options import FEED, Data, Json, Key, example
from headwater.cli.printing import show, table
from headwater.errors import Retry, WrongSetting
from headwater.questions import declared
from headwater.server_address import LOCAL
from headwater.settings import load_settings

if TYPE_CHECKING:
    from headwater.declarations.declaration import Declaration
    from headwater.declarations.declaration_file import DeclarationFile
    from headwater.declarations.declaration_ledger import StandingDeclaration

app = typer.Typer()

_PATIENCE_S = 30.0
_LOOK_AGAIN_S = 0.2
_STANDS = ("declaration", "did", "jobs", "datasets", "collection", "since")


@app.command(rich_help_panel=FEED, epilog=example("headwater", "declare", "lineage/crm.yml"))
def declare(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE|FOLDER...", help="Files of declarations, or folders of them.")
    ] = None,
    withdraw: Annotated[list[str] | None, typer.Option(help="Withdraw what was declared under this name.")] = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="Withdraw what came from a folder of this name and is no longer in it.")
    ] = False,
    from_powerbi: Annotated[
        bool, typer.Option("--from-powerbi", help="The files are Power BI's: a scan result, or semantic link's CSV.")
    ] = False,
    workspace: Annotated[str | None, typer.Option(help="Of CSV files: the workspace of the semantic model.")] = None,
    model: Annotated[str | None, typer.Option(help="Of CSV files: the semantic model.")] = None,
    write: Annotated[
        Path | None, typer.Option(help="Write what Power BI's files say into this folder, and send nothing.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would change, and send nothing.")] = False,
    server: Annotated[
        str | None, typer.Option("--server", "--to", help=f"Address of a running Headwater; or HEADWATER_URL; {LOCAL}.")
    ] = None,
    key: Key = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Declare lineage that no listener sees; what stands already is not sent again. Without files: what stands."""
    from headwater.declarations.declaration_ledger import check_apart, events_to_declare, events_to_withdraw
    from headwater.index.writing.announced_changes import now_text

    wanted = _wanted(paths or [], prune=prune, powerbi=(workspace, model) if from_powerbi else None)
    if write is not None:
        return _write(write, wanted, as_json)
    url = None if data else address_asked(server, data) or LOCAL
    with asking(url, key, data) as source:
        known = _standing(source)
        if not wanted and not withdraw and not prune:
            return _show("Declared", [_row(each, "stands") for each in known.values()], as_json)
        check_apart([each.declaration for each in wanted], known)
        gone = _gone(
            known, withdraw or [], wanted, {*(path.resolve().name for path in paths or [])} if prune else set()
        )
        now = now_text()
        rows, events = [], []
        for _, each, collection in wanted:
            sent = events_to_declare(each, known.get(each.name), collection, now)
            did = "declared" if each.name not in known else "changed" if sent else "unchanged"
            rows.append({"declaration": each.name, "did": did, "jobs": len(each.jobs), "datasets": len(each.datasets)})
            events += sent
        for each_known in gone:
            events += events_to_withdraw(each_known, now)
            rows.append(_row(each_known, "withdrawn"))
        if events and not dry_run:
            _send([json.dumps(event).encode() for event in events], url, key, data, source)
        return _show("Would be" if dry_run else "Declared", rows, as_json, events=len(events))


class GivenDeclaration(NamedTuple):
    """What is to stand: as it is said, whole, and of which folder it comes."""

    said: "DeclarationFile"
    declaration: "Declaration"
    collection: str


def _wanted(
    paths: Sequence[Path], *, prune: bool, powerbi: tuple[str | None, str | None] | None
) -> list[GivenDeclaration]:
    """Return what is to stand, each with the collection that it comes with."""
    from headwater.declarations.declaration import resolved
    from headwater.declarations.declaration_file import read_declaration_file

    if powerbi is not None:
        from headwater.declarations.powerbi.powerbi_files import read_powerbi

        read = [(str(path), _read(path)) for each in paths for path in _files(each, (".json", ".csv"))]
        return [
            GivenDeclaration(each, resolved(each, ""), "") for each in read_powerbi(read, powerbi[0], powerbi[1], warn)
        ]
    if prune and not all(path.is_dir() for path in paths or [Path("/nowhere")]):
        raise WrongSetting(
            "--prune withdraws what is no longer in a folder. Name the folder: headwater declare FOLDER --prune"
        )
    found = []
    for path in paths:
        collection = path.resolve().name if path.is_dir() else ""
        for file in _files(path, (".yml", ".yaml")):
            said = read_declaration_file(_read(file), str(file))
            found.append(GivenDeclaration(said, resolved(said, file.stem), collection))
    return found


def _files(path: Path, endings: tuple[str, ...]) -> list[Path]:
    if path.is_dir():
        return sorted(each for each in path.rglob("*") if each.suffix.lower() in endings and each.is_file())
    return [path]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise WrongSetting(f"Cannot read {path}: {error.strerror}. Name a file or folder that is there.") from error


def _gone(
    known: "dict[str, StandingDeclaration]", names: Sequence[str], wanted: Sequence[GivenDeclaration], folders: set[str]
) -> "list[StandingDeclaration]":
    """Return what is to be withdrawn: by name, and what came from these folders and is not in them."""
    unknown = [name for name in names if name not in known]
    if unknown:
        there = ", ".join(map(repr, sorted(known)[:20])) or "nothing"
        raise WrongSetting(f"Nothing is declared under the name {unknown[0]!r}. What stands: {there}.")
    stay = {each.declaration.name for each in wanted}
    both = stay & {*names}
    if both:
        raise WrongSetting(f"{min(both)!r} is to be declared and withdrawn. Leave out one of them.")
    return [each for name, each in known.items() if name in names or (each.collection in folders and name not in stay)]


def _standing(source: AnswerSource) -> "dict[str, StandingDeclaration]":
    """Ask what stands, page after page."""
    from headwater.declarations.declaration_ledger import FACET, standing

    items: list[Any] = []
    asked = {"entity": "job", "name": FACET, "limit": "1000"}
    while True:
        page = source.ask(declared.facets, asked)
        items += page["items"]
        if not page["next"]:
            return standing(items)
        asked["cursor"] = page["next"]


def _send(bodies: list[bytes], url: str | None, key: str | None, data: Path | None, source: AnswerSource) -> None:
    """Send events, and return when questions see them."""
    from headwater.local.at_rest import take_at_rest
    from headwater.local.send import send_bodies

    if url is None:
        take_at_rest(load_settings({"data": data})[0], bodies)
        return
    outcome = send_bodies(bodies, url, key, progress=False)
    if outcome["refused"]:
        raise WrongSetting(
            f"{outcome['refused']} of {outcome['sent']} events were refused: {' '.join(outcome['reasons'][:3])} Use a "
            "key with the roles read and write, for the namespaces of these jobs and datasets and for `headwater`."
        )
    _until_seen(lambda: float(source.ask(api_routes.freshness, {})["seconds"]))


def _until_seen(age_s: Callable[[], float]) -> None:
    """Wait until what was sent can be asked about; age_s: of the oldest event that questions cannot see."""
    sent = time.monotonic()
    while (age := age_s()) and age > time.monotonic() - sent:
        if time.monotonic() - sent > _PATIENCE_S:
            raise Retry("All was taken, but questions do not see it yet: they are behind. Ask again in a moment.")
        time.sleep(_LOOK_AGAIN_S)


def _write(folder: Path, wanted: Sequence[GivenDeclaration], as_json: bool) -> None:
    """Write declarations as files, which then are yours to correct and to keep."""
    import yaml

    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for each in wanted:
        name = re.sub(r"[^\w.-]+", "_", each.declaration.name).strip("_") + ".yml"
        told = {"version": 1, "name": each.declaration.name}
        told |= each.said.model_dump(by_alias=True, exclude_defaults=True, exclude={"version", "name"})
        (folder / name).write_text(yaml.safe_dump(told, sort_keys=False, allow_unicode=True, width=120), "utf-8")
        rows.append({"declaration": each.declaration.name, "did": f"written to {folder / name}"})
    _show("Written", rows, as_json)


def _row(each: "StandingDeclaration", did: str) -> dict[str, Any]:
    counts = {"jobs": len(each.jobs), "datasets": len(each.datasets)}
    return {"declaration": each.declaration, "did": did, **counts, "collection": each.collection, "since": each.since}


def _show(title: str, rows: list[dict[str, Any]], as_json: bool, **more: Any) -> None:
    found = {**more, "items": rows, "totalCount": len(rows), "truncated": False}
    show(found, as_json, lambda: table(title, found, _STANDS))
    sys.exit(0)
