"""Which jobs are retired (docs/lineage.md: rule 6.11)."""

from collections import defaultdict
from collections.abc import Iterable
from random import Random

from tests.reference.records import Delivered, Run, job_key
from tests.reference.world_events import START_US, Json, at, deliver, facet, run_event, uuid


def retired_jobs(events: Iterable[Delivered], runs: Iterable[Run]) -> set[tuple[str, str]]:
    """Return the keys of the jobs of which no event is later than the last that deleted them or their namespace."""
    every = list(events)
    deleted: dict[tuple[str, str], int] = {}
    for event in every:
        change = event.facets("run").get("headwater_change") if "run" in event.event else None
        if not change or change["mark"] != "deleted" or event.event["job"]["namespace"] != "headwater":
            continue
        if event.event["eventType"] == "COMPLETE" and not event.is_ahead and change["kind"] != "DATASET":
            named = job_key(change) if change["kind"] == "JOB" else (change["namespace"], "")
            deleted[named] = max(event.time_us, deleted.get(named, event.time_us))
    seen: dict[tuple[str, str], list[int]] = defaultdict(list)
    for run in runs:
        seen[run.job_key] += [event.time_us for event in run.events]
    for event in every:
        if "job" in event.event and "run" not in event.event:
            seen[job_key(event.event["job"])].append(event.time_us)
    ends = {key: [deleted[each] for each in (key, (key[0], "")) if each in deleted] for key in seen}
    return {key for key, times in seen.items() if ends[key] and max(times) <= max(ends[key])}


def deletion(second: float, namespace: str, name: str, number: int = 900, kind: str = "JOB") -> Json:
    """Return the event that deletes a job, or a namespace."""
    change = facet(mark="deleted", kind=kind, namespace=namespace, name=name, value="true")
    job = ("headwater", f"api.delete_{kind.lower()}")
    return run_event("COMPLETE", at(second), uuid(number), job, run_facets={"headwater_change": change})


def with_deletions(world: list[Delivered], seed: int) -> list[Delivered]:
    """Return a world in which some of its jobs, and seldom a whole namespace, are deleted in between or at the end."""
    chance = Random(seed)
    named = sorted({(job["namespace"], job["name"]) for each in world if (job := each.event.get("job"))})
    deletions = []
    for number, (namespace, name) in enumerate(chance.sample(named, min(len(named), chance.randint(1, 2)))):
        kind = "NAMESPACE" if chance.random() < 0.1 else "JOB"
        moment = chance.choice([*(each.time_us for each in world)]) + chance.randint(-1, 1) * 1_000_000
        second = 300.0 if chance.random() < 0.4 else (moment - START_US) / 1_000_000
        deletions.append(deletion(second, namespace, name, 900 + number, kind))
    return world + deliver(deletions)
