"""The commands that ask about lineage. They answer from the data folder, whether Headwater runs or not."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.cli.printing import pairs, show, table
from headwater.errors import WrongQuestion
from headwater.settings import Settings, load_settings

app = typer.Typer()

Data = Annotated[Path | None, typer.Option("--data", help="Data folder; default headwater-data.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Dataset = Annotated[str, typer.Argument(help="Dataset: a location, any alias, or a unique end of its name.")]
Any_ = Annotated[str | None, typer.Argument(help="Dataset; all of them without one.")]
Column = Annotated[str | None, typer.Argument(help="Column; the whole dataset without one.")]
Namespace = Annotated[str | None, typer.Option(help="Namespace, where the name alone is not enough.")]
Mode = Annotated[str | None, typer.Option(help="value (what it is made of) or any (also what shapes it).")]
Limit = Annotated[int | None, typer.Option(help="At most so many items.")]
View = Annotated[str | None, typer.Option(help="current, or all that ever was.")]
AsOf = Annotated[str | None, typer.Option("--as-of", help="Lineage by events up to this time.")]
KnownAt = Annotated[str | None, typer.Option("--known-at", help="Lineage by events received up to this time.")]
SeenSince = Annotated[str | None, typer.Option("--seen-since", help="Only edges that a run reported since.")]
Paths = Annotated[bool, typer.Option("--paths", help="In JSON: with each column the way to it.")]
End = Annotated[str, typer.Argument(help="DATASET or DATASET#COLUMN.")]

_COLUMNS = ("namespace", "dataset", "column", "distance", "masked", "via.dataset", "via.column", "via.job.name")
_SURFACE = ("exposure", "namespace", "dataset", "column", "source.dataset", "source.column", "via.job.name")
_UNUSED = ("verdict", "namespace", "dataset", "column", "reason", "last_used")
_HEADERS = {
    "masked": "masked on the way",
    "read_before_recreation": "read before re-creation",
    "exposed_until": "in the clear until",
}
"""`masked` is not of the column: upstream a plaintext source may be behind a step that masks."""

_DIFF = ("change", "from.dataset", "from.column", "to.dataset", "to.column", "type", "masked", "job.name")
_OTHER_RUN = ("namespace", "dataset", "run.id", "run.time", "run.job.name")
_CHILD = ("id", "time", "state", "job.name")
_EDGE = ("origin", "job.namespace", "job.name", "runs", "first_seen", "last_seen", "landed", "sql")


@app.command()
def impact(
    dataset: Dataset, column: Column = None, namespace: Namespace = None, mode: Mode = None,
    depth: Annotated[int | None, typer.Option(help="At most so many edges away.")] = None, limit: Limit = None,
    view: View = None, as_of: AsOf = None, known_at: KnownAt = None, seen_since: SeenSince = None,
    roots: Annotated[bool, typer.Option("--roots", help="Only the far ends: columns that feed nothing.")] = False,
    paths: Paths = False, data: Data = None, as_json: Json = False,
) -> None:  # fmt: skip
    """List the columns that a column, or a whole dataset, ends up in."""
    asked = _asked(locals())
    _show_reach(_ask(data, "impact", asked), as_json, "Impact of")


@app.command()
def upstream(
    dataset: Dataset, column: Column = None, namespace: Namespace = None, mode: Mode = None,
    depth: Annotated[int | None, typer.Option(help="At most so many edges away.")] = None, limit: Limit = None,
    view: View = None, as_of: AsOf = None, known_at: KnownAt = None, seen_since: SeenSince = None,
    roots: Annotated[bool, typer.Option("--roots", help="Only the far ends: columns that nothing feeds.")] = False,
    paths: Paths = False, data: Data = None, as_json: Json = False,
) -> None:  # fmt: skip
    """List the columns that a column, or a whole dataset, is made of."""
    asked = _asked(locals())
    _show_reach(_ask(data, "upstream", asked), as_json, "Upstream of")


@app.command()
def path(
    start: End, end: End, mode: Mode = None, view: View = None, as_of: AsOf = None, data: Data = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Tell whether one column reaches another, and how. Status 1 if it does not."""
    found = _ask(data, "path", {**_ends(start, end), **_asked({"mode": mode, "view": view, "as_of": as_of})})
    columns = ("namespace", "dataset", "column", "via.job.name", "via.transformation.subtype")
    title = "Path" if found["reaches"] else "No path by column lineage"
    show(found, as_json, lambda: table(title, {"items": found["path"]}, columns))
    _show_stops(found, as_json)
    sys.exit(0 if found["reaches"] else 1)


@app.command()
def edge(start: End, end: End, view: View = None, as_of: AsOf = None, data: Data = None, as_json: Json = False) -> None:
    """Tell why there is an edge: which jobs, how many runs, which SQL, since when."""
    from headwater.api.lineage import edge as ask_edge
    from headwater.runtime.storage import open_bronze

    bronze, asked = open_bronze(_settings(data)), {**_ends(start, end), **_asked({"view": view, "as_of": as_of})}
    found = _certain(data, lambda lenses: ask_edge(lenses, bronze, asked))
    show(found, as_json, lambda: table("Edge", found, _EDGE))


