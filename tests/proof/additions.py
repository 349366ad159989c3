"""Operators that change or add events without hiding what existed before."""

import copy
import json
import uuid as uuids
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from tests.proof.event_edits import (
    Mutation,
    Operator,
    bound_names,
    changed,
    changed_datasets,
    changes_nothing,
    ended_names,
    folded_column,
    is_path,
    places,
    same_run,
    shown,
    time_of,
)
from tests.reference.names import Name, Names, canonical_form
from tests.reference.records import Run, facets_of, is_half, is_own_table, period_of, run_key, runs_of
from tests.reference.schemas import schema_paths
from tests.reference.world_events import (
    RECEIPT_US,
    Json,
    column_lineage,
    dataset,
    deliver,
    facet,
    run_event,
    schema,
    source,
    step,
)

PARTITION = "day=2026-03-01"
CATALOG = "hive://catalog"


def write_partition(events: Sequence[Json], chance: Random) -> Mutation | None:
    """Replace the name of an output with that of one of its partitions.

    Mentions that bind their name to a location are left out, because the new name would be bound instead.
    """
    found = [place for place in places(events, "outputs") if is_path(place.name) and "=" not in place.name[1]]
    found = [place for place in found if not is_own_table(place.name[1]) and "." not in place.name[1]]
    # a DROP or RENAME would apply to the partition only
    found = [place for place in found if changes_nothing(place.named)]
    meant = bound_names(events)
    bound = {meant(each.name) for each in places(events, "outputs") if _gives_location(each.named)}
    found = [place for place in found if meant(place.name) not in bound]
    if not found:
        return None
    place = chance.choice(found)
    partition = f"{place.name[1]}/{PARTITION}"
    where = same_run(events, place.event)
    edited = changed_datasets(
        events, where, "outputs", place.name, lambda named: named.update(namespace=place.name[0], name=partition)
    )
    return Mutation(edited, tuple(where), f"output {shown(place.name)} became its partition {PARTITION}")


def move_location(events: Sequence[Json], chance: Random) -> Mutation | None:
    """Move a table to a new location under the same symlink from some moment on.

    The operator skips the following cases:
    - The events of one run are on both sides of the moment. Lineage of the table that a newer event replaced counts
      again at the old location, so more is reported, not less. The same holds for SQL that this lineage contradicts.
    - A writer without a schema accounts for the known columns of the location (rule 4.9), but columns that only lists
      of one location have are not known at the other (the limit of 10.11).
    - SQL may refer to the table by the end of its location, which is a different table after the move.
    - A name is itself a location.
    """
    mentions: dict[Name, set[int]] = {}
    for place in places(events, "inputs", "outputs"):
        if is_path(place.name) and not is_own_table(place.name[1]):
            mentions.setdefault(canonical_form(*place.name), set()).add(time_of(events, place.event))
    names = Names(deliver(events), canonical_form)
    shared = {
        place for alias in names.bindings if len(names.locations(alias)) > 1 for _, place in names.locations(alias)
    }
    left_out = shared | ended_names(events)
    movable = sorted(name for name, times in mentions.items() if len(times) > 1 and name not in left_out)
    if not movable:
        return None
    old = chance.choice(movable)
    new, catalog = (old[0], old[1] + "_moved"), (CATALOG, "moved.t")
    moments = [
        each
        for each in sorted(mentions[old])[1:]
        if not _splits_lineage(events, old, each) and not _lists_differ(events, old, each)
    ]
    if not moments or _is_one_of_several_in_sql(events, old):
        return None
    begin_us = chance.choice(moments)

    def change(event: Json) -> None:
        for role in ("inputs", "outputs"):
            for named in event.get(role) or []:
                if canonical_form(named["namespace"], named["name"]) == old:
                    _link(named, catalog)
        if "dataset" not in event and time_of([event], 0) >= begin_us:
            _rename(event, old, new)

    edited = changed(events, range(len(events)), change)
    where = tuple(n for n, (was, now) in enumerate(zip(events, edited, strict=True)) if was != now)
    return Mutation(edited, where, f"{shown(old)} lies at {shown(new)} from event {min(where)} on", (old, new), catalog)


