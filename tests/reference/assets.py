"""Inlets and outlets of Airflow tasks (docs/reference/lineage.md, 4.14), and test data in which some runs have them."""

import ast
from collections.abc import Iterable
from dataclasses import replace
from random import Random
from typing import Any

from tests.reference.records import Delivered, is_own_table, runs_of
from tests.reference.world_events import facet

SIDES = {"inputs": "inlets", "outputs": "outlets"}


def with_assets_as_datasets(events: list[Delivered]) -> list[Delivered]:
    """Return the events with inlets and outlets as datasets, for runs whose effective events list no datasets.

    The SQL of such runs is removed.
    """
    changed: dict[str, Delivered] = {}
    for run in runs_of(each for each in events if "run" in each.event):
        attempted = run.attempted
        groups = [run.telling] if attempted in {None, run} else [run.telling, attempted.telling]
        for group in groups:
            for side, word in SIDES.items():
                if any(not is_own_table(each["name"]) for event in group for each in event.datasets(side)):
                    continue
                for event in group:
                    if named := _named(event, word):
                        known = changed.get(event.event_id, event)
                        changed[event.event_id] = replace(known, event={**known.event, side: named})
            if any(event.event_id in changed for event in group):
                for event in group:
                    known = changed.get(event.event_id, event)
                    changed[event.event_id] = replace(known, event=_without_sql(known.event))
    return [changed.get(event.event_id, event) for event in events]


def _named(event: Delivered, word: str) -> list[dict[str, str]]:
    told = ((event.facets("run").get("airflow") or {}).get("task") or {}).get(word) or "[]"
    try:
        listed = ast.literal_eval(told)
    except ValueError:
        return []
    return [_dataset(each if isinstance(each, str) else each["uri"]) for each in listed]


def _dataset(address: str) -> dict[str, str]:
    scheme, _, rest = address.partition("://")
    server, _, path = rest.partition("/")
    return {"namespace": f"{scheme}://{server}", "name": path}


def _without_sql(event: dict[str, Any]) -> dict[str, Any]:
    job = event["job"]
    return {**event, "job": {**job, "facets": {k: v for k, v in (job.get("facets") or {}).items() if k != "sql"}}}


def with_assets(world: Iterable[Delivered], seed: int) -> list[Delivered]:
    """Return the events with inlets and outlets added to some, either in place of the listed datasets or in
    addition.
    """
    chance = Random(seed)
    events = list(world)
    addresses = sorted({
        f"{each['namespace']}/{each['name']}" for event in events for each in event.datasets("inputs", "outputs")
        if "://" in each["namespace"] and "/" not in each["namespace"].partition("://")[2]
        and not set("/?#") & set(each["name"]) and each["namespace"].partition("://")[0] in {"s3", "abfss", "hive"}
    })  # fmt: skip
    return [_with_assets(event, addresses, chance) if "run" in event.event else event for event in events]


def _with_assets(event: Delivered, addresses: list[str], chance: Random) -> Delivered:
    if not addresses or chance.random() > 0.3:
        return event
    told: dict[str, Any] = {"task_id": "t"}
    changed = dict(event.event)
    for side, word in SIDES.items():
        listed = [
            f"{each['namespace']}/{each['name']}" for each in event.datasets(side)
            if f"{each['namespace']}/{each['name']}" in addresses
        ]  # fmt: skip
        if listed and chance.random() < 0.6:  # replaces the listed datasets
            changed[side], named = [], listed
        else:
            named = chance.sample(addresses, min(len(addresses), chance.randint(0, 2)))
        told[word] = str([each if chance.random() < 0.5 else {"uri": each, "extra": None} for each in named])
    run = changed["run"]
    changed["run"] = {**run, "facets": {**(run.get("facets") or {}), "airflow": facet(task=told)}}
    return replace(event, event=changed)
