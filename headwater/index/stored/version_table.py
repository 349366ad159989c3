"""Jobs, datasets and their versions in time, as whole runs tell them.

A dataset has another version when its schema, its column lineage or its producer's version differs; a job when it reads
or writes other datasets. Only runs that make edges make versions.
"""

import sqlite3
from collections.abc import Collection, Hashable
from hashlib import blake2b
from typing import NamedTuple

from msgspec import Struct, msgpack

from headwater.index.stored.catalog_tables import DATASET, JOB
from headwater.index.stored.name_numbers import NameNumbers
from headwater.index.stored.spans import ENTITY, WIDEN, Span, entity_rows, rows, widen
from headwater.lineage.names.dataset_history import EVER_US
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_identity import job_key
from headwater.lineage.runs.merged_run import Run, RunDataset
from headwater.lineage.runs.run_derivation import Derived
from headwater.lineage.runs.weighed import Weighed

_VERSION = (
    "INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET runs = runs + excluded.runs, "
    f"run = CASE WHEN (excluded.first_us, excluded.run) < (first_us, run) THEN excluded.run ELSE run END, {WIDEN}"
)


class RunDatasets(Struct, array_like=True, gc=False):
    """The datasets of a run by number, outputs with their version; the version of its job, None while it makes none."""

    inputs: tuple[int, ...]
    outputs: tuple[tuple[int, bytes | None], ...]
    job: bytes | None

    def versions(self, job_key_number: int) -> set[tuple[int, int, bytes]]:
        """Return (kind, name, version) of what this run is a run of."""
        found = {(DATASET, name, version) for name, version in self.outputs if version is not None}
        return found | {(JOB, job_key_number, self.job)} if self.job is not None else found


said_from = msgpack.Decoder(RunDatasets).decode
version_value_from = msgpack.Decoder(tuple[str | None, str | None, str | None]).decode
job_value_from = msgpack.Decoder(tuple[tuple[int, ...], tuple[int, ...]]).decode
_encode = msgpack.Encoder().encode

_Key = tuple[int, int, bytes]
"""Kind, number of the name, version."""


def _versions(job: int, said: bytes) -> set[_Key]:
    return said_from(said).versions(job) if said else set()


def _version(dataset: RunDataset) -> bytes | None:
    told = (dataset.schema, dataset.lineage, dataset.version)
    return dataset_version(dataset.name.plain, *told) if any(told) else None


def version_value(schema: str | None) -> bytes:
    """Return the value of a version that nothing but a schema makes."""
    return _encode((schema, None, None))


def dataset_version(name: Name, schema: str | None, lineage: str | None, version: str | None) -> bytes:
    """Return the 16 bytes of a dataset's version."""
    return blake2b(_encode((*name, schema, lineage, version)), digest_size=16).digest()


class _DatasetsShape(Struct):
    """What the datasets of a run come to: things it uses, versions it is a run of and those, as `RunDatasets`.

    job: number of its job's key and of the name that people see, none where it has none.
    span, runs, first: of a batch first and last time of its runs, how many are new, time and key of the first.
    """

    entities: tuple[tuple[int, int], ...]
    versions: dict[_Key, bytes]
    said: bytes
    job: tuple[int, int] | None
    span: Span | None = None
    runs: int = 0
    first: tuple[int, str] = (0, "")


class _VersionNews(NamedTuple):
    """What a batch tells of a version: what it is made of, by how many new runs, since when, up to when, the first."""

    value: bytes
    runs: int
    first_us: int
    last_us: int
    run: str

    def merged(self, other: "_VersionNews") -> "_VersionNews":
        """Return what both tell."""
        first_us, run = min((self.first_us, self.run), (other.first_us, other.run))
        return _VersionNews(self.value, self.runs + other.runs, first_us, max(self.last_us, other.last_us), run)


