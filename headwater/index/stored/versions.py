"""Table `versions`: the versions of datasets and jobs over time, which are derived from whole runs.

A dataset gets a new version when its schema, its column lineage or the version that its producer reports changes. A job
gets a new version when it reads or writes other datasets. Only runs that may have edges create versions.
"""

import sqlite3
from collections.abc import Collection, Hashable
from hashlib import blake2b
from typing import NamedTuple

from msgspec import Struct, msgpack

from headwater.index.stored.database import DATASET, JOB
from headwater.index.stored.numbers import NameNumbers
from headwater.index.stored.upserts import ENTITY, WIDEN, Span, entity_rows, span_rows, widen_span
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import MAX_TIME_US
from headwater.lineage.runs.bounded_cache import BoundedCache
from headwater.lineage.runs.jobs import job_key
from headwater.lineage.runs.merged_run import Run, RunDataset
from headwater.lineage.runs.run_derivation import DerivedRun

_VERSION = (
    "INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET runs = runs + excluded.runs, "
    f"run = CASE WHEN (excluded.first_us, excluded.run) < (first_us, run) THEN excluded.run ELSE run END, {WIDEN}"
)


class RunDatasets(Struct, array_like=True, gc=False):
    """The datasets of a run, by number.

    outputs: (dataset number, version of the dataset or None). job: the version of the run's job, or None.
    """

    inputs: tuple[int, ...]
    outputs: tuple[tuple[int, bytes | None], ...]
    job: bytes | None

    def all_versions(self, job_key_number: int) -> set[tuple[int, int, bytes]]:
        """Return the versions to which this run belongs, as (DATASET or JOB, name number, version)."""
        found = {(DATASET, name, version) for name, version in self.outputs if version is not None}
        return found | {(JOB, job_key_number, self.job)} if self.job is not None else found


run_datasets_from = msgpack.Decoder(RunDatasets).decode
version_value_from = msgpack.Decoder(tuple[str | None, str | None, str | None]).decode
job_value_from = msgpack.Decoder(tuple[tuple[int, ...], tuple[int, ...]]).decode
_encode = msgpack.Encoder().encode

_Key = tuple[int, int, bytes]


def _versions_of_run(job: int, datasets: bytes) -> set[_Key]:
    return run_datasets_from(datasets).all_versions(job) if datasets else set()


def _version_of_dataset(dataset: RunDataset) -> bytes | None:
    content = (dataset.schema, dataset.lineage, dataset.version)
    return dataset_version_id(dataset.name.without_generation, *content) if any(content) else None


def schema_version_value(schema: str | None) -> bytes:
    """Return the packed value of a dataset version that consists of a schema only. schema: its content hash."""
    return _encode((schema, None, None))


def dataset_version_id(name: Name, schema: str | None, lineage: str | None, version: str | None) -> bytes:
    """Return the 16-byte version of a dataset.

    schema, lineage: content hashes. version: the version that the producer reports. All three may be None.
    """
    return blake2b(_encode((*name, schema, lineage, version)), digest_size=16).digest()


class _DatasetsShape(Struct):
    """The entities and versions that follow from the datasets of a run. Runs of the same shape share one object.

    entities: (kind, name number) of the datasets and the job. versions: packed values by (kind, name number, version).
    datasets: the packed `RunDatasets`. job: the numbers of the job's key and display name, or None without a job. span:
    the first and last time (us) of the runs in this batch, or None. runs: the number of new runs in this batch. first:
    (time (us), run key) of the first run in this batch.
    """

    entities: tuple[tuple[int, int], ...]
    versions: dict[_Key, bytes]
    datasets: bytes
    job: tuple[int, int] | None
    span: Span | None = None
    runs: int = 0
    first: tuple[int, str] = (0, "")


class _VersionUpdate(NamedTuple):
    """What a batch adds to a version.

    value: the packed value. runs: the number of new runs. first_us, last_us: the first and last time of the runs. run:
    the key of the first run.
    """

    value: bytes
    runs: int
    first_us: int
    last_us: int
    run: str

    def merge(self, other: "_VersionUpdate") -> "_VersionUpdate":
        """Return the combination of two updates of the same version."""
        first_us, run = min((self.first_us, self.run), (other.first_us, other.run))
        return _VersionUpdate(self.value, self.runs + other.runs, first_us, max(self.last_us, other.last_us), run)


