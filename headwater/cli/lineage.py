"""The commands that ask about lineage, and the tables that they print."""

import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import to_builtins

from headwater.cli.answer_source import open_answer_source
from headwater.cli.options import Data, Json, Key, Server, example_text
from headwater.cli.printing import CSV, ITSELF, WIDE, Arguments, list_printer, list_table, pairs_table, print_value
from headwater.cli.question_commands import add_command, parameter_option
from headwater.common.errors import WrongQuestion
from headwater.operations.settings import load_settings
from headwater.questions import definitions
from headwater.questions.declaring import call_with_notebook_values
from headwater.questions.parameter_groups import list_page
from headwater.questions.surface import ONCE_EXPOSED, TAGGED

app = typer.Typer()

_COLUMNS = (ITSELF, "distance", "via", "via.job", "via.transformation", "masked", "path")
_PATH = (ITSELF, "via.job", "via.transformation")
_SURFACE = ("exposure", ITSELF, "source", "via.job", "how")
_UNUSED = ("verdict", ITSELF, "reason", "last_used")
_FORMER = ("former.name", "former.since")
_HEADERS = {
    ITSELF: "column",
    "distance": "steps",
    "via": "from",
    "via.job": "by job",
    "via.transformation": "how",
    "path": "path",
    "masked": "masked on the path",
    "read_before_recreation": "read before re-creation",
    "exposed_until": "in the clear until",
    "readers_only": "seen by readers only",
    "presumed_retired": "presumed retired",
    "via.doubtful": "doubtful",
    "former.name": "former location of",
    "former.since": "since",
}
"""Headers of columns by path. `masked` describes the path: upstream of a masking step, the column itself is plain."""

_DIFF = ("change", "from", "to", "type", "masked", "job")
_STOPS = {
    "no_columns": ("From here on, only table lineage is known", (ITSELF, "onward", "jobs")),
    "no_input": ("Written by jobs that report no input", (ITSELF, "jobs", "may_be_connected")),
    "no_output": ("Read by jobs that report no output", (ITSELF, "jobs", "may_be_connected")),
    "not_completed": (
        "Runs that did not complete; wait until they end, or run the jobs again",
        (ITSELF, "onward", "runs"),
    ),
    "events_removed": (
        "Retention removed events before the index was built, so there may have been more lineage",
        (ITSELF, "events_removed_before"),
    ),
}
"""Title and columns of the table for each reason of a stop."""

_CHANGES = ("time", "change", "thing", "namespace", "name", "column", "before", "after", "run")
_OTHER_RUN = (ITSELF, "files", "run.id", "run.time", "run.job")
_WRITTEN = (*_OTHER_RUN, "rewrite")
_VOLUME = ("measure", "column", "points", "time", "value", "verdict", "reason")
_UNUSUAL = ("measure", "column", "time", "value", "low", "high", "run")
_INCIDENT = ("state", "kind", "opened", "summary", "affected", "owners")
_HEALTH = (
    "status",
    "kind",
    "namespace",
    "name",
    "reason",
    "last_success",
    "last_run.state",
    "last_run.id",
    "failed_with",
)
_UNWELL = ("status", "kind", "name", "reason")
"""Columns of a list of problems that fit into a terminal."""

_NAMED = ("namespace", "name", "owners", "tags")
_LEFT = ("distance", ITSELF, "last_success", "is_written_since")
_FAILED = ("id", "job", "state", "time", "error")
_TEST = ("facet", "dataset", "column", "name", "severity", "expected", "actual", "description")
_CHILD = ("id", "time", "state", "job")


def _print_path(found: Any, as_json: bool, _: Arguments) -> None:
    title = "Path" if found["reaches"] else "No path by column lineage"
    print_value(found, as_json, lambda: list_table(title, {"items": found["path"]}, _PATH, _HEADERS))
    print_stops(found, as_json)
    sys.exit(0 if found["reaches"] else 1)


def _print_surface(found: Any, as_json: bool, given: Arguments) -> None:
    since = given["since"]
    counts = {word: count for word, count in found["exposures"].items() if word not in (ONCE_EXPOSED, TAGGED)}
    title = f"Newly exposed since {since}" if since else f"Masking surface, {_counts_text(counts)}"
    more = [each for member in (TAGGED, "exposed_until", "earlier") for each in _column_if_any(found["items"], member)]
    more += _FORMER if _column_if_any(found["items"], "former") else ()
    print_value(found, as_json, lambda: list_table(title, found, (*_SURFACE, *more), _HEADERS))
    sys.exit(1 if since and found["items"] else 0)


