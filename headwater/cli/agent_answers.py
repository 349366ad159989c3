"""Answers of the reading API, shortened for agents: names as texts, one line for each thing, the rest counted."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.json import encode

from headwater.cli.wording import how, place

SHOWN = 60
"""Most columns, edges or things of one answer."""

MAX_ASKED = 10_000
CHANGES = 10
_STOPS = 15
_BYTES = 6_000
_BRIEF = 200
_LONGEST = 2_000
"""Most characters of one text, such as the SQL of an edge."""

Answer = dict[str, Any]


class NamesFound(Struct):
    """What is called like what was asked, best first."""

    found: list[str]
    left_out: str | None


class ColumnsReached(Struct):
    """Columns by dataset, nearest first, each with its steps, and from where, by which job and how the last one led."""

    of: str
    columns: dict[str, list[str]]
    stops: list[str]
    left_out: str | None


class WayShown(Struct):
    """The steps of a way."""

    reaches: bool
    path: list[str]
    stops: list[str]
    left_out: str | None


class ColumnsExposed(Struct, omit_defaults=True, kw_only=True):
    """Columns by exposure, each with the job that wrote it and how."""

    tagged: list[str]
    counts: dict[str, int]
    exposed: list[str] = []
    unknown: list[str] = []
    masked: list[str] = []
    left_out: str | None


class ColumnsJudged(Struct, omit_defaults=True, kw_only=True):
    """Columns of one verdict, and why."""

    counts: dict[str, int]
    used: list[str] = []
    unused: list[str] = []
    unknown: list[str] = []
    reasons: list[str]
    caveats: list[str]
    left_out: str | None


class EdgesChanged(Struct):
    """Edges that came, went or changed."""

    counts: dict[str, int]
    edges: list[str]
    left_out: str | None


class ThingsChanged(Struct):
    """What changed beside lineage, one line each."""

    from_: str = field(name="from")
    to: str
    counts: dict[str, int]
    changes: list[str]
    left_out: str | None


class DatasetTold(Struct):
    """What single answers say of a dataset."""

    dataset: str
    columns: list[str]
    made_of: list[str]
    written_by: list[str]
    feeds: list[str]
    also_read_by: list[str]
    changes: list[str]
    left_out: str | None


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
    for thing in map(_cut, things[:SHOWN]):
        own = len(encode(thing))
        if size + own <= _BYTES:
            found.append(thing)
            size += own
    return found


def _cut(value: Any) -> Any:
    """Shorten what is a long text, and say by how much."""
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{value[:_LONGEST]} … and {len(value) - _LONGEST} more characters"
    if isinstance(value, Mapping):
        return {name: _cut(each) for name, each in value.items()}
    return [_cut(each) for each in value] if isinstance(value, list) else value


def search(found: Answer) -> NamesFound:
    """Name what was found, one line each."""
    lines = []
    for item in found["items"]:
        line = f"{item['kind']} {item['namespace']}/{item['name']}" + (f"#{item['column']}" if item["column"] else "")
        line += f" tagged {item['tag']}" if item["tag"] else ""
        line += f" means {name(item['means'])}" if item["means"] else ""
        lines.append(line)
    shown = _first(lines)
    more = found["totalCount"] - len(shown)
    hint = "Add a word to `text`, name `kinds`, or raise `limit`."
    return NamesFound(shown, _left_out(more, "thing", "things", hint, at_least=found["truncated"]))


def reach(found: Answer) -> ColumnsReached:
    """Name reached columns by dataset, nearest first; numbers are steps."""
    columns = found["columns"]
    shown = _first([_hit(each) for each in columns])
    more = columns[len(shown) :]
    many = f"columns, in datasets such as {_some(_datasets(more))}"
    hint = "Ask with `column`, or with a smaller `depth`."
    left_out = _left_out(len(more), "column", many, hint, at_least=found["truncated"])
    stops = [f"{name(stop)} -> {_some(map(name, stop['onward']))}" for stop in found["stops"]]
    lines: dict[str, list[str]] = {}
    for each, line in zip(columns, shown, strict=False):
        lines.setdefault(name({**each, "column": None}), []).append(line)
    return ColumnsReached(
        name(found["column"]), lines, stops[:_STOPS],
        _join(left_out, _left_out(len(stops) - _STOPS, "stop", "stops", "")),
    )  # fmt: skip


def _hit(each: Answer) -> str:
    via = each["via"]
    start = place(via, whole=via["namespace"] != each["namespace"])
    marks = "".join(
        [
            ", masked on the way" if each["masked"] else "",
            "" if each["in_schema"] else " (no longer in the schema)",
            _recreated(each),
        ]
    )
    steps = "1 step" if each["distance"] == 1 else f"{each['distance']} steps"
    return f"{each['column'] or 'the table'}: {steps}, from {start} {_by(via)}{marks}"


def _by(via: Answer) -> str:
    """Say by which job a step is, and what it does."""
    return f"by job {_job(via['job'])}, {how(via['transformation'])}"


def path(found: Answer) -> WayShown:
    """Name the steps of the way; where there is none, from where it may yet go on."""
    steps = [name(found["from"]), *(f"{name(step)} {_by(step['via'])}" for step in found["path"])]
    shown = _first(steps) if found["reaches"] else []
    stops = [f"{name(stop)} -> {_some(map(name, stop['onward']))}" for stop in found["stops"]]
    more = _left_out(len(stops) - _STOPS, "stop", "stops", "")
    cut = _left_out(len(steps) - len(shown), "step", "steps", "") if found["reaches"] else None
    return WayShown(found["reaches"], shown, stops[:_STOPS], _join(cut, more))


def surface(found: Answer) -> ColumnsExposed:
    """Name columns by exposure, worst first."""
    shown = _first([_exposed(item) for item in found["items"]])
    lines: dict[str, list[str]] = {}
    for item, line in zip(found["items"], shown, strict=False):
        lines.setdefault(item["exposure"], []).append(line)
    tagged = [name(source) for source in found["sources"][:SHOWN]]
    left_out = _join(
        _left_out(found["totalCount"] - len(shown), "column", "columns", "Start from one `dataset` and `column`."),
        _left_out(len(found["sources"]) - SHOWN, "tagged column", "tagged columns", ""),
    )
    return ColumnsExposed(tagged=tagged, counts=found["exposures"], **lines, left_out=left_out)


def _exposed(item: Answer) -> str:
    by = item["via"] and item["via"].get("job")
    known = how(item["how"]) if isinstance(item["how"], Mapping) else item["how"]
    line = name(item) + (f" by job {_job(by)}" if by else "") + (f", {known}" if known else "")
    return line + (f", in the clear until {item['exposed_until']}" if item["exposed_until"] else "")


def unused(found: Answer, verdict: str) -> ColumnsJudged:
    """Name the columns with a verdict, and why."""
    fitting = [item for item in found["items"] if item["verdict"] == verdict]
    shown = _first([f"{name(item)}: {item['reason']}{_recreated(item)}" for item in fitting])
    more = found["verdicts"][verdict] - len(shown)
    return ColumnsJudged(
        counts=found["verdicts"],
        **{verdict: shown},
        reasons=[f"{each['count']} {each['verdict']}: {each['reason']}" for each in found["reasons"]],
        caveats=sorted({caveat for item in fitting[:SHOWN] for caveat in item["caveats"]}),
        left_out=_left_out(more, "column", "columns", "Ask for one `dataset`."),
    )


def diff(found: Answer) -> EdgesChanged:
    """Name changed edges."""
    lines = _first([
        f"{item['change']} {name(item['from'])} -> {name(item['to'])} by job {_job(item['job'])}, "
        + how({**item, "masking": item["masked"]})
        for item in found["items"]
    ])  # fmt: skip
    more = found["totalCount"] - len(lines)
    counts = {word: found[word] for word in ("added", "removed", "changed")}
    return EdgesChanged(counts, lines, _left_out(more, "edge", "edges", "Ask for a shorter time."))


def changes(found: Answer) -> ThingsChanged:
    """Name what changed beside lineage."""
    lines = _first([
        f"{item['time']} {item['change']} {item['thing']} {item['namespace']}/{item['name']}"
        + (f"#{item['column']}" if item["column"] else "")
        + f": {_brief(item['before'])} -> {_brief(item['after'])}"
        + (f" by run {item['run']}" if item["run"] else "")
        for item in found["items"]
    ])  # fmt: skip
    more = _left_out(found["totalCount"] - len(lines), "change", "changes", "Ask for a shorter time.")
    return ThingsChanged(found["from"], found["to"], found["counts"], lines, more)


def _brief(text: str | None) -> str:
    return "nothing" if text is None else text if len(text) <= _BRIEF else f"{text[:_BRIEF]}…"


def describe(upstream: Answer, impact: Answer, columns: Answer, timeline: Answer) -> DatasetTold:
    """Tell of a dataset what single answers say."""
    items = columns["items"]
    shown = _first([
        f"{item['column']}: {item['verdict']}{_recreated(item)}"
        + (f", read by {_some(map(_job, item['read_by']))}" if item["read_by"] else "")
        for item in items
    ])  # fmt: skip
    changes = []
    for each in timeline["items"]:
        edge = f" {name(each['from'])} -> {each['to']['column'] or 'the table'}" if each["from"] else ""
        changes.append(f"{each['time']} {each['change']}{edge} by job {_job(each['job'])}")
    return DatasetTold(
        name(timeline["dataset"]),
        shown,
        _datasets(upstream["columns"]),
        _jobs(upstream["columns"]),
        _datasets(impact["columns"]),
        sorted({_job(job) for item in items[:1] for job in item["also_read_by"]})[:SHOWN],
        changes,
        _join(
            _left_out(columns["totalCount"] - len(shown), "column", "columns", "`unused` lists them."),
            _left_out(timeline["totalCount"] - len(changes), "older change", "older changes", "See `diff`."),
            "Neighbours by column lineage only; `impact` and `upstream` name `stops`."
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
