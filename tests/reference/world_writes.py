"""Add write kinds, periods, jobs and declarations to generated events.

The choices depend on checksums instead of draws, so that existing generated events do not change.
"""

import zlib
from collections.abc import Sequence

from tests.reference.records import is_own_table
from tests.reference.world_events import Json, at, facet, job_event, run_event, source, step, uuid


def add_writes(events: Sequence[Json]) -> None:
    """Add a period to some runs, a lifecycle change to some outputs, and a partition to some names."""
    many = len(events)
    above = {run for event in events for run in _above(event)}
    for event in events:
        if "run" not in event:
            continue
        run = event["run"]["runId"].lower()
        chance = zlib.crc32(f"{run} {many}".encode())
        if chance % 4 == 0 and run not in above:
            days = -(chance // 4 % 3)
            period = facet(nominalStartTime=at(days * 86_400), nominalEndTime=at(chance // 16 % 40))
            event["run"]["facets"] = {**(event["run"].get("facets") or {}), "nominalTime": period}
        for number, named in enumerate(event.get("outputs") or []):
            _add_write(named, zlib.crc32(f"{run} {many} {number}".encode()))


def _above(event: Json) -> list[str]:
    """Return the parent and root runs of an event's run."""
    told = ((event.get("run") or {}).get("facets") or {}).get("parent") or {}
    return [each["run"]["runId"].lower() for each in (told, told.get("root") or {}) if each.get("run")]


def _add_write(named: Json, chance: int) -> None:
    if chance % 5 == 0 and "lifecycleStateChange" not in (named.get("facets") or {}):
        change = ("OVERWRITE", "CREATE", "OVERWRITE", "TRUNCATE")[chance // 5 % 4]
        named["facets"] = {**(named.get("facets") or {}), "lifecycleStateChange": facet(lifecycleStateChange=change)}
    if chance % 17 == 0 and named["namespace"].startswith("abfss://"):
        named["name"] += "/day=1"


def add_copies(events: Sequence[Json]) -> None:
    """Turn some edges between columns of the same name into unchanged copies."""
    for event in events:
        about = [*(event.get("outputs") or []), event.get("dataset") or {}]
        for number, named in enumerate(about):
            lineage = (named.get("facets") or {}).get("columnLineage") or {}
            for output, told in (lineage.get("fields") or {}).items():
                for given in told.get("inputFields") or []:
                    same = given.get("field") == output and zlib.crc32(f"{output} {number}".encode()) % 2 == 0
                    steps = given.get("transformations") or []
                    given["transformations"] = (
                        [
                            {**each, "subtype": "IDENTITY"} if same and each["type"] == "DIRECT" else each
                            for each in steps
                        ]
                        if steps
                        else steps
                    )


def add_jobs(events: Sequence[Json]) -> None:
    """Let jobs feed some fields and outputs in `lineage` facets: jobs of other events, and one that no
    event contains.
    """
    jobs = [_named(event["job"]) for event in events if "job" in event]
    for number, event in enumerate(events):
        about = [*(event.get(role) or {} for role in ("run", "job", "dataset")), *(event.get("outputs") or [])]
        facets = [(named.get("facets") or {}).get("lineage") or {} for named in about]
        entries = [
            entry for facet_ in facets for entry in facet_.get("entries", [facet_] if "inputs" in facet_ else [])
        ]
        for place, entry in enumerate(entries):
            chance = zlib.crc32(f"{event['eventTime']} {number} {place} {len(events)}".encode())
            if chance % 3 == 0:
                namespace, name = [*jobs, ("jobs", "nobody")][chance // 3 % (len(jobs) + 1)]
                fields = list(entry.get("fields") or {})
                into = entry["fields"][fields[0]] if fields and chance // 64 % 2 else entry
                into["inputs"] = [*into["inputs"], {"namespace": namespace, "name": name, "type": "JOB"}]


def add_fed_jobs(events: Sequence[Json]) -> None:
    """Let some runs and jobs report what feeds jobs: their own jobs, others, and one that no event contains."""
    jobs = [_named(event["job"]) for event in events if "job" in event]
    datasets = [each for event in events for each in (*(event.get("inputs") or []), *(event.get("outputs") or []))]
    for number, event in enumerate(events):
        chance = zlib.crc32(f"fed {event['eventTime']} {number} {len(events)}".encode())
        told = ((event.get("run") or event.get("job") or {}).get("facets") or {}).get("lineage")
        if "job" not in event or not datasets or chance % (3 if told else 12):
            continue
        namespace, name = [*jobs, ("jobs", "nobody")][chance // 64 % (len(jobs) + 1)]
        into = {"type": "JOB"} | ({"namespace": namespace, "name": name} if chance // 16 % 2 else {})
        sources = [_fed(datasets[(chance // 128 + 7 * place) % len(datasets)], chance >> place) for place in (0, 1)]
        if chance // 32 % 4 == 0:
            sources.append({"type": "JOB"} | dict(zip(("namespace", "name"), jobs[chance % len(jobs)], strict=True)))
        whole = event.get("run") or event["job"]
        entries = [*(told or {}).get("entries", []), {**into, "inputs": sources}]
        whole["facets"] = {**(whole.get("facets") or {}), "lineage": facet(entries=entries)}


def _fed(named: Json, chance: int) -> Json:
    """Return a dataset as a source, with one of its columns in two of three cases."""
    fields = (((named.get("facets") or {}).get("schema") or {}).get("fields")) or [{"name": "x"}]
    field = {"field": fields[chance // 8 % len(fields)]["name"]} if chance % 3 else {}
    return {"namespace": named["namespace"], "name": named["name"], "type": "DATASET", **field}


def commits(events: Sequence[Json]) -> list[Json]:
    """Return events that report what commits prove about the writes of some runs."""
    proofs: dict[int, list[Json]] = {}
    for number, event in enumerate(events):
        for place, named in enumerate((event.get("outputs") or []) if "run" in event else []):
            chance = zlib.crc32(f"commit {event['run']['runId']} {number} {place} {len(events)}".encode())
            if chance % 6 == 0 and not is_own_table(named["name"]):
                proves = ("whole", "part", "whole", "nothing")[chance // 6 % 4]
                name = {"namespace": named["namespace"], "name": named["name"]}
                told = {"run": event["run"]["runId"], "proves": proves, **name}
                proofs.setdefault(chance // 24 % 2, []).append(told)
    return [
        run_event(
            "COMPLETE", at(20 * by), uuid(940 + by), ("headwater", f"reconcile/{by}"),
            run_facets={"headwater_commits": facet(commits=told)},
        )
        for by, told in sorted(proofs.items())
    ]  # fmt: skip


def declarations(events: Sequence[Json]) -> list[Json]:
    """Return JobEvents that declare the outputs of some jobs with runs, mostly for all columns."""
    found: list[Json] = []
    for event in events:
        inputs = [each for each in event.get("inputs") or [] if not is_own_table(each["name"])]
        outputs = [{**each} for each in event.get("outputs") or [] if inputs]
        chance = zlib.crc32(f"{event.get('run')} {len(events)} {len(outputs)}".encode())
        if "run" not in event or not outputs or chance % 9 or any(each["job"] == event["job"] for each in found):
            continue
        for output in outputs:
            facets = output.get("facets") or {}
            output["facets"] = {key: value for key, value in facets.items() if key in ("schema", "symlinks")}
            _declare_all(output, inputs, events if chance // 9 % 4 else [])
        found.append(job_event(at(chance // 64 % 40), _named(event["job"]), [], outputs))
    return found


def _declare_all(output: Json, inputs: Sequence[Json], events: Sequence[Json]) -> None:
    """Declare inputs for every column that an event lists for an output."""
    every = [each for event in events for role in ("inputs", "outputs") for each in event.get(role) or []]
    schemas = [(each.get("facets") or {}).get("schema") or {} for each in every if _named(each) == _named(output)]
    columns = dict.fromkeys(each["name"] for schema in schemas for each in schema.get("fields") or [])
    facets = output.get("facets") or {}
    lineage = facets.get("columnLineage") or {}
    fields = {
        column: {"inputFields": [source(_named(inputs[number % len(inputs)]), "id", step("DIRECT"))]}
        for number, column in enumerate(columns)
    }
    told = {**lineage, "fields": fields | (lineage.get("fields") or {})}
    if told["fields"]:
        output["facets"] = {**facets, "columnLineage": facet(**told)}


def _named(named: Json) -> tuple[str, str]:
    return named["namespace"], named["name"]