def _print_unused(found: Any, as_json: bool, _: Arguments) -> None:
    members = ("read_before_recreation", "earlier", "readers_only", "presumed_retired")
    columns = (*_UNUSED, *(each for member in members for each in _column_if_any(found["items"], member)))
    print_value(
        found, as_json, lambda: list_table(f"Columns, {_counts_text(found['verdicts'])}", found, columns, _HEADERS)
    )
    if not as_json:
        _print_reasons(found)


def _print_changes(found: Any, as_json: bool, _: Arguments) -> None:
    title = f"Since {found['from']}: {_counts_text(found['counts']) or 'nothing changed'}"
    columns = (*_CHANGES, *_column_if_any(found["items"], "display_name"))
    print_value(found, as_json, lambda: list_table(title, found, columns, {"display_name": "display name"}))


def _print_run(found: Any, as_json: bool, _: Arguments) -> None:
    shown = {**found["run"], "job": f"{found['run']['job']['namespace']}/{found['run']['job']['name']}"}
    print_value(found, as_json, lambda: pairs_table("Run", shown))
    if not as_json:
        _print_failures(found)
        writers = [{**each, "run": each["written_by"]} for each in found["reads"]]
        left = {"items": found["not_refreshed"]}
        if left["items"]:
            print_value(left, False, lambda: list_table("Datasets that it did not refresh", left, _LEFT))
        readers = [{**each, "run": run} for each in found["writes"] for run in each["read_by"] or [None]]
        print_value(writers, False, lambda: list_table("Reads, written by", {"items": writers}, _OTHER_RUN))
        print_value(
            readers,
            False,
            lambda: list_table("Writes, read by", {"items": readers}, _WRITTEN, {"rewrite": "all rows replaced"}),
        )
        unread = {"items": [each for each in found["writes"] if each["unread"]]}
        if unread["items"]:
            print_value(
                unread, False, lambda: list_table("SQL that could not be parsed", unread, ("dataset", "unread"))
            )
        parts = {"items": found["children"], "truncated": found["truncated"]}
        print_value(parts, False, lambda: list_table("Child runs", parts, _CHILD))


def _print_failures(found: Any) -> None:
    """Print the errors of a run, its failed tests and its SQL."""
    for error in found["errors"]:
        of = "Error" if error["of"] == "run" else f"Lineage of {error['task'] or 'a task'} could not be extracted"
        lines = [each for cause in error["causes"] for each in _cause_lines(cause)] or [error["message"]]
        print_value(error, False, partial(pairs_table, of, {error["facet"]: "\n".join(lines)}))
    tests = {"items": found["failed_tests"]}
    if tests["items"]:
        print_value(tests, False, lambda: list_table("Failed tests", tests, _TEST))
    if found["sql"]:
        print_value(found, False, lambda: pairs_table("SQL", {"sql": found["sql"]}))


def _print_health(found: Any, as_json: bool, given: Arguments) -> None:
    is_one = bool(given["dataset"] or given["job"])
    unwell = _counts_text({status: many for status, many in found["statuses"].items() if many})
    title = "Health" if is_one else f"Problems, {unwell}"
    columns = _HEALTH if is_one or WIDE.get() or CSV.get() else _UNWELL
    listed = partial(list_table, title, found, columns, {"last_run.job.name": "of job"})
    print_value(
        found, as_json, listed if is_one or unwell else lambda: "No dataset or job has failed or is late or stale."
    )
    if not as_json:
        about, waiting, failed = (
            found["about"] or {},
            {"items": found["not_refreshed"]},
            {"items": found["failed_runs"]},
        )
        lists = {"owners": "name", "tags": "key"}
        details = {**about, **{name: ", ".join(each[of] for each in about.get(name, ())) for name, of in lists.items()}}
        details["source"] = (about.get("source") or {}).get("url")
        if any(details.values()):
            print_value(
                details,
                False,
                lambda: pairs_table("Details", {name: value for name, value in details.items() if value}),
            )
        if waiting["items"]:
            print_value(waiting, False, lambda: list_table("Not refreshed since", waiting, _LEFT))
        if failed["items"]:
            print_value(failed, False, lambda: list_table("Failed runs that write it", failed, _FAILED))
    sys.exit(1 if any(each["status"] in ("failed", "late", "stale") for each in found["items"]) else 0)


def _print_incidents(found: Any, as_json: bool, _: Arguments) -> None:
    rows = [
        {**each, "affected": each["affectedCount"], "owners": ", ".join(owner["name"] for owner in each["owners"])}
        for each in found["items"]
    ]
    title = f"Incidents since {found['since']}, {_counts_text(found['kinds'])}"
    listed = partial(list_table, title, {**found, "items": rows}, _INCIDENT)
    print_value(found, as_json, listed if rows else lambda: f"No incidents since {found['since']}.")
    sys.exit(1 if any(each["state"] == "open" for each in found["items"]) else 0)