class VersionTable:
    """Takes runs as they are derived, again and again; generation: of the batch that they come with."""

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers):
        """Use the index's connection."""
        self._sql = connection
        self._names = names
        self.generation = 0
        self._batch: list[_DatasetsShape] = []
        self._entities: dict[tuple[int, int], Span] = {}
        self._jobs: dict[int, tuple[int, int]] = {}
        self._versions: dict[_Key, _VersionNews] = {}
        self._retracted: list[_Key] = []
        self._shapes: Weighed[Hashable, _DatasetsShape] = Weighed()

    def take(self, derived: Derived, job: int, before: tuple[int, bytes]) -> bytes:
        """Take a run and what follows from it; returns what it says now, for the table of runs.

        before: the number of its job's key and what it said when it was last taken; empty if it is new.
        """
        run, shape = derived.run, self._shape(derived, job)
        since_us, until_us, first = run.started_us, run.time_us, (run.time_us, run.key)
        if shape.span is None:
            shape.span, shape.runs, shape.first = (since_us, until_us), 0, first
            self._batch.append(shape)
        else:
            shape.span = (min(shape.span[0], since_us), max(shape.span[1], until_us))
            shape.first = min(shape.first, first)
        if before != (job, shape.said):
            shape.runs += 1
            self._retracted += _versions(*before)
        return shape.said

    def _settle(self, shape: _DatasetsShape) -> None:
        """Take what was told of a shape in this batch, however often."""
        span, shape.span = shape.span or (0, 0), None
        for entity in shape.entities:
            widen(self._entities, entity, span)
        if shape.job:
            job, shown = shape.job
            self._jobs[job] = max(self._jobs.get(job, (-1, 0)), (span[1], shown))
        for key, value in shape.versions.items():
            told = _VersionNews(value, shape.runs, shape.first[0], span[1], shape.first[1])
            known = self._versions.get(key)
            self._versions[key] = known.merged(told) if known else told

    def _shape(self, derived: Derived, job: int) -> _DatasetsShape:
        """Return what the datasets of a run come to: of a job that runs again and again, what is known already."""
        run, said, used, alike, _ = derived
        key = (alike, *[each.version for each in run.outputs.values()])
        found = self._shapes.get(key)
        if found is None:
            counted = (each.lineage for each in said.values() if not each.lineage.attempt)
            told = {id(part): part for each in counted for part in (each.tables, each.also_read)}
            fed = set[Name]().union(*told.values())  # a run's outputs share what feeds them
            shape = self._new_shape(run, job, {*used, *run.inputs, *run.outputs}, fed)
            found = self._shapes.keep(key, shape, len(shape.entities))
        return found

    def _new_shape(self, run: Run, job: int, names: Collection[Name], fed: Collection[Name]) -> _DatasetsShape:
        number, read = self._names.number, sorted({name.plain for name in (*run.inputs, *fed)})
        versions: dict[_Key, bytes] = {}
        outputs = []
        for name, dataset in ((name.plain, dataset) for name, dataset in run.outputs.items()):
            version = _version(dataset) if run.makes_edges else None
            outputs.append((number(name), version))
            if version is not None:
                versions[DATASET, number(name), version] = _encode((dataset.schema, dataset.lineage, dataset.version))
        inputs = tuple(map(number, read))
        of_job = None
        if run.makes_edges and run.kind != "DATASET":
            of_job = blake2b(_encode((run.job_key, read, sorted({name.plain for name in run.outputs})))).digest()[:16]
            versions[JOB, job, of_job] = _encode((inputs, tuple(sorted(output for output, _ in outputs))))
        entities = tuple((DATASET, number(name)) for name in dict.fromkeys(name.plain for name in names))
        of = None if run.kind == "DATASET" else (job, number(job_key(run.job, None)))
        entities += ((JOB, job),) if of else ()
        return _DatasetsShape(entities, versions, _encode(RunDatasets(inputs, tuple(outputs), of_job)), of)

    def flush(self) -> None:
        """Write what was taken, once the table of runs has it."""
        for shape in self._batch:
            self._settle(shape)
        self._batch.clear()
        self._sql.executemany(_VERSION, [(*key, *told) for key, told in self._versions.items()])
        self._sql.executemany(
            "UPDATE versions SET runs = runs - 1 WHERE kind = ? AND name = ? AND version = ?", self._retracted
        )
        self._sql.executemany(
            "DELETE FROM versions WHERE kind = ? AND name = ? AND version = ? AND runs <= 0", self._retracted
        )
        self._sql.executemany(ENTITY, entity_rows(self._entities, self.generation))
        self._flush_namespaces()
        self._sql.executemany(
            "INSERT INTO jobs(key, shown) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET shown = excluded.shown "
            "WHERE NOT EXISTS (SELECT 1 FROM runs WHERE job_key = ?1 AND time_us > ?3)",
            [(key, shown, time_us) for key, (time_us, shown) in self._jobs.items()],
        )
        for each in (self._versions, self._retracted, self._entities, self._jobs):
            each.clear()

    def drop_unused_jobs(self, jobs: Collection[int]) -> list[Name]:
        """Delete those of some jobs that no run, no declaration and no parent facet has; return their shown names.

        Without this the lists would depend on whether events of one run came in one batch or in several.
        """
        query = (
            "SELECT shown FROM jobs WHERE key = ?1 AND NOT named AND NOT EXISTS (SELECT 1 FROM runs WHERE job_key = ?1)"
        )
        unused = [(job, *row) for job in jobs for row in self._sql.execute(query, (job,)).fetchall()]
        self._sql.executemany("DELETE FROM jobs WHERE key = ?", [(job,) for job, _ in unused])
        self._sql.executemany(
            "UPDATE entities SET first_us = ?, last_us = ?, generation = ? WHERE kind = ? AND name = ?",
            [(EVER_US, -EVER_US, self.generation, JOB, job) for job, _ in unused],
        )
        known = "SELECT 1 FROM jobs WHERE shown = ?"
        return [self._names.name(shown) for _, shown in unused if not self._sql.execute(known, (shown,)).fetchone()]

    def _flush_namespaces(self) -> None:
        found: dict[tuple[str], Span] = {}
        for (_, number), span in self._entities.items():
            widen(found, (self._names.name(number).namespace,), span)
        upsert = f"INSERT INTO namespaces VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET {WIDEN}"
        self._sql.executemany(upsert, rows(found))