@app.command()
def surface(
    dataset: Any_ = None, column: Column = None, namespace: Namespace = None,
    tag: Annotated[str, typer.Option(help="Tag of the columns that matter.")] = "pii",
    since: Annotated[str | None, typer.Option(help="Only what became exposed since; status 1 if anything did.")] = None,
    exposure: Annotated[
        str | None,
        typer.Option(help="Only exposed, unknown, masked, or once_exposed: masked now, in the clear before."),
    ] = None,
    limit: Limit = None, view: View = None, as_of: AsOf = None, known_at: KnownAt = None,
    seen_since: SeenSince = None, data: Data = None, as_json: Json = False,
) -> None:  # fmt: skip
    """List where tagged columns, or one column, end up: exposed, masked, or unknown."""
    asked = _asked(locals())
    from headwater.api.lineage import surface as ask_surface

    found = _certain(data, lambda lenses: ask_surface(lenses, asked))
    title = f"Newly exposed since {since}" if since else f"Masking surface, {_counted(found['exposures'])}"
    show(found, as_json, lambda: table(title, found, (*_SURFACE, *_told(found["items"], "exposed_until")), _HEADERS))
    sys.exit(1 if since and found["items"] else 0)


@app.command()
def unused(
    dataset: Any_ = None, namespace: Namespace = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="What a job read and wrote nowhere is unknown, not unused.")
    ] = False,
    limit: Limit = None, view: View = None, as_of: AsOf = None, known_at: KnownAt = None,
    seen_since: SeenSince = None, data: Data = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Tell which columns may be dropped: used, unused, or unknown where no one can tell."""
    found = _ask(data, "unused", _asked(locals()))
    columns = (*_UNUSED, *_told(found["items"], "read_before_recreation"))
    show(found, as_json, lambda: table(f"Columns, {_counted(found['verdicts'])}", found, columns, _HEADERS))
    if not as_json:
        _show_reasons(found)


@app.command()
def coverage(limit: Limit = None, as_of: AsOf = None, data: Data = None, as_json: Json = False) -> None:
    """List datasets and jobs without column lineage, and why."""
    from headwater.questions.coverage import COVERED

    found = _ask(data, "coverage", _asked({"limit": limit, "as_of": as_of}))
    columns = ("kind", "namespace", "dataset", "name", "reason")
    covered = [f"{found[kind].get(COVERED, 0)} of {sum(found[kind].values())} {kind}" for kind in ("datasets", "jobs")]
    show(found, as_json, lambda: table(f"{' and '.join(covered)} have {COVERED}; without", found, columns))


@app.command()
def diff(
    before: Annotated[Path | None, typer.Argument(help="Events of a run of the pipeline before a change.")] = None,
    after: Annotated[Path | None, typer.Argument(help="Events of a run after it.")] = None,
    from_: Annotated[str | None, typer.Option("--from", help="Instead of files: from this time …")] = None,
    to: Annotated[str | None, typer.Option("--to", help="… to this one, now without it.")] = None,
    limit: Limit = None, data: Data = None, as_json: Json = False,
) -> None:  # fmt: skip
    """List what changed between two files of events, or two moments. Status 1 if lineage was lost."""
    from headwater.api.lineage import diff as ask_diff
    from headwater.api.lineage import diff_files
    from headwater.runtime.indexes import open_rules

    settings = load_settings({"data": data})[0]
    if before and after:
        found = diff_files(open_rules(settings).current(), before, after, limit)
    elif from_ and not before:
        found = ask_diff(_lenses(data), _asked({"from": from_, "to": to, "limit": limit}))
    else:
        raise WrongQuestion("Name two files of events, or --from TIME [--to TIME].")
    counts = _counted({word: found[word] for word in ("added", "removed", "changed")})
    show(found, as_json, lambda: table(counts, found, _DIFF, {"masked": "masks"}))
    sys.exit(1 if found["removed"] else 0)


@app.command()
def run(run_id: Annotated[str, typer.Argument(help="Run id.")], data: Data = None, as_json: Json = False) -> None:
    """Show what a run read and who had written it, what it wrote and who read that, and its parts."""
    from headwater.questions.run_lineage import run_lineage

    found = _certain(data, lambda lenses: lenses.now(lambda live, _: run_lineage(live, run_id)))
    shown = {**found["run"], "job": f"{found['run']['job']['namespace']}/{found['run']['job']['name']}"}
    show(found, as_json, lambda: pairs("Run", shown))
    if not as_json:
        writers = [{**each, "run": each["written_by"]} for each in found["reads"]]
        readers = [{**each, "run": run} for each in found["writes"] for run in each["read_by"] or [None]]
        show(writers, False, lambda: table("Reads, written by", {"items": writers}, _OTHER_RUN))
        show(readers, False, lambda: table("Writes, read by", {"items": readers}, _OTHER_RUN))
        parts = {"items": found["children"], "truncated": found["truncated"]}
        show(parts, False, lambda: table("Runs that are part of it", parts, _CHILD))


@app.command()
def facets(
    entity: Annotated[str, typer.Argument(help="run, job or dataset.")],
    name: Annotated[str, typer.Argument(help="Name of the facet, such as ownership.")],
    limit: Annotated[int, typer.Option(help="At most so many.")] = 100, data: Data = None, as_json: Json = False,
) -> None:  # fmt: skip
    """List a facet's newest value for each run, job or dataset."""
    from headwater.api.facets import facets as ask_facets
    from headwater.runtime.folders import existing_folder
    from headwater.runtime.indexes import open_rules
    from headwater.runtime.storage import open_bronze

    settings = _settings(data)
    existing_folder(settings)
    names = open_rules(settings).current().names
    found = ask_facets(open_bronze(settings), names, entity=entity, name=name, limit=limit)
    show(found, as_json, lambda: table("Facets", found, ("runId", "namespace", "name", "eventTime", "facet")))


