"""Jobs, datasets and their versions in time, as whole runs tell them.

A dataset has another version when its schema, its column lineage or its producer's version differs; a job when it reads
or writes other datasets. Only runs that make edges make versions.
"""

import sqlite3
from collections.abc import Sequence
from hashlib import blake2b

from msgspec import Struct, msgpack

from headwater.index.catalog_tables import DATASET, JOB
from headwater.index.database import chunks, marks
from headwater.index.names import NameNumbers
from headwater.lineage.derive import Derived
from headwater.lineage.jobs import job_key
from headwater.lineage.name import Name
from headwater.lineage.run import Run, RunDataset

_SPAN = "first_us = min(first_us, excluded.first_us), last_us = max(last_us, excluded.last_us)"
_VERSION = (
    "INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET runs = runs + excluded.runs, "
    f"run = CASE WHEN (excluded.first_us, excluded.run) < (first_us, run) THEN excluded.run ELSE run END, {_SPAN}"
)

Spans = dict[tuple[object, ...], tuple[int, int]]


class Said(Struct, array_like=True, gc=False):
    """The datasets of a run by number, outputs with their version; the version of its job, None while it makes none."""

    inputs: tuple[int, ...]
    outputs: tuple[tuple[int, bytes | None], ...]
    job: bytes | None

    def versions(self, job_key_number: int) -> set[tuple[int, int, bytes]]:
        """Return (kind, name, version) of what this run is a run of."""
        found = {(DATASET, name, version) for name, version in self.outputs if version is not None}
        return found | {(JOB, job_key_number, self.job)} if self.job is not None else found


said_from = msgpack.Decoder(Said).decode
version_value_from = msgpack.Decoder(tuple[str | None, str | None, str | None]).decode
job_value_from = msgpack.Decoder(tuple[tuple[int, ...], tuple[int, ...]]).decode
_encode = msgpack.Encoder().encode


def version_value(schema: str | None) -> bytes:
    """Return the value of a version that nothing but a schema makes."""
    return _encode((schema, None, None))


def dataset_version(name: Name, schema: str | None, lineage: str | None, version: str | None) -> bytes:
    """Return the 16 bytes of a dataset's version."""
    return blake2b(_encode((*name, schema, lineage, version)), digest_size=16).digest()


class HistoryTable:
    """Takes runs as they are derived, again and again."""

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers):
        """Use the index's connection."""
        self._sql = connection
        self._names = names
        self._before: dict[str, tuple[int, bytes]] = {}
        self._entities: Spans = {}
        self._jobs: dict[int, tuple[int, int]] = {}
        self._versions: list[tuple[object, ...]] = []
        self._retracted: list[tuple[int, int, bytes]] = []
        self._digests: dict[tuple[Name, str | None, str | None, str | None], bytes] = {}

    def expect(self, run_keys: Sequence[str]) -> None:
        """Look up what these runs said so far; `take` comes next."""
        for keys in chunks(run_keys):
            query = f"SELECT run, job_key, said FROM runs WHERE run IN ({marks(keys)})"
            self._before.update((run, (job, said)) for run, job, said in self._sql.execute(query, keys))

    def take(self, derived: Derived, job: int) -> bytes:
        """Take a run and what follows from it; returns what it says now, for the table of runs."""
        run, said, used = derived
        span = (run.started_us, run.time_us)
        for name in {*used, *run.inputs, *run.outputs}:
            _widen(self._entities, (DATASET, self._names.number(name)), span)
        if run.kind != "DATASET":
            _widen(self._entities, (JOB, job), span)
            newest = self._jobs.get(job, (-1, 0))
            self._jobs[job] = max(newest, (run.time_us, self._names.number(job_key(run.job, None))))
        fed = {name for vote in said.values() for name in (*vote.said.tables, *vote.said.also_read)}
        return self._take_versions(run, job, sorted({*run.inputs, *fed}))

    def _take_versions(self, run: Run, job: int, read: Sequence[Name]) -> bytes:
        values: dict[tuple[int, int, bytes], bytes] = {}
        outputs = []
        for name, dataset in run.outputs.items():
            number = self._names.number(name)
            version = self._version(dataset) if run.makes_edges else None
            outputs.append((number, version))
            if version is not None:
                values[DATASET, number, version] = _encode((dataset.schema, dataset.lineage, dataset.version))
        inputs = tuple(self._names.number(name) for name in read)
        of_job = None
        if run.makes_edges and run.kind != "DATASET":
            value = _encode((inputs, tuple(sorted(number for number, _ in outputs))))
            of_job = blake2b(_encode((*run.job_key, *read, "", *sorted(run.outputs)))).digest()[:16]
            values[JOB, job, of_job] = value
        said = Said(inputs, tuple(outputs), of_job)
        before_job, before = self._before.pop(run.key, (job, b""))
        counted = said_from(before).versions(before_job) if before else set()
        self._versions += (
            (*key, value, int(key not in counted), run.time_us, run.time_us, run.key) for key, value in values.items()
        )
        self._retracted += counted - values.keys()
        return _encode(said)

    def _version(self, dataset: RunDataset) -> bytes | None:
        told = (dataset.name, dataset.schema, dataset.lineage, dataset.version)
        if not any(told[1:]):
            return None
        found = self._digests.get(told)
        if found is None:
            if len(self._digests) > 20_000:
                self._digests.clear()
            found = self._digests[told] = dataset_version(*told)
        return found

    def flush(self) -> None:
        """Write what was taken, once the table of runs has it."""
        self._sql.executemany(_VERSION, self._versions)
        self._sql.executemany(
            "UPDATE versions SET runs = runs - 1 WHERE kind = ? AND name = ? AND version = ?", self._retracted
        )
        self._sql.executemany(
            "DELETE FROM versions WHERE kind = ? AND name = ? AND version = ? AND runs <= 0", self._retracted
        )
        spans = [(*key, *span) for key, span in self._entities.items()]
        self._sql.executemany(f"INSERT INTO entities VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET {_SPAN}", spans)
        self._flush_namespaces()
        self._sql.executemany(
            "INSERT INTO jobs(key, shown) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET shown = excluded.shown "
            "WHERE NOT EXISTS (SELECT 1 FROM runs WHERE job_key = ?1 AND time_us > ?3)",
            [(key, shown, time_us) for key, (time_us, shown) in self._jobs.items()],
        )
        self._sql.executemany(
            "UPDATE jobs SET (run, state) = (SELECT run, state FROM runs WHERE job_key = ?1 AND kind = 'RUN' "
            "ORDER BY time_us DESC LIMIT 1) WHERE key = ?1",
            [(key,) for key in self._jobs],
        )
        for each in (self._versions, self._retracted, self._entities, self._jobs):
            each.clear()

    def _flush_namespaces(self) -> None:
        found: Spans = {}
        for (_, number), span in self._entities.items():
            _widen(found, (self._names.name(int(str(number))).namespace,), span)
        rows = [(*key, *span) for key, span in found.items()]
        self._sql.executemany(f"INSERT INTO namespaces VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET {_SPAN}", rows)


def _widen(spans: Spans, key: tuple[object, ...], span: tuple[int, int]) -> None:
    known = spans.get(key)
    spans[key] = span if known is None else (min(known[0], span[0]), max(known[1], span[1]))
