"""`headwater doctor`: check this machine and a running server, and print a remedy for each finding."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.api import routes
from headwater.cli.answer_source import DataFolder, selected_server
from headwater.cli.options import Data, Json, Key, Server, example_text
from headwater.cli.printing import CSV, list_table, print_value
from headwater.cli.server_client import ServerClient
from headwater.cli.text_format import escape_unprintable
from headwater.common.counts import count_with_noun
from headwater.common.durations import parse_duration_s
from headwater.common.errors import HeadwaterError, WrongSetting
from headwater.common.server_address import LOCAL
from headwater.operations.runtime.data_folder import data_folder_path
from headwater.operations.settings import Settings, load_settings

if TYPE_CHECKING:
    from headwater.operations.diagnosis.finding import Check, Finding

app = typer.Typer()

_TIMEOUT_S = 30.0


@app.command(epilog=example_text("headwater", "doctor", "--server", "http://127.0.0.1:5000"))
def doctor(
    window: Annotated[
        str, typer.Option(help="Report rejected events and refused requests of this period up to now.")
    ] = "24h",
    server: Server = None,
    key: Key = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Check this machine and a running Headwater. Prints one line with a remedy for each finding.

    Without --server, it checks the data folder, and the Headwater at the address of the settings. Exits with 1 if there
    is a problem; warnings do not change the status.
    """
    from headwater.operations.diagnosis.finding import Check, error_finding, run_checks
    from headwater.operations.diagnosis.machine import machine_checks

    since_us = int((time.time() - parse_duration_s(window)) * 1e6)
    url, settings, wrong = selected_server(server, data), None, list["Finding"]()
    try:
        settings = load_settings({"data": data})[0]
    except WrongSetting as error:
        wrong = [error_finding("settings", error)]
    with closing(ServerClient(url or _own_url(settings), key, retry_for_s=0, timeout_s=_TIMEOUT_S)) as client:
        checks = [Check("settings", lambda: wrong), *machine_checks()]
        checks += _select_checks(client, settings, data, since_us, is_chosen=url is not None)
        _print_report([check.name for check in checks], [*run_checks(checks)], as_json)


def _own_url(settings: Settings | None) -> str:
    """Return the URL at which this machine reaches a Headwater with these settings."""
    if settings is None or not settings.port:
        return LOCAL
    host = "127.0.0.1" if settings.host in ("0.0.0.0", "::") else settings.host  # noqa: S104 - compared, not bound
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


def _select_checks(
    client: ServerClient, settings: Settings | None, data: Path | None, since_us: int, *, is_chosen: bool
) -> "Iterator[Check]":
    """Yield the checks of the data folder and of the server. Without a server, yield the checks of the stopped folder.

    since_us: start of the period of the report (us, UTC). is_chosen: whether the user named the server.
    """
    from headwater.operations.diagnosis.finding import Check, error_finding
    from headwater.operations.diagnosis.machine import EMPTY, checks_without_server, folder_checks, has_data
    from headwater.operations.diagnosis.service import asking_once, event_checks, server_checks

    has_folder = settings is not None and has_data(settings)
    if settings and has_folder:
        yield from folder_checks(settings)
    try:
        ready = client.readiness()
        is_own = is_chosen or settings is None or _serves_folder(client, settings)
    except HeadwaterError as error:
        if is_chosen:
            unreachable = error_finding("server", error)
            yield Check("server", lambda: [unreachable])
            return
        ready, is_own = {}, False
    if is_own:
        ask, versions = asking_once(client.ask), (client.version(), version("headwater"))
        yield from server_checks(client.url, ready, versions, ask)
        yield from event_checks(f"--server {client.url}", since_us, ask)
    elif settings and has_folder:
        folder = DataFolder(data)
        yield from checks_without_server(settings)
        yield from event_checks(f"--data {data_folder_path(settings)}", since_us, folder.ask)
    else:
        yield EMPTY


def _serves_folder(client: ServerClient, settings: Settings) -> bool:
    """Return whether the server uses the data folder of the settings, True if it does not report its folder."""
    try:
        items = client.ask(routes.settings, {})["items"]
    except HeadwaterError:
        return True
    folder = Path(next((each["value"] for each in items if each["setting"] == "data"), ""))
    return not folder.is_absolute() or folder == data_folder_path(settings)


def _print_report(checks: Sequence[str], findings: "Sequence[Finding]", as_json: bool) -> None:
    problems = sum(each.level == "problem" for each in findings)
    items = [each._asdict() for each in findings]
    found = {"checks": checks, "items": items, "totalCount": len(items), "truncated": False}
    if as_json or CSV.get():
        print_value(found, as_json, lambda: list_table("Findings", found, ("level", "check", "message", "remedy")))
    else:
        lines = [f"{each.level}: {each.check}: {each.message} {each.remedy}" for each in findings]
        counts = f"{count_with_noun(problems, 'problem')}, {count_with_noun(len(findings) - problems, 'warning')}."
        sys.stdout.write(
            "".join(f"{escape_unprintable(line)}\n" for line in (*lines, f"{len(checks)} checks: {counts}"))
        )
    sys.exit(1 if problems else 0)
