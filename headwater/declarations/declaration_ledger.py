"""What stands declared, as the lake itself knows it: a facet of one job for each declaration (pure).

So a declaration can be withdrawn from anywhere, and one that stands already sends nothing.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from headwater.declarations.declaration import Declaration, ResolvedJob
from headwater.declarations.declaration_events import (
    PRODUCER,
    Json,
    dataset_event,
    dataset_facets,
    digest_of,
    job_event,
    withdrawn_dataset,
    withdrawn_job,
)
from headwater.errors import WrongSetting
from headwater.index.writing.announced_changes import job_deleted
from headwater.lineage.names.dataset_name import Name

FACET = "headwater_declaration"
NAMESPACE, PREFIX = "headwater", "declare/"
"""Of the job that carries the facet; behind the prefix stands the declaration's name."""

_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"


class LedgerEntry(msgspec.Struct, frozen=True):
    """A job or dataset that a declaration holds; digest: of what it says; facets: that are declared of a dataset."""

    namespace: str
    name: str
    digest: str
    facets: list[str] = []

    @property
    def whole(self) -> Name:
        """Which job or dataset it is."""
        return Name(self.namespace, self.name)


class StandingDeclaration(msgspec.Struct, frozen=True):
    """A declaration that stands; collection: of the folder that it came with, empty without one."""

    declaration: str
    collection: str = ""
    jobs: list[LedgerEntry] = []
    datasets: list[LedgerEntry] = []
    since: str = ""

    @property
    def stands(self) -> bool:
        """Whether it was not withdrawn."""
        return bool(self.jobs or self.datasets)


def standing(facets: Iterable[Any]) -> dict[str, StandingDeclaration]:
    """Return what stands by name, of the items of the question `facets`; strangers' jobs of that name are left out."""
    found = {}
    for item in facets:
        try:
            said = msgspec.convert({**item["facet"], "since": item["eventTime"]}, StandingDeclaration)
        except (KeyError, TypeError, msgspec.ValidationError):
            continue
        if said.stands and (item["namespace"], item["name"]) == (NAMESPACE, PREFIX + said.declaration):
            found[said.declaration] = said
    return found


def check_apart(wanted: Sequence[Declaration], known: dict[str, StandingDeclaration]) -> None:
    """Raise WrongSetting where two declarations are of one name, or of one job: the later would take its place."""
    holders: dict[Name, str] = {}
    names: set[str] = set()
    for each in wanted:
        if each.name in names:
            raise WrongSetting(f"Two files declare {each.name!r}. Give one of them another `name:`.")
        names.add(each.name)
        holders |= _held(each.name, (job.name for job in each.jobs), holders)
    for name, said in known.items():
        if name not in names:
            _held(name, (entry.whole for entry in said.jobs), holders)


def _held(name: str, jobs: Iterable[Name], holders: dict[Name, str]) -> dict[Name, str]:
    listed = [*jobs]
    for job in listed:
        if job in holders:
            raise WrongSetting(
                f"Job {'/'.join(job.parts)!r} is declared by {holders[job]!r} and by {name!r}. Keep it in one of them: "
                "give it another name, or withdraw the other with `headwater declare --withdraw`."
            )
    return dict.fromkeys(listed, name)


def events_to_declare(wanted: Declaration, known: StandingDeclaration | None, collection: str, time: str) -> list[Json]:
    """Return the events that make a declaration stand, the ledger's last; none where it stands so already."""
    before = known or StandingDeclaration(wanted.name)
    jobs = [LedgerEntry(*each.name.parts, _digest(each)) for each in wanted.jobs]
    datasets = [
        LedgerEntry(*each.name.parts, digest_of([facets := dataset_facets(each), each.name]), sorted(facets))
        for each in wanted.datasets
    ]
    now = StandingDeclaration(wanted.name, collection, jobs, datasets)
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


def events_to_withdraw(known: StandingDeclaration, time: str) -> list[Json]:
    """Return the events after which nothing of a declaration stands."""
    gone = StandingDeclaration(known.declaration, known.collection)
    return [*_withdrawn(known, set(), time), _ledger_event(gone, time)]


def _digest(job: ResolvedJob) -> str:
    return digest_of(job_event(job, ""))


def _withdrawn(before: StandingDeclaration, left: set[Name], time: str) -> list[Json]:
    events: list[Json] = []
    for job in before.jobs:
        if job.whole not in left:
            events += [withdrawn_job(job.whole, time), {**job_deleted(job.whole), "eventTime": time}]
    gone = [each for each in before.datasets if each.whole not in left]
    return [*events, *(withdrawn_dataset(each.whole, before.declaration, each.facets, time) for each in gone)]


def _ledger_event(said: StandingDeclaration, time: str) -> Json:
    told = {name: value for name, value in msgspec.to_builtins(said).items() if name != "since"}
    facet = {"_producer": PRODUCER, "_schemaURL": f"{_SPEC}JobFacet", **told}
    job = {"namespace": NAMESPACE, "name": PREFIX + said.declaration, "facets": {FACET: facet}}
    return {"eventTime": time, "producer": PRODUCER, "schemaURL": f"{_SPEC}JobEvent", "job": job}
