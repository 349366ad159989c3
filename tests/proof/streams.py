"""The worlds of the proof: parts of recorded streams, and generated ones."""

import copy
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.names.dataset_name import Name
from tests.proof.additions import backfill, later
from tests.proof.event_edits import places
from tests.proof.ranks import Asked, Column, is_end_of_a_name, lineage_sources
from tests.reference.names import Name as Named
from tests.reference.records import facets_of
from tests.reference.world_events import SCHEMA_URL, START, Json, dataset, dataset_event, facet, job_event
from tests.reference.worlds import random_world
from tests.support.paths import EVENTS, FIXTURES, ROOT

RECORDED = {
    "spark-3.5.7": EVENTS / "spark-3.5.7-listener-1.53.0.ndjson",
    "dataproc-complete": EVENTS / "compat-spark-dataproc-complete.ndjson",
    "dataproc-simple": EVENTS / "compat-spark-dataproc-simple.ndjson",
    "spline-airflow": EVENTS / "spline-airflow-example.ndjson",
    "spec-full-event": EVENTS / "spec-full-event.ndjson",
    "compat-cll": ROOT / "compat" / "scenarios" / "CLL.ndjson",
    "compat-airflow": ROOT / "compat" / "scenarios" / "airflow.ndjson",
    "compat-bigquery": ROOT / "compat" / "scenarios" / "spark_dataproc_bigquery_shakespare.ndjson",
    "demo": FIXTURES / "sql" / "demo.ndjson",
    "hive": FIXTURES / "sql" / "hive-expected.ndjson",
}
"""Recorded events of real producers, shared with other tests. The cases in `cases/` are added to them."""
LONGEST = 16  # maximum number of events taken from a recorded stream
BACKFILLED = 0.1  # share of worlds in which a job may run again for an older period
DECLARED = 0.1  # share of worlds in which a JobEvent declares what a run of its job reports
QUESTIONS = 3  # number of impact questions, and of upstream questions, for each world


class Stream(NamedTuple):
    """A world and its origin."""

    name: str
    events: list[Json]


def streams(first: int, count: int) -> list[Stream]:
    """Return worlds by number, alternately recorded and generated."""
    return [stream(number) for number in range(first, first + count)]


