"""`headwater sinks`: what each sink does, and what it is told to do. Headwater may run meanwhile, or not."""

import json
import sys
import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli.printing import pairs, show, table
from headwater.cli.question_commands import Data, Json
from headwater.errors import NotKnown, WrongSetting
from headwater.runtime.folders import existing_folder, folder_lock
from headwater.runtime.sink_opening import open_ledger, open_secrets, sinks_path
from headwater.runtime.storage import open_bronze
from headwater.settings import load_settings

if TYPE_CHECKING:
    from headwater.lake.bronze_tables import Bronze
    from headwater.sinks.sink_ledger import Ledger
    from headwater.sinks.sink_options import Sink
    from headwater.sinks.sink_secrets import Secrets
    from headwater.sinks.sink_shape import Target

app = typer.Typer(help="Other systems that get what the lake has taken: see, check, pause, repeat.")

Name = Annotated[str, typer.Argument(help="Name of the sink in sinks.yml.")]

_SHOWN = ("name", "type", "state", "behind.events", "behind.seconds", "delivered", "failed", "next_try", "trouble")


class _Sinks:
    """The sinks of a data folder, and what they keep in the lake."""

    def __init__(self, data: Path | None) -> None:
        self._settings = load_settings({"data": data})[0]
        self._folder = existing_folder(self._settings)

    @cached_property
    def named(self) -> "dict[str, Sink]":
        from headwater.sinks.sinks_file import sinks_of

        return sinks_of(sinks_path(self._settings))

    @cached_property
    def bronze(self) -> "Bronze":
        return open_bronze(self._settings)

    @cached_property
    def ledger(self) -> "Ledger":
        return open_ledger(self._settings)

    @cached_property
    def secrets(self) -> "Secrets":
        return open_secrets(self._settings)

    def sink(self, name: str) -> "Sink":
        if name not in self.named:
            raise NotKnown("sink", name, sorted(self.named), "Name one in sinks.yml.")
        return self.named[name]

    def target(self, name: str) -> "Target":
        from headwater.sinks.target_registry import open_sink

        return open_sink(self.sink(name), self.secrets.reveal)

    def status(self) -> dict[str, Any]:
        """Return what the process `sinks` says of itself, nothing where none runs."""
        try:
            with folder_lock(self._folder, "sinks", wait_s=0):
                return {}
        except WrongSetting:
            return _read(self._folder / "run" / "sinks.json")


def _read(path: Path) -> dict[str, Any]:
    """Return what the process says, nothing before it has said anything."""
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    return found


@app.callback(invoke_without_command=True)
def sinks(context: typer.Context, data: Data = None, as_json: Json = False) -> None:
    """List sinks: state, lag behind the lake in events and seconds, delivered, failed, next try."""
    if context.invoked_subcommand:
        return
    from headwater.sinks.sink_operations import listed

    of = _Sinks(data)
    status = of.status()
    items = listed(of.named.values(), of.bronze, of.ledger, status.get("sinks", {}), time.time_ns() // 1000)
    if status.get("problem"):
        sys.stderr.write(f"headwater: {status['problem']}\n")
    show({"items": items}, as_json, lambda: table("Sinks", {"items": items}, _SHOWN))


@app.command()
def check(name: Name, data: Data = None, as_json: Json = False) -> None:
    """Connect to a sink's target and authenticate; no event is sent. Says what is missing."""
    of = _Sinks(data)
    target = of.target(name)
    try:
        found = {"sink": name, "found": of.secrets.hide(target.check())}
    finally:
        target.close()
    show(found, as_json, lambda: pairs("Checked", found))


@app.command()
def pause(name: Name, data: Data = None) -> None:
    """Let a sink stand still; it keeps its place."""
    _pause(name, data, is_paused=True)


@app.command()
def resume(name: Name, data: Data = None) -> None:
    """Let a paused sink go on where it stood."""
    _pause(name, data, is_paused=False)


def _pause(name: str, data: Path | None, *, is_paused: bool) -> None:
    from headwater.sinks.sink_operations import paused

    of = _Sinks(data)
    paused(of.ledger, of.sink(name).name, is_paused=is_paused)


@app.command()
def reset(
    name: Name,
    to: Annotated[str, typer.Option(help="`start`, `now`, a time (ISO 8601), or PARTITION:SEQUENCE.")],
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Let a sink go on from another place; what it delivered behind that place is delivered again."""
    from headwater.events.times import parse_time
    from headwater.lake.bronze_follower import sources_ahead, sources_before
    from headwater.sinks.sink_operations import position
    from headwater.sinks.sink_operations import reset as order

    of = _Sinks(data)
    sink = of.sink(name).name
    moment_us, _ = parse_time(to)
    match to:
        case "start":
            start = {}
        case "now":
            start = sources_ahead(of.bronze, {})
        case _ if moment_us is not None:
            start = sources_before(of.bronze, moment_us)
        case _:
            start = position(of.bronze, of.ledger, sink, to)
    order(of.ledger, sink, start)
    found = {"sink": name, "begins_behind": {each.partition: sequence for each, sequence in start.items()}}
    show(found, as_json, lambda: pairs("Reset", found))


@app.command()
def failures(name: Name, limit: int = 100, data: Data = None, as_json: Json = False) -> None:
    """List what a sink's target refused for good, and why."""
    from headwater.events.times import iso

    of = _Sinks(data)
    rows = of.ledger.failures(of.sink(name).name, limit)
    items = [{**row, **{key: iso(row[key]) for key in ("received_at", "failed_at")}} for row in rows]
    found = {"items": items, "totalCount": of.ledger.failed(name)}
    show(found, as_json, lambda: table("Failures", found, ("received_at", "event_id", "run_id", "attempts", "reason")))


@app.command()
def redrive(name: Name, data: Data = None, as_json: Json = False) -> None:
    """Send what was refused for good once more; what goes through is dead no more. Status 1 if anything stays."""
    from headwater.sinks.sink_operations import redrive as send

    of = _Sinks(data)
    target = of.target(name)
    try:
        found = send(of.bronze, of.ledger, name, target)
    finally:
        target.close()
    show(found, as_json, lambda: pairs("Sent again", found))
    sys.exit(1 if found["refused"] else 0)


@app.command()
def preview(
    name: Name,
    of: Annotated[str, typer.Argument(metavar="EVENT|RUN", help="Id of an event, or of a run.")],
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Print exactly what would be sent of an event or a run; nothing is sent."""
    from headwater.sinks.sink_operations import preview as convert

    sinks = _Sinks(data)
    items = convert(sinks.bronze, sinks.target(name), of)
    if not items:
        raise NotKnown("event or run", of, (), "See `headwater events`.")
    if as_json:
        show({"items": items}, True, dict)
        return
    for item in items:
        sys.stdout.write(f"{item['payload']}\n" if not item["unfit"] else f"# not sent: {item['unfit']}\n")


@app.command()
def names(
    name: Name,
    namespace: Annotated[str, typer.Argument(help="Namespace of a dataset, as a producer wrote it.")],
    dataset: Annotated[str, typer.Argument(help="Name of the dataset.")],
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Explain which type and qualified name a dataset gets in Purview, and which rules did what."""
    from headwater.sinks.purview_target import qualified_names

    found = qualified_names(_Sinks(data).sink(name).options).explain(namespace, dataset)
    steps = " → ".join(step["rule"] for step in found["items"])
    shown = {**{key: value for key, value in found.items() if key != "items"}, "canonical by": steps or "as sent"}
    show(found, as_json, lambda: pairs("Name", shown))