class VersionTable:
    """Collects derived runs and writes them in `flush`. A run may be added again with every batch.

    generation: number of the current batch.
    """

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers):
        self._sql = connection
        self._names = names
        self.generation = 0
        self._batch: list[_DatasetsShape] = []
        self._entities: dict[tuple[int, int], Span] = {}
        self._jobs: dict[int, tuple[int, int]] = {}
        self._versions: dict[_Key, _VersionUpdate] = {}
        self._retracted: list[_Key] = []
        self._shapes: BoundedCache[Hashable, _DatasetsShape] = BoundedCache()

    def add_run(self, derived: DerivedRun, job: int, previous: tuple[int, bytes]) -> bytes:
        """Add a derived run. Return the run's packed `RunDatasets` for table `runs`.

        job: the number of the job's key. previous: (job, packed `RunDatasets`) with which this run was last added; the
        `RunDatasets` are empty if the run was not added before.
        """
        run, shape = derived.run, self._cached_shape(derived, job)
        since_us, until_us, first = run.started_us, run.time_us, (run.time_us, run.key)
        if shape.span is None:
            shape.span, shape.runs, shape.first = (since_us, until_us), 0, first
            self._batch.append(shape)
        else:
            shape.span = (min(shape.span[0], since_us), max(shape.span[1], until_us))
            shape.first = min(shape.first, first)
        if previous != (job, shape.datasets):
            shape.runs += 1
            self._retracted += _versions_of_run(*previous)
        return shape.datasets

    def _add_shape(self, shape: _DatasetsShape) -> None:
        """Add a shape, once for all its runs in this batch."""
        span, shape.span = shape.span or (0, 0), None
        for entity in shape.entities:
            widen_span(self._entities, entity, span)
        if shape.job:
            job, shown = shape.job
            self._jobs[job] = max(self._jobs.get(job, (-1, 0)), (span[1], shown))
        for key, value in shape.versions.items():
            update = _VersionUpdate(value, shape.runs, shape.first[0], span[1], shape.first[1])
            known = self._versions.get(key)
            self._versions[key] = known.merge(update) if known else update

    def _cached_shape(self, derived: DerivedRun, job: int) -> _DatasetsShape:
        """Return the shape of a run's datasets. Runs of the same shape share one cached object."""
        run, lineage, used, alike, _ = derived
        key = (alike, *[each.version for each in run.outputs.values()])
        found = self._shapes.get(key)
        if found is None:
            counted = (each.lineage for each in lineage.values() if not each.lineage.attempt_state)
            lists = {id(part): part for each in counted for part in (each.source_datasets, each.other_inputs)}
            sources = set[Name]().union(
                *lists.values()
            )  # the outputs of a run share these tuples, so each is read once
            shape = self._make_shape(run, job, {*used, *run.inputs, *run.outputs}, sources)
            found = self._shapes.put(key, shape, len(shape.entities))
        return found

    def _make_shape(self, run: Run, job: int, names: Collection[Name], sources: Collection[Name]) -> _DatasetsShape:
        number, read = self._names.number, sorted({name.without_generation for name in (*run.inputs, *sources)})
        versions: dict[_Key, bytes] = {}
        outputs = []
        for name, dataset in ((name.without_generation, dataset) for name, dataset in run.outputs.items()):
            version = _version_of_dataset(dataset) if run.may_have_edges else None
            outputs.append((number(name), version))
            if version is not None:
                versions[DATASET, number(name), version] = _encode((dataset.schema, dataset.lineage, dataset.version))
        inputs = tuple(map(number, read))
        of_job = None
        if run.may_have_edges and run.kind != "DATASET":
            of_job = blake2b(
                _encode((run.job_key, read, sorted({name.without_generation for name in run.outputs})))
            ).digest()[:16]
            versions[JOB, job, of_job] = _encode((inputs, tuple(sorted(output for output, _ in outputs))))
        entities = tuple((DATASET, number(name)) for name in dict.fromkeys(name.without_generation for name in names))
        of = None if run.kind == "DATASET" else (job, number(job_key(run.job, None)))
        entities += ((JOB, job),) if of else ()
        return _DatasetsShape(entities, versions, _encode(RunDatasets(inputs, tuple(outputs), of_job)), of)

    def flush(self) -> None:
        """Write everything that was added since the last call. Call it after the runs have been written."""
        for shape in self._batch:
            self._add_shape(shape)
        self._batch.clear()
        self._sql.executemany(_VERSION, [(*key, *update) for key, update in self._versions.items()])
        self._sql.executemany(
            "UPDATE versions SET runs = runs - 1 WHERE kind = ? AND name = ? AND version = ?", self._retracted
        )
        self._sql.executemany(
            "DELETE FROM versions WHERE kind = ? AND name = ? AND version = ? AND runs <= 0", self._retracted
        )
        self._sql.executemany(ENTITY, entity_rows(self._entities, self.generation))
        self._flush_namespaces()
        self._sql.executemany(
            "INSERT INTO jobs(key, display_name) VALUES (?1, ?2) "
            "ON CONFLICT DO UPDATE SET display_name = excluded.display_name "
            "WHERE NOT EXISTS (SELECT 1 FROM runs WHERE job_key = ?1 AND time_us > ?3)",
            [(key, shown, time_us) for key, (time_us, shown) in self._jobs.items()],
        )
        for each in (self._versions, self._retracted, self._entities, self._jobs):
            each.clear()

    def drop_unused_jobs(self, jobs: Collection[int]) -> list[Name]:
        """Delete a job if no run, declaration or `parent` facet names it any more.

        Without this, lists would depend on whether the events of a run came in one batch or in several.
        jobs: key numbers. Returns the display names of the deleted jobs, except those that another job still has.
        """
        query = (
            "SELECT display_name FROM jobs WHERE key = ?1 AND NOT is_parent AND NOT EXISTS (SELECT 1 "
            "FROM runs WHERE job_key = ?1)"
        )
        unused = [(job, *row) for job in jobs for row in self._sql.execute(query, (job,)).fetchall()]
        self._sql.executemany("DELETE FROM jobs WHERE key = ?", [(job,) for job, _ in unused])
        self._sql.executemany(
            "UPDATE entities SET first_us = ?, last_us = ?, generation = ? WHERE kind = ? AND name = ?",
            [(MAX_TIME_US, -MAX_TIME_US, self.generation, JOB, job) for job, _ in unused],
        )
        known = "SELECT 1 FROM jobs WHERE display_name = ?"
        return [self._names.name(shown) for _, shown in unused if not self._sql.execute(known, (shown,)).fetchone()]

    def _flush_namespaces(self) -> None:
        found: dict[tuple[str], Span] = {}
        for (_, number), span in self._entities.items():
            widen_span(found, (self._names.name(number).namespace,), span)
        upsert = f"INSERT INTO namespaces VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET {WIDEN}"
        self._sql.executemany(upsert, span_rows(found))