def append_failed_attempt(events: Sequence[Json], chance: Random) -> Mutation | None:
    """Append START and FAIL to a completed run."""
    found = [n for n, event in enumerate(events) if "run" in event and event.get("eventType") == "COMPLETE"]
    if not found:
        return None
    index, with_datasets = chance.choice(found), chance.random() < 0.5
    attempt = []
    for second, kind in enumerate(("START", "FAIL"), 1):
        event = copy.deepcopy(events[index]) | {"eventType": kind, "eventTime": later(events, second)}
        if not with_datasets:
            event |= {"inputs": [], "outputs": []}
        for place in places([event], "inputs", "outputs"):
            for name in ("tags", "symlinks"):  # repeated later, these would revert changes made in between
                place.facets.pop(name, None)
        attempt.append(event)
    name = events[index]["job"]["name"]
    return Mutation([*events, *attempt], (len(events), len(events) + 1), f"START and FAIL of a run of job {name}")


def backfill(events: Sequence[Json], chance: Random) -> Mutation | None:
    """Run a job again for an older period, for which it reads another dataset and masks."""
    found = [place for place in places(events, "outputs") if events[place.event].get("eventType") == "COMPLETE"]
    found = [place for place in found if place.column_lineage.get("fields") and changes_nothing(place.named)]
    ended, bound = ended_names(events), bound_names(events)
    found = [place for place in found if bound(place.name) not in ended]
    found = [place for place in found if not is_half(events[place.event]["job"]["name"])]
    if not found:
        return None
    place = chance.choice(found)
    again = copy.deepcopy(events[place.event]) | {"eventTime": later(events, 1)}
    facets = {name: facet for name, facet in facets_of(again["run"]).items() if name != "parent"}
    again["run"] = {"runId": _run_id(chance), "facets": facets}  # the run has a new execution
    again["job"] = again["job"] | {"facets": {k: v for k, v in facets_of(again["job"]).items() if k == "jobType"}}
    archive = (place.name[0], place.name[1] + "_archive")
    lineage = {
        column: [source(archive, column, step("DIRECT", masking=True))] for column in place.column_lineage["fields"]
    }
    fields = (place.facets.get("schema") or {}).get("fields") or []
    is_plain = not any("." in each["name"] for each in fields)  # a column `a.b` would hide that the table has structs
    is_whole = _listed_names(events, bound, bound(place.name)) <= {each["name"] for each in fields}
    kept = (
        {"schema": place.facets["schema"]} if fields and is_plain and is_whole else {}
    )  # a shorter list would drop columns
    again["inputs"] = [dataset(archive)]
    again["outputs"] = [dataset(place.name, **kept, columnLineage=column_lineage(lineage))]
    job = (again["job"]["namespace"], again["job"]["name"])

    def date(event: Json) -> None:
        facets = event["run"].get("facets") or {}
        event["run"] = event["run"] | {"facets": {"nominalTime": _period(event["eventTime"], days=0), **facets}}

    runs = {run.key: run for run in runs_of(deliver(events))}
    own = {
        n: runs[run_key(each["run"]["runId"], each["job"])]
        for n, each in enumerate(events)
        if "run" in each and (each["job"]["namespace"], each["job"]["name"]) == job
    }
    edited = changed(events, [n for n, run in own.items() if not _has_period(run, runs)], date)
    first_us = min(period_of(run, runs) for run in own.values())
    again["run"]["facets"] |= {"nominalTime": _period(_moment(first_us), days=30)}
    return Mutation([*edited, again], (len(events),), f"a backfill of job {job[1]} into {shown(place.name)}")


