"""Answers of the reading API, shortened for agents: names as texts, one line for each thing, the rest counted."""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.json import encode

SHOWN = 60
"""Most columns, edges or things of one answer."""

MAX_ASKED = 10_000
CHANGES = 10
_STOPS = 15
_BYTES = 6_000
_BRIEF = 200

Answer = dict[str, Any]


def plain(found: Answer) -> Answer:
    """Show of each list its first things, and count the rest."""
    lists = {key: value for key, value in found.items() if isinstance(value, list)}
    shown = {key: _first(things) for key, things in lists.items()}
    total = {key: len(things) for key, things in lists.items()}
    total |= {"items": found["totalCount"]} if "totalCount" in found else {}
    left_out = (_left_out(total[key] - len(shown[key]), key, key, "Ask for less.") for key in lists)
    return {**found, **shown, "left_out": _join(*left_out)}


def _first(things: Sequence[Any]) -> list[Any]:
    """Return the first things that fit an answer; one that is too large, as facets may be, is left out by itself."""
    found, size = [], 0
    for thing in things[:SHOWN]:
        own = len(encode(thing))
        if size + own <= _BYTES:
            found.append(thing)
            size += own
    return found


def search(found: Answer) -> Answer:
    """Name what was found, one line each."""
    lines = []
    for item in found["items"]:
        line = f"{item['kind']} {item['namespace']}/{item['name']}" + (f"#{item['column']}" if item["column"] else "")
        line += f" tagged {item['tag']}" if item["tag"] else ""
        line += f" means {name(item['means'])}" if item["means"] else ""
        lines.append(line)
    more = found["totalCount"] - len(lines)
    hint = "Add a word to `text`, name `kinds`, or raise `limit`."
    return {"found": lines, "left_out": _left_out(more, "thing", "things", hint, at_least=found["truncated"])}


def reach(found: Answer) -> Answer:
    """Name reached columns by dataset, nearest first; numbers are steps."""
    columns = found["columns"]
    more = columns[SHOWN:]
    many = f"columns, in datasets such as {_some(_datasets(more))}"
    hint = "Ask with `column`, or with a smaller `depth`."
    left_out = _left_out(len(more), "column", many, hint, at_least=found["truncated"])
    stops = [f"{name(stop)} -> {_some(map(name, stop['onward']))}" for stop in found["stops"]]
    return {
        "of": name(found["column"]),
        "columns": _by_dataset(columns[:SHOWN]),
        "stops": stops[:_STOPS],
        "left_out": _join(left_out, _left_out(len(stops) - _STOPS, "stop", "stops", "")),
    }


def path(found: Answer) -> Answer:
    """Name the steps of the way; where there is none, from where it may yet go on."""
    steps = [
        f"{name(step)} by job {_job(step['via']['job'])}"
        + (", which masks" if step["via"]["transformation"]["masking"] else "")
        for step in found["path"]
    ]
    stops = [f"{name(stop)} -> {_some(map(name, stop['onward']))}" for stop in found["stops"]]
    return {
        "reaches": found["reaches"],
        "path": [name(found["from"]), *steps] if found["reaches"] else [],
        "stops": stops[:_STOPS],
        "left_out": _left_out(len(stops) - _STOPS, "stop", "stops", ""),
    }


def surface(found: Answer) -> Answer:
    """Name columns by exposure, worst first."""
    lines: dict[str, list[str]] = {}
    for item in found["items"][:SHOWN]:
        via = item["via"] and item["via"].get("job")
        line = name(item) + (f" by job {_job(via)}" if via else "")
        line += f", in the clear until {item['exposed_until']}" if item["exposed_until"] else ""
        lines.setdefault(item["exposure"], []).append(line)
    return {
        "tagged": [name(source) for source in found["sources"][:SHOWN]],
        "counts": found["exposures"],
        **lines,
        "left_out": _join(
            _left_out(found["totalCount"] - SHOWN, "column", "columns", "Start from one `dataset` and `column`."),
            _left_out(len(found["sources"]) - SHOWN, "tagged column", "tagged columns", ""),
        ),
    }


def unused(found: Answer, verdict: str) -> Answer:
    """Name the columns with a verdict, and why."""
    fitting = [item for item in found["items"] if item["verdict"] == verdict]
    more = found["verdicts"][verdict] - min(len(fitting), SHOWN)
    return {
        "counts": found["verdicts"],
        verdict: [f"{name(item)}: {item['reason']}{_recreated(item)}" for item in fitting[:SHOWN]],
        "reasons": [f"{each['count']} {each['verdict']}: {each['reason']}" for each in found["reasons"]],
        "caveats": sorted({caveat for item in fitting[:SHOWN] for caveat in item["caveats"]}),
        "left_out": _left_out(more, "column", "columns", "Ask for one `dataset`."),
    }


