"""Active declarations, stored in the lake as a facet of one job for each declaration. No I/O.

So any machine can withdraw a declaration, and an unchanged declaration sends no events.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from headwater.common.errors import WrongSetting
from headwater.governance.declarations.declaration import Declaration, ResolvedJob
from headwater.governance.declarations.declaration_events import (
    PRODUCER,
    Json,
    dataset_event,
    dataset_facets,
    digest_of,
    job_event,
    withdrawn_dataset,
    withdrawn_job,
)
from headwater.index.api_changes import job_deletion
from headwater.lineage.names.dataset_name import Name

FACET = "headwater_declaration"
NAMESPACE, PREFIX = "headwater", "declare/"
"""Namespace and name prefix of the job with the facet; the name of the declaration follows the prefix."""

_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"


class LedgerEntry(msgspec.Struct, frozen=True):
    """A declared job or dataset. digest: of its event. facets: names of the declared facets of a dataset."""

    namespace: str
    name: str
    digest: str
    facets: list[str] = []

    @property
    def whole(self) -> Name:
        """Its job or dataset name."""
        return Name(self.namespace, self.name)


class ActiveDeclaration(msgspec.Struct, frozen=True):
    """An active declaration. collection: the name of its folder, empty without one."""

    declaration: str
    collection: str = ""
    jobs: list[LedgerEntry] = []
    datasets: list[LedgerEntry] = []
    since: str = ""

    @property
    def is_active(self) -> bool:
        """Whether it is active, which means not withdrawn."""
        return bool(self.jobs or self.datasets)


def active_declarations(facets: Iterable[Any]) -> dict[str, ActiveDeclaration]:
    """Return active declarations by name from items of the question `facets`. Other jobs of that name are ignored."""
    found = {}
    for item in facets:
        try:
            active = msgspec.convert({**item["facet"], "since": item["eventTime"]}, ActiveDeclaration)
        except (KeyError, TypeError, msgspec.ValidationError):
            continue
        if active.is_active and (item["namespace"], item["name"]) == (NAMESPACE, PREFIX + active.declaration):
            found[active.declaration] = active
    return found


def check_conflicts(wanted: Sequence[Declaration], known: dict[str, ActiveDeclaration]) -> None:
    """Raise WrongSetting if two declarations have the same name or job, because one would replace the other."""
    holders: dict[Name, str] = {}
    names: set[str] = set()
    for each in wanted:
        if each.name in names:
            raise WrongSetting(f"Two files have the declaration name {each.name!r}. Change the `name:` of one of them.")
        names.add(each.name)
        holders |= _claim_jobs(each.name, (job.name for job in each.jobs), holders)
    for name, active in known.items():
        if name not in names:
            _claim_jobs(name, (entry.whole for entry in active.jobs), holders)


def _claim_jobs(name: str, jobs: Iterable[Name], holders: dict[Name, str]) -> dict[Name, str]:
    listed = [*jobs]
    for job in listed:
        if job in holders:
            raise WrongSetting(
                f"Job {'/'.join(job.parts)!r} is declared by {holders[job]!r} and by {name!r}. Rename the job in one "
                "of them, or withdraw the other declaration with `headwater declare --withdraw`."
            )
    return dict.fromkeys(listed, name)


def events_to_declare(wanted: Declaration, known: ActiveDeclaration | None, collection: str, time: str) -> list[Json]:
    """Return the events that activate a declaration, the ledger's event last; none if it is unchanged."""
    before = known or ActiveDeclaration(wanted.name)
    jobs = [LedgerEntry(*each.name.parts, _digest(each)) for each in wanted.jobs]
    datasets = [
        LedgerEntry(*each.name.parts, digest_of([facets := dataset_facets(each), each.name]), sorted(facets))
        for each in wanted.datasets
    ]
    now = ActiveDeclaration(wanted.name, collection, jobs, datasets)
    if (jobs, datasets, collection) == (before.jobs, before.datasets, before.collection):
        return []
    held = {each.whole: each for each in before.datasets}
    events = [job_event(each, time) for each, entry in zip(wanted.jobs, jobs, strict=True) if entry not in before.jobs]
    events += [
        dataset_event(each, wanted.name, held[each.name].facets if each.name in held else (), time)
        for each, entry in zip(wanted.datasets, datasets, strict=True)
        if entry not in before.datasets
    ]
    return [*events, *_withdrawn(before, {each.whole for each in (*jobs, *datasets)}, time), _ledger_event(now, time)]


def events_to_withdraw(known: ActiveDeclaration, time: str) -> list[Json]:
    """Return the events that withdraw a declaration."""
    removed = ActiveDeclaration(known.declaration, known.collection)
    return [*_withdrawn(known, set(), time), _ledger_event(removed, time)]


def _digest(job: ResolvedJob) -> str:
    return digest_of(job_event(job, ""))


def _withdrawn(before: ActiveDeclaration, remaining: set[Name], time: str) -> list[Json]:
    events: list[Json] = []
    for job in before.jobs:
        if job.whole not in remaining:
            events += [withdrawn_job(job.whole, time), {**job_deletion(job.whole), "eventTime": time}]
    removed = [each for each in before.datasets if each.whole not in remaining]
    return [*events, *(withdrawn_dataset(each.whole, before.declaration, each.facets, time) for each in removed)]


def _ledger_event(active: ActiveDeclaration, time: str) -> Json:
    members = {name: value for name, value in msgspec.to_builtins(active).items() if name != "since"}
    facet = {"_producer": PRODUCER, "_schemaURL": f"{_SPEC}JobFacet", **members}
    job = {"namespace": NAMESPACE, "name": PREFIX + active.declaration, "facets": {FACET: facet}}
    return {"eventTime": time, "producer": PRODUCER, "schemaURL": f"{_SPEC}JobEvent", "job": job}