def append_create(events: Sequence[Json], chance: Random) -> Mutation | None:
    """Append a CREATE of a table by another job, as Spark's listener reports it for each append to a path.

    Cases are left out in which only readers name a column and every writer reports its columns. The source of such a
    column is unknown, and the new writer would be the answer (rule 8.2).
    """
    found = [place for place in places(events, "outputs") if not is_own_table(place.name[1])]
    ended, bound = ended_names(events), bound_names(events)
    found = [place for place in found if changes_nothing(place.named) and bound(place.name) not in ended]
    if not found:
        return None
    place = chance.choice(found)
    columns = [each["name"] for each in (place.facets.get("schema") or {}).get("fields") or []]
    kept = chance.choice(columns) if columns else "own" if _only_readers_name(events, bound(place.name), "id") else "id"
    change = facet(lifecycleStateChange="CREATE")
    facets: dict[str, Any] = {"schema": schema([kept]), "lifecycleStateChange": change}
    origin, inputs = (place.name[0], place.name[1] + "_other"), []
    if chance.random() < 0.5:
        facets["columnLineage"] = column_lineage({kept: [source(origin, kept, step("DIRECT", masking=True))]})
        inputs = [dataset(origin)]
    job = ("jobs", "other.execute_save_into_data_source_command.t")
    outputs = [dataset(place.name, **facets)]
    event = run_event("COMPLETE", later(events, 1), _run_id(chance), job, inputs=inputs, outputs=outputs)
    return Mutation([*events, event], (len(events),), f"CREATE of {shown(place.name)} by another job")


ADDITIONS: dict[str, Operator] = {
    "write partition": write_partition,
    "move location": move_location,
    "append failed attempt": append_failed_attempt,
    "backfill": backfill,
    "append CREATE": append_create,
}


def _splits_lineage(events: Sequence[Json], name: Name, begin_us: int) -> bool:
    """Return whether a run reports lineage or SQL of a dataset both before and after a moment."""
    sides: dict[str, set[bool]] = {}
    for place in places(events, "outputs"):
        has_sql = facets_of(events[place.event]["job"]).get("sql")
        if canonical_form(*place.name) == name and (place.column_lineage or has_sql):
            side = time_of(events, place.event) >= begin_us
            sides.setdefault(events[place.event]["run"]["runId"].lower(), set()).add(side)
    return any(len(each) > 1 for each in sides.values())


def _lists_differ(events: Sequence[Json], name: Name, begin_us: int) -> bool:
    """Return whether the lists on one side of a moment have columns that the other side lacks, in a way that matters.

    It matters if a writer on the other side reports no list.
    """
    before, after = set[str](), set[str]()
    silent = {False: False, True: False}
    for index, event in enumerate(events):
        is_after = "dataset" not in event and time_of(events, index) >= begin_us
        for role in ("inputs", "outputs", "dataset"):
            sent = event.get(role) or []
            for named in sent if isinstance(sent, list) else [sent]:
                if canonical_form(named["namespace"], named["name"]) != name:
                    continue
                fields = (facets_of(named).get("schema") or {}).get("fields") or []
                columns = {folded_column(".".join(path)) for path in schema_paths(fields)}
                (after if is_after else before).update(columns)
                silent[is_after] = silent[is_after] or (role == "outputs" and not columns)
    return bool(silent[False] and after - before) or bool(silent[True] and before - after)


def _is_one_of_several_in_sql(events: Sequence[Json], name: Name) -> bool:
    """Return whether a run's SQL uses the end of a dataset's location that another dataset of the run shares."""
    end = _end(name)
    for event in events:
        names = {canonical_form(each["namespace"], each["name"]) for each in _mentioned(event)}
        query = (facets_of(event.get("job") or {}).get("sql") or {}).get("query") or ""
        if "run" in event and name in names and end in query.casefold():
            runs = [events[n] for n in same_run(events, events.index(event))]
            every = {(each["namespace"], each["name"]) for one in runs for each in _mentioned(one)}
            if any(_end(each) == end and canonical_form(*each) != name for each in every):
                return True
    return False


def _mentioned(event: Json) -> list[Json]:
    return [*(event.get("inputs") or []), *(event.get("outputs") or [])]