def diff(found: Answer) -> Answer:
    """Name changed edges."""
    lines = [
        f"{item['change']} {name(item['from'])} -> {name(item['to'])} by job {_job(item['job'])}"
        for item in found["items"][:SHOWN]
    ]
    more = found["totalCount"] - len(lines)
    return {
        "counts": {word: found[word] for word in ("added", "removed", "changed")},
        "edges": lines,
        "left_out": _left_out(more, "edge", "edges", "Ask for a shorter time."),
    }


def changes(found: Answer) -> Answer:
    """Name what changed beside lineage."""
    lines = [
        f"{item['time']} {item['change']} {item['thing']} {item['namespace']}/{item['name']}"
        + (f"#{item['column']}" if item["column"] else "")
        + f": {_brief(item['before'])} -> {_brief(item['after'])}"
        + (f" by run {item['run']}" if item["run"] else "")
        for item in found["items"][:SHOWN]
    ]
    more = _left_out(found["totalCount"] - len(lines), "change", "changes", "Ask for a shorter time.")
    return {"from": found["from"], "to": found["to"], "counts": found["counts"], "changes": lines, "left_out": more}


def _brief(text: str | None) -> str:
    return "nothing" if text is None else text if len(text) <= _BRIEF else f"{text[:_BRIEF]}…"


def describe(upstream: Answer, impact: Answer, columns: Answer, timeline: Answer) -> Answer:
    """Tell of a dataset what single answers say."""
    items = columns["items"]
    shown = [
        f"{item['column']}: {item['verdict']}{_recreated(item)}"
        + (f", read by {_some(map(_job, item['read_by']))}" if item["read_by"] else "")
        for item in items[:SHOWN]
    ]
    changes = []
    for each in timeline["items"]:
        edge = f" {name(each['from'])} -> {each['to']['column'] or 'the table'}" if each["from"] else ""
        changes.append(f"{each['time']} {each['change']}{edge}")
    return {
        "dataset": name(timeline["dataset"]),
        "columns": shown,
        "made_of": _datasets(upstream["columns"]),
        "written_by": _jobs(upstream["columns"]),
        "feeds": _datasets(impact["columns"]),
        "also_read_by": sorted({_job(job) for item in items[:1] for job in item["also_read_by"]})[:SHOWN],
        "changes": changes,
        "left_out": _join(
            _left_out(columns["totalCount"] - len(shown), "column", "columns", "`unused` lists them."),
            _left_out(timeline["totalCount"] - len(changes), "older change", "older changes", "See `diff`."),
            "Neighbours by column lineage only; `impact` and `upstream` name `stops`."
            if upstream["stops"] or impact["stops"] else None,
        ),
    }  # fmt: skip


def name(thing: Answer) -> str:
    """Return a dataset or column as one text."""
    column = thing.get("column")
    return f"{thing['namespace']}/{thing['dataset']}" + (f"#{column}" if column else "")


def _job(job: Answer) -> str:
    return str(job["name"])


def _by_dataset(columns: Sequence[Answer]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for each in columns:
        marks = "".join(
            [
                " masked on the way" if each["masked"] else "",
                "" if each["in_schema"] else " (no longer in the schema)",
                _recreated(each),
            ]
        )
        dataset = name({**each, "column": None})
        found.setdefault(dataset, []).append(f"{each['column']} {each['distance']}{marks}")
    return found


def _recreated(item: Answer) -> str:
    return " (read before re-creation)" if item["read_before_recreation"] else ""


def _datasets(columns: Iterable[Answer]) -> list[str]:
    return sorted({name({**each, "column": None}) for each in columns})[:SHOWN]


def _jobs(columns: Iterable[Answer]) -> list[str]:
    return sorted({_job(each["via"]["job"]) for each in columns})[:SHOWN]


def _some(names: Iterable[str]) -> str:
    every = sorted(names)
    more = f" and {len(every) - 3} more" if len(every) > 3 else ""
    return ", ".join(every[:3]) + more


def _left_out(count: int, one: str, many: str, hint: str, *, at_least: bool = False) -> str | None:
    """Say how much is not shown; None where all is."""
    if count <= 0:
        return f"There may be more. {hint}" if at_least else None
    return f"{'at least ' if at_least else ''}{count} more {one if count == 1 else many}. {hint}".strip()


def _join(*parts: str | None) -> str | None:
    return " ".join(part for part in parts if part) or None
