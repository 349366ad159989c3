"""`headwater reconcile`: find runs and commits that reported no lineage."""

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, get_args

import msgspec
import typer

from headwater.api import routes
from headwater.cli.answer_source import open_answer_source, selected_server
from headwater.cli.options import Data, Json, Key, Server, choices_placeholder, example_text
from headwater.cli.printing import list_table, print_value
from headwater.common.durations import CLOCK_SLACK_S, parse_duration_s
from headwater.common.errors import WrongSetting
from headwater.governance.reconcile.comparison import Ask, compare_histories, dataset_of, request_reported, write_proofs
from headwater.governance.reconcile.events import finding_event, proof_events
from headwater.governance.reconcile.histories.entry import HistorySpan, deduplicate
from headwater.operations.runtime.storage import remote_options
from headwater.operations.settings import Settings, load_settings
from headwater.questions import parameters as p
from headwater.questions.answer_types.reports import Finding, FindingKind, ReportedRuns
from headwater.questions.declaring import parse_as

app = typer.Typer()

_KINDS = get_args(FindingKind)
_FAILING = tuple(kind for kind in _KINDS if kind != "no_datasets")
_HOUR_US = 3_600_000_000
_SHOWN = ("kind", "certain", "time", "name", "id", "reason", "advice")

_Histories = Annotated[
    list[str] | None,
    typer.Option("--history", help="Job history as KIND:PLACE; repeatable.", metavar="KIND:PLACE"),
]
_Tables = Annotated[
    list[str] | None,
    typer.Option("--tables", help="Delta table, or a folder of Delta tables; repeatable.", metavar="URI"),
]
_FailOn = Annotated[
    list[str] | None,
    typer.Option(
        help="Exit with 1 for findings of these kinds; repeatable. Default: all but no_datasets.",
        metavar=choices_placeholder([*_KINDS, "none"]),
    ),
]


@app.command(
    epilog=example_text("headwater", "reconcile", "--history", "eventlogs:/var/spark-events", "--tables", "/lake"),
)
def reconcile(
    history: _Histories = None,
    tables: _Tables = None,
    window: Annotated[str, typer.Option(help="Length of the compared period up to now, such as 30m or 24h.")] = "24h",
    since: Annotated[
        str | None, typer.Option(help="Start of the compared period, instead of --window.", metavar="TIME")
    ] = None,
    grace: Annotated[str, typer.Option(help="Maximum delay of events in transit.")] = "15m",
    silent: Annotated[str, typer.Option(help="Treat a run without an end as ended after this silence.")] = "1h",
    slack: Annotated[str, typer.Option(help="Maximum difference between clocks.")] = f"{CLOCK_SLACK_S:g}s",
    server: Server = None,
    key: Key = None,
    fail_on: _FailOn = None,
    save: Annotated[
        str | None, typer.Option(help="Save the findings under this name, replacing earlier ones; requires --server.")
    ] = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Compare job history and Delta commits with the received runs. Exits with 1 if any of them reported no lineage."""
    from headwater.governance.reconcile.delta_log import committed_tables
    from headwater.governance.reconcile.histories.history_registry import read_history
    from headwater.governance.reconcile.history_join import WaitTimes

    if not history and not tables:
        raise WrongSetting(
            "There is nothing to compare the received runs with. Use --history KIND:PLACE, --tables URI, or both."
        )
    server = selected_server(server, data)
    if save is not None and (server is None or not save.strip()):
        raise WrongSetting("--save needs a running Headwater and a name. Use --server URL --save NAME.")
    failing = _failing_kinds(fail_on)
    now_us = time.time_ns() // 1000
    since_us = parse_as(p.Since, "since", since) or now_us - _microseconds(window)
    span = HistorySpan(since_us, now_us)
    settings = load_settings({"data": data})[0]
    options = remote_options(settings)
    with _open_asker(server, key, data) as ask:
        by = WaitTimes(
            now_us - int(ask("freshness", {})["seconds"] * 1e6),
            _microseconds(grace),
            _microseconds(silent),
            _microseconds(slack),
        )
        entries = deduplicate(
            entry for each in history or () for entry in read_history(each, span, _token_lookup(settings))
        )
        committed = [
            (dataset_of(ask, each), each)
            for place in tables or ()
            for each in committed_tables(place, options if "://" in place else {}, span)
        ]
        first_us = min([since_us - _HOUR_US, *(entry.started_us for entry in entries)])
        landed = request_reported(ask, lambda answer: msgspec.convert(answer, ReportedRuns), first_us - _HOUR_US)
    found = compare_histories(entries, committed, landed, span, by)
    proofs = write_proofs(committed, landed, span, by)
    if save is not None and server is not None:
        event = finding_event(save.strip(), found, HistorySpan(since_us, by.complete_until_us))
        _send_findings(server, key, [*proof_events(save.strip(), proofs), event])
    looked = {"executions": len(entries), "tables": len(committed), "runs": len(landed.runs)}
    _print_findings(
        {"looked": looked, "counts": Counter(each.kind for each in found), "proven": Counter(p.proves for p in proofs)},
        found,
        as_json,
    )
    sys.exit(1 if any(each.kind in failing for each in found) else 0)


def _failing_kinds(fail_on: list[str] | None) -> tuple[str, ...]:
    wrong = {*(fail_on or ())} - {*_KINDS, "none"}
    if wrong:
        raise WrongSetting(f"--fail-on {sorted(wrong)[0]!r} is not a kind. Use {', '.join(_KINDS)}, or none.")
    return tuple(fail_on) if fail_on else _FAILING


def _token_lookup(settings: Settings) -> Callable[[str], str | None]:
    """Return a function that returns the token in a variable. Without FABRIC_TOKEN, it uses the signed-in identity."""
    from headwater.operations.fabric.client import fabric_access_token

    return lambda name: os.environ.get(name) or (fabric_access_token(settings) if name == "FABRIC_TOKEN" else None)


def _microseconds(text: str) -> int:
    return int(parse_duration_s(text) * 1e6)


@contextmanager
def _open_asker(server: str | None, key: str | None, data: Any) -> Iterator[Ask]:
    questions = {each.path: each for each in routes.ROUTES}
    with open_answer_source(server, key, data) as source:
        yield lambda question, asked: source.ask(questions[question], asked)


def _send_findings(server: str, key: str | None, events: Sequence[bytes]) -> None:
    from headwater.operations.local.ingest import send_bodies

    outcome = send_bodies(events, server, key, progress=False)
    if outcome["accepted"] != len(events):
        raise WrongSetting(
            f"The server did not accept the findings: {' '.join(outcome['reasons'])} Use a key with the role write."
        )


def _print_findings(summary: dict[str, Any], found: list[Finding], as_json: bool) -> None:
    answer = {**summary, "items": msgspec.to_builtins(found), "totalCount": len(found), "truncated": False}
    looked = ", ".join(f"{count} {what}" for what, count in summary["looked"].items())
    print_value(answer, as_json, lambda: list_table(f"Without lineage, of {looked}", answer, _SHOWN))
