"""Answers of the reading API, shortened for agents: names as texts, one line for each thing, the rest counted.

`given`: the parameters that the agent gave; `left_out` recommends only others.
"""

from collections.abc import Container, Iterable, Mapping
from typing import Any

from headwater.cli.agent_shapes import (
    ColumnsExposed,
    ColumnsJudged,
    ColumnsReached,
    DatasetTold,
    EdgesChanged,
    NamesFound,
    ThingsChanged,
    WayShown,
)
from headwater.cli.agent_texts import SHOWN, advice, first_of, joined, said_of_rest, some_of
from headwater.cli.wording import how, place

MAX_ASKED = 10_000
CHANGES = 10
_STOPS = 15
_BRIEF = 200
Answer = dict[str, Any]


def plain(found: Answer, _: Container[str]) -> Answer:
    """Show of each list its first things, and count the rest."""
    lists = {key: value for key, value in found.items() if isinstance(value, list)}
    shown = {key: first_of(things) for key, things in lists.items()}
    total = {key: len(things) for key, things in lists.items()}
    total |= {"items": found["totalCount"]} if "totalCount" in found else {}
    left_out = (said_of_rest(total[key] - len(shown[key]), key, key, "Ask for less.") for key in lists)
    return {**found, **shown, "left_out": joined(*left_out)}


def search(found: Answer, given: Container[str]) -> NamesFound:
    """Name what was found, one line each."""
    lines = []
    for item in found["items"]:
        line = f"{item['kind']} {item['namespace']}/{item['name']}" + (f"#{item['column']}" if item["column"] else "")
        line += f" tagged {item['tag']}" if item["tag"] else ""
        line += f" means {name(item['means'])}" if item["means"] else ""
        lines.append(line)
    shown = first_of(lines)
    more = found["totalCount"] - len(shown)
    hint = f"Search for more words. {advice(given, kinds='Name `kinds`.', limit='Raise `limit`.')}".strip()
    return NamesFound(shown, said_of_rest(more, "thing", "things", hint, at_least=found["truncated"]))


def reach(found: Answer, given: Container[str]) -> ColumnsReached:
    """Name reached columns by dataset, nearest first; numbers are steps."""
    columns = found["columns"]
    shown = first_of([_hit(each) for each in columns])
    more = columns[len(shown) :]
    many = f"columns, in datasets such as {some_of(_datasets(more))}"
    hint = advice(given, column="Ask with `column`.", depth="Ask with a smaller `depth`.")
    left_out = said_of_rest(len(more), "column", many, hint, at_least=found["truncated"])
    stops = [_stop(stop) for stop in found["stops"]]
    lines: dict[str, list[str]] = {}
    for each, line in zip(columns, shown, strict=False):
        lines.setdefault(name({**each, "column": None}), []).append(line)
    return ColumnsReached(
        name(found["column"]), lines, stops[:_STOPS],
        joined(left_out, said_of_rest(len(stops) - _STOPS, "stop", "stops", "")),
    )  # fmt: skip


def _hit(each: Answer) -> str:
    via = each["via"]
    start = place(via, whole=via["namespace"] != each["namespace"])
    marks = "".join(
        [
            ", masked on the way" if each["masked"] else "",
            "" if each["in_schema"] else " (no longer in the schema)",
            _recreated(each),
            _earlier(each),
        ]
    )
    steps = "1 step" if each["distance"] == 1 else f"{each['distance']} steps"
    return f"{each['column'] or 'the table'}: {steps}, from {start} {_by(via)}{marks}"


def _by(via: Answer) -> str:
    """Say by which job a step is, and what it does."""
    return f"by job {_job(via['job'])}, {how(via['transformation'])}"


