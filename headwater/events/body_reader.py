"""Parses event bodies and computes their digests. Caches the results of facets and datasets, because they recur."""

import re
from collections.abc import Callable

from msgspec import UNSET, Raw, UnsetType, msgpack
from msgspec.structs import replace

from headwater.events.decode import repair_surrogates
from headwater.events.envelope import Kind, check_utf8
from headwater.events.event import Event, EventShape, SentDataset, UsedDataset
from headwater.events.facet_digests import Memo, digest_of
from headwater.events.facet_reader import FacetReader, read_statistics_facets
from headwater.events.facet_sets import (
    NO_JOB,
    NO_RUN,
    OF_COLUMNS,
    DatasetFacets,
    JobFacets,
    RunFacets,
    StatisticsFacets,
)
from headwater.events.rule_facets import NO_RUN as NO_PARENT
from headwater.events.statistics_facets import encode_numbers
from headwater.events.subset_condition import FILTERED, PARTS_READ, SUBSET
from headwater.events.times import parse_time
from headwater.events.wire import WireDataset, WireEvent, read_wire_dataset, read_wire_event

PROVES_ROWS = "outputStatistics"
EVENT_TYPES = frozenset({"START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"})

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_SHAPES_BYTES = 4 << 20
"""Maximum bytes of shape keys per cache generation: about 15,000 keys of 300 bytes."""

_UNKNOWN_BROKER = "kafka://null:-1"
"""The namespace that OpenLineage's Spark listener writes for secured brokers such as `SASL_SSL://host:9093`."""

_NO_DATASET = SentDataset(b"", "", "")