def _print_volume(found: Any, as_json: bool, _: Arguments) -> None:
    rows = [
        {
            **each,
            **each["judgement"],
            "measure": each["test"] or each["measure"],
            "points": len(each["points"]),
            "time": each["points"][-1]["time"],
            "value": each["points"][-1]["value"],
            "reason": _range_text(each["judgement"]),
        }
        for each in found["series"]
    ]
    title = f"Newest values of {found['dataset']['dataset']}"
    if "events_removed_before" in found:
        title += f" (events before {found['events_removed_before']} were removed before the index was built)"
    nothing = f"No run reports numbers about {found['dataset']['dataset']}."
    print_value(found, as_json, (lambda: list_table(title, {"items": rows}, _VOLUME)) if rows else lambda: nothing)
    unusual = [
        {**point, "measure": each["test"] or each["measure"], "column": each["column"]}
        for each in found["series"]
        for point in each["points"]
        if point["verdict"] == "unusual"
    ]
    if unusual and not as_json:
        print_value(unusual, False, lambda: list_table("Unusual values", {"items": unusual}, _UNUSUAL))
    sys.exit(1 if any(each["judgement"]["verdict"] == "unusual" for each in found["series"]) else 0)


def _range_text(judgement: Any) -> str:
    """Return the range of usual values, or why there is none and which drop would be visible."""
    low, high, drop = judgement["low"], judgement["high"], judgement["smallest_drop"]
    if judgement["reason"]:
        visible = f"; a drop of {drop:.0%} would be visible" if drop is not None else ""
        return f"{judgement['reason']}{visible}"
    return f"usually {low:,.0f} to {high:,.0f}" if low is not None and high is not None else ""


def _cause_lines(cause: Any) -> list[str]:
    telling, more = cause["telling"], cause["lines_left_out"] + len(cause["trace"]) - len(cause["telling"])
    return [cause["what"], *telling, *([f"    … {more} more lines with --json"] if more else [])]