def stream(number: int) -> Stream:
    """Return the world of a number, which is always the same."""
    chance = Random(number)
    found = recorded(chance) if number % 2 else generated(number // 2, chance)
    events = _with_backfill(untied(found.events), Random(f"backfill {number}"))
    return Stream(found.name, _with_declaration(events, Random(f"declaration {number}")))


def _with_backfill(events: list[Json], chance: Random) -> list[Json]:
    """In some worlds, run a job again for an older period. Without its `nominalTime` it would be the newest run."""
    again = backfill(events, chance) if chance.random() < BACKFILLED else None
    return again.after if again else events


def _with_declaration(events: list[Json], chance: Random) -> list[Json]:
    """In some worlds, declare what a run reports. Without the run's lineage, the declaration explains the run."""
    found = [place for place in places(events, "outputs") if place.column_lineage.get("fields")]
    if not found or chance.random() >= DECLARED:
        return events
    place = chance.choice(found)
    job, about = events[place.event]["job"], dataset(place.name, columnLineage=copy.deepcopy(place.column_lineage))
    return [*events, job_event(later(events, 2), (job["namespace"], job["name"]), [], [about])]


def untied(events: Sequence[Json]) -> list[Json]:
    """Return each event once, at distinct times. Ties would depend on hashes, which each change alters."""
    taken: set[datetime] = set()
    apart: list[Json] = []
    seen: list[Json] = []
    for event in events:
        if event in seen:
            continue
        seen.append(event)
        apart.append(event if not _is_event(event) else _moved_off(event, taken))
    return apart


def _moved_off(event: Json, taken: set[datetime]) -> Json:
    """Return an event at the next free time."""
    moment = _time(event)
    if moment not in taken:
        taken.add(moment)
        return event
    while moment in taken:
        moment += timedelta(milliseconds=1)
    taken.add(moment)
    return event | {"eventTime": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")}


def recorded(chance: Random) -> Stream:
    """Return related runs of a recorded stream, with added tags and shifted to March 2026."""
    name = chance.choice(sorted(recordings()))
    events = copy.deepcopy(_part(recordings()[name], chance))
    shift = START + timedelta(minutes=50) - max(_time(event) for event in events)
    for event in events:
        event["eventTime"] = _shifted(event["eventTime"], shift)
        period = facets_of(event.get("run") or {}).get("nominalTime") or {}
        period.update({key: _shifted(period[key], shift) for key in period if not key.startswith("_")})
    return Stream(name, [*events, *_tags(events, chance)])


def generated(seed: int, chance: Random) -> Stream:
    """Return a random world of the reference. Some runs report their period, or which part they read or write."""
    events = [each.event for each in random_world(seed)]
    for place in places(events, "inputs", "outputs"):
        if chance.random() < 0.15:
            own = events[place.event] = copy.deepcopy(events[place.event])
            column = chance.choice(["id", "amount"])
            holder = "inputFacets" if place.role == "inputs" else "outputFacets"
            own[place.role][place.number].setdefault(holder, {})["subset"] = _subset(place.role, column)
        if place.role == "outputs" and chance.random() < 0.15:
            own = events[place.event] = copy.deepcopy(events[place.event])
            facets = own["outputs"][place.number].setdefault("facets", {})
            facets.setdefault("lifecycleStateChange", facet(lifecycleStateChange="OVERWRITE"))
    for index, event in enumerate(events):
        if "run" in event and chance.random() < 0.2:
            own = events[index] = copy.deepcopy(event)
            day = START - timedelta(days=chance.choice((0, 0, 1, 30)))
            period = facet(nominalStartTime=f"{day:%Y-%m-%d}T00:00:00Z", nominalEndTime=f"{day:%Y-%m-%d}T23:59:59Z")
            own["run"]["facets"] = {**facets_of(own["run"]), "nominalTime": period}
    return Stream(f"generated-{seed}", events)


def questions_about(events: Sequence[Json], chance: Random) -> Asked:
    """Choose columns in lineage: sources for impact, targets for upstream."""
    sources: set[Column] = set()
    targets: set[Column] = set()
    for place in places(events, "outputs"):
        sources |= {(each["namespace"], each["name"], each.get("field")) for each in lineage_sources(place.facets)}
        targets |= {(*place.name, column) for column in place.column_lineage.get("fields") or {}}
    impact, upstream = (_some({each for each in columns if each[2]}, chance) for columns in (sources, targets))
    return Asked(impact, upstream, mode=chance.choice(("value", "any")))


@cache
def recordings() -> dict[str, list[Json]]:
    """Return the valid events of each recorded stream and of each case."""
    files = RECORDED | {f"case-{path.stem}": path for path in (Path(__file__).parent / "cases").glob("*.ndjson")}
    return {name: _read(path) for name, path in files.items()}


def _read(path: Path) -> list[Json]:
    events = []
    for number, line in enumerate(path.read_text("utf-8").splitlines()):
        event = json.loads(line)
        if "run" in event:  # tests of producers omit values that change with each run
            event.setdefault("eventTime", (START + timedelta(seconds=number)).isoformat())
            event.setdefault("producer", "https://example.org/producer")
            event.setdefault("schemaURL", SCHEMA_URL + "RunEvent")
        if _is_event(event):
            _write_as_meant({**event, "job": None}, event)
            events.append(event)
    return events


def _write_as_meant(value: Any, event: Json) -> None:
    """Replace names that depend on the event (rule 2.1) with their final form, because the reference lacks
    these rules.
    """
    if isinstance(value, dict):
        if isinstance(value.get("namespace"), str) and isinstance(value.get("name"), str):
            name, rules = Name(value["namespace"], value["name"]), default_rules().of_events
            if rules.may_apply(name):
                meant = rules.event_form(name, event["producer"], (event.get("job") or {}).get("namespace") or "")
                value.update(namespace=meant.namespace, name=meant.name)
        value = list(value.values())
    for each in value if isinstance(value, list) else ():
        _write_as_meant(each, event)


def _is_event(event: Json) -> bool:
    try:
        _time(event)
    except (KeyError, ValueError):
        return False
    return "runId" in event["run"] if "run" in event else "job" in event or "dataset" in event


def _time(event: Json) -> datetime:
    return _moment(event["eventTime"])


def _moment(time: str) -> datetime:
    moment = datetime.fromisoformat(time)
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _shifted(time: str, shift: timedelta) -> str:
    moment = _moment(time) + shift
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _part(events: list[Json], chance: Random) -> list[Json]:
    """Return the complete events of a run, and of runs with common datasets, until there are enough."""
    runs: dict[str, list[int]] = {}
    for index, event in enumerate(events):
        runs.setdefault(event["run"]["runId"].lower() if "run" in event else f"declared {index}", []).append(index)
    writing = [key for key, own in runs.items() if any(events[n].get("outputs") or "dataset" in events[n] for n in own)]
    chosen: list[str] = [chance.choice(writing or list(runs))]
    taken = set(runs[chosen[0]])
    while True:
        near = {name for index in taken for name in _names(events[index])}
        more = [
            key
            for key, own in runs.items()
            if key not in chosen
            if len(taken) + len(own) <= LONGEST and near & {name for index in own for name in _names(events[index])}
        ]
        if not more:
            return [events[index] for index in sorted(taken)]
        chosen.append(chance.choice(more))
        taken.update(runs[chosen[-1]])


def _names(event: Json) -> set[Named]:
    about = [event["dataset"]] if "dataset" in event else []
    named = [*(event.get("inputs") or []), *(event.get("outputs") or []), *about]
    told = [step for each in named for step in lineage_sources(facets_of(each))]
    return {(each["namespace"], each["name"]) for each in [*named, *told]}


def _tags(events: Sequence[Json], chance: Random) -> list[Json]:
    """Tag one or two columns that lineage names as a source, or else that a schema names."""
    sources: set[Column] = set()
    for place in places(events, "inputs", "outputs"):
        sources |= {(each["namespace"], each["name"], each.get("field")) for each in lineage_sources(place.facets)}
        if place.role == "inputs":
            fields = (place.facets.get("schema") or {}).get("fields") or []
            sources |= {(*place.name, each["name"]) for each in fields[:3]}
    listed = {place.name for place in places(events, "inputs", "outputs")}
    tagged = _some({each for each in sources if each[2] and not is_end_of_a_name(each[:2], listed)}, chance)[:2]
    events_of_tags = []
    for number, (namespace, name, column) in enumerate(tagged):
        tag = {"key": "pii", "value": "true", "source": "USER", "field": column}
        about = dataset((namespace, name), tags=facet(tags=[tag]))
        producer = f"https://example.org/tags/{number}"
        events_of_tags.append(dataset_event((START + timedelta(minutes=51)).isoformat(), about, producer))
    return events_of_tags


def _some(columns: set[Column], chance: Random) -> tuple[Column, ...]:
    ordered = sorted(columns, key=repr)
    return tuple(chance.sample(ordered, min(QUESTIONS, len(ordered))))


def _subset(role: str, column: str) -> Json:
    condition = {"type": "partition", "partitions": [{"identifier": f"{column}=1", "dimensions": {column: "1"}}]}
    return facet(**{"inputCondition" if role == "inputs" else "outputCondition": condition})