class BodyReader:
    """Parses redacted bodies, and caches facets and datasets by their text. Not thread-safe."""

    def __init__(self, check_budget: Callable[[], None] = lambda: None) -> None:
        """check_budget: called before the parsing of each dataset that is not cached.

        Its exceptions end the parsing.
        """
        self._check = check_budget
        self._facets = FacetReader()
        self._datasets: Memo[SentDataset] = Memo()
        self._shapes: Memo[SentDataset] = Memo(_SHAPES_BYTES)
        self._event_shapes: Memo[EventShape] = Memo(_SHAPES_BYTES)

    def read_event(self, body: bytes) -> Event:
        """Parse one body. Raises InvalidEvent if it is not an event."""
        check_utf8(body)
        text = repair_surrogates(body)
        wire, digest = read_wire_event(text)
        kind: Kind = "RUN" if wire.run is not UNSET else "JOB" if wire.job is not UNSET else "DATASET"
        inputs = self._read_datasets(wire.inputs)
        outputs = self._read_datasets([wire.dataset] if kind == "DATASET" else wire.outputs)
        run = self._facets.read_run_facets(wire.run.facets) if wire.run is not UNSET else NO_RUN
        job = self._facets.read_job_facets(wire.job.facets) if wire.job is not UNSET else NO_JOB
        event_time_us, time_flag = parse_time(wire.eventTime)
        flags = _event_flags(wire, kind, time_flag, loose=digest is not None, repaired=text is not body)
        if _NO_DATASET in inputs or _NO_DATASET in outputs:
            flags = (*flags, "dataset_unnamed")
            inputs, outputs = _with_names(inputs), _with_names(outputs)
        if any(each.namespace == _UNKNOWN_BROKER for each in (*inputs, *outputs)):
            flags = (*flags, "unknown_broker")
        parent, root = run.parent.cells(), (run.parent.root or NO_PARENT).cells()
        event_shape = self._cached_shape(run, job, inputs, outputs)
        return Event(
            id=digest or _event_digest(wire, run, job, inputs, outputs),
            kind=kind,
            body=body,
            event_time_us=event_time_us,
            producer=wire.producer,
            event_type=wire.eventType or None,
            run_id=wire.run.runId if wire.run is not UNSET else None,
            job_namespace=wire.job.namespace if wire.job is not UNSET else None,
            job_name=wire.job.name if wire.job is not UNSET else None,
            parent_run_id=parent[0],
            parent_job_namespace=parent[1],
            parent_job_name=parent[2],
            root_run_id=root[0],
            root_job_namespace=root[1],
            root_job_name=root[2],
            run_facets=run.text,
            versions=_dataset_versions(inputs, outputs),
            statistics=_statistics(inputs, outputs) if kind == "RUN" else "",
            shape=event_shape.shape,
            inputs=tuple(inputs),
            outputs=tuple(outputs),
            lineage_hashes=_lineage_hashes(run, job, inputs, outputs),
            event_shape=event_shape,
            run_contents=run.tables,
            job_contents=job.values + job.tables,
            flags=flags,
        )

    def _read_datasets(self, raws: list[Raw] | UnsetType) -> list[SentDataset]:
        found = []
        for raw in raws or ():
            text = bytes(raw)
            found.append(self._datasets.get(text) or self._read_dataset(text))
        return found

    def _read_dataset(self, raw: bytes) -> SentDataset:
        self._check()
        read = read_wire_dataset(raw)
        if read is None:
            return _NO_DATASET
        wire, digest = read
        facets = self._facets.read_dataset_facets(wire.facets)
        read_of, written_of = read_statistics_facets(wire.inputFacets), read_statistics_facets(wire.outputFacets)
        names = (wire.namespace, wire.name, facets.digest)
        known = self._cached_dataset(
            wire, facets, read_of, written_of, msgpack.encode((*names, *read_of.recurring, written_of.names))
        )
        parts = (*names, read_of.digest, written_of.digest)
        numbers = facets.numbers + read_of.numbers + written_of.numbers
        dataset = replace(known, digest=digest or digest_of(msgpack.encode(parts)), numbers=numbers)
        if wire.inputFacets or wire.outputFacets:
            return dataset  # statistics of one run do not recur, so caching is useless
        return self._datasets.put(raw, dataset)

    def _cached_dataset(
        self,
        wire: WireDataset,
        facets: DatasetFacets,
        input_facets: StatisticsFacets,
        output_facets: StatisticsFacets,
        key: bytes,
    ) -> SentDataset:
        """Return a dataset whose digest is not set yet.

        key: the cache key; it identifies the content of the dataset except its statistics.
        """
        return self._shapes.get(key) or self._shapes.put(
            key, _to_sent_dataset(wire, facets, input_facets, output_facets)
        )

    def _cached_shape(
        self, run: RunFacets, job: JobFacets, inputs: list[SentDataset], outputs: list[SentDataset]
    ) -> EventShape:
        """Return the shape of an event: the content that recurs in later events of the same job.

        Run facets differ from run to run, so the shape contains only the parts of them that the rules read.
        """
        names, lineage = run.known, run.hash_or_deleted("lineage")
        shapes = [dataset.shape for dataset in inputs], [dataset.shape for dataset in outputs]
        key = msgpack.encode((names, run.artifact, lineage, job.digest, *shapes))
        found = self._event_shapes.get(key)
        if found is None:
            found = self._event_shapes.put(key, _to_event_shape(digest_of(key).hex(), run, job, inputs, outputs))
        return found


def _to_sent_dataset(
    wire: WireDataset, facets: DatasetFacets, input_facets: StatisticsFacets, output_facets: StatisticsFacets
) -> SentDataset:
    mentioned = _to_used_dataset(wire, facets, input_facets, output_facets)
    shape = (wire.namespace, wire.name, facets.shape, mentioned.landed, mentioned.counted)
    return SentDataset(
        b"",
        wire.namespace,
        wire.name,
        schema_hash=facets.content_hash("schema"),
        lineage_hash=facets.content_hash(*OF_COLUMNS),
        declared_hash=facets.content_hash("lineage"),
        symlinks=facets.symlinks,
        facets=tuple(sorted({*facets.names, *input_facets.names, *output_facets.names})),
        version=facets.version,
        shape=digest_of(msgpack.encode(shape)),
        mentioned=mentioned,
        contents=facets.values + facets.tables,
    )


def _to_event_shape(
    shape: str, run: RunFacets, job: JobFacets, inputs: list[SentDataset], outputs: list[SentDataset]
) -> EventShape:
    return EventShape(
        shape,
        artifact=run.artifact,
        processing_type=job.type.processing_type,
        integration=job.type.integration,
        emission=job.type.emission,
        run_lineage=run.hash_or_deleted("lineage"),
        job_lineage=job.hash_or_deleted("lineage"),
        run_facets=run.known,
        job_facets=job.facets,
        inputs=tuple([dataset.mentioned for dataset in inputs]),
        outputs=tuple([dataset.mentioned for dataset in outputs]),
    )