def _end(name: Name) -> str:
    """Return the last part of the name of a table, or of its folder."""
    return name[1].replace(".", "/").rpartition("/")[2].casefold()


def _only_readers_name(events: Sequence[Json], name: Name, column: str) -> bool:
    """Return whether events name a column of a dataset although each writer reports, by a list or SQL, that it writes
    others.
    """
    bound, told = bound_names(events), dict[str, bool]()
    for place in places(events, "outputs"):
        if bound(place.name) == name:
            event, run = events[place.event], _run_of(events[place.event]["run"])
            fields = (place.facets.get("schema") or {}).get("fields") or []
            if column in {folded_column(each["name"]) for each in fields}:
                return False
            if column in map(folded_column, place.column_lineage.get("fields") or {}):
                return False
            told[run] = told.get(run, False) or bool(fields or facets_of(event["job"]).get("sql"))
    return all(told.values()) and f'"{column}"' in json.dumps(events).casefold()


def _listed_names(events: Sequence[Json], bound: Callable[[Name], Name], name: Name) -> set[str]:
    """Return the columns in the schemas of a dataset, with nested columns as paths."""
    told = [
        place.facets.get("schema") or {} for place in places(events, "inputs", "outputs") if bound(place.name) == name
    ]
    return {".".join(path) for each in told for path in schema_paths(each.get("fields") or [])}


def _gives_location(named: Json) -> bool:
    """Return whether a mention binds its name to a location."""
    links = (facets_of(named).get("symlinks") or {}).get("identifiers") or []
    return any(each.get("type") == "LOCATION" for each in links)


def _link(named: Json, catalog: Name) -> None:
    """Add a symlink to a mention of a dataset."""
    facets = named["facets"] = dict(facets_of(named))
    known = (facets.get("symlinks") or {}).get("identifiers") or []
    link = {"namespace": catalog[0], "name": catalog[1], "type": "TABLE"}
    facets["symlinks"] = facet(identifiers=[*known, link])


def _rename(value: Any, old: Name, new: Name) -> None:
    """Rename a dataset in all places of an event, in every spelling of its name."""
    if isinstance(value, dict):
        named = value.get("namespace"), value.get("name")
        if all(isinstance(part, str) for part in named) and canonical_form(*map(str, named)) == old:
            name = value["name"]
            # keeps the folders after the name
            value["name"] = name.replace(old[1], new[1], 1) if old[1] in name else new[1]
        value = list(value.values())
    for each in value if isinstance(value, list) else ():
        _rename(each, old, new)


def later(events: Sequence[Json], seconds: int) -> str:
    """Return a time after all events, except those with a clock that is a day ahead."""
    times = [us for n in range(len(events)) if (us := time_of(events, n)) <= RECEIPT_US]
    return _moment(max(times, default=RECEIPT_US) + seconds * 1_000_000)


def _moment(time_us: int) -> str:
    moment = datetime.fromtimestamp(time_us / 1e6, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _has_period(run: Run, runs: Mapping[str, Run]) -> bool:
    """Return whether a run or an ancestor has a period (rule 6.1), which a different period would contradict."""
    above = {run.key, run.root}
    while (key := run.parent) and key not in above and key in runs:
        above.add(key)
        run = runs[key]
    return any(key in runs and runs[key].nominal_us is not None for key in (*above, run.root) if key)


def _period(time: str, *, days: int) -> Json:
    """Return the nominal time of the day of an event, or of some days before it."""
    try:
        day = datetime.fromisoformat(time) - timedelta(days=days)
    except ValueError:
        day = datetime(2026, 3, 1, tzinfo=UTC)
    return facet(nominalStartTime=f"{day:%Y-%m-%d}T00:00:00Z", nominalEndTime=f"{day:%Y-%m-%d}T23:59:59Z")


def _run_of(run: Json) -> str:
    run_id: str = run["runId"]
    return run_id.lower()


def _run_id(chance: Random) -> str:
    return str(uuids.UUID(int=chance.getrandbits(128), version=4))