@app.command(epilog=example_text("headwater", "diff", "--from", "2026-03-01T00:00:00Z"))
def diff(
    before: Annotated[Path | None, typer.Argument(help="Events of the pipeline before a change.")] = None,
    after: Annotated[Path | None, typer.Argument(help="Events of the pipeline after the change.")] = None,
    from_: Annotated[str | None, parameter_option(definitions.diff, "from_")] = None,
    to: Annotated[str | None, parameter_option(definitions.diff, "to")] = None,
    change: Annotated[str | None, parameter_option(definitions.diff, "change")] = None,
    text: Annotated[str | None, parameter_option(definitions.diff, "text")] = None,
    sort: Annotated[str | None, parameter_option(definitions.diff, "sort")] = None,
    cursor: Annotated[str | None, parameter_option(definitions.diff, "cursor")] = None,
    limit: Annotated[int, parameter_option(definitions.diff, "limit")] = 1_000, server: Server = None, key: Key = None,
    data: Data = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Compare the lineage of two files of events, or of two points in time. Exits with 1 if lineage was lost."""
    from headwater.operations.runtime.index import open_rules
    from headwater.questions.file_differences import difference_of_files

    page = {"text": text, "sort": sort, "cursor": cursor, "limit": limit}
    if before and after:
        rules = open_rules(load_settings({"data": data})[0]).current_rules()
        found = to_builtins(
            difference_of_files(rules, before, after, page=call_with_notebook_values(list_page, page), only=change)
        )
    elif from_ and not before:
        asked = {"from": from_, "to": to or "", "change": change or ""}
        asked |= {name: str(value) for name, value in page.items() if value}
        with open_answer_source(server, key, data) as source:
            found = source.ask(definitions.diff, asked)
    else:
        raise WrongQuestion("There is nothing to compare. Give two files of events, or --from TIME [--to TIME].")
    counts = _counts_text({word: found[word] for word in ("added", "removed", "changed")})
    if found["items"] and not (as_json or CSV.get()):
        print_value(found, False, lambda: list_table("By table", {"items": count_by_table(found["items"])}, _BY_TABLE))
    print_value(found, as_json, lambda: list_table(counts, found, _DIFF, {"masked": "masks"}))
    sys.exit(1 if found["removed"] else 0)


_BY_TABLE = (".", "added", "removed", "changed")


def count_by_table(items: list[Any]) -> list[dict[str, Any]]:
    """Count the changes for each written table; tables with the most removed edges come first."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for item in items:
        counts.setdefault((item["to"]["namespace"], item["to"]["dataset"]), Counter())[item["change"]] += 1
    order = sorted(counts.items(), key=lambda each: (-each[1]["removed"], -each[1].total(), each[0]))
    return [
        {"namespace": namespace, "dataset": dataset, **{word: each[word] for word in ("added", "removed", "changed")}}
        for (namespace, dataset), each in order
    ]


def _counts_text(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {word}" for word, count in counts.items())


def _print_reach(title: str, found: Any, as_json: bool, _: Arguments) -> None:
    asked = found["column"]
    name = asked["dataset"] + (f"#{asked['column']}" if asked["column"] else "")
    more = " (truncated: raise --limit or --depth)" if found["truncated"] else ""
    listed = {"items": found["columns"]}
    members = ("read_before_recreation", "earlier", "last_seen", "presumed_retired")
    columns = [*_COLUMNS, *(each for member in members for each in _column_if_any(found["columns"], member))]
    columns += ["via.doubtful"] if any((each["via"] or {}).get("doubtful") for each in found["columns"]) else []
    print_value(found, as_json, lambda: list_table(f"{title} {name}{more}", listed, columns, _HEADERS))
    print_stops(found, as_json)
    if found["owners"] and not as_json:
        rows = [{**each, "owners": ", ".join(owner["name"] for owner in each["owners"])} for each in found["owners"]]
        print_value(found, False, lambda: list_table("Owners", {"items": rows}, ("namespace", "dataset", "owners")))


def _column_if_any(items: list[dict[str, Any]], member: str) -> tuple[str, ...]:
    """Return a tuple with the member if any item has a value for it, else an empty tuple."""
    return (member,) if any(item.get(member) for item in items) else ()


def _print_reasons(found: Any) -> None:
    """Print the number of columns for each reason, and the caveats of `unused`."""
    reasons = {"items": found["reasons"]}
    caveats = {"items": [{"caveat": each} for each in sorted({c for item in found["items"] for c in item["caveats"]})]}
    print_value(reasons, False, lambda: list_table("Reasons", reasons, ("verdict", "count", "reason")))
    if caveats["items"]:
        print_value(caveats, False, lambda: list_table("Before you drop unused columns", caveats, ("caveat",)))
    unread = {"items": [{**each, **job} for each in found["readers"] for job in each["unread"]]}
    if unread["items"]:
        print_value(
            unread, False, lambda: list_table("SQL that could not be parsed", unread, ("dataset", "job", "reason"))
        )


def print_stops(found: Any, as_json: bool) -> None:
    """Print a table for each reason why lineage stops; nothing with `as_json`, because the answer contains them."""
    for reason, (title, columns) in _STOPS.items():
        stops = {"items": [stop for stop in found["stops"] if stop["reason"] == reason]}
        if stops["items"] and not as_json:
            print_value(stops, False, partial(list_table, title, stops, columns))


_SUBJECT = ("dataset", "column")
add_command(app, definitions.impact, partial(_print_reach, "Impact of"), arguments=_SUBJECT)
add_command(app, definitions.upstream, partial(_print_reach, "Upstream of"), arguments=_SUBJECT)
add_command(app, definitions.path, _print_path, extra_help="Exits with 1 if there is no path.")
add_command(
    app,
    definitions.surface,
    _print_surface,
    arguments=_SUBJECT,
    extra_help="With --since, exits with 1 if any became exposed.",
)
add_command(app, definitions.unused, _print_unused, arguments=_SUBJECT)
add_command(app, definitions.run, _print_run)
add_command(
    app,
    definitions.health,
    _print_health,
    arguments=("dataset",),
    extra_help="Exits with 1 if anything failed, is late or stale.",
)
add_command(app, definitions.incidents, _print_incidents, extra_help="Exits with 1 if an incident is open.")
add_command(
    app,
    definitions.volume,
    _print_volume,
    arguments=_SUBJECT,
    extra_help="Exits with 1 if the newest value of a series is unusual.",
)
add_command(app, definitions.facets, list_printer("Facets", ("runId", "namespace", "name", "eventTime", "facet")))
add_command(app, definitions.datasets, list_printer("Datasets", (*_NAMED, "columns", "last_written", "last_run.state")))
add_command(app, definitions.listed_jobs, list_printer("Jobs", (*_NAMED, "integration", "last_seen", "last_run.state")))
add_command(app, definitions.listed_runs, list_printer("Runs", ("id", "job", "state", "started", "duration")))
add_command(app, definitions.changes, _print_changes, options=("from_",))
add_command(app, definitions.search, joined_parameters=("q",))