def path(found: Answer, _: Container[str]) -> WayShown:
    """Name the steps of the way; where there is none, from where it may yet go on."""
    steps = [name(found["from"]), *(f"{name(step)} {_by(step['via'])}" for step in found["path"])]
    shown = first_of(steps) if found["reaches"] else []
    stops = [_stop(stop) for stop in found["stops"]]
    more = said_of_rest(len(stops) - _STOPS, "stop", "stops", "")
    cut = said_of_rest(len(steps) - len(shown), "step", "steps", "") if found["reaches"] else None
    return WayShown(found["reaches"], shown, stops[:_STOPS], joined(cut, more))


def surface(found: Answer, given: Container[str]) -> ColumnsExposed:
    """Name columns by exposure, worst first; those that have the tag themselves say so."""
    shown = first_of([_exposed(item) for item in found["items"]])
    lines: dict[str, list[str]] = {}
    for item, line in zip(found["items"], shown, strict=False):
        lines.setdefault(item["exposure"], []).append(line)
    tagged = [name(source) for source in found["sources"][:SHOWN]]
    hint = advice(
        given, dataset="Start from one `dataset`.", column="Start from one `column`.",
        exposure="Ask for one `exposure`.",
    )  # fmt: skip
    left_out = joined(
        said_of_rest(found["totalCount"] - len(shown), "column", "columns", hint),
        said_of_rest(len(found["sources"]) - SHOWN, "tagged column", "tagged columns", ""),
    )
    return ColumnsExposed(tagged=tagged, counts=found["exposures"], **lines, left_out=left_out)


def _exposed(item: Answer) -> str:
    by = item["via"] and item["via"].get("job")
    known = how(item["how"]) if isinstance(item["how"], Mapping) else item["how"]
    line = (
        name(item)
        + (" (tagged)" if item["tagged"] else "")
        + _earlier(item)
        + (f" by job {_job(by)}" if by else "")
        + (f", {known}" if known else "")
    )
    former = item.get("former")
    line += f", former location of {former['name']} since {former['since']}" if former else ""
    return line + (f", in the clear until {item['exposed_until']}" if item["exposed_until"] else "")


def unused(found: Answer, given: Container[str], verdict: str) -> ColumnsJudged:
    """Name the columns with a verdict, and why."""
    fitting = [item for item in found["items"] if item["verdict"] == verdict]
    shown = first_of([f"{name(item)}: {item['reason']}{_recreated(item)}{_last_used(item)}" for item in fitting])
    more = found["verdicts"][verdict] - len(shown)
    return ColumnsJudged(
        counts=found["verdicts"],
        **{verdict: shown},
        reasons=[f"{each['count']} {each['verdict']}: {each['reason']}" for each in found["reasons"]],
        caveats=sorted({caveat for item in fitting[:SHOWN] for caveat in item["caveats"]}),
        left_out=said_of_rest(more, "column", "columns", advice(given, dataset="Ask for one `dataset`.")),
    )


def _earlier(item: Answer) -> str:
    """Mark what only earlier executions say."""
    seen = f", last seen {item['last_seen']}" if item.get("last_seen") else ""
    return (f" (earlier{seen})" if item["earlier"] else "") + _presumed(item)


def _presumed(item: Answer) -> str:
    """Mark what only jobs say that are presumed retired."""
    return " (only by jobs presumed retired)" if item.get("presumed_retired") else ""


def _last_used(item: Answer) -> str:
    """Say when a column was last used, where it matters: of earlier use, and of a column that may go."""
    mark = (" (earlier)" if item["earlier"] else "") + _presumed(item)
    shows = item["earlier"] or item["verdict"] != "used"
    return mark + (f", last used {item['last_used']}" if shows and item["last_used"] else "")


def diff(found: Answer, _: Container[str]) -> EdgesChanged:
    """Name changed edges."""
    lines = first_of([
        f"{item['change']} {name(item['from'])} -> {name(item['to'])} by job {_job(item['job'])}, "
        + how({**item, "masking": item["masked"]})
        for item in found["items"]
    ])  # fmt: skip
    more = found["totalCount"] - len(lines)
    counts = {word: found[word] for word in ("added", "removed", "changed")}
    return EdgesChanged(counts, lines, said_of_rest(more, "edge", "edges", "Ask for a shorter time."))


