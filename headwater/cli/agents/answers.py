"""Shorten answers of the reading API for agents: one line of text for each item, and a count of the omitted items.

`given` contains the parameters that the agent set. The advice in `left_out` names only parameters that are not set.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.json import encode

from headwater.cli.text_format import dataset_text, transformation_text

MAX_COLUMNS = 10_000
RECENT_CHANGES = 10
_MAX_STOPS = 15
_MAX_BRIEF = 200
Answer = dict[str, Any]
MAX_ITEMS = 60
"""Maximum number of items in an answer."""

_MAX_BYTES = 6_000
_MAX_TEXT_CHARS = 2_000
"""Maximum number of characters of a text, such as SQL."""


class SearchMatches(Struct):
    """Names that match a search, best match first."""

    found: list[str]
    left_out: str | None


class ReachedColumns(Struct):
    """Reached columns by dataset, nearest first. Each line has the number of steps and describes the last step."""

    of: str
    columns: dict[str, list[str]]
    stops: list[str]
    left_out: str | None


class PathSteps(Struct):
    """The steps of a path."""

    reaches: bool
    path: list[str]
    stops: list[str]
    left_out: str | None


class ExposedColumns(Struct, omit_defaults=True, kw_only=True):
    """Columns by exposure, each with the job that wrote it and how."""

    tagged: list[str]
    counts: dict[str, int]
    exposed: list[str] = []
    once_exposed: list[str] = []
    unknown: list[str] = []
    masked: list[str] = []
    left_out: str | None


class ColumnVerdicts(Struct, omit_defaults=True, kw_only=True):
    """Columns of one verdict, with reasons."""

    counts: dict[str, int]
    used: list[str] = []
    unused: list[str] = []
    unknown: list[str] = []
    reasons: list[str]
    caveats: list[str]
    left_out: str | None


class EdgeChanges(Struct):
    """Added, removed and changed edges."""

    counts: dict[str, int]
    edges: list[str]
    left_out: str | None


class OtherChanges(Struct):
    """Changes other than lineage, one line each."""

    from_: str = field(name="from")
    to: str | None
    counts: dict[str, int]
    changes: list[str]
    left_out: str | None


class DatasetSummary(Struct):
    """A summary of one dataset."""

    dataset: str
    columns: list[str]
    made_of: list[str]
    written_by: list[str]
    feeds: list[str]
    also_read_by: list[str]
    changes: list[str]
    left_out: str | None


def shorten_lists(found: Answer, _: Container[str]) -> Answer:
    """Shorten each list of an answer to its first items, and count the omitted ones."""
    lists = {key: value for key, value in found.items() if isinstance(value, list)}
    shown = {key: first_that_fit(things) for key, things in lists.items()}
    total = {key: len(things) for key, things in lists.items()}
    total |= {"items": found["totalCount"]} if "totalCount" in found else {}
    left_out = (omitted_note(total[key] - len(shown[key]), key, key, "Ask for less.") for key in lists)
    return {**found, **shown, "left_out": join_sentences(*left_out)}


def shorten_search(found: Answer, given: Container[str]) -> SearchMatches:
    """Return one line for each match."""
    lines = []
    for item in found["items"]:
        line = f"{item['kind']} {item['namespace']}/{item['name']}" + (f"#{item['column']}" if item["column"] else "")
        line += f" tagged {item['tag']}" if item["tag"] else ""
        line += f" means {full_name(item['means'])}" if item["means"] else ""
        lines.append(line)
    shown = first_that_fit(lines)
    more = found["totalCount"] - len(shown)
    hint = f"Search for more words. {advice(given, kinds='Name `kinds`.', limit='Raise `limit`.')}".strip()
    return SearchMatches(shown, omitted_note(more, "thing", "things", hint, at_least=found["truncated"]))


def shorten_reach(found: Answer, given: Container[str]) -> ReachedColumns:
    """Return the reached columns by dataset, nearest first, with the number of steps to each."""
    columns = found["columns"]
    shown = first_that_fit([_reached_text(each) for each in columns])
    more = columns[len(shown) :]
    many = f"columns, in datasets such as {first_three_text(_dataset_names(more))}"
    hint = advice(given, column="Ask with `column`.", depth="Ask with a smaller `depth`.")
    left_out = omitted_note(len(more), "column", many, hint, at_least=found["truncated"])
    stops = [_stop_text(stop) for stop in found["stops"]]
    lines: dict[str, list[str]] = {}
    for each, line in zip(columns, shown, strict=False):
        lines.setdefault(full_name({**each, "column": None}), []).append(line)
    return ReachedColumns(
        full_name(found["column"]), lines, stops[:_MAX_STOPS],
        join_sentences(left_out, omitted_note(len(stops) - _MAX_STOPS, "stop", "stops", "")),
    )  # fmt: skip


def _reached_text(each: Answer) -> str:
    via = each["via"]
    start = dataset_text(via, with_namespaces=via["namespace"] != each["namespace"])
    marks = "".join(
        [
            ", masked on the way" if each["masked"] else "",
            "" if each["in_schema"] else " (no longer in the schema)",
            _recreated_mark(each),
            _earlier_mark(each),
        ]
    )
    steps = "1 step" if each["distance"] == 1 else f"{each['distance']} steps"
    return f"{each['column'] or 'the table'}: {steps}, from {start} {_job_and_step(via)}{marks}"


def _job_and_step(via: Answer) -> str:
    return f"by job {_job_name(via['job'])}, {transformation_text(via['transformation'])}"


def shorten_path(found: Answer, _: Container[str]) -> PathSteps:
    """Return the steps of a path. If there is no path, return the stops where it may continue."""
    steps = [full_name(found["from"]), *(f"{full_name(step)} {_job_and_step(step['via'])}" for step in found["path"])]
    shown = first_that_fit(steps) if found["reaches"] else []
    stops = [_stop_text(stop) for stop in found["stops"]]
    more = omitted_note(len(stops) - _MAX_STOPS, "stop", "stops", "")
    cut = omitted_note(len(steps) - len(shown), "step", "steps", "") if found["reaches"] else None
    return PathSteps(found["reaches"], shown, stops[:_MAX_STOPS], join_sentences(cut, more))


def shorten_surface(found: Answer, given: Container[str]) -> ExposedColumns:
    """Return columns by exposure, worst exposure first. Columns that have the tag themselves are marked."""
    shown = first_that_fit([_exposure_line(item) for item in found["items"]])
    lines: dict[str, list[str]] = {}
    for item, line in zip(found["items"], shown, strict=False):
        lines.setdefault(item["exposure"], []).append(line)
    tagged = [full_name(source) for source in found["sources"][:MAX_ITEMS]]
    hint = advice(
        given, dataset="Start from one `dataset`.", column="Start from one `column`.",
        exposure="Ask for one `exposure`.",
    )  # fmt: skip
    left_out = join_sentences(
        omitted_note(found["totalCount"] - len(shown), "column", "columns", hint),
        omitted_note(len(found["sources"]) - MAX_ITEMS, "tagged column", "tagged columns", ""),
    )
    return ExposedColumns(tagged=tagged, counts=found["exposures"], **lines, left_out=left_out)


def _exposure_line(item: Answer) -> str:
    by = item["via"] and item["via"].get("job")
    known = transformation_text(item["how"]) if isinstance(item["how"], Mapping) else item["how"]
    line = (
        full_name(item)
        + (" (tagged)" if item["tagged"] else "")
        + _earlier_mark(item)
        + (f" by job {_job_name(by)}" if by else "")
        + (f", {known}" if known else "")
    )
    former = item.get("former")
    line += f", former location of {former['name']} since {former['since']}" if former else ""
    return line + (f", in the clear until {item['exposed_until']}" if item["exposed_until"] else "")


def shorten_unused(found: Answer, given: Container[str], verdict: str) -> ColumnVerdicts:
    """Return the columns with one verdict, each with its reason."""
    fitting = [item for item in found["items"] if item["verdict"] == verdict]
    shown = first_that_fit(
        [f"{full_name(item)}: {item['reason']}{_recreated_mark(item)}{_last_used(item)}" for item in fitting]
    )
    more = found["verdicts"][verdict] - len(shown)
    return ColumnVerdicts(
        counts=found["verdicts"],
        **{verdict: shown},
        reasons=[f"{each['count']} {each['verdict']}: {each['reason']}" for each in found["reasons"]],
        caveats=sorted({caveat for item in fitting[:MAX_ITEMS] for caveat in item["caveats"]}),
        left_out=omitted_note(more, "column", "columns", advice(given, dataset="Ask for one `dataset`.")),
    )


def _earlier_mark(item: Answer) -> str:
    """Return a mark for an item that only earlier executions of a job report, and an empty text for other items."""
    seen = f", last seen {item['last_seen']}" if item.get("last_seen") else ""
    return (f" (earlier{seen})" if item["earlier"] else "") + _retired_mark(item)


def _retired_mark(item: Answer) -> str:
    """Return a mark for an item that only presumably retired jobs report, and an empty text for other items."""
    return " (only by jobs presumed retired)" if item.get("presumed_retired") else ""


def _last_used(item: Answer) -> str:
    """Return a text with the last use of a column, empty if the newest execution of a job uses the column."""
    mark = (" (earlier)" if item["earlier"] else "") + _retired_mark(item)
    shows = item["earlier"] or item["verdict"] != "used"
    return mark + (f", last used {item['last_used']}" if shows and item["last_used"] else "")


def shorten_diff(found: Answer, _: Container[str]) -> EdgeChanges:
    """Return one line for each changed edge."""
    lines = first_that_fit([
        f"{item['change']} {full_name(item['from'])} -> {full_name(item['to'])} by job {_job_name(item['job'])}, "
        + transformation_text({**item, "masking": item["masked"]})
        for item in found["items"]
    ])  # fmt: skip
    more = found["totalCount"] - len(lines)
    counts = {word: found[word] for word in ("added", "removed", "changed")}
    return EdgeChanges(counts, lines, omitted_note(more, "edge", "edges", "Ask for a shorter time."))


def shorten_changes(found: Answer, _: Container[str]) -> OtherChanges:
    """Return one line for each change other than lineage."""
    lines = first_that_fit([
        f"{item['time']} {item['change']} {item['thing']} {item['namespace']}/{item['name']}"
        + (f"#{item['column']}" if item["column"] else "")
        + f": {_limit_text(item['before'])} -> {_limit_text(item['after'])}"
        + (f" by run {item['run']}" if item["run"] else "")
        for item in found["items"]
    ])  # fmt: skip
    more = omitted_note(found["totalCount"] - len(lines), "change", "changes", "Ask for a shorter time.")
    return OtherChanges(found["from"], found["to"], found["counts"], lines, more)


def _limit_text(text: str | None) -> str:
    return "nothing" if text is None else text if len(text) <= _MAX_BRIEF else f"{text[:_MAX_BRIEF]}…"


def summarize_dataset(upstream: Answer, impact: Answer, columns: Answer, timeline: Answer) -> DatasetSummary:
    """Combine four answers about a dataset into one summary."""
    items = columns["items"]
    shown = first_that_fit([
        f"{item['column']}: {item['verdict']}{_recreated_mark(item)}"
        + (f", read by {first_three_text(map(_job_name, item['read_by']))}" if item["read_by"] else "")
        for item in items
    ])  # fmt: skip
    changes = []
    for each in timeline["items"]:
        edge = f" {full_name(each['from'])} -> {each['to']['column'] or 'the table'}" if each["from"] else ""
        masked = (" is now masked" if each["masked"] else " is no longer masked") if each["change"] == "changed" else ""
        changes.append(f"{each['time']} {each['change']}{edge}{masked} by job {_job_name(each['job'])}")
    return DatasetSummary(
        full_name(timeline["dataset"]),
        shown,
        _dataset_names(upstream["columns"]),
        _job_names(upstream["columns"]),
        _dataset_names(impact["columns"]),
        sorted({_job_name(job) for each in columns["readers"] for job in each["jobs"]})[:MAX_ITEMS],
        changes,
        join_sentences(
            omitted_note(columns["totalCount"] - len(shown), "column", "columns", "The tool unused lists them."),
            omitted_note(timeline["totalCount"] - len(changes), "older change", "older changes", "See the tool diff."),
            "Neighbours by column lineage only; the tools impact and upstream name stops."
            if upstream["stops"] or impact["stops"] else None,
        ),
    )  # fmt: skip


def full_name(thing: Answer) -> str:
    """Return a dataset or column as one text."""
    return dataset_text(thing, with_namespaces=True)


def _job_name(job: Answer) -> str:
    return str(job["name"])


def _recreated_mark(item: Answer) -> str:
    return " (read before re-creation)" if item["read_before_recreation"] else ""


def _dataset_names(columns: Iterable[Answer]) -> list[str]:
    return sorted({full_name({**each, "column": None}) for each in columns})[:MAX_ITEMS]


def _job_names(columns: Iterable[Answer]) -> list[str]:
    return sorted({_job_name(each["via"]["job"]) for each in columns})[:MAX_ITEMS]


def _stop_text(stop: Any) -> str:
    if stop["reason"] == "no_columns":
        return f"{full_name(stop)} -> {first_three_text(map(full_name, stop['onward']))}"
    if stop["reason"] == "not_completed":
        runs = first_three_text(f"{run['run']} of {run['job']['name']} is {run['state']}" for run in stop["runs"])
        return f"{full_name(stop)}: run {runs} and reports no lineage; wait until it ends, or run the job again"
    if stop["reason"] == "events_removed":
        before = stop["events_removed_before"]
        return f"{full_name(stop)}: events before {before} were removed, more lineage may have existed"
    jobs = first_three_text(job["name"] for job in stop["jobs"])
    silent = "written by {}, which reports no input" if stop["reason"] == "no_input" else "read by {}, without output"
    return f"{full_name(stop)}: {silent.format(jobs)}{_possible_links_text(stop['may_be_connected'])}"


def _possible_links_text(links: list[Answer]) -> str:
    ends = [f"{full_name({**link, 'column': None})} ({_job_name(link['job'])})" for link in links]
    return f"; may be connected with {first_three_text(ends)} in the same application" if ends else ""


def first_that_fit(things: Sequence[Any]) -> list[Any]:
    """Return the first items that fit into an answer. Skip an item that is too large, since later items may fit."""
    found, size = [], 0
    for thing in map(_limit_value, things[:MAX_ITEMS]):
        own = len(encode(thing))
        if size + own <= _MAX_BYTES:
            found.append(thing)
            size += own
    return found


def _limit_value(value: Any) -> Any:
    """Shorten the long texts in a value, and state in each text how many characters are missing."""
    if isinstance(value, str) and len(value) > _MAX_TEXT_CHARS:
        return f"{value[:_MAX_TEXT_CHARS]} … and {len(value) - _MAX_TEXT_CHARS} more characters"
    if isinstance(value, Mapping):
        return {name: _limit_value(each) for name, each in value.items()}
    return [_limit_value(each) for each in value] if isinstance(value, list) else value


def first_three_text(names: Iterable[str]) -> str:
    """Return the first three names as text, with the number of the other names."""
    every = sorted(names)
    more = f" and {len(every) - 3} more" if len(every) > 3 else ""
    return ", ".join(every[:3]) + more


def omitted_note(count: int, one: str, many: str, hint: str, *, at_least: bool = False) -> str | None:
    """Return a sentence about omitted items, None if no item can have been omitted.

    count: number of omitted items. one, many: noun in singular and plural. hint: a sentence about how to get the
    omitted items. at_least: whether more than `count` items may be omitted.
    """
    if count <= 0:
        return f"There may be more. {hint}" if at_least else None
    return f"{'at least ' if at_least else ''}{count} more {one if count == 1 else many}. {hint}".strip()


def advice(given: Container[str], **sentences: str) -> str:
    """Return the sentences about parameters that the agent has not set. sentences: by name of the parameter."""
    return " ".join(sentence for name, sentence in sentences.items() if name not in given)


def join_sentences(*parts: str | None) -> str | None:
    """Join the sentences that are not empty. Returns None if all are empty."""
    return " ".join(part for part in parts if part) or None