def _to_used_dataset(
    wire: WireDataset, facets: DatasetFacets, input_facets: StatisticsFacets, output_facets: StatisticsFacets
) -> UsedDataset:
    return UsedDataset(
        wire.namespace,
        wire.name,
        schema=facets.hash_or_deleted("schema"),
        lineage=facets.hash_or_deleted(*OF_COLUMNS),
        declared=facets.hash_or_deleted("lineage"),
        symlinks=facets.symlinks,
        tags=facets.tags,
        lifecycle=facets.lifecycle.change,
        previous_namespace=facets.lifecycle.previous_namespace,
        previous_name=facets.lifecycle.previous_name,
        landed=PROVES_ROWS in output_facets.names or "version" in facets.names,
        facets=facets.facets,
        counted=_facet_names_for_rules(input_facets, output_facets),
    )


def _facet_names_for_rules(input_facets: StatisticsFacets, output_facets: StatisticsFacets) -> tuple[str, ...]:
    """Return the value of `UsedDataset.counted`.

    It contains the names of the input facets, `subset` if the dataset has an output facet of this name, an entry
    `subset:COLUMN` per filter column, and `PARTS_READ` if the input facet `subset` names partitions or locations.
    """
    known = (
        (*input_facets.known, SUBSET)
        if SUBSET in output_facets.known and SUBSET not in input_facets.known
        else input_facets.known
    )
    known = (*known, PARTS_READ) if input_facets.parts_read else known
    return (*known, *(FILTERED + column for column in input_facets.filters)) if input_facets.filters else known


def _dataset_versions(inputs: list[SentDataset], outputs: list[SentDataset]) -> tuple[str | None, ...] | None:
    found = [dataset.version for dataset in inputs]
    found += [dataset.version for dataset in outputs]
    return tuple(found) if found.count(None) < len(found) else None


def _statistics(inputs: list[SentDataset], outputs: list[SentDataset]) -> str:
    found = [dataset.numbers for datasets in (inputs, outputs) for dataset in datasets]
    return encode_numbers(found) if any(found) else ""


def _event_digest(
    wire: WireEvent, run: RunFacets, job: JobFacets, inputs: list[SentDataset], outputs: list[SentDataset]
) -> bytes:
    """Compute the event id from the names and the time as sent, and from the digests of the facets and datasets."""
    parts = (
        wire.eventTime,
        wire.producer,
        wire.schemaURL or None,
        wire.eventType or None,
        wire.run.runId if wire.run is not UNSET else None,
        run.digest,
        (wire.job.namespace, wire.job.name) if wire.job is not UNSET else None,
        job.digest,
        [dataset.digest for dataset in inputs],
        [dataset.digest for dataset in outputs],
    )
    return digest_of(msgpack.encode(parts))


def _with_names(datasets: list[SentDataset]) -> list[SentDataset]:
    return [dataset for dataset in datasets if dataset is not _NO_DATASET]


def _lineage_hashes(
    run: RunFacets, job: JobFacets, inputs: list[SentDataset], outputs: list[SentDataset]
) -> tuple[str, ...]:
    """Return the content hashes of the `lineage` facets of the run, the job and the datasets. Few events have any."""
    found = [facets.content_hash("lineage") for facets in (run, job) if facets.tables]
    found += [dataset.declared_hash for datasets in (inputs, outputs) for dataset in datasets if dataset.declared_hash]
    return tuple([content_hash for content_hash in found if content_hash])


def _event_flags(wire: WireEvent, kind: Kind, time_flag: str | None, *, loose: bool, repaired: bool) -> tuple[str, ...]:
    flags = [time_flag] if time_flag else []
    if kind == "RUN":
        if wire.run is not UNSET and not _UUID.fullmatch(wire.run.runId):
            flags.append("run_id_not_uuid")
        if wire.eventType not in EVENT_TYPES:
            flags.append("event_type_unknown" if wire.eventType else "event_type_missing")
    if not wire.schemaURL:
        flags.append("schema_url_missing")
    elif not wire.schemaURL.startswith("http"):
        flags.append("schema_url_vendor")
    if loose:
        flags.append("odd_shape")
    if repaired:
        flags.append("lone_surrogate")
    return tuple(flags)