def changes(found: Answer, _: Container[str]) -> ThingsChanged:
    """Name what changed beside lineage."""
    lines = first_of([
        f"{item['time']} {item['change']} {item['thing']} {item['namespace']}/{item['name']}"
        + (f"#{item['column']}" if item["column"] else "")
        + f": {_brief(item['before'])} -> {_brief(item['after'])}"
        + (f" by run {item['run']}" if item["run"] else "")
        for item in found["items"]
    ])  # fmt: skip
    more = said_of_rest(found["totalCount"] - len(lines), "change", "changes", "Ask for a shorter time.")
    return ThingsChanged(found["from"], found["to"], found["counts"], lines, more)


def _brief(text: str | None) -> str:
    return "nothing" if text is None else text if len(text) <= _BRIEF else f"{text[:_BRIEF]}…"


def describe(upstream: Answer, impact: Answer, columns: Answer, timeline: Answer) -> DatasetTold:
    """Tell of a dataset what single answers say."""
    items = columns["items"]
    shown = first_of([
        f"{item['column']}: {item['verdict']}{_recreated(item)}"
        + (f", read by {some_of(map(_job, item['read_by']))}" if item["read_by"] else "")
        for item in items
    ])  # fmt: skip
    changes = []
    for each in timeline["items"]:
        edge = f" {name(each['from'])} -> {each['to']['column'] or 'the table'}" if each["from"] else ""
        masked = (" is now masked" if each["masked"] else " is no longer masked") if each["change"] == "changed" else ""
        changes.append(f"{each['time']} {each['change']}{edge}{masked} by job {_job(each['job'])}")
    return DatasetTold(
        name(timeline["dataset"]),
        shown,
        _datasets(upstream["columns"]),
        _jobs(upstream["columns"]),
        _datasets(impact["columns"]),
        sorted({_job(job) for each in columns["readers"] for job in each["jobs"]})[:SHOWN],
        changes,
        joined(
            said_of_rest(columns["totalCount"] - len(shown), "column", "columns", "The tool unused lists them."),
            said_of_rest(timeline["totalCount"] - len(changes), "older change", "older changes", "See the tool diff."),
            "Neighbours by column lineage only; the tools impact and upstream name stops."
            if upstream["stops"] or impact["stops"] else None,
        ),
    )  # fmt: skip


def name(thing: Answer) -> str:
    """Return a dataset or column as one text."""
    return place(thing, whole=True)


def _job(job: Answer) -> str:
    return str(job["name"])


def _recreated(item: Answer) -> str:
    return " (read before re-creation)" if item["read_before_recreation"] else ""


def _datasets(columns: Iterable[Answer]) -> list[str]:
    return sorted({name({**each, "column": None}) for each in columns})[:SHOWN]


def _jobs(columns: Iterable[Answer]) -> list[str]:
    return sorted({_job(each["via"]["job"]) for each in columns})[:SHOWN]


def _stop(stop: Any) -> str:
    if stop["reason"] == "no_columns":
        return f"{name(stop)} -> {some_of(map(name, stop['onward']))}"
    if stop["reason"] == "not_completed":
        runs = some_of(f"{run['run']} of {run['job']['name']} is {run['state']}" for run in stop["runs"])
        return f"{name(stop)}: run {runs} and does not say what it did; wait for its end, or run the job again"
    if stop["reason"] == "events_removed":
        return (
            f"{name(stop)}: events before {stop['events_removed_before']} were removed, more lineage may have existed"
        )
    jobs = some_of(job["name"] for job in stop["jobs"])
    silent = "written by {}, which reports no input" if stop["reason"] == "no_input" else "read by {}, without output"
    return f"{name(stop)}: {silent.format(jobs)}{_possible_links(stop['may_be_connected'])}"


def _possible_links(links: list[Answer]) -> str:
    ends = [f"{name({**link, 'column': None})} ({_job(link['job'])})" for link in links]
    return f"; may be connected with {some_of(ends)} in the same application" if ends else ""
