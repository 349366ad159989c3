"""Jobs that are retired or presumed retired (docs/reference/lineage.md: rules 6.11 and 6.12)."""

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

from tests.reference.records import Delivered, Run, job_key
from tests.reference.world_events import START_US, Json, at, dataset, deliver, facet, run_event, uuid

if TYPE_CHECKING:
    from tests.reference.solver import Reference


def retired_jobs(events: Iterable[Delivered], runs: Iterable[Run]) -> set[tuple[str, str]]:
    """Return the keys of deleted jobs, and of jobs in deleted namespaces, that sent no event after the deletion."""
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
    shown: dict[tuple[str, str], tuple[str, str]] = {}
    for run in sorted(runs, key=lambda run: (run.time_us or run.last_us, run.key)):
        seen[run.job_key] += [event.time_us for event in run.events]
        shown[run.job_key] = job_key(run.events[-1].event["job"])
    for event in every:
        if "job" in event.event and "run" not in event.event:
            seen[job_key(event.event["job"])].append(event.time_us)
    ends = {
        key: [deleted[each] for each in (key, shown.get(key, key), (key[0], "")) if each in deleted] for key in seen
    }
    return {key for key, times in seen.items() if ends[key] and max(times) <= max(ends[key])}


def presumed_retired(lineage: "Reference") -> set[tuple[str, str]]:
    """Return the keys of silent jobs whose outputs other jobs have rewritten since."""
    window_us, end_us = lineage.window_us, lineage.window_end_us
    if not window_us or end_us is None:
        return set()
    by_job: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in lineage.runs:
        by_job[run.job_key].append(run)
    declared: dict[tuple[str, str], int] = {}
    for event in lineage.events:
        if "job" in event.event and "run" not in event.event:
            key = job_key(event.event["job"])
            declared[key] = max(event.time_us, declared.get(key, event.time_us))
    found = set()
    for job, runs in by_job.items():
        times = sorted(max(event.time_us for event in run.events) for run in runs)
        seen_us = max(times[-1], declared.get(job, times[-1]))
        longest_us = max((later - earlier for earlier, later in pairwise(times)), default=0)
        accounts = [each for each in lineage.working if each.run and each.run.job_key == job]
        outputs = {writing.output for each in accounts for writing in each.writings}
        there = [each for each in outputs if not lineage.generations.is_dropped(each)]
        only_reads = any(each.is_without_output for each in accounts)
        began = [rewrite[0] if (rewrite := lineage.newest_rewrite(each)) else seen_us for each in there]
        is_old = seen_us < end_us - window_us and end_us - seen_us > 2 * longest_us
        if is_old and began and not only_reads and min(began) > seen_us:
            found.add(job)
    return found


def deletion(second: float, namespace: str, name: str, number: int = 900, kind: str = "JOB") -> Json:
    """Return the event that deletes a job or a namespace."""
    change = facet(mark="deleted", kind=kind, namespace=namespace, name=name, value="true")
    job = ("headwater", f"api.delete_{kind.lower()}")
    return run_event("COMPLETE", at(second), uuid(number), job, run_facets={"headwater_change": change})


def with_deletions(world: list[Delivered], seed: int) -> list[Delivered]:
    """Return the events with deletions of some jobs, rarely of a whole namespace, at random times or at the end."""
    chance = Random(seed)
    jobs = [job for each in world if (job := each.event.get("job")) and job["namespace"] != "headwater"]
    named = sorted({(job["namespace"], job["name"]) for job in jobs})
    deletions = []
    for number, (namespace, name) in enumerate(chance.sample(named, min(len(named), chance.randint(1, 2)))):
        kind = "NAMESPACE" if chance.random() < 0.1 else "JOB"
        moment = chance.choice([*(each.time_us for each in world)]) + chance.randint(-1, 1) * 1_000_000
        second = 300.0 if chance.random() < 0.4 else (moment - START_US) / 1_000_000
        deletions.append(deletion(second, namespace, name, 900 + number, kind))
    return world + deliver(deletions)


def with_rewrites(world: list[Delivered], seed: int) -> list[Delivered]:
    """Return the events followed by a new job that overwrites most outputs, and by a long pause."""
    chance = Random(seed)
    named = sorted({(to["namespace"], to["name"]) for each in world for to in each.event.get("outputs") or ()})
    overwritten = facet(lifecycleStateChange="OVERWRITE")
    rewrites = [
        run_event(
            "COMPLETE", at(chance.randint(20, 60)), uuid(950 + number), ("jobs", f"anew.{number % 2}"),
            outputs=[dataset(output, lifecycleStateChange=overwritten)],
        )
        for number, output in enumerate(named)
        if chance.random() < 0.8
    ]  # fmt: skip
    return world + deliver([*rewrites, run_event("COMPLETE", at(400), uuid(990), ("jobs", "later"))])