@app.command()
def search(
    text: Annotated[list[str], typer.Argument(help="Parts of names; all of them must fit. Slips are forgiven.")],
    kinds: Annotated[str | None, typer.Option(help="Only these, such as dataset,column.")] = None,
    limit: Limit = None, data: Data = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Find jobs, datasets, aliases, columns and tags by parts of their names."""
    from headwater.api.search import search as ask_search
    from headwater.runtime.folders import existing_folder
    from headwater.runtime.indexes import open_search

    settings = _settings(data)
    things = open_search(settings, existing_folder(settings))
    found = ask_search(things, _asked({"q": " ".join(text), "kinds": kinds, "limit": limit}))
    show(found, as_json, lambda: table("Found", found, _FOUND))


_FOUND = ("kind", "namespace", "name", "column", "tag", "means.dataset", "match", "uses", "last_seen")
_NAMES = {"as_of": "asOf", "known_at": "knownAt", "seen_since": "seenSince"}
_NOT_ASKED = ("data", "as_json")


def _asked(options: dict[str, Any]) -> dict[str, str]:
    """Return options as the parameters of a question: what was not given is not asked."""
    found: dict[str, str] = {}
    for name, value in options.items():
        if value is not None and value is not False and name not in _NOT_ASKED:
            found[_NAMES.get(name, name)] = "true" if value is True else str(value)
    return found


def _ends(start: str, end: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for side, text in (("from", start), ("to", end)):
        dataset, mark, column = text.rpartition("#")
        found[f"{side}Dataset"] = dataset if mark else text
        if mark:
            found[f"{side}Column"] = column
    return found


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {word}" for word, count in counts.items())


def _ask(data: Path | None, question: str, parameters: dict[str, str]) -> Any:
    from headwater.api.lineage import ask

    return _certain(data, lambda lenses: ask(lenses, question, parameters))


def _certain(data: Path | None, question: Callable[[Any], Any]) -> Any:
    """Ask lineage; raises NotKnown only for what no acknowledged event knows, else Behind."""
    from headwater.runtime.folders import existing_folder
    from headwater.runtime.indexes import open_freshness
    from headwater.runtime.logs import is_log_made, log_readers

    settings, lenses = _settings(data), _lenses(data)
    folder = existing_folder(settings)
    readers = log_readers(settings, folder) if is_log_made(settings, folder) else tuple
    return open_freshness(settings, folder, readers).certain(lambda: question(lenses))


def _settings(data: Path | None) -> Settings:
    return load_settings({"data": data})[0]


def _lenses(data: Path | None) -> Any:
    from headwater.runtime.folders import existing_folder
    from headwater.runtime.indexes import open_lenses

    settings = _settings(data)
    lenses = open_lenses(settings, existing_folder(settings))
    for problem in lenses.rules().problems:
        sys.stderr.write(f"headwater: {problem}\n")
    return lenses


def _show_reach(found: Any, as_json: bool, title: str) -> None:
    asked = found["column"]
    name = asked["dataset"] + (f"#{asked['column']}" if asked["column"] else "")
    more = " (there is more: raise --limit or --depth)" if found["truncated"] else ""
    listed = {"items": found["columns"]}
    columns = (*_COLUMNS, *_told(found["columns"], "read_before_recreation"))
    show(found, as_json, lambda: table(f"{title} {name}{more}", listed, columns, _HEADERS))
    _show_stops(found, as_json)


def _told(items: list[dict[str, Any]], member: str) -> tuple[str, ...]:
    """Return a member to be shown if it says something of any item."""
    return (member,) if any(item[member] for item in items) else ()


def _show_reasons(found: Any) -> None:
    """Print how often each reason is given, and what a proof of `unused` cannot see."""
    reasons = {"items": found["reasons"]}
    caveats = {"items": [{"caveat": each} for each in sorted({c for item in found["items"] for c in item["caveats"]})]}
    show(reasons, False, lambda: table("Reasons", reasons, ("verdict", "count", "reason")))
    if caveats["items"]:
        show(caveats, False, lambda: table("Before unused columns go", caveats, ("caveat",)))


def _show_stops(found: Any, as_json: bool) -> None:
    if not as_json and found["stops"]:
        stops = {"items": found["stops"]}
        show(stops, False, lambda: table("Only lineage of whole tables goes on from", stops, ("namespace", "dataset")))
